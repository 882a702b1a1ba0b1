#include "src/record/step.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * The sink: begin opens a changed version of the file and writes all that is known of the
 * step, blocks bring samples, end puts the version in place. Between begin and end the file
 * under its own name is the old one, complete.
 */

void st_step_group_name(size_t number, char out[24])
{
    snprintf(out, 24, "%04zu", number);
}

void st_step_discard(struct st_results *results)
{
    struct st_open_step *step = results->step;

    if (step == NULL) {
        return;
    }
    st_samples_clear(step);
    st_h5_drop(&step->group);
    st_store_discard(&step->store);
    st_free(step);
    results->step = NULL;
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void fill_layout(const struct st_layout *layout, struct st_step_row *row)
{
    row->n_groups = row->n_active_nodes = row->n_active_ranks = row->n_threads = SIZE_MAX;
    row->layout_note = "";
    if (layout == NULL) {
        return;
    }
    row->layout_note = layout->note;
    row->n_groups = layout->n_groups;
    row->n_active_nodes = layout->shape.n_nodes;
    row->n_active_ranks = layout->n_active;
    row->n_threads = layout->shape.n_threads;
}

/* On rank 0 the flag `applied` is its own threads'; a sleeping rank 0 has none, but then the
 * seats tell whether anything was bound. */
static bool is_applied(const struct st_step_report *report)
{
    if (report->layout != NULL && report->layout->active) {
        return report->layout->applied;
    }
    for (size_t i = 0; i < report->n_seats; i++) {
        if (report->seats[i].proved) {
            return true;
        }
    }
    return false;
}

static enum st_status write_attributes(hid_t group, const struct st_step_report *report,
                                       struct st_error *err)
{
    const struct st_step *step = report->step;
    const struct st_step_outcome *o = report->outcome;
    char layout[256];
    struct st_step_row row = {
        .name = step->name,
        .series = step->series,
        .scaling = st_scaling_word(step->scaling),
        .benchmark = step->bench->name,
        .summary = or_empty(step->bench->summary),
        .source = or_empty(step->bench->source),
        .status = st_step_state_word(o->state),
        .reason = o->reason,
        .notes = o->notes,
        .layout = st_layout_text(&step->layout, layout, sizeof layout),
        .check_what = o->check.what,
        .number = report->number,
        .n_repetitions = o->n_repetitions,
        .n_dropped = (size_t)o->n_dropped,
        .repeat_min = step->repeat.min,
        .repeat_max = step->repeat.max,
        .check_n = (size_t)o->check.n_checked,
        .check_bad = (size_t)o->check.n_bad,
        .required = step->required,
        .converged = o->converged,
        .placement_proved = o->placement_proved,
        .placement_applied = is_applied(report),
        .oversubscribed = o->oversubscribed,
        .confidence = step->repeat.confidence,
        .width = step->repeat.width,
        .budget_s = step->repeat.budget_s,
        .section_time_s = step->repeat.time_s,
        .deadline_s = step->repeat.deadline_s,
        .check_limit = o->check.limit,
        .check_worst = o->check.worst,
        .clock_error_s = o->clock_error_s,
        .clock_disagreement = o->clock_disagreement,
        .wall_s = o->wall_s,
    };

    fill_layout(report->layout, &row);
    return st_record_write(group, &st_table_step, &row, err);
}

/* The sections that ran, closed up. */
struct sections {
    size_t n;
    struct st_section_row rows[ST_MAX_SECTIONS];
};

static void get_section(const void *source, size_t i, void *row, char *room)
{
    (void)room;
    *(struct st_section_row *)row = ((const struct sections *)source)->rows[i];
}

/* Gathering and writing are under way while this is written: missing, not 0. The root's
 * write_s has the time of all writing so far. */
static void get_phase(const void *source, size_t i, void *row, char *room)
{
    const double *phase_s = source;

    (void)room;
    *(struct st_phase_row *)row = (struct st_phase_row){
        st_phase_word((enum st_phase)i),
        i == ST_PHASE_GATHER || i == ST_PHASE_WRITE ? (double)NAN : phase_s[i]};
}

static void get_seat(const void *source, size_t i, void *row, char *room)
{
    const struct st_seat *seat = &((const struct st_seat *)source)[i];

    (void)room;
    *(struct st_seat_row *)row = (struct st_seat_row){
        .rank = seat->rank,
        .thread = seat->thread,
        .node = seat->node,
        .pu = seat->pu < 0 ? SIZE_MAX : (size_t)seat->pu,
        .core = seat->core,
        .l3 = seat->l3,
        .numa = seat->numa,
        .package = seat->package,
        .last_cpu = seat->last_cpu < 0 ? SIZE_MAX : (size_t)seat->last_cpu,
        .planned = or_empty(seat->planned),
        .verified = or_empty(seat->verified),
        .proved = seat->proved,
    };
}

static void get_metric(const void *source, size_t i, void *row, char *room)
{
    const struct st_open_metric *m = &((const struct st_open_metric *)source)[i];

    (void)room;
    *(struct st_metric_row *)row = (struct st_metric_row){
        .name = m->metric->name,
        .unit = m->metric->unit,
        .better = st_better_word(m->metric->better),
        .place_kind = st_place_word(m->metric->place),
        .origin = st_origin_word(m->metric->origin),
        .help = or_empty(m->metric->help),
        .section = m->metric->section,
        .row = m->row,
    };
}

/* Criteria with the position of their metric among the step's. */
struct criteria {
    const struct st_step *step;
    const struct st_open_step *open;
};

static void get_criterion(const void *source, size_t i, void *row, char *room)
{
    const struct criteria *all = source;
    const struct st_criterion *c = &all->step->criteria[i];
    const struct st_metric *metric = &all->step->bench->metrics[c->metric_row];
    size_t position = SIZE_MAX;

    (void)room;
    for (size_t k = 0; k < all->open->n_metrics; k++) {
        if (all->open->metrics[k].row == c->metric_row) {
            position = k;
        }
    }
    *(struct st_criterion_row *)row = (struct st_criterion_row){
        .metric = position,
        .metric_name = metric->name,
        .kind = st_criterion_word(c->kind),
        .statistic = st_statistic_word(c->statistic),
        .unit = metric->unit,
        .text = c->text,
        .bound = c->bound,
        .reference = c->reference,
        .confidence = c->confidence,
        .floor = c->floor,
        .may_fail = c->may_fail,
        .inconclusive_is_fail = c->inconclusive_is_fail,
        .line = c->line < 0 ? SIZE_MAX : (size_t)c->line,
        .column = c->column < 0 ? SIZE_MAX : (size_t)c->column,
    };
}

static enum st_status write_tables(const struct st_open_step *open,
                                   const struct st_step_report *report,
                                   struct st_error *err)
{
    const struct criteria criteria = {report->step, open};
    struct sections sections = {.n = 0};
    enum st_status rc = ST_OK;

    for (size_t s = 0; s < ST_MAX_SECTIONS; s++) {
        if (report->outcome->n_inner[s] > 0) {
            sections.rows[sections.n++] =
                (struct st_section_row){s, report->outcome->n_inner[s]};
        }
    }
    rc = st_table_write(open->group, "sections", &st_table_sections, sections.n,
                        get_section, &sections, err);
    if (rc == ST_OK) {
        rc = st_table_write(open->group, "phases", &st_table_phases, ST_N_PHASES,
                            get_phase, report->outcome->phase_s, err);
    }
    if (rc == ST_OK) {
        rc = st_table_write(open->group, "layout", &st_table_layout, report->n_seats,
                            get_seat, report->seats, err);
    }
    if (rc == ST_OK) {
        rc = st_table_write(open->group, "metrics", &st_table_metrics, open->n_metrics,
                            get_metric, open->metrics, err);
    }
    if (rc == ST_OK) {
        rc = st_table_write(open->group, "criteria", &st_table_criteria,
                            report->step->n_criteria, get_criterion, &criteria, err);
    }
    return rc;
}

/* The metrics this step has: those that apply to its parameters. */
static enum st_status list_metrics(struct st_open_step *open,
                                   const struct st_step_report *report,
                                   struct st_error *err)
{
    const struct st_bench *bench = report->step->bench;
    size_t rows = 0;

    open->metrics = st_calloc(err, bench->n_metrics, sizeof *open->metrics);
    if (open->metrics == NULL) {
        return err->code;
    }
    for (size_t r = 0; r < bench->n_metrics; r++) {
        if (st_bench_applies(bench, report->step->params, r)) {
            const size_t n = report->n_places[bench->metrics[r].place];
            open->metrics[open->n_metrics++] = (struct st_open_metric){
                .metric = &bench->metrics[r],
                .row = r,
                .n_places = open->n_repetitions > 0 ? n : 0,
                .first_row = rows,
            };
            rows += open->n_repetitions > 0 ? n : 0;
        }
    }
    return ST_OK;
}

static enum st_status open_group(struct st_open_step *open, struct st_error *err)
{
    char name[24];
    hid_t steps = st_h5_open_group(open->store->file, "steps", err);

    if (steps < 0) {
        return err->code;
    }
    st_step_group_name(open->number, name);
    if (st_h5_has(steps, name) && H5Ldelete(steps, name, H5P_DEFAULT) < 0) {
        st_h5_drop(&steps);
        return st_h5_fail(err, open->store->file, name, "replace the step");
    }
    open->group = st_h5_group(steps, name, err);
    st_h5_drop(&steps);
    return open->group >= 0 ? ST_OK : err->code;
}

static enum st_status begin_step(struct st_results *results,
                                 const struct st_step_report *report,
                                 struct st_error *err)
{
    struct st_open_step *open = results->step;
    enum st_status rc = st_store_edit(results->path, &open->store, err);

    if (rc == ST_OK) {
        rc = open_group(open, err);
    }
    if (rc == ST_OK) {
        rc = list_metrics(open, report, err);
    }
    if (rc == ST_OK) {
        rc = write_attributes(open->group, report, err);
    }
    if (rc == ST_OK) {
        rc = st_parameters_write(open->group, report->step, err);
    }
    if (rc == ST_OK) {
        rc = write_tables(open, report, err);
    }
    return rc == ST_OK ? st_samples_create(open, results, report, err) : rc;
}

/* After a failure the step is forgotten at once: the temporary file gives its space back. */
static enum st_status give_up(struct st_results *results, struct st_error *err)
{
    const enum st_status rc = st_results_blame(results, results->step->store, err);

    st_step_discard(results);
    return rc;
}

enum st_status st_step_begin(void *context, const struct st_step_report *report,
                             struct st_error *err)
{
    struct st_results *results = context;
    const double start = st_now();
    enum st_status rc = ST_OK;

    st_step_discard(results); /* a step that never ended */
    results->step = st_calloc(err, 1, sizeof *results->step);
    if (results->step == NULL) {
        return err->code;
    }
    results->step->number = report->number;
    results->step->complete = report->outcome->state == ST_STEP_COMPLETE;
    results->step->confidence = report->step->repeat.confidence;
    results->step->width = report->step->repeat.width;
    results->step->n_repetitions = report->outcome->n_repetitions;
    rc = begin_step(results, report, err);
    if (rc != ST_OK) {
        rc = give_up(results, err);
    }
    results->write_s += st_now() - start;
    return rc;
}

enum st_status st_step_block(void *context, const struct st_block *block,
                             struct st_error *err)
{
    struct st_results *results = context;
    const double start = st_now();
    enum st_status rc = ST_OK;

    if (results->step == NULL) {
        return st_fail(err, ST_ERR_IO,
                       "samples of a step whose record could not be written");
    }
    rc = st_samples_block(results->step, block, err);
    if (rc == ST_OK && results->step->store->disk.error != 0) {
        rc = ST_ERR_IO;
    }
    if (rc != ST_OK) {
        rc = give_up(results, err);
    }
    results->write_s += st_now() - start;
    return rc;
}

enum st_status st_step_end(void *context, struct st_error *err)
{
    struct st_results *results = context;
    struct st_open_step *step = results->step;
    const double start = st_now();
    enum st_status rc = ST_OK;

    if (step == NULL) {
        return st_fail(err, ST_ERR_IO, "end of a step whose record could not be written");
    }
    rc = st_samples_finish(step, err);
    if (!st_h5_drop(&step->group) && rc == ST_OK) {
        rc = st_h5_fail(err, -1, NULL, "close the step");
    }
    if (rc == ST_OK) {
        rc = st_touch_root(results, step->store->file, err);
    }
    if (rc != ST_OK) {
        rc = give_up(results, err);
    } else {
        rc = st_store_commit(&step->store, true, err);
        results->n_finished += rc == ST_OK && step->complete ? 1 : 0;
        rc = rc == ST_OK ? rc : st_results_blame(results, NULL, err);
    }
    st_step_discard(results);
    results->write_s += st_now() - start;
    return rc;
}
