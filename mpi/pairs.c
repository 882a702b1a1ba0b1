/*
 * Pairings of ranks. All three are "element i of a list with element i + h": adjacent ranks
 * with h = 1 in steps of two, halves with h = P/2, nodes the same on the list sorted by node.
 * There the largest node comes first: with m ranks on it and m <= P/2, a block of one node
 * is at most h long and so never holds both i and i + h; with m > P/2 only P - m pairs can
 * cross nodes, and h = m makes exactly these.
 */
#include "mpi/pairs.h"

#include "src/base/mem.h"

size_t stm_pair_count(enum stm_pairing pairing, size_t n_ranks, size_t n_largest)
{
    const size_t half = n_ranks / 2;

    if (pairing == STM_PAIR_NODES && n_ranks - n_largest < half) {
        return n_ranks - n_largest;
    }
    return half;
}

/* Ranks in order of node, the largest node first. @return ranks on the largest node, 0 on failure */
static size_t sort_by_node(size_t n_ranks, const size_t *node_of, size_t *order,
                           struct st_error *err)
{
    size_t n_nodes = 0;
    size_t largest = 0;
    size_t *next = NULL; /* [n_nodes] ranks of the node, then its next place in order */

    for (size_t r = 0; r < n_ranks; r++) {
        n_nodes = node_of[r] >= n_nodes ? node_of[r] + 1 : n_nodes;
    }
    next = st_calloc(err, n_nodes, sizeof *next);
    if (next == NULL) {
        return 0;
    }
    for (size_t r = 0; r < n_ranks; r++) {
        next[node_of[r]]++;
    }
    for (size_t node = 1; node < n_nodes; node++) {
        largest = next[node] > next[largest] ? node : largest;
    }
    const size_t n_largest = next[largest];
    size_t place = n_largest;
    next[largest] = 0;
    for (size_t node = 0; node < n_nodes; node++) {
        if (node != largest) {
            const size_t n = next[node];
            next[node] = place;
            place += n;
        }
    }
    for (size_t r = 0; r < n_ranks; r++) {
        order[next[node_of[r]]++] = r;
    }
    st_free(next);
    return n_largest;
}

enum st_status stm_pair_up(enum stm_pairing pairing, size_t n_ranks,
                           const size_t *node_of, struct stm_pair **pairs,
                           size_t *n_pairs, struct st_error *err)
{
    size_t *order = st_calloc(err, n_ranks, sizeof *order);
    struct stm_pair *list = st_calloc(err, n_ranks / 2, sizeof *list);
    size_t n_largest = 0;
    const size_t half = n_ranks / 2;

    if (order == NULL || list == NULL) {
        st_free(order);
        st_free(list);
        return err->code;
    }
    for (size_t r = 0; r < n_ranks; r++) {
        order[r] = r;
    }
    if (pairing == STM_PAIR_NODES && n_ranks > 0) {
        n_largest = sort_by_node(n_ranks, node_of, order, err);
        if (n_largest == 0) {
            st_free(order);
            st_free(list);
            return err->code;
        }
    }
    const size_t step = pairing == STM_PAIR_ADJACENT ? 2 : 1;
    const size_t apart = pairing == STM_PAIR_ADJACENT ? 1
                         : n_largest > half           ? n_largest
                                                      : half;
    const size_t n = stm_pair_count(pairing, n_ranks, n_largest);
    for (size_t k = 0; k < n; k++) {
        list[k].first = (int)order[k * step];
        list[k].second = (int)order[k * step + apart];
    }
    st_free(order);
    *pairs = list;
    *n_pairs = n;
    return ST_OK;
}
