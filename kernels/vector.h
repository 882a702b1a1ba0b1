#ifndef ST_KERNELS_VECTOR_H
#define ST_KERNELS_VECTOR_H

#include "kernels/csr.h"
#include "kernels/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Vector operations of an iterative solver on a split range. Sums are formed part by part
 * into @c partial and then added in the order of the parts: the same split gives the same
 * bits, whatever thread was first. All arrays have split.start[n_parts] elements and must
 * not overlap.
 */

/** Doubles of scratch per part: one cache line, so that threads do not share any. */
enum {
    STK_PARTIAL = 8
};

extern const struct stk_work stk_dot_work;          /* a, b read */
extern const struct stk_work stk_axpy_work;         /* x, y read; y written */
extern const struct stk_work stk_cg_update_work;    /* p, q, x, r, d read; x, r written */
extern const struct stk_work stk_cg_direction_work; /* r, d, p read; p written */

/** a[i] = value. First touch of a vector by the parts that will work on it. */
void stk_fill(const struct stk_split *split, double value, double *a);
/** a[i] = stk_random_unit(seed, first + i). */
void stk_fill_random(const struct stk_split *split, uint64_t seed, uint64_t first,
                     double *a);
/** out[i] = a[i]. */
void stk_copy(const struct stk_split *split, const double *restrict a,
              double *restrict out);

/** Sum of a[i] b[i]; a and b may be the same. @param partial [n_parts * STK_PARTIAL] */
double stk_dot(const struct stk_split *split, const double *a, const double *b,
               double *partial);
/** y += alpha x. */
void stk_axpy(const struct stk_split *split, double alpha, const double *restrict x,
              double *restrict y);

/** Vectors of a Jacobi-preconditioned conjugate gradient iteration. */
struct stk_cg {
    struct stk_split split;
    const double *inverse_diagonal; /**< NULL: no preconditioner */
    double *x, *r, *p, *q;          /**< solution, residual, direction, A p */
    double *partial;                /**< [n_parts * STK_PARTIAL] */
};

/**
 * x += alpha p, r -= alpha q, and both sums of the new residual in the same sweep.
 * @param[out] rr sum of r[i]^2
 * @param[out] rz sum of r[i]^2 inverse_diagonal[i] (equal to rr without preconditioner)
 */
void stk_cg_update(const struct stk_cg *cg, double alpha, double *rr, double *rz);
/** p = inverse_diagonal r + beta p (p = r + beta p without preconditioner). */
void stk_cg_direction(const struct stk_cg *cg, double beta);

/** out[i] = x[index[i]]: the elements that other ranks need. */
void stk_pack(size_t n, const int32_t *restrict index, const double *restrict x,
              double *restrict out);

/** The same, serial and plain; @p n elements. */
double stk_dot_ref(size_t n, const double *a, const double *b);
void stk_axpy_ref(size_t n, double alpha, const double *restrict x, double *restrict y);
void stk_cg_update_ref(const struct stk_cg *cg, double alpha, double *rr, double *rz);
void stk_cg_direction_ref(const struct stk_cg *cg, double beta);

#endif
