#ifndef ST_MEASURE_ACTIVE_H
#define ST_MEASURE_ACTIVE_H

#include "mpi/clock_sync.h"
#include "src/measure/clock.h"
#include "src/measure/deadline.h"
#include "src/measure/decide.h"
#include "src/measure/recorder.h"

/*
 * A step on a rank that takes part: from prepare to release. Functions that return a status
 * here return the same one on all ranks of the step (they agree inside), or ST_ERR_MPI.
 */

/** Readings of one batch; index s * n + k for section s and repetition k of n. */
struct st_batch {
    size_t capacity;     /**< repetitions */
    size_t n;            /**< of the current batch */
    double *start, *end; /**< [n_sections][n] this rank's clock */
    double *late;        /**< [n_sections][n] 1: this rank missed the start */
    /* [4][n_sections][n]: -min(start), max(end), max(start), any late */
    double *send;  /**< this rank's, to be reduced */
    double *node;  /**< over the group's ranks of the node; on the lowest of them */
    double *group; /**< over the group; on all its ranks */
};

struct st_active {
    const struct st_campaign *campaign;
    const struct st_step *step;
    struct st_layout *layout;
    struct st_step_outcome *outcome;
    struct st_deadline *deadline;
    struct st_whereabouts *where;
    struct st_run run;
    void *state;
    bool is_prepared; /**< prepare() was called: release() is due */
    struct st_recorder rec;
    struct stm_comm node; /**< the group's ranks on this node */
    struct stm_clock clock;
    bool node_shares_clock,
        group_shares_clock; /**< all models equal: local time compares */
    size_t n_sections;
    uint32_t section[ST_MAX_SECTIONS];
    double lead_s; /**< of the synchronised start */
    struct st_clock_watch watch;
    struct st_batch batch;
    double *counts;  /**< [2][n_metrics] values recorded, here and in the group */
    double begin_s;  /**< st_now() at the begin of the step */
    double mark_s;   /**< end of the last accounted phase */
    double in_run_s; /**< inside timed sections since the last account */
    enum st_status run_status; /**< first failure of run() in this batch */
    struct st_error run_err;
    struct st_error *err;
};

/** The whole life of the step on this rank. Collective over the step. @return ST_OK or ST_ERR_MPI */
enum st_status st_active_run(struct st_active *a);

/** Account the time since the last call to @p phase. Local. */
void st_active_account(struct st_active *a, enum st_phase phase);
/** Turn a failed stage into the outcome (first reason wins). Local. */
void st_active_fail(struct st_active *a, enum st_status rc);

/** Allocate a batch for the sections of @p a. Local. */
enum st_status st_batch_init(struct st_active *a, size_t capacity);
void st_batch_clear(struct st_batch *batch);
/**
 * Repetitions first … first+n-1: run, exchange, form samples. Collective over the step.
 * @return the agreed status of run() on all ranks
 */
enum st_status st_batch_measure(struct st_active *a, size_t first, size_t n);
/** One timed section without recording. Collective over the group. @return ST_OK or ST_ERR_MPI */
enum st_status st_section_time(struct st_active *a, size_t s, double *seconds,
                               bool *late);

/** What the ranks of a place measured together. */
struct st_span {
    double seconds; /**< max(end) - min(start) */
    bool skewed;    /**< a rank lost its core while it waited for the start */
};
/**
 * A rank that came in time but was preempted while it waited leaves late as well, which only
 * the starts show: above 10 % of the time (METHODS 3.6) they spoil it; NaN does too.
 * Oversubscribed ranks always start apart: such a step is marked as a whole. Local, pure.
 */
struct st_span st_span_form(double first_start, double last_start, double last_end,
                            bool oversubscribed);

/** Find n_inner of every section. Collective over the step. */
enum st_status st_calibrate(struct st_active *a);

/** Global time of a reading, if the ranks compared do not share one clock. Local. */
double st_active_time(const struct st_active *a, bool shares, double local_s);

#endif
