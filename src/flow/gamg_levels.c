/*
 * Levels of the agglomeration multigrid. Pairs are found rank by rank, so both sides of an
 * interface join their own cells; coarse interface faces are the distinct pairs of coarse cells
 * in the order of the fine faces, which is the same on both sides.
 */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/flow/gamg.h"

#include <stdlib.h>
#include <string.h>

enum {
    CELLS_IN_COARSEST = 10 /* of a rank: OpenFOAM's nCellsInCoarsestLevel */
};

/* Faces of a cell that others own. */
struct incoming {
    int32_t *start, *face;
};

static bool list_incoming(const struct st_ldu_addr *addr, struct incoming *in,
                          struct st_error *err)
{
    in->start = st_calloc(err, (size_t)addr->n_cells + 1, sizeof *in->start);
    in->face = st_calloc(err, (size_t)addr->n_faces, sizeof *in->face);
    if (in->start == NULL || in->face == NULL) {
        return false;
    }
    for (int32_t f = 0; f < addr->n_faces; f++) {
        in->start[addr->neighbour[f] + 1]++;
    }
    for (int32_t c = 0; c < addr->n_cells; c++) {
        in->start[c + 1] += in->start[c];
    }
    for (int32_t f = 0; f < addr->n_faces; f++) {
        in->face[in->start[addr->neighbour[f]]++] = f;
    }
    for (int32_t c = addr->n_cells; c > 0; c--) {
        in->start[c] = in->start[c - 1];
    }
    in->start[0] = 0;
    return true;
}

/* The face of cell c with the greatest weight whose other cell is free (or taken); -1: none. */
static int32_t best_face(const struct st_gamg_level *l, const struct incoming *in,
                         int32_t c, bool wants_free)
{
    int32_t best = -1;

    for (int32_t k = in->start[c]; k < in->start[c + 1]; k++) {
        const int32_t f = in->face[k];
        if ((l->coarse_of[l->addr.owner[f]] < 0) == wants_free &&
            (best < 0 || l->weight[f] > l->weight[best])) {
            best = f;
        }
    }
    for (int32_t f = l->addr.owner_start[c]; f < l->addr.owner_start[c + 1]; f++) {
        if ((l->coarse_of[l->addr.neighbour[f]] < 0) == wants_free &&
            (best < 0 || l->weight[f] > l->weight[best])) {
            best = f;
        }
    }
    return best;
}

/* Join cells in pairs, from the first or from the last. @return coarse cells */
static int32_t pair_cells(struct st_gamg_level *l, const struct incoming *in,
                          bool is_forward)
{
    const int32_t n = l->addr.n_cells;
    int32_t n_coarse = 0;

    memset(l->coarse_of, -1, (size_t)n * sizeof *l->coarse_of);
    for (int32_t i = 0; i < n; i++) {
        const int32_t c = is_forward ? i : n - 1 - i;
        if (l->coarse_of[c] >= 0) {
            continue;
        }
        const int32_t f = best_face(l, in, c, true);
        if (f >= 0) {
            l->coarse_of[l->addr.owner[f]] = n_coarse;
            l->coarse_of[l->addr.neighbour[f]] = n_coarse++;
            continue;
        }
        const int32_t beside = best_face(l, in, c, false);
        if (beside < 0) {
            l->coarse_of[c] = n_coarse++;
        } else {
            const int32_t other = l->addr.owner[beside] == c ? l->addr.neighbour[beside]
                                                             : l->addr.owner[beside];
            l->coarse_of[c] = l->coarse_of[other];
        }
    }
    for (int32_t c = 0; c < n && !is_forward; c++) {
        l->coarse_of[c] = n_coarse - 1 - l->coarse_of[c];
    }
    return n_coarse;
}

/* A pair of cells with what it came from. */
struct pair {
    int32_t a, b, from;
};

static int compare_pairs(const void *left, const void *right)
{
    const struct pair *x = left;
    const struct pair *y = right;

    if (x->a != y->a) {
        return x->a < y->a ? -1 : 1;
    }
    if (x->b != y->b) {
        return x->b < y->b ? -1 : 1;
    }
    return (x->from > y->from) - (x->from < y->from);
}

/* Coarse faces: distinct pairs, sorted by owner and neighbour. */
static bool make_faces(struct st_gamg_level *fine, struct st_gamg_level *coarse,
                       struct st_error *err)
{
    const int32_t n = fine->addr.n_faces;
    struct pair *pairs = st_calloc(err, (size_t)n, sizeof *pairs);
    int32_t n_pairs = 0;
    int32_t n_faces = 0;

    for (int32_t f = 0; pairs != NULL && f < n; f++) {
        const int32_t o = fine->coarse_of[fine->addr.owner[f]];
        const int32_t p = fine->coarse_of[fine->addr.neighbour[f]];
        fine->face_to[f] = -1 - o;
        if (o != p) {
            pairs[n_pairs++] = (struct pair){o < p ? o : p, o < p ? p : o, f};
        }
    }
    if (pairs == NULL) {
        return false;
    }
    qsort(pairs, (size_t)n_pairs, sizeof *pairs, compare_pairs);
    coarse->owner = st_calloc(err, (size_t)n_pairs, sizeof *coarse->owner);
    coarse->neighbour = st_calloc(err, (size_t)n_pairs, sizeof *coarse->neighbour);
    coarse->weight = st_calloc(err, (size_t)n_pairs, sizeof *coarse->weight);
    const bool is_whole =
        coarse->owner != NULL && coarse->neighbour != NULL && coarse->weight != NULL;
    for (int32_t i = 0; is_whole && i < n_pairs; i++) {
        if (i == 0 || pairs[i].a != pairs[i - 1].a || pairs[i].b != pairs[i - 1].b) {
            coarse->owner[n_faces] = pairs[i].a;
            coarse->neighbour[n_faces++] = pairs[i].b;
            coarse->owner_start[pairs[i].a + 1]++;
        }
        fine->face_to[pairs[i].from] = n_faces - 1;
        coarse->weight[n_faces - 1] += fine->weight[pairs[i].from];
    }
    for (int32_t c = 0; is_whole && c < coarse->addr.n_cells; c++) {
        coarse->owner_start[c + 1] += coarse->owner_start[c];
    }
    coarse->addr.n_faces = n_faces;
    st_free(pairs);
    return is_whole;
}

/* Coarse faces of one side: distinct pairs in order of appearance. @p order: scratch. */
static int32_t make_side(struct st_gamg_level *fine, struct st_gamg_level *coarse,
                         const struct st_ldu_side *side, struct pair *order,
                         int32_t first)
{
    int32_t next = first;

    for (int32_t i = 0; i < side->n; i++) {
        const int32_t k = side->start + i;
        order[i] = (struct pair){fine->coarse_of[fine->addr.interface_cell[k]],
                                 (int32_t)fine->exchange.ghost[k], k};
    }
    qsort(order, (size_t)side->n, sizeof *order, compare_pairs);
    /* Each face first points at the first face of its pair, then to the pair's number. */
    for (int32_t i = 0, head = 0; i < side->n; i++) {
        head = i > 0 && order[i].a == order[i - 1].a && order[i].b == order[i - 1].b
                   ? head
                   : i;
        fine->interface_to[order[i].from] = order[head].from;
    }
    for (int32_t k = side->start; k < side->start + side->n; k++) {
        if (fine->interface_to[k] == k) {
            coarse->interface_cell[next] = fine->coarse_of[fine->addr.interface_cell[k]];
            fine->interface_to[k] = next++;
        } else {
            /* The first face comes earlier and has its number already. */
            fine->interface_to[k] = fine->interface_to[fine->interface_to[k]];
        }
    }
    return next;
}

static bool make_interface(struct st_gamg_level *fine, struct st_gamg_level *coarse,
                           struct st_error *err)
{
    const size_t n = (size_t)fine->addr.n_interface;
    struct pair *order = st_calloc(err, n, sizeof *order);
    int32_t next = 0;

    coarse->interface_cell = st_calloc(err, n, sizeof *coarse->interface_cell);
    coarse->sides = st_calloc(err, fine->addr.n_sides, sizeof *coarse->sides);
    const bool is_whole =
        order != NULL && coarse->interface_cell != NULL && coarse->sides != NULL;
    for (size_t i = 0; is_whole && i < fine->addr.n_sides; i++) {
        const struct st_ldu_side *side = &fine->addr.sides[i];
        const int32_t first = next;
        next = make_side(fine, coarse, side, order, first);
        coarse->sides[i] = (struct st_ldu_side){side->rank, first, next - first};
    }
    coarse->addr.n_interface = next;
    coarse->addr.n_sides = fine->addr.n_sides;
    st_free(order);
    return is_whole;
}

static bool make_vectors(struct st_gamg_level *l, bool is_finest, struct st_error *err)
{
    const size_t n = (size_t)l->addr.n_cells;
    double **const vectors[] = {&l->x, &l->work, &l->b,     &l->inverse,
                                &l->r, &l->p,    &l->a.diag};
    const size_t n_vectors = is_finest ? 2 : ST_COUNT(vectors);

    for (size_t i = 0; i < n_vectors; i++) {
        *vectors[i] = st_calloc(err, n, sizeof(double));
        if (*vectors[i] == NULL) {
            return false;
        }
    }
    if (!is_finest) {
        l->a.upper = st_calloc(err, (size_t)l->addr.n_faces, sizeof(double));
        l->a.lower = l->a.upper;
        l->a.coupling = st_calloc(err, (size_t)l->addr.n_interface, sizeof(double));
        l->a.addr = &l->addr;
        if (l->a.upper == NULL || l->a.coupling == NULL) {
            return false;
        }
    }
    return st_ldu_exchange_init(&l->exchange, &l->addr, err) == ST_OK;
}

/* Pairs and maps of a level; local. @return coarse cells, -1: no memory */
static int32_t join(struct st_gamg_level *l, bool is_forward, struct st_error *err)
{
    struct incoming in = {NULL, NULL};
    int32_t n_coarse = -1;

    l->coarse_of = st_calloc(err, (size_t)l->addr.n_cells, sizeof *l->coarse_of);
    l->face_to = st_calloc(err, (size_t)l->addr.n_faces, sizeof *l->face_to);
    l->interface_to =
        st_calloc(err, (size_t)l->addr.n_interface, sizeof *l->interface_to);
    if (l->coarse_of != NULL && l->face_to != NULL && l->interface_to != NULL &&
        list_incoming(&l->addr, &in, err)) {
        n_coarse = pair_cells(l, &in, is_forward);
    }
    st_free(in.start);
    st_free(in.face);
    return n_coarse;
}

static void drop_maps(struct st_gamg_level *l)
{
    st_free(l->coarse_of);
    st_free(l->face_to);
    st_free(l->interface_to);
    l->coarse_of = NULL;
    l->face_to = NULL;
    l->interface_to = NULL;
}

/* Numbers of coarse cells across the interface. Exact in doubles: below 2^31. */
static enum st_status exchange_numbers(struct st_gamg_level *l, struct st_error *err)
{
    for (int32_t c = 0; c < l->addr.n_cells; c++) {
        l->work[c] = l->coarse_of[c];
    }
    const enum st_status rc =
        st_ldu_exchange_start(&l->exchange, l->addr.interface_cell, l->work, err);
    return rc == ST_OK ? st_ldu_exchange_finish(&l->exchange, err) : rc;
}

/* One level more; *goes_on false: level is the coarsest. Collective. */
static enum st_status add_level(struct st_gamg *g, bool *goes_on, struct st_error *err)
{
    struct st_gamg_level *fine = &g->level[g->n_levels - 1];
    struct st_gamg_level *coarse = &g->level[g->n_levels];
    const int32_t n_coarse = join(fine, g->n_levels % 2 == 1, err);
    double sums[2] = {n_coarse, fine->addr.n_cells};
    enum st_status rc =
        stm_agree(&fine->addr.comm, n_coarse < 0 ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK) {
        rc = st_ldu_sum(&fine->exchange, 2, sums, err);
    }
    *goes_on = sums[0] >= (double)CELLS_IN_COARSEST * fine->addr.comm.n_ranks &&
               sums[0] < sums[1] && g->n_levels < ST_GAMG_MOST_LEVELS;
    if (rc != ST_OK || !*goes_on) {
        drop_maps(fine);
        return rc;
    }
    rc = exchange_numbers(fine, err);
    if (rc != ST_OK) {
        return rc;
    }
    g->n_levels++;
    coarse->addr.comm = fine->addr.comm;
    coarse->addr.n_cells = n_coarse;
    coarse->owner_start = st_calloc(err, (size_t)n_coarse + 1, sizeof(int32_t));
    const bool is_whole = coarse->owner_start != NULL && make_faces(fine, coarse, err) &&
                          make_interface(fine, coarse, err);
    coarse->addr.owner = coarse->owner;
    coarse->addr.neighbour = coarse->neighbour;
    coarse->addr.owner_start = coarse->owner_start;
    coarse->addr.is_uneven =
        is_whole && stk_ldu_is_uneven((size_t)n_coarse, coarse->owner_start);
    coarse->addr.sides = coarse->sides;
    coarse->addr.interface_cell = coarse->interface_cell;
    return stm_agree(&fine->addr.comm,
                     is_whole && make_vectors(coarse, false, err) ? ST_OK : ST_ERR_MEMORY,
                     err);
}

/* Level 0 stands for the caller's matrix: only scratch and the exchange are its own. */
static enum st_status start(struct st_gamg *g, const struct st_ldu_addr *addr,
                            const double *weights, struct st_error *err)
{
    struct st_gamg_level *l = &g->level[0];

    g->n_levels = 1;
    l->addr = *addr;
    l->weight = st_calloc(err, (size_t)addr->n_faces, sizeof *l->weight);
    if (l->weight == NULL || !make_vectors(l, true, err)) {
        return ST_ERR_MEMORY;
    }
    for (int32_t f = 0; f < addr->n_faces; f++) {
        l->weight[f] = weights != NULL ? weights[f] : 1.0;
    }
    return ST_OK;
}

enum st_status st_gamg_create(const struct st_ldu_addr *addr, const double *weights,
                              struct st_gamg **out, struct st_error *err)
{
    struct st_gamg *g = st_calloc(err, 1, sizeof *g);
    enum st_status rc = g == NULL ? ST_ERR_MEMORY : start(g, addr, weights, err);

    rc = stm_agree(&addr->comm, rc, err);
    for (bool goes_on = true; rc == ST_OK && goes_on && g != NULL;) {
        rc = add_level(g, &goes_on, err);
    }
    if (rc != ST_OK) {
        st_gamg_destroy(&g);
        return rc;
    }
    for (int i = 0; g != NULL && i < g->n_levels; i++) {
        st_free(g->level[i].weight);
        g->level[i].weight = NULL;
    }
    *out = g;
    return ST_OK;
}

void st_gamg_destroy(struct st_gamg **gamg)
{
    if (gamg == NULL || *gamg == NULL) {
        return;
    }
    for (int i = 0; i < (*gamg)->n_levels; i++) {
        struct st_gamg_level *l = &(*gamg)->level[i];
        if (i == 0) {
            l->a = (struct st_ldu){0}; /* the caller's */
        }
        void *const owned[] = {l->x,         l->b,           l->work,
                               l->inverse,   l->r,           l->p,
                               l->a.diag,    l->a.upper,     l->owner,
                               l->neighbour, l->owner_start, l->interface_cell,
                               l->weight,    l->a.coupling,  l->sides};
        for (size_t k = 0; k < ST_COUNT(owned); k++) {
            st_free(owned[k]);
        }
        drop_maps(l);
        st_ldu_exchange_clear(&l->exchange);
    }
    st_free(*gamg);
    *gamg = NULL;
}

double st_gamg_bytes(const struct st_gamg *g)
{
    double bytes = 0.0;

    for (int i = 0; i < g->n_levels; i++) {
        const struct st_ldu_addr *a = &g->level[i].addr;
        bytes += (i == 0 ? 20.0 : 64.0) * a->n_cells +
                 (i == 0 ? 4.0 : 20.0) * a->n_faces + 32.0 * a->n_interface;
    }
    return bytes;
}
