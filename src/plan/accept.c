/*
 * The section `accept:`. Percentages "of peak" and "of 400GB/s" are resolved here, once, to a fraction and a reference in base units (METHODS 9). Which side is good
 * comes from the metric's declaration: a bound on the wrong side is a mistake, because no
 * one asks a machine to be slow.
 */
#include "src/plan/parts.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/base/units.h"

#include <math.h>
#include <string.h>

enum {
    WORDS_SIZE = 96
};

enum {
    A_AT_LEAST,
    A_AT_MOST,
    A_SPREAD,
    A_SPREAD_OVER_NODES,
    A_STATISTIC,
    A_CONFIDENCE,
    A_MAY_FAIL,
    A_FLOOR,
    A_INCONCLUSIVE,
    N_KEYS
};
static const char *const accept_keys[N_KEYS] = {
    "at_least",   "at_most",  "spread", "spread_over_nodes", "statistic",
    "confidence", "may_fail", "floor",  "inconclusive"};

static const char *const statistic_words[] = {[ST_STAT_MEDIAN] = "median",
                                              [ST_STAT_MIN] = "min",
                                              [ST_STAT_MAX] = "max",
                                              [ST_STAT_P99] = "p99"};

const char *st_statistic_word(enum st_statistic statistic)
{
    return statistic_words[statistic];
}

const char *st_criterion_word(enum st_criterion_kind kind)
{
    static const char *const words[] = {
        [ST_AT_LEAST] = "at_least",
        [ST_AT_MOST] = "at_most",
        [ST_AT_LEAST_OF_PEAK] = "at_least_of_peak",
        [ST_AT_LEAST_OF_REFERENCE] = "at_least_of_reference",
        [ST_AT_MOST_OF_REFERENCE] = "at_most_of_reference",
        [ST_SPREAD] = "spread"};

    return words[kind];
}

/* One metric's entry of `accept:` while it is read. */
struct accept {
    const struct st_plan *plan;
    const struct st_metric *metric;
    const struct st_value *map;
    struct st_criterion common; /* what all criteria of the entry share */
    struct st_error *err;
};

/* "380GB/s" in the metric's unit. */
static enum st_status read_bound(const struct accept *accept,
                                 const struct st_value *value, const char *what,
                                 double *out)
{
    struct st_error cause = {0};
    const char *text = NULL;
    enum st_status rc = st_read_text(value, what, &text, accept->err);

    if (rc != ST_OK) {
        return rc;
    }
    rc = st_parse_quantity(&cause, text, accept->metric->unit, out);
    if (rc == ST_OK) {
        return ST_OK;
    }
    if (text[strlen(text) - 1] == '%') {
        return st_value_fail(
            accept->err, value,
            "%s: found '%s'; say of what: '%s of peak', or '%s of' and a "
            "quantity",
            what, text, text, text);
    }
    return st_value_fail(accept->err, value, "%s: %s", what, cause.text);
}

/* "80%" before " of ". */
static enum st_status read_share(const struct accept *accept,
                                 const struct st_value *value, const char *what,
                                 size_t length, double *out)
{
    char share[32];
    char words[WORDS_SIZE];
    struct st_error ignored = {0};

    if (length < sizeof share) {
        memcpy(share, value->text, length);
        share[length] = '\0';
        if (length > 0 && share[length - 1] == '%' &&
            st_parse_quantity(&ignored, share, "1", out) == ST_OK && *out > 0.0 &&
            *out <= 10.0) {
            return ST_OK;
        }
    }
    return st_value_fail(accept->err, value,
                         "%s: found %s; a percentage from above 0%% to 1000%% is needed "
                         "before 'of'",
                         what, st_value_words(value, words, sizeof words));
}

/* What stands after " of ": "peak", "peak NAME" or a quantity. */
static enum st_status read_target(const struct accept *accept,
                                  const struct st_value *value, const char *what,
                                  const char *target, struct st_criterion *out)
{
    struct st_error cause = {0};
    const bool is_least = out->kind == ST_AT_LEAST;

    target += strspn(target, " ");
    if (strcmp(target, "peak") == 0 || strncmp(target, "peak ", 5) == 0) {
        const char *name = target + 4 + strspn(target + 4, " ");

        out->kind = is_least ? ST_AT_LEAST_OF_PEAK : ST_AT_MOST_OF_REFERENCE;
        return st_peak_find(accept->plan, accept->metric, name, value, &out->reference,
                            accept->err);
    }
    out->kind = is_least ? ST_AT_LEAST_OF_REFERENCE : ST_AT_MOST_OF_REFERENCE;
    if (st_parse_quantity(&cause, target, accept->metric->unit, &out->reference) !=
        ST_OK) {
        return st_value_fail(accept->err, value,
                             "%s: after 'of' comes 'peak', 'peak NAME' or a quantity: %s",
                             what, cause.text);
    }
    if (!(out->reference > 0.0)) {
        return st_value_fail(
            accept->err, value,
            "%s: a percentage of '%s' says nothing; the reference must be "
            "above 0",
            what, target);
    }
    return ST_OK;
}

/* The criterion as the user wrote it, with what modifies it. */
static void write_text(const struct accept *accept, size_t row, struct st_criterion *out)
{
    size_t used = 0;

    for (size_t i = 0; i < N_KEYS; i++) {
        const struct st_value *value = st_map_get(accept->map, accept_keys[i]);
        const bool is_other_bound = i <= A_SPREAD_OVER_NODES && i != row;
        const bool is_for_bounds = i == A_MAY_FAIL || i == A_FLOOR;

        if (value == NULL || is_other_bound || (is_for_bounds && row >= A_SPREAD)) {
            continue;
        }
        (void)st_print(out->text + used, sizeof out->text - used, "%s%s: %s",
                       used == 0 ? "" : ", ", accept_keys[i], value->text);
        used = strlen(out->text); /* cut if it must be: it is there to be recognised */
    }
}

/* The floor is the worst value that any place may show, so it lies beyond the bound. */
static enum st_status check_floor(const struct accept *accept,
                                  const struct st_criterion *criterion)
{
    const double bound = isnan(criterion->reference)
                             ? criterion->bound
                             : criterion->bound * criterion->reference;
    const bool is_least = accept->metric->better == ST_HIGHER;

    if (isnan(criterion->floor) || (is_least && criterion->floor <= bound) ||
        (!is_least && criterion->floor >= bound)) {
        return ST_OK;
    }
    return st_value_fail(accept->err, st_map_get(accept->map, "floor"),
                         "floor: found '%s', which is stricter than the bound itself",
                         st_map_get(accept->map, "floor")->text);
}

/* at_least or at_most. */
static enum st_status read_side(const struct accept *accept, size_t row,
                                struct st_criterion *out)
{
    const char *what = accept_keys[row];
    const struct st_value *value = st_map_get(accept->map, what);
    const bool is_wrong_side =
        (row == A_AT_LEAST) != (accept->metric->better == ST_HIGHER);
    enum st_status rc = ST_OK;
    const char *text = NULL;

    *out = accept->common;
    out->kind = row == A_AT_LEAST ? ST_AT_LEAST : ST_AT_MOST;
    out->line = value->line;
    out->column = value->column;
    if (is_wrong_side) {
        return st_value_fail(accept->err,
                             accept->map->entries[st_value_index(accept->map, what)].key,
                             "%s: of %s %s values are better; use %s", what,
                             accept->metric->name, st_better_word(accept->metric->better),
                             accept_keys[A_AT_LEAST + A_AT_MOST - row]);
    }
    rc = st_read_text(value, what, &text, accept->err);
    if (rc != ST_OK) {
        return rc;
    }
    const char *of = strstr(text, " of ");
    if (of == NULL) {
        rc = read_bound(accept, value, what, &out->bound);
    } else {
        size_t length = (size_t)(of - text);

        while (length > 0 && text[length - 1] == ' ') {
            length--;
        }
        rc = read_share(accept, value, what, length, &out->bound);
        if (rc == ST_OK) {
            rc = read_target(accept, value, what, of + 4, out);
        }
    }
    if (rc == ST_OK) {
        rc = check_floor(accept, out);
    }
    if (rc == ST_OK) {
        write_text(accept, row, out);
    }
    return rc;
}

/* spread, or spread_over_nodes where the places are nodes. */
static enum st_status read_spread(const struct accept *accept, size_t row,
                                  struct st_criterion *out)
{
    const struct st_range range = {accept_keys[row], "1", 0.0, 10.0, "0% to 1000%"};
    const struct st_value *value = st_map_get(accept->map, accept_keys[row]);

    if (row == A_SPREAD_OVER_NODES && accept->metric->place != ST_NODE) {
        return st_value_fail(
            accept->err,
            accept->map->entries[st_value_index(accept->map, accept_keys[row])].key,
            "spread_over_nodes: the places of %s are of kind '%s'; use 'spread'",
            accept->metric->name, st_place_word(accept->metric->place));
    }
    *out = accept->common;
    out->kind = ST_SPREAD;
    out->may_fail = 0;
    out->floor = (double)NAN;
    out->line = value->line;
    out->column = value->column;
    const enum st_status rc = st_read_real(value, &range, &out->bound, accept->err);
    if (rc == ST_OK) {
        write_text(accept, row, out);
    }
    return rc;
}

/* statistic, confidence, may_fail, floor, inconclusive. */
static enum st_status read_common(struct accept *accept)
{
    static const struct st_range confidence = {"confidence", "1", 0.5, 0.9999,
                                               "50% to 99.99%"};
    static const struct st_range may_fail = {"may_fail", "1", 0.0, 1e9,
                                             "0 to 1000000000"};
    static const char *const inconclusive[] = {"ok", "fail"};
    static const enum st_statistic statistics[] = {ST_STAT_MEDIAN, ST_STAT_MIN,
                                                   ST_STAT_MAX, ST_STAT_P99};
    const struct st_value *value = st_map_get(accept->map, "statistic");
    enum st_status rc = ST_OK;
    size_t word = 0;

    if (value != NULL) {
        rc = st_read_word(value, "statistic", ST_COUNT(statistic_words), statistic_words,
                          &word, accept->err);
        accept->common.statistic = statistics[word];
    }
    value = st_map_get(accept->map, "confidence");
    if (rc == ST_OK && value != NULL) {
        rc = st_read_real(value, &confidence, &accept->common.confidence, accept->err);
    }
    value = st_map_get(accept->map, "may_fail");
    if (rc == ST_OK && value != NULL) {
        rc = st_read_count(value, &may_fail, &accept->common.may_fail, accept->err);
    }
    value = st_map_get(accept->map, "floor");
    if (rc == ST_OK && value != NULL) {
        rc = read_bound(accept, value, "floor", &accept->common.floor);
    }
    value = st_map_get(accept->map, "inconclusive");
    if (rc == ST_OK && value != NULL) {
        word = 0;
        rc = st_read_word(value, "inconclusive", ST_COUNT(inconclusive), inconclusive,
                          &word, accept->err);
        accept->common.inconclusive_is_fail = word == 1;
    }
    return rc;
}

/* Keys that are missing or do not go together. */
static enum st_status check_keys(const struct accept *accept)
{
    const struct st_value *map = accept->map;
    const bool is_bound =
        st_map_get(map, "at_least") != NULL || st_map_get(map, "at_most") != NULL;
    const struct st_value *over_nodes = st_map_get(map, "spread_over_nodes");

    if (st_map_get(map, "spread") != NULL && over_nodes != NULL) {
        return st_value_fail(
            accept->err, over_nodes,
            "'spread' and 'spread_over_nodes' say the same; give one of them");
    }
    if (!is_bound && st_map_get(map, "spread") == NULL && over_nodes == NULL) {
        return st_value_fail(accept->err, map,
                             "%s: nothing to judge by; give at_least, at_most or spread",
                             accept->metric->name);
    }
    if (st_map_get(map, "floor") != NULL && st_map_get(map, "may_fail") == NULL) {
        return st_value_fail(accept->err, st_map_get(map, "floor"),
                             "floor: only with 'may_fail', for the places that may fail");
    }
    if (st_map_get(map, "may_fail") != NULL && !is_bound) {
        return st_value_fail(accept->err, st_map_get(map, "may_fail"),
                             "may_fail: only with at_least or at_most");
    }
    return ST_OK;
}

/* All criteria of one metric, appended to the step's, which has room. */
static enum st_status read_metric(struct accept *accept, struct st_step *step)
{
    enum st_status rc =
        st_read_map(accept->map, accept->metric->name, N_KEYS, accept_keys, accept->err);

    if (rc == ST_OK) {
        rc = check_keys(accept);
    }
    if (rc == ST_OK) {
        rc = read_common(accept);
    }
    for (size_t row = A_AT_LEAST; rc == ST_OK && row <= A_SPREAD_OVER_NODES; row++) {
        struct st_criterion *out = &step->criteria[step->n_criteria];

        if (st_map_get(accept->map, accept_keys[row]) != NULL) {
            rc = row < A_SPREAD ? read_side(accept, row, out)
                                : read_spread(accept, row, out);
            step->n_criteria++;
        }
    }
    return rc;
}

/* The metric's row, if it can be judged in this step. */
static enum st_status find_metric(const struct st_value *key, const struct st_step *step,
                                  size_t *row, struct st_error *err)
{
    char hint[ST_HINT_SIZE];
    char words[WORDS_SIZE];
    const struct st_bench *bench = step->bench;
    const size_t found = st_bench_metric(bench, key->text);

    if (found == bench->n_metrics) {
        const char **names = st_calloc(err, bench->n_metrics, sizeof *names);

        if (names == NULL) {
            return ST_ERR_MEMORY;
        }
        for (size_t i = 0; i < bench->n_metrics; i++) {
            names[i] = bench->metrics[i].name;
        }
        st_names_hint(hint, sizeof hint, key->text, bench->n_metrics, names);
        st_free(names);
        return st_value_fail(err, key, "%s has no metric %s%s", bench->name,
                             st_value_words(key, words, sizeof words), hint);
    }
    if (bench->metrics[found].better == ST_NEITHER) {
        return st_value_fail(
            err, key,
            "%s has no good and bad side (better: neither) and cannot be "
            "judged",
            key->text);
    }
    if (!st_bench_applies(bench, step->params, found)) {
        return st_value_fail(err, key, "step %s does not measure %s with its parameters",
                             step->name, key->text);
    }
    *row = found;
    return ST_OK;
}

enum st_status st_accept_read(const struct st_value *map, const struct st_plan *plan,
                              struct st_step *step, struct st_error *err)
{
    const size_t n_kinds =
        3; /* at_least or at_most, and a spread: never more per metric */
    enum st_status rc = st_read_any_map(map, "accept", err);
    size_t n = 0;

    if (rc != ST_OK) {
        return rc;
    }
    if (!st_mul_size(map->n, n_kinds, &n)) {
        return st_value_fail(err, map, "accept: too many criteria");
    }
    step->criteria = st_calloc(err, n, sizeof *step->criteria);
    if (step->criteria == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; rc == ST_OK && i < map->n; i++) {
        struct accept accept = {.plan = plan,
                                .map = map->entries[i].value,
                                .common = {.confidence = 0.95, /* METHODS 9 */
                                           .reference = (double)NAN,
                                           .floor = (double)NAN},
                                .err = err};

        rc = find_metric(map->entries[i].key, step, &accept.common.metric_row, err);
        if (rc == ST_OK) {
            accept.metric = &step->bench->metrics[accept.common.metric_row];
            rc = read_metric(&accept, step);
        }
    }
    return rc;
}
