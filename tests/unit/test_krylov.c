/*
 * Fused Krylov kernels against their plain versions, and block Gauss-Seidel against its
 * definition: M z = r with M = (D + L) D^-1 (D + U) multiplied out.
 */
#include "kernels/krylov.h"
#include "kernels/splitmix.h"
#include "kernels/vector.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    N = 61,
    N_VECTORS = 10,
    N_PARTS = 3
};

struct vectors {
    double data[N_VECTORS][N];
    double partial[N_PARTS * STK_PARTIAL];
    struct stk_krylov v;
};

static const size_t parts[N_PARTS + 1] = {0, 20, 20, N};

static void fill(struct vectors *a)
{
    double **const names[N_VECTORS] = {&a->v.x, &a->v.r, &a->v.u, &a->v.w, &a->v.p,
                                       &a->v.s, &a->v.q, &a->v.z, &a->v.m, &a->v.n};

    a->v.split = (struct stk_split){N_PARTS, parts};
    a->v.partial = a->partial;
    for (size_t k = 0; k < N_VECTORS; k++) {
        *names[k] = a->data[k];
        stk_fill_random(&a->v.split, 100 + k, 0, a->data[k]);
    }
}

static void compare(const struct vectors *a, const struct vectors *b)
{
    for (size_t k = 0; k < N_VECTORS; k++) {
        for (size_t i = 0; i < N; i++) {
            /* At most three roundings of values below 3; an FMA saves some. */
            assert_true(fabs(a->data[k][i] - b->data[k][i]) <= 16.0 * DBL_EPSILON);
        }
    }
}

static void fused_updates_equal_plain_ones(void **unused)
{
    static struct vectors fused;
    static struct vectors plain;
    double got[3];
    double want[3];

    (void)unused;
    fill(&fused);
    fill(&plain);
    stk_krylov_sums(&fused.v, got);
    stk_krylov_sums_ref(&plain.v, want);
    for (size_t k = 0; k < 3; k++) {
        assert_true(fabs(got[k] - want[k]) <= N * DBL_EPSILON * N);
    }
    stk_gear_update(&fused.v, 0.3, -0.7);
    stk_gear_update_ref(&plain.v, 0.3, -0.7);
    compare(&fused, &plain);
    stk_pipelined_update(&fused.v, 0.2, 0.5);
    stk_pipelined_update_ref(&plain.v, 0.2, 0.5);
    compare(&fused, &plain);
}

/* Entry of the test matrix: a band, diagonal 4 + i / 10, symmetric. */
static double entry(size_t i, size_t j)
{
    const size_t distance = i > j ? i - j : j - i;

    return distance == 0  ? 4.0 + (double)i / 10.0
           : distance < 3 ? -1.0 / (double)distance
                          : 0.0;
}

static size_t part_of(size_t i)
{
    return i < 20 ? 0 : 2;
}

/* (M z)_i over the blocks: (D + L)(z + D^-1 U z). */
static double multiply_out(const double *z, size_t i)
{
    double half[N];
    double sum = 0.0;

    for (size_t j = 0; j < N; j++) {
        half[j] = z[j];
        for (size_t k = j + 1; k < N; k++) {
            half[j] += part_of(k) == part_of(j) ? entry(j, k) * z[k] / entry(j, j) : 0.0;
        }
    }
    for (size_t j = 0; j <= i; j++) {
        sum += part_of(j) == part_of(i) ? entry(i, j) * half[j] : 0.0;
    }
    return sum;
}

static void gauss_seidel_inverts_its_blocks(void **unused)
{
    uint32_t row_start[N + 1];
    int32_t columns[5 * N];
    double values[5 * N];
    double inverse[N];
    double r[N];
    double z[N];
    uint32_t n = 0;

    (void)unused;
    for (size_t i = 0; i < N; i++) {
        row_start[i] = n;
        for (size_t j = i < 2 ? 0 : i - 2; j < N && j <= i + 2; j++, n++) {
            columns[n] = (int32_t)j;
            values[n] = entry(i, j);
        }
        inverse[i] = 1.0 / entry(i, i);
        r[i] = stk_random_unit(5, i);
    }
    row_start[N] = n;
    const struct stk_csr a = {{N_PARTS, parts}, row_start, columns, values};
    stk_block_sgs(&a, inverse, r, z);
    for (size_t i = 0; i < N; i++) {
        assert_true(fabs(multiply_out(z, i) - r[i]) <= 64.0 * DBL_EPSILON);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_updates_equal_plain_ones),
        cmocka_unit_test(gauss_seidel_inverts_its_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
