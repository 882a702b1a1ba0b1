/*
 * cache_bandwidth: what one core and all cores together move, by the working set of a core,
 * from the first-level cache to the memory (METHODS 1.1 kernels, sizes of 2.2). A curve of
 * sizes for each kernel, with one thread working and with all.
 *
 * A thread has memory of its own, touched by itself; a working set is the beginning of it,
 * cut into the arrays of the kernel, each set off by 1 KiB + 64 B against store-to-load
 * aliasing (METHODS 1.1). Small sets are passed over many times within one parallel region,
 * without a barrier in between, or the start of a region would be what is measured.
 *
 * All elements have one value v and the triad's factor is 0 while measuring, so that a = v
 * whatever the arrays of different sets overlap. verify() uses another factor.
 */
#include "kernels/stream.h"
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_array_size.h"
#include "src/benchmarks/part_chase.h"
#include "src/measure/run.h"

#include <omp.h>

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    K_LOAD,
    K_COPY,
    K_TRIAD,
    N_KERNELS,
    /* section and row k: kernel k on one core, N_KERNELS + k: on all */
    N_ROWS = 2 * N_KERNELS,
    STAGGER = 1024 + 64,
    MOST_ARRAYS = 3
};

static const double cache_bandwidth_value = 0.5;
static const uint64_t cache_bandwidth_first = 8 * 1024; /* below any L1 */
static const uint64_t cache_bandwidth_floor = (uint64_t)64 << 20;
static const uint64_t cache_bandwidth_work = (uint64_t)16
                                             << 20; /* bytes of a point: 0.2 ms
                                                                    at 80 GB/s */

struct cache_bandwidth_params {
    uint64_t max_size;
    uint32_t kernels, cores, stores, pages;
};

struct cache_bandwidth_state {
    const struct stk_stream_isa *isa;
    uint64_t max_bytes; /* largest working set */
    size_t n_sizes;
    uint64_t sizes[ST_SWEEP_MAX];
    size_t thread_bytes; /* a thread's memory: max_bytes and the offsets */
    struct st_mapping map;
    size_t first_place;
    double sum; /* keeps the loads alive */
};

static const char *const cache_bandwidth_kernels[] = {"load", "copy", "triad", NULL};
static const char *const cache_bandwidth_cores[] = {"one", "every", NULL};
static const char *const cache_bandwidth_stores[] = {"ordinary", "nontemporal", NULL};
static const char *const cache_bandwidth_pages[] = {"default", "small", "huge", NULL};
static const enum stk_stream_kernel cache_bandwidth_kernel[N_KERNELS] = {
    STK_SUM, STK_COPY, STK_TRIAD};
static const size_t cache_bandwidth_arrays[N_KERNELS] = {1, 2, 3};

static const struct st_param params[] = {
    ST_PARAM_BYTES_AUTO(
        cache_bandwidth_params, max_size, "auto", 16384, 0x1p46,
        "largest working set of a core; auto: 4 x its part of the caches, "
        "at least 64 MiB"),
    ST_PARAM_SET(cache_bandwidth_params, kernels, cache_bandwidth_kernels, "all",
                 "loops to measure"),
    ST_PARAM_SET(cache_bandwidth_params, cores, cache_bandwidth_cores, "all",
                 "one: the first thread of a rank alone; every: its threads together"),
    ST_PARAM_CHOICE(cache_bandwidth_params, stores, cache_bandwidth_stores, "ordinary",
                    "nontemporal: past the caches, where a kernel has such a form"),
    ST_PARAM_CHOICE(cache_bandwidth_params, pages, cache_bandwidth_pages, "huge",
                    "small: 4 KiB; huge: 2 MiB, where the system gives them"),
};

#define CACHE_ROW(k, name, text)                                                         \
    [k] = {name, "byte s-1", ST_HIGHER, ST_POINT, ST_GIVEN, (k), text}

static const struct st_metric metrics[] = {
    CACHE_ROW(K_LOAD, "core_load", "sum of a by one core"),
    CACHE_ROW(K_COPY, "core_copy", "c = a by one core, read + written"),
    CACHE_ROW(K_TRIAD, "core_triad", "a = b + s c by one core, read + written"),
    CACHE_ROW(N_KERNELS + K_LOAD, "all_load",
              "sum of a by all threads, each on a set of its own of this size"),
    CACHE_ROW(N_KERNELS + K_COPY, "all_copy", "c = a likewise"),
    CACHE_ROW(N_KERNELS + K_TRIAD, "all_triad", "a = b + s c likewise"),
};

static bool cache_bandwidth_applies(const void *parameters, size_t row)
{
    const struct cache_bandwidth_params *p = parameters;

    return (p->kernels & (1U << (row % N_KERNELS))) != 0 &&
           (p->cores & (row < N_KERNELS ? 1U : 2U)) != 0;
}

static uint64_t cache_bandwidth_bytes(const struct cache_bandwidth_params *p,
                                      uint64_t llc_bytes, uint64_t n_threads)
{
    const uint64_t rule =
        st_array_cache_rule(llc_bytes / (n_threads > 0 ? n_threads : 1));

    return p->max_size != ST_AUTO         ? p->max_size
           : rule > cache_bandwidth_floor ? rule
                                          : cache_bandwidth_floor;
}

static size_t cache_bandwidth_thread_bytes(uint64_t max_bytes)
{
    const uint64_t grain = st_array_grain_bytes;

    /* Whole huge pages, so that no page has two threads on it. */
    return (size_t)((max_bytes + MOST_ARRAYS * (STAGGER + 64) + grain - 1) / grain *
                    grain);
}

static enum st_status cache_bandwidth_plan(const void *parameters,
                                           const struct st_shape *shape,
                                           struct st_need *need, struct st_error *err)
{
    const struct cache_bandwidth_params *p = parameters;
    const uint64_t n_threads =
        (uint64_t)shape->max_ranks_per_node * (uint64_t)shape->max_threads;
    double n_curves = 0.0;

    if (p->kernels == 0 || p->cores == 0) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "cache_bandwidth: nothing is left to measure: name at least one of "
            "load, copy, triad in 'kernels' and of one, every in 'cores'");
    }
    for (size_t k = 0; k < N_KERNELS; k++) {
        if (p->stores == STK_NONTEMPORAL && (p->kernels & (1U << k)) != 0 &&
            stk_stream_write_only(cache_bandwidth_kernel[k]) &&
            stk_stream_widest()->nontemporal[cache_bandwidth_kernel[k]] == NULL) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "cache_bandwidth: no non-temporal stores on this kind of "
                           "processor; use stores: ordinary");
        }
    }
    for (size_t row = 0; row < N_ROWS; row++) {
        n_curves += cache_bandwidth_applies(parameters, row) ? 1.0 : 0.0;
    }
    const uint64_t most = cache_bandwidth_bytes(p, shape->llc_bytes, n_threads);
    need->bytes_per_rank =
        (uint64_t)cache_bandwidth_thread_bytes(most) * (uint64_t)shape->max_threads;
    /* Sets of one size and of 2/3 of it, halved again and again, add up to less than four of
     * the largest; 1 GB/s a core. */
    need->seconds_per_repetition =
        n_curves * (4.0 * (double)most + 40.0 * (double)cache_bandwidth_work) / 1e9;
    return ST_OK;
}

/* ---- a point ---- */

/* One thread's working set as a span. */
static struct stk_span cache_bandwidth_span(const struct cache_bandwidth_state *s,
                                            size_t kernel, size_t thread, uint64_t bytes,
                                            double factor)
{
    const size_t n_arrays = cache_bandwidth_arrays[kernel];
    const size_t n = (size_t)bytes / n_arrays / 64 * 8; /* whole cache lines */
    double *arrays[STK_N_ARRAYS] = {NULL};
    static const enum stk_array order[N_KERNELS][MOST_ARRAYS] = {
        {STK_A, STK_A, STK_A}, {STK_A, STK_C, STK_C}, {STK_A, STK_B, STK_C}};

    for (size_t k = 0; k < n_arrays; k++) {
        char *at = (char *)s->map.base + thread * s->thread_bytes +
                   k * (n * sizeof(double) + STAGGER);
        arrays[order[kernel][k]] = (double *)(void *)at; /* multiples of 64 bytes */
    }
    return stk_stream_span(cache_bandwidth_kernel[kernel], n, arrays, factor);
}

static stk_span_fn cache_bandwidth_loop(const struct cache_bandwidth_params *p,
                                        const struct cache_bandwidth_state *s,
                                        size_t kernel)
{
    const enum stk_stream_kernel k = cache_bandwidth_kernel[kernel];

    return p->stores == STK_NONTEMPORAL && stk_stream_write_only(k)
               ? s->isa->nontemporal[k]
               : s->isa->ordinary[k];
}

/* Rate of @p n_active threads, each passing @p n_passes times over its own set. */
static double cache_bandwidth_rate(const struct st_run *run,
                                   struct cache_bandwidth_state *s, size_t kernel,
                                   uint64_t bytes, size_t n_active)
{
    const stk_span_fn loop = cache_bandwidth_loop(run->params, s, kernel);
    const uint64_t repeat = cache_bandwidth_work / bytes;
    const size_t n_passes = (size_t)(repeat > 0 ? repeat : 1) * run->n_inner;
    double seconds = 0.0;
    double total = 0.0;

#pragma omp parallel default(none)                                                       \
    shared(s, loop, kernel, bytes, n_active, n_passes, seconds) reduction(+ : total)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        struct stk_span span = {0};
        double start = 0.0;
        if (thread < n_active) {
            span = cache_bandwidth_span(s, kernel, thread, bytes, 0.0);
            total += loop(&span); /* into the caches, untimed */
        }
#pragma omp barrier
        if (thread == 0) {
            start = st_now();
        }
        for (size_t k = 0; thread < n_active && k < n_passes; k++) {
            total += loop(&span);
        }
#pragma omp barrier
        if (thread == 0) {
            seconds = st_now() - start;
        }
    }
    s->sum += total;
    const struct stk_span one = cache_bandwidth_span(s, kernel, 0, bytes, 0.0);
    return stk_work_bytes(stk_stream_work(cache_bandwidth_kernel[kernel]), one.last) *
           (double)n_passes * (double)n_active / seconds;
}

/* ---- stages ---- */

/* Every rank has the same sizes, since all take those of the rank with the largest set. */
static enum st_status cache_bandwidth_set_places(struct st_run *run,
                                                 struct cache_bandwidth_state *s)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    struct st_place *places = st_calloc(&run->err, n_ranks * s->n_sizes, sizeof *places);

    if (places == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t k = 0; k < n_ranks * s->n_sizes; k++) {
        places[k] = (struct st_place){.owner = k / s->n_sizes,
                                      .value = (double)s->sizes[k % s->n_sizes]};
    }
    s->first_place = (size_t)run->comm.rank * s->n_sizes;
    const enum st_status rc = st_set_places(run, ST_POINT, n_ranks * s->n_sizes, places);
    st_free(places);
    return rc;
}

/* Each thread its own memory. */
static void cache_bandwidth_fill(const struct cache_bandwidth_state *s)
{
#pragma omp parallel default(none) shared(s, cache_bandwidth_value)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        char *at = (char *)s->map.base + thread * s->thread_bytes;
        double *mine = (double *)(void *)at; /* a multiple of 2 MiB */
        for (size_t i = 0; i < s->thread_bytes / sizeof(double); i++) {
            mine[i] = cache_bandwidth_value;
        }
    }
}

static enum st_status cache_bandwidth_prepare(struct st_run *run, void *state)
{
    const struct cache_bandwidth_params *p = run->params;
    const struct st_place_info *place = run->place;
    struct cache_bandwidth_state *s = state;
    struct st_array_node node = {0};
    size_t bytes = 0;
    uint64_t most = 0;

    enum st_status rc = st_array_node_sums(run, &node);
    if (rc != ST_OK) {
        return rc;
    }
    const uint64_t mine = cache_bandwidth_bytes(p, place->llc_bytes, node.n_threads);
    STM_TRY(&run->err,
            MPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, run->comm.handle));
    s->isa = stk_stream_widest();
    s->max_bytes = most;
    s->n_sizes = st_sweep_sizes(cache_bandwidth_first, most, s->sizes);
    s->thread_bytes = cache_bandwidth_thread_bytes(most);
    if (!st_mul_size(s->thread_bytes, place->n_threads, &bytes)) {
        return st_fail(&run->err, ST_ERR_MEMORY, "cache_bandwidth: %zu threads",
                       place->n_threads);
    }
    rc = cache_bandwidth_set_places(run, s);
    if (rc == ST_OK) {
        rc = st_pages_map(&run->err, bytes, (enum st_pages)p->pages, &s->map);
    }
    if (rc == ST_OK) {
        cache_bandwidth_fill(s);
    }
    return rc;
}

static enum st_status cache_bandwidth_run(struct st_run *run, void *state)
{
    struct cache_bandwidth_state *s = state;
    const size_t n_active = run->section < N_KERNELS ? 1 : run->place->n_threads;

    for (size_t k = 0; k < s->n_sizes; k++) {
        st_record(run->rec, run->section, s->first_place + k,
                  cache_bandwidth_rate(run, s, run->section % N_KERNELS, s->sizes[k],
                                       n_active));
    }
    return ST_OK;
}

/* Checking every element of every size would take longer than measuring: a set beyond most L2s. */
static uint64_t cache_bandwidth_checked(const struct cache_bandwidth_state *s)
{
    const uint64_t most = (uint64_t)4 << 20;

    return s->max_bytes < most ? s->max_bytes : most;
}

/* One kernel over a set of a thread, from a wiped target, with a factor that tells. */
static void cache_bandwidth_verify_kernel(const struct st_run *run,
                                          const struct cache_bandwidth_state *s,
                                          size_t kernel, size_t thread,
                                          struct st_check *check)
{
    static const double factor = 0.4;
    static const char *const names[N_KERNELS] = {"sum", "copied element",
                                                 "element of a triad"};
    const double v = cache_bandwidth_value;
    const double want[N_KERNELS] = {0.0, v, v + factor * v};
    const struct stk_span span =
        cache_bandwidth_span(s, kernel, thread, cache_bandwidth_checked(s), factor);
    const double n = (double)span.last;

    for (size_t i = 0; span.w != NULL && i < span.last; i++) {
        span.w[i] = -1.0;
    }
    const double sum = cache_bandwidth_loop(run->params, s, kernel)(&span);
    if (span.w == NULL) {
        /* At least 16 partial sums, each of n / 16 roundings (Higham 4.2), then their sum. */
        check->limit = n * (n / 16 + 1000) * DBL_EPSILON * v;
        st_check_near(check, sum, n * v, names[kernel]);
        return;
    }
    check->limit = 4.0 * DBL_EPSILON; /* two roundings of values below 1 */
    for (size_t i = 0; i < span.last; i++) {
        st_check_near(check, span.w[i], want[kernel], names[kernel]);
        span.w[i] = v;
    }
}

static enum st_status cache_bandwidth_verify(struct st_run *run, void *state,
                                             struct st_check *check)
{
    const struct cache_bandwidth_params *p = run->params;
    const struct cache_bandwidth_state *s = state;

    for (size_t k = 0; k < N_KERNELS; k++) {
        for (size_t t = 0; (p->kernels & (1U << k)) != 0 && t < run->place->n_threads;
             t++) {
            cache_bandwidth_verify_kernel(run, s, k, t, check);
        }
    }
    return ST_OK;
}

static void cache_bandwidth_release(void *state)
{
    struct cache_bandwidth_state *s = state;

    st_pages_unmap(&s->map);
}

/* What the sum and the copy read first, and what the triad reads first of its b. */
static void cache_bandwidth_spoil(void *state)
{
    struct cache_bandwidth_state *s = state;
    const struct stk_span triad =
        cache_bandwidth_span(s, K_TRIAD, 0, cache_bandwidth_checked(s), 0.0);
    double *first = s->map.base;

    first[0] *= 1.5;
    first[triad.x - first] *= 1.5;
}

const struct st_bench st_bench_cache_bandwidth = {
    .name = "cache_bandwidth",
    .summary =
        "Bandwidth of one core and of all cores by working set, from L1 to memory.",
    .source = "kernels of J. D. McCalpin's STREAM; sizes as in lmbench (L. McVoy and C. "
              "Staelin, USENIX 1996)",
    ST_TABLES(params, metrics),
    .point_name = "size",
    .point_unit = "byte",
    ST_SIZES(struct cache_bandwidth_params, struct cache_bandwidth_state),
    .applies = cache_bandwidth_applies,
    ST_STAGES(cache_bandwidth),
};
