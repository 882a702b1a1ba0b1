#ifndef ST_KERNELS_LU_CHUNK_H
#define ST_KERNELS_LU_CHUNK_H

#include "kernels/lu.h"

/* Chunks of lu.h, for the loops of every instruction set. */

enum {
    LANES = STK_LU_LANES,
    NEAREST = STK_LU_WIDTH - 1, /* entry that a sweep waits for */
    LINE = 64                   /* bytes */
};

/* Ask for the chunk of a half so many chunks ahead (behind, if negative), into the second level
 * of cache: the first has too few places for lines under way to keep one core's memory busy. */
#if defined(__GNUC__)
static inline __attribute__((always_inline)) void ask_for(const struct stk_lu_half *half,
                                                          size_t c, int ahead)
{
    /* Through integers: an address outside the array must not be formed as a pointer.
     * NOLINTBEGIN(performance-no-int-to-ptr) nothing is read through it */
    const uintptr_t there =
        (uintptr_t)half->chunks + (c + (size_t)ahead) * sizeof(struct stk_lu_chunk);

    for (size_t i = 0; i < sizeof(struct stk_lu_chunk); i += LINE) {
        __builtin_prefetch((const void *)(there + i), 0, 2);
    }
    /* NOLINTEND(performance-no-int-to-ptr) */
}
#else
static inline void ask_for(const struct stk_lu_half *half, size_t c, int ahead)
{
    (void)half;
    (void)c;
    (void)ahead;
}
#endif

static inline size_t column_of(const struct stk_lu_half *half, size_t c, size_t s,
                               size_t lane)
{
    const struct stk_lu_chunk *chunk = &half->chunks[c];
    const bool is_run = chunk->block == STK_LU_RUNS;

    return (size_t)(chunk->bases[s] +
                    (is_run ? (int32_t)lane : half->offsets[chunk->block][s][lane]));
}

/* Entries 0 … n_entries-1 of the rows of a chunk, one element of x at a time. */
static inline void sums_plain(const struct stk_lu_half *half, size_t c, size_t n_entries,
                              const double *x, double *sum)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        sum[lane] = 0.0;
    }
    for (size_t s = 0; s < n_entries; s++) {
        for (size_t lane = 0; lane < LANES; lane++) {
            sum[lane] += half->chunks[c].values[s][lane] * x[column_of(half, c, s, lane)];
        }
    }
}

#endif
