#ifndef ST_KERNELS_BOX27_ISA_H
#define ST_KERNELS_BOX27_ISA_H

#include "kernels/box27.h"
#include "kernels/isa.h"

/* The loops of box27.h by instruction set, each defined in its own file; box27.c chooses. */
extern const struct stk_box_loops stk_box_plain_loops;
#if STK_HAVE_X86
extern const struct stk_box_loops stk_box_avx2_loops;
extern const struct stk_box_loops stk_box_avx512_loops;
#endif

#endif
