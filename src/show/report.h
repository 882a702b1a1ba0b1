#ifndef ST_SHOW_REPORT_H
#define ST_SHOW_REPORT_H

#include "src/show/screen.h"
#include "src/show/show.h"

#include <stdbool.h>

/* Private to src/show: the forms of the report, and what they share. Local. */

/** Each returns false if it could not be written whole (memory, misuse of a writer). */
bool st_report_text(FILE *out, struct st_style style, const struct st_file *file,
                    const struct st_verdict *verdict);
bool st_report_json(FILE *out, const struct st_file *file,
                    const struct st_verdict *verdict);
bool st_report_junit(FILE *out, const struct st_file *file,
                     const struct st_verdict *verdict);

/** The figures of all steps, one block per step. @return as above */
bool st_report_figures(FILE *out, struct st_style style, const struct st_file *file,
                       const struct st_verdict *verdict);

/** A metric of points (ST_POINT) as one wrapped line of the table. @return as above */
bool st_report_curve(struct st_table *table, const struct st_file_metric *metric);

/** Worst outcome of all criteria on a metric, spread included. @return false if there is none */
bool st_metric_outcome(const struct st_verdict *verdict, size_t step, size_t metric,
                       enum st_outcome *outcome);

/** Are the figures of this step kept but never to be used (METHODS 0)? */
bool st_step_void(const struct st_file_step *step);

/** What an exit status means, in words ("a criterion failed"). */
const char *st_exit_meaning(enum st_exit status);

/** "node17", or "job" where a place has no label. */
const char *st_label(const struct st_file_metric *metric, size_t place);

/** Is this the row of a criterion as a whole (not of a step, not of one place)? */
bool st_is_set_row(const struct st_verdict_row *row);

#endif
