/*
 * The sweeps over halves against plain sweeps over the same matrix in CSR, for every instruction
 * set of this CPU: banded matrices with random values and gaps.
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
    N = 2053, /* the last chunk is not full; more than two blocks of raised sweeps */
    WIDTH = STK_LU_WIDTH,
    LANES = STK_LU_LANES,
    CHUNKS = (N + LANES - 1) / LANES
};

#define ST_TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What the columns of a matrix are like. */
enum shape {
    CLOSE,     /* entries of rows in their own chunk: no chunk may be swept by vectors */
    SCATTERED, /* gaps break every run */
    RUNS,      /* but for the first and last chunks */
    N_SHAPES
};

/* One matrix in both storages, and vectors. */
struct pair {
    struct stk_lu_chunk lower[CHUNKS], upper[CHUNKS];
    int16_t lower_offsets[CHUNKS][WIDTH][LANES], upper_offsets[CHUNKS][WIDTH][LANES];
    double diagonal[N];
    uint32_t start[N + 1];
    int32_t columns[N * (2 * WIDTH + 1)];
    double values[N * (2 * WIDTH + 1)];
    size_t part_start[2];
    struct stk_lu lu;
    struct stk_csr csr;
    double r[N], x[N], want[N], t[N], y[N], ux[N];
};
static struct pair m; /* too large for a stack */

/* Distance of entry s of a half, the nearest last. Wide: all but the nearest lie in other chunks. */
static int64_t step_of(size_t s, bool is_wide)
{
    return s == WIDTH - 1 ? 1 : (is_wide ? 6 : 0) + 2 * (int64_t)(WIDTH - s) - 1;
}

static double random_at(uint64_t i)
{
    return stk_random_unit(7, i) - 0.5;
}

/* Gaps and what lies outside are zeros; a gap leads to the row itself where scattered, and to
 * where the entry would have led otherwise. */
static int32_t put(size_t row, size_t s, bool is_lower, enum shape shape, uint32_t *n)
{
    const int64_t step = step_of(s, shape != CLOSE);
    const int64_t to = (int64_t)row + (is_lower ? -step : step);
    const uint64_t seed = 2 * (uint64_t)(row * WIDTH + s) + (is_lower ? 0 : 1);
    struct stk_lu_chunk *chunk = is_lower ? &m.lower[row / LANES] : &m.upper[row / LANES];
    const bool is_inside = row < N && to >= 0 && to < N;
    const bool is_entry = is_inside && seed % 3 != 0;

    chunk->values[s][row % LANES] = is_entry ? random_at(seed) : 0.0;
    if (is_entry) {
        m.columns[*n] = (int32_t)to;
        m.values[(*n)++] = random_at(seed);
    }
    return (int32_t)(is_entry || (is_inside && shape == RUNS) ? to
                     : row < N                                ? (int64_t)row
                                                              : N - 1);
}

/* Bases of the chunk's half from the columns of its rows; offsets where they are no runs. */
static void code(size_t c, bool is_lower, int32_t columns[WIDTH][LANES])
{
    struct stk_lu_chunk *chunk = is_lower ? &m.lower[c] : &m.upper[c];
    int16_t(*offsets)[LANES] = is_lower ? m.lower_offsets[c] : m.upper_offsets[c];

    chunk->block = STK_LU_RUNS;
    for (size_t s = 0; s < WIDTH; s++) {
        chunk->bases[s] = columns[s][0];
        for (size_t lane = 0; lane < LANES; lane++) {
            offsets[s][lane] = (int16_t)(columns[s][lane] - columns[s][0]);
            if (offsets[s][lane] != (int16_t)lane) {
                chunk->block = (int32_t)c;
            }
        }
    }
}

/* Returns how many chunks of both halves are runs. */
static int make_pair(enum shape shape)
{
    uint32_t n = 0;
    int n_runs = 0;

    (void)memset(&m, 0, sizeof m);
    for (size_t c = 0; c < CHUNKS; c++) {
        int32_t columns[2][WIDTH][LANES];
        for (size_t row = c * LANES; row < (c + 1) * LANES; row++) {
            if (row < N) {
                m.start[row] = n;
            }
            for (size_t s = 0; s < WIDTH; s++) {
                columns[0][s][row % LANES] = put(row, s, true, shape, &n);
                columns[1][s][row % LANES] = put(row, s, false, shape, &n);
            }
            if (row < N) {
                m.diagonal[row] = 20.0 + random_at(9000 + row);
                m.columns[n] = (int32_t)row;
                m.values[n++] = m.diagonal[row];
                m.r[row] = random_at(5000 + row);
            }
        }
        code(c, true, columns[0]);
        code(c, false, columns[1]);
        n_runs += (m.lower[c].block == STK_LU_RUNS ? 1 : 0) +
                  (m.upper[c].block == STK_LU_RUNS ? 1 : 0);
    }
    m.start[N] = n;
    m.part_start[1] = N;
    m.lu = (struct stk_lu){N,
                           m.diagonal,
                           {m.lower, (const int16_t(*)[WIDTH][LANES])m.lower_offsets},
                           {m.upper, (const int16_t(*)[WIDTH][LANES])m.upper_offsets},
                           false};
    m.lu.is_wide = stk_lu_is_wide(&m.lu);
    m.csr = (struct stk_csr){{1, m.part_start}, m.start, m.columns, m.values};
    return n_runs;
}

/* x and want alike: random, or zero. */
static void set_x(bool is_zero)
{
    for (size_t i = 0; i < N; i++) {
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

/* Sum over the entries above the diagonal in some columns. */
static void add_upper(const uint32_t *columns, size_t n, const double *d, double *ux)
{
    for (size_t row = 0; row < N; row++) {
        for (uint32_t k = m.start[row]; k < m.start[row + 1]; k++) {
            for (size_t c = 0; c < n && m.columns[k] > (int32_t)row; c++) {
                ux[row] +=
                    (uint32_t)m.columns[k] == columns[c] ? m.values[k] * d[c] : 0.0;
            }
        }
    }
}

static void check_sweeps(const struct stk_lu_loops *loops)
{
    static const uint32_t rows[] = {0, 2, 9, 40, 41, 42, N - 1};
    double residual[ST_TEST_COUNT(rows)];

    set_x(true);
    stk_gs_forward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->forward_zero(&m.lu, m.r, m.x);
    assert_alike(m.x, m.want, N);
    stk_gs_backward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->backward_zero(&m.lu, m.x, m.ux);
    assert_alike(m.x, m.want, N);

    stk_csr_multiply_ref(&m.csr, m.x, m.t);
    loops->residual(&m.lu, ST_TEST_COUNT(rows), rows, m.r, m.ux, m.x, residual);
    for (size_t i = 0; i < ST_TEST_COUNT(rows); i++) {
        assert_true(fabs(residual[i] - (m.r[rows[i]] - m.t[rows[i]])) <= 1e-13);
    }

    set_x(false); /* any x, with the U x that belongs to it */
    (void)memset(m.ux, 0, sizeof m.ux);
    for (uint32_t column = 0; column < N; column++) {
        add_upper(&column, 1, &m.x[column], m.ux);
    }
    stk_gs_forward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->forward(&m.lu, 0, 64, m.r, m.ux, m.x);
    loops->forward(&m.lu, 64, N, m.r, m.ux, m.x);
    assert_alike(m.x, m.want, N);
    stk_gs_backward_ref(&m.csr, m.diagonal, m.r, m.want);
    loops->backward(&m.lu, m.ux, m.x);
    assert_alike(m.x, m.want, N);
}

static void check_product(const struct stk_lu_loops *loops)
{
    double sum = 0.0;

    set_x(false);
    stk_csr_multiply_ref(&m.csr, m.x, m.t);
    const double dot = loops->multiply(&m.lu, m.x, m.y);
    for (size_t i = 0; i < N; i++) { /* the diagonal's 20 beside the other terms */
        sum += m.x[i] * m.t[i];
        assert_true(fabs(m.y[i] - m.t[i]) <= 1e-13);
    }
    assert_true(fabs(dot - sum) <= 1e-11);
}

/* Every instruction set of this CPU, on matrices of every kind of chunk. */
static void sweeps_and_products_are_those_of_csr(void **unused)
{
    (void)unused;
    for (int shape = 0; shape < N_SHAPES; shape++) {
        int n_sets = 0;
        const int n_runs = make_pair((enum shape)shape);
        assert_true(shape == RUNS ? n_runs > CHUNKS : n_runs == 0);
        assert_true(m.lu.is_wide == (shape != CLOSE));
        for (int isa = STK_ISA_PLAIN; isa <= STK_ISA_AVX512; isa++) {
            if (stk_lu_loops_of(isa) != NULL) {
                check_sweeps(stk_lu_loops_of(isa));
                check_product(stk_lu_loops_of(isa));
                n_sets++;
            }
        }
        assert_true(n_sets >= 1);
        check_sweeps(stk_lu_loops_best());
    }
}

/* After a few x were raised, the sweep by U x and their columns is the sweep by the new x. */
static void raised_columns_count(void **unused)
{
    static const uint32_t columns[] = {3, 17, 18, 100, 1200, N - 1};
    enum {
        N_RAISED = (int)ST_TEST_COUNT(columns)
    };
    const double d[N_RAISED] = {0.5, -0.25, 1.0, 2.0, -1.5, 0.125};
    uint32_t rows[N_RAISED][WIDTH];
    double values[N_RAISED][WIDTH];

    (void)unused;
    (void)make_pair(RUNS);
    for (size_t c = 0; c < N_RAISED; c++) {
        for (size_t s = 0; s < WIDTH; s++) {
            const int64_t row = (int64_t)columns[c] - step_of(s, true);
            const bool is_entry =
                row >= 0 && stk_lu_column(&m.lu.upper, (size_t)row, s) == columns[c];
            rows[c][s] = is_entry ? (uint32_t)row : columns[c];
            values[c][s] =
                is_entry ? m.upper[(size_t)row / LANES].values[s][(size_t)row % LANES]
                         : 0.0;
        }
    }
    const struct stk_lu_columns raised = {N_RAISED, columns, rows[0], values[0], 40};

    set_x(true);
    stk_lu_loops_best()->forward_zero(&m.lu, m.r, m.x);
    stk_lu_loops_best()->backward_zero(&m.lu, m.x, m.ux);
    (void)memcpy(m.want, m.x, sizeof m.want);
    for (size_t c = 0; c < N_RAISED; c++) {
        m.x[columns[c]] += d[c];
        m.want[columns[c]] += d[c];
    }
    stk_gs_forward_ref(&m.csr, m.diagonal, m.r, m.want);
    stk_lu_forward_raised(stk_lu_loops_best(), &m.lu, &raised, d, m.r, m.ux, m.x);
    assert_alike(m.x, m.want, N);
}

/* Entries in ghosts: added to a product, and taken to the right side and back. */
static void ghosts_are_added_and_taken(void **unused)
{
    static const size_t part[] = {0, 2};
    static const uint32_t start[] = {0, 1, 3};
    static const int32_t columns[] = {4, 5, 4};
    static const double values[] = {2.0, -1.0, 0.5};
    static const uint32_t rows[] = {1, 3};
    const struct stk_csr_rows ghosts = {{{1, part}, start, columns, values}, rows};
    const double x[] = {1.0, 3.0, 1.0, 7.0, 10.0, 100.0}; /* four rows, two ghosts */
    double y[] = {1.0, 1.0, 1.0, 1.0};
    double kept[2];

    (void)unused;
    assert_true(stk_lu_add_ghosts(&ghosts, x, y) == 3.0 * 20.0 + 7.0 * -95.0);
    assert_true(y[0] == 1.0 && y[1] == 21.0 && y[2] == 1.0 && y[3] == -94.0);
    stk_lu_take_ghosts(&ghosts, x, y, kept);
    assert_true(y[0] == 1.0 && y[1] == 1.0 && y[2] == 1.0 && y[3] == 1.0);
    stk_lu_restore(&ghosts, kept, y);
    assert_true(y[1] == 21.0 && y[3] == -94.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_and_products_are_those_of_csr),
        cmocka_unit_test(raised_columns_count),
        cmocka_unit_test(ghosts_are_added_and_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
