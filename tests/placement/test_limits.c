#include "src/machine/facts.h"
#include "src/machine/memory_limit.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Memory limits and facts from a pretended /proc and /sys (CASES 40). Expected bytes follow
 * from the numbers in the rows: limit - (in use - file pages).
 */

enum {
    MIB = 1 << 20
};

static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)st_copy(root, sizeof root, "/tmp/st_limits_XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int type,
                      struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* root + path with its folders. */
static void put(const char *path, const char *content)
{
    char full[1024];

    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char *const *in_force;

static const char *pretended(const char *name)
{
    const size_t length = strlen(name);

    for (const char *const *at = in_force; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            return *at + length + 1;
        }
    }
    return NULL;
}

#define v1_mount "30 20 0:2 / /cg/memory rw - cgroup cgroup rw,memory\n"
#define v2_mount "31 20 0:3 / /cg2 rw - cgroup2 cgroup2 rw\n"
#define host_8g "MemTotal: 9000000 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n"

struct put {
    const char *path, *content;
};

static const struct {
    const char *title;
    struct put files[12];
    const char *env[4];
    uint64_t want_mib; /* 0: unknown */
    const char *limit;
} rows[] = {
    {"nothing to read", {{NULL, NULL}}, {NULL}, 0, "unknown"},
    {"host only", {{"/proc/meminfo", host_8g}}, {NULL}, 8192, "host"},
    {"kernel without MemAvailable",
     {{"/proc/meminfo", "MemFree: 1048576 kB\n"}},
     {NULL},
     1024,
     "host"},
    {"v2, page cache is not in the way",
     {{"/proc/meminfo", host_8g},
      {"/proc/self/cgroup", "0::/a/b\n"},
      {"/proc/self/mountinfo", v2_mount},
      {"/cg2/a/b/memory.max", "max\n"},
      {"/cg2/a/memory.max", "209715200\n"},     /* 200 MiB */
      {"/cg2/a/memory.current", "157286400\n"}, /* 150 MiB, 100 of them file pages */
      {"/cg2/a/memory.stat", "anon 1\ninactive_file 73400320\nactive_file 31457280\n"}},
     {NULL},
     150,
     "cgroup /a"},
    {"v2, memory.high is the lower one",
     {{"/proc/meminfo", host_8g},
      {"/proc/self/cgroup", "0::/a\n"},
      {"/proc/self/mountinfo", v2_mount},
      {"/cg2/a/memory.max", "209715200\n"},
      {"/cg2/a/memory.high", "104857600\n"},
      {"/cg2/a/memory.current", "0\n"}},
     {NULL},
     100,
     "cgroup /a"},
    {"v1, unlimited sentinel, limited ancestor",
     {{"/proc/meminfo", host_8g},
      {"/proc/self/cgroup", "9:cpu:/x\n4:memory:/job/step\n0::/\n"},
      {"/proc/self/mountinfo", v1_mount v2_mount},
      {"/cg/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n"},
      {"/cg/memory/job/memory.limit_in_bytes", "1073741824\n"},
      {"/cg/memory/job/memory.usage_in_bytes", "536870912\n"},
      {"/cg/memory/job/memory.stat",
       "inactive_file 1\ntotal_inactive_file 268435456\ntotal_active_file 0\n"},
      {"/cg/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
     {NULL},
     768,
     "cgroup /job"},
    {"container: the group is the mount's root",
     {{"/proc/meminfo", host_8g},
      {"/proc/self/cgroup", "4:memory:/docker/abc\n"},
      {"/proc/self/mountinfo",
       "30 20 0:2 /docker/abc /cg/memory rw - cgroup cgroup rw,memory\n"},
      {"/cg/memory/memory.limit_in_bytes", "524288000\n"},
      {"/cg/memory/memory.usage_in_bytes", "0\n"}},
     {NULL},
     500,
     "cgroup /"},
    {"namespace: the group is out of sight",
     {{"/proc/meminfo", host_8g},
      {"/proc/self/cgroup", "0::/../other\n"},
      {"/proc/self/mountinfo", v2_mount},
      {"/cg2/memory.max", "104857600\n"}},
     {NULL},
     100,
     "cgroup /"},
    {"more used than allowed",
     {{"/proc/meminfo", host_8g},
      {"/proc/self/cgroup", "0::/a\n"},
      {"/proc/self/mountinfo", v2_mount},
      {"/cg2/a/memory.max", "1048576\n"},
      {"/cg2/a/memory.current", "2097152\n"}},
     {NULL},
     UINT64_MAX,
     "cgroup /a"}, /* stands for 0 */
    {"Slurm per node",
     {{"/proc/meminfo", host_8g}},
     {"SLURM_MEM_PER_NODE=4000"},
     4000,
     "SLURM_MEM_PER_NODE"},
    {"Slurm: all of the node",
     {{"/proc/meminfo", host_8g}},
     {"SLURM_MEM_PER_NODE=0"},
     8192,
     "host"},
    {"Slurm per CPU",
     {{"/proc/meminfo", host_8g}},
     {"SLURM_MEM_PER_CPU=500", "SLURM_CPUS_ON_NODE=4"},
     2000,
     "SLURM_MEM_PER_CPU"},
    {"Slurm per CPU, overflow",
     {{"/proc/meminfo", host_8g}},
     {"SLURM_MEM_PER_CPU=9999999999999", "SLURM_CPUS_ON_NODE=9999999999"},
     8192,
     "host"},
};

static void the_least_limit_wins(void **state)
{
    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(make_root(NULL), 0);
        for (const struct put *file = rows[i].files; file->path != NULL; file++) {
            put(file->path, file->content);
        }
        in_force = rows[i].env;
        const struct st_memory_limit got = st_memory_limit_read(root, pretended);
        uint64_t want = rows[i].want_mib * MIB;
        if (rows[i].want_mib == 0) {
            want = UINT64_MAX;
        } else if (rows[i].want_mib == UINT64_MAX) {
            want = 0;
        }
        if (got.bytes != want || strcmp(got.limit, rows[i].limit) != 0) {
            fail_msg("%s: %llu bytes by '%s'", rows[i].title,
                     (unsigned long long)got.bytes, got.limit);
        }
        assert_int_equal(remove_root(NULL), 0);
    }
}

static void each_rank_has_its_own_rlimit(void **state)
{
    static const struct {
        uint64_t rlimit, n_ranks, want;
        const char *limit;
    } limits[] = {
        {UINT64_MAX, 4, 1000, "host"}, {100, 4, 400, "RLIMIT_AS"},
        {300, 4, 1000, "host"},        {UINT64_MAX / 2, 4, 1000, "host"},
        {1, 0, 1000, "host"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(limits); i++) {
        struct st_memory_limit limit = {.bytes = 1000, .limit = "host"};
        st_memory_limit_rank(&limit, limits[i].rlimit, limits[i].n_ranks);
        assert_true(limit.bytes == limits[i].want);
        assert_string_equal(limit.limit, limits[i].limit);
    }
}

static const char *fact(const struct st_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_facts; i++) {
        if (strcmp(node->facts[i].name, name) == 0) {
            return node->facts[i].value;
        }
    }
    return NULL;
}

static void facts_are_read_or_unknown(void **state)
{
    static const char *const names[] = {"thp",
                                        "thp_defrag",
                                        "governor",
                                        "smt",
                                        "cmdline",
                                        "frequency_khz",
                                        "hugepages_free",
                                        "cstates",
                                        "numa_balancing",
                                        "cpu_model",
                                        "kernel"};
    struct st_node *node = st_calloc(NULL, 1, sizeof *node);
    hwloc_bitmap_t sample = hwloc_bitmap_alloc();

    (void)state;
    assert_non_null(node);
    (void)hwloc_bitmap_set(sample, 3);
    (void)hwloc_bitmap_set(sample, 7);
    st_facts_read(root, sample, NULL, node);
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        assert_non_null(fact(node, names[i]));
    }
    assert_string_equal(fact(node, "thp"), "unknown");
    assert_string_equal(fact(node, "frequency_khz"), "unknown");
    assert_string_equal(fact(node, "hugepages_free"), "unknown");
    assert_string_equal(fact(node, "cpu_model"), "unknown");

    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "64\n");
    put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/cpu7/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "2400000\n");
    put("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
    put("/sys/devices/system/cpu/cpu3/cpuidle/state0/name", "POLL\n");
    put("/sys/devices/system/cpu/cpu3/cpuidle/state1/name", "C6\n");
    put("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "1\n");
    put("/proc/cpuinfo", "processor : 0\nmodel name\t: Old CPU  \nmodel name\t: x\n");
    *node = (struct st_node){0};
    st_facts_read(root, sample, NULL, node);
    assert_string_equal(fact(node, "thp"), "always [madvise] never");
    assert_string_equal(fact(node, "hugepages_free"), "2048kB: 64");
    assert_string_equal(fact(node, "governor"), "performance powersave");
    assert_string_equal(fact(node, "frequency_khz"), "2400000");
    assert_string_equal(fact(node, "cstates"), "intel_idle: POLL C6(off)");
    assert_string_equal(fact(node, "cpu_model"), "Old CPU");
    hwloc_bitmap_free(sample);
    st_free(node);
}

static void the_clock_has_a_step_and_a_cost(void **state)
{
    double step_s = 0.0;
    double cost_s = 0.0;

    (void)state;
    st_clock_quality(&step_s, &cost_s);
    assert_true(step_s > 0.0);
    assert_true(cost_s > 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_wins),
        cmocka_unit_test(each_rank_has_its_own_rlimit),
        cmocka_unit_test_setup_teardown(facts_are_read_or_unknown, make_root,
                                        remove_root),
        cmocka_unit_test(the_clock_has_a_step_and_a_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
