/* Loops over runs by the compiler's baseline. */
#include "kernels/ldu_runs_isa.h"

#define TARGET
#define STK_RUNS_LOOPS stk_runs_plain_loops
#include "kernels/ldu_runs_loops.h"
