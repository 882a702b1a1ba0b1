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
/* Backward sweeps take the rows of a run in pieces from its end: the processor's prefetch follows
 * what goes down all the time, not what goes down by runs and up within them. */
enum {
    PIECE = 32
};

TARGET static double backward(const struct stk_runs *a,
                              const struct stk_levels_backward *x)
{
    const double alpha = x->alpha;
    const double beta = x->beta;
    double product = 0.0;

    for (size_t k = a->n_upper; k-- > 0;) {
        const struct stk_run run = a->upper_runs[k];
        for (int32_t end = run.n; end > 0; end -= PIECE) {
            const int32_t first = end > PIECE ? end - PIECE : 0;
            const int32_t row = run.row + first;
            const double *u0 = a->upper[0] + row;
            const double *u1 = a->upper[1] + row;
            const double *u2 = a->upper[2] + row;
            const double *t0 = x->t + run.column[0] + first;
            const double *t1 = x->t + run.column[1] + first;
            const double *t2 = x->t + run.column[2] + first;
            const double *w = x->w + row;
            double *own_x = x->x + row;
            double *r_hat = x->r_hat + row;
            double *v = x->v + row;
            double *t = x->t + row;
#pragma omp simd reduction(+ : product)
            for (int32_t i = 0; i < end - first; i++) {
                const double r = r_hat[i] - alpha * w[i];
                const double sum = r + beta * v[i];
                own_x[i] += alpha * t[i];
                r_hat[i] = r;
                v[i] = sum;
                product += r * r;
                t[i] = sum - u0[i] * t0[i] - u1[i] * t1[i] - u2[i] * t2[i];
            }
        }
    }
    return product;
}

TARGET static void forward(const struct stk_runs *a, const struct stk_levels_forward *x,
                           double sums[STK_N_SUMS])
{
    double dot = 0.0;
    double magnitude = 0.0;
    double rw = 0.0;
    double ww = 0.0;

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
#pragma omp simd reduction(+ : dot, magnitude, rw, ww)
        for (int32_t i = 0; i < run.n; i++) {
            const double own_t = t[run.row + i];
            const double own_r = r_hat[run.row + i];
            const double product = v[i] + rest[i] * own_t + l0[i] * t[c[0] + i] +
                                   l1[i] * t[c[1] + i] + l2[i] * t[c[2] + i];
            const double r = own_r + l0[i] * r_hat[c[0] + i] + l1[i] * r_hat[c[1] + i] +
                             l2[i] * r_hat[c[2] + i];
            const double solved =
                product - l0[i] * w[c[0] + i] - l1[i] * w[c[1] + i] - l2[i] * w[c[2] + i];
            own_w[i] = solved;
            dot += own_t * product;
            magnitude += fabs(r) * root[i];
            rw += own_r * solved;
            ww += solved * solved;
        }
    }
    sums[STK_SUM_TAT] = dot;
    sums[STK_SUM_MAGNITUDE] = magnitude;
    sums[STK_SUM_RW] = rw;
    sums[STK_SUM_WW] = ww;
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
        for (int32_t end = run.n; end > 0; end -= PIECE) {
            const int32_t first = end > PIECE ? end - PIECE : 0;
            const int32_t row = run.row + first;
            const double *u0 = a->upper[0] + row;
            const double *u1 = a->upper[1] + row;
            const double *u2 = a->upper[2] + row;
            const double *y0 = g->y + run.column[0] + first;
            const double *y1 = g->y + run.column[1] + first;
            const double *y2 = g->y + run.column[2] + first;
            const double *part = g->part + row;
            const double *inverse = g->inverse + row;
            double *y = g->y + row;
#pragma omp simd
            for (int32_t i = 0; i < end - first; i++) {
                y[i] = (part[i] - u0[i] * y0[i] - u1[i] * y1[i] - u2[i] * y2[i]) *
                       inverse[i];
            }
        }
    }
}
#endif

const struct stk_runs_loops STK_RUNS_LOOPS = {backward, forward, gs_forward, gs_backward};

#endif
