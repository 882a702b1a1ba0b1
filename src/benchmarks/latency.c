/*
 * latency: the time of one load that misses, by a pointer chase (METHODS 2.1 to 2.3). With
 * `size: auto` a sweep over sizes from 4 KiB to beyond the caches, whose curve tells the
 * levels and where they end; with a size that one alone, with one or several chains, or from
 * every CPU NUMA node to every memory NUMA node.
 *
 * A repetition makes `accesses` loads per size, not METHODS 2.1's 4 N: the chase goes on where
 * the repetition before ended, so that even a short piece of a large cycle meets lines that
 * were last used a whole cycle ago. Before each size so many untimed loads are made that the
 * caches hold what they would after a long chase of this size.
 *
 * The harness's own time would mix sizes and include those untimed loads: all metrics are
 * given, from the clock around each chase.
 */
#include "mpi/comm.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/benchmarks/part_chase.h"
#include "src/benchmarks/part_chase_cells.h"
#include "src/measure/run.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

enum latency_pages {
    LATENCY_SMALL,
    LATENCY_HUGE,
    LATENCY_BOTH
};
enum latency_cells {
    LATENCY_LOCAL,
    LATENCY_REMOTE,
    LATENCY_EVERY
};
enum {
    N_CHAIN_COUNTS = 5
};

enum {
    M_CURVE,
    M_LATENCY,
    M_LATENCY_HUGE,
    M_TLB_COST,
    M_L1,
    M_L2,
    M_L3,
    M_DRAM,
    M_L1_SIZE,
    M_L2_SIZE,
    M_L3_SIZE,
    M_L1_TOLD,
    M_L2_TOLD,
    M_L3_TOLD,
    M_STEP_1, /* … M_STEP_16, in the order of latency_chain_counts */
    M_STEP_16 = M_STEP_1 + N_CHAIN_COUNTS - 1,
    M_MLP,
    M_CELL,
    M_CELL_PLACED,
    M_PAGES_PLACED,
    M_PAGES_HUGE
};

static const size_t latency_chain_counts[N_CHAIN_COUNTS] = {1, 2, 4, 8, 16};
static const uint64_t latency_first_bytes = 4 * KIB; /* METHODS 2.2 */
static const uint64_t latency_floor_bytes = GIB;     /* METHODS 2.2 */
static const double latency_memory_share = 0.6;      /* as stream, METHODS 1.2 */
static const double latency_placed_share = 0.99;     /* METHODS 1.3 */
static const double latency_huge_share = 0.95;       /* METHODS 2.2 */
static const uint64_t latency_line_bytes = 64;
/* Lines to warm up with where the caches are not known: 32 MiB of them. */
static const uint64_t latency_warm_lines = (uint64_t)1 << 19;

struct latency_params {
    uint64_t size, largest, stride, accesses;
    uint32_t pages, order, chains, cells;
};

struct latency_state {
    size_t n_sizes;
    uint64_t sizes[ST_SWEEP_MAX];
    double latency_s[ST_SWEEP_MAX];
    size_t n_sets;
    struct st_chase_set *sets; /* page sizes, or memory nodes */
    size_t n_cells;
    struct st_chase_cell *cells; /* [n_cells] of this rank */
    uint64_t told[ST_CACHE_LEVELS];
    uint64_t n_warm_lines;
};

static const char *const latency_page_words[] = {"small", "huge", "both", NULL};
static const char *const latency_orders[] = {"random", "inpage", NULL};
static const char *const latency_chain_words[] = {"1", "2", "4", "8", "16", NULL};
static const char *const latency_cell_words[] = {"local", "remote", "every", NULL};

static const struct st_param params[] = {
    ST_PARAM_BYTES_AUTO(latency_params, size, "auto", 256, 0x1p48,
                        "memory of the chase; auto: a sweep over sizes from 4 KiB"),
    ST_PARAM_BYTES_AUTO(
        latency_params, largest, "auto", 4096, 0x1p48,
        "end of the sweep; auto: 4 x the caches, at least 1 GiB, as memory allows"),
    ST_PARAM_BYTES(latency_params, stride, "128B", 64, 0x1p30,
                   "between two lines; 128 B because lines are fetched in pairs"),
    ST_PARAM_COUNT(latency_params, accesses, "1048576", 16, 1e12,
                   "timed loads per size and repetition; the chase goes on where it was"),
    ST_PARAM_CHOICE(latency_params, pages, latency_page_words, "small",
                    "small: 4 KiB; huge: 2 MiB, a failure if the system does not give "
                    "them; both, of one size"),
    ST_PARAM_CHOICE(latency_params, order, latency_orders, "random",
                    "inpage: all lines of a page, then the next page (few TLB misses)"),
    ST_PARAM_SET(latency_params, chains, latency_chain_words, "1",
                 "independent chases at once, of one size: memory-level parallelism"),
    ST_PARAM_CHOICE(latency_params, cells, latency_cell_words, "local",
                    "remote, every: from each CPU NUMA node to each (other) memory node"),
};

/* clang-format off */
#define LATENCY_RANK(name, unit, better, help) \
    {name, unit, better, ST_RANK, ST_GIVEN, 0, help}
#define LATENCY_LEVEL(level, which)                                                      \
    [M_L1 + (level) - 1] = LATENCY_RANK("l" #level "_latency", "s", ST_LOWER,            \
        "median over sizes of 1/4 to 3/4 of the " which "-level cache"),                 \
    [M_L1_SIZE + (level) - 1] = LATENCY_RANK("l" #level "_size", "byte", ST_NEITHER,     \
        "end of the " which " level as the curve shows it"),                             \
    [M_L1_TOLD + (level) - 1] = LATENCY_RANK("l" #level "_size_told", "byte", ST_NEITHER,\
        which "-level cache as the system tells it")
#define LATENCY_STEP(i, k) \
    [M_STEP_1 + (i)] = LATENCY_RANK("step_" #k, "s", ST_LOWER, \
        "time of one load of each of the chains, " #k " in number")

static const struct st_metric metrics[] = {
    [M_CURVE] = {"latency_by_size", "s", ST_LOWER, ST_POINT, ST_GIVEN, 0,
        "time of one load of the chase"},
    [M_LATENCY] = LATENCY_RANK("latency", "s", ST_LOWER, "time of one load of the chase"),
    [M_LATENCY_HUGE] = LATENCY_RANK("latency_huge", "s", ST_LOWER,
        "time of one load, memory in 2 MiB pages"),
    [M_TLB_COST] = LATENCY_RANK("tlb_cost", "s", ST_NEITHER,
        "what 4 KiB pages cost over 2 MiB pages: difference of the two"),
    LATENCY_LEVEL(1, "first"),
    LATENCY_LEVEL(2, "second"),
    LATENCY_LEVEL(3, "third"),
    [M_DRAM] = LATENCY_RANK("dram_latency", "s", ST_LOWER,
        "median over sizes of 4 x the caches and more"),
    LATENCY_STEP(0, 1),
    LATENCY_STEP(1, 2),
    LATENCY_STEP(2, 4),
    LATENCY_STEP(3, 8),
    LATENCY_STEP(4, 16),
    [M_MLP] = LATENCY_RANK("mlp", "1", ST_HIGHER,
        "memory-level parallelism: largest k x step_1 / step_k"),
    [M_CELL] = {"cell_latency", "s", ST_LOWER, ST_NUMA, ST_GIVEN, 0,
        "time of one load from this CPU node to this memory node"},
    [M_CELL_PLACED] = {"cell_pages_placed", "1", ST_HIGHER, ST_NUMA, ST_GIVEN, 0,
        "share of sampled pages on that memory node; -1: unknown"},
    [M_PAGES_PLACED] = LATENCY_RANK("pages_local", "1", ST_HIGHER,
        "share of sampled pages on the NUMA node of the CPU; -1: unknown"),
    [M_PAGES_HUGE] = LATENCY_RANK("pages_huge", "1", ST_HIGHER,
        "share of the memory in 2 MiB pages; -1: unknown"),
};
/* clang-format on */

static bool latency_is_sweep(const struct latency_params *p)
{
    return p->size == ST_AUTO;
}

static bool latency_has_chains(const struct latency_params *p)
{
    return (p->chains & ~1U) != 0;
}

static bool latency_applies(const void *parameters, size_t row)
{
    const struct latency_params *p = parameters;
    const bool is_local = p->cells == LATENCY_LOCAL;

    switch (row) {
    case M_LATENCY:
        return is_local && !latency_is_sweep(p);
    case M_LATENCY_HUGE:
    case M_TLB_COST:
        return p->pages == LATENCY_BOTH;
    case M_MLP:
        return latency_has_chains(p) && (p->chains & 1U) != 0;
    case M_CELL:
    case M_CELL_PLACED:
        return !is_local;
    case M_PAGES_PLACED:
        return is_local;
    case M_PAGES_HUGE:
        return p->pages != LATENCY_SMALL;
    default:
        break;
    }
    if (row >= M_STEP_1 && row <= M_STEP_16) {
        return latency_has_chains(p) && (p->chains & (1U << (row - M_STEP_1))) != 0;
    }
    return latency_is_sweep(p); /* the curve and what follows from it */
}

static size_t latency_most_chains(const struct latency_params *p)
{
    size_t most = 1;

    for (size_t i = 0; i < N_CHAIN_COUNTS; i++) {
        most = (p->chains & (1U << i)) != 0 ? latency_chain_counts[i] : most;
    }
    return most;
}

/* Parameters against each other. */
static enum st_status latency_check(const struct latency_params *p, struct st_error *err)
{
    if (latency_is_sweep(p) && (p->pages == LATENCY_BOTH || p->cells != LATENCY_LOCAL ||
                                latency_has_chains(p))) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "latency: %s of a sweep over sizes; name one size, e.g. size: 1GiB",
            p->pages == LATENCY_BOTH    ? "pages: both"
            : p->cells != LATENCY_LOCAL ? "cells other than local"
                                        : "several chains");
    }
    if (p->cells != LATENCY_LOCAL &&
        (p->pages == LATENCY_BOTH || latency_has_chains(p))) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "latency: cells other than local take one page size and one chain");
    }
    if (p->chains == 0) {
        return st_fail(err, ST_ERR_CONFIG, "latency: no chain to follow; take chains: 1");
    }
    if (p->stride % latency_line_bytes != 0) {
        return st_fail(err, ST_ERR_CONFIG,
                       "latency: stride %llu B is not a multiple of 64 B; take 128B",
                       (unsigned long long)p->stride);
    }
    const uint64_t least = 2 * p->stride * latency_most_chains(p);
    if (!latency_is_sweep(p) && p->size < least) {
        return st_fail(err, ST_ERR_CONFIG,
                       "latency: size %llu B has fewer than two lines per chain, %llu B "
                       "apart; take at least %llu B",
                       (unsigned long long)p->size, (unsigned long long)p->stride,
                       (unsigned long long)least);
    }
    return ST_OK;
}

/* @p memory_bytes of one rank; 0: unknown */
static uint64_t latency_largest(const struct latency_params *p, uint64_t llc_bytes,
                                uint64_t memory_bytes)
{
    if (!latency_is_sweep(p)) {
        return p->size;
    }
    if (p->largest != ST_AUTO) {
        return p->largest;
    }
    const uint64_t rule = llc_bytes > UINT64_MAX / 4 ? UINT64_MAX : 4 * llc_bytes;
    const uint64_t want = rule > latency_floor_bytes ? rule : latency_floor_bytes;
    const uint64_t most = memory_bytes == 0
                              ? UINT64_MAX
                              : (uint64_t)(latency_memory_share * (double)memory_bytes);
    return want < most ? want : most;
}

/* Sizes with at least two lines. */
static size_t latency_sizes(const struct latency_params *p, uint64_t largest,
                            uint64_t sizes[ST_SWEEP_MAX])
{
    const uint64_t first =
        latency_first_bytes > 2 * p->stride ? latency_first_bytes : 2 * p->stride;

    if (!latency_is_sweep(p)) {
        sizes[0] = largest;
        return 1;
    }
    return st_sweep_sizes(first, largest, sizes);
}

static struct st_chase_wish latency_wish(const struct latency_params *p, size_t n_sizes,
                                         const uint64_t *sizes, bool huge, long os_node)
{
    return (struct st_chase_wish){.n_sizes = n_sizes,
                                  .sizes = sizes,
                                  .stride = p->stride,
                                  .order = (enum st_chase_order)p->order,
                                  .pages = huge ? ST_PAGES_HUGE : ST_PAGES_SMALL,
                                  .os_node = os_node};
}

static void latency_notes(const struct latency_params *p, const struct st_shape *shape,
                          uint64_t largest, struct st_need *need)
{
    char text[48];

    if (latency_is_sweep(p) && shape->llc_bytes > 0 && largest / 4 < shape->llc_bytes) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "the sweep ends at %s, below 4 x the caches: no DRAM latency",
                       st_format_quantity(text, sizeof text, (double)largest, "byte"));
    } else if (p->cells != LATENCY_LOCAL && shape->n_numa == 0) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "memory is per NUMA node with memory; two are assumed here");
    }
}

static enum st_status latency_plan(const void *parameters, const struct st_shape *shape,
                                   struct st_need *need, struct st_error *err)
{
    const struct latency_params *p = parameters;
    const uint64_t n_ranks =
        shape->max_ranks_per_node > 0 ? shape->max_ranks_per_node : 1;
    const uint64_t largest =
        latency_largest(p, shape->llc_bytes, shape->memory_bytes / n_ranks);
    uint64_t sizes[ST_SWEEP_MAX];
    char text[48];

    if (latency_check(p, err) != ST_OK) {
        return err->code;
    }
    if (p->cells != LATENCY_LOCAL && shape->n_numa == 1) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "latency: cells other than local need two NUMA nodes on each node, "
            "one has 1");
    }
    const size_t n = latency_sizes(p, largest, sizes);
    if (n == 0) {
        return st_fail(err, ST_ERR_STEP,
                       "latency: no size of the sweep fits between two lines of stride "
                       "and %s; take a smaller stride or a larger end",
                       st_format_quantity(text, sizeof text, (double)largest, "byte"));
    }
    if (largest / p->stride > STK_CHASE_MAX_LINES) {
        const unsigned long long wider = 2ULL * p->stride;
        return st_fail(err, ST_ERR_STEP,
                       "latency: %s are more than 2^32 lines; take a stride of %llu B",
                       st_format_quantity(text, sizeof text, (double)largest, "byte"),
                       wider);
    }
    const struct st_chase_wish wish =
        latency_wish(p, n, sizes, p->pages != LATENCY_SMALL, -1);
    const uint64_t n_numa = shape->n_numa > 0 ? shape->n_numa : 2;
    const uint64_t n_sets = p->cells != LATENCY_LOCAL  ? n_numa
                            : p->pages == LATENCY_BOTH ? 2
                                                       : 1;
    need->bytes_per_rank = n_sets * st_chase_bytes(&wish) + st_chase_extra_bytes(&wish);
    /* 0.5 us per load: slower than any local memory; a fourth of the sizes is in DRAM */
    need->seconds_per_repetition = 0.5e-6 * (double)p->accesses *
                                   (double)latency_most_chains(p) * (1.0 + (double)n / 4);
    latency_notes(p, shape, largest, need);
    return ST_OK;
}

/* ---- where ---- */

/* The system's number of this rank's NUMA node; -1: unknown. */
static long latency_own_node(const struct st_place_info *place)
{
    return place->numa_nodes != NULL && place->numa < place->n_numa
               ? place->numa_nodes[place->numa].os_index
               : -1;
}

/* A set of its own for each memory node that a cell of this rank asks for. */
static enum st_status latency_make_cells(struct st_run *run, struct latency_state *s)
{
    const struct latency_params *p = run->params;
    const struct st_place_info *place = run->place;

    s->sets = st_calloc(&run->err, place->n_numa, sizeof *s->sets);
    if (s->sets == NULL) {
        return run->err.code;
    }
    s->n_sets = place->n_numa;
    for (size_t c = 0; c < s->n_cells; c++) {
        const size_t j = s->cells[c].memory;
        if (s->sets[j].n > 0) {
            continue;
        }
        const struct st_chase_wish wish = latency_wish(
            p, 1, s->sizes, p->pages == LATENCY_HUGE, place->numa_nodes[j].os_index);
        const enum st_status rc = st_chase_create(&wish, 1, &s->sets[j], &run->err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static enum st_status latency_prepare_cells(struct st_run *run, struct latency_state *s)
{
    const struct latency_params *p = run->params;
    const enum st_status rc =
        st_chase_cells_create(run, p->cells == LATENCY_EVERY, &s->n_cells, &s->cells);

    return rc == ST_OK ? latency_make_cells(run, s) : rc;
}

static enum st_status latency_prepare_local(struct st_run *run, struct latency_state *s)
{
    const struct latency_params *p = run->params;
    const size_t n = p->pages == LATENCY_BOTH ? 2 : 1;

    s->sets = st_calloc(&run->err, n, sizeof *s->sets);
    if (s->sets == NULL) {
        return run->err.code;
    }
    s->n_sets = n;
    for (size_t i = 0; i < n; i++) {
        const bool huge = p->pages == LATENCY_HUGE || i == 1;
        const struct st_chase_wish wish =
            latency_wish(p, s->n_sizes, s->sizes, huge, latency_own_node(run->place));
        const enum st_status rc =
            st_chase_create(&wish, latency_most_chains(p), &s->sets[i], &run->err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

/* Every rank's curve runs over the same sizes. */
static enum st_status latency_set_points(struct st_run *run,
                                         const struct latency_state *s)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    size_t n = 0;

    if (!st_mul_size(n_ranks, s->n_sizes, &n)) {
        return st_fail(&run->err, ST_ERR_MEMORY, "latency: %zu curves", n_ranks);
    }
    struct st_place *places = st_calloc(&run->err, n, sizeof *places);
    if (places == NULL) {
        return run->err.code;
    }
    for (size_t k = 0; k < n; k++) {
        places[k] = (struct st_place){.owner = k / s->n_sizes,
                                      .a = k / s->n_sizes,
                                      .b = k % s->n_sizes,
                                      .value = (double)s->sizes[k % s->n_sizes]};
    }
    const enum st_status rc = st_set_places(run, ST_POINT, n, places);
    st_free(places);
    return rc;
}

static enum st_status latency_prepare(struct st_run *run, void *state)
{
    const struct latency_params *p = run->params;
    const struct st_place_info *place = run->place;
    struct latency_state *s = state;
    const uint64_t mine = latency_largest(p, place->llc_bytes, place->memory_bytes);
    uint64_t largest = 0;

    STM_TRY(&run->err,
            MPI_Allreduce(&mine, &largest, 1, MPI_UINT64_T, MPI_MIN, run->comm.handle));
    s->n_sizes = latency_sizes(p, largest, s->sizes);
    if (s->n_sizes == 0) { /* equal on all ranks */
        return st_fail(&run->err, ST_ERR_STEP,
                       "latency: the memory of a rank is too small for any size");
    }
    s->n_warm_lines =
        place->llc_bytes > 0 ? place->llc_bytes / latency_line_bytes : latency_warm_lines;
    s->told[0] = place->l1d_bytes;
    s->told[1] = place->l2_bytes;
    s->told[2] = place->llc_plausible ? place->l3_bytes : 0;
    if (p->cells != LATENCY_LOCAL) {
        return latency_prepare_cells(run, s);
    }
    if (latency_is_sweep(p)) {
        const enum st_status rc = latency_set_points(run, s);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return latency_prepare_local(run, s);
}

/* ---- one repetition ---- */

static double latency_chase(const struct st_run *run, const struct latency_state *s,
                            struct st_chase_cycle *cycle, size_t k)
{
    const struct latency_params *p = run->params;
    const uint64_t n = cycle->lines.n / k;
    const uint64_t fill = s->n_warm_lines / k;

    return st_chase_time(cycle, k, n < fill ? n : fill, p->accesses * run->n_inner);
}

/* Bounds of a cache level: what the system tells if that can be believed, else the curve. */
static double latency_cache(const struct latency_state *s, const double found[],
                            size_t level)
{
    return s->told[level] > 0 ? (double)s->told[level] : found[level];
}

static void latency_record_levels(struct st_run *run, const struct latency_state *s)
{
    const size_t place = (size_t)run->comm.rank;
    struct st_plateaus levels;
    double found[ST_CACHE_LEVELS];
    double last = (double)NAN;

    st_plateaus_find(s->n_sizes, s->sizes, s->latency_s, &levels);
    st_plateaus_match(&levels, s->told, found);
    for (size_t level = 0; level < ST_CACHE_LEVELS; level++) {
        const double size = latency_cache(s, found, level);
        const double told = s->told[level] > 0 ? (double)s->told[level] : (double)NAN;
        last = isnan(size) ? last : size;
        st_record(run->rec, M_L1 + level, place,
                  st_curve_median(s->n_sizes, s->sizes, s->latency_s, 0.25 * size,
                                  0.75 * size));
        st_record(run->rec, M_L1_SIZE + level, place, found[level]);
        st_record(run->rec, M_L1_TOLD + level, place, told);
    }
    const double caches =
        run->place->llc_bytes > 0 ? (double)run->place->llc_bytes : last;
    st_record(run->rec, M_DRAM, place,
              st_curve_median(s->n_sizes, s->sizes, s->latency_s, 4.0 * caches,
                              (double)INFINITY));
}

static void latency_run_sweep(struct st_run *run, struct latency_state *s)
{
    const size_t first = (size_t)run->comm.rank * s->n_sizes;

    for (size_t i = 0; i < s->n_sizes; i++) {
        s->latency_s[i] = latency_chase(run, s, &s->sets[0].cycles[i], 1);
        st_record(run->rec, M_CURVE, first + i, s->latency_s[i]);
    }
    latency_record_levels(run, s);
}

static void latency_run_chains(struct st_run *run, struct latency_state *s)
{
    const struct latency_params *p = run->params;
    const size_t place = (size_t)run->comm.rank;
    double one = (double)NAN;
    double mlp = 1.0;

    for (size_t i = 0; i < N_CHAIN_COUNTS; i++) {
        if ((p->chains & (1U << i)) == 0) {
            continue;
        }
        const size_t k = latency_chain_counts[i];
        const double step = latency_chase(run, s, &s->sets[0].cycles[0], k);
        one = k == 1 ? step : one;
        mlp = (double)k * one / step > mlp ? (double)k * one / step : mlp;
        st_record(run->rec, M_STEP_1 + i, place, step);
    }
    if ((p->chains & 1U) != 0) {
        st_record(run->rec, M_MLP, place, mlp);
    }
}

/* By the thread that sits on the cell's CPU node; the others wait at the end of the region. */
static void latency_run_cell(struct st_run *run, struct latency_state *s,
                             const struct st_chase_cell *cell)
{
    struct st_chase_set *set = &s->sets[cell->memory];
    double latency_s = 0.0;

#pragma omp parallel default(none) shared(run, s, cell, set, latency_s)
    if ((size_t)omp_get_thread_num() == cell->thread) {
        latency_s = latency_chase(run, s, &set->cycles[0], 1);
    }
    st_record(run->rec, M_CELL, cell->place, latency_s);
    st_record(run->rec, M_CELL_PLACED, cell->place, set->placed);
}

/* Smallest share over the sets that are to have 2 MiB pages. */
static double latency_huge_of(const struct latency_params *p,
                              const struct latency_state *s)
{
    double least = 1.0;

    for (size_t i = p->pages == LATENCY_BOTH ? 1 : 0; i < s->n_sets; i++) {
        if (s->sets[i].n > 0) {
            least = s->sets[i].huge < least ? s->sets[i].huge : least;
        }
    }
    return least;
}

static void latency_record_pages(struct st_run *run, const struct latency_state *s)
{
    const struct latency_params *p = run->params;
    const size_t place = (size_t)run->comm.rank;

    if (p->cells == LATENCY_LOCAL) {
        const double placed = s->sets[s->n_sets - 1].placed;
        st_record(run->rec, M_PAGES_PLACED, place,
                  placed < s->sets[0].placed ? placed : s->sets[0].placed);
    }
    if (p->pages != LATENCY_SMALL) {
        st_record(run->rec, M_PAGES_HUGE, place, latency_huge_of(p, s));
    }
}

static enum st_status latency_run(struct st_run *run, void *state)
{
    const struct latency_params *p = run->params;
    struct latency_state *s = state;
    const size_t place = (size_t)run->comm.rank;

    latency_record_pages(run, s);
    for (size_t c = 0; c < s->n_cells; c++) {
        latency_run_cell(run, s, &s->cells[c]);
    }
    if (p->cells != LATENCY_LOCAL) {
        return ST_OK;
    }
    if (latency_is_sweep(p)) {
        latency_run_sweep(run, s);
        return ST_OK;
    }
    const double latency_s = latency_chase(run, s, &s->sets[0].cycles[0], 1);
    st_record(run->rec, M_LATENCY, place, latency_s);
    if (p->pages == LATENCY_BOTH) {
        const double huge_s = latency_chase(run, s, &s->sets[1].cycles[0], 1);
        st_record(run->rec, M_LATENCY_HUGE, place, huge_s);
        st_record(run->rec, M_TLB_COST, place, latency_s - huge_s);
    }
    if (latency_has_chains(p)) {
        latency_run_chains(run, s);
    }
    return ST_OK;
}

static enum st_status latency_verify(struct st_run *run, void *state,
                                     struct st_check *check)
{
    const struct latency_params *p = run->params;
    const struct latency_state *s = state;

    for (size_t i = 0; i < s->n_sets; i++) {
        if (s->sets[i].n == 0) {
            continue; /* a memory node that no cell of this rank asks for */
        }
        st_chase_verify(&s->sets[i], check);
        if (s->sets[i].placed >= 0.0) {
            st_check_true(check, s->sets[i].placed >= latency_placed_share,
                          "pages on the wanted NUMA node: fewer than 99 %");
        } else if (run->place->n_numa != 1) {
            st_doubt(run, "the system does not tell on which NUMA nodes the memory is");
        }
    }
    if (p->pages != LATENCY_SMALL) {
        st_check_true(check, latency_huge_of(p, s) >= latency_huge_share,
                      "pages not huge: fewer than 95 % of the memory in 2 MiB pages, or "
                      "unknown");
    }
    return ST_OK;
}

static void latency_release(void *state)
{
    struct latency_state *s = state;

    for (size_t i = 0; i < s->n_sets; i++) {
        st_chase_clear(&s->sets[i]);
    }
    st_free(s->sets);
    st_free(s->cells);
    s->sets = NULL;
    s->cells = NULL;
    s->n_sets = 0;
}

static void latency_spoil(void *state)
{
    struct latency_state *s = state;

    for (size_t i = 0; i < s->n_sets; i++) {
        st_chase_spoil(&s->sets[i]);
    }
}

const struct st_bench st_bench_latency = {
    .name = "latency",
    .summary = "Time of a load from each cache level and from memory, by pointer chase.",
    .source = "L. McVoy, C. Staelin, lmbench, USENIX 1996 (lat_mem_rd); METHODS 2.1-2.3",
    ST_TABLES(params, metrics),
    .point_name = "size",
    .point_unit = "byte",
    ST_SIZES(struct latency_params, struct latency_state),
    .applies = latency_applies,
    ST_STAGES(latency),
};
