/*
 * Which rank gets which cell. For PT-SCOTCH the cells' graph is made from the faces of the
 * blocks, each pair of cells once however many faces it shares.
 */
#include "src/mesh/poly_parts.h"

#include "mpi/agree.h"
#include "mpi/blocks.h"
#include "src/base/mem.h"
#include "src/graph/partition.h"
#include "src/mesh/rcb.h"

#include <stdlib.h>

struct cells_graph {
    int64_t *vertex_start; /* [n_ranks + 1] */
    int64_t *start;        /* [n_mine + 1] */
    int64_t *adjacent;
};

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Neighbours of each cell; @p ends: [n_mine] zeroed, out: their numbers. */
static void fill_rows(const struct st_poly_blocks *b, int64_t first,
                      const struct cells_graph *g, int64_t *ends)
{
    const int64_t end = first + (int64_t)b->n_mine;

    for (size_t i = 0; i < b->n_held; i++) {
        const struct st_poly_face *f = &b->faces[i];
        if (f->neighbour < 0) {
            continue;
        }
        if (f->owner >= first && f->owner < end) {
            const int64_t c = f->owner - first;
            g->adjacent[g->start[c] + ends[c]++] = f->neighbour;
        }
        if (f->neighbour >= first && f->neighbour < end) {
            const int64_t c = f->neighbour - first;
            g->adjacent[g->start[c] + ends[c]++] = f->owner;
        }
    }
}

/* Each neighbour once, rows moved together. */
static void squeeze(const struct st_poly_blocks *b, struct cells_graph *g,
                    const int64_t *ends)
{
    int64_t kept = 0;

    for (size_t c = 0; c < b->n_mine; c++) {
        int64_t *row = g->adjacent + g->start[c];
        qsort(row, (size_t)ends[c], sizeof *row, compare);
        g->start[c] = kept;
        for (int64_t k = 0; k < ends[c]; k++) {
            if (k == 0 || row[k] != row[k - 1]) {
                g->adjacent[kept++] = row[k];
            }
        }
    }
    g->start[b->n_mine] = kept;
}

static enum st_status make_graph(const struct stm_comm *comm,
                                 const struct st_poly_blocks *b, struct cells_graph *g,
                                 struct st_error *err)
{
    const int n_ranks = comm->n_ranks;
    const int64_t first = stm_block_start(b->n_cells, n_ranks, comm->rank);
    int64_t *ends = st_calloc(err, b->n_mine, sizeof *ends);

    g->vertex_start = st_calloc(err, (size_t)n_ranks + 1, sizeof *g->vertex_start);
    g->start = st_calloc(err, b->n_mine + 1, sizeof *g->start);
    g->adjacent = st_calloc(err, 2 * b->n_held, sizeof *g->adjacent);
    if (ends == NULL || g->vertex_start == NULL || g->start == NULL ||
        g->adjacent == NULL) {
        st_free(ends);
        return ST_ERR_MEMORY;
    }
    for (int rank = 0; rank <= n_ranks; rank++) {
        g->vertex_start[rank] = stm_block_start(b->n_cells, n_ranks, rank);
    }
    for (size_t i = 0; i < b->n_held; i++) {
        const struct st_poly_face *f = &b->faces[i];
        const int64_t cells[2] = {f->owner - first, f->neighbour - first};
        for (int side = 0; side < 2 && f->neighbour >= 0; side++) {
            if (cells[side] >= 0 && cells[side] < (int64_t)b->n_mine) {
                g->start[cells[side] + 1]++;
            }
        }
    }
    for (size_t c = 0; c < b->n_mine; c++) {
        g->start[c + 1] += g->start[c];
    }
    fill_rows(b, first, g, ends);
    squeeze(b, g, ends);
    st_free(ends);
    return ST_OK;
}

static enum st_status by_scotch(const struct stm_comm *comm,
                                const struct st_poly_blocks *blocks, int32_t *part,
                                struct st_error *err)
{
    struct cells_graph g = {.start = NULL};
    enum st_status rc = stm_agree(comm, make_graph(comm, blocks, &g, err), err);

    if (rc == ST_OK) {
        const struct st_graph graph = {
            .vertex_start = g.vertex_start, .start = g.start, .adjacent = g.adjacent};
        rc = st_graph_partition(comm, &graph, comm->n_ranks, part, NULL, err);
    }
    st_free(g.vertex_start);
    st_free(g.start);
    st_free(g.adjacent);
    return rc;
}

enum st_status st_poly_choose_parts(const struct stm_comm *comm,
                                    enum st_poly_partition partition,
                                    const struct st_poly_blocks *blocks, int32_t *part,
                                    struct st_error *err)
{
    switch (partition) {
    case ST_POLY_BY_LINEAR:
        for (size_t c = 0; c < blocks->n_mine; c++) {
            part[c] = comm->rank;
        }
        return ST_OK;
    case ST_POLY_BY_BLOCKS:
        return st_rcb(comm, comm->n_ranks, blocks->n_mine, blocks->cells, part, err);
    case ST_POLY_BY_SCOTCH:
        return by_scotch(comm, blocks, part, err);
    }
    return st_fail(err, ST_ERR_INTERNAL, "partition %d is not known", (int)partition);
}
