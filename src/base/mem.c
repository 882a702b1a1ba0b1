#include "src/base/mem.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Every block carries a header of one cache line in front of what the caller sees. It keeps
 * the block's size (st_resize() must know how much to copy) and the pointer free() wants.
 *
 * Small blocks come from posix_memalign() with exactly the bytes asked for, so that a
 * sanitizer sees an overrun by one. Large blocks come from calloc(), which takes untouched
 * zero pages from the system: a big table costs only what is used of it, and its pages
 * belong to the NUMA node of their first writer.
 *
 * Mappings lie between two inaccessible margins. These catch overruns and keep the kernel
 * from merging a mapping with its neighbours, so /proc/self/smaps speaks of it alone.
 */

enum {
    LAZY_BYTES = 256 * 1024,
    HUGE_BYTES = 2 * 1024 * 1024
};

struct header {
    void *raw;
    size_t size_bytes;
};

static atomic_uint_fast64_t n_allocations;
static atomic_uint_fast64_t failing_allocation; /* its number, from 1; 0: none */

bool st_mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}

bool st_add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b) {
        return false;
    }
    *out = a + b;
    return true;
}

void st_mem_fail_at(uint64_t nth)
{
    atomic_store(&failing_allocation, nth == 0 ? 0 : atomic_load(&n_allocations) + nth);
}

uint64_t st_mem_count(void)
{
    return atomic_load(&n_allocations);
}

/* Count one allocation; true if a test wants it to fail. */
static bool must_fail(void)
{
    const uint64_t number = atomic_fetch_add(&n_allocations, 1) + 1;

    return number == atomic_load(&failing_allocation);
}

static uintptr_t round_up(uintptr_t value, uintptr_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static struct header *header_of(void *block)
{
    return (struct header *)(void *)((char *)block - ST_MEM_ALIGNMENT);
}

static void *small_block(size_t size_bytes, bool zero)
{
    void *raw = NULL;

    if (posix_memalign(&raw, ST_MEM_ALIGNMENT, ST_MEM_ALIGNMENT + size_bytes) != 0) {
        return NULL;
    }
    char *block = (char *)raw + ST_MEM_ALIGNMENT;
    *header_of(block) = (struct header){.raw = raw, .size_bytes = size_bytes};
    if (zero) {
        memset(block, 0, size_bytes);
    }
    return block;
}

static void *large_block(size_t size_bytes)
{
    char *raw = calloc(1, size_bytes + (size_t)2 * ST_MEM_ALIGNMENT);

    if (raw == NULL) {
        return NULL;
    }
    /* A whole line is left in front for the header. */
    const uintptr_t address = (uintptr_t)raw;
    char *block =
        raw + (round_up(address + ST_MEM_ALIGNMENT, ST_MEM_ALIGNMENT) - address);
    *header_of(block) = (struct header){.raw = raw, .size_bytes = size_bytes};
    return block;
}

static void *new_block(struct st_error *err, size_t n, size_t size, bool zero)
{
    size_t size_bytes = 0;
    size_t with_header = 0;

    const bool fail = must_fail();
    if (!st_mul_size(n, size, &size_bytes) ||
        !st_add_size(size_bytes, (size_t)2 * ST_MEM_ALIGNMENT, &with_header)) {
        st_fail(err, ST_ERR_MEMORY,
                "cannot allocate %zu x %zu bytes: more than an address can span", n,
                size);
        return NULL;
    }
    void *block = NULL;
    if (!fail) {
        block = size_bytes < LAZY_BYTES ? small_block(size_bytes, zero)
                                        : large_block(size_bytes);
    }
    if (block == NULL) {
        st_fail(err, ST_ERR_MEMORY,
                "cannot allocate %zu bytes (%zu x %zu): out of memory", size_bytes, n,
                size);
    }
    return block;
}

void *st_calloc(struct st_error *err, size_t n, size_t size)
{
    return new_block(err, n, size, true);
}

void *st_resize(struct st_error *err, void *old, size_t n, size_t size)
{
    void *block = new_block(err, n, size, false);

    if (block != NULL && old != NULL) {
        const size_t old_bytes = header_of(old)->size_bytes;
        const size_t new_bytes = header_of(block)->size_bytes;

        memcpy(block, old, old_bytes < new_bytes ? old_bytes : new_bytes);
        st_free(old);
    }
    return block;
}

char *st_strdup(struct st_error *err, const char *text)
{
    const size_t size_bytes = strlen(text) + 1;
    char *copy = new_block(err, size_bytes, 1, false);

    if (copy != NULL) {
        memcpy(copy, text, size_bytes);
    }
    return copy;
}

void st_free(void *memory)
{
    if (memory != NULL) {
        free(header_of(memory)->raw);
    }
}

/* Bytes to make accessible: whole pages; whole huge pages where those are wanted, because
 * the kernel never puts a huge page over the end of a mapping. */
static bool accessible_bytes(size_t size_bytes, enum st_pages mode, size_t page,
                             size_t *out)
{
    const size_t unit = mode == ST_PAGES_HUGE ? HUGE_BYTES : page;

    if (size_bytes == 0 || size_bytes > SIZE_MAX - HUGE_BYTES) {
        return false;
    }
    *out = round_up(size_bytes, unit);
    return true;
}

enum st_status st_pages_map(struct st_error *err, size_t size_bytes, enum st_pages mode,
                            struct st_mapping *out)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = 0;
    size_t whole = 0;

    *out = (struct st_mapping){0};
    const bool fail = must_fail();
    if (!accessible_bytes(size_bytes, mode, page, &inner) ||
        !st_add_size(inner, HUGE_BYTES + 2 * page, &whole)) {
        return st_fail(err, ST_ERR_MEMORY, "cannot map %zu bytes: no such size",
                       size_bytes);
    }
    char *map = fail ? MAP_FAILED
                     : mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return st_fail(err, ST_ERR_MEMORY, "cannot map %zu bytes: %s", size_bytes,
                       fail ? "out of memory" : strerror(errno));
    }
    const uintptr_t address = (uintptr_t)map;
    char *base = map + (round_up(address + page, HUGE_BYTES) - address);
    if (mprotect(base, inner, PROT_READ | PROT_WRITE) != 0) {
        st_fail(err, ST_ERR_MEMORY, "cannot map %zu bytes: %s", size_bytes,
                strerror(errno));
        munmap(map, whole);
        return ST_ERR_MEMORY;
    }
    /* Advice a kernel without huge pages refuses: then all pages are small, which
     * st_pages_huge_fraction() will say. */
    if (mode == ST_PAGES_HUGE) {
        (void)madvise(base, inner, MADV_HUGEPAGE);
    } else if (mode == ST_PAGES_SMALL) {
        (void)madvise(base, inner, MADV_NOHUGEPAGE);
    }
    *out = (struct st_mapping){
        .base = base, .size_bytes = size_bytes, .map = map, .map_bytes = whole};
    return ST_OK;
}

void st_pages_unmap(struct st_mapping *mapping)
{
    if (mapping->map != NULL) {
        (void)munmap(mapping->map,
                     mapping->map_bytes); /* fails only for a wrong address */
    }
    *mapping = (struct st_mapping){0};
}

/* Sums over the areas of /proc/self/smaps that overlap a range. */
struct resident {
    uintptr_t first, last; /* the range; last is excluded */
    bool inside;           /* the lines now read belong to an overlapping area */
    double normal_kib, transparent_kib, hugetlb_kib;
};

/* One line: either the head of an area, "55d0-55d1 rw-p …", or a field, "Rss: 12 kB". */
static void read_smaps_line(struct resident *sum, const char *line)
{
    static const char *const fields[] = {
        "Rss:", "AnonHugePages:", "Private_Hugetlb:", "Shared_Hugetlb:"};
    double *const into[] = {&sum->normal_kib, &sum->transparent_kib, &sum->hugetlb_kib,
                            &sum->hugetlb_kib};
    char *end = NULL;

    const uintptr_t start = (uintptr_t)strtoull(line, &end, 16);
    if (end != line && *end == '-') {
        const uintptr_t stop = (uintptr_t)strtoull(end + 1, NULL, 16);
        sum->inside = start < sum->last && stop > sum->first;
        return;
    }
    for (size_t i = 0; sum->inside && i < ST_COUNT(fields); i++) {
        const size_t length = strlen(fields[i]);
        if (strncmp(line, fields[i], length) == 0) {
            *into[i] += (double)strtoull(line + length, NULL, 10);
        }
    }
}

double st_pages_huge_fraction(const struct st_mapping *mapping)
{
    struct resident sum = {.first = (uintptr_t)mapping->base};
    char line[256];
    bool at_line_start = true; /* file names may make a line longer than the buffer */

    sum.last = sum.first + mapping->size_bytes;
    FILE *file = mapping->base == NULL ? NULL : fopen("/proc/self/smaps", "re");
    if (file == NULL) {
        return -1.0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (at_line_start) {
            read_smaps_line(&sum, line);
        }
        at_line_start = strchr(line, '\n') != NULL;
    }
    const bool read_all = ferror(file) == 0;
    (void)fclose(file); /* read only: nothing can be lost */
    /* Rss leaves out pages of hugetlbfs (kernel, Documentation/filesystems/proc.rst). */
    const double resident_kib = sum.normal_kib + sum.hugetlb_kib;
    if (!read_all || !(resident_kib > 0.0)) {
        return -1.0;
    }
    return (sum.transparent_kib + sum.hugetlb_kib) / resident_kib;
}
