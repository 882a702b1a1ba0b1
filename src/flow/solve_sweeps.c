/*
 * Sweeps as solvers: symmetric Gauss-Seidel, which is Jacobi across ranks with one exchange a
 * sweep (OpenFOAM's smoothSolver with symGaussSeidel, nSweeps 1), and Jacobi. The residual is
 * formed after every sweep.
 */
#include "src/flow/solver.h"

#include <string.h>

static enum st_status gauss_seidel(struct st_solve *t, struct st_error *err)
{
    struct st_ldu_exchange *exchange = &t->s->exchange;
    const struct stk_ldu a = st_ldu_view(t->a);
    double *right = t->s->v[0];
    enum st_status rc =
        st_ldu_exchange_start(exchange, t->a->addr->interface_cell, t->x, err);

    memcpy(right, t->b, a.n_cells * sizeof(double));
    if (rc == ST_OK) {
        rc = st_ldu_exchange_finish(exchange, err);
    }
    if (rc == ST_OK) {
        st_ldu_add_interface(t->a, -1.0, exchange->ghost, right);
        stk_ldu_gauss_seidel(&a, right, t->x);
    }
    /* Upper and labels twice, lower once; b copied, right side and x read and written twice, but
     * the right side only read in the end; diagonal and first faces twice. */
    t->report->bytes += 32.0 * (double)a.n_faces + 96.0 * (double)a.n_cells;
    return rc;
}

/* x += D^-1 r; r is as of the last product. */
static void jacobi(struct st_solve *t)
{
    for (size_t c = 0; c < (size_t)t->s->addr->n_cells; c++) {
        t->x[c] += t->s->v[1][c] / t->a->diag[c];
    }
    t->report->bytes += 32.0 * t->s->addr->n_cells;
}

static enum st_status residual(struct st_solve *t, struct st_error *err)
{
    const struct stk_ldu a = st_ldu_view(t->a);
    double *const *v = t->s->v;
    const enum st_status rc = st_ldu_multiply(&t->s->exchange, t->a, t->x, v[0], err);

    for (size_t c = 0; c < a.n_cells; c++) {
        v[1][c] = t->b[c] - v[0][c];
    }
    t->report->bytes += stk_work_bytes(&stk_ldu_face_work, a.n_faces) +
                        stk_work_bytes(&stk_ldu_cell_work, a.n_cells) +
                        32.0 * (double)a.n_cells;
    return rc == ST_OK ? st_solve_measure(t, stk_ldu_sum_mag(a.n_cells, v[1]), err) : rc;
}

enum st_status st_solve_sweeps(struct st_solve *t, struct st_error *err)
{
    enum st_status rc = ST_OK;

    while (rc == ST_OK && st_solve_goes_on(t)) {
        if (t->s->options.kind == ST_SOLVER_JACOBI) {
            jacobi(t);
        } else {
            rc = gauss_seidel(t, err);
        }
        if (rc == ST_OK) {
            rc = residual(t, err);
        }
        t->report->iterations++;
    }
    return rc;
}
