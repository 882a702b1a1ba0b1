/* Statistics of noise: the vectors of METHODS 7, and the fixed work against its closed form. */
#include "kernels/fwq.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_vector_of_methods_7(void **unused)
{
    double t[] = {1250, 1000, 1000, 1001, 1000, 1003, 1000, 1001, 1000, 1000};

    (void)unused;
    const struct st_noise noise = st_noise_of(ST_COUNT(t), t);
    assert_true(fabs(noise.fraction - 0.0255) < 1e-12);
    assert_true(fabs(noise.max_over_min - 1.25) < 1e-12);
    assert_true(fabs(noise.kurtosis - 5.109) < 0.0005);
    /* type 7 at (10 - 1) 0.999 = 8.991: 1003 + 0.991 (1250 - 1003) */
    assert_true(fabs(noise.p999_over_min - 1.247777) < 1e-9);
}

static void equal_times_are_no_noise(void **unused)
{
    double t[] = {5, 5, 5, 5};

    (void)unused;
    const struct st_noise noise = st_noise_of(ST_COUNT(t), t);
    assert_true(noise.fraction == 0.0 && noise.max_over_min == 1.0);
    assert_true(noise.p999_over_min == 1.0 && noise.kurtosis == 0.0);
}

/* Readings of an injected clock: 1 each, one gap of 0, one of 9 (no detour yet), 10 and 101. */
static void gaps_are_counted(void **unused)
{
    static const double list[] = {1, 1, 0, 1, 9, 1, 10, 1, 101, 1};
    struct st_gaps gaps = {0};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(list); i++) {
        st_gaps_add(&gaps, list[i]);
    }
    assert_true(gaps.smallest == 1.0 && gaps.n_detours == 2);
    assert_true(gaps.lost == 109.0 && gaps.longest == 100.0);
}

static void fixed_work_has_a_closed_form(void **unused)
{
    static const size_t steps[] = {0, 1, 2, 3, 7, 64, 1000, 4097};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(steps); i++) {
        assert_true(stk_fwq(42, steps[i]) == stk_fwq_ref(42, steps[i]));
    }
    /* One step by hand: 1 x 6364136223846793005 + 1442695040888963407. */
    assert_true(stk_fwq(1, 1) == 7806831264735756412U);
    /* The pieces of a chain are the chain. */
    assert_true(stk_fwq(stk_fwq(3, 100), 23) == stk_fwq_ref(3, 123));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_of_methods_7),
        cmocka_unit_test(equal_times_are_no_noise),
        cmocka_unit_test(gaps_are_counted),
        cmocka_unit_test(fixed_work_has_a_closed_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
