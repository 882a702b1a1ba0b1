/*
 * Tables for people: one pass collects cells, one computes the widths, one prints. A table
 * that ran out of memory prints what it has; its owner reports the failure.
 */
#include "src/show/screen.h"

#include "src/base/mem.h"
#include "src/show/utf8.h"

#include <string.h>

enum {
    GAP = 2,
    LAST_LEAST = 24,
    FIRST_LEAST = 10,
    CELL_SIZE = 2560,
    FIRST_CAPACITY = 64
};

static struct st_table_row *add(struct st_table *t, enum st_row_kind kind)
{
    if (t->failed) {
        return NULL;
    }
    if (t->n_rows == t->capacity) {
        const size_t wanted = t->capacity == 0 ? FIRST_CAPACITY : 2 * t->capacity;
        struct st_table_row *grown = st_resize(NULL, t->rows, wanted, sizeof *grown);
        if (grown == NULL) {
            t->failed = true;
            return NULL;
        }
        t->rows = grown;
        t->capacity = wanted;
    }
    t->rows[t->n_rows] = (struct st_table_row){.kind = kind};
    return &t->rows[t->n_rows++];
}

void st_table_row(struct st_table *t)
{
    (void)add(t, ST_ROW_CELLS);
}

static void set(struct st_table *t, struct st_table_row *row, size_t column,
                enum st_ink ink, const char *text)
{
    char clean[CELL_SIZE];

    row->cells[column] = st_strdup(NULL, st_utf8_clean(clean, sizeof clean, text));
    row->ink[column] = ink;
    t->failed = t->failed || row->cells[column] == NULL;
}

void st_table_cell(struct st_table *t, size_t column, enum st_ink ink, const char *text)
{
    if (!t->failed && t->n_rows > 0 && column < t->n_columns) {
        struct st_table_row *row = &t->rows[t->n_rows - 1];
        st_free(row->cells[column]);
        set(t, row, column, ink, text);
    }
}

void st_table_titles(struct st_table *t)
{
    (void)add(t, ST_ROW_TITLES);
}

void st_table_line(struct st_table *t, size_t indent, size_t hang, enum st_ink ink,
                   const char *text)
{
    struct st_table_row *row = add(t, ST_ROW_LINE);

    if (row != NULL) {
        row->indent = indent;
        row->hang = hang;
        set(t, row, 0, ink, text);
    }
}

static const char *cell(const struct st_table *t, const struct st_table_row *row,
                        size_t column)
{
    if (row->kind == ST_ROW_TITLES) {
        return t->titles[column];
    }
    return row->cells[column] == NULL ? "" : row->cells[column];
}

static void measure(const struct st_table *t, size_t width[ST_TABLE_COLUMNS])
{
    for (size_t c = 0; c < t->n_columns; c++) {
        width[c] = 0;
        for (size_t r = 0; r < t->n_rows; r++) {
            const size_t w = t->rows[r].kind == ST_ROW_LINE
                                 ? 0
                                 : st_utf8_width(cell(t, &t->rows[r], c));
            width[c] = w > width[c] ? w : width[c];
        }
    }
}

/*
 * A first cell that is wider than its column stands on a line of its own above the others.
 * Cells but the last; @return the column behind what was written, trailing blanks left out
 */
static size_t print_fixed(const struct st_table *t, const struct st_table_row *row,
                          const size_t *width, FILE *out, struct st_style style)
{
    size_t at = 0;
    size_t start = t->indent;

    for (size_t c = 0; c + 1 < t->n_columns; c++) {
        const char *text = cell(t, row, c);
        const size_t w = st_utf8_width(text);
        const size_t to = start + (t->right[c] && w < width[c] ? width[c] - w : 0);
        if (w > 0) {
            st_blanks(out, to - at);
            st_ink_put(out, style,
                       row->kind == ST_ROW_TITLES ? ST_INK_FAINT : row->ink[c], text);
            at = to + w;
        }
        if (w > width[c]) {
            (void)fputc('\n', out);
            at = 0;
        }
        start += width[c] + GAP;
    }
    return at;
}

/* How the last column is shown, the same for all rows of a table. */
struct last {
    size_t start; /* column it begins at */
    bool
        is_below; /* too narrow there: its cells stand below their rows, without a title */
};

static void print_last(const struct st_table *t, const struct st_table_row *row,
                       size_t at, const struct last *last, FILE *out,
                       struct st_style style)
{
    const char *text = cell(t, row, t->n_columns - 1);
    const bool is_title = row->kind == ST_ROW_TITLES;
    const enum st_ink ink = is_title ? ST_INK_FAINT : row->ink[t->n_columns - 1];
    const size_t below = t->indent + GAP + GAP;

    if (text[0] == '\0' || (is_title && last->is_below)) {
        (void)fputc('\n', out);
    } else if (last->is_below) {
        (void)fputc('\n', out);
        st_blanks(out, below);
        st_wrap(out, style, below, below, ink, text);
    } else {
        st_blanks(out, last->start - at);
        st_wrap(out, style, last->start, last->start, ink, text);
    }
}

/*
 * Take from the first column what the table is too wide by: so much that the last column fits
 * or can be wrapped beside the others, or else at least those. @return columns taken
 */
static size_t shrink_first(size_t *width, size_t start, size_t last, size_t columns)
{
    const size_t spare = width[0] > FIRST_LEAST ? width[0] - FIRST_LEAST : 0;
    const size_t wanted = start + (last < LAST_LEAST ? last : LAST_LEAST);
    size_t less = wanted > columns ? wanted - columns : 0;

    if (less > spare) {
        less = start > columns + GAP ? start - columns - GAP : 0;
        less = less < spare ? less : spare;
    }
    width[0] -= less;
    return less;
}

void st_table_print(const struct st_table *t, FILE *out, struct st_style style)
{
    size_t width[ST_TABLE_COLUMNS] = {0};
    size_t start = t->indent;

    measure(t, width);
    for (size_t c = 0; c + 1 < t->n_columns; c++) {
        start += width[c] + GAP;
    }
    start -= shrink_first(width, start, width[t->n_columns - 1], style.columns);
    const struct last last = {.start = start,
                              .is_below =
                                  start + width[t->n_columns - 1] > style.columns &&
                                  start + LAST_LEAST > style.columns};
    for (size_t r = 0; r < t->n_rows; r++) {
        const struct st_table_row *row = &t->rows[r];
        if (row->kind == ST_ROW_LINE) {
            if (cell(t, row, 0)[0] != '\0') {
                st_blanks(out, row->indent);
            }
            st_wrap(out, style, row->indent, row->hang, row->ink[0], cell(t, row, 0));
        } else {
            const size_t at = print_fixed(t, row, width, out, style);
            print_last(t, row, at, &last, out, style);
        }
    }
    if (t->failed) {
        (void)fputs("(not whole: no memory left)\n", out);
    }
}

void st_table_clear(struct st_table *t)
{
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < ST_TABLE_COLUMNS; c++) {
            st_free(t->rows[r].cells[c]);
        }
    }
    st_free(t->rows);
    t->rows = NULL;
    t->n_rows = 0;
    t->capacity = 0;
}
