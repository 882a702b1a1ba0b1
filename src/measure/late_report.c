/*
 * What is said when a deadline passed: pure text work over the record file. The record is a
 * line of text padded with blanks, so that the file can also be read by eye; a rank that
 * wrote nothing leaves a hole of zero bytes, or the file ends before its place.
 */
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/measure/deadline.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word; /* in the record */
    bool waits;       /* for other ranks: not the cause */
} doings[ST_N_DOING] = {
    [ST_DOING_LAYOUT] = {"layout and binding", false},
    [ST_DOING_PREPARE] = {"prepare", false},
    [ST_DOING_SYNC] = {"clock synchronisation", true},
    [ST_DOING_START] = {"start barrier", true},
    [ST_DOING_RUN] = {"run", false},
    [ST_DOING_DECIDE] = {"decision after a batch", true},
    [ST_DOING_AGREE] = {"agreement at the end of a stage", true},
    [ST_DOING_VERIFY] = {"verify", false},
    [ST_DOING_RELEASE] = {"release", false},
    [ST_DOING_SLEEP] = {"end of the step (takes no part)", true},
    [ST_DOING_GATHER] = {"gathering of samples", true},
};

enum {
    LATE_LINES_MAX = 32
};

void st_record_print(char record[ST_RECORD_SIZE], size_t rank, const char *host,
                     const char *step, const struct st_whereabouts *where)
{
    const int doing = atomic_load_explicit(&where->doing, memory_order_relaxed);
    const size_t repetition =
        atomic_load_explicit(&where->repetition, memory_order_relaxed);
    const unsigned section = atomic_load_explicit(&where->section, memory_order_relaxed);
    char line[ST_RECORD_SIZE];

    /* bounded fields: the line always ends with its newline inside the record */
    const int n = snprintf(
        line, sizeof line, "step %.127s: rank %zu on %.128s %s %s", step, rank, host,
        doings[doing].waits ? "waits in" : "is inside", doings[doing].word);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof line &&
        (doing == (int)ST_DOING_RUN || doing == (int)ST_DOING_START)) {
        (void)snprintf(line + used, sizeof line - used, " of repetition %zu, section %u",
                       repetition, section);
        used = strlen(line);
    }
    memset(record, ' ', ST_RECORD_SIZE);
    memcpy(record, line, used);
    record[ST_RECORD_SIZE - 1] = '\n';
}

/* The record of a rank as text without padding; false if it wrote none for this step. */
static bool read_record(const char *step, const char *records, size_t n_bytes,
                        size_t rank, char line[ST_RECORD_SIZE])
{
    char head[192];

    if (records == NULL || rank >= n_bytes / ST_RECORD_SIZE) {
        return false;
    }
    memcpy(line, records + rank * ST_RECORD_SIZE, ST_RECORD_SIZE);
    line[ST_RECORD_SIZE - 1] = '\0';
    const int n = snprintf(head, sizeof head, "step %.127s: rank %zu on ", step, rank);
    if (n < 0 || strncmp(line, head, (size_t)n) != 0) {
        return false;
    }
    for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--) {
        line[end - 1] = '\0';
    }
    return true;
}

bool st_late_answered(const char *step, const char *records, size_t n_bytes, size_t rank)
{
    char line[ST_RECORD_SIZE];

    return read_record(step, records, n_bytes, rank, line);
}

static const char *after_head(const char *line)
{
    const char *rank = strstr(line, ": rank ");

    return rank == NULL ? line : rank + 2;
}

/* Kind of line a rank belongs to. */
enum late_kind {
    LATE_SILENT,
    LATE_INSIDE,
    LATE_WAITING,
    LATE_N_KINDS
};

static enum late_kind kind_of(bool answered, const char *line)
{
    if (!answered) {
        return LATE_SILENT;
    }
    return strstr(line, " waits in ") != NULL ? LATE_WAITING : LATE_INSIDE;
}

static void add_kind(struct st_text *text, enum late_kind kind, const char *step,
                     const struct st_late_launch *launch, const char *records,
                     size_t n_bytes)
{
    static const char *const titles[LATE_N_KINDS] = {
        [LATE_SILENT] = "  did not answer (stopped, dead or unreachable):",
        [LATE_INSIDE] =
            "  answered and still at work, so others may be waiting for them:",
        [LATE_WAITING] = "  answered and waiting for others:",
    };
    size_t n = 0;

    for (size_t rank = 0; rank < launch->n_ranks; rank++) {
        char line[ST_RECORD_SIZE] = "";
        const bool answered = read_record(step, records, n_bytes, rank, line);
        if (kind_of(answered, line) != kind) {
            continue;
        }
        if (n == 0) {
            st_text_add(text, "%s\n", titles[kind]);
        }
        if (n < LATE_LINES_MAX && answered) {
            st_text_add(text, "    %s\n", after_head(line));
        } else if (n < LATE_LINES_MAX) {
            st_text_add(text, "    rank %zu on %s\n", rank,
                        launch->host(launch->context, rank));
        }
        n++;
    }
    if (n > LATE_LINES_MAX) {
        st_text_add(text, "    and %zu more\n", n - LATE_LINES_MAX);
    }
}

char *st_late_report(const char *step, double deadline_s,
                     const struct st_late_launch *launch, const char *records,
                     size_t n_bytes)
{
    struct st_text text = {0};

    st_text_add(&text, "step '%s' did not end within its deadline of %g s\n", step,
                deadline_s);
    for (int kind = 0; kind < (int)LATE_N_KINDS; kind++) {
        add_kind(&text, (enum late_kind)kind, step, launch, records, n_bytes);
    }
    if (text.failed) {
        st_text_clear(&text);
        return NULL;
    }
    return text.data;
}
