/*
 * Conjugate gradients with DIC in two sweeps an iteration (Eisenstat, SIAM J. Sci. Stat. Comput.
 * 2, 1981): DIC keeps the off-diagonal part of A, so with v = (I + L') t the product is
 * A t = v + rest t + L t and needs the lower half only, in the same sweep that solves
 * (I + L) w = A t. OpenFOAM's loops read each half twice. The residual itself, whose sum of
 * magnitudes decides, is (I + L) r_hat: formed in that sweep too, it need not be kept.
 */
#include "kernels/ldu.h"

#include <math.h>

/* Both sweeps: column and coefficient once for each half. */
const struct stk_work stk_levels_entry_work = {12.0, 0.0, 0.0, 4.0};
/* Backward: start 4, r_hat, v read; v, t written. Forward: start 4, r_hat, v, t, rest, root
 * read; w written. Update: t, w, x, r_hat read; x, r_hat written. */
const struct stk_work stk_levels_row_work = {20.0 + 44.0 + 32.0, 16.0 + 8.0 + 16.0, 8.0,
                                             20.0};

double stk_levels_start(const struct stk_levels *a, const double *restrict r,
                        double *restrict r_hat)
{
    double product = 0.0;

    for (size_t i = 0; i < a->n; i++) {
        double sum = r[i];
        for (int32_t k = a->lower_start[i]; k < a->lower_start[i + 1]; k++) {
            sum -= a->lower[k] * r_hat[a->lower_column[k]];
        }
        r_hat[i] = sum;
        product += sum * sum;
    }
    return product;
}

void stk_levels_backward(const struct stk_levels *a, double beta,
                         const double *restrict r_hat, double *restrict v,
                         double *restrict t)
{
    const int32_t *restrict start = a->upper_start;
    const int32_t *restrict column = a->upper_column;
    const double *restrict upper = a->upper;

    for (size_t i = a->n; i-- > 0;) {
        double sum = r_hat[i] + beta * v[i];
        v[i] = sum;
        for (int32_t k = start[i]; k < start[i + 1]; k++) {
            sum -= upper[k] * t[column[k]];
        }
        t[i] = sum;
    }
}

void stk_levels_forward(const struct stk_levels *a, const struct stk_levels_forward *x,
                        double sums[2])
{
    const int32_t *restrict start = a->lower_start;
    const int32_t *restrict column = a->lower_column;
    const double *restrict lower = a->lower;
    const double *restrict rest = a->rest;
    const double *restrict root = a->root;
    const double *restrict r_hat = x->r_hat;
    const double *restrict v = x->v;
    const double *restrict t = x->t;
    double *restrict w = x->w;
    double dot = 0.0;
    double magnitude = 0.0;

    for (size_t i = 0; i < a->n; i++) {
        double product = v[i] + rest[i] * t[i];
        double solved = 0.0;
        double r = r_hat[i];
        for (int32_t k = start[i]; k < start[i + 1]; k++) {
            const double value = lower[k];
            const int32_t c = column[k];
            product += value * t[c];
            solved += value * w[c];
            r += value * r_hat[c];
        }
        w[i] = product - solved;
        dot += t[i] * product;
        magnitude += fabs(r) * root[i];
    }
    sums[0] = dot;
    sums[1] = magnitude;
}

double stk_levels_update(size_t n, double alpha, const double *restrict t,
                         const double *restrict w, double *restrict x,
                         double *restrict r_hat)
{
    double product = 0.0;

#pragma omp simd reduction(+ : product)
    for (size_t i = 0; i < n; i++) {
        x[i] += alpha * t[i];
        r_hat[i] -= alpha * w[i];
        product += r_hat[i] * r_hat[i];
    }
    return product;
}
