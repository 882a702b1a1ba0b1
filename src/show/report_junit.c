/*
 * The report as JUnit XML, the form CI systems read: one test suite per campaign, one test
 * case per step ("runs") and one per criterion, and one for the campaign itself.
 *
 *   failure   a criterion failed
 *   error     a criterion is inconclusive; a step failed, was interrupted or never finished; the
 *             run is not complete
 *   skipped   a criterion was not judged; a step was skipped
 *
 * The cases are walked twice by the same function: once to count, once to write, so that the
 * counts of the suite are those of its cases.
 */
#include "src/show/report.h"

#include "src/show/xml.h"

#include <math.h>
#include <string.h>

enum result {
    RESULT_OK,
    RESULT_FAILURE,
    RESULT_ERROR,
    RESULT_SKIPPED,
    N_RESULTS
};

struct suite {
    FILE *out; /* NULL: count only */
    size_t n[N_RESULTS];
};

struct test_case {
    const char *class_name;
    const char *name;
    const char *name_tail; /* after the name, "" if none */
    double time_s;
    enum result result;
    const char *type;
    const char *text;
};

static void put_time(FILE *out, double seconds)
{
    (void)fprintf(out, " time=\"%.6f\"",
                  isfinite(seconds) && seconds > 0.0 ? seconds : 0.0);
}

static void put_case(struct suite *suite, const struct test_case *c)
{
    static const char *const tags[] = {[RESULT_FAILURE] = "failure",
                                       [RESULT_ERROR] = "error",
                                       [RESULT_SKIPPED] = "skipped"};
    FILE *out = suite->out;

    suite->n[c->result]++;
    if (out == NULL) {
        return;
    }
    (void)fputs("    <testcase", out);
    st_xml_attribute(out, "classname", c->class_name);
    (void)fputs(" name=\"", out);
    st_xml_put(out, c->name);
    st_xml_put(out, c->name_tail);
    (void)fputc('"', out);
    put_time(out, c->time_s);
    if (c->result == RESULT_OK) {
        (void)fputs("/>\n", out);
        return;
    }
    (void)fprintf(out, ">\n      <%s", tags[c->result]);
    if (c->result != RESULT_SKIPPED) {
        st_xml_attribute(out, "type", c->type);
    }
    st_xml_attribute(out, "message", c->text);
    (void)fputs("/>\n    </testcase>\n", out);
}

static void put_campaign(struct suite *suite, const struct st_file *file)
{
    char text[sizeof file->reason + 128] = "";
    const bool is_complete = strcmp(file->status, "complete") == 0;
    const bool lacks_steps = file->n_steps < file->n_steps_planned;

    if (!is_complete || lacks_steps) {
        (void)snprintf(text, sizeof text,
                       "the run is %s: %zu of %zu steps are in the file%s%s",
                       file->status, file->n_steps, file->n_steps_planned,
                       file->reason[0] != '\0' ? "; " : "", file->reason);
    }
    put_case(suite, &(struct test_case){file->campaign, "campaign", "", file->wall_s,
                                        text[0] == '\0' ? RESULT_OK : RESULT_ERROR,
                                        "incomplete", text});
}

static void put_step(struct suite *suite, const struct st_file_step *s)
{
    enum result result = RESULT_ERROR;

    if (s->state == ST_STEP_SKIPPED) {
        result = RESULT_SKIPPED;
    } else if (!st_step_void(s)) {
        result = RESULT_OK;
    }
    put_case(suite, &(struct test_case){s->name, "runs", "", s->wall_s, result,
                                        st_step_state_word(s->state), s->reason});
}

static void put_criterion(struct suite *suite, const struct st_file *file,
                          const struct st_verdict_row *row)
{
    static const enum result results[] = {[ST_PASS] = RESULT_OK,
                                          [ST_FAIL] = RESULT_FAILURE,
                                          [ST_INCONCLUSIVE] = RESULT_ERROR,
                                          [ST_NOT_JUDGED] = RESULT_SKIPPED};
    const struct st_file_step *s = &file->steps[row->step];
    const struct st_criterion *c = &s->criteria[row->criterion].criterion;
    const bool has_metric = row->metric < s->n_metrics;
    char tail[sizeof c->text + 2];

    (void)snprintf(tail, sizeof tail, "%s%s", has_metric ? " " : "", c->text);
    put_case(suite,
             &(struct test_case){s->name, has_metric ? s->metrics[row->metric].name : "",
                                 tail, 0.0, results[row->outcome],
                                 st_outcome_word(row->outcome), row->text});
}

static void put_cases(struct suite *suite, const struct st_file *file,
                      const struct st_verdict *verdict)
{
    put_campaign(suite, file);
    for (size_t s = 0; s < file->n_steps; s++) {
        put_step(suite, &file->steps[s]);
    }
    for (size_t i = 0; i < verdict->n_rows; i++) {
        if (st_is_set_row(&verdict->rows[i])) {
            put_criterion(suite, file, &verdict->rows[i]);
        }
    }
}

static void put_counts(FILE *out, const struct suite *suite)
{
    (void)fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
                  suite->n[RESULT_OK] + suite->n[RESULT_FAILURE] +
                      suite->n[RESULT_ERROR] + suite->n[RESULT_SKIPPED],
                  suite->n[RESULT_FAILURE], suite->n[RESULT_ERROR],
                  suite->n[RESULT_SKIPPED]);
}

bool st_report_junit(FILE *out, const struct st_file *file,
                     const struct st_verdict *verdict)
{
    struct suite counted = {0};
    struct suite written = {.out = out};

    put_cases(&counted, file, verdict);
    (void)fputs(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"seatrial\"", out);
    put_counts(out, &counted);
    (void)fputs(">\n  <testsuite", out);
    st_xml_attribute(out, "name", file->campaign);
    put_counts(out, &counted);
    put_time(out, file->wall_s);
    st_xml_attribute(out, "timestamp", file->created);
    (void)fputs(">\n", out);
    put_cases(&written, file, verdict);
    (void)fputs("    <system-out>", out);
    st_xml_put(out, verdict->summary);
    (void)fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
    return true;
}
