/*
 * The figures of a report: one block per step in one table, so that columns agree over the
 * whole page. A metric of many places takes one row, that of its worst place (a contract is
 * about the worst place), and one line that says how the others lie; all places are in the
 * JSON report, in the stable lines and in the file.
 */
#include "src/show/report.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/base/units.h"

#include <math.h>
#include <string.h>

enum {
    MOST_PLACE_ROWS = 3
};
enum {
    C_METRIC,
    C_MEDIAN,
    C_INTERVAL,
    C_RANGE,
    C_N,
    C_OUTCOME,
    N_COLUMNS
};

/* The block that is being made. */
struct block {
    struct st_table *table;
    const struct st_file *file;
    const struct st_verdict *verdict;
    size_t step;
    const char *place; /* of the row before; NULL: no row yet, "": of many places */
};

static const struct st_file_step *step_of(const struct block *b)
{
    return &b->file->steps[b->step];
}

/* A line that could not be built whole spoils the report. */
static void finish(const struct block *b, struct st_text *line)
{
    b->table->failed = !st_line_done(line) || b->table->failed;
}

/* "12.30..12.40" in the unit of the median beside it; "-" if one end is missing. */
static const char *span_text(char *out, size_t size, const struct st_summary *s,
                             double low, double high, const char *unit)
{
    char from[32];
    char to[32];
    char shown[32];
    const double scale = st_pick_scale(s->median, unit, shown, sizeof shown);

    if (!isfinite(low) || !isfinite(high) || !isfinite(s->median)) {
        (void)snprintf(out, size, "-");
        return out;
    }
    if (scale == 1.0 && low == rint(low) && high == rint(high) &&
        strcmp(unit, "s") != 0) {
        (void)snprintf(out, size, "%.0f..%.0f", low, high); /* counts stay whole */
        return out;
    }
    const double like = s->median / scale;
    (void)snprintf(out, size, "%s..%s", st_number(from, sizeof from, low / scale, like),
                   st_number(to, sizeof to, high / scale, like));
    return out;
}

/* One row of figures; @p judged false: no criterion concerns it. */
static void put_row(const struct block *b, const struct st_file_metric *m, size_t place,
                    bool judged, enum st_outcome outcome)
{
    const struct st_summary *s = &m->summary[place];
    const bool is_void = st_step_void(step_of(b));
    struct st_table *t = b->table;
    char text[96];

    st_table_row(t);
    st_table_cell(t, C_METRIC, ST_INK_PLAIN, m->name);
    st_table_cell(t, C_MEDIAN, is_void ? ST_INK_FAINT : ST_INK_STRONG,
                  st_format_quantity(text, sizeof text, s->median, m->unit));
    st_table_cell(t, C_INTERVAL, ST_INK_PLAIN,
                  span_text(text, sizeof text, s, s->ci_low, s->ci_high, m->unit));
    st_table_cell(t, C_RANGE, ST_INK_PLAIN,
                  span_text(text, sizeof text, s, s->min, s->max, m->unit));
    (void)snprintf(text, sizeof text, "%zu", s->n);
    st_table_cell(t, C_N, ST_INK_PLAIN, text);
    if (t->n_columns <= C_OUTCOME) {
        return;
    }
    if (judged) {
        st_table_cell(t, C_OUTCOME, st_ink_of(outcome), st_outcome_word(outcome));
    } else {
        st_table_cell(t, C_OUTCOME, is_void ? ST_INK_DOUBT : ST_INK_FAINT,
                      is_void ? "not judged" : "-");
    }
}

/* Where the places of a metric lie. */
struct extent {
    size_t n; /* places with a median */
    size_t low, high;
    double median; /* of the places' medians */
};

static bool extent_of(const struct st_file_metric *m, struct extent *out)
{
    struct extent e = {.median = (double)NAN};
    double *medians = st_calloc(NULL, m->n_places, sizeof *medians);

    if (medians == NULL) {
        return false;
    }
    for (size_t p = 0; p < m->n_places; p++) {
        const double here = m->summary[p].median;
        if (isfinite(here)) {
            e.low = e.n == 0 || here < m->summary[e.low].median ? p : e.low;
            e.high = e.n == 0 || here > m->summary[e.high].median ? p : e.high;
            medians[e.n++] = here;
        }
    }
    if (e.n > 0) {
        st_sort(e.n, medians);
        e.median = st_median_sorted(e.n, medians);
    }
    st_free(medians);
    *out = e;
    return true;
}

/* Words for the two ends: a rate or a time is slow or fast, a count is not. */
struct end_words {
    const char *worst, *best;
};

static struct end_words end_words_of(const struct st_file_metric *m)
{
    if (m->better == ST_NEITHER) {
        return (struct end_words){"largest", "smallest"};
    }
    if (strcmp(m->unit, "1") == 0 || strcmp(m->unit, "byte") == 0) {
        return (struct end_words){"worst", "best"};
    }
    return (struct end_words){"slowest", "fastest"};
}

static void put_many_places(const struct block *b, const struct st_file_metric *m,
                            size_t row)
{
    const struct end_words words = end_words_of(m);
    struct extent e;
    struct st_text line = {0};
    enum st_outcome outcome = ST_NOT_JUDGED;
    const bool judged = st_metric_outcome(b->verdict, b->step, row, &outcome);
    char value[48];

    if (!extent_of(m, &e)) {
        b->table->failed = true;
        return;
    }
    const size_t worst = m->better == ST_HIGHER ? e.low : e.high;
    const size_t best = m->better == ST_HIGHER ? e.high : e.low;
    put_row(b, m, worst, judged, outcome);
    st_text_add(
        &line, "the %s of %zu %s, %s; %s %s with %s", words.worst, m->n_places,
        m->kind == ST_POINT ? "points" : "places", st_label(m, worst), words.best,
        st_label(m, best),
        st_format_quantity(value, sizeof value, m->summary[best].median, m->unit));
    const double spread =
        (m->summary[e.high].median - m->summary[e.low].median) / fabs(e.median);
    if (isfinite(spread) && m->kind != ST_POINT) { /* a curve is meant to differ */
        st_text_add(&line, "; median of all %s, spread %.3g %%",
                    st_format_quantity(value, sizeof value, e.median, m->unit),
                    100.0 * spread);
    }
    st_table_line(b->table, 6, 6, ST_INK_FAINT, st_text_get(&line));
    finish(b, &line);
}

/* A line above the rows of a place, where it is not the place of the row before. */
static void put_place(struct block *b, const struct st_file_metric *m, size_t place)
{
    const char *label = st_label(m, place);
    const bool is_whole_job = m->kind == ST_JOB && m->n_places == 1;
    struct st_text line = {0};

    if (b->place != NULL ? strcmp(b->place, label) != 0 : !is_whole_job) {
        st_text_add(&line, "%s%s", is_whole_job ? "whole " : "at ", label);
        st_table_line(b->table, 2, 4, ST_INK_PLAIN, st_text_get(&line));
        finish(b, &line);
        b->place = label;
    }
}

static void put_metric(struct block *b, size_t row)
{
    const struct st_file_metric *m = &step_of(b)->metrics[row];

    if (m->n_places > MOST_PLACE_ROWS) {
        enum st_outcome unused = ST_NOT_JUDGED;
        b->place = "";
        if (m->kind != ST_POINT || st_metric_outcome(b->verdict, b->step, row, &unused)) {
            put_many_places(b, m, row);
        }
        if (m->kind == ST_POINT) {
            b->table->failed = !st_report_curve(b->table, m) || b->table->failed;
        }
        return;
    }
    for (size_t p = 0; p < m->n_places; p++) {
        enum st_outcome outcome = ST_NOT_JUDGED;
        const bool judged = st_verdict_at(b->verdict, b->step, row, p, &outcome);
        put_place(b, m, p);
        put_row(b, m, p, judged, outcome);
    }
}

/* Names of the metrics for which @p is_so holds at some place; "" if none. */
static void list_metrics(const struct st_file_step *s,
                         bool (*is_so)(const struct st_summary *), struct st_text *out)
{
    for (size_t m = 0; m < s->n_metrics; m++) {
        bool any = false;
        for (size_t p = 0; p < s->metrics[m].n_places && !any; p++) {
            any = is_so(&s->metrics[m].summary[p]);
        }
        if (any) {
            st_text_add(out, "%s%s", out->length > 0 ? ", " : "", s->metrics[m].name);
        }
    }
}

static bool is_drifting(const struct st_summary *s)
{
    return s->drifting;
}

static bool is_wide(const struct st_summary *s)
{
    return s->n > 0 && !s->converged && s->max > s->min;
}

static void put_list(const struct block *b, const char *what,
                     bool (*is_so)(const struct st_summary *))
{
    struct st_text names = {0};
    struct st_text line = {0};

    list_metrics(step_of(b), is_so, &names);
    if (names.length > 0) {
        st_text_add(&line, "%s: %s", what, st_text_get(&names));
        st_table_line(b->table, 4, 6, ST_INK_DOUBT, st_text_get(&line));
    }
    finish(b, &names);
    finish(b, &line);
}

static void put_remarks(const struct block *b)
{
    const struct st_file_step *s = step_of(b);
    char line[sizeof s->notes + 32];
    char width[96];

    (void)snprintf(width, sizeof width, "not converged to %.3g %% of the median",
                   100.0 * s->width);
    put_list(b, width, is_wide);
    put_list(b, "drifting with time", is_drifting);
    if (s->state == ST_STEP_COMPLETE && !s->placement_proved) {
        st_table_line(b->table, 4, 6, ST_INK_DOUBT,
                      "the placement of its threads is not proved");
    }
    if (s->oversubscribed) {
        st_table_line(b->table, 4, 6, ST_INK_DOUBT,
                      "oversubscribed: more threads than CPUs, figures are not judged");
    }
    if (s->notes[0] != '\0') {
        (void)snprintf(line, sizeof line, "note: %s", s->notes);
        st_table_line(b->table, 4, 6, ST_INK_FAINT, line);
    }
}

static void put_head(const struct block *b)
{
    const struct st_file_step *s = step_of(b);
    const bool is_good = !st_step_void(s);
    struct st_text line = {0};
    char time[32];

    st_text_add(&line, "step %zu/%zu  %s  %s", s->number + 1,
                b->file->n_steps_planned > b->file->n_steps ? b->file->n_steps_planned
                                                            : b->file->n_steps,
                s->name, st_step_state_word(s->state));
    if (s->wall_s > 0.0 && s->state != ST_STEP_SKIPPED) {
        st_text_add(&line, " in %s", st_duration(time, sizeof time, s->wall_s));
    }
    st_table_line(b->table, 0, 4, is_good ? ST_INK_STRONG : ST_INK_BAD,
                  st_text_get(&line));
    finish(b, &line);
    if (s->reason[0] != '\0') {
        st_table_line(b->table, 4, 4, ST_INK_DOUBT, s->reason);
    }
    st_text_add(&line, "%s", s->layout);
    for (size_t p = 0; p < s->n_params; p++) {
        st_text_add(&line, "%s%s=%s",
                    p > 0                  ? " "
                    : s->layout[0] != '\0' ? "; "
                                           : "",
                    s->params[p].name, s->params[p].value);
    }
    if (line.length > 0) {
        st_table_line(b->table, 4, 6, ST_INK_FAINT, st_text_get(&line));
    }
    finish(b, &line);
}

static void put_step(struct block *b)
{
    const struct st_file_step *s = step_of(b);
    bool has_places = false;

    put_head(b);
    for (size_t m = 0; m < s->n_metrics; m++) {
        has_places = has_places || s->metrics[m].n_places > 0;
    }
    if (has_places) {
        st_table_titles(b->table);
    }
    for (size_t m = 0; m < s->n_metrics; m++) {
        put_metric(b, m);
    }
    put_remarks(b);
    st_table_line(b->table, 0, 0, ST_INK_PLAIN, "");
}

/* Does any row have something to say in the last column? Where nothing was asked for it
 * would be a column of dashes, and 80 characters are few. */
static bool has_outcomes(const struct st_file *file)
{
    bool has = false;

    for (size_t s = 0; s < file->n_steps; s++) {
        has = has || file->steps[s].n_criteria > 0 || st_step_void(&file->steps[s]);
    }
    return has;
}

bool st_report_figures(FILE *out, struct st_style style, const struct st_file *file,
                       const struct st_verdict *verdict)
{
    struct st_table table = {
        .n_columns = has_outcomes(file) ? N_COLUMNS : C_OUTCOME,
        .titles = {"METRIC", "MEDIAN", "INTERVAL", "RANGE", "N", "OUTCOME"},
        .right = {[C_MEDIAN] = true, [C_INTERVAL] = true, [C_RANGE] = true, [C_N] = true},
        .indent = 4};

    for (size_t s = 0; s < file->n_steps; s++) {
        put_step(&(struct block){&table, file, verdict, s, NULL});
    }
    st_table_print(&table, out, style);
    st_table_clear(&table);
    return !table.failed;
}
