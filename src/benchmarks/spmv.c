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
#include "src/benchmarks/part_cg.h"
#include "src/benchmarks/part_format.h"
#include "src/benchmarks/part_matrix.h"
#include "src/benchmarks/part_problem.h"
#include "src/benchmarks/part_read.h"
#include "src/benchmarks/part_split.h"
#include "src/measure/run.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    SPMV_MULTIPLY,
    SPMV_READ,
    SPMV_SOLVE
}; /* sections */
enum {
    SPMV_CSR,
    SPMV_SELL,
    SPMV_AUTO,
    SPMV_BCSR
}; /* format */
enum {
    SPMV_NO_SOLVER,
    SPMV_CG
}; /* solver */
enum {
    SPMV_NO_PRECONDITIONER,
    SPMV_JACOBI
}; /* preconditioner */

static const char *const format_names[] = {"csr", "sell", "auto", "bcsr", NULL};
static const char *const block_names[] = {"auto", "2x2", "3x3", "4x4", NULL};
static const char *const chunk_names[] = {"4", "8", "16", NULL};
static const char *const solver_names[] = {"none", "cg", NULL};
static const char *const preconditioner_names[] = {"none", "jacobi", NULL};

struct spmv_params {
    uint32_t matrix;
    char path[ST_TEXT_PARAM_SIZE];
    uint64_t nx, ny, nz;
    uint32_t scope;
    uint32_t partition;
    uint32_t format;
    uint32_t chunk;
    uint64_t sigma;
    uint32_t block;
    bool overlap;
    uint32_t solver;
    uint32_t preconditioner;
    double tolerance;
    uint64_t max_iterations;
};

struct spmv_state {
    struct st_problem_matrix problem;
    struct st_matrix *matrix; /* the problem's */
    struct st_cg *cg;
    struct st_cg_outcome outcome; /* of the last solve */
    struct st_format format;
    double bytes_per_nonzero;
    double halo_elements; /* of all ranks */
    double product_s;     /* of one product on this rank, in the last execution */
    double checksum;      /* of what was read */
    struct st_mapping x_map, y_map;
    double *x, *y;
};

static const struct st_param params[] = {
    ST_PARAM_CHOICE(spmv_params, matrix, st_problem_names, "box27",
                    "7- or 27-point box of nx x ny x nz points, or a Matrix Market file"),
    ST_PARAM_TEXT(spmv_params, path, "", "the Matrix Market file, with matrix: file"),
    ST_PARAM_COUNT(spmv_params, nx, "128", 1, 1e9, "points of the whole box along x"),
    ST_PARAM_COUNT(spmv_params, ny, "128", 1, 1e9, "points of the whole box along y"),
    ST_PARAM_COUNT(spmv_params, nz, "128", 1, 1e9, "points of the whole box along z"),
    ST_PARAM_CHOICE(
        spmv_params, scope, st_problem_scopes, "total",
        "nz is of the whole box, or of each rank: the box then grows along z"),
    ST_PARAM_CHOICE(
        spmv_params, partition, st_problem_partitions, "nonzeros",
        "give every rank equal nonzeros or equal rows in their order, or equal "
        "nonzeros with few couplings by PT-SCOTCH"),
    ST_PARAM_CHOICE(spmv_params, format, format_names, "csr",
                    "storage: compressed rows, SELL-C-sigma, dense blocks (BCSR), or the "
                    "fastest of them (measured)"),
    ST_PARAM_CHOICE(spmv_params, chunk, chunk_names, "8",
                    "C of SELL-C-sigma: rows of a chunk"),
    ST_PARAM_COUNT(spmv_params, sigma, "128", 1, 1e9,
                   "sigma of SELL-C-sigma: rows of a sorting window; 1 keeps the order"),
    ST_PARAM_CHOICE(spmv_params, block, block_names, "auto",
                    "blocks of BCSR: a size, or that with the least traffic"),
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
    M_HALO_WAIT,
    M_LOAD_BALANCE,
    M_COMMUNICATION,
    M_PARALLEL,
    M_BYTES,
    M_FILL,
    M_SELL_USED,
    M_SELL_GAIN,
    M_BLOCK,
    M_BCSR_FILL,
    M_BCSR_USED,
    M_BCSR_GAIN,
    M_IMBALANCE,
    M_HALO_ELEMENTS,
    M_DUPLICATES,
    M_MATRIX_BYTES,
    M_READ_TIME,
    M_READ_BANDWIDTH,
    M_SHARE,
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
                     "minimum traffic of the storage; in CSR 12 bytes per nonzero and 20 "
                     "per row"},
    [M_HALO] = {"halo_fraction", "1", ST_LOWER, ST_RANK, ST_GIVEN, SPMV_MULTIPLY,
                "share of the product's time spent in the halo exchange"},
    [M_HALO_WAIT] = {"halo_time", "s", ST_LOWER, ST_RANK, ST_GIVEN, SPMV_MULTIPLY,
                     "time of one product spent in the halo exchange"},
    [M_LOAD_BALANCE] =
        {"load_balance", "1", ST_HIGHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
         "mean over the ranks of the time outside MPI / its maximum (POP)"},
    [M_COMMUNICATION] = {"communication_efficiency", "1", ST_HIGHER, ST_JOB, ST_GIVEN,
                         SPMV_MULTIPLY,
                         "greatest time outside MPI / time of the slowest rank (POP)"},
    [M_PARALLEL] = {"parallel_efficiency", "1", ST_HIGHER, ST_JOB, ST_GIVEN,
                    SPMV_MULTIPLY, "load balance x communication efficiency (POP)"},
    [M_BYTES] = {"bytes_per_nonzero", "byte", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                 "minimum traffic of one product / nonzeros, in the storage used"},
    [M_FILL] = {"sell_fill", "1", ST_HIGHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                "beta of SELL-C-sigma: nonzeros / stored entries, of the worst rank"},
    [M_SELL_USED] = {"sell_used", "1", ST_NEITHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                     "1: format auto chose SELL-C-sigma, 0: another"},
    [M_SELL_GAIN] =
        {"sell_gain", "1", ST_HIGHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
         "median time of the product in CSR / in SELL-C-sigma, by format auto"},
    [M_BLOCK] = {"block_side", "1", ST_NEITHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                 "rows and columns of a block of BCSR; 0: none made, CSR moves less"},
    [M_BCSR_FILL] =
        {"bcsr_fill", "1", ST_HIGHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
         "nonzeros / values stored in blocks of the side with the least traffic"},
    [M_BCSR_USED] = {"bcsr_used", "1", ST_NEITHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                     "1: format auto chose BCSR, 0: another"},
    [M_BCSR_GAIN] =
        {"bcsr_gain", "1", ST_HIGHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
         "median time of the product in CSR / in BCSR, by format auto; 0: not "
         "tried, CSR moves fewer bytes"},
    [M_IMBALANCE] = {"nonzeros_imbalance", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                     "nonzeros of the fullest rank over the mean"},
    [M_HALO_ELEMENTS] = {"halo_elements", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                         "elements of x that the ranks receive from each other in one "
                         "product, all together"},
    [M_DUPLICATES] = {"duplicates", "1", ST_LOWER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
                      "entries of the file summed because their place occurs twice"},
    [M_MATRIX_BYTES] =
        {"matrix_size", "byte", ST_NEITHER, ST_JOB, ST_GIVEN, SPMV_MULTIPLY,
         "values and indices of all ranks; below the size of the caches the "
         "bandwidths are theirs"},
    [M_READ_TIME] =
        {"read_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, SPMV_READ,
         "reading the values of the own columns once, right after the products"},
    [M_READ_BANDWIDTH] = {"read_bandwidth", "byte s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK,
                          SPMV_READ, "of that: the ceiling of this placement and size"},
    [M_SHARE] = {"share_of_read_bandwidth", "1", ST_HIGHER, ST_JOB, ST_GIVEN, SPMV_READ,
                 "bandwidth of rank 0 in the products over that of its reading"},
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
        return p->matrix == ST_PROBLEM_FILE;
    }
    if (row == M_FILL) {
        return p->format == SPMV_SELL;
    }
    if (row == M_BLOCK || row == M_BCSR_FILL) {
        return p->format == SPMV_BCSR || p->format == SPMV_AUTO;
    }
    if (row == M_SELL_USED || row == M_SELL_GAIN || row == M_BCSR_USED ||
        row == M_BCSR_GAIN) {
        return p->format == SPMV_AUTO;
    }
    return metrics[row].section != SPMV_SOLVE || p->solver == SPMV_CG;
}

static struct st_problem problem_of(const struct spmv_params *p)
{
    return (struct st_problem){
        .who = "spmv",
        .kind = p->matrix,
        .path = p->path,
        .n = {p->nx, p->ny, p->nz},
        .scope = (enum st_scope)p->scope,
        .partition = (enum st_partition)p->partition,
        .has_sell = p->format == SPMV_SELL || p->format == SPMV_AUTO,
        .has_bcsr = p->format == SPMV_BCSR ||
                    (p->format == SPMV_AUTO && p->matrix == ST_PROBLEM_BOX27),
        .side = p->block == 0 ? 0 : p->block + 1,
        .n_vectors = p->solver != SPMV_CG               ? 2
                     : p->preconditioner == SPMV_JACOBI ? 8
                                                        : 7,
        .n_solves = p->solver == SPMV_CG ? 1 : 0,
        .max_iterations = p->max_iterations};
}

static enum st_status spmv_plan(const void *params_of_step, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    const struct st_problem problem = problem_of(params_of_step);

    return st_problem_plan(&problem, shape, need, err);
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
    stk_fill_random(&s->matrix->interior.rows, ST_PROBLEM_SEED_X, s->matrix->first_row,
                    s->x);
    for (size_t i = 0; s->matrix->original != NULL && i < s->matrix->n_rows; i++) {
        s->x[i] = stk_random_unit(ST_PROBLEM_SEED_X, s->matrix->original[i]);
    }
    stk_fill(&s->matrix->interior.rows, 0.0, s->y);
    return ST_OK;
}

/* Storage of the interior; needs the vectors, where the formats are tried against each other. */
static enum st_status prepare_format(struct st_run *run, struct spmv_state *s)
{
    static const size_t heights[] = {4, 8, 16};
    const struct spmv_params *p = run->params;
    const struct st_format_request request = {
        .storage = p->format == SPMV_BCSR ? ST_STORAGE_BCSR : ST_STORAGE_SELL,
        .choose = p->format == SPMV_AUTO,
        .chunk = heights[p->chunk],
        .sigma = p->sigma,
        .side = p->block == 0 ? 0 : p->block + 1};

    if (p->format == SPMV_CSR) {
        return ST_OK;
    }
    return st_format_apply(&run->comm, s->matrix, &request, s->x, s->y, &s->format,
                           &run->err);
}

/* Bytes and nonzeros of all ranks, for the metric. */
static enum st_status count_bytes(struct st_run *run, struct spmv_state *s)
{
    double sums[2] = {st_matrix_work_bytes(s->matrix), (double)s->matrix->halo->n_ghosts};

    STM_TRY(&run->err,
            MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, run->comm.handle));
    s->bytes_per_nonzero =
        s->matrix->n_all_nonzeros > 0 ? sums[0] / (double)s->matrix->n_all_nonzeros : 0.0;
    s->halo_elements = sums[1];
    st_set_work(run, M_RATE, st_matrix_work_flops(s->matrix));
    st_set_work(run, M_BANDWIDTH, st_matrix_work_bytes(s->matrix));
    st_set_work(run, M_READ_BANDWIDTH, st_read_csr_bytes(&s->matrix->interior));
    return ST_OK;
}

static enum st_status spmv_prepare(struct st_run *run, void *state)
{
    const struct spmv_params *p = run->params;
    const struct st_problem problem = problem_of(p);
    struct spmv_state *s = state;
    enum st_status rc = st_problem_create(run, &problem, &s->problem);

    s->matrix = s->problem.matrix;
    if (rc == ST_OK) {
        rc = stm_agree(&run->comm, prepare_vectors(run, s), &run->err);
    }
    if (rc == ST_OK) {
        rc = prepare_format(run, s);
    }
    if (rc == ST_OK) {
        rc = count_bytes(run, s);
    }
    if (rc == ST_OK && p->solver == SPMV_CG) {
        rc = st_cg_create(&run->comm, s->matrix, p->preconditioner == SPMV_JACOBI, &s->cg,
                          &run->err);
    }
    return rc;
}

/* The job's values of one execution, by rank 0; parts of the time by every rank. */
static void record_products(struct st_run *run, const struct spmv_state *s,
                            const struct st_split *split, const struct st_pop *pop)
{
    const struct spmv_params *p = run->params;
    const size_t rank = (size_t)run->comm.rank;

    st_record(run->rec, M_HALO, rank, st_split_share(split, split->halo_s));
    st_record(run->rec, M_HALO_WAIT, rank, split->halo_s / (double)run->n_inner);
    if (rank != 0) {
        return;
    }
    st_record(run->rec, M_LOAD_BALANCE, 0, pop->load_balance);
    st_record(run->rec, M_COMMUNICATION, 0, pop->communication_efficiency);
    st_record(run->rec, M_PARALLEL, 0, pop->parallel_efficiency);
    st_record(run->rec, M_BYTES, 0, s->bytes_per_nonzero);
    st_record(run->rec, M_IMBALANCE, 0, s->matrix->imbalance);
    st_record(run->rec, M_HALO_ELEMENTS, 0, s->halo_elements);
    st_record(run->rec, M_MATRIX_BYTES, 0, 12.0 * (double)s->matrix->n_all_nonzeros);
    if (s->problem.from_file) {
        st_record(run->rec, M_DUPLICATES, 0, (double)s->problem.n_duplicates);
    }
    if (p->format == SPMV_SELL) {
        st_record(run->rec, M_FILL, 0, s->format.sell_fill);
    } else if (p->format == SPMV_AUTO) {
        const enum st_storage used = s->format.storage;
        st_record(run->rec, M_SELL_USED, 0, used == ST_STORAGE_SELL ? 1.0 : 0.0);
        st_record(run->rec, M_SELL_GAIN, 0, s->format.gain[ST_STORAGE_SELL]);
        st_record(run->rec, M_BCSR_USED, 0, used == ST_STORAGE_BCSR ? 1.0 : 0.0);
        st_record(run->rec, M_BCSR_GAIN, 0, s->format.gain[ST_STORAGE_BCSR]);
    }
    if (p->format == SPMV_BCSR || p->format == SPMV_AUTO) {
        st_record(run->rec, M_BLOCK, 0, (double)s->format.side);
        st_record(run->rec, M_BCSR_FILL, 0, s->format.bcsr_fill);
    }
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
    const struct st_split split = {.elapsed_s = st_now() - start_s,
                                   .halo_s = s->matrix->wait_s};
    struct st_pop pop = {0};
    s->product_s = split.elapsed_s / (double)run->n_inner;
    if (rc == ST_OK) {
        rc = st_split_pop(&run->comm, &split, &pop, &run->err);
    }
    record_products(run, s, &split, &pop);
    return rc;
}

static void run_reads(struct st_run *run, struct spmv_state *s)
{
    const double bytes = st_read_csr_bytes(&s->matrix->interior);
    const double start_s = st_now();

    for (size_t k = 0; k < run->n_inner; k++) {
        s->checksum += st_read_csr(&s->matrix->interior);
    }
    const double read_s = (st_now() - start_s) / (double)run->n_inner;
    if (run->comm.rank == 0 && bytes > 0.0) {
        st_record(run->rec, M_SHARE, 0,
                  st_matrix_work_bytes(s->matrix) / s->product_s / (bytes / read_s));
    }
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
    switch (run->section) {
    case SPMV_READ:
        run_reads(run, state);
        return ST_OK;
    case SPMV_SOLVE:
        return run_solves(run, state);
    default:
        return run_products(run, state);
    }
}

/* A reference value of y, and what bounds its rounding error. */
struct reference {
    const struct st_matrix
        *matrix;     /* whose numbers the columns are; NULL: the problem's */
    double y, scale; /* sum of a x, of |a| |x| */
    size_t n;
};

static void add_entry(void *context, uint64_t column, double value)
{
    struct reference *reference = context;
    const uint64_t number = reference->matrix != NULL
                                ? st_matrix_original(reference->matrix, column)
                                : column;
    const double x = stk_random_unit(ST_PROBLEM_SEED_X, number);

    reference->y += value * x;
    reference->scale += fabs(value) * fabs(x);
    reference->n++;
}

static uint64_t original_row(const struct spmv_state *s, size_t i)
{
    return st_matrix_original(s->matrix, s->matrix->first_row + i);
}

static void refer(const struct spmv_state *s, size_t i, struct reference *reference)
{
    struct st_row row;

    if (s->problem.from_file) {
        reference->matrix = s->matrix;
        st_matrix_visit_row(s->matrix, i, add_entry, reference);
        return;
    }
    const struct st_row_source source = st_box_source(&s->problem.box);
    source.row(source.context, original_row(s, i), &row);
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
            (void)snprintf(what, sizeof what, "y of row %" PRIu64, original_row(s, i));
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
               (long double)stk_random_unit(ST_PROBLEM_SEED_W, original_row(s, i));
    }
    double got = (double)sum;
    STM_TRY(&run->err,
            MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_DOUBLE, MPI_SUM, run->comm.handle));
    STM_TRY(&run->err, MPI_Allreduce(MPI_IN_PLACE, &longest_anywhere, 1, MPI_UINT64_T,
                                     MPI_MAX, run->comm.handle));
    /* Each y carries the error of its row; adding up the ranks, one rounding each. */
    check->limit = 4.0 * ((double)longest_anywhere + run->comm.n_ranks) * DBL_EPSILON *
                   s->problem.probe_scale;
    st_check_near(check, got, s->problem.probe,
                  "weighted sum of y against the file's entries");
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

    if (s->problem.from_file) {
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
    st_matrix_destroy(&s->problem.matrix);
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
    .scaling_param = "scope",
    .applies = spmv_applies,
    ST_STAGES(spmv),
};
