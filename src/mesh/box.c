/*
 * Generated boxes.
 *
 * A face is named by the cell on its lower side and its direction, in the whole box; the last
 * cell's upper face is the wrap of a periodic direction. Halo faces are sorted by the rank
 * beside them and by that name, so both sides list them in the same order without talking.
 */
#include "src/mesh/box.h"

#include "mpi/agree.h"
#include "mpi/blocks.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The largest count of cells along one direction: products of two stay far inside 64 bits. */
static const int64_t MOST_CELLS = 1000000;

static int64_t cuts_of(const struct st_mesh_box *box, const int64_t ranks[3])
{
    int64_t cuts = 0;

    for (int a = 0; a < 3; a++) {
        const int64_t parts = ranks[a] < box->n[a] ? ranks[a] : box->n[a];
        const int64_t planes = box->is_periodic[a] && parts > 1 ? parts : parts - 1;
        cuts += planes * box->n[(a + 1) % 3] * box->n[(a + 2) % 3];
    }
    return cuts;
}

/* Blocks that have cells: as many as can be. */
static int64_t busy_blocks(const struct st_mesh_box *box, const int64_t ranks[3])
{
    int64_t busy = 1;

    for (int a = 0; a < 3; a++) {
        busy *= ranks[a] < box->n[a] ? ranks[a] : box->n[a];
    }
    return busy;
}

struct st_mesh_blocks st_mesh_blocks_of(const struct st_mesh_box *box, int n_ranks)
{
    struct st_mesh_blocks best = {{n_ranks, 1, 1}, 0};
    int64_t most_busy = 0;

    for (int64_t z = 1; z <= n_ranks; z++) {
        for (int64_t y = 1; n_ranks % z == 0 && y <= n_ranks / z; y++) {
            const int64_t ranks[3] = {n_ranks / z / y, y, z};
            if (n_ranks / z % y != 0) {
                continue;
            }
            const int64_t busy = busy_blocks(box, ranks);
            const int64_t cuts = cuts_of(box, ranks);
            if (busy > most_busy || (busy == most_busy && cuts < best.cut_faces)) {
                best = (struct st_mesh_blocks){{ranks[0], ranks[1], ranks[2]}, cuts};
                most_busy = busy;
            }
        }
    }
    return best;
}

struct st_mesh_counts st_mesh_box_counts(const struct st_mesh_box *box, int n_ranks)
{
    const struct st_mesh_blocks blocks = st_mesh_blocks_of(box, n_ranks);
    int64_t m[3];

    for (int a = 0; a < 3; a++) {
        m[a] = (box->n[a] + blocks.ranks[a] - 1) / blocks.ranks[a];
    }
    const int64_t n_cells = m[0] * m[1] * m[2];
    const int64_t surface = m[0] * m[1] + m[1] * m[2] + m[2] * m[0];
    /* Periodic directions of one block have no patches: a few faces too many, never too few. */
    return (struct st_mesh_counts){n_cells, 3 * n_cells, 3 * n_cells + surface};
}

enum st_status st_mesh_box_check(const struct st_mesh_box *box, int n_ranks,
                                 struct st_error *err)
{
    for (int a = 0; a < 3; a++) {
        const char axis = "xyz"[a];
        if (box->n[a] < 1 || box->n[a] > MOST_CELLS || !(box->length[a] > 0.0) ||
            !isfinite(box->length[a])) {
            return st_fail(err, ST_ERR_CONFIG,
                           "a box needs 1 to %" PRId64
                           " cells and a length above 0 along %c, not %" PRId64
                           " cells over %g",
                           MOST_CELLS, axis, box->n[a], box->length[a]);
        }
        if (box->is_periodic[a] && box->n[a] < 3) {
            return st_fail(err, ST_ERR_CONFIG,
                           "a periodic direction needs at least 3 cells; %c has %" PRId64,
                           axis, box->n[a]);
        }
        if (box->is_empty[a] && (box->n[a] != 1 || box->is_periodic[a])) {
            return st_fail(err, ST_ERR_CONFIG,
                           "the direction a 2-D case leaves out has one cell; %c has "
                           "%" PRId64,
                           axis, box->n[a]);
        }
    }
    /* Doubles: the product of three may exceed 64 bits. */
    const double cells = (double)box->n[0] * (double)box->n[1] * (double)box->n[2];
    if (4.0 * cells / n_ranks > INT32_MAX ||
        st_mesh_box_counts(box, n_ranks).n_faces > INT32_MAX) {
        return st_fail(err, ST_ERR_STEP,
                       "%.4g cells on %d ranks are too many for 32-bit face numbers; use "
                       "at least %.0f ranks",
                       cells, n_ranks, ceil(5.0 * cells / INT32_MAX));
    }
    return ST_OK;
}

/* A face shared with another rank. */
struct halo_face {
    int32_t rank, cell;
    int64_t name;
    int8_t axis, sign;
};

/* What one rank builds from. */
struct plan {
    const struct st_mesh_box *box;
    struct st_mesh_blocks blocks;
    int64_t start[3], n[3]; /* of the own block */
    double h[3];
    struct st_mesh *mesh;
    struct halo_face *halo;
    size_t n_halo;
};

static struct plan plan_of(const struct stm_comm *comm, const struct st_mesh_box *box)
{
    struct plan p = {.box = box, .blocks = st_mesh_blocks_of(box, comm->n_ranks)};
    int64_t rest = comm->rank;

    for (int a = 0; a < 3; a++) {
        const int64_t i = rest % p.blocks.ranks[a];
        rest /= p.blocks.ranks[a];
        p.start[a] = stm_block_start(box->n[a], p.blocks.ranks[a], i);
        p.n[a] = stm_block_start(box->n[a], p.blocks.ranks[a], i + 1) - p.start[a];
        p.h[a] = box->length[a] / (double)box->n[a];
    }
    return p;
}

static int64_t global_of(const struct st_mesh_box *box, const int64_t c[3])
{
    return c[0] + box->n[0] * (c[1] + box->n[1] * c[2]);
}

/* Cell beside @p c across its face; false: the face is on the boundary. */
static bool step_over(const struct st_mesh_box *box, const int64_t c[3], int axis,
                      int sign, int64_t beside[3])
{
    for (int a = 0; a < 3; a++) {
        beside[a] = c[a];
    }
    beside[axis] += sign;
    if (beside[axis] < 0 || beside[axis] >= box->n[axis]) {
        beside[axis] = (beside[axis] + box->n[axis]) % box->n[axis];
        return box->is_periodic[axis];
    }
    return true;
}

/* Local number of a cell given in the whole box; -1: of another rank. */
static int32_t local_of(const struct plan *p, const int64_t c[3])
{
    int64_t at[3];

    for (int a = 0; a < 3; a++) {
        at[a] = c[a] - p->start[a];
        if (at[a] < 0 || at[a] >= p->n[a]) {
            return -1;
        }
    }
    return (int32_t)(at[0] + p->n[0] * (at[1] + p->n[1] * at[2]));
}

static int32_t rank_of(const struct plan *p, const int64_t c[3])
{
    const int64_t *ranks = p->blocks.ranks;
    int64_t at[3];

    for (int a = 0; a < 3; a++) {
        at[a] = stm_block_of(p->box->n[a], ranks[a], c[a]);
    }
    return (int32_t)(at[0] + ranks[0] * (at[1] + ranks[1] * at[2]));
}

static void set_face(struct plan *p, int32_t f, int32_t owner, int axis, int sign,
                     double part)
{
    const double face = p->h[(axis + 1) % 3] * p->h[(axis + 2) % 3];
    const double area[3] = {axis == 0 ? sign * face : 0.0, axis == 1 ? sign * face : 0.0,
                            axis == 2 ? sign * face : 0.0};
    const double way = sign * part * p->h[axis];

    p->mesh->owner[f] = owner;
    p->mesh->area[f] = (struct st_vec){area[0], area[1], area[2]};
    p->mesh->d[f] = (struct st_vec){axis == 0 ? way : 0.0, axis == 1 ? way : 0.0,
                                    axis == 2 ? way : 0.0};
    p->mesh->weight[f] = part < 1.0 ? 1.0 : 0.5;
}

/* Faces of one cell towards higher local numbers, by rising neighbour; its halo faces. */
static void faces_of_cell(struct plan *p, const int64_t c[3], int32_t cell)
{
    struct {
        int32_t cell;
        int axis, sign;
    } up[6];
    int n_up = 0;

    for (int side = 0; side < 6; side++) {
        const int axis = side / 2;
        const int sign = side % 2 == 0 ? -1 : 1;
        int64_t beside[3];
        if (!step_over(p->box, c, axis, sign, beside)) {
            continue;
        }
        const int32_t other = local_of(p, beside);
        if (other < 0) {
            const int64_t name = 3 * global_of(p->box, sign > 0 ? c : beside) + axis;
            p->halo[p->n_halo++] = (struct halo_face){rank_of(p, beside), cell, name,
                                                      (int8_t)axis, (int8_t)sign};
        } else if (other > cell) {
            int at = n_up++;
            for (; at > 0 && up[at - 1].cell > other; at--) {
                up[at] = up[at - 1];
            }
            up[at].cell = other;
            up[at].axis = axis;
            up[at].sign = sign;
        }
    }
    for (int i = 0; i < n_up; i++) {
        const int32_t f = p->mesh->n_internal++;
        p->mesh->neighbour[f] = up[i].cell;
        set_face(p, f, cell, up[i].axis, up[i].sign, 1.0);
    }
}

static void fill_cells(struct plan *p)
{
    struct st_mesh *m = p->mesh;
    int32_t cell = 0;

    for (int64_t k = 0; k < p->n[2]; k++) {
        for (int64_t j = 0; j < p->n[1]; j++) {
            for (int64_t i = 0; i < p->n[0]; i++, cell++) {
                const int64_t c[3] = {p->start[0] + i, p->start[1] + j, p->start[2] + k};
                m->centre[cell] = (struct st_vec){((double)c[0] + 0.5) * p->h[0],
                                                  ((double)c[1] + 0.5) * p->h[1],
                                                  ((double)c[2] + 0.5) * p->h[2]};
                m->volume[cell] = p->h[0] * p->h[1] * p->h[2];
                m->cell_global[cell] = global_of(p->box, c);
                faces_of_cell(p, c, cell);
            }
        }
    }
    m->n_faces = m->n_internal;
}

/* The boundary faces of one side of the box that this block has. */
static void add_side(struct plan *p, int axis, int sign)
{
    struct st_mesh *m = p->mesh;
    struct st_patch *patch = &m->patches[m->n_patches++];
    const int64_t last = p->box->n[axis] - 1;
    const bool touches =
        p->n[0] * p->n[1] * p->n[2] > 0 &&
        (sign < 0 ? p->start[axis] == 0 : p->start[axis] + p->n[axis] - 1 == last);
    const int u = axis == 0 ? 1 : 0;
    const int v = axis == 2 ? 1 : 2;

    (void)snprintf(patch->name, sizeof patch->name, "%c%s", "xyz"[axis],
                   sign < 0 ? "Min" : "Max");
    (void)snprintf(patch->type, sizeof patch->type, "%s",
                   p->box->is_empty[axis] ? "empty" : "patch");
    patch->kind = p->box->is_empty[axis] ? ST_PATCH_EMPTY : ST_PATCH_BOUNDARY;
    patch->rank = -1;
    patch->start = m->n_faces;
    for (int64_t b = 0; touches && b < p->n[v]; b++) {
        for (int64_t a = 0; a < p->n[u]; a++) {
            int64_t c[3];
            c[axis] = sign < 0 ? 0 : last;
            c[u] = p->start[u] + a;
            c[v] = p->start[v] + b;
            set_face(p, m->n_faces++, local_of(p, c), axis, sign, 0.5);
        }
    }
    patch->n = m->n_faces - patch->start;
}

static int compare_halo(const void *left, const void *right)
{
    const struct halo_face *a = left;
    const struct halo_face *b = right;

    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->name > b->name) - (a->name < b->name);
}

static void add_halos(struct plan *p)
{
    struct st_mesh *m = p->mesh;

    qsort(p->halo, p->n_halo, sizeof *p->halo, compare_halo);
    for (size_t i = 0; i < p->n_halo; i++) {
        const struct halo_face *face = &p->halo[i];
        if (i == 0 || p->halo[i - 1].rank != face->rank) {
            struct st_patch *patch = &m->patches[m->n_patches++];
            patch->kind = ST_PATCH_HALO;
            patch->rank = face->rank;
            patch->start = m->n_faces;
            (void)snprintf(patch->type, sizeof patch->type, "processor");
        }
        m->patches[m->n_patches - 1].n++;
        set_face(p, m->n_faces++, face->cell, face->axis, face->sign, 1.0);
    }
}

/* Different ranks beside this block: at most two a direction, or all. */
static enum st_status allocate(struct plan *p, const struct stm_comm *comm,
                               struct st_error *err)
{
    const size_t n_cells = (size_t)(p->n[0] * p->n[1] * p->n[2]);
    const size_t surface =
        2 * (size_t)(p->n[0] * p->n[1] + p->n[1] * p->n[2] + p->n[2] * p->n[0]);
    const size_t n_faces = 3 * n_cells + surface;
    struct st_mesh *m = st_calloc(err, 1, sizeof *m);

    if (m == NULL) {
        return ST_ERR_MEMORY;
    }
    p->mesh = m;
    m->comm = *comm;
    m->n_cells = (int32_t)n_cells;
    m->owner = st_calloc(err, n_faces, sizeof *m->owner);
    m->neighbour = st_calloc(err, 3 * n_cells, sizeof *m->neighbour);
    m->patches = st_calloc(err, 12, sizeof *m->patches);
    m->centre = st_calloc(err, n_cells, sizeof *m->centre);
    m->volume = st_calloc(err, n_cells, sizeof *m->volume);
    m->area = st_calloc(err, n_faces, sizeof *m->area);
    m->d = st_calloc(err, n_faces, sizeof *m->d);
    m->weight = st_calloc(err, n_faces, sizeof *m->weight);
    m->cell_global = st_calloc(err, n_cells, sizeof *m->cell_global);
    p->halo = st_calloc(err, surface, sizeof *p->halo);
    const bool is_whole = m->owner != NULL && m->neighbour != NULL &&
                          m->patches != NULL && m->centre != NULL && m->volume != NULL &&
                          m->area != NULL && m->d != NULL && m->weight != NULL &&
                          m->cell_global != NULL && p->halo != NULL;
    return is_whole ? ST_OK : ST_ERR_MEMORY;
}

static int64_t all_internal(const struct st_mesh_box *box)
{
    int64_t sum = 0;

    for (int a = 0; a < 3; a++) {
        const int64_t planes = box->is_periodic[a] ? box->n[a] : box->n[a] - 1;
        sum += planes * box->n[(a + 1) % 3] * box->n[(a + 2) % 3];
    }
    return sum;
}

static void build(struct plan *p)
{
    struct st_mesh *m = p->mesh;

    fill_cells(p);
    for (int side = 0; side < 6; side++) {
        if (!p->box->is_periodic[side / 2]) {
            add_side(p, side / 2, side % 2 == 0 ? -1 : 1);
        }
    }
    add_halos(p);
    m->n_cells_global = p->box->n[0] * p->box->n[1] * p->box->n[2];
    m->n_internal_global = all_internal(p->box);
    m->cut_faces = p->blocks.cut_faces;
    for (int32_t f = 0; f < m->n_internal; f++) {
        const int32_t width = m->neighbour[f] - m->owner[f];
        m->bandwidth = width > m->bandwidth ? width : m->bandwidth;
    }
}

enum st_status st_mesh_box_create(const struct stm_comm *comm,
                                  const struct st_mesh_box *box, struct st_mesh **out,
                                  struct st_error *err)
{
    enum st_status rc = st_mesh_box_check(box, comm->n_ranks, err);

    if (rc != ST_OK) {
        return rc; /* the same on all ranks: they have the same box */
    }
    struct plan p = plan_of(comm, box);
    rc = allocate(&p, comm, err);
    if (rc == ST_OK) {
        build(&p);
    }
    st_free(p.halo);
    rc = stm_agree(comm, rc, err);
    if (rc != ST_OK) {
        st_mesh_destroy(&p.mesh);
        return rc;
    }
    *out = p.mesh;
    return ST_OK;
}
