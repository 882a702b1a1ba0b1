/* The loops of box27.h by the compiler's baseline. */
#include "kernels/box27_isa.h"

#define TARGET

#include "kernels/box27_loops.h"

const struct stk_box_loops stk_box_plain_loops = STK_BOX_LOOPS;
