#ifndef ST_KERNELS_LU_LOOPS_H
#define ST_KERNELS_LU_LOOPS_H

#include "kernels/lu_chunk.h"

/*
 * The loops of lu.h, written once. A source for one instruction set includes this after it has
 * defined the macro TARGET (its function attribute) and
 * sums(half, chunk, n_entries, ahead, x, sum): the sums of the first 12 or 13 entries of the
 * rows of a chunk, which also asks for the chunk so many ahead.
 *
 * In a sweep row i waits for row i-1 alone, through the last entry of its half. Everything else
 * of 8 rows, the divisions included, is formed before those entries are touched, so that the
 * chain from row to row is one fused multiply-add: 4 cycles, less than the row's 112 bytes take.
 */

enum {
    SWEEP_AHEAD = 12, /* chunks; measured on Zen 4, flat from 8 to 16 */
    PRODUCT_AHEAD = 8,
    RESIDUAL_AHEAD = 2 /* every second line of points has none of the coarse grid */
};

/* Do the nearest entries of the lanes lead each to the row before it (step -1) or behind it (1)?
 * Then the chain stays in a register. */
static inline bool is_chain(const struct stk_lu_half *half, size_t c, int step)
{
    return half->chunks[c].block == STK_LU_RUNS &&
           half->chunks[c].bases[NEAREST] == (int32_t)(c * LANES) + step;
}

/* x[i] = rest[i] - factor[i] x[nearest of i] upwards; before[i] is that x. */
TARGET static inline void chain_up(const struct stk_lu_half *half, size_t c,
                                   const double *rest, const double *factor, double *x,
                                   double *before)
{
    const size_t i = c * LANES;

    if (is_chain(half, c, -1)) {
        double last = x[i - 1];
        for (size_t lane = 0; lane < LANES; lane++) {
            before[lane] = last;
            last = rest[lane] - factor[lane] * last;
            x[i + lane] = last;
        }
        return;
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        before[lane] = x[column_of(half, c, NEAREST, lane)];
        x[i + lane] = rest[lane] - factor[lane] * before[lane];
    }
}

/* The same downwards; behind[i] is the x of the nearest of i. */
TARGET static inline void chain_down(const struct stk_lu_half *half, size_t c,
                                     const double *rest, const double *factor, double *x,
                                     double *behind)
{
    const size_t i = c * LANES;

    if (is_chain(half, c, 1)) {
        double last = x[i + LANES];
        for (size_t lane = LANES; lane-- > 0;) {
            behind[lane] = last;
            last = rest[lane] - factor[lane] * last;
            x[i + lane] = last;
        }
        return;
    }
    for (size_t lane = LANES; lane-- > 0;) {
        behind[lane] = x[column_of(half, c, NEAREST, lane)];
        x[i + lane] = rest[lane] - factor[lane] * behind[lane];
    }
}

/* All entries of a half of one row: rows of chunks that are not whole or not wide. */
TARGET static inline double row_sum(const struct stk_lu_half *half, size_t i,
                                    const double *x)
{
    const size_t c = i / LANES;
    const size_t lane = i % LANES;
    double sum = 0.0;

    for (size_t s = 0; s < STK_LU_WIDTH; s++) {
        sum += half->chunks[c].values[s][lane] * x[column_of(half, c, s, lane)];
    }
    return sum;
}

/* Rows that are swept chunk by chunk: from the first one on. */
static inline size_t rows_by_chunks(const struct stk_lu *a)
{
    return a->is_wide ? a->n_rows / LANES * LANES : 0;
}

TARGET static void forward_zero(const struct stk_lu *a, const double *restrict r,
                                double *restrict x)
{
    const size_t by_chunks = rows_by_chunks(a);

    for (size_t i = 0; i < by_chunks; i += LANES) {
        const size_t c = i / LANES;
        const double *near = a->lower.chunks[c].values[NEAREST];
        double sum[LANES], factor[LANES], before[LANES];
        sums(&a->lower, c, NEAREST, SWEEP_AHEAD, x, sum);
        for (size_t lane = 0; lane < LANES; lane++) {
            const double inverse = 1.0 / a->diagonal[i + lane];
            sum[lane] = (r[i + lane] - sum[lane]) * inverse;
            factor[lane] = near[lane] * inverse;
        }
        chain_up(&a->lower, c, sum, factor, x, before);
    }
    for (size_t i = by_chunks; i < a->n_rows; i++) {
        x[i] = (r[i] - row_sum(&a->lower, i, x)) / a->diagonal[i];
    }
}

TARGET static void backward_zero(const struct stk_lu *a, double *restrict x,
                                 double *restrict ux)
{
    const size_t by_chunks = rows_by_chunks(a);

    for (size_t i = a->n_rows; i-- > by_chunks;) {
        ux[i] = row_sum(&a->upper, i, x);
        x[i] -= ux[i] / a->diagonal[i];
    }
    for (size_t c = by_chunks / LANES; c-- > 0;) {
        const size_t i = c * LANES;
        const double *near = a->upper.chunks[c].values[NEAREST];
        double sum[LANES], rest[LANES], factor[LANES], behind[LANES];
        sums(&a->upper, c, NEAREST, -SWEEP_AHEAD, x, sum);
        for (size_t lane = 0; lane < LANES; lane++) {
            const double inverse = 1.0 / a->diagonal[i + lane];
            rest[lane] = x[i + lane] - sum[lane] * inverse;
            factor[lane] = near[lane] * inverse;
        }
        chain_down(&a->upper, c, rest, factor, x, behind);
        for (size_t lane = 0; lane < LANES; lane++) {
            ux[i + lane] = sum[lane] + near[lane] * behind[lane];
        }
    }
}

TARGET static void residual(const struct stk_lu *a, size_t n, const uint32_t *rows,
                            const double *restrict r, const double *restrict ux,
                            const double *restrict x, double *restrict out)
{
    for (size_t k = 0; k < n;) {
        const size_t c = rows[k] / LANES;
        double sum[LANES];
        sums(&a->lower, c, STK_LU_WIDTH, RESIDUAL_AHEAD, x, sum);
        for (; k < n && rows[k] / LANES == c; k++) {
            const size_t i = rows[k];
            out[k] = r[i] - ux[i] - a->diagonal[i] * x[i] - sum[i % LANES];
        }
    }
}

TARGET static void forward(const struct stk_lu *a, size_t first, size_t end,
                           const double *restrict r, double *restrict ux,
                           double *restrict x)
{
    const size_t by_chunks = rows_by_chunks(a) < end ? rows_by_chunks(a) : end;
    size_t i = first;

    for (; i < by_chunks; i += LANES) {
        const size_t c = i / LANES;
        const double *near = a->lower.chunks[c].values[NEAREST];
        double sum[LANES], rest[LANES], factor[LANES], before[LANES];
        sums(&a->lower, c, NEAREST, SWEEP_AHEAD, x, sum);
        for (size_t lane = 0; lane < LANES; lane++) {
            const double inverse = 1.0 / a->diagonal[i + lane];
            sum[lane] = r[i + lane] - sum[lane];
            rest[lane] = (sum[lane] - ux[i + lane]) * inverse;
            factor[lane] = near[lane] * inverse;
        }
        chain_up(&a->lower, c, rest, factor, x, before);
        for (size_t lane = 0; lane < LANES; lane++) {
            ux[i + lane] = sum[lane] - near[lane] * before[lane];
        }
    }
    for (; i < end; i++) {
        const double below = r[i] - row_sum(&a->lower, i, x);
        x[i] = (below - ux[i]) / a->diagonal[i];
        ux[i] = below;
    }
}

TARGET static void backward(const struct stk_lu *a, const double *restrict t,
                            double *restrict x)
{
    const size_t by_chunks = rows_by_chunks(a);

    for (size_t i = a->n_rows; i-- > by_chunks;) {
        x[i] = (t[i] - row_sum(&a->upper, i, x)) / a->diagonal[i];
    }
    for (size_t c = by_chunks / LANES; c-- > 0;) {
        const size_t i = c * LANES;
        const double *near = a->upper.chunks[c].values[NEAREST];
        double sum[LANES], factor[LANES], behind[LANES];
        sums(&a->upper, c, NEAREST, -SWEEP_AHEAD, x, sum);
        for (size_t lane = 0; lane < LANES; lane++) {
            const double inverse = 1.0 / a->diagonal[i + lane];
            sum[lane] = (t[i + lane] - sum[lane]) * inverse;
            factor[lane] = near[lane] * inverse;
        }
        chain_down(&a->upper, c, sum, factor, x, behind);
    }
}

TARGET static double multiply(const struct stk_lu *a, const double *restrict x,
                              double *restrict y)
{
    const size_t by_chunks = a->n_rows / LANES * LANES; /* no row waits for another */
    double dots[LANES] = {0.0};
    double dot = 0.0;

    for (size_t i = 0; i < by_chunks; i += LANES) {
        const size_t c = i / LANES;
        double below[LANES], above[LANES];
        sums(&a->lower, c, STK_LU_WIDTH, PRODUCT_AHEAD, x, below);
        sums(&a->upper, c, STK_LU_WIDTH, PRODUCT_AHEAD, x, above);
        for (size_t lane = 0; lane < LANES; lane++) {
            const double own = x[i + lane];
            y[i + lane] = below[lane] + a->diagonal[i + lane] * own + above[lane];
            dots[lane] += own * y[i + lane];
        }
    }
    for (size_t i = by_chunks; i < a->n_rows; i++) {
        y[i] =
            row_sum(&a->lower, i, x) + a->diagonal[i] * x[i] + row_sum(&a->upper, i, x);
        dot += x[i] * y[i];
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        dot += dots[lane];
    }
    return dot;
}

#define STK_LU_LOOPS                                                                     \
    {                                                                                    \
        forward_zero, backward_zero, residual, forward, backward, multiply               \
    }

#endif
