#ifndef ST_KERNELS_LU_LOOPS_H
#define ST_KERNELS_LU_LOOPS_H

#include "kernels/lu.h"

/*
 * The loops of lu.h, written once. A source for one instruction set includes this after it has
 * defined the macro TARGET (its function attribute) and twelve(): the sum of the first twelve
 * entries of half a row, which also asks for what lies @c ahead entries from it.
 *
 * In a sweep row i waits for row i-1 alone, through the last entry of its half. Everything else
 * of the row, the division included, is formed before that entry is touched, so that the chain
 * from row to row is one load from the store buffer, one fused multiply-add and one product.
 */

/* What twelve() asks for: 20 rows from the current one, against the order of memory in backward
 * sweeps. */
enum {
    AHEAD = 20 * STK_LU_WIDTH
};

TARGET static void forward_zero(const struct stk_lu *a, const double *restrict r,
                                double *restrict x)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double rest = r[i] - twelve(&a->lower, k, AHEAD, x);
        x[i] = (rest - a->lower.values[k + 12] * x[a->lower.columns[k + 12]]) * inverse;
    }
}

TARGET static void backward_zero(const struct stk_lu *a, double *restrict x)
{
    for (size_t i = a->n_rows; i-- > 0;) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double rest = x[i] - twelve(&a->upper, k, -AHEAD, x) * inverse;
        const double factor = a->upper.values[k + 12] * inverse;
        x[i] = rest - factor * x[a->upper.columns[k + 12]];
    }
}

TARGET static void forward(const struct stk_lu *a, const double *restrict r,
                           double *restrict x, double *restrict t)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double above = twelve(&a->upper, k, AHEAD, x) +
                             a->upper.values[k + 12] * x[a->upper.columns[k + 12]];
        const double below = r[i] - twelve(&a->lower, k, AHEAD, x);
        const double rest = below - above;
        const double value = a->lower.values[k + 12];
        const double before = x[a->lower.columns[k + 12]];
        x[i] = (rest - value * before) * inverse;
        t[i] = below - value * before;
    }
}

TARGET static void backward(const struct stk_lu *a, const double *restrict t,
                            double *restrict x)
{
    for (size_t i = a->n_rows; i-- > 0;) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double rest = t[i] - twelve(&a->upper, k, -AHEAD, x);
        x[i] = (rest - a->upper.values[k + 12] * x[a->upper.columns[k + 12]]) * inverse;
    }
}

TARGET static inline double row_sum(const struct stk_lu *a, size_t i,
                                    const double *restrict x)
{
    const size_t k = i * STK_LU_WIDTH;

    return (twelve(&a->lower, k, AHEAD, x) +
            a->lower.values[k + 12] * x[a->lower.columns[k + 12]]) +
           (twelve(&a->upper, k, AHEAD, x) +
            a->upper.values[k + 12] * x[a->upper.columns[k + 12]]) +
           a->diagonal[i] * x[i];
}

TARGET static double multiply(const struct stk_lu *a, const double *restrict x,
                              double *restrict y)
{
    double dot = 0.0;

    for (size_t i = 0; i < a->n_rows; i++) {
        y[i] = row_sum(a, i, x);
        dot += x[i] * y[i];
    }
    return dot;
}

TARGET static double row(const struct stk_lu *a, size_t i, const double *restrict x)
{
    return row_sum(a, i, x);
}

#define STK_LU_LOOPS                                                                     \
    {                                                                                    \
        forward_zero, backward_zero, forward, backward, multiply, row                    \
    }

#endif
