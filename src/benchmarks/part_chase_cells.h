#ifndef ST_BENCHMARKS_PART_CHASE_CELLS_H
#define ST_BENCHMARKS_PART_CHASE_CELLS_H

#include "src/measure/run.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Who chases from which CPU NUMA node to which memory NUMA node: the cells c{i}m{j} of METHODS
 * 1.4 for a group of any number of ranks and nodes.
 */

/** One CPU NUMA node to one memory NUMA node, measured by this rank. */
struct st_chase_cell {
    size_t place;  /**< of kind ST_NUMA */
    size_t thread; /**< first one of this rank on the CPU node */
    size_t memory; /**< logical number of the memory node */
};

/**
 * List the cells of the group, declare them as places, and hand out this rank's. A CPU node
 * that several ranks sit on belongs to the first of them. Collective over the group, in
 * prepare(); failures of one rank are for the harness to agree on.
 *
 * @param with_local also i = j
 * @param[out] cells [*n] owned by the caller (st_free), also after a failure
 * @return ST_ERR_UNSUPPORTED on all ranks if some node has no two NUMA nodes, or none is remote
 */
enum st_status st_chase_cells_create(struct st_run *run, bool with_local, size_t *n,
                                     struct st_chase_cell **cells);

#endif
