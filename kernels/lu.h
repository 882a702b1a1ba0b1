#ifndef ST_KERNELS_LU_H
#define ST_KERNELS_LU_H

#include "kernels/csr.h"
#include "kernels/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Gauss-Seidel sweeps and products of a matrix A = L + D + U with at most 13 entries a row on
 * either side of its diagonal, natural order of the rows. Columns are addressed through their
 * stored numbers as in CSR; shorter rows are filled up with zeros that point at their own row.
 * Columns from n_rows on (ghosts) may stand in either half: no sweep changes them.
 *
 * What a symmetric sweep may leave out (Eisenstat, SIAM J. Sci. Stat. Comput. 2, 1981): the
 * forward sweep leaves D x = r - L x, and the backward one uses the same L x. So L is read once
 * in a symmetric sweep; from a zero guess the forward half needs no U either.
 */

enum {
    STK_LU_WIDTH = 13 /**< entries of half a row */
};

/** One half, row after row; the entry nearest to the diagonal comes last in each row. */
struct stk_lu_half {
    const double *values;   /**< [n_rows][STK_LU_WIDTH] */
    const int32_t *columns; /**< [n_rows][STK_LU_WIDTH] */
};

struct stk_lu {
    size_t n_rows;
    const double *diagonal; /**< [n_rows] */
    struct stk_lu_half lower, upper;
};

/* Least traffic and flops per row. */
extern const struct stk_work stk_lu_forward_zero_work, stk_lu_backward_zero_work,
    stk_lu_forward_work, stk_lu_backward_work, stk_lu_multiply_work;

/** One set of loops for one instruction set. x has the ghosts behind its rows; vectors must not
 * overlap. */
struct stk_lu_loops {
    /** x = (L + D)^-1 r; entries of U do not matter since x counts as zero before. Ghosts in L
     * are read: zero them. */
    void (*forward_zero)(const struct stk_lu *a, const double *restrict r,
                         double *restrict x);
    /** After forward_zero(): x = x - D^-1 U x from the last row to the first. */
    void (*backward_zero)(const struct stk_lu *a, double *restrict x);
    /** Forward sweep from any x; t = r - L x is kept for backward(). */
    void (*forward)(const struct stk_lu *a, const double *restrict r, double *restrict x,
                    double *restrict t);
    /** After forward(): x = D^-1 (t - U x) from the last row to the first. */
    void (*backward)(const struct stk_lu *a, const double *restrict t,
                     double *restrict x);
    /** y = A x. @return x'y */
    double (*multiply)(const struct stk_lu *a, const double *restrict x,
                       double *restrict y);
    /** (A x)[row] */
    double (*row)(const struct stk_lu *a, size_t row, const double *restrict x);
};

/** The loops for @p isa (enum stk_isa), or NULL if this build or this CPU has none of its own. */
const struct stk_lu_loops *stk_lu_loops_of(int isa);
/** The best loops of this CPU, never NULL. */
const struct stk_lu_loops *stk_lu_loops_best(void);

/** Plain sweeps over CSR rows, as HPCG 3.1's reference does them: x_i = (r_i - sum of all other
 * a_ij x_j) / a_ii. Serial, never tuned. */
void stk_gs_forward_ref(const struct stk_csr *a, const double *diagonal,
                        const double *restrict r, double *restrict x);
void stk_gs_backward_ref(const struct stk_csr *a, const double *diagonal,
                         const double *restrict r, double *restrict x);

#endif
