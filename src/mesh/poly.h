#ifndef ST_MESH_POLY_H
#define ST_MESH_POLY_H

#include "src/mesh/mesh.h"
#include "src/mesh/poly_files.h"

/*
 * The user's own mesh: an OpenFOAM polyMesh read by rank 0, partitioned, renumbered within
 * each rank, and made a struct st_mesh. No rank ever holds the whole mesh: a rank's memory is
 * some 700 bytes a face of its share while it works, plus 256 KiB on rank 0 for reading.
 *
 * Cyclic patches become internal faces and are no patches of the mesh any more; all other
 * patches keep name, type and order. What cannot be solved here (wedge, AMI, processor
 * patches) and whatever is broken is refused with file and line, or byte of binary files.
 */

enum st_poly_partition {
    ST_POLY_BY_BLOCKS, /**< recursive coordinate bisection */
    ST_POLY_BY_SCOTCH, /**< PT-SCOTCH on the graph of the cells */
    ST_POLY_BY_LINEAR  /**< equal shares in the order of the file */
};

/** What reading and partitioning took and gave; the same on all ranks. */
struct st_poly_report {
    double read_s;      /**< files to blocks, with geometry and checks; slowest rank */
    double partition_s; /**< choosing parts, and moving cells and faces there */
    double renumber_s;  /**< reverse Cuthill-McKee and the mesh's arrays */
    double non_orthogonality; /**< greatest angle between d and area of an internal face,
                                    degrees */
};

/**
 * Read and distribute. Collective; errors are the same on all ranks.
 * @param source used on rank 0 alone
 * @param report may be NULL
 * @param out    owned by the caller: st_mesh_destroy()
 */
enum st_status st_poly_read(const struct stm_comm *comm,
                            const struct st_poly_source *source,
                            enum st_poly_partition partition, struct st_mesh **out,
                            struct st_poly_report *report, struct st_error *err);

#endif
