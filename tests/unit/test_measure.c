/*
 * The pure parts of the harness: clock witnesses with an injected clock, the stopping rule,
 * the report of a passed deadline.
 */
#include "src/base/mem.h"
#include "src/measure/active.h"
#include "src/measure/clock.h"
#include "src/measure/deadline.h"
#include "src/measure/decide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    S = 1000000000,
    MS = 1000000
};

static int64_t fake[3];

static int64_t fake_monotonic(void)
{
    return fake[0];
}

static int64_t fake_second(void)
{
    return fake[1];
}

static int64_t fake_third(void)
{
    return fake[2];
}

static const struct st_clock_source fake_source = {
    .monotonic_ns = fake_monotonic, .second_ns = fake_second, .third_ns = fake_third};

static void now_counts_from_the_start_and_keeps_its_digits(void **unused)
{
    (void)unused;
    fake[0] = INT64_C(9007199254740993); /* 104 days: odd, no double holds it in ns */
    st_clock_inject(&fake_source);
    assert_true(st_now() == 0.0);
    fake[0] += 1;
    assert_true(fabs(st_now() - 1e-9) < 1e-18);
    fake[0] -= 3; /* backwards: negative, not huge */
    assert_true(fabs(st_now() + 2e-9) < 1e-18);
    st_clock_inject(NULL);
}

static void clocks_that_disagree_are_found(void **unused)
{
    static const struct {
        const char *what;
        int64_t to[3];
        bool good;
        double disagreement;
        bool third_is_with_second;
    } rows[] = {
        {"equal", {S, S, S}, true, 0.0, false},
        {"NTP slews by 500 ppm", {S + S / 2000, S, S}, true, 5e-4, true},
        {"just above 1e-3", {S + 2 * MS, S, S}, false, 2e-3, true},
        {"twice as fast", {2 * (int64_t)S, S, S}, false, 1.0, true},
        {"the second is the odd one", {S, 2 * (int64_t)S, S}, false, 0.5, false},
        {"a short span, one preemption", {MS / 2, MS, MS}, true, 0.5, true},
        {"stands still", {0, S, S}, false, 1.0, true},
        {"second stands still", {S, 0, S}, false, (double)INFINITY, false},
        {"1 s backwards", {-S, 10 * MS, 10 * MS}, false, 101.0, true},
        {"a little backwards", {-1000, 1000, 1000}, false, 2.0, true},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct st_clock_reading from = {0};
        const struct st_clock_reading to = {.monotonic_ns = rows[i].to[0],
                                            .second_ns = rows[i].to[1],
                                            .third_ns = rows[i].to[2]};
        const struct st_clock_verdict verdict = st_clock_compare(&from, &to);
        const bool same = isinf(rows[i].disagreement)
                              ? isinf(verdict.disagreement)
                              : fabs(verdict.disagreement - rows[i].disagreement) < 1e-12;
        if (verdict.good != rows[i].good || !same ||
            verdict.third_is_with_second != rows[i].third_is_with_second) {
            fail_msg("%s: good %d, disagreement %g, third with second %d", rows[i].what,
                     verdict.good, verdict.disagreement, verdict.third_is_with_second);
        }
    }
}

static void advance(int64_t monotonic, int64_t second)
{
    fake[0] += monotonic;
    fake[1] += second;
    fake[2] += second;
}

static void two_jumps_that_cancel_are_seen(void **unused)
{
    struct st_clock_watch watch;

    (void)unused;
    st_clock_inject(&fake_source);
    st_clock_watch_begin(&watch);
    advance(S, S);
    assert_true(st_clock_watch_look(&watch));
    assert_true(watch.disagreement < 1e-12);
    advance(S + S / 2, S);
    assert_false(st_clock_watch_look(&watch));
    advance(S / 2, S); /* over the whole step the two agree again */
    assert_false(st_clock_watch_look(&watch));
    assert_true(watch.bad);
    assert_true(watch.disagreement > 0.49);
    st_clock_inject(NULL);
}

static const struct st_repeat usual = {.min = 5,
                                       .max = 50,
                                       .confidence = 0.95,
                                       .width = 0.02,
                                       .budget_s = 10.0,
                                       .time_s = 1e-3,
                                       .deadline_s = 100.0};

static void decisions(void **unused)
{
    static const struct {
        const char *what;
        struct st_progress now;
        enum st_stop stop;
        size_t n_batch;
    } rows[] = {
        {"start: to the first look",
         {.last_s = 0.01, .deadline_left_s = 99},
         ST_GO_ON,
         6},
        {"6 done: to 8",
         {.n_done = 6, .last_s = 0.01, .elapsed_s = 0.06, .deadline_left_s = 99},
         ST_GO_ON,
         2},
        {"converged at a look",
         {.n_done = 8, .converged = true, .last_s = 0.01, .deadline_left_s = 99},
         ST_STOP_CONVERGED,
         0},
        {"converged, but no look",
         {.n_done = 7, .converged = true, .last_s = 0.01, .deadline_left_s = 99},
         ST_GO_ON,
         1},
        {"max", {.n_done = 50, .last_s = 0.01, .deadline_left_s = 99}, ST_STOP_MAX, 0},
        {"max before the next look",
         {.n_done = 49, .last_s = 0.01, .deadline_left_s = 99},
         ST_GO_ON,
         1},
        {"a slow repetition cuts the batch to a second",
         {.last_s = 0.4, .deadline_left_s = 99},
         ST_GO_ON,
         2},
        {"the slower of last and mean predicts",
         {.n_done = 1,
          .last_s = 0.1,
          .mean_s = 0.5,
          .elapsed_s = 0.5,
          .deadline_left_s = 99},
         ST_GO_ON,
         2},
        {"only one more fits",
         {.n_done = 6, .last_s = 1.4, .elapsed_s = 8.5, .deadline_left_s = 99},
         ST_GO_ON,
         1},
        {"the next would overrun",
         {.n_done = 6, .last_s = 1.6, .elapsed_s = 8.5, .deadline_left_s = 99},
         ST_STOP_BUDGET,
         0},
        {"one is made whatever it takes",
         {.last_s = 20.0, .deadline_left_s = 99},
         ST_GO_ON,
         1},
        {"deadline before the first",
         {.last_s = 20.0, .deadline_left_s = 19},
         ST_STOP_DEADLINE,
         0},
        {"deadline: a tenth is kept for what follows",
         {.n_done = 1, .last_s = 0.1, .deadline_left_s = 10.05},
         ST_STOP_DEADLINE,
         0},
        {"deadline: half of the room for a batch",
         {.n_done = 1, .last_s = 0.1, .deadline_left_s = 10.65},
         ST_GO_ON,
         3},
        {"interrupt",
         {.n_done = 1, .interrupted = true, .deadline_left_s = 99},
         ST_STOP_INTERRUPT,
         0},
        {"failure before interrupt",
         {.failed = true, .interrupted = true, .deadline_left_s = 99},
         ST_STOP_FAILED,
         0},
        {"an empty repetition: whole batch",
         {.n_done = 20, .deadline_left_s = 99},
         ST_GO_ON,
         7},
        {"a clock that lies: NaN stops",
         {.n_done = 3, .elapsed_s = (double)NAN, .deadline_left_s = 99},
         ST_STOP_BUDGET,
         0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct st_decision d = st_decide(&usual, &rows[i].now);
        if (d.stop != rows[i].stop || d.n_batch != rows[i].n_batch) {
            fail_msg("%s: stop %d, batch %zu", rows[i].what, (int)d.stop, d.n_batch);
        }
    }
}

/* A run of the rule: it always ends, never passes max, and looks only where METHODS says. */
static void the_rule_ends(void **unused)
{
    static const size_t looks[] = {6, 8, 11, 15, 20};
    struct st_repeat repeat = usual;
    size_t seen = 0;

    (void)unused;
    repeat.max = 3000;
    struct st_progress now = {.last_s = 1e-5, .mean_s = 1e-5, .deadline_left_s = 99};
    for (size_t rounds = 0; rounds < 1000; rounds++) {
        const struct st_decision d = st_decide(&repeat, &now);
        if (d.stop != ST_GO_ON) {
            assert_int_equal(d.stop, ST_STOP_MAX);
            assert_int_equal(now.n_done, 3000);
            assert_int_equal(seen, ST_COUNT(looks));
            return;
        }
        assert_true(d.n_batch >= 1 && d.n_batch <= ST_MAX_BATCH);
        now.n_done += d.n_batch;
        if (seen < ST_COUNT(looks) && st_is_look(&repeat, now.n_done)) {
            assert_int_equal(now.n_done, looks[seen]);
            seen++;
        }
    }
    fail_msg("the rule did not end");
}

static void skewed_starts_spoil_a_common_time(void **unused)
{
    static const struct {
        double first, last, end;
        bool oversubscribed, skewed;
    } rows[] = {
        {5.0, 5.0, 6.0, false, false},
        {5.0, 5.0625, 6.0, false, false},
        {5.0, 5.125, 6.0, false, true},
        {5.0, 5.125, 6.0, true, false},
        {5.0, (double)NAN, 6.0, false, true},
        {5.0, 5.5, 5.0, false, true}, /* the first ended before the last began */
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct st_span span = st_span_form(rows[i].first, rows[i].last, rows[i].end,
                                                 rows[i].oversubscribed);
        assert_int_equal(span.skewed, rows[i].skewed);
        assert_true(span.seconds == rows[i].end - rows[i].first);
    }
}

static const char *host_of(const void *context, size_t rank)
{
    static const char *const hosts[] = {"n0", "n0", "n1", "n1"};

    (void)context;
    return hosts[rank % ST_COUNT(hosts)];
}

static void put_record(char *records, size_t rank, const char *step, enum st_doing doing)
{
    struct st_whereabouts where = {0};

    st_doing(&where, doing);
    atomic_store(&where.repetition, 17);
    atomic_store(&where.section, 2);
    st_record_print(records + rank * ST_RECORD_SIZE, rank, host_of(NULL, rank), step,
                    &where);
}

static void late_ranks_are_named(void **unused)
{
    char records[3 * ST_RECORD_SIZE] = {0}; /* the file ends before rank 3 */
    const struct st_late_launch launch = {.n_ranks = 4, .host = host_of};

    (void)unused;
    put_record(records, 0, "stream", ST_DOING_START);
    put_record(records, 1, "stream", ST_DOING_RUN);
    put_record(records, 2, "other", ST_DOING_RUN); /* left over from another step */
    char *text = st_late_report("stream", 90.0, &launch, records, sizeof records);
    assert_non_null(text);
    assert_string_equal(
        text, "step 'stream' did not end within its deadline of 90 s\n"
              "  did not answer (stopped, dead or unreachable):\n"
              "    rank 2 on n1\n"
              "    rank 3 on n1\n"
              "  answered and still at work, so others may be waiting for them:\n"
              "    rank 1 on n0 is inside run of repetition 17, section 2\n"
              "  answered and waiting for others:\n"
              "    rank 0 on n0 waits in start barrier of repetition 17, section 2\n");
    st_free(text);
    assert_true(st_late_answered("stream", records, sizeof records, 1));
    assert_false(st_late_answered("stream", records, sizeof records, 2));
    assert_false(st_late_answered("stream", records, sizeof records, 3));
    assert_false(st_late_answered("stream", NULL, 0, 0));
}

static void a_long_list_is_cut(void **unused)
{
    const struct st_late_launch launch = {.n_ranks = 100, .host = host_of};

    (void)unused;
    char *text = st_late_report("s", 1.0, &launch, NULL, 0);
    assert_non_null(text);
    assert_non_null(strstr(text, "    rank 31 on n1\n    and 68 more\n"));
    assert_null(strstr(text, "rank 32"));
    st_free(text);
}

/* A record is one line of fixed length, also with a name as long as names get. */
static void a_record_is_one_line(void **unused)
{
    char name[ST_NAME_SIZE];
    char record[ST_RECORD_SIZE + 1] = {0};
    struct st_whereabouts where = {0};

    (void)unused;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int doing = 0; doing < (int)ST_N_DOING; doing++) {
        st_doing(&where, (enum st_doing)doing);
        st_record_print(record, 123456, "a-host-with-quite-a-long-name", name, &where);
        assert_int_equal(strlen(record), ST_RECORD_SIZE);
        assert_ptr_equal(strchr(record, '\n'), record + ST_RECORD_SIZE - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now_counts_from_the_start_and_keeps_its_digits),
        cmocka_unit_test(clocks_that_disagree_are_found),
        cmocka_unit_test(two_jumps_that_cancel_are_seen),
        cmocka_unit_test(decisions),
        cmocka_unit_test(the_rule_ends),
        cmocka_unit_test(skewed_starts_spoil_a_common_time),
        cmocka_unit_test(late_ranks_are_named),
        cmocka_unit_test(a_long_list_is_cut),
        cmocka_unit_test(a_record_is_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
