/*
 * The report for people. Its order is the order of questions: what was this, can I trust it,
 * what came out, was it good enough, what stands out, and so what.
 */
#include "src/show/report.h"

#include "src/base/text.h"
#include "src/show/published.h"
#include "src/show/utf8.h"

#include <string.h>

enum {
    MOST_OUTLIERS = 20,
    LABEL_WIDTH = 10
};

static void put_title(FILE *out, struct st_style style, const char *title)
{
    st_ink_put(out, style, ST_INK_STRONG, title);
    (void)fputs("\n", out);
}

/* "  file      TEXT", wrapped below the text. */
static void put_field(FILE *out, struct st_style style, const char *label,
                      enum st_ink ink, const char *text)
{
    (void)fprintf(out, "  %-*s", LABEL_WIDTH, label);
    st_wrap(out, style, 2 + LABEL_WIDTH, 2 + LABEL_WIDTH, ink, text);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* A library's version text can be a page; its first clause is what people know it by. */
static void first_clause(char *out, size_t size, const char *text)
{
    (void)st_copy(out, size, text);
    out[strcspn(out, ",\n")] = '\0';
}

static bool put_header(FILE *out, struct st_style style, const struct st_file *file)
{
    struct st_text line = {0};
    char mpi[128];
    char wall[32];
    char start[32];
    const bool is_complete = strcmp(file->status, "complete") == 0;
    bool whole = true;

    st_text_add(&line, "seatrial report: %s", file->campaign);
    st_wrap(out, style, 0, 2, ST_INK_STRONG, st_text_get(&line));
    whole = st_line_done(&line) && whole;

    st_text_add(&line, "%s (format %d)", file->path != NULL ? file->path : "-",
                file->format);
    if (file->created[0] != '\0') {
        st_text_add(&line, ", written %s", file->created);
    }
    if (file->version[0] != '\0') {
        st_text_add(&line, " by seatrial %s", file->version);
    }
    put_field(out, style, "file", ST_INK_PLAIN, st_text_get(&line));
    whole = st_line_done(&line) && whole;
    if (file->command[0] != '\0') {
        put_field(out, style, "command", ST_INK_PLAIN, file->command);
    }
    first_clause(mpi, sizeof mpi, file->mpi_library);
    st_text_add(&line, "%zu node%s, %zu rank%s%s%s", file->n_nodes, plural(file->n_nodes),
                file->n_ranks, plural(file->n_ranks), mpi[0] != '\0' ? ", " : "", mpi);
    put_field(out, style, "machine", ST_INK_PLAIN, st_text_get(&line));
    whole = st_line_done(&line) && whole;
    st_text_add(&line, "%s, %zu of %zu steps, %s (start-up %s)%s%s", file->status,
                file->n_steps, file->n_steps_planned,
                st_duration(wall, sizeof wall, file->wall_s),
                st_duration(start, sizeof start, file->start_up_s),
                file->reason[0] != '\0' ? ": " : "", file->reason);
    put_field(out, style, "status", is_complete ? ST_INK_PLAIN : ST_INK_BAD,
              st_text_get(&line));
    return st_line_done(&line) && whole;
}

/* The warning is one line of text, without a newline. */
static void put_warning(FILE *out, struct st_style style, const char *text)
{
    (void)fputs("  ", out);
    st_ink_put(out, style, ST_INK_DOUBT, "warning");
    st_blanks(out, LABEL_WIDTH - strlen("warning"));
    st_wrap(out, style, 2 + LABEL_WIDTH, 2 + LABEL_WIDTH, ST_INK_PLAIN, text);
}

static void put_stored_warnings(FILE *out, struct st_style style, const char *text)
{
    char line[sizeof((struct st_file *)NULL)->warnings];

    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        if (n > 0 && n < sizeof line) {
            memcpy(line, text, n);
            line[n] = '\0';
            put_warning(out, style, line);
        }
        text += n + (text[n] == '\n');
    }
}

static void put_warnings(FILE *out, struct st_style style, const struct st_file *file)
{
    size_t n_crowded = 0;
    size_t n_unproved = 0;
    char text[256];

    for (size_t s = 0; s < file->n_steps; s++) {
        n_crowded += file->steps[s].oversubscribed;
        n_unproved +=
            file->steps[s].state == ST_STEP_COMPLETE && !file->steps[s].placement_proved;
    }
    if (file->fake_nodes) {
        put_warning(
            out, style,
            file->judge_fake_nodes
                ? "the nodes are pretended (SEATRIAL_FAKE_NODES) and judged because the "
                  "config asks for it; no figure here is about a network or a node"
                : "the nodes are pretended (SEATRIAL_FAKE_NODES): nothing is judged, and "
                  "no figure here is about a network or a node");
    }
    if (n_crowded > 0) {
        (void)snprintf(
            text, sizeof text,
            "%zu of %zu steps ran with more threads than CPUs (oversubscribed): their "
            "figures say little about the machine and are not judged",
            n_crowded, file->n_steps);
        put_warning(out, style, text);
    }
    if (n_unproved > 0) {
        (void)snprintf(
            text, sizeof text,
            "in %zu of %zu steps it is not proved where the threads ran: their figures "
            "are not judged",
            n_unproved, file->n_steps);
        put_warning(out, style, text);
    }
    put_stored_warnings(out, style, file->warnings);
    (void)fputc('\n', out);
}

static bool put_criteria(FILE *out, struct st_style style, const struct st_file *file,
                         const struct st_verdict *verdict)
{
    enum {
        C_OUTCOME,
        C_ASKED,
        N_COLUMNS
    };
    struct st_table t = {
        .n_columns = N_COLUMNS, .titles = {"OUTCOME", "ASKED"}, .indent = 2};

    for (size_t i = 0; i < verdict->n_rows; i += 1 + verdict->rows[i].n_place_rows) {
        const struct st_verdict_row *row = &verdict->rows[i];
        const struct st_file_step *s = &file->steps[row->step];
        char asked[512];
        if (!st_is_set_row(row)) {
            continue;
        }
        const struct st_criterion *c = &s->criteria[row->criterion].criterion;
        (void)snprintf(asked, sizeof asked, "%s: %s %s", s->name,
                       row->metric < s->n_metrics ? s->metrics[row->metric].name : "",
                       c->text);
        st_table_row(&t);
        st_table_cell(&t, C_OUTCOME, st_ink_of(row->outcome),
                      st_outcome_word(row->outcome));
        st_table_cell(&t, C_ASKED, ST_INK_STRONG, asked);
        st_table_line(&t, 6, 6, ST_INK_PLAIN, row->text);
    }
    if (t.n_rows > 0) {
        put_title(out, style, "Criteria");
        st_table_print(&t, out, style);
        (void)fputc('\n', out);
    }
    st_table_clear(&t);
    return !t.failed;
}

/* Suspects first: someone has to act on them. */
static void put_outliers(FILE *out, struct st_style style,
                         const struct st_verdict *verdict)
{
    size_t n_shown = 0;

    if (verdict->n_outliers == 0) {
        return;
    }
    put_title(out, style, "Places that stand out");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < verdict->n_outliers && n_shown < MOST_OUTLIERS; i++) {
            const struct st_outlier *o = &verdict->outliers[i];
            if (o->suspect != (pass == 0)) {
                continue;
            }
            (void)fputs("  ", out);
            st_ink_put(out, style, o->suspect ? ST_INK_BAD : ST_INK_FAINT,
                       o->suspect ? "suspect" : "listed ");
            (void)fputs("   ", out);
            st_wrap(out, style, 2 + LABEL_WIDTH, 2 + LABEL_WIDTH, ST_INK_PLAIN, o->text);
            n_shown++;
        }
    }
    if (verdict->n_outliers > n_shown) {
        (void)fprintf(out, "  %zu more are in the JSON report\n",
                      verdict->n_outliers - n_shown);
    }
    (void)fputc('\n', out);
}

static void put_verdict(FILE *out, struct st_style style, const struct st_verdict *v)
{
    const enum st_ink ink = v->exit == ST_EXIT_PASS   ? ST_INK_GOOD
                            : v->exit == ST_EXIT_FAIL ? ST_INK_BAD
                                                      : ST_INK_DOUBT;
    char line[256];

    put_title(out, style, "Verdict");
    (void)fputs("  ", out);
    st_wrap(out, style, 2, 2, ink, v->summary);
    (void)snprintf(line, sizeof line, "exit status %d: %s", (int)v->exit,
                   st_exit_meaning(v->exit));
    (void)fputs("  ", out);
    st_wrap(out, style, 2, 2, ST_INK_PLAIN, line);
}

bool st_report_text(FILE *out, struct st_style style, const struct st_file *file,
                    const struct st_verdict *verdict)
{
    bool whole = put_header(out, style, file);

    put_warnings(out, style, file);
    put_title(out, style,
              "Figures (median, its interval by order statistics, range of N samples)");
    (void)fputc('\n', out);
    whole = st_report_figures(out, style, file, verdict) && whole;
    whole = put_criteria(out, style, file, verdict) && whole;
    put_outliers(out, style, verdict);
    whole = st_report_published(out, style, file) && whole;
    put_verdict(out, style, verdict);
    return whole;
}
