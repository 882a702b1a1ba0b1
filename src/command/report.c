/* `seatrial report`: table and verdict of a results file, from the file alone. */

#include "src/base/mem.h"
#include "src/command/commands.h"
#include "src/show/show.h"

#include <string.h>

static const struct st_option options[] = {
    {"format", 0, "FORMAT", false,
     "text (default), json, junit, or lines (one stable line per figure)"},
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

static enum st_exit run(const struct st_arguments *arguments)
{
    struct st_file *file = NULL;
    struct st_verdict *verdict = NULL;
    struct st_error err = {0};
    enum st_exit status = ST_EXIT_INTERNAL;

    enum st_status rc = st_file_open(arguments->operands[0], &file, &err);
    if (rc == ST_OK) {
        rc = st_judge_file(file, &verdict, &err);
    }
    if (rc == ST_OK) {
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
