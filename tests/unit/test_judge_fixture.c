/*
 * Builds results files in memory. Samples hang on file->handle as a list of series, newest
 * first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_judge_fixture.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct series {
    struct series *next;
    size_t step, metric, place, n;
    double *values;
};

static void *grow(void *old, size_t n, size_t size)
{
    void *grown = st_resize(NULL, old, n, size);

    assert_non_null(grown);
    memset((char *)grown + (n - 1) * size, 0, size);
    return grown;
}

void fix_init(struct st_file *file)
{
    *file =
        (struct st_file){.format = 1, .n_ranks = 1, .wall_s = 12.5, .start_up_s = 0.8};
    file->path = st_strdup(NULL, "quick.h5");
    assert_non_null(file->path);
    (void)st_copy(file->campaign, sizeof file->campaign, "quick");
    (void)st_copy(file->status, sizeof file->status, "complete");
    (void)st_copy(file->created, sizeof file->created, "2026-01-02T03:04:05Z");
    (void)st_copy(file->version, sizeof file->version, "0.1.0");
    (void)st_copy(file->command, sizeof file->command, "seatrial run quick.yaml");
    (void)st_copy(file->mpi_library, sizeof file->mpi_library,
                  "Open MPI v4.1.4, package: x");
    fix_nodes(file, 1);
}

void fix_nodes(struct st_file *file, size_t n)
{
    st_free(file->nodes);
    file->nodes = st_calloc(NULL, n, sizeof *file->nodes);
    assert_non_null(file->nodes);
    file->n_nodes = n;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(file->nodes[i].host, sizeof file->nodes[i].host, "node%02zu", i);
        file->nodes[i].n_ranks = 1;
        file->nodes[i].n_usable_cores = 2;
        file->nodes[i].n_usable_pus = 2;
        file->nodes[i].memory_bytes = (uint64_t)8 << 30;
    }
}

void fix_clear(struct st_file *file)
{
    for (size_t s = 0; s < file->n_steps; s++) {
        struct st_file_step *step = &file->steps[s];
        for (size_t m = 0; m < step->n_metrics; m++) {
            st_free(step->metrics[m].places);
            st_free(step->metrics[m].summary);
        }
        st_free(step->metrics);
        st_free(step->criteria);
        st_free(step->params);
    }
    while (file->handle != NULL) {
        struct series *first = file->handle;
        file->handle = first->next;
        st_free(first->values);
        st_free(first);
    }
    st_free(file->steps);
    st_free(file->nodes);
    st_free(file->path);
    *file = (struct st_file){0};
}

static struct st_file_step *last_step(const struct st_file *file)
{
    return &file->steps[file->n_steps - 1];
}

struct st_file_step *fix_step(struct st_file *file, const char *name)
{
    file->n_steps++;
    file->n_steps_planned = file->n_steps;
    file->steps = grow(file->steps, file->n_steps, sizeof *file->steps);
    struct st_file_step *step = last_step(file);
    step->number = file->n_steps - 1;
    (void)st_copy(step->name, sizeof step->name, name);
    (void)st_copy(step->benchmark, sizeof step->benchmark, "stream");
    (void)st_copy(step->layout, sizeof step->layout, "nodes each, 1 rank per node");
    step->state = ST_STEP_COMPLETE;
    step->converged = true;
    step->placement_proved = true;
    step->confidence = 0.95;
    step->width = 0.02;
    step->check_n = 10;
    step->wall_s = 3.25;
    return step;
}

size_t fix_metric(struct st_file *file, const char *name, const char *unit,
                  enum st_better better, enum st_place_kind kind, size_t n_places)
{
    struct st_file_step *step = last_step(file);

    step->n_metrics++;
    step->metrics = grow(step->metrics, step->n_metrics, sizeof *step->metrics);
    struct st_file_metric *m = &step->metrics[step->n_metrics - 1];
    (void)st_copy(m->name, sizeof m->name, name);
    (void)st_copy(m->unit, sizeof m->unit, unit);
    (void)st_copy(m->help, sizeof m->help, "a figure");
    m->better = better;
    m->kind = kind;
    m->origin = ST_FROM_WORK;
    m->n_places = n_places;
    m->places = st_calloc(NULL, n_places, sizeof *m->places);
    m->summary = st_calloc(NULL, n_places, sizeof *m->summary);
    assert_true(m->places != NULL && m->summary != NULL);
    for (size_t p = 0; p < n_places; p++) {
        m->places[p].node = p;
        m->places[p].node_b = SIZE_MAX;
        m->places[p].rank = SIZE_MAX;
        m->places[p].value = (double)NAN;
        if (kind == ST_JOB && n_places == 1) {
            (void)st_copy(m->places[p].label, sizeof m->places[p].label, "job");
        } else {
            (void)snprintf(m->places[p].label, sizeof m->places[p].label, "node%02zu", p);
        }
        m->summary[p].median = (double)NAN;
    }
    return step->n_metrics - 1;
}

void fix_samples(struct st_file *file, size_t metric, size_t place, size_t n,
                 const double *values)
{
    struct st_file_step *step = last_step(file);
    struct st_file_metric *m = &step->metrics[metric];
    struct series *series = st_calloc(NULL, 1, sizeof *series);
    double *scratch = st_calloc(NULL, n, sizeof *scratch);

    assert_true(series != NULL && scratch != NULL);
    *series = (struct series){.next = file->handle,
                              .step = file->n_steps - 1,
                              .metric = metric,
                              .place = place,
                              .n = n,
                              .values = st_calloc(NULL, n, sizeof *values)};
    assert_non_null(series->values);
    memcpy(series->values, values, n * sizeof *values);
    file->handle = series;
    st_summarise(n, values, step->confidence, step->width,
                 m->better == ST_HIGHER  ? 1
                 : m->better == ST_LOWER ? -1
                                         : 0,
                 scratch, &m->summary[place]);
    m->n_repetitions = n + 1;
    st_free(scratch);
}

void fix_around(struct st_file *file, size_t metric, size_t place, double centre,
                double noise)
{
    static const double shape[] = {0.25, -1.0, 0.5, 0.0, -0.5, 1.0, -0.25};
    double values[ST_COUNT(shape)];

    for (size_t i = 0; i < ST_COUNT(shape); i++) {
        values[i] = centre * (1.0 + noise * shape[i]);
    }
    fix_samples(file, metric, place, ST_COUNT(shape), values);
}

struct st_criterion *fix_criterion(struct st_file *file, size_t metric,
                                   enum st_criterion_kind kind, double bound)
{
    struct st_file_step *step = last_step(file);

    step->n_criteria++;
    step->criteria = grow(step->criteria, step->n_criteria, sizeof *step->criteria);
    struct st_file_criterion *c = &step->criteria[step->n_criteria - 1];
    c->metric = metric;
    c->criterion = (struct st_criterion){.metric_row = metric,
                                         .kind = kind,
                                         .statistic = ST_STAT_MEDIAN,
                                         .bound = bound,
                                         .reference = (double)NAN,
                                         .confidence = 0.95,
                                         .floor = (double)NAN};
    (void)st_copy(c->criterion.text, sizeof c->criterion.text, "at_least: 396GB/s");
    return &c->criterion;
}

enum st_status fix_read(const struct st_file *file, size_t step, size_t metric,
                        size_t place, size_t *n, double **values, struct st_error *err)
{
    for (const struct series *s = file->handle; s != NULL; s = s->next) {
        if (s->step == step && s->metric == metric && s->place == place) {
            double *copy = st_calloc(err, s->n, sizeof *copy);
            if (copy == NULL) {
                return ST_ERR_MEMORY;
            }
            memcpy(copy, s->values, s->n * sizeof *copy);
            *n = s->n;
            *values = copy;
            return ST_OK;
        }
    }
    *n = 0;
    *values = NULL;
    return ST_OK;
}

struct st_verdict *fix_judge(const struct st_file *file)
{
    struct st_verdict *verdict = NULL;
    struct st_error err = {0};

    assert_int_equal(st_judge_with(file, fix_read, &verdict, &err), ST_OK);
    assert_non_null(verdict);
    return verdict;
}

struct st_criterion *fix_fleet(struct st_file *file, size_t n, const double *centre)
{
    fix_init(file);
    fix_nodes(file, n);
    (void)fix_step(file, "stream");
    (void)fix_metric(file, "triad", "byte s-1", ST_HIGHER, ST_NODE, n);
    for (size_t p = 0; p < n; p++) {
        fix_around(file, 0, p, centre[p] * 1e9, 0.001);
    }
    return fix_criterion(file, 0, ST_AT_LEAST, 396 * 1e9);
}
