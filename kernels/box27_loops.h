#ifndef ST_KERNELS_BOX27_LOOPS_H
#define ST_KERNELS_BOX27_LOOPS_H

#include "kernels/box27.h"

/*
 * The loops of box27.h, written once. A source for one instruction set defines the macro TARGET
 * (its function attribute) and includes this; the compiler makes vectors of the loops over
 * neighbouring lines, and the chain along the line stays one addition and one product a point.
 */

enum {
    BELOW = 0x00f, /* lines 0 … 3 */
    ABOVE = 0x1e0, /* lines 5 … 8 */
    AROUND = BELOW | ABOVE,
    LANES = 8
};

/* sum[i] of x at i-1, i and i+1 of some lines. */
TARGET static inline __attribute__((always_inline)) void
add_lines(const struct stk_box_lines *a, unsigned lines, double *restrict sum)
{
    const size_t last = a->n - 1;

    for (size_t i = 0; i < a->n; i++) {
        sum[i] = 0.0;
    }
    for (unsigned l = 0; l < STK_BOX_LINES; l++) {
        const double *restrict x = a->line[l];
        if ((lines >> l & 1U) == 0) {
            continue;
        }
        sum[0] += a->left[l] + x[0] + x[1];
        for (size_t i = 1; i < last; i++) {
            sum[i] += x[i - 1] + x[i] + x[i + 1];
        }
        sum[last] += x[last - 1] + x[last] + a->right[l];
    }
}

/* 1 / d behind the sums, so that no division stands in the chain. */
TARGET static inline __attribute__((always_inline)) const double *
invert(const struct stk_box_lines *a, const double *restrict d, double *restrict scratch)
{
    double *restrict inverse = scratch + a->n;

    for (size_t i = 0; i < a->n; i++) {
        inverse[i] = 1.0 / d[i];
    }
    return inverse;
}

TARGET static inline __attribute__((always_inline)) void
chain_up(size_t n, const double *sum, const double *inverse, double before, double *own)
{
    for (size_t i = 0; i < n; i++) {
        before = sum[i] + before * inverse[i];
        own[i] = before;
    }
}

TARGET static inline __attribute__((always_inline)) void
chain_down(size_t n, const double *sum, const double *inverse, double behind, double *own)
{
    for (size_t i = n; i-- > 0;) {
        behind = sum[i] + behind * inverse[i];
        own[i] = behind;
    }
}

TARGET static void forward_zero(const struct stk_box_lines *a, const double *restrict d,
                                const double *restrict r, double *own,
                                double *restrict scratch)
{
    const double *inverse = invert(a, d, scratch);

    add_lines(a, BELOW, scratch);
    for (size_t i = 0; i < a->n; i++) {
        scratch[i] = (scratch[i] + r[i]) * inverse[i];
    }
    chain_up(a->n, scratch, inverse, 0.0, own); /* ghosts count as zero too */
}

TARGET static void backward_zero(const struct stk_box_lines *a, const double *restrict d,
                                 double *own, double *restrict scratch)
{
    const double *inverse = invert(a, d, scratch);

    add_lines(a, ABOVE, scratch);
    for (size_t i = 0; i < a->n; i++) {
        scratch[i] = own[i] + scratch[i] * inverse[i];
    }
    chain_down(a->n, scratch, inverse, 0.0, own);
}

TARGET static void forward(const struct stk_box_lines *a, const double *restrict d,
                           const double *restrict r, double *own,
                           double *restrict scratch)
{
    const size_t last = a->n - 1;
    const double *inverse = invert(a, d, scratch);

    add_lines(a, AROUND, scratch);
    for (size_t i = 0; i < last; i++) {
        scratch[i] = (scratch[i] + r[i] + own[i + 1]) * inverse[i];
    }
    scratch[last] = (scratch[last] + r[last] + a->right[STK_BOX_OWN]) * inverse[last];
    chain_up(a->n, scratch, inverse, a->left[STK_BOX_OWN], own);
}

TARGET static void backward(const struct stk_box_lines *a, const double *restrict d,
                            const double *restrict r, double *own,
                            double *restrict scratch)
{
    const double *inverse = invert(a, d, scratch);

    add_lines(a, AROUND, scratch);
    scratch[0] = (scratch[0] + r[0] + a->left[STK_BOX_OWN]) * inverse[0];
    for (size_t i = 1; i < a->n; i++) {
        scratch[i] = (scratch[i] + r[i] + own[i - 1]) * inverse[i];
    }
    chain_down(a->n, scratch, inverse, a->right[STK_BOX_OWN], own);
}

TARGET static double multiply(const struct stk_box_lines *a, const double *restrict d,
                              double *restrict y)
{
    const double *restrict x = a->line[STK_BOX_OWN];
    double dots[LANES] = {0.0};
    double dot = 0.0;
    size_t i = 0;

    /* The own line is summed up in full, so that its point is taken off again. */
    add_lines(a, AROUND | 1U << STK_BOX_OWN, y);
    for (size_t k = 0; k < a->n; k++) {
        y[k] = (d[k] + 1.0) * x[k] - y[k];
    }
    for (; i + LANES <= a->n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            dots[lane] += x[i + lane] * y[i + lane];
        }
    }
    for (; i < a->n; i++) {
        dot += x[i] * y[i];
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        dot += dots[lane];
    }
    return dot;
}

#define STK_BOX_LOOPS                                                                    \
    {                                                                                    \
        forward_zero, backward_zero, forward, backward, multiply                         \
    }

#endif
