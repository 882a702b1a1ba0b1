#include "src/record/step.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Samples and their statistics. Values arrive as blocks of consecutive places in any order of
 * metrics, often one place at a time (each owner sends its own). Datasets therefore stay open
 * from begin to end, so that HDF5's chunk cache gathers small pieces; rows of the summary are
 * collected, sorted and written as runs of neighbours.
 */

static const char *place_prefix(enum st_place_kind kind, const char *end,
                                char out[ST_NAME_ROOM])
{
    snprintf(out, ST_NAME_ROOM, "place_%s%s", st_place_word(kind), end);
    return out;
}

/* What the getters of this file need to know. */
struct place_list {
    const struct st_results *results;
    enum st_place_kind kind;
    const struct st_step_place *places;
    bool many_groups;
    const struct st_open_step *open;
    const struct st_step_report *report;
};

static void get_place(const void *source, size_t i, void *row, char *room)
{
    const struct place_list *list = source;
    const struct st_step_place *p = &list->places[i];

    *(struct st_place_row *)row = (struct st_place_row){
        .label =
            st_place_label(list->kind, p, list->results->hosts, list->results->n_nodes,
                           list->many_groups, room, ST_ROW_ROOM),
        .group = p->group,
        .node = p->node,
        .node_b = p->node_b,
        .rank = p->rank,
        .rank_b = p->rank_b,
        .numa = p->numa,
        .numa_b = p->numa_b,
        .value = list->kind == ST_POINT ? p->value : (double)NAN,
        .value_name = list->kind == ST_POINT ? p->value_name : "",
        .value_unit = list->kind == ST_POINT ? p->value_unit : "",
    };
}

/* The metric that row i of the summary belongs to: metrics lie one after another. */
static const struct st_open_metric *metric_of_row(const struct st_open_step *open,
                                                  size_t i)
{
    size_t k = 0;

    while (i - open->metrics[k].first_row >= open->metrics[k].n_places) {
        k++;
    }
    return &open->metrics[k];
}

static void get_summary_key(const void *source, size_t i, void *row, char *room)
{
    const struct place_list *list = source;
    const struct st_open_metric *m = metric_of_row(list->open, i);
    const enum st_place_kind kind = m->metric->place;
    const size_t place = i - m->first_row;

    *(struct st_summary_row *)row = (struct st_summary_row){
        .metric = m->metric->name,
        .place_kind = st_place_word(kind),
        .label =
            st_place_label(kind, &list->report->places[kind][place], list->results->hosts,
                           list->results->n_nodes, list->many_groups, room, ST_ROW_ROOM),
        .unit = m->metric->unit,
        .place = place,
    };
}

static bool kind_in_use(const struct st_open_step *open, enum st_place_kind kind)
{
    for (size_t i = 0; i < open->n_metrics; i++) {
        if (open->metrics[i].metric->place == kind && open->metrics[i].n_places > 0) {
            return true;
        }
    }
    return false;
}

static enum st_status write_places(struct st_open_step *open, struct place_list *list,
                                   struct st_error *err)
{
    const size_t n = list->report->n_places[list->kind];
    struct st_table_writer writer = {0};
    char name[ST_NAME_ROOM];
    enum st_status rc = ST_OK;

    list->places = list->report->places[list->kind];
    rc = st_axis_create(open->samples, place_prefix(list->kind, "", name),
                        st_table_places.meaning, n, &open->places[list->kind], err);
    if (rc == ST_OK) {
        st_table_widths(&st_table_places, n, get_place, list, writer.width);
        rc = st_table_begin(open->samples, &st_table_places,
                            place_prefix(list->kind, "_", name),
                            &open->places[list->kind], &writer, err);
    }
    if (rc == ST_OK) {
        rc = st_table_fill(&writer, st_table_places.n_columns, n, get_place, list, err);
    }
    if (rc == ST_OK) {
        return st_table_end(&writer, err);
    }
    st_table_end(&writer, NULL);
    return rc;
}

static enum st_status describe_values(const struct st_open_metric *m,
                                      struct st_error *err)
{
    const struct st_metric *metric = m->metric;
    const double missing = (double)NAN;
    const int64_t section = metric->section;
    char prefix[ST_NAME_ROOM];
    char coordinates[1024]; /* six names of a bounded prefix */
    const struct {
        const char *name, *text;
    } texts[] = {
        {"units", metric->unit},
        {"long_name", metric->help != NULL ? metric->help : metric->name},
        {"better", st_better_word(metric->better)},
        {"place_kind", st_place_word(metric->place)},
        {"origin", st_origin_word(metric->origin)},
        {"coordinates", coordinates},
    };
    enum st_status rc =
        st_h5_attribute(m->values, "_FillValue", H5T_NATIVE_DOUBLE, 0, &missing, err);

    place_prefix(metric->place, "_", prefix);
    snprintf(coordinates, sizeof coordinates,
             "%slabel %sgroup %snode %snode_b %srank %srank_b", prefix, prefix, prefix,
             prefix, prefix, prefix);
    for (size_t i = 0; rc == ST_OK && i < ST_COUNT(texts); i++) {
        rc = st_h5_attribute_text(m->values, texts[i].name, texts[i].text, err);
    }
    return rc == ST_OK
               ? st_h5_attribute(m->values, "section", H5T_NATIVE_INT64, 0, &section, err)
               : rc;
}

static enum st_status describe_validity(const struct st_open_metric *m,
                                        struct st_error *err)
{
    static const int8_t codes[] = {ST_VALID,     ST_WARMUP,       ST_LATE_START,
                                   ST_CLOCK_BAD, ST_BAD_DURATION, ST_MISSING};
    enum st_status rc = st_h5_attribute(m->validity, "flag_values", H5T_NATIVE_INT8,
                                        ST_COUNT(codes), codes, err);

    if (rc == ST_OK) {
        rc = st_h5_attribute_text(
            m->validity, "flag_meanings",
            "valid warmup late_start clock_bad bad_duration missing", err);
    }
    if (rc == ST_OK) {
        rc = st_h5_attribute_text(m->validity, "units", "1", err);
    }
    return rc == ST_OK ? st_h5_attribute_text(m->validity, "long_name",
                                              st_table_samples.columns[1].meaning, err)
                       : rc;
}

static enum st_status create_metric(struct st_open_step *open, struct st_open_metric *m,
                                    struct st_error *err)
{
    static const int8_t missing_code = ST_MISSING;
    const double missing = (double)NAN;
    const struct st_h5_extent extent = {.n_dims = 2,
                                        .size = {m->n_places, open->n_repetitions}};
    struct st_axis *axes[2] = {&open->places[m->metric->place], &open->repetition};
    char name[ST_NAME_ROOM];
    enum st_status rc = ST_OK;

    m->values = st_h5_dataset(open->samples, m->metric->name, H5T_IEEE_F64LE, &extent,
                              &missing, err);
    if (m->values < 0) {
        return err->code;
    }
    snprintf(name, sizeof name, "%s_validity", m->metric->name);
    m->validity =
        st_h5_dataset(open->samples, name, H5T_STD_I8LE, &extent, &missing_code, err);
    if (m->validity < 0) {
        return err->code;
    }
    rc = describe_values(m, err);
    if (rc == ST_OK) {
        rc = describe_validity(m, err);
    }
    if (rc == ST_OK) {
        rc = st_axis_attach(m->values, 2, axes, err);
    }
    return rc == ST_OK ? st_axis_attach(m->validity, 2, axes, err) : rc;
}

static enum st_status create_summary(struct st_open_step *open,
                                     const struct place_list *list, size_t n_rows,
                                     struct st_error *err)
{
    hid_t group = st_h5_group(open->group, "summary", err);
    enum st_status rc = group >= 0 ? ST_OK : err->code;

    if (rc == ST_OK) {
        rc = st_h5_attribute_text(group, "long_name", st_table_summary.meaning, err);
    }
    if (rc == ST_OK && n_rows > 0) {
        rc = st_axis_create(group, st_table_summary.dimension, st_table_summary.meaning,
                            n_rows, &open->rows, err);
        if (rc == ST_OK) {
            st_table_widths(&st_table_summary, n_rows, get_summary_key, list,
                            open->summary.width);
            rc = st_table_begin(group, &st_table_summary, "", &open->rows, &open->summary,
                                err);
        }
        if (rc == ST_OK) {
            rc = st_table_fill(&open->summary, ST_SUMMARY_KEYS, n_rows, get_summary_key,
                               list, err);
        }
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status allocate(struct st_open_step *open, struct st_error *err)
{
    open->pending = st_calloc(err, ST_PENDING_ROWS, sizeof *open->pending);
    open->series = st_calloc(err, open->n_repetitions, sizeof *open->series);
    open->scratch = st_calloc(err, open->n_repetitions, sizeof *open->scratch);
    return open->pending != NULL && open->series != NULL && open->scratch != NULL
               ? ST_OK
               : err->code;
}

static enum st_status create_axes(struct st_open_step *open, struct place_list *list,
                                  struct st_error *err)
{
    enum st_status rc =
        st_axis_create(open->samples, "repetition", "execution, 0 is the warm-up",
                       open->n_repetitions, &open->repetition, err);

    for (size_t k = 0; rc == ST_OK && k < ST_N_PLACE_KINDS; k++) {
        list->kind = (enum st_place_kind)k;
        if (kind_in_use(open, list->kind)) {
            rc = write_places(open, list, err);
        }
    }
    return rc;
}

enum st_status st_samples_create(struct st_open_step *open,
                                 const struct st_results *results,
                                 const struct st_step_report *report,
                                 struct st_error *err)
{
    struct place_list list = {
        .results = results,
        .open = open,
        .report = report,
        .many_groups = report->layout != NULL && report->layout->n_groups > 1,
    };
    size_t n_rows = 0;
    enum st_status rc = allocate(open, err);

    for (size_t i = 0; i < open->n_metrics; i++) {
        n_rows += open->metrics[i].n_places;
    }
    if (rc == ST_OK) {
        open->samples = st_h5_group(open->group, "samples", err);
        rc = open->samples >= 0 ? st_h5_attribute_text(open->samples, "long_name",
                                                       st_table_samples.meaning, err)
                                : err->code;
    }
    if (rc == ST_OK && n_rows > 0) {
        rc = create_axes(open, &list, err);
    }
    for (size_t i = 0; rc == ST_OK && i < open->n_metrics; i++) {
        if (open->metrics[i].n_places > 0) {
            rc = create_metric(open, &open->metrics[i], err);
        }
    }
    return rc == ST_OK ? create_summary(open, &list, n_rows, err) : rc;
}

static int by_row(const void *a, const void *b)
{
    const size_t x = ((const struct st_summary_row *)a)->index;
    const size_t y = ((const struct st_summary_row *)b)->index;

    return (x > y) - (x < y);
}

static enum st_status write_pending(struct st_open_step *open, struct st_error *err)
{
    enum st_status rc = ST_OK;
    size_t i = 0;

    qsort(open->pending, open->n_pending, sizeof *open->pending, by_row);
    while (rc == ST_OK && i < open->n_pending) {
        size_t end = i + 1;
        while (end < open->n_pending &&
               open->pending[end].index == open->pending[end - 1].index + 1) {
            end++;
        }
        rc = st_table_put(&open->summary, ST_SUMMARY_KEYS, st_table_summary.n_columns,
                          open->pending[i].index, end - i, &open->pending[i], err);
        i = end;
    }
    open->n_pending = 0;
    return rc;
}

static enum st_status summarise(struct st_open_step *open, const struct st_open_metric *m,
                                size_t place, const double *values,
                                const int8_t *validity, struct st_error *err)
{
    const int better = m->metric->better == ST_HIGHER  ? 1
                       : m->metric->better == ST_LOWER ? -1
                                                       : 0;
    struct st_summary s;
    size_t n = 0;

    for (size_t r = 0; r < open->n_repetitions; r++) {
        if (validity[r] == ST_VALID && isfinite(values[r])) {
            open->series[n++] = values[r];
        }
    }
    st_summarise(n, open->series, open->confidence, open->width, better, open->scratch,
                 &s);
    open->pending[open->n_pending++] = (struct st_summary_row){
        .index = m->first_row + place,
        .n = s.n,
        .median = s.median,
        .ci_low = s.ci_low,
        .ci_high = s.ci_high,
        .min = s.min,
        .max = s.max,
        .q1 = s.q1,
        .q3 = s.q3,
        .mean = s.mean,
        .stddev = s.stddev,
        .p99 = s.p99,
        .best = s.best,
        .drift = s.drift,
        .lag1 = s.lag1,
        .converged = s.converged,
        .drifting = s.drifting,
    };
    return open->n_pending == ST_PENDING_ROWS ? write_pending(open, err) : ST_OK;
}

static const struct st_open_metric *find_metric(const struct st_open_step *open,
                                                size_t row)
{
    for (size_t i = 0; i < open->n_metrics; i++) {
        if (open->metrics[i].row == row) {
            return &open->metrics[i];
        }
    }
    return NULL;
}

enum st_status st_samples_block(struct st_open_step *open, const struct st_block *block,
                                struct st_error *err)
{
    const struct st_open_metric *m = find_metric(open, block->row);
    enum st_status rc = ST_OK;

    if (m == NULL || block->n_repetitions != open->n_repetitions ||
        block->n_places > m->n_places ||
        block->first_place > m->n_places - block->n_places) {
        return st_fail(
            err, ST_ERR_INTERNAL,
            "samples of metric row %zu, places %zu to %zu, %zu repetitions do not "
            "belong to this step",
            block->row, block->first_place, block->first_place + block->n_places,
            block->n_repetitions);
    }
    if (block->n_places == 0) {
        return ST_OK;
    }
    rc = st_h5_write_rows(m->values, H5T_NATIVE_DOUBLE, block->first_place,
                          block->n_places, block->values, err);
    if (rc == ST_OK) {
        rc = st_h5_write_rows(m->validity, H5T_NATIVE_INT8, block->first_place,
                              block->n_places, block->validity, err);
    }
    for (size_t i = 0; rc == ST_OK && i < block->n_places; i++) {
        rc = summarise(open, m, block->first_place + i,
                       block->values + i * open->n_repetitions,
                       block->validity + i * open->n_repetitions, err);
    }
    return rc;
}

void st_samples_clear(struct st_open_step *open)
{
    for (size_t i = 0; i < open->n_metrics; i++) {
        st_h5_drop(&open->metrics[i].values);
        st_h5_drop(&open->metrics[i].validity);
    }
    st_table_end(&open->summary, NULL);
    st_axis_clear(&open->rows);
    st_axis_clear(&open->repetition);
    for (size_t k = 0; k < ST_N_PLACE_KINDS; k++) {
        st_axis_clear(&open->places[k]);
    }
    st_h5_drop(&open->samples);
    st_free(open->metrics);
    st_free(open->pending);
    st_free(open->series);
    st_free(open->scratch);
    open->metrics = NULL;
    open->n_metrics = 0;
    open->pending = NULL;
    open->series = open->scratch = NULL;
}

static enum st_status close_datasets(struct st_open_step *open, struct st_error *err)
{
    bool good = true;

    for (size_t i = 0; i < open->n_metrics; i++) {
        good = st_h5_drop(&open->metrics[i].values) && good;
        good = st_h5_drop(&open->metrics[i].validity) && good;
    }
    return good ? ST_OK : st_h5_fail(err, -1, NULL, "close the samples");
}

enum st_status st_samples_finish(struct st_open_step *open, struct st_error *err)
{
    enum st_status rc = write_pending(open, err);

    if (rc == ST_OK) {
        rc = close_datasets(open, err);
    }
    if (rc == ST_OK) {
        rc = st_table_end(&open->summary, err);
    }
    if (rc == ST_OK) {
        rc = st_axis_close(&open->rows, err);
    }
    if (rc == ST_OK) {
        rc = st_axis_close(&open->repetition, err);
    }
    for (size_t k = 0; rc == ST_OK && k < ST_N_PLACE_KINDS; k++) {
        rc = st_axis_close(&open->places[k], err);
    }
    st_samples_clear(open);
    return rc;
}
