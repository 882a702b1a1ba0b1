/* Hinge fits: the vectors of METHODS 8.6 and curves without a knee. */
#include "src/base/mem.h"
#include "src/stats/knee.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_vector_is_recovered(void **unused)
{
    double x[16];
    double y[16];
    struct st_knee knee;

    (void)unused;
    for (size_t i = 0; i < 16; i++) { /* METHODS 8.6: b = 14, n_s = 7 */
        x[i] = (double)(i + 1);
        y[i] = 14.0 * fmin(x[i], 7.0);
    }
    assert_true(st_knee_fit(16, x, y, &knee));
    assert_true(fabs(knee.at - 7.0) < 0.005);
    assert_true(fabs(knee.slope - 14.0) < 1e-9);
    assert_true(fabs(knee.plateau - 98.0) < 0.1);
    assert_true(knee.at_95 == 7.0 && knee.is_saturated && knee.error < 1e-6);
}

static void few_points_give_a_range(void **unused)
{
    /* The published filter sweep of METHODS 8.6: n_s 43.7, plateau 852 GB/s. */
    static const double x[] = {1, 16, 64, 256};
    static const double y[] = {19.83, 307.69, 813, 900.9};
    struct st_knee knee;

    (void)unused;
    assert_true(st_knee_fit(4, x, y, &knee));
    assert_true(fabs(knee.at - 43.7) < 0.05);
    assert_true(fabs(knee.plateau - 852.0) < 0.5);
    assert_true(knee.low == 16.0 && knee.high == 64.0 && knee.is_saturated);
}

static void curves_without_a_knee(void **unused)
{
    static const struct {
        size_t n;
        double y[4];
        bool fits, saturated;
        double at;
    } rows[] = {
        {4, {10, 20, 40, 80}, true, false, 8}, /* rises to the end */
        {4, {10, 10, 10, 10}, true, true, 1},  /* one worker is enough */
        {1, {10, 0, 0, 0}, true, false, 1},    /* one point: nothing beyond it is known */
        {4, {10, 20, (double)NAN, 80}, false, false, 0},
        {4, {10, 20, 0, 80}, false, false, 0},
        {0, {0, 0, 0, 0}, false, false, 0},
    };
    static const double x[] = {1, 2, 4, 8};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_knee knee = {0};
        assert_int_equal(st_knee_fit(rows[i].n, x, rows[i].y, &knee), rows[i].fits);
        if (rows[i].fits) {
            assert_int_equal(knee.is_saturated, rows[i].saturated);
            assert_true(fabs(knee.at - rows[i].at) < 0.015);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_is_recovered),
        cmocka_unit_test(few_points_give_a_range),
        cmocka_unit_test(curves_without_a_knee),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
