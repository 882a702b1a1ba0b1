#ifndef ST_KERNELS_BCSR_H
#define ST_KERNELS_BCSR_H

#include "kernels/csr.h"
#include "kernels/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Sparse matrix-vector product in block compressed sparse row (BCSR) storage: dense square
 * blocks of 2, 3 or 4 rows and columns, one column index each (METHODS 4.3; Im, Yelick, Vuduc,
 * Int. J. High Perform. Comput. Appl. 18, 2004). It pays where entries come in such blocks, as
 * with several unknowns at each point of a mesh. Block rows begin at multiples of the side
 * counted from a row that the caller names, and never cross the parts of the split; blocks
 * begin at any column (Vuduc, Moon, HPCC 2005), so that few of their places are padding.
 */

enum {
    STK_BCSR_LEAST_SIDE = 2,
    STK_BCSR_MOST_SIDE = 4
};

struct stk_bcsr {
    struct stk_split rows; /**< of the rows 0 … n_rows-1 */
    size_t side;           /**< rows and columns of a block: 2, 3 or 4 */
    size_t shift; /**< block rows begin where row + shift is a multiple of side */
    const size_t *first_block_row; /**< [n_parts + 1] block rows before each part */
    const uint32_t *block_start; /**< [n_block_rows + 1] first block of each block row */
    const int32_t *columns;      /**< [n_blocks] first column of each block */
    const double *values; /**< [n_blocks * side * side + 1], the last one padding that is
                             loaded but not used; side 2: row by row, else column by column */
};

/* Minimum traffic: per value, padding included; per block its column; per block row its start;
 * per row x once and y. */
extern const struct stk_work stk_bcsr_work_per_value;
extern const struct stk_work stk_bcsr_work_per_block;
extern const struct stk_work stk_bcsr_work_per_block_row;
extern const struct stk_work stk_bcsr_work_per_row;

/** Rows of the block row that begins at @p row, of those before @p end. */
size_t stk_bcsr_height(size_t side, size_t shift, size_t row, size_t end);
/** Blocks that cover rows first … first+n-1 of @p a, whose columns increase within a row. */
size_t stk_bcsr_count(const struct stk_csr *a, size_t side, size_t first, size_t n);
/**
 * Copy these rows into their blocks.
 * @param n_columns of the matrix, at least @p side
 * @param columns   [n_blocks]
 * @param values    [n_blocks * side * side] written whole
 */
void stk_bcsr_fill(const struct stk_csr *a, size_t side, size_t n_columns, size_t first,
                   size_t n, int32_t *columns, double *values);

/** y = A x, by the best instruction set of this CPU. @p x finite; @p y and @p x must not overlap. */
void stk_bcsr_multiply(const struct stk_bcsr *a, const double *restrict x,
                       double *restrict y);
/** The same, serial and plain. */
void stk_bcsr_multiply_ref(const struct stk_bcsr *a, const double *restrict x,
                           double *restrict y);

/** The loops by instruction set, for tests: all block rows of part @p part. */
typedef void (*stk_bcsr_part_fn)(const struct stk_bcsr *a, size_t part,
                                 const double *restrict x, double *restrict y);
/** The loop for @p isa (enum stk_isa), or NULL if this build or this CPU has none of its own. */
stk_bcsr_part_fn stk_bcsr_part(int isa);

#endif
