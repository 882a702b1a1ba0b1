/*
 * From blocks of the file's order to parts. Who has a face's owner in its block completes the
 * face (it asks the neighbour's block for centre and part) and sends it to both parts, so that
 * both have the same numbers to the last bit.
 */
#include "mpi/agree.h"
#include "mpi/blocks.h"
#include "mpi/shuffle.h"
#include "src/base/mem.h"
#include "src/mesh/poly_share.h"

#include <inttypes.h>
#include <math.h>

/* What a neighbour's block tells of it. */
struct beside {
    struct st_vec centre;
    int32_t part;
};

struct move {
    const struct stm_comm *comm;
    const struct st_poly_blocks *blocks;
    const int32_t *part;
    int64_t first, end; /* cells of this rank's block */
    size_t n;           /* faces whose owner is in it */
    int64_t *wanted;    /* [n] their neighbours; cell 0 for boundaries */
    struct beside *mine, *got;
    struct st_poly_link *links; /* [2 n] */
    int *dest;
    struct st_poly_trouble trouble;
    double least_cosine;
};

static bool owns(const struct move *m, const struct st_poly_face *f)
{
    return f->owner >= m->first && f->owner < m->end;
}

static enum st_status allocate(struct move *m, struct st_error *err)
{
    const struct st_poly_blocks *b = m->blocks;

    for (size_t i = 0; i < b->n_held; i++) {
        m->n += owns(m, &b->faces[i]) ? 1 : 0;
    }
    m->wanted = st_calloc(err, m->n, sizeof *m->wanted);
    m->mine = st_calloc(err, b->n_mine, sizeof *m->mine);
    m->got = st_calloc(err, m->n, sizeof *m->got);
    m->links = st_calloc(err, 2 * m->n, sizeof *m->links);
    m->dest = st_calloc(err, 2 * m->n, sizeof *m->dest);
    const bool is_whole = m->wanted != NULL && m->mine != NULL && m->got != NULL &&
                          m->links != NULL && m->dest != NULL;
    return stm_agree(m->comm, is_whole ? ST_OK : ST_ERR_MEMORY, err);
}

static enum st_status ask(struct move *m, struct st_error *err)
{
    const struct st_poly_blocks *b = m->blocks;
    const struct stm_spread_array all = {b->n_cells, sizeof *m->mine, m->mine};
    size_t n = 0;

    for (size_t i = 0; i < b->n_held; i++) {
        if (owns(m, &b->faces[i])) {
            m->wanted[n++] = b->faces[i].neighbour < 0 ? 0 : b->faces[i].neighbour;
        }
    }
    for (size_t c = 0; c < b->n_mine; c++) {
        m->mine[c] = (struct beside){b->cells[c].centre, m->part[c]};
    }
    return stm_shuffle_fetch(m->comm, &all, m->n, m->wanted, m->got, err);
}

/* The way between the centres, and the owner's share in linear interpolation (OpenFOAM,
 * surfaceInterpolation::makeWeights). */
static struct st_poly_link complete(struct move *m, const struct st_poly_face *f,
                                    const struct beside *beside)
{
    const int64_t c = f->owner - m->first;
    const struct st_vec out = st_vec_minus(f->centre, m->blocks->cells[c].centre);
    struct st_poly_link link = {.id = f->id,
                                .owner = f->owner,
                                .neighbour = f->neighbour,
                                .patch = f->patch,
                                .owner_rank = m->part[c],
                                .neighbour_rank = -1,
                                .area = f->area,
                                .d = out,
                                .weight = 1.0};

    if (f->neighbour >= 0) {
        const struct st_vec in = st_vec_minus(beside->centre, f->beyond);
        const double own = fabs(st_vec_dot(f->area, out));
        const double other = fabs(st_vec_dot(f->area, in));
        link.d = st_vec_plus(out, in);
        link.weight = other / (own + other);
        link.neighbour_rank = beside->part;
    }
    const double cosine =
        st_vec_dot(f->area, link.d) / (st_vec_length(f->area) * st_vec_length(link.d));
    if (!(cosine > 0.0)) {
        st_poly_complain(&m->trouble, f->id,
                         "face %" PRId64 " of cell %" PRId64
                         " points against the way to the %s: the mesh is turned inside "
                         "out here (checkMesh shows such faces)",
                         f->id, f->owner,
                         f->neighbour < 0 ? "boundary" : "cell beyond it");
    }
    if (f->neighbour >= 0 && !(cosine >= m->least_cosine)) {
        m->least_cosine = cosine;
    }
    return link;
}

static size_t complete_all(struct move *m)
{
    const struct st_poly_blocks *b = m->blocks;
    size_t n = 0;
    size_t at = 0;

    for (size_t i = 0; i < b->n_held; i++) {
        if (!owns(m, &b->faces[i])) {
            continue;
        }
        const struct st_poly_link link = complete(m, &b->faces[i], &m->got[at++]);
        m->dest[n] = link.owner_rank;
        m->links[n++] = link;
        if (link.neighbour_rank >= 0 && link.neighbour_rank != link.owner_rank) {
            m->dest[n] = link.neighbour_rank;
            m->links[n++] = link;
        }
    }
    return n;
}

static enum st_status run(struct move *m, const struct st_poly_source *source,
                          struct st_poly_share *out, struct st_error *err)
{
    const struct st_poly_blocks *b = m->blocks;
    size_t n = 0;
    void *got = NULL;
    enum st_status rc = allocate(m, err);

    if (rc == ST_OK) {
        rc = ask(m, err);
    }
    if (rc == ST_OK) {
        n = complete_all(m);
        rc = st_poly_settle(m->comm, source, &m->trouble, err);
    }
    if (rc == ST_OK) {
        rc = stm_shuffle_send(m->comm, sizeof *m->links, n, m->links, m->dest,
                              &out->n_links, &got, err);
        out->links = got;
        got = NULL;
    }
    if (rc == ST_OK) {
        /* By rank of the sender, and each sends by rising number: all come by rising number. */
        rc = stm_shuffle_send(m->comm, sizeof *b->cells, b->n_mine, b->cells, m->part,
                              &out->n_cells, &got, err);
        out->cells = got;
    }
    return rc;
}

enum st_status st_poly_move(const struct stm_comm *comm,
                            const struct st_poly_source *source,
                            const struct st_poly_blocks *blocks, const int32_t *part,
                            struct st_poly_share *out, double *least_cosine,
                            struct st_error *err)
{
    const int64_t first = stm_block_start(blocks->n_cells, comm->n_ranks, comm->rank);
    struct move m = {.comm = comm,
                     .blocks = blocks,
                     .part = part,
                     .first = first,
                     .end = first + (int64_t)blocks->n_mine,
                     .trouble = {.face = INT64_MAX},
                     .least_cosine = 1.0};

    *out = (struct st_poly_share){0};
    const enum st_status rc = run(&m, source, out, err);
    *least_cosine = m.least_cosine;
    st_free(m.wanted);
    st_free(m.mine);
    st_free(m.got);
    st_free(m.links);
    st_free(m.dest);
    return rc;
}

void st_poly_share_clear(struct st_poly_share *share)
{
    st_free(share->cells);
    st_free(share->links);
    *share = (struct st_poly_share){0};
}
