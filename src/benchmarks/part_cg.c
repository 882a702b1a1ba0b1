/*
 * Conjugate gradients on a distributed matrix.
 *
 * The preconditioned residual is never stored: z = D^-1 r is formed where it is used, which
 * saves two sweeps over a vector per iteration. Whether to go on is decided on sums that
 * MPI_Allreduce gave to every rank alike, so all ranks leave the loop together.
 */
#include "src/benchmarks/part_cg.h"

#include "mpi/agree.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* Rows of st_cg.arrays. */
enum {
    A_X,
    A_R,
    A_P,
    A_Q,
    A_B,
    A_DIAGONAL,
    N_ARRAYS
};

/* Seeds of the two vectors of the symmetry check; any two different ones do. */
enum {
    SEED_LEFT = 1001,
    SEED_RIGHT = 1002
};

double st_cg_bytes(uint64_t n_rows, bool jacobi)
{
    return st_array_bytes(n_rows, sizeof(double)) * (jacobi ? N_ARRAYS : N_ARRAYS - 1);
}

static enum st_status sum_over_ranks(const struct st_cg *cg, int n, double *sums,
                                     struct st_error *err)
{
    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_DOUBLE, MPI_SUM, cg->comm.handle));
    return ST_OK;
}

static enum st_status dot(const struct st_cg *cg, const double *a, const double *b,
                          double *out, struct st_error *err)
{
    *out = stk_dot(&cg->v.split, a, b, cg->partial);
    return sum_over_ranks(cg, 1, out, err);
}

static enum st_status allocate(struct st_cg *cg, bool jacobi, struct st_error *err)
{
    double **const vectors[N_ARRAYS] = {&cg->v.x, &cg->v.r, &cg->v.p, &cg->v.q, &cg->b};

    for (size_t i = 0; i < N_ARRAYS; i++) {
        if (i == A_DIAGONAL && !jacobi) {
            continue;
        }
        const enum st_status rc =
            st_array_map(err, cg->matrix->n_rows, sizeof(double), &cg->arrays[i]);
        if (rc != ST_OK) {
            return rc;
        }
        if (i != A_DIAGONAL) {
            *vectors[i] = cg->arrays[i].base;
        }
        stk_fill(&cg->v.split, 0.0, cg->arrays[i].base);
    }
    cg->partial = st_calloc(err, cg->v.split.n_parts, STK_PARTIAL * sizeof(double));
    cg->v.partial = cg->partial;
    return cg->partial == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* 1 / a_ii, and the check that every a_ii is positive, as it must be. */
static enum st_status invert_diagonal(struct st_cg *cg, bool jacobi, bool general,
                                      struct st_error *err)
{
    const struct stk_csr *a = &cg->matrix->interior;
    double *inverse = cg->arrays[A_DIAGONAL].base;

    for (size_t i = 0; i < cg->matrix->n_rows; i++) {
        double diagonal = 0.0;
        for (size_t k = a->row_start[i]; k < a->row_start[i + 1]; k++) {
            if ((size_t)a->columns[k] == i) {
                diagonal = a->values[k];
            }
        }
        if (general && jacobi && !(fabs(diagonal) > 0.0)) {
            return st_fail(
                err, ST_ERR_STEP,
                "row %" PRIu64 " (from 1) has %g on its diagonal, by which the "
                "preconditioner divides; use preconditioner: none",
                st_matrix_original(cg->matrix, cg->matrix->first_row + i) + 1, diagonal);
        }
        if (!general && !(diagonal > 0.0)) {
            return st_fail(
                err, ST_ERR_STEP,
                "conjugate gradients need a symmetric positive definite matrix; "
                "row %" PRIu64 " (from 1) has %g on its diagonal",
                st_matrix_original(cg->matrix, cg->matrix->first_row + i) + 1, diagonal);
        }
        if (jacobi) {
            inverse[i] = 1.0 / diagonal;
        }
    }
    cg->v.inverse_diagonal = jacobi ? inverse : NULL;
    return ST_OK;
}

/* Greatest sum of absolute values in a row: a bound of the matrix's norm. Local part. */
static void add_to_sum(void *context, uint64_t column, double value)
{
    double *sum = context;

    (void)column;
    *sum += fabs(value);
}

static enum st_status find_norm(const struct st_cg *cg, double *norm,
                                struct st_error *err)
{
    *norm = 0.0;
    for (size_t i = 0; i < cg->matrix->n_rows; i++) {
        double sum = 0.0;
        st_matrix_visit_row(cg->matrix, i, add_to_sum, &sum);
        *norm = sum > *norm ? sum : *norm;
    }
    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, norm, 1, MPI_DOUBLE, MPI_MAX, cg->comm.handle));
    return ST_OK;
}

/*
 * Symmetry: x'Ay = y'Ax for two random vectors, as HPCG tests it, but measured against
 * eps ||A|| ||x|| ||y|| with the norms themselves (METHODS 4.1, validity 2) and the same
 * limit of 100. Uses p and r for x and y.
 */
static enum st_status check_symmetry(struct st_cg *cg, struct st_error *err)
{
    const struct stk_cg *v = &cg->v;
    double norm = 0.0;
    double sums[4] = {0.0}; /* x'Ay, y'Ax, x'x, y'y */

    stk_fill_random(&v->split, SEED_LEFT, cg->matrix->first_row, v->p);
    stk_fill_random(&v->split, SEED_RIGHT, cg->matrix->first_row, v->r);
    enum st_status rc = st_matrix_multiply(cg->matrix, true, v->r, v->q, err);
    sums[0] = stk_dot(&v->split, v->p, v->q, cg->partial);
    if (rc == ST_OK) {
        rc = st_matrix_multiply(cg->matrix, true, v->p, v->q, err);
    }
    sums[1] = stk_dot(&v->split, v->r, v->q, cg->partial);
    sums[2] = stk_dot(&v->split, v->p, v->p, cg->partial);
    sums[3] = stk_dot(&v->split, v->r, v->r, cg->partial);
    if (rc == ST_OK) {
        rc = sum_over_ranks(cg, 4, sums, err);
    }
    if (rc == ST_OK) {
        rc = find_norm(cg, &norm, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    const double scaled =
        fabs(sums[0] - sums[1]) / (DBL_EPSILON * norm * sqrt(sums[2]) * sqrt(sums[3]));
    if (!(scaled <= 100.0)) {
        return st_fail(err, ST_ERR_STEP,
                       "conjugate gradients need a symmetric matrix; x'Ay = %.17g but "
                       "y'Ax = %.17g for random x and y",
                       sums[0], sums[1]);
    }
    return ST_OK;
}

/* b = A 1, so that the exact solution is known. */
static enum st_status make_right_side(struct st_cg *cg, struct st_error *err)
{
    stk_fill(&cg->v.split, 1.0, cg->v.p);
    enum st_status rc = st_matrix_multiply(cg->matrix, true, cg->v.p, cg->b, err);
    if (rc == ST_OK) {
        rc = dot(cg, cg->b, cg->b, &cg->norm_b, err);
    }
    cg->norm_b = sqrt(cg->norm_b);
    if (rc == ST_OK && !(cg->norm_b > 0.0 && isfinite(cg->norm_b))) {
        return st_fail(err, ST_ERR_STEP,
                       "the right side b = A 1 has norm %g: nothing to solve",
                       cg->norm_b);
    }
    return rc;
}

static enum st_status create(const struct stm_comm *comm, struct st_matrix *matrix,
                             bool jacobi, bool general, struct st_cg **out,
                             struct st_error *err)
{
    struct st_cg *cg = st_calloc(err, 1, sizeof *cg);
    enum st_status rc = ST_ERR_MEMORY;

    if (cg != NULL) {
        cg->comm = *comm;
        cg->matrix = matrix;
        cg->v.split = matrix->interior.rows;
        rc = allocate(cg, jacobi, err);
        if (rc == ST_OK) {
            rc = invert_diagonal(cg, jacobi, general, err);
        }
    }
    rc = stm_agree(comm, rc, err);
    if (rc == ST_OK && cg != NULL && !general) {
        rc = check_symmetry(cg, err);
    }
    if (rc == ST_OK && cg != NULL) {
        rc = make_right_side(cg, err);
    }
    if (rc != ST_OK) {
        st_cg_destroy(&cg);
        return rc;
    }
    *out = cg;
    return ST_OK;
}

enum st_status st_cg_create(const struct stm_comm *comm, struct st_matrix *matrix,
                            bool jacobi, struct st_cg **out, struct st_error *err)
{
    return create(comm, matrix, jacobi, false, out, err);
}

enum st_status st_cg_create_general(const struct stm_comm *comm, struct st_matrix *matrix,
                                    bool jacobi, struct st_cg **out, struct st_error *err)
{
    return create(comm, matrix, jacobi, true, out, err);
}

void st_cg_destroy(struct st_cg **cg)
{
    if (cg == NULL || *cg == NULL) {
        return;
    }
    for (size_t i = 0; i < N_ARRAYS; i++) {
        st_pages_unmap(&(*cg)->arrays[i]);
    }
    st_free((*cg)->partial);
    st_free(*cg);
    *cg = NULL;
}

/* x = 0, r = b, p = D^-1 r; rr = r'r, rz = r'D^-1 r. */
static enum st_status start(struct st_cg *cg, double *rr, double *rz,
                            struct st_error *err)
{
    double sums[2];

    stk_fill(&cg->v.split, 0.0, cg->v.x);
    stk_fill(&cg->v.split, 0.0, cg->v.p);
    stk_fill(&cg->v.split, 0.0, cg->v.q);
    stk_copy(&cg->v.split, cg->b, cg->v.r);
    stk_cg_direction(&cg->v, 0.0);
    stk_cg_update(&cg->v, 0.0, &sums[0], &sums[1]); /* moves nothing, forms the sums */
    const enum st_status rc = sum_over_ranks(cg, 2, sums, err);
    *rr = sums[0];
    *rz = sums[1];
    return rc;
}

enum st_status st_cg_solve(struct st_cg *cg, const struct st_cg_options *options,
                           struct st_cg_outcome *outcome, struct st_error *err)
{
    struct st_cg_outcome now = {0};
    double sums[2] = {0.0, 0.0}; /* r'r, r'z */
    double rz = 0.0;
    enum st_status rc = start(cg, &sums[0], &rz, err);

    while (rc == ST_OK) {
        double pq = 0.0;
        now.residual = sqrt(sums[0]) / cg->norm_b;
        now.converged = now.residual <= options->tolerance;
        if (now.converged || now.n_iterations == options->max_iterations) {
            break;
        }
        if (now.n_iterations > 0) {
            stk_cg_direction(&cg->v, sums[1] / rz);
            rz = sums[1];
        }
        rc = st_matrix_multiply(cg->matrix, options->overlap, cg->v.p, cg->v.q, err);
        if (rc == ST_OK) {
            rc = dot(cg, cg->v.p, cg->v.q, &pq, err);
        }
        now.broke_down = !(pq > 0.0); /* NaN too */
        if (rc != ST_OK || now.broke_down) {
            break;
        }
        stk_cg_update(&cg->v, rz / pq, &sums[0], &sums[1]);
        rc = sum_over_ranks(cg, 2, sums, err);
        now.n_iterations++;
    }
    *outcome = now;
    return rc;
}

enum st_status st_cg_true_residual(struct st_cg *cg, double *residual,
                                   struct st_error *err)
{
    double rr = 0.0;
    enum st_status rc = st_matrix_multiply(cg->matrix, true, cg->v.x, cg->v.q, err);

    stk_copy(&cg->v.split, cg->b, cg->v.r);
    stk_axpy(&cg->v.split, -1.0, cg->v.q, cg->v.r);
    if (rc == ST_OK) {
        rc = dot(cg, cg->v.r, cg->v.r, &rr, err);
    }
    *residual = sqrt(rr) / cg->norm_b;
    return rc;
}
