#ifndef ST_KERNELS_LDU_RUNS_LOOPS_H
#define ST_KERNELS_LDU_RUNS_LOOPS_H

#include "kernels/ldu.h"

#include <math.h>

/*
 * Loops over runs, written once. A source for one instruction set includes this after it has
 * defined TARGET (its function attribute) and STK_RUNS_LOOPS (the name of its table); one with
 * sweeps of its own says STK_RUNS_OWN_SWEEPS.
 */

#ifndef STK_RUNS_OWN_SWEEPS
TARGET static void backward(const struct stk_runs *a, double beta,
                            const double *restrict r_hat, double *restrict v, double *t)
{
    for (size_t k = a->n_upper; k-- > 0;) {
        const struct stk_run run = a->upper_runs[k];
        const double *u0 = a->upper[0] + run.row;
        const double *u1 = a->upper[1] + run.row;
        const double *u2 = a->upper[2] + run.row;
        const double *t0 = t + run.column[0];
        const double *t1 = t + run.column[1];
        const double *t2 = t + run.column[2];
        const double *r = r_hat + run.row;
        double *own_v = v + run.row;
        double *own_t = t + run.row;
#pragma omp simd
        for (int32_t i = 0; i < run.n; i++) {
            const double sum = r[i] + beta * own_v[i];
            own_v[i] = sum;
            own_t[i] = sum - u0[i] * t0[i] - u1[i] * t1[i] - u2[i] * t2[i];
        }
    }
}

TARGET static void forward(const struct stk_runs *a, const struct stk_levels_forward *x,
                           double sums[2])
{
    double dot = 0.0;
    double magnitude = 0.0;

    for (size_t k = 0; k < a->n_lower; k++) {
        const struct stk_run run = a->lower_runs[k];
        const int32_t *c = run.column;
        const double *l0 = a->lower[0] + run.row;
        const double *l1 = a->lower[1] + run.row;
        const double *l2 = a->lower[2] + run.row;
        const double *t = x->t;
        const double *w = x->w;
        const double *r_hat = x->r_hat;
        const double *v = x->v + run.row;
        const double *rest = a->rest + run.row;
        const double *root = a->root + run.row;
        double *own_w = x->w + run.row;
#pragma omp simd reduction(+ : dot, magnitude)
        for (int32_t i = 0; i < run.n; i++) {
            const double own_t = t[run.row + i];
            const double product = v[i] + rest[i] * own_t + l0[i] * t[c[0] + i] +
                                   l1[i] * t[c[1] + i] + l2[i] * t[c[2] + i];
            const double r = r_hat[run.row + i] + l0[i] * r_hat[c[0] + i] +
                             l1[i] * r_hat[c[1] + i] + l2[i] * r_hat[c[2] + i];
            own_w[i] =
                product - l0[i] * w[c[0] + i] - l1[i] * w[c[1] + i] - l2[i] * w[c[2] + i];
            dot += own_t * product;
            magnitude += fabs(r) * root[i];
        }
    }
    sums[0] = dot;
    sums[1] = magnitude;
}

TARGET static double gs_forward(const struct stk_runs *a, const struct stk_gs *g)
{
    double magnitude = 0.0;

    for (size_t k = 0; k < a->n_lower; k++) {
        const struct stk_run run = a->lower_runs[k];
        const int32_t *c = run.column;
        const double *l0 = a->lower[0] + run.row;
        const double *l1 = a->lower[1] + run.row;
        const double *l2 = a->lower[2] + run.row;
        const double *x = g->x;
        const double *diag = g->diag + run.row;
        const double *inverse = g->inverse + run.row;
        const double *b = g->b + run.row;
        double *part = g->part + run.row;
        double *y = g->y;
#pragma omp simd reduction(+ : magnitude)
        for (int32_t i = 0; i < run.n; i++) {
            const double lx =
                l0[i] * x[c[0] + i] + l1[i] * x[c[1] + i] + l2[i] * x[c[2] + i];
            const double ly =
                l0[i] * y[c[0] + i] + l1[i] * y[c[1] + i] + l2[i] * y[c[2] + i];
            const double upper = part[i] - diag[i] * x[run.row + i];
            magnitude += fabs(b[i] - part[i] - lx);
            part[i] = b[i] - ly;
            y[run.row + i] = (b[i] - ly - upper) * inverse[i];
        }
    }
    return magnitude;
}

TARGET static void gs_backward(const struct stk_runs *a, const struct stk_gs *g)
{
    for (size_t k = a->n_upper; k-- > 0;) {
        const struct stk_run run = a->upper_runs[k];
        const double *u0 = a->upper[0] + run.row;
        const double *u1 = a->upper[1] + run.row;
        const double *u2 = a->upper[2] + run.row;
        const double *y0 = g->y + run.column[0];
        const double *y1 = g->y + run.column[1];
        const double *y2 = g->y + run.column[2];
        const double *part = g->part + run.row;
        const double *inverse = g->inverse + run.row;
        double *y = g->y + run.row;
#pragma omp simd
        for (int32_t i = 0; i < run.n; i++) {
            y[i] = (part[i] - u0[i] * y0[i] - u1[i] * y1[i] - u2[i] * y2[i]) * inverse[i];
        }
    }
}
#endif

TARGET static double update(size_t n, double alpha, const double *restrict t,
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

const struct stk_runs_loops STK_RUNS_LOOPS = {backward, forward, update, gs_forward,
                                              gs_backward};

#endif
