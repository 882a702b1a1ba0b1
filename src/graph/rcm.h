#ifndef ST_GRAPH_RCM_H
#define ST_GRAPH_RCM_H

#include "src/base/status.h"

#include <stdint.h>

/**
 * Reverse Cuthill-McKee order of a graph (Cuthill and McKee 1969; George 1971), from a
 * pseudo-peripheral vertex of each connected part (George and Liu, ACM TOMS 5, 1979). Local.
 * @param n        vertices
 * @param start    [n + 1] of each vertex's neighbours in @p adjacent
 * @param adjacent [start[n]] symmetric; the same neighbour may be there more than once
 * @param order    [n] out: order[new] = old
 */
enum st_status st_rcm(int32_t n, const int32_t *start, const int32_t *adjacent,
                      int32_t *order, struct st_error *err);

#endif
