#ifndef ST_FLOW_LDU_H
#define ST_FLOW_LDU_H

#include "kernels/ldu.h"
#include "mpi/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Matrices in OpenFOAM's LDU form over face addressing, with interfaces to other ranks:
 *   (A x)[c] = diag[c] x[c] + sum over faces + sum over interface faces coupling[k] x_other[k]
 *   face f:  row owner[f] has upper[f] at column neighbour[f], row neighbour[f] has lower[f]
 *   at column owner[f].
 * One exchange per product: messages are posted before the interior loop and completed after
 * it, one message per neighbour rank, as processor patches do.
 */

/** Neighbour rank and the cells along the shared faces; same order of faces on both sides. */
struct st_ldu_side {
    int rank;
    int32_t start, n; /**< in the arrays over all interface faces */
};

/** Who is beside whom; shared by the matrices on one mesh (or one coarse level). */
struct st_ldu_addr {
    struct stm_comm comm; /**< borrowed */
    int32_t n_cells, n_faces;
    const int32_t *owner, *neighbour; /**< [n_faces] sorted by (owner, neighbour) */
    const int32_t *owner_start;       /**< [n_cells + 1] first face each cell owns */
    bool is_uneven;                   /**< stk_ldu_is_uneven() of it */
    size_t n_sides;
    const struct st_ldu_side *sides; /**< [n_sides] */
    int32_t n_interface;
    const int32_t *interface_cell; /**< [n_interface] own cell of each interface face */
};

struct st_ldu {
    const struct st_ldu_addr *addr; /**< borrowed */
    double *diag;                   /**< [n_cells] */
    double *upper;                  /**< [n_faces] */
    double *lower;    /**< [n_faces]; the same pointer as upper if symmetric */
    double *coupling; /**< [n_interface] coefficient of the other rank's value */
};

/** Buffers and requests of one exchange over an addressing, and what it took. */
struct st_ldu_exchange {
    const struct st_ldu_addr *addr; /**< borrowed */
    double *send, *ghost;           /**< [n_interface] */
    MPI_Request *requests;          /**< [2 n_sides] */
    double halo_s, reduction_s;     /**< summed: waiting for messages, for reductions */
};

/** Local. @return ST_ERR_MEMORY; destroy then too */
enum st_status st_ldu_exchange_init(struct st_ldu_exchange *x,
                                    const struct st_ldu_addr *addr, struct st_error *err);
/** Local; no exchange may be running. */
void st_ldu_exchange_clear(struct st_ldu_exchange *x);
/** Pack and send values[index[k]]; post the receives. Local.
 * @param index [n_interface] the addressing's interface_cell; NULL: k, already packed */
enum st_status st_ldu_exchange_start(struct st_ldu_exchange *x, const int32_t *index,
                                     const double *values, struct st_error *err);
/** Wait; ghost is valid then. Local. */
enum st_status st_ldu_exchange_finish(struct st_ldu_exchange *x, struct st_error *err);
/** Sum of @p n numbers over the ranks, in place. Collective. */
enum st_status st_ldu_sum(struct st_ldu_exchange *x, int n, double *values,
                          struct st_error *err);

/** The loops' view of a matrix. */
struct stk_ldu st_ldu_view(const struct st_ldu *a);
/** cells[c] += factor coupling[k] ghost[k] over the interface. Local. */
void st_ldu_add_interface(const struct st_ldu *a, double factor, const double *ghost,
                          double *cells);
/** y += the off-diagonal part of A x, other ranks' included; y holds the diagonal's part.
 * @param[out] product sum of x y of this rank. Collective over the neighbours. */
enum st_status st_ldu_multiply_rest(struct st_ldu_exchange *x, const struct st_ldu *a,
                                    const double *values, double *y, double *product,
                                    struct st_error *err);
/** y = A x: exchange under the interior loop. Collective over the neighbours. */
enum st_status st_ldu_multiply(struct st_ldu_exchange *x, const struct st_ldu *a,
                               const double *values, double *y, struct st_error *err);

#endif
