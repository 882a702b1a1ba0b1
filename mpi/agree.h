#ifndef STM_AGREE_H
#define STM_AGREE_H

#include "mpi/comm.h"

#include <stdbool.h>

/**
 * Leave a stage with one common status on every rank.
 *
 * Collective over @p comm. Every rank must call it, whatever its own status is.
 * Cost: one 8-byte allreduce if all is well, one broadcast more if not. Not for timed code.
 * The text gets " [rank R on HOST]" appended by the rank that failed.
 *
 * @param[in]     comm  borrowed; after ST_ERR_MPI the call returns at once, uncommunicated
 * @param[in]     mine  this rank's own status
 * @param[in,out] err   on failure: the text of the lowest rank with the worst status
 * @return the worst status of all ranks (equal everywhere), or ST_ERR_MPI
 */
enum st_status stm_agree(const struct stm_comm *comm, enum st_status mine,
                         struct st_error *err);

/**
 * As stm_agree(), but a waiting rank uses no CPU: polls with sleeps growing to 1 ms. For
 * sleeping ranks at the end of a step. Collective over @p comm.
 */
enum st_status stm_agree_quiet(const struct stm_comm *comm, enum st_status mine,
                               struct st_error *err);

/** What a waiting rank does between two looks for the others: a short piece of work. */
struct stm_pastime {
    void (*work)(void *context); /**< of a millisecond or less; no MPI */
    void *context;
};

/**
 * As stm_agree(), but a waiting rank repeats @p pastime. For ranks that load the machine
 * beside a step. Collective over @p comm, together with stm_agree_quiet() of others.
 */
enum st_status stm_agree_busy(const struct stm_comm *comm, enum st_status mine,
                              const struct stm_pastime *pastime, struct st_error *err);

/** Wait for @p request with sleeps growing to 1 ms. Local. */
enum st_status stm_wait_quiet(MPI_Request *request, struct st_error *err);

/** Broadcast @p n bytes (any size_t) from rank 0 in blocks. Collective; @p n equal on all. */
enum st_status stm_bcast_bytes(const struct stm_comm *comm, void *data, size_t n,
                               struct st_error *err);

/** Name of this host for messages (short host name), static storage. Local. */
const char *stm_host(void);

#endif
