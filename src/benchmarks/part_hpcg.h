#ifndef ST_BENCHMARKS_PART_HPCG_H
#define ST_BENCHMARKS_PART_HPCG_H

#include "kernels/box27.h"
#include "kernels/csr.h"
#include "kernels/lu.h"
#include "kernels/vector.h"
#include "mpi/comm.h"
#include "mpi/halo.h"
#include "src/base/mem.h"
#include "src/base/status.h"
#include "src/benchmarks/part_hpcg_grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * HPCG's problem on this rank and its solver (METHODS 4.1): conjugate gradients with one V-cycle
 * of four levels, smoothed by symmetric Gauss-Seidel in natural order within each rank. Three
 * storages give the same iterations: plain CSR with the reference code's loops, halves of 13
 * entries a row with fused loops (kernels/lu.h), and the stencil itself (kernels/box27.h).
 */

enum {
    ST_HPCG_LEVEL_ARRAYS = 21
};

/** Where the time of a solve goes; the last two are waiting. */
enum st_hpcg_part {
    ST_HPCG_SPMV, /**< optimised: with the dot product of the same vectors */
    ST_HPCG_SYMGS,
    ST_HPCG_RESTRICT, /**< optimised: residual at the coarse points only; else all of it */
    ST_HPCG_PROLONG,
    ST_HPCG_WAXPBY, /**< optimised: with the dot product of the new residual */
    ST_HPCG_DOT,    /**< without the reduction over the ranks */
    ST_HPCG_HALO,
    ST_HPCG_REDUCE,
    ST_HPCG_PARTS
};

/** One grid of the V-cycle. */
struct st_hpcg_level {
    size_t n[3]; /**< points of this rank */
    size_t n_rows;
    struct stk_csr csr;           /**< plain storage, or */
    struct stk_lu lu;             /**< halves, and what is outside them: */
    struct stk_csr_rows ghosts;   /**< entries in columns of other ranks */
    struct stk_lu_columns raised; /**< columns of U at the points of the next level */
    double *kept;                 /**< [rows of ghosts] scratch */
    double *zeros, *scratch;      /**< stencil: [n[0]] and [2 n[0]] */
    double *diagonal;
    double *x, *r, *t; /**< correction (ghosts behind it), right side, scratch */
    uint32_t *
        fine_rows; /**< [n_rows / 8] rows that are points of the next level; not on the last */
    struct stm_halo *halo;
    size_t ghost_first[27]; /**< number of the first ghost of each neighbouring rank */
    size_t part_start[2];   /**< backing store of the split: one part */
    size_t ghost_rows[2];   /**< the same for the rows of ghosts */
    struct st_mapping arrays[ST_HPCG_LEVEL_ARRAYS];
};

struct st_hpcg {
    struct stm_comm comm;
    struct st_hpcg_grid grid;
    uint64_t at[3]; /**< this rank's place among the ranks */
    enum st_hpcg_storage storage;
    const struct stk_lu_loops *loops;
    const struct stk_box_loops *box_loops;
    struct st_hpcg_level level[ST_HPCG_LEVELS];
    double *x, *b, *p, *q; /**< [rows of the finest level], p with ghosts */
    struct st_mapping arrays[4];
    double partial[STK_PARTIAL];
    double seconds[ST_HPCG_PARTS]; /**< added up by every solve; the caller zeroes */
    double bytes[ST_HPCG_PARTS];   /**< least traffic in that time */
};

/** Build matrices, right side and halos. Collective. @param out owned by the caller on success */
enum st_status st_hpcg_create(const struct stm_comm *comm,
                              const struct st_hpcg_grid *grid,
                              enum st_hpcg_storage storage, struct st_hpcg **out,
                              struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_hpcg_destroy(struct st_hpcg **hpcg);

struct st_hpcg_options {
    uint64_t max_iterations;
    double tolerance; /**< stop at ||r|| <= tolerance ||r0||; 0: never */
    bool precondition;
    const double *b; /**< right side; only read before the first iteration */
    double *x;       /**< solution; zero at the start */
    double *
        history; /**< [max_iterations + 1] ||r0||, then ||r|| / ||r0||; NULL: not wanted */
};
struct st_hpcg_outcome {
    uint64_t n_iterations;
    double norm0;    /**< ||r0|| */
    double residual; /**< ||r|| / ||r0|| by the recurrence, equal on all ranks */
};

/** Solve. Collective. */
enum st_status st_hpcg_solve(struct st_hpcg *h, const struct st_hpcg_options *options,
                             struct st_hpcg_outcome *outcome, struct st_error *err);

/** The right side b = A 1 on this rank. Local. */
void st_hpcg_right_side(const struct st_hpcg *h, double *b);
/** y = A x on the finest level; the ghosts of @p x are renewed. Collective. @return through dot
 * the local x'y where the loop forms it, NULL: not wanted */
enum st_status st_hpcg_multiply(struct st_hpcg *h, double *x, double *y, double *dot,
                                struct st_error *err);
/** One V-cycle on the finest level: level[0].x from level[0].r. Collective. */
enum st_status st_hpcg_precondition(struct st_hpcg *h, struct st_error *err);
/** Sum of a[i] b[i] over all ranks. Collective. */
enum st_status st_hpcg_dot(struct st_hpcg *h, const double *a, const double *b,
                           double *sum, struct st_error *err);

/** What the validity tests found. Not finite: failed too. */
struct st_hpcg_validity {
    uint64_t plain_iterations;          /**< CG test, at most 12 */
    uint64_t preconditioned_iterations; /**< CG test, at most 2 */
    double spmv_asymmetry;              /**< over 52 ||x|| ||y|| eps, at most 100 */
    double mg_asymmetry;
};
/** HPCG's tests of the solver and of symmetry. Keeps x and b. Collective. */
enum st_status st_hpcg_validate(struct st_hpcg *h, struct st_hpcg_validity *validity,
                                struct st_error *err);
/** ||b - A x|| / ||b|| of h->x, computed afresh. Collective. */
enum st_status st_hpcg_true_residual(struct st_hpcg *h, double *residual,
                                     struct st_error *err);

#endif
