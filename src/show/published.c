/*
 * The published table beside a file's own figures. What may stand side by side is decided by
 * one table of rules: which metric of which benchmark, with which parameters, was measured as
 * which published figure was. A figure that no rule matches is not compared: a number beside
 * another one invites to compare them, whatever a footnote says.
 */
#include "src/show/published.h"

#include "src/base/units.h"
#include "src/show/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    F_SYSTEM,
    F_SOCKETS,
    F_CORES,
    F_METRIC,
    F_VALUE,
    F_UNIT,
    F_SCOPE,
    F_SMT,
    F_STORES,
    F_CONDITIONS,
    F_PEAK,
    F_SOURCE,
    N_FIELDS
};

/* A parameter that the step must have; several values are separated by '|'. */
struct condition {
    const char *name, *values;
};

struct rule {
    const char *title;                           /* of the block */
    const char *metric, *scope, *stores, *pages; /* published; "" any */
    const char *benchmark, *own_metric;
    const char *layout; /* part of the layout's text, "" any */
    bool one_socket; /* measured on one socket (`within: socket N`), else on the node */
    struct condition conditions[3];
};

#define GIB_1 "1073741824 byte"

static const struct rule rules[] = {
    {"triad of the whole node, ordinary stores",
     "stream_triad",
     "system",
     "ordinary",
     "",
     "stream",
     "triad",
     "all-cores",
     false,
     {{"memory", "local"}, {"stores", "ordinary|both"}}},
    {"triad of one socket on its own memory, ordinary stores",
     "stream_triad",
     "local socket",
     "ordinary",
     "",
     "stream",
     "triad",
     "all-cores",
     true,
     {{"memory", "local"}, {"stores", "ordinary|both"}}},
    {"triad of one socket on the next socket's memory, ordinary stores",
     "stream_triad",
     "remote socket",
     "ordinary",
     "",
     "stream",
     "triad",
     "all-cores",
     true,
     {{"memory", "remote"}, {"stores", "ordinary|both"}}},
    {"copy of the whole node, ordinary stores",
     "stream_copy",
     "system",
     "ordinary",
     "",
     "stream",
     "copy",
     "all-cores",
     false,
     {{"memory", "local"}, {"stores", "ordinary|both"}}},
    {"triad, memory interleaved over all NUMA nodes",
     "stream_triad",
     "interleaved",
     "ordinary",
     "",
     "stream",
     "triad",
     "all-cores",
     false,
     {{"memory", "interleaved"}, {"stores", "ordinary|both"}}},
    {"latency at 1 GiB, near memory, 4 KiB pages",
     "memory_latency",
     "local socket",
     "",
     "4 KiB pages",
     "latency",
     "latency",
     "",
     false,
     {{"size", GIB_1}, {"pages", "small|both"}, {"order", "random"}}},
    {"latency at 1 GiB, near memory, 2 MiB pages",
     "memory_latency",
     "local socket",
     "",
     "2 MiB pages",
     "latency",
     "latency_huge",
     "",
     false,
     {{"size", GIB_1}, {"pages", "both"}, {"order", "random"}}},
    {"latency at 1 GiB, near memory, 2 MiB pages",
     "memory_latency",
     "local socket",
     "",
     "2 MiB pages",
     "latency",
     "latency",
     "",
     false,
     {{"size", GIB_1}, {"pages", "huge"}, {"order", "random"}}},
    {"latency at 1 GiB, the next socket's memory, 4 KiB pages",
     "memory_latency",
     "remote socket",
     "",
     "4 KiB pages",
     "latency",
     "cell_latency",
     "",
     false,
     {{"size", GIB_1}, {"pages", "small"}, {"cells", "remote"}}},
    {"latency at 1 GiB, the next socket's memory, 2 MiB pages",
     "memory_latency",
     "remote socket",
     "",
     "2 MiB pages",
     "latency",
     "cell_latency",
     "",
     false,
     {{"size", GIB_1}, {"pages", "huge"}, {"cells", "remote"}}},
};

/* ---- the table ---- */

/* Next field of a line with quotes around fields that hold commas. */
static const char *next_field(const char *at, char *out, size_t size)
{
    const bool quoted = *at == '"';
    size_t n = 0;

    at += quoted ? 1 : 0;
    while (*at != '\0' && (quoted ? *at != '"' : *at != ',')) {
        if (n + 1 < size) {
            out[n++] = *at;
        }
        at++;
    }
    out[n] = '\0';
    at += quoted && *at == '"' ? 1 : 0;
    return *at == ',' ? at + 1 : at;
}

/* To base units; NaN for what is none of the report's. */
static double scale_of(const char *unit)
{
    double scale = (double)NAN;

    if (strcmp(unit, "GB/s") == 0) {
        scale = 1e9;
    } else if (strcmp(unit, "ns") == 0) {
        scale = 1e-9;
    }
    return scale;
}

bool st_published_read(const char *line, struct st_published *out)
{
    char fields[N_FIELDS][ST_PUBLISHED_FIELD];
    double value = 0.0;

    for (size_t k = 0; k < N_FIELDS; k++) {
        line = next_field(line, fields[k], sizeof fields[k]);
    }
    (void)memset(out, 0, sizeof *out);
    out->sockets = (double)NAN;
    out->cores = (double)NAN;
    (void)st_parse_double(fields[F_SOCKETS], &out->sockets);
    (void)st_parse_double(fields[F_CORES], &out->cores);
    out->value = st_parse_double(fields[F_VALUE], &value)
                     ? value * scale_of(fields[F_UNIT])
                     : (double)NAN;
    (void)st_copy(out->system, sizeof out->system, fields[F_SYSTEM]);
    (void)st_copy(out->metric, sizeof out->metric, fields[F_METRIC]);
    (void)st_copy(out->unit, sizeof out->unit, fields[F_UNIT]);
    (void)st_copy(out->scope, sizeof out->scope, fields[F_SCOPE]);
    (void)st_copy(out->stores, sizeof out->stores, fields[F_STORES]);
    (void)st_copy(out->conditions, sizeof out->conditions, fields[F_CONDITIONS]);
    (void)st_copy(out->source, sizeof out->source, fields[F_SOURCE]);
    return fields[F_SYSTEM][0] != '#' && isfinite(out->value);
}

static bool is_published_by(const struct st_published *p, const struct rule *rule)
{
    return strcmp(p->metric, rule->metric) == 0 && strcmp(p->scope, rule->scope) == 0 &&
           (rule->stores[0] == '\0' || strcmp(p->stores, rule->stores) == 0) &&
           (rule->pages[0] == '\0' || strstr(p->conditions, rule->pages) != NULL);
}

/* ---- the file ---- */

static bool has_value(const char *values, const char *value)
{
    const size_t n = strlen(value);

    for (const char *at = values; *at != '\0'; at += *at == '|' ? 1 : 0) {
        const size_t length = strcspn(at, "|");
        if (length == n && strncmp(at, value, n) == 0) {
            return true;
        }
        at += length;
    }
    return false;
}

static bool meets(const struct st_file_step *step, const struct condition *condition)
{
    for (size_t k = 0; k < step->n_params; k++) {
        if (strcmp(step->params[k].name, condition->name) == 0) {
            return has_value(condition->values, step->params[k].value);
        }
    }
    return false;
}

/* The metric that a rule is about; NULL if the step was not measured so. */
static const struct st_file_metric *own_metric(const struct st_file_step *step,
                                               const struct rule *rule)
{
    if (step->state != ST_STEP_COMPLETE || st_step_void(step) ||
        !step->placement_proved || step->oversubscribed ||
        strcmp(step->benchmark, rule->benchmark) != 0 ||
        strstr(step->layout, rule->layout) == NULL ||
        strstr(step->layout, ", within numa ") != NULL ||
        strstr(step->layout, ", within l3 ") != NULL ||
        (strstr(step->layout, ", within socket ") != NULL) != rule->one_socket) {
        return NULL;
    }
    for (size_t k = 0; k < sizeof rule->conditions / sizeof rule->conditions[0]; k++) {
        if (rule->conditions[k].name != NULL && !meets(step, &rule->conditions[k])) {
            return NULL;
        }
    }
    for (size_t k = 0; k < step->n_metrics; k++) {
        if (strcmp(step->metrics[k].name, rule->own_metric) == 0) {
            return &step->metrics[k];
        }
    }
    return NULL;
}

/* ---- printing ---- */

enum {
    C_VALUE,
    C_SYSTEM,
    C_CONDITIONS,
    N_COLUMNS
};

static void add_value(struct st_table *t, enum st_ink ink, double value, const char *unit)
{
    char text[48];

    st_table_row(t);
    st_table_cell(t, C_VALUE, ink, st_format_quantity(text, sizeof text, value, unit));
}

/* Places of one step: the medians' range, and of which. */
static void add_own(struct st_table *t, const struct st_file_step *step,
                    const struct st_file_metric *metric)
{
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    char text[2 * ST_NAME_SIZE];

    for (size_t k = 0; k < metric->n_places; k++) {
        low = fmin(low, metric->summary[k].median);
        high = fmax(high, metric->summary[k].median);
    }
    if (!isfinite(low)) {
        return;
    }
    (void)st_print(text, sizeof text, "step %s%s", step->name,
                   metric->n_places > 1 ? ", lowest of its places" : "");
    add_value(t, ST_INK_STRONG, low, metric->unit);
    st_table_cell(t, C_SYSTEM, ST_INK_STRONG, "this file");
    st_table_cell(t, C_CONDITIONS, ST_INK_STRONG, text);
    if (metric->n_places > 1) {
        (void)st_print(text, sizeof text, "step %s, highest of %zu places", step->name,
                       metric->n_places);
        add_value(t, ST_INK_STRONG, high, metric->unit);
        st_table_cell(t, C_SYSTEM, ST_INK_STRONG, "this file");
        st_table_cell(t, C_CONDITIONS, ST_INK_STRONG, text);
    }
}

static void add_published(struct st_table *t, const struct rule *rule, const char *unit)
{
    for (size_t k = 0; st_published_lines[k] != NULL; k++) {
        struct st_published p;
        char text[2 * ST_PUBLISHED_FIELD];
        if (!st_published_read(st_published_lines[k], &p) || !is_published_by(&p, rule)) {
            continue;
        }
        add_value(t, ST_INK_PLAIN, p.value, unit);
        st_table_cell(t, C_SYSTEM, ST_INK_PLAIN, p.system);
        (void)st_print(text, sizeof text, "%g socket%s, %g core%s; %s [%s]", p.sockets,
                       p.sockets > 1.0 ? "s" : "", p.cores, p.cores > 1.0 ? "s" : "",
                       p.conditions, p.source);
        st_table_cell(t, C_CONDITIONS, ST_INK_FAINT, text);
    }
}

/* All steps that a rule matches, then what was published. */
static void add_rule(struct st_table *t, const struct st_file *file,
                     const struct rule *rule)
{
    const char *unit = NULL;

    for (size_t s = 0; s < file->n_steps; s++) {
        const struct st_file_metric *metric = own_metric(&file->steps[s], rule);
        if (metric == NULL || metric->n_places == 0) {
            continue;
        }
        if (unit == NULL) {
            st_table_line(t, 0, 2, ST_INK_STRONG, rule->title);
        }
        unit = metric->unit;
        add_own(t, &file->steps[s], metric);
    }
    if (unit != NULL) {
        add_published(t, rule, unit);
    }
}

bool st_report_published(FILE *out, struct st_style style, const struct st_file *file)
{
    struct st_table t = {
        .n_columns = N_COLUMNS, .right = {[C_VALUE] = true}, .indent = 2};

    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
        add_rule(&t, file, &rules[k]);
    }
    if (t.n_rows > 0) {
        st_ink_put(out, style, ST_INK_STRONG, "Beside published systems");
        (void)fputs("\n  ", out);
        st_wrap(out, style, 2, 2, ST_INK_FAINT,
                "figures of the reviews named in brackets, not measured by seatrial");
        st_table_print(&t, out, style);
        (void)fputc('\n', out);
    }
    st_table_clear(&t);
    return !t.failed;
}
