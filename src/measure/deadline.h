#ifndef ST_MEASURE_DEADLINE_H
#define ST_MEASURE_DEADLINE_H

#include "src/measure/step.h"

#include <stdatomic.h>
#include <stddef.h>

/*
 * A helper thread per rank that makes no MPI calls (CASES 55). If a step does not end within
 * its deadline, every rank that still runs writes one record of fixed size into a file; one
 * rank reads them, names the ranks that wrote none and what the others were doing, and the
 * process ends with status 2.
 */

/** What the main thread is doing. */
enum st_doing {
    ST_DOING_LAYOUT,
    ST_DOING_PREPARE,
    ST_DOING_SYNC,   /**< clock synchronisation: exchanges messages with another rank */
    ST_DOING_START,  /**< waits for the others at the start of a section */
    ST_DOING_RUN,    /**< inside the benchmark's run() */
    ST_DOING_DECIDE, /**< waits for the others after a batch */
    ST_DOING_AGREE,  /**< waits for the others at the end of a stage */
    ST_DOING_VERIFY,
    ST_DOING_RELEASE,
    ST_DOING_SLEEP,  /**< takes no part in this step */
    ST_DOING_GATHER, /**< samples on their way to rank 0 */
    ST_N_DOING
};

/** Written by the main thread with relaxed stores: a few cycles, no fence, fit for timed code. */
struct st_whereabouts {
    _Atomic int doing;
    _Atomic size_t repetition;
    _Atomic unsigned section;
};

static inline void st_doing(struct st_whereabouts *where, enum st_doing doing)
{
    atomic_store_explicit(&where->doing, (int)doing, memory_order_relaxed);
}

struct st_deadline;

/**
 * Start the thread for one step. Local; no MPI. Rank 0 removes an older record file first.
 * @param campaign borrowed until st_deadline_disarm()
 * @param out      owned by the caller
 */
enum st_status st_deadline_arm(const struct st_campaign *campaign,
                               const struct st_step *step, struct st_deadline **out,
                               struct st_error *err);
/** Stop and join the thread. Accepts NULL. */
void st_deadline_disarm(struct st_deadline **deadline);
/** Where the main thread leaves its traces. */
struct st_whereabouts *st_deadline_where(struct st_deadline *deadline);
/** Seconds left, by the clock the thread waits on. */
double st_deadline_left(const struct st_deadline *deadline);
/** Held around calls of the sink: the thread must not save a file that is being written.
 *  Both accept NULL. */
void st_deadline_lock_sink(struct st_deadline *deadline);
void st_deadline_unlock_sink(struct st_deadline *deadline);

/** One rank's record as text, ST_RECORD_SIZE bytes, and its reader; for the report and tests. */
enum {
    ST_RECORD_SIZE = 512
};
void st_record_print(char record[ST_RECORD_SIZE], size_t rank, const char *host,
                     const char *step, const struct st_whereabouts *where);

/** What the report needs to know about the launch. */
struct st_late_launch {
    size_t n_ranks;
    const char *(*host)(const void *context, size_t rank); /**< borrowed */
    const void *context;
};

/**
 * The report: who did not answer, who still runs, who waits. Local, pure.
 * @param records [n_bytes] content of the record file; ranks past its end wrote nothing
 * @param step    only records of this step count
 * @return owned text (st_free), NULL if memory is short
 */
char *st_late_report(const char *step, double deadline_s,
                     const struct st_late_launch *launch, const char *records,
                     size_t n_bytes);
/** Did @p rank write a record of this step? */
bool st_late_answered(const char *step, const char *records, size_t n_bytes, size_t rank);

#endif
