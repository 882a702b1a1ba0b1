#include "tests/record/fixture.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/record/results.h"

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

/* What goes in comes out; files that exist, resumed campaigns, and what they refuse. */

struct scene {
    char folder[64];
    char path[128];
    struct fixture f;
};

static int set_up(void **state)
{
    struct scene *s = st_calloc(NULL, 1, sizeof *s);

    snprintf(s->folder, sizeof s->folder, "/tmp/test_record_XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/out.h5", s->folder);
    fixture_init(&s->f, 4);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    fixture_clear(&s->f);
    unlink(s->path);
    assert_int_equal(rmdir(s->folder), 0); /* no temporary file may be left */
    st_free(s);
    return 0;
}

/* Steps 0 … n-1: complete, except those in the bit masks. */
static void write_steps(struct scene *s, size_t n, unsigned skipped, unsigned failed)
{
    struct st_error err = {0};
    struct st_results *r = NULL;

    assert_int_equal(st_results_create(s->path, &s->f.info, false, NULL, &r, &err),
                     ST_OK);
    for (size_t i = 0; i < n; i++) {
        const enum st_step_state state = (skipped >> i & 1U) != 0  ? ST_STEP_SKIPPED
                                         : (failed >> i & 1U) != 0 ? ST_STEP_FAILED
                                                                   : ST_STEP_COMPLETE;
        assert_int_equal(fixture_step(&s->f, st_results_sink(r), i, state, &err), ST_OK);
    }
    assert_true(st_results_write_s(r) > 0.0);
    st_results_close(&r);
    assert_null(r);
}

static struct st_file *open_file(const struct scene *s)
{
    struct st_error err = {0};
    struct st_file *file = NULL;

    if (st_file_open(s->path, &file, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

static void check_samples(const struct st_file *file, size_t step, size_t metric,
                          size_t row)
{
    struct st_error err = {0};
    const struct st_file_metric *m = &file->steps[step].metrics[metric];

    for (size_t p = 0; p < m->n_places; p++) {
        double *values = NULL;
        size_t n = 0;
        size_t k = 0;
        assert_int_equal(st_file_samples(file, step, metric, p, &n, &values, &err),
                         ST_OK);
        for (size_t r = 0; r < FIXTURE_REPETITIONS; r++) {
            if (fixture_validity(p, r) == ST_VALID) {
                assert_true(k < n);
                assert_true(values[k] == fixture_value(step, row, p, r));
                k++;
            }
        }
        assert_int_equal(k, n);
        assert_int_equal(m->summary[p].n, n);
        st_free(values);
    }
}

static void header_survives(void **state)
{
    struct scene *s = *state;
    struct st_file *file = NULL;

    write_steps(s, 1, 0, 0);
    file = open_file(s);
    assert_int_equal(file->format, 1);
    assert_string_equal(file->campaign, "fixture \xc3\xa9t\xc3\xa9");
    assert_string_equal(file->status, "running"); /* never finished */
    assert_string_equal(file->command, "seatrial run 'my config.yaml'");
    assert_string_equal(file->mpi_library, "Some MPI 1.0");
    assert_string_equal(file->version, "seatrial 0.1.0");
    assert_int_equal(file->n_ranks, 4);
    assert_int_equal(file->n_nodes, 2);
    assert_string_equal(file->nodes[1].host, "node2");
    assert_int_equal(file->nodes[1].topology_class, 1);
    assert_int_equal(file->nodes[0].memory_bytes, (uint64_t)8 << 30);
    assert_int_equal(file->n_steps_planned, 4);
    assert_int_equal(file->n_steps, 1);
    assert_true(file->start_up_s == 0.5);
    st_file_close(&file);
    assert_null(file);
}

static void check_step(const struct st_file_step *step, size_t number)
{
    char name[32];

    snprintf(name, sizeof name, "fixture:n=%zu", number);
    assert_int_equal(step->number, number);
    assert_string_equal(step->name, name);
    assert_string_equal(step->benchmark, "fixture");
    assert_true(step->converged && step->placement_proved && !step->oversubscribed);
    assert_true(step->confidence == 0.95 && step->width == 0.02);
    assert_true(step->clock_error_s == 1e-7 && step->wall_s == 2.5);
    assert_true(step->phase_s[ST_PHASE_MEASURED] == 1.5);
    assert_int_equal(step->check_n, 100);
    assert_string_equal(step->notes, "cache_affected: no");
    assert_int_equal(step->n_metrics, FIXTURE_METRICS - 1);
    assert_int_equal(step->n_criteria, 1);
    assert_string_equal(step->metrics[step->criteria[0].metric].name, "latency");
    assert_string_equal(step->criteria[0].criterion.text, "at_most: 2us");
    assert_int_equal(step->criteria[0].criterion.kind, ST_AT_MOST);
    assert_true(step->criteria[0].criterion.bound == 2e-6);
    assert_true(isnan(step->criteria[0].criterion.reference));
    assert_int_equal(step->criteria[0].criterion.line, 12);
}

static void steps_survive_in_both_orders_of_blocks(void **state)
{
    struct scene *s = *state;
    struct st_file *file = NULL;

    for (int at_once = 0; at_once < 2; at_once++) {
        s->f.all_at_once = at_once == 1;
        write_steps(s, 4, 0, 0);
        file = open_file(s);
        assert_int_equal(file->n_steps, 4);
        for (size_t i = 0; i < 4; i++) {
            static const size_t rows[] = {0, 1, 2, 4, 5, 6, 7};
            check_step(&file->steps[i], i);
            for (size_t m = 0; m < ST_COUNT(rows); m++) {
                check_samples(file, i, m, rows[m]);
            }
        }
        st_file_close(&file);
        unlink(s->path);
    }
}

static void metrics_places_and_parameters_survive(void **state)
{
    static const struct {
        const char *name, *value;
    } params[] = {{"n", "20"},       {"size", "67108864 byte"}, {"automatic", "auto"},
                  {"ratio", "0.25"}, {"flag", "yes"},           {"choice", "nontemporal"},
                  {"set", NULL},     {"name", "matrix.mtx"}};
    struct scene *s = *state;
    struct st_file *file = NULL;
    const struct st_file_step *step = NULL;

    write_steps(s, 1, 0, 0);
    file = open_file(s);
    step = &file->steps[0];
    assert_int_equal(step->n_params, ST_COUNT(params));
    for (size_t i = 0; i < ST_COUNT(params); i++) {
        assert_string_equal(step->params[i].name, params[i].name);
        if (params[i].value != NULL) {
            assert_string_equal(step->params[i].value, params[i].value);
        }
    }
    assert_string_equal(step->metrics[1].unit, "byte s-1");
    assert_int_equal(step->metrics[1].better, ST_HIGHER);
    assert_int_equal(step->metrics[1].origin, ST_FROM_WORK);
    assert_int_equal(step->metrics[1].n_repetitions, FIXTURE_REPETITIONS);
    assert_string_equal(step->metrics[0].places[0].label, "job");
    assert_true(step->metrics[0].places[0].node == SIZE_MAX);
    assert_string_equal(step->metrics[1].places[1].label, "node2");
    assert_string_equal(step->metrics[2].places[3].label, "rank 3 (node2)");
    assert_string_equal(step->metrics[3].places[0].label, "rank 0 -> rank 1 (node1)");
    assert_string_equal(step->metrics[3].places[1].label,
                        "rank 0 -> rank 2 (node1 -> node2)");
    assert_int_equal(step->metrics[3].places[1].node_b, 1);
    assert_string_equal(step->metrics[4].places[1].label,
                        "node1: CPUs of NUMA 0, memory of NUMA 1");
    assert_true(isnan(step->metrics[1].places[0].value));
    assert_true(step->metrics[5].places[1].value == 65536.0);
    assert_string_equal(step->metrics[5].places[1].value_name, "size");
    assert_string_equal(step->metrics[5].places[1].value_unit, "byte");
    assert_string_equal(step->metrics[5].places[1].label,
                        "size 64.00 KiB, rank 0 (node1)");
    st_file_close(&file);
}

/* Recipe: sorted valid values of place 0 are base + {0,1,1,1,2,2,2,3,3,4,4,4}/64 (the 12
 * repetitions give 7r mod 5 = 2,4,1,3,0,2,4,1,3,0,2,4). */
static void summary_is_of_the_valid_samples(void **state)
{
    struct scene *s = *state;
    struct st_file *file = NULL;
    const struct st_summary *sum = NULL;

    write_steps(s, 1, 0, 0);
    file = open_file(s);
    sum = &file->steps[0].metrics[0].summary[0];
    assert_int_equal(sum->n, 12);
    assert_true(sum->min == 1000.0 && sum->max == 1000.0 + 4.0 / 64.0);
    assert_true(sum->median == 1000.0 + 2.0 / 64.0);
    assert_true(sum->best == sum->min); /* a time: lower is better */
    assert_true(isnan(sum->p99));
    assert_int_equal(file->steps[0].metrics[1].summary[1].n, 11); /* one late start */
    assert_true(file->steps[0].metrics[1].summary[1].best == 1101.0 + 4.0 / 64.0);
    st_file_close(&file);
}

static void states_survive(void **state)
{
    struct scene *s = *state;
    struct st_file *file = NULL;

    write_steps(s, 3, 2, 4);
    file = open_file(s);
    assert_int_equal(file->n_steps, 3);
    assert_int_equal(file->steps[0].state, ST_STEP_COMPLETE);
    assert_string_equal(file->steps[0].reason, "");
    assert_int_equal(file->steps[1].state, ST_STEP_SKIPPED);
    assert_string_equal(file->steps[1].reason, "made to be so");
    assert_int_equal(file->steps[1].metrics[0].n_places, 0);
    assert_int_equal(file->steps[1].n_criteria,
                     1); /* what was asked is known all the same */
    assert_int_equal(file->steps[2].state, ST_STEP_FAILED);
    assert_int_equal(file->steps[2].metrics[0].n_places, 1); /* numbers kept */
    st_file_close(&file);
}

static void finish_sets_the_status(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    struct st_file *file = NULL;

    assert_int_equal(st_results_create(s->path, &s->f.info, false, NULL, &r, &err),
                     ST_OK);
    assert_int_equal(st_results_finish(r, "interrupted", "SIGTERM arrived", &err), ST_OK);
    st_results_close(&r);
    file = open_file(s);
    assert_string_equal(file->status, "interrupted");
    assert_string_equal(file->reason, "SIGTERM arrived");
    assert_int_equal(file->n_steps, 0);
    st_file_close(&file);
}

/* Begin without end, as when a deadline passes while samples are gathered. */
static void open_step_does_not_get_in(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    struct st_file *file = NULL;
    const struct st_sink *sink = NULL;

    assert_int_equal(st_results_create(s->path, &s->f.info, false, NULL, &r, &err),
                     ST_OK);
    sink = st_results_sink(r);
    assert_int_equal(fixture_step(&s->f, sink, 0, ST_STEP_COMPLETE, &err), ST_OK);
    assert_int_equal(sink->begin(sink->context, &s->f.report, &err), ST_OK);
    assert_int_equal(st_results_finish(r, "interrupted", "deadline", &err), ST_OK);
    assert_int_equal(sink->end(sink->context, &err), ST_ERR_IO);
    st_results_close(&r);
    file = open_file(s);
    assert_int_equal(file->n_steps, 1);
    assert_string_equal(file->status, "interrupted");
    st_file_close(&file);
}

static void blocks_that_do_not_belong_are_refused(void **state)
{
    static const double values[FIXTURE_REPETITIONS * 3];
    static const int8_t validity[FIXTURE_REPETITIONS * 3];
    static const struct st_block wrong[] = {
        {3, 0, 0, 1, FIXTURE_REPETITIONS, values, validity}, /* does not apply */
        {8, 0, 0, 1, FIXTURE_REPETITIONS, values, validity}, /* no such row */
        {1, 0, 1, 2, FIXTURE_REPETITIONS, values, validity}, /* one place too many */
        {1, 0, SIZE_MAX, 2, FIXTURE_REPETITIONS, values, validity}, /* would wrap */
        {1, 0, 0, 1, FIXTURE_REPETITIONS - 1, values, validity},    /* other length */
    };
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    const struct st_sink *sink = NULL;

    assert_int_equal(st_results_create(s->path, &s->f.info, false, NULL, &r, &err),
                     ST_OK);
    sink = st_results_sink(r);
    assert_int_equal(fixture_step(&s->f, sink, 0, ST_STEP_COMPLETE, &err), ST_OK);
    for (size_t i = 0; i < ST_COUNT(wrong); i++) {
        assert_int_equal(sink->begin(sink->context, &s->f.report, &err), ST_OK);
        assert_int_equal(sink->block(sink->context, &wrong[i], &err), ST_ERR_INTERNAL);
        assert_int_equal(sink->end(sink->context, &err), ST_ERR_IO);
    }
    st_results_close(&r);
}

static void existing_file_is_kept(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    FILE *file = fopen(s->path, "w");
    struct stat info;

    fputs("precious", file);
    fclose(file);
    assert_int_equal(st_results_create(s->path, &s->f.info, false, NULL, &r, &err),
                     ST_ERR_IO);
    assert_null(r);
    assert_non_null(strstr(err.text, "never overwritten"));
    assert_non_null(strstr(err.text, s->path));
    assert_int_equal(stat(s->path, &info), 0);
    assert_int_equal(info.st_size, 8);
}

static void wrong_folders_are_told_at_once(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    char path[256];

    snprintf(path, sizeof path, "%s/none/out.h5", s->folder);
    assert_int_equal(st_results_create(path, &s->f.info, false, NULL, &r, &err),
                     ST_ERR_IO);
    assert_non_null(strstr(err.text, "No such file or directory"));
    assert_int_equal(st_results_create("", &s->f.info, false, NULL, &r, &err), ST_ERR_IO);
    assert_int_equal(st_results_create("/proc/out.h5", &s->f.info, false, NULL, &r, &err),
                     ST_ERR_IO);
}

/* Mode by umask at first; a mode set later stays through the replacements. */
static void mode_follows_umask_and_stays(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    struct stat info;
    const mode_t before = umask(027);

    assert_int_equal(st_results_create(s->path, &s->f.info, false, NULL, &r, &err),
                     ST_OK);
    umask(before);
    assert_int_equal(stat(s->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(chmod(s->path, 0600), 0);
    assert_int_equal(fixture_step(&s->f, st_results_sink(r), 0, ST_STEP_COMPLETE, &err),
                     ST_OK);
    assert_int_equal(stat(s->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    st_results_close(&r);
}

static void resume_goes_on(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    struct st_file *file = NULL;
    bool finished[4] = {false, false, false, true};

    write_steps(s, 3, 2, 4); /* complete, skipped, failed, missing */
    finished[3] = false;
    assert_int_equal(st_results_create(s->path, &s->f.info, true, finished, &r, &err),
                     ST_OK);
    assert_true(finished[0] && !finished[1] && !finished[2] && !finished[3]);
    file = open_file(s);
    assert_int_equal(file->n_steps, 1); /* the unfinished ones are out already */
    st_file_close(&file);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(
            fixture_step(&s->f, st_results_sink(r), i, ST_STEP_COMPLETE, &err), ST_OK);
    }
    assert_int_equal(st_results_finish(r, "complete", "", &err), ST_OK);
    st_results_close(&r);
    file = open_file(s);
    assert_int_equal(file->n_steps, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(file->steps[i].state, ST_STEP_COMPLETE);
        check_samples(file, i, 1, 1);
    }
    st_file_close(&file);
    assert_int_equal(st_results_create(s->path, &s->f.info, true, finished, &r, &err),
                     ST_OK);
    assert_true(finished[0] && finished[1] && finished[2] && finished[3]);
    st_results_close(&r);
}

static void resume_through_a_link_keeps_the_link(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    bool finished[4] = {false};
    char link_path[160];
    struct stat info;

    write_steps(s, 1, 0, 0);
    snprintf(link_path, sizeof link_path, "%s/link.h5", s->folder);
    assert_int_equal(symlink("out.h5", link_path), 0);
    assert_int_equal(st_results_create(link_path, &s->f.info, true, finished, &r, &err),
                     ST_OK);
    st_results_close(&r);
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    unlink(link_path);
}

static void expect_no_resume(struct scene *s, enum st_status want, const char *text)
{
    struct st_error err = {0};
    struct st_results *r = NULL;
    bool finished[8] = {false};

    assert_int_equal(st_results_create(s->path, &s->f.info, true, finished, &r, &err),
                     want);
    assert_null(r);
    if (strstr(err.text, text) == NULL) {
        fail_msg("'%s' is not in: %s", text, err.text);
    }
}

static void resume_of_something_else_is_refused(void **state)
{
    struct scene *s = *state;
    char *const config = s->f.plan.config_text;
    char *const overrides = s->f.plan.overrides;

    expect_no_resume(s, ST_ERR_IO, "No such file");
    write_steps(s, 2, 0, 0);
    s->f.plan.config_text = (char *)(uintptr_t) "campaign: fixture\nsteps: []\n";
    expect_no_resume(s, ST_ERR_CONFIG, "line 2: it was 'steps:' and is now 'steps: []'");
    s->f.plan.config_text = (char *)(uintptr_t) "campaign: fixture\nsteps:\n";
    expect_no_resume(s, ST_ERR_CONFIG,
                     "line 3: it was '  - benchmark: fixture' and is now ''");
    s->f.plan.config_text = config;
    s->f.plan.overrides = (char *)(uintptr_t) "";
    expect_no_resume(s, ST_ERR_CONFIG, "--set");
    s->f.plan.overrides = overrides;
    s->f.plan.n_steps = 3;
    expect_no_resume(s, ST_ERR_CONFIG, "planned with 4 steps, now there are 3");
    s->f.plan.n_steps = 4;
    s->f.plan.steps[1].name[0] = 'X';
    expect_no_resume(s, ST_ERR_CONFIG, "not the plan's");
    s->f.plan.steps[1].name[0] = 'f';
    s->f.machine.nodes[1].host[0] = 'X';
    expect_no_resume(s, ST_ERR_CONFIG, "'node2' and is now 'Xode2'");
    expect_no_resume(s, ST_ERR_CONFIG, "`seatrial merge STUDY.h5 ");
    s->f.machine.nodes[1].host[0] = 'n';
    s->f.machine.world.n_ranks = 3;
    expect_no_resume(s, ST_ERR_CONFIG, "4 ranks on 2 nodes");
    s->f.machine.world.n_ranks = 4;
}

static void secrets_stay_out(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    size_t n = 0;
    char *bytes = NULL;

    setenv("GITHUB_TOKEN", "hunter2secret", 1);
    setenv("SLURM_JWT", "hunter2secret", 1);
    setenv("OMPI_MCA_x_secret", "hunter2secret", 1);
    setenv("OMP_NUM_THREADS", "visible_value", 1);
    write_steps(s, 1, 0, 0);
    unsetenv("OMP_NUM_THREADS");
    bytes = st_read_file(&err, s->path, (size_t)64 << 20, &n);
    assert_non_null(bytes);
    assert_null(memmem(bytes, n, "hunter2secret", 13));
    assert_non_null(memmem(bytes, n, "visible_value", 13));
    st_free(bytes);
}

static void text_that_is_not_utf8_is_mended(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {{"plain", "plain"},
                {"\xc3\xa9", "\xc3\xa9"},
                {"a\xff"
                 "b",
                 "a?b"},
                {"\xc0\xaf", "??"},           /* overlong */
                {"\xed\xa0\x80", "???"},      /* surrogate */
                {"\xf5\x80\x80\x80", "????"}, /* beyond U+10FFFF */
                {"\xe2\x82", "??"}};          /* cut */

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char out[16];
        st_h5_put_text(out, strlen(rows[i].in) + 1, rows[i].in);
        assert_string_equal(out, rows[i].out);
    }
    char small[3]; /* room for one whole character, not for half of the second */
    st_h5_put_text(small, sizeof small, "a\xc3\xa9");
    assert_string_equal(small, "a");
}

static void every_allocation_may_fail(void **state)
{
    struct scene *s = *state;
    struct st_error err = {0};
    struct st_results *r = NULL;
    struct st_file *file = NULL;
    enum st_status rc = ST_ERR_MEMORY;
    uint64_t n = 0;

    write_steps(s, 1, 0, 0);
    for (n = 1; rc != ST_OK; n++) { /* reading */
        st_mem_fail_at(n);
        rc = st_file_open(s->path, &file, &err);
        st_mem_fail_at(0);
        assert_true(rc == ST_OK || rc == ST_ERR_MEMORY || rc == ST_ERR_IO);
    }
    assert_true(n > 10);
    st_file_close(&file);
    unlink(s->path);
    rc = ST_ERR_MEMORY;
    for (n = 1; rc != ST_OK; n++) { /* creating */
        st_mem_fail_at(n);
        rc = st_results_create(s->path, &s->f.info, false, NULL, &r, &err);
        st_mem_fail_at(0);
        assert_true(rc == ST_OK || rc == ST_ERR_MEMORY || rc == ST_ERR_IO);
        assert_true(rc == ST_OK || access(s->path, F_OK) != 0);
    }
    rc = ST_ERR_MEMORY;
    for (n = 1; rc != ST_OK;
         n += 3) { /* a step: each failure leaves the file as it was */
        st_mem_fail_at(n);
        rc = fixture_step(&s->f, st_results_sink(r), 0, ST_STEP_SKIPPED, &err);
        st_mem_fail_at(0);
        if (rc != ST_OK) {
            file = open_file(s);
            assert_int_equal(file->n_steps, 0);
            st_file_close(&file);
        }
    }
    st_results_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(header_survives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_survive_in_both_orders_of_blocks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(metrics_places_and_parameters_survive, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(summary_is_of_the_valid_samples, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(states_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finish_sets_the_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_step_does_not_get_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_that_do_not_belong_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(existing_file_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_folders_are_told_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(mode_follows_umask_and_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resume_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resume_through_a_link_keeps_the_link, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(resume_of_something_else_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(secrets_stay_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_that_is_not_utf8_is_mended, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
