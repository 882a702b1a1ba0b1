#include "src/machine/place.h"

#include "src/base/mem.h"
#include "tests/placement/placing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/*
 * The planner on synthetic machines. hwloc numbers the hardware threads of a synthetic machine
 * depth first: with "Core:N PU:2" core k holds CPUs 2k and 2k+1, so the expected lists follow
 * by counting. The machine `two` has 2 packages of 2 NUMA nodes of 4 cores: NUMA node h holds
 * cores 4h … 4h+3, CPUs 8h … 8h+7.
 */

#define two "Package:2 NUMANode:2 L3Cache:1 Core:4 PU:2"
#define l3s "Package:1 NUMANode:2 L3Cache:2 Core:2 PU:1"

/* Short names keep the tables readable. */
enum {
    NUM = ST_MANY_COUNT,
    CORES = ST_MANY_ALL_CORES,
    NUMA = ST_MANY_PER_NUMA,
    SOCKET = ST_MANY_PER_SOCKET,
    L3 = ST_MANY_PER_L3,
    PUS = ST_MANY_ALL_PUS
};

struct row {
    const char *machine, *usable;
    int ranks;
    size_t n_ranks;
    int threads;
    size_t n_threads;
    bool scatter;
    size_t n_started;
    const char *want;
};

static struct st_layout_request request_of(const struct row *row)
{
    return (struct st_layout_request){.ranks = (enum st_many)row->ranks,
                                      .n_ranks_per_node = row->n_ranks,
                                      .threads = (enum st_many)row->threads,
                                      .n_threads = row->n_threads,
                                      .fill = row->scatter ? ST_FILL_SCATTER
                                                           : ST_FILL_COMPACT};
}

/* clang-format off */
static const struct row rows[] = {
    /* compact: core after core, first hardware thread only */
    {two, NULL, NUM, 4, NUM, 1, false, 32, "0|2|4|6"},
    {two, NULL, NUM, 4, NUM, 4, false, 32, "0-6:2|8-14:2|16-22:2|24-30:2"},
    /* 3 threads: one rank per NUMA node of 4, so that none crosses */
    {two, NULL, NUM, 4, NUM, 3, false, 32, "0-4:2|8-12:2|16-20:2|24-28:2"},
    /* a fifth one has to cross: the cores left over */
    {two, NULL, NUM, 5, NUM, 3, false, 32, "0-4:2|8-12:2|16-20:2|24-28:2|6-22:8"},
    /* 6 threads do not fit a NUMA node of 4: they stay in a package of 8 */
    {two, NULL, NUM, 2, NUM, 6, false, 32, "0-10:2|16-26:2"},
    {two, NULL, NUM, 1, CORES, 0, false, 1, "0-30:2"},
    {two, NULL, NUM, 2, CORES, 0, false, 2, "0-14:2|16-30:2"},
    /* floor(16 / 3) = 5 threads: two packages, then what is left of both */
    {two, NULL, CORES, 0, CORES, 0, false, 3, "0-8:2|16-24:2|10-14:2,26,28"},
    {two, NULL, CORES, 0, NUM, 1, false, 3, "0|2|4"},
    /* scatter: round robin over NUMA nodes, a rank's threads together */
    {two, NULL, NUM, 4, NUM, 1, true, 32, "0|8|16|24"},
    {two, NULL, NUM, 5, NUM, 1, true, 32, "0|8|16|24|2"},
    {two, NULL, NUM, 4, NUM, 2, true, 32, "0,2|8,10|16,18|24,26"},
    {two, NULL, NUM, 1, NUM, 4, true, 32, "0-24:8"},
    /* … and over the two L3s of each node */
    {l3s, NULL, NUM, 6, NUM, 1, true, 8, "0|4|2|6|1|5"},
    {l3s, NULL, NUM, 2, NUM, 3, true, 8, "0-2|4-6"},
    /* one rank per object */
    {two, NULL, NUMA, 0, NUM, 1, false, 4, "0|8|16|24"},
    {two, NULL, NUMA, 0, CORES, 0, false, 4, "0-6:2|8-14:2|16-22:2|24-30:2"},
    {two, NULL, SOCKET, 0, CORES, 0, false, 2, "0-14:2|16-30:2"},
    {two, NULL, L3, 0, NUM, 2, false, 4, "0,2|8,10|16,18|24,26"},
    {l3s, NULL, L3, 0, NUM, 1, false, 4, "0|2|4|6"},
    /* hardware threads count only when asked for */
    {two, NULL, PUS, 0, NUM, 1, false, 3, "0|1|2"},
    {two, NULL, NUM, 2, PUS, 0, false, 2, "0-15|16-31"},
    {two, NULL, NUMA, 0, PUS, 0, false, 4, "0-7|8-15|16-23|24-31"},
    /* the cpuset holds one hardware thread of each core, or holes */
    {"Core:4 PU:2", "1,3,5,7", CORES, 0, NUM, 1, false, 8, "1|3|5|7"},
    {"Core:4 PU:2", "0-1,6", CORES, 0, NUM, 1, false, 8, "0|6"},
    {"Core:4 PU:2", "3,7", NUM, 1, CORES, 0, false, 8, "3,7"},
    /* no cores and no caches in the topology at all; a NUMA node without memory */
    {"Package:2 PU:2", NULL, SOCKET, 0, CORES, 0, false, 2, "0,1|2,3"},
    {"NUMANode:2(memory=0) Core:2 PU:1", NULL, NUMA, 0, CORES, 0, false, 2, "0,1|2,3"},
};
/* clang-format on */

static void plans_are_as_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        char text[1024];
        const struct st_layout_request request = request_of(&rows[i]);

        placing_open(&p, ST_TOPO_SYNTHETIC, rows[i].machine, rows[i].usable);
        if (st_place_plan(&p.cpus, &request, rows[i].n_started, ST_RANKS_AS_ASKED, &plan,
                          &err) != ST_OK) {
            fail_msg("row %zu: %s", i, err.text);
        }
        placing_text(&p.cpus, &plan, text, sizeof text);
        if (strcmp(text, rows[i].want) != 0) {
            fail_msg("row %zu (%s): %s instead of %s", i, rows[i].machine, text,
                     rows[i].want);
        }
        placing_check(&p.cpus, &request, rows[i].n_started, &plan);
        st_placement_clear(&plan);
        placing_close(&p);
    }
}

/* The same plans on a part of the node only: NUMA node 2 of `two` is CPUs 16 … 23, socket 1
 * CPUs 16 … 31; L3 3 of `l3s` is CPUs 6 and 7. */
static void a_part_of_the_node(void **state)
{
    static const struct {
        struct row row;
        enum st_within within;
        size_t n_within;
        const char *say; /* NULL: the plan is row.want */
    } parts[] = {
        {{two, NULL, NUM, 1, CORES, 0, false, 1, "16-30:2"}, ST_WITHIN_SOCKET, 1, NULL},
        {{two, NULL, CORES, 0, NUM, 1, false, 32, "16|18|20|22"},
         ST_WITHIN_NUMA,
         2,
         NULL},
        {{two, NULL, NUM, 1, PUS, 0, false, 1, "16-23"}, ST_WITHIN_NUMA, 2, NULL},
        {{two, NULL, NUM, 2, NUM, 1, true, 2, "16|24"}, ST_WITHIN_SOCKET, 1, NULL},
        {{two, "2-19", NUM, 1, CORES, 0, false, 1, "16,18"}, ST_WITHIN_SOCKET, 1, NULL},
        {{l3s, NULL, NUM, 1, CORES, 0, false, 1, "6,7"}, ST_WITHIN_L3, 3, NULL},
        {{two, NULL, NUM, 5, NUM, 1, false, 8, NULL}, ST_WITHIN_NUMA, 0, "only 4 may"},
        {{two, NULL, NUM, 1, NUM, 1, false, 1, NULL},
         ST_WITHIN_SOCKET,
         2,
         "`within: socket 2`: this node has no CPU there that may be used"},
        {{two, "0-15", NUM, 1, NUM, 1, false, 1, NULL},
         ST_WITHIN_SOCKET,
         1,
         "no CPU there"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(parts); i++) {
        const struct row *row = &parts[i].row;
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        char text[256];
        struct st_layout_request request = request_of(row);

        request.within = parts[i].within;
        request.n_within = parts[i].n_within;
        placing_open(&p, ST_TOPO_SYNTHETIC, row->machine, row->usable);
        const enum st_status rc = st_place_plan(&p.cpus, &request, row->n_started,
                                                ST_RANKS_AS_ASKED, &plan, &err);
        if (parts[i].say != NULL) {
            assert_int_not_equal(rc, ST_OK);
            assert_non_null(strstr(err.text, parts[i].say));
        } else {
            assert_int_equal(rc, ST_OK);
            placing_text(&p.cpus, &plan, text, sizeof text);
            assert_string_equal(text, row->want);
            placing_check(&p.cpus, &request, row->n_started, &plan);
        }
        st_placement_clear(&plan);
        placing_close(&p);
    }
}

static void refusals_say_what_to_write(void **state)
{
    static const struct {
        struct row row;
        enum st_status want;
        const char *say[3];
    } bad[] = {
        {{two, NULL, NUM, 4, NUM, 1, false, 2, NULL},
         ST_ERR_UNSUPPORTED,
         {"started with 2 ranks per node, the step wants 4", "mpirun -n 4", ""}},
        {{two, NULL, NUMA, 0, NUM, 1, false, 1, NULL},
         ST_ERR_UNSUPPORTED,
         {"started with 1 rank per node", "one per NUMA node with CPUs", "4"}},
        {{"Core:4 PU:2", NULL, L3, 0, NUM, 1, false, 8, NULL},
         ST_ERR_UNSUPPORTED,
         {"no L3 cache is known", "per-l3", ""}},
        {{"Core:2 PU:2", NULL, NUM, 3, NUM, 1, false, 8, NULL},
         ST_ERR_STEP,
         {"3 ranks with 1 thread each need 3 cores, but only 2", "`ranks_per_node: 2`",
          "`oversubscribe: yes`"}},
        {{"Core:4 PU:2", NULL, CORES, 0, NUM, 2, false, 4, NULL},
         ST_ERR_STEP,
         {"4 ranks with 2 threads each need 8 cores", "`ranks_per_node: 2`", ""}},
        {{"Core:2 PU:1", NULL, NUM, 2, NUM, 3, false, 4, NULL},
         ST_ERR_STEP,
         {"need 6 cores", "fewer `threads`", ""}},
        {{two, NULL, NUMA, 0, NUM, 5, false, 4, NULL},
         ST_ERR_STEP,
         {"5 threads per rank, but a NUMA node with CPUs has only 4", "`threads: 4`",
          ""}},
        {{two, NULL, NUM, 0, NUM, 1, false, 4, NULL}, ST_ERR_STEP, {"no rank", "", ""}},
        {{two, NULL, NUM, 3, NUM, SIZE_MAX / 2, false, 4, NULL},
         ST_ERR_STEP,
         {"too many to count", "", ""}},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(bad); i++) {
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        const struct st_layout_request request = request_of(&bad[i].row);

        placing_open(&p, ST_TOPO_SYNTHETIC, bad[i].row.machine, NULL);
        assert_int_equal(st_place_plan(&p.cpus, &request, bad[i].row.n_started,
                                       ST_RANKS_AS_ASKED, &plan, &err),
                         bad[i].want);
        for (size_t k = 0; k < 3; k++) {
            if (strstr(err.text, bad[i].say[k]) == NULL) {
                fail_msg("row %zu: '%s' does not say '%s'", i, err.text, bad[i].say[k]);
            }
        }
        assert_null(plan.first);
        placing_close(&p);
    }
}

static void oversubscription_wraps_around(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        size_t n_ranks, n_threads;
        const char *want;
    } wraps[] = {
        {"Core:2 PU:1", NUM, 3, 1, "0|1|0"},
        {"Core:2 PU:1", NUM, 2, 3, "0,1,0|1,0,1"},
        {"Core:2 PU:2", NUM, 3, 1, "0|2|1"}, /* the idle sibling before a second turn */
        {"Package:2 Core:2 PU:1", SOCKET, 0, 3, "0,1,0|2,3,2"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(wraps); i++) {
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        char text[128];
        const struct st_layout_request request = {.ranks = (enum st_many)wraps[i].ranks,
                                                  .n_ranks_per_node = wraps[i].n_ranks,
                                                  .n_threads = wraps[i].n_threads,
                                                  .oversubscribe = true};

        placing_open(&p, ST_TOPO_SYNTHETIC, wraps[i].machine, NULL);
        assert_int_equal(
            st_place_plan(&p.cpus, &request, 8, ST_RANKS_AS_ASKED, &plan, &err), ST_OK);
        placing_text(&p.cpus, &plan, text, sizeof text);
        assert_string_equal(text, wraps[i].want);
        assert_true(plan.oversubscribed);
        assert_non_null(strstr(plan.note, "oversubscribed"));
        st_placement_clear(&plan);
        placing_close(&p);
    }
}

/* 2048 hardware threads: far beyond a 1024-bit mask (CASES 21). */
static void large_machine(void **state)
{
    struct placing p;
    struct st_placement plan = {0};
    struct st_error err = {0};
    struct st_layout_request request = {.ranks = ST_MANY_ALL_CORES, .n_threads = 1};

    (void)state;
    placing_open(&p, ST_TOPO_SYNTHETIC, "Package:16 Core:64 PU:2", NULL);
    assert_int_equal(p.cpus.n, 2048);
    assert_int_equal(p.cpus.n_cores, 1024);
    for (int scatter = 0; scatter < 2; scatter++) {
        request.fill = scatter ? ST_FILL_SCATTER : ST_FILL_COMPACT;
        assert_int_equal(
            st_place_plan(&p.cpus, &request, 2048, ST_RANKS_AS_ASKED, &plan, &err),
            ST_OK);
        assert_int_equal(plan.n_ranks, 1024);
        assert_int_equal(p.cpus.row[plan.cpu[1023]].os, 2046);
        placing_check(&p.cpus, &request, 2048, &plan);
        st_placement_clear(&plan);
    }
    request.ranks = ST_MANY_PER_SOCKET;
    request.threads = ST_MANY_ALL_PUS;
    assert_int_equal(st_place_plan(&p.cpus, &request, 16, ST_RANKS_AS_ASKED, &plan, &err),
                     ST_OK);
    assert_int_equal(plan.n_seats, 2048);
    assert_int_equal(p.cpus.row[plan.cpu[plan.first[15]]].os, 15 * 128);
    placing_check(&p.cpus, &request, 16, &plan);
    st_placement_clear(&plan);
    placing_close(&p);
}

/* Every request on a lopsided machine: properties only. */
static void properties_hold(void **state)
{
    static const char *const machines[] = {two, l3s, "Core:7 PU:2",
                                           "NUMANode:3 Core:5 PU:1",
                                           "Package:3 L3Cache:2 Core:3 PU:4"};
    static const int many[] = {NUM, CORES, NUMA, SOCKET, PUS};
    static const int threads[] = {NUM, CORES, PUS};
    size_t n_planned = 0;

    (void)state;
    for (size_t m = 0; m < ST_COUNT(machines); m++) {
        struct placing p;
        placing_open(&p, ST_TOPO_SYNTHETIC, machines[m], NULL);
        for (size_t k = 0; k < ST_COUNT(many) * ST_COUNT(threads) * 2 * 7; k++) {
            const size_t n = 1 + k % 7;
            const struct row row = {NULL,
                                    NULL,
                                    many[k / 42 % ST_COUNT(many)],
                                    n,
                                    threads[k / 14 % ST_COUNT(threads)],
                                    n,
                                    k / 7 % 2 == 1,
                                    40,
                                    NULL};
            const struct st_layout_request request = request_of(&row);
            struct st_placement plan = {0};
            if (st_place_plan(&p.cpus, &request, 40, ST_RANKS_AS_ASKED, &plan, NULL) ==
                ST_OK) {
                placing_check(&p.cpus, &request, 40, &plan);
                n_planned++;
            }
            st_placement_clear(&plan);
        }
        placing_close(&p);
    }
    assert_true(n_planned > 500);
}

static void notes_tell_unused_cores(void **state)
{
    struct placing p;
    struct st_placement plan = {0};
    struct st_error err = {0};
    const struct st_layout_request request = {.ranks = ST_MANY_ALL_CORES, .n_threads = 1};

    (void)state;
    placing_open(&p, ST_TOPO_SYNTHETIC, "Package:2 Core:32 PU:1", NULL);
    assert_int_equal(st_place_plan(&p.cpus, &request, 2, ST_RANKS_AS_ASKED, &plan, &err),
                     ST_OK);
    assert_string_equal(plan.note, "2 of 64 cores have a rank");
    st_placement_clear(&plan);
    placing_close(&p);
}

static void ranks_are_shared_by_node(void **state)
{
    static const struct {
        struct st_layout_request request;
        enum st_status want;
        size_t take[3];
    } shares[] = {
        {{.nodes = ST_NODES_ALL}, ST_OK, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
        {{.nodes = ST_NODES_EACH}, ST_OK, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
        {{.nodes = ST_NODES_COUNT, .n_nodes = 2}, ST_OK, {SIZE_MAX, SIZE_MAX, 0}},
        {{.nodes = ST_NODES_COUNT, .n_nodes = 4}, ST_ERR_UNSUPPORTED, {0}},
        {{.n_ranks = 5}, ST_OK, {3, 1, 1}}, /* 4 cores 3 ranks, 1 core, 8 cores */
        {{.n_ranks = 6}, ST_OK, {3, 1, 2}},
        {{.n_ranks = 2}, ST_OK, {2, 0, 0}},
        {{.n_ranks = 10}, ST_ERR_STEP, {0}},
        {{.n_ranks = 10, .oversubscribe = true}, ST_OK, {3, 2, 5}},
        {{.n_ranks = 11, .oversubscribe = true}, ST_ERR_UNSUPPORTED, {0}},
        {{.n_ranks = 3, .n_threads = 2}, ST_OK, {2, 0, 1}},
    };
    static const size_t cores[] = {4, 1, 8};
    static const size_t started[] = {3, 2, 5};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(shares); i++) {
        struct st_error err = {0};
        size_t take[3] = {0};
        assert_int_equal(
            st_place_share(&shares[i].request, 3, cores, started, take, &err),
            shares[i].want);
        if (shares[i].want == ST_OK) {
            assert_memory_equal(take, shares[i].take, sizeof take);
        }
    }
}

/* METHODS 1.2: two L3s of 384 MiB are 768 MiB; caches count once, L2s are added. */
static void last_level_cache_is_summed(void **state)
{
    static const struct {
        const char *machine;
        size_t n_threads;
        uint64_t want;
    } sums[] = {
        {"Package:2 L3Cache:1(size=402653184) Core:32 PU:1", 64, UINT64_C(805306368)},
        {"Package:2 L3Cache:1(size=402653184) Core:32 PU:1", 1, UINT64_C(402653184)},
        {"L3Cache:1(size=33554432) L2Cache:4(size=1048576) Core:1 PU:1", 3,
         UINT64_C(33554432) + 3 * 1048576},
        {"L2Cache:4(size=1048576) Core:1 PU:2", 4, 4 * 1048576},
        {"L3Cache:1(size=532676608) Core:1 PU:1", 1, UINT64_C(67108864)}, /* 508 MiB */
        {"Core:4 PU:1", 4, 0},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(sums); i++) {
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        uint64_t bytes = 0;
        const struct st_layout_request request = {.n_ranks_per_node = 1,
                                                  .n_threads = sums[i].n_threads};
        placing_open(&p, ST_TOPO_SYNTHETIC, sums[i].machine, NULL);
        assert_int_equal(
            st_place_plan(&p.cpus, &request, 1, ST_RANKS_AS_ASKED, &plan, &err), ST_OK);
        assert_int_equal(st_cpus_llc(&p.cpus, plan.n_seats, plan.cpu, &bytes, &err),
                         ST_OK);
        assert_true(bytes == sums[i].want);
        st_placement_clear(&plan);
        placing_close(&p);
    }
}

static void absurd_caches_are_cut(void **state)
{
    static const struct {
        uint64_t mib;
        size_t n_cores;
        bool plausible;
        uint64_t want_mib;
    } caches[] = {
        {508, 1, false, 64}, {32, 1, true, 32}, {96, 2, true, 96},
        {96, 8, true, 96},   {0, 1, true, 0},   {1024, 8, false, 512},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(caches); i++) {
        bool plausible = true;
        const uint64_t got =
            st_llc_trust(caches[i].mib << 20, caches[i].n_cores, &plausible);
        assert_true(got == caches[i].want_mib << 20);
        assert_int_equal(plausible, caches[i].plausible);
    }
}

/* Each allocation of a plan fails once: an error, nothing leaked (asan). */
static void failing_allocations(void **state)
{
    struct placing p;
    const struct st_layout_request request = {.n_ranks_per_node = 3, .n_threads = 2};
    bool failed = true;

    (void)state;
    placing_open(&p, ST_TOPO_SYNTHETIC, two, NULL);
    for (uint64_t nth = 1; failed; nth++) {
        struct st_placement plan = {0};
        struct st_error err = {0};
        st_mem_fail_at(nth);
        failed =
            st_place_plan(&p.cpus, &request, 8, ST_RANKS_AS_ASKED, &plan, &err) != ST_OK;
        st_mem_fail_at(0);
        assert_true(!failed || err.code == ST_ERR_MEMORY);
        assert_true(nth < 100);
        st_placement_clear(&plan);
    }
    placing_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_as_counted),
        cmocka_unit_test(a_part_of_the_node),
        cmocka_unit_test(refusals_say_what_to_write),
        cmocka_unit_test(oversubscription_wraps_around),
        cmocka_unit_test(large_machine),
        cmocka_unit_test(properties_hold),
        cmocka_unit_test(notes_tell_unused_cores),
        cmocka_unit_test(ranks_are_shared_by_node),
        cmocka_unit_test(last_level_cache_is_summed),
        cmocka_unit_test(absurd_caches_are_cut),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
