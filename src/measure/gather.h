#ifndef ST_MEASURE_GATHER_H
#define ST_MEASURE_GATHER_H

#include "src/measure/deadline.h"
#include "src/measure/recorder.h"

/*
 * Samples on their way to world rank 0, which asks each owner for one run of places after the
 * other (at most 8 MiB), so that nothing piles up in its receive queue.
 */

/** What a rank brings; rec is NULL on ranks that took no part and if there are no samples. */
struct st_gather {
    const struct st_campaign *campaign;
    const struct st_step *step;
    const struct st_layout *layout; /**< NULL if it could not be planned */
    const struct st_recorder *rec;  /**< closed */
    struct st_deadline *deadline;
    size_t number;
    struct st_step_outcome *outcome; /**< equal on all ranks */
    size_t n_seats;                  /**< on rank 0 */
    const struct st_seat *seats;
};

/**
 * Hand the step to the sink. Collective over the world.
 * @return ST_OK, or the agreed failure of the sink or of rank 0's memory, or ST_ERR_MPI
 */
enum st_status st_gather_step(const struct st_gather *gather, struct st_error *err);

#endif
