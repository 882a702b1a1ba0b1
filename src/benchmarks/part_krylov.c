/*
 * Preconditioned Krylov methods. Whether to go on is decided on sums that every rank got alike,
 * so all ranks leave a loop together. The time in reductions and in the halo is added up where
 * it is spent; two clock reads around an MPI call cost less than a hundredth of it.
 */
#include "src/benchmarks/part_krylov.h"

#include "kernels/vector.h"
#include "mpi/agree.h"
#include "src/measure/run.h"

#include <math.h>

/* Rows of st_krylov.arrays: the solutions follow. */
enum {
    A_U,
    A_W,
    A_S,
    A_Z,
    A_M,
    A_N,
    A_SOLUTIONS
};

/* Vectors of st_cg with its diagonal. */
enum {
    N_BASE = 6
};

static bool has(uint32_t methods, enum st_krylov_method method)
{
    return (methods >> (unsigned)method & 1U) != 0;
}

size_t st_krylov_n_vectors(uint32_t methods)
{
    size_t n = N_BASE + A_M + (has(methods, ST_KRYLOV_PIPELINED) ? 2 : 0);

    for (unsigned i = 0; i < ST_KRYLOV_N_METHODS; i++) {
        n += methods >> i & 1U;
    }
    return n;
}

static enum st_status allocate(struct st_krylov *k, uint32_t methods,
                               struct st_error *err)
{
    double **const vectors[A_SOLUTIONS] = {&k->v.u, &k->v.w, &k->v.s,
                                           &k->v.z, &k->v.m, &k->v.n};

    for (size_t i = 0; i < ST_COUNT(k->arrays); i++) {
        const bool wanted = i >= A_SOLUTIONS ? (methods >> (i - A_SOLUTIONS) & 1U) != 0
                            : i < A_M        ? true
                                             : has(methods, ST_KRYLOV_PIPELINED);
        if (!wanted) {
            continue;
        }
        const enum st_status rc =
            st_array_map(err, k->matrix->n_rows, sizeof(double), &k->arrays[i]);
        if (rc != ST_OK) {
            return rc;
        }
        double **const slot =
            i >= A_SOLUTIONS ? &k->solutions[i - A_SOLUTIONS] : vectors[i];
        *slot = k->arrays[i].base;
        stk_fill(&k->v.split, 0.0, *slot);
    }
    return ST_OK;
}

enum st_status st_krylov_create(const struct stm_comm *comm, struct st_matrix *matrix,
                                enum st_krylov_preconditioner preconditioner,
                                uint32_t methods, struct st_krylov **out,
                                struct st_error *err)
{
    const bool divides = preconditioner != ST_KRYLOV_NONE;
    struct st_krylov *k = st_calloc(err, 1, sizeof *k);
    enum st_status rc = stm_agree(comm, k == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc != ST_OK || k == NULL) {
        st_free(k);
        return rc;
    }
    k->matrix = matrix;
    k->preconditioner = preconditioner;
    rc = has(methods, ST_KRYLOV_BICGSTAB)
             ? st_cg_create_general(comm, matrix, divides, &k->base, err)
             : st_cg_create(comm, matrix, divides, &k->base, err);
    if (rc == ST_OK) {
        k->v.split = k->base->v.split;
        k->v.r = k->base->v.r;
        k->v.p = k->base->v.p;
        k->v.q = k->base->v.q;
        k->v.partial = k->base->partial;
        rc = stm_agree(comm, allocate(k, methods, err), err);
    }
    if (rc == ST_OK && preconditioner == ST_KRYLOV_MULTIGRID) {
        rc = st_multigrid_create(comm, matrix, &k->multigrid, err);
    }
    if (rc != ST_OK) {
        st_krylov_destroy(&k);
        return rc;
    }
    *out = k;
    return ST_OK;
}

void st_krylov_destroy(struct st_krylov **krylov)
{
    if (krylov == NULL || *krylov == NULL) {
        return;
    }
    st_multigrid_destroy(&(*krylov)->multigrid);
    st_cg_destroy(&(*krylov)->base);
    for (size_t i = 0; i < ST_COUNT((*krylov)->arrays); i++) {
        st_pages_unmap(&(*krylov)->arrays[i]);
    }
    st_free(*krylov);
    *krylov = NULL;
}

/* out = M^-1 in. */
static enum st_status precondition(struct st_krylov *k, const double *in, double *out,
                                   struct st_error *err)
{
    const double *inverse = k->base->v.inverse_diagonal;

    switch (k->preconditioner) {
    case ST_KRYLOV_NONE:
        stk_copy(&k->v.split, in, out);
        break;
    case ST_KRYLOV_JACOBI:
        stk_scale_by(&k->v.split, inverse, in, out);
        break;
    case ST_KRYLOV_SGS:
        stk_block_sgs(&k->matrix->interior, inverse, in, out);
        break;
    case ST_KRYLOV_MULTIGRID: {
        const double halo_s = st_multigrid_halo_s(k->multigrid);
        const enum st_status rc = st_multigrid_apply(k->multigrid, in, out, err);
        k->split.halo_s += st_multigrid_halo_s(k->multigrid) - halo_s;
        return rc;
    }
    }
    return ST_OK;
}

static enum st_status multiply(struct st_krylov *k, bool overlap, const double *in,
                               double *out, struct st_error *err)
{
    k->matrix->wait_s = 0.0;
    const enum st_status rc = st_matrix_multiply(k->matrix, overlap, in, out, err);
    k->split.halo_s += k->matrix->wait_s;
    return rc;
}

static enum st_status reduce(struct st_krylov *k, int n, double *sums,
                             struct st_error *err)
{
    const double start_s = st_now();

    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_DOUBLE, MPI_SUM,
                               k->base->comm.handle));
    k->split.reduction_s += st_now() - start_s;
    return ST_OK;
}

static double dot(const struct st_krylov *k, const double *a, const double *b)
{
    return stk_dot(&k->v.split, a, b, k->v.partial);
}

/* x = 0, r = b; directions of the last solve must not leak into this one. */
static void start(struct st_krylov *k, enum st_krylov_method method)
{
    double *const zeroed[] = {k->v.p, k->v.s, k->v.q, k->v.z};

    k->v.x = k->solutions[method];
    stk_fill(&k->v.split, 0.0, k->v.x);
    for (size_t i = 0; i < ST_COUNT(zeroed); i++) {
        stk_fill(&k->v.split, 0.0, zeroed[i]);
    }
    stk_copy(&k->v.split, k->base->b, k->v.r);
}

/* Judge the sum r'r. @return true: end here */
static bool is_over(const struct st_krylov *k, const struct st_krylov_options *options,
                    double rr, struct st_cg_outcome *now)
{
    now->residual = sqrt(rr) / k->base->norm_b;
    now->converged = now->residual <= options->tolerance;
    now->broke_down = !isfinite(now->residual);
    return now->broke_down || (options->is_fixed ? !(rr > 0.0) : now->converged) ||
           now->n_iterations == options->max_iterations;
}

static enum st_status solve_classic(struct st_krylov *k,
                                    const struct st_krylov_options *options,
                                    struct st_cg_outcome *now, struct st_error *err)
{
    const struct stk_krylov *v = &k->v;
    double ru_before = 1.0;

    for (;;) {
        enum st_status rc = precondition(k, v->r, v->u, err);
        double sums[2] = {dot(k, v->r, v->u), dot(k, v->r, v->r)};
        if (rc == ST_OK) {
            rc = reduce(k, 2, sums, err);
        }
        if (rc != ST_OK || is_over(k, options, sums[1], now)) {
            return rc;
        }
        stk_xpay(&v->split, v->u, now->n_iterations > 0 ? sums[0] / ru_before : 0.0,
                 v->p);
        rc = multiply(k, options->overlap, v->p, v->q, err);
        double pq = dot(k, v->p, v->q);
        if (rc == ST_OK) {
            rc = reduce(k, 1, &pq, err);
        }
        now->broke_down = !(pq > 0.0);
        if (rc != ST_OK || now->broke_down) {
            return rc;
        }
        stk_axpy(&v->split, sums[0] / pq, v->p, v->x);
        stk_axpy(&v->split, -sums[0] / pq, v->q, v->r);
        ru_before = sums[0];
        now->n_iterations++;
    }
}

/* alpha and beta of both one-reduction methods, from r'u and w'u. */
struct steps {
    double alpha, beta, ru;
};

static bool next_steps(struct steps *steps, const double *sums, struct st_cg_outcome *now)
{
    const bool is_first = now->n_iterations == 0;
    const double beta = is_first ? 0.0 : sums[0] / steps->ru;
    const double curvature = is_first ? sums[1] : sums[1] - beta * sums[0] / steps->alpha;

    now->broke_down = !(curvature > 0.0);
    *steps = (struct steps){sums[0] / curvature, beta, sums[0]};
    return !now->broke_down;
}

static enum st_status solve_gear(struct st_krylov *k,
                                 const struct st_krylov_options *options,
                                 struct st_cg_outcome *now, struct st_error *err)
{
    const struct stk_krylov *v = &k->v;
    struct steps steps = {0};

    for (;;) {
        double sums[3];
        enum st_status rc = precondition(k, v->r, v->u, err);
        if (rc == ST_OK) {
            rc = multiply(k, options->overlap, v->u, v->w, err);
        }
        stk_krylov_sums(v, sums);
        if (rc == ST_OK) {
            rc = reduce(k, 3, sums, err);
        }
        if (rc != ST_OK || is_over(k, options, sums[2], now) ||
            !next_steps(&steps, sums, now)) {
            return rc;
        }
        stk_gear_update(v, steps.alpha, steps.beta);
        now->n_iterations++;
    }
}

/* The reduction travels under preconditioner and product, and is completed whatever they return. */
static enum st_status reduce_under_product(struct st_krylov *k, bool overlap,
                                           double *sums, struct st_error *err)
{
    const struct stk_krylov *v = &k->v;
    MPI_Request request = MPI_REQUEST_NULL;
    const double start_s = st_now();

    STM_TRY(err, MPI_Iallreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM,
                                k->base->comm.handle, &request));
    k->split.reduction_s += st_now() - start_s;
    enum st_status rc = precondition(k, v->w, v->m, err);
    if (rc == ST_OK) {
        rc = multiply(k, overlap, v->m, v->n, err);
    }
    const double wait_s = st_now();
    STM_TRY(err, MPI_Wait(&request, MPI_STATUS_IGNORE));
    k->split.reduction_s += st_now() - wait_s;
    return rc;
}

static enum st_status solve_pipelined(struct st_krylov *k,
                                      const struct st_krylov_options *options,
                                      struct st_cg_outcome *now, struct st_error *err)
{
    const struct stk_krylov *v = &k->v;
    struct steps steps = {0};

    enum st_status rc = precondition(k, v->r, v->u, err);
    if (rc == ST_OK) {
        rc = multiply(k, options->overlap, v->u, v->w, err);
    }
    while (rc == ST_OK) {
        double sums[3];
        stk_krylov_sums(v, sums);
        rc = reduce_under_product(k, options->overlap, sums, err);
        if (rc != ST_OK || is_over(k, options, sums[2], now) ||
            !next_steps(&steps, sums, now)) {
            return rc;
        }
        stk_pipelined_update(v, steps.alpha, steps.beta);
        now->n_iterations++;
    }
    return rc;
}

/*
 * One iteration after p is known. Names of van der Vorst by those of the vectors here: p^ = u,
 * s^ = w, t = s, v = q, r0 = z; his s takes the place of r.
 */
static enum st_status bicgstab_steps(struct st_krylov *k, bool overlap, double rho,
                                     double *alpha, double *omega, struct st_error *err)
{
    const struct stk_krylov *v = &k->v;

    enum st_status rc = precondition(k, v->p, v->u, err);
    if (rc == ST_OK) {
        rc = multiply(k, overlap, v->u, v->q, err);
    }
    double rv = dot(k, v->z, v->q);
    if (rc == ST_OK) {
        rc = reduce(k, 1, &rv, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    *alpha = rho / rv;
    stk_axpy(&v->split, -*alpha, v->q, v->r);
    rc = precondition(k, v->r, v->w, err);
    if (rc == ST_OK) {
        rc = multiply(k, overlap, v->w, v->s, err);
    }
    double sums[2] = {dot(k, v->s, v->r), dot(k, v->s, v->s)};
    if (rc == ST_OK) {
        rc = reduce(k, 2, sums, err);
    }
    *omega =
        sums[1] > 0.0 ? sums[0] / sums[1] : 0.0; /* t = 0: the half step was the last */
    stk_axpy(&v->split, *alpha, v->u, v->x);
    stk_axpy(&v->split, *omega, v->w, v->x);
    stk_axpy(&v->split, -*omega, v->s, v->r);
    return rc;
}

static enum st_status solve_bicgstab(struct st_krylov *k,
                                     const struct st_krylov_options *options,
                                     struct st_cg_outcome *now, struct st_error *err)
{
    const struct stk_krylov *v = &k->v;
    double rho_before = 1.0;
    double alpha = 1.0;
    double omega = 1.0;

    stk_copy(&v->split, v->r, v->z);
    for (;;) {
        double sums[2] = {dot(k, v->z, v->r), dot(k, v->r, v->r)};
        enum st_status rc = reduce(k, 2, sums, err);
        if (rc != ST_OK || is_over(k, options, sums[1], now)) {
            return rc;
        }
        const double beta = sums[0] / rho_before * (alpha / omega);
        now->broke_down = !isfinite(beta) || !(fabs(sums[0]) > 0.0);
        if (now->broke_down) {
            return ST_OK;
        }
        stk_axpy(&v->split, -omega, v->q, v->p);
        stk_xpay(&v->split, v->r, beta, v->p);
        rc = bicgstab_steps(k, options->overlap, sums[0], &alpha, &omega, err);
        if (rc != ST_OK) {
            return rc;
        }
        rho_before = sums[0];
        now->n_iterations++;
    }
}

enum st_status st_krylov_solve(struct st_krylov *k, enum st_krylov_method method,
                               const struct st_krylov_options *options,
                               struct st_cg_outcome *outcome, struct st_error *err)
{
    static enum st_status (*const solve[])(
        struct st_krylov *, const struct st_krylov_options *, struct st_cg_outcome *,
        struct st_error *) = {[ST_KRYLOV_CLASSIC] = solve_classic,
                              [ST_KRYLOV_GEAR] = solve_gear,
                              [ST_KRYLOV_PIPELINED] = solve_pipelined,
                              [ST_KRYLOV_BICGSTAB] = solve_bicgstab};
    struct st_cg_outcome now = {0};

    start(k, method);
    const enum st_status rc = solve[method](k, options, &now, err);
    *outcome = now;
    return rc;
}

enum st_status st_krylov_true_residual(struct st_krylov *k, enum st_krylov_method method,
                                       double *residual, struct st_error *err)
{
    stk_copy(&k->v.split, k->solutions[method], k->base->v.x);
    return st_cg_true_residual(k->base, residual, err);
}
