/*
 * hpcg: the problem, rules and rating of HPCG 3.1 (METHODS 4.1).
 *
 * A section is one set: a solve of so many iterations from zero. `optimised` first runs the
 * reference storage once, frees it, and then needs as many iterations a set as bring its residual
 * to the reference's; iterations beyond those are worked but not credited, and the set-up is
 * charged to the rating as the rules say. Order and storage are made in one go, so there is no
 * separate time of optimisation. Every campaign runs HPCG's validity tests in verify(): if one
 * fails the numbers are kept and never judged, which is what "no rating" means here.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_hpcg.h"
#include "src/benchmarks/part_read.h"
#include "src/benchmarks/part_split.h"
#include "src/measure/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    HPCG_PER_RANK,
    HPCG_TOTAL
}; /* scope */
enum {
    HPCG_SET,
    HPCG_READ
}; /* section */
enum {
    HPCG_ORDERED,
    HPCG_UNORDERED
}; /* reductions */
enum {
    HPCG_MOST_POINTS =
        4096, /* of an edge: keeps every product of plan() inside 64 bits */
    HPCG_MOST_ITERATIONS = 500
};

/* HPCG's aspect rule, for sizes and for the grid of ranks. */
static const double HPCG_LEAST_ASPECT = 0.125;

static const char *const scope_names[] = {"per_rank", "total", NULL};
/* In the order of enum st_hpcg_storage. */
static const char *const mode_names[] = {"reference", "optimised", "structured", NULL};
static const char *const reduction_names[] = {"ordered", "unordered", NULL};

struct hpcg_params {
    uint64_t nx, ny, nz;
    uint32_t scope;
    uint32_t mode;
    uint64_t iterations;
    uint32_t reductions;
};

struct hpcg_state {
    struct st_hpcg *h;
    struct st_hpcg_grid grid;
    double setup_s;
    uint64_t n_iterations;     /* of a set */
    double reference_residual; /* what a set must reach */
    struct st_hpcg_outcome outcome;
    double least, most; /* residuals over the sets */
    uint64_t n_sets;
    double set_flops; /* HPCG's count, all ranks */
    double n_counted; /* sets in the times and bytes of h */
    double checksum;  /* of what was read */
};

static const struct st_param params[] = {
    ST_PARAM_COUNT(hpcg_params, nx, "104", 1, HPCG_MOST_POINTS,
                   "points along x; of each rank a multiple of 8 from 16"),
    ST_PARAM_COUNT(hpcg_params, ny, "104", 1, HPCG_MOST_POINTS, "points along y"),
    ST_PARAM_COUNT(hpcg_params, nz, "104", 1, HPCG_MOST_POINTS, "points along z"),
    ST_PARAM_CHOICE(
        hpcg_params, scope, scope_names, "per_rank",
        "points of each rank, as HPCG has them, or of the whole grid, which the "
        "ranks must divide"),
    ST_PARAM_CHOICE(
        hpcg_params, mode, mode_names, "optimised",
        "the reference's loops on CSR; fused loops within HPCG's rules; or the "
        "stencil without a matrix, not comparable with HPCG"),
    ST_PARAM_COUNT(hpcg_params, iterations, "50", 1, HPCG_MOST_ITERATIONS,
                   "iterations of a set of the reference; HPCG has 50"),
    ST_PARAM_CHOICE(hpcg_params, reductions, reduction_names, "ordered",
                    "ordered: every set must give the same bits; unordered: for networks "
                    "that add in any order, a variance below 1e-6"),
};

enum {
    M_TIME,
    M_RATE,
    M_RATING,
    M_SETUP,
    M_ITERATIONS,
    M_RESIDUAL,
    M_SPMV_TIME,
    M_SYMGS_TIME,
    M_RESTRICT_TIME,
    M_PROLONG_TIME,
    M_WAXPBY_TIME,
    M_DOT_TIME,
    M_SPMV_BANDWIDTH,
    M_SYMGS_BANDWIDTH,
    M_RESTRICT_BANDWIDTH,
    M_PROLONG_BANDWIDTH,
    M_WAXPBY_BANDWIDTH,
    M_DOT_BANDWIDTH,
    M_READ_TIME,
    M_READ_BANDWIDTH,
    M_SPMV_SHARE,
    M_SYMGS_SHARE,
    M_RATE_BOUND,
    M_COMPUTE,
    M_HALO,
    M_REDUCE,
    M_LOAD_BALANCE,
    M_COMMUNICATION,
    M_PARALLEL
};

#define HPCG_TIME(name, text)                                                            \
    {                                                                                    \
        name, "s", ST_LOWER, ST_JOB, ST_GIVEN, 0, text                                   \
    }
#define HPCG_BANDWIDTH(name, text)                                                       \
    {                                                                                    \
        name, "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0, text                           \
    }

#define HPCG_SHARE(name, text)                                                           \
    {                                                                                    \
        name, "1", ST_HIGHER, ST_JOB, ST_GIVEN, HPCG_READ, text                          \
    }
#define HPCG_POP(name, text)                                                             \
    {                                                                                    \
        name, "1", ST_HIGHER, ST_JOB, ST_GIVEN, HPCG_SET, text                           \
    }

static const struct st_metric metrics[] = {
    [M_TIME] = {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0, "one set"},
    [M_RATE] = {"rate", "flop s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, 0,
                "raw: HPCG's count of flops of the iterations done over their time"},
    [M_RATING] = {"rating", "flop s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                  "HPCG's rating: surplus iterations not credited, a tenth of the set-up "
                  "charged to each set"},
    [M_SETUP] = {"setup_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                 "making matrices, vectors and halos, the slowest rank"},
    [M_ITERATIONS] = {"iterations", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                      "iterations of a set, to the reference's residual"},
    [M_RESIDUAL] = {"residual", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                    "residual norm over the first one at the end of a set"},
    [M_SPMV_TIME] = HPCG_TIME("spmv_time", "products with the finest matrix in a set, "
                                           "rank 0"),
    [M_SYMGS_TIME] = HPCG_TIME("symgs_time", "smoothing on all levels in a set, rank 0"),
    [M_RESTRICT_TIME] =
        HPCG_TIME("restrict_time", "residuals for the coarser levels in a set, rank 0"),
    [M_PROLONG_TIME] =
        HPCG_TIME("prolong_time", "corrections from the coarser levels in a set, rank 0"),
    [M_WAXPBY_TIME] = HPCG_TIME("waxpby_time", "vector updates in a set, rank 0"),
    [M_DOT_TIME] =
        HPCG_TIME("dot_time", "dot products in a set without the reduction over ranks, "
                              "rank 0"),
    [M_SPMV_BANDWIDTH] =
        HPCG_BANDWIDTH("spmv_bandwidth", "least traffic of rank 0 over spmv_time, times "
                                         "the ranks"),
    [M_SYMGS_BANDWIDTH] =
        HPCG_BANDWIDTH("symgs_bandwidth", "the same for symgs_time, of what the mode's "
                                          "storage must move"),
    [M_RESTRICT_BANDWIDTH] =
        HPCG_BANDWIDTH("restrict_bandwidth", "the same for restrict_time"),
    [M_PROLONG_BANDWIDTH] =
        HPCG_BANDWIDTH("prolong_bandwidth", "the same for prolong_time"),
    [M_WAXPBY_BANDWIDTH] = HPCG_BANDWIDTH("waxpby_bandwidth", "the same for waxpby_time"),
    [M_DOT_BANDWIDTH] = HPCG_BANDWIDTH("dot_bandwidth", "the same for dot_time"),
    [M_READ_TIME] = {"read_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, HPCG_READ,
                     "reading a part of the matrix once, right after each set"},
    [M_READ_BANDWIDTH] = {"read_bandwidth", "byte s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK,
                          HPCG_READ, "of that: the ceiling of this placement"},
    [M_SPMV_SHARE] =
        HPCG_SHARE("spmv_share", "spmv_bandwidth over the bandwidth at which rank "
                                 "0 read right after"),
    [M_SYMGS_SHARE] = HPCG_SHARE("symgs_share", "the same for the smoother"),
    [M_RATE_BOUND] = {"rate_bound", "flop s-1", ST_HIGHER, ST_JOB, ST_GIVEN, HPCG_READ,
                      "the rate if all parts of a set moved their least traffic at "
                      "read_bandwidth"},
    [M_COMPUTE] = {"compute_share", "1", ST_HIGHER, ST_RANK, ST_GIVEN, HPCG_SET,
                   "share of the set's time outside MPI"},
    [M_HALO] = {"halo_share", "1", ST_LOWER, ST_RANK, ST_GIVEN, HPCG_SET,
                "share of the set's time spent in halo exchanges"},
    [M_REDUCE] = {"reduction_share", "1", ST_LOWER, ST_RANK, ST_GIVEN, HPCG_SET,
                  "share of the set's time spent in reductions, waiting for slower ranks "
                  "included"},
    [M_LOAD_BALANCE] =
        HPCG_POP("load_balance", "mean over the ranks of the time outside MPI "
                                 "/ its maximum (POP)"),
    [M_COMMUNICATION] =
        HPCG_POP("communication_efficiency",
                 "greatest time outside MPI / time of the slowest rank (POP)"),
    [M_PARALLEL] =
        HPCG_POP("parallel_efficiency", "load balance x communication efficiency (POP)"),
};

/* Without a matrix there is no long array to read. */
static bool hpcg_applies(const void *params_of_step, size_t row)
{
    const struct hpcg_params *p = params_of_step;

    return p->mode != ST_HPCG_STENCIL || metrics[row].section != HPCG_READ;
}

/* Points of each rank; of `scope: total` rounded down where the ranks do not divide them. */
static struct st_hpcg_grid grid_of(const struct hpcg_params *p, size_t n_ranks)
{
    struct st_hpcg_grid grid = {.n = {p->nx, p->ny, p->nz}};

    st_hpcg_rank_grid(n_ranks, grid.ranks);
    for (int axis = 0; axis < 3; axis++) {
        grid.n[axis] /= p->scope == HPCG_TOTAL ? grid.ranks[axis] : 1;
    }
    return grid;
}

/* The reference problem is freed before the other one is made: the larger one counts. */
static double peak_bytes(const struct hpcg_params *p, const struct st_hpcg_grid *grid)
{
    const double plain = st_hpcg_bytes(grid, ST_HPCG_CSR);
    const double other = st_hpcg_bytes(grid, (enum st_hpcg_storage)p->mode);

    return other > plain ? other : plain;
}

static uint64_t nearest_size(uint64_t n)
{
    return n < 16 ? 16 : (n + 4) / 8 * 8;
}

/* The good sizes nearest to those of each rank: multiples of 8, none below an eighth of another. */
static void find_good(const uint64_t n[3], uint64_t good[3])
{
    uint64_t most = 0;

    for (int axis = 0; axis < 3; axis++) {
        good[axis] = nearest_size(n[axis]);
        most = good[axis] > most ? good[axis] : most;
    }
    for (int axis = 0; axis < 3; axis++) {
        const uint64_t least = nearest_size((most + 7) / 8 + 3); /* rounds up to 8 */
        good[axis] = good[axis] < least ? least : good[axis];
    }
}

static enum st_status check_sizes(const struct hpcg_params *p,
                                  const struct st_hpcg_grid *grid, struct st_error *err)
{
    const uint64_t n[3] = {p->nx, p->ny, p->nz};
    const bool is_total = p->scope == HPCG_TOTAL;
    uint64_t good[3];
    uint64_t factor[3] = {1, 1, 1};
    bool is_good = true;
    char ranks[96] = "";

    find_good(grid->n, good);
    for (int axis = 0; axis < 3; axis++) {
        factor[axis] = is_total ? grid->ranks[axis] : 1;
        is_good = is_good && n[axis] == good[axis] * factor[axis];
    }
    if (is_good) {
        return ST_OK;
    }
    if (is_total) {
        (void)snprintf(ranks, sizeof ranks,
                       " over %" PRIu64 " x %" PRIu64 " x %" PRIu64 " ranks",
                       grid->ranks[0], grid->ranks[1], grid->ranks[2]);
    }
    return st_fail(
        err, ST_ERR_CONFIG,
        "hpcg: %" PRIu64 " x %" PRIu64 " x %" PRIu64
        " points %s%s: those of each rank must be multiples of 8, at least 16, and "
        "the smallest at least an eighth of the largest (four levels of grids); "
        "nearest good: %" PRIu64 " x %" PRIu64 " x %" PRIu64,
        n[0], n[1], n[2], is_total ? "in all" : "per rank", ranks, good[0] * factor[0],
        good[1] * factor[1], good[2] * factor[2]);
}

/* Does a rank's share fit its 32-bit indices and the node's memory? */
static bool grid_fits(const struct hpcg_params *p, const struct st_shape *shape,
                      const struct st_hpcg_grid *grid)
{
    const uint64_t rows = st_hpcg_rows(grid, 0);

    return rows + st_hpcg_ghosts(grid, 0) <= STK_CSR_MAX_COLUMNS &&
           27 * rows <= STK_CSR_MAX_NONZEROS &&
           (shape->memory_bytes == 0 ||
            peak_bytes(p, grid) * (double)shape->max_ranks_per_node <=
                (double)shape->memory_bytes);
}

/* The largest cube that fits; 0: none. */
static uint64_t best_edge(const struct hpcg_params *p, const struct st_shape *shape)
{
    uint64_t best = 0;

    for (uint64_t edge = 16; edge <= HPCG_MOST_POINTS; edge += 8) {
        struct st_hpcg_grid grid = grid_of(p, shape->n_ranks);
        grid.n[0] = grid.n[1] = grid.n[2] = edge;
        if (!grid_fits(p, shape, &grid)) {
            break;
        }
        best = edge;
    }
    return best;
}

static void write_notes(const struct hpcg_params *p, const struct st_shape *shape,
                        const struct st_hpcg_grid *grid, struct st_need *need)
{
    const double rows = (double)st_hpcg_rows(grid, 0);
    const double on_node =
        (double)need->bytes_per_rank * (double)shape->max_ranks_per_node;
    const bool in_cache = shape->llc_bytes > 0 && on_node <= (double)shape->llc_bytes;

    (void)snprintf(
        need->notes, sizeof need->notes,
        "ranks %" PRIu64 " x %" PRIu64 " x %" PRIu64 ", surface: up to %" PRIu64
        " elements received for %.0f rows (%.1f %%)%s%s%s%s%s",
        grid->ranks[0], grid->ranks[1], grid->ranks[2], st_hpcg_ghosts(grid, 0), rows,
        100.0 * (double)st_hpcg_ghosts(grid, 0) / rows,
        in_cache ? "; cache_affected: the matrices fit in the caches" : "",
        st_hpcg_aspect(grid->ranks) < HPCG_LEAST_ASPECT
            ? "; HPCG itself refuses so long a grid of ranks: not comparable"
            : "",
        p->iterations != 50 ? "; HPCG has 50 iterations a set: not comparable" : "",
        p->mode == ST_HPCG_STENCIL
            ? "; structured: no matrix is stored, not comparable with HPCG"
            : "",
        shape->max_threads > 1
            ? "; one thread of each rank computes: start one rank per core"
            : "");
}

static enum st_status hpcg_plan(const void *params_of_step, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    const struct hpcg_params *p = params_of_step;
    const struct st_hpcg_grid grid = grid_of(p, shape->n_ranks);
    const enum st_status rc = check_sizes(p, &grid, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (!grid_fits(p, shape, &grid)) {
        const uint64_t best = best_edge(p, shape);
        return st_fail(
            err, ST_ERR_STEP,
            "hpcg: %" PRIu64 " x %" PRIu64 " x %" PRIu64
            " points per rank need %.4g GB; %zu ranks on a node hold at most a "
            "cube of %" PRIu64 " points an edge each%s",
            grid.n[0], grid.n[1], grid.n[2], peak_bytes(p, &grid) * 1e-9,
            shape->max_ranks_per_node, best,
            best == 0 ? " (not even the smallest, 16)" : "");
    }
    need->bytes_per_rank = (uint64_t)peak_bytes(p, &grid);
    /* METHODS 4.1: 2317 bytes a row and iteration; at 4 GB/s a rank, slower than most. */
    need->seconds_per_repetition =
        2317.0 / 4e9 * (double)st_hpcg_rows(&grid, 0) * (double)p->iterations;
    write_notes(p, shape, &grid, need);
    return ST_OK;
}

/* Make the problem and time it on the slowest rank. */
static enum st_status make(struct st_run *run, struct hpcg_state *s,
                           enum st_hpcg_storage storage)
{
    const double start_s = st_now();
    const enum st_status rc =
        st_hpcg_create(&run->comm, &s->grid, storage, &s->h, &run->err);

    s->setup_s = st_now() - start_s;
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(&run->err, MPI_Allreduce(MPI_IN_PLACE, &s->setup_s, 1, MPI_DOUBLE, MPI_MAX,
                                     run->comm.handle));
    return ST_OK;
}

static struct st_hpcg_options options_of(const struct hpcg_state *s,
                                         uint64_t n_iterations, double tolerance)
{
    return (struct st_hpcg_options){.max_iterations = n_iterations,
                                    .tolerance = tolerance,
                                    .precondition = true,
                                    .b = s->h->b,
                                    .x = s->h->x};
}

/* The reference's residual, then the iterations that the mode's loops need to reach it. */
static enum st_status find_iterations(struct st_run *run, struct hpcg_state *s)
{
    const struct hpcg_params *p = run->params;
    struct st_hpcg_options options = options_of(s, s->n_iterations, 0.0);
    enum st_status rc = st_hpcg_solve(s->h, &options, &s->outcome, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    s->reference_residual = s->outcome.residual;
    st_hpcg_destroy(&s->h);
    rc = make(run, s, (enum st_hpcg_storage)p->mode);
    if (rc != ST_OK) {
        return rc;
    }
    options = options_of(s, HPCG_MOST_ITERATIONS, s->reference_residual * (1.0 + 1e-6));
    rc = st_hpcg_solve(s->h, &options, &s->outcome, &run->err);
    s->n_iterations = s->outcome.n_iterations;
    return rc;
}

static size_t half_doubles(const struct st_hpcg_level *l)
{
    const size_t n_chunks = (l->n_rows + STK_LU_LANES - 1) / STK_LU_LANES;

    return n_chunks * sizeof(struct stk_lu_chunk) / sizeof(double);
}

/* What the second section reads: the values of CSR, or one half, on the finest level. */
static double read_matrix(const struct hpcg_state *s)
{
    const struct st_hpcg_level *l = &s->h->level[0];

    return s->h->storage == ST_HPCG_CSR
               ? st_read_csr(&l->csr)
               : st_read_array(&l->lu.lower.chunks->values[0][0], half_doubles(l));
}

static double matrix_bytes(const struct hpcg_state *s)
{
    const struct st_hpcg_level *l = &s->h->level[0];

    return s->h->storage == ST_HPCG_CSR ? st_read_csr_bytes(&l->csr)
                                        : 8.0 * (double)half_doubles(l);
}

static enum st_status hpcg_prepare(struct st_run *run, void *state)
{
    const struct hpcg_params *p = run->params;
    struct hpcg_state *s = state;

    s->grid = grid_of(p, (size_t)run->comm.n_ranks);
    s->n_iterations = p->iterations;
    enum st_status rc = make(run, s, ST_HPCG_CSR);
    if (rc == ST_OK && p->mode != ST_HPCG_CSR) {
        rc = find_iterations(run, s);
    }
    if (rc == ST_OK && p->mode != ST_HPCG_STENCIL) {
        st_set_work(run, M_READ_BANDWIDTH, matrix_bytes(s));
    }
    if (rc == ST_OK) {
        s->set_flops = st_hpcg_flops_of(&s->grid, s->n_iterations).total;
        st_set_work(run, M_RATE, s->set_flops / run->comm.n_ranks);
    }
    return rc;
}

static void record_parts(struct st_run *run, const struct hpcg_state *s, double elapsed_s)
{
    static const struct {
        enum st_hpcg_part part;
        size_t time, bandwidth;
    } rows[] = {{ST_HPCG_SPMV, M_SPMV_TIME, M_SPMV_BANDWIDTH},
                {ST_HPCG_SYMGS, M_SYMGS_TIME, M_SYMGS_BANDWIDTH},
                {ST_HPCG_RESTRICT, M_RESTRICT_TIME, M_RESTRICT_BANDWIDTH},
                {ST_HPCG_PROLONG, M_PROLONG_TIME, M_PROLONG_BANDWIDTH},
                {ST_HPCG_WAXPBY, M_WAXPBY_TIME, M_WAXPBY_BANDWIDTH},
                {ST_HPCG_DOT, M_DOT_TIME, M_DOT_BANDWIDTH}};
    const struct hpcg_params *p = run->params;
    const double n_sets = (double)run->n_inner;

    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const double seconds = s->h->seconds[rows[i].part];
        st_record(run->rec, rows[i].time, 0, seconds / n_sets);
        st_record(run->rec, rows[i].bandwidth, 0,
                  s->h->bytes[rows[i].part] * run->comm.n_ranks / seconds);
    }
    st_record(run->rec, M_RATING, 0,
              st_hpcg_rating(&s->grid, p->iterations, s->n_iterations, n_sets, elapsed_s,
                             s->setup_s));
    st_record(run->rec, M_SETUP, 0, s->setup_s);
    st_record(run->rec, M_ITERATIONS, 0, (double)s->outcome.n_iterations);
    st_record(run->rec, M_RESIDUAL, 0, s->outcome.residual);
}

/* Read part of the matrix as STREAM's sum does, and set what the last set moved against it. */
static void run_reads(struct st_run *run, struct hpcg_state *s)
{
    const double start_s = st_now();

    for (size_t k = 0; k < run->n_inner; k++) {
        s->checksum += read_matrix(s);
    }
    const double bandwidth =
        matrix_bytes(s) * (double)run->n_inner / (st_now() - start_s);
    double bytes = 0.0;
    for (size_t i = 0; i < ST_HPCG_PARTS; i++) {
        bytes += s->h->bytes[i];
    }
    if (run->comm.rank == 0) {
        const double *part_s = s->h->seconds;
        const double *part_bytes = s->h->bytes;
        st_record(run->rec, M_SPMV_SHARE, 0,
                  part_bytes[ST_HPCG_SPMV] / part_s[ST_HPCG_SPMV] / bandwidth);
        st_record(run->rec, M_SYMGS_SHARE, 0,
                  part_bytes[ST_HPCG_SYMGS] / part_s[ST_HPCG_SYMGS] / bandwidth);
        /* Flops of all ranks over bytes of one: times the bandwidth of one. */
        st_record(run->rec, M_RATE_BOUND, 0,
                  s->set_flops * s->n_counted / bytes * bandwidth);
    }
}

static enum st_status run_sets(struct st_run *run, struct hpcg_state *s)
{
    const struct st_hpcg_options options = options_of(s, s->n_iterations, 0.0);
    const size_t rank = (size_t)run->comm.rank;
    const double start_s = st_now();
    struct st_pop pop = {0};
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < ST_HPCG_PARTS; i++) {
        s->h->seconds[i] = 0.0;
        s->h->bytes[i] = 0.0;
    }
    for (size_t k = 0; k < run->n_inner && rc == ST_OK; k++) {
        rc = st_hpcg_solve(s->h, &options, &s->outcome, &run->err);
        const double residual = s->outcome.residual;
        s->least = s->n_sets == 0 || residual < s->least ? residual : s->least;
        s->most = s->n_sets == 0 || residual > s->most ? residual : s->most;
        s->n_sets++;
    }
    s->n_counted = (double)run->n_inner;
    const struct st_split split = {.elapsed_s = st_now() - start_s,
                                   .halo_s = s->h->seconds[ST_HPCG_HALO],
                                   .reduction_s = s->h->seconds[ST_HPCG_REDUCE]};
    st_record(run->rec, M_COMPUTE, rank, st_split_share(&split, st_split_useful(&split)));
    st_record(run->rec, M_HALO, rank, st_split_share(&split, split.halo_s));
    st_record(run->rec, M_REDUCE, rank, st_split_share(&split, split.reduction_s));
    if (rc == ST_OK) {
        rc = st_split_pop(&run->comm, &split, &pop, &run->err);
    }
    if (rank == 0) {
        record_parts(run, s, split.elapsed_s);
        st_record(run->rec, M_LOAD_BALANCE, 0, pop.load_balance);
        st_record(run->rec, M_COMMUNICATION, 0, pop.communication_efficiency);
        st_record(run->rec, M_PARALLEL, 0, pop.parallel_efficiency);
    }
    return rc;
}

static enum st_status hpcg_run(struct st_run *run, void *state)
{
    if (run->section == HPCG_READ) {
        run_reads(run, state);
        return ST_OK;
    }
    return run_sets(run, state);
}

/* What every set must have reached, and its solution against the equation itself. */
static enum st_status verify_sets(struct st_run *run, const struct hpcg_state *s,
                                  struct st_check *check)
{
    const struct hpcg_params *p = run->params;
    double residual = (double)NAN;
    const enum st_status rc = st_hpcg_true_residual(s->h, &residual, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    /* The recurrence may fall below what b - A x can show; 1e-10 is far above either's noise. */
    check->limit = 1e-10;
    st_check_near(check, residual, s->outcome.residual,
                  "true residual ||b - A x|| / ||b|| against the recurrence's");
    st_check_true(
        check,
        s->outcome.n_iterations == s->n_iterations &&
            (p->mode == ST_HPCG_CSR || s->most <= s->reference_residual * (1.0 + 1e-6)),
        "the sets reach the reference's residual within 500 iterations");
    if (p->reductions == HPCG_ORDERED) {
        check->limit = 0.0;
        st_check_near(check, s->most, s->least,
                      "residual differs between sets (reductions: unordered allows it)");
    } else {
        /* (most - least)^2 / 4 bounds the variance (Popoviciu). */
        check->limit = 1e-6;
        st_check_near(check, 0.25 * (s->most - s->least) * (s->most - s->least), 0.0,
                      "variance of the residual over the sets");
    }
    return ST_OK;
}

static enum st_status hpcg_verify(struct st_run *run, void *state, struct st_check *check)
{
    const struct hpcg_state *s = state;
    struct st_hpcg_validity found = {0};
    char what[128];
    enum st_status rc = verify_sets(run, s, check);

    if (rc == ST_OK) {
        rc = st_hpcg_validate(s->h, &found, &run->err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    (void)snprintf(what, sizeof what,
                   "CG test: %" PRIu64 " iterations without preconditioner, at most 12",
                   found.plain_iterations);
    st_check_true(check, found.plain_iterations <= 12, what);
    (void)snprintf(what, sizeof what,
                   "CG test: %" PRIu64 " iterations with preconditioner, at most 2",
                   found.preconditioned_iterations);
    st_check_true(check, found.preconditioned_iterations <= 2, what);
    check->limit = 100.0;
    st_check_near(check, found.spmv_asymmetry, 0.0,
                  "asymmetry of the product, in 52 ||x|| ||y|| eps");
    st_check_near(check, found.mg_asymmetry, 0.0,
                  "asymmetry of the multigrid cycle, in 52 ||x|| ||y|| eps");
    return ST_OK;
}

static void hpcg_release(void *state)
{
    struct hpcg_state *s = state;

    st_hpcg_destroy(&s->h);
}

static void hpcg_spoil(void *state)
{
    struct hpcg_state *s = state;

    s->h->x[0] += 1.0;
}

const struct st_bench st_bench_hpcg = {
    .name = "hpcg",
    .summary =
        "conjugate gradients with a multigrid cycle on HPCG's problem, by its rules",
    .source =
        "Dongarra, Heroux, Luszczek, HPCG 3.1, Int. J. High Perf. Comput. Appl. 30, 2016",
    ST_TABLES(params, metrics),
    ST_SIZES(struct hpcg_params, struct hpcg_state),
    .scaling_param = "scope",
    .applies = hpcg_applies,
    ST_STAGES(hpcg),
};
