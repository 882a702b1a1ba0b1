#include "src/machine/facts.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/*
 * Facts are short texts as the kernel prints them. Frequencies are read on one CPU of each
 * NUMA node only: some drivers wake the core to answer, and a node may have thousands.
 */

enum {
    PATH_SIZE = 1024,
    FACT_LIMIT = 1 << 20,
    CLOCK_READS = 100000,
    MOST_STATES = 16
};

static void add(struct st_node *node, const char *name, const char *value)
{
    if (node->n_facts == ST_MAX_FACTS) {
        return;
    }
    struct st_fact *fact = &node->facts[node->n_facts++];
    (void)st_copy(fact->name, sizeof fact->name, name);
    (void)st_copy(fact->value, sizeof fact->value,
                  value != NULL && value[0] != '\0' ? value : "unknown");
    for (size_t n = strlen(fact->value); n > 0 && fact->value[n - 1] == ' '; n--) {
        fact->value[n - 1] = '\0'; /* CPU models are padded with blanks */
    }
}

/* First line of a file; false if it cannot be read or is empty. */
static bool first_line(const char *root, const char *path, char *out, size_t size)
{
    char full[PATH_SIZE];

    out[0] = '\0';
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full) {
        return false;
    }
    char *text = st_read_file(NULL, full, FACT_LIMIT, NULL);
    if (text == NULL) {
        return false;
    }
    text[strcspn(text, "\n")] = '\0';
    (void)st_copy(out, size, text);
    st_free(text);
    return out[0] != '\0';
}

static void add_file(struct st_node *node, const char *root, const char *name,
                     const char *path)
{
    char value[sizeof node->facts[0].value];

    (void)first_line(root, path, value, sizeof value);
    add(node, name, value);
}

/* Distinct values of a per-CPU file over the sample, separated by blanks. */
static void add_per_cpu(struct st_node *node, const char *root,
                        hwloc_const_bitmap_t sample, const char *name, const char *file)
{
    struct st_text text = {0};
    char last[128] = "";

    for (int cpu = hwloc_bitmap_first(sample); cpu >= 0;
         cpu = hwloc_bitmap_next(sample, cpu)) {
        char path[128];
        char value[128];
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu,
                       file);
        if (first_line(root, path, value, sizeof value) && strcmp(value, last) != 0) {
            st_text_add(&text, "%s%s", text.length > 0 ? " " : "", value);
            (void)st_copy(last, sizeof last, value);
        }
    }
    add(node, name, st_text_get(&text));
    st_text_clear(&text);
}

/* "driver: POLL C1 C6(off)" of the first sampled CPU. */
static void add_cstates(struct st_node *node, const char *root, int cpu)
{
    struct st_text text = {0};
    char value[128];

    if (first_line(root, "/sys/devices/system/cpu/cpuidle/current_driver", value,
                   sizeof value)) {
        st_text_add(&text, "%s:", value);
    }
    for (int state = 0; state < MOST_STATES; state++) {
        char path[160];
        (void)snprintf(path, sizeof path,
                       "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/name", cpu, state);
        if (!first_line(root, path, value, sizeof value)) {
            break;
        }
        st_text_add(&text, " %s", value);
        (void)snprintf(path, sizeof path,
                       "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/disable", cpu,
                       state);
        if (first_line(root, path, value, sizeof value) && strcmp(value, "0") != 0) {
            st_text_add(&text, "(off)");
        }
    }
    add(node, "cstates", st_text_get(&text));
    st_text_clear(&text);
}

/* "2048kB: 12 1048576kB: 0" */
static void add_hugepages(struct st_node *node, const char *root)
{
    struct st_text text = {0};
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "%s/sys/kernel/mm/hugepages", root);
    DIR *dir = opendir(path);
    const struct dirent *entry = NULL;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char file[PATH_SIZE];
        char value[64];
        if (strncmp(entry->d_name, "hugepages-", 10) != 0 ||
            snprintf(file, sizeof file, "/sys/kernel/mm/hugepages/%s/free_hugepages",
                     entry->d_name) >= (int)sizeof file) {
            continue;
        }
        if (first_line(root, file, value, sizeof value)) {
            st_text_add(&text, "%s%s: %s", text.length > 0 ? " " : "", entry->d_name + 10,
                        value);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    add(node, "hugepages_free", st_text_get(&text));
    st_text_clear(&text);
}

/* "model name : …" of /proc/cpuinfo. */
static void add_model(struct st_node *node, const char *root, const char *model)
{
    char path[PATH_SIZE];
    char value[256] = "";

    if (model != NULL) {
        add(node, "cpu_model", model);
        return;
    }
    (void)snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    char *text = st_read_file(NULL, path, FACT_LIMIT, NULL);
    const char *line = text != NULL ? strstr(text, "model name") : NULL;
    const char *colon = line != NULL ? strchr(line, ':') : NULL;
    if (colon != NULL) {
        colon += 1 + strspn(colon + 1, " ");
        const size_t length = strcspn(colon, "\n");
        if (length < sizeof value) {
            memcpy(value, colon, length);
            value[length] = '\0';
        }
    }
    st_free(text);
    add(node, "cpu_model", value);
}

void st_facts_read(const char *root, hwloc_const_bitmap_t sample, const char *model,
                   struct st_node *node)
{
    static const struct {
        const char *name, *path;
    } files[] = {
        {"thp", "/sys/kernel/mm/transparent_hugepage/enabled"},
        {"thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag"},
        {"smt", "/sys/devices/system/cpu/smt/control"},
        {"numa_balancing", "/proc/sys/kernel/numa_balancing"},
        {"clocksource",
         "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
        {"cmdline", "/proc/cmdline"},
    };
    struct utsname kernel;

    add_model(node, root, model);
    add(node, "kernel", uname(&kernel) == 0 ? kernel.release : NULL);
    for (size_t i = 0; i < ST_COUNT(files); i++) {
        add_file(node, root, files[i].name, files[i].path);
    }
    add_per_cpu(node, root, sample, "governor", "scaling_governor");
    add_per_cpu(node, root, sample, "frequency_khz", "scaling_cur_freq");
    add_cstates(node, root, hwloc_bitmap_first(sample));
    add_hugepages(node, root);
}

static double now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void st_clock_quality(double *step_s, double *cost_s)
{
    struct timespec last = {0};
    struct timespec t = {0};
    int64_t step_ns = INT64_MAX;
    const double begin_s = now_s();

    (void)clock_gettime(CLOCK_MONOTONIC, &last);
    for (int i = 0; i < CLOCK_READS; i++) {
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        const int64_t d_ns =
            ((int64_t)t.tv_sec - last.tv_sec) * 1000000000 + (t.tv_nsec - last.tv_nsec);
        if (d_ns > 0 && d_ns < step_ns) {
            step_ns = d_ns;
        }
        last = t;
    }
    *cost_s = (now_s() - begin_s) / CLOCK_READS;
    *step_s = step_ns < INT64_MAX ? 1e-9 * (double)step_ns : (double)NAN;
}
