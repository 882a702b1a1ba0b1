/* The section `peaks:`: what the machine could do at best, by its maker or its offer. A peak
 * belongs to a metric by its unit; only where several have it must a criterion name one. */
#include "src/plan/parts.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/base/units.h"

#include <string.h>

enum {
    WORDS_SIZE = 96
};

static const char *const peak_units[] = {"byte s-1", "flop s-1", "s-1", "s", "byte"};

/* The unit is what tells of which kind a peak is. */
static enum st_status read_peak_value(const struct st_value *value, const char *name,
                                      double *number, const char **unit,
                                      struct st_error *err)
{
    char words[WORDS_SIZE];
    const char *text = NULL;
    const enum st_status rc = st_read_text(value, name, &text, err);

    if (rc != ST_OK) {
        return rc;
    }
    for (size_t i = 0; i < ST_COUNT(peak_units); i++) {
        struct st_error ignored = {0};

        if (st_parse_quantity(&ignored, text, peak_units[i], number) == ST_OK &&
            *number > 0.0) {
            *unit = peak_units[i];
            return ST_OK;
        }
    }
    return st_value_fail(
        err, value,
        "peak %s: found %s; a quantity above 0 with its unit is needed, such "
        "as 460.8GB/s, 3.2Tflop/s, 200M/s, 1.2us",
        name, st_value_words(value, words, sizeof words));
}

static enum st_status read_origin(const struct st_value *value, char *out, size_t size,
                                  struct st_error *err)
{
    const char *text = NULL;
    const enum st_status rc = st_read_text(value, "origin", &text, err);

    if (rc == ST_OK && !st_copy(out, size, text)) {
        return st_value_fail(err, value, "origin: longer than %zu bytes", size - 1);
    }
    return rc;
}

static enum st_status read_peak(const struct st_entry *entry, struct st_plan *plan,
                                struct st_error *err)
{
    static const char *const keys[] = {"value", "origin"};
    const size_t row = plan->n_peaks;
    const struct st_value *value = entry->value;
    const char *unit = NULL;
    enum st_status rc = st_read_name(entry->key, "name of a peak", plan->peaks[row].name,
                                     sizeof plan->peaks[row].name, err);

    if (rc == ST_OK && value->kind == ST_VALUE_MAP) {
        rc = st_read_map(value, entry->key->text, ST_COUNT(keys), keys, err);
        if (rc == ST_OK && st_map_get(value, "value") == NULL) {
            rc = st_value_fail(err, value, "peak %s has no 'value'", entry->key->text);
        }
        if (rc == ST_OK && st_map_get(value, "origin") != NULL) {
            rc = read_origin(st_map_get(value, "origin"), plan->peaks[row].origin,
                             sizeof plan->peaks[row].origin, err);
        }
        value = rc == ST_OK ? st_map_get(value, "value") : NULL;
    }
    if (rc == ST_OK) {
        rc =
            read_peak_value(value, entry->key->text, &plan->peaks[row].value, &unit, err);
    }
    if (rc == ST_OK) {
        (void)st_copy(plan->peaks[row].unit, sizeof plan->peaks[row].unit, unit);
        plan->n_peaks++;
    }
    return rc;
}

enum st_status st_peaks_read(const struct st_value *map, struct st_plan *plan,
                             struct st_error *err)
{
    enum st_status rc = st_read_any_map(map, "peaks", err);

    for (size_t i = 0; rc == ST_OK && i < map->n; i++) {
        if (plan->n_peaks == ST_COUNT(plan->peaks)) {
            return st_value_fail(err, map->entries[i].key, "peaks: more than %zu",
                                 ST_COUNT(plan->peaks));
        }
        rc = read_peak(&map->entries[i], plan, err);
    }
    return rc;
}

/* A quantity of the metric's kind, to show how a peak is written. */
static const char *example_of(const char *unit)
{
    static const char *const examples[] = {"460.8GB/s", "3.2Tflop/s", "200M/s", "1.2us",
                                           "64GiB"};

    for (size_t i = 0; i < ST_COUNT(peak_units); i++) {
        if (strcmp(peak_units[i], unit) == 0) {
            return examples[i];
        }
    }
    return NULL;
}

static enum st_status no_peak(const struct st_metric *metric, const struct st_value *at,
                              struct st_error *err)
{
    const char *example = example_of(metric->unit);

    if (example == NULL) {
        return st_value_fail(
            err, at,
            "%s is a number without unit and has no peak; give the bound "
            "itself",
            metric->name);
    }
    return st_value_fail(
        err, at,
        "no peak in the unit of %s (%s) is given; add one at the root of the "
        "config, such as 'peaks: {NAME: %s}'",
        metric->name, st_unit_plain(metric->unit), example);
}

/* No peak is called `name`, or one is, in another unit. */
static enum st_status wrong_peak(const struct st_plan *plan,
                                 const struct st_metric *metric, const char *name,
                                 const struct st_value *at, struct st_error *err)
{
    char hint[ST_HINT_SIZE];
    const char *names[ST_COUNT(plan->peaks)] = {NULL};

    for (size_t i = 0; i < plan->n_peaks; i++) {
        names[i] = plan->peaks[i].name;
        if (strcmp(plan->peaks[i].name, name) == 0) {
            return st_value_fail(err, at, "peak %s is in %s and %s in %s", name,
                                 st_unit_plain(plan->peaks[i].unit), metric->name,
                                 st_unit_plain(metric->unit));
        }
    }
    return st_value_fail(err, at, "no peak is called '%s'%s", name,
                         st_names_hint(hint, sizeof hint, name, plan->n_peaks, names));
}

enum st_status st_peak_find(const struct st_plan *plan, const struct st_metric *metric,
                            const char *name, const struct st_value *at, double *out,
                            struct st_error *err)
{
    char hint[ST_HINT_SIZE];
    const char *names[ST_COUNT(plan->peaks)] = {NULL};
    size_t found = 0;
    size_t n = 0;

    for (size_t i = 0; i < plan->n_peaks; i++) {
        if (strcmp(plan->peaks[i].unit, metric->unit) == 0 &&
            (name[0] == '\0' || strcmp(plan->peaks[i].name, name) == 0)) {
            names[n++] = plan->peaks[i].name;
            found = i;
        }
    }
    if (n > 1) {
        return st_value_fail(
            err, at,
            "several peaks have the unit of %s (%s): name one, as in '80%% of "
            "peak %s'%s",
            metric->name, st_unit_plain(metric->unit), names[0],
            st_names_hint(hint, sizeof hint, "", n, names));
    }
    if (n == 0) {
        return name[0] == '\0' || plan->n_peaks == 0
                   ? no_peak(metric, at, err)
                   : wrong_peak(plan, metric, name, at, err);
    }
    *out = plan->peaks[found].value;
    return ST_OK;
}
