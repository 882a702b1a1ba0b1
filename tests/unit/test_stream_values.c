/*
 * The mirrors of the stream arrays: closed forms of METHODS 1.3, values that stay in range
 * whatever is called how often, and an error bound that holds and is not vacuous.
 */
#include "kernels/splitmix.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_stream_values.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void start(struct st_stream_value m[STK_N_ARRAYS])
{
    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        m[k] = (struct st_stream_value){st_stream_start[k], 0.0};
    }
}

static double call(struct st_stream_value m[STK_N_ARRAYS], enum stk_stream_kernel kernel)
{
    const double s = st_stream_factor(kernel, m);
    const enum stk_array writes = stk_stream_writes(kernel);

    if (writes != STK_N_ARRAYS) {
        m[writes] = st_stream_after(kernel, m, s);
    }
    return s;
}

/* METHODS 1.3 [V], n = 100; calls repeated within a section change nothing. */
static void default_kernels_follow_babelstream(void **unused)
{
    static const double want[3] = {1.687031935885e-3, 7.029299732854e-4,
                                   2.460254906499e-3};
    struct st_stream_value m[STK_N_ARRAYS];

    (void)unused;
    for (size_t n_inner = 1; n_inner <= 3; n_inner++) {
        start(m);
        for (size_t call_number = 0; call_number < 400 * n_inner; call_number++) {
            const size_t kernel = call_number / n_inner % 4; /* copy, scale, add, triad */
            assert_true(call(m, (enum stk_stream_kernel)kernel) == 0.4);
        }
        for (size_t k = 0; k < 3; k++) {
            assert_true(fabs(m[k].value - want[k]) <= 1e-12 * want[k]);
        }
    }
}

/* Any set of kernels, each repeated as often as a harness likes. */
static void values_stay_in_range(void **unused)
{
    (void)unused;
    for (unsigned set = 1; set < 1U << STK_N_KERNELS; set++) {
        struct st_stream_value m[STK_N_ARRAYS];
        uint64_t draw = 0;
        start(m);
        for (size_t round = 0; round < 12; round++) {
            for (size_t k = 0; k < STK_N_KERNELS; k++) {
                const uint64_t n_inner =
                    (set & (1U << k)) != 0 ? 1 + stk_random_u64(set, draw++) % 40 : 0;
                for (uint64_t i = 0; i < n_inner; i++) {
                    (void)call(m, (enum stk_stream_kernel)k);
                }
            }
        }
        for (size_t k = 0; k < STK_N_ARRAYS; k++) {
            /* daxpy and nstream add b + 0.1 at most, b <= 100, in at most 12 x 2 x 40 calls. */
            assert_true(m[k].value >= 1e-7 && m[k].value <= 1e5);
            /* At most three roundings in each of at most 12 x 11 x 40 calls. */
            assert_true(m[k].error <= 3 * 5280 * DBL_EPSILON * m[k].value);
        }
    }
}

/* One kernel alone for very long, with growth, decay and return. */
static void one_kernel_for_ever(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        struct st_stream_value m[STK_N_ARRAYS];
        start(m);
        for (size_t i = 0; i < 1000000; i++) {
            (void)call(m, (enum stk_stream_kernel)k);
        }
        for (size_t j = 0; j < STK_N_ARRAYS; j++) {
            assert_true(m[j].value >= 1e-6 && m[j].value <= 1e6);
            assert_true(m[j].error <= 3e6 * DBL_EPSILON * m[j].value);
        }
    }
}

/* The real loops, with the factors of the mirror, stay within the bound. */
static void arrays_follow_their_mirrors(void **unused)
{
    static double memory[STK_N_ARRAYS][1000];
    double *arrays[STK_N_ARRAYS];
    struct st_stream_value m[STK_N_ARRAYS];

    (void)unused;
    start(m);
    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        arrays[k] = memory[k];
        stk_stream_fill(1000, arrays[k], st_stream_start[k]);
    }
    for (uint64_t i = 0; i < 3000; i++) {
        const enum stk_stream_kernel kernel =
            (enum stk_stream_kernel)(stk_random_u64(7, i) % STK_N_KERNELS);
        const double s = st_stream_factor(kernel, m);
        (void)stk_stream(stk_stream_widest(), kernel, STK_ORDINARY, 1000, arrays, s);
        (void)call(m, kernel);
        for (size_t k = 0; k < STK_N_ARRAYS; k++) {
            const struct stk_deviation d =
                stk_stream_compare(1000, arrays[k], m[k].value, 2.0 * m[k].error);
            assert_int_equal(d.n_bad, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_kernels_follow_babelstream),
        cmocka_unit_test(values_stay_in_range),
        cmocka_unit_test(one_kernel_for_ever),
        cmocka_unit_test(arrays_follow_their_mirrors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
