#ifndef ST_BENCHMARKS_PART_MULTIGRID_H
#define ST_BENCHMARKS_PART_MULTIGRID_H

#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"
#include "src/flow/gamg.h"

/*
 * Algebraic multigrid as a preconditioner of symmetric matrices: rows joined in pairs across
 * their strongest couplings, level by level (src/flow/gamg.h), and one V-cycle that is the same
 * symmetric operator at each call, as conjugate gradients need it: a symmetric Gauss-Seidel
 * sweep before and after, corrections times a constant (Braess, Computing 55, 1995), sweeps on
 * the coarsest level. Sweeps stay within a rank, so iterations depend on the ranks. One thread
 * of each rank works.
 */
struct st_multigrid {
    struct st_ldu_addr addr;
    struct st_ldu a;
    struct st_gamg *levels; /**< owned, as all below */
    int32_t *owner, *neighbour, *owner_start, *interface_cell;
    struct st_ldu_side *sides;
};

/**
 * Levels of @p matrix. Collective over @p comm, whose handle must outlive the result.
 * @param matrix symmetric; not needed afterwards
 * @param out    owned by the caller on success; st_multigrid_destroy()
 * @return the same on all ranks; ST_ERR_STEP if two ranks do not couple each other's rows alike
 */
enum st_status st_multigrid_create(const struct stm_comm *comm,
                                   const struct st_matrix *matrix,
                                   struct st_multigrid **out, struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_multigrid_destroy(struct st_multigrid **multigrid);

/** out = M^-1 in, one cycle. Collective. @param in, out [n_rows], not overlapping */
enum st_status st_multigrid_apply(struct st_multigrid *multigrid, const double *in,
                                  double *out, struct st_error *err);
/** Seconds spent in halo exchanges of all levels since it was made. Local. */
double st_multigrid_halo_s(const struct st_multigrid *multigrid);
/** Bytes a rank needs for it, at most, with these rows and own entries. Local. */
double st_multigrid_bytes(double n_rows, double n_entries);

#endif
