/*
 * Fused vector operations of Krylov methods. Each sweep is bound by memory: what fusing saves
 * is reading and writing vectors again (pipelined: 16 streams in place of 24).
 */
#include "kernels/krylov.h"

#include "kernels/vector.h"

void stk_xpay(const struct stk_split *split, const double *restrict x, double beta,
              double *restrict y)
{
#pragma omp parallel for default(none) shared(split, x, beta, y) schedule(static)
    for (size_t t = 0; t < split->n_parts; t++) {
        for (size_t i = split->start[t]; i < split->start[t + 1]; i++) {
            y[i] = x[i] + beta * y[i];
        }
    }
}

void stk_scale_by(const struct stk_split *split, const double *restrict scale,
                  const double *restrict x, double *restrict out)
{
#pragma omp parallel for default(none) shared(split, scale, x, out) schedule(static)
    for (size_t t = 0; t < split->n_parts; t++) {
        for (size_t i = split->start[t]; i < split->start[t + 1]; i++) {
            out[i] = scale[i] * x[i];
        }
    }
}

static void sum_part(const struct stk_krylov *v, size_t first, size_t end, double *out)
{
    const double *restrict r = v->r;
    const double *restrict u = v->u;
    const double *restrict w = v->w;
    double ru = 0.0;
    double wu = 0.0;
    double rr = 0.0;

#pragma omp simd reduction(+ : ru, wu, rr)
    for (size_t i = first; i < end; i++) {
        ru += r[i] * u[i];
        wu += w[i] * u[i];
        rr += r[i] * r[i];
    }
    out[0] = ru;
    out[1] = wu;
    out[2] = rr;
}

void stk_krylov_sums(const struct stk_krylov *v, double sums[3])
{
    const struct stk_split *split = &v->split;

#pragma omp parallel for default(none) shared(split, v) schedule(static)
    for (size_t t = 0; t < split->n_parts; t++) {
        sum_part(v, split->start[t], split->start[t + 1], v->partial + t * STK_PARTIAL);
    }
    sums[0] = sums[1] = sums[2] = 0.0;
    for (size_t t = 0; t < split->n_parts; t++) {
        for (size_t k = 0; k < 3; k++) {
            sums[k] += v->partial[t * STK_PARTIAL + k];
        }
    }
}

static void gear_part(const struct stk_krylov *v, size_t first, size_t end, double alpha,
                      double beta)
{
    double *restrict x = v->x;
    double *restrict r = v->r;
    double *restrict p = v->p;
    double *restrict s = v->s;
    const double *restrict u = v->u;
    const double *restrict w = v->w;

    for (size_t i = first; i < end; i++) {
        p[i] = u[i] + beta * p[i];
        s[i] = w[i] + beta * s[i];
        x[i] += alpha * p[i];
        r[i] -= alpha * s[i];
    }
}

void stk_gear_update(const struct stk_krylov *v, double alpha, double beta)
{
    const struct stk_split *split = &v->split;

#pragma omp parallel for default(none) shared(split, v, alpha, beta) schedule(static)
    for (size_t t = 0; t < split->n_parts; t++) {
        gear_part(v, split->start[t], split->start[t + 1], alpha, beta);
    }
}

static void pipelined_part(const struct stk_krylov *v, size_t first, size_t end,
                           double alpha, double beta)
{
    double *restrict x = v->x;
    double *restrict r = v->r;
    double *restrict u = v->u;
    double *restrict w = v->w;
    double *restrict p = v->p;
    double *restrict s = v->s;
    double *restrict q = v->q;
    double *restrict z = v->z;
    const double *restrict m = v->m;
    const double *restrict n = v->n;

    for (size_t i = first; i < end; i++) {
        z[i] = n[i] + beta * z[i];
        q[i] = m[i] + beta * q[i];
        s[i] = w[i] + beta * s[i];
        p[i] = u[i] + beta * p[i];
        x[i] += alpha * p[i];
        r[i] -= alpha * s[i];
        u[i] -= alpha * q[i];
        w[i] -= alpha * z[i];
    }
}

void stk_pipelined_update(const struct stk_krylov *v, double alpha, double beta)
{
    const struct stk_split *split = &v->split;

#pragma omp parallel for default(none) shared(split, v, alpha, beta) schedule(static)
    for (size_t t = 0; t < split->n_parts; t++) {
        pipelined_part(v, split->start[t], split->start[t + 1], alpha, beta);
    }
}

/* Forward (D + L) t = r, then backward (D + U) z = D t, in place in z. */
static void sgs_part(const struct stk_csr *a, const double *inverse_diagonal,
                     const double *restrict r, double *restrict z, size_t t)
{
    const size_t first = a->rows.start[t];
    const size_t end = a->rows.start[t + 1];

    for (size_t i = first; i < end; i++) {
        double sum = r[i];
        for (size_t k = a->row_start[i];
             k < a->row_start[i + 1] && (size_t)a->columns[k] < i; k++) {
            if ((size_t)a->columns[k] >= first) {
                sum -= a->values[k] * z[a->columns[k]];
            }
        }
        z[i] = sum * inverse_diagonal[i];
    }
    for (size_t i = end; i-- > first;) {
        double sum = 0.0;
        for (size_t k = a->row_start[i + 1];
             k-- > a->row_start[i] && (size_t)a->columns[k] > i;) {
            if ((size_t)a->columns[k] < end) {
                sum += a->values[k] * z[a->columns[k]];
            }
        }
        z[i] -= sum * inverse_diagonal[i];
    }
}

void stk_block_sgs(const struct stk_csr *a, const double *restrict inverse_diagonal,
                   const double *restrict r, double *restrict z)
{
#pragma omp parallel for default(none) shared(a, inverse_diagonal, r, z) schedule(static)
    for (size_t t = 0; t < a->rows.n_parts; t++) {
        sgs_part(a, inverse_diagonal, r, z, t);
    }
}

void stk_krylov_sums_ref(const struct stk_krylov *v, double sums[3])
{
    const size_t n = v->split.start[v->split.n_parts];

    sums[0] = stk_dot_ref(n, v->r, v->u);
    sums[1] = stk_dot_ref(n, v->w, v->u);
    sums[2] = stk_dot_ref(n, v->r, v->r);
}

static void xpay_ref(size_t n, const double *x, double beta, double *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i] + beta * y[i];
    }
}

void stk_gear_update_ref(const struct stk_krylov *v, double alpha, double beta)
{
    const size_t n = v->split.start[v->split.n_parts];

    xpay_ref(n, v->u, beta, v->p);
    xpay_ref(n, v->w, beta, v->s);
    stk_axpy_ref(n, alpha, v->p, v->x);
    stk_axpy_ref(n, -alpha, v->s, v->r);
}

void stk_pipelined_update_ref(const struct stk_krylov *v, double alpha, double beta)
{
    const size_t n = v->split.start[v->split.n_parts];

    xpay_ref(n, v->n, beta, v->z);
    xpay_ref(n, v->m, beta, v->q);
    stk_gear_update_ref(v, alpha, beta);
    stk_axpy_ref(n, -alpha, v->q, v->u);
    stk_axpy_ref(n, -alpha, v->z, v->w);
}
