#include "src/record/h5.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>

/* See the header. HDF5's stack of errors is cut to its innermost entry: that one names the
 * cause ("can't locate name", "unable to read"), the outer ones only who called whom. */

enum {
    CHUNK_BYTES = 64 << 10
};

void st_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t keep_innermost(unsigned n, const H5E_error2_t *entry, void *out)
{
    if (n == 0 && entry->desc != NULL) {
        st_copy(out, 256, entry->desc);
    }
    return 0;
}

enum st_status st_h5_fail(struct st_error *err, hid_t loc, const char *name,
                          const char *what)
{
    char cause[256] = "no reason given";
    char path[256] = "";

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, cause);
    if (loc > 0 && H5Iget_name(loc, path, sizeof path) <= 0) {
        path[0] = '\0';
    }
    H5Eclear2(H5E_DEFAULT);
    return st_fail(err, ST_ERR_IO, "cannot %s '%s%s%s': HDF5: %s", what, path,
                   name != NULL && path[0] != '\0' && strcmp(path, "/") != 0 ? "/" : "",
                   name != NULL ? name : "", cause);
}

bool st_h5_drop(hid_t *id)
{
    const bool good = *id <= 0 || H5Idec_ref(*id) >= 0;

    *id = -1;
    return good;
}

hid_t st_h5_text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 &&
        (H5Tset_size(type, size) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
         H5Tset_strpad(type, H5T_STR_NULLTERM) < 0)) {
        st_h5_drop(&type);
    }
    return type;
}

/* Bytes of the UTF-8 character at @p s (RFC 3629), 0 if it is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = 0;
    unsigned low = 0x80;
    unsigned high = 0xBF;

    if (s[0] < 0x80) {
        return 1;
    }
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        n = 2;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        n = 3;
        low = s[0] == 0xE0 ? 0xA0 : 0x80;  /* no overlong forms */
        high = s[0] == 0xED ? 0x9F : 0xBF; /* no surrogates */
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        n = 4;
        low = s[0] == 0xF0 ? 0x90 : 0x80;
        high = s[0] == 0xF4 ? 0x8F : 0xBF;
    }
    for (size_t i = 1; i < n; i++) {
        if (s[i] < (i == 1 ? low : 0x80) || s[i] > (i == 1 ? high : 0xBF)) {
            return 0;
        }
    }
    return n;
}

void st_h5_put_text(char *out, size_t size, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0;

    memset(out, 0, size);
    while (*s != '\0' && at + 1 < size) {
        const size_t n = utf8_length(s);
        if (n == 0) {
            out[at++] = '?';
            s++;
        } else if (at + n < size) {
            memcpy(out + at, s, n);
            at += n;
            s += n;
        } else {
            break;
        }
    }
}

enum st_status st_h5_attribute(hid_t object, const char *name, hid_t type, size_t n,
                               const void *data, struct st_error *err)
{
    const hsize_t size = n;
    hid_t space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    hid_t attribute = -1;
    enum st_status rc = ST_OK;

    if (H5Aexists(object, name) > 0 && H5Adelete(object, name) < 0) {
        rc = st_h5_fail(err, object, name, "replace the attribute");
    } else {
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0 || H5Awrite(attribute, type, data) < 0) {
            rc = st_h5_fail(err, object, name, "write the attribute");
        }
    }
    if (!st_h5_drop(&attribute) && rc == ST_OK) {
        rc = st_h5_fail(err, object, name, "close the attribute");
    }
    st_h5_drop(&space);
    return rc;
}

enum st_status st_h5_attribute_text(hid_t object, const char *name, const char *text,
                                    struct st_error *err)
{
    const size_t size = strlen(text) + 1;
    char *bytes = st_calloc(err, size, 1);
    hid_t type = -1;
    enum st_status rc = ST_OK;

    if (bytes == NULL) {
        return err->code;
    }
    st_h5_put_text(bytes, size, text);
    type = st_h5_text_type(size);
    rc = st_h5_attribute(object, name, type, 0, bytes, err);
    st_h5_drop(&type);
    st_free(bytes);
    return rc;
}

bool st_h5_has(hid_t loc, const char *name)
{
    const bool has = H5Lexists(loc, name, H5P_DEFAULT) > 0;

    H5Eclear2(H5E_DEFAULT);
    return has;
}

hid_t st_h5_open_group(hid_t loc, const char *name, struct st_error *err)
{
    const hid_t group = H5Gopen2(loc, name, H5P_DEFAULT);

    if (group < 0) {
        st_h5_fail(err, loc, name, "open the group");
    }
    return group;
}

hid_t st_h5_group(hid_t loc, const char *name, struct st_error *err)
{
    hid_t plist = -1;
    hid_t group = -1;

    if (st_h5_has(loc, name)) {
        return st_h5_open_group(loc, name, err);
    }
    plist = H5Pcreate(H5P_GROUP_CREATE);
    if (plist >= 0 && H5Pset_link_creation_order(plist, H5P_CRT_ORDER_TRACKED |
                                                            H5P_CRT_ORDER_INDEXED) >= 0) {
        group = H5Gcreate2(loc, name, H5P_DEFAULT, plist, H5P_DEFAULT);
    }
    if (group < 0) {
        st_h5_fail(err, loc, name, "create the group");
    }
    st_h5_drop(&plist);
    return group;
}

/* Chunks: as many whole rows as fit; a row that is longer is cut. */
static bool set_chunks(hid_t plist, hid_t type, const struct st_h5_extent *extent)
{
    const size_t element = H5Tget_size(type);
    const hsize_t width = extent->n_dims == 2 ? extent->size[1] : 1;
    const hsize_t most = element >= CHUNK_BYTES ? 1 : CHUNK_BYTES / element;
    hsize_t chunk[2] = {1, 1};

    if (extent->n_dims == 0 ||
        (double)extent->size[0] * (double)width * (double)element <=
            (double)CHUNK_BYTES) {
        return true;
    }
    chunk[1] = width < most ? width : most;
    chunk[0] = most / chunk[1] < extent->size[0] ? most / chunk[1] : extent->size[0];
    return H5Pset_chunk(plist, extent->n_dims, chunk) >= 0 &&
           (H5Tget_class(type) == H5T_STRING || H5Pset_shuffle(plist) >= 0) &&
           H5Pset_deflate(plist, 1) >= 0;
}

hid_t st_h5_dataset(hid_t loc, const char *name, hid_t type,
                    const struct st_h5_extent *extent, const void *fill,
                    struct st_error *err)
{
    hid_t space = extent->n_dims == 0
                      ? H5Screate(H5S_SCALAR)
                      : H5Screate_simple(extent->n_dims, extent->size, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = -1;

    if (space >= 0 && plist >= 0 && set_chunks(plist, type, extent) &&
        (fill == NULL || H5Pset_fill_value(plist, type, fill) >= 0) &&
        /* Without times two equal runs give equal files; the root says when it was made. */
        H5Pset_obj_track_times(plist, false) >= 0) {
        dataset = H5Dcreate2(loc, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    }
    if (dataset < 0) {
        st_h5_fail(err, loc, name, "create the dataset");
    }
    st_h5_drop(&plist);
    st_h5_drop(&space);
    return dataset;
}

enum st_status st_h5_text(hid_t loc, const char *name, const char *text,
                          const char *meaning, struct st_error *err)
{
    const size_t size = strlen(text) + 1;
    const struct st_h5_extent scalar = {.n_dims = 0};
    char *bytes = st_calloc(err, size, 1);
    hid_t type = -1;
    hid_t dataset = -1;
    enum st_status rc = ST_OK;

    if (bytes == NULL) {
        return err->code;
    }
    st_h5_put_text(bytes, size, text);
    type = st_h5_text_type(size);
    dataset = st_h5_dataset(loc, name, type, &scalar, NULL, err);
    if (dataset < 0) {
        rc = err->code;
    } else if (H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0) {
        rc = st_h5_fail(err, loc, name, "write");
    } else {
        rc = st_h5_attribute_text(dataset, "long_name", meaning, err);
    }
    if (!st_h5_drop(&dataset) && rc == ST_OK) {
        rc = st_h5_fail(err, loc, name, "close");
    }
    st_h5_drop(&type);
    st_free(bytes);
    return rc;
}

enum st_status st_h5_write_rows(hid_t dataset, hid_t memory_type, size_t first,
                                size_t rows, const void *data, struct st_error *err)
{
    hid_t space = H5Dget_space(dataset);
    hid_t memory = -1;
    hsize_t count[2] = {0, 0};
    hsize_t start[2] = {0, 0};
    enum st_status rc = ST_OK;

    if (space < 0 || H5Sget_simple_extent_dims(space, count, NULL) < 1) {
        rc = st_h5_fail(err, dataset, NULL, "write rows of");
    } else {
        start[0] = first;
        count[0] = rows;
        memory = H5Screate_simple(H5Sget_simple_extent_ndims(space), count, NULL);
        if (memory < 0 ||
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
            H5Dwrite(dataset, memory_type, memory, space, H5P_DEFAULT, data) < 0) {
            rc = st_h5_fail(err, dataset, NULL, "write rows of");
        }
    }
    st_h5_drop(&memory);
    st_h5_drop(&space);
    return rc;
}
