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
    N_STEPS = ST_HPCG_STEPS,
    MIDDLE = 13, /* the step to the point itself */
    OUTSIDE = -1,
    SCATTERED_MOST = STK_LU_WIDTH + 1 /* see fill_chunk(); one more for the last chunk */
};

typedef int16_t offsets_of_chunk[STK_LU_WIDTH][STK_LU_LANES];

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
    A_LOWER,
    A_LOWER_OFFSETS,
    A_UPPER,
    A_UPPER_OFFSETS,
    A_RAISED_ROWS,
    A_RAISED_VALUES,
    A_GHOST_START,
    A_GHOST_ROWS,
    A_GHOST_COLUMNS,
    A_GHOST_VALUES,
    A_KEPT,
    A_ZEROS,
    A_SCRATCH,
    N_ROWS_OF_ARRAYS
};
_Static_assert((int)N_ROWS_OF_ARRAYS == (int)ST_HPCG_LEVEL_ARRAYS, "one row an array");

/* Step d along an axis: -1, 0 or 1. */
static int move_of(int d, int axis)
{
    return axis == 0 ? d % 3 - 1 : axis == 1 ? d / 3 % 3 - 1 : d / 9 - 1;
}

bool st_hpcg_has_rank(const struct st_hpcg *h, int d)
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
    if (!st_hpcg_has_rank(h, side)) {
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
        if (d == MIDDLE || !st_hpcg_has_rank(h, d)) {
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

/* Rows that have entries in ghosts, and these entries. */
static void count_ghost_entries(const struct st_hpcg *h, const struct st_hpcg_level *l,
                                size_t *n_rows, size_t *n_entries)
{
    size_t inner_rows = 1;
    size_t entries = 1;
    size_t own = 1;

    for (int axis = 0; axis < 3; axis++) {
        const size_t sides = (h->at[axis] > 0 ? 1U : 0U) +
                             (h->at[axis] + 1 < h->grid.ranks[axis] ? 1U : 0U);
        inner_rows *= l->n[axis] - sides;
        entries *= 3 * l->n[axis] - 2 + sides;
        own *= 3 * l->n[axis] - 2;
    }
    *n_rows = l->n_rows - inner_rows;
    *n_entries = entries - own;
}

static enum st_status allocate(struct st_hpcg *h, struct st_hpcg_level *l, int level,
                               struct st_error *err)
{
    const size_t n = l->n_rows;
    const size_t with_ghosts = n + (size_t)st_hpcg_ghosts(&h->grid, level);
    const size_t n_chunks = (n + STK_LU_LANES - 1) / STK_LU_LANES;
    const bool has_next = level + 1 < ST_HPCG_LEVELS;
    const bool is_csr = h->storage == ST_HPCG_CSR;
    const bool is_halves = h->storage == ST_HPCG_HALVES;
    const bool is_stencil = h->storage == ST_HPCG_STENCIL;
    const bool is_raised = has_next && is_halves;
    size_t n_edge = 0;
    size_t n_edge_entries = 0;

    count_ghost_entries(h, l, &n_edge, &n_edge_entries);
    const struct {
        int row;
        bool wanted;
        size_t n, size;
    } arrays[] = {
        {A_DIAGONAL, true, n, sizeof(double)},
        {A_X, true, with_ghosts, sizeof(double)},
        {A_R, true, n, sizeof(double)},
        {A_T, true, n, sizeof(double)},
        {A_FINE, has_next, n / 8, sizeof(uint32_t)},
        {A_START, is_csr, n + 1, sizeof(uint32_t)},
        {A_COLUMNS, is_csr, N_STEPS * n, sizeof(int32_t)},
        {A_VALUES, is_csr, N_STEPS * n, sizeof(double)},
        {A_LOWER, is_halves, n_chunks, sizeof(struct stk_lu_chunk)},
        {A_LOWER_OFFSETS, is_halves, SCATTERED_MOST, sizeof(offsets_of_chunk)},
        {A_UPPER, is_halves, n_chunks, sizeof(struct stk_lu_chunk)},
        {A_UPPER_OFFSETS, is_halves, SCATTERED_MOST, sizeof(offsets_of_chunk)},
        {A_RAISED_ROWS, is_raised, STK_LU_WIDTH * (n / 8), sizeof(uint32_t)},
        {A_RAISED_VALUES, is_raised, STK_LU_WIDTH * (n / 8), sizeof(double)},
        {A_GHOST_START, is_halves, n_edge + 1, sizeof(uint32_t)},
        {A_GHOST_ROWS, is_halves, n_edge, sizeof(uint32_t)},
        {A_GHOST_COLUMNS, is_halves, n_edge_entries, sizeof(int32_t)},
        {A_GHOST_VALUES, is_halves, n_edge_entries, sizeof(double)},
        {A_KEPT, is_halves, n_edge, sizeof(double)},
        {A_ZEROS, is_stencil, l->n[0], sizeof(double)},
        {A_SCRATCH, is_stencil, 2 * l->n[0], sizeof(double)},
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
    l->kept = l->arrays[A_KEPT].base;
    l->zeros = l->arrays[A_ZEROS].base;
    l->scratch = l->arrays[A_SCRATCH].base;
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

/* What is filled into the halves of a level. */
struct halves {
    struct stk_lu_chunk *chunks[2];
    offsets_of_chunk *offsets[2];
    int32_t n_scattered[2]; /* chunks with offsets so far */
};

/* Where an entry goes, and the columns of the chunk's rows. */
struct place_of_entry {
    size_t chunk;
    int entry;
    int32_t (*columns)[N_STEPS]; /* [STK_LU_LANES] */
};

/* Entry of a half for the step there: the lower half's nearest step is 12, the upper one's 14. */
static int step_of(int half, int s)
{
    return half == 0 ? s : N_STEPS - 1 - s;
}

/*
 * One entry of the 8 rows of chunk c: values, and the columns in the 8 rows. Where a row has no
 * such neighbour on this rank its value is zero and its column that which a neighbour would have,
 * so that the columns are a run; or the nearest row there is. Without any neighbour the rows' own
 * numbers serve.
 */
static void fill_entry(const struct st_hpcg_level *l, const struct halves *to, int half,
                       const struct place_of_entry *at, int32_t column[STK_LU_LANES])
{
    const int d = step_of(half, at->entry);
    const int64_t nx = (int64_t)l->n[0];
    const int64_t step =
        move_of(d, 0) + nx * (move_of(d, 1) + (int64_t)l->n[1] * move_of(d, 2));
    const int64_t n = (int64_t)l->n_rows;
    double *values = to->chunks[half][at->chunk].values[at->entry];
    bool is_empty = true;

    for (int lane = 0; lane < STK_LU_LANES; lane++) {
        const int64_t own = at->columns[lane][d];
        is_empty = is_empty && !(own != OUTSIDE && own < n);
    }
    for (int lane = 0; lane < STK_LU_LANES; lane++) {
        const int64_t row = (int64_t)(at->chunk * STK_LU_LANES) + lane;
        const int64_t own = at->columns[lane][d];
        const bool is_entry = own != OUTSIDE && own < n;
        const int64_t near = row + (is_empty ? 0 : step);
        column[lane] = (int32_t)(is_entry ? own : near < 0 ? 0 : near < n ? near : n - 1);
        values[lane] = is_entry ? -1.0 : 0.0;
    }
}

/*
 * Chunk c of a half. Its columns are runs unless one was cut off at the first or last row, which
 * an entry does in one chunk at most: the one where its first neighbour appears. So there are
 * offsets for SCATTERED_MOST chunks. @return false if that was wrong
 */
static bool fill_chunk(const struct st_hpcg_level *l, struct halves *to, int half,
                       size_t c, int32_t (*columns)[N_STEPS])
{
    struct stk_lu_chunk *chunk = &to->chunks[half][c];
    int32_t column[STK_LU_WIDTH][STK_LU_LANES];
    bool are_runs = true;

    for (int s = 0; s < STK_LU_WIDTH; s++) {
        const struct place_of_entry at = {c, s, columns};
        fill_entry(l, to, half, &at, column[s]);
        chunk->bases[s] = column[s][0];
        for (int lane = 0; lane < STK_LU_LANES; lane++) {
            are_runs = are_runs && column[s][lane] == column[s][0] + lane;
        }
    }
    chunk->block = STK_LU_RUNS;
    if (are_runs || to->n_scattered[half] == SCATTERED_MOST) {
        return are_runs;
    }
    chunk->block = to->n_scattered[half]++;
    for (int s = 0; s < STK_LU_WIDTH; s++) {
        for (int lane = 0; lane < STK_LU_LANES; lane++) { /* at most 8 apart */
            to->offsets[half][chunk->block][s][lane] =
                (int16_t)(column[s][lane] - column[s][0]);
        }
    }
    return true;
}

/* Entries of a row in ghosts, behind those of the rows before. */
static void add_ghosts(struct st_hpcg_level *l, size_t row, const int32_t *columns,
                       size_t *n_rows, uint32_t *n_entries)
{
    uint32_t *start = l->arrays[A_GHOST_START].base;
    uint32_t *rows = l->arrays[A_GHOST_ROWS].base;
    int32_t *ghosts = l->arrays[A_GHOST_COLUMNS].base;
    double *values = l->arrays[A_GHOST_VALUES].base;
    const uint32_t before = *n_entries;

    for (int d = 0; d < N_STEPS; d++) {
        if (columns[d] != OUTSIDE && (size_t)columns[d] >= l->n_rows) {
            ghosts[*n_entries] = columns[d];
            values[(*n_entries)++] = -1.0;
        }
    }
    if (*n_entries > before) {
        rows[*n_rows] = (uint32_t)row;
        start[*n_rows] = before;
        start[++*n_rows] = *n_entries;
    }
}

static enum st_status fill_halves(const struct st_hpcg *h, struct st_hpcg_level *l,
                                  struct st_error *err)
{
    struct halves to = {
        {l->arrays[A_LOWER].base, l->arrays[A_UPPER].base},
        {l->arrays[A_LOWER_OFFSETS].base, l->arrays[A_UPPER_OFFSETS].base},
        {0, 0}};
    uint32_t n_entries = 0;

    l->ghost_rows[1] = 0;
    for (size_t c = 0; c * STK_LU_LANES < l->n_rows; c++) {
        int32_t columns[STK_LU_LANES][N_STEPS];
        for (size_t lane = 0; lane < STK_LU_LANES; lane++) {
            const size_t row = c * STK_LU_LANES + lane;
            if (row < l->n_rows) {
                columns_of(h, l, row, columns[lane]);
                add_ghosts(l, row, columns[lane], &l->ghost_rows[1], &n_entries);
            } else { /* fills up the last chunk */
                for (int d = 0; d < N_STEPS; d++) {
                    columns[lane][d] = OUTSIDE;
                }
            }
        }
        if (!fill_chunk(l, &to, 0, c, columns) || !fill_chunk(l, &to, 1, c, columns)) {
            return st_fail(err, ST_ERR_INTERNAL,
                           "hpcg: more scattered chunks than grids have");
        }
    }
    l->lu = (struct stk_lu){l->n_rows,
                            l->diagonal,
                            {to.chunks[0], (const offsets_of_chunk *)to.offsets[0]},
                            {to.chunks[1], (const offsets_of_chunk *)to.offsets[1]},
                            false};
    l->lu.is_wide = stk_lu_is_wide(&l->lu);
    l->ghosts = (struct stk_csr_rows){{{1, l->ghost_rows},
                                       l->arrays[A_GHOST_START].base,
                                       l->arrays[A_GHOST_COLUMNS].base,
                                       l->arrays[A_GHOST_VALUES].base},
                                      l->arrays[A_GHOST_ROWS].base};
    return ST_OK;
}

/* The columns of U at the points of the next level, copied from the rows of U. */
static void fill_raised(struct st_hpcg_level *l)
{
    uint32_t *rows = l->arrays[A_RAISED_ROWS].base;
    double *values = l->arrays[A_RAISED_VALUES].base;
    const int64_t nx = (int64_t)l->n[0];
    const int64_t plane = nx * (int64_t)l->n[1];

    for (size_t k = 0; k < l->n_rows / 8; k++) {
        const size_t column = l->fine_rows[k];
        for (int s = 0; s < STK_LU_WIDTH; s++) {
            const int d = step_of(1, s);
            const int64_t row = (int64_t)column - move_of(d, 0) - nx * move_of(d, 1) -
                                plane * move_of(d, 2);
            const size_t at = k * STK_LU_WIDTH + (size_t)s;
            const bool is_entry =
                row >= 0 && stk_lu_column(&l->lu.upper, (size_t)row, (size_t)s) == column;
            rows[at] = is_entry ? (uint32_t)row : (uint32_t)column;
            values[at] = is_entry ? l->lu.upper.chunks[(size_t)row / STK_LU_LANES]
                                        .values[s][(size_t)row % STK_LU_LANES]
                                  : 0.0;
        }
    }
    l->raised = (struct stk_lu_columns){l->n_rows / 8, l->fine_rows, rows, values,
                                        (size_t)(plane + nx + 1)};
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
    if (level + 1 < ST_HPCG_LEVELS) {
        fill_fine_rows(l);
    }
    if (h->storage == ST_HPCG_CSR) {
        fill_csr(h, l);
    }
    if (h->storage != ST_HPCG_HALVES) {
        return ST_OK;
    }
    rc = stm_agree(&h->comm, fill_halves(h, l, err), err);
    if (rc == ST_OK && level + 1 < ST_HPCG_LEVELS) {
        fill_raised(l);
    }
    return rc;
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
        if (h->storage != ST_HPCG_CSR) {
            continue;
        }
        for (size_t k = l->csr.row_start[row]; k < l->csr.row_start[row + 1]; k++) {
            if ((size_t)l->csr.columns[k] == row) {
                values[k] = l->diagonal[row];
            }
        }
    }
}
