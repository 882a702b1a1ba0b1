#ifndef ST_KERNELS_LU_ISA_H
#define ST_KERNELS_LU_ISA_H

#include "kernels/isa.h"
#include "kernels/lu.h"

/* The loops of lu.h by instruction set, each defined in its own file; lu.c chooses. */
extern const struct stk_lu_loops stk_lu_plain_loops;
#if STK_HAVE_X86
extern const struct stk_lu_loops stk_lu_avx2_loops;
extern const struct stk_lu_loops stk_lu_avx512_loops;
#endif

#endif
