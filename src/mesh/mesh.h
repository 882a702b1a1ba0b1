#ifndef ST_MESH_MESH_H
#define ST_MESH_MESH_H

#include "mpi/comm.h"

#include <stddef.h>
#include <stdint.h>

/*
 * One rank's part of an unstructured finite-volume mesh, as OpenFOAM sees one (METHODS 4.2):
 * faces between an owner and a neighbour cell, internal faces first and sorted by (owner,
 * neighbour) with owner < neighbour, then the faces of the patches, patch after patch. Faces
 * shared with other ranks are patches of kind ST_PATCH_HALO, after all others, with the
 * same faces in the same order on both sides. Every rank has every non-halo patch of the
 * whole mesh in the same order, with 0 faces if need be.
 *
 * Periodic sides are internal (or halo) faces like any other: the vector d between the two
 * cell centres is stored by face, so nothing depends on where the centres are.
 */

enum {
    ST_PATCH_NAME_SIZE = 128
};

enum st_patch_kind {
    ST_PATCH_BOUNDARY, /**< carries a boundary condition */
    ST_PATCH_EMPTY,    /**< the third direction of a 2-D mesh: no flux, no unknown */
    ST_PATCH_HALO      /**< faces shared with another rank */
};

struct st_patch {
    char name[ST_PATCH_NAME_SIZE]; /**< as in the mesh; "" for a halo */
    char type
        [ST_PATCH_NAME_SIZE]; /**< OpenFOAM's word: "wall", "patch", "symmetryPlane" … */
    enum st_patch_kind kind;
    int32_t start, n; /**< first face and number of faces, local */
    int rank;         /**< of the other side, for a halo; else -1 */
};

/** A vector or point; memory is x, y, z. */
struct st_vec {
    double x, y, z;
};

struct st_mesh {
    struct stm_comm comm; /**< borrowed */
    int32_t n_cells, n_internal, n_faces;
    int32_t *owner;     /**< [n_faces] */
    int32_t *neighbour; /**< [n_internal] */
    size_t n_patches;
    struct st_patch *patches; /**< [n_patches] */
    struct st_vec *centre;    /**< [n_cells] */
    double *volume;           /**< [n_cells] */
    struct st_vec
        *area; /**< [n_faces] normal x area, from owner to neighbour or out of the mesh */
    struct st_vec
        *d; /**< [n_faces] owner's centre to neighbour's centre, or to the face centre on
                           a boundary */
    double *
        weight; /**< [n_faces] of the owner in linear interpolation (OpenFOAM's weights); 1 on
                         boundaries */
    int64_t *cell_global; /**< [n_cells] number of each cell in the whole mesh */
    int64_t n_cells_global, n_internal_global; /**< of the whole mesh */
    int64_t cut_faces; /**< faces shared by two ranks, whole mesh */
    int32_t bandwidth; /**< max |owner - neighbour| on this rank */
};

/** Free everything; accepts NULL and half-built meshes. Local. */
void st_mesh_destroy(struct st_mesh **mesh);

#endif
