/*
 * stream_threads: bandwidth against the number of working threads, and where it stops rising
 * (METHODS 1.4 "thread sweeps", 8.6). The curve of one layout: which cores join in which order
 * is the layout's `fill`.
 *
 * A thread keeps its slice whatever the number of working threads, and all of them stay in the
 * team: pages stay local to who works on them, no thread is started anew (which would lose its
 * binding), and what grows with the number is the data, not only the hands. The whole curve is
 * measured in each repetition, so its points are taken under like conditions and given to the
 * harness; the fit is made per repetition, so that the saturation point has an interval.
 *
 * The loops write a alone, and a = b + s c, so any order of loops leaves all values as they
 * are; verify() wipes a and makes it anew.
 */
#include "kernels/stream.h"
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_array_size.h"
#include "src/benchmarks/part_memory.h"
#include "src/benchmarks/part_numa_cells.h"
#include "src/measure/run.h"
#include "src/stats/knee.h"

#include <float.h>
#include <math.h>

enum {
    S_SUM,
    S_TRIAD,
    N_SECTIONS,
    /* of section s: row 3 s the curve, 3 s + 1 the saturation point, 3 s + 2 the plateau */
    ROWS = 3,
    M_PLACED = ROWS * N_SECTIONS,
    N_ARRAYS = 3
};

static const double stream_threads_b = 0.2, stream_threads_c = 0.14; /* as in stream */
static const double stream_threads_s = 0.4;                          /* BabelStream */
static const double stream_threads_share = 0.99;                     /* METHODS 1.3 */

struct stream_threads_params {
    uint64_t size, memory_node;
    uint32_t kernels, memory, pages;
};

struct stream_threads_state {
    const struct stk_stream_isa *isa;
    size_t n; /* elements of an array */
    struct st_mapping map[N_ARRAYS];
    double *array[STK_N_ARRAYS];
    struct st_memory_aim aim;
    size_t *slot; /* [n_threads] */
    size_t n_counts;
    size_t counts[ST_MAX_COUNTS];
    size_t first_place; /* of this rank's points */
    double sum;         /* keeps the sums alive */
};

static const char *const stream_threads_kernels[] = {"sum", "triad", NULL};
static const char *const stream_threads_pages[] = {"default", "small", "huge", NULL};
static const enum stk_stream_kernel stream_threads_kernel[N_SECTIONS] = {STK_SUM,
                                                                         STK_TRIAD};

static const struct st_param params[] = {
    ST_PARAM_BYTES_AUTO(stream_threads_params, size, "auto", 1024, 0x1p50,
                        "one array of one rank; auto: 4 x the caches of its threads, "
                        "at least 256 MiB"),
    ST_PARAM_SET(stream_threads_params, kernels, stream_threads_kernels, "sum triad",
                 "loops to measure"),
    ST_PARAM_CHOICE(stream_threads_params, memory, st_memory_choices, "local",
                    "NUMA nodes of the arrays: local to each thread, those of the next "
                    "socket (remote), interleaved over all, or a node"),
    ST_PARAM_COUNT(stream_threads_params, memory_node, "0", 0, ST_MAX_NUMA - 1,
                   "which NUMA node, with memory: node; counted as hwloc does"),
    ST_PARAM_CHOICE(stream_threads_params, pages, stream_threads_pages, "default",
                    "small: 4 KiB; huge: 2 MiB, where the system gives them"),
};

static const struct st_metric metrics[] = {
    {"sum", "byte s-1", ST_HIGHER, ST_POINT, ST_GIVEN, S_SUM,
     "reading by so many threads"},
    {"sum_saturation", "1", ST_NEITHER, ST_RANK, ST_GIVEN, S_SUM,
     "threads at which that stops rising (hinge fit); all: it rises to the end"},
    {"sum_plateau", "byte s-1", ST_HIGHER, ST_RANK, ST_GIVEN, S_SUM,
     "the rate from there on (hinge fit)"},
    {"triad", "byte s-1", ST_HIGHER, ST_POINT, ST_GIVEN, S_TRIAD,
     "a = b + s c by so many threads, bytes as STREAM counts them"},
    {"triad_saturation", "1", ST_NEITHER, ST_RANK, ST_GIVEN, S_TRIAD,
     "threads at which that stops rising (hinge fit); all: it rises to the end"},
    {"triad_plateau", "byte s-1", ST_HIGHER, ST_RANK, ST_GIVEN, S_TRIAD,
     "the rate from there on (hinge fit)"},
    [M_PLACED] = {"pages_placed", "1", ST_HIGHER, ST_RANK, ST_GIVEN, N_SECTIONS,
                  "share of sampled pages on the NUMA nodes that `memory` wants; -1: "
                  "unknown"},
};

static bool stream_threads_applies(const void *parameters, size_t row)
{
    const struct stream_threads_params *p = parameters;

    return row == M_PLACED || (p->kernels & (1U << metrics[row].section)) != 0;
}

/* Bytes of one array of a rank. A thread's slice is its share of 4 x all caches: as much more
 * than its share of these, also when it works alone. */
static uint64_t stream_threads_bytes(const struct stream_threads_params *p,
                                     uint64_t llc_bytes, uint64_t memory_bytes,
                                     size_t n_threads)
{
    return p->size != ST_AUTO
               ? p->size
               : st_array_auto_bytes(llc_bytes, memory_bytes, n_threads, N_ARRAYS);
}

static enum st_status stream_threads_plan(const void *parameters,
                                          const struct st_shape *shape,
                                          struct st_need *need, struct st_error *err)
{
    const struct stream_threads_params *p = parameters;
    const size_t n_ranks = shape->max_ranks_per_node > 0 ? shape->max_ranks_per_node : 1;

    if (p->kernels == 0) {
        return st_fail(err, ST_ERR_CONFIG,
                       "stream_threads: name at least one of sum, triad in 'kernels'");
    }
    const enum st_status rc = st_memory_possible((enum st_memory_choice)p->memory,
                                                 (size_t)p->memory_node, shape, err);
    if (rc != ST_OK) {
        return rc;
    }
    const uint64_t array = stream_threads_bytes(
        p, shape->llc_bytes, shape->memory_bytes / n_ranks, shape->max_threads);
    need->bytes_per_rank = N_ARRAYS * (array + st_array_grain_bytes);
    /* The points 1, 2, 4, … add up to less than three full passes; 2 GB/s as in stream. */
    need->seconds_per_repetition = 3.0 * (8.0 + 32.0) * (double)(array / 8) / 2e9;
    return ST_OK;
}

/* All ranks' curves as one list: each rank's number of threads may differ. Collective. */
static enum st_status stream_threads_set_places(struct st_run *run,
                                                struct stream_threads_state *s)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    uint64_t mine = run->place->n_threads;
    uint64_t *all = st_calloc(&run->err, n_ranks, sizeof *all);
    struct st_place *places = NULL;
    size_t n = 0;
    size_t counts[ST_MAX_COUNTS];
    enum st_status rc =
        stm_agree(&run->comm, all != NULL ? ST_OK : ST_ERR_MEMORY, &run->err);

    if (rc != ST_OK) {
        st_free(all);
        return rc;
    }
    STM_TRY(&run->err, MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T,
                                     run->comm.handle));
    for (size_t r = 0; r < n_ranks; r++) {
        if (r == (size_t)run->comm.rank) {
            s->first_place = n;
        }
        n += st_thread_counts((size_t)all[r], counts);
    }
    places = st_calloc(&run->err, n, sizeof *places);
    size_t at = 0;
    for (size_t r = 0; places != NULL && r < n_ranks; r++) {
        const size_t n_points = st_thread_counts((size_t)all[r], counts);
        for (size_t k = 0; k < n_points; k++) {
            places[at++] = (struct st_place){.owner = r, .value = (double)counts[k]};
        }
    }
    rc = places != NULL ? st_set_places(run, ST_POINT, n, places) : ST_ERR_MEMORY;
    st_free(places);
    st_free(all);
    return rc;
}

static enum st_status stream_threads_touch(struct st_run *run,
                                           struct stream_threads_state *s)
{
    const struct stream_threads_params *p = run->params;
    const double start[N_ARRAYS] = {stream_threads_b +
                                        stream_threads_s * stream_threads_c,
                                    stream_threads_b, stream_threads_c};
    size_t bytes = 0;

    if (!st_mul_size(s->n, sizeof(double), &bytes) ||
        !st_add_size(bytes, N_ARRAYS * (1024 + 64), &bytes)) {
        return st_fail(&run->err, ST_ERR_MEMORY, "stream_threads: %zu elements", s->n);
    }
    for (size_t k = 0; k < N_ARRAYS; k++) {
        enum st_status rc =
            st_pages_map(&run->err, bytes, (enum st_pages)p->pages, &s->map[k]);
        if (rc == ST_OK) {
            /* Staggered against store-to-load aliasing (METHODS 1.1), 64-byte aligned. */
            char *base = (char *)s->map[k].base + k * (1024 + 64);
            s->array[k] = (double *)(void *)base;
            rc = st_memory_aim_put(&s->aim, s->array[k], s->n, &run->err);
        }
        if (rc != ST_OK) {
            return rc;
        }
        stk_stream_fill(s->n, s->array[k], start[k]);
    }
    return ST_OK;
}

static enum st_status stream_threads_prepare(struct st_run *run, void *state)
{
    const struct stream_threads_params *p = run->params;
    struct stream_threads_state *s = state;
    const size_t n_threads = run->place->n_threads;

    enum st_status rc = stream_threads_set_places(run, s);
    rc = rc == ST_ERR_MPI ? rc : stm_agree(&run->comm, rc, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    s->isa = stk_stream_widest();
    s->n_counts = st_thread_counts(n_threads, s->counts);
    s->slot = st_calloc(&run->err, n_threads, sizeof *s->slot);
    if (s->slot == NULL) {
        return ST_ERR_MEMORY;
    }
    rc = st_memory_aim_create(&s->aim, (enum st_memory_choice)p->memory,
                              (size_t)p->memory_node, run->place, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    const uint64_t most = st_memory_capacity(&s->aim);
    const uint64_t have = run->place->memory_bytes;
    s->n = (size_t)(stream_threads_bytes(p, run->place->llc_bytes,
                                         most < have ? most : have, n_threads) /
                    sizeof(double));
    return stream_threads_touch(run, s);
}

/* Elements that the first threads of the team have. */
static size_t stream_threads_elements(const struct st_run *run,
                                      const struct stream_threads_state *s, size_t count)
{
    size_t first = 0;
    size_t last = 0;

    stk_slice(s->n, count - 1, run->place->n_threads, &first, &last);
    return last;
}

static double stream_threads_rate(struct st_run *run, struct stream_threads_state *s,
                                  enum stk_stream_kernel kernel, size_t count)
{
    const size_t n_threads = run->place->n_threads;
    const struct stk_team team = {n_threads, n_threads, s->slot};

    for (size_t t = 0; t < n_threads; t++) {
        s->slot[t] = t < count ? t : STK_IDLE;
    }
    const double start = st_now();
    for (size_t k = 0; k < run->n_inner; k++) {
        s->sum +=
            stk_stream_team(s->isa, kernel, &team, s->n, s->array, stream_threads_s);
    }
    return stk_work_bytes(stk_stream_work(kernel),
                          stream_threads_elements(run, s, count)) *
           (double)run->n_inner / (st_now() - start);
}

static enum st_status stream_threads_run(struct st_run *run, void *state)
{
    struct stream_threads_state *s = state;
    const size_t rank = (size_t)run->comm.rank;
    const size_t row = ROWS * run->section;
    double x[ST_MAX_COUNTS];
    double y[ST_MAX_COUNTS];
    struct st_knee knee = {.at = (double)NAN, .plateau = (double)NAN};

    if (run->section == N_SECTIONS) {
        st_record(run->rec, M_PLACED, rank,
                  st_memory_aim_share(&s->aim, N_ARRAYS, s->array, s->n));
        return ST_OK;
    }
    for (size_t k = 0; k < s->n_counts; k++) {
        x[k] = (double)s->counts[k];
        y[k] = stream_threads_rate(run, s, stream_threads_kernel[run->section],
                                   s->counts[k]);
        st_record(run->rec, row, s->first_place + k, y[k]);
    }
    (void)st_knee_fit(s->n_counts, x, y, &knee); /* else NaN: no valid sample */
    st_record(run->rec, row + 1, rank, knee.at);
    st_record(run->rec, row + 2, rank, knee.plateau);
    return ST_OK;
}

static enum st_status stream_threads_verify(struct st_run *run, void *state,
                                            struct st_check *check)
{
    struct stream_threads_state *s = state;
    const size_t n_threads = run->place->n_threads;
    const double want = stream_threads_b + stream_threads_s * stream_threads_c;
    const double n = (double)s->n;
    const double placed = st_memory_aim_share(&s->aim, N_ARRAYS, s->array, s->n);

    /* A number of passes left over from run() would only repeat the sum. */
    stk_stream_fill(s->n, s->array[STK_A], -1.0);
    run->n_inner = 1;
    (void)stream_threads_rate(run, s, STK_TRIAD, n_threads);
    check->limit = 4.0 * DBL_EPSILON; /* two roundings of values below 1 */
    const struct stk_deviation d =
        stk_stream_compare(s->n, s->array[STK_A], want, check->limit);
    st_check_near(check, d.n_bad > 0 ? s->array[STK_A][d.first_bad] : want, want,
                  "element of a after a triad");
    check->n_checked += s->n;
    check->n_bad += d.n_bad > 0 ? d.n_bad - 1 : 0;
    /* At least 16 partial sums, each of n / 16 roundings (Higham 4.2), then their sum. */
    check->limit = n * (n / 16 + 1000) * DBL_EPSILON * want;
    s->sum = 0.0;
    (void)stream_threads_rate(run, s, STK_SUM, n_threads);
    st_check_near(check, s->sum, n * want, "sum of a");
    if (placed >= 0.0) {
        st_check_true(check, placed >= stream_threads_share,
                      "pages on the NUMA nodes that `memory` wants: fewer than 99 %");
    } else if (run->place->n_numa != 1) {
        st_doubt(run, "the system does not tell on which NUMA nodes the arrays are");
    }
    return ST_OK;
}

static void stream_threads_release(void *state)
{
    struct stream_threads_state *s = state;

    for (size_t k = 0; k < N_ARRAYS; k++) {
        st_pages_unmap(&s->map[k]);
    }
    st_memory_aim_clear(&s->aim);
    st_free(s->slot);
}

static void stream_threads_spoil(void *state)
{
    struct stream_threads_state *s = state;

    s->array[STK_B][s->n / 2] *= 1.001;
}

const struct st_bench st_bench_stream_threads = {
    .name = "stream_threads",
    .summary = "Memory bandwidth against the number of threads, and where it saturates.",
    .source = "J. D. McCalpin, IEEE TCCA Newsletter, Dec 1995; hinge fit of the curve",
    ST_TABLES(params, metrics),
    .point_name = "threads",
    .point_unit = "1",
    ST_SIZES(struct stream_threads_params, struct stream_threads_state),
    .applies = stream_threads_applies,
    ST_STAGES(stream_threads),
};
