#include "src/record/table.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The writing half of table.h. */

enum {
    BATCH_ROWS = 1024
};

static const void *member(const void *row, size_t offset)
{
    return (const char *)row + offset;
}

static const char *text_of(const void *row, size_t offset)
{
    const char *text = NULL;

    memcpy(&text, member(row, offset), sizeof text);
    return text != NULL ? text : "";
}

static size_t fixed_width(enum st_column_type type)
{
    switch (type) {
    case ST_COLUMN_SIZE:
    case ST_COLUMN_REAL:
        return 8;
    case ST_COLUMN_BOOL:
    case ST_COLUMN_CODE:
    case ST_COLUMN_TEXT:
        break;
    }
    return 1;
}

static hid_t file_type(enum st_column_type type, size_t width)
{
    switch (type) {
    case ST_COLUMN_SIZE:
        return H5Tcopy(H5T_STD_I64LE);
    case ST_COLUMN_REAL:
        return H5Tcopy(H5T_IEEE_F64LE);
    case ST_COLUMN_BOOL:
    case ST_COLUMN_CODE:
        return H5Tcopy(H5T_STD_I8LE);
    case ST_COLUMN_TEXT:
        break;
    }
    return st_h5_text_type(width);
}

static hid_t memory_type(enum st_column_type type, hid_t text_type)
{
    switch (type) {
    case ST_COLUMN_SIZE:
        return H5T_NATIVE_INT64;
    case ST_COLUMN_REAL:
        return H5T_NATIVE_DOUBLE;
    case ST_COLUMN_BOOL:
    case ST_COLUMN_CODE:
        return H5T_NATIVE_INT8;
    case ST_COLUMN_TEXT:
        break;
    }
    return text_type;
}

/* One value from its place in the row to its place in the column. */
static void pack(const struct st_column *column, const void *row, size_t width, char *out)
{
    const void *from = member(row, column->offset);

    switch (column->type) {
    case ST_COLUMN_SIZE: {
        size_t value = 0;
        memcpy(&value, from, sizeof value);
        const int64_t stored = value > INT64_MAX ? -1 : (int64_t)value;
        memcpy(out, &stored, sizeof stored);
        break;
    }
    case ST_COLUMN_REAL:
        memcpy(out, from, sizeof(double));
        break;
    case ST_COLUMN_BOOL: {
        bool value = false;
        memcpy(&value, from, sizeof value);
        *out = value ? 1 : 0;
        break;
    }
    case ST_COLUMN_CODE:
        memcpy(out, from, 1);
        break;
    case ST_COLUMN_TEXT:
        st_h5_put_text(out, width, text_of(row, column->offset));
        break;
    }
}

/* The unit of a column: its own, or the name of the column that holds it row by row. */
static enum st_status describe_unit(hid_t dataset, const struct st_table *table,
                                    const struct st_column *column, const char *prefix,
                                    struct st_error *err)
{
    char name[ST_NAME_ROOM];

    if (column->unit == NULL) {
        return ST_OK;
    }
    if (!st_unit_is_column(table, column->unit)) {
        return st_h5_attribute_text(dataset, "units", column->unit, err);
    }
    snprintf(name, sizeof name, "%s%s", prefix, column->unit);
    return st_h5_attribute_text(dataset, "units_column", name, err);
}

/* Attributes every column of this kind carries (CF conventions: flags, missing values). */
static enum st_status describe(hid_t dataset, const struct st_column *column,
                               struct st_error *err)
{
    static const int8_t flags[2] = {0, 1};
    static const int64_t no_size = -1;
    const double no_real = (double)NAN;
    enum st_status rc = st_h5_attribute_text(dataset, "long_name", column->meaning, err);

    if (rc == ST_OK && column->type == ST_COLUMN_BOOL) {
        rc = st_h5_attribute(dataset, "flag_values", H5T_NATIVE_INT8, 2, flags, err);
    }
    if (rc == ST_OK && column->type == ST_COLUMN_BOOL) {
        rc = st_h5_attribute_text(dataset, "flag_meanings", "no yes", err);
    }
    if (rc == ST_OK && column->type == ST_COLUMN_SIZE) {
        rc = st_h5_attribute(dataset, "_FillValue", H5T_NATIVE_INT64, 0, &no_size, err);
    }
    if (rc == ST_OK && column->type == ST_COLUMN_REAL) {
        rc = st_h5_attribute(dataset, "_FillValue", H5T_NATIVE_DOUBLE, 0, &no_real, err);
    }
    return rc;
}

static const void *fill_value(enum st_column_type type)
{
    static const int64_t no_size = -1;
    static const double no_real = (double)NAN;

    return type == ST_COLUMN_SIZE   ? (const void *)&no_size
           : type == ST_COLUMN_REAL ? (const void *)&no_real
                                    : NULL;
}

void st_table_widths(const struct st_table *table, size_t n, st_row_fn get,
                     const void *source, size_t width[ST_MAX_COLUMNS])
{
    char room[ST_ROW_ROOM];
    union {
        max_align_t align;
        char bytes[512];
    } row;

    for (size_t c = 0; c < table->n_columns; c++) {
        width[c] = fixed_width(table->columns[c].type);
    }
    for (size_t i = 0; i < n; i++) {
        memset(&row, 0, sizeof row);
        get(source, i, &row, room);
        for (size_t c = 0; c < table->n_columns; c++) {
            if (table->columns[c].type == ST_COLUMN_TEXT) {
                const size_t size = strlen(text_of(&row, table->columns[c].offset)) + 1;
                width[c] = size > width[c] ? size : width[c];
            }
        }
    }
}

static enum st_status begin_column(hid_t group, const char *prefix, size_t c,
                                   struct st_table_writer *w, struct st_error *err)
{
    const struct st_column *column = &w->table->columns[c];
    const struct st_h5_extent extent = {.n_dims = 1, .size = {w->axis->n, 0}};
    char name[ST_NAME_ROOM];
    enum st_status rc = ST_OK;

    snprintf(name, sizeof name, "%s%s", prefix, column->name);
    w->type[c] = file_type(column->type, w->width[c]);
    w->dataset[c] =
        st_h5_dataset(group, name, w->type[c], &extent, fill_value(column->type), err);
    if (w->dataset[c] < 0) {
        return err->code;
    }
    rc = describe(w->dataset[c], column, err);
    if (rc == ST_OK) {
        rc = describe_unit(w->dataset[c], w->table, column, prefix, err);
    }
    return rc == ST_OK ? st_axis_attach(w->dataset[c], 1, &w->axis, err) : rc;
}

enum st_status st_table_begin(hid_t group, const struct st_table *table,
                              const char *prefix, struct st_axis *axis,
                              struct st_table_writer *writer, struct st_error *err)
{
    enum st_status rc = ST_OK;

    writer->table = table;
    writer->axis = axis;
    for (size_t c = 0; rc == ST_OK && c < table->n_columns; c++) {
        rc = begin_column(group, prefix, c, writer, err);
    }
    return rc;
}

enum st_status st_table_put(const struct st_table_writer *writer, size_t first_column,
                            size_t end_column, size_t first_row, size_t n_rows,
                            const void *rows, struct st_error *err)
{
    const struct st_table *table = writer->table;
    enum st_status rc = ST_OK;

    for (size_t c = first_column; rc == ST_OK && c < end_column; c++) {
        const size_t width = writer->width[c];
        char *column = st_calloc(err, n_rows, width);
        if (column == NULL) {
            return err->code;
        }
        for (size_t i = 0; i < n_rows; i++) {
            pack(&table->columns[c], (const char *)rows + i * table->row_size, width,
                 column + i * width);
        }
        rc = st_h5_write_rows(writer->dataset[c],
                              memory_type(table->columns[c].type, writer->type[c]),
                              first_row, n_rows, column, err);
        st_free(column);
    }
    return rc;
}

enum st_status st_table_end(struct st_table_writer *writer, struct st_error *err)
{
    bool good = true;

    for (size_t c = 0; c < ST_MAX_COLUMNS; c++) {
        good = st_h5_drop(&writer->dataset[c]) && good;
        st_h5_drop(&writer->type[c]);
    }
    return good ? ST_OK : st_h5_fail(err, -1, NULL, "close a column");
}

enum st_status st_table_fill(const struct st_table_writer *writer, size_t end_column,
                             size_t n, st_row_fn get, const void *source,
                             struct st_error *err)
{
    const size_t row_size = writer->table->row_size;
    const size_t batch = n < BATCH_ROWS ? n : BATCH_ROWS;
    char *rows = st_calloc(err, batch, row_size);
    char *rooms = rows != NULL ? st_calloc(err, batch, ST_ROW_ROOM) : NULL;
    enum st_status rc = rooms != NULL ? ST_OK : err->code;

    for (size_t first = 0; rc == ST_OK && first < n; first += batch) {
        const size_t n_rows = n - first < batch ? n - first : batch;
        memset(rows, 0, n_rows * row_size);
        for (size_t i = 0; i < n_rows; i++) {
            get(source, first + i, rows + i * row_size, rooms + i * ST_ROW_ROOM);
        }
        rc = st_table_put(writer, 0, end_column, first, n_rows, rows, err);
    }
    st_free(rooms);
    st_free(rows);
    return rc;
}

static enum st_status write_columns(hid_t group, const struct st_table *table, size_t n,
                                    st_row_fn get, const void *source,
                                    struct st_error *err)
{
    struct st_table_writer writer = {0};
    struct st_axis axis = {0};
    enum st_status rc =
        st_axis_create(group, table->dimension, table->meaning, n, &axis, err);

    if (rc == ST_OK) {
        st_table_widths(table, n, get, source, writer.width);
        rc = st_table_begin(group, table, "", &axis, &writer, err);
    }
    if (rc == ST_OK) {
        rc = st_table_fill(&writer, table->n_columns, n, get, source, err);
    }
    if (rc == ST_OK) {
        rc = st_table_end(&writer, err);
    } else {
        st_table_end(&writer, NULL); /* the first error is the one to tell */
    }
    if (rc == ST_OK) {
        rc = st_axis_close(&axis, err);
    }
    st_axis_clear(&axis);
    return rc;
}

enum st_status st_table_write(hid_t loc, const char *name, const struct st_table *table,
                              size_t n, st_row_fn get, const void *source,
                              struct st_error *err)
{
    hid_t group = st_h5_group(loc, name, err);
    enum st_status rc = group >= 0 ? ST_OK : err->code;

    if (rc == ST_OK) {
        rc = st_h5_attribute_text(group, "long_name", table->meaning, err);
    }
    if (rc == ST_OK && n > 0) {
        rc = write_columns(group, table, n, get, source, err);
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status write_scalar(hid_t object, const struct st_column *column,
                                   const void *row, bool is_attribute,
                                   struct st_error *err)
{
    char value[8];

    if (column->type == ST_COLUMN_TEXT) {
        return is_attribute
                   ? st_h5_attribute_text(object, column->name,
                                          text_of(row, column->offset), err)
                   : st_h5_text(object, column->name, text_of(row, column->offset),
                                column->meaning, err);
    }
    pack(column, row, sizeof value, value);
    return st_h5_attribute(object, column->name, memory_type(column->type, -1), 0, value,
                           err);
}

enum st_status st_record_write(hid_t object, const struct st_table *table,
                               const void *row, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < table->n_columns; c++) {
        rc = write_scalar(object, &table->columns[c], row,
                          table->form == ST_FORM_ATTRIBUTES, err);
    }
    return rc;
}

enum st_status st_record_update(hid_t object, const struct st_table *table, size_t offset,
                                const void *row, struct st_error *err)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        if (table->columns[c].offset == offset) {
            return write_scalar(object, &table->columns[c], row, true, err);
        }
    }
    return st_fail(err, ST_ERR_INTERNAL, "no attribute at offset %zu of %s", offset,
                   table->path);
}
