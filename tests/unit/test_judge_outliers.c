/*
 * Places that stand out: limits and vectors of METHODS 8.3 and 8.4.
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

static void limits_grow_with_the_fleet(void **state)
{
    static const struct {
        size_t n;
        double limit, tolerance;
    } rows[] = {
        {5, 19.1, 1e-12},     {8, 8.0, 1e-12},     {10, 6.7, 1e-12},  {16, 5.5, 1e-12},
        {20, 5.2, 1e-12},     {40, 4.5, 1e-12},    {100, 4.3, 1e-12}, {1000, 4.5, 1e-12},
        {10000, 4.89, 0.005}, {63, 4.40085, 1e-5}, /* 4.5 - 0.2 ln(63/40) / ln(100/40) */
    };

    (void)state;
    assert_true(isnan(st_fleet_limit(4)));
    assert_true(isnan(st_fleet_limit(0)));
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_true(fabs(st_fleet_limit(rows[i].n) - rows[i].limit) <= rows[i].tolerance);
    }
    assert_true(st_fleet_limit(1001) >= 4.5);
}

/* The vector of METHODS 8.4: 39 values near 400 and one @p x; own noise 0.05 %. */
static void fleet_of_forty(struct st_file *file, const char *unit, enum st_better better,
                           enum st_place_kind kind, double x)
{
    fix_init(file);
    fix_nodes(file, 40);
    (void)fix_step(file, "stream");
    (void)fix_metric(file, "triad", unit, better, kind, 40);
    for (size_t i = 0; i < 39; i++) {
        fix_around(file, 0, i, 400.0 + 0.4 * ((double)(37 * i % 11) - 5.0), 0.0005);
    }
    fix_around(file, 0, 39, x, 0.0005);
}

static void forty_nodes(void **state)
{
    static const struct {
        const char *unit;
        enum st_better better;
        enum st_place_kind kind;
        double x, score;
        bool is_slow, suspect;
    } rows[] = {
        {"byte s-1", ST_HIGHER, ST_NODE, 388, -6.745, true,
         false}, /* 3.0 % is not > 3 % */
        {"byte s-1", ST_HIGHER, ST_NODE, 384, -8.993, true, true},
        {"byte s-1", ST_HIGHER, ST_NODE, 416, 8.993, false, false}, /* fast: curious */
        {"byte s-1", ST_HIGHER, ST_RANK, 384, -8.993, true,
         false}, /* ranks: listed only */
        {"byte s-1", ST_NEITHER, ST_NODE, 384, -8.993, false, false},
        {"s", ST_LOWER, ST_NODE, 416, 8.993, true,
         false}, /* 4 % of a latency: below 10 % */
        {"s", ST_LOWER, ST_NODE, 444, 24.732, true, true},
        {"byte s-1", ST_HIGHER, ST_JOB, 384, -8.993, true,
         true}, /* jobs of one node each */
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        fleet_of_forty(&file, rows[i].unit, rows[i].better, rows[i].kind, rows[i].x);
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->n_outliers, 1);
        assert_int_equal(v->outliers[0].place, 39);
        assert_true(fabs(v->outliers[0].median - 400.0) < 1e-9);
        assert_true(fabs(v->outliers[0].score - rows[i].score) < 0.001);
        assert_int_equal(v->outliers[0].is_slow, rows[i].is_slow);
        assert_int_equal(v->outliers[0].suspect, rows[i].suspect);
        assert_int_equal(v->exit, ST_EXIT_PASS); /* never alters the exit status */
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void own_noise_protects(void **state)
{
    struct st_file file;

    (void)state;
    fleet_of_forty(&file, "byte s-1", ST_HIGHER, ST_NODE, 384);
    fix_around(&file, 0, 39, 384, 0.02); /* [376, 392] reaches the limit of 388 */
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->n_outliers, 1);
    assert_false(v->outliers[0].suspect);
    st_verdict_destroy(&v);
    file.steps[0].metrics[0].summary[39].ci_high = (double)NAN; /* noise not known */
    v = fix_judge(&file);
    assert_false(v->outliers[0].suspect);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void nobody_is_accused_without_ground(void **state)
{
    struct st_file file;

    (void)state;
    fleet_of_forty(&file, "byte s-1", ST_HIGHER, ST_NODE, 384);
    for (int i = 0; i < 6; i++) {
        struct st_file changed = file;
        struct st_file_step step = file.steps[0];
        struct st_file_metric metric = step.metrics[0];
        changed.steps = &step;
        step.metrics = &metric;
        changed.fake_nodes = i == 0;
        step.oversubscribed = i == 1;
        step.placement_proved = i != 2;
        step.state = i == 3 ? ST_STEP_FAILED : ST_STEP_COMPLETE;
        step.check_bad = i == 4;
        metric.kind = i == 5 ? ST_PAIR : ST_NODE;
        struct st_verdict *v = fix_judge(&changed);
        assert_int_equal(v->n_outliers, 0);
        st_verdict_destroy(&v);
    }
    fix_clear(&file);
}

static void small_and_equal_sets(void **state)
{
    static const double four[] = {400, 400.4, 399.6, 300};
    static const double equal[] = {37, 37, 37, 37, 37, 37};
    static const double mostly_equal[] = {37, 37, 37, 37, 37, 60};
    static const struct {
        const double *centre;
        size_t n, n_outliers;
    } rows[] = {
        {four, 4, 0},  /* fewer than five: numbers, no verdict (CASES 60) */
        {equal, 6, 0}, /* no scale, nothing unequal */
        /* MAD 0: mean deviation 23/6, z = 23 / (1.2533 * 23/6) = 4.79, limit 12.7: not beyond */
        {mostly_equal, 6, 0},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_file file;
        fix_init(&file);
        fix_nodes(&file, rows[i].n);
        (void)fix_step(&file, "stream");
        (void)fix_metric(&file, "triad", "byte s-1", ST_HIGHER, ST_NODE, rows[i].n);
        for (size_t p = 0; p < rows[i].n; p++) {
            fix_around(&file, 0, p, rows[i].centre[p], 0.001);
        }
        struct st_verdict *v = fix_judge(&file);
        assert_int_equal(v->n_outliers, rows[i].n_outliers);
        st_verdict_destroy(&v);
        fix_clear(&file);
    }
}

static void only_like_nodes_are_compared(void **state)
{
    struct st_file file;

    (void)state;
    fix_init(&file);
    fix_nodes(&file, 24);
    (void)fix_step(&file, "stream");
    (void)fix_metric(&file, "triad", "byte s-1", ST_HIGHER, ST_NODE, 24);
    for (size_t p = 0; p < 24; p++) {
        /* two kinds in turn; of each the last two are slow: places 20 to 23 */
        const double centre = (p % 2 == 0 ? 400.0 : 200.0) * (p < 20 ? 1.0 : 0.8);
        fix_around(&file, 0, p, centre + 0.1 * (double)(p % 5), 0.0005);
        file.nodes[p].topology_class = p % 2;
    }
    file.steps[0].metrics[0].summary[3].median =
        (double)NAN; /* left out, not an outlier */
    struct st_verdict *v = fix_judge(&file);
    assert_int_equal(v->n_outliers, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(v->outliers[i].place,
                         20 + i); /* in order of place, not of kind */
        assert_true(v->outliers[i].suspect);
    }
    assert_non_null(strstr(v->outliers[3].text, "node23"));
    st_verdict_destroy(&v);
    fix_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_grow_with_the_fleet),
        cmocka_unit_test(forty_nodes),
        cmocka_unit_test(own_noise_protects),
        cmocka_unit_test(nobody_is_accused_without_ground),
        cmocka_unit_test(small_and_equal_sets),
        cmocka_unit_test(only_like_nodes_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
