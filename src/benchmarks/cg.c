/*
 * cg: preconditioned Krylov solvers, and what hiding their reductions gains.
 *
 * Each method asked for is a section of its own on the same matrix and right side b = A 1: its
 * time, iterations, and on each rank the split into computing, halo and reductions, from which
 * the POP efficiencies of METHODS 8.6 follow. Each keeps its own solution, which verify()
 * judges by the residual computed afresh, and on boxes, whose smallest eigenvalue is known, by
 * the distance from the exact solution too.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/benchmarks/part_krylov.h"
#include "src/benchmarks/part_problem.h"
#include "src/benchmarks/part_split.h"
#include "src/measure/run.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    CG_CONJUGATE_GRADIENTS,
    CG_BICGSTAB
}; /* method */

static const char *const method_names[] = {"cg", "bicgstab", NULL};
static const char *const variant_names[] = {"classic", "chronopoulos_gear", "pipelined",
                                            NULL};
static const char *const preconditioner_names[] = {"none", "jacobi", "sgs", "multigrid",
                                                   NULL};
/* By enum st_krylov_method. */
static const char *const solver_names[] = {"classic", "chronopoulos_gear", "pipelined",
                                           "bicgstab"};

struct cg_params {
    uint32_t matrix;
    char path[ST_TEXT_PARAM_SIZE];
    uint64_t nx, ny, nz;
    uint32_t scope;
    uint32_t partition;
    uint32_t method;
    uint32_t variants;
    uint32_t preconditioner;
    bool overlap;
    double tolerance;
    uint64_t max_iterations;
    uint64_t iterations;
};

struct cg_state {
    struct st_problem_matrix problem;
    struct st_krylov *krylov;
    struct st_cg_outcome outcomes[ST_KRYLOV_N_METHODS]; /* of the last solves */
};

static const struct st_param params[] = {
    ST_PARAM_CHOICE(cg_params, matrix, st_problem_names, "box27",
                    "7- or 27-point box of nx x ny x nz points, or a Matrix Market file"),
    ST_PARAM_TEXT(cg_params, path, "", "the Matrix Market file, with matrix: file"),
    ST_PARAM_COUNT(cg_params, nx, "128", 1, 1e9, "points of the whole box along x"),
    ST_PARAM_COUNT(cg_params, ny, "128", 1, 1e9, "points of the whole box along y"),
    ST_PARAM_COUNT(cg_params, nz, "128", 1, 1e9, "points of the whole box along z"),
    ST_PARAM_CHOICE(
        cg_params, scope, st_problem_scopes, "total",
        "nz is of the whole box, or of each rank: the box then grows along z"),
    ST_PARAM_CHOICE(
        cg_params, partition, st_problem_partitions, "nonzeros",
        "give every rank equal nonzeros or equal rows in their order, or equal "
        "nonzeros with few couplings by PT-SCOTCH"),
    ST_PARAM_CHOICE(
        cg_params, method, method_names, "cg",
        "conjugate gradients, or BiCGStab for matrices that are not symmetric"),
    {.name = "variants",
     .type = ST_TYPE_SET,
     .offset = offsetof(struct cg_params, variants),
     .unit = "1",
     .default_text = "all",
     .choices = variant_names,
     .help = "of cg: two reductions an iteration, one, or one hidden under the product"},
    ST_PARAM_CHOICE(
        cg_params, preconditioner, preconditioner_names, "jacobi",
        "sgs and multigrid (algebraic, one thread a rank, for cg) work within "
        "each thread's or rank's rows, so that iterations depend on these"),
    ST_PARAM_BOOL(cg_params, overlap, "yes",
                  "multiply the interior while the halo travels"),
    ST_PARAM_REAL(cg_params, tolerance, "1", "1e-8", 1e-10, 1.0,
                  "residual norm over right-side norm at which a solve stops"),
    ST_PARAM_COUNT(cg_params, max_iterations, "5000", 1, 1e9,
                   "iterations after which a solve gives up, and fails"),
    ST_PARAM_COUNT(cg_params, iterations, "0", 0, 1e9,
                   "do so many, whatever the residual; 0: until the tolerance"),
};

/* Metrics of one method, in this order. */
enum {
    V_TIME,
    V_ITERATIONS,
    V_ITERATION_TIME,
    V_RESIDUAL,
    V_COMPUTE,
    V_HALO,
    V_REDUCTION,
    V_LOAD_BALANCE,
    V_COMMUNICATION,
    V_PARALLEL,
    N_PER_METHOD
};

/* clang-format off */
#define METHOD_ROWS(name, section)                                                       \
    {name "_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, section, "one solve from zero"}, \
    {name "_iterations", "1", ST_LOWER, ST_JOB, ST_GIVEN, section,                       \
     "iterations of one solve"},                                                         \
    {name "_iteration_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, section,                   \
     "time of one solve / its iterations"},                                              \
    {name "_residual", "1", ST_LOWER, ST_JOB, ST_GIVEN, section,                         \
     "residual norm over right-side norm at the end, by the recurrence"},                \
    {name "_compute_share", "1", ST_HIGHER, ST_RANK, ST_GIVEN, section,                  \
     "share of the time outside MPI"},                                                   \
    {name "_halo_share", "1", ST_LOWER, ST_RANK, ST_GIVEN, section,                      \
     "share of the time in the halo exchange"},                                          \
    {name "_reduction_share", "1", ST_LOWER, ST_RANK, ST_GIVEN, section,                 \
     "share of the time in reductions, waiting for slower ranks included"},              \
    {name "_load_balance", "1", ST_HIGHER, ST_JOB, ST_GIVEN, section,                    \
     "mean over the ranks of the time outside MPI / its maximum (POP)"},                 \
    {name "_communication_efficiency", "1", ST_HIGHER, ST_JOB, ST_GIVEN, section,        \
     "greatest time outside MPI / time of the slowest rank (POP)"},                      \
    {name "_parallel_efficiency", "1", ST_HIGHER, ST_JOB, ST_GIVEN, section,             \
     "load balance x communication efficiency (POP)"}
/* clang-format on */

static const struct st_metric metrics[] = {
    METHOD_ROWS("classic", ST_KRYLOV_CLASSIC),
    METHOD_ROWS("gear", ST_KRYLOV_GEAR),
    METHOD_ROWS("pipelined", ST_KRYLOV_PIPELINED),
    METHOD_ROWS("bicgstab", ST_KRYLOV_BICGSTAB),
};

/* Bits of enum st_krylov_method; the variants' own come first and in the same order. */
static uint32_t methods_of(const struct cg_params *p)
{
    return p->method == CG_BICGSTAB ? 1U << ST_KRYLOV_BICGSTAB : p->variants;
}

static bool cg_applies(const void *params_of_step, size_t row)
{
    return (methods_of(params_of_step) >> metrics[row].section & 1U) != 0;
}

static struct st_problem problem_of(const struct cg_params *p)
{
    const uint32_t methods = methods_of(p);
    size_t n_solves = 0;

    for (unsigned i = 0; i < ST_KRYLOV_N_METHODS; i++) {
        n_solves += methods >> i & 1U;
    }
    return (struct st_problem){.who = "cg",
                               .kind = p->matrix,
                               .path = p->path,
                               .n = {p->nx, p->ny, p->nz},
                               .scope = (enum st_scope)p->scope,
                               .partition = (enum st_partition)p->partition,
                               .n_vectors = st_krylov_n_vectors(methods),
                               .has_multigrid = p->preconditioner == ST_KRYLOV_MULTIGRID,
                               .n_solves = n_solves,
                               .max_iterations =
                                   p->iterations > 0 ? p->iterations : p->max_iterations};
}

static enum st_status cg_plan(const void *params_of_step, const struct st_shape *shape,
                              struct st_need *need, struct st_error *err)
{
    const struct cg_params *p = params_of_step;
    const struct st_problem problem = problem_of(p);

    if (methods_of(p) == 0) {
        return st_fail(err, ST_ERR_CONFIG,
                       "cg: variants is empty; name at least one of classic, "
                       "chronopoulos_gear, pipelined");
    }
    if (p->method == CG_BICGSTAB && p->preconditioner == ST_KRYLOV_MULTIGRID) {
        return st_fail(err, ST_ERR_CONFIG,
                       "cg: preconditioner: multigrid is for symmetric matrices; with "
                       "method: bicgstab take jacobi or sgs");
    }
    return st_problem_plan(&problem, shape, need, err);
}

static enum st_status cg_prepare(struct st_run *run, void *state)
{
    const struct cg_params *p = run->params;
    const struct st_problem problem = problem_of(p);
    struct cg_state *s = state;
    enum st_status rc = st_problem_create(run, &problem, &s->problem);

    if (rc == ST_OK) {
        rc = st_krylov_create(&run->comm, s->problem.matrix,
                              (enum st_krylov_preconditioner)p->preconditioner,
                              methods_of(p), &s->krylov, &run->err);
    }
    return rc;
}

static struct st_krylov_options options_of(const struct cg_params *p)
{
    return (struct st_krylov_options){
        .tolerance = p->tolerance,
        .max_iterations = p->iterations > 0 ? p->iterations : p->max_iterations,
        .is_fixed = p->iterations > 0,
        .overlap = p->overlap};
}

static void record(struct st_run *run, const struct st_cg_outcome *outcome,
                   const struct st_split *split, const struct st_pop *pop)
{
    const size_t rank = (size_t)run->comm.rank;
    const size_t row = run->section * (size_t)N_PER_METHOD;

    st_record(run->rec, row + V_COMPUTE, rank,
              st_split_share(split, st_split_useful(split)));
    st_record(run->rec, row + V_HALO, rank, st_split_share(split, split->halo_s));
    st_record(run->rec, row + V_REDUCTION, rank,
              st_split_share(split, split->reduction_s));
    if (rank != 0) {
        return;
    }
    const double n = (double)run->n_inner * (double)outcome->n_iterations;
    st_record(run->rec, row + V_ITERATIONS, 0, (double)outcome->n_iterations);
    st_record(run->rec, row + V_ITERATION_TIME, 0, n > 0.0 ? split->elapsed_s / n : 0.0);
    st_record(run->rec, row + V_RESIDUAL, 0, outcome->residual);
    st_record(run->rec, row + V_LOAD_BALANCE, 0, pop->load_balance);
    st_record(run->rec, row + V_COMMUNICATION, 0, pop->communication_efficiency);
    st_record(run->rec, row + V_PARALLEL, 0, pop->parallel_efficiency);
}

static enum st_status cg_run(struct st_run *run, void *state)
{
    const struct st_krylov_options options = options_of(run->params);
    struct cg_state *s = state;
    struct st_cg_outcome *outcome = &s->outcomes[run->section];
    struct st_pop pop = {0};
    const double start_s = st_now();
    enum st_status rc = ST_OK;

    s->krylov->split = (struct st_split){0};
    for (size_t k = 0; k < run->n_inner && rc == ST_OK; k++) {
        rc = st_krylov_solve(s->krylov, (enum st_krylov_method)run->section, &options,
                             outcome, &run->err);
    }
    s->krylov->split.elapsed_s = st_now() - start_s;
    if (rc == ST_OK) {
        rc = st_split_pop(&run->comm, &s->krylov->split, &pop, &run->err);
    }
    if (rc == ST_OK) {
        record(run, outcome, &s->krylov->split, &pop);
    }
    return rc;
}

/*
 * Smallest eigenvalue of a box: its matrix is a sum (7 points) or a product (27 points) of those
 * of its axes, whose eigenvalues are 2 cos(k pi / (n + 1)) for neighbours -1 or 1.
 */
static double least_eigenvalue(const struct st_box *box)
{
    const double pi = acos(-1.0);
    double sum = 6.0;
    double product = 1.0;

    for (int axis = 0; axis < 3; axis++) {
        const double neighbours = 2.0 * cos(pi / ((double)box->n[axis] + 1.0));
        sum -= neighbours;
        product *= 1.0 + neighbours;
    }
    return box->is_full ? 27.0 - product : sum;
}

/* ||x - 1|| <= ||b - A x|| / lambda_min, with the rounding of the residual itself: 27 terms
 * a row of at most 52 together. */
static enum st_status verify_error(struct st_run *run, const struct cg_state *s,
                                   size_t method, double residual, struct st_check *check)
{
    const struct st_krylov *k = s->krylov;
    const double *x = k->solutions[method];
    const double n_rows = (double)st_box_rows(&s->problem.box);
    double sum = 0.0;

    for (size_t i = 0; i < s->problem.matrix->n_rows; i++) {
        sum += (x[i] - 1.0) * (x[i] - 1.0);
    }
    STM_TRY(&run->err,
            MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, run->comm.handle));
    check->limit =
        (residual * k->base->norm_b + 27.0 * 52.0 * DBL_EPSILON * sqrt(n_rows)) /
        least_eigenvalue(&s->problem.box);
    st_check_near(check, sqrt(sum), 0.0, "distance from the exact solution");
    return ST_OK;
}

static enum st_status verify_method(struct st_run *run, struct cg_state *s, size_t method,
                                    struct st_check *check)
{
    const struct cg_params *p = run->params;
    const struct st_cg_outcome *outcome = &s->outcomes[method];
    double residual = 0.0;
    char what[160];
    const enum st_status rc = st_krylov_true_residual(
        s->krylov, (enum st_krylov_method)method, &residual, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    (void)snprintf(what, sizeof what, "%s %s after %" PRIu64 " iterations, residual %.3g",
                   solver_names[method],
                   outcome->broke_down ? "broke down" : "did not converge",
                   outcome->n_iterations, outcome->residual);
    st_check_true(
        check, !outcome->broke_down && (p->iterations > 0 || outcome->converged), what);
    (void)snprintf(what, sizeof what, "true residual ||b - A x|| / ||b|| of %s",
                   solver_names[method]);
    check->limit = 10.0 * p->tolerance + 0.1 * outcome->residual;
    st_check_near(check, residual, outcome->residual, what);
    return s->problem.from_file ? ST_OK : verify_error(run, s, method, residual, check);
}

static enum st_status cg_verify(struct st_run *run, void *state, struct st_check *check)
{
    const uint32_t methods = methods_of(run->params);
    struct cg_state *s = state;
    enum st_status rc = ST_OK;

    for (size_t method = 0; method < ST_KRYLOV_N_METHODS && rc == ST_OK; method++) {
        if ((methods >> method & 1U) != 0) {
            rc = verify_method(run, s, method, check);
        }
    }
    return rc;
}

static void cg_release(void *state)
{
    struct cg_state *s = state;

    st_krylov_destroy(&s->krylov);
    st_matrix_destroy(&s->problem.matrix);
}

static void cg_spoil(void *state)
{
    struct cg_state *s = state;

    for (size_t method = 0; method < ST_KRYLOV_N_METHODS; method++) {
        double *x = s->krylov->solutions[method];
        if (x != NULL && s->problem.matrix->n_rows > 0) { /* rank 0 always has a row */
            x[0] += 1.0 + fabs(x[0]);
        }
    }
}

const struct st_bench st_bench_cg = {
    .name = "cg",
    .summary = "conjugate gradients and BiCGStab, with reductions plain, fused or hidden",
    .source = "Ghysels, Vanroose, Parallel Comput. 40, 224, 2014; Chronopoulos, Gear, J. "
              "Comput. Appl. Math. 25, 153, 1989; van der Vorst, SIAM J. Sci. Stat. "
              "Comput. 13, 631, 1992",
    ST_TABLES(params, metrics),
    ST_SIZES(struct cg_params, struct cg_state),
    .scaling_param = "scope",
    .applies = cg_applies,
    ST_STAGES(cg),
};
