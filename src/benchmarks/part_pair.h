#ifndef ST_BENCHMARKS_PART_PAIR_H
#define ST_BENCHMARKS_PART_PAIR_H

#include "src/base/bench.h"
#include "src/measure/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the benchmarks of pairs share: how often to repeat, and data that prove themselves. */

enum {
    ST_PAIR_ROUND_TRIPS = 100, /**< most round trips of an inner repetition */
    ST_PAIR_WINDOWS = 10,      /**< most windows */
    ST_PAIR_GUARD_BYTES = 8 /**< behind each message's place: no message may touch them */
};

/**
 * Repetitions so short that small ones do not mind a clock reading and large ones do not last:
 * @p most up to 8 KiB, then as much data as that, as the OSU benchmarks have fewer above it.
 * Local. @return 1 … most
 */
size_t st_pair_batch(uint64_t message_bytes, uint64_t in_flight, uint64_t most);

/** Write message @p m of rank @p rank: SplitMix64 of seed rank 2^32 + m (METHODS 3.1). */
void st_pair_fill(char *place, size_t bytes, int rank, size_t m);
/** Write the guard behind a place. @param place [bytes + ST_PAIR_GUARD_BYTES] */
void st_pair_guard(char *place, size_t bytes);
/** Is message @p m of rank @p rank there, and the guard whole? */
void st_pair_check(const char *place, size_t bytes, int rank, size_t m,
                   struct st_check *check);

/**
 * Of which kinds are the group's pairs? If of several, a remark says which; figures of all of
 * them together would be a mixture, so that @p is_total refuses. Collective.
 * @param peer     partner's rank in the group, -1: none
 * @param is_first of the two, it counts the pair
 * @return ST_ERR_UNSUPPORTED for a mixed total, with what to choose instead
 */
enum st_status st_pair_kinds(struct st_run *run, int peer, bool is_first, bool is_total);

#endif
