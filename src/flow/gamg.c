/*
 * Cycles of the agglomeration multigrid, in OpenFOAM's order of operations (GAMGSolver with its
 * defaults), so that cycle counts are its own.
 */
#include "src/flow/gamg.h"

#include <math.h>
#include <string.h>

enum {
    POST_SWEEPS = 2, /* and one more by level, at most: */
    MOST_POST_SWEEPS = 4,
    FINEST_SWEEPS = 2,
    MOST_COARSEST_ITERATIONS = 1000
};

static double bytes_of_loop(const struct st_ldu_addr *a)
{
    return stk_work_bytes(&stk_ldu_face_work, (size_t)a->n_faces) +
           stk_work_bytes(&stk_ldu_cell_work, (size_t)a->n_cells);
}

void st_gamg_load(struct st_gamg *g, const struct st_ldu *a)
{
    const struct st_ldu *fine = a;

    g->level[0].a = *a;
    for (int i = 1; i < g->n_levels; i++) {
        const struct st_gamg_level *below = &g->level[i - 1];
        struct st_ldu *coarse = &g->level[i].a;
        memset(coarse->diag, 0, (size_t)coarse->addr->n_cells * sizeof(double));
        memset(coarse->upper, 0, (size_t)coarse->addr->n_faces * sizeof(double));
        memset(coarse->coupling, 0, (size_t)coarse->addr->n_interface * sizeof(double));
        for (int32_t c = 0; c < below->addr.n_cells; c++) {
            coarse->diag[below->coarse_of[c]] += fine->diag[c];
        }
        for (int32_t f = 0; f < below->addr.n_faces; f++) {
            const int32_t to = below->face_to[f];
            if (to >= 0) {
                coarse->upper[to] += fine->upper[f];
            } else {
                coarse->diag[-1 - to] += 2.0 * fine->upper[f];
            }
        }
        for (int32_t k = 0; k < below->addr.n_interface; k++) {
            coarse->coupling[below->interface_to[k]] += fine->coupling[k];
        }
        fine = coarse;
    }
}

static void restrict_to(const struct st_gamg_level *fine, const double *r, double *coarse,
                        int32_t n_coarse)
{
    memset(coarse, 0, (size_t)n_coarse * sizeof(double));
    for (int32_t c = 0; c < fine->addr.n_cells; c++) {
        coarse[fine->coarse_of[c]] += r[c];
    }
}

static void prolong(const struct st_gamg_level *fine, const double *coarse, double *x)
{
    for (int32_t c = 0; c < fine->addr.n_cells; c++) {
        x[c] = coarse[fine->coarse_of[c]];
    }
}

/* The correction times the factor that makes its energy least, and one Jacobi step. */
static enum st_status scale(struct st_gamg *g, struct st_gamg_level *l,
                            const struct st_ldu *a, const double *b, double *x,
                            struct st_error *err)
{
    const size_t n = (size_t)l->addr.n_cells;
    double sums[2] = {0.0, 0.0};
    enum st_status rc = st_ldu_multiply(&l->exchange, a, x, l->work, err);

    if (rc == ST_OK) {
        sums[0] = stk_ldu_sum_product(n, b, x);
        sums[1] = stk_ldu_sum_product(n, l->work, x);
        rc = st_ldu_sum(&l->exchange, 2, sums, err);
    }
    const double factor = sums[1] != 0.0 ? sums[0] / sums[1] : 0.0;
    for (size_t c = 0; c < n; c++) {
        x[c] = factor * x[c] + (b[c] - factor * l->work[c]) / a->diag[c];
    }
    g->bytes += bytes_of_loop(&l->addr) + 80.0 * (double)n;
    return rc;
}

static enum st_status smooth(struct st_gamg *g, struct st_gamg_level *l,
                             const struct st_ldu *a, const double *b, double *x,
                             int n_sweeps, struct st_error *err)
{
    const struct stk_ldu view = st_ldu_view(a);
    enum st_status rc = ST_OK;

    for (int i = 0; i < n_sweeps && rc == ST_OK; i++) {
        rc = st_ldu_exchange_start(&l->exchange, l->addr.interface_cell, x, err);
        memcpy(l->work, b, view.n_cells * sizeof(double));
        if (rc == ST_OK) {
            rc = st_ldu_exchange_finish(&l->exchange, err);
        }
        if (rc == ST_OK) {
            st_ldu_add_interface(a, -1.0, l->exchange.ghost, l->work);
            stk_ldu_gauss_seidel_forward(&view, l->work, x);
        }
        g->bytes += bytes_of_loop(&l->addr) + 32.0 * (double)view.n_cells;
    }
    return rc;
}

/* Norm of the coarsest level's residual for x = 0: sum of 2 |b|. */
static enum st_status start_coarsest(struct st_gamg_level *l, double *norm,
                                     double *residual, struct st_error *err)
{
    const size_t n = (size_t)l->addr.n_cells;
    double sum = stk_ldu_sum_mag(n, l->b);
    const enum st_status rc = st_ldu_sum(&l->exchange, 1, &sum, err);

    memset(l->x, 0, n * sizeof(double));
    memset(l->p, 0, n * sizeof(double));
    memcpy(l->r, l->b, n * sizeof(double));
    *norm = sum + 1e-20;
    *residual = sum / *norm;
    return rc;
}

static enum st_status solve_coarsest(struct st_gamg_level *l,
                                     const struct st_gamg_control *control,
                                     struct st_error *err)
{
    const struct stk_ldu a = st_ldu_view(&l->a);
    const size_t n = a.n_cells;
    double norm = 0.0;
    double residual = 0.0;
    double before = 1.0;
    enum st_status rc = start_coarsest(l, &norm, &residual, err);
    const double initial = residual;

    stk_ldu_dilu(&a, l->inverse);
    for (int i = 0; rc == ST_OK && i < MOST_COARSEST_ITERATIONS; i++) {
        /* Written so that NaN ends it too. */
        if (!(residual >= control->tolerance &&
              residual >= control->relative_tolerance * initial)) {
            break;
        }
        stk_ldu_dilu_solve(&a, l->inverse, l->r, l->work);
        double wr = stk_ldu_sum_product(n, l->work, l->r);
        rc = st_ldu_sum(&l->exchange, 1, &wr, err);
        for (size_t c = 0; c < n; c++) {
            l->p[c] = l->work[c] + (i > 0 ? wr / before : 0.0) * l->p[c];
        }
        before = wr;
        if (rc == ST_OK) {
            rc = st_ldu_multiply(&l->exchange, &l->a, l->p, l->work, err);
        }
        double wp = stk_ldu_sum_product(n, l->work, l->p);
        if (rc == ST_OK) {
            rc = st_ldu_sum(&l->exchange, 1, &wp, err);
        }
        if (!(fabs(wp) / norm >= 1e-300)) {
            break;
        }
        for (size_t c = 0; c < n; c++) {
            l->x[c] += wr / wp * l->p[c];
            l->r[c] -= wr / wp * l->work[c];
        }
        double sum = stk_ldu_sum_mag(n, l->r);
        if (rc == ST_OK) {
            rc = st_ldu_sum(&l->exchange, 1, &sum, err);
        }
        residual = sum / norm;
    }
    return rc;
}

/* From the coarsest level up to level 1. */
static enum st_status go_up(struct st_gamg *g, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (int i = g->n_levels - 2; i > 0 && rc == ST_OK; i--) {
        struct st_gamg_level *l = &g->level[i];
        const int n_sweeps = POST_SWEEPS + i - 1;
        prolong(l, g->level[i + 1].x, l->x);
        if (i < g->n_levels - 2) { /* next to the coarsest the factor is 1 */
            rc = scale(g, l, &l->a, l->b, l->x, err);
        }
        if (rc == ST_OK) {
            rc = smooth(g, l, &l->a, l->b, l->x,
                        n_sweeps < MOST_POST_SWEEPS ? n_sweeps : MOST_POST_SWEEPS, err);
        }
    }
    return rc;
}

enum st_status st_gamg_cycle(struct st_gamg *g, const struct st_gamg_control *control,
                             const double *b, const double *r, double *x,
                             struct st_error *err)
{
    struct st_gamg_level *finest = &g->level[0];
    const size_t n = (size_t)finest->addr.n_cells;
    enum st_status rc = ST_OK;

    if (g->n_levels > 1) {
        const double *from = r;
        for (int i = 1; i < g->n_levels; i++) {
            restrict_to(&g->level[i - 1], from, g->level[i].b, g->level[i].addr.n_cells);
            from = g->level[i].b;
        }
        rc = solve_coarsest(&g->level[g->n_levels - 1], control, err);
        if (rc == ST_OK) {
            rc = go_up(g, err);
        }
        prolong(finest, g->level[1].x, finest->x);
        if (rc == ST_OK) {
            rc = scale(g, finest, &finest->a, r, finest->x, err);
        }
        for (size_t c = 0; c < n; c++) {
            x[c] += finest->x[c];
        }
    }
    g->bytes += 80.0 * (double)n;
    return rc == ST_OK ? smooth(g, finest, &finest->a, b, x, FINEST_SWEEPS, err) : rc;
}
