/* `seatrial report`: table and verdict of a results file, from the file alone. */

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/command/commands.h"
#include "src/show/show.h"

#include <string.h>

static const struct st_option options[] = {
    {"format", 0, "FORMAT", false,
     "text (default), json, junit, or lines (one stable line per figure)"},
    {"launch", 0, "N", false, "of a study (seatrial merge): this launch, from 0"},
};

static enum st_status show(const char *format, const struct st_file *file,
                           const struct st_verdict *verdict, struct st_error *err)
{
    static const struct {
        const char *name;
        enum st_report_format format;
    } formats[] = {
        {"text", ST_REPORT_TEXT}, {"json", ST_REPORT_JSON}, {"junit", ST_REPORT_JUNIT}};

    if (strcmp(format, "lines") == 0) {
        st_show_lines(stdout, file, verdict);
        return ST_OK;
    }
    for (size_t i = 0; i < ST_COUNT(formats); i++) {
        if (strcmp(format, formats[i].name) == 0) {
            return st_show_report(stdout, st_style_of(stdout), formats[i].format, file,
                                  verdict, err);
        }
    }
    return st_fail(err, ST_ERR_USAGE, "--format is text, json, junit or lines, not '%s'",
                   format);
}

/* One launch: the report, or for a study's table one line. */
static enum st_exit report(const struct st_arguments *arguments, size_t launch,
                           bool one_line)
{
    struct st_file *file = NULL;
    struct st_verdict *verdict = NULL;
    struct st_error err = {0};
    enum st_exit status = ST_EXIT_INTERNAL;

    enum st_status rc = st_file_open_launch(arguments->operands[0], launch, &file, &err);
    if (rc == ST_OK) {
        rc = st_judge_file(file, &verdict, &err);
    }
    if (rc == ST_OK && one_line) {
        (void)printf("  %6zu  %5zu  %6zu  %-20s  %-11s  %d\n", launch, file->n_nodes,
                     file->n_ranks, file->created, file->status, (int)verdict->exit);
    } else if (rc == ST_OK) {
        rc = show(st_value(arguments, "format", "text"), file, verdict, &err);
    }
    if (rc == ST_OK) {
        status = verdict->exit;
    } else {
        st_complain(&err);
        status = st_exit_of(rc);
    }
    st_verdict_destroy(&verdict);
    st_file_close(&file);
    return status;
}

static enum st_exit report_study(const struct st_arguments *arguments, size_t n)
{
    enum st_exit worst = ST_EXIT_PASS;

    (void)printf(
        "%s: a study of %zu launches; `seatrial report --launch N %s` shows one\n"
        "  LAUNCH  NODES   RANKS  BEGUN                 STATUS       EXIT STATUS\n",
        arguments->operands[0], n, arguments->operands[0]);
    for (size_t k = 0; k < n; k++) {
        const enum st_exit status = report(arguments, k, true);
        worst = status > worst ? status : worst;
    }
    return worst;
}

static enum st_exit run(const struct st_arguments *arguments)
{
    const char *text = st_value(arguments, "launch", NULL);
    const bool as_text = st_given(arguments, "format") == 0;
    struct st_error err = {0};
    uint64_t launch = 0;
    size_t n = 0;

    if (text != NULL) {
        if (st_parse_u64(text, &launch)) {
            return report(arguments, (size_t)launch, false);
        }
        (void)st_fail(&err, ST_ERR_USAGE, "--launch is a number from 0, not '%s'", text);
    } else if (st_study_launches(arguments->operands[0], &n, &err) == ST_OK) {
        return n > 0 && as_text ? report_study(arguments, n)
                                : report(arguments, SIZE_MAX, false);
    }
    st_complain(&err);
    return st_exit_of(err.code);
}

const struct st_command st_command_report = {
    .name = "report",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "table and verdict of a results file",
    .details = "The exit status is the verdict's, as `seatrial run` gave it: the same "
               "file always\n"
               "gives the same verdict.",
    .n_options = ST_COUNT(options),
    .options = options,
    .run = run,
};
