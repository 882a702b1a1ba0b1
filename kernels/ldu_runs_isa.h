#ifndef ST_KERNELS_LDU_RUNS_ISA_H
#define ST_KERNELS_LDU_RUNS_ISA_H

#include "kernels/isa.h"
#include "kernels/ldu.h"

/* Loops over runs by instruction set, each defined in its own file; ldu_runs.c chooses. */
extern const struct stk_runs_loops stk_runs_plain_loops;
#if STK_HAVE_X86
extern const struct stk_runs_loops stk_runs_avx2_loops;
extern const struct stk_runs_loops stk_runs_avx512_loops;
#endif

#endif
