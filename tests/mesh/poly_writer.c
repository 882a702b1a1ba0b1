/*
 * Boxes in OpenFOAM's format. Cells are numbered x fastest; each cell's faces towards higher
 * neighbours come by rising neighbour, which is upper-triangular order; boundary faces are
 * those of box.c, patch by patch.
 */
#include "tests/mesh/poly_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

const char *const poly_names[POLY_N_FILES] = {"points", "faces", "owner", "neighbour",
                                              "boundary"};

struct writer {
    const struct st_mesh_box *box;
    const struct poly_form *form;
    FILE *file;
};

static void header(const struct writer *w, const char *class, const char *object)
{
    (void)fprintf(w->file,
                  "/*--------------------------------*- C++ -*---------------*\\\n"
                  "| a mesh for tests; 12 (3 {                                 |\n"
                  "\\*---------------------------------------------------------*/\n"
                  "FoamFile\n{\n    version     2.0;\n    format      %s;\n"
                  "    class       %s;\n",
                  w->form->is_binary ? "binary" : "ascii", class);
    if (w->form->is_binary) {
        (void)fprintf(w->file, "    arch        \"LSB;label=%d;scalar=%d\";\n",
                      8 * w->form->label_bytes, 8 * w->form->scalar_bytes);
    }
    (void)fprintf(w->file,
                  "    note        \"not read; { ( ;\";\n    object      %s;\n}\n"
                  "// * * * //\n\n\n",
                  object);
}

static void end(const struct writer *w)
{
    (void)fprintf(w->file, "\n\n// *** //\n");
}

static void label(const struct writer *w, int64_t value)
{
    const int32_t small = (int32_t)value;

    if (!w->form->is_binary) {
        (void)fprintf(w->file, "%" PRId64 "\n", value);
    } else if (w->form->label_bytes == 4) {
        (void)fwrite(&small, sizeof small, 1, w->file);
    } else {
        (void)fwrite(&value, sizeof value, 1, w->file);
    }
}

static void write_points(const struct writer *w, void (*bend)(double xyz[3]))
{
    const struct st_mesh_box *b = w->box;

    header(w, "vectorField", "points");
    (void)fprintf(w->file, "%" PRId64 "\n(",
                  (b->n[0] + 1) * (b->n[1] + 1) * (b->n[2] + 1));
    for (int64_t k = 0; k <= b->n[2]; k++) {
        for (int64_t j = 0; j <= b->n[1]; j++) {
            for (int64_t i = 0; i <= b->n[0]; i++) {
                const int64_t at[3] = {i, j, k};
                double xyz[3];
                float small[3];
                for (int a = 0; a < 3; a++) {
                    xyz[a] = b->length[a] * (double)at[a] / (double)b->n[a];
                }
                if (bend != NULL) {
                    bend(xyz);
                }
                for (int a = 0; a < 3; a++) {
                    small[a] = (float)xyz[a];
                }
                if (!w->form->is_binary) {
                    (void)fprintf(w->file, "\n(%.17g %.17g %.17g)", xyz[0], xyz[1],
                                  xyz[2]);
                } else if (w->form->scalar_bytes == 4) {
                    (void)fwrite(small, sizeof small, 1, w->file);
                } else {
                    (void)fwrite(xyz, sizeof xyz, 1, w->file);
                }
            }
        }
    }
    (void)fprintf(w->file, "%s)", w->form->is_binary ? "" : "\n");
    end(w);
}

/* One call for every face in the file's order: its cell, its axis, towards + or -, and the
 * cell beyond (-1: none). */
typedef void (*face_fn)(const struct writer *w, const int64_t c[3], int axis, bool is_up,
                        int64_t beyond);

static int64_t number(const struct writer *w, const int64_t c[3])
{
    return c[0] + w->box->n[0] * (c[1] + w->box->n[1] * c[2]);
}

static void each_internal(const struct writer *w, face_fn fn)
{
    const int64_t *n = w->box->n;

    for (int64_t cell = 0; cell < n[0] * n[1] * n[2]; cell++) {
        const int64_t c[3] = {cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]};
        for (int axis = 0; axis < 3; axis++) {
            int64_t up[3] = {c[0], c[1], c[2]};
            up[axis]++;
            if (up[axis] < n[axis]) {
                fn(w, c, axis, true, number(w, up));
            }
        }
    }
}

static void each_boundary(const struct writer *w, face_fn fn)
{
    const int64_t *n = w->box->n;

    for (int side = 0; side < 6; side++) {
        const int axis = side / 2;
        const int u = axis == 0 ? 1 : 0;
        const int v = axis == 2 ? 1 : 2;
        for (int64_t b = 0; b < n[v]; b++) {
            for (int64_t a = 0; a < n[u]; a++) {
                int64_t c[3];
                c[axis] = side % 2 == 0 ? 0 : n[axis] - 1;
                c[u] = a;
                c[v] = b;
                fn(w, c, axis, side % 2 == 1, -1);
            }
        }
    }
}

/* The four points of a face, seen so that it points out of the cell. */
static void corners(const struct writer *w, const int64_t c[3], int axis, bool is_up,
                    int64_t points[4])
{
    const int64_t *n = w->box->n;
    const int64_t step[3] = {1, n[0] + 1, (n[0] + 1) * (n[1] + 1)};
    const int64_t u = step[(axis + 1) % 3];
    const int64_t v = step[(axis + 2) % 3];
    const int64_t at =
        c[0] * step[0] + c[1] * step[1] + c[2] * step[2] + (is_up ? step[axis] : 0);

    points[0] = at;
    points[1] = at + (is_up ? u : v);
    points[2] = at + u + v;
    points[3] = at + (is_up ? v : u);
}

static void face_entry(const struct writer *w, const int64_t c[3], int axis, bool is_up,
                       int64_t beyond)
{
    int64_t p[4];

    (void)beyond;
    corners(w, c, axis, is_up, p);
    if (!w->form->is_binary) {
        (void)fprintf(w->file, "\n4(%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ")",
                      p[0], p[1], p[2], p[3]);
        return;
    }
    (void)fprintf(w->file, "\n4\n(");
    for (int i = 0; i < 4; i++) {
        label(w, p[i]);
    }
    (void)fprintf(w->file, ")");
}

static void face_labels(const struct writer *w, const int64_t c[3], int axis, bool is_up,
                        int64_t beyond)
{
    int64_t p[4];

    (void)beyond;
    corners(w, c, axis, is_up, p);
    for (int i = 0; i < 4; i++) {
        label(w, p[i]);
    }
}

static void owner_entry(const struct writer *w, const int64_t c[3], int axis, bool is_up,
                        int64_t beyond)
{
    (void)axis;
    (void)is_up;
    (void)beyond;
    label(w, number(w, c));
}

static void neighbour_entry(const struct writer *w, const int64_t c[3], int axis,
                            bool is_up, int64_t beyond)
{
    (void)c;
    (void)axis;
    (void)is_up;
    label(w, beyond);
}

static int64_t n_internal(const struct st_mesh_box *b)
{
    return (b->n[0] - 1) * b->n[1] * b->n[2] + b->n[0] * (b->n[1] - 1) * b->n[2] +
           b->n[0] * b->n[1] * (b->n[2] - 1);
}

static int64_t n_side(const struct st_mesh_box *b, int axis)
{
    return b->n[(axis + 1) % 3] * b->n[(axis + 2) % 3];
}

static int64_t n_faces(const struct st_mesh_box *b)
{
    return n_internal(b) + 2 * (n_side(b, 0) + n_side(b, 1) + n_side(b, 2));
}

static void write_faces(const struct writer *w)
{
    const int64_t n = n_faces(w->box);

    header(w, w->form->is_compact ? "faceCompactList" : "faceList", "faces");
    if (!w->form->is_compact) {
        (void)fprintf(w->file, "%" PRId64 "\n(", n);
        each_internal(w, face_entry);
        each_boundary(w, face_entry);
        (void)fprintf(w->file, "\n)");
        end(w);
        return;
    }
    (void)fprintf(w->file, "%" PRId64 "\n(", n + 1);
    for (int64_t i = 0; i <= n; i++) {
        label(w, 4 * i);
    }
    (void)fprintf(w->file, ")\n%" PRId64 "\n(", 4 * n);
    each_internal(w, face_labels);
    each_boundary(w, face_labels);
    (void)fprintf(w->file, ")");
    end(w);
}

static void write_owner(const struct writer *w)
{
    header(w, "labelList", "owner");
    (void)fprintf(w->file, "%" PRId64 "\n(%s", n_faces(w->box),
                  w->form->is_binary ? "" : "\n");
    each_internal(w, owner_entry);
    each_boundary(w, owner_entry);
    (void)fprintf(w->file, ")");
    end(w);
}

static void write_neighbour(const struct writer *w)
{
    const int64_t n = n_internal(w->box);

    header(w, "labelList", "neighbour");
    if (n == 0) {
        (void)fprintf(w->file, w->form->is_binary ? "0" : "0()");
    } else {
        (void)fprintf(w->file, "%" PRId64 "\n(%s", n, w->form->is_binary ? "" : "\n");
        each_internal(w, neighbour_entry);
        (void)fprintf(w->file, ")");
    }
    end(w);
}

static void write_boundary(const struct writer *w)
{
    const struct st_mesh_box *b = w->box;
    int64_t start = n_internal(b);

    header(w, "polyBoundaryMesh", "boundary");
    (void)fprintf(w->file, "6\n(\n");
    for (int side = 0; side < 6; side++) {
        const int axis = side / 2;
        const char *type = b->is_empty[axis]      ? "empty"
                           : b->is_periodic[axis] ? "cyclic"
                                                  : "patch";
        (void)fprintf(w->file,
                      "    %c%s\n    {\n        type            %s;\n"
                      "        inGroups        1(%s);\n"
                      "        nFaces          %" PRId64 ";\n"
                      "        startFace       %" PRId64 ";\n",
                      "xyz"[axis], side % 2 == 0 ? "Min" : "Max", type, type,
                      n_side(b, axis), start);
        if (b->is_periodic[axis]) {
            (void)fprintf(w->file, "        neighbourPatch  %c%s;\n", "xyz"[axis],
                          side % 2 == 0 ? "Max" : "Min");
        }
        (void)fprintf(w->file, "    }\n");
        start += n_side(b, axis);
    }
    (void)fprintf(w->file, ")\n\n// *** //\n");
}

void poly_write_box(const struct st_mesh_box *box, const struct poly_form *form,
                    void (*bend)(double xyz[3]), struct poly_mesh *out)
{
    struct writer w = {.box = box, .form = form};

    for (int file = 0; file < POLY_N_FILES; file++) {
        w.file = open_memstream(&out->data[file], &out->n[file]);
        if (file == POLY_POINTS) {
            write_points(&w, bend);
        } else if (file == POLY_FACES) {
            write_faces(&w);
        } else if (file == POLY_OWNER) {
            write_owner(&w);
        } else if (file == POLY_NEIGHBOUR) {
            write_neighbour(&w);
        } else {
            write_boundary(&w);
        }
        (void)fclose(w.file);
    }
}

void poly_free(struct poly_mesh *mesh)
{
    for (int file = 0; file < POLY_N_FILES; file++) {
        free(mesh->data[file]);
        mesh->data[file] = NULL;
    }
}

bool poly_replace(struct poly_mesh *mesh, int file, const char *old, const char *by)
{
    char *data = mesh->data[file];
    char *at = strstr(data, old);
    char *made = NULL;
    size_t n = 0;

    if (at == NULL) {
        return false;
    }
    FILE *out = open_memstream(&made, &n);
    (void)fprintf(out, "%.*s%s%s", (int)(at - data), data, by, at + strlen(old));
    (void)fclose(out);
    free(data);
    mesh->data[file] = made;
    mesh->n[file] = n;
    return true;
}

void poly_cut(struct poly_mesh *mesh, int file, size_t n)
{
    mesh->n[file] = n;
    mesh->data[file][n] = '\0';
}

static enum st_status open_in_memory(void *context, const char *name, FILE **stream,
                                     char *shown, size_t size, double *most_bytes,
                                     struct st_error *err)
{
    const struct poly_mesh *mesh = context;

    for (int file = 0; file < POLY_N_FILES; file++) {
        if (strcmp(name, poly_names[file]) == 0 && mesh->data[file] != NULL) {
            *stream = fmemopen(mesh->data[file], mesh->n[file], "rb");
            (void)snprintf(shown, size, "%s", name);
            *most_bytes = (double)mesh->n[file];
            return *stream == NULL ? ST_ERR_MEMORY : ST_OK;
        }
    }
    return st_fail(err, ST_ERR_STEP, "%s: no such file", name);
}

struct st_poly_source poly_source(struct poly_mesh *mesh)
{
    return (struct st_poly_source){.context = mesh, .open = open_in_memory};
}

bool poly_save(const struct poly_mesh *mesh, const char *folder, bool compressed)
{
    bool is_whole = true;

    for (int file = 0; file < POLY_N_FILES; file++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s%s", folder, poly_names[file],
                       compressed ? ".gz" : "");
        gzFile out = gzopen(path, compressed ? "wb" : "wbT"); /* T: as it is */
        is_whole = is_whole && out != NULL &&
                   gzwrite(out, mesh->data[file], (unsigned)mesh->n[file]) ==
                       (int)mesh->n[file] &&
                   gzclose(out) == Z_OK;
    }
    return is_whole;
}
