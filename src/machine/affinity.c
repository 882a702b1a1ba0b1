#include "src/machine/affinity.h"

#include "src/base/mem.h"

#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <string.h>

/*
 * The kernel's mask is an array of unsigned long, so it is moved to and from an hwloc bitmap
 * word by word; nothing here counts CPUs. sched_getaffinity() answers EINVAL for a mask that
 * is smaller than the kernel's own (CONFIG_NR_CPUS, 8192 in distribution kernels): grow and
 * ask again. glibc's cpu_set_t is the documented layout of that array.
 */

enum {
    FIRST_WORDS = 16,
    MOST_WORDS = 1 << 16,
    WORD_BITS = 8 * (int)sizeof(unsigned long)
};

hwloc_bitmap_t st_bitmap_new(struct st_error *err)
{
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();

    if (mask == NULL) {
        (void)st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
    }
    return mask;
}

static enum st_status words_to_bitmap(const unsigned long *words, size_t n,
                                      hwloc_bitmap_t out, struct st_error *err)
{
    hwloc_bitmap_zero(out);
    for (size_t i = 0; i < n; i++) {
        if (words[i] != 0 &&
            hwloc_bitmap_set_ith_ulong(out, (unsigned)i, words[i]) != 0) {
            return st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
        }
    }
    return ST_OK;
}

enum st_status st_affinity_get(pid_t tid, hwloc_bitmap_t out, struct st_error *err)
{
    for (size_t n = FIRST_WORDS; n <= MOST_WORDS; n *= 2) {
        unsigned long *words = st_calloc(err, n, sizeof *words);
        if (words == NULL) {
            return ST_ERR_MEMORY;
        }
        const int rc = sched_getaffinity(tid, n * sizeof *words, (cpu_set_t *)words);
        const int why = errno;
        if (rc == 0) {
            const enum st_status status = words_to_bitmap(words, n, out, err);
            st_free(words);
            return status;
        }
        st_free(words);
        if (why != EINVAL) {
            return st_fail(err, ST_ERR_TOPO,
                           "the CPU mask of thread %ld cannot be read: %s", (long)tid,
                           strerror(why));
        }
    }
    return st_fail(
        err, ST_ERR_TOPO,
        "the CPU mask of thread %ld cannot be read: the kernel refuses masks of "
        "up to %d CPUs",
        (long)tid, MOST_WORDS * WORD_BITS);
}

enum st_status st_affinity_set(hwloc_const_bitmap_t mask, struct st_error *err)
{
    const int last = hwloc_bitmap_last(mask);

    if (last < 0) {
        return st_fail(err, ST_ERR_INTERNAL, "binding to an empty or infinite CPU mask");
    }
    const size_t n = (size_t)last / WORD_BITS + 1;
    unsigned long *words = st_calloc(err, n, sizeof *words);
    if (words == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        words[i] = hwloc_bitmap_to_ith_ulong(mask, (unsigned)i);
    }
    const int rc = sched_setaffinity(0, n * sizeof *words, (const cpu_set_t *)words);
    const int why = errno;
    st_free(words);
    if (rc != 0) {
        char list[128];
        (void)hwloc_bitmap_list_snprintf(list, sizeof list, mask);
        return st_fail(err, ST_ERR_TOPO, "a thread cannot be bound to CPU %s: %s", list,
                       strerror(why));
    }
    return ST_OK;
}

static enum st_status add_place(int place, hwloc_bitmap_t out, struct st_error *err)
{
    const int n = omp_get_place_num_procs(place);

    if (n <= 0) {
        return ST_OK;
    }
    int *ids = st_calloc(err, (size_t)n, sizeof *ids);
    if (ids == NULL) {
        return ST_ERR_MEMORY;
    }
    omp_get_place_proc_ids(place, ids);
    for (int i = 0; i < n; i++) {
        if (ids[i] >= 0) {
            (void)hwloc_bitmap_set(out, (unsigned)ids[i]);
        }
    }
    st_free(ids);
    return ST_OK;
}

enum st_status st_affinity_inherited(hwloc_bitmap_t out, struct st_error *err)
{
    enum st_status rc = st_affinity_get(0, out, err);

    for (int place = 0; rc == ST_OK && place < omp_get_num_places(); place++) {
        rc = add_place(place, out, err);
    }
    return rc;
}

char *st_cpu_list(hwloc_const_bitmap_t mask, struct st_error *err)
{
    const int length = hwloc_bitmap_list_snprintf(NULL, 0, mask);

    if (length < 0) {
        (void)st_fail(err, ST_ERR_INTERNAL, "a CPU mask cannot be printed");
        return NULL;
    }
    char *text = st_calloc(err, (size_t)length + 1, 1);
    if (text != NULL) {
        (void)hwloc_bitmap_list_snprintf(text, (size_t)length + 1, mask);
    }
    return text;
}

enum st_status st_cpu_list_parse(const char *text, hwloc_bitmap_t out,
                                 struct st_error *err)
{
    hwloc_bitmap_zero(out);
    if (text[0] != '\0' && hwloc_bitmap_list_sscanf(out, text) != 0) {
        return st_fail(err, ST_ERR_INTERNAL, "'%s' is not a CPU list", text);
    }
    return ST_OK;
}
