/*
 * loaded_latency: how long a load takes while the other cores keep the memory busy (METHODS
 * 2.4, after Intel's Memory Latency Checker). Thread 0 of each rank follows a pointer chase;
 * the others stream, with a delay after every 64 lines that sets the load. Each delay of the
 * list gives one point (bandwidth, latency).
 *
 * All points of a repetition are taken in one parallel region. Thread 0 gives the delay as a
 * command; the others read it between pieces of 16 blocks, which last some 100 us even at the
 * longest delay, and count their blocks where thread 0 can read them. So the bandwidth is that
 * of the very time in which the chase was timed; it includes the chase's own lines.
 */
#include "kernels/load.h"
#include "mpi/comm.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/benchmarks/part_chase.h"
#include "src/benchmarks/part_memory.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define MIB ((uint64_t)1 << 20)

/* METHODS 2.4: the delays of the Memory Latency Checker, in cycles */
static const long loaded_delays[] = {0,    2,    8,    15,   50,   100,  200,
                                     300,  400,  500,  700,  1000, 1300, 1700,
                                     2500, 3500, 5000, 9000, 20000};
enum {
    LOADED_N_DELAYS = ST_COUNT(loaded_delays),
    LOADED_PIECE = 16, /* blocks between two looks at the command */
    LOADED_IDLE = -1,  /* commands that are no delay */
    LOADED_END = -2
};

enum {
    M_LATENCY,
    M_BANDWIDTH,
    M_IDLE,
    M_MAX_BANDWIDTH,
    M_AT_HALF,
    M_AT_80,
    M_AT_MAX,
    M_LINES,
    M_RISE,
    M_LIGHT,
    M_PAGES_LOCAL,
    M_PAGES_HUGE
};

static const double loaded_memory_share = 0.3; /* each of the two memories; METHODS 1.2 */
static const uint64_t loaded_floor_bytes = 256 * MIB; /* METHODS 1.2 */
static const uint64_t loaded_grain_bytes = 2 * MIB;
static const double loaded_local_share = 0.99; /* METHODS 1.3 */
static const double loaded_huge_share = 0.95;  /* METHODS 2.2 */
static const double loaded_line_bytes = 64.0;

struct loaded_params {
    uint64_t size, chase, accesses;
    double settle;
    uint32_t kernel, pages;
};

/* One load thread; cache lines of its own, so that counting disturbs nobody. */
struct loaded_thread {
    _Alignas(64) struct stk_load load;
    atomic_uint_fast64_t n_blocks;
};

struct loaded_state {
    size_t n; /* elements of the streamed memory, all threads' slices */
    struct st_mapping map;
    double *data;
    size_t n_threads;
    struct loaded_thread *threads; /* [n_threads]; that of thread 0 is not used */
    struct st_chase_set chase;
    struct st_memory_aim aim;
    double huge;
    atomic_long command;
};

static const char *const loaded_kernels[] = {"sum", "update", "nontemporal", NULL};
static const char *const loaded_pages[] = {"small", "huge", NULL};

static const struct st_param params[] = {
    ST_PARAM_CHOICE(loaded_params, kernel, loaded_kernels, "sum",
                    "the load: reads; reads and writes 1:1; writes past the caches"),
    ST_PARAM_BYTES_AUTO(
        loaded_params, size, "auto", 65536, 0x1p48,
        "streamed memory of a rank; auto: 4 x the caches, at least 256 MiB"),
    ST_PARAM_BYTES_AUTO(loaded_params, chase, "auto", 4096, 0x1p38,
                        "memory of the chase; auto: likewise"),
    ST_PARAM_COUNT(loaded_params, accesses, "131072", 16, 1e12,
                   "timed loads of the chase per delay and repetition"),
    ST_PARAM_REAL(loaded_params, settle, "s", "0.1s", 0.0, 10.0,
                  "time from a change of the load to the chase"),
    ST_PARAM_CHOICE(
        loaded_params, pages, loaded_pages, "huge",
        "small: 4 KiB; huge: 2 MiB, a failure if the system does not give them"),
};

#define LOADED_RANK(name, unit, better, help)                                            \
    {                                                                                    \
        name, unit, better, ST_RANK, ST_GIVEN, 0, help                                   \
    }

static const struct st_metric metrics[] = {
    [M_LATENCY] = {"latency", "s", ST_LOWER, ST_POINT, ST_GIVEN, 0,
                   "time of one load of the chase at this delay of the streams"},
    [M_BANDWIDTH] = {"bandwidth", "byte s-1", ST_HIGHER, ST_POINT, ST_GIVEN, 0,
                     "moved bytes of streams and chase at this delay"},
    [M_IDLE] =
        LOADED_RANK("idle_latency", "s", ST_LOWER, "time of one load without streams"),
    [M_MAX_BANDWIDTH] = LOADED_RANK("max_bandwidth", "byte s-1", ST_HIGHER,
                                    "largest bandwidth of all delays"),
    [M_AT_HALF] = LOADED_RANK("latency_at_50", "s", ST_LOWER,
                              "latency at half of the largest bandwidth"),
    [M_AT_80] = LOADED_RANK("latency_at_80", "s", ST_LOWER,
                            "latency at 80 % of the largest bandwidth"),
    [M_AT_MAX] =
        LOADED_RANK("latency_at_max", "s", ST_LOWER, "latency at the largest bandwidth"),
    [M_LINES] =
        LOADED_RANK("lines_in_flight", "1", ST_NEITHER,
                    "lines of 64 B on their way at the largest bandwidth (Little)"),
    [M_RISE] = LOADED_RANK("rise", "1", ST_HIGHER,
                           "rank correlation of latency and bandwidth; sound from 0.9"),
    [M_LIGHT] = LOADED_RANK("lightest_over_idle", "1", ST_NEITHER,
                            "latency at the longest delay over idle; sound up to 1.1"),
    [M_PAGES_LOCAL] = LOADED_RANK(
        "pages_local", "1", ST_HIGHER,
        "share of sampled pages on the NUMA node of their thread; -1: unknown"),
    [M_PAGES_HUGE] = LOADED_RANK("pages_huge", "1", ST_HIGHER,
                                 "smaller share in 2 MiB pages of both memories; -1: "
                                 "unknown"),
};

static bool loaded_applies(const void *parameters, size_t row)
{
    const struct loaded_params *p = parameters;

    return row != M_PAGES_HUGE || p->pages == 1;
}

static enum st_pages loaded_page_mode(const struct loaded_params *p)
{
    return p->pages == 1 ? ST_PAGES_HUGE : ST_PAGES_SMALL;
}

/* Bytes for `auto`, whole huge pages; @p memory_bytes of a rank, 0: unknown */
static uint64_t loaded_auto_bytes(uint64_t llc_bytes, uint64_t memory_bytes)
{
    const uint64_t rule = llc_bytes > UINT64_MAX / 8 ? UINT64_MAX / 2 : 4 * llc_bytes;
    const uint64_t want = rule > loaded_floor_bytes ? rule : loaded_floor_bytes;
    const uint64_t most = memory_bytes == 0
                              ? UINT64_MAX / 2
                              : (uint64_t)(loaded_memory_share * (double)memory_bytes);
    const uint64_t bytes = want < most ? want : most;

    return bytes / loaded_grain_bytes * loaded_grain_bytes;
}

static uint64_t loaded_size(const struct loaded_params *p, uint64_t automatic,
                            size_t n_threads)
{
    const uint64_t least = (uint64_t)n_threads * STK_LOAD_BLOCK_BYTES;
    const uint64_t bytes = p->size == ST_AUTO ? automatic : p->size;

    return bytes > least ? bytes : least;
}

static struct st_chase_wish loaded_wish(const struct loaded_params *p,
                                        const uint64_t *bytes)
{
    return (struct st_chase_wish){.n_sizes = 1,
                                  .sizes = bytes,
                                  .stride = 128, /* METHODS 2.1 */
                                  .order = ST_CHASE_RANDOM,
                                  .pages = loaded_page_mode(p),
                                  .os_node = -1};
}

static enum st_status loaded_latency_plan(const void *parameters,
                                          const struct st_shape *shape,
                                          struct st_need *need, struct st_error *err)
{
    const struct loaded_params *p = parameters;
    const uint64_t n_ranks =
        shape->max_ranks_per_node > 0 ? shape->max_ranks_per_node : 1;
    const uint64_t automatic =
        loaded_auto_bytes(shape->llc_bytes, shape->memory_bytes / n_ranks);
    const uint64_t chase = p->chase == ST_AUTO ? automatic : p->chase;
    const struct st_chase_wish wish = loaded_wish(p, &chase);
    char text[48];

    if (shape->max_threads < 2) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "loaded_latency: one thread per rank leaves none to load the memory; "
            "take layout: {ranks_per_node: 1, threads: all-cores}");
    }
    if (!stk_load_possible(stk_stream_widest(), (enum stk_load_kind)p->kernel)) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "loaded_latency: no non-temporal stores on this kind of processor; "
            "use kernel: update");
    }
    if (chase < 4096) {
        return st_fail(
            err, ST_ERR_STEP, "loaded_latency: %s of memory per rank are too few",
            st_format_quantity(text, sizeof text, (double)(shape->memory_bytes / n_ranks),
                               "byte"));
    }
    need->bytes_per_rank = loaded_size(p, automatic, shape->max_threads) +
                           loaded_grain_bytes + st_chase_bytes(&wish) +
                           st_chase_extra_bytes(&wish);
    /* 1 us per load under full load: slower than any memory */
    need->seconds_per_repetition =
        (LOADED_N_DELAYS + 1) * (p->settle + 1e-6 * (double)p->accesses);
    return ST_OK;
}

static enum st_status loaded_set_points(struct st_run *run)
{
    const size_t n = (size_t)run->comm.n_ranks * LOADED_N_DELAYS;
    struct st_place *places = st_calloc(&run->err, n, sizeof *places);

    if (places == NULL) {
        return run->err.code;
    }
    for (size_t k = 0; k < n; k++) {
        places[k] =
            (struct st_place){.owner = k / LOADED_N_DELAYS,
                              .a = k / LOADED_N_DELAYS,
                              .b = k % LOADED_N_DELAYS,
                              .value = (double)loaded_delays[k % LOADED_N_DELAYS]};
    }
    const enum st_status rc = st_set_places(run, ST_POINT, n, places);
    st_free(places);
    return rc;
}

/* The streams' memory, touched by the threads that use it; nobody streams thread 0's slice. */
static enum st_status loaded_make_streams(struct st_run *run, struct loaded_state *s,
                                          uint64_t bytes)
{
    const struct loaded_params *p = run->params;

    s->n_threads = run->place->n_threads;
    s->n = (size_t)(bytes / sizeof(double));
    s->threads = st_calloc(&run->err, s->n_threads, sizeof *s->threads);
    if (s->threads == NULL) {
        return run->err.code;
    }
    const size_t mapped = p->pages == 1
                              ? (size_t)((bytes + loaded_grain_bytes - 1) /
                                         loaded_grain_bytes * loaded_grain_bytes)
                              : (size_t)bytes;
    enum st_status rc = st_pages_map(&run->err, mapped, loaded_page_mode(p), &s->map);
    if (rc != ST_OK) {
        return rc;
    }
    s->data = s->map.base;
    rc = st_memory_aim_create(&s->aim, ST_MEMORY_OF_THREAD, 0, run->place, &run->err);
    if (rc == ST_OK) {
        rc = st_memory_aim_put(&s->aim, s->data, s->n, &run->err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    stk_stream_fill(s->n, s->data, 1.0);
    for (size_t t = 0; t < s->n_threads; t++) {
        size_t first = 0;
        size_t last = 0;
        stk_slice(s->n, t, s->n_threads, &first, &last);
        s->threads[t].load = (struct stk_load){
            .isa = stk_stream_widest(),
            .kind = (enum stk_load_kind)p->kernel,
            .data = s->data + first,
            .n_blocks = (last - first) / STK_LOAD_BLOCK_ELEMENTS,
        };
    }
    return ST_OK;
}

static enum st_status loaded_latency_prepare(struct st_run *run, void *state)
{
    const struct loaded_params *p = run->params;
    const struct st_place_info *place = run->place;
    struct loaded_state *s = state;
    const uint64_t automatic = loaded_auto_bytes(place->llc_bytes, place->memory_bytes);
    const uint64_t chase = p->chase == ST_AUTO ? automatic : p->chase;
    const struct st_chase_wish wish = loaded_wish(p, &chase);

    if (place->n_threads < 2) {
        return st_fail(&run->err, ST_ERR_UNSUPPORTED,
                       "loaded_latency: a rank with one thread cannot load the memory");
    }
    enum st_status rc = loaded_set_points(run);
    if (rc == ST_OK) {
        rc = st_chase_create(&wish, 1, &s->chase, &run->err);
    }
    if (rc == ST_OK) {
        rc = loaded_make_streams(run, s, loaded_size(p, automatic, place->n_threads));
    }
    if (rc == ST_OK && p->pages == 1) {
        s->huge = st_pages_huge_fraction(&s->map);
        s->huge = s->chase.huge < s->huge ? s->chase.huge : s->huge;
    }
    return rc;
}

/* ---- one repetition ---- */

static void loaded_sleep(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};

    (void)nanosleep(&left, NULL);
}

/* A load thread: obey until the end. Idle threads sleep, so that idle means idle. */
static void loaded_stream(struct loaded_state *s, struct loaded_thread *mine)
{
    for (;;) {
        const long command = atomic_load_explicit(&s->command, memory_order_acquire);
        if (command == LOADED_END) {
            return;
        }
        if (command == LOADED_IDLE) {
            loaded_sleep(50e-6);
            continue;
        }
        stk_load_run(&mine->load, LOADED_PIECE, (size_t)command);
        atomic_fetch_add_explicit(&mine->n_blocks, LOADED_PIECE, memory_order_relaxed);
    }
}

static double loaded_n_blocks(struct loaded_state *s)
{
    uint64_t sum = 0;

    for (size_t t = 1; t < s->n_threads; t++) {
        sum += atomic_load_explicit(&s->threads[t].n_blocks, memory_order_relaxed);
    }
    return (double)sum;
}

/* Points of one repetition; element LOADED_N_DELAYS is idle. */
struct loaded_curve {
    double bandwidth[LOADED_N_DELAYS + 1];
    double latency_s[LOADED_N_DELAYS + 1];
};

static void loaded_point(const struct st_run *run, struct loaded_state *s, long command,
                         double *bandwidth, double *latency_s)
{
    const struct loaded_params *p = run->params;
    const double block = stk_load_block_bytes((enum stk_load_kind)p->kernel);
    struct st_chase_cycle *cycle = &s->chase.cycles[0];

    atomic_store_explicit(&s->command, command, memory_order_release);
    loaded_sleep(p->settle);
    const uint64_t steps = cycle->n_steps;
    const double blocks = loaded_n_blocks(s);
    const double begin = st_now();
    *latency_s = st_chase_time(cycle, 1, 0, p->accesses * run->n_inner);
    const double seconds = st_now() - begin;
    const double bytes = (loaded_n_blocks(s) - blocks) * block +
                         (double)(cycle->n_steps - steps) * loaded_line_bytes;
    *bandwidth = bytes / seconds;
}

/* Thread 0: idle first, then from the heaviest load to the lightest. */
static void loaded_lead(const struct st_run *run, struct loaded_state *s,
                        struct loaded_curve *curve)
{
    loaded_point(run, s, LOADED_IDLE, &curve->bandwidth[LOADED_N_DELAYS],
                 &curve->latency_s[LOADED_N_DELAYS]);
    for (size_t k = 0; k < LOADED_N_DELAYS; k++) {
        loaded_point(run, s, loaded_delays[k], &curve->bandwidth[k],
                     &curve->latency_s[k]);
    }
    atomic_store_explicit(&s->command, LOADED_END, memory_order_release);
}

/* By ascending bandwidth; a handful of points. */
static void loaded_sort(struct loaded_curve *c)
{
    for (size_t i = 1; i <= LOADED_N_DELAYS; i++) {
        for (size_t k = i; k > 0 && c->bandwidth[k] < c->bandwidth[k - 1]; k--) {
            const double bandwidth = c->bandwidth[k];
            const double latency_s = c->latency_s[k];
            c->bandwidth[k] = c->bandwidth[k - 1];
            c->latency_s[k] = c->latency_s[k - 1];
            c->bandwidth[k - 1] = bandwidth;
            c->latency_s[k - 1] = latency_s;
        }
    }
}

static void loaded_record(struct st_run *run, const struct loaded_state *s,
                          struct loaded_curve *c)
{
    const size_t place = (size_t)run->comm.rank;
    const size_t n = LOADED_N_DELAYS + 1;
    const double idle_s = c->latency_s[LOADED_N_DELAYS];
    const double lightest_s = c->latency_s[LOADED_N_DELAYS - 1];

    for (size_t k = 0; k < LOADED_N_DELAYS; k++) {
        st_record(run->rec, M_LATENCY, place * LOADED_N_DELAYS + k, c->latency_s[k]);
        st_record(run->rec, M_BANDWIDTH, place * LOADED_N_DELAYS + k, c->bandwidth[k]);
    }
    loaded_sort(c);
    const double most = c->bandwidth[n - 1];
    const double at_most_s = c->latency_s[n - 1];
    st_record(run->rec, M_IDLE, place, idle_s);
    st_record(run->rec, M_MAX_BANDWIDTH, place, most);
    st_record(run->rec, M_AT_HALF, place,
              st_curve_at(n, c->bandwidth, c->latency_s, 0.5 * most));
    st_record(run->rec, M_AT_80, place,
              st_curve_at(n, c->bandwidth, c->latency_s, 0.8 * most));
    st_record(run->rec, M_AT_MAX, place, at_most_s);
    st_record(run->rec, M_LINES, place,
              stk_little_lines(most, loaded_line_bytes, at_most_s));
    /* Spearman against the order of rising bandwidth */
    st_record(run->rec, M_RISE, place, st_drift(n, c->latency_s));
    st_record(run->rec, M_LIGHT, place, lightest_s / idle_s);
    st_record(run->rec, M_PAGES_LOCAL, place,
              st_memory_aim_share(&s->aim, 1, &s->data, s->n));
}

static enum st_status loaded_latency_run(struct st_run *run, void *state)
{
    const struct loaded_params *p = run->params;
    struct loaded_state *s = state;
    struct loaded_curve curve = {{0.0}, {0.0}};
    int n_started = 0;

    atomic_store_explicit(&s->command, LOADED_IDLE, memory_order_release);
#pragma omp parallel default(none) shared(run, s, curve, n_started)
    {
        const size_t thread = (size_t)omp_get_thread_num();
#pragma omp single
        n_started = omp_get_num_threads();
        if (thread == 0) {
            loaded_lead(run, s, &curve);
        } else if (thread < s->n_threads) {
            loaded_stream(s, &s->threads[thread]);
        }
    }
    if ((size_t)n_started != s->n_threads) {
        return st_fail(&run->err, ST_ERR_STEP,
                       "loaded_latency: %d threads started, %zu were planned", n_started,
                       s->n_threads);
    }
    loaded_record(run, s, &curve);
    if (p->pages == 1) {
        st_record(run->rec, M_PAGES_HUGE, (size_t)run->comm.rank, s->huge);
    }
    return ST_OK;
}

static enum st_status loaded_latency_verify(struct st_run *run, void *state,
                                            struct st_check *check)
{
    const struct loaded_params *p = run->params;
    struct loaded_state *s = state;
    const enum stk_load_kind kind = (enum stk_load_kind)p->kernel;
    const double local = st_memory_aim_share(&s->aim, 1, &s->data, s->n);
    size_t n_wrong = 0;

    st_chase_verify(&s->chase, check);
    for (size_t i = 0; i < s->n; i++) {
        n_wrong += stk_load_value_good(kind, s->data[i]) ? 0 : 1;
    }
    st_check_true(check, n_wrong == 0, "a streamed element has a value of nobody");
    check->limit = 0.0; /* sums of ones are exact below 2^53 */
    for (size_t t = 1; t < s->n_threads; t++) {
        const double blocks = (double)atomic_load(&s->threads[t].n_blocks);
        st_check_true(check, blocks > 0.0, "a load thread did not stream at all");
        if (kind == STK_LOAD_SUM) {
            st_check_near(check, s->threads[t].load.sum, blocks * STK_LOAD_BLOCK_ELEMENTS,
                          "sum of a load thread");
        }
    }
    if (local >= 0.0) {
        st_check_true(check, local >= loaded_local_share,
                      "pages on the NUMA node of their thread: fewer than 99 %");
    } else if (run->place->n_numa != 1) {
        st_doubt(run, "the system does not tell on which NUMA nodes the memory is");
    }
    if (p->pages == 1) {
        st_check_true(check, s->huge >= loaded_huge_share,
                      "pages not huge: fewer than 95 % of the memory in 2 MiB pages, or "
                      "unknown");
    }
    return ST_OK;
}

static void loaded_latency_release(void *state)
{
    struct loaded_state *s = state;

    st_memory_aim_clear(&s->aim);
    st_pages_unmap(&s->map);
    st_chase_clear(&s->chase);
    st_free(s->threads);
    s->data = NULL;
    s->threads = NULL;
}

static void loaded_latency_spoil(void *state)
{
    struct loaded_state *s = state;

    s->data[s->n / 2] = 7.0;
}

const struct st_bench st_bench_loaded_latency = {
    .name = "loaded_latency",
    .summary = "Latency of memory while other cores load it, and the load's bandwidth.",
    .source = "V. Viswanathan et al., Intel Memory Latency Checker; METHODS 2.4",
    ST_TABLES(params, metrics),
    .point_name = "delay",
    .point_unit = "1",
    ST_SIZES(struct loaded_params, struct loaded_state),
    .applies = loaded_applies,
    ST_STAGES(loaded_latency),
};
