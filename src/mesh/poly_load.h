#ifndef ST_MESH_POLY_LOAD_H
#define ST_MESH_POLY_LOAD_H

#include "src/mesh/poly_files.h"
#include "src/mesh/poly_shape.h"

/*
 * From the files of a polyMesh to blocks: rank 0 reads, every rank gets an equal share of the
 * faces and of the cells, with their geometry. Collective; errors are the same on all ranks.
 * Memory of a rank: some 600 bytes for each face of its share while it runs, rank 0 one block
 * of 256 KiB (feed.h) and the list of patches more. Nobody ever holds the whole mesh.
 */

struct st_poly_blocks {
    int64_t n_points, n_faces, n_internal, n_cells;
    size_t n_patches;
    struct st_poly_patch *patches; /**< [n_patches] the same on all ranks, owned */
    size_t n_mine;                 /**< cells of this rank's block (blocks.h) */
    struct st_poly_cell *cells;    /**< [n_mine] owned */
    size_t n_held;                 /**< faces of these cells */
    struct st_poly_face
        *faces; /**< [n_held] by rising id, owned; each face of two blocks is
                                      in both */
};

/** A complaint about a face that was found by one rank, before its line is known. */
struct st_poly_trouble {
    int64_t face; /**< INT64_MAX: none */
    struct st_error text;
};

/**
 * Read and check. @param source used on rank 0 alone
 * @param out st_poly_blocks_clear() also after a failure
 */
enum st_status st_poly_load(const struct stm_comm *comm,
                            const struct st_poly_source *source,
                            struct st_poly_blocks *out, struct st_error *err);
/** Local; accepts a zeroed struct. */
void st_poly_blocks_clear(struct st_poly_blocks *blocks);

/** Keep a complaint if its face comes before that of the one kept. Local. */
void st_poly_complain(struct st_poly_trouble *trouble, int64_t face, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/** All ranks leave with the complaint about the first face of all, its line or byte before it. */
enum st_status st_poly_settle(const struct stm_comm *comm,
                              const struct st_poly_source *source,
                              const struct st_poly_trouble *trouble,
                              struct st_error *err);

#endif
