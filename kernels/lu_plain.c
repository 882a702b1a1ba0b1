/*
 * The loops of lu.h by the compiler's baseline. Four sums, so that the chain of additions does
 * not set the pace.
 */
#include "kernels/lu_ahead.h"
#include "kernels/lu_isa.h"

#define TARGET

static inline double twelve(const struct stk_lu_half *half, size_t k, int ahead,
                            const double *x)
{
    const double *v = half->values + k;
    const int32_t *c = half->columns + k;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};

    ask_for(half, k, ahead);
    for (size_t i = 0; i < 12; i += 4) {
        for (size_t j = 0; j < 4; j++) {
            sum[j] += v[i + j] * x[c[i + j]];
        }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#include "kernels/lu_loops.h"

const struct stk_lu_loops stk_lu_plain_loops = STK_LU_LOOPS;
