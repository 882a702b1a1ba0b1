#ifndef ST_KERNELS_SELL_H
#define ST_KERNELS_SELL_H

#include "kernels/csr.h"
#include "kernels/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Sparse matrix-vector product in SELL-C-sigma storage (METHODS 4.3; Kreutzer et al., SISC 36,
 * 2014): rows are sorted by length within windows of sigma rows, cut into chunks of C rows, and
 * each chunk is stored column by column, padded to its longest row. The C rows of a chunk are
 * the lanes of vector registers, so short rows run at full width and need no sum over lanes.
 * Windows and chunks never cross the parts of the split. Arrays are borrowed.
 */

/** Chunk heights C that the kernels know: multiples of four up to this. */
enum {
    STK_SELL_LANES = 4,
    STK_SELL_MAX_CHUNK = 16
};

struct stk_sell {
    struct stk_split rows;     /**< of the rows 0 … n_rows-1 */
    size_t chunk;              /**< C: 4, 8 or 16 */
    const size_t *first_chunk; /**< [n_parts + 1] chunks before each part */
    const uint64_t
        *chunk_start;       /**< [n_chunks + 1] first entry; entries are C x length */
    const uint32_t *order;  /**< [n_rows] row at each place, part by part */
    const int32_t *columns; /**< [chunk_start[n_chunks]] padding repeats a column */
    const double *values;   /**< [chunk_start[n_chunks]] padding is zero */
};

/* Minimum traffic: per stored entry (padding included) value and column; per row x once, y, and
 * its number; per chunk its start. */
extern const struct stk_work stk_sell_work_per_entry;
extern const struct stk_work stk_sell_work_per_row;
extern const struct stk_work stk_sell_work_per_chunk;

/**
 * Order of rows first … end-1: by falling length within windows of @p sigma, equal ones as they
 * were (stable).
 * @param keys  [sigma] scratch
 * @param order [end - first] the rows
 */
void stk_sell_order(const uint32_t *row_start, size_t first, size_t end, size_t sigma,
                    uint64_t *keys, uint32_t *order);
/** Length of the longest row of chunk @p c of the @p n ordered rows. */
size_t stk_sell_chunk_length(const uint32_t *row_start, const uint32_t *order, size_t n,
                             size_t chunk, size_t c);
/**
 * Copy the entries of the rows of one chunk into its C x length places.
 * @param order   rows of the chunk, @p n of them (at most C)
 * @param columns, values [C * length] of the chunk, written whole
 */
void stk_sell_fill_chunk(const struct stk_csr *a, const uint32_t *order, size_t n,
                         size_t chunk, size_t length, int32_t *columns, double *values);

/** y = A x, by the best instruction set of this CPU. @p x finite; @p y and @p x must not overlap. */
void stk_sell_multiply(const struct stk_sell *a, const double *restrict x,
                       double *restrict y);
/** The same, serial and plain. */
void stk_sell_multiply_ref(const struct stk_sell *a, const double *restrict x,
                           double *restrict y);

/** The loops by instruction set, for tests: all chunks of part @p part. */
typedef void (*stk_sell_part_fn)(const struct stk_sell *a, size_t part,
                                 const double *restrict x, double *restrict y);
/** The loop for @p isa (enum stk_isa), or NULL if this build or this CPU has none of its own. */
stk_sell_part_fn stk_sell_part(int isa);

#endif
