#include "src/record/table.h"

#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

/*
 * The reading half of table.h. A file may come from anywhere: every type, shape and size is
 * checked before a byte is read or allocated for it.
 */

enum {
    BATCH_ROWS = 1024
};

/* zlib expands by 1032 at most (deflate's limit of 258 bytes per 2 bits): a dataset that
 * claims more than that many times the file is damaged or made to exhaust memory. */
static const double max_expansion = 1032.0;

struct st_pool_item {
    struct st_pool_item *next;
};

void *st_pool_get(struct st_pool *pool, size_t n, size_t size, struct st_error *err)
{
    /* the link sits before the memory, in a unit that keeps the alignment */
    const size_t head = ST_MEM_ALIGNMENT;
    size_t bytes = 0;
    struct st_pool_item *item = NULL;

    if (!st_mul_size(n, size, &bytes) || !st_add_size(bytes, head, &bytes)) {
        st_fail(err, ST_ERR_MEMORY, "%zu x %zu bytes are too many", n, size);
        return NULL;
    }
    item = st_calloc(err, 1, bytes);
    if (item == NULL) {
        return NULL;
    }
    item->next = pool->first;
    pool->first = item;
    return (char *)item + head;
}

void st_pool_clear(struct st_pool *pool)
{
    while (pool->first != NULL) {
        struct st_pool_item *next = pool->first->next;
        st_free(pool->first);
        pool->first = next;
    }
}

static enum st_status wrong(hid_t object, const char *name, const char *what,
                            struct st_error *err)
{
    char path[256] = "";

    if (H5Iget_name(object, path, sizeof path) <= 0) {
        path[0] = '\0';
    }
    H5Eclear2(H5E_DEFAULT);
    return st_fail(err, ST_ERR_IO, "'%s%s%s' %s", path, name[0] != '\0' ? ": " : "", name,
                   what);
}

enum st_status st_check_extent(hid_t dataset, double n_elements, double element_bytes,
                               struct st_error *err)
{
    hid_t file = H5Iget_file_id(dataset);
    hsize_t size = 0;
    const bool known = file >= 0 && H5Fget_filesize(file, &size) >= 0;

    st_h5_drop(&file);
    if (!known || !(n_elements * element_bytes <= max_expansion * (double)size)) {
        return wrong(dataset, "", "has a size that cannot be in this file", err);
    }
    return ST_OK;
}

static enum st_status check_type(hid_t type, enum st_column_type wanted, hid_t object,
                                 const char *name, struct st_error *err)
{
    const H5T_class_t kind = H5Tget_class(type);

    switch (wanted) {
    case ST_COLUMN_SIZE:
    case ST_COLUMN_BOOL:
    case ST_COLUMN_CODE:
        return kind == H5T_INTEGER ? ST_OK
                                   : wrong(object, name, "is not an integer", err);
    case ST_COLUMN_REAL:
        return kind == H5T_FLOAT ? ST_OK : wrong(object, name, "is not a float", err);
    case ST_COLUMN_TEXT:
        break;
    }
    return kind == H5T_STRING && H5Tis_variable_str(type) == 0
               ? ST_OK
               : wrong(object, name, "is not a fixed-length string", err);
}

/* One value from the file's representation (native, text: NUL-terminated) into the row. */
static void unpack(const struct st_column *column, const char *value, void *row)
{
    char *to = (char *)row + column->offset;

    switch (column->type) {
    case ST_COLUMN_SIZE: {
        int64_t stored = 0;
        memcpy(&stored, value, sizeof stored);
        const size_t size = stored < 0 ? SIZE_MAX : (size_t)stored;
        memcpy(to, &size, sizeof size);
        break;
    }
    case ST_COLUMN_REAL:
        memcpy(to, value, sizeof(double));
        break;
    case ST_COLUMN_BOOL: {
        const bool truth = *value != 0;
        memcpy(to, &truth, sizeof truth);
        break;
    }
    case ST_COLUMN_CODE:
        memcpy(to, value, 1);
        break;
    case ST_COLUMN_TEXT:
        memcpy(to, &value, sizeof value);
        break;
    }
}

/* Memory type and element size for reading; text gets one byte more for a missing NUL. */
static hid_t reading_type(hid_t stored, enum st_column_type type, size_t *width)
{
    hid_t text = -1;

    switch (type) {
    case ST_COLUMN_SIZE:
        *width = 8;
        return H5Tcopy(H5T_NATIVE_INT64);
    case ST_COLUMN_REAL:
        *width = 8;
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case ST_COLUMN_BOOL:
    case ST_COLUMN_CODE:
        *width = 1;
        return H5Tcopy(H5T_NATIVE_INT8);
    case ST_COLUMN_TEXT:
        break;
    }
    *width = H5Tget_size(stored) + 1;
    text = H5Tcopy(stored);
    if (text >= 0 &&
        (H5Tset_size(text, *width) < 0 || H5Tset_strpad(text, H5T_STR_NULLTERM) < 0)) {
        st_h5_drop(&text);
    }
    return text;
}

static enum st_status read_scalar(hid_t id, const struct st_column *column,
                                  bool is_attribute, void *row, struct st_pool *pool,
                                  struct st_error *err)
{
    hid_t stored = is_attribute ? H5Aget_type(id) : H5Dget_type(id);
    hid_t space = is_attribute ? H5Aget_space(id) : H5Dget_space(id);
    hid_t type = -1;
    size_t width = 0;
    char *value = NULL;
    enum st_status rc = check_type(stored, column->type, id, column->name, err);

    if (rc == ST_OK && H5Sget_simple_extent_npoints(space) != 1) {
        rc = wrong(id, column->name, "is not a single value", err);
    }
    if (rc == ST_OK) {
        type = reading_type(stored, column->type, &width);
        rc = st_check_extent(id, 1.0, (double)width - 1.0, err);
    }
    if (rc == ST_OK && (value = st_pool_get(pool, 1, width, err)) == NULL) {
        rc = err->code;
    }
    if (rc == ST_OK &&
        (is_attribute ? H5Aread(id, type, value)
                      : H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value)) < 0) {
        rc = st_h5_fail(err, id, column->name, "read");
    }
    if (rc == ST_OK) {
        unpack(column, value, row);
    }
    st_h5_drop(&type);
    st_h5_drop(&space);
    st_h5_drop(&stored);
    return rc;
}

enum st_status st_record_read(hid_t object, const struct st_table *table, void *row,
                              struct st_pool *pool, struct st_error *err)
{
    const bool is_attribute = table->form == ST_FORM_ATTRIBUTES;
    enum st_status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < table->n_columns; c++) {
        const char *name = table->columns[c].name;
        hid_t id = is_attribute ? H5Aopen(object, name, H5P_DEFAULT)
                                : H5Dopen2(object, name, H5P_DEFAULT);
        rc = id < 0 ? st_h5_fail(err, object, name, "open")
                    : read_scalar(id, &table->columns[c], is_attribute, row, pool, err);
        st_h5_drop(&id);
    }
    return rc;
}

/* Length of a one-dimensional dataset. */
static enum st_status length_of(hid_t dataset, size_t *n, struct st_error *err)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t size = 0;
    enum st_status rc = ST_OK;

    if (space < 0 || H5Sget_simple_extent_ndims(space) != 1 ||
        H5Sget_simple_extent_dims(space, &size, NULL) != 1) {
        rc = wrong(dataset, "", "is not a column", err);
    } else if (size > SIZE_MAX) {
        rc = wrong(dataset, "", "is too long", err);
    } else {
        *n = (size_t)size;
    }
    st_h5_drop(&space);
    return rc;
}

enum st_status st_table_length(hid_t group, const struct st_table *table,
                               const char *prefix, size_t *n, struct st_error *err)
{
    char name[ST_NAME_ROOM];
    hid_t scale = -1;
    enum st_status rc = ST_OK;

    *n = 0;
    snprintf(name, sizeof name, "%s%s", prefix,
             prefix[0] == '\0' ? table->dimension : "");
    if (prefix[0] != '\0') {
        name[strlen(name) - 1] =
            '\0'; /* the scale of columns "place_node_…" is "place_node" */
    }
    if (!st_h5_has(group, name)) {
        return ST_OK;
    }
    scale = H5Dopen2(group, name, H5P_DEFAULT);
    if (scale < 0) {
        return st_h5_fail(err, group, name, "open");
    }
    rc = length_of(scale, n, err);
    if (rc == ST_OK) {
        rc = st_check_extent(scale, (double)*n, 8.0, err);
    }
    st_h5_drop(&scale);
    return rc;
}

/* A column open for reading. */
struct open_column {
    hid_t dataset, type;
    size_t width;
    char *batch; /* [BATCH_ROWS][width] */
};

static enum st_status open_column(hid_t group, const char *name,
                                  const struct st_column *column, size_t n,
                                  struct open_column *out, struct st_error *err)
{
    hid_t stored = -1;
    size_t length = 0;
    enum st_status rc = ST_OK;

    out->dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (out->dataset < 0) {
        return st_h5_fail(err, group, name, "open");
    }
    stored = H5Dget_type(out->dataset);
    rc = check_type(stored, column->type, out->dataset, "", err);
    if (rc == ST_OK) {
        rc = length_of(out->dataset, &length, err);
    }
    if (rc == ST_OK && length != n) {
        rc = wrong(out->dataset, "", "is not as long as its dimension", err);
    }
    if (rc == ST_OK) {
        out->type = reading_type(stored, column->type, &out->width);
        rc = st_check_extent(out->dataset, (double)n, (double)out->width - 1.0, err);
    }
    st_h5_drop(&stored);
    if (rc == ST_OK) {
        out->batch = st_calloc(err, n < BATCH_ROWS ? n : BATCH_ROWS, out->width);
        rc = out->batch != NULL ? ST_OK : err->code;
    }
    return rc;
}

static enum st_status read_batch(const struct open_column *column, size_t first,
                                 size_t n_rows, struct st_error *err)
{
    const hsize_t start = first;
    const hsize_t count = n_rows;
    hid_t space = H5Dget_space(column->dataset);
    hid_t memory = H5Screate_simple(1, &count, NULL);
    enum st_status rc = ST_OK;

    if (space < 0 || memory < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
        H5Dread(column->dataset, column->type, memory, space, H5P_DEFAULT,
                column->batch) < 0) {
        rc = st_h5_fail(err, column->dataset, NULL, "read");
    }
    st_h5_drop(&memory);
    st_h5_drop(&space);
    return rc;
}

static enum st_status take_batches(const struct st_table *table,
                                   const struct open_column *columns, size_t n,
                                   st_take_fn take, void *target, struct st_error *err)
{
    enum st_status rc = ST_OK;
    union {
        max_align_t align;
        char bytes[512];
    } row;

    for (size_t first = 0; rc == ST_OK && first < n; first += BATCH_ROWS) {
        const size_t n_rows = n - first < BATCH_ROWS ? n - first : BATCH_ROWS;
        for (size_t c = 0; rc == ST_OK && c < table->n_columns; c++) {
            rc = read_batch(&columns[c], first, n_rows, err);
        }
        for (size_t i = 0; rc == ST_OK && i < n_rows; i++) {
            memset(&row, 0, sizeof row);
            for (size_t c = 0; c < table->n_columns; c++) {
                unpack(&table->columns[c], columns[c].batch + i * columns[c].width, &row);
            }
            rc = take(target, first + i, &row, err);
        }
    }
    return rc;
}

enum st_status st_table_read(hid_t group, const struct st_table *table,
                             const char *prefix, size_t n, st_take_fn take, void *target,
                             struct st_error *err)
{
    struct open_column columns[ST_MAX_COLUMNS] = {{0}};
    char name[ST_NAME_ROOM];
    enum st_status rc = ST_OK;

    for (size_t c = 0; n > 0 && rc == ST_OK && c < table->n_columns; c++) {
        snprintf(name, sizeof name, "%s%s", prefix, table->columns[c].name);
        rc = open_column(group, name, &table->columns[c], n, &columns[c], err);
    }
    if (rc == ST_OK && n > 0) {
        rc = take_batches(table, columns, n, take, target, err);
    }
    for (size_t c = 0; c < table->n_columns; c++) {
        st_h5_drop(&columns[c].dataset);
        st_h5_drop(&columns[c].type);
        st_free(columns[c].batch);
    }
    return rc;
}
