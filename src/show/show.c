/*
 * The report in one of its forms, and what the forms share. A report that could not be written
 * whole is an error, never a shorter report (CASES 46, 52).
 */
#include "src/show/report.h"

#include <errno.h>
#include <string.h>

bool st_is_set_row(const struct st_verdict_row *row)
{
    return row->criterion != SIZE_MAX && row->place == SIZE_MAX;
}

bool st_metric_outcome(const struct st_verdict *verdict, size_t step, size_t metric,
                       enum st_outcome *outcome)
{
    bool found = false;

    for (size_t i = 0; i < verdict->n_rows; i += 1 + verdict->rows[i].n_place_rows) {
        const struct st_verdict_row *row = &verdict->rows[i];
        if (st_is_set_row(row) && row->step == step && row->metric == metric) {
            *outcome = found ? st_outcome_worse(*outcome, row->outcome) : row->outcome;
            found = true;
        }
    }
    return found;
}

bool st_step_void(const struct st_file_step *step)
{
    return step->state != ST_STEP_COMPLETE || step->check_bad > 0;
}

const char *st_exit_meaning(enum st_exit status)
{
    switch (status) {
    case ST_EXIT_PASS:
        return "all criteria passed, or none were asked for";
    case ST_EXIT_FAIL:
        return "a criterion failed";
    case ST_EXIT_INCOMPLETE:
        return "incomplete: a step is missing, failed or was interrupted, or a criterion "
               "could not be decided";
    case ST_EXIT_USAGE:
        return "wrong command line, config or launch";
    case ST_EXIT_INTERNAL:
        return "internal or I/O error";
    }
    return "unknown";
}

const char *st_label(const struct st_file_metric *metric, size_t place)
{
    return metric->places[place].label[0] != '\0' ? metric->places[place].label : "job";
}

enum st_status st_show_report(FILE *out, struct st_style style,
                              enum st_report_format format, const struct st_file *file,
                              const struct st_verdict *verdict, struct st_error *err)
{
    bool whole = false;

    errno = 0;
    switch (format) {
    case ST_REPORT_TEXT:
        whole = st_report_text(out, style, file, verdict);
        break;
    case ST_REPORT_JSON:
        whole = st_report_json(out, file, verdict);
        break;
    case ST_REPORT_JUNIT:
        whole = st_report_junit(out, file, verdict);
        break;
    }
    if (fflush(out) != 0 || ferror(out) != 0) {
        return st_fail(err, ST_ERR_IO, "the report of %s could not be written: %s",
                       file->path, errno != 0 ? strerror(errno) : "output error");
    }
    if (!whole) {
        return st_fail(err, ST_ERR_MEMORY,
                       "the report of %s is not whole: no memory left", file->path);
    }
    return ST_OK;
}
