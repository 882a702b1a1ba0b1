/* Loops over runs by AVX2, vectorised by the compiler. */
#include "kernels/ldu_runs_isa.h"

#if STK_HAVE_X86
#define TARGET STK_TARGET_AVX2
#define STK_RUNS_LOOPS stk_runs_avx2_loops
#include "kernels/ldu_runs_loops.h"
#else
/* Other processors have ldu_runs_plain.c alone; a C file may not be empty. */
typedef int stk_runs_avx2_unused;
#endif
