/*
 * Box matrices by formula.
 *
 * A point's row has c_x c_y c_z entries (27 points) or c_x + c_y + c_z - 2 (7 points), where
 * c is the number of neighbours along an axis, itself included: 3 inside, 2 at an end, 1 if
 * the axis has a single point. Sums of c along an axis have a closed form, so the number of
 * nonzeros before any row has one too, and a partition by nonzeros costs a binary search.
 */
#include "src/benchmarks/part_box.h"

#include "src/base/mem.h"

#include <inttypes.h>

/* Neighbours of position i along an axis of n points, itself included. */
static uint64_t reach(uint64_t n, uint64_t i)
{
    return 1 + (i > 0 ? 1U : 0U) + (i + 1 < n ? 1U : 0U);
}

/* Sum of reach() over the positions before i: 3i, less one for each end passed. */
static uint64_t reach_before(uint64_t n, uint64_t i)
{
    return 3 * i - (i > 0 ? 1U : 0U) - (i == n ? 1U : 0U);
}

uint64_t st_box_rows(const struct st_box *box)
{
    return box->n[0] * box->n[1] * box->n[2];
}

/* Holds for the row past the end too, where every factor of a reach() is zero. */
static uint64_t box_before(const void *context, uint64_t row)
{
    const struct st_box *box = context;
    const uint64_t nx = box->n[0];
    const uint64_t ny = box->n[1];
    const uint64_t nz = box->n[2];
    const uint64_t line = row / nx; /* lines along x before the row's own */
    const uint64_t i = row % nx;
    const uint64_t j = line % ny;
    const uint64_t k = line / ny;
    const uint64_t all_x = reach_before(nx, nx);
    const uint64_t all_y = reach_before(ny, ny);

    const uint64_t before_x = reach_before(nx, i);
    const uint64_t before_y = reach_before(ny, j);
    const uint64_t before_z = reach_before(nz, k);
    if (box->is_full) {
        return before_z * all_y * all_x +
               reach(nz, k) * (before_y * all_x + reach(ny, j) * before_x);
    }
    return line * all_x + before_x + nx * (k * all_y + before_y) + i * reach(ny, j) +
           nx * ny * before_z + (j * nx + i) * reach(nz, k) - 2 * row;
}

uint64_t st_box_nonzeros(const struct st_box *box)
{
    return box_before(box, st_box_rows(box));
}

enum st_status st_box_check(const struct st_box *box, struct st_error *err)
{
    /* 27 per row bounds every intermediate value of box_before(): for 7 points these are
     * three sums of at most 3 per row. */
    uint64_t bound = 27;

    for (int axis = 0; axis < 3; axis++) {
        if (!st_mul_size(bound, box->n[axis], &bound)) {
            return st_fail(
                err, ST_ERR_CONFIG,
                "a box of %" PRIu64 " x %" PRIu64 " x %" PRIu64
                " points has more nonzeros than 64 bits count; the largest cube "
                "has 880748 points an edge",
                box->n[0], box->n[1], box->n[2]);
        }
    }
    return ST_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Step d of the stencil, 0 … 26, as moves along x, y, z. */
struct step {
    int move[3];
};

static struct step step_of(int d)
{
    return (struct step){{d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1}};
}

/* Is the step part of the stencil, and are its axes longer than one point? */
static bool is_possible(const struct st_box *box, struct step step)
{
    int n_moves = 0;

    for (int axis = 0; axis < 3; axis++) {
        if (step.move[axis] != 0 && box->n[axis] == 1) {
            return false;
        }
        n_moves += step.move[axis] != 0 ? 1 : 0;
    }
    return box->is_full || n_moves <= 1;
}

/* x fastest, then y, then z: the columns come out increasing. */
static void box_row(const void *context, uint64_t row, struct st_row *out)
{
    const struct st_box *box = context;
    const uint64_t nx = box->n[0];
    const uint64_t at[3] = {row % nx, row / nx % box->n[1], row / nx / box->n[1]};
    size_t n = 0;

    for (int d = 0; d < 27; d++) {
        const struct step step = step_of(d);
        bool is_inside = is_possible(box, step);
        for (int axis = 0; axis < 3; axis++) {
            is_inside = is_inside && !(step.move[axis] < 0 && at[axis] == 0) &&
                        !(step.move[axis] > 0 && at[axis] + 1 == box->n[axis]);
        }
        if (!is_inside) {
            continue;
        }
        /* Unsigned wrap-around of a backward move is undone by the sum. */
        out->column_space[n] =
            row + (uint64_t)step.move[0] +
            nx * ((uint64_t)step.move[1] + box->n[1] * (uint64_t)step.move[2]);
        out->value_space[n] = d != 13 ? -1.0 : box->is_full ? 26.0 : 6.0;
        n++;
    }
    out->n = n;
    out->columns = out->column_space;
    out->values = out->value_space;
}

struct st_row_source st_box_source(const struct st_box *box)
{
    return (struct st_row_source){box, box_before, box_row};
}

/*
 * Entries below the diagonal that cross a cut in front of a block of n rows: for each of the
 * 13 steps backwards, as many rows as the step is long. Clipping makes it fewer.
 */
static uint64_t crossing(const struct st_box *box, uint64_t n)
{
    const int64_t nx = (int64_t)box->n[0];
    const int64_t plane = nx * (int64_t)box->n[1];
    uint64_t sum = 0;

    for (int d = 0; d < 13; d++) {
        const struct step step = step_of(d);
        if (is_possible(box, step)) {
            sum += least((uint64_t) -
                             (step.move[0] + nx * step.move[1] + plane * step.move[2]),
                         n);
        }
    }
    return sum;
}

struct st_box_share st_box_share_of(const struct st_box *box, enum st_partition kind,
                                    uint64_t n_ranks, uint64_t rank)
{
    const struct st_row_source source = st_box_source(box);
    const uint64_t n = st_box_rows(box);
    const uint64_t nx = box->n[0];
    const uint64_t first = st_partition_start(&source, kind, 0, n, n_ranks, rank);
    const uint64_t end = st_partition_start(&source, kind, 0, n, n_ranks, rank + 1);
    const uint64_t n_rows = end - first;
    const uint64_t n_sides = (first > 0 ? 1U : 0U) + (end < n ? 1U : 0U);
    const uint64_t n_nonzeros = box_before(box, end) - box_before(box, first);
    /* One side: the block shifted by a plane, widened by a line and a point for 27 points,
     * and the line before the block; never more than the furthest step. */
    const uint64_t margin = box->is_full ? nx + 1 : 0;
    const uint64_t furthest = (box->n[2] > 1   ? nx * box->n[1]
                               : box->n[1] > 1 ? nx
                                               : 1) +
                              margin;
    const uint64_t n_side = least(furthest, n_rows + 2 * margin + nx + 1);

    return (struct st_box_share){.n_rows = n_rows,
                                 .n_nonzeros = n_nonzeros,
                                 .n_rest =
                                     least(n_sides * crossing(box, n_rows), n_nonzeros),
                                 .n_ghosts = least(n_sides * n_side, n - n_rows)};
}
