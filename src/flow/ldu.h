#ifndef ST_FLOW_LDU_H
#define ST_FLOW_LDU_H

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

#endif
