/*
 * Conjugate gradients with DIC or multigrid, BiCGStab with DILU, and multigrid by itself, in
 * OpenFOAM's order of operations: three reductions an iteration for the first, five or six for
 * the second (METHODS 4.2; van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992). The
 * preconditioner stays within a rank. Sums of the first are formed in the loops that have their
 * terms in registers; they are reduced one by one, where OpenFOAM reduces them.
 */
#include "src/flow/solver.h"

#include <math.h>
#include <string.h>

/* Rows of st_solver.v; the first three are also st_solve_begin()'s. */
enum {
    V_W,
    V_R,
    V_P,
    V_INVERSE,
    V_R0,
    V_Y,
    V_S,
    V_Z,
    V_T
};

/* Below it a pivot counts as nothing (OpenFOAM's VSMALL). */
static const double NOTHING = 1e-300;

static double bytes_of_loop(const struct stk_ldu *a)
{
    return stk_work_bytes(&stk_ldu_face_work, a->n_faces) +
           stk_work_bytes(&stk_ldu_cell_work, a->n_cells);
}

static enum st_status sum_product(struct st_solve *t, const double *a, const double *b,
                                  double *sum, struct st_error *err)
{
    *sum = stk_ldu_sum_product((size_t)t->s->addr->n_cells, a, b);
    return st_ldu_sum(&t->s->exchange, 1, sum, err);
}

/* Cycles of multigrid as preconditioner: OpenFOAM's nVcycles. */
enum {
    N_CYCLES = 2
};

/* w = M^-1 r by cycles. */
static enum st_status cycle(struct st_solve *t, const double *r, double *w,
                            struct st_error *err)
{
    double *const *v = t->s->v;
    const size_t n = (size_t)t->s->addr->n_cells;
    const struct st_gamg_control control = {t->control->tolerance,
                                            t->control->relative_tolerance};
    const double *residual = r;
    enum st_status rc = ST_OK;

    memset(w, 0, n * sizeof(double));
    for (int i = 0; i < N_CYCLES && rc == ST_OK; i++) {
        if (i > 0) {
            rc = st_ldu_multiply(&t->s->exchange, t->a, w, v[V_R0], err);
            for (size_t c = 0; c < n; c++) {
                v[V_Y][c] = r[c] - v[V_R0][c];
            }
            residual = v[V_Y];
        }
        if (rc == ST_OK) {
            rc = st_gamg_cycle(t->s->gamg, &control, r, residual, w, err);
        }
    }
    return rc;
}

/* w = M^-1 r (DIC: w = inverse r on entry); wr summed over the ranks. */
static enum st_status precondition(struct st_solve *t, double *wr, struct st_error *err)
{
    double *const *v = t->s->v;
    const struct stk_ldu a = st_ldu_view(t->a);

    if (t->s->gamg == NULL) {
        *wr = stk_ldu_dilu_sweeps(&a, v[V_INVERSE], v[V_R], v[V_W]);
        return st_ldu_sum(&t->s->exchange, 1, wr, err);
    }
    const enum st_status rc = cycle(t, v[V_R], v[V_W], err);
    return rc == ST_OK ? sum_product(t, v[V_W], v[V_R], wr, err) : rc;
}

enum st_status st_solve_gamg(struct st_solve *t, struct st_error *err)
{
    double *const *v = t->s->v;
    const size_t n = (size_t)t->s->addr->n_cells;
    const struct st_gamg_control control = {t->control->tolerance,
                                            t->control->relative_tolerance};
    enum st_status rc = ST_OK;

    st_gamg_load(t->s->gamg, t->a);
    while (rc == ST_OK && st_solve_goes_on(t)) {
        rc = st_gamg_cycle(t->s->gamg, &control, t->b, v[V_R], t->x, err);
        if (rc == ST_OK) {
            rc = st_ldu_multiply(&t->s->exchange, t->a, t->x, v[V_W], err);
        }
        for (size_t c = 0; c < n; c++) {
            v[V_R][c] = t->b[c] - v[V_W][c];
        }
        if (rc == ST_OK) {
            rc = st_solve_measure(t, stk_ldu_sum_mag(n, v[V_R]), err);
        }
        t->report->iterations++;
    }
    return rc;
}

/* Preconditioner, and w = inverse r for it; no inverse with multigrid, which starts from 0. */
static void start_pcg(struct st_solve *t)
{
    double *const *v = t->s->v;
    const struct stk_ldu a = st_ldu_view(t->a);

    if (t->s->gamg != NULL) {
        st_gamg_load(t->s->gamg, t->a);
        memset(v[V_INVERSE], 0, a.n_cells * sizeof(double));
    } else {
        stk_ldu_dilu(&a, v[V_INVERSE]);
    }
    for (size_t c = 0; c < a.n_cells; c++) {
        v[V_W][c] = v[V_INVERSE][c] * v[V_R][c];
        v[V_P][c] = 0.0;
    }
}

enum st_status st_solve_pcg(struct st_solve *t, struct st_error *err)
{
    double *const *v = t->s->v;
    const struct stk_ldu a = st_ldu_view(t->a);
    const struct stk_ldu_cg vectors = {.n = a.n_cells,
                                       .inverse = v[V_INVERSE],
                                       .p = v[V_P],
                                       .x = t->x,
                                       .r = v[V_R],
                                       .w = v[V_W]};
    double wr_before = 0.0;
    double wr = 0.0;
    enum st_status rc = ST_OK;

    start_pcg(t);
    while (rc == ST_OK && st_solve_goes_on(t)) {
        double wp = 0.0;
        rc = precondition(t, &wr, err);
        if (rc == ST_OK) {
            stk_ldu_cg_direct(&a, t->report->iterations > 0 ? wr / wr_before : 0.0,
                              v[V_W], v[V_P]);
            rc = st_ldu_multiply_rest(&t->s->exchange, t->a, v[V_P], v[V_W], &wp, err);
        }
        if (rc == ST_OK) {
            rc = st_ldu_sum(&t->s->exchange, 1, &wp, err);
        }
        if (rc != ST_OK || !(fabs(wp) / t->norm >= NOTHING)) {
            break; /* solved, or not a number: the same on all ranks */
        }
        wr_before = wr;
        rc = st_solve_measure(t, stk_ldu_cg_step(&vectors, wr / wp), err);
        t->report->iterations++;
        /* Product and two sweeps; direction, step. */
        t->report->bytes += 3.0 * bytes_of_loop(&a) + 112.0 * (double)a.n_cells;
    }
    return rc;
}

/* y = M^-1 p, out = A y. */
static enum st_status precondition_and_multiply(struct st_solve *t, const double *p,
                                                double *y, double *out,
                                                struct st_error *err)
{
    const struct stk_ldu a = st_ldu_view(t->a);

    stk_ldu_dilu_solve(&a, t->s->v[V_INVERSE], p, y);
    t->report->bytes += 3.0 * bytes_of_loop(&a) + 64.0 * (double)a.n_cells;
    return st_ldu_multiply(&t->s->exchange, t->a, y, out, err);
}

/* Second half of an iteration: omega, x and r. */
static enum st_status stabilise(struct st_solve *t, double alpha, double *omega,
                                struct st_error *err)
{
    double *const *v = t->s->v;
    const size_t n = (size_t)t->s->addr->n_cells;
    double ts = 0.0;
    double tt = 0.0;
    enum st_status rc = precondition_and_multiply(t, v[V_S], v[V_Z], v[V_T], err);

    if (rc == ST_OK) {
        rc = sum_product(t, v[V_T], v[V_T], &tt, err);
    }
    if (rc == ST_OK) {
        rc = sum_product(t, v[V_T], v[V_S], &ts, err);
    }
    *omega = tt > 0.0 ? ts / tt : 0.0;
    for (size_t c = 0; c < n; c++) {
        t->x[c] += alpha * v[V_Y][c] + *omega * v[V_Z][c];
        v[V_R][c] = v[V_S][c] - *omega * v[V_T][c];
    }
    return rc == ST_OK ? st_solve_measure(t, stk_ldu_sum_mag(n, v[V_R]), err) : rc;
}

/* The next direction. */
static void direct(struct st_solve *t, double beta, double omega)
{
    double *const *v = t->s->v;

    for (size_t c = 0; c < (size_t)t->s->addr->n_cells; c++) {
        v[V_P][c] = v[V_R][c] + beta * (v[V_P][c] - omega * v[V_W][c]);
    }
}

/* x and the residual after half an iteration, whose first part was enough. */
static void stop_halfway(struct st_solve *t, double alpha)
{
    for (size_t c = 0; c < (size_t)t->s->addr->n_cells; c++) {
        t->x[c] += alpha * t->s->v[V_Y][c];
    }
    t->report->iterations++;
}

enum st_status st_solve_bicgstab(struct st_solve *t, struct st_error *err)
{
    double *const *v = t->s->v;
    const struct stk_ldu a = st_ldu_view(t->a);
    const size_t n = a.n_cells;
    double rr = 0.0;
    double alpha = 0.0;
    double omega = 0.0;
    enum st_status rc = ST_OK;

    stk_ldu_dilu(&a, v[V_INVERSE]);
    memcpy(v[V_R0], v[V_R], n * sizeof(double));
    while (rc == ST_OK && st_solve_goes_on(t)) {
        const double before = rr;
        double ry = 0.0;
        rc = sum_product(t, v[V_R0], v[V_R], &rr, err);
        if (rc != ST_OK || !(fabs(rr) >= NOTHING)) {
            break;
        }
        if (t->report->iterations == 0) {
            memcpy(v[V_P], v[V_R], n * sizeof(double));
        } else if (!(fabs(omega) >= NOTHING)) {
            break;
        } else {
            direct(t, rr / before * (alpha / omega), omega);
        }
        rc = precondition_and_multiply(t, v[V_P], v[V_Y], v[V_W], err);
        if (rc == ST_OK) {
            rc = sum_product(t, v[V_R0], v[V_W], &ry, err);
        }
        alpha = rr / ry;
        for (size_t c = 0; c < n; c++) {
            v[V_S][c] = v[V_R][c] - alpha * v[V_W][c];
        }
        if (rc == ST_OK) {
            rc = st_solve_measure(t, stk_ldu_sum_mag(n, v[V_S]), err);
        }
        if (rc == ST_OK && t->control->fixed_iterations == 0 && st_solve_is_reached(t)) {
            stop_halfway(t, alpha);
            break;
        }
        if (rc == ST_OK) {
            rc = stabilise(t, alpha, &omega, err);
        }
        t->report->iterations++;
    }
    return rc;
}
