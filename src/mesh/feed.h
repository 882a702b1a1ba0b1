#ifndef ST_MESH_FEED_H
#define ST_MESH_FEED_H

#include "mpi/comm.h"

#include <stdint.h>

/*
 * One rank reads, every rank gets its part: rank 0 sends 8-byte words in blocks of 256 KiB,
 * each to one rank, in any order; each rank hands them on as they come. No rank needs more
 * memory than one block. A reader that fails ends the feed; nobody waits for the rest.
 */

enum {
    ST_FEED_WORDS = 32768 /**< of one block */
};

/** What a rank does with words that came for it. @p n > 0; whole elements only */
typedef enum st_status (*st_feed_taker)(void *context, const int64_t *words, size_t n,
                                        struct st_error *err);

struct st_feed {
    const struct stm_comm *comm;
    st_feed_taker take;
    void *context;
    int64_t *words; /* [ST_FEED_WORDS] owned */
    size_t n;
    int dest;
};

/** Collective; ends with an agreement. @p comm borrowed until st_feed_close() */
enum st_status st_feed_open(const struct stm_comm *comm, struct st_feed *feed,
                            struct st_error *err);
/** Local; accepts a zeroed struct. */
void st_feed_close(struct st_feed *feed);

/** From now on this rank's words go to @p take. Local. */
void st_feed_begin(struct st_feed *feed, st_feed_taker take, void *context);
/** On rank 0: one element of @p n <= ST_FEED_WORDS words for rank @p dest. */
enum st_status st_feed_put(struct st_feed *feed, int dest, const int64_t *words, size_t n,
                           struct st_error *err);
/**
 * All has been put, or putting failed: collective, with rank 0's status of it; the others take
 * until rank 0 comes here.
 * @param mine on rank 0 the status of the putting; ST_OK on the others
 * @return the same on all ranks
 */
enum st_status st_feed_end(struct st_feed *feed, enum st_status mine,
                           struct st_error *err);

#endif
