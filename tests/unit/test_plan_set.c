/* --set: what it changes, and what is said when it cannot. */
#include "src/plan/plan.h"

#include "src/base/mem.h"
#include "tests/fuzz/fake_registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char base[] =
    "campaign: c\n"
    "defaults: {}\n"
    "peaks: {memory: 400GB/s}\n"
    "steps:\n"
    "- benchmark: stream\n"
    "  parameters: {size: 1GiB, stores: [ordinary, nontemporal]}\n"
    "  accept: {triad: {at_least: 80% of peak}}\n"
    "- {benchmark: pairs, name: small}\n"
    "- {benchmark: pairs, name: large, parameters: {message: 1MiB}}\n";

static enum st_status parse(size_t n, const char *const *set, struct st_plan **plan,
                            struct st_error *err)
{
    return st_plan_parse("c.yaml", base, sizeof base - 1, n, set, 0, NULL, &fake_registry,
                         plan, err);
}

static struct st_plan *parse_one(const char *set)
{
    struct st_plan *plan = NULL;
    struct st_error err = {0};

    if (parse(1, &set, &plan, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
    return plan;
}

static void values_are_replaced(void **unused)
{
    struct st_plan *plan = parse_one("campaign=night shift");

    (void)unused;
    assert_string_equal(plan->campaign, "night shift");
    assert_string_equal(plan->config_text, base);
    assert_string_equal(plan->overrides, "campaign=night shift\n");
    st_plan_destroy(&plan);

    plan = parse_one("steps.0.parameters.stores=ordinary"); /* a list by a value */
    assert_int_equal(plan->n_steps, 3);
    assert_string_equal(plan->steps[0].name, "stream");
    st_plan_destroy(&plan);

    plan = parse_one("steps.0.parameters.stores.1=ordinary"); /* one element */
    assert_string_equal(plan->steps[1].name, "stream:stores=ordinary#2");
    st_plan_destroy(&plan);

    plan = parse_one("peaks.memory=500GB/s");
    assert_true(plan->steps[0].criteria[0].reference == 5e11);
    st_plan_destroy(&plan);

    plan = parse_one("steps=[{benchmark: pairs}]"); /* everything */
    assert_int_equal(plan->n_steps, 1);
    assert_int_equal(plan->steps[0].line, 1); /* of the option's own text */
    st_plan_destroy(&plan);
}

static void steps_are_found_by_number_name_and_benchmark(void **unused)
{
    static const struct {
        const char *set;
        size_t step; /* after the sweep of the first two */
    } rows[] = {{"steps.1.repeat.max=7", 2},     {"steps.small.repeat.max=7", 2},
                {"steps.large.repeat.max=7", 3}, {"steps.stream.repeat.max=7", 0},
                {"steps.0.repeat.max=7", 1},     {"steps.2.repeat={max: 7}", 3}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_plan *plan = parse_one(rows[i].set);

        for (size_t k = 0; k < plan->n_steps; k++) {
            const bool is_hit = k == rows[i].step || (rows[i].step < 2 && k < 2);

            assert_int_equal(plan->steps[k].repeat.max, is_hit ? 7 : 50);
        }
        st_plan_destroy(&plan);
    }
}

static void new_keys_and_lists_are_made(void **unused)
{
    struct st_plan *plan = parse_one("steps.small.parameters.message=[1KiB, 2KiB]");

    (void)unused;
    assert_int_equal(plan->n_steps, 5);
    assert_string_equal(plan->steps[3].name, "small:message=2KiB");
    st_plan_destroy(&plan);

    plan = parse_one("defaults.layout.threads=4");
    assert_int_equal(plan->steps[0].layout.n_threads, 4);
    st_plan_destroy(&plan);

    plan = parse_one("steps.large.accept.latency.at_most=2us");
    assert_int_equal(plan->steps[3].n_criteria, 1);
    assert_true(plan->steps[3].criteria[0].bound == 2e-6);
    st_plan_destroy(&plan);
}

/* Nothing behind `defaults:` is a mistake, unless an option puts something there. */
static void an_empty_value_can_become_a_map(void **unused)
{
    static const char text[] = "defaults:\nsteps: [{benchmark: pairs}]\n";
    static const char *const set[] = {"defaults.layout.threads=4"};
    struct st_plan *plan = NULL;
    struct st_error err = {0};

    (void)unused;
    for (size_t n = 0; n < 2; n++) {
        const enum st_status rc = st_plan_parse("c.yaml", text, sizeof text - 1, n, set,
                                                0, NULL, &fake_registry, &plan, &err);
        assert_int_equal(rc, n == 0 ? ST_ERR_CONFIG : ST_OK);
    }
    assert_int_equal(plan->steps[0].layout.n_threads, 4);
    st_plan_destroy(&plan);
}

static void the_last_of_two_counts(void **unused)
{
    static const char *const set[] = {"defaults.repeat.max=9", "defaults.repeat.max=8",
                                      "defaults.repeat.min=3"};
    struct st_plan *plan = NULL;
    struct st_error err = {0};

    (void)unused;
    assert_int_equal(parse(ST_COUNT(set), set, &plan, &err), ST_OK);
    assert_int_equal(plan->steps[0].repeat.max, 8);
    assert_int_equal(plan->steps[0].repeat.min, 3);
    assert_string_equal(plan->overrides, "defaults.repeat.max=9\ndefaults.repeat.max=8\n"
                                         "defaults.repeat.min=3\n");
    st_plan_destroy(&plan);
}

/* Wrong options, and the message after "--set OPTION: ". */
static const struct {
    const char *set;
    enum st_status rc;
    const char *message;
} mistakes[] = {
    {"campaign", ST_ERR_USAGE,
     "no '='; PATH=VALUE is needed, as in defaults.repeat.max=10"},
    {"=1", ST_ERR_USAGE,
     "a name is missing in the path; PATH=VALUE is needed, with names and points "
     "between "
     "them"},
    {"steps..max=1", ST_ERR_USAGE,
     "a name is missing in the path; PATH=VALUE is needed, with names and points "
     "between "
     "them"},
    {"steps.=1", ST_ERR_USAGE, "the path ends in a point"},
    {"steps.9.name=x", ST_ERR_CONFIG,
     "no step '9', counted from 0 or by name; allowed: stream, small, large"},
    {"steps.smal.name=x", ST_ERR_CONFIG,
     "no step 'smal', counted from 0 or by name; allowed: stream, small, large (did "
     "you "
     "mean 'small'?)"},
    {"steps.pairs.name=x", ST_ERR_CONFIG,
     "2 steps are called 'pairs', the first is number 1; give the number"},
    {"steps.0.parameters.stores.2=x", ST_ERR_CONFIG,
     "'2' is no element of this list; allowed: 0 to 1"},
    {"campaign.x=1", ST_ERR_CONFIG,
     "'campaign' is the value 'c' and has nothing below it"},
    {"stream.size=1GiB", ST_ERR_CONFIG,
     "a path begins at the root of the config (did you mean "
     "'steps.stream.parameters.size=1GiB'?)"},
    {"small.repeat.max=1", ST_ERR_CONFIG,
     "a path begins at the root of the config (did you mean "
     "'steps.small.repeat.max=1'?)"},
    {"default.repeat.max=1", ST_ERR_CONFIG,
     "unknown key 'default'; allowed: campaign, defaults, peaks, judge_fake_nodes, "
     "steps "
     "(did you mean 'defaults'?)"},
    {"defaults.repeat.mx=1", ST_ERR_CONFIG,
     "unknown key 'mx' in repeat; allowed: min, max, confidence, width, budget, "
     "time, "
     "deadline (did you mean 'max'?)"},
    {"defaults.repeat.max=x", ST_ERR_CONFIG, "max: found 'x'; allowed: 1 to 1000000"},
    {"defaults.repeat.max=", ST_ERR_CONFIG,
     "max: found nothing; a single value is needed"},
    {"steps.0.parameters.size=12", ST_ERR_CONFIG,
     "parameter 'size': '12' has no unit; write a number with B, kB, MB, GB, TB, "
     "KiB, "
     "MiB, GiB or TiB, or auto"},
    {"steps.0.parameters.size=[1GiB", ST_ERR_CONFIG,
     "not valid YAML: did not find expected ',' or ']' while parsing a flow "
     "sequence"},
    {"steps.0.parameters.size=!!int 3", ST_ERR_CONFIG,
     "tag '!!int' is not allowed; values are written without tags"},
    {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1", ST_ERR_CONFIG,
     "unknown key 'a'; allowed: campaign, defaults, peaks, judge_fake_nodes, steps"},
    {"defaults.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1",
     ST_ERR_USAGE, "the path has too many names"},
    {"steps.1=x", ST_ERR_CONFIG, "a step: found 'x'; a map (key: value) is needed"},
    {"steps=", ST_ERR_CONFIG, "steps: found nothing; a list of steps is needed"},
    {"steps.0.accept.triad.spread_over_node=1%", ST_ERR_CONFIG,
     "unknown key 'spread_over_node' in triad; allowed: at_least, at_most, spread, "
     "spread_over_nodes, statistic, confidence, may_fail, floor, inconclusive (did "
     "you "
     "mean 'spread_over_nodes'?)"},
};

static void mistakes_name_the_option(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(mistakes); i++) {
        char expected[ST_ERROR_TEXT_SIZE] = "--set ";
        struct st_plan *plan = NULL;
        struct st_error err = {0};
        const enum st_status rc = parse(1, &mistakes[i].set, &plan, &err);

        strncat(expected, mistakes[i].set, sizeof expected - strlen(expected) - 1);
        strncat(expected, ": ", sizeof expected - strlen(expected) - 1);
        strncat(expected, mistakes[i].message, sizeof expected - strlen(expected) - 1);
        assert_string_equal(err.text, expected);
        assert_int_equal(rc, mistakes[i].rc);
        assert_null(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_replaced),
        cmocka_unit_test(steps_are_found_by_number_name_and_benchmark),
        cmocka_unit_test(new_keys_and_lists_are_made),
        cmocka_unit_test(an_empty_value_can_become_a_map),
        cmocka_unit_test(the_last_of_two_counts),
        cmocka_unit_test(mistakes_name_the_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
