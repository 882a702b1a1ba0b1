/*
 * Lines of HPCG's box, one after the other. What surrounds a line is on this rank, among the
 * ghosts of one of 26 neighbouring ranks (each a box one point thick, as in part_hpcg_build.c),
 * or outside the grid, where zeros stand for it.
 */
#include "src/benchmarks/part_hpcg_stencil.h"

#include "src/benchmarks/part_hpcg_build.h"

#include <string.h>

/* A vector and what its sides read: NULL where there is no rank, or its ghosts count as zero. */
struct surroundings {
    const struct st_hpcg_level *level;
    const double *x;
    const double *side[ST_HPCG_STEPS];
};

static struct surroundings look_around(const struct st_hpcg *h,
                                       const struct st_hpcg_level *l, const double *x,
                                       bool with_ghosts)
{
    struct surroundings s = {.level = l, .x = x};

    for (int d = 0; d < ST_HPCG_STEPS; d++) {
        if (with_ghosts && st_hpcg_has_rank(h, d)) {
            s.side[d] = x + l->n_rows + l->ghost_first[d];
        }
    }
    return s;
}

/* Where a step of -1, 0 or 1 from @p at leads along an axis: 0 before, 1 inside, 2 behind. */
static int side_of(size_t at, int move, size_t n)
{
    return move < 0 && at == 0 ? 0 : move > 0 && at + 1 == n ? 2 : 1;
}

/* The line at (j, k) with the nine lines around it. */
static struct stk_box_lines lines_at(const struct surroundings *s, size_t j, size_t k)
{
    const size_t nx = s->level->n[0];
    const size_t ny = s->level->n[1];
    struct stk_box_lines a = {.n = nx};

    for (int line = 0; line < STK_BOX_LINES; line++) {
        const int dy = line % 3 - 1;
        const int dz = line / 3 - 1;
        const int sy = side_of(j, dy, ny);
        const int sz = side_of(k, dz, s->level->n[2]);
        const int d = 3 * sy + 9 * sz;
        /* Place in the side's box: one point thick where it is a neighbour's. */
        const size_t y = sy == 1 ? j + (size_t)dy : 0;
        const size_t z = sz == 1 ? k + (size_t)dz : 0;
        const size_t row = y + (sy == 1 ? ny : 1) * z;
        const double *own = sy == 1 && sz == 1 ? s->x : s->side[d + 1];
        a.line[line] = own != NULL ? own + nx * row : s->level->zeros;
        a.left[line] = s->side[d] != NULL ? s->side[d][row] : 0.0;
        a.right[line] = s->side[d + 2] != NULL ? s->side[d + 2][row] : 0.0;
    }
    return a;
}

void st_hpcg_stencil_smooth_zero(const struct st_hpcg *h, struct st_hpcg_level *l)
{
    const struct surroundings s = look_around(h, l, l->x, false);
    const size_t n_lines = l->n[1] * l->n[2];

    for (size_t i = 0; i < n_lines; i++) {
        const struct stk_box_lines a = lines_at(&s, i % l->n[1], i / l->n[1]);
        const size_t at = i * l->n[0];
        h->box_loops->forward_zero(&a, l->diagonal + at, l->r + at, l->x + at,
                                   l->scratch);
    }
    for (size_t i = n_lines; i-- > 0;) {
        const struct stk_box_lines a = lines_at(&s, i % l->n[1], i / l->n[1]);
        const size_t at = i * l->n[0];
        h->box_loops->backward_zero(&a, l->diagonal + at, l->x + at, l->scratch);
    }
}

void st_hpcg_stencil_smooth(const struct st_hpcg *h, struct st_hpcg_level *l)
{
    const struct surroundings s = look_around(h, l, l->x, true);
    const size_t n_lines = l->n[1] * l->n[2];

    for (size_t i = 0; i < n_lines; i++) {
        const struct stk_box_lines a = lines_at(&s, i % l->n[1], i / l->n[1]);
        const size_t at = i * l->n[0];
        h->box_loops->forward(&a, l->diagonal + at, l->r + at, l->x + at, l->scratch);
    }
    for (size_t i = n_lines; i-- > 0;) {
        const struct stk_box_lines a = lines_at(&s, i % l->n[1], i / l->n[1]);
        const size_t at = i * l->n[0];
        h->box_loops->backward(&a, l->diagonal + at, l->r + at, l->x + at, l->scratch);
    }
}

double st_hpcg_stencil_multiply(const struct st_hpcg *h, const struct st_hpcg_level *l,
                                const double *x, double *y)
{
    const struct surroundings s = look_around(h, l, x, true);
    double dot = 0.0;

    for (size_t i = 0; i < l->n[1] * l->n[2]; i++) {
        const struct stk_box_lines a = lines_at(&s, i % l->n[1], i / l->n[1]);
        const size_t at = i * l->n[0];
        dot += h->box_loops->multiply(&a, l->diagonal + at, y + at);
    }
    return dot;
}

void st_hpcg_stencil_residual(const struct st_hpcg *h, const struct st_hpcg_level *l,
                              double *coarse)
{
    const struct surroundings s = look_around(h, l, l->x, true);

    for (size_t k = 0; k < l->n[2]; k += 2) {
        for (size_t j = 0; j < l->n[1]; j += 2) {
            const struct stk_box_lines a = lines_at(&s, j, k);
            const size_t at = l->n[0] * (j + l->n[1] * k);
            (void)h->box_loops->multiply(&a, l->diagonal + at, l->scratch);
            for (size_t i = 0; i < l->n[0]; i += 2) {
                *coarse++ = l->r[at + i] - l->scratch[i];
            }
        }
    }
}
