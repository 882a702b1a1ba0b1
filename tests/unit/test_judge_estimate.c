/*
 * Estimates of one series: intervals, classes and required repetitions (METHODS 8.1, 9).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/base/mem.h"
#include "src/judge/judging.h"

#include <math.h>
#include <string.h>

static void smallest_n_of_a_median(void **state)
{
    /* METHODS 9: n >= 1 + log2(N / 0.05): N = 1: 6, 100: 12, 1000: 16, 10000: 19 */
    static const struct {
        double n_places;
        size_t n;
    } rows[] = {{1, 6}, {100, 12}, {1000, 16}, {10000, 19}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(st_median_smallest_n(1.0 - 0.05 / rows[i].n_places), rows[i].n);
    }
}

static void bounds_of_a_percentile(void **state)
{
    /*
     * Python, exact fractions: with C ~ Bin(n, 1/100), upper rank n - max{c: P(C<=c) <= 1-conf}, lower
     * rank n - min{c: P(C<=c) >= conf}.
     */
    static const struct {
        size_t n;
        double confidence;
        size_t lower, upper;
    } rows[] = {{299, 0.95, 293, 299},  {473, 0.95, 464, 472},  {500, 0.95, 491, 499},
                {700, 0.995, 685, 700}, {1000, 0.95, 985, 996}, {5000, 0.95, 4938, 4962}};
    size_t lower = 0;
    size_t upper = 0;

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_true(
            st_percentile_ranks(rows[i].n, 0.99, rows[i].confidence, &lower, &upper));
        assert_int_equal(lower, rows[i].lower);
        assert_int_equal(upper, rows[i].upper);
    }
    assert_false(st_percentile_ranks(298, 0.99, 0.95, &lower, &upper));
    assert_false(st_percentile_ranks(0, 0.99, 0.95, &lower, &upper));
}

static void classes(void **state)
{
    const double nan_value = (double)NAN;
    const struct {
        double low, high, bound;
        bool at_least;
        enum st_outcome outcome;
    } rows[] = {
        {398, 402, 396, true, ST_PASS},
        {396, 402, 396, true, ST_PASS},
        {392, 402, 396, true, ST_INCONCLUSIVE},
        {380, 396, 396, true, ST_INCONCLUSIVE},
        {380, 383, 396, true, ST_FAIL},
        {398, 402, 404, false, ST_PASS},
        {398, 402, 402, false, ST_PASS},
        {398, 402, 400, false, ST_INCONCLUSIVE},
        {398, 402, 398, false, ST_INCONCLUSIVE},
        {398, 402, 396, false, ST_FAIL},
        {nan_value, 402, 396, true, ST_INCONCLUSIVE},
        {398, nan_value, 396, false, ST_INCONCLUSIVE},
        {nan_value, nan_value, 1, true, ST_INCONCLUSIVE},
        {398, 402, nan_value, true, ST_INCONCLUSIVE},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(
            st_classify(rows[i].low, rows[i].high, rows[i].bound, rows[i].at_least),
            rows[i].outcome);
    }
}

static void repetitions_that_would_decide(void **state)
{
    (void)state;
    /* METHODS 9, 85 % of 460.8: 9 * (1 / 0.32)^2 = 87.89 */
    assert_int_equal(st_repetitions_needed(9, 391, 393, 392, 391.68), 88);
    /* second vector: [392, 402], 399, L = 396: 9 * (5 / 3)^2 = 25 */
    assert_int_equal(st_repetitions_needed(9, 392, 402, 399, 396), 25);
    assert_int_equal(st_repetitions_needed(9, 398, 402, 400, 400), 0);
    assert_int_equal(st_repetitions_needed(9, (double)NAN, 402, 400, 396), 0);
    assert_int_equal(st_repetitions_needed(9, 392, 402, 399, 399.0 - 1e-9), 0);
    assert_true(st_repetitions_needed(9, 398, 402, 400, 300) > 9);
}

static void statistics_of_a_series(void **state)
{
    static const double values[] = {401, 399, 402, 400, 398, 403, 400, 401, 397};
    static const double equal[] = {37, 37, 37};
    double scratch[ST_COUNT(values)];
    struct st_estimate e;
    struct st_estimate_rule rule = {.statistic = ST_STAT_MEDIAN, .confidence = 0.95};

    (void)state;
    st_estimate_of(&rule, ST_COUNT(values), values, scratch, &e);
    assert_true(e.value == 400.0 && e.low == 398.0 && e.high == 402.0);
    assert_false(e.exact || e.extreme);
    rule.statistic = ST_STAT_MIN;
    st_estimate_of(&rule, ST_COUNT(values), values, scratch, &e);
    assert_true(e.value == 397.0 && e.low == 397.0 && e.high == 397.0 && e.extreme);
    rule.statistic = ST_STAT_MAX;
    st_estimate_of(&rule, ST_COUNT(values), values, scratch, &e);
    assert_true(e.value == 403.0 && e.extreme);
    rule.statistic = ST_STAT_P99;
    st_estimate_of(&rule, ST_COUNT(values), values, scratch, &e);
    assert_true(isnan(e.value) && isnan(e.high) && e.n_smallest == 299);
    rule.statistic = ST_STAT_MEDIAN;
    st_estimate_of(&rule, ST_COUNT(equal), equal, scratch, &e);
    assert_true(isnan(e.low) &&
                !e.exact); /* equal times are chance, equal counts are not */
    rule.is_count = true;
    st_estimate_of(&rule, ST_COUNT(equal), equal, scratch, &e);
    assert_true(e.exact && e.low == 37.0 && e.high == 37.0);
    st_estimate_of(&rule, 0, values, scratch, &e);
    assert_true(isnan(e.value) && !e.exact && e.n == 0);
}

static void p99_of_many_samples(void **state)
{
    double values[400];
    double scratch[400];
    struct st_estimate e;
    const struct st_estimate_rule rule = {.statistic = ST_STAT_P99, .confidence = 0.95};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(values); i++) {
        values[i] =
            (double)((i * 37) % 400); /* 37 and 400 are coprime: 0 … 399 in disorder */
    }
    st_estimate_of(&rule, ST_COUNT(values), values, scratch, &e);
    /* type 7: 0.99 * 399 = 395.01; ranks by the recipe above at n = 400: 392 and 400 */
    assert_true(fabs(e.value - 395.01) < 1e-9);
    assert_true(e.low == 391.0 && e.high == 399.0);
}

static void long_sentences_show_their_cut(void **state)
{
    char text[16];

    (void)state;
    st_say(text, sizeof text, "%s", "fits");
    assert_string_equal(text, "fits");
    st_say(text, sizeof text, "%s", "does not fit into it");
    assert_string_equal(text, "does not fit...");
}

static void worse_outcomes(void **state)
{
    (void)state;
    assert_int_equal(st_outcome_worse(ST_PASS, ST_FAIL), ST_FAIL);
    assert_int_equal(st_outcome_worse(ST_FAIL, ST_INCONCLUSIVE), ST_FAIL);
    assert_int_equal(st_outcome_worse(ST_NOT_JUDGED, ST_INCONCLUSIVE), ST_INCONCLUSIVE);
    assert_int_equal(st_outcome_worse(ST_NOT_JUDGED, ST_PASS), ST_NOT_JUDGED);
    assert_string_equal(st_outcome_word(ST_PASS), "pass");
    assert_string_equal(st_outcome_word(ST_NOT_JUDGED), "not judged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_n_of_a_median),
        cmocka_unit_test(bounds_of_a_percentile),
        cmocka_unit_test(classes),
        cmocka_unit_test(repetitions_that_would_decide),
        cmocka_unit_test(statistics_of_a_series),
        cmocka_unit_test(p99_of_many_samples),
        cmocka_unit_test(long_sentences_show_their_cut),
        cmocka_unit_test(worse_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
