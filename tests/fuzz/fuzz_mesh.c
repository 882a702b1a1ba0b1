/*
 * libFuzzer target of the mesh reader. An input holds the five files of a polyMesh one after
 * the other, each behind a line "=== NAME". Whatever comes, the reader must end with a mesh
 * whose numbers are in range, or with a message that names one of the files.
 */
#include "src/mesh/poly_files.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    char *data;
    size_t size;
};

/* The part of the input between "=== NAME\n" and the next "\n===" or the end. */
static enum st_status open_part(void *context, const char *name, FILE **stream,
                                char *label, size_t size, double *most_bytes,
                                struct st_error *err)
{
    static const char mark[] = "=== ";
    const struct input *in = context;
    char *at = in->data;
    char *end = in->data + in->size;

    for (char *found = at; found != NULL && found < end; found++) {
        found = memmem(found, (size_t)(end - found), mark, 4);
        if (found == NULL) {
            break;
        }
        const size_t n = strlen(name);
        if ((size_t)(end - found) > n + 5 && memcmp(found + 4, name, n) == 0 &&
            found[4 + n] == '\n') {
            at = found + n + 5;
            char *next = memmem(at, (size_t)(end - at), mark, 4);
            const size_t bytes = (size_t)((next == NULL ? end : next) - at);
            *stream = bytes == 0 ? NULL : fmemopen(at, bytes, "rb");
            (void)snprintf(label, size, "%s", name);
            *most_bytes = (double)bytes;
            return *stream != NULL ? ST_OK
                                   : st_fail(err, ST_ERR_STEP, "%s: is empty", name);
        }
    }
    return st_fail(err, ST_ERR_STEP, "%s: no such file", name);
}

/* Numbers that no sound reader gives. */
static bool is_sound(const struct st_poly_files *f)
{
    int64_t next = f->n_internal;

    for (size_t i = 0; i < f->n_patches; i++) {
        if (f->patches[i].start != next || f->patches[i].n < 0) {
            return false;
        }
        next += f->patches[i].n;
    }
    return next == f->n_faces && f->n_internal >= 0 && f->n_points >= 4;
}

static enum st_status read_all(struct st_poly_files *files, struct st_error *err)
{
    int64_t points[ST_POLY_MOST_POINTS];
    enum st_status rc = ST_OK;

    for (int64_t i = 0; rc == ST_OK && i < files->n_points; i++) {
        double xyz[3];
        rc = st_poly_point(files, xyz, err);
    }
    for (int64_t i = 0; rc == ST_OK && i < files->n_faces; i++) {
        int n = 0;
        rc = st_poly_face(files, &n, points, err);
        for (int k = 0; rc == ST_OK && k < n; k++) {
            if (points[k] < 0 || points[k] >= files->n_points) {
                __builtin_trap();
            }
        }
    }
    for (int64_t i = 0; rc == ST_OK && i < files->n_faces; i++) {
        int64_t owner = 0;
        int64_t neighbour = 0;
        rc = st_poly_cells(files, &owner, &neighbour, err);
        if (rc == ST_OK && (owner < 0 || 2 * owner > files->n_faces ||
                            (neighbour >= 0 && neighbour <= owner))) {
            __builtin_trap();
        }
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct st_poly_files files;
    struct st_error err = {0};
    char *copy = malloc(size + 1); /* fmemopen wants one that may be written */

    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    struct input input = {copy, size};
    const struct st_poly_source source = {&input, open_part};
    enum st_status rc = st_poly_open(&source, &files, &err);
    if (rc == ST_OK && !is_sound(&files)) {
        __builtin_trap();
    }
    rc = rc == ST_OK ? read_all(&files, &err) : rc;
    if (rc != ST_OK && (rc != ST_ERR_STEP || strchr(err.text, ':') == NULL)) {
        __builtin_trap();
    }
    st_poly_close(&files);
    free(copy);
    return 0;
}
