#include "src/machine/memory_limit.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/*
 * A cgroup's limit counts page cache, which the kernel drops under pressure, so what it
 * leaves is limit - (in use - clean file pages). "Unlimited" has many spellings: "max" in v2,
 * a number near 2^63 rounded to a page in v1, and any number no machine has. Limits apply at
 * every ancestor, so each is read from this process's group up to the root of the mount.
 */

enum {
    PATH_SIZE = 1024,
    FILE_LIMIT = 1 << 16,
    MOUNTINFO_LIMIT = 1 << 22
};

/* No machine has 2^60 bytes: at or above it a limit means "none" (v1 says 2^63 - 4096). */
static const uint64_t unlimited = UINT64_C(1) << 60;

static void narrow(struct st_memory_limit *limit, uint64_t bytes, const char *who)
{
    if (bytes < limit->bytes) {
        limit->bytes = bytes;
        (void)st_copy(limit->limit, sizeof limit->limit, who);
    }
}

/* "NAME VALUE" or "NAME: VALUE kB" lines; the value of a name, or false. */
static bool field(const char *text, const char *name, uint64_t *out)
{
    const size_t length = strlen(name);

    for (const char *line = text; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, length) != 0 ||
            (line[length] != ' ' && line[length] != ':')) {
            continue;
        }
        char number[32];
        const char *at = line + length + strspn(line + length, ": \t");
        const size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits >= sizeof number) {
            return false;
        }
        memcpy(number, at, digits);
        number[digits] = '\0';
        return st_parse_u64(number, out);
    }
    return false;
}

static char *read_in(const char *folder, const char *file)
{
    char path[2 * PATH_SIZE];

    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) {
        return NULL;
    }
    return st_read_file(NULL, path, FILE_LIMIT, NULL);
}

/* One number in a file; false for "max", missing or unreadable. */
static bool number_in(const char *folder, const char *file, uint64_t *out)
{
    char *text = read_in(folder, file);
    bool found = false;

    if (text != NULL) {
        text[strcspn(text, " \n")] = '\0';
        found = st_parse_u64(text, out);
    }
    st_free(text);
    return found;
}

/* Clean or cheap to drop: file pages on the LRU lists (shared memory is not among them). */
static uint64_t reclaimable(const char *folder, bool v2)
{
    static const char *const names[2][3] = {
        {"total_inactive_file", "total_active_file", NULL},
        {"inactive_file", "active_file", "slab_reclaimable"}};
    char *text = read_in(folder, "memory.stat");
    uint64_t sum = 0;

    for (size_t i = 0; text != NULL && i < 3; i++) {
        uint64_t value = 0;
        const char *name = names[v2 ? 1 : 0][i];
        if (name != NULL && field(text, name, &value)) {
            sum += value;
        }
    }
    st_free(text);
    return sum;
}

static void narrow_by_group(struct st_memory_limit *limit, const char *folder,
                            const char *name, bool v2)
{
    uint64_t most = UINT64_MAX;
    uint64_t value = 0;
    uint64_t used = 0;

    if (number_in(folder, v2 ? "memory.max" : "memory.limit_in_bytes", &value)) {
        most = value;
    }
    if (v2 && number_in(folder, "memory.high", &value) && value < most) {
        most =
            value; /* above it the kernel throttles: as good as a limit for measuring */
    }
    if (most >= unlimited) {
        return;
    }
    (void)number_in(folder, v2 ? "memory.current" : "memory.usage_in_bytes", &used);
    const uint64_t droppable = reclaimable(folder, v2);
    const uint64_t held = used > droppable ? used - droppable : 0;
    char who[64];
    (void)snprintf(who, sizeof who, "cgroup %.50s", name[0] != '\0' ? name : "/");
    narrow(limit, most > held ? most - held : 0, who);
}

/* From this process's group up to the mount's root. @param base mount point with prefix */
static void narrow_by_groups(struct st_memory_limit *limit, const char *base,
                             const char *group, bool v2)
{
    char path[PATH_SIZE];

    if (strncmp(group, "/..", 3) == 0 || !st_copy(path, sizeof path, group)) {
        path[0] =
            '\0'; /* outside this namespace's view: only the mount itself is visible */
    }
    for (;;) {
        char folder[2 * PATH_SIZE];
        const size_t length = strlen(path);
        if (length > 0 && path[length - 1] == '/') {
            path[length - 1] = '\0';
            continue;
        }
        if (snprintf(folder, sizeof folder, "%s%s", base, path) < (int)sizeof folder) {
            narrow_by_group(limit, folder, path, v2);
        }
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

/* The mount of the memory controller. mountinfo(5): id parent dev ROOT MOUNTPOINT options …
 * - TYPE source SUPER-OPTIONS; root is the group that is mounted there. */
static bool find_mount(const char *mountinfo, bool v2, char *root, char *point)
{
    for (const char *line = mountinfo; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        char type[32] = "";
        char super[512] = "";
        if (sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) != 2) {
            continue;
        }
        const char *tail = strstr(line, " - ");
        const char *end = strchr(line, '\n');
        if (tail == NULL || (end != NULL && tail > end) ||
            sscanf(tail, " - %31s %*s %511s", type, super) < 1) {
            continue;
        }
        if (v2 ? strcmp(type, "cgroup2") == 0
               : strcmp(type, "cgroup") == 0 && strstr(super, "memory") != NULL) {
            return true;
        }
    }
    return false;
}

/* This process's group: "0::/path" (v2) or "N:…memory…:/path" (v1). */
static bool find_group(const char *cgroup, bool v2, char *group)
{
    for (const char *line = cgroup; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        const char *first = strchr(line, ':');
        const char *second = first != NULL ? strchr(first + 1, ':') : NULL;
        if (second == NULL) {
            return false;
        }
        const size_t n = (size_t)(second - first) - 1;
        const char *hit = n > 0 ? strstr(first, "memory") : NULL;
        const bool match = v2 ? n == 0 : hit != NULL && hit < second;
        const size_t length = strcspn(second + 1, "\n");
        if (match && length < PATH_SIZE) {
            memcpy(group, second + 1, length);
            group[length] = '\0';
            return true;
        }
    }
    return false;
}

static void narrow_by_cgroups(struct st_memory_limit *limit, const char *prefix)
{
    char folder[PATH_SIZE];
    char path[PATH_SIZE + 32];

    (void)snprintf(folder, sizeof folder, "%s/proc/self", prefix);
    char *cgroup = read_in(folder, "cgroup");
    (void)snprintf(path, sizeof path, "%s/mountinfo", folder);
    char *mountinfo = st_read_file(NULL, path, MOUNTINFO_LIMIT, NULL);
    for (int v2 = 0; cgroup != NULL && mountinfo != NULL && v2 < 2; v2++) {
        char root[PATH_SIZE];
        char point[PATH_SIZE];
        char group[PATH_SIZE];
        char base[2 * PATH_SIZE];
        if (!find_group(cgroup, v2 == 1, group) ||
            !find_mount(mountinfo, v2 == 1, root, point)) {
            continue;
        }
        const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
        const char *below = strncmp(group, root, n) == 0 ? group + n : "";
        (void)snprintf(base, sizeof base, "%s%s", prefix, point);
        narrow_by_groups(limit, base, below, v2 == 1);
    }
    st_free(cgroup);
    st_free(mountinfo);
}

static void narrow_by_host(struct st_memory_limit *limit, const char *prefix)
{
    char folder[PATH_SIZE];
    uint64_t kib = 0;

    (void)snprintf(folder, sizeof folder, "%s/proc", prefix);
    char *text = read_in(folder, "meminfo");
    /* MemAvailable exists since Linux 3.14; MemFree is the cautious stand-in. */
    if (text != NULL &&
        (field(text, "MemAvailable", &kib) || field(text, "MemFree", &kib))) {
        narrow(limit, kib * 1024, "host");
    }
    st_free(text);
}

/* Slurm states MiB; 0 means all of the node. */
static void narrow_by_slurm(struct st_memory_limit *limit, st_getenv_fn env)
{
    const char *per_node = env("SLURM_MEM_PER_NODE");
    const char *per_cpu = env("SLURM_MEM_PER_CPU");
    const char *cpus = env("SLURM_CPUS_ON_NODE");
    uint64_t mib = 0;
    uint64_t n_cpus = 0;

    if (per_node != NULL && st_parse_u64(per_node, &mib) && mib > 0 &&
        mib < unlimited >> 20) {
        narrow(limit, mib << 20, "SLURM_MEM_PER_NODE");
    }
    if (per_cpu != NULL && cpus != NULL && st_parse_u64(per_cpu, &mib) &&
        st_parse_u64(cpus, &n_cpus) && mib > 0 && n_cpus > 0 &&
        mib < (unlimited >> 20) / n_cpus) {
        narrow(limit, (mib << 20) * n_cpus, "SLURM_MEM_PER_CPU");
    }
}

struct st_memory_limit st_memory_limit_read(const char *root, st_getenv_fn env)
{
    struct st_memory_limit limit = {.bytes = UINT64_MAX, .limit = "unknown"};

    narrow_by_host(&limit, root);
    narrow_by_cgroups(&limit, root);
    narrow_by_slurm(&limit, env);
    return limit;
}

void st_memory_limit_rank(struct st_memory_limit *limit, uint64_t rlimit_bytes,
                          uint64_t n_ranks)
{
    if (rlimit_bytes < unlimited && n_ranks > 0 && rlimit_bytes < UINT64_MAX / n_ranks) {
        narrow(limit, rlimit_bytes * n_ranks, "RLIMIT_AS");
    }
}

uint64_t st_memory_rlimit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return (uint64_t)limit.rlim_cur;
}
