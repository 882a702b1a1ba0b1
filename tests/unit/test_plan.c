/* Config files that are right: what the plan then says. Expected values are worked out by
 * hand from the texts and from the defaults that src/plan/README.md and METHODS 8.1 state. */
#include "src/plan/plan.h"

#include "src/base/mem.h"
#include "tests/fuzz/fake_registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Parse or fail the test with the message. */
static struct st_plan *parse_with(const char *text, size_t n_only,
                                  const char *const *only)
{
    struct st_plan *plan = NULL;
    struct st_error err = {0};
    const enum st_status rc = st_plan_parse("dir/case.yaml", text, strlen(text), 0, NULL,
                                            n_only, only, &fake_registry, &plan, &err);

    if (rc != ST_OK) {
        fail_msg("%s\nfrom:\n%s", err.text, text);
    }
    return plan;
}

static struct st_plan *parse(const char *text)
{
    return parse_with(text, 0, NULL);
}

static void defaults_are_as_documented(void **unused)
{
    struct st_plan *plan = parse("steps: [{benchmark: pairs}]\n");
    const struct st_step *step = &plan->steps[0];
    const struct fake_pairs *params = step->params;

    (void)unused;
    assert_string_equal(plan->campaign, "case"); /* of dir/case.yaml */
    assert_string_equal(plan->file, "dir/case.yaml");
    assert_string_equal(plan->config_text, "steps: [{benchmark: pairs}]\n");
    assert_string_equal(plan->overrides, "");
    assert_false(plan->judge_fake_nodes);
    assert_int_equal(plan->n_peaks, 0);
    assert_int_equal(plan->n_steps, 1);
    assert_string_equal(step->name, "pairs");
    assert_string_equal(step->bench->name, "pairs");
    assert_int_equal(step->layout.nodes, ST_NODES_ALL);
    assert_int_equal(step->layout.ranks, ST_MANY_ALL_CORES);
    assert_int_equal(step->layout.n_ranks, 0);
    assert_int_equal(step->layout.threads, ST_MANY_COUNT);
    assert_int_equal(step->layout.n_threads, 1);
    assert_int_equal(step->layout.fill, ST_FILL_COMPACT);
    assert_int_equal(step->layout.policy, ST_POLICY_SEATRIAL);
    assert_false(step->layout.oversubscribe);
    assert_int_equal(step->repeat.min, 5);
    assert_int_equal(step->repeat.max, 50);
    assert_true(step->repeat.confidence == 0.95);
    assert_true(step->repeat.width == 0.02);
    assert_true(step->repeat.budget_s == 10.0);
    assert_true(step->repeat.time_s == 0.001);
    assert_true(step->repeat.deadline_s == 100.0);
    assert_int_equal(step->n_criteria, 0);
    assert_false(step->required);
    assert_int_equal(step->line, 1);
    assert_int_equal(step->column, 9);
    assert_int_equal(params->pattern, 0);
    assert_int_equal(params->message, 8);
    st_plan_destroy(&plan);
    assert_null(plan);
    st_plan_destroy(&plan);
    st_plan_destroy(NULL);
}

/* DESIGN.md, "The config file", with the peak that its percentage needs. */
static void the_example_of_the_design(void **unused)
{
    static const char *const names[] = {
        "stream:stores=ordinary", "stream:stores=nontemporal",
        "pairs:message=8B",       "pairs:message=4KiB",
        "solve:nodes=1",          "solve:nodes=2",
        "solve:nodes=4",          "solve:nodes=all"};
    struct st_plan *plan =
        parse("campaign: quick\n"
              "peaks: {memory: 460.8GB/s}\n"
              "defaults:\n"
              "  repeat: {min: 5, max: 50, confidence: 95%, width: 2%, budget: 10s}\n"
              "steps:\n"
              "  - benchmark: stream\n"
              "    layout: {nodes: each, ranks_per_node: 1, threads: all-cores}\n"
              "    parameters: {size: auto, stores: [ordinary, nontemporal]}  # sweeps\n"
              "    accept:\n"
              "      triad: {at_least: 80% of peak, spread_over_nodes: 5%}\n"
              "  - benchmark: pairs\n"
              "    layout: {nodes: all, ranks_per_node: all-cores}\n"
              "    parameters: {pattern: message_rate, message: [8B, 4KiB]}\n"
              "  - benchmark: solve\n"
              "    layout: {nodes: [1, 2, 4, all], ranks_per_node: all-cores}\n");

    (void)unused;
    assert_string_equal(plan->campaign, "quick");
    assert_int_equal(plan->n_steps, ST_COUNT(names));
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        assert_string_equal(plan->steps[i].name, names[i]);
    }
    const struct st_step *stream = &plan->steps[1];
    const struct fake_stream *params = stream->params;
    assert_int_equal(params->stores, 1);
    assert_true(params->size == ST_AUTO);
    assert_int_equal(stream->line, 6);
    assert_int_equal(stream->column, 5);
    assert_int_equal(stream->layout.nodes, ST_NODES_EACH);
    assert_int_equal(stream->layout.threads, ST_MANY_ALL_CORES);
    assert_int_equal(stream->n_criteria, 2);
    assert_int_equal(stream->criteria[0].kind, ST_AT_LEAST_OF_PEAK);
    assert_int_equal(stream->criteria[0].metric_row, 3);
    assert_int_equal(stream->criteria[1].kind, ST_SPREAD);
    assert_true(stream->criteria[1].bound == 0.05);
    assert_int_equal(plan->steps[6].layout.nodes, ST_NODES_COUNT);
    assert_int_equal(plan->steps[6].layout.n_nodes, 4);
    assert_int_equal(plan->steps[7].layout.nodes, ST_NODES_ALL);
    st_plan_destroy(&plan);
}

static void every_type_of_parameter(void **unused)
{
    struct st_plan *plan =
        parse("steps:\n"
              "- benchmark: solve\n"
              "  parameters:\n"
              "    n: 2147483648\n"
              "    tolerance: \"1e-8\"\n"
              "    wait: 250ms\n"
              "    warm: true\n"
              "    matrix: 'a b/c.mtx'\n"
              "- {benchmark: stream, parameters: {size: 3GiB, stores: "
              "nontemporal, kernels: copy triad}}\n"
              "- {benchmark: solve, parameters: {warm: no, matrix: ''}}\n");
    const struct fake_solve *solve = plan->steps[0].params;
    const struct fake_stream *stream = plan->steps[1].params;
    const struct fake_solve *again = plan->steps[2].params;

    (void)unused;
    assert_true(solve->n == UINT64_C(2147483648));
    assert_true(solve->tolerance == 1e-8);
    assert_true(solve->wait == 0.25);
    assert_true(solve->warm);
    assert_string_equal(solve->matrix, "a b/c.mtx");
    assert_true(stream->size == UINT64_C(3221225472));
    assert_int_equal(stream->stores, 1);
    assert_int_equal(stream->kernels, 9);
    assert_false(again->warm);
    assert_string_equal(again->matrix, "");
    assert_string_equal(plan->steps[0].name, "solve");
    assert_string_equal(plan->steps[2].name, "solve#2");
    st_plan_destroy(&plan);
}

static void sweeps_go_in_file_order_rightmost_fastest(void **unused)
{
    static const char *const names[] = {"s:stores=ordinary,size=1KiB,threads=1",
                                        "s:stores=ordinary,size=1KiB,threads=2",
                                        "s:stores=ordinary,size=2KiB,threads=1",
                                        "s:stores=ordinary,size=2KiB,threads=2",
                                        "s:stores=nontemporal,size=1KiB,threads=1",
                                        "s:stores=nontemporal,size=1KiB,threads=2",
                                        "s:stores=nontemporal,size=2KiB,threads=1",
                                        "s:stores=nontemporal,size=2KiB,threads=2"};
    struct st_plan *plan =
        parse("steps:\n"
              "- benchmark: stream\n"
              "  name: s\n"
              "  parameters: {stores: [ordinary, nontemporal], size: [1KiB, 2KiB]}\n"
              "  layout: {ranks_per_node: 2, threads: [1, 2]}\n");

    (void)unused;
    assert_int_equal(plan->n_steps, ST_COUNT(names));
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const struct fake_stream *params = plan->steps[i].params;

        assert_string_equal(plan->steps[i].name, names[i]);
        assert_int_equal(params->stores, i / 4);
        assert_int_equal(params->size, i / 2 % 2 == 0 ? 1024 : 2048);
        assert_int_equal(plan->steps[i].layout.n_threads, i % 2 + 1);
        assert_int_equal(plan->steps[i].layout.n_ranks_per_node, 2);
    }
    st_plan_destroy(&plan);
}

static void names_differ_and_hold_no_blank(void **unused)
{
    static const char *const names[] = {"stream:kernels=copy+add",
                                        "stream:kernels=all",
                                        "stream",
                                        "stream#2",
                                        "stream#3",
                                        "stream:kernels=all#2",
                                        "stream:kernels=all#3"};
    struct st_plan *plan =
        parse("steps:\n"
              "- {benchmark: stream, parameters: {kernels: [copy add, all]}}\n"
              "- benchmark: stream\n"
              "- benchmark: stream\n"
              "- {benchmark: pairs, name: stream}\n"
              "- {benchmark: stream, parameters: {kernels: [all, all]}}\n");

    (void)unused;
    assert_int_equal(plan->n_steps, ST_COUNT(names));
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        assert_string_equal(plan->steps[i].name, names[i]);
    }
    st_plan_destroy(&plan);
}

/* 200 letters of two bytes do not fit; the cut must fall between two of them. */
static void long_names_are_cut_and_still_differ(void **unused)
{
    char text[1400] = "steps: [{benchmark: solve, parameters: {matrix: [";
    struct st_plan *plan = NULL;

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 200; k++) {
            strncat(text, "\xC3\xA9", sizeof text - strlen(text) - 1);
        }
        strncat(text, i == 0 ? "1, " : "2]}}]", sizeof text - strlen(text) - 1);
    }
    plan = parse(text);
    assert_int_equal(plan->n_steps, 2);
    /* "solve:matrix=" has 13 bytes: 55 letters and "..." make 126, a 56th would make 128. */
    assert_int_equal(strlen(plan->steps[0].name), 126);
    assert_string_equal(plan->steps[0].name + 121, "\xC3\xA9...");
    assert_int_equal(strlen(plan->steps[1].name), 127);
    assert_string_equal(plan->steps[1].name + 121, "\xC3\xA9..#2");
    st_plan_destroy(&plan);
}

static void a_step_overrides_the_defaults_key_by_key(void **unused)
{
    struct st_plan *plan =
        parse("defaults:\n"
              "  required: yes\n"
              "  layout: {ranks_per_node: [1, 2], fill: scatter, nodes: 3}\n"
              "  repeat: {min: 7, max: 9, budget: 2s}\n"
              "steps:\n"
              "- benchmark: pairs\n"
              "- benchmark: pairs\n"
              "  required: no\n"
              "  layout: {ranks: 8, fill: compact, oversubscribe: yes}\n"
              "  repeat: {max: 70, deadline: 3min, width: 0.5%, time: 0s}\n"
              "- {benchmark: pairs, layout: {ranks_per_node: per-l3}}\n");
    const struct st_step *second = &plan->steps[2];

    (void)unused;
    assert_int_equal(plan->n_steps, 4);
    assert_string_equal(plan->steps[0].name, "pairs:ranks_per_node=1");
    assert_string_equal(plan->steps[1].name, "pairs:ranks_per_node=2");
    assert_true(plan->steps[0].required);
    assert_int_equal(plan->steps[0].layout.fill, ST_FILL_SCATTER);
    assert_int_equal(plan->steps[0].layout.n_nodes, 3);
    assert_int_equal(plan->steps[1].layout.n_ranks_per_node, 2);
    assert_int_equal(plan->steps[0].repeat.min, 7);
    assert_int_equal(plan->steps[0].repeat.max, 9);
    assert_true(plan->steps[0].repeat.deadline_s == 68.0); /* 60 + 4 x 2 */
    assert_false(second->required);
    assert_string_equal(second->name, "pairs"); /* `ranks` replaces the swept default */
    assert_int_equal(second->layout.n_ranks, 8);
    assert_int_equal(second->layout.ranks, ST_MANY_ALL_CORES);
    assert_int_equal(second->layout.fill, ST_FILL_COMPACT);
    assert_int_equal(second->layout.n_nodes, 3);
    assert_true(second->layout.oversubscribe);
    assert_int_equal(second->repeat.min, 7);
    assert_int_equal(second->repeat.max, 70);
    assert_true(second->repeat.budget_s == 2.0);
    assert_true(second->repeat.deadline_s == 180.0);
    assert_true(second->repeat.width == 0.005);
    assert_true(second->repeat.time_s == 0.0);
    assert_int_equal(plan->steps[3].layout.ranks, ST_MANY_PER_L3);
    st_plan_destroy(&plan);
}

/* One entry, a series of steps that belong together, and whose size the parameter means. */
static void scaling_series(void **unused)
{
    struct st_plan *plan = parse(
        "steps:\n"
        "- {benchmark: solve, name: big, layout: {ranks: [1, 2]}, scaling: strong}\n"
        "- {benchmark: solve, layout: {ranks: [1, 2, 4]}, scaling: weak}\n"
        "- {benchmark: solve, parameters: {scope: total}}\n");
    static const enum st_scaling scaling[] = {ST_SCALING_STRONG, ST_SCALING_STRONG,
                                              ST_SCALING_WEAK,   ST_SCALING_WEAK,
                                              ST_SCALING_WEAK,   ST_SCALING_NONE};
    static const uint32_t scope[] = {1, 1, 0, 0, 0, 1};

    (void)unused;
    assert_int_equal(plan->n_steps, 6);
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct fake_solve *params = plan->steps[i].params;
        assert_int_equal(plan->steps[i].scaling, scaling[i]);
        assert_int_equal(params->scope, scope[i]);
        assert_string_equal(plan->steps[i].series, i < 2 ? "big" : "solve");
    }
    assert_string_equal(plan->steps[1].name, "big:ranks=2");
    st_plan_destroy(&plan);
}

static void layouts_read_and_are_told(void **unused)
{
    static const struct {
        const char *yaml;
        const char *text;
    } rows[] = {
        {"{nodes: each, ranks_per_node: 1, threads: all-cores}",
         "nodes each, 1 rank per node, all-cores threads, compact"},
        {"{}", "nodes all, all-cores ranks per node, 1 thread, compact"},
        {"{nodes: 4, ranks_per_node: per-numa, threads: 8, fill: scatter}",
         "nodes 4, per-numa ranks per node, 8 threads, scatter"},
        {"{ranks_per_node: 1, threads: per-l3}",
         "nodes all, 1 rank per node, 1 thread per-l3, compact"},
        {"{ranks_per_node: 1, threads: 4 per-numa}",
         "nodes all, 1 rank per node, 4 threads per-numa, compact"},
        {"{ranks_per_node: per-socket, threads: all-pus}",
         "nodes all, per-socket ranks per node, all-pus threads, compact"},
        {"{ranks_per_node: per-l3, policy: launcher}",
         "nodes all, per-l3 ranks per node, 1 thread, compact, bound by the launcher"},
        {"{ranks_per_node: all-pus, policy: seatrial, oversubscribe: no}",
         "nodes all, all-pus ranks per node, 1 thread, compact"},
        {"{ranks: 2147483647, oversubscribe: true}",
         "nodes all, 2147483647 ranks in total, 1 thread, compact, oversubscribed"},
        {"{ranks_per_node: 1, threads: all-cores, within: socket 0}",
         "nodes all, 1 rank per node, all-cores threads, compact, within socket 0"},
        {"{within: numa 12, others: busy}",
         "nodes all, all-cores ranks per node, 1 thread, compact, within numa 12, other "
         "ranks busy"},
        {"{within: node, others: idle}",
         "nodes all, all-cores ranks per node, 1 thread, compact"},
        {"{ranks: 1, nodes: all}", "nodes all, 1 rank in total, 1 thread, compact"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char text[256] = "steps: [{benchmark: pairs, layout: ";
        char told[256];

        strncat(text, rows[i].yaml, sizeof text - strlen(text) - 1);
        strncat(text, "}]", sizeof text - strlen(text) - 1);
        struct st_plan *plan = parse(text);
        assert_string_equal(st_layout_text(&plan->steps[0].layout, told, sizeof told),
                            rows[i].text);
        st_plan_destroy(&plan);
    }
}

static void every_form_of_criterion(void **unused)
{
    static const double none = (double)NAN;
    static const struct {
        const char *bench;
        const char *yaml;
        enum st_criterion_kind kind;
        double bound;
        double reference;
        const char *text;
    } rows[] = {
        {"stream", "{triad: {at_least: 380GB/s}}", ST_AT_LEAST, 380e9, none,
         "at_least: 380GB/s"},
        {"stream", "{triad: {at_least: 80% of peak memory}}", ST_AT_LEAST_OF_PEAK, 0.8,
         460.8e9, "at_least: 80% of peak memory"},
        {"stream", "{triad: {at_least: 85 %  of  peak  network}}", ST_AT_LEAST_OF_PEAK,
         0.85, 25e9, "at_least: 85 %  of  peak  network"},
        {"solve", "{flops: {at_least: 65% of peak}}", ST_AT_LEAST_OF_PEAK, 0.65, 3.2e12,
         "at_least: 65% of peak"},
        {"stream", "{copy: {at_least: 95% of 400GB/s}}", ST_AT_LEAST_OF_REFERENCE, 0.95,
         400e9, "at_least: 95% of 400GB/s"},
        {"pairs", "{latency: {at_most: 1.5us}}", ST_AT_MOST, 1.5e-6, none,
         "at_most: 1.5us"},
        {"pairs", "{latency: {at_most: 120% of 1us}}", ST_AT_MOST_OF_REFERENCE, 1.2, 1e-6,
         "at_most: 120% of 1us"},
        {"pairs", "{latency: {at_most: 110% of peak}}", ST_AT_MOST_OF_REFERENCE, 1.1,
         1.2e-6, "at_most: 110% of peak"},
        {"solve", "{efficiency: {at_least: 80%}}", ST_AT_LEAST, 0.8, none,
         "at_least: 80%"},
        {"solve", "{efficiency: {at_least: '0.8'}}", ST_AT_LEAST, 0.8, none,
         "at_least: 0.8"},
        {"stream", "{triad: {spread: 5%}}", ST_SPREAD, 0.05, none, "spread: 5%"},
        {"stream", "{triad: {spread_over_nodes: 5%}}", ST_SPREAD, 0.05, none,
         "spread_over_nodes: 5%"},
        {"pairs", "{latency: {spread: 0.1}}", ST_SPREAD, 0.1, none, "spread: 0.1"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char text[512] =
            "peaks: {memory: 460.8GB/s, network: {value: 25GB/s, origin: the "
            "offer}, cpu: 3.2Tflop/s, wire: 1.2us}\n"
            "steps: [{benchmark: ";

        strncat(text, rows[i].bench, sizeof text - strlen(text) - 1);
        strncat(text, ", accept: ", sizeof text - strlen(text) - 1);
        strncat(text, rows[i].yaml, sizeof text - strlen(text) - 1);
        strncat(text, "}]", sizeof text - strlen(text) - 1);
        struct st_plan *plan = parse(text);
        const struct st_criterion *criterion = &plan->steps[0].criteria[0];
        assert_int_equal(plan->steps[0].n_criteria, 1);
        assert_int_equal(criterion->kind, rows[i].kind);
        /* one rounding in the reading of the prefix, one in the literal */
        assert_true(fabs(criterion->bound - rows[i].bound) <= 4e-16 * rows[i].bound);
        assert_true(isnan(rows[i].reference)
                        ? isnan(criterion->reference)
                        : fabs(criterion->reference - rows[i].reference) <=
                              4e-16 * rows[i].reference);
        assert_string_equal(criterion->text, rows[i].text);
        assert_int_equal(criterion->statistic, ST_STAT_MEDIAN);
        assert_true(criterion->confidence == 0.95);
        assert_true(isnan(criterion->floor));
        assert_int_equal(criterion->may_fail, 0);
        assert_false(criterion->inconclusive_is_fail);
        assert_int_equal(criterion->line, 2);
        st_plan_destroy(&plan);
    }
}

static void modifiers_go_to_the_criteria_they_concern(void **unused)
{
    struct st_plan *plan =
        parse("steps:\n"
              "- benchmark: stream\n"
              "  accept:\n"
              "    copy: {at_least: 1GB/s, spread: 10%, may_fail: 2, floor: 500MB/s,\n"
              "           statistic: min, confidence: 99%, inconclusive: fail}\n"
              "    triad: {at_least: 2GB/s, statistic: p99, inconclusive: ok}\n");
    const struct st_criterion *c = plan->steps[0].criteria;

    (void)unused;
    assert_int_equal(plan->steps[0].n_criteria, 3);
    assert_int_equal(c[0].kind, ST_AT_LEAST);
    assert_int_equal(c[0].metric_row, 0);
    assert_int_equal(c[0].may_fail, 2);
    assert_true(c[0].floor == 5e8);
    assert_int_equal(c[0].statistic, ST_STAT_MIN);
    assert_true(c[0].confidence == 0.99);
    assert_true(c[0].inconclusive_is_fail);
    assert_string_equal(c[0].text, "at_least: 1GB/s, statistic: min, confidence: 99%, "
                                   "may_fail: 2, floor: 500MB/s, inconclusive: fail");
    assert_int_equal(c[0].line, 4);
    assert_int_equal(c[0].column, 22);
    assert_int_equal(c[1].kind, ST_SPREAD);
    assert_int_equal(c[1].may_fail, 0);
    assert_true(isnan(c[1].floor));
    assert_true(c[1].inconclusive_is_fail);
    assert_int_equal(c[1].statistic, ST_STAT_MIN);
    assert_string_equal(
        c[1].text, "spread: 10%, statistic: min, confidence: 99%, inconclusive: fail");
    assert_int_equal(c[2].statistic, ST_STAT_P99);
    assert_int_equal(c[2].metric_row, 3);
    assert_false(c[2].inconclusive_is_fail);
    st_plan_destroy(&plan);
}

static void peaks_keep_unit_and_origin(void **unused)
{
    static const struct {
        const char *name;
        const char *unit;
        double value;
        const char *origin;
    } rows[] = {{"memory", "byte s-1", 460.8e9, ""},
                {"cpu", "flop s-1", 3.2e12, "data sheet, page 3"},
                {"messages", "s-1", 2e8, ""},
                {"wire", "s", 1.2e-6, ""},
                {"capacity", "byte", 68719476736.0, ""}};
    struct st_plan *plan =
        parse("judge_fake_nodes: yes\n"
              "peaks:\n"
              "  memory: 460.8GB/s\n"
              "  cpu: {value: 3.2Tflop/s, origin: 'data sheet, page 3'}\n"
              "  messages: 200M/s\n"
              "  wire: 1.2us\n"
              "  capacity: 64GiB\n"
              "steps: [{benchmark: pairs}]\n");

    (void)unused;
    assert_true(plan->judge_fake_nodes);
    assert_int_equal(plan->n_peaks, ST_COUNT(rows));
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_string_equal(plan->peaks[i].name, rows[i].name);
        assert_string_equal(plan->peaks[i].unit, rows[i].unit);
        assert_true(fabs(plan->peaks[i].value - rows[i].value) <= 4e-16 * rows[i].value);
        assert_string_equal(plan->peaks[i].origin, rows[i].origin);
    }
    st_plan_destroy(&plan);
}

static void aliases_count_as_what_they_stand_for(void **unused)
{
    struct st_plan *plan =
        parse("\xEF\xBB\xBF" /* a byte order mark is no part of the text */
              "defaults: {repeat: &r {min: 6}}\n"
              "steps:\n"
              "- &s {benchmark: pairs, repeat: *r, parameters: {message: "
              "&m [1KiB, 2KiB]}}\n"
              "- *s\n"
              "- {benchmark: stream, parameters: {size: *m}}\n");
    const struct fake_stream *stream = plan->steps[5].params;

    (void)unused;
    assert_int_equal(plan->n_steps, 6);
    assert_string_equal(plan->steps[2].name, "pairs:message=1KiB#2");
    assert_int_equal(plan->steps[3].repeat.min, 6);
    assert_string_equal(plan->steps[5].name, "stream:size=2KiB");
    assert_int_equal(stream->size, 2048);
    st_plan_destroy(&plan);
}

static void only_keeps_the_steps_it_names(void **unused)
{
    static const char *const text =
        "steps:\n"
        "- {benchmark: stream, parameters: {stores: [ordinary, nontemporal]}}\n"
        "- {benchmark: stream, name: big, parameters: {size: [1GiB, 2GiB]}}\n"
        "- benchmark: pairs\n"
        "- benchmark: pairs\n";
    static const struct {
        const char *only[2];
        size_t n_only;
        const char *names; /* kept, in order */
    } rows[] = {
        {{"stream:stores=nontemporal"}, 1, "stream:stores=nontemporal "},
        {{"big"}, 1, "big:size=1GiB big:size=2GiB "},
        {{"stream"},
         1,
         "stream:stores=ordinary stream:stores=nontemporal big:size=1GiB big:size=2GiB "},
        {{"pairs#2"}, 1, "pairs#2 "},
        {{"pairs", "big:size=2GiB"}, 2, "big:size=2GiB pairs pairs#2 "},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        char names[512] = "";
        struct st_plan *plan = parse_with(text, rows[i].n_only, rows[i].only);

        for (size_t k = 0; k < plan->n_steps; k++) {
            strncat(names, plan->steps[k].name, sizeof names - strlen(names) - 1);
            strncat(names, " ", sizeof names - strlen(names) - 1);
        }
        assert_string_equal(names, rows[i].names);
        st_plan_destroy(&plan);
    }
}

static void only_of_an_unknown_step_lists_the_names(void **unused)
{
    static const char *const text =
        "steps: [{benchmark: stream, parameters: {size: [1GiB]}}, "
        "{benchmark: pairs}]";
    static const char *const only[] = {"stream", "paris"};
    struct st_plan *plan = NULL;
    struct st_error err = {0};
    const enum st_status rc = st_plan_parse("x", text, strlen(text), 0, NULL, 2, only,
                                            &fake_registry, &plan, &err);

    (void)unused;
    assert_int_equal(rc, ST_ERR_USAGE);
    assert_null(plan);
    assert_string_equal(err.text,
                        "--only paris: no step or benchmark of this name; allowed: "
                        "stream:size=1GiB, pairs (did you mean 'pairs'?)");
}

/* 100 x 100 = 10000 = ST_MAX_STEPS steps are allowed, all with different names. */
static void the_largest_plan(void **unused)
{
    char text[2048] = "steps: [{benchmark: pairs, parameters: {message: [0B";
    struct st_plan *plan = NULL;

    (void)unused;
    for (size_t i = 1; i < 100; i++) {
        strncat(text, ",0B", sizeof text - strlen(text) - 1);
    }
    strncat(text, "]}, layout: {threads: [1", sizeof text - strlen(text) - 1);
    for (size_t i = 1; i < 100; i++) {
        strncat(text, ",1", sizeof text - strlen(text) - 1);
    }
    strncat(text, "]}}]", sizeof text - strlen(text) - 1);
    plan = parse(text);
    assert_int_equal(plan->n_steps, ST_MAX_STEPS);
    assert_string_equal(plan->steps[0].name, "pairs:message=0B,threads=1");
    assert_string_equal(plan->steps[9999].name, "pairs:message=0B,threads=1#10000");
    st_plan_destroy(&plan);
}

static void words_are_different(void **unused)
{
    static const char *const kinds[] = {"at_least",
                                        "at_most",
                                        "at_least_of_peak",
                                        "at_least_of_reference",
                                        "at_most_of_reference",
                                        "spread"};
    static const enum st_criterion_kind kind[] = {ST_AT_LEAST,
                                                  ST_AT_MOST,
                                                  ST_AT_LEAST_OF_PEAK,
                                                  ST_AT_LEAST_OF_REFERENCE,
                                                  ST_AT_MOST_OF_REFERENCE,
                                                  ST_SPREAD};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(kinds); i++) {
        assert_string_equal(st_criterion_word(kind[i]), kinds[i]);
    }
    assert_string_equal(st_statistic_word(ST_STAT_MEDIAN), "median");
    assert_string_equal(st_statistic_word(ST_STAT_MIN), "min");
    assert_string_equal(st_statistic_word(ST_STAT_MAX), "max");
    assert_string_equal(st_statistic_word(ST_STAT_P99), "p99");
}

/* Each allocation of the parse fails once; leaks show under the address sanitizer. */
static void memory_failures_leave_nothing_behind(void **unused)
{
    static const char *const text =
        "campaign: c\n"
        "peaks: {memory: {value: 1GB/s, origin: o}}\n"
        "defaults: {layout: {threads: [1, 2]}, repeat: {min: 6}}\n"
        "steps:\n"
        "- &a {benchmark: stream, parameters: {stores: [ordinary, nontemporal]},\n"
        "      accept: {triad: {at_least: 80% of peak, spread: 5%}}}\n"
        "- *a\n";
    static const char *const set[] = {"steps.0.repeat.max=[9]", "steps.0.repeat.max=9"};
    static const char *const only[] = {"stream"};
    uint64_t n_failures = 0;
    enum st_status rc = ST_ERR_MEMORY;

    (void)unused;
    while (rc != ST_OK) {
        struct st_plan *plan = NULL;
        struct st_error err = {0};

        st_mem_fail_at(n_failures + 1);
        rc = st_plan_parse("x", text, strlen(text), 2, set, 1, only, &fake_registry,
                           &plan, &err);
        st_mem_fail_at(0);
        if (rc == ST_OK) {
            assert_int_equal(plan->n_steps, 8);
            st_plan_destroy(&plan);
        } else {
            assert_int_equal(rc, ST_ERR_MEMORY);
            assert_int_equal(err.code, ST_ERR_MEMORY);
            assert_true(strlen(err.text) > 0);
            assert_null(plan);
            n_failures++;
        }
    }
    assert_true(n_failures > 100); /* every value of the text above is one at least */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_as_documented),
        cmocka_unit_test(the_example_of_the_design),
        cmocka_unit_test(every_type_of_parameter),
        cmocka_unit_test(sweeps_go_in_file_order_rightmost_fastest),
        cmocka_unit_test(names_differ_and_hold_no_blank),
        cmocka_unit_test(long_names_are_cut_and_still_differ),
        cmocka_unit_test(a_step_overrides_the_defaults_key_by_key),
        cmocka_unit_test(scaling_series),
        cmocka_unit_test(layouts_read_and_are_told),
        cmocka_unit_test(every_form_of_criterion),
        cmocka_unit_test(modifiers_go_to_the_criteria_they_concern),
        cmocka_unit_test(peaks_keep_unit_and_origin),
        cmocka_unit_test(aliases_count_as_what_they_stand_for),
        cmocka_unit_test(only_keeps_the_steps_it_names),
        cmocka_unit_test(only_of_an_unknown_step_lists_the_names),
        cmocka_unit_test(the_largest_plan),
        cmocka_unit_test(words_are_different),
        cmocka_unit_test(memory_failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
