/*
 * Curves (ST_POINT): what a declaration needs for them, that their points are no reason to
 * measure on, and how a report writes them.
 */
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/measure/recorder.h"
#include "src/show/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    R_CURVE,
    R_RANK,
    N_POINTS = 3,
    N_REPETITIONS = 12
};

static const struct st_metric metrics[] = {
    [R_CURVE] = {"curve", "s", ST_LOWER, ST_POINT, ST_GIVEN, 0, "by size"},
    [R_RANK] = {"value", "s", ST_LOWER, ST_RANK, ST_GIVEN, 0, "one value"},
};

static enum st_status plan(const void *params, const struct st_shape *shape,
                           struct st_need *need, struct st_error *err)
{
    (void)params;
    (void)shape;
    (void)need;
    (void)err;
    return ST_OK;
}

static enum st_status stage(struct st_run *run, void *state)
{
    (void)run;
    (void)state;
    return ST_OK;
}

static enum st_status verify(struct st_run *run, void *state, struct st_check *check)
{
    (void)run;
    (void)state;
    (void)check;
    return ST_OK;
}

static void nothing(void *state)
{
    (void)state;
}

static const struct st_bench bench = {.name = "fake",
                                      .summary = "A curve.",
                                      .source = "nobody",
                                      .n_metrics = ST_COUNT(metrics),
                                      .metrics = metrics,
                                      .point_name = "size",
                                      .point_unit = "byte",
                                      .params_size = 1,
                                      .state_size = 1,
                                      .plan = plan,
                                      .prepare = stage,
                                      .run = stage,
                                      .verify = verify,
                                      .release = nothing,
                                      .spoil = nothing};

static void curves_need_a_name_and_a_unit(void **unused)
{
    static const struct {
        const char *name, *unit;
    } rows[] = {{NULL, "byte"}, {"Size", "byte"}, {"size", NULL}, {"size", "KiB"}};
    struct st_error err = {0};

    (void)unused;
    assert_int_equal(st_bench_validate(&bench, &err), ST_OK);
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_bench b = bench;
        b.point_name = rows[i].name;
        b.point_unit = rows[i].unit;
        assert_int_equal(st_bench_validate(&b, &err), ST_ERR_INTERNAL);
        assert_non_null(strstr(err.text, "point_name"));
    }
    struct st_metric timed[] = {metrics[R_CURVE]};
    struct st_bench b = bench;
    timed[0].origin = ST_FROM_TIME;
    b.metrics = timed;
    b.n_metrics = 1;
    assert_int_equal(st_bench_validate(&b, &err), ST_ERR_INTERNAL);
    assert_string_equal(st_place_word(ST_POINT), "point");
}

static const struct stm_comm group = {.rank = 0, .n_ranks = 1};
static const struct st_place_info place = {
    .node = 0, .n_nodes = 1, .local_rank = 0, .n_local_ranks = 1};

/* One rank with a curve of three points. */
static void open_recorder(struct st_recorder *rec, struct st_run *run)
{
    static const struct st_place points[N_POINTS] = {
        {.value = 4096.0}, {.value = 6144.0}, {.value = 8192.0}};

    *run = (struct st_run){.bench = &bench, .rec = rec};
    assert_int_equal(st_recorder_init(rec, &bench, NULL, &group, &place, NULL), ST_OK);
    assert_int_equal(st_set_places(run, ST_POINT, N_POINTS, points), ST_OK);
    assert_int_equal(st_recorder_reserve(rec, N_REPETITIONS, NULL), ST_OK);
    rec->recording = true;
}

static void points_are_checked(void **unused)
{
    static const struct st_place no_value = {.value = (double)NAN};
    struct st_recorder rec = {0};
    struct st_run run;

    (void)unused;
    open_recorder(&rec, &run);
    assert_int_equal(rec.lists[ST_POINT].n_owned, N_POINTS);
    assert_true(rec.lists[ST_POINT].all[1].value == 6144.0);
    const uint64_t before = rec.lists[ST_POINT].fingerprint;
    rec.lists[ST_POINT].declared = false;
    assert_int_equal(st_set_places(&run, ST_POINT, 1, &no_value), ST_ERR_INTERNAL);
    st_recorder_clear(&rec);

    /* another value is another list, or ranks would not notice that they differ */
    static const struct st_place other[N_POINTS] = {
        {.value = 4096.0}, {.value = 6144.0}, {.value = 8193.0}};
    assert_int_equal(st_recorder_init(&rec, &bench, NULL, &group, &place, NULL), ST_OK);
    run.rec = &rec;
    assert_int_equal(st_set_places(&run, ST_POINT, N_POINTS, other), ST_OK);
    assert_true(rec.lists[ST_POINT].fingerprint != before);
    st_recorder_clear(&rec);
}

/* The value is quiet at once, the points never are. */
static void points_are_not_waited_for(void **unused)
{
    const struct st_repeat repeat = {.confidence = 0.95, .width = 0.02};
    struct st_recorder rec = {0};
    struct st_run run;

    (void)unused;
    for (size_t quiet = 0; quiet < 2; quiet++) {
        open_recorder(&rec, &run);
        for (size_t r = 0; r < N_REPETITIONS; r++) {
            rec.repetition = r;
            for (size_t p = 0; p < N_POINTS; p++) {
                st_record(&rec, R_CURVE, p, r % 2 == 0 ? 1.0 : 2.0);
            }
            st_record(&rec, R_RANK, 0, quiet == 1 || r % 2 == 0 ? 1.0 : 2.0);
        }
        assert_int_equal(st_recorder_converged(&rec, N_REPETITIONS, &repeat), quiet == 1);
        st_recorder_clear(&rec);
    }
}

/* Two ranks with the same three sizes: medians over both, in one line. */
static void a_report_writes_a_curve_in_a_line(void **unused)
{
    static const double values[2 * N_POINTS] = {1e-9, 2e-9, (double)NAN,
                                                3e-9, 4e-9, 100e-9};
    struct st_file_place places[2 * N_POINTS];
    struct st_summary summary[2 * N_POINTS];
    struct st_file_metric m = {.name = "latency_by_size",
                               .unit = "s",
                               .kind = ST_POINT,
                               .n_places = 2 * N_POINTS,
                               .places = places,
                               .summary = summary};
    struct st_table table = {.n_columns = 1, .titles = {"X"}};
    struct st_style style = {0};
    char *text = NULL;
    size_t size = 0;

    (void)unused;
    memset(places, 0, sizeof places);
    memset(summary, 0, sizeof summary);
    for (size_t p = 0; p < 2 * N_POINTS; p++) {
        places[p].rank = p / N_POINTS;
        places[p].value = 4096.0 + 2048.0 * (double)(p % N_POINTS);
        (void)snprintf(places[p].value_name, sizeof places[p].value_name, "size");
        (void)snprintf(places[p].value_unit, sizeof places[p].value_unit, "byte");
        summary[p].median = values[p];
    }
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(st_report_curve(&table, &m));
    style.columns = 100;
    st_table_print(&table, out, style);
    st_table_clear(&table);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text,
                           "latency_by_size over size, medians of 2 ranks: 4KiB 2ns, "
                           "6KiB 3ns, 8KiB 100ns\n"));
    free(text); /* open_memstream's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_need_a_name_and_a_unit),
        cmocka_unit_test(points_are_checked),
        cmocka_unit_test(points_are_not_waited_for),
        cmocka_unit_test(a_report_writes_a_curve_in_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
