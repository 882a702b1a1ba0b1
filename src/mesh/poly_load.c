/*
 * Reading a polyMesh into blocks. Points, faces and cells of faces come one list after the
 * other; a rank then fetches the points of its faces, computes area and centre, and sends each
 * face to the blocks of its cells, where volumes and centres of cells follow.
 */
#include "src/mesh/poly_load.h"

#include "mpi/agree.h"
#include "mpi/blocks.h"
#include "mpi/shuffle.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/mesh/feed.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A cell is closed if its areas add up to less than this share of their sum (checkMesh). */
static const double CLOSED = 1e-6;
/* The two areas of a cyclic pair, and the ways between them, agree to this share (OpenFOAM's
 * matchTolerance is 1e-4 of a face's size). */
static const double MATCH = 1e-4;

struct load {
    const struct stm_comm *comm;
    const struct st_poly_source *source;
    struct st_poly_files files; /* rank 0 */
    struct st_feed feed;
    struct st_poly_blocks *out;

    size_t n_points, n_faces; /* of this rank's blocks */
    int64_t first_face;
    struct st_vec *points;
    size_t at_point, at_face, at_cell;
    size_t *start; /* [n_faces + 1] of each face in vertices */
    int64_t *vertices;
    size_t n_vertices, capacity;
    struct st_poly_face *faces; /* [n_faces] */
};

static int64_t first_of(const struct load *l, int64_t n)
{
    return stm_block_start(n, l->comm->n_ranks, l->comm->rank);
}

static size_t share_of(const struct load *l, int64_t n)
{
    return (size_t)(stm_block_start(n, l->comm->n_ranks, l->comm->rank + 1) -
                    first_of(l, n));
}

/* Counts and patches to all ranks; the arrays of this rank's share. */
static enum st_status share_counts(struct load *l, struct st_error *err)
{
    struct st_poly_blocks *b = l->out;
    int64_t counts[4] = {l->files.n_points, l->files.n_faces, l->files.n_internal,
                         (int64_t)l->files.n_patches};
    enum st_status rc = stm_bcast_bytes(l->comm, counts, sizeof counts, err);

    if (rc != ST_OK) {
        return rc;
    }
    b->n_points = counts[0];
    b->n_faces = counts[1];
    b->n_internal = counts[2];
    b->n_patches = (size_t)counts[3];
    l->n_points = share_of(l, b->n_points);
    l->n_faces = share_of(l, b->n_faces);
    l->first_face = first_of(l, b->n_faces);
    l->capacity = 4 * l->n_faces;
    b->patches = st_calloc(err, b->n_patches, sizeof *b->patches);
    l->points = st_calloc(err, l->n_points, sizeof *l->points);
    l->start = st_calloc(err, l->n_faces + 1, sizeof *l->start);
    l->vertices = st_calloc(err, l->capacity, sizeof *l->vertices);
    l->faces = st_calloc(err, l->n_faces, sizeof *l->faces);
    const bool is_whole = b->patches != NULL && l->points != NULL && l->start != NULL &&
                          l->vertices != NULL && l->faces != NULL;
    rc = stm_agree(l->comm, is_whole ? ST_OK : ST_ERR_MEMORY, err);
    if (rc == ST_OK && l->comm->rank == 0) {
        memcpy(b->patches, l->files.patches, b->n_patches * sizeof *b->patches);
    }
    return rc == ST_OK ? stm_bcast_bytes(l->comm, b->patches,
                                         b->n_patches * sizeof *b->patches, err)
                       : rc;
}

static enum st_status take_points(void *context, const int64_t *words, size_t n,
                                  struct st_error *err)
{
    struct load *l = context;

    (void)err;
    memcpy(l->points + l->at_point, words, n * sizeof *words);
    l->at_point += n / 3;
    return ST_OK;
}

static enum st_status put_points(struct load *l, struct st_error *err)
{
    const int64_t n = l->files.n_points;
    const int n_ranks = l->comm->n_ranks;
    enum st_status rc = ST_OK;
    int64_t i = 0;

    for (int rank = 0; rank < n_ranks; rank++) {
        for (; rc == ST_OK && i < stm_block_start(n, n_ranks, rank + 1); i++) {
            double xyz[3];
            int64_t words[3];
            rc = st_poly_point(&l->files, xyz, err);
            memcpy(words, xyz, sizeof words);
            rc = rc == ST_OK ? st_feed_put(&l->feed, rank, words, 3, err) : rc;
        }
    }
    return rc;
}

static enum st_status take_faces(void *context, const int64_t *words, size_t n,
                                 struct st_error *err)
{
    struct load *l = context;

    if (l->n_vertices + n > l->capacity) {
        const size_t more = l->capacity + l->capacity / 2 + n;
        int64_t *grown = st_resize(err, l->vertices, more, sizeof *l->vertices);
        if (grown == NULL) {
            return ST_ERR_MEMORY;
        }
        l->vertices = grown;
        l->capacity = more;
    }
    for (size_t i = 0; i < n; i += (size_t)words[i] + 1) {
        const size_t count = (size_t)words[i];
        memcpy(l->vertices + l->n_vertices, words + i + 1, count * sizeof *words);
        l->n_vertices += count;
        l->start[++l->at_face] = l->n_vertices;
    }
    return ST_OK;
}

static enum st_status put_faces(struct load *l, struct st_error *err)
{
    const int64_t n = l->files.n_faces;
    const int n_ranks = l->comm->n_ranks;
    int64_t words[ST_POLY_MOST_POINTS + 1];
    enum st_status rc = ST_OK;
    int64_t i = 0;

    for (int rank = 0; rank < n_ranks; rank++) {
        for (; rc == ST_OK && i < stm_block_start(n, n_ranks, rank + 1); i++) {
            int count = 0;
            rc = st_poly_face(&l->files, &count, words + 1, err);
            words[0] = count;
            rc = rc == ST_OK ? st_feed_put(&l->feed, rank, words, (size_t)count + 1, err)
                             : rc;
        }
    }
    return rc;
}

static enum st_status take_cells(void *context, const int64_t *words, size_t n,
                                 struct st_error *err)
{
    struct load *l = context;

    (void)err;
    for (size_t i = 0; i < n; i += 2) {
        struct st_poly_face *f = &l->faces[l->at_cell];
        f->id = l->first_face + (int64_t)l->at_cell++;
        f->owner = words[i];
        f->neighbour = words[i + 1];
    }
    return ST_OK;
}

static enum st_status put_cells(struct load *l, struct st_error *err)
{
    const int64_t n = l->files.n_faces;
    const int n_ranks = l->comm->n_ranks;
    enum st_status rc = ST_OK;
    int64_t i = 0;

    for (int rank = 0; rank < n_ranks; rank++) {
        for (; rc == ST_OK && i < stm_block_start(n, n_ranks, rank + 1); i++) {
            int64_t words[2];
            rc = st_poly_cells(&l->files, &words[0], &words[1], err);
            rc = rc == ST_OK ? st_feed_put(&l->feed, rank, words, 2, err) : rc;
            l->out->n_cells =
                words[0] >= l->out->n_cells ? words[0] + 1 : l->out->n_cells;
            l->out->n_cells =
                words[1] >= l->out->n_cells ? words[1] + 1 : l->out->n_cells;
        }
    }
    return rc;
}

/* One list from the files to all ranks. */
static enum st_status stream(struct load *l,
                             enum st_status (*put)(struct load *, struct st_error *),
                             st_feed_taker take, struct st_error *err)
{
    st_feed_begin(&l->feed, take, l);
    return st_feed_end(&l->feed, l->comm->rank == 0 ? put(l, err) : ST_OK, err);
}

static enum st_status read_lists(struct load *l, struct st_error *err)
{
    enum st_status rc = st_feed_open(l->comm, &l->feed, err);

    if (rc == ST_OK) {
        rc = stream(l, put_points, take_points, err);
    }
    if (rc == ST_OK) {
        rc = stream(l, put_faces, take_faces, err);
    }
    if (rc == ST_OK) {
        rc = stream(l, put_cells, take_cells, err);
    }
    st_feed_close(&l->feed);
    return rc == ST_OK
               ? stm_bcast_bytes(l->comm, &l->out->n_cells, sizeof l->out->n_cells, err)
               : rc;
}

/* The patch of a boundary face; patches are in the order of their faces. */
static int32_t patch_of(const struct st_poly_blocks *b, int64_t face)
{
    size_t low = 0;
    size_t high = b->n_patches;

    while (low + 1 < high) {
        const size_t middle = (low + high) / 2;
        if (b->patches[middle].start <= face) {
            low = middle;
        } else {
            high = middle;
        }
    }
    /* Of several that start here all but the last are empty. */
    return (int32_t)low;
}

static void set_shapes(struct load *l, const struct st_vec *corners,
                       struct st_poly_trouble *trouble)
{
    for (size_t i = 0; i < l->n_faces; i++) {
        struct st_poly_face *f = &l->faces[i];
        st_poly_face_shape((int)(l->start[i + 1] - l->start[i]), corners + l->start[i],
                           &f->area, &f->centre);
        f->beyond = f->centre;
        f->patch = f->neighbour < 0 ? patch_of(l->out, f->id) : -1;
        if (!(st_vec_length(f->area) > 0.0)) {
            st_poly_complain(trouble, f->id, "face %" PRId64 " has no area", f->id);
        }
    }
}

/* Area and centre of this rank's share of the faces; points and vertices are not needed after. */
static enum st_status shape_faces(struct load *l, struct st_error *err)
{
    const struct stm_spread_array points = {l->out->n_points, sizeof *l->points,
                                            l->points};
    struct st_poly_trouble trouble = {.face = INT64_MAX};
    struct st_vec *corners = st_calloc(err, l->n_vertices, sizeof *corners);
    enum st_status rc = stm_agree(l->comm, corners == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK) {
        rc =
            stm_shuffle_fetch(l->comm, &points, l->n_vertices, l->vertices, corners, err);
    }
    if (rc == ST_OK) {
        set_shapes(l, corners, &trouble);
        rc = st_poly_settle(l->comm, l->source, &trouble, err);
    }
    st_free(corners);
    st_free(l->points);
    st_free(l->vertices);
    st_free(l->start);
    l->points = NULL;
    l->vertices = NULL;
    l->start = NULL;
    return rc;
}

/* The first sides of cyclic pairs among this rank's faces; @p wanted: the other side of each,
 * and the first face of both patches. @return how many */
static size_t list_cyclics(const struct load *l, int64_t *wanted)
{
    const struct st_poly_blocks *b = l->out;
    size_t n = 0;

    for (size_t i = 0; i < l->n_faces; i++) {
        const struct st_poly_face *f = &l->faces[i];
        const struct st_poly_patch *p = f->patch < 0 ? NULL : &b->patches[f->patch];
        if (p == NULL || p->beyond < f->patch) {
            continue; /* internal, another type, or a second side */
        }
        if (wanted != NULL) {
            wanted[3 * n] = b->patches[p->beyond].start + f->id - p->start;
            wanted[3 * n + 1] = p->start;
            wanted[3 * n + 2] = b->patches[p->beyond].start;
        }
        n++;
    }
    return n;
}

/* Make the first side internal. @param got the other side and the first face of both patches */
static void join(const struct load *l, struct st_poly_face *f,
                 const struct st_poly_face got[3], struct st_poly_trouble *trouble)
{
    const struct st_poly_face *other = &got[0];
    const char *name = l->out->patches[f->patch].name;
    const double size = sqrt(st_vec_length(f->area));
    const struct st_vec way = st_vec_minus(other->centre, f->centre);
    const struct st_vec first_way = st_vec_minus(got[2].centre, got[1].centre);

    if (!(st_vec_length(st_vec_plus(f->area, other->area)) <=
          MATCH * st_vec_length(f->area)) ||
        !(st_vec_length(st_vec_minus(way, first_way)) <= MATCH * size)) {
        st_poly_complain(
            trouble, f->id,
            "face %" PRId64 " of the cyclic patch '%s' does not lie opposite "
            "face %" PRId64 ": sides must match face by face, moved without turning",
            f->id, name, other->id);
    }
    if (f->owner == other->owner) {
        st_poly_complain(
            trouble, f->id,
            "the cyclic patch '%s' joins cell %" PRId64
            " with itself: a cyclic direction has 2 cells or more; for a 2-D "
            "mesh use patches of type empty",
            name, f->owner);
    }
    f->neighbour = other->owner;
    f->beyond = other->centre;
    f->patch = -1;
    if (f->neighbour < f->owner) { /* owners have the lower number */
        const struct st_vec centre = f->centre;
        const int64_t owner = f->owner;
        f->owner = f->neighbour;
        f->neighbour = owner;
        f->area = st_vec_times(-1.0, f->area);
        f->centre = f->beyond;
        f->beyond = centre;
    }
}

/* Cyclic pairs become internal faces; their second sides are dropped. */
static enum st_status join_cyclics(struct load *l, struct st_error *err)
{
    const struct st_poly_blocks *b = l->out;
    const struct stm_spread_array all = {b->n_faces, sizeof *l->faces, l->faces};
    const size_t n = list_cyclics(l, NULL);
    struct st_poly_trouble trouble = {.face = INT64_MAX};
    int64_t *wanted = st_calloc(err, 3 * n, sizeof *wanted);
    struct st_poly_face *got = st_calloc(err, 3 * n, sizeof *got);
    enum st_status rc =
        stm_agree(l->comm, wanted == NULL || got == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK && wanted != NULL) {
        (void)list_cyclics(l, wanted);
        rc = stm_shuffle_fetch(l->comm, &all, 3 * n, wanted, got, err);
    }
    if (rc == ST_OK && got != NULL) {
        size_t kept = 0;
        size_t at = 0;
        for (size_t i = 0; i < l->n_faces; i++) {
            struct st_poly_face *f = &l->faces[i];
            const int32_t beyond = f->patch < 0 ? -1 : b->patches[f->patch].beyond;
            if (beyond > f->patch) {
                join(l, f, &got[3 * at++], &trouble);
            }
            if (beyond < 0 || f->patch < 0) {
                l->faces[kept++] = *f;
            }
        }
        l->n_faces = kept;
        rc = st_poly_settle(l->comm, l->source, &trouble, err);
    }
    st_free(wanted);
    st_free(got);
    return rc;
}

/* Faces to the blocks of their cells: some twice. */
static enum st_status send_to_cells(struct load *l, struct st_error *err)
{
    struct st_poly_blocks *b = l->out;
    const int n_ranks = l->comm->n_ranks;
    struct st_poly_face *twice = st_calloc(err, 2 * l->n_faces, sizeof *twice);
    int *dest = st_calloc(err, 2 * l->n_faces, sizeof *dest);
    size_t n = 0;
    void *got = NULL;
    enum st_status rc =
        stm_agree(l->comm, twice == NULL || dest == NULL ? ST_ERR_MEMORY : ST_OK, err);

    for (size_t i = 0; rc == ST_OK && i < l->n_faces; i++) {
        const struct st_poly_face *f = &l->faces[i];
        const int at = (int)stm_block_of(b->n_cells, n_ranks, f->owner);
        const int beyond =
            f->neighbour < 0 ? at : (int)stm_block_of(b->n_cells, n_ranks, f->neighbour);
        dest[n] = at;
        twice[n++] = *f;
        if (beyond != at) {
            dest[n] = beyond;
            twice[n++] = *f;
        }
    }
    if (rc == ST_OK) {
        rc = stm_shuffle_send(l->comm, sizeof *twice, n, twice, dest, &b->n_held, &got,
                              err);
        b->faces = got;
    }
    st_free(twice);
    st_free(dest);
    return rc;
}

static void check_cell(const struct st_poly_cell *cell, const struct st_poly_sums *s,
                       struct st_poly_trouble *trouble)
{
    if (s->n_faces < 4) {
        st_poly_complain(
            trouble, s->first_face,
            "cell %" PRId64 " has %" PRId64 " faces%s: no cell has fewer than 4",
            cell->id, s->n_faces, s->n_faces == 0 ? "" : ", the first of them here");
    } else if (!(st_vec_length(s->open) <= CLOSED * s->area)) {
        st_poly_complain(trouble, s->first_face,
                         "cell %" PRId64
                         ", whose first face stands here, is open: its %" PRId64
                         " faces leave %.3g of their area without an opposite",
                         cell->id, s->n_faces, st_vec_length(s->open) / s->area);
    } else if (!(cell->volume > 0.0) || !isfinite(cell->volume)) {
        st_poly_complain(trouble, s->first_face,
                         "cell %" PRId64
                         ", whose first face stands here, has the volume %g: faces must "
                         "point from owner to neighbour",
                         cell->id, cell->volume);
    }
}

static enum st_status shape_cells(struct load *l, struct st_error *err)
{
    struct st_poly_blocks *b = l->out;
    struct st_poly_trouble trouble = {.face = INT64_MAX};

    b->n_mine = share_of(l, b->n_cells);
    b->cells = st_calloc(err, b->n_mine, sizeof *b->cells);
    struct st_poly_sums *sums = st_calloc(err, b->n_mine, sizeof *sums);
    enum st_status rc =
        stm_agree(l->comm, b->cells == NULL || sums == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc == ST_OK && sums != NULL) {
        st_poly_cell_shapes(first_of(l, b->n_cells), b->n_mine, b->n_held, b->faces,
                            b->cells, sums);
        for (size_t c = 0; c < b->n_mine; c++) {
            check_cell(&b->cells[c], &sums[c], &trouble);
        }
        rc = st_poly_settle(l->comm, l->source, &trouble, err);
    }
    st_free(sums);
    return rc;
}

static enum st_status run(struct load *l, struct st_error *err)
{
    enum st_status rc =
        l->comm->rank == 0 ? st_poly_open(l->source, &l->files, err) : ST_OK;

    rc = stm_agree(l->comm, rc, err);
    if (rc == ST_OK) {
        rc = share_counts(l, err);
    }
    if (rc == ST_OK) {
        rc = read_lists(l, err);
    }
    if (rc == ST_OK) {
        rc = shape_faces(l, err);
    }
    if (rc == ST_OK) {
        rc = join_cyclics(l, err);
    }
    if (rc == ST_OK) {
        rc = send_to_cells(l, err);
    }
    return rc == ST_OK ? shape_cells(l, err) : rc;
}

enum st_status st_poly_load(const struct stm_comm *comm,
                            const struct st_poly_source *source,
                            struct st_poly_blocks *out, struct st_error *err)
{
    struct load l = {.comm = comm, .source = source, .out = out};

    *out = (struct st_poly_blocks){0};
    const enum st_status rc = run(&l, err);
    st_poly_close(&l.files);
    st_free(l.points);
    st_free(l.start);
    st_free(l.vertices);
    st_free(l.faces);
    return rc;
}

void st_poly_blocks_clear(struct st_poly_blocks *b)
{
    st_free(b->patches);
    st_free(b->cells);
    st_free(b->faces);
    *b = (struct st_poly_blocks){0};
}

void st_poly_complain(struct st_poly_trouble *trouble, int64_t face, const char *format,
                      ...)
{
    char text[ST_ERROR_TEXT_SIZE / 2];
    va_list arguments;

    if (face >= trouble->face) {
        return;
    }
    va_start(arguments, format);
    (void)st_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    trouble->face = face;
    (void)st_fail(&trouble->text, ST_ERR_STEP, "%s", text);
}

enum st_status st_poly_settle(const struct stm_comm *comm,
                              const struct st_poly_source *source,
                              const struct st_poly_trouble *trouble, struct st_error *err)
{
    char where[1100] = "";
    int64_t first = trouble->face;

    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, comm->handle));
    if (first == INT64_MAX) {
        return ST_OK;
    }
    const bool is_mine = first == trouble->face;
    if (is_mine) {
        *err = trouble->text;
    }
    enum st_status rc = stm_agree(comm, is_mine ? ST_ERR_STEP : ST_OK, err);
    if (rc == ST_ERR_MPI) {
        return rc;
    }
    if (comm->rank == 0) {
        (void)st_poly_where(source, first, where, sizeof where);
    }
    struct st_error lost = {0};
    if (stm_bcast_bytes(comm, where, sizeof where, &lost) != ST_OK) {
        *err = lost;
        return ST_ERR_MPI;
    }
    return where[0] == '\0' ? rc : st_prefix(err, "%s: ", where);
}
