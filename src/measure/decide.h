#ifndef ST_MEASURE_DECIDE_H
#define ST_MEASURE_DECIDE_H

#include "src/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * How many repetitions come next (METHODS 8.1): pure functions, so that one rank decides and
 * the others are told.
 */

/** Why the repetitions ended. */
enum st_stop {
    ST_GO_ON,
    ST_STOP_CONVERGED,
    ST_STOP_MAX,
    ST_STOP_BUDGET,
    ST_STOP_INTERRUPT,
    ST_STOP_DEADLINE,
    ST_STOP_FAILED
};

/** What is known after a batch. */
struct st_progress {
    size_t n_done;    /**< repetitions after the warm-up */
    bool converged;   /**< every metric at every place met the width */
    bool interrupted; /**< on any rank */
    bool failed;      /**< on any rank */
    double elapsed_s; /**< measuring time so far */
    double last_s;    /**< wall time of the last repetition (of the warm-up at first) */
    double mean_s;    /**< mean wall time of the repetitions, 0 before the first */
    double deadline_left_s; /**< until the step's deadline */
};

struct st_decision {
    enum st_stop stop;
    size_t n_batch; /**< repetitions until the next decision; 0 if stopped */
};

/** Longest batch: bounds buffers (a look at more repetitions is split). */
enum {
    ST_MAX_BATCH = 1024
};

/**
 * Decide. A look at the interval happens at the counts of st_next_look() from `min` on, not
 * after each repetition: repeated looking shrinks the coverage. A batch ends at the next
 * look, or earlier so that a second or a quarter of the budget is not overrun unseen.
 */
struct st_decision st_decide(const struct st_repeat *repeat,
                             const struct st_progress *now);

/** Is the interval looked at after @p n repetitions? */
bool st_is_look(const struct st_repeat *repeat, size_t n);

#endif
