#ifndef ST_FLOW_SOLVE_H
#define ST_FLOW_SOLVE_H

#include "src/flow/ldu.h"

/*
 * Linear solvers on LDU matrices, with OpenFOAM's stopping rules.
 */

enum st_solver_kind {
    ST_SOLVER_PCG,      /**< conjugate gradients with DIC; symmetric */
    ST_SOLVER_GAMG,     /**< agglomeration multigrid; symmetric */
    ST_SOLVER_PCG_GAMG, /**< conjugate gradients with two of its cycles; symmetric */
    ST_SOLVER_SYM_GAUSS_SEIDEL, /**< symmetric Gauss-Seidel sweeps */
    ST_SOLVER_BICGSTAB,         /**< BiCGStab with DILU */
    ST_SOLVER_JACOBI            /**< Jacobi sweeps */
};

/** When to stop. */
struct st_solver_control {
    double tolerance;          /**< on the normalised residual */
    double relative_tolerance; /**< on it over the initial one; 0: not used */
    int max_iterations, min_iterations;
    int fixed_iterations; /**< > 0: exactly so many, whatever the residual */
};

struct st_solve_report {
    double initial_residual, final_residual;
    int iterations;
    bool converged; /**< a tolerance was reached, or the fixed count was done */
    double compute_s, halo_s, reduction_s;
    double bytes; /**< least traffic */
};

struct st_solver_options {
    enum st_solver_kind kind;
    bool
        is_fast; /**< own storage, fused loops; else the face loops of OpenFOAM. Multigrid
                       and BiCGStab have the latter only */
    const double
        *face_weights; /**< [n_faces] for multigrid's pairs, borrowed while it is made;
                                     NULL: all alike */
};

struct st_solver;

/** Collective; ends with an agreement. @param addr borrowed until st_solver_destroy() */
enum st_status st_solver_create(const struct st_ldu_addr *addr,
                                const struct st_solver_options *options,
                                struct st_solver **out, struct st_error *err);
/** Solve matrix x = b from the x given. Collective. Not converging is no error. */
enum st_status st_solver_solve(struct st_solver *solver, const struct st_ldu *matrix,
                               double *x, const double *b,
                               const struct st_solver_control *control,
                               struct st_solve_report *report, struct st_error *err);
/** Bytes the solver holds. Local. */
double st_solver_bytes(const struct st_solver *solver);
/** Local; accepts NULL. */
void st_solver_destroy(struct st_solver **solver);

#endif
