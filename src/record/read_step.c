#include "src/record/reader.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>

/* One group /steps/NNNN into struct st_file_step. */

size_t st_word_position(const char *word, size_t n, const char *(*word_of)(size_t))
{
    size_t i = 0;

    while (i < n && strcmp(word, word_of(i)) != 0) {
        i++;
    }
    return i;
}

static const char *state_word(size_t i)
{
    return st_step_state_word((enum st_step_state)i);
}

static const char *phase_word(size_t i)
{
    return st_phase_word((enum st_phase)i);
}

static const char *better_word(size_t i)
{
    return st_better_word((enum st_better)i);
}

static const char *place_word(size_t i)
{
    return st_place_word((enum st_place_kind)i);
}

static const char *origin_word(size_t i)
{
    return st_origin_word((enum st_origin)i);
}

static const char *kind_word(size_t i)
{
    return st_criterion_word((enum st_criterion_kind)i);
}

static const char *statistic_word(size_t i)
{
    return st_statistic_word((enum st_statistic)i);
}

/* Position of a word, or an error that says where it stands. */
static enum st_status find_word(const char *word, size_t n,
                                const char *(*word_of)(size_t), const char *what,
                                size_t *position, struct st_error *err)
{
    *position = st_word_position(word, n, word_of);
    return *position < n ? ST_OK
                         : st_fail(err, ST_ERR_IO, "'%.40s' is no %s", word, what);
}

static enum st_status read_attributes(hid_t group, struct st_file_step *out,
                                      struct st_error *err)
{
    struct st_step_row row = {0};
    struct st_pool pool = {0};
    size_t state = 0;
    enum st_status rc = st_record_read(group, &st_table_step, &row, &pool, err);

    if (rc == ST_OK) {
        rc = find_word(row.status, ST_STEP_SKIPPED + 1, state_word, "status of a step",
                       &state, err);
    }
    if (rc == ST_OK) {
        out->state = (enum st_step_state)state;
        out->number = row.number;
        st_copy(out->name, sizeof out->name, row.name);
        st_copy(out->benchmark, sizeof out->benchmark, row.benchmark);
        st_copy(out->reason, sizeof out->reason, row.reason);
        st_copy(out->notes, sizeof out->notes, row.notes);
        st_copy(out->layout, sizeof out->layout, row.layout);
        out->required = row.required;
        out->converged = row.converged;
        out->placement_proved = row.placement_proved;
        out->oversubscribed = row.oversubscribed;
        out->clock_error_s = row.clock_error_s;
        out->wall_s = row.wall_s;
        out->confidence = row.confidence;
        out->width = row.width;
        out->check_n = row.check_n;
        out->check_bad = row.check_bad;
    }
    st_pool_clear(&pool);
    return rc;
}

static enum st_status take_phase(void *target, size_t i, const void *row,
                                 struct st_error *err)
{
    const struct st_phase_row *phase = row;
    struct st_file_step *out = target;
    const size_t position = st_word_position(phase->name, ST_N_PHASES, phase_word);

    (void)i;
    (void)err;
    if (position < ST_N_PHASES) { /* a part this version does not know is no error */
        out->phase_s[position] = phase->duration;
    }
    return ST_OK;
}

static enum st_status take_metric(void *target, size_t i, const void *row,
                                  struct st_error *err)
{
    const struct st_metric_row *from = row;
    struct st_file_metric *to = &((struct st_file_step *)target)->metrics[i];
    size_t better = 0;
    size_t kind = 0;
    size_t origin = 0;
    enum st_status rc =
        find_word(from->better, ST_NEITHER + 1, better_word, "direction", &better, err);

    if (rc == ST_OK) {
        rc = find_word(from->place_kind, ST_N_PLACE_KINDS, place_word, "kind of place",
                       &kind, err);
    }
    if (rc == ST_OK) {
        rc = find_word(from->origin, ST_GIVEN + 1, origin_word, "origin", &origin, err);
    }
    if (rc == ST_OK) {
        st_copy(to->name, sizeof to->name, from->name);
        st_copy(to->unit, sizeof to->unit, from->unit);
        st_copy(to->help, sizeof to->help, from->help);
        to->better = (enum st_better)better;
        to->kind = (enum st_place_kind)kind;
        to->origin = (enum st_origin)origin;
    }
    return rc;
}

static enum st_status take_criterion(void *target, size_t i, const void *row,
                                     struct st_error *err)
{
    const struct st_criterion_row *from = row;
    struct st_file_step *step = target;
    struct st_file_criterion *to = &step->criteria[i];
    size_t kind = 0;
    size_t statistic = 0;
    enum st_status rc =
        find_word(from->kind, ST_SPREAD + 1, kind_word, "kind of criterion", &kind, err);

    if (rc == ST_OK) {
        rc = find_word(from->statistic, ST_STAT_P99 + 1, statistic_word, "statistic",
                       &statistic, err);
    }
    if (rc == ST_OK && from->metric >= step->n_metrics) {
        rc = st_fail(err, ST_ERR_IO, "criterion %zu names no metric of its step", i);
    }
    if (rc == ST_OK) {
        to->metric = from->metric;
        to->criterion = (struct st_criterion){
            .metric_row = from->metric,
            .kind = (enum st_criterion_kind)kind,
            .statistic = (enum st_statistic)statistic,
            .bound = from->bound,
            .reference = from->reference,
            .confidence = from->confidence,
            .floor = from->floor,
            .may_fail = from->may_fail,
            .inconclusive_is_fail = from->inconclusive_is_fail,
            .line = (int)(from->line > INT32_MAX ? 0 : from->line),
            .column = (int)(from->column > INT32_MAX ? 0 : from->column),
        };
        st_copy(to->criterion.text, sizeof to->criterion.text, from->text);
    }
    return rc;
}

/* Group and length of a table of the step. */
static enum st_status open_table(hid_t step, const char *name,
                                 const struct st_table *table, hid_t *group, size_t *n,
                                 struct st_error *err)
{
    *group = st_h5_open_group(step, name, err);
    return *group >= 0 ? st_table_length(*group, table, "", n, err) : err->code;
}

static enum st_status read_phases(hid_t step, struct st_file_step *out,
                                  struct st_error *err)
{
    hid_t group = -1;
    size_t n = 0;
    enum st_status rc = open_table(step, "phases", &st_table_phases, &group, &n, err);

    if (rc == ST_OK) {
        rc = st_table_read(group, &st_table_phases, "", n, take_phase, out, err);
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status read_metrics(hid_t step, struct st_file_step *out,
                                   struct st_error *err)
{
    hid_t group = -1;
    size_t n = 0;
    enum st_status rc = open_table(step, "metrics", &st_table_metrics, &group, &n, err);

    if (rc == ST_OK) {
        out->metrics = st_calloc(err, n, sizeof *out->metrics);
        out->n_metrics = out->metrics != NULL ? n : 0;
        rc = out->metrics != NULL
                 ? st_table_read(group, &st_table_metrics, "", n, take_metric, out, err)
                 : err->code;
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status read_criteria(hid_t step, struct st_file_step *out,
                                    struct st_error *err)
{
    hid_t group = -1;
    size_t n = 0;
    enum st_status rc = open_table(step, "criteria", &st_table_criteria, &group, &n, err);

    if (rc == ST_OK) {
        out->criteria = st_calloc(err, n, sizeof *out->criteria);
        out->n_criteria = out->criteria != NULL ? n : 0;
        rc = out->criteria != NULL ? st_table_read(group, &st_table_criteria, "", n,
                                                   take_criterion, out, err)
                                   : err->code;
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status read_parameter(hid_t group, size_t i, struct st_file_step *out,
                                     struct st_error *err)
{
    static const struct st_column text = {"text", ST_COLUMN_TEXT, 0, NULL, ""};
    const struct st_table table = {
        .form = ST_FORM_ATTRIBUTES, .n_columns = 1, .columns = &text};
    const char *value = NULL;
    struct st_pool pool = {0};
    hid_t dataset = -1;
    enum st_status rc = ST_OK;

    if (H5Lget_name_by_idx(group, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i,
                           out->params[i].name, sizeof out->params[i].name,
                           H5P_DEFAULT) < 0) {
        return st_h5_fail(err, group, NULL, "list");
    }
    dataset = H5Dopen2(group, out->params[i].name, H5P_DEFAULT);
    rc = dataset >= 0 ? st_record_read(dataset, &table, &value, &pool, err)
                      : st_h5_fail(err, group, out->params[i].name, "open");
    if (rc == ST_OK) {
        st_copy(out->params[i].value, sizeof out->params[i].value, value);
    }
    st_h5_drop(&dataset);
    st_pool_clear(&pool);
    return rc;
}

static enum st_status read_parameters(hid_t step, struct st_file_step *out,
                                      struct st_error *err)
{
    enum {
        MOST_PARAMETERS = 1000
    };
    H5G_info_t info = {.nlinks = 0};
    hid_t group = st_h5_open_group(step, "parameters", err);
    enum st_status rc = group >= 0 ? ST_OK : err->code;

    if (rc == ST_OK && (H5Gget_info(group, &info) < 0 || info.nlinks > MOST_PARAMETERS)) {
        rc = st_h5_fail(err, group, NULL, "list");
    }
    if (rc == ST_OK) {
        out->params = st_calloc(err, (size_t)info.nlinks, sizeof *out->params);
        out->n_params = out->params != NULL ? (size_t)info.nlinks : 0;
        rc = out->params != NULL ? ST_OK : err->code;
    }
    for (size_t i = 0; rc == ST_OK && i < out->n_params; i++) {
        rc = read_parameter(group, i, out, err);
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status take_place(void *target, size_t i, const void *row,
                                 struct st_error *err)
{
    const struct st_place_row *from = row;
    struct st_file_place *to = &((struct st_file_place *)target)[i];

    (void)err;
    st_copy(to->label, sizeof to->label, from->label);
    to->node = from->node;
    to->node_b = from->node_b;
    to->rank = from->rank;
    to->value = from->value;
    st_copy(to->value_name, sizeof to->value_name, from->value_name);
    st_copy(to->value_unit, sizeof to->value_unit, from->value_unit);
    return ST_OK;
}

/* The places of a kind are read once; the metrics of that kind share them. */
static enum st_status read_places(hid_t samples, struct st_file_step *out, size_t metric,
                                  struct st_error *err)
{
    struct st_file_metric *m = &out->metrics[metric];
    char prefix[ST_NAME_ROOM];
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < metric; i++) {
        if (out->metrics[i].kind == m->kind && out->metrics[i].places != NULL) {
            m->places = out->metrics[i].places;
            m->n_places = out->metrics[i].n_places;
            return ST_OK;
        }
    }
    snprintf(prefix, sizeof prefix, "place_%s_", st_place_word(m->kind));
    rc = st_table_length(samples, &st_table_places, prefix, &m->n_places, err);
    if (rc == ST_OK) {
        m->places = st_calloc(err, m->n_places, sizeof *m->places);
        rc = m->places != NULL ? st_table_read(samples, &st_table_places, prefix,
                                               m->n_places, take_place, m->places, err)
                               : err->code;
    }
    return rc;
}

static enum st_status read_extent(hid_t samples, struct st_file_metric *m,
                                  struct st_error *err)
{
    hid_t dataset = H5Dopen2(samples, m->name, H5P_DEFAULT);
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    hsize_t size[2] = {0, 0};
    enum st_status rc = ST_OK;

    if (space < 0) {
        rc = st_h5_fail(err, samples, m->name, "open");
    } else if (H5Sget_simple_extent_ndims(space) != 2 ||
               H5Sget_simple_extent_dims(space, size, NULL) != 2 ||
               size[0] != m->n_places) {
        rc =
            st_fail(err, ST_ERR_IO,
                    "the samples of '%s' do not have the shape of their places", m->name);
    } else {
        rc = st_check_extent(dataset, (double)size[0] * (double)size[1], 8.0, err);
        m->n_repetitions = (size_t)size[1];
    }
    st_h5_drop(&space);
    st_h5_drop(&dataset);
    return rc;
}

static enum st_status read_samples_shape(hid_t step, struct st_file_step *out,
                                         struct st_error *err)
{
    hid_t samples = st_h5_open_group(step, "samples", err);
    enum st_status rc = samples >= 0 ? ST_OK : err->code;

    for (size_t i = 0; rc == ST_OK && i < out->n_metrics; i++) {
        struct st_file_metric *m = &out->metrics[i];
        if (!st_h5_has(samples, m->name)) {
            continue; /* a step that did not get to measuring */
        }
        rc = read_places(samples, out, i, err);
        if (rc == ST_OK) {
            rc = read_extent(samples, m, err);
        }
        if (rc == ST_OK) {
            m->summary = st_calloc(err, m->n_places, sizeof *m->summary);
            rc = m->summary != NULL ? ST_OK : err->code;
        }
    }
    st_h5_drop(&samples);
    return rc;
}

/* Rows come metric by metric: the one of the row before is tried first. */
struct summary_target {
    struct st_file_step *step;
    size_t metric;
};

static enum st_status take_summary(void *target, size_t i, const void *row,
                                   struct st_error *err)
{
    const struct st_summary_row *from = row;
    struct summary_target *t = target;
    const size_t n = t->step->n_metrics;
    size_t tried = 0;

    while (tried < n && strcmp(t->step->metrics[t->metric].name, from->metric) != 0) {
        t->metric = (t->metric + 1) % n;
        tried++;
    }
    if (tried == n || from->place >= t->step->metrics[t->metric].n_places) {
        return st_fail(err, ST_ERR_IO, "row %zu of a summary names no place of its step",
                       i);
    }
    t->step->metrics[t->metric].summary[from->place] = (struct st_summary){
        .n = from->n == SIZE_MAX ? 0 : from->n,
        .median = from->median,
        .ci_low = from->ci_low,
        .ci_high = from->ci_high,
        .min = from->min,
        .max = from->max,
        .q1 = from->q1,
        .q3 = from->q3,
        .mean = from->mean,
        .stddev = from->stddev,
        .p99 = from->p99,
        .best = from->best,
        .drift = from->drift,
        .lag1 = from->lag1,
        .converged = from->converged,
        .drifting = from->drifting,
    };
    return ST_OK;
}

static enum st_status read_summary(hid_t step, struct st_file_step *out,
                                   struct st_error *err)
{
    struct summary_target target = {.step = out};
    hid_t group = -1;
    size_t n = 0;
    enum st_status rc = open_table(step, "summary", &st_table_summary, &group, &n, err);

    if (rc == ST_OK) {
        rc = st_table_read(group, &st_table_summary, "", n, take_summary, &target, err);
    }
    st_h5_drop(&group);
    return rc;
}

enum st_status st_file_reader_step(hid_t group, struct st_file_step *out,
                                   struct st_error *err)
{
    enum st_status rc = read_attributes(group, out, err);

    if (rc == ST_OK) {
        rc = read_phases(group, out, err);
    }
    if (rc == ST_OK) {
        rc = read_parameters(group, out, err);
    }
    if (rc == ST_OK) {
        rc = read_metrics(group, out, err);
    }
    if (rc == ST_OK) {
        rc = read_criteria(group, out, err);
    }
    if (rc == ST_OK) {
        rc = read_samples_shape(group, out, err);
    }
    return rc == ST_OK ? read_summary(group, out, err) : rc;
}

void st_file_reader_step_clear(struct st_file_step *step)
{
    for (size_t i = 0; i < step->n_metrics; i++) {
        for (size_t k = i + 1; k < step->n_metrics; k++) {
            if (step->metrics[k].places == step->metrics[i].places) {
                step->metrics[k].places = NULL; /* shared: freed once, below */
            }
        }
        st_free(step->metrics[i].places);
        st_free(step->metrics[i].summary);
    }
    st_free(step->metrics);
    st_free(step->criteria);
    st_free(step->params);
}
