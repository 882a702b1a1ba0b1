#ifndef ST_KERNELS_KRYLOV_H
#define ST_KERNELS_KRYLOV_H

#include "kernels/csr.h"

#include <stddef.h>

/*
 * Vector operations of preconditioned Krylov methods that hide their reductions: the updates
 * and sums of one iteration of Chronopoulos and Gear's and of Ghysels and Vanroose's conjugate
 * gradients, each fused into one sweep, and block symmetric Gauss-Seidel. Sums are formed part by part (kernels/vector.h): the same split
 * gives the same bits. Arrays have split.start[n_parts] elements and must not overlap.
 */

/** Vectors by their names in Ghysels and Vanroose, Parallel Comput. 40, 2014, algorithm 4. */
struct stk_krylov {
    struct stk_split split;
    double *x, *r, *u, *w; /**< solution, residual, M^-1 r, A u */
    double *p, *s, *q, *z; /**< direction, A p, M^-1 s, A q */
    double *m, *n;         /**< M^-1 w, A m */
    double *partial;       /**< [n_parts * STK_PARTIAL] */
};

/** y = x + beta y. */
void stk_xpay(const struct stk_split *split, const double *restrict x, double beta,
              double *restrict y);
/** out[i] = scale[i] x[i]. */
void stk_scale_by(const struct stk_split *split, const double *restrict scale,
                  const double *restrict x, double *restrict out);
/** sums = r'u, w'u, r'r in one sweep. */
void stk_krylov_sums(const struct stk_krylov *v, double sums[3]);
/** p = u + beta p, s = w + beta s, x += alpha p, r -= alpha s in one sweep. */
void stk_gear_update(const struct stk_krylov *v, double alpha, double beta);
/** The same with z = n + beta z, q = m + beta q, u -= alpha q, w -= alpha z. */
void stk_pipelined_update(const struct stk_krylov *v, double alpha, double beta);

/**
 * z = M^-1 r with M = (D + L) D^-1 (D + U) of the diagonal block of each part: symmetric
 * Gauss-Seidel, blocks of a split in place of the whole matrix. M is symmetric positive
 * definite if A is. Columns of a row increase.
 */
void stk_block_sgs(const struct stk_csr *a, const double *restrict inverse_diagonal,
                   const double *restrict r, double *restrict z);

/** The same, serial, one plain pass per vector. */
void stk_krylov_sums_ref(const struct stk_krylov *v, double sums[3]);
void stk_gear_update_ref(const struct stk_krylov *v, double alpha, double beta);
void stk_pipelined_update_ref(const struct stk_krylov *v, double alpha, double beta);

#endif
