#ifndef ST_BENCHMARKS_PART_ARRAY_SIZE_H
#define ST_BENCHMARKS_PART_ARRAY_SIZE_H

#include "src/measure/run.h"

#include <stddef.h>
#include <stdint.h>

/* How large the arrays of a bandwidth benchmark are (METHODS 1.2). Local and pure but one. */

/** Share of the memory that all arrays together may take. */
extern const double st_array_memory_share;
/** Sizes are multiples of it for each thread: one huge page. */
extern const uint64_t st_array_grain_bytes;

/** Four times the caches; saturates, which no memory holds. */
uint64_t st_array_cache_rule(uint64_t llc_bytes);

/**
 * Bytes of one array of a node with `size: auto`: four times the caches and at least 256 MiB,
 * but not more than the memory allows. A multiple of 2 MiB per thread unless the memory is too
 * small even for that.
 * @param memory_bytes of the node; 0: unknown
 */
uint64_t st_array_auto_bytes(uint64_t llc_bytes, uint64_t memory_bytes, size_t n_threads,
                             size_t n_arrays);

/** Sums over the ranks of this rank's node. */
struct st_array_node {
    uint64_t n_threads, memory_bytes; /**< of the node */
    uint64_t first_thread;            /**< of this rank among them */
};
/** Collective over the group; nothing local can fail before or within. */
enum st_status st_array_node_sums(struct st_run *run, struct st_array_node *out);

#endif
