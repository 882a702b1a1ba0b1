/*
 * The sweeps over halves against plain sweeps over the same matrix in CSR, for every instruction
 * set of this CPU: a banded matrix with random values, gaps, and ghosts on both sides.
 */
#include "kernels/isa.h"
#include "kernels/lu.h"
#include "kernels/splitmix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    N = 211,
    GHOSTS = 9,
    WIDTH = STK_LU_WIDTH
};

/* One matrix in both storages, and vectors. */
struct pair {
    double lower[N * WIDTH], upper[N * WIDTH], diagonal[N];
    int32_t lower_columns[N * WIDTH], upper_columns[N * WIDTH];
    uint32_t start[N + 1];
    int32_t columns[N * (2 * WIDTH + 1)];
    double values[N * (2 * WIDTH + 1)];
    size_t part_start[2];
    struct stk_lu lu;
    struct stk_csr csr;
    double r[N], x[N + GHOSTS], want[N + GHOSTS], t[N], y[N];
};
static struct pair m; /* too large for a stack */

static double random_at(uint64_t i)
{
    return stk_random_unit(7, i) - 0.5;
}

/* Distance of entry s of a half: 25, 23 … 1, so that the nearest comes last. */
static void put_half(size_t row, size_t s, bool is_lower, uint32_t *n)
{
    const int64_t step = 2 * (int64_t)(WIDTH - s) - 1;
    const int64_t to = (int64_t)row + (is_lower ? -step : step);
    const size_t k = row * WIDTH + s;
    const uint64_t seed = 2 * (uint64_t)k + (is_lower ? 0 : 1);
    double *values = is_lower ? m.lower : m.upper;
    int32_t *columns = is_lower ? m.lower_columns : m.upper_columns;
    const bool is_own = to >= 0 && to < N;

    if (!is_own && seed % 3 == 0) { /* a gap */
        values[k] = 0.0;
        columns[k] = (int32_t)row;
        return;
    }
    values[k] = random_at(seed);
    columns[k] = is_own ? (int32_t)to : (int32_t)(N + seed % GHOSTS);
    m.columns[*n] = columns[k];
    m.values[(*n)++] = values[k];
}

static void make_pair(void)
{
    uint32_t n = 0;

    (void)memset(&m, 0, sizeof m);
    for (size_t row = 0; row < N; row++) {
        m.start[row] = n;
        m.diagonal[row] = 20.0 + random_at(9000 + row);
        for (size_t s = 0; s < WIDTH; s++) {
            put_half(row, s, true, &n);
            put_half(row, s, false, &n);
        }
        m.columns[n] = (int32_t)row;
        m.values[n++] = m.diagonal[row];
        m.r[row] = random_at(5000 + row);
    }
    m.start[N] = n;
    m.part_start[1] = N;
    m.lu = (struct stk_lu){
        N, m.diagonal, {m.lower, m.lower_columns}, {m.upper, m.upper_columns}};
    m.csr = (struct stk_csr){{1, m.part_start}, m.start, m.columns, m.values};
}

/* x and want alike: random, or zero with its ghosts. */
static void set_x(bool is_zero)
{
    for (size_t i = 0; i < N + GHOSTS; i++) {
        m.x[i] = m.want[i] = is_zero ? 0.0 : random_at(7000 + i);
    }
}

/* Sums of 27 terms below 1 and one division: a few eps times the terms. */
static void assert_alike(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(got[i] - want[i]) <= 1e-14 * (1.0 + fabs(want[i])));
    }
}

static void check(const struct stk_lu_loops *loops)
{
    set_x(true);
    stk_gs_forward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->forward_zero(&m.lu, m.r, m.x);
    assert_alike(m.x, m.want, N + GHOSTS);
    stk_gs_backward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->backward_zero(&m.lu, m.x);
    assert_alike(m.x, m.want, N + GHOSTS);

    set_x(false);
    stk_gs_forward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->forward(&m.lu, m.r, m.x, m.t);
    assert_alike(m.x, m.want, N + GHOSTS);
    stk_gs_backward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->backward(&m.lu, m.t, m.x);
    assert_alike(m.x, m.want, N + GHOSTS);

    set_x(false);
    double sum = 0.0;
    stk_csr_multiply_ref(&m.csr, m.x, m.t);
    const double dot = loops->multiply(&m.lu, m.x, m.y);
    for (size_t i = 0; i < N; i++) {
        sum += m.x[i] * m.t[i];
        assert_true(loops->row(&m.lu, i, m.x) == m.y[i]);
    }
    for (size_t i = 0; i < N; i++) { /* the diagonal's 20 beside the other terms */
        assert_true(fabs(m.y[i] - m.t[i]) <= 1e-13);
    }
    assert_true(fabs(dot - sum) <= 1e-11);
}

static void sweeps_and_products_are_those_of_csr(void **unused)
{
    int n_sets = 0;

    (void)unused;
    make_pair();
    for (int isa = STK_ISA_PLAIN; isa <= STK_ISA_AVX512; isa++) {
        if (stk_lu_loops_of(isa) != NULL) {
            check(stk_lu_loops_of(isa));
            n_sets++;
        }
    }
    assert_true(n_sets >= 1);
    check(stk_lu_loops_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_and_products_are_those_of_csr),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
