/*
 * The loops of lu.h by the compiler's baseline.
 */
#include "kernels/lu_chunk.h"
#include "kernels/lu_isa.h"

#define TARGET

static inline void sums(const struct stk_lu_half *half, size_t c, size_t n_entries,
                        int ahead, const double *x, double *sum)
{
    ask_for(half, c, ahead);
    sums_plain(half, c, n_entries, x, sum);
}

#include "kernels/lu_loops.h"

const struct stk_lu_loops stk_lu_plain_loops = STK_LU_LOOPS;
