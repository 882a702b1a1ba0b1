#ifndef ST_BENCHMARKS_PART_CG_H
#define ST_BENCHMARKS_PART_CG_H

#include "kernels/vector.h"
#include "mpi/comm.h"
#include "src/base/mem.h"
#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Conjugate gradients, plain or with Jacobi preconditioner (Hestenes, Stiefel, J. Res. NBS
 * 49, 1952; Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., alg. 9.1), for
 * A x = b with b = A 1 and x = 0 at the start. Two allreduces per iteration. Dot products
 * are bit-reproducible for one count of ranks and threads; over different counts the sums
 * are grouped differently and iteration counts may differ by one.
 */

struct st_cg_options {
    double tolerance; /**< on ||r|| / ||b|| of the recurrence */
    uint64_t max_iterations;
    bool overlap; /**< halo exchange under the interior product */
};

struct st_cg_outcome {
    uint64_t n_iterations;
    double residual; /**< ||r|| / ||b|| by the recurrence; equal on all ranks */
    bool converged;  /**< residual <= tolerance */
    bool broke_down; /**< p'Ap was not positive: the matrix is not positive definite */
};

/** Vectors of a solve. */
struct st_cg {
    struct stm_comm comm;
    struct st_matrix *matrix; /**< borrowed until st_cg_destroy() */
    struct stk_cg v;
    double *b;
    double norm_b;
    double *partial;             /**< owned */
    struct st_mapping arrays[6]; /**< owned */
};

/**
 * Make b and the preconditioner, and check that the matrix can be solved by it: positive
 * diagonal, symmetric. Collective over @p comm.
 * @param out owned by the caller on success; st_cg_destroy()
 * @return equal on all ranks; ST_ERR_STEP names the first bad row, or the asymmetry found
 */
enum st_status st_cg_create(const struct stm_comm *comm, struct st_matrix *matrix,
                            bool jacobi, struct st_cg **out, struct st_error *err);
/** The same vectors for methods that ask for neither symmetry nor sign: only a zero on the
 *  diagonal is refused, and only if @p jacobi divides by it. Not for st_cg_solve(). */
enum st_status st_cg_create_general(const struct stm_comm *comm, struct st_matrix *matrix,
                                    bool jacobi, struct st_cg **out,
                                    struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_cg_destroy(struct st_cg **cg);

/** Solve. Collective. Not converging is an outcome, not an error. */
enum st_status st_cg_solve(struct st_cg *cg, const struct st_cg_options *options,
                           struct st_cg_outcome *outcome, struct st_error *err);

/** ||b - A x|| / ||b|| of the last solution, computed afresh. Collective. */
enum st_status st_cg_true_residual(struct st_cg *cg, double *residual,
                                   struct st_error *err);

/** Bytes of the vectors of one rank. */
double st_cg_bytes(uint64_t n_rows, bool jacobi);

#endif
