/*
 * HPCG's solver: multigrid cycle, conjugate gradients, validity tests.
 *
 * The cycle on halves does the same arithmetic on the same order of rows as the reference and
 * leaves out what cannot matter: halves of the matrix that meet a zero guess, the second readings
 * of L and U between sweeps (kernels/lu.h), the residual at points that no coarse grid has, and
 * exchanges of zeros. Of the six passes over the finest matrix that an iteration of the reference
 * makes there remain 3 1/8, with the same iterates up to rounding. The products run while the
 * ghosts are under way.
 */
#include "src/benchmarks/part_hpcg.h"

#include "kernels/splitmix.h"
#include "mpi/agree.h"
#include "src/benchmarks/part_hpcg_build.h"
#include "src/benchmarks/part_hpcg_stencil.h"
#include "src/benchmarks/part_matrix.h"
#include "src/measure/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    A_SOLUTION,
    A_RIGHT,
    A_DIRECTION,
    A_PRODUCT,
    N_ARRAYS,
    SEED_LEFT = 2001,
    SEED_RIGHT = 2002
};

static struct stk_split split_of(const struct st_hpcg_level *l)
{
    return (struct stk_split){1, l->part_start};
}

static void spend(struct st_hpcg *h, enum st_hpcg_part part, double start_s, double bytes)
{
    h->seconds[part] += st_now() - start_s;
    h->bytes[part] += bytes;
}

static enum st_status allocate_vectors(struct st_hpcg *h, struct st_error *err)
{
    const size_t n = h->level[0].n_rows;
    double **const vectors[N_ARRAYS] = {&h->x, &h->b, &h->p, &h->q};

    for (int i = 0; i < N_ARRAYS; i++) {
        const size_t ghosts = i == A_DIRECTION ? h->level[0].halo->n_ghosts : 0;
        const enum st_status rc =
            st_array_map(err, n + ghosts, sizeof(double), &h->arrays[i]);
        if (rc != ST_OK) {
            return rc;
        }
        *vectors[i] = h->arrays[i].base;
    }
    st_hpcg_right_side(h, h->b);
    return ST_OK;
}

enum st_status st_hpcg_create(const struct stm_comm *comm,
                              const struct st_hpcg_grid *grid,
                              enum st_hpcg_storage storage, struct st_hpcg **out,
                              struct st_error *err)
{
    struct st_hpcg *h = st_calloc(err, 1, sizeof *h);
    enum st_status rc = stm_agree(comm, h == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc != ST_OK || h == NULL) {
        st_free(h);
        return rc;
    }
    h->comm = *comm;
    h->grid = *grid;
    h->storage = storage;
    h->loops = stk_lu_loops_best();
    h->box_loops = stk_box_loops_best();
    h->at[0] = (uint64_t)comm->rank % grid->ranks[0];
    h->at[1] = (uint64_t)comm->rank / grid->ranks[0] % grid->ranks[1];
    h->at[2] = (uint64_t)comm->rank / grid->ranks[0] / grid->ranks[1];
    for (int level = 0; rc == ST_OK && level < ST_HPCG_LEVELS; level++) {
        rc = st_hpcg_build_level(h, level, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(comm, allocate_vectors(h, err), err);
    }
    if (rc != ST_OK) {
        st_hpcg_destroy(&h);
        return rc;
    }
    *out = h;
    return ST_OK;
}

void st_hpcg_destroy(struct st_hpcg **hpcg)
{
    if (hpcg == NULL || *hpcg == NULL) {
        return;
    }
    struct st_hpcg *h = *hpcg;
    for (int level = 0; level < ST_HPCG_LEVELS; level++) {
        stm_halo_destroy(&h->level[level].halo);
        for (size_t i = 0; i < ST_COUNT(h->level[level].arrays); i++) {
            st_pages_unmap(&h->level[level].arrays[i]);
        }
    }
    for (size_t i = 0; i < ST_COUNT(h->arrays); i++) {
        st_pages_unmap(&h->arrays[i]);
    }
    st_free(h);
    *hpcg = NULL;
}

void st_hpcg_right_side(const struct st_hpcg *h, double *b)
{
    for (size_t row = 0; row < h->level[0].n_rows; row++) {
        b[row] = 26.0 - ((double)st_hpcg_row_length(h, row) - 1.0);
    }
}

/* Ask for and send what renews the ghosts of x … */
static enum st_status begin_exchange(struct st_hpcg *h, struct st_hpcg_level *l,
                                     const double *x, struct st_error *err)
{
    const double start_s = st_now();

    stk_pack(l->halo->n_sent, l->halo->sent_index, x, l->halo->send);
    const enum st_status rc = stm_halo_start(l->halo, err);
    spend(h, ST_HPCG_HALO, start_s, 0.0);
    return rc;
}

/* … and put it behind x. */
static enum st_status end_exchange(struct st_hpcg *h, struct st_hpcg_level *l, double *x,
                                   struct st_error *err)
{
    const double start_s = st_now();
    const enum st_status rc = stm_halo_finish(l->halo, err);

    (void)memcpy(x + l->n_rows, l->halo->ghosts, l->halo->n_ghosts * sizeof *x);
    spend(h, ST_HPCG_HALO, start_s, 0.0);
    return rc;
}

static enum st_status exchange(struct st_hpcg *h, struct st_hpcg_level *l, double *x,
                               struct st_error *err)
{
    const enum st_status rc = begin_exchange(h, l, x, err);

    return rc == ST_OK ? end_exchange(h, l, x, err) : rc;
}

static enum st_status reduce(struct st_hpcg *h, double *sum, struct st_error *err)
{
    const double start_s = st_now();

    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, h->comm.handle));
    spend(h, ST_HPCG_REDUCE, start_s, 0.0);
    return ST_OK;
}

enum st_status st_hpcg_dot(struct st_hpcg *h, const double *a, const double *b,
                           double *sum, struct st_error *err)
{
    const struct stk_split split = split_of(&h->level[0]);
    const double start_s = st_now();

    *sum = stk_dot(&split, a, b, h->partial);
    spend(h, ST_HPCG_DOT, start_s,
          stk_work_bytes(&stk_dot_work, h->level[0].n_rows) / (a == b ? 2.0 : 1.0));
    return reduce(h, sum, err);
}

/* Least traffic of a CSR product: values and columns, row starts, x, y. */
static double csr_bytes(const struct st_hpcg_level *l)
{
    return stk_work_bytes(&stk_csr_work_per_nonzero, l->csr.row_start[l->n_rows]) +
           stk_work_bytes(&stk_csr_work_per_row, l->n_rows);
}

/* The product while the ghosts are under way, then their part. */
static enum st_status multiply_halves(struct st_hpcg *h, double *x, double *y,
                                      double *dot, struct st_error *err)
{
    struct st_hpcg_level *l = &h->level[0];
    enum st_status rc = begin_exchange(h, l, x, err);
    double start_s = st_now();

    if (rc != ST_OK) {
        return rc;
    }
    *dot = h->loops->multiply(&l->lu, x, y);
    spend(h, ST_HPCG_SPMV, start_s, stk_work_bytes(&stk_lu_multiply_work, l->n_rows));
    rc = end_exchange(h, l, x, err);
    start_s = st_now();
    *dot += stk_lu_add_ghosts(&l->ghosts, x, y);
    spend(h, ST_HPCG_SPMV, start_s, 0.0);
    return rc;
}

enum st_status st_hpcg_multiply(struct st_hpcg *h, double *x, double *y, double *dot,
                                struct st_error *err)
{
    struct st_hpcg_level *l = &h->level[0];
    double sum = 0.0;

    if (h->storage == ST_HPCG_HALVES) {
        return multiply_halves(h, x, y, dot != NULL ? dot : &sum, err);
    }
    const enum st_status rc = exchange(h, l, x, err);
    const double start_s = st_now();
    if (h->storage == ST_HPCG_STENCIL) {
        sum = st_hpcg_stencil_multiply(h, l, x, y);
        spend(h, ST_HPCG_SPMV, start_s,
              stk_work_bytes(&stk_box_multiply_work, l->n_rows));
        if (dot != NULL) {
            *dot = sum;
        }
        return rc;
    }
    stk_csr_multiply_ref(&l->csr, x, y);
    spend(h, ST_HPCG_SPMV, start_s, csr_bytes(l));
    if (dot != NULL) {
        const struct stk_split split = split_of(l);
        const double then_s = st_now();
        *dot = stk_dot(&split, x, y, h->partial);
        spend(h, ST_HPCG_DOT, then_s, stk_work_bytes(&stk_dot_work, l->n_rows));
    }
    return rc;
}

/* Symmetric sweep from zero. Halves: t = U x is kept. */
static void smooth_zero(struct st_hpcg *h, struct st_hpcg_level *l)
{
    const double start_s = st_now();

    if (h->storage == ST_HPCG_STENCIL) {
        st_hpcg_stencil_smooth_zero(h, l);
        spend(h, ST_HPCG_SYMGS, start_s,
              stk_work_bytes(&stk_box_forward_zero_work, l->n_rows) +
                  stk_work_bytes(&stk_box_backward_zero_work, l->n_rows));
        return;
    }
    if (h->storage == ST_HPCG_HALVES) {
        h->loops->forward_zero(&l->lu, l->r, l->x);
        h->loops->backward_zero(&l->lu, l->x, l->t);
        spend(h, ST_HPCG_SYMGS, start_s,
              stk_work_bytes(&stk_lu_forward_zero_work, l->n_rows) +
                  stk_work_bytes(&stk_lu_backward_zero_work, l->n_rows));
        return;
    }
    (void)memset(l->x, 0, (l->n_rows + l->halo->n_ghosts) * sizeof *l->x);
    stk_gs_forward_ref(&l->csr, l->diagonal, l->r, l->x);
    stk_gs_backward_ref(&l->csr, l->diagonal, l->r, l->x);
    spend(h, ST_HPCG_SYMGS, start_s, 2.0 * csr_bytes(l));
}

/* Symmetric sweep from the x that smooth_zero() left and prolong() raised by @p coarse. */
static enum st_status smooth(struct st_hpcg *h, struct st_hpcg_level *l,
                             const double *coarse, struct st_error *err)
{
    const enum st_status rc = exchange(h, l, l->x, err);
    const double start_s = st_now();

    if (h->storage == ST_HPCG_STENCIL) {
        st_hpcg_stencil_smooth(h, l);
        spend(h, ST_HPCG_SYMGS, start_s,
              2.0 * stk_work_bytes(&stk_box_sweep_work, l->n_rows));
        return rc;
    }
    if (h->storage == ST_HPCG_HALVES) {
        stk_lu_take_ghosts(&l->ghosts, l->x, l->r, l->kept);
        stk_lu_forward_raised(h->loops, &l->lu, &l->raised, coarse, l->r, l->t, l->x);
        stk_lu_restore(&l->ghosts, l->kept, l->r);
        h->loops->backward(&l->lu, l->t, l->x);
        spend(h, ST_HPCG_SYMGS, start_s,
              stk_work_bytes(&stk_lu_forward_work, l->n_rows) +
                  stk_work_bytes(&stk_lu_columns_work, l->raised.n) +
                  stk_work_bytes(&stk_lu_backward_work, l->n_rows));
        return rc;
    }
    stk_gs_forward_ref(&l->csr, l->diagonal, l->r, l->x);
    stk_gs_backward_ref(&l->csr, l->diagonal, l->r, l->x);
    spend(h, ST_HPCG_SYMGS, start_s, 2.0 * csr_bytes(l));
    return rc;
}

/* The residual at the points of the next level becomes its right side. */
static enum st_status restrict_residual(struct st_hpcg *h, struct st_hpcg_level *l,
                                        double *coarse, struct st_error *err)
{
    const enum st_status rc = exchange(h, l, l->x, err);
    const size_t n_coarse = l->n_rows / 8;
    const double start_s = st_now();

    if (h->storage == ST_HPCG_STENCIL) {
        st_hpcg_stencil_residual(h, l, coarse);
        /* Every fourth line, read whole, with r on it. */
        spend(h, ST_HPCG_RESTRICT, start_s,
              stk_work_bytes(&stk_box_sweep_work, 2 * n_coarse));
        return rc;
    }
    if (h->storage == ST_HPCG_HALVES) {
        stk_lu_take_ghosts(&l->ghosts, l->x, l->r, l->kept);
        h->loops->residual(&l->lu, n_coarse, l->fine_rows, l->r, l->t, l->x, coarse);
        stk_lu_restore(&l->ghosts, l->kept, l->r);
        spend(h, ST_HPCG_RESTRICT, start_s,
              stk_work_bytes(&stk_lu_residual_work, n_coarse));
        return rc;
    }
    stk_csr_multiply_ref(&l->csr, l->x, l->t);
    for (size_t c = 0; c < n_coarse; c++) {
        coarse[c] = l->r[l->fine_rows[c]] - l->t[l->fine_rows[c]];
    }
    spend(h, ST_HPCG_RESTRICT, start_s, csr_bytes(l) + 28.0 * (double)n_coarse);
    return rc;
}

static void prolong(struct st_hpcg *h, struct st_hpcg_level *l, const double *coarse)
{
    const double start_s = st_now();
    const size_t n_coarse = l->n_rows / 8;

    for (size_t c = 0; c < n_coarse; c++) {
        l->x[l->fine_rows[c]] += coarse[c];
    }
    spend(h, ST_HPCG_PROLONG, start_s, 28.0 * (double)n_coarse);
}

enum st_status st_hpcg_precondition(struct st_hpcg *h, struct st_error *err)
{
    const int last = ST_HPCG_LEVELS - 1;
    enum st_status rc = ST_OK;

    for (int level = 0; rc == ST_OK && level < last; level++) {
        struct st_hpcg_level *l = &h->level[level];
        smooth_zero(h, l);
        rc = restrict_residual(h, l, h->level[level + 1].r, err);
    }
    smooth_zero(h, &h->level[last]);
    for (int level = last - 1; rc == ST_OK && level >= 0; level--) {
        struct st_hpcg_level *l = &h->level[level];
        const double *coarse = h->level[level + 1].x;
        prolong(h, l, coarse);
        rc = smooth(h, l, coarse, err);
    }
    return rc;
}

/* x = 0, r = b - A x, ||r||. */
static enum st_status start(struct st_hpcg *h, const struct st_hpcg_options *o,
                            double *norm, struct st_error *err)
{
    const struct stk_split split = split_of(&h->level[0]);
    double *r = h->level[0].r;

    stk_fill(&split, 0.0, o->x);
    stk_copy(&split, o->b, r);
    stk_copy(&split, o->x, h->p);
    enum st_status rc = st_hpcg_multiply(h, h->p, h->q, NULL, err);
    stk_axpy(&split, -1.0, h->q, r);
    if (rc == ST_OK) {
        rc = st_hpcg_dot(h, r, r, norm, err);
    }
    *norm = sqrt(*norm);
    return rc;
}

/* z = M r, or r itself. */
static enum st_status improve(struct st_hpcg *h, bool precondition, struct st_error *err)
{
    const struct stk_split split = split_of(&h->level[0]);

    if (precondition) {
        return st_hpcg_precondition(h, err);
    }
    stk_copy(&split, h->level[0].r, h->level[0].x);
    return ST_OK;
}

/* p = z + beta p. */
static void turn(struct st_hpcg *h, const struct stk_cg *cg, double beta)
{
    struct stk_cg toward = *cg;
    const double start_s = st_now();

    toward.r = h->level[0].x;
    stk_cg_direction(&toward, beta);
    spend(h, ST_HPCG_WAXPBY, start_s, 24.0 * (double)h->level[0].n_rows);
}

/* x += alpha p, r -= alpha q. @return through rr the sum r'r over all ranks */
static enum st_status step(struct st_hpcg *h, const struct stk_cg *cg, double alpha,
                           double *rr, struct st_error *err)
{
    const double n = (double)h->level[0].n_rows;
    const double start_s = st_now();
    double unused = 0.0;

    if (h->storage != ST_HPCG_CSR) {
        stk_cg_update(cg, alpha, rr, &unused);
        spend(h, ST_HPCG_WAXPBY, start_s, 48.0 * n);
        return reduce(h, rr, err);
    }
    stk_axpy(&cg->split, alpha, cg->p, cg->x);
    stk_axpy(&cg->split, -alpha, cg->q, cg->r);
    spend(h, ST_HPCG_WAXPBY, start_s, 48.0 * n);
    return st_hpcg_dot(h, cg->r, cg->r, rr, err);
}

enum st_status st_hpcg_solve(struct st_hpcg *h, const struct st_hpcg_options *o,
                             struct st_hpcg_outcome *outcome, struct st_error *err)
{
    struct st_hpcg_level *l = &h->level[0];
    const struct stk_cg cg = {split_of(l), NULL, o->x, l->r, h->p, h->q, h->partial};
    struct st_hpcg_outcome now = {.residual = 1.0};
    double rz = 0.0;
    double rr = 0.0;
    enum st_status rc = start(h, o, &now.norm0, err);

    if (o->history != NULL) {
        o->history[0] = now.norm0;
    }
    while (rc == ST_OK && now.n_iterations < o->max_iterations &&
           now.residual > o->tolerance) {
        const double before = rz;
        double pq = 0.0;
        rc = improve(h, o->precondition, err);
        if (rc == ST_OK) {
            rc = st_hpcg_dot(h, l->r, l->x, &rz, err);
        }
        turn(h, &cg, now.n_iterations == 0 ? 0.0 : rz / before); /* p is zero at first */
        if (rc == ST_OK) {
            rc = st_hpcg_multiply(h, h->p, h->q, &pq, err);
        }
        if (rc == ST_OK) {
            rc = reduce(h, &pq, err);
        }
        if (rc == ST_OK) {
            rc = step(h, &cg, rz / pq, &rr, err);
        }
        now.residual = sqrt(rr) / now.norm0;
        now.n_iterations++;
        if (o->history != NULL) {
            o->history[now.n_iterations] = now.residual;
        }
    }
    *outcome = now;
    return rc;
}

/* Random numbers of [1, 2), the same at any distribution of equal blocks. */
static void fill_random(const struct st_hpcg *h, uint64_t seed, double *a)
{
    const size_t n = h->level[0].n_rows;
    const uint64_t first = (uint64_t)h->comm.rank * n;

    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0 + stk_random_unit(seed, first + i);
    }
}

/* left' F right with random vectors, F the product or the V-cycle. */
static enum st_status form(struct st_hpcg *h, bool is_cycle, const uint64_t seeds[2],
                           double *value, struct st_error *err)
{
    struct st_hpcg_level *l = &h->level[0];
    double *from = is_cycle ? l->r : h->p;
    double *left = is_cycle ? h->p : l->r;
    double *to = is_cycle ? l->x : h->q;

    fill_random(h, seeds[1], from);
    enum st_status rc = is_cycle ? st_hpcg_precondition(h, err)
                                 : st_hpcg_multiply(h, from, to, NULL, err);
    fill_random(h, seeds[0], left);
    if (rc == ST_OK) {
        rc = st_hpcg_dot(h, left, to, value, err);
    }
    return rc;
}

/* |x'Fy - y'Fx| / (52 ||x|| ||y|| eps): the norm of A is at most 52. */
static enum st_status find_asymmetry(struct st_hpcg *h, bool is_cycle, double *asymmetry,
                                     struct st_error *err)
{
    const uint64_t there[2] = {SEED_LEFT, SEED_RIGHT};
    const uint64_t back[2] = {SEED_RIGHT, SEED_LEFT};
    double forms[2] = {0.0, 0.0};
    double norms[2] = {0.0, 0.0};
    enum st_status rc = form(h, is_cycle, there, &forms[0], err);

    if (rc == ST_OK) {
        rc = form(h, is_cycle, back, &forms[1], err);
    }
    for (int i = 0; rc == ST_OK && i < 2; i++) {
        fill_random(h, there[i], h->p);
        rc = st_hpcg_dot(h, h->p, h->p, &norms[i], err);
    }
    *asymmetry = fabs(forms[0] - forms[1]) /
                 (52.0 * sqrt(norms[0]) * sqrt(norms[1]) * DBL_EPSILON);
    return rc;
}

/* A huge diagonal makes A nearly diagonal with few distinct entries, which CG must notice. */
static enum st_status count_iterations(struct st_hpcg *h, bool precondition,
                                       uint64_t *n_iterations, struct st_error *err)
{
    struct st_hpcg_level *l = &h->level[0];
    /* b is formula: its storage serves for the solution, the scratch for the right side. */
    const struct st_hpcg_options options = {.max_iterations = 500,
                                            .tolerance = 1e-12,
                                            .precondition = precondition,
                                            .b = l->t,
                                            .x = h->b};
    struct st_hpcg_outcome outcome = {0};

    st_hpcg_right_side(h, l->t);
    for (size_t i = 0; i < l->n_rows; i++) {
        l->t[i] *= st_hpcg_exaggeration(h, i);
    }
    st_hpcg_exaggerate(h, true);
    const enum st_status rc = st_hpcg_solve(h, &options, &outcome, err);
    st_hpcg_exaggerate(h, false);
    st_hpcg_right_side(h, h->b);
    *n_iterations = outcome.residual <= options.tolerance ? outcome.n_iterations : 501;
    return rc;
}

enum st_status st_hpcg_validate(struct st_hpcg *h, struct st_hpcg_validity *validity,
                                struct st_error *err)
{
    enum st_status rc = count_iterations(h, false, &validity->plain_iterations, err);

    if (rc == ST_OK) {
        rc = count_iterations(h, true, &validity->preconditioned_iterations, err);
    }
    if (rc == ST_OK) {
        rc = find_asymmetry(h, false, &validity->spmv_asymmetry, err);
    }
    if (rc == ST_OK) {
        rc = find_asymmetry(h, true, &validity->mg_asymmetry, err);
    }
    return rc;
}

enum st_status st_hpcg_true_residual(struct st_hpcg *h, double *residual,
                                     struct st_error *err)
{
    const struct stk_split split = split_of(&h->level[0]);
    double *r = h->level[0].r;
    double norm_b = 0.0;

    stk_copy(&split, h->x, h->p);
    stk_copy(&split, h->b, r);
    enum st_status rc = st_hpcg_multiply(h, h->p, h->q, NULL, err);
    stk_axpy(&split, -1.0, h->q, r);
    if (rc == ST_OK) {
        rc = st_hpcg_dot(h, r, r, residual, err);
    }
    if (rc == ST_OK) {
        rc = st_hpcg_dot(h, h->b, h->b, &norm_b, err);
    }
    *residual = sqrt(*residual) / sqrt(norm_b);
    return rc;
}
