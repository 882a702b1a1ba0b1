/*
 * Conjugate gradients with DIC in two sweeps an iteration (Eisenstat, SIAM J. Sci. Stat. Comput.
 * 2, 1981): DIC keeps the off-diagonal part of A, so with v = (I + L') t the product is
 * A t = v + rest t + L t and needs the lower half only, in the same sweep that solves
 * (I + L) w = A t. OpenFOAM's loops read each half twice. The residual itself, whose sum of
 * magnitudes decides, is (I + L) r_hat: formed in that sweep too, it need not be kept. The steps
 * of x and r_hat go with the next sweep: what the new direction needs of them, the sum of
 * r_hat^2 after the step, is r_hat^2 - 2 alpha r_hat w + alpha^2 w^2.
 */
#include "kernels/ldu.h"

#include <math.h>

/* Both sweeps: column and coefficient once for each half. */
const struct stk_work stk_levels_entry_work = {12.0, 0.0, 0.0, 4.0};
/* Backward: start 4, w, x, r_hat, v, t read; x, r_hat, v, t written. Forward: start 4, r_hat, v,
 * t, rest, root read; w written. */
const struct stk_work stk_levels_row_work = {44.0 + 44.0, 32.0 + 8.0, 8.0, 24.0};

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

double stk_levels_backward(const struct stk_levels *a,
                           const struct stk_levels_backward *x)
{
    const int32_t *restrict start = a->upper_start;
    const int32_t *restrict column = a->upper_column;
    const double *restrict upper = a->upper;
    double *restrict v = x->v;
    double *restrict t = x->t;
    double product = 0.0;

    for (size_t i = a->n; i-- > 0;) {
        const double r = x->r_hat[i] - x->alpha * x->w[i];
        double sum = r + x->beta * v[i];
        x->x[i] += x->alpha * t[i];
        x->r_hat[i] = r;
        v[i] = sum;
        product += r * r;
        for (int32_t k = start[i]; k < start[i + 1]; k++) {
            sum -= upper[k] * t[column[k]];
        }
        t[i] = sum;
    }
    return product;
}

void stk_levels_forward(const struct stk_levels *a, const struct stk_levels_forward *x,
                        double sums[STK_N_SUMS])
{
    const int32_t *restrict start = a->lower_start;
    const int32_t *restrict column = a->lower_column;
    const double *restrict lower = a->lower;
    const double *restrict r_hat = x->r_hat;
    const double *restrict t = x->t;
    double *restrict w = x->w;
    double all[STK_N_SUMS] = {0.0};

    for (size_t i = 0; i < a->n; i++) {
        double product = x->v[i] + a->rest[i] * t[i];
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
        all[STK_SUM_TAT] += t[i] * product;
        all[STK_SUM_MAGNITUDE] += fabs(r) * a->root[i];
        all[STK_SUM_RW] += r_hat[i] * w[i];
        all[STK_SUM_WW] += w[i] * w[i];
    }
    for (int k = 0; k < STK_N_SUMS; k++) {
        sums[k] = all[k];
    }
}
