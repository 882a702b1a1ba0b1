#include "kernels/splitmix.h"

#include "src/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The generator of test data: vectors of METHODS 0, and the form by index against the
 * sequential definition of the paper. */

static void vectors_of_methods(void **unused)
{
    static const struct {
        uint64_t seed, i, want;
    } rows[] = {
        {0, 0, 0xe220a8397b1dcdafU},  {0, 1, 0x6e789e6aa1b965f4U},
        {0, 2, 0x06c45d188009454fU},  {0, 3, 0xf88bb8a8724c81ecU},
        {42, 0, 0xbdd732262feb6e95U}, {42, 1, 0x28efe333b266f103U},
        {42, 2, 0x47526757130f9f52U},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(stk_random_u64(rows[i].seed, rows[i].i), rows[i].want);
    }
}

static void index_equals_sequence(void **unused)
{
    uint64_t state = 7;

    (void)unused;
    for (uint64_t i = 0; i < 1000; i++) {
        state += 0x9E3779B97F4A7C15U;
        uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        z ^= z >> 31;
        assert_int_equal(stk_random_u64(7, i), z);
    }
}

/* Mean 1/2 with standard error 1/sqrt(12 n) = 0.0009 for n = 1e5; 5 of these allowed. */
/* Every choice of 2 of 4, in both orders, about equally often: 12 of them in 6000 seeds. */
static void orders_are_permutations_and_fair(void **unused)
{
    size_t times[4][4] = {{0}};

    (void)unused;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        size_t order[4];
        size_t seen = 0;
        stk_random_order(seed * 7919, 4, 2, order);
        for (size_t i = 0; i < 4; i++) {
            assert_true(order[i] < 4);
            seen |= (size_t)1 << order[i];
        }
        assert_int_equal(seen, 15);
        times[order[0]][order[1]]++;
    }
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) { /* 500 +- 5 standard deviations */
            assert_true(i == j ? times[i][j] == 0
                               : times[i][j] > 393 && times[i][j] < 607);
        }
    }
    size_t all[3];
    stk_random_order(1, 3, 0, all);
    assert_true(all[0] == 0 && all[1] == 1 && all[2] == 2);
}

static void unit_values_lie_in_0_1(void **unused)
{
    double sum = 0.0;

    (void)unused;
    for (uint64_t i = 0; i < 100000; i++) {
        const double x = stk_random_unit(3, i);
        assert_true(x >= 0.0 && x < 1.0);
        sum += x;
    }
    assert_true(sum / 1e5 > 0.4955 && sum / 1e5 < 0.5045);
    assert_true(stk_random_unit(0, 0) ==
                (double)(0xe220a8397b1dcdafU >> 11) / 9007199254740992.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_methods),
        cmocka_unit_test(index_equals_sequence),
        cmocka_unit_test(orders_are_permutations_and_fair),
        cmocka_unit_test(unit_values_lie_in_0_1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
