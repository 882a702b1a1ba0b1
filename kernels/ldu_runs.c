/*
 * Choice of the loops over runs, and their work.
 */
#include "kernels/ldu_runs_isa.h"

#include <stddef.h>

/* Six coefficients. Backward: w, x, r_hat, v, t read; x, r_hat, v, t written. Forward: r_hat, v,
 * t, rest, root read; w written. */
const struct stk_work stk_runs_row_work = {48.0 + 40.0 + 40.0, 32.0 + 8.0, 8.0, 39.0};

/* Six coefficients. Forward: b, part, x, y, diag, inverse read; part, y written. Backward: part,
 * inverse read; y written. */
const struct stk_work stk_runs_gs_work = {48.0 + 48.0 + 16.0, 16.0 + 8.0, 0.0, 28.0};

const struct stk_runs_loops *stk_runs_loops_of(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return &stk_runs_plain_loops;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return &stk_runs_avx2_loops;
    }
    if (isa == STK_ISA_AVX512 && stk_isa_best() >= STK_ISA_AVX512) {
        return &stk_runs_avx512_loops;
    }
#endif
    return NULL;
}

const struct stk_runs_loops *stk_runs_loops_best(void)
{
    return stk_runs_loops_of((int)stk_isa_best());
}

double stk_runs_start(const struct stk_runs *a, const double *r, double *r_hat)
{
    double product = 0.0;

    for (size_t k = 0; k < a->n_lower; k++) {
        const struct stk_run run = a->lower_runs[k];
        for (int32_t i = 0; i < run.n; i++) {
            double sum = r[run.row + i];
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                sum -= a->lower[slot][run.row + i] * r_hat[run.column[slot] + i];
            }
            r_hat[run.row + i] = sum;
            product += sum * sum;
        }
    }
    return product;
}

void stk_runs_gs_start(const struct stk_runs *a, const struct stk_gs *g)
{
    for (size_t k = 0; k < a->n_upper; k++) {
        const struct stk_run run = a->upper_runs[k];
        for (int32_t i = 0; i < run.n; i++) {
            const int32_t row = run.row + i;
            double sum = g->diag[row] * g->x[row];
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                sum += a->upper[slot][row] * g->x[run.column[slot] + i];
            }
            g->part[row] = sum;
        }
    }
}
