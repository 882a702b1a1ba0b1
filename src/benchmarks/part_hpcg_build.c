/*
 * Matrices of HPCG's levels, made by every rank for itself.
 *
 * A neighbour of a point is own, on one of 26 neighbouring ranks, or outside the whole grid.
 * The points needed of one neighbouring rank form a box one point thick, so a ghost's number is
 * that of the rank's first ghost plus its place in the box: nothing is searched or sorted. The
 * neighbours' order (x fastest) is that of their rank numbers, as the halo wants it.
 */
#include "src/benchmarks/part_hpcg_build.h"

#include "kernels/vector.h"
#include "mpi/agree.h"
#include "src/benchmarks/part_matrix.h"

enum {
    N_STEPS = 27,
    MIDDLE = 13, /* the step to the point itself */
    OUTSIDE = -1
};

static const double HPCG_DIAGONAL = 26.0;

/* Rows of st_hpcg_level.arrays. */
enum {
    A_DIAGONAL,
    A_X,
    A_R,
    A_T,
    A_FINE,
    A_START,
    A_COLUMNS,
    A_VALUES,
    A_LOWER_COLUMNS,
    A_LOWER_VALUES,
    A_UPPER_COLUMNS,
    A_UPPER_VALUES
};

/* Step d along an axis: -1, 0 or 1. */
static int move_of(int d, int axis)
{
    return axis == 0 ? d % 3 - 1 : axis == 1 ? d / 3 % 3 - 1 : d / 9 - 1;
}

static bool has_rank(const struct st_hpcg *h, int d)
{
    for (int axis = 0; axis < 3; axis++) {
        const int move = move_of(d, axis);
        if ((move < 0 && h->at[axis] == 0) ||
            (move > 0 && h->at[axis] + 1 == h->grid.ranks[axis])) {
            return false;
        }
    }
    return true;
}

/* Points needed of the neighbouring rank in direction d, along an axis. */
static size_t width(const struct st_hpcg_level *l, int d, int axis)
{
    return move_of(d, axis) == 0 ? l->n[axis] : 1;
}

/* Local column of the point one step d from @p at, or OUTSIDE. */
static int32_t column_of(const struct st_hpcg *h, const struct st_hpcg_level *l,
                         const size_t at[3], int d)
{
    size_t to[3];
    int side = 0; /* the neighbouring rank's direction, as a step number */
    int weight = 1;

    for (int axis = 0; axis < 3; axis++) {
        const int move = move_of(d, axis);
        const bool before = move < 0 && at[axis] == 0;
        const bool behind = move > 0 && at[axis] + 1 == l->n[axis];
        to[axis] = before || behind ? 0 : at[axis] + (size_t)move;
        side += weight * (before ? 0 : behind ? 2 : 1);
        weight *= 3;
    }
    if (side == MIDDLE) {
        return (int32_t)(to[0] + l->n[0] * (to[1] + l->n[1] * to[2]));
    }
    if (!has_rank(h, side)) {
        return OUTSIDE;
    }
    return (int32_t)(l->n_rows + l->ghost_first[side] + to[0] +
                     width(l, side, 0) * (to[1] + width(l, side, 1) * to[2]));
}

/* Columns of all 27 steps from a row's point. Inside the block they are at fixed distances. */
static void columns_of(const struct st_hpcg *h, const struct st_hpcg_level *l, size_t row,
                       int32_t columns[N_STEPS])
{
    const size_t at[3] = {row % l->n[0], row / l->n[0] % l->n[1],
                          row / l->n[0] / l->n[1]};
    const int32_t nx = (int32_t)l->n[0];
    const int32_t plane = nx * (int32_t)l->n[1];
    bool is_inside = true;

    for (int axis = 0; axis < 3; axis++) {
        is_inside = is_inside && at[axis] > 0 && at[axis] + 1 < l->n[axis];
    }
    for (int d = 0; d < N_STEPS; d++) {
        columns[d] = is_inside ? (int32_t)row + move_of(d, 0) + nx * move_of(d, 1) +
                                     plane * move_of(d, 2)
                               : column_of(h, l, at, d);
    }
}

/* Numbers of the ghosts: block of the owner, place in it. @return how many */
static size_t list_ghosts(const struct st_hpcg *h, struct st_hpcg_level *l,
                          uint64_t *needed)
{
    size_t n = 0;

    for (int d = 0; d < N_STEPS; d++) {
        l->ghost_first[d] = n;
        if (d == MIDDLE || !has_rank(h, d)) {
            continue;
        }
        size_t corner[3];
        uint64_t rank = 0;
        for (int axis = 2; axis >= 0; axis--) {
            const int move = move_of(d, axis);
            corner[axis] = move < 0 ? l->n[axis] - 1 : 0;
            rank = rank * h->grid.ranks[axis] + h->at[axis] + (uint64_t)move;
        }
        const size_t size = width(l, d, 0) * width(l, d, 1) * width(l, d, 2);
        for (size_t i = 0; i < size; i++) {
            const size_t x = corner[0] + i % width(l, d, 0);
            const size_t y = corner[1] + i / width(l, d, 0) % width(l, d, 1);
            const size_t z = corner[2] + i / width(l, d, 0) / width(l, d, 1);
            needed[n++] = rank * l->n_rows + x + l->n[0] * (y + l->n[1] * z);
        }
    }
    return n;
}

static enum st_status make_halo(struct st_hpcg *h, struct st_hpcg_level *l, int level,
                                struct st_error *err)
{
    const size_t n_ranks = (size_t)h->comm.n_ranks;
    uint64_t *start = st_calloc(err, n_ranks + 1, sizeof *start);
    uint64_t *needed = st_calloc(err, st_hpcg_ghosts(&h->grid, level), sizeof *needed);
    enum st_status rc =
        stm_agree(&h->comm, start == NULL || needed == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK && start != NULL && needed != NULL) {
        for (size_t r = 0; r <= n_ranks; r++) {
            start[r] = r * l->n_rows;
        }
        const size_t n = list_ghosts(h, l, needed);
        rc = stm_halo_create(&h->comm, start, n, needed, &l->halo, err);
    }
    st_free(needed);
    st_free(start);
    return rc;
}

static enum st_status allocate(struct st_hpcg *h, struct st_hpcg_level *l, int level,
                               struct st_error *err)
{
    const size_t n = l->n_rows;
    const size_t with_ghosts = n + (size_t)st_hpcg_ghosts(&h->grid, level);
    const bool is_csr = !h->is_optimised;
    const struct {
        int row;
        bool wanted;
        size_t n, size;
    } arrays[] = {
        {A_DIAGONAL, true, n, sizeof(double)},
        {A_X, true, with_ghosts, sizeof(double)},
        {A_R, true, n, sizeof(double)},
        {A_T, true, n, sizeof(double)},
        {A_FINE, level + 1 < ST_HPCG_LEVELS, n / 8, sizeof(uint32_t)},
        {A_START, is_csr, n + 1, sizeof(uint32_t)},
        {A_COLUMNS, is_csr, N_STEPS * n, sizeof(int32_t)},
        {A_VALUES, is_csr, N_STEPS * n, sizeof(double)},
        {A_LOWER_COLUMNS, !is_csr, STK_LU_WIDTH * n, sizeof(int32_t)},
        {A_LOWER_VALUES, !is_csr, STK_LU_WIDTH * n, sizeof(double)},
        {A_UPPER_COLUMNS, !is_csr, STK_LU_WIDTH * n, sizeof(int32_t)},
        {A_UPPER_VALUES, !is_csr, STK_LU_WIDTH * n, sizeof(double)},
    };

    for (size_t i = 0; i < ST_COUNT(arrays); i++) {
        if (arrays[i].wanted) {
            const enum st_status rc =
                st_array_map(err, arrays[i].n, arrays[i].size, &l->arrays[arrays[i].row]);
            if (rc != ST_OK) {
                return rc;
            }
        }
    }
    l->diagonal = l->arrays[A_DIAGONAL].base;
    l->x = l->arrays[A_X].base;
    l->r = l->arrays[A_R].base;
    l->t = l->arrays[A_T].base;
    l->fine_rows = l->arrays[A_FINE].base;
    return ST_OK;
}

static void fill_csr(const struct st_hpcg *h, struct st_hpcg_level *l)
{
    uint32_t *start = l->arrays[A_START].base;
    int32_t *columns = l->arrays[A_COLUMNS].base;
    double *values = l->arrays[A_VALUES].base;
    uint32_t n = 0;

    for (size_t row = 0; row < l->n_rows; row++) {
        int32_t column[N_STEPS];
        columns_of(h, l, row, column);
        start[row] = n;
        for (int d = 0; d < N_STEPS; d++) {
            if (column[d] != OUTSIDE) {
                columns[n] = column[d];
                values[n++] = d == MIDDLE ? HPCG_DIAGONAL : -1.0;
            }
        }
    }
    start[l->n_rows] = n;
    l->csr = (struct stk_csr){{1, l->part_start}, start, columns, values};
}

/* Steps 0 … 12 lead to lower numbers, nearest last; 26 … 14 to higher ones, nearest last. */
static void fill_halves(const struct st_hpcg *h, struct st_hpcg_level *l)
{
    int32_t *columns[2] = {l->arrays[A_LOWER_COLUMNS].base,
                           l->arrays[A_UPPER_COLUMNS].base};
    double *values[2] = {l->arrays[A_LOWER_VALUES].base, l->arrays[A_UPPER_VALUES].base};

    for (size_t row = 0; row < l->n_rows; row++) {
        int32_t column[N_STEPS];
        columns_of(h, l, row, column);
        for (int d = 0; d < N_STEPS; d++) {
            if (d == MIDDLE) {
                continue;
            }
            const int half = d < MIDDLE ? 0 : 1;
            const size_t k =
                row * STK_LU_WIDTH + (size_t)(half == 0 ? d : N_STEPS - 1 - d);
            columns[half][k] = column[d] == OUTSIDE ? (int32_t)row : column[d];
            values[half][k] = column[d] == OUTSIDE ? 0.0 : -1.0;
        }
    }
    l->lu = (struct stk_lu){
        l->n_rows, l->diagonal, {values[0], columns[0]}, {values[1], columns[1]}};
}

/* Coarse point (i, j, k) is fine point (2i, 2j, 2k). */
static void fill_fine_rows(struct st_hpcg_level *l)
{
    const size_t nx = l->n[0] / 2;
    const size_t ny = l->n[1] / 2;

    for (size_t c = 0; c < l->n_rows / 8; c++) {
        const size_t i = c % nx;
        const size_t j = c / nx % ny;
        const size_t k = c / nx / ny;
        l->fine_rows[c] = (uint32_t)(2 * (i + l->n[0] * (j + l->n[1] * k)));
    }
}

enum st_status st_hpcg_build_level(struct st_hpcg *h, int level, struct st_error *err)
{
    struct st_hpcg_level *l = &h->level[level];

    for (int axis = 0; axis < 3; axis++) {
        l->n[axis] = (size_t)(h->grid.n[axis] >> level);
    }
    l->n_rows = (size_t)st_hpcg_rows(&h->grid, level);
    l->part_start[1] = l->n_rows;
    enum st_status rc = make_halo(h, l, level, err);
    if (rc == ST_OK) {
        rc = stm_agree(&h->comm, allocate(h, l, level, err), err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    const struct stk_split split = {1, l->part_start};
    stk_fill(&split, HPCG_DIAGONAL, l->diagonal);
    if (h->is_optimised) {
        fill_halves(h, l);
    } else {
        fill_csr(h, l);
    }
    if (level + 1 < ST_HPCG_LEVELS) {
        fill_fine_rows(l);
    }
    return ST_OK;
}

size_t st_hpcg_row_length(const struct st_hpcg *h, size_t row)
{
    const struct st_hpcg_level *l = &h->level[0];
    const size_t at[3] = {row % l->n[0], row / l->n[0] % l->n[1],
                          row / l->n[0] / l->n[1]};
    size_t length = 1;

    for (int axis = 0; axis < 3; axis++) {
        const uint64_t global = h->at[axis] * h->grid.n[axis] + at[axis];
        const uint64_t end = h->grid.ranks[axis] * h->grid.n[axis];
        length *= 1U + (global > 0 ? 1U : 0U) + (global + 1 < end ? 1U : 0U);
    }
    return length;
}

double st_hpcg_exaggeration(const struct st_hpcg *h, size_t row)
{
    /* A rank has at least 16 points along x: the first 9 global rows are rank 0's first. */
    const bool is_first = h->comm.rank == 0 && row < 9;

    return is_first ? ((double)row + 2.0) * 1e6 : 1e6;
}

void st_hpcg_exaggerate(struct st_hpcg *h, bool on)
{
    struct st_hpcg_level *l = &h->level[0];
    double *values = l->arrays[A_VALUES].base;

    for (size_t row = 0; row < l->n_rows; row++) {
        l->diagonal[row] = HPCG_DIAGONAL * (on ? st_hpcg_exaggeration(h, row) : 1.0);
        for (size_t k = h->is_optimised ? 0 : l->csr.row_start[row];
             !h->is_optimised && k < l->csr.row_start[row + 1]; k++) {
            if ((size_t)l->csr.columns[k] == row) {
                values[k] = l->diagonal[row];
            }
        }
    }
}
