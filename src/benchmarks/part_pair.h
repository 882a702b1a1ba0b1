#ifndef ST_BENCHMARKS_PART_PAIR_H
#define ST_BENCHMARKS_PART_PAIR_H

#include "mpi/pairs.h"
#include "src/base/bench.h"
#include "src/measure/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the benchmarks of pairs share: who talks to whom and when, how often to repeat, and data
 * that prove themselves. */

enum {
    ST_PAIR_ROUND_TRIPS = 100, /**< most round trips of an inner repetition */
    ST_PAIR_WINDOWS = 10,      /**< most windows */
    ST_PAIR_GUARD_BYTES = 8 /**< behind each message's place: no message may touch them */
};

/** Choices of a parameter `pairing`, in the order of enum stm_pairing. */
extern const char *const st_pair_pairings[];
#define ST_PARAM_PAIRING(s)                                                              \
    ST_PARAM_CHOICE(                                                                     \
        s, pairing, st_pair_pairings, "halves",                                          \
        "halves: i with i+P/2; nodes: never on one node; adjacent: 2i with 2i+1")

/** The group's pairs as this rank sees them. */
struct st_pair_list {
    size_t n;
    struct stm_pair *pairs; /**< [n] owned: st_free() */
    size_t mine;            /**< this rank's pair; SIZE_MAX: it has none */
    int peer;               /**< its partner, -1: none */
    bool is_first;          /**< of the two, it sends first */
    int turn_from; /**< who gives the word if pairs take turns (stm_turn_wait); -1: nobody */
    int turn_to[2]; /**< who gets it */
};

/**
 * For plan(): how many pairs there will be, with a note on ranks without partner.
 * @param who benchmark, for messages
 * @return ST_ERR_UNSUPPORTED for pairing `nodes` on one node
 */
enum st_status st_pair_plan(const char *who, uint32_t pairing,
                            const struct st_shape *shape, size_t *n_pairs,
                            struct st_need *need, struct st_error *err);
/** For prepare(): the pairs, and a place of kind ST_PAIR for each. Local.
 *  @param out zero-initialised; its pairs are the caller's also after a failure */
enum st_status st_pair_arrange(struct st_run *run, uint32_t pairing,
                               struct st_pair_list *out);
/**
 * Of which kinds are the group's pairs? If of several, a remark says which; figures of all of
 * them together would be a mixture, so that @p is_total refuses. Collective.
 * @return ST_ERR_UNSUPPORTED for a mixed total, with what to choose instead
 */
enum st_status st_pair_kinds(struct st_run *run, const struct st_pair_list *list,
                             bool is_total);

/**
 * Repetitions so short that small ones do not mind a clock reading and large ones do not last:
 * @p most up to 8 KiB, then as much data as that, as the OSU benchmarks have fewer above it.
 * Local. @return 1 … most
 */
size_t st_pair_batch(uint64_t message_bytes, uint64_t in_flight, uint64_t most);
/** From one message's place to the next: whole cache lines, with the guard. */
size_t st_pair_place_bytes(uint64_t message_bytes);

/** Write message @p m of rank @p rank: SplitMix64 of seed rank 2^32 + m (METHODS 3.1). */
void st_pair_fill(char *place, size_t bytes, int rank, size_t m);
/** Write the guard behind a place. @param place [bytes + ST_PAIR_GUARD_BYTES] */
void st_pair_guard(char *place, size_t bytes);
/** Is message @p m of rank @p rank there, and the guard whole? */
void st_pair_check(const char *place, size_t bytes, int rank, size_t m,
                   struct st_check *check);

#endif
