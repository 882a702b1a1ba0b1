/*
 * Spread over places: (largest - smallest) / median of the places' medians (METHODS 9, d).
 * Only like nodes are compared (CASES 9): places whose nodes differ in topology form classes
 * of their own, and the widest class speaks for the set.
 */
#include "src/judge/judging.h"

#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* Medians of the places, and what the widest class has shown so far. */
struct spread {
    size_t n;
    double *median, *half; /* [n] */
    double *gathered;      /* [n] scratch: medians of one class */
    bool found;
    double value, margin; /* of the widest class */
    size_t n_places, smallest, largest;
};

static void widen(struct spread *s, const struct st_file *file,
                  const struct st_file_metric *metric, size_t first)
{
    size_t k = 0;
    size_t lo = first;
    size_t hi = first;
    double half = 0.0;

    for (size_t p = first; p < s->n; p++) {
        if (!st_places_alike(file, metric, first, p)) {
            continue;
        }
        s->gathered[k++] = s->median[p];
        half += s->half[p];
        lo = s->median[p] < s->median[lo] ? p : lo;
        hi = s->median[p] > s->median[hi] ? p : hi;
    }
    if (k < 2) {
        return;
    }
    st_sort(k, s->gathered);
    const double centre = fabs(st_median_sorted(k, s->gathered));
    const double value = (s->median[hi] - s->median[lo]) / centre;
    if (!s->found || value > s->value) {
        s->found = true;
        s->value = value;
        s->margin = half / (double)k / centre;
        s->n_places = k;
        s->smallest = lo;
        s->largest = hi;
    }
}

static bool is_first_of_class(const struct st_file *file,
                              const struct st_file_metric *metric, size_t place)
{
    for (size_t p = 0; p < place; p++) {
        if (st_places_alike(file, metric, p, place)) {
            return false;
        }
    }
    return true;
}

/* Read every place; on the first doubt stop with its reason in the set's text. */
static enum st_status gather(const struct st_judging *j, struct st_verdict_row *set,
                             const struct st_file_metric *metric, struct spread *s,
                             bool *doubtful)
{
    const struct st_criterion *c =
        &j->file->steps[set->step].criteria[set->criterion].criterion;
    const struct st_estimate_rule rule = {.statistic = ST_STAT_MEDIAN,
                                          .confidence = c->confidence,
                                          .is_count = strcmp(metric->unit, "1") == 0};

    for (size_t p = 0; p < s->n; p++) {
        struct st_estimate e;
        char why[256];
        const enum st_status rc = st_estimate_place(j, set, p, &rule, &e);
        if (rc != ST_OK) {
            return rc;
        }
        s->median[p] = e.value;
        s->half[p] = 0.5 * (e.high - e.low);
        set->n = p == 0 || e.n < set->n ? e.n : set->n;
        if (!*doubtful && st_estimate_doubt(j, set, p, &e, why) != ST_DOUBT_NONE) {
            *doubtful = true;
            set->outcome = ST_INCONCLUSIVE;
            set->n_needed = e.n < e.n_smallest ? e.n_smallest : 0;
            set->worst_place = p;
            st_say(set->text, sizeof set->text,
                   "the spread of %s cannot be judged; at %s %s", metric->name,
                   st_place_name(metric, p), why);
        }
    }
    return ST_OK;
}

static void conclude(struct st_verdict_row *set, const struct st_file_metric *metric,
                     const struct spread *s)
{
    const char *relation = "exceeds, by no more than the noise of the medians,";

    if (!isfinite(s->value)) {
        set->outcome = ST_INCONCLUSIVE;
        st_say(set->text, sizeof set->text,
               "the spread of %s has no meaning: its median is 0", metric->name);
        return;
    }
    set->value = s->value;
    set->low = fmax(0.0, s->value - s->margin);
    set->high = s->value;
    set->worst_place = metric->better == ST_LOWER ? s->largest : s->smallest;
    set->outcome = st_classify(set->low, set->high, set->bound, false);
    if (set->outcome == ST_INCONCLUSIVE) {
        /* margin stands for the half-width: the spread decides once it shrinks below the excess */
        set->n_needed =
            st_repetitions_needed(set->n, -s->margin, s->margin, s->value, set->bound);
    } else {
        relation = set->outcome == ST_PASS ? "is within" : "is beyond";
    }
    st_say(set->text, sizeof set->text,
           "the spread of %s over %zu like places, %.3g %%, %s the %.3g %% allowed; "
           "lowest %s, "
           "highest %s",
           metric->name, s->n_places, 100.0 * s->value, relation, 100.0 * set->bound,
           st_place_name(metric, s->smallest), st_place_name(metric, s->largest));
}

/* Two places of one class: without them there is nothing to compare. */
static bool has_like_places(const struct st_file *file,
                            const struct st_file_metric *metric)
{
    for (size_t p = 1; p < metric->n_places; p++) {
        if (!is_first_of_class(file, metric, p)) {
            return true;
        }
    }
    return false;
}

enum st_status st_judge_spread(struct st_judging *j, struct st_verdict_row *set)
{
    const struct st_file_metric *metric = &j->file->steps[set->step].metrics[set->metric];
    struct spread s = {.n = metric->n_places};
    bool doubtful = false;
    enum st_status rc = ST_ERR_MEMORY;

    if (!has_like_places(j->file, metric)) {
        st_say(set->text, sizeof set->text,
               "the spread of %s is not judged: it needs at least two like places",
               metric->name);
        return ST_OK;
    }
    s.median = st_calloc(j->err, s.n, sizeof *s.median);
    s.half = st_calloc(j->err, s.n, sizeof *s.half);
    s.gathered = st_calloc(j->err, s.n, sizeof *s.gathered);
    if (s.median != NULL && s.half != NULL && s.gathered != NULL) {
        rc = gather(j, set, metric, &s, &doubtful);
    }
    if (rc == ST_OK && !doubtful) {
        for (size_t p = 0; p < s.n; p++) {
            if (is_first_of_class(j->file, metric, p)) {
                widen(&s, j->file, metric, p);
            }
        }
        conclude(set, metric, &s);
    }
    st_free(s.median);
    st_free(s.half);
    st_free(s.gathered);
    return rc;
}
