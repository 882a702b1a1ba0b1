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

/* One message out, one in. All post their receive before they send, so none waits in a ring. */
static enum st_status pass_word(const struct stm_circle *circle, int to, int from,
                                struct st_error *err)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (!circle->quiet) {
        STM_TRY(err, MPI_Sendrecv(NULL, 0, MPI_BYTE, to, STM_TAG_SETUP, NULL, 0, MPI_BYTE,
                                  from, STM_TAG_SETUP, circle->comm, MPI_STATUS_IGNORE));
        return ST_OK;
    }
    STM_TRY(err,
            MPI_Irecv(NULL, 0, MPI_BYTE, from, STM_TAG_SETUP, circle->comm, &request));
    const int rc = MPI_Send(NULL, 0, MPI_BYTE, to, STM_TAG_SETUP, circle->comm);
    const enum st_status waited = stm_wait_quiet(&request, err);
    STM_TRY(err, rc);
    return waited;
}

enum st_status stm_circle_barrier(const struct stm_circle *circle, struct st_error *err)
{
    for (size_t step = 1; step < circle->n; step *= 2) {
        const size_t to = (circle->self + step) % circle->n;
        const size_t from = (circle->self + circle->n - step) % circle->n;
        const enum st_status rc =
            pass_word(circle, (int)circle->rank[to], (int)circle->rank[from], err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}
