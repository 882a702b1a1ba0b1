/*
 * spmv: a distributed sparse matrix-vector product, and conjugate gradients on it.
 *
 * Section 0 multiplies n_inner times with the same x; section 1 solves A x = b n_inner times
 * from zero. x is given by formula for every global element, so that verify() can form each
 * reference value without communication, which proves the halo along with the kernel. For a
 * box the reference takes the matrix from its formula as well; for a file it takes the
 * distributed entries, and a fingerprint formed while reading proves the distribution.
 */
#include "kernels/csr.h"
#include "kernels/splitmix.h"
#include "kernels/vector.h"
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_box.h"
#include "src/benchmarks/part_cg.h"
#include "src/benchmarks/part_matrix.h"
#include "src/benchmarks/part_matrix_file.h"
#include "src/measure/run.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    SPMV_MULTIPLY,
    SPMV_SOLVE
}; /* sections */
enum {
    SPMV_BOX7,
    SPMV_BOX27,
    SPMV_FILE
}; /* matrix */
enum {
    SPMV_NO_SOLVER,
    SPMV_CG
}; /* solver */
enum {
    SPMV_NO_PRECONDITIONER,
    SPMV_JACOBI
}; /* preconditioner */
enum {
    SPMV_BY_NONZEROS,
    SPMV_BY_ROWS
}; /* partition */
enum {
    SPMV_SEED_X = 42,
    SPMV_SEED_W = 43
};

static const char *const matrix_names[] = {"box7", "box27", "file", NULL};
static const char *const solver_names[] = {"none", "cg", NULL};
static const char *const preconditioner_names[] = {"none", "jacobi", NULL};
static const char *const partition_names[] = {"nonzeros", "rows", NULL};

struct spmv_params {
    uint32_t matrix;
    char path[ST_TEXT_PARAM_SIZE];
    uint64_t nx, ny, nz;
    uint32_t partition;
    bool overlap;
    uint32_t solver;
    uint32_t preconditioner;
    double tolerance;
    uint64_t max_iterations;
};

struct spmv_state {
    struct st_box box;
    struct st_matrix *matrix;
    struct st_cg *cg;
    struct st_cg_outcome outcome; /* of the last solve */
    struct st_mapping x_map, y_map;
    double *x, *y;
    bool from_file;
    uint64_t n_duplicates;
    double probe, probe_scale;
};

static const struct st_param params[] = {
    ST_PARAM_CHOICE(spmv_params, matrix, matrix_names, "box27",
                    "7- or 27-point box of nx x ny x nz points, or a Matrix Market file"),
    ST_PARAM_TEXT(spmv_params, path, "", "the Matrix Market file, with matrix: file"),
    ST_PARAM_COUNT(spmv_params, nx, "128", 1, 1e9, "points of the whole box along x"),
    ST_PARAM_COUNT(spmv_params, ny, "128", 1, 1e9, "points of the whole box along y"),
    ST_PARAM_COUNT(spmv_params, nz, "128", 1, 1e9, "points of the whole box along z"),
    ST_PARAM_CHOICE(spmv_params, partition, partition_names, "nonzeros",
                    "give every rank equal nonzeros or equal rows"),
    ST_PARAM_BOOL(spmv_params, overlap, "yes",
                  "multiply the interior while the halo travels"),
    ST_PARAM_CHOICE(spmv_params, solver, solver_names, "none",
                    "also solve A x = b by conjugate gradients (cg)"),
    ST_PARAM_CHOICE(spmv_params, preconditioner, preconditioner_names, "jacobi",
                    "of the solver"),
    ST_PARAM_REAL(spmv_params, tolerance, "1", "1e-10", 1e-14, 1.0,
                  "residual norm over right-side norm at which the solver stops"),
    ST_PARAM_COUNT(spmv_params, max_iterations, "5000", 1, 1e9,
                   "iterations after which the solver gives up"),
};

enum {
    M_TIME,
    M_RATE,
    M_BANDWIDTH,
    M_HALO,
    M_IMBALANCE,
    M_DUPLICATES,
    M_CG_TIME,
    M_CG_ITERATIONS,
    M_CG_RESIDUAL
};

static const struct st_metric metrics[] = {
    [M_TIME] = {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, SPMV_MULTIPLY,
                "one product y = A x"},
    [M_RATE] = {"rate", "flop s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, SPMV_MULTIPLY,
                "2 flops per nonzero"},
    [M_BANDWIDTH] = {"bandwidth", "byte s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK,
                     SPMV_MULTIPLY,
                     "minimum traffic: 12 bytes per nonzero and 20 per row"},
    [M_HALO] = {"halo_fraction", "1", ST_LOWER, ST_RANK, ST_GIVEN, SPMV_MULTIPLY,
                "share of the product's time spent waiting for the halo"},
    [M_IMBALANCE] = {"nonzeros_imbalance", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                     "nonzeros of the fullest rank over the mean"},
    [M_DUPLICATES] = {"duplicates", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                      "entries of the file summed because their place occurs twice"},
    [M_CG_TIME] = {"cg_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, SPMV_SOLVE,
                   "one solve from zero to the tolerance"},
    [M_CG_ITERATIONS] = {"cg_iterations", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_SOLVE,
                         "iterations of one solve"},
    [M_CG_RESIDUAL] =
        {"cg_residual", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_SOLVE,
         "residual norm over right-side norm at the end, by the recurrence"},
};

static bool spmv_applies(const void *params_of_step, size_t row)
{
    const struct spmv_params *p = params_of_step;

    if (row == M_DUPLICATES) {
        return p->matrix == SPMV_FILE;
    }
    return metrics[row].section != SPMV_SOLVE || p->solver == SPMV_CG;
}

static struct st_box box_of(const struct spmv_params *p)
{
    return (struct st_box){{p->nx, p->ny, p->nz}, p->matrix == SPMV_BOX27};
}

static enum st_partition partition_of(const struct spmv_params *p)
{
    return p->partition == SPMV_BY_ROWS ? ST_PARTITION_ROWS : ST_PARTITION_NONZEROS;
}

/*
 * Peak bytes of a rank: interior and rest in CSR, x and y, the solver's vectors; while the
 * pattern is found, three 8-byte copies of the rest's columns (one of them qsort()'s);
 * ghosts with their numbers, and as many elements to send; the partition.
 */
static double share_bytes(const struct spmv_params *p, const struct st_box_share *share,
                          uint64_t n_ranks)
{
    const uint64_t n_interior = share->n_nonzeros - share->n_rest;
    double bytes = st_array_bytes(share->n_rows, sizeof(uint32_t)) +
                   2.0 * st_array_bytes(share->n_rows, sizeof(double));

    bytes += st_array_bytes(n_interior, sizeof(int32_t)) +
             st_array_bytes(n_interior, sizeof(double));
    /* Start and number of a row of the rest: at most one row an entry. */
    bytes += 3.0 * st_array_bytes(share->n_rest, sizeof(uint32_t)) +
             st_array_bytes(share->n_rest, sizeof(double)) + 24.0 * (double)share->n_rest;
    if (p->solver == SPMV_CG) {
        bytes += st_cg_bytes(share->n_rows, p->preconditioner == SPMV_JACOBI);
    }
    return bytes + (16.0 + 12.0) * (double)share->n_ghosts + 12.0 * (double)n_ranks;
}

/*
 * The share that needs most memory. Rows at the first and last planes have the fewest
 * entries, those in the middle the most, so these three ranks hold the extremes.
 */
static struct st_box_share fullest_share(const struct spmv_params *p,
                                         const struct st_box *box, uint64_t n_ranks)
{
    const uint64_t tried[] = {n_ranks / 2, 0, n_ranks - 1};
    struct st_box_share fullest = {0};

    for (size_t i = 0; i < ST_COUNT(tried); i++) {
        const struct st_box_share share =
            st_box_share_of(box, partition_of(p), n_ranks, tried[i]);
        if (share_bytes(p, &share, n_ranks) > share_bytes(p, &fullest, n_ranks)) {
            fullest = share;
        }
    }
    return fullest;
}

/* Does the box fit the ranks' indices and the nodes' memory? */
static bool box_fits(const struct spmv_params *p, const struct st_box *box,
                     const struct st_shape *shape, struct st_box_share *share)
{
    *share = fullest_share(p, box, shape->n_ranks);
    return share->n_rows <= STK_CSR_MAX_COLUMNS &&
           share->n_nonzeros <= STK_CSR_MAX_NONZEROS &&
           (shape->memory_bytes == 0 ||
            share_bytes(p, share, shape->n_ranks) * (double)shape->max_ranks_per_node <=
                (double)shape->memory_bytes);
}

/* The largest cube that fits. */
static uint64_t best_edge(const struct spmv_params *p, const struct st_shape *shape)
{
    struct st_box_share share;
    uint64_t low = 1;
    uint64_t high = 880748; /* st_box_check() */

    while (high - low > 1) {
        const uint64_t edge = low + (high - low) / 2;
        const struct st_box cube = {{edge, edge, edge}, p->matrix == SPMV_BOX27};
        if (box_fits(p, &cube, shape, &share)) {
            low = edge;
        } else {
            high = edge;
        }
    }
    return low;
}

/* Notes for people: fits in cache, thin slabs, more ranks than rows. */
static void note_box(const struct spmv_params *p, const struct st_box *box,
                     const struct st_shape *shape, const struct st_box_share *share,
                     struct st_need *need)
{
    const double on_node =
        share_bytes(p, share, shape->n_ranks) * (double)shape->max_ranks_per_node;
    const uint64_t n_rows = st_box_rows(box);
    int n = 0;

    if (shape->llc_bytes > 0 && on_node <= (double)shape->llc_bytes) {
        n = snprintf(
            need->notes, sizeof need->notes,
            "cache_affected: the matrix (%.3g MB a node) fits in the caches, rates "
            "may exceed the memory's; ",
            on_node * 1e-6);
    }
    if (n_rows < shape->n_ranks) {
        (void)snprintf(need->notes + n, sizeof need->notes - (size_t)n,
                       "idle: %zu of %zu ranks get no row of %" PRIu64,
                       shape->n_ranks - (size_t)n_rows, shape->n_ranks, n_rows);
    } else if (shape->n_ranks > 1) {
        (void)snprintf(need->notes + n, sizeof need->notes - (size_t)n,
                       "surface: slabs of up to %" PRIu64 " rows receive up to %" PRIu64
                       " elements (%.1f %%)",
                       share->n_rows, share->n_ghosts,
                       100.0 * (double)share->n_ghosts / (double)share->n_rows);
    } else if (n > 0) {
        need->notes[n - 2] = '\0'; /* nothing follows: no separator */
    }
}

static enum st_status plan_box(const struct spmv_params *p, const struct st_shape *shape,
                               struct st_need *need, struct st_error *err)
{
    const struct st_box box = box_of(p);
    struct st_box_share share;
    const enum st_status rc = st_box_check(&box, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (!box_fits(p, &box, shape, &share)) {
        return st_fail(err, ST_ERR_STEP,
                       "spmv: a box of %" PRIu64 " x %" PRIu64 " x %" PRIu64
                       " points gives a rank up to %" PRIu64 " rows, %" PRIu64
                       " nonzeros and %.4g GB; %zu ranks with %zu on a node hold at most "
                       "a cube of %" PRIu64 " points an edge, or use more ranks on more "
                       "nodes",
                       p->nx, p->ny, p->nz, share.n_rows, share.n_nonzeros,
                       share_bytes(p, &share, shape->n_ranks) * 1e-9, shape->n_ranks,
                       shape->max_ranks_per_node, best_edge(p, shape));
    }
    need->bytes_per_rank = (uint64_t)share_bytes(p, &share, shape->n_ranks);
    /* At 1 GB/s and rank, slower than any machine's. An iteration of the solver moves the
     * matrix once and twelve vectors; the iterations of this operator grow with the longest
     * edge, about three an edge point at 1e-10. */
    const double product_s =
        1e-9 * (12.0 * (double)share.n_nonzeros + 20.0 * (double)share.n_rows);
    const uint64_t edge = p->nx > p->ny ? p->nx : p->ny;
    const double n_iterations =
        p->solver == SPMV_CG ? fmin((double)p->max_iterations,
                                    50.0 + 3.0 * (double)(edge > p->nz ? edge : p->nz))
                             : 0.0;
    need->seconds_per_repetition =
        product_s + n_iterations * (product_s + 96e-9 * (double)share.n_rows);
    note_box(p, &box, shape, &share, need);
    return ST_OK;
}

static enum st_status spmv_plan(const void *params_of_step, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    const struct spmv_params *p = params_of_step;

    if (p->matrix == SPMV_FILE && p->path[0] == '\0') {
        return st_fail(err, ST_ERR_CONFIG,
                       "spmv: matrix: file needs path: the name of a Matrix Market file");
    }
    if (p->matrix != SPMV_FILE && p->path[0] != '\0') {
        return st_fail(
            err, ST_ERR_CONFIG,
            "spmv: path is given, but matrix is %s; write matrix: file to read "
            "%.200s",
            matrix_names[p->matrix], p->path);
    }
    if (p->matrix != SPMV_FILE) {
        return plan_box(p, shape, need, err);
    }
    /* Only the file knows, and it is read by one rank, in prepare. */
    (void)snprintf(need->notes, sizeof need->notes,
                   "memory is known only when the file's size line is read");
    return ST_OK;
}

static enum st_status prepare_box(struct st_run *run, struct spmv_state *s)
{
    const struct spmv_params *p = run->params;
    const size_t n_ranks = (size_t)run->comm.n_ranks;

    s->box = box_of(p);
    const struct st_row_source source = st_box_source(&s->box);
    uint64_t *row_start = st_calloc(&run->err, n_ranks + 1, sizeof *row_start);
    const enum st_status rc =
        stm_agree(&run->comm, row_start == NULL ? ST_ERR_MEMORY : ST_OK, &run->err);
    if (rc != ST_OK || row_start == NULL) {
        st_free(row_start);
        return rc;
    }
    for (size_t r = 0; r <= n_ranks; r++) {
        row_start[r] = st_partition_start(&source, partition_of(p), 0,
                                          st_box_rows(&s->box), n_ranks, r);
    }
    return st_matrix_create(&run->comm, run->place->n_threads, row_start, &source,
                            &s->matrix, &run->err);
}

static enum st_status prepare_file(struct st_run *run, struct spmv_state *s)
{
    const struct spmv_params *p = run->params;
    const struct st_file_request request = {.path = p->path,
                                            .partition = partition_of(p),
                                            .memory_bytes = run->place->memory_bytes,
                                            .seed_x = SPMV_SEED_X,
                                            .seed_w = SPMV_SEED_W};
    struct st_file_rows *rows = NULL;
    enum st_status rc = st_file_rows_read(&run->comm, &request, &rows, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    const struct st_row_source source = st_file_rows_source(rows);
    uint64_t *row_start = rows->row_start;
    rows->row_start = NULL; /* the matrix's from here on */
    s->from_file = true;
    s->n_duplicates = rows->n_duplicates;
    s->probe = rows->probe;
    s->probe_scale = rows->probe_scale;
    rc = st_matrix_create(&run->comm, run->place->n_threads, row_start, &source,
                          &s->matrix, &run->err);
    st_file_rows_destroy(&rows);
    return rc;
}

static enum st_status prepare_vectors(struct st_run *run, struct spmv_state *s)
{
    const size_t n = s->matrix->n_rows;
    enum st_status rc = st_array_map(&run->err, n, sizeof(double), &s->x_map);

    if (rc == ST_OK) {
        rc = st_array_map(&run->err, n, sizeof(double), &s->y_map);
    }
    if (rc != ST_OK) {
        return rc;
    }
    s->x = s->x_map.base;
    s->y = s->y_map.base;
    stk_fill_random(&s->matrix->interior.rows, SPMV_SEED_X, s->matrix->first_row, s->x);
    stk_fill(&s->matrix->interior.rows, 0.0, s->y);
    st_set_work(run, M_RATE, st_matrix_work_flops(s->matrix));
    st_set_work(run, M_BANDWIDTH, st_matrix_work_bytes(s->matrix));
    return ST_OK;
}

static enum st_status spmv_prepare(struct st_run *run, void *state)
{
    const struct spmv_params *p = run->params;
    struct spmv_state *s = state;
    enum st_status rc =
        p->matrix == SPMV_FILE ? prepare_file(run, s) : prepare_box(run, s);

    if (rc == ST_OK) {
        rc = stm_agree(&run->comm, prepare_vectors(run, s), &run->err);
    }
    if (rc == ST_OK && p->solver == SPMV_CG) {
        rc = st_cg_create(&run->comm, s->matrix, p->preconditioner == SPMV_JACOBI, &s->cg,
                          &run->err);
    }
    return rc;
}

static enum st_status run_products(struct st_run *run, struct spmv_state *s)
{
    const struct spmv_params *p = run->params;
    const double start_s = st_now();
    enum st_status rc = ST_OK;

    s->matrix->wait_s = 0.0;
    for (size_t k = 0; k < run->n_inner && rc == ST_OK; k++) {
        rc = st_matrix_multiply(s->matrix, p->overlap, s->x, s->y, &run->err);
    }
    const double elapsed_s = st_now() - start_s;
    st_record(run->rec, M_HALO, (size_t)run->comm.rank,
              elapsed_s > 0.0 ? s->matrix->wait_s / elapsed_s : 0.0);
    if (run->comm.rank == 0) {
        st_record(run->rec, M_IMBALANCE, 0, s->matrix->imbalance);
        if (s->from_file) {
            st_record(run->rec, M_DUPLICATES, 0, (double)s->n_duplicates);
        }
    }
    return rc;
}

static enum st_status run_solves(struct st_run *run, struct spmv_state *s)
{
    const struct spmv_params *p = run->params;
    const struct st_cg_options options = {p->tolerance, p->max_iterations, p->overlap};
    enum st_status rc = ST_OK;

    for (size_t k = 0; k < run->n_inner && rc == ST_OK; k++) {
        rc = st_cg_solve(s->cg, &options, &s->outcome, &run->err);
    }
    if (run->comm.rank == 0) {
        st_record(run->rec, M_CG_ITERATIONS, 0, (double)s->outcome.n_iterations);
        st_record(run->rec, M_CG_RESIDUAL, 0, s->outcome.residual);
    }
    return rc;
}

static enum st_status spmv_run(struct st_run *run, void *state)
{
    return run->section == SPMV_SOLVE ? run_solves(run, state) : run_products(run, state);
}

/* A reference value of y, and what bounds its rounding error. */
struct reference {
    double y, scale; /* sum of a x, of |a| |x| */
    size_t n;
};

static void add_entry(void *context, uint64_t column, double value)
{
    struct reference *reference = context;
    const double x = stk_random_unit(SPMV_SEED_X, column);

    reference->y += value * x;
    reference->scale += fabs(value) * fabs(x);
    reference->n++;
}

static void refer(const struct spmv_state *s, size_t i, struct reference *reference)
{
    struct st_row row;

    if (s->from_file) {
        st_matrix_visit_row(s->matrix, i, add_entry, reference);
        return;
    }
    const struct st_row_source source = st_box_source(&s->box);
    source.row(source.context, s->matrix->first_row + i, &row);
    for (size_t k = 0; k < row.n; k++) {
        add_entry(reference, row.columns[k], row.values[k]);
    }
}

/* |y - y_ref| <= 4 z eps sum |a||x| per row (METHODS 4.3). @return the longest row */
static size_t verify_rows(const struct spmv_state *s, struct st_check *check)
{
    size_t longest = 0;

    for (size_t i = 0; i < s->matrix->n_rows; i++) {
        struct reference reference = {0};
        char what[48];
        refer(s, i, &reference);
        check->limit = 4.0 * (double)reference.n * DBL_EPSILON * reference.scale;
        what[0] = '\0'; /* text is made for rows that need it: there are millions */
        if (!(fabs(s->y[i] - reference.y) <= check->limit)) {
            (void)snprintf(what, sizeof what, "y of row %" PRIu64,
                           s->matrix->first_row + i);
        }
        st_check_near(check, s->y[i], reference.y, what);
        longest = reference.n > longest ? reference.n : longest;
    }
    return longest;
}

/* The fingerprint: sum of w_i y_i over all ranks against the file's own. */
static enum st_status verify_probe(struct st_run *run, const struct spmv_state *s,
                                   size_t longest, struct st_check *check)
{
    long double sum = 0.0L;
    uint64_t longest_anywhere = longest;

    for (size_t i = 0; i < s->matrix->n_rows; i++) {
        sum += (long double)s->y[i] *
               (long double)stk_random_unit(SPMV_SEED_W, s->matrix->first_row + i);
    }
    double got = (double)sum;
    STM_TRY(&run->err,
            MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_DOUBLE, MPI_SUM, run->comm.handle));
    STM_TRY(&run->err, MPI_Allreduce(MPI_IN_PLACE, &longest_anywhere, 1, MPI_UINT64_T,
                                     MPI_MAX, run->comm.handle));
    /* Each y carries the error of its row; adding up the ranks, one rounding each. */
    check->limit = 4.0 * ((double)longest_anywhere + run->comm.n_ranks) * DBL_EPSILON *
                   s->probe_scale;
    st_check_near(check, got, s->probe, "weighted sum of y against the file's entries");
    return ST_OK;
}

static enum st_status verify_solution(struct st_run *run, const struct spmv_state *s,
                                      struct st_check *check)
{
    const struct spmv_params *p = run->params;
    double residual = 0.0;
    char what[160];
    const enum st_status rc = st_cg_true_residual(s->cg, &residual, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    (void)snprintf(what, sizeof what, "cg %s after %" PRIu64 " iterations, residual %.3g",
                   s->outcome.converged    ? "converged"
                   : s->outcome.broke_down ? "broke down (not positive definite)"
                                           : "did not converge",
                   s->outcome.n_iterations, s->outcome.residual);
    st_check_true(check, s->outcome.converged, what);
    check->limit = 10.0 * p->tolerance;
    st_check_near(check, residual, 0.0, "true residual ||b - A x|| / ||b||");
    return ST_OK;
}

static enum st_status spmv_verify(struct st_run *run, void *state, struct st_check *check)
{
    const struct spmv_state *s = state;
    const size_t longest = verify_rows(s, check);
    enum st_status rc = ST_OK;

    if (s->from_file) {
        rc = verify_probe(run, s, longest, check);
    }
    if (rc == ST_OK && s->cg != NULL) {
        rc = verify_solution(run, s, check);
    }
    return rc;
}

static void spmv_release(void *state)
{
    struct spmv_state *s = state;

    st_cg_destroy(&s->cg);
    st_matrix_destroy(&s->matrix);
    st_pages_unmap(&s->x_map);
    st_pages_unmap(&s->y_map);
}

static void spmv_spoil(void *state)
{
    struct spmv_state *s = state;

    if (s->matrix->n_rows > 0) { /* rank 0 always has a row */
        s->y[0] += 1.0 + fabs(s->y[0]);
    }
}

const struct st_bench st_bench_spmv = {
    .name = "spmv",
    .summary =
        "sparse matrix-vector product and conjugate gradients, distributed by rows",
    .source = "Kreutzer et al., SIAM J. Sci. Comput. 36, C401, 2014 (traffic model)",
    ST_TABLES(params, metrics),
    ST_SIZES(struct spmv_params, struct spmv_state),
    .applies = spmv_applies,
    ST_STAGES(spmv),
};
