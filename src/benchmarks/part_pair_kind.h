#ifndef ST_BENCHMARKS_PART_PAIR_KIND_H
#define ST_BENCHMARKS_PART_PAIR_KIND_H

#include <stddef.h>

/* How far apart the two ranks of a pair sit: figures of different kinds are not one quantity. */

enum st_pair_kind {
    ST_PAIR_INTRA_L3,
    ST_PAIR_INTRA_SOCKET,
    ST_PAIR_INTRA_NODE, /**< also if the caches and sockets are unknown */
    ST_PAIR_INTER_NODE,
    ST_PAIR_N_KINDS
};

/** Where a rank sits; SIZE_MAX: unknown. */
struct st_pair_seat {
    size_t node, package, l3;
};

/** Local and pure. */
enum st_pair_kind st_pair_kind(const struct st_pair_seat *a,
                               const struct st_pair_seat *b);

/**
 * What to tell people about pairs of several kinds: "" if all are of one.
 * @param n [ST_PAIR_N_KINDS] pairs of each kind
 */
void st_pair_kinds_text(const int n[ST_PAIR_N_KINDS], char *out, size_t size);

#endif
