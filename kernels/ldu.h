#ifndef ST_KERNELS_LDU_H
#define ST_KERNELS_LDU_H

#include "kernels/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Loops over a matrix in OpenFOAM's LDU form (METHODS 4.2): a diagonal by cell, an upper and a
 * lower coefficient by face, faces sorted by owner, then neighbour, owner < neighbour. Row
 * owner[f] has upper[f] at column neighbour[f], row neighbour[f] has lower[f] at column
 * owner[f]. Serial face loops with indirect, scattering access: what OpenFOAM's are. Arrays
 * must not overlap.
 */

struct stk_ldu {
    size_t n_cells, n_faces;
    const int32_t *owner, *neighbour; /**< [n_faces] */
    const int32_t *owner_start;       /**< [n_cells + 1] first face each cell owns */
    bool is_uneven;              /**< stk_ldu_is_uneven(): the same results either way */
    const double *diag;          /**< [n_cells] */
    const double *lower, *upper; /**< [n_faces]; the same array if symmetric */
};

/** Do so many cells own another number of faces than the cell before that a processor cannot
 *  foresee where one cell's faces end? Then loops go over faces, not over the faces of cells. */
bool stk_ldu_is_uneven(size_t n_cells, const int32_t *owner_start);

/* Least traffic by face and by cell (symmetric matrix): 64 bytes for a product on hexahedra,
 * three faces a cell. METHODS 4.2 has 72: OpenFOAM reads the owners' labels, 12 bytes, where
 * the first face of each cell, 4 bytes, is enough. */
extern const struct stk_work stk_ldu_face_work; /* one loop: label, coefficient */
extern const struct stk_work
    stk_ldu_cell_work; /* product: first face, diag and x read, y written */

/** y = A x. */
void stk_ldu_multiply(const struct stk_ldu *a, const double *x, double *y);
/** y += the off-diagonal part of A x; y holds the diagonal's part. @return sum of x y */
double stk_ldu_multiply_rest(const struct stk_ldu *a, const double *x, double *y);
/** out[c] = sum of row c. */
void stk_ldu_row_sums(const struct stk_ldu *a, double *out);

/** Diagonal incomplete LU (Cholesky, DIC, if symmetric): the inverse of its diagonal. */
void stk_ldu_dilu(const struct stk_ldu *a, double *inverse);
/** w = M^-1 r by it. */
void stk_ldu_dilu_solve(const struct stk_ldu *a, const double *inverse, const double *r,
                        double *w);

/** The same if w = inverse r already. @return sum of w r */
double stk_ldu_dilu_sweeps(const struct stk_ldu *a, const double *inverse,
                           const double *r, double *w);

/** Vectors of conjugate gradients with DIC. */
struct stk_ldu_cg {
    size_t n;
    const double *inverse, *p;
    double *x, *r, *w;
};
/** p = w + beta p; w = diagonal times p. */
void stk_ldu_cg_direct(const struct stk_ldu *a, double beta, double *w, double *p);
/** x += alpha p; r -= alpha w; w = inverse r. @return sum of |r| */
double stk_ldu_cg_step(const struct stk_ldu_cg *v, double alpha);

/** One symmetric Gauss-Seidel sweep on x; @p right (right side less the part of other ranks)
 * is used up. */
void stk_ldu_gauss_seidel(const struct stk_ldu *a, double *right, double *x);
/** One forward sweep likewise. */
void stk_ldu_gauss_seidel_forward(const struct stk_ldu *a, double *right, double *x);

/** Sums of |r[i]|, a[i] b[i], |a[i] - c[i] s| + |b[i] - c[i] s|. */
double stk_ldu_sum_mag(size_t n, const double *r);
double stk_ldu_sum_product(size_t n, const double *a, const double *b);
double stk_ldu_norm_terms(size_t n, const double *a, const double *b, const double *c,
                          double s);

/*
 * The same matrix, symmetric and positive, by rows in an order of levels: a cell's level is
 * above those of all its neighbours with a lower number, so the rows of one level do not depend
 * on each other and a sweep runs at the speed of its loads. A sweep in this order gives what the
 * sweep in the order of cells gives, to rounding. Rows and columns are scaled by 1 / root,
 * root^2 = D* of DIC, which makes the diagonal of the factors 1: A = I + L + L' + rest, and the
 * preconditioner (I + L)(I + L').
 */
struct stk_levels {
    size_t n;
    const int32_t *lower_start, *upper_start; /**< [n + 1] */
    const int32_t *lower_column, *upper_column;
    const double *lower, *upper; /**< scaled coefficients */
    const double *rest;          /**< [n] scaled diagonal less 1 */
    const double *root;          /**< [n] */
};

/** Least traffic of an iteration: per entry of a half, and per row. */
extern const struct stk_work stk_levels_entry_work, stk_levels_row_work;

/** r_hat = (I + L)^-1 r. @return sum of r_hat^2 */
double stk_levels_start(const struct stk_levels *a, const double *r, double *r_hat);
/** The step of the iteration before, and the direction of this one. */
struct stk_levels_backward {
    double alpha, beta;
    const double *w;
    double *x, *r_hat, *v, *t;
};
/**
 * x += alpha t, r_hat -= alpha w, v = r_hat + beta v, t = (I + L')^-1 v, from the last row to the
 * first. @return sum of r_hat^2
 */
double stk_levels_backward(const struct stk_levels *a,
                           const struct stk_levels_backward *x);
/** Vectors of the forward sweep. */
struct stk_levels_forward {
    const double *r_hat, *v, *t;
    double *w; /**< out: (I + L)^-1 A t */
};
enum {
    STK_SUM_TAT,       /**< t A t */
    STK_SUM_MAGNITUDE, /**< |r|, unscaled, of r = (I + L) r_hat */
    STK_SUM_RW,        /**< r_hat w */
    STK_SUM_WW,        /**< w^2 */
    STK_N_SUMS
};
/** From the first row to the last. */
void stk_levels_forward(const struct stk_levels *a, const struct stk_levels_forward *x,
                        double sums[STK_N_SUMS]);

/*
 * The same where no row has more than three entries in a half, as with hexahedra. Runs are rows
 * of one level whose columns go up by one from row to row, as they do in every regular part of
 * a mesh: no column is loaded, and rows next to each other are computed at once. A missing entry
 * is a coefficient 0 with any column. A run of one row is always right.
 */
enum {
    STK_RUN_WIDTH = 3
};
struct stk_run {
    int32_t row, n;                /**< rows row … row + n - 1 */
    int32_t column[STK_RUN_WIDTH]; /**< of the first row */
};
struct stk_runs {
    size_t n, n_lower, n_upper;
    const struct stk_run *lower_runs, *upper_runs; /**< each all rows, in order */
    const double *lower[STK_RUN_WIDTH], *upper[STK_RUN_WIDTH]; /**< [n] scaled */
    const double *rest, *root;                                 /**< [n] */
};
/** Least traffic of an iteration per row, all in; of a Gauss-Seidel sweep. */
extern const struct stk_work stk_runs_row_work, stk_runs_gs_work;

/**
 * Vectors of Gauss-Seidel. part = (D + U) x on entry of the forward half, b - L y after it, and
 * so (D + U) y after the backward half: each half of the matrix is read once a sweep, and the
 * residual b - part - L x of the sweep before comes with the forward half.
 */
struct stk_gs {
    const double *diag, *inverse; /**< [n] of the matrix, 1 / diag */
    const double *b, *x;
    double *part, *y;
};
/** part = (D + U) x. */
void stk_runs_gs_start(const struct stk_runs *a, const struct stk_gs *g);

/** As the functions of stk_levels. Missing entries need finite vectors on entry. */
struct stk_runs_loops {
    double (*backward)(const struct stk_runs *a, const struct stk_levels_backward *x);
    void (*forward)(const struct stk_runs *a, const struct stk_levels_forward *x,
                    double sums[STK_N_SUMS]);
    /** One symmetric Gauss-Seidel sweep of any matrix, unscaled, in two halves. Forward: from x
     * to y. @return sum of |b - A x| */
    double (*gs_forward)(const struct stk_runs *a, const struct stk_gs *g);
    /** Backward, in y. */
    void (*gs_backward)(const struct stk_runs *a, const struct stk_gs *g);
};
/** r_hat = (I + L)^-1 r. @return sum of r_hat^2 */
double stk_runs_start(const struct stk_runs *a, const double *r, double *r_hat);
/** The loops for @p isa (enum stk_isa), NULL if this build or CPU has none of its own. */
const struct stk_runs_loops *stk_runs_loops_of(int isa);
/** The best of them. */
const struct stk_runs_loops *stk_runs_loops_best(void);

#endif
