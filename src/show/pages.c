/*
 * `seatrial list` and `seatrial describe NAME`: everything on these pages comes from the
 * benchmark's declaration.
 */
#include "src/base/mem.h"
#include "src/show/screen.h"

#include "src/base/text.h"
#include "src/show/json.h"

#include <math.h>
#include <string.h>

static const char *type_word(enum st_type type)
{
    switch (type) {
    case ST_TYPE_COUNT:
        return "count";
    case ST_TYPE_BYTES:
        return "bytes";
    case ST_TYPE_REAL:
        return "real";
    case ST_TYPE_BOOL:
        return "yes|no";
    case ST_TYPE_CHOICE:
        return "choice";
    case ST_TYPE_SET:
        return "set";
    case ST_TYPE_TEXT:
        return "text";
    }
    return "unknown";
}

static bool has_range(const struct st_param *p)
{
    return p->type == ST_TYPE_COUNT || p->type == ST_TYPE_BYTES ||
           p->type == ST_TYPE_REAL;
}

static void put_param(struct st_json *j, const struct st_param *p)
{
    st_json_object(j);
    st_json_key_text(j, "name", p->name);
    st_json_key_text(j, "type", type_word(p->type));
    st_json_key_text(j, "unit", p->unit);
    st_json_key_text(j, "default", p->default_text);
    if (has_range(p)) {
        st_json_key_real(j, "min", p->min);
        st_json_key_real(j, "max", p->max);
        st_json_key_bool(j, "auto", p->allow_auto);
    }
    if (p->choices != NULL) {
        st_json_key(j, "choices");
        st_json_array(j);
        for (size_t i = 0; p->choices[i] != NULL; i++) {
            st_json_text(j, p->choices[i]);
        }
        st_json_close(j);
    }
    st_json_key_text(j, "help", p->help);
    st_json_close(j);
}

static void put_metric(struct st_json *j, const struct st_metric *m)
{
    st_json_object(j);
    st_json_key_text(j, "name", m->name);
    st_json_key_text(j, "unit", m->unit);
    st_json_key_text(j, "better", st_better_word(m->better));
    st_json_key_text(j, "place_kind", st_place_word(m->place));
    st_json_key_text(j, "origin", st_origin_word(m->origin));
    st_json_key_text(j, "help", m->help);
    st_json_close(j);
}

static void put_bench(struct st_json *j, const struct st_bench *b)
{
    st_json_object(j);
    st_json_key_text(j, "name", b->name);
    st_json_key_text(j, "summary", b->summary);
    st_json_key_text(j, "source", b->source);
    st_json_key_count(j, "min_ranks", b->min_ranks > 0 ? b->min_ranks : 1);
    st_json_key_count(j, "rank_divisor", b->rank_divisor > 0 ? b->rank_divisor : 1);
    st_json_key_bool(j, "needs_two_nodes", (b->needs & ST_NEEDS_TWO_NODES) != 0);
    st_json_key_bool(j, "needs_two_numa", (b->needs & ST_NEEDS_TWO_NUMA) != 0);
    st_json_key_bool(j, "needs_thread_multiple",
                     (b->needs & ST_NEEDS_THREAD_MULTIPLE) != 0);
    st_json_key(j, "parameters");
    st_json_array(j);
    for (size_t i = 0; i < b->n_params; i++) {
        put_param(j, &b->params[i]);
    }
    st_json_close(j);
    st_json_key(j, "metrics");
    st_json_array(j);
    for (size_t i = 0; i < b->n_metrics; i++) {
        put_metric(j, &b->metrics[i]);
    }
    st_json_close(j);
    st_json_close(j);
}

static void list_json(FILE *out, const struct st_registry *registry)
{
    struct st_json j;

    st_json_init(&j, out);
    st_json_object(&j);
    st_json_key(&j, "benchmarks");
    st_json_array(&j);
    for (size_t i = 0; i < registry->n; i++) {
        put_bench(&j, registry->benches[i]);
    }
    st_json_close(&j);
    st_json_close(&j);
    (void)st_json_end(&j);
}

void st_show_list(FILE *out, bool json, const struct st_registry *registry)
{
    struct st_table t = {.n_columns = 2, .titles = {"BENCHMARK", "WHAT IT MEASURES"}};
    const struct st_style style = st_style_of(out);

    if (json) {
        list_json(out, registry);
        return;
    }
    st_table_titles(&t);
    for (size_t i = 0; i < registry->n; i++) {
        st_table_row(&t);
        st_table_cell(&t, 0, ST_INK_STRONG, registry->benches[i]->name);
        st_table_cell(&t, 1, ST_INK_PLAIN, registry->benches[i]->summary);
    }
    st_table_print(&t, out, style);
    st_table_clear(&t);
    (void)fputs("\nParameters and metrics of one: seatrial describe BENCHMARK\n", out);
}

/* Seconds as a config would write them: the largest unit that leaves at least 1. */
static void add_seconds(struct st_text *out, double seconds)
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{3600.0, "h"}, {1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
    size_t k = 0;

    while (k + 1 < ST_COUNT(units) && seconds < units[k].scale * (1.0 - 1e-9)) {
        k++;
    }
    if (seconds == 0.0) {
        k = 1;
    }
    st_text_add(out, "%.6g%s", seconds / units[k].scale, units[k].unit);
}

/* An end of a range as a config would write it: whole powers of 1024 with their prefix. */
static void add_bound(struct st_text *out, const struct st_param *p, double bound)
{
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti"};
    double value = bound;
    size_t k = 0;

    if (strcmp(p->unit, "s") == 0) {
        add_seconds(out, bound);
        return;
    }
    if (p->type != ST_TYPE_BYTES) {
        const bool is_one = p->unit[0] == '1' && p->unit[1] == '\0';
        st_text_add(out, "%.10g%s%s", bound, is_one ? "" : " ", is_one ? "" : p->unit);
        return;
    }
    while (k + 1 < ST_COUNT(prefixes) && value >= 1024.0 && fmod(value, 1024.0) == 0.0) {
        value /= 1024.0;
        k++;
    }
    if (value >= 1024.0) { /* no whole number of any prefix */
        value = bound;
        k = 0;
    }
    st_text_add(out, "%.10g%sB", value, prefixes[k]);
}

/* "1 to 1e+12, or auto", "4KiB to 256TiB", "one of: a, b", "any of: a, b" */
static void allowed_text(struct st_text *out, const struct st_param *p)
{
    if (p->choices != NULL) {
        st_text_add(out, p->type == ST_TYPE_SET ? "any of: " : "one of: ");
        for (size_t i = 0; p->choices[i] != NULL; i++) {
            st_text_add(out, "%s%s", i > 0 ? ", " : "", p->choices[i]);
        }
        st_text_add(out, p->type == ST_TYPE_SET ? "; or all" : "");
    } else if (has_range(p)) {
        add_bound(out, p, p->min);
        st_text_add(out, " to ");
        add_bound(out, p, p->max);
        st_text_add(out, "%s", p->allow_auto ? ", or auto" : "");
    } else {
        st_text_add(out, "%s", p->type == ST_TYPE_BOOL ? "yes or no" : "text");
    }
}

static void describe_params(FILE *out, struct st_style style, const struct st_bench *b)
{
    struct st_table t = {
        .n_columns = 3, .titles = {"PARAMETER", "DEFAULT", "MEANING"}, .indent = 2};

    st_table_titles(&t);
    for (size_t i = 0; i < b->n_params; i++) {
        const struct st_param *p = &b->params[i];
        struct st_text meaning = {0};
        st_text_add(&meaning, "%s (", p->help);
        allowed_text(&meaning, p);
        st_text_add(&meaning, ")");
        st_table_row(&t);
        st_table_cell(&t, 0, ST_INK_STRONG, p->name);
        st_table_cell(&t, 1, ST_INK_PLAIN,
                      p->default_text[0] != '\0' ? p->default_text : "(empty)");
        st_table_cell(&t, 2, ST_INK_PLAIN, st_text_get(&meaning));
        st_text_clear(&meaning);
    }
    st_table_print(&t, out, style);
    st_table_clear(&t);
}

static void describe_metrics(FILE *out, struct st_style style, const struct st_bench *b)
{
    struct st_table t = {.n_columns = 5,
                         .titles = {"METRIC", "UNIT", "BETTER", "PER", "MEANING"},
                         .indent = 2};

    st_table_titles(&t);
    for (size_t i = 0; i < b->n_metrics; i++) {
        const struct st_metric *m = &b->metrics[i];
        st_table_row(&t);
        st_table_cell(&t, 0, ST_INK_STRONG, m->name);
        st_table_cell(&t, 1, ST_INK_PLAIN, m->unit);
        st_table_cell(&t, 2, ST_INK_PLAIN, st_better_word(m->better));
        st_table_cell(&t, 3, ST_INK_PLAIN, st_place_word(m->place));
        st_table_cell(&t, 4, ST_INK_PLAIN, m->help);
    }
    st_table_print(&t, out, style);
    st_table_clear(&t);
}

static void describe_needs(struct st_text *out, const struct st_bench *b)
{
    if (b->min_ranks > 1) {
        st_text_add(out, "; at least %zu ranks", b->min_ranks);
    }
    if (b->rank_divisor > 1) {
        st_text_add(out, "; ranks a multiple of %zu", b->rank_divisor);
    }
    if ((b->needs & ST_NEEDS_TWO_NODES) != 0) {
        st_text_add(out, "; two nodes");
    }
    if ((b->needs & ST_NEEDS_TWO_NUMA) != 0) {
        st_text_add(out, "; two NUMA nodes");
    }
    if ((b->needs & ST_NEEDS_THREAD_MULTIPLE) != 0) {
        st_text_add(out, "; an MPI library with MPI_THREAD_MULTIPLE");
    }
}

void st_show_describe(FILE *out, struct st_style style, const struct st_bench *bench)
{
    struct st_text needs = {0};

    st_ink_put(out, style, ST_INK_STRONG, bench->name);
    (void)fputs("\n  ", out);
    st_wrap(out, style, 2, 2, ST_INK_PLAIN, bench->summary);
    (void)fputs("  source: ", out);
    st_wrap(out, style, 10, 10, ST_INK_PLAIN, bench->source);
    describe_needs(&needs, bench);
    if (needs.length > 2) {
        (void)fputs("  needs:  ", out);
        st_wrap(out, style, 10, 10, ST_INK_PLAIN, st_text_get(&needs) + 2);
    }
    st_text_clear(&needs);
    if (bench->n_params > 0) {
        (void)fputc('\n', out);
        describe_params(out, style, bench);
    }
    (void)fputc('\n', out);
    describe_metrics(out, style, bench);
}
