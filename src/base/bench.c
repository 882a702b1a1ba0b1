#include "src/base/bench.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/base/units.h"

#include <math.h>
#include <string.h>

/*
 * Declarations of benchmarks: looking things up in them, checking them, and the comparison
 * that verify() uses. Reading and printing parameters is in param.c.
 */

const struct st_bench *st_bench_find(const struct st_registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->n; i++) {
        if (strcmp(registry->benches[i]->name, name) == 0) {
            return registry->benches[i];
        }
    }
    return NULL;
}

size_t st_bench_metric(const struct st_bench *bench, const char *name)
{
    size_t row = 0;

    while (row < bench->n_metrics && strcmp(bench->metrics[row].name, name) != 0) {
        row++;
    }
    return row;
}

size_t st_bench_param(const struct st_bench *bench, const char *name)
{
    size_t row = 0;

    while (row < bench->n_params && strcmp(bench->params[row].name, name) != 0) {
        row++;
    }
    return row;
}

bool st_bench_applies(const struct st_bench *bench, const void *params, size_t row)
{
    return bench->applies == NULL || bench->applies(params, row);
}

static void describe_deviation(struct st_check *check, double got, double want,
                               const char *what)
{
    if (isfinite(got) && isfinite(want)) {
        st_print(check->what, sizeof check->what,
                 "%s is %.10g, not %.10g (off by %.3g, allowed %.3g)", what, got, want,
                 fabs(got - want), check->limit);
    } else {
        st_print(check->what, sizeof check->what, "%s is %s, not %.10g", what,
                 isnan(got)   ? "not a number"
                 : isinf(got) ? "infinite"
                              : "a number",
                 want);
    }
}

/* Count, do not compare maxima: fmax() drops NaN, and "dev > limit" is false for NaN. */
void st_check_near(struct st_check *check, double got, double want, const char *what)
{
    const double dev = fabs(got - want);

    check->n_checked++;
    if (!(dev <= check->limit)) {
        if (check->n_bad == 0) {
            describe_deviation(check, got, want, what);
        }
        check->n_bad++;
    }
    if (dev > check->worst) {
        check->worst = dev;
    }
}

void st_check_true(struct st_check *check, bool holds, const char *what)
{
    check->n_checked++;
    if (!holds) {
        if (check->n_bad == 0) {
            st_print(check->what, sizeof check->what, "not true: %s", what);
        }
        check->n_bad++;
    }
}

const char *st_better_word(enum st_better better)
{
    static const char *const words[] = {
        [ST_HIGHER] = "higher", [ST_LOWER] = "lower", [ST_NEITHER] = "neither"};

    return (size_t)better < ST_COUNT(words) ? words[better] : "unknown";
}

const char *st_place_word(enum st_place_kind kind)
{
    static const char *const words[] = {
        [ST_JOB] = "job",   [ST_NODE] = "node", [ST_RANK] = "rank",
        [ST_PAIR] = "pair", [ST_NUMA] = "numa", [ST_POINT] = "point"};

    return (size_t)kind < ST_COUNT(words) ? words[kind] : "unknown";
}

const char *st_origin_word(enum st_origin origin)
{
    static const char *const words[] = {
        [ST_FROM_TIME] = "time", [ST_FROM_WORK] = "work/time", [ST_GIVEN] = "given"};

    return (size_t)origin < ST_COUNT(words) ? words[origin] : "unknown";
}

/* [a-z][a-z0-9_]*: such a name needs no quoting in YAML, HDF5, a shell or C. */
static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

    return text != NULL && *text != '\0' && strchr(letters, *text) != NULL &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool has_text(const char *text)
{
    return text != NULL && *text != '\0';
}

static bool is_rate(const char *unit)
{
    return strcmp(unit, "s-1") == 0 || strstr(unit, " s-1") != NULL;
}

/* What is wrong with the benchmark's own fields; NULL: nothing. */
/* The parameter that `scaling:` sets has the two meanings of a size, in this order. */
static bool scales_well(const struct st_bench *b)
{
    if (b->scaling_param == NULL) {
        return true;
    }
    const size_t row = st_bench_param(b, b->scaling_param);
    if (row == b->n_params || b->params[row].type != ST_TYPE_CHOICE) {
        return false;
    }
    const char *const *choices = b->params[row].choices;
    return choices != NULL && choices[0] != NULL && strcmp(choices[0], "per_rank") == 0 &&
           choices[1] != NULL && strcmp(choices[1], "total") == 0 && choices[2] == NULL;
}

static const char *bench_defect(const struct st_bench *b)
{
    if (!is_name(b->name)) {
        return "its name is not [a-z][a-z0-9_]*";
    }
    if (!has_text(b->summary) || !has_text(b->source)) {
        return "summary or source is missing";
    }
    if (b->plan == NULL || b->prepare == NULL || b->run == NULL || b->verify == NULL ||
        b->release == NULL || b->spoil == NULL) {
        return "a stage is missing";
    }
    if (b->n_metrics == 0 || b->metrics == NULL) {
        return "it has no metric";
    }
    if (b->n_params > 0 && b->params == NULL) {
        return "its parameter table is missing";
    }
    if (b->params_size == 0 || b->state_size == 0) {
        return "params_size or state_size is 0";
    }
    if ((b->needs & ~(unsigned)(ST_NEEDS_TWO_NODES | ST_NEEDS_THREAD_MULTIPLE |
                                ST_NEEDS_TWO_NUMA)) != 0) {
        return "it needs an unknown feature";
    }
    if (!scales_well(b)) {
        return "scaling_param is no choice of per_rank and total";
    }
    return NULL;
}

static const char *metric_defect(const struct st_bench *b, size_t row)
{
    const struct st_metric *m = &b->metrics[row];

    if (!is_name(m->name)) {
        return "its name is not [a-z][a-z0-9_]*";
    }
    if (st_bench_metric(b, m->name) != row) {
        return "another metric has the same name";
    }
    if (m->unit == NULL || !st_unit_known(m->unit)) {
        return "its unit is not a base unit";
    }
    if ((size_t)m->better > ST_NEITHER || (size_t)m->place >= ST_N_PLACE_KINDS ||
        (size_t)m->origin > ST_GIVEN || m->section >= ST_MAX_SECTIONS) {
        return "better, place, origin or section is out of range";
    }
    if (m->origin == ST_FROM_TIME && strcmp(m->unit, "s") != 0) {
        return "a time needs the unit s";
    }
    if (m->origin == ST_FROM_WORK && !is_rate(m->unit)) {
        return "work/time needs a unit per second";
    }
    if (m->origin != ST_GIVEN && m->place != ST_JOB && m->place != ST_NODE &&
        m->place != ST_RANK) {
        return "a time or rate is taken over the ranks of the job, a node or a rank";
    }
    if (m->place == ST_POINT && (!is_name(b->point_name) || b->point_unit == NULL ||
                                 !st_unit_known(b->point_unit))) {
        return "a curve needs point_name and point_unit of the benchmark";
    }
    return has_text(m->help) ? NULL : "its help is missing";
}

static size_t field_size(enum st_type type)
{
    switch (type) {
    case ST_TYPE_COUNT:
    case ST_TYPE_BYTES:
        return sizeof(uint64_t);
    case ST_TYPE_REAL:
        return sizeof(double);
    case ST_TYPE_BOOL:
        return sizeof(bool);
    case ST_TYPE_CHOICE:
    case ST_TYPE_SET:
        return sizeof(uint32_t);
    case ST_TYPE_TEXT:
        return ST_TEXT_PARAM_SIZE;
    }
    return SIZE_MAX;
}

/* Names between which the reader of a parameter can tell. */
static const char *choices_defect(const struct st_param *p)
{
    size_t n = 0;

    if (p->choices == NULL || p->choices[0] == NULL) {
        return "it has no choices";
    }
    for (; p->choices[n] != NULL; n++) {
        const char *word = p->choices[n];
        if (*word == '\0' || strpbrk(word, " \t,") != NULL || strcmp(word, "all") == 0) {
            return "a choice is empty, \"all\", or contains a blank or comma";
        }
        for (size_t i = 0; i < n; i++) {
            if (strcmp(p->choices[i], word) == 0) {
                return "two choices have the same name";
            }
        }
    }
    return n <= ST_MAX_CHOICES ? NULL : "it has too many choices";
}

static const char *unit_or_range_defect(const struct st_param *p)
{
    const bool is_whole = p->type == ST_TYPE_COUNT || p->type == ST_TYPE_BYTES;

    if (p->unit == NULL || !st_unit_known(p->unit)) {
        return "its unit is not a base unit";
    }
    if (p->type == ST_TYPE_BYTES ? strcmp(p->unit, "byte") != 0
                                 : p->type != ST_TYPE_REAL && strcmp(p->unit, "1") != 0) {
        return "its unit does not belong to its type";
    }
    if ((is_whole || p->type == ST_TYPE_REAL) && !(p->min <= p->max)) {
        return "its minimum is above its maximum";
    }
    if ((is_whole && p->min < 0.0) || (p->allow_auto && !is_whole)) {
        return "a negative minimum or \"auto\" does not belong to its type";
    }
    return NULL;
}

static const char *param_defect(const struct st_bench *b, size_t row)
{
    const struct st_param *p = &b->params[row];
    const size_t size = field_size(p->type);

    if (!is_name(p->name)) {
        return "its name is not [a-z][a-z0-9_]*";
    }
    if (st_bench_param(b, p->name) != row) {
        return "another parameter has the same name";
    }
    if (size > b->params_size || p->offset > b->params_size - size) {
        return "its field lies outside the parameter struct";
    }
    const char *defect = unit_or_range_defect(p);
    if (defect != NULL) {
        return defect;
    }
    if (p->default_text == NULL || !has_text(p->help)) {
        return "default or help is missing";
    }
    const bool chooses = p->type == ST_TYPE_CHOICE || p->type == ST_TYPE_SET;
    return chooses ? choices_defect(p) : NULL;
}

enum st_status st_bench_validate(const struct st_bench *bench, struct st_error *err)
{
    const char *defect = bench_defect(bench);
    const char *name = bench->name != NULL ? bench->name : "?";

    if (defect != NULL) {
        return st_fail(err, ST_ERR_INTERNAL, "benchmark '%s': %s", name, defect);
    }
    for (size_t i = 0; i < bench->n_metrics; i++) {
        defect = metric_defect(bench, i);
        if (defect != NULL) {
            return st_fail(err, ST_ERR_INTERNAL, "benchmark '%s', metric %zu: %s", name,
                           i, defect);
        }
    }
    for (size_t i = 0; i < bench->n_params; i++) {
        defect = param_defect(bench, i);
        if (defect != NULL) {
            return st_fail(err, ST_ERR_INTERNAL, "benchmark '%s', parameter %zu: %s",
                           name, i, defect);
        }
    }
    void *params = st_calloc(err, 1, bench->params_size);
    if (params == NULL) {
        return ST_ERR_MEMORY;
    }
    const enum st_status rc = st_params_default(bench, params, err);
    st_free(params);
    return rc;
}
