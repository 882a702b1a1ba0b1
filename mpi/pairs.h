#ifndef STM_PAIRS_H
#define STM_PAIRS_H

#include "src/base/status.h"

#include <stddef.h>

/* Who talks to whom in a point-to-point measurement. Local and pure. */

enum stm_pairing {
    STM_PAIR_HALVES, /**< i with i + P/2, as osu_mbw_mr: with full nodes, senders on one half of them */
    STM_PAIR_NODES,   /**< both ranks of every pair on different nodes */
    STM_PAIR_ADJACENT /**< 2i with 2i + 1: neighbours, mostly on one node */
};

struct stm_pair {
    int first, second; /**< ranks; the first one sends first */
};

/**
 * Number of pairs: as many as the pairing allows. With an odd number of ranks, or when one
 * node holds more than half of them (STM_PAIR_NODES), some ranks have no partner.
 * @param n_largest most ranks on one node; used by STM_PAIR_NODES alone
 */
size_t stm_pair_count(enum stm_pairing pairing, size_t n_ranks, size_t n_largest);

/**
 * The pairs, equal on every rank that passes equal arguments.
 * @param node_of [n_ranks] node index of each rank, in any order
 * @param[out] pairs   [*n_pairs] owned by the caller, st_free(); not NULL, also with no pair
 */
enum st_status stm_pair_up(enum stm_pairing pairing, size_t n_ranks,
                           const size_t *node_of, struct stm_pair **pairs,
                           size_t *n_pairs, struct st_error *err);

#endif
