#ifndef ST_MEASURE_FINISH_H
#define ST_MEASURE_FINISH_H

#include "src/measure/active.h"

/*
 * What follows the last repetition: verification, what is missing, clocks, placement. All are
 * collective over the step and return the same status on all its ranks, or ST_ERR_MPI.
 */

/** Verify, merge the checks of all ranks into the outcome. @return ST_ERR_STEP if a value is wrong */
enum st_status st_finish_verify(struct st_active *a);
/** A given metric that applies must have got a value in every group. @return ST_ERR_STEP */
enum st_status st_finish_missing(struct st_active *a);
/** Void the samples of ranks with a wrong clock, count the dropped, measure the residual. */
enum st_status st_finish_clocks(struct st_active *a);
/** Read the placement back once more. */
enum st_status st_finish_placement(struct st_active *a);
/** Add a sentence to the outcome's notes; cut if full. Local. */
void st_outcome_note(struct st_step_outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
