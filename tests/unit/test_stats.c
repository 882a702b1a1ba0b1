#include "src/stats/stats.h"

#include "src/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* METHODS 8.1 and 8.3. Values marked [V] there were computed independently; other expected
 * values come from the recipe beside them. */

static bool near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance;
}

/* [V] of METHODS 8.1; the ranks of 6 to 100 agree with Le Boudec's table A.1. */
static void median_ranks(void **unused)
{
    static const struct {
        size_t n;
        double confidence;
        size_t lower, upper;
    } rows[] = {
        {6, 0.95, 1, 6},     {7, 0.95, 1, 7},        {8, 0.95, 1, 8},
        {9, 0.95, 2, 8},     {10, 0.95, 2, 9},       {15, 0.95, 4, 12},
        {20, 0.95, 6, 15},   {25, 0.95, 8, 18},      {30, 0.95, 10, 21},
        {40, 0.95, 14, 27},  {50, 0.95, 18, 33},     {70, 0.95, 27, 44},
        {100, 0.95, 40, 61}, {1000, 0.95, 469, 532}, {8, 0.99, 1, 8},
        {10, 0.99, 1, 10},   {20, 0.99, 4, 17},      {100, 0.99, 37, 64},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        size_t lower = 0;
        size_t upper = 0;
        assert_true(st_median_ci_ranks(rows[i].n, rows[i].confidence, &lower, &upper));
        assert_int_equal(lower, rows[i].lower);
        assert_int_equal(upper, rows[i].upper);
    }
}

/* P(lower..upper covers the median) = 1 - 2 sum_{k < l} C(n, k) / 2^n, binomials by lgamma:
 * at least the confidence, and one rank further in would be too little. */
static double coverage(size_t n, size_t lower)
{
    double sum = 0.0;

    for (size_t k = 0; k < lower; k++) {
        sum += exp(lgamma((double)n + 1.0) - lgamma((double)k + 1.0) -
                   lgamma((double)(n - k) + 1.0) - (double)n * log(2.0));
    }
    return 1.0 - 2.0 * sum;
}

static void median_ranks_cover(void **unused)
{
    static const double confidences[] = {0.5, 0.9, 0.95, 0.99, 0.9999};

    (void)unused;
    assert_true(near(coverage(10, 2), 0.9785, 5e-5)); /* [V], checks the check */
    for (size_t i = 0; i < ST_COUNT(confidences); i++) {
        for (size_t n = 1; n <= 70; n++) {
            size_t lower = 0;
            size_t upper = 0;
            if (st_median_ci_ranks(n, confidences[i], &lower, &upper)) {
                assert_int_equal(lower + upper, n + 1);
                assert_true(coverage(n, lower) >= confidences[i] - 1e-12);
            }
            if (2 * (lower + 1) <= n) {
                assert_true(coverage(n, lower + 1) < confidences[i]);
            }
        }
    }
}

/* METHODS 9: a confidence of 1 - 0.05/N needs n >= 1 + log2(N/0.05). */
static void median_ranks_at_extreme_confidence(void **unused)
{
    static const struct {
        double tail;
        size_t smallest_n;
    } rows[] = {{0.05, 6},          {0.05 / 100, 12}, {0.05 / 1000, 16},
                {0.05 / 10000, 19}, {1e-9, 31},       {0.05 / 5e7, 31}};
    size_t lower = 0;
    size_t upper = 0;

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const size_t n = rows[i].smallest_n;
        assert_false(st_median_ci_ranks(n - 1, 1.0 - rows[i].tail, &lower, &upper));
        assert_true(st_median_ci_ranks(n, 1.0 - rows[i].tail, &lower, &upper));
        assert_int_equal(lower, 1);
        assert_int_equal(upper, n);
    }
    /* z(1 - 5e-10) = 6.1094 (python statistics.NormalDist): (1000 -+ 193.2)/2 */
    assert_true(st_median_ci_ranks(1000, 1.0 - 1e-9, &lower, &upper));
    assert_int_equal(lower, 403);
    assert_int_equal(upper, 598);
    assert_true(st_median_ci_ranks(71, 1.0 - 1e-9, &lower, &upper));
    assert_true(lower >= 1 && upper <= 71);
}

static void no_interval_without_enough_samples(void **unused)
{
    static const double bad[] = {0.0, 1.0, -1.0, 2.0, (double)NAN};
    size_t lower = 77;
    size_t upper = 77;

    (void)unused;
    for (size_t n = 0; n <= 5; n++) {
        assert_false(st_median_ci_ranks(n, 0.95, &lower, &upper));
    }
    for (size_t i = 0; i < ST_COUNT(bad); i++) {
        assert_false(st_median_ci_ranks(50, bad[i], &lower, &upper));
        assert_false(st_median_ci_ranks(500, bad[i], &lower, &upper));
    }
    assert_int_equal(lower, 77);
    assert_int_equal(upper, 77);
}

static void example_of_ten_values(void **unused)
{
    static const double values[] = {9.12, 9.30, 9.05, 9.21, 9.18,
                                    9.40, 9.11, 9.25, 9.08, 9.33};
    double scratch[10];
    struct st_summary s;

    (void)unused;
    st_summarise(10, values, 0.95, 0.02, 1, scratch, &s);
    assert_int_equal(s.n, 10);
    assert_true(near(s.median, 9.195, 1e-12));
    assert_true(s.lag1 < 0.0); /* so the interval is neither widened nor narrowed */
    assert_true(s.ci_low == 9.08 && s.ci_high == 9.33);
    assert_true(s.min == 9.05 && s.max == 9.40 && s.best == 9.40);
    /* python: statistics.mean, stdev, quantiles(n=4, method='inclusive') */
    assert_true(near(s.mean, 9.203, 1e-12));
    assert_true(near(s.stddev, 0.11605075517969632, 1e-12));
    assert_true(near(s.q1, 9.1125, 1e-12) && near(s.q3, 9.2875, 1e-12));
    assert_true(isnan(s.p99));
    /* half-width 0.125 / 9.195 = 1.36 % */
    assert_true(s.converged);
    st_summarise(10, values, 0.95, 0.0135, -1, scratch, &s);
    assert_false(s.converged);
    assert_true(s.best == 9.05);
    st_summarise(10, values, 0.95, 0.0137, 0, scratch, &s);
    assert_true(s.converged);
    assert_true(s.best == s.median);
}

/* The three series of METHODS 9 [V]. */
static void series_of_the_verdicts(void **unused)
{
    static const struct {
        double values[9], median, low, high;
    } rows[] = {
        {{401, 399, 402, 400, 398, 403, 400, 401, 397}, 400, 398, 402},
        {{385, 399, 402, 400, 398, 403, 392, 401, 396}, 399, 392, 402},
        {{380, 382, 381, 383, 379, 384, 381, 380, 382}, 381, 380, 383},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        double scratch[9];
        struct st_summary s;
        st_summarise(9, rows[i].values, 0.95, 0.02, 1, scratch, &s);
        assert_true(s.median == rows[i].median);
        assert_true(s.ci_low == rows[i].low && s.ci_high == rows[i].high);
    }
}

static void quantiles_type_7(void **unused)
{
    static const double four[] = {1.0, 2.0, 4.0, 8.0};
    static const struct {
        double p, want; /* R: quantile(c(1, 2, 4, 8), p, type = 7) */
    } rows[] = {{0.0, 1.0},  {0.1, 1.3}, {0.25, 1.75}, {0.5, 3.0},
                {0.75, 5.0}, {0.9, 6.8}, {0.99, 7.88}, {1.0, 8.0}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_true(near(st_quantile(4, four, rows[i].p), rows[i].want, 1e-14));
    }
    assert_true(st_median_sorted(3, four) == 2.0);
    assert_true(st_median_sorted(1, four) == 1.0);
    assert_true(isnan(st_quantile(0, four, 0.5)));
    assert_true(isnan(st_quantile(4, four, 1.1)));
    assert_true(isnan(st_quantile(4, four, (double)NAN)));
}

/* [V]: 29 (p90), 299 (p99), 2995 (p99.9); also by the definition, 1 - p^n >= confidence. */
static void percentiles_need_samples(void **unused)
{
    static const double p[] = {0.5, 0.9, 0.99, 0.999};
    static const double confidences[] = {0.9, 0.95, 0.99};

    (void)unused;
    assert_int_equal(st_percentile_min_n(0.90, 0.95), 29);
    assert_int_equal(st_percentile_min_n(0.99, 0.95), 299);
    assert_int_equal(st_percentile_min_n(0.999, 0.95), 2995);
    for (size_t i = 0; i < ST_COUNT(p); i++) {
        for (size_t k = 0; k < ST_COUNT(confidences); k++) {
            const double n = (double)st_percentile_min_n(p[i], confidences[k]);
            assert_true(1.0 - pow(p[i], n) >= confidences[k]);
            assert_true(1.0 - pow(p[i], n - 1.0) < confidences[k]);
        }
    }
    assert_true(st_percentile_min_n(1.0, 0.95) == SIZE_MAX);
    assert_true(st_percentile_min_n(0.9, 1.0) == SIZE_MAX);
}

static void p99_appears_at_299(void **unused)
{
    static double values[299];
    static double scratch[299];
    struct st_summary s;

    (void)unused;
    for (size_t i = 0; i < 299; i++) {
        values[i] = (double)((i * 37) % 299); /* a permutation of 0 … 298 */
    }
    st_summarise(298, values, 0.95, 0.02, 1, scratch, &s);
    assert_true(isnan(s.p99));
    st_summarise(299, values, 0.95, 0.02, 1, scratch, &s);
    assert_true(near(s.p99, 295.02, 1e-9)); /* 0.99 * 298 */
}

/* python: statistics.correlation(ranks(values), range(n)), where the rank of a is
 * (number below a + number not above a - 1) / 2 */
static void drift_by_ranks(void **unused)
{
    static const struct {
        size_t n;
        double values[10], want;
    } rows[] = {
        {3, {1, 2, 3}, 1.0},
        {4, {4, 3, 2, 1}, -1.0},
        {5, {2, 1, 4, 3, 5}, 0.8},
        {5, {1, 1, 2, 2, 3}, 0.9486832980505138},
        {6, {3, 1, 4, 1, 5, 9}, 0.6667366910003157},
        {10,
         {9.12, 9.30, 9.05, 9.21, 9.18, 9.40, 9.11, 9.25, 9.08, 9.33},
         0.1757575757575758},
        {4, {5, 5, 5, 5}, 0.0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_true(near(st_drift(rows[i].n, rows[i].values), rows[i].want, 1e-12));
    }
    assert_true(isnan(st_drift(2, rows[0].values)));
    assert_true(isnan(st_drift(0, rows[0].values)));
}

static void drifting_needs_ten_samples(void **unused)
{
    double values[10];
    double scratch[10];
    struct st_summary s;

    (void)unused;
    for (size_t i = 0; i < 10; i++) {
        values[i] = 100.0 + (double)i;
    }
    st_summarise(9, values, 0.95, 0.02, 1, scratch, &s);
    assert_false(s.drifting);
    st_summarise(10, values, 0.95, 0.02, 1, scratch, &s);
    assert_true(s.drifting && s.drift == 1.0);
    for (size_t i = 0; i < 10; i++) {
        assert_true(values[i] == 100.0 + (double)i); /* unchanged */
    }
}

/* By hand: mean 2.5, deviations -1.5 -.5 .5 1.5, squares 5, products .75 - .25 + .75. */
static void lag_1(void **unused)
{
    static const double rising[] = {1, 2, 3, 4};
    static const double alternating[] = {1, -1, 1, -1};
    static const double constant[] = {3, 3, 3, 3};

    (void)unused;
    assert_true(near(st_lag1(4, rising), 0.25, 1e-15));
    assert_true(near(st_lag1(4, alternating), -0.75, 1e-15));
    assert_true(st_lag1(4, constant) == 0.0);
    assert_true(st_lag1(2, rising) == 0.0);
    assert_true(st_lag1(0, rising) == 0.0);
    assert_true(near(st_effective_n(100, 0.5), 33.3, 0.05)); /* [V] */
    assert_true(st_effective_n(100, 0.0) == 100.0);
}

/* Slow wave: neighbours alike. Interval from the definition: order statistics of the series
 * around its median, stretched by sqrt((1 + rho) / (1 - rho)). */
static void interval_is_widened_for_memory(void **unused)
{
    double values[20];
    double sorted[20];
    double scratch[20];
    struct st_summary s;

    (void)unused;
    for (size_t i = 0; i < 20; i++) {
        const double x = ((double)i - 9.5) / 3.0; /* like neighbours, far extremes */
        values[i] = 50.0 + 0.1 * x * x * x;
        sorted[i] = values[i];
    }
    st_sort(20, sorted);
    st_summarise(20, values, 0.95, 0.02, 1, scratch, &s);
    assert_true(s.lag1 > 0.5);
    const double stretch = sqrt((1.0 + s.lag1) / (1.0 - s.lag1));
    const double median = (sorted[9] + sorted[10]) / 2.0;
    assert_true(stretch > 1.7);
    assert_true(near(median - s.ci_low, stretch * (median - sorted[5]), 1e-12));
    assert_true(near(s.ci_high - median, stretch * (sorted[14] - median), 1e-12));
}

static void widening_stops_at_the_extremes(void **unused)
{
    double values[20];
    double scratch[20];
    struct st_summary s;

    (void)unused;
    for (size_t i = 0; i < 20; i++) {
        values[i] =
            i < 10 ? 1.0 : 3.0; /* two plateaus: a wide interval, nothing outside */
    }
    st_summarise(20, values, 0.95, 0.02, 1, scratch, &s);
    assert_true(s.lag1 > 0.5);
    assert_true(near(s.ci_low, 1.0, 0.0) && near(s.ci_high, 3.0, 0.0));
}

static void interval_is_never_narrowed(void **unused)
{
    double values[12];
    double sorted[12];
    double scratch[12];
    struct st_summary s;

    (void)unused;
    for (size_t n = 6; n <= 12; n++) {
        for (size_t i = 0; i < n; i++) {
            values[i] = n < 10 ? (double)i : (i % 2 == 0 ? -1.0 : 1.0) * (double)(i + 1);
            sorted[i] = values[i];
        }
        size_t lower = 0;
        size_t upper = 0;
        st_sort(n, sorted);
        st_summarise(n, values, 0.95, 0.02, 1, scratch, &s);
        assert_true(n < 10 ? s.lag1 > 0.0 : s.lag1 < 0.0);
        assert_true(st_median_ci_ranks(n, 0.95, &lower, &upper));
        assert_true(near(s.ci_low, sorted[lower - 1], 1e-12));
        assert_true(near(s.ci_high, sorted[upper - 1], 1e-12));
    }
}

static void summary_of_few_samples(void **unused)
{
    static const double values[] = {4.0, 4.0, 4.0, 4.0, 4.0, 4.0};
    double scratch[6];
    struct st_summary s;

    (void)unused;
    st_summarise(0, values, 0.95, 0.02, 1, scratch, &s);
    assert_int_equal(s.n, 0);
    assert_true(isnan(s.median) && isnan(s.min) && isnan(s.mean) && isnan(s.best));
    assert_false(s.converged || s.drifting);
    st_summarise(1, values, 0.95, 0.02, 1, scratch, &s);
    assert_true(s.median == 4.0 && s.mean == 4.0 && s.best == 4.0);
    assert_true(isnan(s.stddev) && isnan(s.ci_low) && isnan(s.ci_high));
    assert_false(s.converged);
    st_summarise(5, values, 0.95, 1e9, 1, scratch, &s);
    assert_false(s.converged); /* no interval, however generous the width */
    st_summarise(6, values, 0.95, 0.0, 1, scratch, &s);
    assert_true(s.converged && s.stddev == 0.0 && s.ci_low == 4.0);
}

static void next_looks(void **unused)
{
    static const size_t looks[] = {6, 8, 11, 15, 20, 27, 36, 49, 66, 89};

    (void)unused;
    assert_int_equal(st_next_look(0), 6);
    for (size_t i = 0; i + 1 < ST_COUNT(looks); i++) {
        for (size_t n = looks[i]; n < looks[i + 1]; n++) {
            assert_int_equal(st_next_look(n), looks[i + 1]);
        }
    }
    assert_true(st_next_look(SIZE_MAX - 1) == SIZE_MAX);
}

static void outliers_of_methods(void **unused)
{
    double values[] = {2.1, 2.0, 2.2, 2.1, 1.9, 2.0, 2.1, 2.2, 2.0, 3.5};
    double scratch[10];
    double low = 0.0;
    double high = 0.0;

    (void)unused;
    st_sort(10, values);
    const double median = st_median_sorted(10, values);
    const double mad = st_mad(10, values, median, scratch);
    assert_true(near(median, 2.1, 1e-12));
    assert_true(near(mad, 0.1, 1e-12));
    assert_true(near(st_modified_z(3.5, median, mad, 0.0), 9.443, 1e-3));
    st_tukey_fences(10, values, 1.5, &low, &high);
    assert_true(near(low, 1.7375, 1e-12) && near(high, 2.4375, 1e-12));
}

/* The fleet of 40 nodes of METHODS 8.4 [V]. */
static void fleet_of_methods(void **unused)
{
    double values[40];
    double scratch[40];

    (void)unused;
    for (size_t i = 0; i < 39; i++) {
        values[i] = 400.0 + 0.4 * ((double)((37 * i) % 11) - 5.0);
    }
    values[39] = 388.0;
    st_sort(40, values);
    const double median = st_median_sorted(40, values);
    const double mad = st_mad(40, values, median, scratch);
    assert_true(near(median, 400.0, 1e-9) && near(mad, 1.2, 1e-9));
    assert_true(near(st_modified_z(388.0, median, mad, 0.0), -6.745, 1e-3));
    assert_true(near(st_modified_z(384.0, median, mad, 0.0), -8.993, 1e-3));
    double largest = 0.0;
    for (size_t i = 1; i < 40; i++) {
        largest = fmax(largest, fabs(st_modified_z(values[i], median, mad, 0.0)));
    }
    assert_true(near(largest, 1.124, 1e-3));
}

static void scores_without_a_mad(void **unused)
{
    static const double values[] = {5.0, 5.0, 5.0, 5.0, 7.0};
    double scratch[5];

    (void)unused;
    assert_true(st_mad(5, values, 5.0, scratch) == 0.0);
    const double mean = st_mean_deviation(5, values, 5.0);
    assert_true(near(mean, 0.4, 1e-15));
    assert_true(near(st_modified_z(7.0, 5.0, 0.0, mean), 2.0 / (1.2533 * 0.4), 1e-12));
    assert_true(st_modified_z(5.0, 5.0, 0.0, 0.0) == 0.0);
    assert_false(fabs(st_modified_z(7.0, 5.0, 0.0, 0.0)) > 3.5);
    assert_true(isnan(st_mean_deviation(0, values, 5.0)));
}

static void mad_factors(void **unused)
{
    static const double want[] = {[3] = 1.49, [4] = 1.36, [5] = 1.21, [6] = 1.20,
                                  [7] = 1.14, [8] = 1.13, [9] = 1.11};

    (void)unused;
    assert_true(isnan(st_mad_factor(0)) && isnan(st_mad_factor(2)));
    for (size_t n = 3; n < ST_COUNT(want); n++) {
        assert_true(st_mad_factor(n) == want[n]);
    }
    assert_true(near(st_mad_factor(10), 10.0 / 9.2, 1e-15));
    assert_true(near(st_mad_factor(1000), 1.0008, 1e-6));
}

/* Two-sided and one-sided thresholds of METHODS 8.4 [V]; elsewhere by inversion: the
 * distribution function erfc(-x / sqrt 2) / 2 must give p back. An error dx changes it by
 * density * dx, i.e. relatively by about |x| dx in the tail; 1e-14 covers both functions. */
static void normal_quantiles(void **unused)
{
    static const struct {
        double tail, z;
    } rows[] = {
        {0.025 / 100, 3.48}, {0.025 / 1000, 4.06}, {0.025 / 10000, 4.56},
        {0.005 / 100, 3.89}, {0.005 / 1000, 4.42}, {0.005 / 10000, 4.89},
        {0.01 / 100, 3.72},  {0.01 / 1000, 4.26},  {0.01 / 10000, 4.75},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_true(near(-st_normal_quantile(rows[i].tail), rows[i].z, 0.0051));
    }
    for (double p = 1e-300; p < 0.5; p *= 1.7) {
        const double x = st_normal_quantile(p);
        const double scale = 1.0 + x * x;
        assert_true(near(erfc(-x / sqrt(2.0)) / 2.0 / p, 1.0, 1e-14 * scale));
    }
    for (double p = 0.01; p < 1.0; p += 0.01) {
        assert_true(near(erfc(-st_normal_quantile(p) / sqrt(2.0)) / 2.0, p, 1e-15));
        assert_true(near(st_normal_quantile(p), -st_normal_quantile(1.0 - p), 2e-14));
    }
    assert_true(near(st_normal_quantile(0.975), 1.959963984540054, 1e-15));
    assert_true(st_normal_quantile(0.5) == 0.0);
    assert_true(isnan(st_normal_quantile(0.0)) && isnan(st_normal_quantile(1.0)));
    assert_true(isnan(st_normal_quantile((double)NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_ranks),
        cmocka_unit_test(median_ranks_cover),
        cmocka_unit_test(median_ranks_at_extreme_confidence),
        cmocka_unit_test(no_interval_without_enough_samples),
        cmocka_unit_test(example_of_ten_values),
        cmocka_unit_test(series_of_the_verdicts),
        cmocka_unit_test(quantiles_type_7),
        cmocka_unit_test(percentiles_need_samples),
        cmocka_unit_test(p99_appears_at_299),
        cmocka_unit_test(drift_by_ranks),
        cmocka_unit_test(drifting_needs_ten_samples),
        cmocka_unit_test(lag_1),
        cmocka_unit_test(interval_is_widened_for_memory),
        cmocka_unit_test(widening_stops_at_the_extremes),
        cmocka_unit_test(interval_is_never_narrowed),
        cmocka_unit_test(summary_of_few_samples),
        cmocka_unit_test(next_looks),
        cmocka_unit_test(outliers_of_methods),
        cmocka_unit_test(fleet_of_methods),
        cmocka_unit_test(scores_without_a_mad),
        cmocka_unit_test(mad_factors),
        cmocka_unit_test(normal_quantiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
