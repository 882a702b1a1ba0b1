/* The loops of box27.h by AVX-512, vectorised by the compiler. */
#include "kernels/box27_isa.h"

#if STK_HAVE_X86
#define TARGET STK_TARGET_AVX512

#include "kernels/box27_loops.h"

const struct stk_box_loops stk_box_avx512_loops = STK_BOX_LOOPS;
#else
/* Other processors have box27_plain.c alone; a C file may not be empty. */
typedef int stk_box_avx512_unused;
#endif
