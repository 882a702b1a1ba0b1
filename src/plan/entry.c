/*
 * One entry of `steps:`, expanded. First everything is checked as it stands, then each
 * combination of the swept values becomes a step: layout, repeat, parameters, and last the
 * criteria, because which metrics exist depends on the parameters.
 */
#include "src/plan/parts.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <string.h>

const char *const st_entry_keys[] = {"benchmark", "name",   "layout",   "parameters",
                                     "repeat",    "accept", "required", "scaling"};
const size_t st_n_entry_keys = ST_COUNT(st_entry_keys);

/* An entry while it is read. */
struct entry {
    const struct st_value *map;
    const struct st_value *defaults; /* NULL if absent */
    const struct st_bench *bench;
    char name[ST_NAME_SIZE];
    bool required;
    enum st_scaling scaling;
    struct st_sweep sweep;
    struct st_error *err;
};

enum st_status st_defaults_check(const struct st_value *defaults, struct st_error *err)
{
    static const char *const keys[] = {"layout", "repeat", "required"};
    enum st_status rc = st_read_map(defaults, "defaults", ST_COUNT(keys), keys, err);
    const struct st_value *value = NULL;
    bool ignored = false;

    if (rc == ST_OK && (value = st_map_get(defaults, "layout")) != NULL) {
        rc = st_layout_check(value, err);
    }
    if (rc == ST_OK && (value = st_map_get(defaults, "repeat")) != NULL) {
        rc = st_repeat_check(value, err);
    }
    if (rc == ST_OK && (value = st_map_get(defaults, "required")) != NULL) {
        rc = st_read_bool(value, "required", &ignored, err);
    }
    return rc;
}

static enum st_status read_benchmark(struct entry *entry,
                                     const struct st_registry *registry)
{
    char hint[ST_HINT_SIZE];
    char words[128];
    const struct st_value *value = st_map_get(entry->map, "benchmark");
    const char *text = NULL;
    enum st_status rc = ST_OK;

    if (value == NULL) {
        return st_value_fail(entry->err, entry->map,
                             "a step without 'benchmark'; `seatrial list` shows them");
    }
    rc = st_read_text(value, "benchmark", &text, entry->err);
    if (rc != ST_OK) {
        return rc;
    }
    entry->bench = st_bench_find(registry, text);
    if (entry->bench != NULL) {
        return ST_OK;
    }
    const char **names = st_calloc(entry->err, registry->n, sizeof *names);
    if (names == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < registry->n; i++) {
        names[i] = registry->benches[i]->name;
    }
    st_names_hint(hint, sizeof hint, text, registry->n, names);
    st_free(names);
    return st_value_fail(entry->err, value, "unknown benchmark %s%s",
                         st_value_words(value, words, sizeof words), hint);
}

/* A parameter's value, which is a scalar, into a parameter struct. */
static enum st_status read_parameter(const struct st_param *param,
                                     const struct st_value *value, void *params,
                                     struct st_error *err)
{
    struct st_error cause = {0};
    const char *text = value->text;
    enum st_status rc = ST_OK;

    if (value->kind != ST_VALUE_SCALAR || param->type != ST_TYPE_TEXT) {
        rc = st_read_text(value, param->name, &text, err);
    }
    if (rc == ST_OK) {
        rc = st_param_parse(param, text, params, &cause);
        if (rc != ST_OK) {
            return st_value_fail(err, value, "%s",
                                 cause.text); /* it names the parameter */
        }
    }
    return rc;
}

/* Every element of a parameter's list, or its value. @param scratch a parameter struct */
static enum st_status check_parameter(const struct st_param *param,
                                      const struct st_value *value, void *scratch,
                                      struct st_error *err)
{
    enum st_status rc = ST_OK;

    if (value->kind != ST_VALUE_LIST) {
        return read_parameter(param, value, scratch, err);
    }
    if (value->n == 0) {
        return st_value_fail(err, value, "%s: the list is empty; give at least one value",
                             param->name);
    }
    for (size_t i = 0; rc == ST_OK && i < value->n; i++) {
        rc = read_parameter(param, value->entries[i].value, scratch, err);
    }
    return rc;
}

static enum st_status unknown_parameter(const struct entry *entry,
                                        const struct st_value *key)
{
    char hint[ST_HINT_SIZE];
    char words[128];
    const struct st_bench *bench = entry->bench;

    if (bench->n_params == 0) {
        return st_value_fail(entry->err, key, "%s has no parameters", bench->name);
    }
    const char **names = st_calloc(entry->err, bench->n_params, sizeof *names);
    if (names == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < bench->n_params; i++) {
        names[i] = bench->params[i].name;
    }
    st_names_hint(hint, sizeof hint, key->text, bench->n_params, names);
    st_free(names);
    return st_value_fail(entry->err, key, "%s has no parameter %s%s", bench->name,
                         st_value_words(key, words, sizeof words), hint);
}

static enum st_status check_parameters(const struct entry *entry,
                                       const struct st_value *map)
{
    const struct st_bench *bench = entry->bench;
    enum st_status rc = st_read_any_map(map, "parameters", entry->err);

    if (rc != ST_OK) {
        return rc;
    }
    void *scratch = st_calloc(entry->err, 1, bench->params_size);
    if (scratch == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; rc == ST_OK && i < map->n; i++) {
        const size_t row = st_bench_param(bench, map->entries[i].key->text);

        rc = row == bench->n_params
                 ? unknown_parameter(entry, map->entries[i].key)
                 : check_parameter(&bench->params[row], map->entries[i].value, scratch,
                                   entry->err);
    }
    st_free(scratch);
    return rc;
}

static const char *const scaling_words[] = {[ST_SCALING_NONE] = "none",
                                            [ST_SCALING_STRONG] = "strong",
                                            [ST_SCALING_WEAK] = "weak"};

const char *st_scaling_word(enum st_scaling scaling)
{
    return (size_t)scaling < ST_COUNT(scaling_words) ? scaling_words[scaling] : "unknown";
}

/* `scaling:` sets one parameter, which then must not be given as well. */
static enum st_status read_scaling(struct entry *entry)
{
    const struct st_value *value = st_map_get(entry->map, "scaling");
    const struct st_value *parameters = st_map_get(entry->map, "parameters");
    const char *param = entry->bench->scaling_param;
    size_t row = 0;

    if (value == NULL) {
        return ST_OK;
    }
    const enum st_status rc = st_read_word(value, "scaling", ST_COUNT(scaling_words),
                                           scaling_words, &row, entry->err);
    if (rc != ST_OK) {
        return rc;
    }
    entry->scaling = (enum st_scaling)row;
    if (entry->scaling == ST_SCALING_NONE) {
        return ST_OK;
    }
    if (param == NULL) {
        return st_value_fail(entry->err, value,
                             "benchmark %s has no problem size to scale; leave 'scaling' "
                             "out and compare the steps of its sweep as they are",
                             entry->bench->name);
    }
    if (parameters != NULL && st_map_get(parameters, param) != NULL) {
        return st_value_fail(entry->err, value,
                             "'scaling' sets the parameter '%s'; give one of them",
                             param);
    }
    return ST_OK;
}

/* Axes in the order of the file: defaults' lists, then the entry's sections as they come. */
static enum st_status gather_sweep(struct entry *entry)
{
    const struct st_value *defaults = st_map_get(entry->defaults, "layout");
    enum st_status rc = ST_OK;

    if (st_map_get(entry->map, "layout") == NULL) {
        rc = st_layout_axes(NULL, defaults, &entry->sweep, entry->err);
    }
    for (size_t i = 0; rc == ST_OK && i < entry->map->n; i++) {
        const char *key = entry->map->entries[i].key->text;
        const struct st_value *value = entry->map->entries[i].value;

        if (strcmp(key, "layout") == 0) {
            rc = st_layout_axes(value, defaults, &entry->sweep, entry->err);
        }
        for (size_t k = 0; strcmp(key, "parameters") == 0 && rc == ST_OK && k < value->n;
             k++) {
            rc = st_sweep_add(&entry->sweep, value->entries[k].key->text,
                              value->entries[k].value, entry->err);
        }
    }
    return rc;
}

static enum st_status check_entry(struct entry *entry, const struct st_registry *registry)
{
    const struct st_value *value = NULL;
    enum st_status rc =
        st_read_map(entry->map, "a step", st_n_entry_keys, st_entry_keys, entry->err);

    if (rc != ST_OK) {
        return rc; /* it may be a list, which has no keys */
    }
    rc = read_benchmark(entry, registry);
    if (rc == ST_OK) {
        (void)st_copy(entry->name, sizeof entry->name, entry->bench->name);
        value = st_map_get(entry->map, "name");
        if (value != NULL) {
            rc = st_read_name(value, "name", entry->name, sizeof entry->name, entry->err);
        }
    }
    rc = rc == ST_OK ? read_scaling(entry) : rc;
    value = st_map_get(entry->map, "required");
    value = value != NULL ? value : st_map_get(entry->defaults, "required");
    if (rc == ST_OK && value != NULL) {
        rc = st_read_bool(value, "required", &entry->required, entry->err);
    }
    if (rc == ST_OK && (value = st_map_get(entry->map, "layout")) != NULL) {
        rc = st_layout_check(value, entry->err);
    }
    if (rc == ST_OK && (value = st_map_get(entry->map, "repeat")) != NULL) {
        rc = st_repeat_check(value, entry->err);
    }
    if (rc == ST_OK && (value = st_map_get(entry->map, "parameters")) != NULL) {
        rc = check_parameters(entry, value);
    }
    return rc == ST_OK ? gather_sweep(entry) : rc;
}

/* "stream:size=64MiB,stores=ordinary". Blanks would break the lines that tools search, so
 * they become '+'; what does not fit is cut and ends in "...". */
static void write_name(const struct entry *entry, char *out)
{
    bool fits = true;

    (void)st_copy(out, ST_NAME_SIZE, entry->name);
    for (size_t i = 0; fits && i < entry->sweep.n; i++) {
        const struct st_axis *axis = &entry->sweep.axes[i];
        const size_t used = strlen(out);

        fits = st_print(out + used, ST_NAME_SIZE - used, "%c%s=%s", i == 0 ? ':' : ',',
                        axis->key, axis->list->entries[axis->index].value->text);
    }
    if (!fits) {
        const size_t kept = st_whole_characters(out, ST_NAME_SIZE - 1 - strlen("..."));

        (void)st_copy(out + kept, ST_NAME_SIZE - kept, "...");
    }
    for (char *c = out; *c != '\0'; c++) {
        *c = *c == ' ' ? '+' : *c;
    }
}

static enum st_status read_parameters(const struct entry *entry, struct st_step *step)
{
    const struct st_bench *bench = entry->bench;
    const struct st_value *map = st_map_get(entry->map, "parameters");
    enum st_status rc = st_params_default(bench, step->params, entry->err);

    for (size_t i = 0; map != NULL && rc == ST_OK && i < map->n; i++) {
        const size_t row = st_bench_param(bench, map->entries[i].key->text);

        rc = read_parameter(&bench->params[row],
                            st_sweep_pick(&entry->sweep, map->entries[i].value),
                            step->params, entry->err);
    }
    if (rc == ST_OK && entry->scaling != ST_SCALING_NONE) {
        const size_t row = st_bench_param(bench, bench->scaling_param);

        rc = st_param_parse(&bench->params[row],
                            entry->scaling == ST_SCALING_WEAK ? "per_rank" : "total",
                            step->params, entry->err);
    }
    return rc;
}

/* The combination at which the sweep stands. */
static enum st_status make_step(const struct entry *entry, const struct st_plan *plan,
                                struct st_step *step)
{
    const struct st_value *accept = st_map_get(entry->map, "accept");
    enum st_status rc = ST_OK;

    write_name(entry, step->name);
    (void)st_copy(step->series, sizeof step->series, entry->name);
    step->scaling = entry->scaling;
    step->bench = entry->bench;
    step->required = entry->required;
    step->line = entry->map->line;
    step->column = entry->map->column;
    step->params = st_calloc(entry->err, 1, entry->bench->params_size);
    if (step->params == NULL) {
        return ST_ERR_MEMORY;
    }
    rc = st_layout_read(st_map_get(entry->map, "layout"),
                        st_map_get(entry->defaults, "layout"), &entry->sweep,
                        &step->layout, entry->err);
    if (rc == ST_OK) {
        rc = st_repeat_read(st_map_get(entry->map, "repeat"),
                            st_map_get(entry->defaults, "repeat"), &step->repeat,
                            entry->err);
    }
    if (rc == ST_OK) {
        rc = read_parameters(entry, step);
    }
    if (rc == ST_OK && accept != NULL) {
        rc = st_accept_read(accept, plan, step, entry->err);
    }
    return rc;
}

enum st_status st_entry_read(const struct st_value *map, const struct st_value *defaults,
                             const struct st_registry *registry, struct st_plan *plan,
                             struct st_error *err)
{
    struct entry entry = {.map = map, .defaults = defaults, .err = err};
    enum st_status rc = check_entry(&entry, registry);
    size_t n = 0;

    if (rc != ST_OK) {
        return rc;
    }
    if (!st_sweep_count(&entry.sweep, &n) || n > ST_MAX_STEPS - plan->n_steps) {
        return st_value_fail(
            err, map,
            "the sweep of this step makes more than %d steps in all; give "
            "shorter lists",
            ST_MAX_STEPS);
    }
    struct st_step *grown = st_resize(err, plan->steps, plan->n_steps + n, sizeof *grown);
    if (grown == NULL) {
        return ST_ERR_MEMORY;
    }
    plan->steps = grown;
    memset(plan->steps + plan->n_steps, 0, n * sizeof *grown);
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        st_sweep_seek(&entry.sweep, i);
        plan->n_steps++; /* counted before it is whole, so that a failure frees it */
        rc = make_step(&entry, plan, &plan->steps[plan->n_steps - 1]);
    }
    return rc;
}
