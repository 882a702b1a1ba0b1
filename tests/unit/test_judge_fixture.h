#ifndef ST_TESTS_UNIT_TEST_JUDGE_FIXTURE_H
#define ST_TESTS_UNIT_TEST_JUDGE_FIXTURE_H

#include "src/judge/judging.h"

/*
 * A results file in memory for the tests of judge and show: steps, metrics, places, samples.
 * Summaries are those of st_summarise(), as a written file has them. Every allocation is checked by
 * an assertion, since a test without its data has no meaning.
 */

/** An empty, complete file of one node and one rank. */
void fix_init(struct st_file *file);
void fix_clear(struct st_file *file);
/** Append a complete, proved, verified step. Pointers to earlier steps become invalid. */
struct st_file_step *fix_step(struct st_file *file, const char *name);
/** Append a metric to the last step; places are labelled node00, node01 …, or job. @return its index */
size_t fix_metric(struct st_file *file, const char *name, const char *unit,
                  enum st_better better, enum st_place_kind kind, size_t n_places);
/** Set the samples of a place of the last step. */
void fix_samples(struct st_file *file, size_t metric, size_t place, size_t n,
                 const double *values);
/** Seven samples around @p centre with relative half-width @p noise, in no order. */
void fix_around(struct st_file *file, size_t metric, size_t place, double centre,
                double noise);
/** Append a criterion to the last step. */
struct st_criterion *fix_criterion(struct st_file *file, size_t metric,
                                   enum st_criterion_kind kind, double bound);
/** Give the file @p n nodes of one topology class. */
void fix_nodes(struct st_file *file, size_t n);
/**
 * A file of @p n nodes with metric triad at @p centre [n] GB/s, half-width 0.1 %, and the
 * criterion "at least 396 GB/s".
 */
struct st_criterion *fix_fleet(struct st_file *file, size_t n, const double *centre);
/** Reads what fix_samples() set. */
enum st_status fix_read(const struct st_file *file, size_t step, size_t metric,
                        size_t place, size_t *n, double **values, struct st_error *err);
/** st_judge_with(fix_read), asserted to succeed. Owned. */
struct st_verdict *fix_judge(const struct st_file *file);

#endif
