/* `seatrial list` and `seatrial describe`: what can be measured, from the declarations. */

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/registry.h"
#include "src/command/commands.h"
#include "src/show/show.h"

#include <string.h>

static const struct st_option list_options[] = {
    {"format", 0, "text|json", false, "how to print (default text)"},
};

static enum st_exit run_list(const struct st_arguments *arguments)
{
    const char *format = st_value(arguments, "format", "text");
    struct st_error err = {0};

    if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0) {
        (void)st_fail(&err, ST_ERR_USAGE, "--format is text or json, not '%s'", format);
        st_complain(&err);
        return st_exit_of(err.code);
    }
    st_show_list(stdout, strcmp(format, "json") == 0, &st_registry);
    return ST_EXIT_PASS;
}

static enum st_exit run_describe(const struct st_arguments *arguments)
{
    const char *name = arguments->operands[0];
    const struct st_bench *bench = st_bench_find(&st_registry, name);
    struct st_error err = {0};

    if (bench != NULL) {
        st_show_describe(stdout, st_style_of(stdout), bench);
        return ST_EXIT_PASS;
    }
    const char **names = st_calloc(&err, st_registry.n, sizeof *names);
    if (names != NULL) {
        for (size_t i = 0; i < st_registry.n; i++) {
            names[i] = st_registry.benches[i]->name;
        }
        const char *near = st_nearest(name, st_registry.n, names);
        (void)st_fail(&err, ST_ERR_USAGE,
                      "no benchmark '%s'%s%s%s; 'seatrial list' has all", name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    st_free(names);
    st_complain(&err);
    return st_exit_of(err.code);
}

const struct st_command st_command_list = {
    .name = "list",
    .operands = "",
    .summary = "the benchmarks, their parameters and metrics",
    .details = "",
    .n_options = ST_COUNT(list_options),
    .options = list_options,
    .run = run_list,
};

const struct st_command st_command_describe = {
    .name = "describe",
    .operands = "BENCHMARK",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "everything about one benchmark: parameters, metrics, method",
    .details = "",
    .run = run_describe,
};
