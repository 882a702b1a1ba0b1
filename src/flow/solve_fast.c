/*
 * Fast conjugate gradients with DIC: the same iterates as st_solve_pcg() to rounding, in two
 * sweeps and one reduction an iteration instead of three (kernels/ldu_levels.c). The residual
 * that decides is known two sweeps late, so a solve ends with two that no longer count.
 */
#include "src/flow/solver.h"

#include <math.h>

/* Below it a pivot counts as nothing (OpenFOAM's VSMALL). */
static const double NOTHING = 1e-300;

enum {
    SUM_RR = STK_N_SUMS, /* r_hat^2, before the sums of the forward sweep */
    N_ALL_SUMS
};

/* The loops of a solve: over runs or over rows. */
struct fast {
    struct st_solve *t;
    const struct st_levels *l;
    const struct stk_runs_loops *loops; /* NULL: rows */
    struct stk_runs runs;
    struct stk_levels rows;
    struct stk_levels_forward vectors;
};

static struct fast fast_of(struct st_solve *t)
{
    const struct st_levels *l = t->s->levels;
    struct fast f = {.t = t,
                     .l = l,
                     .loops = l->has_runs ? stk_runs_loops_best() : NULL,
                     .vectors = {.r_hat = l->r_hat, .v = l->v, .t = l->t, .w = l->w}};

    if (l->has_runs) {
        f.runs = st_levels_runs(l);
    }
    f.rows = (struct stk_levels){.n = l->n,
                                 .lower_start = l->lower.start,
                                 .upper_start = l->upper.start,
                                 .lower_column = l->lower.column,
                                 .upper_column = l->upper.column,
                                 .lower = l->lower.value,
                                 .upper = l->upper.value,
                                 .rest = l->rest,
                                 .root = l->root};
    return f;
}

/*
 * Other ranks' part of A t is added to v for the time of the forward sweep; the values that v
 * had are kept, since adding and taking off again would not give them back.
 */
static enum st_status add_outside(struct fast *f, struct st_error *err)
{
    const struct st_levels *l = f->l;
    const struct st_ldu *a = f->t->a;
    struct st_ldu_exchange *exchange = &f->t->s->exchange;

    for (int32_t k = 0; k < a->addr->n_interface; k++) {
        l->outgoing[k] = l->t[l->interface_row[k]] / l->root[l->interface_row[k]];
    }
    enum st_status rc = st_ldu_exchange_start(exchange, NULL, l->outgoing, err);
    if (rc == ST_OK) {
        rc = st_ldu_exchange_finish(exchange, err);
    }
    for (int32_t k = 0; k < a->addr->n_interface; k++) {
        const int32_t row = l->interface_row[k];
        l->kept[k] = l->v[row];
        l->v[row] += a->coupling[k] * exchange->ghost[k] / l->root[row];
    }
    return rc;
}

static void take_outside_off(const struct fast *f)
{
    for (int32_t k = f->t->a->addr->n_interface; k-- > 0;) { /* the first value last */
        f->l->v[f->l->interface_row[k]] = f->l->kept[k];
    }
}

/*
 * The step before, and t and w of the next direction. sums: those of stk_levels_forward() and
 * r_hat^2 at SUM_RR, over all ranks.
 */
static enum st_status sweep(struct fast *f, double alpha, double beta,
                            double sums[N_ALL_SUMS], struct st_error *err)
{
    const struct st_levels *l = f->l;
    const struct stk_levels_backward vectors = {.alpha = alpha,
                                                .beta = beta,
                                                .w = l->w,
                                                .x = l->x,
                                                .r_hat = l->r_hat,
                                                .v = l->v,
                                                .t = l->t};

    sums[SUM_RR] = f->loops != NULL ? f->loops->backward(&f->runs, &vectors)
                                    : stk_levels_backward(&f->rows, &vectors);
    const enum st_status rc = add_outside(f, err);
    if (f->loops != NULL) {
        f->loops->forward(&f->runs, &f->vectors, sums);
        f->t->report->bytes += stk_work_bytes(&stk_runs_row_work, l->n);
    } else {
        stk_levels_forward(&f->rows, &f->vectors, sums);
        f->t->report->bytes +=
            stk_work_bytes(&stk_levels_row_work, l->n) +
            2.0 * stk_work_bytes(&stk_levels_entry_work, (size_t)f->t->s->addr->n_faces);
    }
    take_outside_off(f);
    return rc == ST_OK ? st_ldu_sum(&f->t->s->exchange, N_ALL_SUMS, sums, err) : rc;
}

enum st_status st_solve_pcg_fast(struct st_solve *t, struct st_error *err)
{
    const struct st_levels *l = t->s->levels;
    struct fast f = fast_of(t);
    double alpha = 0.0;
    double beta = 0.0;
    enum st_status rc = ST_OK;

    st_levels_load(t);
    if (f.loops != NULL) {
        (void)stk_runs_start(&f.runs, l->t, l->r_hat);
    } else {
        (void)stk_levels_start(&f.rows, l->t, l->r_hat);
    }
    while (rc == ST_OK) {
        double sums[N_ALL_SUMS];
        rc = sweep(&f, alpha, beta, sums, err);
        t->report->final_residual = sums[STK_SUM_MAGNITUDE] / t->norm;
        if (rc != ST_OK || !st_solve_goes_on(t) ||
            !(fabs(sums[STK_SUM_TAT]) / t->norm >= NOTHING)) {
            break; /* sums are the same on all ranks */
        }
        alpha = sums[SUM_RR] / sums[STK_SUM_TAT];
        const double next =
            sums[SUM_RR] - alpha * (2.0 * sums[STK_SUM_RW] - alpha * sums[STK_SUM_WW]);
        beta = next > 0.0 ? next / sums[SUM_RR] : 0.0; /* not below 0 by rounding */
        t->report->iterations++;
    }
    for (size_t i = 0; i < l->n; i++) {
        t->x[l->cell_of[i]] = l->x[i] / l->root[i];
    }
    return rc;
}
