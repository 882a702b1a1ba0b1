#ifndef ST_KERNELS_BOX27_H
#define ST_KERNELS_BOX27_H

#include "kernels/work.h"

#include <stddef.h>

/*
 * Gauss-Seidel sweeps and products of a 27-point operator on a box of points, line by line along
 * x: a diagonal by row, and -1 for each of the 26 neighbours. No matrix is stored, so this is
 * outside HPCG's rules; it shows what the storage costs.
 *
 * Lines are numbered as the steps to them: 0 … 2 below (z-1), 3 at y-1, 4 the line itself,
 * 5 at y+1, 6 … 8 above.
 */

enum {
    STK_BOX_LINES = 9,
    STK_BOX_OWN = 4
};

/** A line of points with the lines around it, of x; outside the grid they are zero. */
struct stk_box_lines {
    size_t n; /**< points of a line */
    const double *line[STK_BOX_LINES];
    double left[STK_BOX_LINES], right[STK_BOX_LINES]; /**< before and behind each line */
};

/* Least traffic and flops per row. */
extern const struct stk_work stk_box_forward_zero_work, stk_box_backward_zero_work,
    stk_box_sweep_work, stk_box_multiply_work;

/** Loops for one instruction set. @p own is line STK_BOX_OWN, which sweeps change; @p d its
 * diagonal; @p scratch [2 n]. Lines have at least 2 points. */
struct stk_box_loops {
    /** The forward sweep from zero; nothing above the line is read. */
    void (*forward_zero)(const struct stk_box_lines *a, const double *restrict d,
                         const double *restrict r, double *own, double *restrict scratch);
    /** After forward_zero() of all lines, from the last line to the first. */
    void (*backward_zero)(const struct stk_box_lines *a, const double *restrict d,
                          double *own, double *restrict scratch);
    /** A line of a sweep from any x, upwards or downwards. */
    void (*forward)(const struct stk_box_lines *a, const double *restrict d,
                    const double *restrict r, double *own, double *restrict scratch);
    void (*backward)(const struct stk_box_lines *a, const double *restrict d,
                     const double *restrict r, double *own, double *restrict scratch);
    /** y = A x on the line. @return x'y of it */
    double (*multiply)(const struct stk_box_lines *a, const double *restrict d,
                       double *restrict y);
};

/** The loops for @p isa (enum stk_isa), or NULL if this build or this CPU has none of its own. */
const struct stk_box_loops *stk_box_loops_of(int isa);
/** The best loops of this CPU, never NULL. */
const struct stk_box_loops *stk_box_loops_best(void);

#endif
