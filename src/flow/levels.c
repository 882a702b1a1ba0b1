/*
 * Storage of the fast conjugate gradients.
 *
 * A sweep of DIC through cells in their own order waits in every cell for the one before. In
 * levels (cells whose lower neighbours are all in lower levels; Anderson, Saad, Int. J. High
 * Speed Comput. 1, 1989) rows next to each other do not depend on each other, so loads of many
 * rows are under way at once. Where the mesh is regular their columns follow each other too and
 * the loops need none (stk_run). Cells keep their numbers outside; only this solver's vectors
 * are in row order, in one mapping of huge pages where the system gives them.
 */
#include "src/flow/solver.h"

#include <math.h>
#include <string.h>

enum {
    N_ROW_ARRAYS = 7, /* rest, root, x, r_hat, v, t, w */
    /* Doubles between arrays: not all at one cache set, and a load near a store's row must not
     * have its address in the low twelve bits, for which it would wait. */
    PAD = 136,
    MOST_RUNS_SHARE = 4 /* runs shorter than this on average are not worth it */
};

/* Shapes that rows are told apart by: up to SHAPE_SIDE - 1 entries in either half. */
enum {
    SHAPE_SIDE = 8
};

/* Level of each cell, and on uneven meshes its shape; as one key that sorts by both.
 * @param key [n] out @return number of keys, 0: no memory */
static size_t find_keys(const struct st_ldu_addr *addr, size_t n, int32_t *key,
                        struct st_error *err)
{
    int32_t *n_lower = st_calloc(err, n, sizeof *n_lower);
    const int32_t n_shapes = addr->is_uneven ? SHAPE_SIDE * SHAPE_SIDE : 1;
    int32_t most = 0;

    if (n_lower == NULL) {
        return 0;
    }
    for (int32_t f = 0; f < addr->n_faces; f++) {
        /* Faces are sorted by owner: an owner's level is final when its faces come. */
        const int32_t above = key[addr->owner[f]] + 1;
        int32_t *its = &key[addr->neighbour[f]];
        *its = above > *its ? above : *its;
        n_lower[addr->neighbour[f]]++;
    }
    for (size_t c = 0; c < n; c++) {
        const int32_t n_upper = addr->owner_start[c + 1] - addr->owner_start[c];
        const int32_t low = n_lower[c] < SHAPE_SIDE ? n_lower[c] : SHAPE_SIDE - 1;
        const int32_t high = n_upper < SHAPE_SIDE ? n_upper : SHAPE_SIDE - 1;
        most = key[c] > most ? key[c] : most;
        key[c] = key[c] * n_shapes + (n_shapes > 1 ? low * SHAPE_SIDE + high : 0);
    }
    st_free(n_lower);
    return ((size_t)most + 1) * (size_t)n_shapes;
}

/*
 * Cells by level, and within a level by number. On uneven meshes rows of one shape stand together
 * within a level, so that the ends of rows can be foreseen. level: [n] out, of each row: rows of
 * one have no entry in each other's columns.
 */
static bool order_cells(const struct st_ldu_addr *addr, struct st_levels *l,
                        int32_t *level, struct st_error *err)
{
    int32_t *key = st_calloc(err, l->n, sizeof *key);
    const size_t n_keys = key != NULL ? find_keys(addr, l->n, key, err) : 0;
    int32_t *start = n_keys > 0 ? st_calloc(err, n_keys + 1, sizeof *start) : NULL;
    const bool is_whole = start != NULL;

    for (size_t c = 0; is_whole && c < l->n; c++) {
        start[key[c] + 1]++;
    }
    for (size_t i = 0; is_whole && i < n_keys; i++) {
        start[i + 1] += start[i];
    }
    for (size_t c = 0; is_whole && c < l->n; c++) {
        const int32_t row = start[key[c]]++;
        l->row_of[c] = row;
        l->cell_of[row] = (int32_t)c;
        level[row] = key[c];
    }
    st_free(start);
    st_free(key);
    return is_whole;
}

/* Entries of a half by row: @p own is the cell of the row, @p other that of the column.
 * @return most entries of a row, -1: no memory */
static int32_t make_half(const struct st_ldu_addr *addr, const struct st_levels *l,
                         struct st_half *half, const int32_t *own, const int32_t *other,
                         struct st_error *err)
{
    const size_t n_faces = (size_t)addr->n_faces;
    int32_t most = 0;

    half->start = st_calloc(err, l->n + 1, sizeof *half->start);
    half->column = st_calloc(err, n_faces, sizeof *half->column);
    half->face = st_calloc(err, n_faces, sizeof *half->face);
    if (half->start == NULL || half->column == NULL || half->face == NULL) {
        return -1;
    }
    for (size_t f = 0; f < n_faces; f++) {
        half->start[l->row_of[own[f]] + 1]++;
    }
    for (size_t i = 0; i < l->n; i++) {
        most = half->start[i + 1] > most ? half->start[i + 1] : most;
        half->start[i + 1] += half->start[i];
    }
    for (size_t f = 0; f < n_faces; f++) {
        const int32_t k = half->start[l->row_of[own[f]]]++;
        half->column[k] = l->row_of[other[f]];
        half->face[k] = (int32_t)f;
    }
    for (size_t i = l->n; i > 0; i--) { /* back by one row */
        half->start[i] = half->start[i - 1];
    }
    half->start[0] = 0;
    return most;
}

/* Does row i continue the run? Same entries, columns one on; within a level. */
static bool continues(const struct st_half *half, const int32_t *level, size_t i)
{
    const int32_t before = half->start[i - 1];
    const int32_t now = half->start[i];
    const int32_t n = half->start[i + 1] - now;

    if (level[i] != level[i - 1] || n != now - before) {
        return false;
    }
    for (int32_t k = 0; k < n; k++) {
        if (half->column[now + k] != half->column[before + k] + 1) {
            return false;
        }
    }
    return true;
}

static size_t count_runs(const struct st_half *half, const int32_t *level, size_t n)
{
    size_t n_runs = n > 0 ? 1 : 0;

    for (size_t i = 1; i < n; i++) {
        n_runs += continues(half, level, i) ? 0 : 1;
    }
    return n_runs;
}

static bool make_runs(struct st_half *half, const int32_t *level, size_t n,
                      struct st_error *err)
{
    size_t at = 0;

    half->n_runs = count_runs(half, level, n);
    half->runs = st_calloc(err, half->n_runs, sizeof *half->runs);
    half->slot_face = st_calloc(err, STK_RUN_WIDTH * n, sizeof *half->slot_face);
    if (half->runs == NULL || half->slot_face == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t first = half->start[i];
        const int32_t width = half->start[i + 1] - first;
        const bool is_new = i == 0 || !continues(half, level, i);
        if (is_new) {
            half->runs[at++] = (struct stk_run){.row = (int32_t)i};
        }
        struct stk_run *run = &half->runs[at - 1];
        run->n++;
        for (int32_t slot = 0; slot < STK_RUN_WIDTH; slot++) {
            const bool is_there = slot < width;
            half->slot_face[(size_t)slot * n + i] =
                is_there ? half->face[first + slot] : -1;
            if (is_new && is_there) {
                run->column[slot] = half->column[first + slot];
            }
        }
    }
    return true;
}

static void drop_rows(struct st_half *half)
{
    st_free(half->start);
    st_free(half->column);
    st_free(half->face);
    half->start = NULL;
    half->column = NULL;
    half->face = NULL;
}

static double *take(double **at, size_t n)
{
    double *array = *at;

    *at += n + PAD;
    return array;
}

/* All arrays of doubles by row, in one mapping. */
static enum st_status map_arrays(const struct st_ldu_addr *addr, struct st_levels *l,
                                 struct st_error *err)
{
    const size_t n_values =
        l->has_runs ? STK_RUN_WIDTH * (l->n + PAD) : (size_t)addr->n_faces;
    const size_t n = N_ROW_ARRAYS * (l->n + PAD) + 2 * (n_values + PAD);
    const enum st_status rc =
        st_pages_map(err, n * sizeof(double), ST_PAGES_HUGE, &l->map);
    double *at = l->map.base;

    if (rc != ST_OK) {
        return rc;
    }
    l->rest = take(&at, l->n);
    l->root = take(&at, l->n);
    l->x = take(&at, l->n);
    l->r_hat = take(&at, l->n);
    l->v = take(&at, l->n);
    l->t = take(&at, l->n);
    l->w = take(&at, l->n);
    l->lower.value = l->lower.slot_value = take(&at, n_values);
    l->upper.value = l->upper.slot_value = take(&at, n_values);
    return ST_OK;
}

static enum st_status build(const struct st_ldu_addr *addr, struct st_levels *l,
                            int32_t *level, struct st_error *err)
{
    if (!order_cells(addr, l, level, err)) {
        return ST_ERR_MEMORY;
    }
    const int32_t lower =
        make_half(addr, l, &l->lower, addr->neighbour, addr->owner, err);
    const int32_t upper =
        make_half(addr, l, &l->upper, addr->owner, addr->neighbour, err);
    if (lower < 0 || upper < 0) {
        return ST_ERR_MEMORY;
    }
    l->has_runs = lower <= STK_RUN_WIDTH && upper <= STK_RUN_WIDTH &&
                  MOST_RUNS_SHARE * count_runs(&l->lower, level, l->n) <= l->n &&
                  MOST_RUNS_SHARE * count_runs(&l->upper, level, l->n) <= l->n;
    if (l->has_runs) {
        if (!make_runs(&l->lower, level, l->n, err) ||
            !make_runs(&l->upper, level, l->n, err)) {
            return ST_ERR_MEMORY;
        }
        drop_rows(&l->lower);
        drop_rows(&l->upper);
    }
    for (int32_t k = 0; k < addr->n_interface; k++) {
        l->interface_row[k] = l->row_of[addr->interface_cell[k]];
    }
    return map_arrays(addr, l, err);
}

enum st_status st_levels_create(const struct st_ldu_addr *addr, struct st_levels **out,
                                struct st_error *err)
{
    const size_t n = (size_t)addr->n_cells;
    const size_t n_interface = (size_t)addr->n_interface;
    struct st_levels *l = st_calloc(err, 1, sizeof *l);
    int32_t *level = st_calloc(err, n, sizeof *level);
    enum st_status rc = ST_ERR_MEMORY;

    if (l != NULL && level != NULL) {
        l->n = n;
        l->row_of = st_calloc(err, n, sizeof *l->row_of);
        l->cell_of = st_calloc(err, n, sizeof *l->cell_of);
        l->interface_row = st_calloc(err, n_interface, sizeof *l->interface_row);
        l->outgoing = st_calloc(err, n_interface, sizeof *l->outgoing);
        l->kept = st_calloc(err, n_interface, sizeof *l->kept);
        if (l->row_of != NULL && l->cell_of != NULL && l->interface_row != NULL &&
            l->outgoing != NULL && l->kept != NULL) {
            rc = build(addr, l, level, err);
        }
    }
    st_free(level);
    if (rc != ST_OK) {
        st_levels_destroy(&l);
        return rc;
    }
    *out = l;
    return ST_OK;
}

void st_levels_destroy(struct st_levels **levels)
{
    if (levels == NULL || *levels == NULL) {
        return;
    }
    struct st_levels *l = *levels;
    drop_rows(&l->lower);
    drop_rows(&l->upper);
    st_free(l->lower.runs);
    st_free(l->upper.runs);
    st_free(l->lower.slot_face);
    st_free(l->upper.slot_face);
    st_free(l->row_of);
    st_free(l->cell_of);
    st_free(l->interface_row);
    st_free(l->outgoing);
    st_free(l->kept);
    st_pages_unmap(&l->map);
    st_free(l);
    *levels = NULL;
}

double st_levels_bytes(const struct st_levels *l, const struct st_ldu_addr *addr)
{
    const double n = (double)l->n;
    const double halves = l->has_runs
                              ? 24.0 * n + (double)(l->lower.n_runs + l->upper.n_runs) *
                                               (double)sizeof(struct stk_run)
                              : 8.0 * n + 16.0 * addr->n_faces;

    return (double)l->map.map_bytes + 8.0 * n + halves + 20.0 * addr->n_interface;
}

/* @p scale: 1 / root by row. */
static void load_half(const struct st_levels *l, const struct st_half *half,
                      const double *off, const double *scale)
{
    for (size_t i = 0; i < l->n && !l->has_runs; i++) {
        for (int32_t k = half->start[i]; k < half->start[i + 1]; k++) {
            half->value[k] = off[half->face[k]] * scale[i] * scale[half->column[k]];
        }
    }
    for (size_t k = 0; k < half->n_runs; k++) {
        const struct stk_run run = half->runs[k];
        for (size_t slot = 0; slot < STK_RUN_WIDTH; slot++) {
            const int32_t *face = half->slot_face + slot * l->n + run.row;
            double *value = half->slot_value + slot * (l->n + PAD) + run.row;
            for (int32_t i = 0; i < run.n; i++) {
                value[i] = face[i] < 0 ? 0.0
                                       : off[face[i]] * scale[run.row + i] *
                                             scale[run.column[slot] + i];
            }
        }
    }
}

void st_levels_load(struct st_solve *t)
{
    struct st_levels *l = t->s->levels;
    const struct stk_ldu a = st_ldu_view(t->a);
    double *inverse = t->s->v[0];
    double *scale = l->w; /* until the solve starts */

    stk_ldu_dilu(&a, inverse);
    for (size_t i = 0; i < l->n; i++) {
        const int32_t c = l->cell_of[i];
        scale[i] = sqrt(inverse[c]);
        l->root[i] = 1.0 / scale[i];
        l->rest[i] = a.diag[c] * inverse[c] - 1.0;
        l->x[i] = t->x[c] * l->root[i];
        l->t[i] = t->s->v[1][c] * scale[i];
    }
    load_half(l, &l->lower, a.upper, scale);
    load_half(l, &l->upper, a.upper, scale);
    /* Also against what a failed solve may have left: 0 times NaN is NaN. */
    memset(l->v, 0, l->n * sizeof(double));
    memset(l->w, 0, l->n * sizeof(double));
    memset(l->r_hat, 0, l->n * sizeof(double));
    t->report->bytes += 40.0 * (double)a.n_faces + 150.0 * (double)a.n_cells;
}

struct stk_runs st_levels_runs(const struct st_levels *l)
{
    struct stk_runs runs = {.n = l->n,
                            .n_lower = l->lower.n_runs,
                            .n_upper = l->upper.n_runs,
                            .lower_runs = l->lower.runs,
                            .upper_runs = l->upper.runs,
                            .rest = l->rest,
                            .root = l->root};

    for (size_t slot = 0; slot < STK_RUN_WIDTH; slot++) {
        runs.lower[slot] = l->lower.slot_value + slot * (l->n + PAD);
        runs.upper[slot] = l->upper.slot_value + slot * (l->n + PAD);
    }
    return runs;
}

static void load_plain_half(const struct st_levels *l, const struct st_half *half,
                            const double *off)
{
    for (size_t slot = 0; slot < STK_RUN_WIDTH; slot++) {
        const int32_t *face = half->slot_face + slot * l->n;
        double *value = half->slot_value + slot * (l->n + PAD);
        for (size_t i = 0; i < l->n; i++) {
            value[i] = face[i] < 0 ? 0.0 : off[face[i]];
        }
    }
}

void st_levels_load_plain(struct st_solve *t)
{
    struct st_levels *l = t->s->levels;

    load_plain_half(l, &l->lower, t->a->lower);
    load_plain_half(l, &l->upper, t->a->upper);
    for (size_t i = 0; i < l->n; i++) {
        const int32_t c = l->cell_of[i];
        l->root[i] = t->a->diag[c];
        l->rest[i] = 1.0 / t->a->diag[c];
        l->x[i] = t->x[c];
    }
    memset(l->t, 0, l->n * sizeof(double));
    t->report->bytes += 40.0 * t->s->addr->n_faces + 60.0 * (double)l->n;
}
