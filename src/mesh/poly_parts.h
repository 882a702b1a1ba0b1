#ifndef ST_MESH_POLY_PARTS_H
#define ST_MESH_POLY_PARTS_H

#include "src/mesh/poly.h"
#include "src/mesh/poly_load.h"

/**
 * A rank for each cell. Collective; ends with the same status on all ranks.
 * @param part [blocks n_mine] out
 * @return ST_ERR_STEP for ST_POLY_BY_SCOTCH in a program without it
 */
enum st_status st_poly_choose_parts(const struct stm_comm *comm,
                                    enum st_poly_partition partition,
                                    const struct st_poly_blocks *blocks, int32_t *part,
                                    struct st_error *err);

#endif
