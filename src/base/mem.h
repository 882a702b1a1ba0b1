#ifndef ST_BASE_MEM_H
#define ST_BASE_MEM_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The only caller of the malloc family and of mmap. Size products are checked; a test can
 * make the n-th allocation of this process fail. All functions are local.
 */

/** Number of elements of an array. */
#define ST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    ST_MEM_ALIGNMENT = 64
};

/** *out = a * b. @return false on overflow (*out unchanged) */
bool st_mul_size(size_t a, size_t b, size_t *out);
/** *out = a + b. @return false on overflow (*out unchanged) */
bool st_add_size(size_t a, size_t b, size_t *out);

/**
 * Zero-filled array of @p n elements of @p size bytes, 64-byte aligned. Owned by the
 * caller; free with st_free(). n = 0 or size = 0 gives a unique non-NULL pointer.
 * @return NULL on failure with the text (ST_ERR_MEMORY, bytes wanted) in @p err
 */
void *st_calloc(struct st_error *err, size_t n, size_t size);

/**
 * Grow or shrink an array got from st_calloc() / st_resize(); the old content up to the
 * smaller size is kept, new bytes are NOT zeroed. NULL for @p old makes a new array.
 * @return NULL on failure; @p old then stays valid and owned
 */
void *st_resize(struct st_error *err, void *old, size_t n, size_t size);

/** Copy of a string, owned by the caller. NULL on failure. */
char *st_strdup(struct st_error *err, const char *text);

/** Free what the functions above gave; NULL is accepted. */
void st_free(void *memory);

/** Page mode of a mapping (METHODS 2.2). */
enum st_pages {
    ST_PAGES_DEFAULT, /**< what the system does by itself */
    ST_PAGES_SMALL,   /**< 4 KiB: MADV_NOHUGEPAGE */
    ST_PAGES_HUGE /**< 2 MiB aligned and MADV_HUGEPAGE (a wish: read back with st_pages_huge_fraction) */
};

/** A private anonymous mapping, untouched: the first writer decides its NUMA node. */
struct st_mapping {
    void *base;
    size_t size_bytes; /**< usable bytes from @c base */
    void *map;         /**< what munmap gets */
    size_t map_bytes;
};

/**
 * Map @p size_bytes (> 0), 2 MiB aligned, without touching a page.
 * On failure @p out is zeroed and ST_ERR_MEMORY returned.
 */
enum st_status st_pages_map(struct st_error *err, size_t size_bytes, enum st_pages mode,
                            struct st_mapping *out);
/** Unmap; accepts a zeroed struct; zeroes it. */
void st_pages_unmap(struct st_mapping *mapping);
/** Share of the mapping's resident bytes in huge pages, 0..1; -1 if it cannot be read or
 * nothing is resident yet. Reads /proc/self/smaps: not for timed code. */
double st_pages_huge_fraction(const struct st_mapping *mapping);

/** Test hook: the @p nth allocation from now on (1 = next) fails; 0 switches off. */
void st_mem_fail_at(uint64_t nth);
/** Number of allocations since program start (to choose @p nth). */
uint64_t st_mem_count(void);

#endif
