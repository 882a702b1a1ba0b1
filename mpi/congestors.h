#ifndef STM_CONGESTORS_H
#define STM_CONGESTORS_H

#include "mpi/comm.h"

#include <stddef.h>

/*
 * Patterns that load a network until they are told to stop (METHODS 3.7, after GPCNeT's
 * congestors). The ranks that load are split into groups; each group repeats one pattern.
 */

enum stm_pattern {
    STM_ALLTOALL,      /**< every rank to every rank */
    STM_INCAST,        /**< all others send to the group's rank 0 */
    STM_PUT_INCAST,    /**< likewise by MPI_Put */
    STM_GET_BROADCAST, /**< all others MPI_Get from the group's rank 0 */
    STM_N_PATTERNS
};

/** A group of ranks with one pattern. */
struct stm_congestors {
    struct stm_comm comm;
    enum stm_pattern pattern;
    size_t message_bytes;
    char *send, *recv;     /**< [n_ranks x message_bytes] each, borrowed */
    MPI_Request *requests; /**< [n_ranks], borrowed */
    MPI_Win window;        /**< of the RMA patterns; MPI_WIN_NULL else */
};

/**
 * Make the window that an RMA pattern needs; nothing for the others. Collective over the group.
 * @param memory [n_ranks x message_bytes] exposed by every rank, borrowed
 */
enum st_status stm_congestors_open(struct stm_congestors *group, void *memory,
                                   struct st_error *err);
/** Free the window. Collective over the group. */
void stm_congestors_close(struct stm_congestors *group);

/** The pattern once. Collective over the group. A group of one rank does nothing. */
enum st_status stm_congestors_once(const struct stm_congestors *group,
                                   struct st_error *err);

/**
 * Repeat until the word STM_TAG_STOP has come to the group's rank 0 from @p boss.
 * @param parent  where @p boss is; the group's rank 0 tells it STM_TAG_STARTED after the first
 *                pass
 */
enum st_status stm_congestors_run(const struct stm_congestors *group, MPI_Comm parent,
                                  int boss, struct st_error *err);

#endif
