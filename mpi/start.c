/*
 * The synchronised start (Round-Time scheme, METHODS 3.6): the root names a moment far enough
 * ahead that all ranks hear of it, then all wait for it by global time. A barrier alone
 * leaves a skew of the order of its own latency.
 */
#include "mpi/clock_sync.h"

#include <stdint.h>

static const double LEAD_MIN_S = 2e-6;
/* beyond that a rank was late because it lost its core, not because of the network */
static const double LEAD_MAX_S = 10e-3;
static const double LEAD_FACTOR = 2.0; /* METHODS 3.6: now + 2 x measured bcast time */

/* a clock that stood still for so many readings (0.1 s) will not reach the moment */
enum {
    STILL_READINGS = 1 << 22
};

static double limited(double lead_s)
{
    if (!(lead_s > LEAD_MIN_S)) {
        return LEAD_MIN_S;
    }
    return lead_s < LEAD_MAX_S ? lead_s : LEAD_MAX_S;
}

/* The broadcast's time, measured on every rank between a barrier and its end. */
static enum st_status measure_lead(const struct stm_comm *comm, stm_clock_fn now,
                                   double *lead_s, struct st_error *err)
{
    double word = 0.0;

    STM_TRY(err, MPI_Barrier(comm->handle));
    const double begin = now();
    STM_TRY(err, MPI_Bcast(&word, 1, MPI_DOUBLE, 0, comm->handle));
    *lead_s = limited(now() - begin);
    return ST_OK;
}

/* @return true if the moment had passed already, lies absurdly far ahead or never comes */
static bool wait_for(double start, stm_clock_fn now)
{
    double t = now();

    if (!(t <= start) || !(start - t <= 4.0 * LEAD_FACTOR * LEAD_MAX_S)) {
        return true;
    }
    for (uint32_t still = 0; t < start && still < STILL_READINGS;) {
        const double before = t;
        t = now();
        still = t > before ? 0 : still + 1;
    }
    return !(t >= start);
}

enum st_status stm_start_together(const struct stm_comm *comm,
                                  const struct stm_clock *clock, stm_clock_fn now,
                                  bool spin, double *lead_s, bool *late,
                                  struct st_error *err)
{
    double lead = 0.0;
    double start = 0.0;
    enum st_status rc = ST_OK;

    *late = false;
    if (comm->n_ranks == 1) {
        return ST_OK;
    }
    if (!spin) {
        STM_TRY(err, MPI_Barrier(comm->handle));
        return ST_OK;
    }
    if (!(*lead_s > 0.0)) { /* 0 on all ranks or on none */
        rc = measure_lead(comm, now, lead_s, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    /* the barrier of the scheme, and at the same time the way a late rank asks for more */
    STM_TRY(err, MPI_Allreduce(lead_s, &lead, 1, MPI_DOUBLE, MPI_MAX, comm->handle));
    if (comm->rank == 0) {
        start = stm_clock_global(clock, now()) + LEAD_FACTOR * lead;
    }
    STM_TRY(err, MPI_Bcast(&start, 1, MPI_DOUBLE, 0, comm->handle));
    *late = wait_for(stm_clock_local(clock, start), now);
    *lead_s = limited(*late ? 2.0 * lead : lead);
    return ST_OK;
}
