/*
 * Criteria and verdict of files built in memory: the vectors of METHODS 9, what is never
 * judged, and the exit status of DESIGN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_judge_fixture.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double passing[] = {401, 399, 402, 400, 398, 403, 400, 401, 397};
static const double undecided[] = {385, 399, 402, 400, 398, 403, 392, 401, 396};
static const double failing[] = {380, 382, 381, 383, 379, 384, 381, 380, 382};

static const double giga = 1e9;

enum {
    N_SERIES = 9
};

/* One step, one metric at one place, one criterion, which the caller may still change. */
static struct st_criterion *one(struct st_file *file, const char *unit,
                                enum st_better better, size_t n, const double *values,
                                double scale)
{
    double scaled[512];

    fix_init(file);
    (void)fix_step(file, "stream");
    (void)fix_metric(file, "triad", unit, better, ST_NODE, 1);
    for (size_t i = 0; i < n; i++) {
        scaled[i] = values[i] * scale;
    }
    fix_samples(file, 0, 0, n, scaled);
    /* the width of the vectors is theirs; whether they converged is another test */
    file->steps[0].metrics[0].summary[0].converged = true;
    return fix_criterion(file, 0, better == ST_LOWER ? ST_AT_MOST : ST_AT_LEAST,
                         396 * scale);
}

static void vectors_of_methods(void **state)
{
    static const struct {
        const double *values;
        double median, low, high;
        enum st_outcome outcome;
        enum st_exit exit;
    } rows[] = {{passing, 400, 398, 402, ST_PASS, ST_EXIT_PASS},
                {undecided, 399, 392, 402, ST_INCONCLUSIVE, ST_EXIT_INCOMPLETE},
                {failing, 381, 380, 383, ST_FAIL, ST_EXIT_FAIL}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        (void)one(&file, "byte s-1", ST_HIGHER, N_SERIES, rows[i].values, giga);
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->n_rows, 2);
        assert_int_equal(v->rows[0].n_place_rows, 1);
        for (size_t r = 0; r < v->n_rows; r++) {
            assert_int_equal(v->rows[r].outcome, rows[i].outcome);
            assert_true(v->rows[r].value == rows[i].median * giga);
            assert_true(v->rows[r].low == rows[i].low * giga);
            assert_true(v->rows[r].high == rows[i].high * giga);
            assert_true(v->rows[r].bound == 396 * giga);
            assert_int_equal(v->rows[r].n, N_SERIES);
        }
        assert_int_equal(v->rows[1].n_needed, i == 1 ? 25 : 0);
        assert_int_equal(v->overall, rows[i].outcome);
        assert_int_equal(v->exit, rows[i].exit);
        st_verdict_destroy(&v);
        assert_null(v);
        fix_clear(&file);
    }
}

static void lower_is_better_is_the_mirror(void **state)
{
    static const struct {
        const double *values;
        double bound;
        enum st_outcome outcome;
    } rows[] = {{passing, 402, ST_PASS},
                {passing, 401, ST_INCONCLUSIVE},
                {passing, 397.5, ST_FAIL}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        one(&file, "s", ST_LOWER, N_SERIES, rows[i].values, 1.0)->bound = rows[i].bound;
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->rows[0].outcome, rows[i].outcome);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void percent_of_peak_and_reference(void **state)
{
    /* METHODS 9: 85 % of 460.8 = 391.68; median 392, CI [391, 393] is inconclusive */
    static const double values[] = {391, 393, 392, 390, 394, 392, 391, 393, 392};
    static const struct {
        enum st_criterion_kind kind;
        double share, reference;
        enum st_outcome outcome;
    } rows[] = {{ST_AT_LEAST_OF_PEAK, 0.85, 460.8, ST_INCONCLUSIVE},
                {ST_AT_LEAST_OF_PEAK, 0.84, 460.8, ST_PASS},
                {ST_AT_LEAST_OF_REFERENCE, 0.90, 460.8, ST_FAIL},
                {ST_AT_MOST_OF_REFERENCE, 1.00, 460.8, ST_PASS},
                {ST_AT_MOST_OF_REFERENCE, 1.00, 390.0, ST_FAIL},
                {ST_AT_LEAST_OF_PEAK, 0.10, (double)NAN, ST_INCONCLUSIVE}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        struct st_criterion *c =
            one(&file, "byte s-1", ST_HIGHER, N_SERIES, values, giga);
        c->kind = rows[i].kind;
        c->bound = rows[i].share;
        c->reference = rows[i].reference * giga;
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->rows[0].outcome, rows[i].outcome);
        if (i == 0) {
            assert_true(fabs(v->rows[0].bound - 391.68e9) < 1.0);
            assert_int_equal(v->rows[0].n_needed, 88);
        }
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void few_samples_are_inconclusive(void **state)
{
    struct st_file file;

    (void)state;
    (void)one(&file, "byte s-1", ST_HIGHER, 5, passing, giga);
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    assert_int_equal(v->rows[0].n_needed, 6);
    assert_non_null(strstr(v->rows[0].text, "too few repetitions"));
    assert_int_equal(v->exit, ST_EXIT_INCOMPLETE);
    st_verdict_destroy(&v);
    fix_clear(&file);

    (void)one(&file, "byte s-1", ST_HIGHER, 0, passing, giga);
    v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    assert_non_null(strstr(v->rows[0].text, "no valid sample"));
    assert_null(strstr(v->rows[0].text, "nan"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void many_places_need_more_samples(void **state)
{
    /* METHODS 9: at N = 100 places 12 repetitions */
    (void)state;
    for (size_t n = 11; n <= 12; n++) {
        struct st_file file;
        double values[12];
        for (size_t i = 0; i < n; i++) {
            values[i] = 400e9 + 1e8 * (double)((i * 5) % n);
        }
        fix_init(&file);
        (void)fix_step(&file, "stream");
        (void)fix_metric(&file, "triad", "byte s-1", ST_HIGHER, ST_NODE, 100);
        for (size_t p = 0; p < 100; p++) {
            fix_samples(&file, 0, p, n, values);
        }
        (void)fix_criterion(&file, 0, ST_AT_LEAST, 396e9);
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->n_rows, 101);
        assert_int_equal(v->rows[0].outcome, n == 11 ? ST_INCONCLUSIVE : ST_PASS);
        assert_int_equal(v->rows[0].n_needed, n == 11 ? 12 : 0);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void equal_counts_need_no_interval(void **state)
{
    static const double iterations[] = {37, 37};
    static const struct {
        double bound;
        enum st_outcome outcome;
    } rows[] = {{36, ST_FAIL}, {37, ST_PASS}, {50, ST_PASS}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        one(&file, "1", ST_LOWER, ST_COUNT(iterations), iterations, 1.0)->bound =
            rows[i].bound;
        file.steps[0].metrics[0].summary[0].converged = false;
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->rows[0].outcome, rows[i].outcome);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void extremes_hold_where_more_samples_cannot_turn_them(void **state)
{
    static const struct {
        enum st_statistic statistic;
        enum st_criterion_kind kind;
        double bound;
        size_t n;
        enum st_outcome outcome;
    } rows[] = {
        {ST_STAT_MIN, ST_AT_LEAST, 398e9, 9, ST_FAIL},
        {ST_STAT_MIN, ST_AT_LEAST, 400e9, 2, ST_FAIL}, /* 399 is below, for good */
        {ST_STAT_MIN, ST_AT_LEAST, 397e9, 9, ST_PASS},
        {ST_STAT_MIN, ST_AT_LEAST, 397e9, 5, ST_INCONCLUSIVE},
        {ST_STAT_MAX, ST_AT_MOST, 403e9, 9, ST_PASS},
        {ST_STAT_MAX, ST_AT_MOST, 403e9, 5, ST_INCONCLUSIVE},
        {ST_STAT_MAX, ST_AT_MOST, 400e9, 2, ST_FAIL},
        {ST_STAT_MAX, ST_AT_LEAST, 401e9, 2, ST_PASS}, /* best of n only grows */
        {ST_STAT_MAX, ST_AT_LEAST, 404e9, 5, ST_INCONCLUSIVE},
        {ST_STAT_MAX, ST_AT_LEAST, 404e9, 9, ST_FAIL},
        {ST_STAT_P99, ST_AT_MOST, 500e9, 9, ST_INCONCLUSIVE}, /* n >= 299 */
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        struct st_criterion *c =
            one(&file, "byte s-1", ST_HIGHER, rows[i].n, passing, giga);
        c->statistic = rows[i].statistic;
        c->kind = rows[i].kind;
        c->bound = rows[i].bound;
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->rows[0].outcome, rows[i].outcome);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

/* ---- what is never judged, and what casts doubt ---- */

static void make_fake(struct st_file *file)
{
    file->fake_nodes = true;
}

static void make_fake_but_judged(struct st_file *file)
{
    file->fake_nodes = true;
    file->judge_fake_nodes = true;
}

static void make_crowded(struct st_file *file)
{
    file->steps[0].oversubscribed = true;
}

static void make_unproved(struct st_file *file)
{
    file->steps[0].placement_proved = false;
}

static void make_failed(struct st_file *file)
{
    file->steps[0].state = ST_STEP_FAILED;
    file->steps[0].check_bad = 3;
    (void)st_copy(file->steps[0].reason, sizeof file->steps[0].reason, "3 of 10 wrong");
}

static void make_wrong(struct st_file *file)
{
    file->steps[0].check_bad = 1;
}

static void make_interrupted(struct st_file *file)
{
    file->steps[0].state = ST_STEP_INTERRUPTED;
}

static void make_skipped(struct st_file *file)
{
    file->steps[0].state = ST_STEP_SKIPPED;
}

static void make_running(struct st_file *file)
{
    file->steps[0].state = ST_STEP_RUNNING;
}

static void lose_places(struct st_file *file)
{
    file->steps[0].metrics[0].n_places = 0;
}

static void lose_metric(struct st_file *file)
{
    file->steps[0].criteria[0].metric = 7;
}

static void make_unverified(struct st_file *file)
{
    file->steps[0].check_n = 0;
}

static void make_wide(struct st_file *file)
{
    file->steps[0].metrics[0].summary[0].converged = false;
}

static void spoil_clock(struct st_file *file)
{
    file->steps[0].metrics[0].kind = ST_JOB;
    file->steps[0].metrics[0].places[0].node = SIZE_MAX;
    file->steps[0].metrics[0].origin = ST_FROM_TIME;
    file->steps[0].clock_error_s = 41e9; /* the samples are near 400e9 */
}

static void tolerate_clock(struct st_file *file)
{
    spoil_clock(file);
    file->steps[0].clock_error_s = 39e9;
}

static void lose_clock(struct st_file *file)
{
    spoil_clock(file);
    file->steps[0].clock_error_s = (double)NAN;
}

static void clock_of_one_node(struct st_file *file)
{
    spoil_clock(file);
    file->steps[0].metrics[0].places[0].node = 0;
}

static void clock_of_given_values(struct st_file *file)
{
    spoil_clock(file);
    file->steps[0].metrics[0].origin = ST_GIVEN;
}

static void unconverged_is_fail(struct st_file *file)
{
    make_wide(file);
    file->steps[0].criteria[0].criterion.inconclusive_is_fail = true;
}

static void reasons_against_a_verdict(void **state)
{
    static const struct {
        void (*change)(struct st_file *file);
        enum st_outcome outcome;
        enum st_exit exit;
        const char *word;
    } rows[] = {
        {make_fake, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "SEATRIAL_FAKE_NODES"},
        {make_fake_but_judged, ST_PASS, ST_EXIT_PASS, "meets"},
        {make_crowded, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "oversubscribed"},
        {make_unproved, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "placement"},
        {make_failed, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "3 of 10 wrong"},
        {make_wrong, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "found wrong"},
        {make_interrupted, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "interrupted"},
        {make_skipped, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "skipped"},
        {make_running, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "running"},
        {lose_places, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "nothing was recorded"},
        {lose_metric, ST_NOT_JUDGED, ST_EXIT_INCOMPLETE, "nothing was recorded"},
        {make_unverified, ST_INCONCLUSIVE, ST_EXIT_INCOMPLETE, "never verified"},
        {make_wide, ST_INCONCLUSIVE, ST_EXIT_INCOMPLETE, "width of 2 %"},
        {spoil_clock, ST_INCONCLUSIVE, ST_EXIT_INCOMPLETE, "clocks"},
        {lose_clock, ST_INCONCLUSIVE, ST_EXIT_INCOMPLETE, "clocks"},
        {tolerate_clock, ST_PASS, ST_EXIT_PASS, "meets"},
        {clock_of_one_node, ST_PASS, ST_EXIT_PASS, "meets"},
        {clock_of_given_values, ST_PASS, ST_EXIT_PASS, "meets"},
        {unconverged_is_fail, ST_FAIL, ST_EXIT_FAIL, "counts as failed"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        (void)one(&file, "byte s-1", ST_HIGHER, N_SERIES, passing, giga);
        rows[i].change(&file);
        struct st_verdict *v = fix_judge(&file);
        const size_t set = v->rows[0].criterion == SIZE_MAX ? 1 : 0;
        assert_int_equal(v->rows[set].outcome, rows[i].outcome);
        assert_non_null(strstr(v->rows[set].text, rows[i].word));
        assert_int_equal(v->exit, rows[i].exit);
        assert_int_equal(v->overall, rows[i].outcome);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void drift_is_doubt(void **state)
{
    static const double rising[] = {400, 401, 402, 403, 404, 405,
                                    406, 407, 408, 409, 410, 411};
    struct st_file file;

    (void)state;
    (void)one(&file, "byte s-1", ST_HIGHER, ST_COUNT(rising), rising, giga);
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    assert_non_null(strstr(v->rows[0].text, "drift"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

/* ---- exit status ---- */

static void exit_status_of_steps(void **state)
{
    static const struct {
        const char *status;
        enum st_step_state second;
        bool required;
        size_t absent;
        enum st_exit exit;
    } rows[] = {
        {"complete", ST_STEP_COMPLETE, false, 0, ST_EXIT_PASS},
        {"complete", ST_STEP_SKIPPED, false, 0,
         ST_EXIT_PASS}, /* nothing was asked of it */
        {"complete", ST_STEP_SKIPPED, true, 0, ST_EXIT_INCOMPLETE},
        {"complete", ST_STEP_FAILED, false, 0, ST_EXIT_INCOMPLETE},
        {"complete", ST_STEP_INTERRUPTED, false, 0, ST_EXIT_INCOMPLETE},
        {"complete", ST_STEP_RUNNING, false, 0, ST_EXIT_INCOMPLETE},
        {"complete", ST_STEP_COMPLETE, false, 1, ST_EXIT_INCOMPLETE},
        {"running", ST_STEP_COMPLETE, false, 0, ST_EXIT_INCOMPLETE},
        {"interrupted", ST_STEP_COMPLETE, false, 0, ST_EXIT_INCOMPLETE},
        {"", ST_STEP_COMPLETE, false, 0, ST_EXIT_INCOMPLETE},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        (void)one(&file, "byte s-1", ST_HIGHER, N_SERIES, passing, giga);
        struct st_file_step *second = fix_step(&file, "pairs");
        second->state = rows[i].second;
        second->required = rows[i].required;
        file.n_steps_planned += rows[i].absent;
        (void)st_copy(file.status, sizeof file.status, rows[i].status);
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->exit, rows[i].exit);
        assert_int_equal(v->overall, ST_PASS);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void worst_wins_and_the_failure_is_told(void **state)
{
    struct st_file file;

    (void)state;
    (void)one(&file, "byte s-1", ST_HIGHER, N_SERIES, failing, giga);
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->exit, ST_EXIT_FAIL);
    assert_non_null(
        strstr(v->summary, "misses the bound of at least 396.0 GB/s by 3.8 %"));
    st_verdict_destroy(&v);

    fix_step(&file, "pairs")->state = ST_STEP_FAILED;
    v = fix_judge(&file);
    assert_int_equal(v->exit, ST_EXIT_INCOMPLETE);
    assert_int_equal(v->overall, ST_FAIL);
    assert_int_equal(v->n_fail, 1);
    assert_int_equal(v->n_steps_incomplete, 1);
    assert_non_null(strstr(v->summary, "1 of 1 criterion failed; failed: triad"));
    assert_int_equal(v->rows[2].metric, SIZE_MAX); /* the step's own row */
    assert_int_equal(v->rows[2].step, 1);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void nothing_asked_is_pass(void **state)
{
    struct st_file file;

    (void)state;
    fix_init(&file);
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->exit, ST_EXIT_PASS);
    assert_int_equal(v->overall, ST_PASS);
    assert_int_equal(v->n_rows, 0);
    st_verdict_destroy(&v);
    (void)fix_step(&file, "stream");
    v = fix_judge(&file);
    assert_int_equal(v->exit, ST_EXIT_PASS);
    assert_non_null(strstr(v->summary, "no criteria were asked for"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

/* ---- the whole ---- */

static void the_same_file_gives_the_same_verdict(void **state)
{
    static const double centre[] = {400, 401, 380, 403};
    struct st_file file;

    (void)state;
    (void)fix_fleet(&file, 4, centre);
    fix_criterion(&file, 0, ST_SPREAD, 0.01)->confidence = 0.9;
    struct st_verdict *a = fix_judge(&file);
    struct st_verdict *b = fix_judge(&file);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_string_equal(a->summary, b->summary);
    for (size_t i = 0; i < a->n_rows; i++) {
        assert_string_equal(a->rows[i].text, b->rows[i].text);
        assert_int_equal(a->rows[i].outcome, b->rows[i].outcome);
    }
    st_verdict_destroy(&a);
    st_verdict_destroy(&b);
    fix_clear(&file);
}

static void failing_allocations_are_errors(void **state)
{
    static const double centre[] = {400, 401, 402, 403, 404, 300};
    struct st_file file;
    enum st_status rc = ST_ERR_MEMORY;
    uint64_t k = 1;

    (void)state;
    (void)fix_fleet(&file, 6, centre);
    (void)fix_criterion(&file, 0, ST_SPREAD, 0.01);
    for (; rc != ST_OK && k < 200; k++) {
        struct st_verdict *v = NULL;
        struct st_error err = {0};
        st_mem_fail_at(k);
        rc = st_judge_with(&file, fix_read, &v, &err);
        st_mem_fail_at(0);
        assert_true(rc == ST_OK || (rc == ST_ERR_MEMORY && err.code == rc && v == NULL));
        st_verdict_destroy(&v);
    }
    assert_int_equal(rc, ST_OK);
    assert_true(k > 20);
    fix_clear(&file);
}

static enum st_status cannot_read(const struct st_file *file, size_t step, size_t metric,
                                  size_t place, size_t *n, double **values,
                                  struct st_error *err)
{
    (void)file;
    (void)step;
    (void)metric;
    (void)place;
    (void)n;
    (void)values;
    return st_fail(err, ST_ERR_IO, "disk gone");
}

static void unreadable_samples_are_errors(void **state)
{
    struct st_file file;
    struct st_verdict *v = NULL;
    struct st_error err = {0};

    (void)state;
    (void)one(&file, "byte s-1", ST_HIGHER, N_SERIES, passing, giga);
    assert_int_equal(st_judge_with(&file, cannot_read, &v, &err), ST_ERR_IO);
    assert_null(v);
    assert_non_null(strstr(err.text, "disk gone, while judging triad of step stream"));
    st_verdict_destroy(&v);
    st_verdict_destroy(NULL);
    fix_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_methods),
        cmocka_unit_test(lower_is_better_is_the_mirror),
        cmocka_unit_test(percent_of_peak_and_reference),
        cmocka_unit_test(few_samples_are_inconclusive),
        cmocka_unit_test(many_places_need_more_samples),
        cmocka_unit_test(equal_counts_need_no_interval),
        cmocka_unit_test(extremes_hold_where_more_samples_cannot_turn_them),
        cmocka_unit_test(reasons_against_a_verdict),
        cmocka_unit_test(drift_is_doubt),
        cmocka_unit_test(exit_status_of_steps),
        cmocka_unit_test(worst_wins_and_the_failure_is_told),
        cmocka_unit_test(nothing_asked_is_pass),
        cmocka_unit_test(the_same_file_gives_the_same_verdict),
        cmocka_unit_test(failing_allocations_are_errors),
        cmocka_unit_test(unreadable_samples_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
