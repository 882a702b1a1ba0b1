/*
 * Memory policies and page queries by plain system calls, since libnuma would be one more
 * library for four calls. Any of them may be refused (containers, seccomp) or missing (no
 * NUMA in the kernel): then nothing is claimed.
 *
 * The policy is set on the mapping, not on the thread, so that it holds whoever touches a
 * page first and nothing is left behind for the next step.
 */
#include "src/machine/numa.h"

#include "src/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* linux/mempolicy.h; the header is not everywhere, the numbers are the kernel's contract */
    MODE_BIND = 2,
    MODE_INTERLEAVE = 3,
    MODE_LOCAL = 4,
    FLAG_STRICT = 1,
    FLAG_MEMS_ALLOWED = 1 << 2,
    MAX_NODES = 1024, /* largest CONFIG_NODES_SHIFT of Linux is 10 */
    BITS = 8 * sizeof(unsigned long),
    BATCH = 256 /* pages per query: no memory to allocate, so nothing that can fail */
};

static long system_mbind(void *start, unsigned long size, int mode,
                         const unsigned long *mask, unsigned long n_bits, unsigned flags)
{
    return syscall(SYS_mbind, start, size, mode, mask, n_bits, flags);
}

static long system_move_pages(int pid, unsigned long n, void **pages, const int *nodes,
                              int *status, int flags)
{
    return syscall(SYS_move_pages, pid, n, pages, nodes, status, flags);
}

static long system_node_here(void)
{
    unsigned long memory_nodes[MAX_NODES / BITS] = {0};
    unsigned cpu = 0;
    unsigned node = 0;

    if (syscall(SYS_getcpu, &cpu, &node, NULL) != 0 || node >= MAX_NODES ||
        syscall(SYS_get_mempolicy, NULL, memory_nodes, (unsigned long)MAX_NODES, NULL,
                (unsigned long)FLAG_MEMS_ALLOWED) != 0 ||
        (memory_nodes[node / BITS] >> (node % BITS) & 1UL) == 0) {
        return -1;
    }
    return (long)node;
}

static uint64_t system_free_bytes(long os_node)
{
    char path[64];
    uint64_t kib = 0;

    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%ld/meminfo",
                   os_node);
    char *text = st_read_file(NULL, path, 1 << 16, NULL);
    char *line = text != NULL ? strstr(text, "MemFree:") : NULL;
    if (line != NULL) {
        line += strlen("MemFree:");
        line += strspn(line, " ");
        line[strcspn(line, " \n")] = '\0';
        kib = st_parse_u64(line, &kib) && kib <= UINT64_MAX / 1024 ? kib : 0;
    }
    st_free(text);
    return kib * 1024;
}

static const struct st_memory_calls system_calls = {system_mbind, system_move_pages,
                                                    system_node_here, system_free_bytes};
static const struct st_memory_calls *calls = &system_calls;

void st_memory_use(const struct st_memory_calls *replacement)
{
    calls = replacement != NULL ? replacement : &system_calls;
}

static bool is_node(long os_node)
{
    return os_node >= 0 && os_node < MAX_NODES;
}

static enum st_status place_failed(int why, enum st_memory_policy policy, size_t n_nodes,
                                   const long *os_nodes, struct st_error *err)
{
    static const char *const words[] = {[ST_MEMORY_LOCAL] = "local",
                                        [ST_MEMORY_BIND] = "bound",
                                        [ST_MEMORY_INTERLEAVE] = "interleaved"};

    if (policy == ST_MEMORY_LOCAL) {
        return st_fail(err, ST_ERR_UNSUPPORTED, "memory cannot be made local: mbind: %s",
                       strerror(why));
    }
    return st_fail(err, ST_ERR_UNSUPPORTED,
                   "memory cannot be %s on NUMA node %ld%s: mbind: %s%s", words[policy],
                   os_nodes[0], n_nodes > 1 ? " and others" : "", strerror(why),
                   why == EINVAL  ? " (no such node, or this job may not use its memory)"
                   : why == EPERM ? " (forbidden by the container or batch system)"
                                  : "");
}

enum st_status st_memory_place(const struct st_mapping *mapping,
                               enum st_memory_policy policy, size_t n_nodes,
                               const long *os_nodes, struct st_error *err)
{
    static const int modes[] = {[ST_MEMORY_LOCAL] = MODE_LOCAL,
                                [ST_MEMORY_BIND] = MODE_BIND,
                                [ST_MEMORY_INTERLEAVE] = MODE_INTERLEAVE};
    unsigned long mask[MAX_NODES / BITS] = {0};
    const bool local = policy == ST_MEMORY_LOCAL;

    if (!local && n_nodes == 0) {
        return st_fail(err, ST_ERR_UNSUPPORTED, "no NUMA node is known to put memory on");
    }
    for (size_t i = 0; !local && i < n_nodes; i++) {
        if (!is_node(os_nodes[i])) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "memory cannot be put on a NUMA node whose number is unknown "
                           "(%ld)",
                           os_nodes[i]);
        }
        mask[(size_t)os_nodes[i] / BITS] |= 1UL << ((size_t)os_nodes[i] % BITS);
    }
    /* The kernel takes one bit less than it is told (mbind(2), get_nodes()). */
    if (calls->mbind(mapping->base, mapping->size_bytes, modes[policy],
                     local ? NULL : mask, local ? 0 : MAX_NODES + 1, FLAG_STRICT) != 0) {
        return place_failed(errno, policy, n_nodes, os_nodes, err);
    }
    return ST_OK;
}

/* Index of a page's node among the wanted ones; n_nodes: elsewhere, or never touched. */
static size_t find_node(int found, size_t n_nodes, const long *os_nodes)
{
    size_t i = 0;

    while (i < n_nodes && (found < 0 || os_nodes[i] != (long)found)) {
        i++;
    }
    return i;
}

enum st_status st_memory_where(const struct st_mapping *mapping, size_t n_samples,
                               size_t n_nodes, const long *os_nodes, double *share,
                               double *share_of, struct st_error *err)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t lead = (size_t)((uintptr_t)mapping->base % page_bytes);
    const size_t n_pages = (mapping->size_bytes + lead + page_bytes - 1) / page_bytes;
    const size_t n = n_samples < n_pages && n_samples > 0 ? n_samples : n_pages;
    void *pages[BATCH];
    int found[BATCH];
    size_t n_there = 0;

    *share = -1.0;
    for (size_t k = 0; share_of != NULL && k < n_nodes; k++) {
        share_of[k] = 0.0;
    }
    for (size_t begin = 0; begin < n; begin += BATCH) {
        const size_t m = n - begin < BATCH ? n - begin : BATCH;
        for (size_t i = 0; i < m; i++) {
            /* One in each of equal parts, at places without a common step (golden ratio), or
             * interleaved pages would all be met on the same node. */
            const double turn = 0.6180339887498949 * (double)(begin + i);
            const double part = ((double)(begin + i) + turn - floor(turn)) / (double)n;
            const size_t page = (size_t)(part * (double)n_pages);
            pages[i] = (char *)mapping->base - lead + page * page_bytes;
        }
        if (calls->move_pages(0, m, pages, NULL, found, 0) != 0) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "the system does not tell where pages are: move_pages: %s",
                           strerror(errno));
        }
        for (size_t i = 0; i < m; i++) {
            const size_t k = find_node(found[i], n_nodes, os_nodes);
            n_there += k < n_nodes ? 1 : 0;
            if (share_of != NULL && k < n_nodes) {
                share_of[k] += 1.0 / (double)n;
            }
        }
    }
    *share = (double)n_there / (double)n;
    return ST_OK;
}

uint64_t st_memory_free(long os_node)
{
    return is_node(os_node) ? calls->free_bytes(os_node) : 0;
}

long st_memory_node_here(void)
{
    return calls->node_here();
}
