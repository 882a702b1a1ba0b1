/*
 * The kind of a pair of ranks from the node table and the caches its ranks sit on. The closest
 * thing that both share decides; what is unknown is never taken for shared.
 */
#include "src/benchmarks/part_pair_kind.h"

#include <stdint.h>
#include <stdio.h>

enum st_pair_kind st_pair_kind(const struct st_pair_seat *a, const struct st_pair_seat *b)
{
    if (a->node != b->node) {
        return ST_PAIR_INTER_NODE;
    }
    if (a->l3 != SIZE_MAX && a->l3 == b->l3) {
        return ST_PAIR_INTRA_L3;
    }
    if (a->package != SIZE_MAX && a->package == b->package) {
        return ST_PAIR_INTRA_SOCKET;
    }
    return ST_PAIR_INTRA_NODE;
}

void st_pair_kinds_text(const int n[ST_PAIR_N_KINDS], char *out, size_t size)
{
    static const char *const words[ST_PAIR_N_KINDS] = {"intra-L3", "intra-socket",
                                                       "intra-node", "inter-node"};
    char list[160] = "";
    size_t used = 0;
    int n_kinds = 0;

    for (size_t k = 0; k < ST_PAIR_N_KINDS; k++) {
        if (n[k] > 0) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d %s",
                                     n_kinds > 0 ? ", " : "", n[k], words[k]);
            n_kinds++;
        }
    }
    out[0] = '\0';
    if (n_kinds > 1) {
        (void)snprintf(out, size, "pairs of different kinds: %s", list);
    }
}
