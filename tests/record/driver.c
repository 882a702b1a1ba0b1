#include "tests/record/fixture.h"
#include "tests/record/page.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * The record folder as a program, for tests that need one: other readers, killed and starved
 * writers, and timing.
 *   driver write FILE N      a complete file with N steps, one of them skipped, one failed
 *   driver append FILE N     as many complete steps, each told on stdout when it is safe
 *   driver resume FILE N     the same for the steps that are missing
 *   driver read FILE         read everything
 *   driver large FILE NODES REPETITIONS   one big step, timed
 *   driver page              the tables of docs/FORMAT.md
 * Exit status: 0, or the status code of the failure; its text goes to stderr.
 */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Twice: the second time replaces the first. */
static enum st_status write_verdicts(struct st_results *results, struct st_error *err)
{
    static const struct st_verdict_line lines[] = {
        {.step = 0,
         .metric = "latency",
         .place = "all",
         .statistic = "median",
         .outcome = "pass",
         .text = "well below",
         .unit = "s",
         .value = 1e-6,
         .low = 0.9e-6,
         .high = 1.1e-6,
         .bound = 2e-6,
         .n = 12},
        {.step = 3,
         .metric = "rate",
         .place = "node1",
         .outcome = "not judged",
         .text = "no samples",
         .value = (double)NAN,
         .low = (double)NAN,
         .high = (double)NAN,
         .bound = 1e9},
    };
    enum st_status rc = st_results_verdicts(results, 1, lines, "pass", 0, err);

    return rc == ST_OK ? st_results_verdicts(results, 2, lines, "fail", 1, err) : rc;
}

static enum st_status add_steps(struct fixture *f, const char *path, bool resume,
                                bool mixed, struct st_error *err)
{
    bool *finished = st_calloc(err, f->plan.n_steps, sizeof *finished);
    struct st_results *results = NULL;
    enum st_status rc =
        st_results_create(path, &f->info, resume, finished, &results, err);

    for (size_t i = 0; rc == ST_OK && i < f->plan.n_steps; i++) {
        const enum st_step_state state = mixed && i % 3 == 1   ? ST_STEP_SKIPPED
                                         : mixed && i % 3 == 2 ? ST_STEP_FAILED
                                                               : ST_STEP_COMPLETE;
        if (finished[i]) {
            continue;
        }
        rc = fixture_step(f, st_results_sink(results), i, state, err);
        if (rc == ST_OK) {
            printf("step %zu\n", i);
            fflush(stdout);
        }
    }
    if (rc == ST_OK && mixed) {
        rc = write_verdicts(results, err);
    }
    if (rc == ST_OK) {
        rc = st_results_finish(results, "complete", "", err);
    }
    st_results_close(&results);
    st_free(finished);
    return rc;
}

static enum st_status read_all(const char *path, struct st_error *err)
{
    struct st_file *file = NULL;
    size_t n_samples = 0;
    enum st_status rc = st_file_open(path, &file, err);

    for (size_t s = 0; rc == ST_OK && s < file->n_steps; s++) {
        for (size_t m = 0; rc == ST_OK && m < file->steps[s].n_metrics; m++) {
            for (size_t p = 0; rc == ST_OK && p < file->steps[s].metrics[m].n_places;
                 p++) {
                double *values = NULL;
                size_t n = 0;
                rc = st_file_samples(file, s, m, p, &n, &values, err);
                n_samples += n;
                st_free(values);
            }
        }
    }
    if (rc == ST_OK) {
        printf("status %s, %zu steps, %zu valid samples\n", file->status, file->n_steps,
               n_samples);
    }
    st_file_close(&file);
    return rc;
}

static void print_peak_memory(void)
{
    struct st_error err = {0};
    char *text = st_read_file(&err, "/proc/self/status", 1 << 16, NULL);
    const char *line = text != NULL ? strstr(text, "VmHWM:") : NULL;

    if (line != NULL) {
        printf("%.*s\n", (int)strcspn(line, "\n"), line);
    }
    st_free(text);
}

static enum st_status write_large(const char *path, size_t nodes, size_t repetitions,
                                  struct st_error *err)
{
    struct fixture f;
    double start = seconds();
    enum st_status rc = ST_OK;

    fixture_init(&f, 1);
    fixture_widen(&f, nodes);
    f.n_repetitions = repetitions;
    print_peak_memory();
    rc = add_steps(&f, path, false, false, err);
    printf("written in %.2f s\n", seconds() - start);
    print_peak_memory();
    fixture_clear(&f);
    start = seconds();
    if (rc == ST_OK) {
        rc = read_all(path, err);
    }
    printf("read in %.2f s\n", seconds() - start);
    print_peak_memory();
    return rc;
}

static void print_page(void)
{
    struct st_text page = {0};

    page_tables(&page);
    fputs(st_text_get(&page), stdout);
    st_text_clear(&page);
}

static int finish(enum st_status rc, const struct st_error *err)
{
    if (rc != ST_OK) {
        fprintf(stderr, "%s\n", err->text);
    }
    return (int)rc;
}

int main(int argc, char **argv)
{
    const char *const mode = argc > 1 ? argv[1] : "";
    struct st_error err = {0};
    struct fixture f;
    uint64_t n = 0;
    uint64_t more = 0;
    enum st_status rc = ST_OK;

    signal(SIGXFSZ,
           SIG_IGN); /* as the program does: a file size limit is an error, not death */
    if (strcmp(mode, "page") == 0) {
        print_page();
        return 0;
    }
    if (strcmp(mode, "read") == 0 && argc == 3) {
        return finish(read_all(argv[2], &err), &err);
    }
    if (argc < 4 || !st_parse_u64(argv[3], &n)) {
        fprintf(stderr, "driver write|append|resume|read|large|page …\n");
        return (int)ST_ERR_USAGE;
    }
    if (strcmp(mode, "large") == 0 && argc == 5 && st_parse_u64(argv[4], &more)) {
        return finish(write_large(argv[2], (size_t)n, (size_t)more, &err), &err);
    }
    fixture_init(&f, (size_t)n);
    rc = add_steps(&f, argv[2], strcmp(mode, "resume") == 0, strcmp(mode, "write") == 0,
                   &err);
    fixture_clear(&f);
    return finish(rc, &err);
}
