#ifndef ST_RECORD_TABLE_H
#define ST_RECORD_TABLE_H

#include "src/base/status.h"
#include "src/record/format.h"
#include "src/record/h5.h"

/*
 * Rows to columns and back, driven by the tables of format.h. Rows go through a small batch,
 * so a table of any length needs a bounded amount of memory. All functions are local.
 */

enum {
    ST_ROW_ROOM = 352,
    ST_NAME_ROOM = 128
};

/**
 * Fill @p row (zeroed) with row @p i of @p source.
 * @param room  [ST_ROW_ROOM] bytes that live as long as the row, for text made on the way
 */
typedef void (*st_row_fn)(const void *source, size_t i, void *row, char *room);
/** Take row @p i; its texts are borrowed during the call. */
typedef enum st_status (*st_take_fn)(void *target, size_t i, const void *row,
                                     struct st_error *err);

/** A table being written; zero-initialise. */
struct st_table_writer {
    const struct st_table *table;
    struct st_axis *axis;
    hid_t dataset[ST_MAX_COLUMNS];
    hid_t type[ST_MAX_COLUMNS];
    size_t width[ST_MAX_COLUMNS]; /**< bytes of an element */
};

/** Bytes of one element of every column over all @p n rows (longest text + 1). */
void st_table_widths(const struct st_table *table, size_t n, st_row_fn get,
                     const void *source, size_t width[ST_MAX_COLUMNS]);
/**
 * Create the columns, named with @p prefix, over @p axis; writer->width is set by the caller
 * through st_table_widths(). Close also after a failure.
 */
enum st_status st_table_begin(hid_t group, const struct st_table *table,
                              const char *prefix, struct st_axis *axis,
                              struct st_table_writer *writer, struct st_error *err);
/** Write columns [first_column, end_column) of @p n_rows consecutive rows of @p rows. */
enum st_status st_table_put(const struct st_table_writer *writer, size_t first_column,
                            size_t end_column, size_t first_row, size_t n_rows,
                            const void *rows, struct st_error *err);
enum st_status st_table_end(struct st_table_writer *writer, struct st_error *err);

/** The rows of @p source into columns [0, end_column) of a writer that was begun. */
enum st_status st_table_fill(const struct st_table_writer *writer, size_t end_column,
                             size_t n, st_row_fn get, const void *source,
                             struct st_error *err);
/** Create the group NAME in @p loc and write a whole table; no rows: an empty group. */
enum st_status st_table_write(hid_t loc, const char *name, const struct st_table *table,
                              size_t n, st_row_fn get, const void *source,
                              struct st_error *err);

/** All columns as attributes of @p object, or as scalar datasets in it, by the table's form. */
enum st_status st_record_write(hid_t object, const struct st_table *table,
                               const void *row, struct st_error *err);
/** One attribute of the table anew. @param member offset of the value in the row struct */
enum st_status st_record_update(hid_t object, const struct st_table *table, size_t member,
                                const void *row, struct st_error *err);

/* ---- reading ---- */

/** Texts read from a file; zero-initialise, st_pool_clear(). */
struct st_pool {
    struct st_pool_item *first;
};
void *st_pool_get(struct st_pool *pool, size_t n, size_t size, struct st_error *err);
void st_pool_clear(struct st_pool *pool);

/** Attributes or scalars into @p row; texts live in @p pool. ST_ERR_IO names what is wrong. */
enum st_status st_record_read(hid_t object, const struct st_table *table, void *row,
                              struct st_pool *pool, struct st_error *err);
/** Rows of a table in @p group: length of the dimension scale, 0 if there is none. */
enum st_status st_table_length(hid_t group, const struct st_table *table,
                               const char *prefix, size_t *n, struct st_error *err);
/** Hand all @p n rows to @p take, in order. */
enum st_status st_table_read(hid_t group, const struct st_table *table,
                             const char *prefix, size_t n, st_take_fn take, void *target,
                             struct st_error *err);
/** Refuse a dataset that cannot be in a file of this size (damaged or hostile dimensions). */
enum st_status st_check_extent(hid_t dataset, double n_elements, double element_bytes,
                               struct st_error *err);

#endif
