#ifndef STM_SHUFFLE_H
#define STM_SHUFFLE_H

#include "mpi/comm.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Records of equal size between all ranks: sent to a rank each, or fetched from an array that
 * is distributed in blocks. Collective, any rank count, O(ranks) memory beside the records;
 * each call ends with the same status on all ranks.
 */

/**
 * Send record i to rank dest[i].
 * @param records [n] of @p size bytes
 * @param dest    [n]
 * @param n_out, out what came, by rank of the sender, then in its order; owned by the caller:
 *                st_free()
 * @return ST_ERR_STEP if a rank gets more than MPI can count
 */
enum st_status stm_shuffle_send(const struct stm_comm *comm, size_t size, size_t n,
                                const void *records, const int *dest, size_t *n_out,
                                void **out, struct st_error *err);

/** An array of @p n_global records of @p size bytes, in blocks (blocks.h). */
struct stm_spread_array {
    int64_t n_global;
    size_t size;
    const void *mine; /**< this rank's block */
};

/**
 * Bring records of any block here.
 * @param wanted [n] numbers in 0 … n_global-1; the same may be there often, it comes once
 * @param out    [n] records, by the caller
 */
enum st_status stm_shuffle_fetch(const struct stm_comm *comm,
                                 const struct stm_spread_array *array, size_t n,
                                 const int64_t *wanted, void *out, struct st_error *err);

#endif
