#ifndef ST_MESH_POLY_SHARE_H
#define ST_MESH_POLY_SHARE_H

#include "src/mesh/poly_load.h"

/* Cells and faces that partitioning gave to this rank, and the mesh made of them. */

/** A face with all that the mesh needs of it. */
struct st_poly_link {
    int64_t id, owner, neighbour; /**< as in struct st_poly_face */
    int32_t patch;
    int32_t owner_rank, neighbour_rank; /**< -1: no neighbour */
    struct st_vec area, d;              /**< from the owner */
    double weight;                      /**< of the owner */
};

struct st_poly_share {
    size_t n_cells, n_links;
    struct st_poly_cell *cells; /**< [n_cells] by rising id, owned */
    struct st_poly_link *links; /**< [n_links] all faces of these cells, owned */
};

/**
 * Move cells and faces to their parts. Collective; ends with the same status on all ranks.
 * @param part [blocks n_mine] rank for each cell of this rank's block
 * @param source for the places of faces in complaints, rank 0
 * @param least_cosine of the angle between d and area of the internal faces of the block, out
 */
enum st_status st_poly_move(const struct stm_comm *comm,
                            const struct st_poly_source *source,
                            const struct st_poly_blocks *blocks, const int32_t *part,
                            struct st_poly_share *out, double *least_cosine,
                            struct st_error *err);
/** Local; accepts a zeroed struct. */
void st_poly_share_clear(struct st_poly_share *share);

/**
 * The mesh of this rank's cells and faces, renumbered. Collective over the sums it forms.
 * @param blocks for counts and patches
 */
enum st_status st_poly_build(const struct stm_comm *comm,
                             const struct st_poly_blocks *blocks,
                             const struct st_poly_share *share, struct st_mesh **out,
                             struct st_error *err);

#endif
