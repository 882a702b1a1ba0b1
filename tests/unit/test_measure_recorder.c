/* The recorder: who owns what, how samples and their validity are formed. */
#include "src/base/mem.h"
#include "src/measure/recorder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    R_JOB_TIME,
    R_NODE_RATE,
    R_PAIR,
    R_OFF,
    R_RANK
};

/* clang-format off */
static const struct st_metric metrics[] = {
    [R_JOB_TIME] = {"job_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0, "t"},
    [R_NODE_RATE] = {"node_rate", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 1, "r"},
    [R_PAIR] = {"pair", "s", ST_LOWER, ST_PAIR, ST_GIVEN, 1, "p"},
    [R_OFF] = {"off", "s", ST_LOWER, ST_RANK, ST_GIVEN, 1, "does not apply"},
    [R_RANK] = {"rank", "1", ST_NEITHER, ST_RANK, ST_GIVEN, 1, "n"},
};
/* clang-format on */

static bool applies(const void *params, size_t row)
{
    (void)params;
    return row != R_OFF;
}

static const struct st_bench bench = {.name = "fake",
                                      .n_metrics = ST_COUNT(metrics),
                                      .metrics = metrics,
                                      .applies = applies};

/* Group rank 2 of 4 on the second of two nodes, its first rank there. */
static const struct stm_comm group = {.rank = 2, .n_ranks = 4};
static const struct st_place_info place = {
    .node = 1, .n_nodes = 2, .local_rank = 0, .n_local_ranks = 2};
static const struct st_place pairs[] = {{.owner = 0, .a = 0, .b = 1},
                                        {.owner = 2, .a = 2, .b = 3},
                                        {.owner = 1, .a = 1, .b = 0},
                                        {.owner = 2, .a = 2, .b = 0},
                                        {.owner = 3, .a = 3, .b = 2}};

struct fixture {
    struct st_recorder rec;
    struct st_run run;
};

static int set_up(void **state)
{
    struct fixture *f = st_calloc(NULL, 1, sizeof *f);

    *state = f;
    if (f == NULL ||
        st_recorder_init(&f->rec, &bench, NULL, &group, &place, NULL) != ST_OK) {
        return -1;
    }
    f->run.bench = &bench;
    f->run.rec = &f->rec;
    st_set_work(&f->run, R_NODE_RATE, 100.0);
    if (st_set_places(&f->run, ST_PAIR, ST_COUNT(pairs), pairs) != ST_OK ||
        st_recorder_reserve(&f->rec, 4, NULL) != ST_OK) {
        return -1;
    }
    f->rec.recording = true;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    st_recorder_clear(&f->rec);
    st_free(f);
    return 0;
}

static void owners_are_found(void **state)
{
    const struct fixture *f = *state;

    assert_int_equal(f->rec.lists[ST_JOB].n_owned, 0);
    assert_int_equal(f->rec.lists[ST_NODE].n_owned, 1);
    assert_int_equal(f->rec.lists[ST_NODE].owned[0], 1);
    assert_int_equal(f->rec.lists[ST_RANK].owned[0], 2);
    assert_int_equal(f->rec.lists[ST_PAIR].n_owned, 2);
    assert_int_equal(st_list_slot(&f->rec.lists[ST_PAIR], 1), 0);
    assert_int_equal(st_list_slot(&f->rec.lists[ST_PAIR], 3), 1);
    assert_int_equal(st_list_slot(&f->rec.lists[ST_PAIR], 0), 2);
    assert_int_equal(st_list_slot(&f->rec.lists[ST_PAIR], 4), 2);
    assert_null(f->rec.series[R_JOB_TIME].values);
    assert_null(f->rec.series[R_OFF].values);
    assert_int_equal(st_recorder_check(&f->rec, NULL), ST_OK);
}

static void wrong_calls_are_remembered(void **state)
{
    static const struct {
        size_t row, place;
        const char *what;
    } rows[] = {
        {99, 0, "records row 99"},     {R_NODE_RATE, 1, "no given metric"},
        {R_OFF, 2, "no given metric"}, {R_PAIR, 0, "does not own"},
        {R_PAIR, 99, "does not own"},  {R_RANK, 1, "does not own"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        memset(&f->rec.misuse, 0, sizeof f->rec.misuse);
        st_record(&f->rec, rows[i].row, rows[i].place, 1.0);
        assert_int_equal(st_recorder_check(&f->rec, &err), ST_ERR_INTERNAL);
        assert_non_null(strstr(err.text, rows[i].what));
    }
    memset(&f->rec.misuse, 0, sizeof f->rec.misuse);
    st_set_work(&f->run, R_PAIR, 1.0);
    assert_int_equal(f->rec.misuse.code, ST_ERR_INTERNAL);
    memset(&f->rec.misuse, 0, sizeof f->rec.misuse);
    st_set_work(&f->run, R_NODE_RATE, (double)NAN);
    assert_int_equal(f->rec.misuse.code, ST_ERR_INTERNAL);
}

static void work_must_be_stated(void **state)
{
    struct fixture *f = *state;
    struct st_error err = {0};

    f->rec.series[R_NODE_RATE].work_stated = false;
    assert_int_equal(st_recorder_check(&f->rec, &err), ST_ERR_INTERNAL);
    assert_non_null(strstr(err.text, "node_rate"));
}

static void places_are_checked(void **state)
{
    static const struct st_place outside[] = {
        {.owner = 4, .b = 1}, {.a = 4, .b = 1}, {.b = 4}};
    struct fixture *f = *state;

    assert_int_equal(st_set_places(&f->run, ST_PAIR, 1, pairs),
                     ST_ERR_INTERNAL); /* twice */
    assert_int_equal(st_set_places(&f->run, ST_NODE, 1, pairs), ST_ERR_INTERNAL);
    f->rec.lists[ST_PAIR].declared = false;
    for (size_t i = 0; i < ST_COUNT(outside); i++) {
        assert_int_equal(st_set_places(&f->run, ST_PAIR, 1, &outside[i]),
                         ST_ERR_INTERNAL);
    }
    f->rec.lists[ST_PAIR].declared = true;
}

static void durations_are_checked(void **state)
{
    static const struct {
        double seconds;
        bool late;
        size_t repetition;
        enum st_validity validity;
        double rate; /* NaN: must be NaN; place_work 100, inner 5 */
    } rows[] = {
        {0.5, false, 1, ST_VALID, 1000.0},
        {0.5, true, 1, ST_LATE_START, 1000.0},
        {0.5, true, 0, ST_WARMUP, 1000.0},
        {0.0, false, 1, ST_BAD_DURATION, (double)NAN},
        {-1.0, false, 1, ST_BAD_DURATION, (double)NAN},
        {100.0, false, 1, ST_BAD_DURATION, (double)NAN},
        {(double)NAN, false, 1, ST_BAD_DURATION, (double)NAN},
        {(double)INFINITY, true, 1, ST_BAD_DURATION, (double)NAN},
    };
    struct fixture *f = *state;

    f->rec.series[R_NODE_RATE].place_work = 100.0;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct st_duration duration = {.seconds = rows[i].seconds,
                                             .wall_s = 50.0,
                                             .n_inner = 5.0,
                                             .late = rows[i].late};
        const size_t k = rows[i].repetition;
        st_recorder_form(&f->rec, R_NODE_RATE, k, &duration);
        const double rate = f->rec.series[R_NODE_RATE].values[k];
        assert_int_equal(f->rec.series[R_NODE_RATE].validity[k], rows[i].validity);
        assert_true(isnan(rows[i].rate) ? isnan(rate) : rate == rows[i].rate);
    }
}

static void given_values_are_settled(void **state)
{
    struct fixture *f = *state;
    const int8_t *validity = f->rec.series[R_PAIR].validity;

    f->rec.repetition = 0;
    st_record(&f->rec, R_PAIR, 3, 1.0);
    st_recorder_settle(&f->rec, R_PAIR, 0, false);
    f->rec.repetition = 1;
    st_record(&f->rec, R_PAIR, 1, 2.0);
    st_record(&f->rec, R_PAIR, 1, 3.0); /* overwrites */
    st_recorder_settle(&f->rec, R_PAIR, 1, false);
    f->rec.repetition = 2;
    st_record(&f->rec, R_PAIR, 1, (double)NAN);
    st_record(&f->rec, R_PAIR, 3, 4.0);
    st_recorder_settle(&f->rec, R_PAIR, 2, true);
    f->rec.recording = false;
    f->rec.repetition = 3;
    st_record(&f->rec, R_PAIR, 1, 5.0); /* calibration: dropped */
    st_recorder_settle(&f->rec, R_PAIR, 3, false);

    assert_int_equal(validity[0], ST_WARMUP);
    assert_int_equal(validity[1], ST_VALID);
    assert_int_equal(validity[2], ST_BAD_DURATION);
    assert_int_equal(validity[3], ST_MISSING);
    assert_int_equal(validity[4 + 0], ST_WARMUP);
    assert_int_equal(validity[4 + 1], ST_MISSING);
    assert_int_equal(validity[4 + 2], ST_LATE_START);
    assert_true(f->rec.series[R_PAIR].values[1] == 3.0);
    assert_int_equal(st_recorder_count(&f->rec, R_PAIR, 4), 3);
    assert_int_equal(st_recorder_count(&f->rec, R_PAIR, 1), 0); /* the warm-up alone */
    assert_int_equal(st_recorder_dropped(&f->rec, 2),
                     3); /* place 3, rate and rank missing */
}

static void bad_clocks_void_all_but_the_warm_up(void **state)
{
    struct fixture *f = *state;

    for (size_t k = 0; k < 3; k++) {
        f->rec.repetition = k;
        st_record(&f->rec, R_RANK, 2, 1.0);
        st_recorder_settle(&f->rec, R_RANK, k, false);
    }
    st_recorder_void(&f->rec, ST_RANK, 4);
    assert_int_equal(f->rec.series[R_RANK].validity[0], ST_WARMUP);
    assert_int_equal(f->rec.series[R_RANK].validity[1], ST_CLOCK_BAD);
    assert_int_equal(f->rec.series[R_RANK].validity[2], ST_CLOCK_BAD);
    assert_int_equal(f->rec.series[R_RANK].validity[3], ST_MISSING);
}

static void closing_packs_the_places(void **state)
{
    struct fixture *f = *state;

    for (size_t k = 0; k < 3; k++) {
        f->rec.repetition = k;
        st_record(&f->rec, R_PAIR, 1, 10.0 + (double)k);
        st_record(&f->rec, R_PAIR, 3, 20.0 + (double)k);
        st_recorder_settle(&f->rec, R_PAIR, k, false);
    }
    st_recorder_close(&f->rec, 2);
    static const double want[] = {10.0, 11.0, 20.0, 21.0};
    assert_memory_equal(f->rec.series[R_PAIR].values, want, sizeof want);
    assert_int_equal(f->rec.series[R_PAIR].validity[2], ST_WARMUP);
    assert_int_equal(f->rec.series[R_PAIR].validity[3], ST_VALID);
}

/* Each allocation of set-up may fail: an error with text, and nothing is lost. */
static void every_allocation_may_fail(void **unused)
{
    (void)unused;
    for (uint64_t nth = 1; nth < 100; nth++) {
        struct st_recorder rec = {0};
        struct st_run run = {.bench = &bench, .rec = &rec};
        struct st_error err = {0};
        const uint64_t before = st_mem_count();

        st_mem_fail_at(nth);
        enum st_status rc = st_recorder_init(&rec, &bench, NULL, &group, &place, &err);
        if (rc == ST_OK) {
            rc = st_set_places(&run, ST_PAIR, ST_COUNT(pairs), pairs);
        }
        if (rc == ST_OK) {
            rc = st_recorder_reserve(&rec, 4, &err);
        }
        st_mem_fail_at(0);
        const uint64_t made = st_mem_count() - before;
        st_recorder_clear(&rec);
        if (made < nth) {
            assert_int_equal(rc, ST_OK);
            return;
        }
        assert_int_equal(rc, ST_ERR_MEMORY);
        assert_true(err.text[0] != '\0' || run.err.text[0] != '\0');
    }
    fail_msg("set-up never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(owners_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_calls_are_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_must_be_stated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(durations_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(given_values_are_settled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_clocks_void_all_but_the_warm_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(closing_packs_the_places, set_up, tear_down),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
