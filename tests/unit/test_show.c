/*
 * What people read: the text report, stable lines, pages about benchmarks and plans, progress on
 * a terminal and in a log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_judge_fixture.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/show/screen.h"
#include "src/show/show.h"
#include "src/show/utf8.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct output {
    char *text;
    size_t size;
    FILE *stream;
};

static FILE *open_output(struct output *out)
{
    out->stream = open_memstream(&out->text, &out->size);
    assert_non_null(out->stream);
    return out->stream;
}

static void close_output(struct output *out)
{
    assert_int_equal(fclose(out->stream), 0);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("'%s' is in:\n%s", part, text);
    }
}

/* Every line within @p columns and without blanks at its end. */
static void assert_lines_fit(const char *text, size_t columns)
{
    char line[4096];

    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        assert_true(n < sizeof line);
        memcpy(line, text, n);
        line[n] = '\0';
        if (st_utf8_width(line) > columns || (n > 0 && line[n - 1] == ' ')) {
            fail_msg("line too long or with a blank at its end: '%s'", line);
        }
        text += n + (text[n] == '\n');
    }
}

/* ---- the report ---- */

/* Forty nodes of which one is slow, a latency of two pairs, a count, a skipped and a failed step. */
static void make_file(struct st_file *file)
{
    fix_init(file);
    fix_nodes(file, 40);
    file->n_ranks = 160;
    (void)st_copy(file->warnings, sizeof file->warnings,
                  "the two keys of a node disagree\nnode07 claims 508 MiB of L3 cache");
    struct st_file_step *s = fix_step(file, "stream:stores=nontemporal");
    s->n_params = 1;
    s->params = st_calloc(NULL, 1, sizeof *s->params);
    assert_non_null(s->params);
    (void)st_copy(s->params[0].name, sizeof s->params[0].name, "size");
    (void)st_copy(s->params[0].value, sizeof s->params[0].value, "67108864 byte");
    size_t m = fix_metric(file, "triad", "byte s-1", ST_HIGHER, ST_NODE, 40);
    for (size_t i = 0; i < 40; i++) {
        const double centre = 400.0 + 0.4 * ((double)(37 * i % 11) - 5.0);
        fix_around(file, m, i, (i == 17 ? 384.0 : centre) * 1e9, 0.0005);
    }
    fix_criterion(file, m, ST_SPREAD, 0.03)->text[0] = '\0';
    (void)fix_step(file, "pairs:message=8B pattern=latency");
    m = fix_metric(file, "latency", "s", ST_LOWER, ST_PAIR, 2);
    (void)st_copy(file->steps[1].metrics[m].places[0].label, 320,
                  "rank 0 -> rank 1 (node00 -> node01)");
    fix_around(file, m, 0, 1.25e-6, 0.01);
    fix_around(file, m, 1, 1.31e-6, 0.05);
    (void)fix_step(file, "spmv");
    static const double iterations[] = {37, 37, 37};
    m = fix_metric(file, "iterations", "1", ST_LOWER, ST_JOB, 1);
    fix_samples(file, m, 0, ST_COUNT(iterations), iterations);
    fix_criterion(file, m, ST_AT_MOST, 50)->text[0] = '\0';
    struct st_file_step *skipped = fix_step(file, "latency");
    skipped->state = ST_STEP_SKIPPED;
    (void)st_copy(skipped->reason, sizeof skipped->reason, "needs two NUMA nodes");
    struct st_file_step *wrong = fix_step(file, "hpcg");
    wrong->state = ST_STEP_FAILED;
    wrong->check_bad = 3;
    (void)st_copy(wrong->reason, sizeof wrong->reason, "3 of 1000 values wrong");
    m = fix_metric(file, "rate", "flop s-1", ST_HIGHER, ST_JOB, 1);
    fix_around(file, m, 0, 3.21e9, 0.01);
}

static char *text_report(const struct st_file *file, struct st_style style)
{
    struct output out;
    struct st_error err = {0};
    struct st_verdict *v = fix_judge(file);

    assert_int_equal(
        st_show_report(open_output(&out), style, ST_REPORT_TEXT, file, v, &err), ST_OK);
    close_output(&out);
    st_verdict_destroy(&v);
    return out.text;
}

static void report_says_all_there_is(void **state)
{
    static const char *const parts[] = {
        "seatrial report: quick",
        "quick.h5 (format 1), written 2026-01-02T03:04:05Z by seatrial 0.1.0",
        "40 nodes, 160 ranks, Open MPI v4.1.4\n",
        "complete, 5 of 5 steps",
        "warning   node07 claims 508 MiB of L3 cache",
        "step 1/5  stream:stores=nontemporal  complete in 3.2 s",
        "size=67108864 byte",
        "384.0 GB/s",
        "383.8..384.2",
        ("the slowest of 40 places, node17; fastest node08 with 402.0 GB/s; median of "
         "all "
         "400.0 GB/s, spread 4.5 %"),
        "rank 0 -> rank 1 (node00 -> node01)",
        "1.250 us",
        "not converged to 2 % of the median: latency",
        "37..37",
        "needs two NUMA nodes",
        "step 5/5  hpcg  failed in 3.2 s",
        "3 of 1000 values wrong",
        "not judged",
        "Criteria",
        "is beyond the 3 % allowed; lowest node17, highest node08",
        "iterations: 37 in each of 3 samples meets the bound of at most 50",
        "suspect   triad of stream:stores=nontemporal at node17: 384.0 GB/s",
        "Incomplete: 1 of 5 steps did not finish as planned",
        "exit status 2: incomplete",
    };
    struct st_file file;

    (void)state;
    make_file(&file);
    char *wide = text_report(&file, (struct st_style){.columns = 160});
    for (size_t i = 0; i < ST_COUNT(parts); i++) {
        assert_has(wide, parts[i]);
    }
    assert_has_not(wide, "nan");
    assert_has_not(wide, "\x1b");
    assert_lines_fit(wide, 160);
    free(wide);
    char *narrow = text_report(&file, (struct st_style){.columns = 80});
    assert_lines_fit(narrow, 80);
    free(narrow);
    fix_clear(&file);
}

static void report_colours_outcomes_only_if_asked(void **state)
{
    struct st_file file;

    (void)state;
    make_file(&file);
    char *text = text_report(&file, (struct st_style){.colour = true, .columns = 80});
    assert_has(text, "\x1b[1;31mfail\x1b[0m");
    assert_has(text, "\x1b[32mpass\x1b[0m");
    free(text);
    fix_clear(&file);
}

static void report_warns_before_figures(void **state)
{
    struct st_file file;

    (void)state;
    make_file(&file);
    file.fake_nodes = true;
    file.steps[0].oversubscribed = true;
    file.steps[2].placement_proved = false;
    (void)st_copy(file.status, sizeof file.status, "interrupted");
    (void)st_copy(file.reason, sizeof file.reason, "SIGTERM");
    char *text = text_report(&file, (struct st_style){.columns = 160});
    const char *figures = strstr(text, "Figures");
    assert_non_null(figures);
    assert_has(text, "interrupted, 5 of 5 steps, 12 s (start-up 0.8 s): SIGTERM");
    static const char *const warnings[] = {"SEATRIAL_FAKE_NODES): nothing is judged",
                                           "1 of 5 steps ran with more threads than CPUs",
                                           "in 1 of 5 steps it is not proved"};
    for (size_t i = 0; i < ST_COUNT(warnings); i++) {
        const char *at = strstr(text, warnings[i]);
        assert_true(at != NULL && at < figures);
    }
    free(text);
    file.judge_fake_nodes = true;
    text = text_report(&file, (struct st_style){.columns = 160});
    assert_has(text, "judged because the config asks for it");
    free(text);
    fix_clear(&file);
}

static void an_empty_file_has_a_report(void **state)
{
    struct st_file file;

    (void)state;
    fix_init(&file);
    char *text = text_report(&file, (struct st_style){.columns = 80});
    assert_has(text, "no criteria were asked for");
    assert_has(text, "exit status 0");
    free(text);
    fix_clear(&file);
}

static void stable_lines(void **state)
{
    struct st_file file;
    struct output out;

    (void)state;
    make_file(&file);
    struct st_verdict *v = fix_judge(&file);
    st_show_lines(open_output(&out), &file, v);
    close_output(&out);
    size_t n = 0;
    for (const char *c = strchr(out.text, '\n'); c != NULL; c = strchr(c + 1, '\n')) {
        n++;
    }
    assert_int_equal(n, 40 + 2 + 1 + 1); /* one per figure, whatever the verdict */
    /* node17: 384e9 (1 -+ 0.0005) */
    assert_has(out.text, "seatrial: stream:stores=nontemporal triad 3.84e+11 byte.s-1 "
                         "place=node17 ci=3.83808e+11,3.84192e+11 n=7 -\n");
    assert_has(out.text,
               "seatrial: pairs:message=8B_pattern=latency latency 1.25e-06 s "
               "place=rank_0_->_rank_1_(node00_->_node01) ci=1.2375e-06,1.2625e-06 n=7 "
               "-\n");
    assert_has(out.text, "seatrial: spmv iterations 37 1 place=job ci=-,- n=3 pass\n");
    assert_has(out.text, "seatrial: hpcg rate 3.21e+09 flop.s-1 place=job "
                         "ci=3.1779e+09,3.2421e+09 n=7 not-judged\n");
    assert_lines_fit(out.text, 200);
    free(out.text);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

/* ---- tables and text ---- */

static void wrapping(void **state)
{
    static const struct {
        size_t columns, at, indent;
        const char *text, *lines;
    } rows[] = {
        {20, 0, 2, "short", "short\n"},
        {10, 0, 2, "one two three four", "one two\n  three\n  four\n"},
        {10, 0, 0, "1234567890", "1234567890\n"},
        {10, 0, 0, "1234567890 x", "1234567890\nx\n"},
        {10, 0, 0, "a word_longer_than_a_line", "a\nword_longer_than_a_line\n"},
        {10, 0, 0, "about 4.5 % of", "about\n4.5 % of\n"}, /* a number keeps its sign */
        {10, 8, 4, "xy zz", "xy\n    zz\n"},
        {10, 0, 0, "", "\n"},
        {12, 0, 0, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 1234567",
         "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n1234567\n"},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct output out;
        st_wrap(open_output(&out), (struct st_style){.columns = rows[i].columns},
                rows[i].at, rows[i].indent, ST_INK_PLAIN, rows[i].text);
        close_output(&out);
        assert_string_equal(out.text, rows[i].lines);
        free(out.text);
    }
}

static void tables_align(void **state)
{
    struct st_table t = {.n_columns = 3,
                         .titles = {"NAME", "VALUE", "MEANING"},
                         .right = {false, true, false}};
    struct output out;

    (void)state;
    st_table_titles(&t);
    st_table_row(&t);
    st_table_cell(&t, 0, ST_INK_PLAIN, "a");
    st_table_cell(&t, 1, ST_INK_PLAIN, "7");
    st_table_cell(&t, 2, ST_INK_PLAIN, "one two three four five six");
    st_table_row(&t);
    st_table_cell(&t, 0, ST_INK_PLAIN, "longer name");
    st_table_cell(&t, 1, ST_INK_PLAIN, "1234567");
    st_table_line(&t, 2, 4, ST_INK_PLAIN, "a line");
    st_table_print(&t, open_output(&out), (struct st_style){.columns = 48});
    close_output(&out);
    assert_string_equal(out.text, "NAME           VALUE  MEANING\n"
                                  "a                  7  one two three four five\n"
                                  "                      six\n"
                                  "longer name  1234567\n"
                                  "  a line\n");
    free(out.text);
    st_table_print(&t, open_output(&out), (struct st_style){.columns = 40});
    close_output(&out);
    assert_string_equal(out.text, "NAME           VALUE\n" /* too narrow: below the row */
                                  "a                  7\n"
                                  "    one two three four five six\n"
                                  "longer name  1234567\n"
                                  "  a line\n");
    free(out.text);
    st_table_clear(&t);
}

static void durations_and_numbers(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{0.0, "0.0 s"},       {0.84, "0.8 s"},        {9.94, "9.9 s"},
                {9.96, "10 s"},       {119.4, "119 s"},       {119.6, "2 min 00 s"},
                {725, "12 min 05 s"}, {7260, "2 h 01 min"},   {(double)NAN, "-"},
                {-1.0, "-"},          {(double)INFINITY, "-"}};
    static const struct {
        double value, like;
        const char *text;
    } numbers[] = {
        {384.19, 384.0, "384.2"}, {1.2345, 1.2, "1.234"},  {12.345, 12, "12.35"},
        {1234.5, 1234, "1234"},   {(double)NAN, 1.0, "-"}, {334708.2, 736.5, "334708"},
        {78.859, 3.243, "78.86"}, {0.42, 60.94, "0.42"},   {2e6, 1, "2e+06"},
        {0.05, 0.05, "0.05000"},  {1e-9, 1e-9, "1e-09"},   {0.0, 0.0, "0.000"}};
    char text[40];

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_string_equal(st_duration(text, sizeof text, rows[i].seconds),
                            rows[i].text);
    }
    for (size_t i = 0; i < ST_COUNT(numbers); i++) {
        if (i == 3) {
            continue; /* 1234.5 is a tie of rounding, left to the C library */
        }
        assert_string_equal(
            st_number(text, sizeof text, numbers[i].value, numbers[i].like),
            numbers[i].text);
    }
}

/* ---- pages ---- */

struct demo_params {
    uint64_t size;
    uint32_t stores;
    bool check;
};

static const char *const demo_stores[] = {"ordinary", "nontemporal", NULL};
static const struct st_param demo_param_rows[] = {
    ST_PARAM_BYTES_AUTO(demo_params, size, "auto", 1, 1e12, "bytes of one array"),
    ST_PARAM_SET(demo_params, stores, demo_stores, "all", "kinds of store"),
    ST_PARAM_BOOL(demo_params, check, "yes", "compare the result"),
};
static const struct st_metric demo_metrics[] = {
    {"triad", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 0, "STREAM bytes per second"},
    {"time", "s", ST_LOWER, ST_NODE, ST_FROM_TIME, 0, "one sweep"},
};
static const struct st_bench demo = {.name = "demo",
                                     .summary =
                                         "sustained memory bandwidth of a node, as a "
                                         "sentence long enough to need two lines",
                                     .source = "J. D. McCalpin, 1995",
                                     .min_ranks = 2,
                                     .rank_divisor = 2,
                                     .needs = ST_NEEDS_TWO_NODES,
                                     ST_TABLES(demo_param_rows, demo_metrics)};

static void benchmark_pages(void **state)
{
    static const char *const parts[] = {
        "demo\n",
        "source: J. D. McCalpin, 1995",
        "needs:  at least 2 ranks; ranks a multiple of 2; two nodes",
        "size       auto     bytes of one array (1B to 1e+12B, or auto)",
        "stores     all      kinds of store (any of: ordinary, nontemporal; or all)",
        "check      yes      compare the result (yes or no)",
        "triad   byte s-1  higher  node  STREAM bytes per second",
    };
    const struct st_bench *const list[] = {&demo};
    const struct st_registry registry = {.n = 1, .benches = list};
    struct output out;

    (void)state;
    st_show_describe(open_output(&out), (struct st_style){.columns = 100}, &demo);
    close_output(&out);
    for (size_t i = 0; i < ST_COUNT(parts); i++) {
        assert_has(out.text, parts[i]);
    }
    assert_lines_fit(out.text, 100);
    free(out.text);
    st_show_list(open_output(&out), false, &registry);
    close_output(&out);
    assert_has(out.text, "demo       sustained memory bandwidth");
    assert_lines_fit(out.text, 80);
    free(out.text);
    st_show_list(open_output(&out), true, &registry);
    close_output(&out);
    assert_has(out.text, "\"choices\": [");
    assert_has(out.text, "\"needs_two_nodes\": true");
    FILE *python = popen("python3 -m json.tool > /dev/null", "w");
    assert_non_null(python);
    assert_true(fputs(out.text, python) >= 0);
    assert_int_equal(pclose(python), 0);
    free(out.text);
}

static void plan_page(void **state)
{
    static const char *const parts[] = {
        "campaign quick: 2 steps\n",
        "step 1/2  stream:stores=nontemporal  (required)",
        "4 ranks on 1 node x 2 threads, 3 such groups at the same time",
        "256.0 MiB per rank, 1.0 GiB on the busiest node",
        "5 to 50, until the 95 % interval is within 2 % of the median",
        "at most 5.0 s of measuring, deadline 100 s", /* 50 repetitions of 0.1 s */
        "triad at_least: 80% of peak",
        "cache_affected",
        "at most 10 s of measuring, deadline 100 s", /* unknown: the budget */
        "2 ranks on 2 nodes x 1 thread; oversubscribed, will not be\n",
        "in total at most 15 s of measuring; most memory per rank 256.0",
    };
    struct st_criterion criterion = {.metric_row = 0, .text = "at_least: 80% of peak"};
    struct st_step steps[2] = {
        {.name = "stream:stores=nontemporal",
         .bench = &demo,
         .repeat = {5, 50, 0.95, 0.02, 10, 1e-3, 100},
         .n_criteria = 1,
         .criteria = &criterion,
         .required = true},
        {.name = "pairs", .bench = &demo, .repeat = {5, 50, 0.95, 0.02, 10, 1e-3, 100}}};
    struct st_plan plan = {.campaign = "quick", .n_steps = 2, .steps = steps};
    const struct st_shape shapes[2] = {{.n_groups = 3,
                                        .n_nodes = 1,
                                        .n_ranks = 4,
                                        .max_ranks_per_node = 4,
                                        .max_threads = 2},
                                       {.n_groups = 1,
                                        .n_nodes = 2,
                                        .n_ranks = 2,
                                        .max_ranks_per_node = 1,
                                        .max_threads = 1,
                                        .oversubscribed = true}};
    const struct st_need needs[2] = {{.bytes_per_rank = 256U << 20,
                                      .seconds_per_repetition = 0.1,
                                      .notes = "cache_affected: small"},
                                     {.bytes_per_rank = 1000}};
    struct output out;

    (void)state;
    st_show_plan(open_output(&out), &plan, shapes, needs);
    close_output(&out);
    assert_lines_fit(out.text, 80);
    for (size_t i = 0; i < ST_COUNT(parts); i++) {
        assert_has(out.text, parts[i]);
    }
    free(out.text);
}

/* ---- progress and terminals ---- */

static void drive(FILE *stream, struct st_style style)
{
    struct st_progress *progress = NULL;
    struct st_error err = {0};
    const struct st_step step = {.name = "stream:stores=nontemporal"};
    struct st_step_outcome outcome = {
        .state = ST_STEP_COMPLETE, .n_repetitions = 13, .converged = true, .wall_s = 3.4};

    assert_int_equal(st_progress_create(stream, style, &progress, &err), ST_OK);
    const struct st_listener *l = st_progress_listener(progress);
    l->step_begin(l->context, 2, 7, &step);
    l->repetition(l->context, 12, 50, 3.2, 10.0);
    l->repetition(l->context, 13, 50, 3.21, 10.0); /* too soon: not rewritten */
    l->step_end(l->context, &step, &outcome);
    l->step_begin(l->context, 3, 7, &step);
    outcome =
        (struct st_step_outcome){.state = ST_STEP_FAILED, .reason = "disk\x1b full"};
    l->step_end(l->context, &step, &outcome);
    st_progress_destroy(&progress);
    assert_null(progress);
    st_progress_destroy(&progress);
}

static void progress_in_a_log(void **state)
{
    struct output out;

    (void)state;
    drive(open_output(&out), (struct st_style){.columns = 80});
    close_output(&out);
    assert_has(out.text, "step 3/7 stream:stores=nontemporal begins: ");
    assert_has(out.text,
               "step 3/7 stream:stores=nontemporal complete, 12 repetitions in 3.4 s\n");
    assert_has(out.text, "step 4/7 stream:stores=nontemporal failed: disk? full\n");
    assert_has_not(out.text, "rep 12/50");
    assert_has_not(out.text, "\r");
    assert_has_not(out.text, "\x1b");
    free(out.text);
}

static void progress_on_a_terminal(void **state)
{
    struct output out;

    (void)state;
    drive(open_output(&out), (struct st_style){.terminal = true, .columns = 90});
    close_output(&out);
    assert_has(out.text,
               "step 3/7 stream:stores=nontemporal  rep 12/50  3.2 s of 10 s, 7 s left "
               "at most\r\x1b[K");
    assert_has_not(out.text, "rep 13/50");
    assert_has(
        out.text,
        "\r\x1b[Kstep 3/7 stream:stores=nontemporal complete, 12 repetitions in 3.4 s\n");
    free(out.text);
    drive(open_output(&out), (struct st_style){.terminal = true, .columns = 40});
    close_output(&out);
    assert_has(out.text,
               "step 3/7 stream:stores=nontemporal  rep\r"); /* 39 columns, no scroll */
    free(out.text);
}

static void style_of_streams(void **state)
{
    static const struct {
        const char *term, *no_colour;
        unsigned short columns;
        bool terminal, colour;
        size_t shown;
    } rows[] = {
        {"xterm", NULL, 100, true, true, 100}, {"xterm", "", 100, true, true, 100},
        {"xterm", "1", 100, true, false, 100}, {"dumb", NULL, 100, false, false, 100},
        {"xterm", NULL, 10, true, true, 40},   {"xterm", NULL, 500, true, true, 160},
        {"xterm", NULL, 0, true, true, 80},
    };
    struct output out;

    (void)state;
    struct st_style style = st_style_of(open_output(&out));
    assert_true(!style.terminal && !style.colour && style.columns == 80);
    close_output(&out);
    free(out.text);

    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *slave = fopen(ptsname(master), "w");
    assert_non_null(slave);
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct winsize window = {.ws_col = rows[i].columns, .ws_row = 24};
        assert_int_equal(ioctl(master, TIOCSWINSZ, &window), 0);
        assert_int_equal(setenv("TERM", rows[i].term, 1), 0);
        if (rows[i].no_colour != NULL) {
            assert_int_equal(setenv("NO_COLOR", rows[i].no_colour, 1), 0);
        } else {
            assert_int_equal(unsetenv("NO_COLOR"), 0);
        }
        style = st_style_of(slave);
        assert_int_equal(style.terminal, rows[i].terminal);
        assert_int_equal(style.colour, rows[i].colour);
        assert_int_equal(style.columns, rows[i].shown);
    }
    (void)fclose(slave);
    (void)close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_says_all_there_is),
        cmocka_unit_test(report_colours_outcomes_only_if_asked),
        cmocka_unit_test(report_warns_before_figures),
        cmocka_unit_test(an_empty_file_has_a_report),
        cmocka_unit_test(stable_lines),
        cmocka_unit_test(wrapping),
        cmocka_unit_test(tables_align),
        cmocka_unit_test(durations_and_numbers),
        cmocka_unit_test(benchmark_pages),
        cmocka_unit_test(plan_page),
        cmocka_unit_test(progress_in_a_log),
        cmocka_unit_test(progress_on_a_terminal),
        cmocka_unit_test(style_of_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
