#ifndef ST_BENCHMARKS_PART_HPCG_STENCIL_H
#define ST_BENCHMARKS_PART_HPCG_STENCIL_H

#include "src/benchmarks/part_hpcg.h"

/*
 * HPCG's sweeps and products without a matrix: the stencil itself (kernels/box27.h) on the box of
 * this rank, its sides read from the ghosts. For levels in the storage ST_HPCG_STENCIL. All
 * functions are local; the iterates are those of the other storages up to rounding.
 */

/** Symmetric sweep from zero; ghosts count as zero. */
void st_hpcg_stencil_smooth_zero(const struct st_hpcg *h, struct st_hpcg_level *l);
/** Symmetric sweep from what x and its ghosts hold. */
void st_hpcg_stencil_smooth(const struct st_hpcg *h, struct st_hpcg_level *l);
/** y = A x; @p x has its ghosts behind it. @return the local x'y */
double st_hpcg_stencil_multiply(const struct st_hpcg *h, const struct st_hpcg_level *l,
                                const double *x, double *y);
/** r - A x at the points of the next level, with the ghosts of x. @param coarse [n_rows / 8] */
void st_hpcg_stencil_residual(const struct st_hpcg *h, const struct st_hpcg_level *l,
                              double *coarse);

#endif
