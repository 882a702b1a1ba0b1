/*
 * libFuzzer target of the config reader. An input is a config file; comment lines at its
 * start of the form "#set PATH=VALUE" and "#only NAME" become options as well, so that a
 * corpus file stays one readable YAML text. Whatever comes, the reader must answer with a
 * plan or with a message, and free everything.
 */
#include "src/plan/plan.h"

#include "src/base/mem.h"
#include "tests/fuzz/fake_registry.h"

#include <stdint.h>
#include <string.h>

enum {
    MAX_OPTIONS = 8,
    MAX_OPTION_SIZE = 256
};

struct options {
    size_t n;
    char text[MAX_OPTIONS][MAX_OPTION_SIZE];
    const char *list[MAX_OPTIONS];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Take "PREFIX REST\n" at the start of the text. @return bytes taken, 0 if it is not there */
static size_t take_option(const char *text, size_t size, const char *prefix,
                          struct options *options)
{
    const size_t skip = strlen(prefix);

    if (size < skip || memcmp(text, prefix, skip) != 0 || options->n == MAX_OPTIONS) {
        return 0;
    }
    const char *end = memchr(text, '\n', size);
    const size_t length = end == NULL ? size : (size_t)(end - text);
    if (length - skip >= MAX_OPTION_SIZE) {
        return 0;
    }
    char *copy = options->text[options->n];
    memcpy(copy, text + skip, length - skip);
    copy[length - skip] = '\0';
    options->list[options->n++] = copy;
    return end == NULL ? length : length + 1;
}

/* Properties that every plan has; a trap shows the input that breaks one. */
static void check_plan(const struct st_plan *plan)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct st_step *step = &plan->steps[i];
        char text[256];
        bool ok = step->bench != NULL && step->params != NULL && step->name[0] != '\0' &&
                  strchr(step->name, ' ') == NULL &&
                  step->repeat.min <= step->repeat.max && step->repeat.width > 0.0 &&
                  step->repeat.deadline_s > 0.0;

        (void)st_layout_text(&step->layout, text, sizeof text);
        for (size_t k = 0; k < step->n_criteria; k++) {
            const struct st_criterion *c = &step->criteria[k];

            ok = ok && c->metric_row < step->bench->n_metrics && c->text[0] != '\0' &&
                 c->bound == c->bound && st_criterion_word(c->kind)[0] != '\0';
        }
        for (size_t k = 0; k < i && plan->n_steps < 100; k++) {
            ok = ok && strcmp(step->name, plan->steps[k].name) != 0;
        }
        if (!ok) {
            __builtin_trap();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options set = {0};
    struct options only = {0};
    const char *text = (const char *)data;
    struct st_plan *plan = NULL;
    struct st_error err = {0};
    size_t used = 0;
    size_t taken = 0;

    do {
        taken = take_option(text + used, size - used, "#set ", &set);
        if (taken == 0) {
            taken = take_option(text + used, size - used, "#only ", &only);
        }
        used += taken;
    } while (taken > 0);
    const enum st_status rc =
        st_plan_parse("fuzz.yaml", text + used, size - used, set.n, set.list, only.n,
                      only.list, &fake_registry, &plan, &err);
    if (rc == ST_OK) {
        check_plan(plan);
    } else if (plan != NULL || err.text[0] == '\0' ||
               (rc != ST_ERR_CONFIG && rc != ST_ERR_USAGE)) {
        __builtin_trap();
    }
    st_plan_destroy(&plan);
    return 0;
}
