#ifndef ST_MACHINE_NODES_H
#define ST_MACHINE_NODES_H

#include "mpi/comm.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which ranks are on one node. Private to src/machine.
 *
 * Two independent keys: the shared-memory split of MPI, and boot id + host name. Where they
 * differ (pmodels/mpich#7814: every rank alone; containers) the coarser grouping is taken:
 * ranks that either key puts together are together. Nodes are numbered by their lowest rank.
 *
 * SEATRIAL_FAKE_NODES (test hook) cuts real nodes into pretended ones:
 *   block:K         K nodes of nearly equal size, the first ones take the rest (7 ranks: 4 + 3)
 *   block:N,N,…     so many ranks each, in rank order; the sum is the number of ranks
 *   cyclic:K        rank r on node r mod K
 */

struct st_node_map {
    size_t n_ranks;
    uint32_t *real; /**< [n_ranks] real node of each rank; owned */
    uint32_t *node; /**< [n_ranks] node as used: the same, or the pretended one; owned */
    size_t n_real, n_nodes;
    bool fake, keys_disagree;
};

/** Both keys of all ranks; borrowed. */
struct st_node_keys {
    size_t n;
    const uint32_t *split;       /**< [n] any number equal for ranks of one split group */
    const char *const *identity; /**< [n] texts, equal for ranks of one machine */
};

/** Pure. Merge the keys. @param[out] real [n] dense, by lowest rank */
enum st_status st_nodes_merge(const struct st_node_keys *keys, uint32_t *real,
                              size_t *n_real, bool *keys_disagree, struct st_error *err);

/**
 * Pure. Pretended node of each rank. @return ST_ERR_USAGE with what is allowed, for a bad
 * spec, a count that does not match, a node without ranks, or ranks of two real nodes in one
 */
enum st_status st_nodes_fake(const char *spec, size_t n, const uint32_t *real,
                             uint32_t *node, size_t *n_nodes, struct st_error *err);

/**
 * Find the nodes. Collective over @p world; the map is equal on all ranks.
 * @param identity this rank's boot id and host name
 * @param fake     SEATRIAL_FAKE_NODES as rank 0 sees it, NULL if unset; used on rank 0
 */
enum st_status st_nodes_find(const struct stm_comm *world, const char *identity,
                             const char *fake, struct st_node_map *out,
                             struct st_error *err);
void st_node_map_clear(struct st_node_map *map);

#endif
