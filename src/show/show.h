#ifndef ST_SHOW_SHOW_H
#define ST_SHOW_SHOW_H

#include "src/judge/judge.h"

#include <stdbool.h>
#include <stdio.h>

/* What people and programs read: progress, tables, report as text, JSON and JUnit, and the
 * benchmarks' own pages. Local; writes to the stream it is given and nothing else. */

/** How a stream is written to. */
struct st_style {
    bool terminal; /**< progress line rewritten in place */
    bool colour;   /**< terminal and neither NO_COLOR nor TERM=dumb */
    size_t columns;
};
struct st_style st_style_of(FILE *stream);

enum st_report_format {
    ST_REPORT_TEXT,
    ST_REPORT_JSON,
    ST_REPORT_JUNIT
};

/** The whole report of a file: header, table of figures, criteria, warnings, verdict. */
enum st_status st_show_report(FILE *out, struct st_style style,
                              enum st_report_format format, const struct st_file *file,
                              const struct st_verdict *verdict, struct st_error *err);
/** The stable lines: "seatrial: STEP METRIC VALUE UNIT place=... ci=LOW,HIGH n=N outcome". */
void st_show_lines(FILE *out, const struct st_file *file,
                   const struct st_verdict *verdict);

/** `seatrial list` and `seatrial describe NAME`. */
void st_show_list(FILE *out, bool json, const struct st_registry *registry);
void st_show_describe(FILE *out, struct st_style style, const struct st_bench *bench);

/** `seatrial check`: the expanded plan with shapes, memory per rank and time; arrays [plan->n_steps]. */
void st_show_plan(FILE *out, const struct st_plan *plan, const struct st_shape *shapes,
                  const struct st_need *needs);

/** Progress on a stream; returns a listener to hand to src/measure. Owned; st_progress_destroy(). */
struct st_progress;
enum st_status st_progress_create(FILE *out, struct st_style style,
                                  struct st_progress **progress, struct st_error *err);
const struct st_listener *st_progress_listener(struct st_progress *progress);
void st_progress_destroy(struct st_progress **progress);

#endif
