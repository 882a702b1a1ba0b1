#ifndef ST_KERNELS_CSR_H
#define ST_KERNELS_CSR_H

#include "kernels/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Sparse matrix-vector product in compressed sparse row (CSR) storage: 4-byte local column
 * indices, 4-byte row pointers (at most STK_CSR_MAX_NONZEROS entries on one rank), 8-byte
 * values. Arrays are borrowed; the caller lays them out and touches them part by part.
 */

#define STK_CSR_MAX_NONZEROS UINT32_MAX
#define STK_CSR_MAX_COLUMNS INT32_MAX

/**
 * Contiguous parts of an index range, one per thread: part t is start[t] … start[t+1]-1.
 * The part, not the thread count, decides who touches and who computes an element, and in
 * which order partial sums are added: the same split gives the same bits.
 */
struct stk_split {
    size_t n_parts;
    const size_t *start; /**< [n_parts + 1], not decreasing */
};

/** Rows over a local vector. */
struct stk_csr {
    struct stk_split rows;     /**< of the rows 0 … n_rows-1 */
    const uint32_t *row_start; /**< [n_rows + 1] index of each row's first entry */
    const int32_t *columns;    /**< [row_start[n_rows]] */
    const double *values;      /**< [row_start[n_rows]] */
};

/** A few rows only, each with its number: what is left over from an stk_csr. */
struct stk_csr_rows {
    struct stk_csr entries; /**< row i of it belongs to row rows[i] of the result */
    const uint32_t *rows;   /**< [n_rows] increasing */
};

/* Minimum traffic (METHODS 4.3; Kreutzer et al., SISC 36, 2014): per nonzero its value and
 * column; per row x once, y, and the row pointer. Together 12 + 20/z bytes per nonzero. */
extern const struct stk_work stk_csr_work_per_nonzero;
extern const struct stk_work stk_csr_work_per_row;

/** y = A x, by the best instruction set of this CPU. @p y and @p x must not overlap. */
void stk_csr_multiply(const struct stk_csr *a, const double *restrict x,
                      double *restrict y);
/** y[rows[i]] += (A x)[i]. @p y and @p x must not overlap. */
void stk_csr_add_rows(const struct stk_csr_rows *a, const double *restrict x,
                      double *restrict y);

/** The same, serial and plain. */
void stk_csr_multiply_ref(const struct stk_csr *a, const double *restrict x,
                          double *restrict y);
void stk_csr_add_rows_ref(const struct stk_csr_rows *a, const double *restrict x,
                          double *restrict y);

/** The loops by instruction set, for tests: rows first … end-1, y[i] = (A x)[i]. */
typedef void (*stk_csr_range_fn)(const struct stk_csr *a, size_t first, size_t end,
                                 const double *restrict x, double *restrict y);
/** The loop for @p isa (enum stk_isa), or NULL if this build or this CPU has none of its own. */
stk_csr_range_fn stk_csr_range(int isa);

#endif
