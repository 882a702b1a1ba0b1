#ifndef ST_KERNELS_LU_H
#define ST_KERNELS_LU_H

#include "kernels/csr.h"
#include "kernels/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Gauss-Seidel sweeps and products of a matrix A = L + D + U + G: at most 13 entries a row on
 * either side of the diagonal, and G, the entries of a few rows in columns of other ranks
 * (ghosts), which no sweep changes. Natural order of the rows.
 *
 * L and U are stored in chunks of 8 rows, entry by entry across the rows, so that the rows are
 * the lanes of vector registers. Every entry has its value. Its columns in the 8 rows are coded
 * by run length (as in CSX: Kourtis, Karakasis, Goumas, Koziris, PPoPP 2011): a 4-byte base, and
 * unless all entries of the chunk run from their bases by one a row, a 2-byte offset for each.
 * Shorter rows are filled up with zeros whose columns are valid rows; vectors must be finite.
 *
 * What a symmetric sweep may leave out (Eisenstat, SIAM J. Sci. Stat. Comput. 2, 1981): the
 * forward sweep leaves D x = r - L x, and the backward one uses the same L x; from a zero guess
 * neither sweep meets the other half. The U x that the first pair of sweeps ends with is kept: the
 * residual needs no U then, and the next forward sweep only that of the correction in between,
 * which is zero at all rows but those of the coarse grid (struct stk_lu_columns).
 */

enum {
    STK_LU_WIDTH = 13, /**< entries of half a row */
    STK_LU_LANES = 8   /**< rows of a chunk */
};

/** Instead of a number of offsets: the columns of every entry rise by one from row to row. */
#define STK_LU_RUNS (-1)

/** 8 rows of a half, 14 cache lines in one piece: a sweep reads one stream. */
struct stk_lu_chunk {
    double values[STK_LU_WIDTH][STK_LU_LANES];
    int32_t bases[STK_LU_WIDTH]; /**< column of each entry in the first row */
    int32_t block;               /**< its offsets, or STK_LU_RUNS */
    int32_t unused[2];           /**< to the end of the line */
};

/** One half. Entry s of row i is in lane i % 8 of chunk i / 8; the one nearest to the diagonal is
 * s = 12. */
struct stk_lu_half {
    const struct stk_lu_chunk *chunks;
    const int16_t (*offsets)[STK_LU_WIDTH][STK_LU_LANES]; /**< [blocks] from the bases */
};

struct stk_lu {
    size_t n_rows; /**< the last chunk may be filled in part; its storage is whole */
    const double *diagonal; /**< [n_rows] */
    struct stk_lu_half lower, upper;
    /** Entries 0 … 11 of a row lie outside its own chunk (stk_lu_is_wide()): chunks may then be
     * swept by vectors, and only entry 12 waits for the row before. */
    bool is_wide;
};

/** Some columns of U, each with the entries above the diagonal in it. */
struct stk_lu_columns {
    size_t n;
    const uint32_t *columns; /**< [n] increasing */
    const uint32_t *rows;    /**< [n][STK_LU_WIDTH] */
    const double *values;    /**< [n][STK_LU_WIDTH] */
    size_t reach;            /**< no entry is further above the diagonal than this */
};

/* Least traffic and flops per row; of the columns per column. */
extern const struct stk_work stk_lu_forward_zero_work, stk_lu_backward_zero_work,
    stk_lu_residual_work, stk_lu_forward_work, stk_lu_backward_work, stk_lu_multiply_work,
    stk_lu_columns_work;

/** One set of loops for one instruction set. G is not part of them. Vectors must not overlap. */
struct stk_lu_loops {
    /** x = (L + D)^-1 r: the forward sweep from zero. */
    void (*forward_zero)(const struct stk_lu *a, const double *restrict r,
                         double *restrict x);
    /** After forward_zero(): x = x - D^-1 U x from the last row to the first; ux = U x. */
    void (*backward_zero)(const struct stk_lu *a, double *restrict x,
                          double *restrict ux);
    /** out[i] = (r - A x)[rows[i]] with ux = U x; @p rows increasing. */
    void (*residual)(const struct stk_lu *a, size_t n, const uint32_t *rows,
                     const double *restrict r, const double *restrict ux,
                     const double *restrict x, double *restrict out);
    /** Rows first … end-1 of the forward sweep: x = D^-1 (r - ux - L x), where ux is U times x
     * before the sweep; ux becomes r - L x. Multiples of 8, but for the last end. */
    void (*forward)(const struct stk_lu *a, size_t first, size_t end,
                    const double *restrict r, double *restrict ux, double *restrict x);
    /** After forward(): x = D^-1 (t - U x) from the last row to the first; t = r - L x. */
    void (*backward)(const struct stk_lu *a, const double *restrict t,
                     double *restrict x);
    /** y = A x. @return x'y */
    double (*multiply)(const struct stk_lu *a, const double *restrict x,
                       double *restrict y);
};

/** The loops for @p isa (enum stk_isa), or NULL if this build or this CPU has none of its own. */
const struct stk_lu_loops *stk_lu_loops_of(int isa);
/** The best loops of this CPU, never NULL. */
const struct stk_lu_loops *stk_lu_loops_best(void);

/** Column of entry @p s of row @p i. */
size_t stk_lu_column(const struct stk_lu_half *half, size_t i, size_t s);
/** See struct stk_lu. */
bool stk_lu_is_wide(const struct stk_lu *a);

/** The forward sweep of all rows after x[columns[c]] was raised by d[c]: adds U d to ux just
 * ahead of the sweep. Else as stk_lu_loops.forward. */
void stk_lu_forward_raised(const struct stk_lu_loops *loops, const struct stk_lu *a,
                           const struct stk_lu_columns *u, const double *restrict d,
                           const double *restrict r, double *restrict ux,
                           double *restrict x);

/** y += G x. @return what that adds to x'y */
double stk_lu_add_ghosts(const struct stk_csr_rows *ghosts, const double *restrict x,
                         double *restrict y);
/** r -= G x; what r was in these rows goes to kept [rows of G]. */
void stk_lu_take_ghosts(const struct stk_csr_rows *ghosts, const double *restrict x,
                        double *restrict r, double *restrict kept);
/** Put back what stk_lu_take_ghosts() kept. */
void stk_lu_restore(const struct stk_csr_rows *ghosts, const double *restrict kept,
                    double *restrict r);

/** Plain sweeps over CSR rows, as HPCG 3.1's reference does them: x_i = (r_i - sum of all other
 * a_ij x_j) / a_ii. Serial, never tuned. */
void stk_gs_forward_ref(const struct stk_csr *a, const double *diagonal,
                        const double *restrict r, double *restrict x);
void stk_gs_backward_ref(const struct stk_csr *a, const double *diagonal,
                         const double *restrict r, double *restrict x);

#endif
