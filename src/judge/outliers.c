/*
 * Places that stand out among their like (METHODS 8.3, 8.4): modified z of the places' medians
 * against the median and MAD of the set, with a limit that grows with the size of the fleet.
 *
 * A place is suspect only if it is on the bad side, beyond the limit of the fleet, off by more
 * than a difference that matters, and beyond its own noise. All else beyond the limit is
 * listed. Ranks are listed only: neighbours on one node share caches and memory, so that the
 * independence behind the limits does not hold for them. Only like nodes are compared (CASES
 * 9), and at least five of them (CASES 60: below that there are numbers and no verdict).
 */
#include "src/judge/judging.h"

#include "src/base/mem.h"
#include "src/base/units.h"

#include <math.h>
#include <string.h>

enum {
    FEWEST_PLACES = 5
};

/* One set of like places. */
struct fleet {
    size_t n;
    size_t *place;  /* [n] */
    double *value;  /* [n] medians in order of place */
    double *sorted; /* [n] */
    double *scratch;
    double median, mad, mean_deviation, threshold;
};

static void measure_fleet(struct fleet *f)
{
    memcpy(f->sorted, f->value, f->n * sizeof *f->sorted);
    st_sort(f->n, f->sorted);
    f->median = st_median_sorted(f->n, f->sorted);
    f->mad = st_mad(f->n, f->value, f->median, f->scratch);
    f->mean_deviation = st_mean_deviation(f->n, f->value, f->median);
    f->threshold = st_fleet_limit(f->n);
}

static double score(const struct fleet *f, double x)
{
    return st_modified_z(x, f->median, f->mad, f->mean_deviation);
}

/*
 * Beyond the limit and by more than delta, all of it: for a place's own noise (METHODS 8.4,
 * point 3) @p x is the end of its interval that is nearest to the fleet.
 */
static bool is_beyond(const struct fleet *f, double x, bool is_low, double delta)
{
    const double off = is_low ? f->median - x : x - f->median;

    return off > 0.0 && fabs(score(f, x)) > f->threshold && off / fabs(f->median) > delta;
}

static void outlier_text(const struct st_file_step *step,
                         const struct st_file_metric *metric, const struct fleet *f,
                         struct st_outlier *o)
{
    char value[48];
    char median[48];
    const char *advice = o->suspect   ? "; measure it again before calling it bad"
                         : o->is_slow ? ""
                                      : "; curious, not slow";

    st_say(o->text, sizeof o->text,
           "%s of %s at %s: %s where the median of %zu places is %s "
           "(%+.1f %%, score %.1f, limit %.1f)%s",
           metric->name, step->name, st_place_name(metric, o->place),
           st_format_quantity(value, sizeof value, o->value, metric->unit), f->n,
           st_format_quantity(median, sizeof median, f->median, metric->unit),
           100.0 * (o->value - f->median) / fabs(f->median), o->score, f->threshold,
           advice);
}

/* The list doubles when its length is a power of two, so that no capacity need be kept. */
static enum st_status add(struct st_judging *j, const struct st_outlier *o)
{
    struct st_verdict *v = j->verdict;
    const size_t n = v->n_outliers;

    if ((n & (n - 1)) == 0) {
        struct st_outlier *grown =
            st_resize(j->err, v->outliers, n == 0 ? 1 : 2 * n, sizeof *grown);
        if (grown == NULL) {
            return ST_ERR_MEMORY;
        }
        v->outliers = grown;
    }
    v->outliers[v->n_outliers++] = *o;
    return ST_OK;
}

static enum st_status list_fleet(struct st_judging *j, size_t step, size_t metric,
                                 struct fleet *f)
{
    const struct st_file_step *s = &j->file->steps[step];
    const struct st_file_metric *m = &s->metrics[metric];
    const double delta = st_fleet_delta(strcmp(m->unit, "s") == 0);
    enum st_status rc = ST_OK;

    measure_fleet(f);
    if (!(fabs(f->median) > 0.0)) {
        return ST_OK; /* a share of nothing has no size */
    }
    for (size_t i = 0; i < f->n && rc == ST_OK; i++) {
        const struct st_summary *own = &m->summary[f->place[i]];
        const bool is_low = f->value[i] < f->median;
        struct st_outlier o = {.step = step,
                               .metric = metric,
                               .place = f->place[i],
                               .value = f->value[i],
                               .median = f->median,
                               .score = score(f, f->value[i])};
        if (!(fabs(o.score) > f->threshold)) {
            continue;
        }
        o.is_slow = m->better == ST_HIGHER ? is_low : m->better == ST_LOWER && !is_low;
        o.suspect = o.is_slow && m->kind != ST_RANK &&
                    is_beyond(f, o.value, is_low, delta) &&
                    is_beyond(f, is_low ? own->ci_high : own->ci_low, is_low, delta);
        outlier_text(s, m, f, &o);
        rc = add(j, &o);
    }
    return rc;
}

/* Places of the class of @p first, if no earlier place has that class. */
static void select_class(const struct st_file *file, const struct st_file_metric *m,
                         size_t first, struct fleet *f)
{
    f->n = 0;
    for (size_t p = 0; p < first; p++) {
        if (st_places_alike(file, m, p, first)) {
            return;
        }
    }
    for (size_t p = first; p < m->n_places; p++) {
        if (st_places_alike(file, m, p, first) && isfinite(m->summary[p].median)) {
            f->place[f->n] = p;
            f->value[f->n] = m->summary[p].median;
            f->n++;
        }
    }
}

static int by_place(const struct st_outlier *a, const struct st_outlier *b)
{
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Classes are searched one after another; the list is to be in order of place. */
static void order(struct st_verdict *v, size_t from)
{
    for (size_t i = from + 1; i < v->n_outliers; i++) {
        for (size_t k = i; k > from && by_place(&v->outliers[k], &v->outliers[k - 1]) < 0;
             k--) {
            const struct st_outlier swap = v->outliers[k];
            v->outliers[k] = v->outliers[k - 1];
            v->outliers[k - 1] = swap;
        }
    }
}

/* A place per node: declared so, or jobs that were one node each (`nodes: each`), or ranks. */
static bool has_like_places(const struct st_file_metric *m)
{
    if (m->n_places < FEWEST_PLACES || m->kind == ST_PAIR || m->kind == ST_NUMA ||
        m->kind == ST_POINT) {
        return false;
    }
    for (size_t p = 0; m->kind == ST_JOB && p < m->n_places; p++) {
        if (m->places[p].node == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

static enum st_status search_metric(struct st_judging *j, size_t step, size_t metric)
{
    const struct st_file_metric *m = &j->file->steps[step].metrics[metric];
    const size_t first = j->verdict->n_outliers;
    struct fleet f = {0};
    enum st_status rc = ST_ERR_MEMORY;

    f.place = st_calloc(j->err, m->n_places, sizeof *f.place);
    f.value = st_calloc(j->err, m->n_places, sizeof *f.value);
    f.sorted = st_calloc(j->err, m->n_places, sizeof *f.sorted);
    f.scratch = st_calloc(j->err, m->n_places, sizeof *f.scratch);
    if (f.place != NULL && f.value != NULL && f.sorted != NULL && f.scratch != NULL) {
        rc = ST_OK;
    }
    for (size_t p = 0; p < m->n_places && rc == ST_OK; p++) {
        select_class(j->file, m, p, &f);
        if (f.n >= FEWEST_PLACES) {
            rc = list_fleet(j, step, metric, &f);
        }
    }
    order(j->verdict, first);
    st_free(f.place);
    st_free(f.value);
    st_free(f.sorted);
    st_free(f.scratch);
    return rc;
}

/* As for criteria: what is never judged accuses nobody. */
static bool may_accuse(const struct st_file *file, const struct st_file_step *s)
{
    return (!file->fake_nodes || file->judge_fake_nodes) &&
           s->state == ST_STEP_COMPLETE && s->check_bad == 0 && !s->oversubscribed &&
           s->placement_proved;
}

enum st_status st_find_outliers(struct st_judging *j)
{
    enum st_status rc = ST_OK;

    for (size_t s = 0; s < j->file->n_steps && rc == ST_OK; s++) {
        const struct st_file_step *step = &j->file->steps[s];
        for (size_t m = 0;
             may_accuse(j->file, step) && m < step->n_metrics && rc == ST_OK; m++) {
            if (has_like_places(&step->metrics[m])) {
                rc = search_metric(j, s, m);
            }
        }
    }
    return rc;
}
