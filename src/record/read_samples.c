#include "src/record/reader.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * Samples of one place. Callers walk over all places of a metric, so the datasets of the last
 * metric stay open: a chunk is then unpacked once and not once per place.
 */

static void close_metric(struct st_file_reader *reader)
{
    st_h5_drop(&reader->values);
    st_h5_drop(&reader->validity);
    st_free(reader->row);
    st_free(reader->codes);
    reader->row = NULL;
    reader->codes = NULL;
    reader->step = reader->metric = SIZE_MAX;
}

/* Two dimensions of the expected size, and a class that converts. */
static enum st_status check_dataset(hid_t dataset, H5T_class_t wanted,
                                    const struct st_file_metric *m, struct st_error *err)
{
    hid_t space = H5Dget_space(dataset);
    hid_t type = H5Dget_type(dataset);
    hsize_t size[2] = {0, 0};
    const bool good = H5Tget_class(type) == wanted &&
                      H5Sget_simple_extent_ndims(space) == 2 &&
                      H5Sget_simple_extent_dims(space, size, NULL) == 2 &&
                      size[0] == m->n_places && size[1] == m->n_repetitions;

    st_h5_drop(&type);
    st_h5_drop(&space);
    H5Eclear2(H5E_DEFAULT);
    return good ? ST_OK
                : st_fail(err, ST_ERR_IO,
                          "samples or validity of '%s' have a wrong type or shape",
                          m->name);
}

static enum st_status open_datasets(struct st_file_reader *reader, size_t number,
                                    const struct st_file_metric *m, struct st_error *err)
{
    char path[256];
    enum st_status rc = ST_OK;

    snprintf(path, sizeof path, "/steps/%04zu/samples/%s", number, m->name);
    reader->values = H5Dopen2(reader->root, path, H5P_DEFAULT);
    if (reader->values < 0) {
        return st_h5_fail(err, -1, path, "open");
    }
    snprintf(path, sizeof path, "/steps/%04zu/samples/%s_validity", number, m->name);
    reader->validity = H5Dopen2(reader->root, path, H5P_DEFAULT);
    if (reader->validity < 0) {
        return st_h5_fail(err, -1, path, "open");
    }
    rc = check_dataset(reader->values, H5T_FLOAT, m, err);
    if (rc == ST_OK) {
        rc = check_dataset(reader->validity, H5T_INTEGER, m, err);
    }
    if (rc == ST_OK) {
        reader->row = st_calloc(err, m->n_repetitions, sizeof *reader->row);
        reader->codes = st_calloc(err, m->n_repetitions, sizeof *reader->codes);
        rc = reader->row != NULL && reader->codes != NULL ? ST_OK : err->code;
    }
    return rc;
}

static enum st_status read_row(hid_t dataset, hid_t type, size_t place, size_t n,
                               void *out, struct st_error *err)
{
    const hsize_t start[2] = {place, 0};
    const hsize_t count[2] = {1, n};
    hid_t space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(2, count, NULL);
    enum st_status rc = ST_OK;

    if (space < 0 || memory < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Dread(dataset, type, memory, space, H5P_DEFAULT, out) < 0) {
        rc = st_h5_fail(err, dataset, NULL, "read");
    }
    st_h5_drop(&memory);
    st_h5_drop(&space);
    return rc;
}

static enum st_status keep_valid(const struct st_file_reader *reader, size_t n_stored,
                                 size_t *n, double **values, struct st_error *err)
{
    size_t kept = 0;

    for (size_t r = 0; r < n_stored; r++) {
        kept += reader->codes[r] == ST_VALID && isfinite(reader->row[r]) ? 1 : 0;
    }
    *n = kept;
    *values = NULL;
    if (kept == 0) {
        return ST_OK;
    }
    *values = st_calloc(err, kept, sizeof **values);
    if (*values == NULL) {
        *n = 0;
        return err->code;
    }
    kept = 0;
    for (size_t r = 0; r < n_stored; r++) {
        if (reader->codes[r] == ST_VALID && isfinite(reader->row[r])) {
            (*values)[kept++] = reader->row[r];
        }
    }
    return ST_OK;
}

enum st_status st_file_samples(const struct st_file *file, size_t step, size_t metric,
                               size_t place, size_t *n, double **values,
                               struct st_error *err)
{
    struct st_file_reader *reader = file->handle;
    const struct st_file_metric *m = NULL;
    enum st_status rc = ST_OK;

    *n = 0;
    *values = NULL;
    if (step >= file->n_steps || metric >= file->steps[step].n_metrics ||
        place >= file->steps[step].metrics[metric].n_places) {
        return st_fail(err, ST_ERR_INTERNAL, "no place %zu of metric %zu of step %zu",
                       place, metric, step);
    }
    m = &file->steps[step].metrics[metric];
    if (reader->step != step || reader->metric != metric) {
        close_metric(reader);
        rc = open_datasets(reader, file->steps[step].number, m, err);
        if (rc == ST_OK) {
            reader->step = step;
            reader->metric = metric;
        }
    }
    if (rc == ST_OK) {
        rc = read_row(reader->values, H5T_NATIVE_DOUBLE, place, m->n_repetitions,
                      reader->row, err);
    }
    if (rc == ST_OK) {
        rc = read_row(reader->validity, H5T_NATIVE_INT8, place, m->n_repetitions,
                      reader->codes, err);
    }
    if (rc == ST_OK) {
        return keep_valid(reader, m->n_repetitions, n, values, err);
    }
    close_metric(reader);
    return rc == ST_ERR_IO ? st_note(err, " (in '%s')", file->path) : rc;
}
