#ifndef ST_MESH_BOX_H
#define ST_MESH_BOX_H

#include "src/mesh/mesh.h"

#include <stdbool.h>

/*
 * Boxes of nx x ny x nz equal cells, made in place: every rank builds its own block and no
 * rank ever holds more. Cells are numbered x fastest, over the whole box and within each
 * block, as blockMesh numbers them. Patches are xMin, xMax, yMin, yMax, zMin, zMax, without
 * those of periodic directions.
 */

struct st_mesh_box {
    int64_t n[3];        /**< cells of the whole box along x, y, z */
    double length[3];    /**< of the whole box */
    bool is_periodic[3]; /**< such a direction has at least three cells */
    bool is_empty
        [3]; /**< the direction a 2-D case leaves out: one cell, patches "empty" */
};

/** Blocks of a box, one per rank; block (i,j,k) is of rank i + ranks[0] (j + ranks[1] k). */
struct st_mesh_blocks {
    int64_t ranks[3];
    int64_t cut_faces; /**< between blocks, whole box */
};

/** The blocks with fewest cut faces, then fewest along z, then y. Local. */
struct st_mesh_blocks st_mesh_blocks_of(const struct st_mesh_box *box, int n_ranks);

/** Most cells, internal faces and all faces (halo included) of one rank; for memory. Local. */
struct st_mesh_counts {
    int64_t n_cells, n_internal, n_faces;
};
struct st_mesh_counts st_mesh_box_counts(const struct st_mesh_box *box, int n_ranks);

/** Are sizes sane and a rank's share within 32-bit labels? @return ST_ERR_CONFIG or ST_ERR_STEP */
enum st_status st_mesh_box_check(const struct st_mesh_box *box, int n_ranks,
                                 struct st_error *err);

/**
 * Make this rank's block. Collective over @p comm (an agreement at the end); any rank count,
 * also more ranks than cells.
 * @param out owned by the caller on success: st_mesh_destroy()
 */
enum st_status st_mesh_box_create(const struct stm_comm *comm,
                                  const struct st_mesh_box *box, struct st_mesh **out,
                                  struct st_error *err);

#endif
