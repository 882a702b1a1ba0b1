/*
 * One criterion of one step: is it judged at all, what does every place say, and what does the
 * set of places say together (METHODS 9).
 *
 * The order of the doubts is the order in which a person would want to hear of them: a missing
 * number before a short series, a short series before a restless one.
 */
#include "src/judge/judging.h"

#include "src/base/mem.h"
#include "src/base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Clock error that a time taken over several nodes may carry, METHODS 9 "clock error too large". */
static const double clock_error_share = 0.10;

enum {
    QUANTITY_SIZE = 48
};

static bool is_at_least(enum st_criterion_kind kind)
{
    return kind == ST_AT_LEAST || kind == ST_AT_LEAST_OF_PEAK ||
           kind == ST_AT_LEAST_OF_REFERENCE;
}

/*
 * Percentages are resolved once, here; a floor is in base units already. A peak or reference
 * that is missing gives NaN.
 */
static double resolved_bound(const struct st_criterion *c)
{
    switch (c->kind) {
    case ST_AT_LEAST:
    case ST_AT_MOST:
    case ST_SPREAD:
        return c->bound;
    case ST_AT_LEAST_OF_PEAK:
    case ST_AT_LEAST_OF_REFERENCE:
    case ST_AT_MOST_OF_REFERENCE:
        return c->bound * c->reference;
    }
    return (double)NAN;
}

static const char *statistic_name(enum st_statistic statistic)
{
    switch (statistic) {
    case ST_STAT_MEDIAN:
        return "median";
    case ST_STAT_MIN:
        return "smallest sample";
    case ST_STAT_MAX:
        return "largest sample";
    case ST_STAT_P99:
        return "99th percentile";
    }
    return "figure";
}

static const struct st_file_step *step_of(const struct st_judging *j,
                                          const struct st_verdict_row *row)
{
    return &j->file->steps[row->step];
}

static const struct st_file_metric *metric_of(const struct st_judging *j,
                                              const struct st_verdict_row *row)
{
    return &step_of(j, row)->metrics[row->metric];
}

static const struct st_criterion *criterion_of(const struct st_judging *j,
                                               const struct st_verdict_row *row)
{
    return &step_of(j, row)->criteria[row->criterion].criterion;
}

const char *st_place_name(const struct st_file_metric *metric, size_t place)
{
    return metric->places[place].label[0] != '\0' ? metric->places[place].label : "job";
}

/* Topology class of a place's node; SIZE_MAX if it belongs to no one node. */
static size_t class_of(const struct st_file *file, const struct st_file_metric *metric,
                       size_t place)
{
    const struct st_file_place *p = &metric->places[place];

    if (metric->kind == ST_PAIR || p->node >= file->n_nodes || file->nodes == NULL) {
        return SIZE_MAX;
    }
    return file->nodes[p->node].topology_class;
}

bool st_places_alike(const struct st_file *file, const struct st_file_metric *metric,
                     size_t a, size_t b)
{
    const double value_a = metric->places[a].value;
    const double value_b = metric->places[b].value;

    return class_of(file, metric, a) == class_of(file, metric, b) &&
           (metric->kind != ST_POINT || value_a == value_b);
}

struct st_verdict_row *st_row_add(struct st_judging *j, size_t step, size_t criterion)
{
    struct st_verdict_row *row = &j->verdict->rows[j->verdict->n_rows++];

    *row = (struct st_verdict_row){.step = step,
                                   .metric = SIZE_MAX,
                                   .place = SIZE_MAX,
                                   .criterion = criterion,
                                   .outcome = ST_NOT_JUDGED,
                                   .value = (double)NAN,
                                   .low = (double)NAN,
                                   .high = (double)NAN,
                                   .bound = (double)NAN,
                                   .worst_place = SIZE_MAX};
    return row;
}

/* "Never judged" of METHODS 9 and CASES 56, as the end of a sentence; NULL: may be judged. */
static const char *never_judged(const struct st_file *file,
                                const struct st_file_step *step)
{
    if (file->fake_nodes && !file->judge_fake_nodes) {
        return "the nodes are pretended (SEATRIAL_FAKE_NODES)";
    }
    if (step->state != ST_STEP_COMPLETE) {
        return NULL; /* the caller has the step's own words */
    }
    if (step->check_bad > 0) {
        return "the results of the step were found wrong";
    }
    if (step->oversubscribed) {
        return "there were more threads than CPUs (oversubscribed)";
    }
    if (!step->placement_proved) {
        return "the placement of its threads is not proved";
    }
    return NULL;
}

enum st_status st_estimate_place(const struct st_judging *j,
                                 const struct st_verdict_row *row, size_t place,
                                 const struct st_estimate_rule *rule,
                                 struct st_estimate *out)
{
    double *values = NULL;
    size_t n = 0;

    if (j->samples(j->file, row->step, row->metric, place, &n, &values, j->err) !=
        ST_OK) {
        return st_note(j->err, ", while judging %s of step %s", metric_of(j, row)->name,
                       step_of(j, row)->name);
    }
    double *scratch = st_calloc(j->err, n, sizeof *scratch);
    if (scratch == NULL) {
        st_free(values);
        return ST_ERR_MEMORY;
    }
    st_estimate_of(rule, n, values, scratch, out);
    st_free(scratch);
    st_free(values);
    return ST_OK;
}

/*
 * Only a time that the harness took over several nodes hangs on the global clock; values that a
 * benchmark gave were timed by one rank's own clock.
 */
static bool hangs_on_global_clock(const struct st_file_metric *metric, size_t place)
{
    const struct st_file_place *p = &metric->places[place];

    if (metric->origin != ST_FROM_TIME) {
        return false;
    }
    return metric->kind == ST_PAIR ? p->node != p->node_b
                                   : metric->kind == ST_JOB && p->node == SIZE_MAX;
}

static enum st_doubt_kind too_few(const struct st_estimate *e, char why[256])
{
    st_say(why, 256, "too few repetitions, %zu where at least %zu are needed", e->n,
           e->n_smallest);
    return ST_DOUBT_FEW;
}

/* Doubts about a series that is sound in itself: too short, or too restless. */
static enum st_doubt_kind doubt_of_series(const struct st_file_step *step,
                                          bool is_converged, const struct st_estimate *e,
                                          char why[256])
{
    if (e->exact || e->extreme) {
        return ST_DOUBT_NONE; /* a fact has no interval that could be too wide */
    }
    if (e->n < e->n_smallest) {
        return too_few(e, why);
    }
    if (e->drifting) {
        st_say(why, 256, "the samples drift with time");
        return ST_DOUBT_OTHER;
    }
    if (!is_converged) {
        st_say(why, 256,
               "the series did not reach its width of %.3g %% within the budget",
               100.0 * step->width);
        return ST_DOUBT_WIDE;
    }
    return ST_DOUBT_NONE;
}

enum st_doubt_kind st_estimate_doubt(const struct st_judging *j,
                                     const struct st_verdict_row *row, size_t place,
                                     const struct st_estimate *e, char why[256])
{
    const struct st_file_step *step = step_of(j, row);
    const struct st_file_metric *metric = metric_of(j, row);
    char text[QUANTITY_SIZE];

    if (e->n == 0) {
        st_say(why, 256, "there is no valid sample");
    } else if (!isfinite(row->bound)) {
        st_say(why, 256, "the peak or reference it is measured against is not known");
    } else if (step->check_n == 0) {
        st_say(why, 256, "its results were never verified");
    } else if (hangs_on_global_clock(metric, place) &&
               !(step->clock_error_s <= clock_error_share * fabs(e->value))) {
        st_say(why, 256, "the clocks of the nodes agree only within %s",
               st_format_quantity(text, sizeof text, step->clock_error_s, "s"));
    } else {
        return doubt_of_series(step, metric->summary[place].converged, e, why);
    }
    return ST_DOUBT_OTHER;
}

/*
 * The smallest of more samples can only be smaller, the largest only larger: such an answer is
 * final at any n, the opposite one needs as many samples as a median's interval would.
 */
static bool is_final(const struct st_criterion *c, enum st_outcome outcome)
{
    const bool fails_further = (c->statistic == ST_STAT_MIN) == is_at_least(c->kind);

    return outcome == (fails_further ? ST_FAIL : ST_PASS);
}

/* "the bound of at least 396.0 GB/s (80 % of 495.0 GB/s)" */
static void bound_text(const struct st_judging *j, const struct st_verdict_row *row,
                       char *out, size_t size)
{
    const struct st_criterion *c = criterion_of(j, row);
    const char *unit = metric_of(j, row)->unit;
    const char *side = is_at_least(c->kind) ? "at least" : "at most";
    char bound[QUANTITY_SIZE];
    char whole[QUANTITY_SIZE];

    (void)st_format_quantity(bound, sizeof bound, row->bound, unit);
    if (c->kind == ST_AT_LEAST || c->kind == ST_AT_MOST) {
        st_say(out, size, "the bound of %s %s", side, bound);
    } else {
        st_say(out, size, "the bound of %s %s (%.4g %% of %s)", side, bound,
               100.0 * c->bound,
               st_format_quantity(whole, sizeof whole, c->reference, unit));
    }
}

/* "median 400.0 GB/s (95 % interval 398.0 GB/s to 402.0 GB/s)" */
static void figure_text(const struct st_judging *j, const struct st_verdict_row *row,
                        const struct st_estimate_rule *rule, const struct st_estimate *e,
                        char *out, size_t size)
{
    const char *unit = metric_of(j, row)->unit;
    const char *name = statistic_name(rule->statistic);
    char value[QUANTITY_SIZE];
    char low[QUANTITY_SIZE];
    char high[QUANTITY_SIZE];

    (void)st_format_quantity(value, sizeof value, e->value, unit);
    if (e->exact) {
        st_say(out, size, "%s in each of %zu samples", value, e->n);
    } else if (e->extreme || !isfinite(e->low) || !isfinite(e->high)) {
        st_say(out, size, "%s %s of %zu samples", name, value, e->n);
    } else {
        st_say(out, size, "%s %s (%.6g %% interval %s to %s)", name, value,
               100.0 * rule->confidence,
               st_format_quantity(low, sizeof low, e->low, unit),
               st_format_quantity(high, sizeof high, e->high, unit));
    }
}

static void place_text(const struct st_judging *j, struct st_verdict_row *row,
                       const struct st_estimate_rule *rule, const struct st_estimate *e,
                       const char *why)
{
    const struct st_file_metric *metric = metric_of(j, row);
    char bound[160];
    char figure[224];
    char head[448];

    bound_text(j, row, bound, sizeof bound);
    figure_text(j, row, rule, e, figure, sizeof figure);
    if (metric->kind == ST_JOB && metric->n_places == 1) {
        st_say(head, sizeof head, "%s: %s", metric->name, figure);
    } else {
        st_say(head, sizeof head, "%s at %s: %s", metric->name,
               st_place_name(metric, row->place), figure);
    }
    if (why[0] != '\0' && row->n_needed > 0 && e->n >= e->n_smallest) {
        st_say(row->text, sizeof row->text,
               "%s cannot be judged against %s: %s; about %zu repetitions would reach it",
               head, bound, why, row->n_needed);
    } else if (why[0] != '\0') {
        st_say(row->text, sizeof row->text, "%s cannot be judged against %s: %s", head,
               bound, why);
    } else if (row->outcome == ST_PASS) {
        st_say(row->text, sizeof row->text, "%s meets %s", head, bound);
    } else if (row->outcome == ST_FAIL && !(fabs(row->bound) > 0.0)) {
        st_say(row->text, sizeof row->text, "%s misses %s", head, bound);
    } else if (row->outcome == ST_FAIL) {
        st_say(row->text, sizeof row->text, "%s misses %s by %.2g %%", head, bound,
               100.0 * fabs(e->value - row->bound) / fabs(row->bound));
    } else if (row->n_needed > 0) {
        st_say(row->text, sizeof row->text,
               "%s lies on both sides of %s; about %zu repetitions would decide", head,
               bound, row->n_needed);
    } else {
        st_say(row->text, sizeof row->text, "%s is too close to %s to decide", head,
               bound);
    }
}

/* Repetitions that would end a doubt; 0: no number would. */
static size_t needed_against(enum st_doubt_kind doubt, const struct st_estimate *e,
                             double width)
{
    if (doubt == ST_DOUBT_FEW) {
        return e->n_smallest;
    }
    if (doubt ==
        ST_DOUBT_WIDE) { /* half-width = width * |value| (METHODS 8.1, stopping) */
        return st_repetitions_needed(e->n, e->low, e->high, e->value,
                                     e->value * (1.0 + width));
    }
    return 0;
}

static enum st_status judge_place(const struct st_judging *j, struct st_verdict_row *row,
                                  const struct st_estimate_rule *rule)
{
    const struct st_criterion *c = criterion_of(j, row);
    struct st_estimate e;
    char why[256] = "";
    const enum st_status rc = st_estimate_place(j, row, row->place, rule, &e);

    if (rc != ST_OK) {
        return rc;
    }
    row->value = e.value;
    row->low = e.low;
    row->high = e.high;
    row->n = e.n;
    row->outcome = st_classify(e.low, e.high, row->bound, is_at_least(c->kind));
    enum st_doubt_kind doubt = st_estimate_doubt(j, row, row->place, &e, why);
    if (doubt == ST_DOUBT_NONE && e.extreme && !e.exact && e.n < e.n_smallest &&
        !is_final(c, row->outcome)) {
        doubt = too_few(&e, why);
    }
    if (doubt != ST_DOUBT_NONE) {
        row->outcome = ST_INCONCLUSIVE;
        row->n_needed = needed_against(doubt, &e, step_of(j, row)->width);
    } else if (row->outcome == ST_INCONCLUSIVE) {
        row->n_needed = st_repetitions_needed(e.n, e.low, e.high, e.value, row->bound);
    }
    place_text(j, row, rule, &e, why);
    return ST_OK;
}

/* Counts over the places of a set; worst is the row whose figures stand for the set. */
struct tally {
    size_t n_fail, n_inconclusive, n_beyond_floor, n_near_floor;
    size_t n_needed;
    const struct st_verdict_row *worst;
};

/* Is @p a a worse figure than @p b? Outcome first, then the value; NaN is worst. */
static bool is_worse(const struct st_verdict_row *a, const struct st_verdict_row *b,
                     bool at_least)
{
    if (a->outcome != b->outcome) {
        return st_outcome_worse(a->outcome, b->outcome) == a->outcome;
    }
    if (isnan(a->value) || isnan(b->value)) {
        return isnan(a->value) && !isnan(b->value);
    }
    return at_least ? a->value < b->value : a->value > b->value;
}

static void tally_place(struct tally *t, const struct st_verdict_row *row,
                        const struct st_criterion *c)
{
    const bool at_least = is_at_least(c->kind);

    t->n_fail += row->outcome == ST_FAIL;
    t->n_inconclusive += row->outcome == ST_INCONCLUSIVE;
    if (row->n_needed > t->n_needed) {
        t->n_needed = row->n_needed;
    }
    if (t->worst == NULL || is_worse(row, t->worst, at_least)) {
        t->worst = row;
    }
    if (!isnan(c->floor)) {
        const enum st_outcome floor =
            st_classify(row->low, row->high, c->floor, at_least);
        t->n_beyond_floor += floor == ST_FAIL;
        t->n_near_floor += floor == ST_INCONCLUSIVE;
    }
}

static enum st_outcome set_outcome(const struct tally *t, const struct st_criterion *c)
{
    if (t->n_fail > c->may_fail || t->n_beyond_floor > 0) {
        return ST_FAIL;
    }
    if (t->n_fail + t->n_inconclusive > c->may_fail || t->n_near_floor > 0) {
        return ST_INCONCLUSIVE;
    }
    return ST_PASS;
}

static void set_text(const struct st_judging *j, struct st_verdict_row *set,
                     const struct tally *t)
{
    const struct st_criterion *c = criterion_of(j, set);
    const struct st_file_metric *metric = metric_of(j, set);
    const size_t n = set->n_place_rows;
    char bound[160];
    char value[QUANTITY_SIZE];
    char allowed[64] = "";

    bound_text(j, set, bound, sizeof bound);
    (void)st_format_quantity(value, sizeof value, t->worst->value, metric->unit);
    if (c->may_fail > 0) {
        st_say(allowed, sizeof allowed, " (%zu may)", c->may_fail);
    }
    if (n == 1 && t->n_beyond_floor + t->n_near_floor == 0) {
        st_say(set->text, sizeof set->text, "%s", t->worst->text);
    } else if (t->n_beyond_floor > 0 ||
               (set->outcome != ST_PASS && t->n_near_floor > 0)) {
        st_say(set->text, sizeof set->text,
               "%s: %zu of %zu places are beyond the floor that none may pass; worst %s "
               "with %s",
               metric->name, t->n_beyond_floor + t->n_near_floor, n,
               st_place_name(metric, t->worst->place), value);
    } else if (set->outcome == ST_INCONCLUSIVE) {
        st_say(set->text, sizeof set->text, "undecided at %zu of %zu places; %s",
               t->n_inconclusive, n, t->worst->text);
    } else if (t->n_fail > 0) {
        st_say(set->text, sizeof set->text,
               "%s: %zu of %zu places miss%s %s%s; worst %s with %s", metric->name,
               t->n_fail, n, t->n_fail == 1 ? "es" : "", bound, allowed,
               st_place_name(metric, t->worst->place), value);
    } else {
        st_say(set->text, sizeof set->text,
               "%s: all %zu places meet %s; closest %s with %s", metric->name, n, bound,
               st_place_name(metric, t->worst->place), value);
    }
}

static enum st_status judge_places(struct st_judging *j, struct st_verdict_row *set)
{
    const struct st_criterion *c = criterion_of(j, set);
    const struct st_file_metric *metric = metric_of(j, set);
    const struct st_estimate_rule rule = {
        .statistic = c->statistic,
        .confidence = 1.0 - (1.0 - c->confidence) / (double)metric->n_places,
        .is_count = strcmp(metric->unit, "1") == 0};
    struct tally t = {0};

    for (size_t p = 0; p < metric->n_places; p++) {
        struct st_verdict_row *row = st_row_add(j, set->step, set->criterion);
        row->metric = set->metric;
        row->place = p;
        row->bound = set->bound;
        const enum st_status rc = judge_place(j, row, &rule);
        if (rc != ST_OK) {
            return rc;
        }
        tally_place(&t, row, c);
    }
    set->n_place_rows = metric->n_places;
    set->outcome = set_outcome(&t, c);
    set->value = t.worst->value;
    set->low = t.worst->low;
    set->high = t.worst->high;
    set->n = t.worst->n;
    set->worst_place = t.worst->place;
    set->n_needed = set->outcome == ST_INCONCLUSIVE ? t.n_needed : 0;
    set_text(j, set, &t);
    return ST_OK;
}

/* True if the step or the file forbids a verdict; the set row then says why. */
static bool refuse(const struct st_judging *j, struct st_verdict_row *set)
{
    const struct st_file_step *step = step_of(j, set);
    const char *name =
        set->metric < step->n_metrics ? metric_of(j, set)->name : "a metric";
    const char *why = never_judged(j->file, step);

    if (why != NULL) {
        st_say(set->text, sizeof set->text, "%s is not judged: %s", name, why);
    } else if (step->state != ST_STEP_COMPLETE) {
        st_say(set->text, sizeof set->text,
               "%s is not judged: the step is not complete (%s%s%s)", name,
               st_step_state_word(step->state), step->reason[0] != '\0' ? ": " : "",
               step->reason);
    } else if (set->metric >= step->n_metrics || metric_of(j, set)->n_places == 0) {
        st_say(set->text, sizeof set->text,
               "%s is not judged: nothing was recorded for it", name);
    } else {
        return false;
    }
    return true;
}

enum st_status st_judge_criterion(struct st_judging *j, size_t step, size_t criterion)
{
    const struct st_file_step *s = &j->file->steps[step];
    const struct st_criterion *c = &s->criteria[criterion].criterion;
    struct st_verdict_row *set = st_row_add(j, step, criterion);

    set->metric = s->criteria[criterion].metric;
    set->bound = resolved_bound(c);
    if (refuse(j, set)) {
        return ST_OK;
    }
    const enum st_status rc =
        c->kind == ST_SPREAD ? st_judge_spread(j, set) : judge_places(j, set);
    if (rc == ST_OK && set->outcome == ST_INCONCLUSIVE && c->inconclusive_is_fail) {
        char undecided[sizeof set->text];
        st_say(undecided, sizeof undecided, "%s", set->text);
        set->outcome = ST_FAIL;
        st_say(set->text, sizeof set->text, "undecided counts as failed here: %s",
               undecided);
    }
    return rc;
}
