#ifndef ST_RECORD_H5_H
#define ST_RECORD_H5_H

#include "src/base/status.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Small pieces over HDF5: errors as one line, fixed-length UTF-8 strings, attributes,
 * datasets, dimension scales. Serial calls only, never MPI-IO. All functions are local.
 */

/** Keep HDF5 from printing its error stack; st_h5_fail() reads it instead. */
void st_h5_quiet(void);
/**
 * ST_ERR_IO "cannot WHAT 'PATH/NAME': HDF5: …" with the first, most specific line of the
 * error stack. @param loc object for the path inside the file, or -1; @param name or NULL
 */
enum st_status st_h5_fail(struct st_error *err, hid_t loc, const char *name,
                          const char *what);
/** Give back any kind of id and set it to -1; ids <= 0 are skipped. @return false if HDF5 fails */
bool st_h5_drop(hid_t *id);

/** Fixed-length UTF-8 string type of @p size bytes, NUL included. Caller drops it. */
hid_t st_h5_text_type(size_t size);
/** Copy @p text into @p size zeroed bytes; bytes that are not UTF-8 become '?'. */
void st_h5_put_text(char *out, size_t size, const char *text);

/** Write (or write anew) an attribute; @p n = 0 makes a scalar. */
enum st_status st_h5_attribute(hid_t object, const char *name, hid_t type, size_t n,
                               const void *data, struct st_error *err);
enum st_status st_h5_attribute_text(hid_t object, const char *name, const char *text,
                                    struct st_error *err);

/** Open or create a group; links keep the order of creation. Negative with err set. */
hid_t st_h5_group(hid_t loc, const char *name, struct st_error *err);
hid_t st_h5_open_group(hid_t loc, const char *name, struct st_error *err);
/** Does @p loc have a link of this one-level name? */
bool st_h5_has(hid_t loc, const char *name);

/** Extent of a dataset to create: 0 dimensions is a scalar. */
struct st_h5_extent {
    int n_dims;
    hsize_t size[2];
};
/**
 * Create a dataset. More than 64 KiB are stored in chunks of about 64 KiB, shuffled (numbers)
 * and deflated at level 1; less is not worth the index and stays contiguous.
 * @param fill  value of elements never written, of @p type; NULL: HDF5's zero
 * @return dataset id, negative with err set
 */
hid_t st_h5_dataset(hid_t loc, const char *name, hid_t type,
                    const struct st_h5_extent *extent, const void *fill,
                    struct st_error *err);
/** Scalar text dataset of any length. */
enum st_status st_h5_text(hid_t loc, const char *name, const char *text,
                          const char *meaning, struct st_error *err);
/** Write @p rows x all columns at row @p first. */
enum st_status st_h5_write_rows(hid_t dataset, hid_t memory_type, size_t first,
                                size_t rows, const void *data, struct st_error *err);

/** A dimension scale while the datasets over it are made (HDF5 Dimension Scale Specification). */
struct st_axis {
    hid_t scale;
    hobj_ref_t self;
    size_t n;
    size_t n_refs, capacity;
    struct st_axis_ref *refs; /**< what REFERENCE_LIST will say; owned */
};

/** Create the scale NAME with values 0 … n-1 (n > 0). */
enum st_status st_axis_create(hid_t loc, const char *name, const char *meaning, size_t n,
                              struct st_axis *axis, struct st_error *err);
/** Lay @p dataset over @p n_dims scales. */
enum st_status st_axis_attach(hid_t dataset, size_t n_dims, struct st_axis *const *axes,
                              struct st_error *err);
/** Write the list of references and close. Accepts a zeroed axis. */
enum st_status st_axis_close(struct st_axis *axis, struct st_error *err);
/** Free without writing (after an error). */
void st_axis_clear(struct st_axis *axis);

#endif
