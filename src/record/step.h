#ifndef ST_RECORD_STEP_H
#define ST_RECORD_STEP_H

#include "src/record/results.h"

/* A step while its samples arrive: what step_write.c opens and step_samples.c fills. */

enum {
    ST_PENDING_ROWS = 4096
};

/** One metric of the step. */
struct st_open_metric {
    const struct st_metric *metric;
    size_t row; /**< in the benchmark's table */
    size_t n_places;
    size_t first_row; /**< of its places in the summary */
    hid_t values, validity;
};

struct st_open_step {
    struct st_store *store;
    hid_t group, samples;
    size_t number;
    bool complete; /**< the step's own state */
    bool failed;   /**< a call failed: nothing more is written, end() says so */
    double confidence, width;
    size_t n_repetitions;
    size_t n_metrics;
    struct st_open_metric *metrics; /**< [n_metrics] */
    struct st_axis repetition, places[ST_N_PLACE_KINDS], rows;
    struct st_table_writer summary;
    size_t n_pending;
    struct st_summary_row *pending; /**< [ST_PENDING_ROWS] not yet written */
    double *series, *scratch;       /**< [n_repetitions] */
};

/** Samples, places and the key columns of the summary, empty. */
enum st_status st_samples_create(struct st_open_step *step,
                                 const struct st_results *results,
                                 const struct st_step_report *report,
                                 struct st_error *err);
/** Write a block's values and remember its statistics. */
enum st_status st_samples_block(struct st_open_step *step, const struct st_block *block,
                                struct st_error *err);
/** Write what is pending and close all datasets. */
enum st_status st_samples_finish(struct st_open_step *step, struct st_error *err);
/** Drop whatever is open, without writing. */
void st_samples_clear(struct st_open_step *step);

/** The datasets of /steps/NNNN/parameters. */
enum st_status st_parameters_write(hid_t step_group, const struct st_step *step,
                                   struct st_error *err);

#endif
