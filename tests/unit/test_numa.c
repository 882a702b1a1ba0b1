/*
 * Memory placement: policies and reading back against a machine that is not there, and who
 * works on which memory, planned for real machines.
 */
#include "kernels/stream.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/part_memory.h"
#include "src/benchmarks/part_numa_cells.h"
#include "src/machine/numa.h"
#include "tests/numa/fake_memory.h"
#include "tests/placement/placing.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    MIB = 1 << 20
};

static struct st_mapping map(size_t bytes)
{
    struct st_mapping m = {0};
    struct st_error err = {0};

    assert_int_equal(st_pages_map(&err, bytes, ST_PAGES_SMALL, &m), ST_OK);
    return m;
}

static void bound_pages_are_found_on_their_node(void **unused)
{
    static const long nodes[] = {5, 2};
    struct st_mapping m = map(8 * MIB);
    struct st_error err = {0};
    double share = 0.0;

    (void)unused;
    fake_memory_start(8);
    assert_int_equal(st_memory_place(&m, ST_MEMORY_BIND, 1, nodes, &err), ST_OK);
    assert_int_equal(st_memory_where(&m, 1000, 1, nodes, &share, NULL, &err), ST_OK);
    assert_true(share == 1.0);
    assert_int_equal(st_memory_where(&m, 1000, 1, nodes + 1, &share, NULL, &err), ST_OK);
    assert_true(share == 0.0);
    fake_memory.found_on = 2; /* the system put them elsewhere */
    assert_int_equal(st_memory_where(&m, 1000, 1, nodes, &share, NULL, &err), ST_OK);
    assert_true(share == 0.0);
    fake_memory_stop();
    st_pages_unmap(&m);
}

static void interleaved_pages_are_found_in_equal_shares(void **unused)
{
    static const long nodes[] = {0, 1, 2, 3};
    struct st_mapping m = map(64 * MIB);
    struct st_error err = {0};
    double share = 0.0;
    double of[4];

    (void)unused;
    fake_memory_start(4);
    assert_int_equal(st_memory_place(&m, ST_MEMORY_INTERLEAVE, 4, nodes, &err), ST_OK);
    /* 1024 samples of 16384 pages: evenly spaced ones would all be on one node. */
    assert_int_equal(st_memory_where(&m, 1024, 4, nodes, &share, of, &err), ST_OK);
    assert_true(share == 1.0);
    for (size_t k = 0; k < 4; k++) {
        assert_true(of[k] > 0.2 && of[k] < 0.3);
    }
    fake_memory_stop();
    st_pages_unmap(&m);
}

static void what_the_system_refuses_is_said(void **unused)
{
    static const struct {
        long node;
        int refuse;
        const char *text;
    } rows[] = {{2, 0, "no such node"},
                {-1, 0, "number is unknown"},
                {0, EPERM, "forbidden by the container"},
                {0, ENOSYS, "mbind"}};
    struct st_mapping m = map(MIB);

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        fake_memory_start(2);
        fake_memory.refuse = rows[i].refuse;
        assert_int_equal(st_memory_place(&m, ST_MEMORY_BIND, 1, &rows[i].node, &err),
                         ST_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    struct st_error err = {0};
    const long node = 0;
    double share = 7.0;
    fake_memory.silent = true;
    assert_int_equal(st_memory_where(&m, 10, 1, &node, &share, NULL, &err),
                     ST_ERR_UNSUPPORTED);
    assert_true(share == -1.0);
    fake_memory_stop();
    st_pages_unmap(&m);
}

static void this_system_tells_touched_from_untouched(void **unused)
{
    const long here = st_memory_node_here();
    struct st_mapping m = map(4 * MIB);
    struct st_error err = {0};
    double share = 0.0;

    (void)unused;
    if (here < 0 || st_memory_where(&m, 64, 1, &here, &share, NULL, &err) != ST_OK ||
        st_memory_place(&m, ST_MEMORY_BIND, 1, &here, &err) != ST_OK) {
        st_pages_unmap(&m);
        skip(); /* the system forbids asking or placing */
    }
    assert_true(share == 0.0);
    (void)memset(m.base, 1, m.size_bytes / 2);
    assert_int_equal(st_memory_where(&m, 1024, 1, &here, &share, NULL, &err), ST_OK);
    assert_true(share == 0.5);
    st_pages_unmap(&m);
}

/* ---- real machines ---- */

/* One rank with a thread on every usable core. */
struct bench_place {
    struct placing placing;
    struct st_placement plan;
    struct st_place_info info;
    struct st_numa_node *nodes;
    struct st_thread_place *threads;
};

static void open_place(struct bench_place *b, const char *file, enum st_many threads,
                       size_t n_threads)
{
    char path[512];
    struct st_error err = {0};
    const struct st_layout_request request = {.ranks = ST_MANY_COUNT,
                                              .n_ranks_per_node = 1,
                                              .threads = threads,
                                              .n_threads = n_threads};

    (void)memset(b, 0, sizeof *b);
    (void)snprintf(path, sizeof path, "%s/topologies/%s", ST_SHARED_DIR, file);
    if (strchr(file, ':') != NULL) {
        placing_open(&b->placing, ST_TOPO_SYNTHETIC, file, NULL);
    } else {
        placing_open(&b->placing, ST_TOPO_XML_FILE, path, NULL);
    }
    if (st_place_plan(&b->placing.cpus, &request, 1, ST_RANKS_AS_ASKED, &b->plan, &err) !=
        ST_OK) {
        fail_msg("%s: %s", file, err.text);
    }
    assert_int_equal(st_topo_numa(b->placing.topo, &b->info.n_numa, &b->nodes, &err),
                     ST_OK);
    b->threads = st_calloc(&err, b->plan.n_seats, sizeof *b->threads);
    assert_non_null(b->threads);
    for (size_t t = 0; t < b->plan.n_seats; t++) {
        const struct st_cpu *cpu = &b->placing.cpus.row[b->plan.cpu[t]];
        b->threads[t] = (struct st_thread_place){
            .pu = cpu->os,
            .l3 = cpu->l3,
            .numa = cpu->numa == ST_CPU_UNKNOWN ? SIZE_MAX : cpu->numa,
            .package = cpu->package};
    }
    for (size_t i = 0; i < b->info.n_numa; i++) {
        assert_int_equal(b->nodes[i].os_index, -1); /* not this system: nothing to bind */
        b->nodes[i].os_index = (long)i;
    }
    b->info.numa_nodes = b->nodes;
    b->info.threads = b->threads;
    b->info.n_threads = b->plan.n_seats;
    b->info.n_local_ranks = 1;
}

static void close_place(struct bench_place *b)
{
    st_free(b->threads);
    st_free(b->nodes);
    st_placement_clear(&b->plan);
    placing_close(&b->placing);
}

/* Numbers of lstopo -i FILE: nodes with cores of their own, nodes with memory, cores of the
 * first row. The EPYC 7763's file has no memory sizes, so it has no columns. */
static const struct {
    const char *file;
    size_t n_rows, n_columns, n_threads;
    const char *kinds; /* first letter of each node's kind */
} machines[] = {
    {"xeon-2s2n48c-smt2-gpu.xml", 2, 2, 24, "DD"},
    {"epyc-2s8n48c-smt2-gpu.xml", 8, 8, 6, "DDDDDDDD"},
    {"epyc-1s4n64c-smt2-gpu.xml", 4, 4, 16, "DDDD"},
    {"xeon-2s4n40c-smt2-nvdimm.xml", 4, 4, 10, "DDDD"},
    {"knl-1s8n68c-smt4-hbm.xml", 4, 8, 18, "DHDHDHDH"},
    {"power9-2s2n40c-smt4-gpu.xml", 2, 2, 20, "DD"},
    {"grace-gb10-1s1n20c-hybrid.xml", 1, 1, 20, "D"},
    {"epyc-2s2n128c.xml", 2, 0, 64, "DD"},
};

static void matrices_of_real_machines(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < ST_COUNT(machines); m++) {
        struct bench_place b;
        struct st_numa_cells cells;
        struct st_error err = {0};
        char kinds[ST_MAX_NUMA + 1] = "";

        open_place(&b, machines[m].file, ST_MANY_ALL_CORES, 0);
        st_numa_cells_plan(&b.info, &cells);
        for (size_t i = 0; i < b.info.n_numa; i++) {
            kinds[i] = b.nodes[i].kind[0];
        }
        if (cells.n_rows != machines[m].n_rows ||
            cells.n_columns != machines[m].n_columns ||
            cells.n_threads[0] != machines[m].n_threads ||
            strcmp(kinds, machines[m].kinds) != 0) {
            fail_msg("%s: %zu x %zu, %zu threads, kinds %s", machines[m].file,
                     cells.n_rows, cells.n_columns, cells.n_threads[0], kinds);
        }
        size_t *slot = st_calloc(&err, b.info.n_threads, sizeof *slot);
        assert_non_null(slot);
        for (size_t i = 0; i < cells.n_rows; i++) {
            const size_t want = cells.n_threads[i] < 4 ? cells.n_threads[i] : 4;
            size_t n_working = 0;
            st_numa_slots(&b.info, cells.row[i], want, slot);
            for (size_t t = 0; t < b.info.n_threads; t++) {
                if (slot[t] != STK_IDLE) {
                    assert_int_equal(b.threads[t].numa, cells.row[i]);
                    assert_int_equal(slot[t], n_working++);
                }
            }
            assert_int_equal(n_working, want);
            assert_true(b.nodes[cells.row[i]].has_cpus);
        }
        st_free(slot);
        close_place(&b);
    }
}

static void memory_only_nodes_are_columns_near_their_cores(void **unused)
{
    struct bench_place b;
    struct st_numa_cells cells;

    (void)unused;
    open_place(&b, "knl-1s8n68c-smt4-hbm.xml", ST_MANY_ALL_CORES, 0);
    st_numa_cells_plan(&b.info, &cells);
    for (size_t i = 0; i < b.info.n_numa; i++) { /* DRAM, HBM, DRAM, … */
        assert_int_equal(b.nodes[i].has_cpus, i % 2 == 0);
        assert_int_equal(b.nodes[i].nearest, i / 2 * 2);
    }
    for (size_t r = 0; r < cells.n_rows; r++) {
        assert_int_equal(cells.column[st_numa_cells_home(&cells, r)], cells.row[r]);
    }
    close_place(&b);
}

/* Nodes that the memory of the first and the last thread is to be on. */
static void aims_on_real_machines(void **unused)
{
    static const struct {
        const char *file;
        enum st_memory_choice choice;
        size_t node;
        const char *first, *last;
    } rows[] = {
        {"xeon-2s2n48c-smt2-gpu.xml", ST_MEMORY_REMOTE, 0, "1", "0"},
        {"epyc-2s8n48c-smt2-gpu.xml", ST_MEMORY_REMOTE, 0, "4 5 6 7", "0 1 2 3"},
        {"epyc-1s4n64c-smt2-gpu.xml", ST_MEMORY_REMOTE, 0, "1", "0"},
        {"knl-1s8n68c-smt4-hbm.xml", ST_MEMORY_REMOTE, 0, "2", "0"},
        {"knl-1s8n68c-smt4-hbm.xml", ST_MEMORY_SPREAD, 0, "0 2 4 6", "0 2 4 6"},
        {"knl-1s8n68c-smt4-hbm.xml", ST_MEMORY_ON_NODE, 3, "3", "3"},
        {"grace-gb10-1s1n20c-hybrid.xml", ST_MEMORY_REMOTE, 0, "", ""},
        {"grace-gb10-1s1n20c-hybrid.xml", ST_MEMORY_SPREAD, 0, "", ""},
        {"xeon-2s2n48c-smt2-gpu.xml", ST_MEMORY_ON_NODE, 2, "", ""},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct bench_place b;
        open_place(&b, rows[i].file, ST_MANY_ALL_CORES, 0);
        const struct st_memory_aim aim = {
            .choice = rows[i].choice, .node = rows[i].node, .place = &b.info};
        for (size_t end = 0; end < 2; end++) {
            long nodes[ST_MAX_NUMA];
            char text[256] = "";
            const size_t n =
                st_memory_nodes(&aim, end == 0 ? 0 : b.info.n_threads - 1, nodes);
            for (size_t k = 0; k < n; k++) {
                const size_t used = strlen(text);
                (void)snprintf(text + used, sizeof text - used, "%s%ld", k > 0 ? " " : "",
                               nodes[k]);
            }
            assert_string_equal(text, end == 0 ? rows[i].first : rows[i].last);
        }
        close_place(&b);
    }
}

/* Three sockets: 0 -> 1 -> 2 -> 0. */
static void remote_memory_is_the_next_sockets_in_a_ring(void **unused)
{
    struct bench_place b;

    (void)unused;
    open_place(&b, "pack:3 numa:1 core:2 pu:1", ST_MANY_ALL_CORES, 0);
    const struct st_memory_aim aim = {.choice = ST_MEMORY_REMOTE, .place = &b.info};
    for (size_t t = 0; t < 6; t++) {
        long nodes[ST_MAX_NUMA];
        assert_int_equal(st_memory_nodes(&aim, t, nodes), 1);
        assert_int_equal(nodes[0], (t / 2 + 1) % 3);
    }
    close_place(&b);
}

/* OS numbers of the seats; hwloc-calc -i FILE --po -I pu l3cache:all.core:0.pu:0 and
 * numanode:all.core:0-1.pu:0. */
static void threads_are_spread_over_caches_and_nodes(void **unused)
{
    static const struct {
        const char *file;
        enum st_many threads;
        size_t n;
        const char *want;
    } rows[] = {
        {"epyc-2s2n128c.xml", ST_MANY_PER_L3, 1, "0-120:8"},
        {"epyc-2s8n48c-smt2-gpu.xml", ST_MANY_PER_NUMA, 1, "0-42:6"},
        {"xeon-2s2n48c-smt2-gpu.xml", ST_MANY_PER_NUMA, 2, "0,1,24,25"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct bench_place b;
        char text[256];
        open_place(&b, rows[i].file, rows[i].threads, rows[i].n);
        placing_text(&b.placing.cpus, &b.plan, text, sizeof text);
        assert_string_equal(text, rows[i].want);
        close_place(&b);
    }
}

static void spreading_is_refused_where_it_cannot_be(void **unused)
{
    static const struct {
        size_t n_ranks, n_threads;
        enum st_status status;
        const char *text;
    } rows[] = {{2, 1, ST_ERR_STEP, "ranks_per_node: 1"},
                {1, 25, ST_ERR_STEP, "only 24 usable cores"}};
    struct bench_place b;

    (void)unused;
    open_place(&b, "xeon-2s2n48c-smt2-gpu.xml", ST_MANY_COUNT, 1);
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        struct st_placement plan = {0};
        const struct st_layout_request request = {.ranks = ST_MANY_COUNT,
                                                  .n_ranks_per_node = rows[i].n_ranks,
                                                  .threads = ST_MANY_PER_NUMA,
                                                  .n_threads = rows[i].n_threads};
        assert_int_equal(
            st_place_plan(&b.placing.cpus, &request, 2, ST_RANKS_AS_ASKED, &plan, &err),
            rows[i].status);
        assert_non_null(strstr(err.text, rows[i].text));
    }
    close_place(&b);
}

/* Arrays of a rank with a thread on each of two sockets, each aiming at the other. */
static void slices_go_where_their_threads_aim(void **unused)
{
    enum {
        N = 64 * STK_SLICE_ELEMENTS
    };
    struct bench_place b;
    struct st_error err = {0};
    struct st_mapping m = map(N * sizeof(double) + MIB);
    char *base = (char *)m.base + 1088;
    double *array = (double *)(void *)base;
    struct st_memory_aim aim = {0};

    (void)unused;
    fake_memory_start(2);
    open_place(&b, "xeon-2s2n48c-smt2-gpu.xml", ST_MANY_PER_NUMA, 1);
    aim = (struct st_memory_aim){.choice = ST_MEMORY_REMOTE, .place = &b.info};
    assert_int_equal(st_memory_aim_put(&aim, array, N, &err), ST_OK);
    assert_int_equal(fake_memory.n_policies, 2);
    assert_true(st_memory_aim_share(&aim, 1, &array, N) == 1.0);
    const long other = 1; /* the first thread's half, by its own pages */
    struct st_mapping half = {.base = m.base, .size_bytes = N / 2 * sizeof(double)};
    double share = 0.0;
    assert_int_equal(st_memory_where(&half, 100, 1, &other, &share, NULL, &err), ST_OK);
    assert_true(share == 1.0);

    fake_memory.found_on = 1;
    assert_true(st_memory_aim_share(&aim, 1, &array, N) == 0.5);
    aim.choice = ST_MEMORY_SPREAD; /* all on one node is not interleaved */
    assert_true(st_memory_aim_share(&aim, 1, &array, N) == 0.0);
    fake_memory.silent = true;
    assert_true(st_memory_aim_share(&aim, 1, &array, N) == -1.0);

    fake_memory.free_bytes =
        4096; /* less than a half: a strict policy would end the process */
    aim.choice = ST_MEMORY_REMOTE;
    assert_int_equal(st_memory_aim_put(&aim, array, N, &err), ST_ERR_STEP);
    close_place(&b);
    fake_memory_stop();
    st_pages_unmap(&m);
}

static void far_memory_on_one_node_is_refused_with_the_reason(void **unused)
{
    static const struct {
        enum st_memory_choice choice;
        size_t node, n_numa;
        const char *text; /* NULL: possible */
    } rows[] = {{ST_MEMORY_OF_THREAD, 0, 0, NULL},
                {ST_MEMORY_REMOTE, 0, 2, NULL},
                {ST_MEMORY_ON_NODE, 0, 1, NULL},
                {ST_MEMORY_REMOTE, 0, 1, "has one"},
                {ST_MEMORY_SPREAD, 0, 1, "has one"},
                {ST_MEMORY_REMOTE, 0, 0, "not known"},
                {ST_MEMORY_ON_NODE, 4, 4, "counted from 0"}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        const struct st_shape shape = {.n_numa = rows[i].n_numa};
        const enum st_status rc =
            st_memory_possible(rows[i].choice, rows[i].node, &shape, &err);
        assert_int_equal(rc, rows[i].text == NULL ? ST_OK : ST_ERR_UNSUPPORTED);
        assert_true(rows[i].text == NULL || strstr(err.text, rows[i].text) != NULL);
    }
}

static void counts_double_up_to_all(void **unused)
{
    static const struct {
        size_t n;
        const char *want;
    } rows[] = {{1, "1"}, {2, "1 2"}, {6, "1 2 4 6"}, {8, "1 2 4 8"}, {9, "1 2 4 8 9"}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        size_t counts[ST_MAX_COUNTS];
        char text[128] = "";
        const size_t n = st_thread_counts(rows[i].n, counts);
        for (size_t k = 0; k < n; k++) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, "%s%zu", k > 0 ? " " : "",
                           counts[k]);
        }
        assert_string_equal(text, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_pages_are_found_on_their_node),
        cmocka_unit_test(interleaved_pages_are_found_in_equal_shares),
        cmocka_unit_test(what_the_system_refuses_is_said),
        cmocka_unit_test(this_system_tells_touched_from_untouched),
        cmocka_unit_test(matrices_of_real_machines),
        cmocka_unit_test(memory_only_nodes_are_columns_near_their_cores),
        cmocka_unit_test(aims_on_real_machines),
        cmocka_unit_test(remote_memory_is_the_next_sockets_in_a_ring),
        cmocka_unit_test(threads_are_spread_over_caches_and_nodes),
        cmocka_unit_test(spreading_is_refused_where_it_cannot_be),
        cmocka_unit_test(slices_go_where_their_threads_aim),
        cmocka_unit_test(far_memory_on_one_node_is_refused_with_the_reason),
        cmocka_unit_test(counts_double_up_to_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
