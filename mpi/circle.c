/*
 * The circle method: one member stays, the others walk around a table, opposite ones meet.
 * An odd number gets an empty chair: who would sit opposite to it idles.
 *
 * The barrier is by dissemination (Hensgen, Finkel, Manber, Int. J. Parallel Programming 17,
 * 1988): it needs no communicator of its own, so nothing collective must be freed later.
 */
#include "mpi/circle.h"

#include "mpi/agree.h"

#include <stdint.h>

size_t stm_circle_rounds(size_t n)
{
    if (n < 2) {
        return 0;
    }
    return n % 2 == 0 ? n - 1 : n;
}

size_t stm_circle_partner(size_t n, size_t round, size_t member)
{
    const size_t walkers = n % 2 == 0 ? n - 1 : n; /* the last chair does not move */
    size_t partner = 0;

    if (member == walkers) {
        partner = round;
    } else if (member == round) {
        partner = walkers;
    } else {
        /* (r + k) meets (r - k): the two numbers add up to 2 r modulo the walkers. */
        partner = (2 * round + walkers - member) % walkers;
    }
    return partner < n ? partner : SIZE_MAX;
}

enum st_status stm_circle_barrier(const struct stm_circle *circle, struct st_error *err)
{
    for (size_t step = 1; step < circle->n; step *= 2) {
        const size_t to = circle->rank[(circle->self + step) % circle->n];
        const size_t from = circle->rank[(circle->self + circle->n - step) % circle->n];
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

        STM_TRY(err, MPI_Irecv(NULL, 0, MPI_BYTE, (int)from, STM_TAG_SETUP, circle->comm,
                               &requests[0]));
        STM_TRY(err, MPI_Isend(NULL, 0, MPI_BYTE, (int)to, STM_TAG_SETUP, circle->comm,
                               &requests[1]));
        if (circle->quiet) {
            const enum st_status rc = stm_wait_quiet(&requests[0], err);
            if (rc != ST_OK) {
                return rc;
            }
        }
        STM_TRY(err, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    return ST_OK;
}
