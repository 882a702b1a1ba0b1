/*
 * The files of a polyMesh side by side: owner and neighbour go in step, so that each pair is
 * checked where it stands; of a faceCompactList the offsets and the labels are read in step
 * as well, through two readers of one file.
 */
#include "src/mesh/poly_files.h"

#include "src/base/input.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PATH_SIZE = 1024
};

/* A compressed file holds at most so many times its size (deflate's limit is 1032). */
static const double MOST_COMPRESSION = 1032.0;

static const char *const file_names[] = {"points", "faces", "owner", "neighbour",
                                         "boundary"};

static bool is_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* PATH/FOLDER/NAME, or the same with .gz. @return false: neither is a file */
static bool find_file(const char *path, const char *folder, const char *name,
                      char out[PATH_SIZE])
{
    static const char *const ends[] = {"", ".gz"};

    for (size_t i = 0; i < ST_COUNT(ends); i++) {
        if (st_print(out, PATH_SIZE, "%s/%s%s%s", path, folder, name, ends[i]) &&
            is_file(out)) {
            return true;
        }
    }
    return false;
}

/* The folder that has any of the files decides, so that a missing one is missed there. */
static const char *find_folder(const char *path)
{
    static const char *const folders[] = {"", "constant/polyMesh/", "polyMesh/"};
    char found[PATH_SIZE];

    for (size_t i = 0; i < ST_COUNT(folders); i++) {
        for (size_t k = 0; k < ST_COUNT(file_names); k++) {
            if (find_file(path, folders[i], file_names[k], found)) {
                return folders[i];
            }
        }
    }
    return NULL;
}

/* Where one of the files is. */
static enum st_status locate(const char *path, const char *name, char found[PATH_SIZE],
                             struct st_error *err)
{
    const char *folder = find_folder(path);
    struct stat info;

    if (folder == NULL) {
        const bool exists = stat(path, &info) == 0;
        return st_fail(err, ST_ERR_STEP, "%.700s: no OpenFOAM mesh: %s%s", path,
                       exists
                           ? "there are no files points, faces, owner, neighbour, "
                             "boundary in it, nor in constant/polyMesh or polyMesh in it"
                           : strerror(errno),
                       exists && !S_ISDIR(info.st_mode) ? " (it is no folder)" : "");
    }
    if (!find_file(path, folder, name, found)) {
        return st_fail(
            err, ST_ERR_STEP,
            "%.700s/%s%s: no such file, nor one with .gz: the mesh is incomplete", path,
            folder, name);
    }
    return ST_OK;
}

enum st_status st_poly_find(const char *path, struct st_error *err)
{
    char found[PATH_SIZE];
    enum st_status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < ST_COUNT(file_names); i++) {
        rc = locate(path, file_names[i], found, err);
    }
    return rc;
}

static enum st_status open_in_folder(void *context, const char *name, FILE **stream,
                                     char *label, size_t size, double *most_bytes,
                                     struct st_error *err)
{
    char found[PATH_SIZE];
    struct stat info;
    const enum st_status rc = locate(context, name, found, err);

    if (rc != ST_OK) {
        return rc;
    }
    *stream = st_input_open(found, err);
    if (*stream == NULL) {
        return ST_ERR_STEP;
    }
    (void)st_copy(label, size, found);
    const bool is_plain = fileno(*stream) >= 0;
    const double bytes = stat(found, &info) == 0 ? (double)info.st_size : 0.0;
    *most_bytes = is_plain ? bytes : MOST_COMPRESSION * bytes;
    return ST_OK;
}

struct st_poly_source st_poly_folder(const char *path)
{
    union {
        const char *in;
        void *out;
    } borrowed = {.in = path}; /* open_in_folder() only reads it */

    return (struct st_poly_source){.context = borrowed.out, .open = open_in_folder};
}

/* Open one file and compare its class with the two it may have. */
static enum st_status open_one(const struct st_poly_source *source, const char *name,
                               const char *class, const char *other, struct st_foam **out,
                               struct st_error *err)
{
    FILE *stream = NULL;
    char label[PATH_SIZE] = "";
    double most_bytes = 0.0;
    enum st_status rc = source->open(source->context, name, &stream, label, sizeof label,
                                     &most_bytes, err);

    if (rc == ST_OK) {
        rc = st_foam_open(stream, label, most_bytes, out, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    const char *got = st_foam_class(*out);
    if (strcmp(got, class) != 0 && strcmp(got, other) != 0) {
        return st_fail(err, ST_ERR_STEP, "%s: the header's class is '%.40s', not %s",
                       label, got, class);
    }
    return ST_OK;
}

/* A list of the compact form; one value for all would claim any size and mean no face. */
static enum st_status begin_compact(struct st_foam *foam, int64_t *n,
                                    struct st_error *err)
{
    const enum st_status rc = st_foam_begin(foam, ST_FOAM_LABELS, n, err);

    if (rc == ST_OK && st_foam_is_uniform(foam)) {
        return st_foam_fail(foam, err, "offsets and labels of faces cannot be all equal");
    }
    return rc;
}

/* The labels of a compact list: the second list of the file. */
static enum st_status skip_offsets(struct st_poly_files *files, struct st_error *err)
{
    int64_t n = 0;
    int64_t unused = 0;
    enum st_status rc = begin_compact(files->faces, &n, err);

    for (int64_t i = 0; rc == ST_OK && i < n; i++) {
        rc = st_foam_label(files->faces, &unused, err);
    }
    if (rc == ST_OK) {
        rc = st_foam_end(files->faces, err);
    }
    return rc == ST_OK ? begin_compact(files->faces, &files->n_labels, err) : rc;
}

static enum st_status open_faces(const struct st_poly_source *source,
                                 struct st_poly_files *files, struct st_error *err)
{
    enum st_status rc =
        open_one(source, "faces", "faceList", "faceCompactList", &files->faces, err);

    if (rc != ST_OK) {
        return rc;
    }
    files->is_compact = strcmp(st_foam_class(files->faces), "faceCompactList") == 0;
    if (!files->is_compact) {
        return st_foam_begin(files->faces, ST_FOAM_ENTRIES, &files->n_faces, err);
    }
    rc = open_one(source, "faces", "faceCompactList", "faceCompactList", &files->sizes,
                  err);
    if (rc == ST_OK) {
        rc = begin_compact(files->sizes, &files->n_faces, err);
    }
    if (rc == ST_OK && files->n_faces > 0) {
        files->n_faces--; /* there is one offset more */
        rc = st_foam_label(files->sizes, &files->last_offset, err);
    }
    if (rc == ST_OK && files->last_offset != 0) {
        return st_foam_fail(files->sizes, err, "the first offset is %" PRId64 ", not 0",
                            files->last_offset);
    }
    if (rc == ST_OK) {
        rc = skip_offsets(files, err);
    }
    if (rc == ST_OK && files->n_labels < 3 * files->n_faces) {
        return st_foam_fail(files->faces, err,
                            "%" PRId64 " labels are too few for %" PRId64
                            " faces of at least 3 points",
                            files->n_labels, files->n_faces);
    }
    return rc;
}

static enum st_status open_cells(const struct st_poly_source *source,
                                 struct st_poly_files *files, struct st_error *err)
{
    int64_t n_owners = 0;
    enum st_status rc =
        open_one(source, "owner", "labelList", "labelIOList", &files->owner, err);

    if (rc == ST_OK) {
        rc = st_foam_begin(files->owner, ST_FOAM_LABELS, &n_owners, err);
    }
    if (rc == ST_OK && n_owners != files->n_faces) {
        return st_foam_fail(files->owner, err,
                            "%" PRId64 " owners, but the file faces has %" PRId64
                            " faces",
                            n_owners, files->n_faces);
    }
    if (rc == ST_OK) {
        rc = open_one(source, "neighbour", "labelList", "labelIOList", &files->neighbour,
                      err);
    }
    if (rc == ST_OK) {
        rc = st_foam_begin(files->neighbour, ST_FOAM_LABELS, &files->n_internal, err);
    }
    if (rc == ST_OK && files->n_internal >= files->n_faces) {
        return st_foam_fail(files->neighbour, err,
                            "%" PRId64 " neighbours, but the mesh has %" PRId64
                            " faces: some must be boundary",
                            files->n_internal, files->n_faces);
    }
    return rc;
}

static enum st_status open_all(const struct st_poly_source *source,
                               struct st_poly_files *files, struct st_foam **boundary,
                               struct st_error *err)
{
    enum st_status rc =
        open_one(source, "points", "vectorField", "vectorIOField", &files->points, err);

    if (rc == ST_OK) {
        rc = st_foam_begin(files->points, ST_FOAM_POINTS, &files->n_points, err);
    }
    if (rc == ST_OK && files->n_points < 4) {
        return st_foam_fail(files->points, err, "%" PRId64 " points enclose no cell",
                            files->n_points);
    }
    if (rc == ST_OK) {
        rc = open_faces(source, files, err);
    }
    if (rc == ST_OK && files->n_faces < 4) {
        return st_foam_fail(files->faces, err, "%" PRId64 " faces enclose no cell",
                            files->n_faces);
    }
    if (rc == ST_OK) {
        rc = open_cells(source, files, err);
    }
    if (rc == ST_OK) {
        rc = open_one(source, "boundary", "polyBoundaryMesh", "polyBoundaryMesh",
                      boundary, err);
    }
    return rc == ST_OK
               ? st_poly_read_patches(*boundary, files->n_internal, files->n_faces,
                                      &files->n_patches, &files->patches, err)
               : rc;
}

enum st_status st_poly_open(const struct st_poly_source *source,
                            struct st_poly_files *files, struct st_error *err)
{
    struct st_foam *boundary = NULL;

    *files = (struct st_poly_files){.before = {-1, -1}};
    const enum st_status rc = open_all(source, files, &boundary, err);
    st_foam_close(&boundary);
    return rc;
}

void st_poly_close(struct st_poly_files *files)
{
    st_foam_close(&files->points);
    st_foam_close(&files->faces);
    st_foam_close(&files->sizes);
    st_foam_close(&files->owner);
    st_foam_close(&files->neighbour);
    st_free(files->patches);
    files->patches = NULL;
}

/* The end of a list, and of its file. */
static enum st_status end_list(struct st_foam *foam, struct st_error *err)
{
    const enum st_status rc = st_foam_end(foam, err);

    return rc == ST_OK ? st_foam_finish(foam, err) : rc;
}

enum st_status st_poly_point(struct st_poly_files *files, double xyz[3],
                             struct st_error *err)
{
    const enum st_status rc = st_foam_point(files->points, xyz, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (!isfinite(xyz[0]) || !isfinite(xyz[1]) || !isfinite(xyz[2])) {
        return st_foam_fail(files->points, err, "point %" PRId64 " is not finite",
                            files->at_point);
    }
    return ++files->at_point == files->n_points ? end_list(files->points, err) : ST_OK;
}

/* The number of points of the next face; its list has begun then. */
static enum st_status begin_face(struct st_poly_files *files, int64_t *n,
                                 struct st_error *err)
{
    int64_t offset = 0;

    if (!files->is_compact) {
        return st_foam_begin(files->faces, ST_FOAM_LABELS, n, err);
    }
    const enum st_status rc = st_foam_label(files->sizes, &offset, err);
    if (rc == ST_OK && (offset < files->last_offset || offset > files->n_labels)) {
        return st_foam_fail(files->sizes, err,
                            "face %" PRId64 " ends at label %" PRId64
                            ": not between %" PRId64 " and the %" PRId64 " labels",
                            files->at_face, offset, files->last_offset, files->n_labels);
    }
    *n = offset - files->last_offset;
    files->last_offset = offset;
    return rc;
}

static enum st_status end_face(struct st_poly_files *files, struct st_error *err)
{
    const bool is_last = ++files->at_face == files->n_faces;
    enum st_status rc = ST_OK;

    if (!files->is_compact) {
        rc = st_foam_end(files->faces, err);
        return rc == ST_OK && is_last ? end_list(files->faces, err) : rc;
    }
    if (!is_last) {
        return ST_OK;
    }
    rc = st_foam_end(files->sizes, err);
    if (rc == ST_OK && files->last_offset != files->n_labels) {
        return st_foam_fail(files->sizes, err,
                            "the last face ends at label %" PRId64 " of %" PRId64,
                            files->last_offset, files->n_labels);
    }
    return rc == ST_OK ? end_list(files->faces, err) : rc;
}

/* One point of a face: of the mesh, and not there already. */
static enum st_status check_vertex(const struct st_poly_files *files, int at,
                                   const int64_t *points, struct st_error *err)
{
    if (points[at] < 0 || points[at] >= files->n_points) {
        return st_foam_fail(files->faces, err,
                            "face %" PRId64 " has the point %" PRId64
                            "; the mesh has points 0 to %" PRId64,
                            files->at_face, points[at], files->n_points - 1);
    }
    for (int i = 0; i < at; i++) {
        if (points[i] == points[at]) {
            return st_foam_fail(files->faces, err,
                                "face %" PRId64 " has the point %" PRId64 " twice",
                                files->at_face, points[at]);
        }
    }
    return ST_OK;
}

enum st_status st_poly_face(struct st_poly_files *files, int *n,
                            int64_t points[ST_POLY_MOST_POINTS], struct st_error *err)
{
    int64_t count = 0;
    enum st_status rc = begin_face(files, &count, err);

    if (rc == ST_OK && (count < 3 || count > ST_POLY_MOST_POINTS)) {
        return st_foam_fail(files->is_compact ? files->sizes : files->faces, err,
                            "face %" PRId64 " has %" PRId64 " points; a face has 3 to %d",
                            files->at_face, count, ST_POLY_MOST_POINTS);
    }
    for (int i = 0; rc == ST_OK && i < (int)count; i++) {
        rc = st_foam_label(files->faces, &points[i], err);
        if (rc == ST_OK) {
            rc = check_vertex(files, i, points, err);
        }
    }
    *n = (int)count;
    return rc == ST_OK ? end_face(files, err) : rc;
}

static enum st_status check_cell(const struct st_poly_files *files,
                                 const struct st_foam *foam, int64_t cell,
                                 struct st_error *err)
{
    /* A cell has four faces or more, an internal face bounds two cells. */
    const int64_t most = (files->n_faces + files->n_internal) / 4;

    if (cell < 0 || cell >= most) {
        return st_foam_fail(foam, err,
                            "face %" PRId64 " belongs to cell %" PRId64
                            "; so many faces can bound cells 0 to %" PRId64,
                            files->at_cell, cell, most - 1);
    }
    return ST_OK;
}

static enum st_status check_order(const struct st_poly_files *files, int64_t owner,
                                  int64_t neighbour, struct st_error *err)
{
    if (neighbour <= owner) {
        return st_foam_fail(files->neighbour, err,
                            "face %" PRId64 " has neighbour %" PRId64
                            " and owner %" PRId64
                            ": the neighbour must be the greater; run renumberMesh",
                            files->at_cell, neighbour, owner);
    }
    if (owner < files->before[0] ||
        (owner == files->before[0] && neighbour < files->before[1])) {
        return st_foam_fail(
            owner < files->before[0] ? files->owner : files->neighbour, err,
            "face %" PRId64 " (cells %" PRId64 ", %" PRId64
            ") comes after one of cells %" PRId64 ", %" PRId64
            ": internal faces must be in upper-triangular order; run "
            "renumberMesh",
            files->at_cell, owner, neighbour, files->before[0], files->before[1]);
    }
    return ST_OK;
}

enum st_status st_poly_cells(struct st_poly_files *files, int64_t *owner,
                             int64_t *neighbour, struct st_error *err)
{
    const bool is_internal = files->at_cell < files->n_internal;
    enum st_status rc = st_foam_label(files->owner, owner, err);

    *neighbour = -1;
    if (rc == ST_OK) {
        rc = check_cell(files, files->owner, *owner, err);
    }
    if (rc == ST_OK && is_internal) {
        rc = st_foam_label(files->neighbour, neighbour, err);
        if (rc == ST_OK) {
            rc = check_cell(files, files->neighbour, *neighbour, err);
        }
        if (rc == ST_OK) {
            rc = check_order(files, *owner, *neighbour, err);
        }
        files->before[0] = *owner;
        files->before[1] = *neighbour;
    }
    files->at_cell++;
    if (rc == ST_OK && files->at_cell == files->n_faces) {
        rc = end_list(files->owner, err);
        rc = rc == ST_OK ? end_list(files->neighbour, err) : rc;
    }
    return rc;
}

const char *st_poly_where(const struct st_poly_source *source, int64_t face, char *out,
                          size_t size)
{
    struct st_poly_files files = {0};
    struct st_error err = {0};
    int64_t points[ST_POLY_MOST_POINTS];
    int64_t count = 0;
    int n = 0;
    enum st_status rc = open_faces(source, &files, &err);

    files.n_points = INT64_MAX; /* they were checked */
    for (int64_t f = 0; rc == ST_OK && f < face && f < files.n_faces - 1; f++) {
        rc = st_poly_face(&files, &n, points, &err);
    }
    if (rc == ST_OK) {
        rc = begin_face(&files, &count, &err);
    }
    if (rc == ST_OK && files.is_compact) {
        rc = st_foam_label(files.faces, points, &err);
    }
    out[0] = '\0';
    if (rc == ST_OK) {
        (void)st_foam_where(files.faces, out, size);
    }
    st_poly_close(&files);
    return out;
}
