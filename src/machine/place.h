#ifndef ST_MACHINE_PLACE_H
#define ST_MACHINE_PLACE_H

#include "src/base/status.h"
#include "src/machine/cpus.h"
#include "src/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Planning of one node: who sits where. Pure: a table of usable CPUs and a request in, seats
 * out; the same input gives the same answer on every rank. Private to src/machine.
 *
 * Ranks are dealt whole cores (hardware threads with ranks `all-pus`). A rank gets as many
 * neighbouring cores as it has threads and does not cross a NUMA node, or else a package, if
 * that can be avoided. Compact fills core after core; scatter deals ranks round robin over
 * NUMA nodes and within one over L3s, or the threads if the node has a single rank. Per-numa,
 * per-socket and per-l3 give each rank one such object. Only the first hardware thread of a
 * core is used, unless `all-pus` is asked for.
 */

struct st_placement {
    size_t n_ranks;
    size_t n_seats;
    size_t *
        first; /**< [n_ranks + 1] a rank's seats are first[r] … first[r + 1] - 1; owned */
    size_t *cpu;         /**< [n_seats] row in the table of CPUs; owned */
    bool oversubscribed; /**< some core holds more than was asked to share it */
    char note[200];      /**< "2 of 64 cores have a rank" …, "" if none */
};

/** "all of them" for @p n_wanted: the request's own ranks_per_node decides. */
#define ST_RANKS_AS_ASKED SIZE_MAX

/**
 * @param n_started ranks of the launch on this node
 * @param n_wanted  ranks this node has to take of `ranks: N`, or ST_RANKS_AS_ASKED
 * @return ST_ERR_UNSUPPORTED: more ranks wanted than started, or no such object;
 *         ST_ERR_STEP: more ranks or threads than usable cores without `oversubscribe: yes`
 */
enum st_status st_place_plan(const struct st_cpus *cpus,
                             const struct st_layout_request *request, size_t n_started,
                             size_t n_wanted, struct st_placement *out,
                             struct st_error *err);
void st_placement_clear(struct st_placement *placement);

/** Ranks of `ranks: N` that a node with these usable cores and started ranks can take. */
size_t st_place_capacity(const struct st_layout_request *request, size_t n_usable_cores,
                         size_t n_started);

/**
 * How many ranks each node of the request takes, before planning: n_wanted[i] for the first
 * nodes, ST_RANKS_AS_ASKED unless `ranks: N` is given (then filled node by node, 0 where none
 * is left). Nodes that take no part get 0.
 * @param n_cores, n_started [n_nodes]
 * @param n_wanted           [n_nodes] out
 * @return ST_ERR_UNSUPPORTED: too few nodes or ranks; ST_ERR_STEP: too few cores
 */
enum st_status st_place_share(const struct st_layout_request *request, size_t n_nodes,
                              const size_t *n_cores, const size_t *n_started,
                              size_t *n_wanted, struct st_error *err);

#endif
