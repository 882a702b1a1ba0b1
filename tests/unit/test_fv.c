/*
 * Finite-volume loops on a small mesh with random numbers: the fused ones against the plain
 * ones, the terms against each other, and both against what is known of them: a convection
 * matrix times 1 is the divergence of phi, a diffusion matrix times 1 is nothing.
 */
#include "kernels/fv.h"
#include "kernels/splitmix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    N = 5, /* cells along an edge */
    N_CELLS = N * N * N,
    N_FACES = 3 * N * N * (N - 1)
};

struct bench {
    int32_t owner[N_FACES], neighbour[N_FACES], start[N_CELLS + 1];
    double weight[N_FACES], area[3 * N_FACES], spread[N_FACES], phi[N_FACES];
    double lower[2][N_FACES], upper[2][N_FACES], flux[2][N_FACES], face[N_FACES];
    double cells[2][8][N_CELLS], u[3][N_CELLS], rau[N_CELLS];
    struct stk_fv fv;
};
static struct bench m; /* too large for a stack */

static double random_at(uint64_t i)
{
    return stk_random_unit(11, i);
}

static int set_up(void **state)
{
    int32_t f = 0;

    (void)state;
    memset(&m, 0, sizeof m);
    for (int32_t c = 0; c < N_CELLS; c++) {
        const int32_t at[3] = {c % N, c / N % N, c / N / N};
        const int32_t step[3] = {1, N, N * N};
        m.start[c] = f;
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] + 1 < N) {
                m.owner[f] = c;
                m.neighbour[f++] = c + step[axis];
            }
        }
    }
    m.start[N_CELLS] = f;
    assert_int_equal(f, N_FACES);
    for (size_t i = 0; i < N_FACES; i++) {
        m.weight[i] = 0.2 + 0.6 * random_at(i);
        m.spread[i] = 0.5 + random_at(1000 + i);
        m.phi[i] = random_at(2000 + i) - 0.5;
        m.face[i] = random_at(9000 + i) - 0.5;
        for (size_t axis = 0; axis < 3; axis++) {
            m.area[3 * i + axis] = random_at(3000 + 3 * i + axis) - 0.5;
        }
    }
    for (size_t c = 0; c < N_CELLS; c++) {
        m.rau[c] = 0.5 + random_at(7000 + c);
        for (size_t axis = 0; axis < 3; axis++) {
            m.u[axis][c] = random_at(5000 + 3 * c + axis) - 0.5;
        }
    }
    m.fv = (struct stk_fv){.n_cells = N_CELLS,
                           .n_faces = N_FACES,
                           .owner = m.owner,
                           .neighbour = m.neighbour,
                           .owner_start = m.start,
                           .weight = m.weight,
                           .area = m.area,
                           .spread = m.spread};
    return 0;
}

/* Sums of up to six terms of size 1 in another order. */
static void assert_near(size_t n, const double *got, const double *want)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(got[i] - want[i]) <= 1e-14);
    }
}

static void matrices_times_one_are_known(void **unused)
{
    double *ones = m.cells[0][0];
    double *row = m.cells[0][1];
    double *sum = m.cells[0][2];

    (void)unused;
    for (size_t c = 0; c < N_CELLS; c++) {
        ones[c] = 1.0;
    }
    for (int is_diffusion = 0; is_diffusion < 2; is_diffusion++) {
        memset(row, 0, sizeof m.cells[0][1]);
        memset(sum, 0, sizeof m.cells[0][2]);
        if (is_diffusion) {
            stk_fv_diffusion(&m.fv, 0.7, m.lower[0]);
            memcpy(m.upper[0], m.lower[0], sizeof m.upper[0]);
        } else {
            stk_fv_convection(&m.fv, m.phi, m.lower[0], m.upper[0]);
            stk_fv_divergence(&m.fv, m.phi, sum);
        }
        stk_fv_negative_sum(&m.fv, m.lower[0], m.upper[0], row); /* the diagonal */
        for (size_t c = 0; c < N_CELLS; c++) {
            row[c] = -row[c];
        }
        stk_fv_off_diagonal(&m.fv, m.lower[0], m.upper[0], ones, row);
        for (size_t c = 0; c < N_CELLS; c++) {
            row[c] = -row[c];
        }
        assert_near(N_CELLS, row, sum);
    }
}

static void fused_momentum_is_the_sum_of_terms(void **unused)
{
    double *diag[2] = {m.cells[0][0], m.cells[1][0]};

    (void)unused;
    memcpy(diag[0], m.rau, sizeof m.rau);
    memcpy(diag[1], m.rau, sizeof m.rau);
    stk_fv_momentum_fused(&m.fv, 0.3, m.phi, m.lower[0], m.upper[0], diag[0]);
    stk_fv_convection(&m.fv, m.phi, m.lower[1], m.upper[1]);
    stk_fv_diffusion(&m.fv, 0.3, m.face);
    for (size_t f = 0; f < N_FACES; f++) {
        m.lower[1][f] += m.face[f];
        m.upper[1][f] += m.face[f];
    }
    stk_fv_negative_sum(&m.fv, m.lower[1], m.upper[1], diag[1]);
    assert_near(N_FACES, m.lower[0], m.lower[1]);
    assert_near(N_FACES, m.upper[0], m.upper[1]);
    assert_near(N_CELLS, diag[0], diag[1]);

    memcpy(diag[1], m.rau, sizeof m.rau);
    stk_fv_momentum_ref(&m.fv, 0.3, m.phi, m.lower[1], m.upper[1], diag[1]);
    assert_near(N_FACES, m.upper[0], m.upper[1]);
    assert_near(N_CELLS, diag[0], diag[1]);
}

static void fused_off_diagonal_is_three_plain_ones(void **unused)
{
    double *const fused[3] = {m.cells[0][0], m.cells[0][1], m.cells[0][2]};
    const double *const u[3] = {m.u[0], m.u[1], m.u[2]};

    (void)unused;
    stk_fv_convection(&m.fv, m.phi, m.lower[0], m.upper[0]);
    stk_fv_off_diagonal_fused(&m.fv, m.lower[0], m.upper[0], u, fused);
    for (int axis = 0; axis < 3; axis++) {
        stk_fv_off_diagonal(&m.fv, m.lower[0], m.upper[0], u[axis], m.cells[1][axis]);
        assert_near(N_CELLS, fused[axis], m.cells[1][axis]);
    }
}

static struct stk_fv_pressure pressure(int set, const double *history)
{
    return (struct stk_fv_pressure){.hbya = {m.u[0], m.u[1], m.u[2]},
                                    .rau = m.rau,
                                    .history = history,
                                    .phi = m.flux[set],
                                    .off = m.upper[set],
                                    .diag = m.cells[set][0],
                                    .source = m.cells[set][1]};
}

static void fused_pressure_and_correction_are_the_plain_ones(void **unused)
{
    double *const sums[2][3] = {{m.cells[0][2], m.cells[0][3], m.cells[0][4]},
                                {m.cells[1][2], m.cells[1][3], m.cells[1][4]}};

    (void)unused;
    for (int with_history = 0; with_history < 2; with_history++) {
        const double *history = with_history ? m.face : NULL;
        const struct stk_fv_pressure fused = pressure(0, history);
        const struct stk_fv_pressure plain = pressure(1, history);
        stk_fv_pressure_fused(&m.fv, &fused);
        stk_fv_pressure_ref(&m.fv, &plain);
        stk_fv_correct_fused(&m.fv, m.upper[0], m.rau, m.flux[0], sums[0]);
        stk_fv_correct_ref(&m.fv, m.upper[1], m.rau, m.flux[1], sums[1]);
        assert_near(N_FACES, m.flux[0], m.flux[1]);
        assert_near(N_FACES, m.upper[0], m.upper[1]);
        for (int i = 0; i < 5; i++) {
            assert_near(N_CELLS, m.cells[0][i], m.cells[1][i]);
        }
    }
    /* The gradient of the reference is that of the terms. */
    stk_fv_interpolate(&m.fv, m.rau, m.face);
    memset(m.cells[0][5], 0, 3 * sizeof m.cells[0][5]);
    memset(m.cells[1][2], 0, 3 * sizeof m.cells[1][2]);
    double *const terms[3] = {m.cells[0][5], m.cells[0][6], m.cells[0][7]};
    stk_fv_gradient(&m.fv, m.face, terms);
    stk_fv_correct_ref(&m.fv, m.upper[1], m.rau, m.flux[1], sums[1]);
    for (int axis = 0; axis < 3; axis++) {
        assert_near(N_CELLS, terms[axis], sums[1][axis]);
    }
}

/* By hand: (1 - min(|c| / |phi_old|, 1)) c / dt with c = phi_old - u_flux. */
static void flux_correction_is_limited(void **unused)
{
    static const struct {
        double phi_old, u_flux, want;
    } rows[] = {{2.0, 1.0, 0.5 * 4.0 * 1.0},
                {2.0, 2.0, 0.0},
                {1.0, -1.0, 0.0},
                {0.0, 0.5, 0.0},
                {0.0, 0.0, 0.0},
                {-4.0, -3.0, -0.75 * 4.0},
                {-4.0, -5.0, 0.75 * 4.0 * 1.0}};

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double got = (double)NAN;
        stk_fv_flux_limit(1, &rows[i].phi_old, &rows[i].u_flux, 4.0, &got);
        assert_true(fabs(got - rows[i].want) <= 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(matrices_times_one_are_known, set_up),
        cmocka_unit_test_setup(fused_momentum_is_the_sum_of_terms, set_up),
        cmocka_unit_test_setup(fused_off_diagonal_is_three_plain_ones, set_up),
        cmocka_unit_test_setup(fused_pressure_and_correction_are_the_plain_ones, set_up),
        cmocka_unit_test(flux_correction_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
