#include "src/record/h5.h"

#include "src/base/mem.h"

#include <string.h>

/*
 * Dimension scales after the "HDF5 Dimension Scale Specification" (The HDF Group, 2005): the
 * scale has CLASS and NAME, each dataset over it DIMENSION_LIST, the scale REFERENCE_LIST.
 * Written here and not through HDF5's high-level library: that one writes the whole
 * REFERENCE_LIST anew for every dataset, and is one more library to have.
 */

/* The element of REFERENCE_LIST, as the specification lays it out. */
struct st_axis_ref {
    hobj_ref_t dataset;
    int dimension;
};

enum {
    WRITE_PIECE = 8192
};

static enum st_status write_numbers(struct st_axis *axis, struct st_error *err)
{
    int64_t *piece = st_calloc(err, WRITE_PIECE, sizeof *piece);
    enum st_status rc = ST_OK;

    if (piece == NULL) {
        return err->code;
    }
    for (size_t first = 0; rc == ST_OK && first < axis->n; first += WRITE_PIECE) {
        const size_t n = axis->n - first < WRITE_PIECE ? axis->n - first : WRITE_PIECE;
        for (size_t i = 0; i < n; i++) {
            piece[i] = (int64_t)(first + i);
        }
        rc = st_h5_write_rows(axis->scale, H5T_NATIVE_INT64, first, n, piece, err);
    }
    st_free(piece);
    return rc;
}

static enum st_status name_scale(hid_t scale, const char *name, const char *meaning,
                                 struct st_error *err)
{
    enum st_status rc = st_h5_attribute_text(scale, "CLASS", "DIMENSION_SCALE", err);

    if (rc == ST_OK) {
        rc = st_h5_attribute_text(scale, "NAME", name, err);
    }
    if (rc == ST_OK) {
        rc = st_h5_attribute_text(scale, "units", "1", err);
    }
    return rc == ST_OK ? st_h5_attribute_text(scale, "long_name", meaning, err) : rc;
}

enum st_status st_axis_create(hid_t loc, const char *name, const char *meaning, size_t n,
                              struct st_axis *axis, struct st_error *err)
{
    const struct st_h5_extent extent = {.n_dims = 1, .size = {n, 0}};
    enum st_status rc = ST_OK;

    memset(axis, 0, sizeof *axis);
    axis->n = n;
    axis->scale = st_h5_dataset(loc, name, H5T_NATIVE_INT64, &extent, NULL, err);
    if (axis->scale < 0) {
        return err->code;
    }
    if (H5Rcreate(&axis->self, loc, name, H5R_OBJECT, -1) < 0) {
        return st_h5_fail(err, loc, name, "refer to");
    }
    rc = name_scale(axis->scale, name, meaning, err);
    return rc == ST_OK ? write_numbers(axis, err) : rc;
}

static enum st_status remember(struct st_axis *axis, hobj_ref_t dataset, int dimension,
                               struct st_error *err)
{
    if (axis->n_refs == axis->capacity) {
        const size_t capacity = axis->capacity == 0 ? 32 : 2 * axis->capacity;
        struct st_axis_ref *refs =
            axis->refs == NULL ? st_calloc(err, capacity, sizeof *refs)
                               : st_resize(err, axis->refs, capacity, sizeof *refs);
        if (refs == NULL) {
            return err->code;
        }
        axis->refs = refs;
        axis->capacity = capacity;
    }
    memset(&axis->refs[axis->n_refs], 0,
           sizeof *axis->refs); /* the padding goes to disk */
    axis->refs[axis->n_refs].dataset = dataset;
    axis->refs[axis->n_refs].dimension = dimension;
    axis->n_refs++;
    return ST_OK;
}

enum st_status st_axis_attach(hid_t dataset, size_t n_dims, struct st_axis *const *axes,
                              struct st_error *err)
{
    hvl_t list[2];
    hobj_ref_t self = 0;
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < n_dims; i++) {
        list[i].len = 1;
        list[i].p = &axes[i]->self;
    }
    rc = st_h5_attribute(dataset, "DIMENSION_LIST", type, n_dims, list, err);
    st_h5_drop(&type);
    if (rc == ST_OK && H5Rcreate(&self, dataset, ".", H5R_OBJECT, -1) < 0) {
        rc = st_h5_fail(err, dataset, NULL, "refer to");
    }
    for (size_t i = 0; rc == ST_OK && i < n_dims; i++) {
        rc = remember(axes[i], self, (int)i, err);
    }
    return rc;
}

static enum st_status write_references(const struct st_axis *axis, struct st_error *err)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct st_axis_ref));
    enum st_status rc = ST_OK;

    if (type < 0 ||
        H5Tinsert(type, "dataset", HOFFSET(struct st_axis_ref, dataset),
                  H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(type, "dimension", HOFFSET(struct st_axis_ref, dimension),
                  H5T_NATIVE_INT) < 0) {
        rc = st_h5_fail(err, axis->scale, NULL, "describe the references of");
    } else {
        rc = st_h5_attribute(axis->scale, "REFERENCE_LIST", type, axis->n_refs,
                             axis->refs, err);
    }
    st_h5_drop(&type);
    return rc;
}

void st_axis_clear(struct st_axis *axis)
{
    st_h5_drop(&axis->scale);
    st_free(axis->refs);
    memset(axis, 0, sizeof *axis);
}

enum st_status st_axis_close(struct st_axis *axis, struct st_error *err)
{
    enum st_status rc = ST_OK;

    if (axis->scale > 0 && axis->n_refs > 0) {
        rc = write_references(axis, err);
    }
    if (!st_h5_drop(&axis->scale) && rc == ST_OK) {
        rc = st_h5_fail(err, -1, NULL, "close a dimension scale");
    }
    st_axis_clear(axis);
    return rc;
}
