#ifndef ST_JUDGE_JUDGING_H
#define ST_JUDGE_JUDGING_H

#include "src/judge/judge.h"
#include "src/stats/stats.h"

#include <stdbool.h>
#include <stddef.h>

/* Private to src/judge and its tests: the parts a verdict is made of. All local. */

/** Where samples come from: st_file_samples(), or a test's stand-in with the same contract. */
typedef enum st_status (*st_samples_fn)(const struct st_file *file, size_t step,
                                        size_t metric, size_t place, size_t *n,
                                        double **values, struct st_error *err);

/** As st_judge_file() with the samples from @p samples. */
enum st_status st_judge_with(const struct st_file *file, st_samples_fn samples,
                             struct st_verdict **out, struct st_error *err);

/* ---- estimate.c: one statistic of one series, with what is known about it ---- */

struct st_estimate_rule {
    enum st_statistic statistic;
    double confidence; /**< of this one interval, corrected for the number of places */
    bool is_count;     /**< unit 1: equal samples are a fact, not an estimate */
};

struct st_estimate {
    double value, low, high; /**< NaN where not known */
    size_t n;
    size_t n_smallest; /**< samples from which on there is an interval */
    bool exact;        /**< equal counts: no interval is needed */
    bool extreme;      /**< min or max: a fact that more samples move one way only */
    bool drifting;
};

/** @param values [n] in order of time, unchanged; @param scratch [n] */
void st_estimate_of(const struct st_estimate_rule *rule, size_t n, const double *values,
                    double *scratch, struct st_estimate *out);

/** METHODS 9: pass, fail or inconclusive of an interval; NaN is inconclusive. */
enum st_outcome st_classify(double low, double high, double bound, bool at_least);

/**
 * Repetitions that would decide, n * (half-width / |value - bound|)^2 (METHODS 9), rounded up.
 * @return 0 if it cannot be told or would pass 10^9
 */
size_t st_repetitions_needed(size_t n, double low, double high, double value,
                             double bound);

/** Smallest n at which the median has an interval at @p confidence (METHODS 8.1, 9). */
size_t st_median_smallest_n(double confidence);

/**
 * Ranks (from 1) of one-sided bounds of percentile @p p, each at @p confidence.
 * @return false if n is too small for the upper one
 */
bool st_percentile_ranks(size_t n, double p, double confidence, size_t *lower,
                         size_t *upper);

/* ---- criteria.c, spread.c ---- */

/** What criteria need to know; rows has room for every row of the file. */
struct st_judging {
    const struct st_file *file;
    st_samples_fn samples;
    struct st_verdict *verdict;
    struct st_error *err;
};

/** Next free row, set to "nothing known" for this criterion. */
struct st_verdict_row *st_row_add(struct st_judging *judging, size_t step,
                                  size_t criterion);

/** Judge one criterion of a step: adds its set row and place rows. */
enum st_status st_judge_criterion(struct st_judging *judging, size_t step,
                                  size_t criterion);
/** The kind ST_SPREAD of the above; @p set is its row. */
enum st_status st_judge_spread(struct st_judging *judging, struct st_verdict_row *set);

/** Statistic of one place's samples. */
enum st_status st_estimate_place(const struct st_judging *judging,
                                 const struct st_verdict_row *row, size_t place,
                                 const struct st_estimate_rule *rule,
                                 struct st_estimate *out);

/** Kinds of doubt about an estimate: more repetitions help against two of them. */
enum st_doubt_kind {
    ST_DOUBT_NONE,
    ST_DOUBT_FEW,
    ST_DOUBT_WIDE,
    ST_DOUBT_OTHER
};

/**
 * Why an estimate cannot be judged yet, as the end of a sentence ("too few repetitions …"),
 * written to @p why unless ST_DOUBT_NONE.
 */
enum st_doubt_kind st_estimate_doubt(const struct st_judging *judging,
                                     const struct st_verdict_row *row, size_t place,
                                     const struct st_estimate *estimate, char why[256]);

/** "node17" or the job's place in words for a sentence. */
const char *st_place_name(const struct st_file_metric *metric, size_t place);
/** May two places be compared (CASES 9)? Their nodes are of one topology class, and points of curves
 * are the same point. */
bool st_places_alike(const struct st_file *file, const struct st_file_metric *metric,
                     size_t a, size_t b);

/* ---- outliers.c ---- */

/** Fill verdict->outliers. */
enum st_status st_find_outliers(struct st_judging *judging);

/** snprintf() for sentences: a text that does not fit ends in "...". */
void st_say(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
