#ifndef ST_MESH_POLY_FILES_H
#define ST_MESH_POLY_FILES_H

#include "src/mesh/foam.h"

/*
 * The five files of an OpenFOAM polyMesh, read once from their start to their end in constant
 * memory (patches apart), each element checked on the way: points are finite, faces have at
 * least three different points of the mesh, owners and neighbours are in upper-triangular
 * order, patches cover the boundary without gap. All functions are local; complaints are
 * those of foam.h.
 */

enum {
    ST_POLY_MOST_POINTS = 1024, /**< of one face */
    ST_POLY_MOST_PATCHES = 10000
};

/** A patch of the file `boundary`. */
struct st_poly_patch {
    char name[ST_FOAM_WORD_SIZE], type[ST_FOAM_WORD_SIZE];
    int64_t start, n;
    int64_t line;   /**< of its name in the file */
    int32_t beyond; /**< the other patch of a cyclic pair, -1: of another type */
};

/** Where the files come from: a folder, or memory in tests. */
struct st_poly_source {
    void *context;
    /**
     * Open one file.
     * @param name  "points" …
     * @param[out] stream owned by the caller
     * @param[out] label for messages, of @p size bytes
     * @param[out] most_bytes that it can hold
     */
    enum st_status (*open)(void *context, const char *name, FILE **stream, char *label,
                           size_t size, double *most_bytes, struct st_error *err);
};

/** The fields are for reading, the rest belongs to the reader. */
struct st_poly_files {
    int64_t n_points, n_faces, n_internal;
    size_t n_patches;
    struct st_poly_patch *patches; /**< [n_patches] owned */

    struct st_foam *points, *faces, *sizes, *owner, *neighbour;
    bool is_compact;                    /* faces as offsets (in sizes) and labels */
    int64_t last_offset;                /* of the compact list */
    int64_t n_labels;                   /* of the compact list */
    int64_t at_point, at_face, at_cell; /* read so far */
    int64_t before[2];                  /* owner and neighbour of the face before */
};

/** The folder @p path, or constant/polyMesh or polyMesh in it; each file plain or .gz. */
struct st_poly_source st_poly_folder(const char *path);
/** Are the five files there? Nothing is opened. @return ST_ERR_STEP, with what is missing */
enum st_status st_poly_find(const char *path, struct st_error *err);

/** Open all files; counts and patches are known then. @p files: st_poly_close() also after failure */
enum st_status st_poly_open(const struct st_poly_source *source,
                            struct st_poly_files *files, struct st_error *err);
/** Accepts a zeroed struct. */
void st_poly_close(struct st_poly_files *files);

/** The next of n_points points. */
enum st_status st_poly_point(struct st_poly_files *files, double xyz[3],
                             struct st_error *err);
/** The next of n_faces faces. @param[out] points [*n], *n <= ST_POLY_MOST_POINTS */
enum st_status st_poly_face(struct st_poly_files *files, int *n,
                            int64_t points[ST_POLY_MOST_POINTS], struct st_error *err);
/** Owner and neighbour (-1: none) of the next of n_faces faces. */
enum st_status st_poly_cells(struct st_poly_files *files, int64_t *owner,
                             int64_t *neighbour, struct st_error *err);

/** Where face @p face stands, read anew: "FILE:LINE" or "FILE: byte N". @return @p out, "" if
 * it cannot be told */
const char *st_poly_where(const struct st_poly_source *source, int64_t face, char *out,
                          size_t size);

/** Read the file `boundary`. @param n_internal, n_faces what the patches must cover */
enum st_status st_poly_read_patches(struct st_foam *boundary, int64_t n_internal,
                                    int64_t n_faces, size_t *n_patches,
                                    struct st_poly_patch **patches, struct st_error *err);

#endif
