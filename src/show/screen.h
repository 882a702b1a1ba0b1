#ifndef ST_SHOW_SCREEN_H
#define ST_SHOW_SCREEN_H

#include "src/base/text.h"
#include "src/judge/judge.h"
#include "src/show/show.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Private to src/show: colour, wrapped text and tables for people. Local. */

enum st_ink {
    ST_INK_PLAIN,
    ST_INK_STRONG,
    ST_INK_FAINT,
    ST_INK_GOOD,
    ST_INK_BAD,
    ST_INK_DOUBT
};

/** Write @p text in @p ink; without colour exactly @p text. */
void st_ink_put(FILE *out, struct st_style style, enum st_ink ink, const char *text);
enum st_ink st_ink_of(enum st_outcome outcome);

/**
 * Write @p text broken at blanks so that lines end before column style.columns. The cursor is
 * at column @p at; further lines begin at column @p indent. Control characters are cleaned.
 * Ends with a newline.
 */
void st_wrap(FILE *out, struct st_style style, size_t at, size_t indent, enum st_ink ink,
             const char *text);
/** @p n blanks. */
void st_blanks(FILE *out, size_t n);

/** "0.8 s", "2 min 05 s", "3 h 02 min"; "-" if not finite. @return @p out */
const char *st_duration(char *out, size_t size, double seconds);
/** Four significant digits, but no more decimals than four digits of @p like have: numbers of one
 * row agree. "-" for NaN. @return @p out */
const char *st_number(char *out, size_t size, double value, double like);

/** Clear a line that was built. @return true if it had been built whole */
bool st_line_done(struct st_text *line);

enum {
    ST_TABLE_COLUMNS = 10
};
enum st_row_kind {
    ST_ROW_CELLS,
    ST_ROW_TITLES,
    ST_ROW_LINE
};

struct st_table_row {
    enum st_row_kind kind;
    char *cells[ST_TABLE_COLUMNS]; /**< owned; NULL: empty */
    enum st_ink ink[ST_TABLE_COLUMNS];
    size_t indent; /**< of a line; of the lines that follow it */
    size_t hang;
};

/**
 * Rows with common column widths. The last column is text: it is wrapped where it is wide
 * enough, else it goes to lines of its own below the row.
 */
struct st_table {
    size_t n_columns;
    const char *titles[ST_TABLE_COLUMNS]; /**< borrowed */
    bool right[ST_TABLE_COLUMNS];         /**< numbers stand right */
    size_t indent;
    size_t n_rows, capacity;
    struct st_table_row *rows; /**< owned */
    bool failed; /**< an allocation failed; the table is then not complete */
};

/** Begin a row of cells. */
void st_table_row(struct st_table *table);
/** Set a cell of the last row; cleaned and copied. "" is an empty cell. */
void st_table_cell(struct st_table *table, size_t column, enum st_ink ink,
                   const char *text);
/** The titles, here. */
void st_table_titles(struct st_table *table);
/** A line across all columns, wrapped; further lines begin at @p hang. "" is an empty line. */
void st_table_line(struct st_table *table, size_t indent, size_t hang, enum st_ink ink,
                   const char *text);
void st_table_print(const struct st_table *table, FILE *out, struct st_style style);
void st_table_clear(struct st_table *table);

#endif
