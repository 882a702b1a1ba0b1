/*
 * A curve in a report: the medians of a metric over what it runs over, as one wrapped line,
 * since a row for each of forty points would bury the other figures. Where several ranks have
 * the curve, each point is the median over them. All places are in the JSON report, in the
 * stable lines and in the file.
 */
#include "src/show/report.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/base/units.h"

#include <math.h>

/* "4KiB", "1.08ns": three digits and no space, so that a point stays on one line. */
static void add_short(struct st_text *line, double value, const char *unit)
{
    char shown[32];
    const double scale = st_pick_scale(value, unit, shown, sizeof shown);

    if (!isfinite(value)) {
        st_text_add(line, "-");
    } else if (shown[0] == '\0') {
        st_text_add(line, "%.6g", value);
    } else {
        st_text_add(line, "%.3g%s", value / scale, shown);
    }
}

/* Median over the curves at the value of place @p first; NaN if none has one. */
static double median_at(const struct st_file_metric *m, size_t first, double *scratch,
                        size_t *n_curves)
{
    size_t n = 0;

    *n_curves = 0;
    for (size_t p = 0; p < m->n_places; p++) {
        if (m->places[p].value >= m->places[first].value &&
            m->places[p].value <= m->places[first].value) {
            (*n_curves)++;
            if (isfinite(m->summary[p].median)) {
                scratch[n++] = m->summary[p].median;
            }
        }
    }
    if (n == 0) {
        return (double)NAN;
    }
    st_sort(n, scratch);
    return st_median_sorted(n, scratch);
}

/* Was this value shown with an earlier place? Curves lie one after another. */
static bool is_repeated(const struct st_file_metric *m, size_t place)
{
    return place > 0 && m->places[place].rank != m->places[0].rank;
}

bool st_report_curve(struct st_table *table, const struct st_file_metric *m)
{
    double *scratch = st_calloc(NULL, m->n_places, sizeof *scratch);
    struct st_text line = {0};
    size_t n_curves = 1;

    if (scratch == NULL) {
        return false;
    }
    st_text_add(&line, "%s over %s", m->name, m->places[0].value_name);
    (void)median_at(m, 0, scratch, &n_curves);
    if (n_curves > 1) {
        st_text_add(&line, ", medians of %zu ranks", n_curves);
    }
    for (size_t p = 0; p < m->n_places; p++) {
        if (is_repeated(m, p)) {
            break;
        }
        const double here = median_at(m, p, scratch, &n_curves);
        st_text_add(&line, "%s ", p == 0 ? ":" : ",");
        add_short(&line, m->places[p].value, m->places[p].value_unit);
        st_text_add(&line, " ");
        add_short(&line, here, m->unit);
    }
    st_free(scratch);
    st_table_line(table, 4, 6, ST_INK_PLAIN, st_text_get(&line));
    return st_line_done(&line);
}
