/*
 * latency and loaded_latency stage by stage: curves with all their points, cells between NUMA
 * nodes that this machine need not have (memory calls are replaced), memory that is not where
 * it should be, and what plan() says.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/registry.h"
#include "src/machine/numa.h"
#include "src/measure/recorder.h"
#include "tests/mpi/assert_all.h"

#include <omp.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    N_REPETITIONS = 3,
    N_THREADS = 2,
    N_NUMA = 3, /* two with CPUs, one with memory only */
    MOST_RANKS = 64,
    MOST_RANGES = 64
};

static struct stm_comm world;

/* ---- memory of a machine that this one is not ---- */

static struct {
    const char *start;
    size_t size;
    int node;
} ranges[MOST_RANGES];
static size_t n_ranges;
static bool misplaces; /* every page lands on node 0 */

static long fake_mbind(void *start, unsigned long size, int mode,
                       const unsigned long *mask, unsigned long n_bits, unsigned flags)
{
    int node = 0;

    (void)mode;
    (void)flags;
    while ((unsigned long)node < n_bits && (mask[0] >> node & 1UL) == 0) {
        node++;
    }
    ranges[n_ranges % MOST_RANGES].start = start;
    ranges[n_ranges % MOST_RANGES].size = size;
    ranges[n_ranges % MOST_RANGES].node = misplaces ? 0 : node;
    n_ranges++;
    return 0;
}

static long fake_move_pages(int pid, unsigned long n, void **pages, const int *nodes,
                            int *status, int flags)
{
    (void)pid;
    (void)nodes;
    (void)flags;
    for (unsigned long i = 0; i < n; i++) {
        status[i] = 0;
        for (size_t k = 0; k < MOST_RANGES && k < n_ranges;
             k++) { /* the last one holds */
            const char *page = pages[i];
            if (page >= ranges[k].start && page < ranges[k].start + ranges[k].size) {
                status[i] = ranges[k].node;
            }
        }
    }
    return 0;
}

static long fake_node_here(void)
{
    return 0;
}

static uint64_t fake_free_bytes(long os_node)
{
    (void)os_node;
    return (uint64_t)1 << 30;
}

static const struct st_memory_calls fake_calls = {
    .mbind = fake_mbind,
    .move_pages = fake_move_pages,
    .node_here = fake_node_here,
    .free_bytes = fake_free_bytes,
};

static const struct st_numa_node numa_nodes[N_NUMA] = {
    {.os_index = 0, .has_cpus = true, .memory_bytes = (uint64_t)1 << 30, .kind = "DRAM"},
    {.os_index = 1, .has_cpus = true, .memory_bytes = (uint64_t)1 << 30, .kind = "DRAM"},
    {.os_index = 5, .has_cpus = false, .memory_bytes = (uint64_t)1 << 30, .kind = "CXL"},
};
static const struct st_thread_place thread_places[N_THREADS] = {
    {.pu = 0, .core = 0, .numa = 0},
    {.pu = 1, .core = 1, .numa = 1},
};

/* ---- one benchmark on all ranks ---- */

struct bed {
    const struct st_bench *bench;
    void *params, *state;
    struct st_recorder rec;
    struct st_place_info place;
    struct st_run run;
    size_t node_of[MOST_RANKS];
};

static bool set_params(const struct st_bench *bench, void *params, const char *settings,
                       struct st_error *err)
{
    char text[256];

    (void)st_copy(text, sizeof text, settings);
    for (char *name = text; *name != '\0';) {
        char *end = name + strcspn(name, ";");
        char *value = name + strcspn(name, "=");
        char *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        *value++ = '\0';
        const size_t row = st_bench_param(bench, name);
        if (row == bench->n_params ||
            st_param_parse(&bench->params[row], value, params, err) != ST_OK) {
            return false;
        }
        name = next;
    }
    return true;
}

/* @p one_node: all ranks share node 0, else each has its own; @p n_numa 1: a plain machine */
static void bed_open(struct bed *b, const char *bench, const char *settings,
                     bool one_node, size_t n_numa)
{
    struct st_error err = {0};

    (void)memset(b, 0, sizeof *b);
    b->bench = st_bench_find(&st_registry, bench);
    b->params = st_calloc(&err, 1, b->bench->params_size);
    b->state = st_calloc(&err, 1, b->bench->state_size);
    for (size_t r = 0; r < (size_t)world.n_ranks; r++) {
        b->node_of[r] = one_node ? 0 : r;
    }
    b->place = (struct st_place_info){
        .node = b->node_of[world.rank],
        .n_nodes = one_node ? 1 : (size_t)world.n_ranks,
        .local_rank = one_node ? (size_t)world.rank : 0,
        .n_local_ranks = one_node ? (size_t)world.n_ranks : 1,
        .node_of = b->node_of,
        .n_threads = N_THREADS,
        .llc_bytes = 16384,
        .memory_bytes = (uint64_t)1 << 30,
        .n_numa = n_numa,
        .numa_nodes = numa_nodes,
        .threads = thread_places,
        .l1d_bytes = 4096,
        .l2_bytes = 8192,
        .l3_bytes = 16384,
        .llc_plausible = true,
    };
    omp_set_num_threads(N_THREADS);
    b->run = (struct st_run){.bench = b->bench,
                             .params = b->params,
                             .comm = world,
                             .place = &b->place,
                             .n_inner = 1,
                             .rec = &b->rec};
    const bool good =
        st_params_default(b->bench, b->params, &err) == ST_OK &&
        set_params(b->bench, b->params, settings, &err) &&
        st_recorder_init(&b->rec, b->bench, b->params, &world, &b->place, &err) == ST_OK;
    if (!good) {
        (void)fprintf(stderr, "%s: %s\n", settings, err.text);
    }
    st_assert_all(&world, good);
}

static void bed_close(struct bed *b)
{
    b->bench->release(b->state);
    st_recorder_clear(&b->rec);
    st_free(b->state);
    st_free(b->params);
}

static enum st_status bed_prepare(struct bed *b)
{
    const enum st_status rc = b->bench->prepare(&b->run, b->state);

    return stm_agree(&world, rc, &b->run.err);
}

static void bed_run(struct bed *b)
{
    enum st_status rc = st_recorder_reserve(&b->rec, N_REPETITIONS, &b->run.err);

    b->rec.recording = true;
    for (size_t r = 0; rc == ST_OK && r < N_REPETITIONS; r++) {
        b->rec.repetition = r;
        b->run.repetition = r;
        rc = b->bench->run(&b->run, b->state);
    }
    rc = rc == ST_OK ? st_recorder_check(&b->rec, &b->run.err) : rc;
    if (rc != ST_OK) {
        (void)fprintf(stderr, "%s\n", b->run.err.text);
    }
    st_assert_all(&world, rc == ST_OK);
}

static uint64_t bed_n_bad(struct bed *b)
{
    struct st_check check = {0};
    const enum st_status rc = b->bench->verify(&b->run, b->state, &check);

    st_assert_all(&world, rc == ST_OK);
    return check.n_bad;
}

/* Value of the last repetition at an owned place. */
static double value_at(const struct bed *b, const char *metric, size_t slot)
{
    const size_t row = st_bench_metric(b->bench, metric);

    return b->rec.series[row].values[slot * N_REPETITIONS + N_REPETITIONS - 1];
}

/* ---- tests ---- */

static void sweep_gives_a_curve_of_all_sizes(void **unused)
{
    /* 4 6 8 12 16 24 32 48 64 KiB */
    enum {
        N_SIZES = 9
    };
    struct bed b;

    (void)unused;
    st_memory_use(&fake_calls);
    bed_open(&b, "latency", "largest=64KiB;accesses=320", true, 1);
    st_assert_all(&world, bed_prepare(&b) == ST_OK);
    const struct st_place_list *points = &b.rec.lists[ST_POINT];
    st_assert_all(&world, points->n == N_SIZES * (size_t)world.n_ranks);
    st_assert_all(&world, points->n_owned == N_SIZES);
    bed_run(&b);
    for (size_t i = 0; i < N_SIZES; i++) {
        const double x = value_at(&b, "latency_by_size", i);
        st_assert_all(&world, x > 0.0 && isfinite(x));
        st_assert_all(&world, world.rank != 0 ||
                                  points->all[i].value == (i % 2 == 0 ? 4096.0 : 6144.0) *
                                                              (double)(1 << i / 2));
    }
    /* told caches of 4, 8 and 16 KiB: the third level has 4 to 12 KiB, memory 64 KiB */
    st_assert_all(&world, isnan(value_at(&b, "l1_latency", 0)));
    st_assert_all(&world, value_at(&b, "l3_latency", 0) > 0.0);
    st_assert_all(&world, value_at(&b, "dram_latency", 0) ==
                              value_at(&b, "latency_by_size", N_SIZES - 1));
    st_assert_all(&world, value_at(&b, "l2_size_told", 0) == 8192.0);
    st_assert_all(&world, bed_n_bad(&b) == 0);
    b.bench->spoil(b.state);
    st_assert_all(&world, bed_n_bad(&b) > 0);
    bed_close(&b);
    st_memory_use(NULL);
}

static void chains_give_a_parallelism(void **unused)
{
    struct bed b;

    (void)unused;
    bed_open(&b, "latency", "size=64KiB;chains=1 4 16;accesses=4096", true, 0);
    st_assert_all(&world, bed_prepare(&b) == ST_OK);
    bed_run(&b);
    const double one = value_at(&b, "step_1", 0);
    const double four = 4 * one / value_at(&b, "step_4", 0);
    const double sixteen = 16 * one / value_at(&b, "step_16", 0);
    const double most = fmax(1.0, fmax(four, sixteen));
    st_assert_all(&world, fabs(value_at(&b, "mlp", 0) / most - 1.0) < 1e-12);
    st_assert_all(&world, bed_n_bad(&b) == 0);
    bed_close(&b);
}

/* Each CPU node to each memory node, on the first rank of a node that has a thread there. */
static void cells_are_measured_and_proved(void **unused)
{
    static const struct {
        const char *settings;
        bool one_node;
        size_t n_cells; /* of a node: 2 CPU nodes x 3 memory nodes, or without i = j */
    } rows[] = {
        {"size=16KiB;accesses=64;cells=every", true, 6},
        {"size=16KiB;accesses=64;cells=every", false, 6},
        {"size=16KiB;accesses=64;cells=remote", false, 4},
    };

    (void)unused;
    st_memory_use(&fake_calls);
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct bed b;
        bed_open(&b, "latency", rows[r].settings, rows[r].one_node, N_NUMA);
        st_assert_all(&world, bed_prepare(&b) == ST_OK);
        const struct st_place_list *cells = &b.rec.lists[ST_NUMA];
        const bool measures = !rows[r].one_node || world.rank == 0;
        st_assert_all(&world,
                      cells->n == rows[r].n_cells *
                                      (rows[r].one_node ? 1 : (size_t)world.n_ranks));
        st_assert_all(&world, cells->n_owned == (measures ? rows[r].n_cells : 0));
        bed_run(&b);
        for (size_t i = 0; i < rows[r].n_cells; i++) {
            st_assert_all(&world,
                          !measures || (value_at(&b, "cell_latency", i) > 0.0 &&
                                        value_at(&b, "cell_pages_placed", i) == 1.0));
        }
        st_assert_all(&world, bed_n_bad(&b) == 0);
        bed_close(&b);
    }
    st_memory_use(NULL);
}

static void memory_elsewhere_fails_the_verification(void **unused)
{
    struct bed b;

    (void)unused;
    st_memory_use(&fake_calls);
    misplaces = true;
    bed_open(&b, "latency", "size=16KiB;accesses=64;cells=remote", false, N_NUMA);
    st_assert_all(&world, bed_prepare(&b) == ST_OK);
    bed_run(&b);
    /* memory of nodes 1 and 5 lies on node 0: two of three sets are wrong */
    st_assert_all(&world, bed_n_bad(&b) == 2);
    bed_close(&b);
    misplaces = false;
    st_memory_use(NULL);
}

static void far_memory_needs_two_numa_nodes(void **unused)
{
    (void)unused;
    for (size_t n_numa = 0; n_numa < 2; n_numa++) {
        struct bed b;
        bed_open(&b, "latency", "size=16KiB;cells=remote", true, n_numa);
        st_assert_all(&world, bed_prepare(&b) == ST_ERR_UNSUPPORTED);
        st_assert_all(&world, strstr(b.run.err.text, "two NUMA nodes") != NULL);
        bed_close(&b);
    }
}

static void loaded_latency_gives_a_whole_curve(void **unused)
{
    static const char *const rows[] = {
        "kernel=sum;size=128KiB;chase=16KiB;accesses=512;settle=1ms;pages=small",
        "kernel=update;size=128KiB;chase=16KiB;accesses=512;settle=1ms;pages=small",
        "kernel=nontemporal;size=128KiB;chase=16KiB;accesses=512;settle=1ms;pages=small",
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct bed b;
        double most = 0.0;
        bed_open(&b, "loaded_latency", rows[r], true, 1);
        st_assert_all(&world, bed_prepare(&b) == ST_OK);
        st_assert_all(&world, b.rec.lists[ST_POINT].n_owned == 19);
        bed_run(&b);
        for (size_t i = 0; i < 19; i++) {
            most = fmax(most, value_at(&b, "bandwidth", i));
            st_assert_all(&world, value_at(&b, "latency", i) > 0.0);
        }
        st_assert_all(&world, value_at(&b, "idle_latency", 0) > 0.0);
        st_assert_all(&world, value_at(&b, "max_bandwidth", 0) >= most && most > 0.0);
        st_assert_all(&world, value_at(&b, "latency_at_80", 0) > 0.0);
        st_assert_all(&world, fabs(value_at(&b, "rise", 0)) <= 1.0);
        st_assert_all(&world, bed_n_bad(&b) == 0);
        b.bench->spoil(b.state);
        st_assert_all(&world, bed_n_bad(&b) > 0);
        bed_close(&b);
    }
}

#define GIB ((uint64_t)1 << 30)

static void plans_say_what_is_needed_and_what_is_wrong(void **unused)
{
    static const struct {
        const char *bench, *settings;
        size_t n_threads;
        uint64_t llc_bytes, memory_bytes;
        enum st_status status;
        uint64_t least_bytes, most_bytes;
        const char *text;
    } rows[] = {
        {"latency", "", 1, 34 << 20, 16 * GIB, ST_OK, GIB, GIB * 9 / 8, ""},
        /* 4 x 384 MiB of caches; no more than 60 % of the memory */
        {"latency", "", 1, 384 << 20, 16 * GIB, ST_OK, GIB * 3 / 2, 2 * GIB, ""},
        {"latency", "", 1, 384 << 20, GIB, ST_OK, GIB / 4, GIB * 3 / 4, "no DRAM"},
        {"latency", "size=1GiB", 1, 34 << 20, 16 * GIB, ST_OK, GIB, GIB * 9 / 8, ""},
        {"latency", "size=1GiB;pages=both", 1, 34 << 20, 16 * GIB, ST_OK, 2 * GIB,
         GIB * 17 / 8, ""},
        {"latency", "pages=both", 1, 0, GIB, ST_ERR_CONFIG, 0, 0, "name one size"},
        {"latency", "cells=every", 1, 0, GIB, ST_ERR_CONFIG, 0, 0, "name one size"},
        {"latency", "chains=all", 1, 0, GIB, ST_ERR_CONFIG, 0, 0, "name one size"},
        {"latency", "size=1MiB;chains=2;cells=every", 1, 0, GIB, ST_ERR_CONFIG, 0, 0,
         "one chain"},
        {"latency", "stride=100B", 1, 0, GIB, ST_ERR_CONFIG, 0, 0, "take 128B"},
        {"latency", "size=2KiB;chains=all", 1, 0, GIB, ST_ERR_CONFIG, 0, 0,
         "at least 4096 B"},
        {"latency", "size=256TiB;stride=64B", 1, 0, GIB, ST_ERR_STEP, 0, 0, "stride"},
        {"latency", "largest=4KiB;stride=1MiB", 1, 0, GIB, ST_ERR_STEP, 0, 0,
         "smaller stride"},
        {"loaded_latency", "", 1, 34 << 20, 16 * GIB, ST_ERR_UNSUPPORTED, 0, 0,
         "threads: all-cores"},
        {"loaded_latency", "", 8, 34 << 20, 16 * GIB, ST_OK, GIB / 2, GIB * 5 / 8, ""},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        const struct st_shape shape = {.n_groups = 1,
                                       .n_nodes = 1,
                                       .n_ranks = 1,
                                       .max_ranks_per_node = 1,
                                       .min_ranks_per_node = 1,
                                       .max_threads = rows[r].n_threads,
                                       .n_threads = rows[r].n_threads,
                                       .llc_bytes = rows[r].llc_bytes,
                                       .memory_bytes = rows[r].memory_bytes};
        struct st_need need = {0};
        struct st_error err = {0};
        struct bed b;
        bed_open(&b, rows[r].bench, rows[r].settings, true, 0);
        const enum st_status rc = b.bench->plan(b.params, &shape, &need, &err);
        const char *said = rc == ST_OK ? need.notes : err.text;
        const bool good = rc == rows[r].status && strstr(said, rows[r].text) != NULL &&
                          (rows[r].text[0] != '\0' || said[0] == '\0') &&
                          need.bytes_per_rank >= rows[r].least_bytes &&
                          (rc != ST_OK || (need.bytes_per_rank <= rows[r].most_bytes &&
                                           need.seconds_per_repetition > 0.0));
        if (!good) {
            (void)fprintf(stderr, "%s %s: status %d, %llu bytes, '%s'\n", rows[r].bench,
                          rows[r].settings, (int)rc,
                          (unsigned long long)need.bytes_per_rank, said);
        }
        st_assert_all(&world, good);
        bed_close(&b);
    }
}

/* A set for each NUMA node; none at all where there is one node. */
static void far_memory_is_planned_by_numa_nodes(void **unused)
{
    static const struct {
        size_t n_numa;
        enum st_status status;
        uint64_t n_sets;
    } rows[] = {{0, ST_OK, 2}, {1, ST_ERR_UNSUPPORTED, 0}, {2, ST_OK, 2}, {8, ST_OK, 8}};

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        const struct st_shape shape = {.n_groups = 1,
                                       .n_nodes = 1,
                                       .n_ranks = 1,
                                       .max_ranks_per_node = 1,
                                       .max_threads = 1,
                                       .memory_bytes = 64 * GIB,
                                       .n_numa = rows[r].n_numa};
        struct st_need need = {0};
        struct st_error err = {0};
        struct bed b;
        bed_open(&b, "latency", "size=1GiB;cells=remote", true, 0);
        st_assert_all(&world,
                      b.bench->plan(b.params, &shape, &need, &err) == rows[r].status);
        st_assert_all(&world, need.bytes_per_rank >= rows[r].n_sets * GIB &&
                                  need.bytes_per_rank <= rows[r].n_sets * GIB + GIB / 8);
        bed_close(&b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_gives_a_curve_of_all_sizes),
        cmocka_unit_test(chains_give_a_parallelism),
        cmocka_unit_test(cells_are_measured_and_proved),
        cmocka_unit_test(memory_elsewhere_fails_the_verification),
        cmocka_unit_test(far_memory_needs_two_numa_nodes),
        cmocka_unit_test(loaded_latency_gives_a_whole_curve),
        cmocka_unit_test(plans_say_what_is_needed_and_what_is_wrong),
        cmocka_unit_test(far_memory_is_planned_by_numa_nodes),
    };
    struct st_error err = {0};
    int provided = 0;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK ||
        world.n_ranks > MOST_RANKS) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
