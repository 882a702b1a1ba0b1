#include "src/base/units.h"

#include "src/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Quantities: reading (CASES 37), exact integers, refusals with a reason, printing. */

static void quantities_are_read(void **unused)
{
    static const struct {
        const char *text, *base;
        double want;
    } rows[] = {
        {"8B", "byte", 8.0},
        {"1kB", "byte", 1e3},
        {"1.5MB", "byte", 1.5e6},
        {"2 GB", "byte", 2e9},
        {"3TB", "byte", 3e12},
        {"1KiB", "byte", 1024.0},
        {"1MiB", "byte", 1048576.0},
        {"3GiB", "byte", 3221225472.0},
        {"1TiB", "byte", 1099511627776.0},
        {"12 byte", "byte", 12.0},
        {"5ns", "s", 5e-9},
        {"5us", "s", 5e-6},
        {"5ms", "s", 5e-3},
        {"60s", "s", 60.0},
        {"2min", "s", 120.0},
        {"1.5 h", "s", 5400.0},
        {"-1s", "s", -1.0},
        {"10B/s", "byte s-1", 10.0},
        {"1kB/s", "byte s-1", 1e3},
        {"1MB/s", "byte s-1", 1e6},
        {"380 GB/s", "byte s-1", 380e9},
        {"2TB/s", "byte s-1", 2e12},
        {"1KiB/s", "byte s-1", 1024.0},
        {"1MiB/s", "byte s-1", 1048576.0},
        {"1GiB/s", "byte s-1", 1073741824.0},
        {"1TiB/s", "byte s-1", 1099511627776.0},
        {"7 byte s-1", "byte s-1", 7.0},
        {"1flop/s", "flop s-1", 1.0},
        {"1kflop/s", "flop s-1", 1e3},
        {"1Mflop/s", "flop s-1", 1e6},
        {"1.5Gflop/s", "flop s-1", 1.5e9},
        {"1Tflop/s", "flop s-1", 1e12},
        {"9/s", "s-1", 9.0},
        {"9 1/s", "s-1", 9.0},
        {"2k/s", "s-1", 2e3},
        {"2M/s", "s-1", 2e6},
        {"2G/s", "s-1", 2e9},
        {"4e9", "1", 4e9},
        {"-1", "1", -1.0},
        {"80%", "1", 0.8},
        {"2 %", "1", 0.02},
        {"0.1%", "1", 0.001},
        {"95%", "1", 0.95},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        double out = 0.0;
        assert_int_equal(st_parse_quantity(&err, rows[i].text, rows[i].base, &out),
                         ST_OK);
        /* one rounding of the decimal number and one of its scaling */
        assert_true(fabs(out - rows[i].want) <= 2.3e-16 * fabs(rows[i].want));
    }
}

static void percent_is_exactly_what_it_says(void **unused)
{
    double out = 0.0;

    (void)unused;
    assert_int_equal(st_parse_quantity(NULL, "95%", "1", &out), ST_OK);
    assert_true(out == 0.95);
    assert_int_equal(st_parse_quantity(NULL, "7%", "1", &out), ST_OK);
    assert_true(out == 0.07); /* 7 * 0.01 is not */
}

static void refusals_say_why(void **unused)
{
    static const struct {
        const char *text, *base, *reason;
    } rows[] = {
        {"2147483648", "byte",
         "'2147483648' has no unit; write a number with B, kB, MB, GB, TB, KiB, MiB, GiB "
         "or "
         "TiB"},
        {"4e9", "byte", "'4e9' has no unit"},
        {"0", "byte", "'0' has no unit"},
        {"-1", "byte", "'-1' has no unit"},
        {"1.5G", "byte", "has the unknown unit 'G'"},
        {"1.5G", "byte", "(did you mean 'GB'?)"},
        {"64KB", "byte", "(did you mean 'kB'?)"},
        {"64kib", "byte", "(did you mean 'KiB'?)"},
        {"9999999999999999999", "byte", "has no unit"},
        {"60", "s", "write a number with ns, us, ms, s, min or h"},
        {"60sec", "s", "unknown unit 'sec'"},
        {"60s x", "s", "unknown unit 's x'"},
        {"1GB", "byte s-1", "unknown unit 'GB'"},
        {"1GBs", "byte s-1", "(did you mean 'GB/s'?)"},
        {"5s", "byte", "unknown unit 's'"},
        {"5x", "1", "'5x' has the unknown unit 'x'; write a number, alone or with %"},
        {"", "1", "is empty"},
        {"GiB", "byte", "does not begin with a number"},
        {"nan", "1", "does not begin with a number"},
        {"1e999", "1", "is more than a number can hold"},
        {"1e300TiB", "byte", "is more than a number can hold"},
        {"0x10 B", "byte", "unknown unit 'x10 B'"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        double out = 77.0;
        assert_int_equal(st_parse_quantity(&err, rows[i].text, rows[i].base, &out),
                         ST_ERR_CONFIG);
        if (strstr(err.text, rows[i].reason) == NULL) {
            fail_msg("'%s': message is \"%s\"", rows[i].text, err.text);
        }
        assert_true(out == 77.0);
    }
}

static void unknown_base_unit_is_a_bug(void **unused)
{
    struct st_error err = {0};
    double out = 0.0;
    uint64_t whole = 0;

    (void)unused;
    assert_int_equal(st_parse_quantity(&err, "1m", "metre", &out), ST_ERR_INTERNAL);
    assert_int_equal(st_parse_exact(&err, "1m", "metre", &whole), ST_ERR_INTERNAL);
    assert_false(st_unit_known("metre"));
    assert_true(st_unit_known("byte s-1"));
    assert_string_equal(st_unit_plain("byte s-1"), "B/s");
    assert_string_equal(st_unit_plain("1"), "");
    assert_string_equal(st_unit_plain("metre"), "metre");
}

/* Expected values by exact integer arithmetic (python: int(Fraction(text) * factor)). */
static void integers_are_exact(void **unused)
{
    static const struct {
        const char *text, *base;
        uint64_t want;
    } rows[] = {
        {"0B", "byte", 0},
        {"0.000GiB", "byte", 0},
        {"0e5B", "byte", 0},
        {"3GiB", "byte", 3221225472U},
        {"1.5KiB", "byte", 1536},
        {"0.5 KiB", "byte", 512},
        {"0.25kB", "byte", 250},
        {"4e9B", "byte", 4000000000U},
        {"4e-1kB", "byte", 400},
        {"1.0000000000000000000000000B", "byte", 1},
        {"9007199254740993B", "byte", 9007199254740993U}, /* 2^53 + 1 */
        {"18446744073709551615 byte", "byte", UINT64_MAX},
        {"18446744073709551.615kB", "byte", UINT64_MAX},
        {"16777215TiB", "byte", 18446742974197923840U},
        {"9999999999999999999", "1", 9999999999999999999U},
        {"100000000000000000000e-2", "1", 1000000000000000000U},
        {"4e9", "1", 4000000000U},
        {"1.5e1", "1", 15},
        {"+7", "1", 7},
        {"2min", "s", 120},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        uint64_t out = 0;
        if (st_parse_exact(&err, rows[i].text, rows[i].base, &out) != ST_OK) {
            fail_msg("'%s': %s", rows[i].text, err.text);
        }
        assert_true(out == rows[i].want);
    }
}

static void inexact_integers_are_refused(void **unused)
{
    static const struct {
        const char *text, *base, *reason;
    } rows[] = {
        {"0.3KiB", "byte", "'0.3KiB' is not a whole number of bytes"},
        {"0.5B", "byte", "is not a whole number of bytes"},
        {"1e-400B", "byte", "is not a whole number of bytes"},
        {"0.30000000000000000000000000001KiB", "byte", "is not a whole number of bytes"},
        {"1.5", "1", "'1.5' is not whole; write a whole number"},
        {"-1", "1", "is negative; write a whole number"},
        {"-1GiB", "byte", "is negative"},
        {"18446744073709551616B", "byte", "is more than 64 bits can hold"},
        {"16777216TiB", "byte", "is more than 64 bits can hold"},
        {"9999999999999999999GiB", "byte", "is more than 64 bits can hold"},
        {"99999999999999999999999", "1", "is more than 64 bits can hold"},
        {"1e20", "1", "is more than 64 bits can hold"},
        {"1e300", "1", "is more than 64 bits can hold"},
        {"1e999999999999999999999", "1", "is more than a number can hold"},
        {"2147483648", "byte", "has no unit"},
        {"1.5G", "byte", "(did you mean 'GB'?)"},
        {"50%", "1", "has the unknown unit '%'; write a whole number"},
        {"5ms", "s", "write a number with s, min or h"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        uint64_t out = 77;
        assert_int_equal(st_parse_exact(&err, rows[i].text, rows[i].base, &out),
                         ST_ERR_CONFIG);
        if (strstr(err.text, rows[i].reason) == NULL) {
            fail_msg("'%s': message is \"%s\"", rows[i].text, err.text);
        }
        assert_int_equal(out, 77);
    }
}

static void quantities_are_printed(void **unused)
{
    static const struct {
        double value;
        const char *base, *want;
    } rows[] = {
        {12.34e9, "byte s-1", "12.34 GB/s"},
        {1.25e-6, "s", "1.250 us"},
        {65536.0, "byte", "64.00 KiB"},
        {8.0, "byte", "8 B"},
        {1023.0, "byte", "1023 B"},
        {1024.0, "byte", "1.000 KiB"},
        {1047552.0, "byte", "1023 KiB"},
        {1048565.0, "byte", "1.000 MiB"},
        {999.94e6, "byte s-1", "999.9 MB/s"},
        {999.96e6, "byte s-1", "1.000 GB/s"},
        {-1.25e-6, "s", "-1.250 us"},
        {9.99994, "s", "10.00 s"},
        {0.5e-9, "s", "0.5000 ns"},
        {120.0, "s", "120.0 s"},
        {86400.0, "s", "86400 s"},
        {2.5e15, "byte s-1", "2500 TB/s"},
        {1.5e9, "flop s-1", "1.500 Gflop/s"},
        {3.2e6, "s-1", "3.200 M/s"},
        {0.0, "byte s-1", "0 B/s"},
        {0.0, "s", "0 s"},
        {-0.0, "s", "0 s"},
        {0.0, "1", "0"},
        {16.0, "1", "16"},
        {1234567.0, "1", "1234567"},
        {-3.0, "1", "-3"},
        {0.8125, "1", "0.8125"},
        {0.00012345, "1", "0.0001234"},
        {2.5, "1", "2.500"},
        {(double)NAN, "s", "-"},
        {5.0, "metre", "5.000 metre"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char out[48];
        assert_ptr_equal(st_format_quantity(out, sizeof out, rows[i].value, rows[i].base),
                         out);
        assert_string_equal(out, rows[i].want);
    }
}

static void scales_for_tables(void **unused)
{
    static const struct {
        double value;
        const char *base, *unit;
        double scale;
    } rows[] = {
        {12.34e9, "byte s-1", "GB/s", 1e9},
        {3e-7, "s", "ns", 1e-9},
        {5e6, "byte", "MiB", 1048576.0},
        {7.0, "1", "", 1.0},
        {0.0, "s", "s", 1.0},
        {(double)NAN, "byte s-1", "B/s", 1.0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char unit[16];
        assert_true(st_pick_scale(rows[i].value, rows[i].base, unit, sizeof unit) ==
                    rows[i].scale);
        assert_string_equal(unit, rows[i].unit);
    }
}

/* What is printed can be read again, to the digits printed. */
static void printed_quantities_read_back(void **unused)
{
    static const char *const bases[] = {"byte", "s", "byte s-1", "flop s-1", "s-1", "1"};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(bases); i++) {
        for (double value = 3.7e-9; value < 1e14; value *= 7.3) {
            char out[48];
            double back = 0.0;
            st_format_quantity(out, sizeof out, value, bases[i]);
            assert_int_equal(st_parse_quantity(NULL, out, bases[i], &back), ST_OK);
            assert_true(fabs(back - value) <= 5.1e-4 * value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_read),
        cmocka_unit_test(percent_is_exactly_what_it_says),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(unknown_base_unit_is_a_bug),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(inexact_integers_are_refused),
        cmocka_unit_test(quantities_are_printed),
        cmocka_unit_test(scales_for_tables),
        cmocka_unit_test(printed_quantities_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
