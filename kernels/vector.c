/*
 * Vector operations of iterative solvers. Each loop is written once as an inlined body and
 * compiled for the baseline, AVX2 and AVX-512; the parallel wrappers hand every part of the
 * split to the version that suits the CPU. Away from the caches all are equally fast, inside
 * them the wide ones are not.
 */
#include "kernels/vector.h"

#include "kernels/isa.h"
#include "kernels/splitmix.h"

#include <stdbool.h>

const struct stk_work stk_dot_work = {.read_bytes = 16.0, .flops = 2.0};
const struct stk_work stk_axpy_work = {
    .read_bytes = 16.0, .write_bytes = 8.0, .flops = 2.0};
const struct stk_work stk_cg_update_work = {
    .read_bytes = 40.0, .write_bytes = 16.0, .flops = 9.0};
const struct stk_work stk_cg_direction_work = {
    .read_bytes = 24.0, .write_bytes = 8.0, .flops = 3.0};

/* A part of the work: elements first … end-1. */
struct range {
    size_t first, end;
};

#if defined(__GNUC__)
#define BODY static inline __attribute__((always_inline))
#else
#define BODY static inline
#endif

BODY double dot_body(struct range part, const double *a, const double *b)
{
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = part.first; i < part.end; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

BODY void axpy_body(struct range part, double alpha, const double *restrict x,
                    double *restrict y)
{
#pragma omp simd
    for (size_t i = part.first; i < part.end; i++) {
        y[i] += alpha * x[i];
    }
}

BODY void update_body(struct range part, const struct stk_cg *cg, double alpha,
                      double *sums)
{
    const double *restrict p = cg->p;
    const double *restrict q = cg->q;
    const double *restrict d = cg->inverse_diagonal;
    double *restrict x = cg->x;
    double *restrict r = cg->r;
    double rr = 0.0;
    double rz = 0.0;

    if (d == NULL) {
#pragma omp simd reduction(+ : rr)
        for (size_t i = part.first; i < part.end; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rr += r[i] * r[i];
        }
        rz = rr;
    } else {
#pragma omp simd reduction(+ : rr, rz)
        for (size_t i = part.first; i < part.end; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rr += r[i] * r[i];
            rz += r[i] * r[i] * d[i];
        }
    }
    sums[0] = rr;
    sums[1] = rz;
}

BODY void direction_body(struct range part, const struct stk_cg *cg, double beta)
{
    const double *restrict r = cg->r;
    const double *restrict d = cg->inverse_diagonal;
    double *restrict p = cg->p;

    if (d == NULL) {
#pragma omp simd
        for (size_t i = part.first; i < part.end; i++) {
            p[i] = r[i] + beta * p[i];
        }
    } else {
#pragma omp simd
        for (size_t i = part.first; i < part.end; i++) {
            p[i] = d[i] * r[i] + beta * p[i];
        }
    }
}

/* One set of the loops per instruction set. */
struct loops {
    double (*dot)(struct range part, const double *a, const double *b);
    void (*axpy)(struct range part, double alpha, const double *restrict x,
                 double *restrict y);
    void (*update)(struct range part, const struct stk_cg *cg, double alpha,
                   double *sums);
    void (*direction)(struct range part, const struct stk_cg *cg, double beta);
};

/* NOLINTBEGIN(bugprone-macro-parentheses) an attribute takes none */
#define DEFINE_LOOPS(name, target)                                                       \
    target static double dot_##name(struct range part, const double *a, const double *b) \
    {                                                                                    \
        return dot_body(part, a, b);                                                     \
    }                                                                                    \
    target static void axpy_##name(struct range part, double alpha,                      \
                                   const double *restrict x, double *restrict y)         \
    {                                                                                    \
        axpy_body(part, alpha, x, y);                                                    \
    }                                                                                    \
    target static void update_##name(struct range part, const struct stk_cg *cg,         \
                                     double alpha, double *sums)                         \
    {                                                                                    \
        update_body(part, cg, alpha, sums);                                              \
    }                                                                                    \
    target static void direction_##name(struct range part, const struct stk_cg *cg,      \
                                        double beta)                                     \
    {                                                                                    \
        direction_body(part, cg, beta);                                                  \
    }                                                                                    \
    static const struct loops loops_##name = {dot_##name, axpy_##name, update_##name,    \
                                              direction_##name};

/* NOLINTEND(bugprone-macro-parentheses) */

DEFINE_LOOPS(plain, )
#if STK_HAVE_X86
DEFINE_LOOPS(avx2, STK_TARGET_AVX2)
DEFINE_LOOPS(avx512, STK_TARGET_AVX512)
#endif

static const struct loops *loops_of_this_cpu(void)
{
#if STK_HAVE_X86
    const enum stk_isa isa = stk_isa_best();

    if (isa == STK_ISA_AVX512) {
        return &loops_avx512;
    }
    if (isa == STK_ISA_AVX2) {
        return &loops_avx2;
    }
#endif
    return &loops_plain;
}

static struct range part_of(const struct stk_split *split, size_t t)
{
    return (struct range){split->start[t], split->start[t + 1]};
}

void stk_fill(const struct stk_split *split, double value, double *a)
{
#pragma omp parallel for default(none) shared(split, value, a)                           \
    schedule(static) if (split->n_parts > 1)
    for (size_t t = 0; t < split->n_parts; t++) {
        for (size_t i = split->start[t]; i < split->start[t + 1]; i++) {
            a[i] = value;
        }
    }
}

void stk_fill_random(const struct stk_split *split, uint64_t seed, uint64_t first,
                     double *a)
{
#pragma omp parallel for default(none) shared(split, seed, first, a)                     \
    schedule(static) if (split->n_parts > 1)
    for (size_t t = 0; t < split->n_parts; t++) {
        for (size_t i = split->start[t]; i < split->start[t + 1]; i++) {
            a[i] = stk_random_unit(seed, first + i);
        }
    }
}

void stk_copy(const struct stk_split *split, const double *restrict a,
              double *restrict out)
{
#pragma omp parallel for default(none) shared(split, a, out)                             \
    schedule(static) if (split->n_parts > 1)
    for (size_t t = 0; t < split->n_parts; t++) {
        for (size_t i = split->start[t]; i < split->start[t + 1]; i++) {
            out[i] = a[i];
        }
    }
}

double stk_dot(const struct stk_split *split, const double *a, const double *b,
               double *partial)
{
    const struct loops *loops = loops_of_this_cpu();
    double sum = 0.0;

#pragma omp parallel for default(none) shared(split, a, b, partial, loops)               \
    schedule(static) if (split->n_parts > 1)
    for (size_t t = 0; t < split->n_parts; t++) {
        partial[t * STK_PARTIAL] = loops->dot(part_of(split, t), a, b);
    }
    for (size_t t = 0; t < split->n_parts; t++) {
        sum += partial[t * STK_PARTIAL];
    }
    return sum;
}

void stk_axpy(const struct stk_split *split, double alpha, const double *restrict x,
              double *restrict y)
{
    const struct loops *loops = loops_of_this_cpu();

#pragma omp parallel for default(none) shared(split, alpha, x, y, loops)                 \
    schedule(static) if (split->n_parts > 1)
    for (size_t t = 0; t < split->n_parts; t++) {
        loops->axpy(part_of(split, t), alpha, x, y);
    }
}

void stk_cg_update(const struct stk_cg *cg, double alpha, double *rr, double *rz)
{
    const struct loops *loops = loops_of_this_cpu();

    *rr = 0.0;
    *rz = 0.0;
#pragma omp parallel for default(none) shared(cg, alpha, loops)                          \
    schedule(static) if (cg->split.n_parts > 1)
    for (size_t t = 0; t < cg->split.n_parts; t++) {
        loops->update(part_of(&cg->split, t), cg, alpha, cg->partial + t * STK_PARTIAL);
    }
    for (size_t t = 0; t < cg->split.n_parts; t++) {
        *rr += cg->partial[t * STK_PARTIAL];
        *rz += cg->partial[t * STK_PARTIAL + 1];
    }
}

void stk_cg_direction(const struct stk_cg *cg, double beta)
{
    const struct loops *loops = loops_of_this_cpu();

#pragma omp parallel for default(none) shared(cg, beta, loops)                           \
    schedule(static) if (cg->split.n_parts > 1)
    for (size_t t = 0; t < cg->split.n_parts; t++) {
        loops->direction(part_of(&cg->split, t), cg, beta);
    }
}

void stk_pack(size_t n, const int32_t *restrict index, const double *restrict x,
              double *restrict out)
{
    /* Below some thousand elements waking the threads costs more than the copying. */
    const bool is_long = n > 8192;

#pragma omp parallel for if (is_long) default(none) shared(n, index, x, out)             \
    schedule(static)
    for (size_t i = 0; i < n; i++) {
        out[i] = x[index[i]];
    }
}

double stk_dot_ref(size_t n, const double *a, const double *b)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void stk_axpy_ref(size_t n, double alpha, const double *restrict x, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] += alpha * x[i];
    }
}

void stk_cg_update_ref(const struct stk_cg *cg, double alpha, double *rr, double *rz)
{
    const double *d = cg->inverse_diagonal;

    *rr = 0.0;
    *rz = 0.0;
    for (size_t i = 0; i < cg->split.start[cg->split.n_parts]; i++) {
        cg->x[i] += alpha * cg->p[i];
        cg->r[i] -= alpha * cg->q[i];
        *rr += cg->r[i] * cg->r[i];
        *rz += cg->r[i] * cg->r[i] * (d == NULL ? 1.0 : d[i]);
    }
}

void stk_cg_direction_ref(const struct stk_cg *cg, double beta)
{
    const double *d = cg->inverse_diagonal;

    for (size_t i = 0; i < cg->split.start[cg->split.n_parts]; i++) {
        cg->p[i] = (d == NULL ? 1.0 : d[i]) * cg->r[i] + beta * cg->p[i];
    }
}
