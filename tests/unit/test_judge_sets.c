/*
 * Criteria over sets of places: every place, k of n with a floor, spread over like places
 * (METHODS 9).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_judge_fixture.h"

#include "src/base/mem.h"

#include <math.h>
#include <string.h>

static const double giga = 1e9;

static void set_of_places(void **state)
{
    static const struct {
        double centre[4];
        size_t may_fail;
        double floor;
        enum st_outcome outcome;
        size_t worst;
    } rows[] = {
        {{400, 401, 402, 403}, 0, (double)NAN, ST_PASS, 0},
        {{400, 401, 380, 403}, 0, (double)NAN, ST_FAIL, 2},
        {{400, 401, 380, 403}, 1, (double)NAN, ST_PASS, 2},
        {{400, 370, 380, 403}, 1, (double)NAN, ST_FAIL, 1},
        {{400, 401, 380, 403}, 1, 375, ST_PASS, 2},
        {{400, 401, 370, 403}, 1, 375, ST_FAIL, 2},
        {{400, 401, 375, 403}, 1, 375, ST_INCONCLUSIVE, 2},
        {{400, 401, 396, 403}, 0, (double)NAN, ST_INCONCLUSIVE, 2},
        {{400, 401, 396, 403}, 1, (double)NAN, ST_PASS, 2},
        {{400, 380, 396, 403}, 1, (double)NAN, ST_INCONCLUSIVE, 1},
        {{400, 380, 396, 403}, 0, (double)NAN, ST_FAIL, 1},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        struct st_criterion *c = fix_fleet(&file, 4, rows[i].centre);
        /* seven samples are too few for four places at 98.75 %: 1 + log2(80) = 7.3 */
        c->confidence = 0.90;
        c->may_fail = rows[i].may_fail;
        c->floor = rows[i].floor * giga;
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->n_rows, 5);
        assert_int_equal(v->rows[0].outcome, rows[i].outcome);
        assert_int_equal(v->rows[0].worst_place, rows[i].worst);
        assert_true(v->rows[0].value == rows[i].centre[rows[i].worst] * giga);
        for (size_t p = 0; p < 4; p++) {
            enum st_outcome outcome = ST_NOT_JUDGED;
            assert_int_equal(v->rows[1 + p].place, p);
            assert_true(st_verdict_at(v, 0, 0, p, &outcome));
            assert_int_equal(outcome, v->rows[1 + p].outcome);
        }
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void spread_of_places(void **state)
{
    /* half-width 0.1 % of each median: margin about 0.001 */
    static const struct {
        double centre[4];
        double bound;
        enum st_outcome outcome;
    } rows[] = {
        {{400, 402, 404, 406}, 0.02, ST_PASS},           /* 6 / 403 = 1.49 % */
        {{400, 402, 404, 412}, 0.02, ST_FAIL},           /* 12 / 403 = 2.98 % */
        {{400, 402, 404, 408.2}, 0.02, ST_INCONCLUSIVE}, /* 8.2 / 403 = 2.03 % */
        {{400, 400, 400, 400}, 0.0, ST_PASS},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        struct st_criterion *c = fix_fleet(&file, 4, rows[i].centre);
        c->kind = ST_SPREAD;
        c->bound = rows[i].bound;
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->n_rows, 1);
        assert_int_equal(v->rows[0].n_place_rows, 0);
        assert_int_equal(v->rows[0].outcome, rows[i].outcome);
        assert_true(fabs(v->rows[0].value -
                         (rows[i].centre[3] - 400) /
                             (0.5 * (rows[i].centre[1] + rows[i].centre[2]))) < 1e-12);
        assert_int_equal(v->rows[0].n_needed > 0, rows[i].outcome == ST_INCONCLUSIVE);
        enum st_outcome outcome = ST_NOT_JUDGED;
        assert_false(st_verdict_at(v, 0, 0, 0, &outcome));
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void spread_compares_like_with_like(void **state)
{
    static const double centre[] = {400, 401, 200, 201};
    struct st_file file;
    struct st_criterion *c = fix_fleet(&file, 4, centre);

    (void)state;
    c->kind = ST_SPREAD;
    c->bound = 0.02;
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_FAIL);
    st_verdict_destroy(&v);
    file.nodes[2].topology_class = 1;
    file.nodes[3].topology_class = 1;
    v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_PASS);
    assert_true(fabs(v->rows[0].value - 1.0 / 200.5) < 1e-12); /* the wider class */
    st_verdict_destroy(&v);
    file.nodes[1].topology_class = 2;
    file.nodes[3].topology_class = 3;
    v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_NOT_JUDGED);
    assert_non_null(strstr(v->rows[0].text, "two like places"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void spread_compares_points_of_curves(void **state)
{
    static const double centre[] = {400, 200, 401, 201}; /* two ranks, two sizes */
    struct st_file file;
    struct st_criterion *c = fix_fleet(&file, 4, centre);

    (void)state;
    c->kind = ST_SPREAD;
    c->bound = 0.02;
    file.steps[0].metrics[0].kind = ST_POINT;
    for (size_t p = 0; p < 4; p++) {
        file.steps[0].metrics[0].places[p].value = p % 2 == 0 ? 4096 : 65536;
    }
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_PASS);
    assert_true(fabs(v->rows[0].value - 1.0 / 200.5) < 1e-12);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void spread_around_zero_says_so(void **state)
{
    static const double centre[] = {0, 0};
    struct st_file file;
    struct st_criterion *c = fix_fleet(&file, 2, centre);

    (void)state;
    c->kind = ST_SPREAD;
    c->bound = 0.02;
    file.steps[0].metrics[0].summary[0].converged = true;
    file.steps[0].metrics[0].summary[1].converged = true;
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    assert_null(strstr(v->rows[0].text, "nan"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void spread_needs_sound_places(void **state)
{
    static const double centre[] = {400, 401, 402};
    struct st_file file;
    struct st_criterion *c = fix_fleet(&file, 3, centre);

    (void)state;
    c->kind = ST_SPREAD;
    c->bound = 0.02;
    file.steps[0].metrics[0].summary[1].converged = false;
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    assert_non_null(strstr(v->rows[0].text, "node01"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void one_place_has_no_spread(void **state)
{
    static const double centre[] = {400};
    struct st_file file;
    struct st_criterion *c = fix_fleet(&file, 1, centre);

    (void)state;
    c->kind = ST_SPREAD;
    c->bound = 0.02;
    file.steps[0].metrics[0].summary[0].converged = false; /* says nothing about it */
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_NOT_JUDGED);
    assert_int_equal(v->exit, ST_EXIT_INCOMPLETE);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void doubts_that_repetitions_end(void **state)
{
    static const double centre[] = {400};
    struct st_file file;

    (void)state;
    (void)fix_fleet(&file, 1, centre);
    fix_around(&file, 0, 0, 400e9, 0.10); /* 7 samples, half-width 10 %, wanted 2 % */
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    /* 7 * (10 / 2)^2 = 175, rounded up after rounding errors */
    assert_in_range(v->rows[0].n_needed, 175, 176);
    assert_non_null(strstr(v->rows[0].text, "about 17"));
    st_verdict_destroy(&v);
    file.steps[0].check_n = 0; /* never verified: no number of repetitions helps */
    v = fix_judge(&file);
    assert_int_equal(v->rows[0].outcome, ST_INCONCLUSIVE);
    assert_int_equal(v->rows[0].n_needed, 0);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_of_places),
        cmocka_unit_test(spread_of_places),
        cmocka_unit_test(spread_compares_like_with_like),
        cmocka_unit_test(spread_compares_points_of_curves),
        cmocka_unit_test(spread_around_zero_says_so),
        cmocka_unit_test(spread_needs_sound_places),
        cmocka_unit_test(one_place_has_no_spread),
        cmocka_unit_test(doubts_that_repetitions_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
