/*
 * A distributed matrix in the form of src/flow/ldu.h, where each entry above the diagonal is a
 * face, each entry of the rest an interface face; and the cycle.
 */
#include "src/benchmarks/part_multigrid.h"

#include "mpi/agree.h"
#include "mpi/halo.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COARSEST_SWEEPS = 8
};

/* Plain sums make corrections too small; below 2 the cycle stays positive definite. */
static const double OVERCORRECTION = 1.6;

/* An entry of the rest: both ranks sort theirs by rank, lower and higher row. */
struct shared {
    int rank;
    uint64_t low, high;
    int32_t row;
    double value;
};

static int compare_shared(const void *left, const void *right)
{
    const struct shared *a = left;
    const struct shared *b = right;

    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->low != b->low) {
        return a->low < b->low ? -1 : 1;
    }
    return (a->high > b->high) - (a->high < b->high);
}

static enum st_status make_faces(struct st_multigrid *g, const struct st_matrix *m,
                                 struct st_error *err)
{
    const struct stk_csr *csr = &m->interior;
    size_t n = 0;

    for (size_t i = 0; i < m->n_rows; i++) {
        for (size_t k = csr->row_start[i]; k < csr->row_start[i + 1]; k++) {
            n += (size_t)csr->columns[k] > i ? 1 : 0;
        }
    }
    g->owner = st_calloc(err, n, sizeof *g->owner);
    g->neighbour = st_calloc(err, n, sizeof *g->neighbour);
    g->owner_start = st_calloc(err, m->n_rows + 1, sizeof *g->owner_start);
    g->a.upper = st_calloc(err, n, sizeof *g->a.upper);
    g->a.diag = st_calloc(err, m->n_rows, sizeof *g->a.diag);
    if (g->owner == NULL || g->neighbour == NULL || g->owner_start == NULL ||
        g->a.upper == NULL || g->a.diag == NULL) {
        return ST_ERR_MEMORY;
    }
    n = 0;
    for (size_t i = 0; i < m->n_rows; i++) {
        for (size_t k = csr->row_start[i]; k < csr->row_start[i + 1]; k++) {
            const size_t column = (size_t)csr->columns[k];
            if (column == i) {
                g->a.diag[i] = csr->values[k];
            } else if (column > i) {
                g->owner[n] = (int32_t)i;
                g->neighbour[n] = csr->columns[k];
                g->a.upper[n++] = csr->values[k];
            }
        }
        g->owner_start[i + 1] = (int32_t)n;
    }
    g->a.lower = g->a.upper;
    g->addr.n_cells = (int32_t)m->n_rows;
    g->addr.n_faces = (int32_t)n;
    return ST_OK;
}

static void list_shared(const struct st_matrix *m, size_t n_ranks, struct shared *list)
{
    const struct stk_csr_rows *rest = &m->rest;
    const size_t n_rest_rows = rest->entries.rows.start[rest->entries.rows.n_parts];
    size_t n = 0;

    for (size_t i = 0; i < n_rest_rows; i++) {
        const uint64_t row = m->first_row + rest->rows[i];
        for (size_t k = rest->entries.row_start[i]; k < rest->entries.row_start[i + 1];
             k++) {
            const uint64_t column = m->ghost_rows[rest->entries.columns[k]];
            list[n++] =
                (struct shared){.rank = (int)stm_owner(n_ranks, m->row_start, column),
                                .low = row < column ? row : column,
                                .high = row < column ? column : row,
                                .row = (int32_t)rest->rows[i],
                                .value = rest->entries.values[k]};
        }
    }
    if (n > 1) {
        qsort(list, n, sizeof *list, compare_shared);
    }
}

/* @param counts [n_ranks] out: entries shared with each rank
 * @param prints [n_ranks] out: which ones */
static enum st_status make_interface(struct st_multigrid *g, const struct st_matrix *m,
                                     size_t n_ranks, uint64_t *counts, uint64_t *prints,
                                     struct st_error *err)
{
    const struct stk_csr_rows *rest = &m->rest;
    const size_t n =
        rest->entries.row_start[rest->entries.rows.start[rest->entries.rows.n_parts]];
    struct shared *list = st_calloc(err, n, sizeof *list);

    g->interface_cell = st_calloc(err, n, sizeof *g->interface_cell);
    g->a.coupling = st_calloc(err, n, sizeof *g->a.coupling);
    g->sides = st_calloc(err, n_ranks, sizeof *g->sides);
    if (list == NULL || g->interface_cell == NULL || g->a.coupling == NULL ||
        g->sides == NULL) {
        st_free(list);
        return ST_ERR_MEMORY;
    }
    list_shared(m, n_ranks, list);
    for (size_t k = 0; k < n; k++) {
        if (k == 0 || list[k].rank != list[k - 1].rank) {
            g->sides[g->addr.n_sides++] =
                (struct st_ldu_side){.rank = list[k].rank, .start = (int32_t)k};
        }
        g->sides[g->addr.n_sides - 1].n++;
        g->interface_cell[k] = list[k].row;
        g->a.coupling[k] = list[k].value;
        counts[list[k].rank]++;
        prints[list[k].rank] =
            prints[list[k].rank] * 1000003U + (list[k].low * 31U + list[k].high);
    }
    g->addr.n_interface = (int32_t)n;
    st_free(list);
    return ST_OK;
}

/* Messages of unlike lengths would not arrive: both sides must list the same entries. */
static enum st_status check_interface(const struct stm_comm *comm, uint64_t *mine,
                                      uint64_t *theirs, struct st_error *err)
{
    const size_t n_ranks = (size_t)comm->n_ranks;
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < 2; i++) { /* counts, then prints */
        STM_TRY(err, MPI_Alltoall(mine + i * n_ranks, 1, MPI_UINT64_T,
                                  theirs + i * n_ranks, 1, MPI_UINT64_T, comm->handle));
    }
    for (size_t r = 0; r < n_ranks && rc == ST_OK; r++) {
        if (mine[r] != theirs[r] || mine[n_ranks + r] != theirs[n_ranks + r]) {
            rc =
                st_fail(err, ST_ERR_STEP,
                        "preconditioner: multigrid needs a symmetric pattern: rank %d "
                        "stores %" PRIu64 " entries in columns of rank %zu, which stores "
                        "others in return; use jacobi",
                        comm->rank, mine[r], r);
        }
    }
    return stm_agree(comm, rc, err);
}

static enum st_status make_levels(struct st_multigrid *g, struct st_error *err)
{
    double *weights = st_calloc(err, (size_t)g->addr.n_faces, sizeof *weights);
    enum st_status rc =
        stm_agree(&g->addr.comm, weights == NULL ? ST_ERR_MEMORY : ST_OK, err);

    for (int32_t f = 0; rc == ST_OK && weights != NULL && f < g->addr.n_faces; f++) {
        weights[f] = fabs(g->a.upper[f]);
    }
    if (rc == ST_OK) {
        rc = st_gamg_create(&g->addr, weights, &g->levels, err);
    }
    st_free(weights);
    if (rc == ST_OK) {
        st_gamg_load(g->levels, &g->a);
    }
    return rc;
}

enum st_status st_multigrid_create(const struct stm_comm *comm,
                                   const struct st_matrix *matrix,
                                   struct st_multigrid **out, struct st_error *err)
{
    const size_t n_ranks = (size_t)comm->n_ranks;
    struct st_multigrid *g = st_calloc(err, 1, sizeof *g);
    uint64_t *counts = st_calloc(err, 4 * n_ranks, sizeof *counts);
    enum st_status rc = g == NULL || counts == NULL ? ST_ERR_MEMORY : ST_OK;

    if (rc == ST_OK && g != NULL) {
        rc = make_faces(g, matrix, err);
    }
    if (rc == ST_OK && g != NULL && counts != NULL) {
        rc = make_interface(g, matrix, n_ranks, counts, counts + n_ranks, err);
    }
    rc = stm_agree(comm, rc, err);
    if (rc == ST_OK && counts != NULL) {
        rc = check_interface(comm, counts, counts + 2 * n_ranks, err);
    }
    st_free(counts);
    if (rc == ST_OK && g != NULL) {
        g->addr.comm = *comm;
        g->addr.owner = g->owner;
        g->addr.neighbour = g->neighbour;
        g->addr.owner_start = g->owner_start;
        g->addr.is_uneven = stk_ldu_is_uneven(matrix->n_rows, g->owner_start);
        g->addr.sides = g->sides;
        g->addr.interface_cell = g->interface_cell;
        g->a.addr = &g->addr;
        rc = make_levels(g, err);
    }
    if (rc != ST_OK) {
        st_multigrid_destroy(&g);
        return rc;
    }
    *out = g;
    return ST_OK;
}

void st_multigrid_destroy(struct st_multigrid **multigrid)
{
    if (multigrid == NULL || *multigrid == NULL) {
        return;
    }
    struct st_multigrid *g = *multigrid;
    *multigrid = NULL;
    st_gamg_destroy(&g->levels);
    st_free(g->owner);
    st_free(g->neighbour);
    st_free(g->owner_start);
    st_free(g->interface_cell);
    st_free(g->sides);
    st_free(g->a.diag);
    st_free(g->a.upper);
    st_free(g->a.coupling);
    st_free(g);
}

/* Symmetric sweeps; other ranks' values stay those of a sweep's start. */
static enum st_status smooth(struct st_gamg_level *l, const double *b, double *x,
                             int n_sweeps, bool from_zero, struct st_error *err)
{
    const struct stk_ldu a = st_ldu_view(&l->a);
    enum st_status rc = ST_OK;

    for (int i = 0; i < n_sweeps && rc == ST_OK; i++) {
        const bool has_outside = i > 0 || !from_zero;
        memcpy(l->work, b, a.n_cells * sizeof(double));
        if (has_outside) {
            rc = st_ldu_exchange_start(&l->exchange, l->addr.interface_cell, x, err);
            if (rc == ST_OK) {
                rc = st_ldu_exchange_finish(&l->exchange, err);
            }
            st_ldu_add_interface(&l->a, -1.0, l->exchange.ghost, l->work);
        }
        stk_ldu_gauss_seidel(&a, l->work, x);
    }
    return rc;
}

/* The residual's sums to the next level. */
static enum st_status descend(struct st_gamg_level *l, const double *b, const double *x,
                              struct st_gamg_level *next, struct st_error *err)
{
    const enum st_status rc = st_ldu_multiply(&l->exchange, &l->a, x, l->work, err);

    memset(next->b, 0, (size_t)next->addr.n_cells * sizeof(double));
    for (int32_t c = 0; c < l->addr.n_cells; c++) {
        next->b[l->coarse_of[c]] += b[c] - l->work[c];
    }
    return rc;
}

enum st_status st_multigrid_apply(struct st_multigrid *multigrid, const double *in,
                                  double *out, struct st_error *err)
{
    struct st_gamg *g = multigrid->levels;
    const int last = g->n_levels - 1;
    enum st_status rc = ST_OK;

    for (int i = 0; i <= last && rc == ST_OK; i++) {
        struct st_gamg_level *l = &g->level[i];
        double *x = i == 0 ? out : l->x;
        const double *b = i == 0 ? in : l->b;
        memset(x, 0, (size_t)l->addr.n_cells * sizeof(double));
        rc = smooth(l, b, x, i == last ? COARSEST_SWEEPS : 1, true, err);
        if (rc == ST_OK && i < last) {
            rc = descend(l, b, x, &g->level[i + 1], err);
        }
    }
    for (int i = last - 1; i >= 0 && rc == ST_OK; i--) {
        struct st_gamg_level *l = &g->level[i];
        double *x = i == 0 ? out : l->x;
        const double *correction = g->level[i + 1].x;
        for (int32_t c = 0; c < l->addr.n_cells; c++) {
            x[c] += OVERCORRECTION * correction[l->coarse_of[c]];
        }
        rc = smooth(l, i == 0 ? in : l->b, x, 1, false, err);
    }
    return rc;
}

double st_multigrid_halo_s(const struct st_multigrid *multigrid)
{
    double sum = 0.0;

    for (int i = 0; i < multigrid->levels->n_levels; i++) {
        sum += multigrid->levels->level[i].exchange.halo_s;
    }
    return sum;
}

double st_multigrid_bytes(double n_rows, double n_entries)
{
    /* Half of the entries are faces: labels, coefficient and map, weights twice, and a pair each
     * while the first level is made, about as much as all levels keep. */
    const double per_face = (4.0 + 4.0 + 8.0 + 4.0) + (8.0 + 8.0) + 12.0 + 2.0;
    const double per_row = (4.0 + 8.0 + 16.0 + 4.0) + (4.0 + 7.0 * 8.0 + 4.0);

    return 0.5 * n_entries * per_face + n_rows * per_row;
}
