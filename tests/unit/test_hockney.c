/* Fits of latency and bandwidth: METHODS 3.1's vector, two ranges, and curves that are none. */
#include "src/stats/hockney.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_vector_of_methods_comes_back(void **unused)
{
    static const double bytes[] = {0.0, 1024.0, 65536.0, 1048576.0};
    struct st_hockney fit;
    double time_s[4];

    (void)unused;
    for (int i = 0; i < 4; i++) {
        time_s[i] = 2e-6 + bytes[i] / 12e9;
    }
    assert_true(st_hockney_fit(4, bytes, time_s, &fit));
    assert_true(fabs(fit.alpha - 2e-6) < 1e-15);
    assert_true(fabs(fit.beta - 12e9) < 1.0);
    assert_true(fabs(fit.n_half - 24000.0) < 1e-3);
    assert_true(fit.error < 1e-9);
}

/* Small and large messages have lines of their own; the border is found, noise or not. */
static void two_ranges_are_fitted_apart(void **unused)
{
    static const double noise[] = {0.01, -0.02, 0.015, -0.005, 0.0, 0.01, -0.01, 0.02};
    double bytes[24];
    double time_s[24];
    struct st_hockney_split split;

    (void)unused;
    for (int noisy = 0; noisy < 2; noisy++) {
        for (int i = 0; i < 24; i++) {
            bytes[i] = i == 0 ? 0.0 : ldexp(1.0, i - 1);
            const double t = i < 13 ? 0.3e-6 + bytes[i] / 4e9 : 2e-6 + bytes[i] / 12e9;
            time_s[i] = t * (1.0 + (noisy ? noise[i % 8] : 0.0));
        }
        assert_true(st_hockney_fit_split(24, bytes, time_s, &split));
        assert_int_equal(split.n_eager, 13);
        assert_true(split.has_eager && split.has_rendezvous);
        const double margin = noisy ? 0.05 : 1e-9;
        assert_true(fabs(split.eager.alpha / 0.3e-6 - 1.0) < margin);
        assert_true(fabs(split.eager.beta / 4e9 - 1.0) < margin + (noisy ? 0.05 : 0.0));
        assert_true(fabs(split.rendezvous.alpha / 2e-6 - 1.0) < margin);
        assert_true(fabs(split.rendezvous.beta / 12e9 - 1.0) < margin);
    }
}

static void one_line_is_found_in_both_ranges(void **unused)
{
    double bytes[10];
    double time_s[10];
    struct st_hockney_split split;

    (void)unused;
    for (int i = 0; i < 10; i++) {
        bytes[i] = 1000.0 * i;
        time_s[i] = 1e-6 + bytes[i] / 1e9;
    }
    assert_true(st_hockney_fit_split(10, bytes, time_s, &split));
    assert_true(fabs(split.eager.beta / split.rendezvous.beta - 1.0) < 1e-9);
    assert_true(fabs(split.rendezvous.alpha / 1e-6 - 1.0) < 1e-9);
}

static void what_is_no_curve_is_refused(void **unused)
{
    const double bytes[] = {0, 1, 2, 4, 8, 16, 32, 64};
    double flat[] = {1, 1, 1, 1, 1, 1, 1, 1};
    double falls[] = {8, 7, 6, 5, 4, 3, 2, 1};
    struct st_hockney fit = {.beta = 7.0};
    struct st_hockney_split split;

    (void)unused;
    assert_false(st_hockney_fit(1, bytes, flat, &fit));
    assert_false(st_hockney_fit(8, bytes, flat, &fit)); /* no beta */
    assert_false(st_hockney_fit(8, bytes, falls, &fit));
    assert_false(st_hockney_fit(8, flat, bytes, &fit)); /* sizes do not rise */
    assert_true(fit.beta == 7.0);
    assert_false(st_hockney_fit_split(7, bytes, falls, &split));
    assert_true(st_hockney_fit_split(8, bytes, falls, &split));
    assert_false(split.has_eager || split.has_rendezvous);
    flat[3] = (double)NAN;
    assert_false(st_hockney_fit_split(8, bytes, flat, &split));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_of_methods_comes_back),
        cmocka_unit_test(two_ranges_are_fitted_apart),
        cmocka_unit_test(one_line_is_found_in_both_ranges),
        cmocka_unit_test(what_is_no_curve_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
