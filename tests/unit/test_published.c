/*
 * The published table: every line of the shipped copy reads, and only figures measured as a
 * published one was stand beside it.
 */
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/show/published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void lines_read(void **unused)
{
    static const char quoted[] =
        "AMD EPYC 9175F,1,16,memory_latency,134.9,ns,local socket,off,,\"random reads, "
        "4 KiB pages\",,StorageReview";
    struct st_published p;

    (void)unused;
    assert_true(st_published_read(quoted, &p));
    assert_string_equal(p.system, "AMD EPYC 9175F");
    assert_string_equal(p.conditions, "random reads, 4 KiB pages");
    assert_string_equal(p.source, "StorageReview");
    assert_true(p.value > 134.89e-9 && p.value < 134.91e-9 && p.cores == 16.0);
    assert_false(st_published_read("# a comment", &p));
    assert_false(st_published_read("system,sockets,cores,metric,value,unit", &p));
    assert_false(st_published_read("", &p));
    assert_false(st_published_read("x,1,1,m,nan,GB/s,system,off,,,,s", &p));
}

static void the_shipped_table_is_sound(void **unused)
{
    size_t n = 0;
    size_t n_other = 0;

    (void)unused;
    for (size_t k = 0; st_published_lines[k] != NULL; k++) {
        struct st_published p;
        if (!st_published_read(st_published_lines[k], &p)) {
            n_other++;
            continue;
        }
        n++;
        assert_true(p.value > 0.0 && p.source[0] != '\0' && p.scope[0] != '\0');
    }
    assert_int_equal(n,
                     27); /* grep -cE ',(stream_|memory_)' data/published_systems.csv */
    assert_int_equal(n_other, 4);
}

/* A file with one finished step. */
struct bed {
    struct st_file file;
    struct st_file_step step;
    struct st_file_metric metric;
    struct st_file_place place[2];
    struct st_summary summary[2];
};

static void make(struct bed *b, const char *benchmark, const char *metric,
                 const char *const params[3][2])
{
    struct st_error err = {0};

    (void)memset(b, 0, sizeof *b);
    b->file.n_steps = 1;
    b->file.steps = &b->step;
    b->step.state = ST_STEP_COMPLETE;
    b->step.placement_proved = true;
    b->step.n_metrics = 1;
    b->step.metrics = &b->metric;
    (void)st_copy(b->step.name, sizeof b->step.name, "mine");
    (void)st_copy(b->step.benchmark, sizeof b->step.benchmark, benchmark);
    (void)st_copy(b->step.layout, sizeof b->step.layout,
                  "nodes each, 1 rank per node, all-cores threads, compact");
    b->step.params = st_calloc(&err, 3, sizeof *b->step.params);
    assert_non_null(b->step.params);
    for (; b->step.n_params < 3 && params[b->step.n_params][0] != NULL;
         b->step.n_params++) {
        const size_t k = b->step.n_params;
        (void)st_copy(b->step.params[k].name, sizeof b->step.params[k].name,
                      params[k][0]);
        (void)st_copy(b->step.params[k].value, sizeof b->step.params[k].value,
                      params[k][1]);
    }
    (void)st_copy(b->metric.name, sizeof b->metric.name, metric);
    (void)st_copy(b->metric.unit, sizeof b->metric.unit,
                  strcmp(benchmark, "stream") == 0 ? "byte s-1" : "s");
    b->metric.n_places = 2;
    b->metric.places = b->place;
    b->metric.summary = b->summary;
    b->summary[0].median = 400e9;
    b->summary[1].median = 300e9;
}

static void report(const struct bed *b, char *text, size_t size)
{
    const struct st_style style = {.columns = 200};
    FILE *out = fmemopen(text, size, "w");

    assert_non_null(out);
    text[0] = '\0';
    assert_true(st_report_published(out, style, &b->file));
    assert_int_equal(fclose(out), 0);
}

static void only_what_was_measured_alike_is_compared(void **unused)
{
    static const struct {
        const char *benchmark, *metric;
        const char *params[3][2];
        const char *found, *absent; /* NULL: no table at all */
        const char *within;         /* added to the layout */
    } rows[] = {
        {"stream",
         "triad",
         {{"memory", "local"}, {"stores", "both"}},
         "2.073 TB/s",
         "1.372",
         NULL},
        {"stream",
         "triad",
         {{"memory", "interleaved"}, {"stores", "ordinary"}},
         "1.372 TB/s",
         "2.073",
         NULL},
        {"stream",
         "triad",
         {{"memory", "local"}, {"stores", "nontemporal"}},
         NULL,
         NULL,
         NULL},
        {"stream",
         "triad",
         {{"memory", "node"}, {"stores", "ordinary"}},
         NULL,
         NULL,
         NULL},
        {"stream",
         "daxpy",
         {{"memory", "local"}, {"stores", "ordinary"}},
         NULL,
         NULL,
         NULL},
        {"latency",
         "latency",
         {{"size", "1073741824 byte"}, {"pages", "small"}, {"order", "random"}},
         "135.8 ns",
         "99.20 ns",
         NULL},
        {"latency",
         "latency",
         {{"size", "67108864 byte"}, {"pages", "small"}, {"order", "random"}},
         NULL,
         NULL,
         NULL},
        {"stream",
         "triad",
         {{"memory", "local"}, {"stores", "ordinary"}},
         "1.055 TB/s",
         "2.073",
         ", within socket 0"},
        {"stream",
         "triad",
         {{"memory", "remote"}, {"stores", "ordinary"}},
         "677.0 GB/s",
         "1.055",
         ", within socket 0"},
        {"stream",
         "triad",
         {{"memory", "local"}, {"stores", "ordinary"}},
         NULL,
         NULL,
         ", within numa 0"},
        {"latency",
         "latency",
         {{"size", "1073741824 byte"}, {"pages", "small"}, {"order", "random"}},
         NULL,
         NULL,
         ", within l3 1"},
    };
    char text[8192];

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct bed b;
        make(&b, rows[i].benchmark, rows[i].metric, rows[i].params);
        if (rows[i].within != NULL) {
            (void)strncat(b.step.layout, rows[i].within,
                          sizeof b.step.layout - strlen(b.step.layout) - 1);
        }
        report(&b, text, sizeof text);
        if (rows[i].found == NULL) {
            assert_string_equal(text, "");
        } else {
            assert_non_null(strstr(text, rows[i].found));
            assert_null(strstr(text, rows[i].absent));
            assert_non_null(strstr(text, "step mine, lowest of its places"));
            b.step.placement_proved = false;
            report(&b, text, sizeof text);
            assert_string_equal(text, "");
        }
        st_free(b.step.params);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_read),
        cmocka_unit_test(the_shipped_table_is_sound),
        cmocka_unit_test(only_what_was_measured_alike_is_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
