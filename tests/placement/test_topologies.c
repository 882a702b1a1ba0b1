#include "src/base/mem.h"
#include "tests/placement/placing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/*
 * The planner on real machines. Counts are those of the topologies' README; CPU lists come from
 * hwloc's own calculator, independent of the code under test:
 *   hwloc-calc -i FILE --po -I pu core:all.pu:0                 (first thread of each core)
 *   hwloc-calc -i FILE --po -I pu numanode:K.core:0.pu:0        (first CPU of each object)
 *   hwloc-calc -i FILE -N core numanode:K
 * On the KNL and the Opteron, NUMA nodes are no partition of the cores: there the lists follow
 * from `lstopo -i FILE` by the rules of src/machine/place.h.
 */

enum {
    NUM = ST_MANY_COUNT,
    CORES = ST_MANY_ALL_CORES,
    NUMA = ST_MANY_PER_NUMA,
    SOCKET = ST_MANY_PER_SOCKET,
    L3 = ST_MANY_PER_L3,
    PUS = ST_MANY_ALL_PUS
};

/* clang-format off */
static const struct {
    const char *file;
    size_t n_packages, n_numa, n_memory_only, n_cores, n_pus, n_half, n_homes, n_kinds;
    uint64_t llc_mib; /* L3s + L2s of all cores: instances x size, by lstopo */
} machines[] = {
    {"core-1s1n14c-hybrid-smt.xml",      1, 1, 0,  14,  20, 0, 1, 2, 0},
    {"epyc-1s4n64c-smt2-gpu.xml",        1, 4, 0,  64, 128, 0, 4, 1, 8 * 32 + 32},
    {"epyc-2s2n128c.xml",                2, 2, 0, 128, 128, 0, 2, 1, 16 * 32 + 64},
    {"epyc-2s8n48c-smt2-gpu.xml",        2, 8, 0,  48,  96, 0, 8, 1, 16 * 8 + 24},
    {"grace-gb10-1s1n20c-hybrid.xml",    1, 1, 0,  20,  20, 0, 1, 2, 0},
    {"knl-1s8n68c-smt4-hbm.xml",         1, 8, 4,  68, 272, 0, 4, 1, 34},
    {"opteron-8n-cpuset-disallowed.xml", 6, 5, 2,  10,  10, 0, 6, 1, 10},
    {"power9-2s2n40c-smt4-gpu.xml",      2, 2, 0,  40, 160, 0, 2, 1, 20 * 10 + 10},
    {"xeon-2s2n48c-smt2-gpu.xml",        2, 2, 0,  48,  96, 0, 2, 1, 0},
    {"xeon-2s4n40c-smt2-nvdimm.xml",     2, 4, 0,  40,  80, 0, 4, 1, 0},
    {"xeon-4s1n-offline-pus.xml",        4, 1, 0,   6,   7, 5, 1, 1, 4 * 4 + 6},
};

static const struct {
    const char *file;
    int ranks; size_t n_ranks;
    int threads; size_t n_threads;
    bool scatter;
    size_t n_started;
    const char *want;
} rows[] = {
    /* hybrid: SMT on the first kind of cores only */
    {"core-1s1n14c-hybrid-smt.xml", NUM, 1, CORES, 0, false, 1, "0-12:2,13-19"},
    {"core-1s1n14c-hybrid-smt.xml", NUM, 2, CORES, 0, false, 2, "0-12:2|13-19"},
    {"core-1s1n14c-hybrid-smt.xml", NUM, 1, PUS, 0, false, 1, "0-19"},
    {"epyc-1s4n64c-smt2-gpu.xml", NUMA, 0, NUM, 1, false, 64, "0|16|32|48"},
    {"epyc-1s4n64c-smt2-gpu.xml", L3, 0, CORES, 0, false, 8,
     "0-7|8-15|16-23|24-31|32-39|40-47|48-55|56-63"},
    {"epyc-1s4n64c-smt2-gpu.xml", NUM, 6, NUM, 1, true, 64, "0|16|32|48|8|24"},
    {"epyc-1s4n64c-smt2-gpu.xml", NUM, 1, PUS, 0, false, 1, /* siblings are 64 apart */
     "0,64,1,65,2,66,3,67,4,68,5,69,6,70,7,71,8,72,9,73,10,74,11,75,12,76,13,77,14,78,15,79,"
     "16,80,17,81,18,82,19,83,20,84,21,85,22,86,23,87,24,88,25,89,26,90,27,91,28,92,29,93,"
     "30,94,31,95,32,96,33,97,34,98,35,99,36,100,37,101,38,102,39,103,40,104,41,105,42,106,"
     "43,107,44,108,45,109,46,110,47,111,48,112,49,113,50,114,51,115,52,116,53,117,54,118,"
     "55,119,56,120,57,121,58,122,59,123,60,124,61,125,62,126,63,127"},
    {"epyc-2s2n128c.xml", SOCKET, 0, CORES, 0, false, 2, "0-63|64-127"},
    {"epyc-2s2n128c.xml", NUM, 3, CORES, 0, false, 3, "0-41|64-105|42-63,106-125"},
    {"epyc-2s2n128c.xml", NUM, 4, NUM, 8, true, 128, "0-7|64-71|8-15|72-79"},
    {"epyc-2s8n48c-smt2-gpu.xml", NUM, 1, CORES, 0, false, 1, "0-47"},
    {"epyc-2s8n48c-smt2-gpu.xml", NUMA, 0, CORES, 0, false, 8,
     "0-5|6-11|12-17|18-23|24-29|30-35|36-41|42-47"},
    {"epyc-2s8n48c-smt2-gpu.xml", NUM, 10, NUM, 1, true, 48, "0|6|12|18|24|30|36|42|3|9"},
    {"epyc-2s8n48c-smt2-gpu.xml", NUM, 3, NUM, 4, false, 48, "0-3|6-9|12-15"},
    {"grace-gb10-1s1n20c-hybrid.xml", L3, 0, CORES, 0, false, 2, "0-9|10-19"},
    /* DRAM and HBM nodes share their cores: four places, not eight (pmodels/mpich#3306) */
    {"knl-1s8n68c-smt4-hbm.xml", NUMA, 0, NUM, 1, false, 68, "0|18|36|52"},
    {"knl-1s8n68c-smt4-hbm.xml", NUMA, 0, CORES, 0, false, 4, "0-17|18-35|36-51|52-67"},
    {"knl-1s8n68c-smt4-hbm.xml", NUM, 2, NUM, 17, false, 4, "0-16|18-34"},
    /* two nodes have no CPUs; three pairs of CPUs have no node and go by package */
    {"opteron-8n-cpuset-disallowed.xml", NUMA, 0, CORES, 0, false, 6,
     "0,1|2,3|5|6|12,13|14,15"},
    {"opteron-8n-cpuset-disallowed.xml", NUM, 1, CORES, 0, false, 1, "0-3,5,6,12-15"},
    /* holes in the numbering, SMT-4 */
    {"power9-2s2n40c-smt4-gpu.xml", NUM, 1, CORES, 0, false, 1, "8-84:4,96-172:4"},
    {"power9-2s2n40c-smt4-gpu.xml", SOCKET, 0, PUS, 0, false, 2, "8-87|96-175"},
    {"power9-2s2n40c-smt4-gpu.xml", NUM, 4, NUM, 1, true, 40, "8|96|16|104"},
    {"xeon-2s2n48c-smt2-gpu.xml", NUM, 2, CORES, 0, false, 2, "0-23|24-47"},
    {"xeon-2s2n48c-smt2-gpu.xml", NUM, 3, NUM, 1, true, 48, "0|24|1"},
    /* numbering interleaved between sockets; an L3 spans two sub-NUMA clusters */
    {"xeon-2s4n40c-smt2-nvdimm.xml", NUM, 1, CORES, 0, false, 1,
     "0-36:4,2-38:4,1-37:4,3-39:4"},
    {"xeon-2s4n40c-smt2-nvdimm.xml", NUM, 5, NUM, 1, true, 40, "0|2|1|3|4"},
    {"xeon-2s4n40c-smt2-nvdimm.xml", SOCKET, 0, NUM, 2, false, 2, "0,4|1,5"},
    /* offline CPUs: cores with one thread left */
    {"xeon-4s1n-offline-pus.xml", CORES, 0, NUM, 1, false, 16, "0|4|1|6|3|15"},
    {"xeon-4s1n-offline-pus.xml", SOCKET, 0, CORES, 0, false, 4, "0,4|1|6|3,15"},
};
/* clang-format on */

static void open_file(struct placing *p, const char *file)
{
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/topologies/%s", ST_SHARED_DIR, file);
    placing_open(p, ST_TOPO_XML_FILE, path, NULL);
}

static void counts_are_those_of_the_readme(void **state)
{
    (void)state;
    for (size_t i = 0; i < ST_COUNT(machines); i++) {
        struct placing p;
        struct st_topo_counts c;
        open_file(&p, machines[i].file);
        st_topo_counts(p.topo, st_topo_allowed(p.topo), &c);
        if (c.n_packages != machines[i].n_packages || c.n_numa != machines[i].n_numa ||
            c.n_numa_memory_only != machines[i].n_memory_only ||
            c.n_cores != machines[i].n_cores || c.n_pus != machines[i].n_pus ||
            c.n_half_cores != machines[i].n_half ||
            p.cpus.n_homes != machines[i].n_homes ||
            p.cpus.n_kinds != machines[i].n_kinds) {
            fail_msg(
                "%s: %zu packages, %zu NUMA (%zu memory-only), %zu cores, %zu PUs, %zu "
                "half, %zu homes, %zu kinds",
                machines[i].file, c.n_packages, c.n_numa, c.n_numa_memory_only, c.n_cores,
                c.n_pus, c.n_half_cores, p.cpus.n_homes, p.cpus.n_kinds);
        }
        assert_true(c.llc_plausible);
        assert_false(p.topo->this_system);
        assert_false(p.cpus.this_system);
        placing_close(&p);
    }
}

static void plans_are_those_of_hwloc_calc(void **state)
{
    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        char text[2048];
        const struct st_layout_request request = {
            .ranks = (enum st_many)rows[i].ranks,
            .n_ranks_per_node = rows[i].n_ranks,
            .threads = (enum st_many)rows[i].threads,
            .n_threads = rows[i].n_threads,
            .fill = rows[i].scatter ? ST_FILL_SCATTER : ST_FILL_COMPACT};

        open_file(&p, rows[i].file);
        if (st_place_plan(&p.cpus, &request, rows[i].n_started, ST_RANKS_AS_ASKED, &plan,
                          &err) != ST_OK) {
            fail_msg("row %zu (%s): %s", i, rows[i].file, err.text);
        }
        placing_text(&p.cpus, &plan, text, sizeof text);
        if (strcmp(text, rows[i].want) != 0) {
            fail_msg("row %zu (%s): %s instead of %s", i, rows[i].file, text,
                     rows[i].want);
        }
        placing_check(&p.cpus, &request, rows[i].n_started, &plan);
        st_placement_clear(&plan);
        placing_close(&p);
    }
}

static void caches_are_summed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ST_COUNT(machines); i++) {
        struct placing p;
        struct st_placement plan = {0};
        struct st_error err = {0};
        uint64_t bytes = 0;
        const struct st_layout_request request = {.n_ranks_per_node = 1,
                                                  .threads = ST_MANY_ALL_CORES};
        open_file(&p, machines[i].file);
        assert_int_equal(
            st_place_plan(&p.cpus, &request, 1, ST_RANKS_AS_ASKED, &plan, &err), ST_OK);
        assert_int_equal(st_cpus_llc(&p.cpus, plan.n_seats, plan.cpu, &bytes, &err),
                         ST_OK);
        if (machines[i].llc_mib > 0 && bytes != machines[i].llc_mib << 20) {
            fail_msg("%s: %llu bytes", machines[i].file, (unsigned long long)bytes);
        }
        assert_true(bytes > 0);
        st_placement_clear(&plan);
        placing_close(&p);
    }
}

/* Every file of the folder, every kind of request: the properties, also of files added later. */
static void properties_hold_on_every_file(void **state)
{
    static const int many[] = {NUM, CORES, NUMA, SOCKET, L3, PUS};
    static const int threads[] = {NUM, CORES, PUS};
    char folder[1024];
    const struct dirent *entry = NULL;
    size_t n_files = 0;

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/topologies", ST_SHARED_DIR);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        struct placing p;
        if (strstr(entry->d_name, ".xml") == NULL) {
            continue;
        }
        n_files++;
        open_file(&p, entry->d_name);
        for (size_t k = 0; k < ST_COUNT(many) * ST_COUNT(threads) * 2; k++) {
            const struct st_layout_request request = {
                .ranks = (enum st_many)many[k % ST_COUNT(many)],
                .n_ranks_per_node = 3,
                .threads = (enum st_many)threads[k / ST_COUNT(many) % ST_COUNT(threads)],
                .n_threads = 1,
                .fill = k % 2 == 1 ? ST_FILL_SCATTER : ST_FILL_COMPACT};
            struct st_placement plan = {0};
            struct st_error err = {0};
            const enum st_status rc =
                st_place_plan(&p.cpus, &request, 512, ST_RANKS_AS_ASKED, &plan, &err);
            assert_true(rc == ST_OK || rc == ST_ERR_UNSUPPORTED);
            if (rc == ST_OK) {
                placing_check(&p.cpus, &request, 512, &plan);
            }
            st_placement_clear(&plan);
        }
        placing_close(&p);
    }
    (void)closedir(dir);
    assert_true(n_files >= ST_COUNT(machines));
}

/* CASES 9: equal machines compare, others do not; neither do unequal usable sets. */
static void signatures_tell_machines_apart(void **state)
{
    char *seen[ST_COUNT(machines)] = {NULL};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(machines); i++) {
        struct placing p;
        struct st_error err = {0};
        open_file(&p, machines[i].file);
        seen[i] = st_topo_signature(p.topo, &p.cpus, &err);
        assert_non_null(seen[i]);
        char *again = st_topo_signature(p.topo, &p.cpus, &err);
        assert_string_equal(seen[i], again);
        st_free(again);
        struct st_cpus half;
        assert_int_equal(st_cpus_slice(&p.cpus, 0, p.cpus.n_cores / 2, &half, &err),
                         ST_OK);
        char *other = st_topo_signature(p.topo, &half, &err);
        assert_string_not_equal(seen[i], other);
        st_free(other);
        st_cpus_clear(&half);
        placing_close(&p);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(seen[i], seen[k]);
        }
    }
    for (size_t i = 0; i < ST_COUNT(machines); i++) {
        st_free(seen[i]);
    }
}

static void describe(const char *file, struct st_text *text)
{
    struct placing p;

    open_file(&p, file);
    st_topo_describe(p.topo, text);
    placing_close(&p);
}

static void texts_tell_nic_locality(void **state)
{
    static const struct {
        const char *file, *line;
    } lines[] = {
        {"epyc-2s8n48c-smt2-gpu.xml", "  NIC mlx5_0: NUMA 3\n"},
        {"power9-2s2n40c-smt4-gpu.xml", "  NIC mlx5_3: NUMA 1\n"},
        {"knl-1s8n68c-smt4-hbm.xml", "of MCDRAM, memory only, nearest CPUs 0-17,"},
        {"opteron-8n-cpuset-disallowed.xml", "memory only, no CPUs of its own\n"},
        {"epyc-2s2n128c.xml", "NUMA 0: memory size unknown, CPUs 0-63\n"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(lines); i++) {
        struct st_text text = {0};
        describe(lines[i].file, &text);
        if (strstr(st_text_get(&text), lines[i].line) == NULL) {
            fail_msg("%s: no '%s' in\n%s", lines[i].file, lines[i].line,
                     st_text_get(&text));
        }
        st_text_clear(&text);
    }
}

/* What rank 0 stores opens again as the same machine. */
static void xml_round_trip(void **state)
{
    struct placing p;
    struct placing q;
    struct st_error err = {0};

    (void)state;
    open_file(&p, "power9-2s2n40c-smt4-gpu.xml");
    char *xml = st_topo_xml(p.topo, &err);
    assert_non_null(xml);
    placing_open(&q, ST_TOPO_XML_TEXT, xml, NULL);
    assert_int_equal(p.cpus.n, q.cpus.n);
    assert_memory_equal(p.cpus.row, q.cpus.row, p.cpus.n * sizeof *p.cpus.row);
    st_free(xml);
    placing_close(&q);
    placing_close(&p);
}

static void bad_sources_are_errors(void **state)
{
    static const struct {
        enum st_topo_source source;
        const char *text;
    } bad[] = {{ST_TOPO_XML_FILE, "/nonexistent.xml"},
               {ST_TOPO_XML_TEXT, "<topology"},
               {ST_TOPO_SYNTHETIC, "Cabbage:2"}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(bad); i++) {
        struct st_topo *topo = NULL;
        struct st_error err = {0};
        assert_int_equal(st_topo_open(bad[i].source, bad[i].text, &topo, &err),
                         ST_ERR_TOPO);
        assert_null(topo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_readme),
        cmocka_unit_test(plans_are_those_of_hwloc_calc),
        cmocka_unit_test(caches_are_summed),
        cmocka_unit_test(properties_hold_on_every_file),
        cmocka_unit_test(signatures_tell_machines_apart),
        cmocka_unit_test(texts_tell_nic_locality),
        cmocka_unit_test(xml_round_trip),
        cmocka_unit_test(bad_sources_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
