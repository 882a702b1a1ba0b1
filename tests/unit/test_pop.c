/*
 * POP efficiencies against the vector of METHODS 8.6, and what has no efficiency.
 */
#include "src/stats/pop.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void published_vector(void **unused)
{
    static const double useful_s[] = {8.0, 9.0, 10.0, 9.0};
    const struct st_pop pop = st_pop_of_ranks(4, useful_s, 12.0);

    (void)unused;
    assert_true(fabs(pop.load_balance - 0.90) <= 1e-15);
    assert_true(fabs(pop.communication_efficiency - 10.0 / 12.0) <= 1e-15);
    assert_true(fabs(pop.parallel_efficiency - 0.75) <= 1e-15);
}

static void nothing_has_no_efficiency(void **unused)
{
    static const struct {
        size_t n;
        double useful_s[2], runtime_s;
    } rows[] = {{0, {0.0, 0.0}, 1.0},         {2, {0.0, 0.0}, 1.0},
                {2, {1.0, 1.0}, 0.0},         {2, {(double)NAN, 1.0}, 1.0},
                {2, {1.0, (double)NAN}, 1.0}, {2, {1.0, 1.0}, (double)NAN}};

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct st_pop pop =
            st_pop_of_ranks(rows[i].n, rows[i].useful_s, rows[i].runtime_s);
        assert_true(isnan(pop.parallel_efficiency));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vector),
        cmocka_unit_test(nothing_has_no_efficiency),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
