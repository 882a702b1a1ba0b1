#ifndef ST_MESH_RCB_H
#define ST_MESH_RCB_H

#include "src/mesh/poly_shape.h"

/**
 * Recursive coordinate bisection (Berger and Bokhari, IEEE Trans. Computers C-36, 1987): cells
 * are halved across the longest side of their box until each part has one rank's share. Parts
 * differ by at most one cell for each halving. Collective; the result depends on the
 * cells alone, not on which rank has them.
 * @param cells [n] of this rank
 * @param part  [n] out: 0 … n_parts - 1
 */
enum st_status st_rcb(const struct stm_comm *comm, int n_parts, size_t n,
                      const struct st_poly_cell *cells, int32_t *part,
                      struct st_error *err);

#endif
