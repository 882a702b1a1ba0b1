/*
 * stream: sustained memory bandwidth (METHODS 1.1 to 1.4). One section per kernel, one that
 * asks the system where the pages are, and with `stores: both` one more per kernel that has a
 * non-temporal form: both are then measured in turns, and their ratio tells whether ordinary
 * stores pay for reading what they overwrite.
 *
 * Size. `size` is one array of one node; the node's ranks divide it by their threads, so
 * that one thread works on one slice whatever the mixture of ranks and threads. METHODS 1.2
 * also wants 10 ms per repetition; that part of the rule is left to the harness, whose inner
 * count makes any size last long enough to be timed.
 *
 * Vectors. Which instruction set is fastest depends on the processor and on the stores: triad
 * with ordinary stores reached 40 GB/s with 64-byte and 51 with 16-byte vectors on two cores
 * of AMD Zen 4, and elsewhere wide ones win. So `vectors: auto` tries them all, untimed,
 * and the group takes the one whose slowest rank is fastest; vector_bytes tells which.
 */
#include "kernels/stream.h"
#include "mpi/agree.h"
#include "mpi/comm.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/benchmarks/part_array_size.h"
#include "src/benchmarks/part_memory.h"
#include "src/benchmarks/part_stream_values.h"
#include "src/measure/run.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    STREAM_PAGE_SECTION = STK_N_KERNELS,
    STREAM_PAST_SECTION, /* + i: stream_past[i] with `stores: both` */
    M_PAGES_PLACED =
        2 * STK_N_KERNELS, /* row 2k: rate of kernel k, row 2k + 1: moved bytes */
    M_PAGES_HUGE,
    M_VECTOR_BYTES,
    M_WRITE_ALLOCATE,
    M_PAST, /* + i: rate of stream_past[i] with non-temporal stores */
    STREAM_BOTH = STK_NONTEMPORAL + 1,
    STREAM_VECTORS_AUTO = 0,
    STREAM_TRIALS = 3 /* passes of a kernel and an instruction set; the best counts */
};

static const double stream_placed_share = 0.99; /* METHODS 1.3 */
static const double stream_huge_share = 0.95;   /* METHODS 2.2 */

struct stream_params {
    uint64_t size;
    uint64_t memory_node;
    uint32_t stores, kernels, pages, vectors, memory;
};

struct stream_state {
    const struct stk_stream_isa *isa;
    size_t n; /* elements of this rank's part */
    struct st_mapping map[STK_N_ARRAYS];
    double *array[STK_N_ARRAYS]; /* in the mappings, staggered; NULL if not used */
    struct st_stream_value mirror[STK_N_ARRAYS];
    struct st_memory_aim aim;
    double copy_s; /* of one copy with ordinary stores in this repetition */
    double huge;   /* share of the arrays in huge pages; -1: unknown */
    struct st_stream_value sum[2]; /* last result of sum and dot: wanted and its bound */
    double got[2];                 /* and got */
    bool summed[2];
};

static const char *const stream_stores[] = {"ordinary", "nontemporal", "both", NULL};
static const char *const stream_pages[] = {"default", "small", "huge", NULL};
static const char *const stream_vectors[] = {"auto", "baseline", "avx2", "avx512", NULL};
static const char *const stream_kernels[] = {"copy",  "scale",  "add",     "triad",
                                             "sum",   "dot",    "init",    "update",
                                             "daxpy", "striad", "nstream", NULL};

/* Kernels that have a non-temporal form. */
static const enum stk_stream_kernel stream_past[] = {STK_COPY,  STK_SCALE, STK_ADD,
                                                     STK_TRIAD, STK_INIT,  STK_STRIAD};

static const struct st_param params[] = {
    ST_PARAM_BYTES_AUTO(stream_params, size, "auto", 1024, 0x1p50,
                        "one array of one node; auto: 4 x its caches, at least 256 MiB"),
    ST_PARAM_CHOICE(stream_params, stores, stream_stores, "ordinary",
                    "nontemporal: past the caches, without reading what is overwritten; "
                    "both: in turns, with the ratio of the two"),
    ST_PARAM_SET(stream_params, kernels, stream_kernels, "copy scale add triad",
                 "loops to measure, in the order of the list"),
    ST_PARAM_CHOICE(
        stream_params, pages, stream_pages, "default",
        "small: 4 KiB; huge: 2 MiB, a failure if the system does not give them"),
    ST_PARAM_CHOICE(
        stream_params, vectors, stream_vectors, "auto",
        "instruction set of the loops; auto: the fastest one here, tried before"),
    ST_PARAM_CHOICE(stream_params, memory, st_memory_choices, "local",
                    "NUMA nodes of the arrays: local to each thread, those of the next "
                    "socket (remote), interleaved over all, or a node"),
    ST_PARAM_COUNT(stream_params, memory_node, "0", 0, ST_MAX_NUMA - 1,
                   "which NUMA node, with memory: node; counted as hwloc does"),
};

#define STREAM_ROWS(kernel, NAME, loop)                                                  \
    [2 * (NAME)] = {kernel,                                                              \
                    "byte s-1",                                                          \
                    ST_HIGHER,                                                           \
                    ST_NODE,                                                             \
                    ST_FROM_WORK,                                                        \
                    (NAME),                                                              \
                    loop ", bytes as STREAM counts them"},                               \
         [2 * (NAME) + 1] = {kernel "_moved",                                            \
                             "byte s-1",                                                 \
                             ST_HIGHER,                                                  \
                             ST_NODE,                                                    \
                             ST_FROM_WORK,                                               \
                             (NAME),                                                     \
                             loop ", moved bytes (assumes write-allocate)"}

#define STREAM_PAST_ROW(kernel, i)                                                       \
    [M_PAST + (i)] = {kernel "_nontemporal",                                             \
                      "byte s-1",                                                        \
                      ST_HIGHER,                                                         \
                      ST_NODE,                                                           \
                      ST_FROM_WORK,                                                      \
                      STREAM_PAST_SECTION + (i),                                         \
                      "the same past the caches, bytes as STREAM counts them"}

static const struct st_metric metrics[] = {
    STREAM_ROWS("copy", STK_COPY, "c = a"),
    STREAM_ROWS("scale", STK_SCALE, "b = s c"),
    STREAM_ROWS("add", STK_ADD, "c = a + b"),
    STREAM_ROWS("triad", STK_TRIAD, "a = b + s c"),
    STREAM_ROWS("sum", STK_SUM, "sum of a"),
    STREAM_ROWS("dot", STK_DOT, "sum of a b"),
    STREAM_ROWS("init", STK_INIT, "a = s"),
    STREAM_ROWS("update", STK_UPDATE, "a = s a"),
    STREAM_ROWS("daxpy", STK_DAXPY, "a = a + s b"),
    STREAM_ROWS("striad", STK_STRIAD, "a = b + c d"),
    STREAM_ROWS("nstream", STK_NSTREAM, "a = a + b + s c"),
    [M_PAGES_PLACED] = {"pages_placed", "1", ST_HIGHER, ST_RANK, ST_GIVEN,
                        STREAM_PAGE_SECTION,
                        "share of sampled pages on the NUMA nodes that `memory` wants; "
                        "-1: unknown"},
    [M_PAGES_HUGE] = {"pages_huge", "1", ST_HIGHER, ST_RANK, ST_GIVEN,
                      STREAM_PAGE_SECTION,
                      "share of the arrays in huge pages; -1: unknown"},
    [M_VECTOR_BYTES] = {"vector_bytes", "byte", ST_NEITHER, ST_JOB, ST_GIVEN,
                        STREAM_PAGE_SECTION,
                        "width of the loads and stores of the loops"},
    [M_WRITE_ALLOCATE] = {"write_allocate_ratio", "1", ST_NEITHER, ST_RANK, ST_GIVEN,
                          STREAM_PAST_SECTION, /* copy */
                          "copy rate non-temporal over ordinary: near 1.5 the read of "
                          "what is overwritten is paid, near 1 it is avoided"},
    STREAM_PAST_ROW("copy", 0),
    STREAM_PAST_ROW("scale", 1),
    STREAM_PAST_ROW("add", 2),
    STREAM_PAST_ROW("triad", 3),
    STREAM_PAST_ROW("init", 4),
    STREAM_PAST_ROW("striad", 5),
};

/* Is this kernel measured? Non-temporal stores leave out those that read what they write. */
static bool stream_has(const struct stream_params *p, size_t kernel)
{
    const enum stk_stream_kernel k = (enum stk_stream_kernel)kernel;

    return (p->kernels & (1U << kernel)) != 0 &&
           (p->stores != STK_NONTEMPORAL || stk_stream_write_only(k));
}

/* Is it measured with non-temporal stores beside ordinary ones? */
static bool stream_has_past(const struct stream_params *p, size_t kernel)
{
    return p->stores == STREAM_BOTH && (p->kernels & (1U << kernel)) != 0 &&
           stk_stream_write_only((enum stk_stream_kernel)kernel);
}

/* Stores of the rows 2k and 2k + 1. */
static enum stk_stores stream_first_stores(const struct stream_params *p)
{
    return p->stores == STK_NONTEMPORAL ? STK_NONTEMPORAL : STK_ORDINARY;
}

static bool stream_applies(const void *parameters, size_t row)
{
    const struct stream_params *p = parameters;

    if (row == M_PAGES_PLACED || row == M_VECTOR_BYTES) {
        return true;
    }
    if (row == M_WRITE_ALLOCATE) {
        return stream_has_past(p, STK_COPY);
    }
    if (row >= M_PAST) {
        return stream_has_past(p, stream_past[row - M_PAST]);
    }
    if (row == M_PAGES_HUGE) {
        return p->pages == ST_PAGES_HUGE;
    }
    return stream_has(p, row / 2);
}

static unsigned stream_uses(const struct stream_params *p)
{
    unsigned used = 0;

    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        used |= stream_has(p, k) ? stk_stream_uses((enum stk_stream_kernel)k) : 0U;
    }
    return used;
}

static size_t stream_n_arrays(const struct stream_params *p)
{
    size_t n = 0;

    for (unsigned used = stream_uses(p); used != 0; used >>= 1) {
        n += used & 1U;
    }
    return n;
}

static void stream_notes(const struct stream_params *p, const struct st_shape *shape,
                         uint64_t array_bytes, struct st_need *need)
{
    char array[32];
    char caches[32];
    size_t length = 0;

    (void)st_format_quantity(array, sizeof array, (double)array_bytes, "byte");
    (void)st_format_quantity(caches, sizeof caches, (double)shape->llc_bytes, "byte");
    if (shape->llc_bytes == 0) {
        length = (size_t)snprintf(
            need->notes, sizeof need->notes,
            "cache sizes unknown: %s per array assumed to be enough", array);
    } else if (array_bytes < st_array_cache_rule(shape->llc_bytes)) {
        length =
            (size_t)snprintf(need->notes, sizeof need->notes,
                             "cache_affected: an array of %s is less than 4 x the %s of "
                             "caches of the node",
                             array, caches);
    }
    const size_t before = length;
    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        if ((p->kernels & (1U << k)) != 0 && !stream_has(p, k)) {
            length += (size_t)snprintf(need->notes + length, sizeof need->notes - length,
                                       "%s%s",
                                       length == 0        ? ""
                                       : length == before ? "; "
                                                          : ", ",
                                       stream_kernels[k]);
        }
    }
    if (length > before) {
        (void)snprintf(need->notes + length, sizeof need->notes - length,
                       ": no non-temporal form, left out");
    }
}

/* Vectors by name of the parameter; the first is whatever every processor of the kind has. */
static const struct stk_stream_isa *stream_find_isa(uint32_t vectors)
{
    const struct stk_stream_isa *isas[STK_N_ISAS];
    const size_t n = stk_stream_isas(STK_N_ISAS, isas);
    const size_t wanted = vectors == STREAM_VECTORS_AUTO ? 0 : vectors - 1;

    return wanted < n ? isas[wanted] : NULL;
}

static enum st_status stream_plan(const void *parameters, const struct st_shape *shape,
                                  struct st_need *need, struct st_error *err)
{
    const struct stream_params *p = parameters;
    const size_t n_arrays = stream_n_arrays(p);
    const size_t n_threads = shape->max_ranks_per_node * shape->max_threads;
    const size_t n_ranks = shape->min_ranks_per_node > 0 ? shape->min_ranks_per_node : 1;
    double bytes = 0.0;

    if (n_arrays == 0) {
        return st_fail(
            err, ST_ERR_CONFIG, "stream: no kernel is left to measure%s",
            p->stores == STK_NONTEMPORAL
                ? "; with nontemporal stores take some of: copy scale add triad init "
                  "striad"
                : "; name at least one in 'kernels'");
    }
    const enum st_status rc = st_memory_possible((enum st_memory_choice)p->memory,
                                                 (size_t)p->memory_node, shape, err);
    if (rc != ST_OK) {
        return rc;
    }
    if (stream_find_isa(p->vectors) == NULL) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "stream: vectors: %s are not on this processor; the widest here are %s",
            stream_vectors[p->vectors], stk_stream_widest()->name);
    }
    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        if (stream_has(p, k) && (p->stores == STK_NONTEMPORAL || stream_has_past(p, k)) &&
            stk_stream_widest()->nontemporal[k] == NULL) {
            return st_fail(
                err, ST_ERR_UNSUPPORTED,
                "stream: no non-temporal stores on this kind of processor; use "
                "stores: ordinary");
        }
        const struct stk_work *work = stk_stream_work((enum stk_stream_kernel)k);
        bytes += stream_has(p, k) ? stk_work_moved_bytes(work, 1) : 0.0;
        bytes += stream_has_past(p, k) ? stk_work_bytes(work, 1) : 0.0;
    }
    const uint64_t array =
        p->size != ST_AUTO ? p->size
                           : st_array_auto_bytes(shape->llc_bytes, shape->memory_bytes,
                                                 n_threads, n_arrays);
    /* The fewest ranks of a node carry most; one huge page more for the stagger of each array. */
    const uint64_t per_rank = array / n_ranks + st_array_grain_bytes;
    need->bytes_per_rank = per_rank * n_arrays;
    if (p->size == ST_AUTO && shape->memory_bytes > 0 && shape->max_ranks_per_node > 0) {
        /* On every node the arrays stay below the share, however uneven the ranks are. */
        const uint64_t most =
            (uint64_t)(st_array_memory_share * (double)shape->memory_bytes) /
                shape->max_ranks_per_node +
            st_array_grain_bytes * n_arrays;
        need->bytes_per_rank = need->bytes_per_rank < most ? need->bytes_per_rank : most;
    }
    /* 2 GB/s: no server in use is slower, also with one thread. */
    const uint64_t n_elements = array / sizeof(double);
    need->seconds_per_repetition = bytes * (double)n_elements / 2e9;
    stream_notes(p, shape, array, need);
    return ST_OK;
}

/* This rank's elements of the node's array: the slices of its threads. */
static size_t stream_share(const struct stream_params *p, const struct st_run *run,
                           const struct st_array_node *node)
{
    const uint64_t bytes =
        p->size != ST_AUTO
            ? p->size
            : st_array_auto_bytes(run->place->llc_bytes, node->memory_bytes,
                                  (size_t)node->n_threads, stream_n_arrays(p));
    const size_t n = (size_t)(bytes / sizeof(double));
    const size_t last_thread = (size_t)node->first_thread + run->place->n_threads - 1;
    size_t first = 0;
    size_t last = 0;
    size_t unused = 0;

    stk_slice(n, (size_t)node->first_thread, (size_t)node->n_threads, &first, &unused);
    stk_slice(n, last_thread, (size_t)node->n_threads, &unused, &last);
    return last - first;
}

/*
 * Arrays at equal offsets modulo 4 KiB disturb each other (store-to-load aliasing): array k
 * starts k x (1 KiB + 64 B) into its mapping (METHODS 1.1). So the first of those bytes of a
 * slice lie on the last page of the slice before.
 */
static enum st_status stream_map(struct st_run *run, struct stream_state *s, size_t k)
{
    const struct stream_params *p = run->params;
    const size_t stagger = k * (1024 + 64);
    size_t bytes = 0;

    if (!st_mul_size(s->n, sizeof(double), &bytes) ||
        !st_add_size(bytes, stagger + st_array_grain_bytes, &bytes)) {
        return st_fail(&run->err, ST_ERR_MEMORY, "stream: an array of %zu elements",
                       s->n);
    }
    bytes -= st_array_grain_bytes;
    if (p->pages ==
        ST_PAGES_HUGE) { /* else the rest of the last 2 MiB would be small pages */
        bytes = (bytes + st_array_grain_bytes - 1) / st_array_grain_bytes *
                st_array_grain_bytes;
    }
    enum st_status rc = st_pages_map(&run->err, bytes > 0 ? bytes : 1,
                                     (enum st_pages)p->pages, &s->map[k]);
    if (rc == ST_OK) {
        /* Through void: the bytes are aligned as doubles, both terms being multiples of 64. */
        s->array[k] = (double *)(void *)((char *)s->map[k].base + stagger);
    }
    return rc;
}

/* Smallest share of huge pages over the arrays: one small array must not hide in the mean. */
static double stream_huge_share_of(const struct stream_state *s)
{
    double least = 1.0;

    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        if (s->map[k].base != NULL) {
            const double share = st_pages_huge_fraction(&s->map[k]);
            least = share < least ? share : least;
        }
    }
    return least;
}

static void stream_call(struct stream_state *s, enum stk_stream_kernel kernel,
                        enum stk_stores stores)
{
    const double factor = st_stream_factor(kernel, s->mirror);
    const struct st_stream_value after = st_stream_after(kernel, s->mirror, factor);
    const enum stk_array writes = stk_stream_writes(kernel);
    const double total = stk_stream(s->isa, kernel, stores, s->n, s->array, factor);

    if (writes != STK_N_ARRAYS) {
        s->mirror[writes] = after;
        return;
    }
    /* At least 16 partial sums: each has n / 16 roundings, and then they are added up. */
    const size_t i = kernel == STK_DOT ? 1 : 0;
    const double n = (double)s->n;
    s->got[i] = total;
    s->sum[i].value = n * after.value;
    s->sum[i].error =
        n * (after.error + (n / 16 + 1000) * (DBL_EPSILON / 2) * fabs(after.value));
    s->summed[i] = true;
}

/* Best time of one kernel. */
static double stream_best(struct stream_state *s, size_t kernel, enum stk_stores stores)
{
    double best = HUGE_VAL;

    for (int pass = 0; pass < STREAM_TRIALS; pass++) {
        const double start = st_now();
        stream_call(s, (enum stk_stream_kernel)kernel, stores);
        best = fmin(best, st_now() - start);
    }
    return best;
}

/* Best time of all kernels of the step with one instruction set. */
static double stream_trial(const struct st_run *run, struct stream_state *s)
{
    const struct stream_params *p = run->params;
    double total = 0.0;

    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        total += stream_has(p, k) ? stream_best(s, k, stream_first_stores(p)) : 0.0;
        total += stream_has_past(p, k) ? stream_best(s, k, STK_NONTEMPORAL) : 0.0;
    }
    return total;
}

/*
 * Choose the instruction set. Collective over the group; ranks whose processors differ take
 * what all of them have. Every rank gets the same answer, so that no node is measured by
 * other loops than the rest.
 */
static enum st_status stream_choose_isa(struct st_run *run, struct stream_state *s)
{
    const struct stream_params *p = run->params;
    const struct stk_stream_isa *isas[STK_N_ISAS];
    const size_t n = stk_stream_isas(STK_N_ISAS, isas);
    double mine[STK_N_ISAS];
    double slowest[STK_N_ISAS];
    size_t fastest = 0;

    if (p->vectors != STREAM_VECTORS_AUTO) {
        s->isa = stream_find_isa(p->vectors); /* plan() made sure that there is one */
        return ST_OK;
    }
    for (size_t v = 0; v < STK_N_ISAS; v++) {
        mine[v] = HUGE_VAL;
        if (v < n) {
            s->isa = isas[v];
            mine[v] = stream_trial(run, s);
        }
    }
    STM_TRY(&run->err, MPI_Allreduce(mine, slowest, STK_N_ISAS, MPI_DOUBLE, MPI_MAX,
                                     run->comm.handle));
    for (size_t v = 1; v < STK_N_ISAS; v++) {
        fastest = slowest[v] < slowest[fastest] ? v : fastest;
    }
    s->isa = isas[fastest];
    return ST_OK;
}

/* Map, place and touch the arrays. Local. */
static enum st_status stream_touch(struct st_run *run, struct stream_state *s)
{
    const struct stream_params *p = run->params;
    const unsigned used = stream_uses(p);

    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        s->mirror[k].value = st_stream_start[k];
        if ((used & (1U << k)) != 0) {
            enum st_status rc = stream_map(run, s, k);
            if (rc == ST_OK) {
                rc = st_memory_aim_put(&s->aim, s->array[k], s->n, &run->err);
            }
            if (rc != ST_OK) {
                return rc;
            }
            stk_stream_fill(s->n, s->array[k], st_stream_start[k]);
        }
    }
    s->huge = p->pages == ST_PAGES_HUGE ? stream_huge_share_of(s) : -1.0;
    return ST_OK;
}

static void stream_state_work(struct st_run *run, const struct stream_state *s)
{
    const struct stream_params *p = run->params;

    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        const struct stk_work *work = stk_stream_work((enum stk_stream_kernel)k);
        if (stream_has(p, k)) {
            st_set_work(run, 2 * k, stk_work_bytes(work, s->n));
            st_set_work(run, 2 * k + 1,
                        stream_first_stores(p) == STK_ORDINARY
                            ? stk_work_moved_bytes(work, s->n)
                            : stk_work_bytes(work, s->n));
        }
    }
    for (size_t i = 0; i < ST_COUNT(stream_past); i++) {
        if (stream_has_past(p, stream_past[i])) {
            st_set_work(run, M_PAST + i,
                        stk_work_bytes(stk_stream_work(stream_past[i]), s->n));
        }
    }
}

static enum st_status stream_prepare(struct st_run *run, void *state)
{
    const struct stream_params *p = run->params;
    struct stream_state *s = state;
    struct st_array_node node = {0};
    const enum st_status aimed =
        st_memory_aim_create(&s->aim, (enum st_memory_choice)p->memory,
                             (size_t)p->memory_node, run->place, &run->err);

    enum st_status rc = st_array_node_sums(run, &node); /* whatever became of the aim */
    if (rc != ST_OK) {
        return rc;
    }
    if (aimed == ST_OK) {
        const uint64_t most = st_memory_capacity(&s->aim);
        node.memory_bytes = most < node.memory_bytes ? most : node.memory_bytes;
        s->n = stream_share(p, run, &node);
        stream_state_work(run, s);
    }
    /* The choice communicates: a rank without memory must not leave the others in it. */
    rc = stm_agree(&run->comm, aimed == ST_OK ? stream_touch(run, s) : aimed, &run->err);
    return rc == ST_OK ? stream_choose_isa(run, s) : rc;
}

static void stream_look_at_pages(struct st_run *run, struct stream_state *s)
{
    const struct stream_params *p = run->params;
    const size_t place = (size_t)run->comm.rank;
    double share = -1.0;

    for (size_t k = 0; k < run->n_inner; k++) {
        share = st_memory_aim_share(&s->aim, STK_N_ARRAYS, s->array, s->n);
    }
    st_record(run->rec, M_PAGES_PLACED, place, share);
    if (run->comm.rank == 0) { /* owns the job's place */
        st_record(run->rec, M_VECTOR_BYTES, 0, (double)s->isa->vector_bytes);
    }
    if (p->pages == ST_PAGES_HUGE) {
        st_record(run->rec, M_PAGES_HUGE, place, s->huge);
    }
}

static enum st_status stream_run(struct st_run *run, void *state)
{
    const struct stream_params *p = run->params;
    struct stream_state *s = state;
    const bool is_past = run->section >= STREAM_PAST_SECTION;
    const enum stk_stream_kernel kernel =
        is_past ? stream_past[run->section - STREAM_PAST_SECTION]
                : (enum stk_stream_kernel)run->section;

    if (run->section == STREAM_PAGE_SECTION) {
        stream_look_at_pages(run, s);
        return ST_OK;
    }
    const double start = st_now();
    for (size_t k = 0; k < run->n_inner; k++) {
        stream_call(s, kernel, is_past ? STK_NONTEMPORAL : stream_first_stores(p));
    }
    if (kernel == STK_COPY) { /* the non-temporal section comes later in a repetition */
        const double copy_s = (st_now() - start) / (double)run->n_inner;
        if (is_past) {
            st_record(run->rec, M_WRITE_ALLOCATE, (size_t)run->comm.rank,
                      s->copy_s / copy_s);
        }
        s->copy_s = copy_s;
    }
    return ST_OK;
}

static void stream_verify_array(const struct stream_state *s, size_t k,
                                struct st_check *check)
{
    static const char *const names[STK_N_ARRAYS] = {"element of a", "element of b",
                                                    "element of c", "element of d"};
    const struct st_stream_value want = s->mirror[k];

    /* Mirror and array may each be off by the bound. */
    check->limit = 2.0 * want.error;
    const struct stk_deviation d =
        stk_stream_compare(s->n, s->array[k], want.value, check->limit);
    if (d.n_bad > 0) {
        st_check_near(check, s->array[k][d.first_bad], want.value, names[k]);
        check->n_bad += d.n_bad - 1;
        check->n_checked += s->n - 1;
    } else {
        check->n_checked += s->n;
    }
    check->worst = d.worst > check->worst ? d.worst : check->worst;
}

static enum st_status stream_verify(struct st_run *run, void *state,
                                    struct st_check *check)
{
    const struct stream_params *p = run->params;
    const struct stream_state *s = state;
    const double placed = st_memory_aim_share(&s->aim, STK_N_ARRAYS, s->array, s->n);

    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        if (s->array[k] != NULL && s->n > 0) {
            stream_verify_array(s, k, check);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (s->summed[i]) {
            check->limit = 2.0 * s->sum[i].error;
            st_check_near(check, s->got[i], s->sum[i].value, i == 0 ? "sum" : "dot");
        }
    }
    if (placed >= 0.0) {
        st_check_true(check, placed >= stream_placed_share,
                      "pages on the NUMA nodes that `memory` wants: fewer than 99 %");
    } else if (run->place->n_numa != 1 && s->n > 0) {
        st_doubt(run, "the system does not tell on which NUMA nodes the arrays are");
    }
    if (p->pages == ST_PAGES_HUGE) {
        st_check_true(
            check, stream_huge_share_of(s) >= stream_huge_share,
            "pages not huge: fewer than 95 % of an array in 2 MiB pages, or unknown");
    }
    return ST_OK;
}

static void stream_release(void *state)
{
    struct stream_state *s = state;

    st_memory_aim_clear(&s->aim);
    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        st_pages_unmap(&s->map[k]);
        s->array[k] = NULL;
    }
}

static void stream_spoil(void *state)
{
    struct stream_state *s = state;

    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        if (s->array[k] != NULL && s->n > 0) {
            s->array[k][s->n / 2] *= 1.001;
            return;
        }
    }
}

const struct st_bench st_bench_stream = {
    .name = "stream",
    .summary = "Sustained memory bandwidth of simple loops over large arrays.",
    .source = "J. D. McCalpin, IEEE TCCA Newsletter, Dec 1995; kernels and factors of "
              "BabelStream",
    ST_TABLES(params, metrics),
    ST_SIZES(struct stream_params, struct stream_state),
    .applies = stream_applies,
    ST_STAGES(stream),
};
