/*
 * Fast symmetric Gauss-Seidel: the same iterates as st_solve_sweeps() to rounding, over runs of
 * rows (kernels/ldu.h). Each half of the matrix is read once a sweep and the residual comes with
 * the next sweep's first half, so a solve ends with half a sweep that no longer counts.
 */
#include "src/flow/solver.h"

/* b at interface rows, less what other ranks' values take from it. */
static enum st_status set_right_side(struct st_solve *t, double *b, const double *x,
                                     struct st_error *err)
{
    const struct st_levels *l = t->s->levels;
    const struct st_ldu_addr *addr = t->s->addr;
    struct st_ldu_exchange *exchange = &t->s->exchange;
    enum st_status rc = st_ldu_exchange_start(exchange, l->interface_row, x, err);

    for (int32_t k = 0; k < addr->n_interface; k++) {
        b[l->interface_row[k]] = t->b[addr->interface_cell[k]];
    }
    if (rc == ST_OK) {
        rc = st_ldu_exchange_finish(exchange, err);
    }
    for (int32_t k = 0; k < addr->n_interface; k++) {
        b[l->interface_row[k]] -= t->a->coupling[k] * exchange->ghost[k];
    }
    return rc;
}

enum st_status st_solve_sweeps_fast(struct st_solve *t, struct st_error *err)
{
    struct st_levels *l = t->s->levels;
    const struct stk_runs runs = st_levels_runs(l);
    const struct stk_runs_loops *loops = stk_runs_loops_best();
    double *x = l->x;
    double *y = l->t;
    double *b = l->r_hat;
    enum st_status rc = ST_OK;

    st_levels_load_plain(t);
    for (size_t i = 0; i < l->n; i++) {
        b[i] = t->b[l->cell_of[i]];
    }
    for (bool is_first = true; rc == ST_OK; is_first = false) {
        const struct stk_gs g = {
            .diag = l->root, .inverse = l->rest, .b = b, .x = x, .part = l->v, .y = y};
        if (is_first) {
            stk_runs_gs_start(&runs, &g);
        }
        rc = set_right_side(t, b, x, err);
        const double sum_mag = loops->gs_forward(&runs, &g);
        if (rc == ST_OK) {
            rc = st_solve_measure(t, sum_mag, err);
        }
        if (rc != ST_OK || !st_solve_goes_on(t)) {
            break; /* x is what counts */
        }
        loops->gs_backward(&runs, &g);
        double *const before = x;
        x = y;
        y = before;
        t->report->iterations++;
        t->report->bytes += stk_work_bytes(&stk_runs_gs_work, l->n);
    }
    for (size_t i = 0; i < l->n; i++) {
        t->x[l->cell_of[i]] = x[i];
    }
    return rc;
}
