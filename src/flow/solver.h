#ifndef ST_FLOW_SOLVER_H
#define ST_FLOW_SOLVER_H

#include "src/base/mem.h"
#include "src/flow/gamg.h"
#include "src/flow/solve.h"

/* What the linear solvers share; inside the folder only. */

enum {
    ST_SOLVER_VECTORS = 9
};

/** One half of a matrix by rows: entries of row i are start[i] … start[i+1]-1. */
struct st_half {
    int32_t *start;  /**< [n + 1] */
    int32_t *column; /**< [n_faces] */
    int32_t *face;   /**< [n_faces] of each entry */
    double *value;   /**< [n_faces] */
    /* In runs (kernels/ldu.h) instead of the above: */
    size_t n_runs;
    struct stk_run *runs;
    int32_t *slot_face; /**< [STK_RUN_WIDTH n] face of each slot, -1: none */
    double *slot_value; /**< [STK_RUN_WIDTH][n and a margin] in the mapping */
};

/** Rows in the order of levels, with the way back to cells and faces, and vectors by row. */
struct st_levels {
    size_t n;
    bool has_runs;
    int32_t *row_of, *cell_of; /**< [n] cell to row, row to cell */
    int32_t *interface_row;    /**< [n_interface] */
    double *outgoing;          /**< [n_interface] */
    double *kept;              /**< [n_interface] */
    struct st_half lower, upper;
    double *rest, *root;           /**< [n] */
    double *x, *r_hat, *v, *t, *w; /**< [n] */
    struct st_mapping map;         /**< all arrays by row of doubles */
};

struct st_solver {
    const struct st_ldu_addr *addr; /**< borrowed */
    struct st_solver_options options;
    struct st_ldu_exchange exchange;
    double n_cells_global;
    double *v[ST_SOLVER_VECTORS]; /**< [n_cells]; NULL where the kind needs none */
    size_t n_vectors;
    struct st_levels *levels; /**< fast conjugate gradients and sweeps */
    bool has_fast_sweeps;     /**< equal on all ranks */
    struct st_gamg *gamg;
};

/** One solve as it goes. */
struct st_solve {
    struct st_solver *s;
    const struct st_ldu *a;
    double *x;
    const double *b;
    const struct st_solver_control *control;
    struct st_solve_report *report;
    double norm; /**< of the residual */
};

/** v[0] = A x, v[1] = b - A x; norm and initial residual. Uses v[2]. Collective. */
enum st_status st_solve_begin(struct st_solve *t, struct st_error *err);
/** final_residual from the sum of |r| of this rank. Collective. */
enum st_status st_solve_measure(struct st_solve *t, double sum_mag, struct st_error *err);
/** Is another iteration to be done? Equal on all ranks. */
bool st_solve_goes_on(const struct st_solve *t);
/** Has the residual reached its tolerance? */
bool st_solve_is_reached(const struct st_solve *t);

enum st_status st_solve_gamg(struct st_solve *t, struct st_error *err);
enum st_status st_solve_pcg(struct st_solve *t, struct st_error *err);
enum st_status st_solve_pcg_fast(struct st_solve *t, struct st_error *err);
enum st_status st_solve_bicgstab(struct st_solve *t, struct st_error *err);
enum st_status st_solve_sweeps(struct st_solve *t, struct st_error *err);
enum st_status st_solve_sweeps_fast(struct st_solve *t, struct st_error *err);

/** Order and storage of the fast conjugate gradients. Local. @return ST_ERR_MEMORY */
enum st_status st_levels_create(const struct st_ldu_addr *addr, struct st_levels **out,
                                struct st_error *err);
void st_levels_destroy(struct st_levels **levels);
double st_levels_bytes(const struct st_levels *l, const struct st_ldu_addr *addr);
/** Scaled coefficients of the matrix of @p t; x and r of the solve into rows (r in t). Local. */
void st_levels_load(struct st_solve *t);
/** The loops' view of the storage with runs. */
struct stk_runs st_levels_runs(const struct st_levels *l);
/** Coefficients as they are, of runs: rest = 1 / diagonal, root = diagonal. Local. */
void st_levels_load_plain(struct st_solve *t);

#endif
