/*
 * The report as JSON; the schema is in src/show/README.md. Indices in "criteria" and "outliers"
 * point into "steps" and its "metrics" and "places", as in the results file.
 */
#include "src/show/report.h"

#include "src/show/json.h"

#include <string.h>

static void put_header(struct st_json *j, const struct st_file *file)
{
    st_json_key_text(j, "format", "seatrial-report");
    st_json_key_count(j, "format_version", 1);
    st_json_key_text(j, "file", file->path != NULL ? file->path : "");
    st_json_key_count(j, "file_format", (uint64_t)(file->format > 0 ? file->format : 0));
    st_json_key_text(j, "campaign", file->campaign);
    st_json_key_text(j, "status", file->status);
    st_json_key_text(j, "reason", file->reason);
    st_json_key_text(j, "created", file->created);
    st_json_key_text(j, "version", file->version);
    st_json_key_text(j, "command", file->command);
    st_json_key_text(j, "mpi_library", file->mpi_library);
    st_json_key_bool(j, "fake_nodes", file->fake_nodes);
    st_json_key_count(j, "n_nodes", file->n_nodes);
    st_json_key_count(j, "n_ranks", file->n_ranks);
    st_json_key_count(j, "n_steps_planned", file->n_steps_planned);
    st_json_key_real(j, "wall_s", file->wall_s);
    st_json_key_real(j, "start_up_s", file->start_up_s);
}

/* The file keeps warnings as lines of one text. */
static void put_warnings(struct st_json *j, const char *text)
{
    char line[sizeof((struct st_file *)NULL)->warnings];

    st_json_key(j, "warnings");
    st_json_array(j);
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        if (n > 0 && n < sizeof line) {
            memcpy(line, text, n);
            line[n] = '\0';
            st_json_text(j, line);
        }
        text += n + (text[n] == '\n');
    }
    st_json_close(j);
}

static void put_nodes(struct st_json *j, const struct st_file *file)
{
    st_json_key(j, "nodes");
    st_json_array(j);
    for (size_t i = 0; file->nodes != NULL && i < file->n_nodes; i++) {
        const struct st_file_node *node = &file->nodes[i];
        st_json_object(j);
        st_json_key_text(j, "host", node->host);
        st_json_key_count(j, "n_ranks", node->n_ranks);
        st_json_key_count(j, "n_usable_cores", node->n_usable_cores);
        st_json_key_count(j, "n_usable_pus", node->n_usable_pus);
        st_json_key_count(j, "memory_bytes", node->memory_bytes);
        st_json_key_count(j, "topology_class", node->topology_class);
        st_json_close(j);
    }
    st_json_close(j);
}

static void put_verdict(struct st_json *j, const struct st_verdict *v)
{
    st_json_key(j, "verdict");
    st_json_object(j);
    st_json_key_text(j, "outcome", st_outcome_word(v->overall));
    st_json_key_count(j, "exit_status", (uint64_t)v->exit);
    st_json_key_text(j, "exit_meaning", st_exit_meaning(v->exit));
    st_json_key_text(j, "summary", v->summary);
    st_json_key_count(j, "n_pass", v->n_pass);
    st_json_key_count(j, "n_fail", v->n_fail);
    st_json_key_count(j, "n_inconclusive", v->n_inconclusive);
    st_json_key_count(j, "n_not_judged", v->n_not_judged);
    st_json_key_count(j, "n_steps_incomplete", v->n_steps_incomplete);
    st_json_close(j);
}

static void put_summary(struct st_json *j, const struct st_summary *s)
{
    st_json_key_count(j, "n", s->n);
    st_json_key_real(j, "median", s->median);
    st_json_key_real(j, "ci_low", s->ci_low);
    st_json_key_real(j, "ci_high", s->ci_high);
    st_json_key_real(j, "min", s->min);
    st_json_key_real(j, "max", s->max);
    st_json_key_real(j, "q1", s->q1);
    st_json_key_real(j, "q3", s->q3);
    st_json_key_real(j, "mean", s->mean);
    st_json_key_real(j, "stddev", s->stddev);
    st_json_key_real(j, "p99", s->p99);
    st_json_key_real(j, "best", s->best);
    st_json_key_real(j, "drift", s->drift);
    st_json_key_real(j, "lag1", s->lag1);
    st_json_key_bool(j, "drifting", s->drifting);
    st_json_key_bool(j, "converged", s->converged);
}

/* Where samples and criteria are: one metric of one step. */
struct spot {
    const struct st_file *file;
    const struct st_verdict *verdict;
    size_t step, metric;
};

static void put_place(struct st_json *j, const struct spot *at, size_t place)
{
    const struct st_file_metric *m = &at->file->steps[at->step].metrics[at->metric];
    enum st_outcome outcome = ST_NOT_JUDGED;

    st_json_object(j);
    st_json_key_text(j, "label", st_label(m, place));
    st_json_key_index(j, "node", m->places[place].node);
    st_json_key_index(j, "node_b", m->places[place].node_b);
    st_json_key_index(j, "rank", m->places[place].rank);
    if (m->kind == ST_POINT) {
        st_json_key_text(j, "point_name", m->places[place].value_name);
        st_json_key_text(j, "point_unit", m->places[place].value_unit);
        st_json_key_real(j, "point_value", m->places[place].value);
    }
    st_json_key(j, "outcome");
    if (st_verdict_at(at->verdict, at->step, at->metric, place, &outcome)) {
        st_json_text(j, st_outcome_word(outcome));
    } else {
        st_json_null(j);
    }
    put_summary(j, &m->summary[place]);
    st_json_close(j);
}

static void put_metric(struct st_json *j, const struct spot *at)
{
    const struct st_file_metric *m = &at->file->steps[at->step].metrics[at->metric];

    st_json_object(j);
    st_json_key_text(j, "name", m->name);
    st_json_key_text(j, "unit", m->unit);
    st_json_key_text(j, "help", m->help);
    st_json_key_text(j, "better", st_better_word(m->better));
    st_json_key_text(j, "place_kind", st_place_word(m->kind));
    st_json_key_text(j, "origin", st_origin_word(m->origin));
    st_json_key_count(j, "n_repetitions", m->n_repetitions);
    st_json_key(j, "places");
    st_json_array(j);
    for (size_t p = 0; p < m->n_places; p++) {
        put_place(j, at, p);
    }
    st_json_close(j);
    st_json_close(j);
}

static void put_step_facts(struct st_json *j, const struct st_file_step *s)
{
    st_json_key_count(j, "number", s->number);
    st_json_key_text(j, "name", s->name);
    st_json_key_text(j, "benchmark", s->benchmark);
    st_json_key_text(j, "state", st_step_state_word(s->state));
    st_json_key_text(j, "reason", s->reason);
    st_json_key_text(j, "notes", s->notes);
    st_json_key_text(j, "layout", s->layout);
    st_json_key_bool(j, "required", s->required);
    st_json_key_bool(j, "converged", s->converged);
    st_json_key_bool(j, "placement_proved", s->placement_proved);
    st_json_key_bool(j, "oversubscribed", s->oversubscribed);
    st_json_key_real(j, "clock_error_s", s->clock_error_s);
    st_json_key_real(j, "wall_s", s->wall_s);
    st_json_key_real(j, "confidence", s->confidence);
    st_json_key_real(j, "width", s->width);
    st_json_key_count(j, "n_checked", s->check_n);
    st_json_key_count(j, "n_wrong", s->check_bad);
}

static void put_step(struct st_json *j, const struct st_file *file,
                     const struct st_verdict *verdict, size_t step)
{
    const struct st_file_step *s = &file->steps[step];

    st_json_object(j);
    put_step_facts(j, s);
    st_json_key(j, "phases_s");
    st_json_object(j);
    for (int p = 0; p < ST_N_PHASES; p++) {
        st_json_key_real(j, st_phase_word((enum st_phase)p), s->phase_s[p]);
    }
    st_json_close(j);
    st_json_key(j, "parameters");
    st_json_object(j);
    for (size_t p = 0; p < s->n_params; p++) {
        st_json_key_text(j, s->params[p].name, s->params[p].value);
    }
    st_json_close(j);
    st_json_key(j, "metrics");
    st_json_array(j);
    for (size_t m = 0; m < s->n_metrics; m++) {
        put_metric(j, &(struct spot){file, verdict, step, m});
    }
    st_json_close(j);
    st_json_close(j);
}

static void put_row(struct st_json *j, const struct st_file *file,
                    const struct st_verdict_row *row)
{
    const struct st_file_step *s = &file->steps[row->step];
    const struct st_file_metric *m =
        row->metric < s->n_metrics ? &s->metrics[row->metric] : NULL;

    st_json_object(j);
    st_json_key_count(j, "step", row->step);
    st_json_key_text(j, "step_name", s->name);
    st_json_key_index(j, "metric", row->metric);
    st_json_key_text(j, "metric_name", m != NULL ? m->name : "");
    st_json_key_text(j, "unit", m != NULL ? m->unit : "");
    st_json_key_index(j, "place", row->place);
    st_json_key_text(j, "place_label",
                     m != NULL && row->place < m->n_places ? st_label(m, row->place)
                                                           : "");
    st_json_key_index(j, "worst_place", row->worst_place);
    st_json_key_index(j, "criterion", row->criterion);
    if (row->criterion < s->n_criteria) {
        const struct st_criterion *c = &s->criteria[row->criterion].criterion;
        st_json_key_text(j, "kind", st_criterion_word(c->kind));
        st_json_key_text(j, "statistic", st_statistic_word(c->statistic));
        st_json_key_text(j, "asked", c->text);
    }
    st_json_key_text(j, "outcome", st_outcome_word(row->outcome));
    st_json_key_real(j, "value", row->value);
    st_json_key_real(j, "low", row->low);
    st_json_key_real(j, "high", row->high);
    st_json_key_real(j, "bound", row->bound);
    st_json_key_count(j, "n", row->n);
    st_json_key_count(j, "n_needed", row->n_needed);
    st_json_key_text(j, "text", row->text);
    st_json_close(j);
}

static void put_outlier(struct st_json *j, const struct st_file *file,
                        const struct st_outlier *o)
{
    const struct st_file_metric *m = &file->steps[o->step].metrics[o->metric];

    st_json_object(j);
    st_json_key_count(j, "step", o->step);
    st_json_key_text(j, "step_name", file->steps[o->step].name);
    st_json_key_count(j, "metric", o->metric);
    st_json_key_text(j, "metric_name", m->name);
    st_json_key_text(j, "unit", m->unit);
    st_json_key_count(j, "place", o->place);
    st_json_key_text(j, "place_label", st_label(m, o->place));
    st_json_key_real(j, "value", o->value);
    st_json_key_real(j, "median", o->median);
    st_json_key_real(j, "score", o->score);
    st_json_key_bool(j, "is_slow", o->is_slow);
    st_json_key_bool(j, "suspect", o->suspect);
    st_json_key_text(j, "text", o->text);
    st_json_close(j);
}

bool st_report_json(FILE *out, const struct st_file *file,
                    const struct st_verdict *verdict)
{
    struct st_json j;

    st_json_init(&j, out);
    st_json_object(&j);
    put_header(&j, file);
    put_warnings(&j, file->warnings);
    put_nodes(&j, file);
    put_verdict(&j, verdict);
    st_json_key(&j, "steps");
    st_json_array(&j);
    for (size_t s = 0; s < file->n_steps; s++) {
        put_step(&j, file, verdict, s);
    }
    st_json_close(&j);
    st_json_key(&j, "criteria");
    st_json_array(&j);
    for (size_t i = 0; i < verdict->n_rows; i++) {
        put_row(&j, file, &verdict->rows[i]);
    }
    st_json_close(&j);
    st_json_key(&j, "outliers");
    st_json_array(&j);
    for (size_t i = 0; i < verdict->n_outliers; i++) {
        put_outlier(&j, file, &verdict->outliers[i]);
    }
    st_json_close(&j);
    st_json_close(&j);
    return st_json_end(&j);
}
