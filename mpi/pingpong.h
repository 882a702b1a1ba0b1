#ifndef STM_PINGPONG_H
#define STM_PINGPONG_H

#include "mpi/comm.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Message patterns between the two ranks of a pair (METHODS 3.1; the loops are those of the
 * OSU benchmarks). Both ranks of the pair call the same function with equal counts; no other
 * rank takes part. Nothing is allocated or agreed: this is what is timed. After ST_ERR_MPI
 * requests may be left over; the communicator is then no longer usable.
 */

/** One rank's end of a pair. All pointers borrowed. */
struct stm_link {
    MPI_Comm comm;
    int peer;      /**< rank in comm */
    bool is_first; /**< sends first; the other answers */
    int tag_shift; /**< added to the tags of windows: several links in one communicator */
    int message_bytes;
    int window; /**< messages in flight */
    size_t
        stride_bytes; /**< from one message's place in a buffer to the next; 0: all in one place */
    char *send; /**< window x stride (or one message); NULL if nothing is sent */
    char *recv; /**< likewise */
    MPI_Request *requests; /**< [2 window] for the windows */
};

/** A clock in seconds. */
typedef double (*stm_now_fn)(void);

/** @p n round trips: the first sends, the second answers. */
enum st_status stm_pingpong(const struct stm_link *link, size_t n, struct st_error *err);

/**
 * As stm_pingpong(), each round trip timed by itself on the first rank.
 * @param now one reading of it is inside every time
 * @param rtt_s [n_keep] first rank: the last @p n_keep round trips, in no order; else unused
 */
enum st_status stm_pingpong_timed(const struct stm_link *link, size_t n, stm_now_fn now,
                                  size_t n_keep, double *rtt_s, struct st_error *err);

/** @p n windows from the first rank to the second, each answered by 4 bytes when it is all there. */
enum st_status stm_windows(const struct stm_link *link, size_t n, struct st_error *err);

/** @p n windows in both directions at once; complete when both ranks have sent and received. */
enum st_status stm_windows_both(const struct stm_link *link, size_t n,
                                struct st_error *err);

/**
 * Turns: pairs that communicate one after another. A rank waits for the word of the first
 * rank of the pair before, communicates, and the first rank then passes the word on to both
 * ranks of the next pair.
 * @param from  rank that gives the word; negative: go at once
 * @param quiet wait without using the CPU (more ranks than cores), else spin in MPI
 */
enum st_status stm_turn_wait(MPI_Comm comm, int from, bool quiet, struct st_error *err);
/** @param to [2] ranks of the next pair; negative: there is none */
enum st_status stm_turn_pass(MPI_Comm comm, const int to[2], struct st_error *err);

#endif
