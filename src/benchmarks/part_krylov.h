#ifndef ST_BENCHMARKS_PART_KRYLOV_H
#define ST_BENCHMARKS_PART_KRYLOV_H

#include "kernels/krylov.h"
#include "mpi/comm.h"
#include "src/base/mem.h"
#include "src/base/status.h"
#include "src/benchmarks/part_cg.h"
#include "src/benchmarks/part_matrix.h"
#include "src/benchmarks/part_multigrid.h"
#include "src/benchmarks/part_split.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Preconditioned Krylov methods that differ in their reductions, for A x = b with b = A 1 and
 * x = 0 at the start. Conjugate gradients: classic (two allreduces an iteration), Chronopoulos
 * and Gear (one; J. Comput. Appl. Math. 25, 1989), pipelined (one, under preconditioner and
 * product; Ghysels and Vanroose, Parallel Comput. 40, 2014, algorithm 4). BiCGStab (three; van
 * der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992), preconditioned from the right.
 *
 * Same mathematics, not same rounding: the pipelined recurrences for u, w, q and z let the true
 * residual stagnate above the recurrence's, the more the worse the condition (Cools et al.,
 * SIAM J. Matrix Anal. 39, 2018). Tolerances below 1e-10 are therefore not offered.
 */
enum st_krylov_method {
    ST_KRYLOV_CLASSIC,
    ST_KRYLOV_GEAR,
    ST_KRYLOV_PIPELINED,
    ST_KRYLOV_BICGSTAB
};
enum st_krylov_preconditioner {
    ST_KRYLOV_NONE,
    ST_KRYLOV_JACOBI,
    ST_KRYLOV_SGS, /**< within each thread's rows: iterations depend on ranks and threads */
    ST_KRYLOV_MULTIGRID /**< of symmetric matrices (part_multigrid.h) */
};

enum {
    ST_KRYLOV_N_METHODS = ST_KRYLOV_BICGSTAB + 1
};

struct st_krylov_options {
    double tolerance; /**< on ||r|| / ||b|| of the recurrence */
    uint64_t max_iterations;
    bool is_fixed; /**< do max_iterations, whatever the residual (unless it is 0) */
    bool overlap;  /**< halo exchange under the interior product */
};

/** A solver on one rank. */
struct st_krylov {
    struct st_cg *base; /**< b, its norm, the diagonal, four of the vectors; owned */
    struct st_matrix *matrix; /**< borrowed until st_krylov_destroy() */
    enum st_krylov_preconditioner preconditioner;
    struct st_multigrid *multigrid; /**< NULL: another preconditioner; owned */
    struct stk_krylov v;
    double *solutions[ST_KRYLOV_N_METHODS]; /**< of the methods asked for, else NULL */
    struct st_split split; /**< halo and reductions of all solves since it was zeroed */
    struct st_mapping arrays[6 + ST_KRYLOV_N_METHODS]; /**< owned */
};

/**
 * Vectors for the methods in the mask @p methods (bit = enum st_krylov_method). Conjugate
 * gradients refuse a matrix that is not symmetric or has a diagonal entry <= 0. Multigrid is for
 * conjugate gradients alone.
 * Collective over @p comm. @param out owned by the caller on success; st_krylov_destroy()
 */
enum st_status st_krylov_create(const struct stm_comm *comm, struct st_matrix *matrix,
                                enum st_krylov_preconditioner preconditioner,
                                uint32_t methods, struct st_krylov **out,
                                struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_krylov_destroy(struct st_krylov **krylov);

/** Solve by one of the methods asked for, into its solution. Collective. Not converging and
 *  breaking down are outcomes, not errors. */
enum st_status st_krylov_solve(struct st_krylov *k, enum st_krylov_method method,
                               const struct st_krylov_options *options,
                               struct st_cg_outcome *outcome, struct st_error *err);
/** ||b - A x|| / ||b|| of the method's last solution, afresh. Collective. */
enum st_status st_krylov_true_residual(struct st_krylov *k, enum st_krylov_method method,
                                       double *residual, struct st_error *err);
/** Arrays of a rank's rows that a solver for @p methods holds. Local. */
size_t st_krylov_n_vectors(uint32_t methods);

#endif
