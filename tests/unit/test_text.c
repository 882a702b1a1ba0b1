#include "src/base/text.h"

#include "src/base/mem.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Numbers in and out, growing text, near names, small files. */

static void unsigned_integers(void **unused)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t want;
    } rows[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1e3", false, 0},
        {"0x10", false, 0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        uint64_t out = 77;
        assert_int_equal(st_parse_u64(rows[i].text, &out), rows[i].good);
        assert_int_equal(out, rows[i].good ? rows[i].want : 77);
    }
}

static void doubles(void **unused)
{
    static const struct {
        const char *text;
        bool good;
        double want;
    } rows[] = {
        {"0", true, 0.0},         {"1.5", true, 1.5},      {".5", true, 0.5},
        {"5.", true, 5.0},        {"-2e-3", true, -0.002}, {"+1E+2", true, 100.0},
        {"0.1", true, 0.1},       {"1e308", true, 1e308},  {"1e-400", true, 0.0},
        {"1e309", false, 0.0},    {"nan", false, 0.0},     {"inf", false, 0.0},
        {"-inf", false, 0.0},     {"0x10", false, 0.0},    {"1,5", false, 0.0},
        {"", false, 0.0},         {".", false, 0.0},       {"-", false, 0.0},
        {"1e", false, 0.0},       {"1 ", false, 0.0},      {" 1", false, 0.0},
        {"1.2.3", false, 0.0},    {"e5", false, 0.0},      {"--1", false, 0.0},
        {"infinity", false, 0.0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        double out = 77.0;
        assert_int_equal(st_parse_double(rows[i].text, &out), rows[i].good);
        assert_true(out == (rows[i].good ? rows[i].want : 77.0));
    }
}

static void prefixes(void **unused)
{
    static const struct {
        const char *text;
        size_t length;
        double want;
    } rows[] = {
        {"1GiB", 1, 1.0}, {"1.5 GB/s", 3, 1.5}, {"4e9", 3, 4e9},   {"2e", 1, 2.0},
        {"2e+x", 1, 2.0}, {"0x10", 1, 0.0},     {"-0x1", 2, 0.0},  {"3.GB", 2, 3.0},
        {"GB", 0, 0.0},   {"1e999s", 0, 0.0},   {"12/s", 2, 12.0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        double out = 0.0;
        assert_int_equal(st_parse_number_prefix(rows[i].text, &out), rows[i].length);
        assert_true(out == rows[i].want);
    }
}

/*
 * A locale with a decimal comma, made on the spot because few machines have one installed:
 * the file LC_NUMERIC as glibc's localedef writes it (little endian) for the definition
 * "decimal_point ","; thousands_sep "."; grouping 3;3". False on systems that refuse it.
 */
static bool set_comma_locale(void)
{
    /* clang-format off */
    static const unsigned char lc_numeric[] = {
        0x14, 0x11, 0x03, 0x20, 0x06, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00,
        0x22, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00,
        0x2c, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x2e, 0x00,
        0x03, 0x03, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x2e, 0x00, 0x00, 0x00,
        0x55, 0x54, 0x46, 0x2d, 0x38, 0x00,
    };
    /* clang-format on */
    char folder[] = "/tmp/st_locale_XXXXXX";
    char path[64];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/comma", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(lc_numeric, sizeof lc_numeric, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    setenv("LOCPATH", folder, 1);
    const bool set = setlocale(LC_NUMERIC, "comma") != NULL;
    unlink(path);
    snprintf(path, sizeof path, "%s/comma", folder);
    rmdir(path);
    rmdir(folder);
    unsetenv("LOCPATH");
    return set;
}

static void numbers_have_a_point_in_every_locale(void **unused)
{
    char out[32];
    double value = 0.0;
    struct st_text text = {0};
    struct st_error err = {0};

    (void)unused;
    if (!set_comma_locale()) {
        print_message("this C library does not take the locale of the test\n");
        skip();
    }
    snprintf(out, sizeof out, "%.2f", 0.25);
    assert_string_equal(out, "0,25"); /* the trap is set */
    assert_true(st_parse_double("1.5", &value));
    assert_true(value == 1.5);
    st_print(out, sizeof out, "%.2f", 0.25);
    assert_string_equal(out, "0.25");
    st_text_add(&text, "%g", 0.5);
    assert_string_equal(st_text_get(&text), "0.5");
    st_text_clear(&text);
    st_fail(&err, ST_ERR_IO, "%g", 0.5);
    assert_string_equal(err.text, "0.5");
    assert_int_equal(localeconv()->decimal_point[0], ','); /* put back */
    st_text_pin_locale();
    snprintf(out, sizeof out, "%.2f", 0.25);
    assert_string_equal(out, "0.25");
}

static void printing_cuts_between_characters(void **unused)
{
    static const struct {
        const char *text;
        size_t size;
        const char *want;
        bool whole;
    } rows[] = {
        {"abc", 4, "abc", true},
        {"abc", 3, "ab", false},
        {"abc", 1, "", false},
        {"a\xC3\xA4", 4, "a\xC3\xA4", true},
        {"a\xC3\xA4", 3, "a", false},
        {"a\xE2\x80\xA6z", 4, "a", false},
        {"a\xE2\x80\xA6", 4, "a", false},
        {"\xF0\x9F\x9A\xA2", 4, "", false},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char out[16] = "##############";
        assert_int_equal(st_copy(out, rows[i].size, rows[i].text), rows[i].whole);
        assert_string_equal(out, rows[i].want);
        assert_int_equal(st_print(out, rows[i].size, "%s", rows[i].text), rows[i].whole);
        assert_string_equal(out, rows[i].want);
    }
}

static void text_grows(void **unused)
{
    struct st_text text = {0};

    (void)unused;
    assert_string_equal(st_text_get(&text), "");
    for (int i = 0; i < 1000; i++) {
        st_text_add(&text, "%d,", i % 10);
    }
    st_text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 2003);
    assert_memory_equal(text.data + 1998, "9,a\0b", 6);
    assert_false(text.failed);
    st_text_clear(&text);
    assert_null(text.data);
}

static void failed_growth_is_remembered(void **unused)
{
    struct st_text text = {0};

    (void)unused;
    st_text_add(&text, "kept");
    st_mem_fail_at(1);
    st_text_add(&text, "%*d", 1000, 1);
    st_mem_fail_at(0);
    assert_true(text.failed);
    st_text_add(&text, "later");
    assert_true(text.failed);
    assert_string_equal(st_text_get(&text), "kept");
    st_text_clear(&text);
    st_text_add(&text, "new");
    assert_false(text.failed);
    st_text_clear(&text);
}

static void near_names_are_found(void **unused)
{
    static const char *const names[] = {"stream",      "pairs",       "spmv",
                                        "latency",     "noop",        "stores",
                                        "nontemporal", "message_rate"};
    static const struct {
        const char *word;
        const char *want;
    } rows[] = {
        {"stream", "stream"},
        {"steram", "stream"},  /* transposition */
        {"strem", "stream"},   /* left out */
        {"sttream", "stream"}, /* doubled */
        {"streem", "stream"},  /* replaced */
        {"STREAM", "stream"},  /* case */
        {"nontemproal", "nontemporal"},
        {"messagerate", "message_rate"},
        {"pair", "pairs"},
        {"smpv", "spmv"},
        {"store", "stores"},
        {"xyz", NULL},
        {"st", NULL},
        {"", NULL},
        {"averyveryveryveryveryveryveryveryveryveryveryveryverylongwordofmorethan64",
         NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const char *got = st_nearest(rows[i].word, ST_COUNT(names), names);
        if (rows[i].want == NULL) {
            assert_null(got);
        } else {
            assert_non_null(got);
            assert_string_equal(got, rows[i].want);
        }
    }
    assert_null(st_nearest("stream", 0, NULL));
}

/* One distance for each pair by hand: restricted, so "ca" -> "abc" is 3 and not 2. */
static void distance_decides(void **unused)
{
    static const char *const far[] = {"abcxxx"};
    static const char *const first_letter[] = {"b", "gb"};
    static const char *const tie[] = {"ab", "ac"};

    (void)unused;
    assert_null(
        st_nearest("caxxx", 1, far)); /* restricted 3, unrestricted 2, allowed 1 */
    assert_string_equal(st_nearest("g", 2, first_letter), "gb");
    assert_string_equal(st_nearest("ad", 2, tie), "ab");
}

static void write_file(char *path, const char *bytes, size_t n)
{
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

static void files_are_read_whole(void **unused)
{
    static char bytes[10000];
    static const size_t sizes[] = {0, 1, 4096, 4097, sizeof bytes};

    (void)unused;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i % 251);
    }
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        char path[] = "/tmp/st_text_XXXXXX";
        struct st_error err = {0};
        size_t n = 1;
        write_file(path, bytes, sizes[i]);
        char *text = st_read_file(&err, path, sizes[i], &n);
        assert_non_null(text);
        assert_int_equal(n, sizes[i]);
        assert_memory_equal(text, bytes, n);
        assert_int_equal(text[n], 0);
        st_free(text);
        if (sizes[i] > 0) {
            assert_null(st_read_file(&err, path, sizes[i] - 1, &n));
            assert_int_equal(err.code, ST_ERR_IO);
            assert_non_null(strstr(err.text, "larger than"));
        }
        st_mem_fail_at(1);
        assert_null(st_read_file(&err, path, sizes[i], &n));
        st_mem_fail_at(0);
        assert_int_equal(err.code, ST_ERR_MEMORY);
        unlink(path);
    }
    char *proc = st_read_file(NULL, "/proc/self/maps", (size_t)1 << 24, NULL);
    assert_non_null(proc);
    st_free(proc);
}

static void unreadable_files_say_why(void **unused)
{
    struct st_error err = {0};

    (void)unused;
    assert_null(st_read_file(&err, "/no/such/file", 10, NULL));
    assert_int_equal(err.code, ST_ERR_IO);
    assert_non_null(strstr(err.text, "'/no/such/file': No such file"));
    assert_null(st_read_file(&err, "/tmp", 10, NULL));
    assert_non_null(strstr(err.text, "directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_integers),
        cmocka_unit_test(doubles),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(numbers_have_a_point_in_every_locale),
        cmocka_unit_test(printing_cuts_between_characters),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(failed_growth_is_remembered),
        cmocka_unit_test(near_names_are_found),
        cmocka_unit_test(distance_decides),
        cmocka_unit_test(files_are_read_whole),
        cmocka_unit_test(unreadable_files_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
