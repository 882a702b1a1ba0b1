/*
 * Face loops of LDU matrices, in OpenFOAM's order of operations, so that iteration counts and
 * residuals are its own (Jacobs 1980 for DIC: a factorisation that changes the diagonal only).
 * The faces of one owner are taken together: the same operations in the same order, with the
 * owner's value in a register; what is indirect and scattered stays so.
 */
#include "kernels/ldu.h"

#include <math.h>

const struct stk_work stk_ldu_face_work = {16.0, 0.0, 0.0, 4.0};
const struct stk_work stk_ldu_cell_work = {16.0, 8.0, 8.0, 1.0};

void stk_ldu_multiply(const struct stk_ldu *a, const double *restrict x,
                      double *restrict y)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        y[c] = a->diag[c] * x[c];
    }
    for (size_t c = 0; c < a->n_cells; c++) {
        const size_t end = (size_t)a->owner_start[c + 1];
        double own = y[c];
        for (size_t f = (size_t)a->owner_start[c]; f < end; f++) {
            const int32_t n = a->neighbour[f];
            y[n] += a->lower[f] * x[c];
            own += a->upper[f] * x[n];
        }
        y[c] = own;
    }
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

void stk_ldu_dilu_solve(const struct stk_ldu *a, const double *restrict inverse,
                        const double *restrict r, double *restrict w)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        w[c] = inverse[c] * r[c];
    }
    for (size_t c = 0; c < a->n_cells; c++) {
        const size_t end = (size_t)a->owner_start[c + 1];
        const double own = w[c];
        for (size_t f = (size_t)a->owner_start[c]; f < end; f++) {
            const int32_t n = a->neighbour[f];
            w[n] -= inverse[n] * a->lower[f] * own;
        }
    }
    for (size_t c = a->n_cells; c-- > 0;) {
        const size_t first = (size_t)a->owner_start[c];
        double own = w[c];
        for (size_t f = (size_t)a->owner_start[c + 1]; f-- > first;) {
            own -= inverse[c] * a->upper[f] * w[a->neighbour[f]];
        }
        w[c] = own;
    }
}

void stk_ldu_gauss_seidel_forward(const struct stk_ldu *a, double *restrict right,
                                  double *restrict x)
{
    for (size_t c = 0; c < a->n_cells; c++) {
        const size_t first = (size_t)a->owner_start[c];
        const size_t end = (size_t)a->owner_start[c + 1];
        double value = right[c];
        for (size_t f = first; f < end; f++) {
            value -= a->upper[f] * x[a->neighbour[f]];
        }
        value /= a->diag[c];
        for (size_t f = first; f < end; f++) {
            right[a->neighbour[f]] -= a->lower[f] * value;
        }
        x[c] = value;
    }
}

void stk_ldu_gauss_seidel(const struct stk_ldu *a, double *restrict right,
                          double *restrict x)
{
    stk_ldu_gauss_seidel_forward(a, right, x);
    /* right has lost the part of all lower neighbours as they are now. */
    for (size_t c = a->n_cells; c-- > 0;) {
        const size_t end = (size_t)a->owner_start[c + 1];
        double value = right[c];
        for (size_t f = (size_t)a->owner_start[c]; f < end; f++) {
            value -= a->upper[f] * x[a->neighbour[f]];
        }
        x[c] = value / a->diag[c];
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
