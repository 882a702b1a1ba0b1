#ifndef STM_CIRCLE_H
#define STM_CIRCLE_H

#include "mpi/comm.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Rounds in which every member of a set meets every other one exactly once (circle method,
 * METHODS 3.2), and the barrier between two rounds.
 */

/** Rounds of @p n members: n - 1 if even, n if odd (each member then idles once), 0 below 2. Local. */
size_t stm_circle_rounds(size_t n);

/**
 * Partner of @p member in @p round. Local.
 * @param round  < stm_circle_rounds(n)
 * @param member < n
 * @return SIZE_MAX if the member idles in this round
 */
size_t stm_circle_partner(size_t n, size_t round, size_t member);

/** Members of a communicator that go through rounds together; the others are not disturbed. */
struct stm_circle {
    MPI_Comm comm;
    size_t n;           /**< members */
    const size_t *rank; /**< [n] their ranks in comm, borrowed */
    size_t self;        /**< this rank's number among the members */
    bool quiet;         /**< wait without using the CPU (more ranks than cores) */
};

/** No member leaves before all have come. Collective over the members alone. */
enum st_status stm_circle_barrier(const struct stm_circle *circle, struct st_error *err);

#endif
