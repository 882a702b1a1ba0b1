#ifndef ST_RECORD_RESULTS_H
#define ST_RECORD_RESULTS_H

#include "src/record/record.h"
#include "src/record/store.h"
#include "src/record/table.h"

#include <time.h>

/* What the writing half of the folder shares. */

enum {
    ST_TIME_TEXT = 40
};

struct st_open_step; /* step_write.c */

struct st_results {
    char *path;
    struct st_sink sink;
    size_t n_nodes;
    char **hosts;          /**< [n_nodes] for the labels of places; owned */
    size_t n_finished;     /**< complete steps in the file, for messages */
    double earlier_wall_s; /**< of the launches before this one */
    double begin_s;        /**< st_now() when this launch began to record */
    double write_s;
    struct st_open_step *step; /**< between begin and end, else NULL */
};

/** Root attributes, /run, /system and an empty /steps into a new file. */
enum st_status st_write_head(hid_t file, const struct st_run_info *info,
                             struct st_error *err);
/** Time now as ISO 8601 in UTC. @return out */
const char *st_time_text(char out[ST_TIME_TEXT]);
/** Refresh `updated` and `wall_s` at the root. */
enum st_status st_touch_root(const struct st_results *results, hid_t file,
                             struct st_error *err);
/** Turn a failure of writing into the text a person can act on. @return err->code */
enum st_status st_results_blame(const struct st_results *results,
                                const struct st_store *store, struct st_error *err);

/**
 * Compare the file at results->path with this campaign, fill @p finished, and put a version
 * in place that has only the complete steps and status running.
 */
enum st_status st_results_resume(struct st_results *results,
                                 const struct st_run_info *info, bool *finished,
                                 struct st_error *err);

/** "node1", "rank 3 (node1)", "rank 0 -> rank 1 (node1 -> node2)", … @return out */
const char *st_place_label(enum st_place_kind kind, const struct st_step_place *place,
                           char *const *hosts, size_t n_nodes, bool many_groups,
                           char *out, size_t size);
/** Name of the group of a step: "0007". */
void st_step_group_name(size_t number, char out[24]);

/* The three calls of the sink. */
enum st_status st_step_begin(void *context, const struct st_step_report *report,
                             struct st_error *err);
enum st_status st_step_block(void *context, const struct st_block *block,
                             struct st_error *err);
enum st_status st_step_end(void *context, struct st_error *err);
/** Forget a step that is open; the file stays as it was. */
void st_step_discard(struct st_results *results);

#endif
