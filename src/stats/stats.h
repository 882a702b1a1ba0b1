#ifndef ST_STATS_STATS_H
#define ST_STATS_STATS_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Statistics of METHODS 8.1 and 8.3: pure functions over arrays, used while measuring, when
 * writing summaries and when judging. Arrays are borrowed; those that sort say so.
 */

/** Sort ascending in place; no NaN allowed. */
void st_sort(size_t n, double *values);
/** Quantile type 7 of sorted values, 0 <= p <= 1; NaN for n = 0. */
double st_quantile(size_t n, const double *sorted, double p);
double st_median_sorted(size_t n, const double *sorted);
/** Median of the absolute deviations from @p centre; @p scratch [n]. */
double st_mad(size_t n, const double *values, double centre, double *scratch);
/** Mean of the absolute deviations from @p centre. */
double st_mean_deviation(size_t n, const double *values, double centre);
/** Factor by which 1.4826 * MAD of @p n normal values is to be multiplied to estimate their
 * standard deviation (METHODS 8.3, "small-n factor"); NaN for n < 3. */
double st_mad_factor(size_t n);

/**
 * Modified z score 0.6745 (x - median) / MAD (METHODS 8.3). With @p mad = 0 the scale is
 * 1.2533 times the mean absolute deviation. If that is 0 too: 0 for x = median, else NaN
 * (unequal, but there is no scale: never beyond a threshold).
 */
double st_modified_z(double x, double median, double mad, double mean_deviation);

/** Tukey's fences, quartiles -+ @p factor times their distance (1.5; 3 for "far"). */
void st_tukey_fences(size_t n, const double *sorted, double factor, double *low,
                     double *high);

/** Quantile of the standard normal distribution, 0 < p < 1, else NaN. The upper quantile of a
 * small tail t is -st_normal_quantile(t), without loss of digits. */
double st_normal_quantile(double p);

/**
 * Ranks (from 1) of the confidence interval of the median by order statistics (METHODS 8.1).
 * @return false if n is too small for @p confidence (n <= 5 at 0.95)
 */
bool st_median_ci_ranks(size_t n, double confidence, size_t *lower, size_t *upper);
/** Smallest n at which an upper confidence bound of percentile @p p exists: 1 - p^n >= confidence. */
size_t st_percentile_min_n(double p, double confidence);

/** Spearman's rank correlation of values against their order, ties by mid-ranks; 0 for constant
 * data, NaN for n < 3 (or if the memory for a copy is missing). */
double st_drift(size_t n, const double *values);
/** Lag-1 autocorrelation; 0 for n < 3 or constant data. */
double st_lag1(size_t n, const double *values);

/** Number of independent samples worth @p n of this autocorrelation: n (1 - rho) / (1 + rho). */
double st_effective_n(size_t n, double lag1);

/** Number of repetitions at which to look next: 6, 8, 11, 15, 20, … (x 1.35), > @p n. */
size_t st_next_look(size_t n);

/** Summary of one series. */
struct st_summary {
    size_t n; /**< valid samples */
    double median, ci_low,
        ci_high; /**< CI NaN if n is too small; widened for autocorrelation (METHODS 8.1) */
    double min, max, q1, q3, mean, stddev;
    double p99;   /**< NaN below n = 299 at 95 %: st_percentile_min_n() */
    double best;  /**< max or min by direction; median for "neither" */
    double drift; /**< Spearman rho */
    double lag1;
    bool drifting;  /**< |rho| > 0.5 and n >= 10 */
    bool converged; /**< half-width / |median| <= width; false without a CI */
};

/**
 * Without samples everything but n is NaN or false; stddev needs two samples.
 * @param values  [n] valid samples in order of time, unchanged
 * @param better  +1 higher, -1 lower, 0 neither
 * @param scratch [n]
 */
void st_summarise(size_t n, const double *values, double confidence, double width,
                  int better, double *scratch, struct st_summary *out);

/** Limit of |modified z| for the worst of @p n like values (METHODS 8.4, point 1); NaN for n < 5. */
double st_fleet_limit(size_t n);
/** Deviation that matters (METHODS 8.4, point 2), as a share of the value: 0.1 for times, else 0.03. */
double st_fleet_delta(bool is_time);

#endif
