/*
 * Face loops of LDU matrices, in OpenFOAM's order of operations, so that iteration counts and
 * residuals are its own (Jacobs 1980 for DIC: a factorisation that changes the diagonal only).
 * Storage is indirect and sums are scattered, as there. The same operations in the same order
 * run faster by three means:
 *   the faces of one owner are taken together, with its value in a register;
 *   so is the value of the next cell, which on most meshes is the first neighbour: a sweep, or
 *   a sum scattered to it, need not wait until the store of one cell can be loaded by the next;
 *   what comes AHEAD cells later is asked for once a cache line, since the processor's own
 *   prefetch does not follow the many streams of these loops.
 * On meshes whose cells own now few, now many faces each end of a cell's faces would be a branch
 * that is foreseen wrongly: there, loops go over the faces, the same sums in the same order.
 */
#include "kernels/ldu.h"

#include <math.h>
#include <stdbool.h>

enum {
    AHEAD = 64,     /* cells */
    LINE = 8,       /* doubles of a cache line */
    CELL_FACES = 3, /* owned by a cell, hexahedra */
    LABEL_LINE = 16 /* labels of a cache line */
};

const struct stk_work stk_ldu_face_work = {12.0, 0.0, 0.0, 4.0};
const struct stk_work stk_ldu_cell_work = {20.0, 8.0, 8.0, 1.0};

/* Macros: gcc 12 finds that a function of prefetches has no effect, and drops its calls. */
#define FETCH(array, index)                                                              \
    __builtin_prefetch(                                                                  \
        (const void *)((uintptr_t)(array) + (uintptr_t)(index) * sizeof *(array)))
/* Coefficients and labels from face @p f on, of as many cells as fill a line. */
#define FETCH_FACES(coefficient, label, f)                                               \
    do {                                                                                 \
        FETCH(coefficient, f);                                                           \
        FETCH(coefficient, (f) + LINE);                                                  \
        FETCH(coefficient, (f) + 2 * LINE);                                              \
        FETCH(label, f);                                                                 \
        FETCH(label, (f) + LABEL_LINE);                                                  \
    } while (0)
/* Before the faces @p first to @p end of a cell: two fields that are scattered to or read. */
#define FETCH_AHEAD(coefficient, neighbour, x, y, first, end)                            \
    do {                                                                                 \
        const ptrdiff_t last_neighbour = (neighbour)[(end)-1];                           \
        FETCH_FACES(coefficient, neighbour, (first) + CELL_FACES * AHEAD);               \
        FETCH(x, last_neighbour + AHEAD);                                                \
        FETCH(y, last_neighbour + AHEAD);                                                \
    } while (0)

bool stk_ldu_is_uneven(size_t n_cells, const int32_t *owner_start)
{
    size_t n_changes = 0;

    for (size_t c = 1; c < n_cells; c++) {
        n_changes +=
            owner_start[c + 1] - owner_start[c] != owner_start[c] - owner_start[c - 1];
    }
    return n_changes > n_cells / 3;
}

static inline double rest_loop(const struct stk_ldu *a, bool is_symmetric,
                               const double *restrict x, double *restrict y)
{
    const int32_t *restrict start = a->owner_start;
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict upper = a->upper;
    const double *restrict lower = a->lower;
    double product = 0.0;
    double next = a->n_cells > 0 ? y[0] : 0.0;
    int32_t f = 0;

    for (size_t c = 0; c < a->n_cells; c++) {
        const int32_t end = start[c + 1];
        const double value = x[c];
        double own = next;
        if (c % LINE == 0 && f < end) {
            FETCH_AHEAD(upper, neighbour, x, y, f, end);
        }
        if (f < end && neighbour[f] == (int32_t)c + 1) {
            const double coefficient = upper[f];
            next = y[c + 1] + (is_symmetric ? coefficient : lower[f]) * value;
            own += coefficient * x[c + 1];
            f++;
        } else {
            next = c + 1 < a->n_cells ? y[c + 1] : 0.0;
        }
        for (; f < end; f++) {
            const int32_t n = neighbour[f];
            const double coefficient = upper[f];
            y[n] += (is_symmetric ? coefficient : lower[f]) * value;
            own += coefficient * x[n];
        }
        y[c] = own;
        product += own * value;
    }
    return product;
}

static double rest_by_faces(const struct stk_ldu *a, const double *restrict x,
                            double *restrict y)
{
    const int32_t *restrict owner = a->owner;
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict upper = a->upper;
    const double *restrict lower = a->lower; /* may be upper: both are only read */
    double product = 0.0;

    for (size_t f = 0; f < a->n_faces; f++) {
        const int32_t o = owner[f];
        const int32_t n = neighbour[f];
        y[n] += lower[f] * x[o];
        y[o] += upper[f] * x[n];
    }
    for (size_t c = 0; c < a->n_cells; c++) {
        product += y[c] * x[c];
    }
    return product;
}

double stk_ldu_multiply_rest(const struct stk_ldu *a, const double *x, double *y)
{
    if (a->is_uneven) {
        return rest_by_faces(a, x, y);
    }
    return a->lower == a->upper ? rest_loop(a, true, x, y) : rest_loop(a, false, x, y);
}

void stk_ldu_multiply(const struct stk_ldu *a, const double *restrict x,
                      double *restrict y)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        y[c] = a->diag[c] * x[c];
    }
    (void)stk_ldu_multiply_rest(a, x, y);
}

void stk_ldu_row_sums(const struct stk_ldu *a, double *out)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        out[c] = a->diag[c];
    }
    for (size_t f = 0; f < a->n_faces; f++) {
        out[a->neighbour[f]] += a->lower[f];
        out[a->owner[f]] += a->upper[f];
    }
}

void stk_ldu_dilu(const struct stk_ldu *a, double *inverse)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        inverse[c] = a->diag[c];
    }
    for (size_t f = 0; f < a->n_faces; f++) {
        inverse[a->neighbour[f]] -= a->upper[f] * a->lower[f] / inverse[a->owner[f]];
    }
    for (size_t c = 0; c < a->n_cells; c++) {
        inverse[c] = 1.0 / inverse[c];
    }
}

static void dilu_forward(const struct stk_ldu *a, const double *restrict inverse,
                         double *restrict w)
{
    const int32_t *restrict start = a->owner_start;
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict lower = a->lower;
    double next = a->n_cells > 0 ? w[0] : 0.0;
    int32_t f = 0;

    for (size_t c = 0; c < a->n_cells; c++) {
        const int32_t end = start[c + 1];
        const double own = next;
        if (c % LINE == 0 && f < end) {
            FETCH_AHEAD(lower, neighbour, inverse, w, f, end);
        }
        w[c] = own;
        if (f < end && neighbour[f] == (int32_t)c + 1) {
            next = w[c + 1] - inverse[c + 1] * lower[f] * own;
            f++;
        } else {
            next = c + 1 < a->n_cells ? w[c + 1] : 0.0;
        }
        for (; f < end; f++) {
            const int32_t n = neighbour[f];
            w[n] -= inverse[n] * lower[f] * own;
        }
    }
}

static double dilu_backward(const struct stk_ldu *a, const double *restrict inverse,
                            const double *restrict r, double *restrict w)
{
    const int32_t *restrict start = a->owner_start;
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict upper = a->upper;
    double product = 0.0;
    double after = 0.0; /* w[c + 1] */
    int32_t f = (int32_t)a->n_faces;

    for (size_t c = a->n_cells; c-- > 0;) {
        const int32_t first = start[c];
        const double factor = inverse[c];
        double own = w[c];
        if (c % LINE == 0) {
            FETCH_FACES(upper, neighbour, f - CELL_FACES * (AHEAD + LINE));
            FETCH(w, (ptrdiff_t)c - AHEAD);
            FETCH(inverse, (ptrdiff_t)c - AHEAD);
            FETCH(r, (ptrdiff_t)c - AHEAD);
        }
        while (f > first + 1) {
            f--;
            own -= factor * upper[f] * w[neighbour[f]];
        }
        if (f > first) {
            const int32_t n = neighbour[--f];
            own -= factor * upper[f] * (n == (int32_t)c + 1 ? after : w[n]);
        }
        w[c] = own;
        after = own;
        product += own * r[c];
    }
    return product;
}

static double dilu_by_faces(const struct stk_ldu *a, const double *restrict inverse,
                            const double *restrict r, double *restrict w)
{
    const int32_t *restrict owner = a->owner;
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict upper = a->upper;
    const double *restrict lower = a->lower;
    double product = 0.0;

    for (size_t f = 0; f < a->n_faces; f++) {
        const int32_t n = neighbour[f];
        w[n] -= inverse[n] * lower[f] * w[owner[f]];
    }
    for (size_t f = a->n_faces; f-- > 0;) {
        const int32_t o = owner[f];
        w[o] -= inverse[o] * upper[f] * w[neighbour[f]];
    }
    for (size_t c = a->n_cells; c-- > 0;) {
        product += w[c] * r[c];
    }
    return product;
}

double stk_ldu_dilu_sweeps(const struct stk_ldu *a, const double *inverse,
                           const double *r, double *w)
{
    if (a->is_uneven) {
        return dilu_by_faces(a, inverse, r, w);
    }
    dilu_forward(a, inverse, w);
    return dilu_backward(a, inverse, r, w);
}

void stk_ldu_dilu_solve(const struct stk_ldu *a, const double *restrict inverse,
                        const double *restrict r, double *restrict w)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        w[c] = inverse[c] * r[c];
    }
    (void)stk_ldu_dilu_sweeps(a, inverse, r, w);
}

void stk_ldu_cg_direct(const struct stk_ldu *a, double beta, double *restrict w,
                       double *restrict p)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        const double value = w[c] + beta * p[c];
        p[c] = value;
        w[c] = a->diag[c] * value;
    }
}

double stk_ldu_cg_step(const struct stk_ldu_cg *v, double alpha)
{
    const double *restrict inverse = v->inverse;
    const double *restrict p = v->p;
    double *restrict x = v->x;
    double *restrict r = v->r;
    double *restrict w = v->w;
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < v->n; c++) {
        const double left = r[c] - alpha * w[c];
        x[c] += alpha * p[c];
        r[c] = left;
        w[c] = inverse[c] * left;
        sum += fabs(left);
    }
    return sum;
}

void stk_ldu_gauss_seidel_forward(const struct stk_ldu *a, double *restrict right,
                                  double *restrict x)
{
    const int32_t *restrict start = a->owner_start;
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict upper = a->upper;
    const double *restrict lower = a->lower;
    double next = a->n_cells > 0 ? right[0] : 0.0;

    for (size_t c = 0; c < a->n_cells; c++) {
        const int32_t end = start[c + 1];
        int32_t f = start[c];
        double value = next;
        if (c % LINE == 0 && f < end) {
            FETCH_AHEAD(upper, neighbour, right, x, f, end);
            FETCH_FACES(lower, neighbour, f + CELL_FACES * AHEAD);
        }
        right[c] = next;
        for (int32_t k = f; k < end; k++) {
            value -= upper[k] * x[neighbour[k]];
        }
        value /= a->diag[c];
        x[c] = value;
        if (f < end && neighbour[f] == (int32_t)c + 1) {
            next = right[c + 1] - lower[f] * value;
            f++;
        } else {
            next = c + 1 < a->n_cells ? right[c + 1] : 0.0;
        }
        for (; f < end; f++) {
            right[neighbour[f]] -= lower[f] * value;
        }
    }
}

void stk_ldu_gauss_seidel(const struct stk_ldu *a, double *restrict right,
                          double *restrict x)
{
    const int32_t *restrict neighbour = a->neighbour;
    const double *restrict upper = a->upper;
    double after = 0.0; /* x[c + 1] */

    stk_ldu_gauss_seidel_forward(a, right, x);
    /* right has lost the part of all lower neighbours as they are now. */
    for (size_t c = a->n_cells; c-- > 0;) {
        const int32_t end = a->owner_start[c + 1];
        int32_t f = a->owner_start[c];
        double value = right[c];
        if (c % LINE == 0) {
            FETCH_FACES(upper, neighbour, f - CELL_FACES * AHEAD);
            FETCH(right, (ptrdiff_t)c - AHEAD);
            FETCH(x, (ptrdiff_t)c - AHEAD);
        }
        if (f < end) {
            const int32_t n = neighbour[f];
            value -= upper[f] * (n == (int32_t)c + 1 ? after : x[n]);
            f++;
        }
        for (; f < end; f++) {
            value -= upper[f] * x[neighbour[f]];
        }
        after = value / a->diag[c];
        x[c] = after;
    }
}

double stk_ldu_sum_mag(size_t n, const double *r)
{
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += fabs(r[i]);
    }
    return sum;
}

double stk_ldu_sum_product(size_t n, const double *a, const double *b)
{
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

double stk_ldu_norm_terms(size_t n, const double *a, const double *b, const double *c,
                          double s)
{
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += fabs(a[i] - c[i] * s) + fabs(b[i] - c[i] * s);
    }
    return sum;
}
