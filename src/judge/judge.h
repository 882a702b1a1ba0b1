#ifndef ST_JUDGE_JUDGE_H
#define ST_JUDGE_JUDGE_H

#include "src/record/record.h"

/*
 * Criteria, outliers, verdict (METHODS 8.3, 8.4, 9): pure functions of a results file.
 * Everything here is local and draws no random number.
 *
 * Exit status. Each cause adds its number and the greatest wins (DESIGN, "Exit status"):
 *   1  a criterion failed, or could not be decided and says that this counts as a failure
 *   2  the file is not `complete`; a planned step is absent, running, interrupted or failed;
 *      a step was skipped that has criteria or is required; a criterion is inconclusive or
 *      was not judged. Status 0 promises that every criterion asked for has passed, and what
 *      was not decided has not passed.
 * "Worst wins" by number, so a run that is incomplete and has a failed criterion ends with
 * 2: the figures of an incomplete run are not the last word. The failed criterion is in the
 * summary, in the rows and in the report all the same.
 */

enum st_outcome {
    ST_PASS,
    ST_FAIL,
    ST_INCONCLUSIVE,
    ST_NOT_JUDGED
};
const char *
st_outcome_word(enum st_outcome outcome); /* "pass" "fail" "inconclusive" "not judged" */

/** One criterion's outcome at one place, or over a set of places; or what became of a step. */
struct st_verdict_row {
    size_t step;   /**< index in file->steps */
    size_t metric; /**< index in the step's metrics; SIZE_MAX: the step itself */
    size_t place;  /**< index; SIZE_MAX: over all places (spread, k-of-n, set verdict) */
    size_t criterion; /**< index in the step's criteria; SIZE_MAX: none */
    size_t
        n_place_rows; /**< of a set row: how many place rows follow it (all places or none) */
    enum st_outcome outcome;
    double value, low,
        high; /**< statistic and its interval, base unit (spread: fraction); NaN
                                   if none; a set row has those of its worst place */
    double
        bound; /**< in the metric's base unit, percentages resolved; for spread the fraction */
    size_t n;        /**< samples */
    size_t n_needed; /**< for inconclusive: repetitions that would decide; 0: unknown */
    size_t
        worst_place; /**< of a set row: the place its figures come from; SIZE_MAX: none */
    char text[512];  /**< one sentence for people: what, where, against what, why */
};

/** A place that stands out (METHODS 8.3, 8.4); never changes the exit status by itself. */
struct st_outlier {
    size_t step, metric, place;
    double value, median, score; /**< modified z, signed */
    bool is_slow;                /**< on the bad side; else "curious" */
    bool suspect; /**< beyond the fleet threshold and delta and own noise */
    char text[512];
};

struct st_verdict {
    enum st_outcome
        overall; /**< worst of the set rows (fail, inconclusive, not judged, pass); ST_PASS if none asked */
    enum st_exit exit; /**< worst wins */
    size_t n_pass, n_fail, n_inconclusive,
        n_not_judged; /**< criteria, that is set rows */
    size_t
        n_steps_incomplete; /**< steps that count as incomplete, the absent ones included */
    size_t n_rows;
    struct st_verdict_row
        *rows; /**< [n_rows] per step: one step row (metric SIZE_MAX, not judged)
                                      if it counts as incomplete; then one set row per criterion,
                                      each followed by its n_place_rows place rows in order of place */
    size_t n_outliers;
    struct st_outlier *outliers; /**< [n_outliers] in order of step, metric, place */
    char summary[512];           /**< the verdict in one sentence */
};

/**
 * Judge a file. The same file always gives the same verdict.
 *
 * Classes of METHODS 9, with these decisions:
 * - median: interval by order statistics, widened for autocorrelation, as st_summarise() has it,
 *   at confidence 1 - (1 - confidence)/N at each of N places (METHODS 9, Bonferroni);
 * - p99: one-sided bounds by order statistics, each at that confidence; none below
 *   n = 299 (one place, 95 %);
 * - min, max: facts of this run without an interval. An answer that more samples can only
 *   confirm (one sample below a bound on the smallest) holds at any n; the other one needs as
 *   many samples as a median's interval would;
 * - counts (unit 1) that are the same in all samples: pass or fail without an interval;
 * - spread: within each class of like nodes the span of the places' medians over their median; the
 *   spread of the true values is smaller than that of noisy medians, so its interval is
 *   [spread - mean half-width / median, spread];
 * - k-of-n: passes while no more than `may_fail` places fail and none is beyond `floor`.
 * Inconclusive: too few samples, not converged, drifting, never verified, clock error above
 * 10 % of a time taken over several nodes, bound unknown.
 * Not judged: fake nodes (unless the config asks), oversubscribed, placement not proved, a
 * step that is not complete or whose verification failed, spread over fewer than two like places.
 *
 * @param out owned by the caller; st_verdict_destroy()
 * @return ST_ERR_IO if samples cannot be read, ST_ERR_MEMORY
 */
enum st_status st_judge_file(const struct st_file *file, struct st_verdict **out,
                             struct st_error *err);
void st_verdict_destroy(struct st_verdict **verdict);

/**
 * The worst outcome of all criteria on one place's figure.
 * @return false if no criterion concerns it (@p outcome unchanged)
 */
bool st_verdict_at(const struct st_verdict *verdict, size_t step, size_t metric,
                   size_t place, enum st_outcome *outcome);

/** The worse of two outcomes: fail, then inconclusive, then not judged, then pass. */
enum st_outcome st_outcome_worse(enum st_outcome a, enum st_outcome b);

#endif
