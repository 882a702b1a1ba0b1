#include "src/machine/usable.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/affinity.h"
#include "src/machine/cpus.h"
#include "src/machine/nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/*
 * Which CPUs may be used, and which ranks are on one node: the rules as tables, by the text
 * of usable.h and nodes.h.
 */

static const struct {
    bool foreign, hidden, confined;
    const char *allowed, *inherited;
    enum st_parent parent;
    const char *parent_mask; /* NULL: not known */
    size_t slurm_cpus;
    const char *want, *reason; /* want NULL: refused */
} masks[] = {
    /* taskset -c 1 mpirun -n 2 */
    {false, false, false, "0-1", "1", ST_PARENT_LAUNCHER, "1", 0, "1", "cut by mpirun"},
    /* mpirun -n 1 binds its rank to core 0 */
    {false, false, false, "0-1", "0", ST_PARENT_LAUNCHER, "0-1", 0, "0-1", "all CPUs"},
    /* the launcher's mask cannot be read */
    {false, false, false, "0-3", "0,2", ST_PARENT_LAUNCHER, NULL, 0, "0,2", "affinity"},
    /* no launcher: never wider than what was given */
    {false, false, false, "0-7", "2-3", ST_PARENT_OTHER, NULL, 0, "2-3",
     "affinity masks"},
    {false, false, true, "0-3", "0-7", ST_PARENT_OTHER, NULL, 0, "0-3",
     "cgroup's cpuset"},
    /* srun, whole node: the step's masks do not matter */
    {false, false, false, "0-7", "0", ST_PARENT_SLURM, NULL, 8, "0-7", "whole by Slurm"},
    {false, false, false, "0-7", "0", ST_PARENT_SLURM, NULL, 4, "0", "affinity masks"},
    {false, false, false, "0-7", "0-1", ST_PARENT_SLURM, NULL, 0, "0-1",
     "affinity masks"},
    {false, false, true, "4-7", "4", ST_PARENT_SLURM, NULL, 4, "4-7", "cgroup's cpuset"},
    /* beyond 1024 CPUs */
    {false, false, false, "0-2047", "1500-1600", ST_PARENT_OTHER, NULL, 0, "1500-1600",
     ""},
    /* not this system: masks of this system mean nothing there */
    {true, false, false, "0-95", "0-1", ST_PARENT_LAUNCHER, "0-1", 0, "0-95", "not this"},
    {false, true, false, "0-1", "0-1", ST_PARENT_OTHER, NULL, 0, "0-1", "hidden"},
    /* nothing left */
    {false, false, false, "0-3", "8", ST_PARENT_OTHER, NULL, 0, NULL, "0-3"},
    {false, false, false, "0-3", "0", ST_PARENT_LAUNCHER, "5", 0, NULL, "mpirun"},
};

static void usable_follows_the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < ST_COUNT(masks); i++) {
        hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
        hwloc_bitmap_t inherited = hwloc_bitmap_alloc();
        hwloc_bitmap_t parent = hwloc_bitmap_alloc();
        hwloc_bitmap_t out = hwloc_bitmap_alloc();
        struct st_error err = {0};
        char reason[160] = "";

        assert_int_equal(st_cpu_list_parse(masks[i].allowed, allowed, &err), ST_OK);
        assert_int_equal(st_cpu_list_parse(masks[i].inherited, inherited, &err), ST_OK);
        if (masks[i].parent_mask != NULL) {
            assert_int_equal(st_cpu_list_parse(masks[i].parent_mask, parent, &err),
                             ST_OK);
        }
        const struct st_usable_input input = {
            .this_system = !masks[i].foreign,
            .topology_known = !masks[i].hidden,
            .allowed = allowed,
            .inherited = inherited,
            .parent = masks[i].parent,
            .parent_name = "mpirun",
            .parent_mask = masks[i].parent_mask != NULL ? parent : NULL,
            .slurm_cpus_on_node = masks[i].slurm_cpus,
            .confined = masks[i].confined};
        const enum st_status rc = st_usable_rule(&input, out, reason, &err);
        assert_int_equal(rc, masks[i].want != NULL ? ST_OK : ST_ERR_LAUNCH);
        if (masks[i].want != NULL) {
            char *list = st_cpu_list(out, &err);
            assert_string_equal(list, masks[i].want);
            st_free(list);
            assert_true(hwloc_bitmap_isincluded(out, allowed));
        }
        if (strstr(rc == ST_OK ? reason : err.text, masks[i].reason) == NULL) {
            fail_msg("row %zu: '%s' does not say '%s'", i,
                     rc == ST_OK ? reason : err.text, masks[i].reason);
        }
        hwloc_bitmap_free(allowed);
        hwloc_bitmap_free(inherited);
        hwloc_bitmap_free(parent);
        hwloc_bitmap_free(out);
    }
}

static void launchers_are_known_by_name(void **state)
{
    static const struct {
        const char *comm;
        enum st_parent kind;
    } rows[] = {
        {"mpirun", ST_PARENT_LAUNCHER},  {"orted", ST_PARENT_LAUNCHER},
        {"prted", ST_PARENT_LAUNCHER},   {"hydra_pmi_proxy", ST_PARENT_LAUNCHER},
        {"slurmstepd", ST_PARENT_SLURM}, {"bash", ST_PARENT_OTHER},
        {"", ST_PARENT_OTHER},           {"mpirun_wrapper", ST_PARENT_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(st_parent_kind(rows[i].comm), rows[i].kind);
    }
}

static void keys_are_merged_to_the_coarser(void **state)
{
    static const struct {
        size_t n;
        uint32_t split[6];
        const char *identity[6];
        uint32_t real[6];
        size_t n_real;
        bool disagree;
    } rows[] = {
        {1, {0}, {"a"}, {0}, 1, false},
        {4, {0, 0, 0, 3}, {"a", "a", "a", "b"}, {0, 0, 0, 1}, 2, false}, /* 3 + 1 */
        {4, {0, 1, 0, 1}, {"a", "b", "a", "b"}, {0, 1, 0, 1}, 2, false}, /* cyclic */
        /* every rank alone by MPI, one machine by identity (pmodels/mpich#7814) */
        {3, {0, 1, 2}, {"a", "a", "a"}, {0, 0, 0}, 1, true},
        /* containers: two host names on one machine */
        {3, {0, 0, 0}, {"a", "b", "a"}, {0, 0, 0}, 1, true},
        /* chained: 0-1 by identity, 1-2 by split */
        {4, {0, 1, 1, 3}, {"a", "a", "b", "c"}, {0, 0, 0, 1}, 2, true},
        {6,
         {0, 1, 0, 3, 1, 3},
         {"x", "m", "x", "b", "m", "b"},
         {0, 1, 0, 2, 1, 2},
         3,
         false},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        uint32_t real[6] = {9, 9, 9, 9, 9, 9};
        size_t n_real = 0;
        bool disagree = !rows[i].disagree;
        struct st_error err = {0};
        const struct st_node_keys keys = {rows[i].n, rows[i].split, rows[i].identity};
        assert_int_equal(st_nodes_merge(&keys, real, &n_real, &disagree, &err), ST_OK);
        assert_memory_equal(real, rows[i].real, rows[i].n * sizeof *real);
        assert_int_equal(n_real, rows[i].n_real);
        assert_int_equal(disagree, rows[i].disagree);
    }
}

static void fake_nodes_follow_their_spec(void **state)
{
    static const struct {
        const char *spec;
        size_t n;
        uint32_t real[7], want[7];
        size_t n_nodes; /* 0: refused */
        const char *say;
    } rows[] = {
        {"block:3,1", 4, {0}, {0, 0, 0, 1}, 2, NULL},
        {"block:2,2,1", 5, {0}, {0, 0, 1, 1, 2}, 3, NULL},
        {"block:1,4", 5, {0}, {0, 1, 1, 1, 1}, 2, NULL},
        {"block:2", 7, {0}, {0, 0, 0, 0, 1, 1, 1}, 2, NULL},
        {"block:3", 7, {0}, {0, 0, 0, 1, 1, 2, 2}, 3, NULL},
        {"block:7", 7, {0}, {0, 1, 2, 3, 4, 5, 6}, 7, NULL},
        {"block:1", 3, {0}, {0, 0, 0}, 1, NULL},
        {"cyclic:4", 7, {0}, {0, 1, 2, 3, 0, 1, 2}, 4, NULL},
        {"cyclic:1", 2, {0}, {0, 0}, 1, NULL},
        {"block:1,1,2", 4, {0, 0, 1, 1}, {0, 1, 2, 2}, 3, NULL},
        {"cyclic:2", 4, {0, 0, 1, 1}, {0}, 0, "two hosts"},
        {"block:3,1", 4, {0, 0, 1, 1}, {0}, 0, "two hosts"},
        {"block:3,1", 5, {0}, {0}, 0, "fewer ranks"},
        {"block:3,1", 3, {0}, {0}, 0, "more ranks"},
        {"cyclic:4", 3, {0}, {0}, 0, "more nodes"},
        {"block:4", 3, {0}, {0}, 0, "more nodes"},
        {"block:0", 3, {0}, {0}, 0, "above 0"},
        {"block:3,0", 3, {0}, {0}, 0, "above 0"},
        {"block:", 3, {0}, {0}, 0, "above 0"},
        {"block:2,,1", 3, {0}, {0}, 0, "above 0"},
        {"block:2,1,", 3, {0}, {0}, 0, "above 0"},
        {"block:-1,4", 3, {0}, {0}, 0, "above 0"},
        {"cyclic:x", 3, {0}, {0}, 0, "above 0"},
        {"round:2", 3, {0}, {0}, 0, "cyclic:K"},
        {"2", 3, {0}, {0}, 0, "block:N,N"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        uint32_t node[7] = {9, 9, 9, 9, 9, 9, 9};
        size_t n_nodes = 0;
        struct st_error err = {0};
        const enum st_status rc =
            st_nodes_fake(rows[i].spec, rows[i].n, rows[i].real, node, &n_nodes, &err);
        if (rows[i].n_nodes == 0) {
            if (rc != ST_ERR_USAGE || strstr(err.text, rows[i].say) == NULL) {
                fail_msg("%s: status %d '%s'", rows[i].spec, (int)rc, err.text);
            }
            continue;
        }
        assert_int_equal(rc, ST_OK);
        assert_memory_equal(node, rows[i].want, rows[i].n * sizeof *node);
        assert_int_equal(n_nodes, rows[i].n_nodes);
    }
}

/* CASES 24: only the mask is known. */
static void a_mask_alone_makes_a_table(void **state)
{
    struct st_error err = {0};
    struct st_cpus cpus;
    struct st_cpus part;
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    hwloc_bitmap_t back = hwloc_bitmap_alloc();

    (void)state;
    assert_int_equal(st_cpu_list_parse("3,5-6,2000", mask, &err), ST_OK);
    assert_int_equal(st_cpus_from_mask(mask, &cpus, &err), ST_OK);
    assert_int_equal(cpus.n, 4);
    assert_int_equal(cpus.n_cores, 4);
    assert_int_equal(cpus.n_homes, 1);
    assert_false(cpus.known);
    assert_int_equal(st_cpus_find(&cpus, 2000), 3);
    assert_int_equal(st_cpus_find(&cpus, 4), cpus.n);
    assert_int_equal(st_cpus_slice(&cpus, 1, 3, &part, &err), ST_OK);
    assert_int_equal(st_cpus_mask(&part, back, &err), ST_OK);
    char *list = st_cpu_list(back, &err);
    assert_string_equal(list, "5-6");
    st_free(list);
    hwloc_bitmap_zero(mask);
    assert_int_equal(st_cpus_from_mask(mask, &(struct st_cpus){0}, &err), ST_ERR_LAUNCH);
    st_cpus_clear(&part);
    st_cpus_clear(&cpus);
    hwloc_bitmap_free(mask);
    hwloc_bitmap_free(back);
}

static void junk_is_no_cpu_list(void **state)
{
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    struct st_error err = {0};

    (void)state;
    assert_int_equal(st_cpu_list_parse("zero", mask, &err), ST_ERR_INTERNAL);
    assert_int_equal(st_cpu_list_parse("", mask, &err), ST_OK);
    assert_true(hwloc_bitmap_iszero(mask));
    hwloc_bitmap_free(mask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usable_follows_the_rule),
        cmocka_unit_test(launchers_are_known_by_name),
        cmocka_unit_test(keys_are_merged_to_the_coarser),
        cmocka_unit_test(fake_nodes_follow_their_spec),
        cmocka_unit_test(a_mask_alone_makes_a_table),
        cmocka_unit_test(junk_is_no_cpu_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
