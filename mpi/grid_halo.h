#ifndef STM_GRID_HALO_H
#define STM_GRID_HALO_H

#include "mpi/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Exchange of the boundary layers of a box of points, as a structured solver does it: ranks
 * form a grid without wrap-around, each holds n^3 points of every field and one layer of
 * ghosts around them. Faces alone (up to 6 neighbours) or edges and corners too (up to 26).
 */

enum {
    STM_GRID_NEIGHBOURS = 26
};

/** One neighbour; its part of the buffers. */
struct stm_grid_link {
    int rank;
    int direction[3];  /**< -1, 0, 1 along x, y, z */
    size_t first;      /**< first double in send and in recv */
    size_t n_elements; /**< doubles each way */
};

/** The fields are for reading, the arrays owned by the halo. */
struct stm_grid_halo {
    MPI_Comm comm;
    size_t n;        /**< own points along each axis */
    size_t n_fields; /**< values of one point */
    double *field;   /**< [n_fields][n + 2][n + 2][n + 2], x fastest, ghosts included */
    size_t n_links;
    struct stm_grid_link links[STM_GRID_NEIGHBOURS];
    size_t n_sent; /**< doubles sent in one exchange, and received */
    double *send, *recv;
    MPI_Request requests[2 * STM_GRID_NEIGHBOURS];
};

/**
 * Find the neighbours and allocate; the field is zero, touched by this rank. Local.
 * @param ranks ranks along x, y, z; their product is the size of @p comm, rank x fastest
 * @param n     points along an axis, at least 1; a message must fit an MPI count
 * @param out   stm_grid_halo_clear() also after a failure
 */
enum st_status stm_grid_halo_init(const struct stm_comm *comm, const uint64_t ranks[3],
                                  size_t n, size_t n_fields, bool faces_only,
                                  struct stm_grid_halo *out, struct st_error *err);
/** Free; accepts a zeroed struct. Local; no exchange may be running. */
void stm_grid_halo_clear(struct stm_grid_halo *halo);

/** Pack the outer layers and start all messages. */
enum st_status stm_grid_halo_start(struct stm_grid_halo *halo, struct st_error *err);
/** Wait for all messages and unpack them into the ghosts. */
enum st_status stm_grid_halo_finish(struct stm_grid_halo *halo, struct st_error *err);

/** Index in field of a point, coordinates 0 … n + 1 with the ghosts. Local. */
size_t stm_grid_at(const struct stm_grid_halo *halo, size_t f, const size_t at[3]);

#endif
