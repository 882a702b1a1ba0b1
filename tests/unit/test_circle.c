/* The circle method: the vectors of METHODS 3.2, and its promise for every n from 2 to 59. */
#include "mpi/circle.h"
#include "src/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    MOST = 59
};

/* One round as METHODS writes it: its pairs, smaller number first, in order of the smaller. */
static void round_text(size_t n, size_t round, char *out, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t j = stm_circle_partner(n, round, i);
        if (j != SIZE_MAX && i < j) {
            used += (size_t)snprintf(out + used, size - used, "%s%zu%zu",
                                     used > 0 ? " " : "", i, j);
        }
    }
}

static void vectors(void **unused)
{
    /* METHODS 3.2 [V], each round's pairs sorted. */
    static const struct {
        size_t n, n_rounds;
        const char *round[5];
    } rows[] = {
        {4, 3, {"03 12", "02 13", "01 23"}},
        {5, 5, {"14 23", "02 34", "04 13", "01 24", "03 12"}},
        {6, 5, {"05 14 23", "02 15 34", "04 13 25", "01 24 35", "03 12 45"}},
    };

    (void)unused;
    for (size_t k = 0; k < ST_COUNT(rows); k++) {
        assert_int_equal(stm_circle_rounds(rows[k].n), rows[k].n_rounds);
        for (size_t round = 0; round < rows[k].n_rounds; round++) {
            char text[32] = "";
            round_text(rows[k].n, round, text, sizeof text);
            assert_string_equal(text, rows[k].round[round]);
        }
    }
}

static void every_pair_once_nobody_twice_in_a_round(void **unused)
{
    (void)unused;
    for (size_t n = 2; n <= MOST; n++) {
        unsigned met[MOST][MOST] = {{0}};
        size_t n_idle[MOST] = {0};

        for (size_t round = 0; round < stm_circle_rounds(n); round++) {
            for (size_t i = 0; i < n; i++) {
                const size_t j = stm_circle_partner(n, round, i);
                if (j == SIZE_MAX) {
                    n_idle[i]++;
                    continue;
                }
                assert_true(j < n && j != i);
                /* The partner agrees, so nobody has two partners. */
                assert_int_equal(stm_circle_partner(n, round, j), i);
                met[i][j]++;
            }
        }
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(n_idle[i], n % 2);
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(met[i][j], i == j ? 0 : 1);
            }
        }
    }
}

static void too_few_for_a_round(void **unused)
{
    (void)unused;
    assert_int_equal(stm_circle_rounds(0), 0);
    assert_int_equal(stm_circle_rounds(1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(every_pair_once_nobody_twice_in_a_round),
        cmocka_unit_test(too_few_for_a_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
