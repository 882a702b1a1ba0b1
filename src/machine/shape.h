#ifndef ST_MACHINE_SHAPE_H
#define ST_MACHINE_SHAPE_H

#include "src/base/bench.h"
#include "src/machine/cpus.h"
#include "src/machine/place.h"
#include "src/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sizes of a layout from what each node contributes. Private to src/machine; pure. */

/** What one node has in a step. */
struct st_node_share {
    uint64_t n_ranks;      /**< active; 0: the node takes no part */
    uint64_t n_threads;    /**< sum */
    uint64_t max_threads;  /**< of one rank */
    uint64_t llc_bytes;    /**< under its active CPUs */
    uint64_t memory_bytes; /**< allowed to these ranks together */
    bool oversubscribed;
    uint64_t n_numa; /**< NUMA nodes of the whole node; 0: unknown */
};

/** Shape of a step over nodes' shares [n]; @p each: every node is a group of its own. */
struct st_shape st_shape_of(size_t n, const struct st_node_share *shares, bool each);

/** A node's memory for @p n_ranks ranks of at most @p rank_bytes each. */
uint64_t st_shape_memory(uint64_t node_bytes, uint64_t rank_bytes, size_t n_ranks);

/**
 * "All" of the started ranks is a wrong answer where the launcher stacked them: the rest would
 * sleep and a smaller machine be measured than the user believes (CASES 12, 15).
 * @return true if the layout wants all of @p n_ranks, more than a node of @p n_usable_pus binds
 */
bool st_shape_crowded(const struct st_layout_request *request, size_t n_ranks,
                      size_t n_usable_pus);

/** The share of a planned node, without memory. */
enum st_status st_shape_share(const struct st_cpus *cpus,
                              const struct st_placement *placement,
                              struct st_node_share *out, struct st_error *err);

#endif
