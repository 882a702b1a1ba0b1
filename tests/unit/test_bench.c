#include "src/base/bench.h"

#include "src/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Declarations: parameters from text and back, defects of a declaration, comparison. */

static const char *const STORES[] = {"ordinary", "nontemporal", NULL};
static const char *const KERNELS[] = {"copy", "scale", "add", "triad", NULL};
static const char *const MANY[] = {
    "c0",  "c1",  "c2",  "c3",  "c4",  "c5",  "c6",  "c7",  "c8",  "c9",  "c10",
    "c11", "c12", "c13", "c14", "c15", "c16", "c17", "c18", "c19", "c20", "c21",
    "c22", "c23", "c24", "c25", "c26", "c27", "c28", "c29", "c30", "c31", NULL};

struct demo_params {
    uint64_t count, size, room;
    double share, pause;
    bool check;
    uint32_t stores, kernels, many;
    char file[ST_TEXT_PARAM_SIZE];
};

enum {
    COUNT,
    SIZE,
    ROOM,
    SHARE,
    PAUSE,
    CHECK,
    STORE,
    KERNEL,
    MANY_OF,
    FILE_NAME,
    N_PARAMS
};

static const struct st_param demo_table[N_PARAMS] = {
    [COUNT] = ST_PARAM_COUNT(demo_params, count, "10", 1, 1e6, "how many"),
    [SIZE] = ST_PARAM_BYTES(demo_params, size, "64MiB", 8, 0x1p40, "how large"),
    [ROOM] = ST_PARAM_BYTES_AUTO(demo_params, room, "auto", 8, 1.9e19, "how much room"),
    [SHARE] = ST_PARAM_REAL(demo_params, share, "1", "80%", 0, 1, "which share"),
    [PAUSE] = ST_PARAM_REAL(demo_params, pause, "s", "1ms", 0, 60, "how long"),
    [CHECK] = ST_PARAM_BOOL(demo_params, check, "yes", "whether"),
    [STORE] = ST_PARAM_CHOICE(demo_params, stores, STORES, "ordinary", "which stores"),
    [KERNEL] = ST_PARAM_SET(demo_params, kernels, KERNELS, "all", "which kernels"),
    [MANY_OF] = ST_PARAM_SET(demo_params, many, MANY, "c31", "many choices"),
    [FILE_NAME] = ST_PARAM_TEXT(demo_params, file, "", "a file"),
};

static const struct st_metric demo_metrics[] = {
    {"time", "s", ST_LOWER, ST_NODE, ST_FROM_TIME, 0, "one sweep"},
    {"rate", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 0, "bytes"},
    {"messages", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, 1, "messages"},
    {"iterations", "1", ST_NEITHER, ST_JOB, ST_GIVEN, 1, "iterations"},
};

static enum st_status demo_plan(const void *params, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    (void)params;
    (void)shape;
    (void)need;
    (void)err;
    return ST_OK;
}

static enum st_status demo_prepare(struct st_run *run, void *state)
{
    (void)run;
    (void)state;
    return ST_OK;
}

static enum st_status demo_run(struct st_run *run, void *state)
{
    (void)run;
    (void)state;
    return ST_OK;
}

static enum st_status demo_verify(struct st_run *run, void *state, struct st_check *check)
{
    (void)run;
    (void)state;
    (void)check;
    return ST_OK;
}

static void demo_release(void *state)
{
    (void)state;
}

static void demo_spoil(void *state)
{
    (void)state;
}

static bool only_first_two(const void *params, size_t row)
{
    (void)params;
    return row < 2;
}

static const struct st_bench demo = {
    .name = "demo",
    .summary = "nothing",
    .source = "this test",
    ST_TABLES(demo_table, demo_metrics),
    ST_SIZES(struct demo_params, int),
    ST_STAGES(demo),
};

static void names_are_found(void **unused)
{
    static const struct st_bench *const list[] = {&demo};
    static const struct st_registry registry = {1, list};
    struct st_bench some = demo;

    (void)unused;
    assert_ptr_equal(st_bench_find(&registry, "demo"), &demo);
    assert_null(st_bench_find(&registry, "dem"));
    assert_int_equal(st_bench_metric(&demo, "messages"), 2);
    assert_int_equal(st_bench_metric(&demo, "x"), demo.n_metrics);
    assert_int_equal(st_bench_param(&demo, "pause"), PAUSE);
    assert_int_equal(st_bench_param(&demo, "x"), N_PARAMS);
    assert_true(st_bench_applies(&demo, NULL, 3));
    some.applies = only_first_two;
    assert_true(st_bench_applies(&some, NULL, 1));
    assert_false(st_bench_applies(&some, NULL, 2));
}

static void defaults_are_set(void **unused)
{
    struct demo_params p = {0};
    struct st_error err = {0};

    (void)unused;
    assert_int_equal(st_params_default(&demo, &p, &err), ST_OK);
    assert_int_equal(p.count, 10);
    assert_int_equal(p.size, 67108864);
    assert_true(p.room == ST_AUTO);
    assert_true(p.share == 0.8);
    assert_true(p.pause == 1e-3);
    assert_true(p.check);
    assert_int_equal(p.stores, 0);
    assert_int_equal(p.kernels, 15);
    assert_int_equal(p.many, UINT32_C(1) << 31);
    assert_string_equal(p.file, "");
}

/* Every text gives the canonical text, and that gives the same bytes again. */
static void printed_parameters_read_back(void **unused)
{
    static const struct {
        size_t param;
        const char *text, *canonical;
    } rows[] = {
        {COUNT, "1e6", "1000000"},
        {COUNT, "42", "42"},
        {SIZE, "64MiB", "67108864 byte"},
        {SIZE, "1.5KiB", "1536 byte"},
        {ROOM, "auto", "auto"},
        {ROOM, "18446744073709551614B", "18446744073709551614 byte"},
        {ROOM, "9007199254740993B", "9007199254740993 byte"},
        {SHARE, "7%", "0.07"},
        {SHARE, "0.1", "0.1"},
        {SHARE, "0.30000000000000004", "0.30000000000000004"},
        {SHARE, "1e-300", "1e-300"},
        {PAUSE, "1us", "1e-06 s"},
        {PAUSE, "0.333333333333333333ms", "0.0003333333333333333 s"},
        {PAUSE, "1min", "60 s"},
        {CHECK, "yes", "yes"},
        {CHECK, "false", "no"},
        {STORE, "nontemporal", "nontemporal"},
        {KERNEL, "triad copy", "copy triad"},
        {KERNEL, "scale,add", "scale add"},
        {KERNEL, " copy , copy ", "copy"},
        {KERNEL, "all", "copy scale add triad"},
        {MANY_OF, "c0 c31", "c0 c31"},
        {MANY_OF, "all",
         "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 c10 c11 c12 c13 c14 c15 c16 c17 c18 c19 c20 c21 "
         "c22 "
         "c23 c24 c25 c26 c27 c28 c29 c30 c31"},
        {FILE_NAME, "a b, c.mtx", "a b, c.mtx"},
        {FILE_NAME, "", ""},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct st_param *param = &demo_table[rows[i].param];
        struct demo_params first = {0};
        struct demo_params second = {0};
        char out[ST_TEXT_PARAM_SIZE];
        struct st_error err = {0};
        if (st_param_parse(param, rows[i].text, &first, &err) != ST_OK) {
            fail_msg("'%s': %s", rows[i].text, err.text);
        }
        st_param_print(param, &first, out, sizeof out);
        assert_string_equal(out, rows[i].canonical);
        assert_int_equal(st_param_parse(param, out, &second, &err), ST_OK);
        assert_memory_equal(&first, &second, sizeof first);
    }
}

static void wrong_parameters_say_why(void **unused)
{
    static const struct {
        size_t param;
        const char *text, *reason;
    } rows[] = {
        {SIZE, "64",
         "parameter 'size': '64' has no unit; write a number with B, kB, MB, GB, TB, "
         "KiB, "
         "MiB, GiB or TiB"},
        {SIZE, "4B", "parameter 'size': '4B' is out of range; allowed: 8 B to 1.000 TiB"},
        {SIZE, "2TiB", "'2TiB' is out of range"},
        {SIZE, "auto", "'auto' does not begin with a number"},
        {SIZE, "9999999999999999999GiB", "is more than 64 bits can hold"},
        {ROOM, "64", "MiB, GiB or TiB, or auto"},
        {ROOM, "1B", ", or auto"},
        {ROOM, "18446744073709551615B", "is out of range"}, /* would read as auto */
        {COUNT, "0", "'0' is out of range; allowed: 1 to 1000000"},
        {COUNT, "1.5", "'1.5' is not whole"},
        {COUNT, "-3", "'-3' is negative"},
        {SHARE, "101%", "'101%' is out of range; allowed: 0 to 1"},
        {SHARE, "nan", "does not begin with a number"},
        {PAUSE, "2min", "allowed: 0 s to 60.00 s"},
        {PAUSE, "1", "has no unit; write a number with ns, us, ms, s, min or h"},
        {CHECK, "maybe", "parameter 'check': 'maybe' is neither yes nor no"},
        {STORE, "nontemproal",
         "parameter 'stores': 'nontemproal' is not one of ordinary, nontemporal (did you "
         "mean 'nontemporal'?)"},
        {STORE, "", "'' is not one of"},
        {KERNEL, "copy traid",
         "'traid' is not one of copy, scale, add, triad, or all (did you mean 'triad'?)"},
        {KERNEL, "", "'' is not one of copy, scale, add, triad, or all"},
        {KERNEL, " , ", "is not one of"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct demo_params p = {0};
        const struct demo_params untouched = {0};
        struct st_error err = {0};
        assert_int_equal(
            st_param_parse(&demo_table[rows[i].param], rows[i].text, &p, &err),
            ST_ERR_CONFIG);
        if (strstr(err.text, rows[i].reason) == NULL) {
            fail_msg("'%s': message is \"%s\"", rows[i].text, err.text);
        }
        assert_memory_equal(&p, &untouched, sizeof p);
    }
}

static void text_parameters_have_a_limit(void **unused)
{
    struct demo_params p = {0};
    struct st_error err = {0};
    char text[ST_TEXT_PARAM_SIZE + 1];

    (void)unused;
    memset(text, 'x', sizeof text);
    text[ST_TEXT_PARAM_SIZE - 1] = '\0';
    assert_int_equal(st_param_parse(&demo_table[FILE_NAME], text, &p, &err), ST_OK);
    assert_string_equal(p.file, text);
    text[ST_TEXT_PARAM_SIZE - 1] = 'x';
    text[ST_TEXT_PARAM_SIZE] = '\0';
    assert_int_equal(st_param_parse(&demo_table[FILE_NAME], text, &p, &err),
                     ST_ERR_CONFIG);
    assert_non_null(strstr(err.text, "at most 511"));
    memset(text, 'x', ST_TEXT_PARAM_SIZE); /* a word of a set, longer than any choice */
    assert_int_equal(st_param_parse(&demo_table[KERNEL], text, &p, &err), ST_ERR_CONFIG);
}

static void good_declaration_is_accepted(void **unused)
{
    struct st_error err = {0};

    (void)unused;
    if (st_bench_validate(&demo, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
}

static void expect_defect(const struct st_bench *bench, const char *what)
{
    struct st_error err = {0};

    assert_int_equal(st_bench_validate(bench, &err), ST_ERR_INTERNAL);
    if (strstr(err.text, what) == NULL) {
        fail_msg("expected \"%s\", message is \"%s\"", what, err.text);
    }
}

static void defects_of_the_benchmark(void **unused)
{
    (void)unused;
#define DEFECT(change, text)                                                             \
    do {                                                                                 \
        struct st_bench b = demo;                                                        \
        change;                                                                          \
        expect_defect(&b, text);                                                         \
    } while (0)
    DEFECT(b.name = NULL, "name");
    DEFECT(b.name = "Demo", "name");
    DEFECT(b.name = "1demo", "name");
    DEFECT(b.name = "de-mo", "name");
    DEFECT(b.summary = NULL, "summary");
    DEFECT(b.source = "", "source");
    DEFECT(b.plan = NULL, "stage");
    DEFECT(b.prepare = NULL, "stage");
    DEFECT(b.run = NULL, "stage");
    DEFECT(b.verify = NULL, "stage");
    DEFECT(b.release = NULL, "stage");
    DEFECT(b.spoil = NULL, "stage");
    DEFECT(b.n_metrics = 0, "no metric");
    DEFECT(b.params = NULL, "parameter table");
    DEFECT(b.params_size = 0, "params_size");
    DEFECT(b.state_size = 0, "state_size");
    DEFECT(b.needs = 8, "unknown feature");
    DEFECT(b.params_size = sizeof(struct demo_params) - 8, "outside");
#undef DEFECT
}

static void defects_of_metrics(void **unused)
{
    (void)unused;
#define DEFECT(change, text)                                                             \
    do {                                                                                 \
        struct st_metric m[] = {demo_metrics[0], demo_metrics[1]};                       \
        struct st_bench b = demo;                                                        \
        b.n_metrics = ST_COUNT(m);                                                       \
        b.metrics = m;                                                                   \
        change;                                                                          \
        expect_defect(&b, text);                                                         \
    } while (0)
    DEFECT(m[0].name = "GB", "metric 0: its name");
    DEFECT(m[1].name = "time", "metric 1: another metric");
    DEFECT(m[0].unit = "ms", "base unit");
    DEFECT(m[0].unit = NULL, "base unit");
    DEFECT(m[0].unit = "byte", "needs the unit s");
    DEFECT(m[1].unit = "byte", "per second");
    DEFECT(m[0].section = ST_MAX_SECTIONS, "out of range");
    DEFECT(m[0].place = ST_PAIR, "the job, a node or a rank");
    DEFECT(m[1].place = ST_NUMA, "the job, a node or a rank");
    DEFECT(m[0].help = "", "help");
#undef DEFECT
}

static void defects_of_parameters(void **unused)
{
    static const char *const blank[] = {"a b", NULL};
    static const char *const all[] = {"a", "all", NULL};
    static const char *const twice[] = {"a", "a", NULL};
    static const char *const none[] = {NULL};

    (void)unused;
#define DEFECT(row, change, text)                                                        \
    do {                                                                                 \
        struct st_param p[] = {demo_table[COUNT], demo_table[row]};                      \
        struct st_bench b = demo;                                                        \
        b.n_params = ST_COUNT(p);                                                        \
        b.params = p;                                                                    \
        change;                                                                          \
        expect_defect(&b, text);                                                         \
    } while (0)
    DEFECT(SIZE, p[1].name = "Size", "parameter 1: its name");
    DEFECT(SIZE, p[1].name = "count", "another parameter");
    DEFECT(SIZE, p[1].offset = sizeof(struct demo_params) - 7, "outside");
    DEFECT(SIZE, p[1].unit = "1", "does not belong");
    DEFECT(CHECK, p[1].unit = "s", "does not belong");
    DEFECT(PAUSE, p[1].unit = "hours", "base unit");
    DEFECT(SIZE, p[1].min = 0x1p41, "above its maximum");
    DEFECT(SIZE, p[1].max = (double)NAN, "above its maximum");
    DEFECT(SIZE, p[1].min = -1, "negative minimum");
    DEFECT(PAUSE, p[1].allow_auto = true, "auto");
    DEFECT(SIZE, p[1].help = NULL, "help");
    DEFECT(SIZE, p[1].default_text = NULL, "default");
    DEFECT(SIZE, p[1].default_text = "64",
           "default of benchmark 'demo': parameter 'size'");
    DEFECT(SIZE, p[1].default_text = "1B", "out of range");
    DEFECT(STORE, p[1].default_text = "x", "is not one of");
    DEFECT(STORE, p[1].choices = NULL, "no choices");
    DEFECT(STORE, p[1].choices = none, "no choices");
    DEFECT(STORE, p[1].choices = blank, "a blank or comma");
    DEFECT(STORE, p[1].choices = all, "\"all\"");
    DEFECT(STORE, p[1].choices = twice, "same name");
#undef DEFECT
}

static void validation_reports_missing_memory(void **unused)
{
    struct st_error err = {0};

    (void)unused;
    st_mem_fail_at(1);
    assert_int_equal(st_bench_validate(&demo, &err), ST_ERR_MEMORY);
    st_mem_fail_at(0);
}

static void nan_and_overshoot_are_failures(void **unused)
{
    static const struct {
        double got;
        uint64_t n_bad;
    } rows[] = {{1.0, 0},         {1.0 + 1e-9, 0},       {1.1, 1},       {-1.0, 1},
                {(double)NAN, 1}, {(double)INFINITY, 1}, {1.0 - 2e-6, 1}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_check check = {.limit = 1e-6};
        st_check_near(&check, rows[i].got, 1.0, "y[3]");
        assert_int_equal(check.n_checked, 1);
        assert_int_equal(check.n_bad, rows[i].n_bad);
        assert_int_equal(check.what[0] != '\0', rows[i].n_bad > 0);
        assert_true(check.worst >= 0.0); /* not NaN */
    }
}

static void first_failure_is_told(void **unused)
{
    struct st_check check = {.limit = 0.5};

    (void)unused;
    st_check_true(&check, true, "fine");
    st_check_near(&check, 3.0, 1.0, "y[3]");
    st_check_near(&check, 9.0, 1.0, "y[4]");
    st_check_true(&check, false, "sums agree");
    assert_int_equal(check.n_checked, 4);
    assert_int_equal(check.n_bad, 3);
    assert_true(check.worst == 8.0);
    assert_string_equal(check.what, "y[3] is 3, not 1 (off by 2, allowed 0.5)");

    struct st_check other = {0};
    st_check_true(&other, false, "sums agree");
    assert_string_equal(other.what, "not true: sums agree");

    struct st_check third = {.limit = 1.0};
    st_check_near(&third, -(double)NAN, 2.0, "flux");
    assert_string_equal(third.what, "flux is not a number, not 2");
    assert_true(third.worst == 0.0);

    struct st_check nan_limit = {.limit = (double)NAN};
    st_check_near(&nan_limit, 1.0, 1.0, "x");
    assert_int_equal(nan_limit.n_bad, 1);
}

static void words(void **unused)
{
    (void)unused;
    assert_string_equal(st_better_word(ST_HIGHER), "higher");
    assert_string_equal(st_better_word(ST_LOWER), "lower");
    assert_string_equal(st_better_word(ST_NEITHER), "neither");
    assert_string_equal(st_place_word(ST_JOB), "job");
    assert_string_equal(st_place_word(ST_NODE), "node");
    assert_string_equal(st_place_word(ST_RANK), "rank");
    assert_string_equal(st_place_word(ST_PAIR), "pair");
    assert_string_equal(st_place_word(ST_NUMA), "numa");
    assert_string_equal(st_origin_word(ST_FROM_TIME), "time");
    assert_string_equal(st_origin_word(ST_FROM_WORK), "work/time");
    assert_string_equal(st_origin_word(ST_GIVEN), "given");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(defaults_are_set),
        cmocka_unit_test(printed_parameters_read_back),
        cmocka_unit_test(wrong_parameters_say_why),
        cmocka_unit_test(text_parameters_have_a_limit),
        cmocka_unit_test(good_declaration_is_accepted),
        cmocka_unit_test(defects_of_the_benchmark),
        cmocka_unit_test(defects_of_metrics),
        cmocka_unit_test(defects_of_parameters),
        cmocka_unit_test(validation_reports_missing_memory),
        cmocka_unit_test(nan_and_overshoot_are_failures),
        cmocka_unit_test(first_failure_is_told),
        cmocka_unit_test(words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
