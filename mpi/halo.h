#ifndef STM_HALO_H
#define STM_HALO_H

#include "mpi/comm.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Sparse halo exchange of a vector that is distributed in contiguous blocks: every rank
 * names the global elements of other ranks it needs, once; afterwards each exchange brings
 * their current values. Any rank count, ranks that own or need nothing included.
 */

/** A halo; the fields are for reading, the arrays owned by the halo. */
struct stm_halo {
    size_t n_ghosts;      /**< elements received: the needed ones, in the order given */
    const double *ghosts; /**< [n_ghosts] valid after stm_halo_finish() */
    size_t n_sent;        /**< elements sent to all neighbours together */
    const int32_t *sent_index; /**< [n_sent] own local index of each element to send */
    double *send;              /**< [n_sent] the caller packs x[sent_index[i]] here */
    size_t n_receive_ranks;    /**< neighbours that send to this rank */
    size_t n_send_ranks;       /**< neighbours that this rank sends to */
    uint64_t bytes;            /**< of heap held */
    void *own;                 /**< private: requests and storage */
};

/**
 * Find the partners, agree on what goes where, and set up persistent requests.
 * Collective over @p comm. O(n_ranks) memory and one reduce-scatter while it runs.
 * @param comm      copied; its communicator must outlive the halo
 * @param row_start [n_ranks + 1] first global element of each rank; equal on all ranks
 * @param n_needed  elements needed here
 * @param needed    [n_needed] their global numbers, strictly increasing, none of them own
 * @param out       owned by the caller on success
 * @return the same status on all ranks; ST_ERR_INTERNAL if @p needed is not as it must be,
 *         ST_ERR_STEP if a message exceeds MPI's counts
 */
enum st_status stm_halo_create(const struct stm_comm *comm, const uint64_t *row_start,
                               size_t n_needed, const uint64_t *needed,
                               struct stm_halo **out, struct st_error *err);
/** Free the requests and storage. Local; accepts NULL and half-built halos; no exchange may be running. */
void stm_halo_destroy(struct stm_halo **halo);

/** Start receiving, and sending what was packed into halo->send. Local. */
enum st_status stm_halo_start(struct stm_halo *halo, struct st_error *err);
/** Wait for all messages; the ghosts are valid then and send may be packed again. Local. */
enum st_status stm_halo_finish(struct stm_halo *halo, struct st_error *err);

/** The rank that owns global element @p element. Local. @return n_ranks if there is none */
size_t stm_owner(size_t n_ranks, const uint64_t *row_start, uint64_t element);

#endif
