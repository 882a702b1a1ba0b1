#ifndef ST_RECORD_READER_H
#define ST_RECORD_READER_H

#include "src/record/record.h"
#include "src/record/store.h"
#include "src/record/table.h"

/* What the reading half of the folder shares. */

/** Behind st_file.handle: the open file, and the metric whose samples were asked for last. */
struct st_file_reader {
    struct st_store *store;
    hid_t
        root; /**< where /run, /system and /steps are: the file, or one launch of a study */
    size_t step, metric; /**< of the open datasets; SIZE_MAX: none */
    hid_t values, validity;
    double *row;   /**< [n_repetitions] */
    int8_t *codes; /**< [n_repetitions] */
};

/** The scalars of /run; texts live in @p pool. */
enum st_status st_file_reader_run(const struct st_file *file, struct st_run_row *run,
                                  struct st_pool *pool, struct st_error *err);
/** Root attribute n_launches. */
enum st_status st_file_reader_launches(const struct st_file *file, size_t *n,
                                       struct st_error *err);

/** Read the group of one step into @p out (zeroed; clear also after a failure). */
enum st_status st_file_reader_step(hid_t group, struct st_file_step *out,
                                   struct st_error *err);
void st_file_reader_step_clear(struct st_file_step *step);

/** Position of @p word among the words of values 0 … n-1; n if it is none of them. */
size_t st_word_position(const char *word, size_t n, const char *(*word_of)(size_t));

#endif
