/*
 * The mesh of one rank: cells renumbered (reverse Cuthill-McKee), faces sorted into
 * upper-triangular order, patches, halos. Halo faces are sorted by the rank beside them and
 * by their number in the file, so both sides list them alike without talking.
 */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/graph/rcm.h"
#include "src/mesh/poly_share.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum place {
    INSIDE,
    BOUNDARY,
    HALO
};

/* Where a face goes. */
struct slot {
    int32_t place;
    int32_t first, second; /* cells inside; the patch; the rank beside it */
    int64_t id;
    size_t link;
    int32_t cell;    /* the owner here */
    bool is_flipped; /* the link's owner is on the other side */
};

struct build {
    const struct stm_comm *comm;
    const struct st_poly_blocks *blocks;
    const struct st_poly_share *share;
    int32_t n_cells;
    int32_t *new_of; /* [n_cells] new number by place in share->cells */
    int32_t *order;  /* [n_cells] the other way round */
    int32_t *start, *adjacent;
    struct slot *slots; /* [n_links] */
    int32_t *patch_of;  /* [blocks n_patches] number in the mesh, -1: cyclic */
    int32_t n_kept;     /* patches but cyclic ones */
    struct st_mesh *mesh;
};

/* Place of a cell in share->cells; -1: of another rank. */
static int32_t find_cell(const struct st_poly_share *share, int64_t id)
{
    size_t low = 0;
    size_t high = share->n_cells;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (share->cells[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < share->n_cells && share->cells[low].id == id ? (int32_t)low : -1;
}

/* Faces between cells of this rank, as places in share->cells. */
static bool is_inside(const struct build *b, const struct st_poly_link *link)
{
    return link->owner_rank == b->comm->rank && link->neighbour_rank == b->comm->rank;
}

/* Number the slots' cells by place, and the graph of the cells. */
static void make_graph(struct build *b)
{
    const struct st_poly_share *s = b->share;

    for (size_t i = 0; i < s->n_links; i++) {
        const struct st_poly_link *link = &s->links[i];
        struct slot *slot = &b->slots[i];
        *slot = (struct slot){.id = link->id, .link = i};
        slot->is_flipped = link->owner_rank != b->comm->rank;
        slot->cell = find_cell(s, slot->is_flipped ? link->neighbour : link->owner);
        if (is_inside(b, link)) {
            slot->place = INSIDE;
            slot->second = find_cell(s, link->neighbour);
            b->start[slot->cell + 1]++;
            b->start[slot->second + 1]++;
        } else if (link->neighbour < 0) {
            slot->place = BOUNDARY;
            slot->first = b->patch_of[link->patch];
        } else {
            slot->place = HALO;
            slot->first = slot->is_flipped ? link->owner_rank : link->neighbour_rank;
        }
    }
    for (int32_t c = 0; c < b->n_cells; c++) {
        b->start[c + 1] += b->start[c];
    }
    for (size_t i = 0; i < s->n_links; i++) {
        const struct slot *slot = &b->slots[i];
        if (slot->place == INSIDE) { /* new_of counts for a moment */
            const int32_t c = slot->cell;
            const int32_t n = slot->second;
            b->adjacent[b->start[c] + b->new_of[c]++] = n;
            b->adjacent[b->start[n] + b->new_of[n]++] = c;
        }
    }
}

static int compare(const void *left, const void *right)
{
    const struct slot *a = left;
    const struct slot *b = right;

    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->second != b->second) {
        return a->second < b->second ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

/* New numbers, and the faces in the order they need. */
static void sort_faces(struct build *b)
{
    for (int32_t c = 0; c < b->n_cells; c++) {
        b->new_of[b->order[c]] = c;
    }
    for (size_t i = 0; i < b->share->n_links; i++) {
        struct slot *slot = &b->slots[i];
        slot->cell = b->new_of[slot->cell];
        if (slot->place == INSIDE) {
            const int32_t other = b->new_of[slot->second];
            slot->is_flipped = other < slot->cell;
            slot->first = slot->is_flipped ? other : slot->cell;
            slot->second = slot->is_flipped ? slot->cell : other;
            slot->cell = slot->first;
        }
    }
    qsort(b->slots, b->share->n_links, sizeof *b->slots, compare);
}

static enum st_status allocate(struct build *b, struct st_error *err)
{
    const size_t n_cells = b->share->n_cells;
    const size_t n_links = b->share->n_links;
    size_t n_inside = 0;

    if (n_cells > INT32_MAX - 1 || n_links > INT32_MAX / 2) {
        return st_fail(err, ST_ERR_STEP,
                       "%zu cells with %zu faces on one rank are too many for 32-bit "
                       "numbers; use more ranks",
                       n_cells, n_links);
    }
    for (size_t i = 0; i < n_links; i++) {
        n_inside += is_inside(b, &b->share->links[i]) ? 1 : 0;
    }
    b->n_cells = (int32_t)n_cells;
    b->new_of = st_calloc(err, n_cells, sizeof *b->new_of);
    b->order = st_calloc(err, n_cells, sizeof *b->order);
    b->start = st_calloc(err, n_cells + 1, sizeof *b->start);
    b->adjacent = st_calloc(err, 2 * n_inside, sizeof *b->adjacent);
    b->slots = st_calloc(err, n_links, sizeof *b->slots);
    b->patch_of = st_calloc(err, b->blocks->n_patches, sizeof *b->patch_of);
    const bool is_whole = b->new_of != NULL && b->order != NULL && b->start != NULL &&
                          b->adjacent != NULL && b->slots != NULL && b->patch_of != NULL;
    return is_whole ? ST_OK : ST_ERR_MEMORY;
}

static enum st_status allocate_mesh(struct build *b, struct st_error *err)
{
    const size_t n_cells = b->share->n_cells;
    const size_t n_faces = b->share->n_links;
    struct st_mesh *m = st_calloc(err, 1, sizeof *m);
    size_t n_halos = 0;

    b->mesh = m;
    if (m == NULL) {
        return ST_ERR_MEMORY;
    }
    m->comm = *b->comm;
    m->n_cells = b->n_cells;
    m->n_faces = (int32_t)n_faces;
    for (size_t i = 0; i < n_faces; i++) {
        const struct slot *slot = &b->slots[i];
        m->n_internal += slot->place == INSIDE ? 1 : 0;
        n_halos += slot->place == HALO && (i == 0 || b->slots[i - 1].place != HALO ||
                                           b->slots[i - 1].first != slot->first)
                       ? 1
                       : 0;
    }
    m->owner = st_calloc(err, n_faces, sizeof *m->owner);
    m->neighbour = st_calloc(err, (size_t)m->n_internal, sizeof *m->neighbour);
    m->patches = st_calloc(err, (size_t)b->n_kept + n_halos, sizeof *m->patches);
    m->centre = st_calloc(err, n_cells, sizeof *m->centre);
    m->volume = st_calloc(err, n_cells, sizeof *m->volume);
    m->area = st_calloc(err, n_faces, sizeof *m->area);
    m->d = st_calloc(err, n_faces, sizeof *m->d);
    m->weight = st_calloc(err, n_faces, sizeof *m->weight);
    m->cell_global = st_calloc(err, n_cells, sizeof *m->cell_global);
    const bool is_whole = m->owner != NULL && m->neighbour != NULL &&
                          m->patches != NULL && m->centre != NULL && m->volume != NULL &&
                          m->area != NULL && m->d != NULL && m->weight != NULL &&
                          m->cell_global != NULL;
    return is_whole ? ST_OK : ST_ERR_MEMORY;
}

static void fill_cells(const struct build *b)
{
    for (int32_t c = 0; c < b->n_cells; c++) {
        const struct st_poly_cell *cell = &b->share->cells[b->order[c]];
        b->mesh->centre[c] = cell->centre;
        b->mesh->volume[c] = cell->volume;
        b->mesh->cell_global[c] = cell->id;
    }
}

static void fill_faces(const struct build *b)
{
    struct st_mesh *m = b->mesh;

    for (int32_t f = 0; f < m->n_faces; f++) {
        const struct slot *slot = &b->slots[f];
        const struct st_poly_link *link = &b->share->links[slot->link];
        const double sign = slot->is_flipped ? -1.0 : 1.0;
        m->owner[f] = slot->cell;
        m->area[f] = st_vec_times(sign, link->area);
        m->d[f] = st_vec_times(sign, link->d);
        m->weight[f] = slot->is_flipped ? 1.0 - link->weight : link->weight;
        if (f < m->n_internal) {
            const int32_t width = slot->second - slot->first;
            m->neighbour[f] = slot->second;
            m->bandwidth = width > m->bandwidth ? width : m->bandwidth;
        }
    }
}

/* The patches of the file without faces yet. */
static void name_patches(const struct build *b)
{
    struct st_mesh *m = b->mesh;

    for (size_t i = 0; i < b->blocks->n_patches; i++) {
        const struct st_poly_patch *from = &b->blocks->patches[i];
        if (b->patch_of[i] < 0) {
            continue;
        }
        struct st_patch *to = &m->patches[m->n_patches++];
        memcpy(to->name, from->name, sizeof to->name);
        memcpy(to->type, from->type, sizeof to->type);
        to->kind = strcmp(from->type, "empty") == 0 ? ST_PATCH_EMPTY : ST_PATCH_BOUNDARY;
        to->rank = -1;
    }
}

static void fill_patches(const struct build *b)
{
    static const char halo[] = "processor";
    struct st_mesh *m = b->mesh;

    name_patches(b);
    for (int32_t f = m->n_internal; f < m->n_faces; f++) {
        const struct slot *slot = &b->slots[f];
        if (slot->place == BOUNDARY) {
            m->patches[slot->first].n++;
        } else {
            if (b->slots[f].place == HALO && (f == 0 || b->slots[f - 1].place != HALO ||
                                              b->slots[f - 1].first != slot->first)) {
                struct st_patch *patch = &m->patches[m->n_patches++];
                memcpy(patch->type, halo, sizeof halo);
                patch->kind = ST_PATCH_HALO;
                patch->rank = slot->first;
            }
            m->patches[m->n_patches - 1].n++;
        }
    }
    int32_t next = m->n_internal;
    for (size_t i = 0; i < m->n_patches; i++) {
        m->patches[i].start = next;
        next += m->patches[i].n;
    }
}

/* Counts of the whole mesh. */
static enum st_status count_all(const struct build *b, struct st_error *err)
{
    struct st_mesh *m = b->mesh;
    int64_t sums[2] = {m->n_internal, 0};

    for (size_t i = 0; i < m->n_patches; i++) {
        sums[1] += m->patches[i].kind == ST_PATCH_HALO ? m->patches[i].n : 0;
    }
    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, b->comm->handle));
    m->cut_faces = sums[1] / 2;
    m->n_internal_global = sums[0] + m->cut_faces;
    m->n_cells_global = b->blocks->n_cells;
    return ST_OK;
}

static enum st_status run(struct build *b, struct st_error *err)
{
    enum st_status rc = allocate(b, err);

    for (size_t i = 0; rc == ST_OK && i < b->blocks->n_patches; i++) {
        b->patch_of[i] = b->blocks->patches[i].beyond >= 0 ? -1 : b->n_kept++;
    }
    if (rc == ST_OK) {
        make_graph(b);
        rc = st_rcm(b->n_cells, b->start, b->adjacent, b->order, err);
    }
    if (rc == ST_OK) {
        sort_faces(b);
        rc = allocate_mesh(b, err);
    }
    if (rc == ST_OK) {
        fill_cells(b);
        fill_faces(b);
        fill_patches(b);
    }
    rc = stm_agree(b->comm, rc, err);
    return rc == ST_OK ? count_all(b, err) : rc;
}

enum st_status st_poly_build(const struct stm_comm *comm,
                             const struct st_poly_blocks *blocks,
                             const struct st_poly_share *share, struct st_mesh **out,
                             struct st_error *err)
{
    struct build b = {.comm = comm, .blocks = blocks, .share = share};
    const enum st_status rc = run(&b, err);

    st_free(b.new_of);
    st_free(b.order);
    st_free(b.start);
    st_free(b.adjacent);
    st_free(b.slots);
    st_free(b.patch_of);
    if (rc != ST_OK) {
        st_mesh_destroy(&b.mesh);
        return rc;
    }
    *out = b.mesh;
    return ST_OK;
}
