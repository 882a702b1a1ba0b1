/*
 * Making, starting and stopping linear solvers. The residual is OpenFOAM's: sum |b - A x| over
 * n = sum (|A x - A xbar| + |b - A xbar|), xbar the mean of x (METHODS 4.2).
 */
#include "src/flow/solve.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/flow/solver.h"

#include <math.h>
#include <string.h>

static size_t vectors_of(const struct st_solver_options *o)
{
    switch (o->kind) {
    case ST_SOLVER_PCG:
        return o->is_fast ? 3 : 4;
    case ST_SOLVER_BICGSTAB:
        return 9;
    case ST_SOLVER_PCG_GAMG:
        return 6;
    case ST_SOLVER_GAMG:
    case ST_SOLVER_SYM_GAUSS_SEIDEL:
    case ST_SOLVER_JACOBI:
        break;
    }
    return 3;
}

static bool needs_levels(const struct st_solver_options *o)
{
    return o->is_fast &&
           (o->kind == ST_SOLVER_PCG || o->kind == ST_SOLVER_SYM_GAUSS_SEIDEL);
}

static enum st_status allocate(struct st_solver *s, struct st_error *err)
{
    enum st_status rc = st_ldu_exchange_init(&s->exchange, s->addr, err);

    s->n_vectors = vectors_of(&s->options);
    for (size_t i = 0; i < s->n_vectors && rc == ST_OK; i++) {
        s->v[i] = st_calloc(err, (size_t)s->addr->n_cells, sizeof(double));
        rc = s->v[i] == NULL ? ST_ERR_MEMORY : ST_OK;
    }
    if (rc == ST_OK && needs_levels(&s->options)) {
        rc = st_levels_create(s->addr, &s->levels, err);
    }
    return rc;
}

enum st_status st_solver_create(const struct st_ldu_addr *addr,
                                const struct st_solver_options *options,
                                struct st_solver **out, struct st_error *err)
{
    struct st_solver *s = st_calloc(err, 1, sizeof *s);
    enum st_status rc = ST_ERR_MEMORY;

    if (s != NULL) {
        s->addr = addr;
        s->options = *options;
        rc = allocate(s, err);
    }
    rc = stm_agree(&addr->comm, rc, err);
    if (rc == ST_OK &&
        (options->kind == ST_SOLVER_GAMG || options->kind == ST_SOLVER_PCG_GAMG)) {
        rc = st_gamg_create(addr, options->face_weights, &s->gamg, err);
    }
    if (rc == ST_OK && s != NULL) {
        /* Ranks whose cells make no runs have no fast sweeps, and all must do the same. */
        const bool is_plain = s->levels == NULL || !s->levels->has_runs;
        double sums[2] = {addr->n_cells, is_plain ? 1.0 : 0.0};
        rc = st_ldu_sum(&s->exchange, 2, sums, err);
        s->n_cells_global = sums[0];
        s->has_fast_sweeps =
            options->kind == ST_SOLVER_SYM_GAUSS_SEIDEL && sums[1] == 0.0;
    }
    if (rc != ST_OK) {
        st_solver_destroy(&s);
        return rc;
    }
    *out = s;
    return ST_OK;
}

void st_solver_destroy(struct st_solver **solver)
{
    if (solver == NULL || *solver == NULL) {
        return;
    }
    for (size_t i = 0; i < ST_SOLVER_VECTORS; i++) {
        st_free((*solver)->v[i]);
    }
    st_ldu_exchange_clear(&(*solver)->exchange);
    st_levels_destroy(&(*solver)->levels);
    st_gamg_destroy(&(*solver)->gamg);
    st_free(*solver);
    *solver = NULL;
}

double st_solver_bytes(const struct st_solver *s)
{
    return 8.0 * (double)s->n_vectors * s->addr->n_cells + 16.0 * s->addr->n_interface +
           (s->levels != NULL ? st_levels_bytes(s->levels, s->addr) : 0.0) +
           (s->gamg != NULL ? st_gamg_bytes(s->gamg) : 0.0);
}

enum st_status st_solve_measure(struct st_solve *t, double sum_mag, struct st_error *err)
{
    const enum st_status rc = st_ldu_sum(&t->s->exchange, 1, &sum_mag, err);

    t->report->final_residual = sum_mag / t->norm;
    return rc;
}

enum st_status st_solve_begin(struct st_solve *t, struct st_error *err)
{
    struct st_solver *s = t->s;
    const size_t n = (size_t)s->addr->n_cells;
    const struct stk_ldu view = st_ldu_view(t->a);
    double mean = 0.0;
    enum st_status rc = st_ldu_multiply(&s->exchange, t->a, t->x, s->v[0], err);

    for (size_t c = 0; c < n; c++) {
        mean += t->x[c];
    }
    if (rc == ST_OK) {
        rc = st_ldu_sum(&s->exchange, 1, &mean, err);
    }
    mean /= s->n_cells_global;
    stk_ldu_row_sums(&view, s->v[2]);
    for (int32_t k = 0; k < s->addr->n_interface; k++) {
        s->v[2][s->addr->interface_cell[k]] += t->a->coupling[k];
    }
    t->norm = stk_ldu_norm_terms(n, s->v[0], t->b, s->v[2], mean);
    if (rc == ST_OK) {
        rc = st_ldu_sum(&s->exchange, 1, &t->norm, err);
    }
    t->norm += 1e-20; /* OpenFOAM's guard: nothing to solve gives a residual of 0 */
    for (size_t c = 0; c < n; c++) {
        s->v[1][c] = t->b[c] - s->v[0][c];
    }
    if (rc == ST_OK) {
        rc = st_solve_measure(t, stk_ldu_sum_mag(n, s->v[1]), err);
    }
    t->report->initial_residual = t->report->final_residual;
    /* Two products, and six passes over vectors. */
    t->report->bytes += 2.0 * (stk_work_bytes(&stk_ldu_face_work, view.n_faces) +
                               stk_work_bytes(&stk_ldu_cell_work, n)) +
                        96.0 * (double)n;
    return rc;
}

bool st_solve_is_reached(const struct st_solve *t)
{
    const struct st_solve_report *r = t->report;

    return r->final_residual < t->control->tolerance ||
           (t->control->relative_tolerance > 0.0 &&
            r->final_residual < t->control->relative_tolerance * r->initial_residual);
}

bool st_solve_goes_on(const struct st_solve *t)
{
    const struct st_solver_control *c = t->control;

    if (!isfinite(t->report->final_residual)) {
        return false; /* NaN never becomes less */
    }
    if (c->fixed_iterations > 0) {
        return t->report->iterations < c->fixed_iterations;
    }
    return t->report->iterations < c->min_iterations ||
           (t->report->iterations < c->max_iterations && !st_solve_is_reached(t));
}

static enum st_status iterate(struct st_solve *t, struct st_error *err)
{
    switch (t->s->options.kind) {
    case ST_SOLVER_PCG:
        return t->s->options.is_fast ? st_solve_pcg_fast(t, err) : st_solve_pcg(t, err);
    case ST_SOLVER_GAMG:
        return st_solve_gamg(t, err);
    case ST_SOLVER_PCG_GAMG:
        return st_solve_pcg(t, err);
    case ST_SOLVER_BICGSTAB:
        return st_solve_bicgstab(t, err);
    case ST_SOLVER_SYM_GAUSS_SEIDEL:
    case ST_SOLVER_JACOBI:
        return t->s->has_fast_sweeps ? st_solve_sweeps_fast(t, err)
                                     : st_solve_sweeps(t, err);
    }
    return ST_OK;
}

enum st_status st_solver_solve(struct st_solver *solver, const struct st_ldu *matrix,
                               double *x, const double *b,
                               const struct st_solver_control *control,
                               struct st_solve_report *report, struct st_error *err)
{
    struct st_solve t = {
        .s = solver, .a = matrix, .x = x, .b = b, .control = control, .report = report};
    enum st_status rc = ST_OK;

    *report = (struct st_solve_report){0};
    solver->exchange.halo_s = 0.0;
    solver->exchange.reduction_s = 0.0;
    for (int i = 0; solver->gamg != NULL && i < solver->gamg->n_levels; i++) {
        solver->gamg->level[i].exchange.halo_s = 0.0;
        solver->gamg->level[i].exchange.reduction_s = 0.0;
        solver->gamg->bytes = 0.0;
    }
    rc = st_solve_begin(&t, err);
    if (rc == ST_OK && st_solve_goes_on(&t)) {
        rc = iterate(&t, err);
    }
    report->halo_s = solver->exchange.halo_s;
    report->reduction_s = solver->exchange.reduction_s;
    for (int i = 0; solver->gamg != NULL && i < solver->gamg->n_levels; i++) {
        report->halo_s += solver->gamg->level[i].exchange.halo_s;
        report->reduction_s += solver->gamg->level[i].exchange.reduction_s;
    }
    report->bytes += solver->gamg != NULL ? solver->gamg->bytes : 0.0;
    report->converged = isfinite(report->final_residual) &&
                        (control->fixed_iterations > 0 || st_solve_is_reached(&t));
    return rc;
}
