/*
 * Stable lines for tools that search text: one per figure, fields separated by single blanks,
 * so a field never holds one. Base units, no prefixes, nine significant digits, point as mark.
 */
#include "src/show/report.h"

#include "src/show/utf8.h"

#include <math.h>
#include <string.h>

/* One field: blanks become @p blank, an empty text "-". */
static const char *field(char *out, size_t size, const char *text, char blank)
{
    (void)st_utf8_clean(out, size, text[0] != '\0' ? text : "-");
    for (char *c = strchr(out, ' '); c != NULL; c = strchr(c, ' ')) {
        *c = blank;
    }
    return out;
}

static const char *number(char *out, size_t size, double value)
{
    if (isfinite(value)) {
        (void)snprintf(out, size, "%.9g", value);
    } else {
        (void)snprintf(out, size, "-");
    }
    return out;
}

static const char *outcome_field(const struct st_file *file,
                                 const struct st_verdict *verdict, size_t step,
                                 size_t metric, size_t place)
{
    enum st_outcome outcome = ST_NOT_JUDGED;

    if (!st_verdict_at(verdict, step, metric, place, &outcome)) {
        return st_step_void(&file->steps[step]) ? "not-judged" : "-";
    }
    return outcome == ST_NOT_JUDGED ? "not-judged" : st_outcome_word(outcome);
}

static void show_line(FILE *out, const struct st_file *file,
                      const struct st_verdict *verdict, size_t step, size_t metric,
                      size_t place)
{
    const struct st_file_metric *m = &file->steps[step].metrics[metric];
    const struct st_summary *s = &m->summary[place];
    char name[2 * ST_NAME_SIZE];
    char metric_name[128];
    char unit[64];
    char label[640];
    char value[32];
    char low[32];
    char high[32];

    (void)fprintf(
        out, "seatrial: %s %s %s %s place=%s ci=%s,%s n=%zu %s\n",
        field(name, sizeof name, file->steps[step].name, '_'),
        field(metric_name, sizeof metric_name, m->name, '_'),
        number(value, sizeof value, s->median), field(unit, sizeof unit, m->unit, '.'),
        field(label, sizeof label, st_label(m, place), '_'),
        number(low, sizeof low, s->ci_low), number(high, sizeof high, s->ci_high), s->n,
        outcome_field(file, verdict, step, metric, place));
}

void st_show_lines(FILE *out, const struct st_file *file,
                   const struct st_verdict *verdict)
{
    for (size_t s = 0; s < file->n_steps; s++) {
        for (size_t m = 0; m < file->steps[s].n_metrics; m++) {
            for (size_t p = 0; p < file->steps[s].metrics[m].n_places; p++) {
                show_line(out, file, verdict, s, m, p);
            }
        }
    }
    (void)fflush(out);
}
