#ifndef ST_GRAPH_PARTITION_H
#define ST_GRAPH_PARTITION_H

#include "mpi/comm.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Partition of a distributed graph into parts of equal weight and few cut edges, by PT-SCOTCH
 * (Chevalier, Pellegrini, Parallel Comput. 34, 2008) where this program was built with it.
 */

/** Vertices in contiguous blocks of global numbers, rank after rank; arrays are borrowed. */
struct st_graph {
    const int64_t
        *vertex_start;    /**< [n_ranks + 1] first vertex of each rank; equal on all */
    const int64_t *start; /**< [own + 1] of each own vertex's neighbours in adjacent */
    const int64_t
        *adjacent; /**< [start[own]] global numbers; symmetric, no vertex itself */
    const int32_t *weight; /**< [own] above 0; NULL: 1 each */
};

/** What a partition is like, equal on all ranks. */
struct st_graph_cut {
    int64_t n_edges, n_cut; /**< of the whole graph, each counted once */
    double imbalance;       /**< greatest over mean weight of a part; 1 is perfect */
};

/** Was this program built with PT-SCOTCH? */
bool st_graph_can_partition(void);

/**
 * Collective over @p comm. The same graph on the same ranks gives the same parts.
 * @param n_parts 1 or more
 * @param part    out, [own] part of each own vertex, 0 … n_parts-1
 * @param cut     out; NULL: not wanted
 * @return the same on all ranks; ST_ERR_STEP without PT-SCOTCH, or if it cannot count so many
 *         vertices or edges, or fails
 */
enum st_status st_graph_partition(const struct stm_comm *comm,
                                  const struct st_graph *graph, int32_t n_parts,
                                  int32_t *part, struct st_graph_cut *cut,
                                  struct st_error *err);

#endif
