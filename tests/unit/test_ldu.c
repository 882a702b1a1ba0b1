/*
 * Loops over LDU matrices against the same matrix written out: products, the factorisation of
 * DIC and DILU, Gauss-Seidel; then rows in levels and runs against the face loops.
 */
#include "kernels/isa.h"
#include "kernels/ldu.h"
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
    NX = 11, /* longer than a register of any instruction set */
    NY = 4,
    N = NX * NY, /* cells of a flat mesh */
    N_FACES = (NX - 1) * NY + NX * (NY - 1)
};

struct bench {
    int32_t owner[N_FACES], neighbour[N_FACES], start[N + 1];
    double diag[N], lower[N_FACES], upper[N_FACES];
    double full[N][N]; /* the same, written out */
    double x[N], b[N], got[N], want[N], inverse[N];
    struct stk_ldu a;
};
static struct bench m;

static void make(bool is_symmetric)
{
    int32_t f = 0;

    memset(&m, 0, sizeof m);
    for (int32_t c = 0; c < N; c++) {
        const int32_t next[2] = {c % NX + 1 < NX ? c + 1 : -1, c + NX < N ? c + NX : -1};
        m.start[c] = f;
        m.diag[c] = 4.0 + stk_random_unit(1, (uint64_t)c);
        m.full[c][c] = m.diag[c];
        m.x[c] = stk_random_unit(2, (uint64_t)c) - 0.5;
        m.b[c] = stk_random_unit(3, (uint64_t)c) - 0.5;
        for (int i = 0; i < 2; i++) {
            if (next[i] < 0) {
                continue;
            }
            m.owner[f] = c;
            m.neighbour[f] = next[i];
            m.upper[f] = -stk_random_unit(4, (uint64_t)f);
            m.lower[f] = is_symmetric ? m.upper[f] : -stk_random_unit(5, (uint64_t)f);
            m.full[c][next[i]] = m.upper[f];
            m.full[next[i]][c] = m.lower[f];
            f++;
        }
    }
    m.start[N] = f;
    assert_int_equal(f, N_FACES);
    m.a = (struct stk_ldu){.n_cells = N,
                           .n_faces = N_FACES,
                           .owner = m.owner,
                           .neighbour = m.neighbour,
                           .owner_start = m.start,
                           .diag = m.diag,
                           .lower = m.lower,
                           .upper = m.upper};
}

static void assert_near(const double *got, const double *want)
{
    for (size_t i = 0; i < N; i++) {
        assert_true(fabs(got[i] - want[i]) <= 1e-13);
    }
}

static void multiply_full(const double *x, double *y)
{
    for (size_t i = 0; i < N; i++) {
        y[i] = 0.0;
        for (size_t j = 0; j < N; j++) {
            y[i] += m.full[i][j] * x[j];
        }
    }
}

static void product_and_sums(void **unused)
{
    double ones[N];

    (void)unused;
    make(false);
    stk_ldu_multiply(&m.a, m.x, m.got);
    multiply_full(m.x, m.want);
    assert_near(m.got, m.want);
    for (size_t i = 0; i < N; i++) {
        ones[i] = 1.0;
    }
    stk_ldu_row_sums(&m.a, m.got);
    multiply_full(ones, m.want);
    assert_near(m.got, m.want);
    double mag = 0.0;
    double product = 0.0;
    double terms = 0.0;
    for (size_t i = 0; i < N; i++) {
        mag += fabs(m.b[i]);
        product += m.b[i] * m.x[i];
        terms += fabs(m.x[i] - 2.0 * m.want[i]) + fabs(m.b[i] - 2.0 * m.want[i]);
    }
    assert_true(fabs(stk_ldu_sum_mag(N, m.b) - mag) <= 1e-13);
    assert_true(fabs(stk_ldu_sum_product(N, m.b, m.x) - product) <= 1e-13);
    assert_true(fabs(stk_ldu_norm_terms(N, m.x, m.b, m.want, 2.0) - terms) <= 1e-12);
}

/* D*: d_i = a_ii - sum over j < i of a_ij a_ji / d_j. */
static void factor_full(double *star)
{
    for (size_t i = 0; i < N; i++) {
        star[i] = m.full[i][i];
        for (size_t j = 0; j < i; j++) {
            star[i] -= m.full[i][j] * m.full[j][i] / star[j];
        }
    }
}

/* (D* + L) D*^-1 (D* + U) w = r, by its own triangles. */
static void solve_full(const double *star, const double *r, double *w)
{
    for (size_t i = 0; i < N; i++) {
        w[i] = r[i];
        for (size_t j = 0; j < i; j++) {
            w[i] -= m.full[i][j] * w[j];
        }
        w[i] /= star[i];
    }
    for (size_t i = N; i-- > 0;) {
        double sum = 0.0;
        for (size_t j = i + 1; j < N; j++) {
            sum += m.full[i][j] * w[j];
        }
        w[i] -= sum / star[i];
    }
}

static void preconditioner(void **unused)
{
    double star[N];

    (void)unused;
    for (int is_symmetric = 0; is_symmetric < 2; is_symmetric++) {
        make(is_symmetric);
        factor_full(star);
        stk_ldu_dilu(&m.a, m.inverse);
        stk_ldu_dilu_solve(&m.a, m.inverse, m.b, m.got);
        solve_full(star, m.b, m.want);
        assert_near(m.got, m.want);
    }
}

/* Going over faces adds up the same terms in the same order. */
static void uneven_meshes_get_the_same_bits(void **unused)
{
    double product[2];
    double sweeps[2];
    double by_cells[2][N];
    double by_faces[2][N];

    (void)unused;
    for (int is_symmetric = 0; is_symmetric < 2; is_symmetric++) {
        make(is_symmetric);
        assert_false(stk_ldu_is_uneven(N, m.start));
        stk_ldu_dilu(&m.a, m.inverse);
        for (int uneven = 0; uneven < 2; uneven++) {
            double(*out)[N] = uneven ? by_faces : by_cells;
            m.a.is_uneven = uneven == 1;
            memcpy(out[0], m.b, sizeof m.b);
            product[uneven] = stk_ldu_multiply_rest(&m.a, m.x, out[0]);
            memcpy(out[1], m.x, sizeof m.x);
            sweeps[uneven] = stk_ldu_dilu_sweeps(&m.a, m.inverse, m.b, out[1]);
        }
        assert_memory_equal(by_cells, by_faces, sizeof by_cells);
        assert_true(product[0] == product[1] && sweeps[0] == sweeps[1]);
    }
    const int32_t alternating[] = {0, 1, 4, 5, 8, 9, 12, 13, 16};
    assert_true(stk_ldu_is_uneven(8, alternating));
}

static void gauss_seidel(void **unused)
{
    (void)unused;
    make(false);
    memcpy(m.got, m.x, sizeof m.got);
    memcpy(m.want, m.x, sizeof m.want);
    memcpy(m.inverse, m.b, sizeof m.inverse); /* the right side, used up */
    stk_ldu_gauss_seidel(&m.a, m.inverse, m.got);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < N; k++) {
            const size_t i = pass == 0 ? k : N - 1 - k;
            double sum = m.b[i];
            for (size_t j = 0; j < N; j++) {
                sum -= j == i ? 0.0 : m.full[i][j] * m.want[j];
            }
            m.want[i] = sum / m.full[i][i];
        }
    }
    assert_near(m.got, m.want);
}

/*
 * Rows in the cells' own order are rows in order of levels too, with runs of one row: the sweeps
 * over them must give t = M^-1 (scaled), q and w as the plain loops do.
 */
struct rows {
    int32_t lower_start[N + 1], upper_start[N + 1], lower_column[N_FACES],
        upper_column[N_FACES];
    double lower[N_FACES], upper[N_FACES], rest[N], root[N];
    struct stk_run lower_runs[N], upper_runs[N];
    double lower_slots[STK_RUN_WIDTH][N], upper_slots[STK_RUN_WIDTH][N];
    double r_hat[2][N], v[2][N], t[2][N], w[2][N];
};
static struct rows rows;

static void make_rows(bool is_scaled)
{
    int32_t n[2] = {0, 0};

    memset(&rows, 0, sizeof rows);
    stk_ldu_dilu(&m.a, m.inverse);
    for (size_t i = 0; i < N; i++) {
        rows.root[i] = is_scaled ? sqrt(1.0 / m.inverse[i]) : 1.0;
    }
    for (size_t i = 0; i < N; i++) {
        int slots[2] = {0, 0};
        rows.rest[i] = m.diag[i] * m.inverse[i] - 1.0;
        rows.lower_runs[i] = rows.upper_runs[i] =
            (struct stk_run){(int32_t)i, 1, {0, 0, 0}};
        for (size_t j = 0; j < N; j++) {
            const double value = m.full[i][j] / (rows.root[i] * rows.root[j]);
            if (j == i || m.full[i][j] == 0.0) {
                continue;
            }
            const bool is_upper = j > i;
            const int slot = slots[is_upper]++;
            if (is_upper) {
                rows.upper_column[n[1]] = (int32_t)j;
                rows.upper[n[1]++] = value;
                rows.upper_runs[i].column[slot] = (int32_t)j;
                rows.upper_slots[slot][i] = value;
            } else {
                rows.lower_column[n[0]] = (int32_t)j;
                rows.lower[n[0]++] = value;
                rows.lower_runs[i].column[slot] = (int32_t)j;
                rows.lower_slots[slot][i] = value;
            }
        }
        rows.lower_start[i + 1] = n[0];
        rows.upper_start[i + 1] = n[1];
    }
}

static struct stk_runs runs_of(void)
{
    struct stk_runs runs = {.n = N,
                            .n_lower = N,
                            .n_upper = N,
                            .lower_runs = rows.lower_runs,
                            .upper_runs = rows.upper_runs,
                            .rest = rows.rest,
                            .root = rows.root};

    for (size_t slot = 0; slot < STK_RUN_WIDTH; slot++) {
        runs.lower[slot] = rows.lower_slots[slot];
        runs.upper[slot] = rows.upper_slots[slot];
    }
    return runs;
}

/* Join rows of one lattice line that stand next to each other, as levels of their own do. */
static void one_iteration_is_the_plain_one(void **unused)
{
    const double beta = 0.3;

    (void)unused;
    for (int isa = -1; isa <= STK_ISA_AVX512; isa++) {
        make(true);
        make_rows(true);
        const struct stk_levels plain = {.n = N,
                                         .lower_start = rows.lower_start,
                                         .upper_start = rows.upper_start,
                                         .lower_column = rows.lower_column,
                                         .upper_column = rows.upper_column,
                                         .lower = rows.lower,
                                         .upper = rows.upper,
                                         .rest = rows.rest,
                                         .root = rows.root};
        const struct stk_runs runs = runs_of();
        const struct stk_runs_loops *loops = isa < 0 ? NULL : stk_runs_loops_of(isa);
        const struct stk_levels_forward x = {rows.r_hat[0], rows.v[0], rows.t[0],
                                             rows.w[0]};
        const double alpha = 0.7;
        double step_x[N] = {0.0};
        double before[N];
        double scaled[N];
        double sums[STK_N_SUMS];
        struct stk_levels_backward y = {.beta = beta,
                                        .w = rows.w[0],
                                        .x = step_x,
                                        .r_hat = rows.r_hat[0],
                                        .v = rows.v[0],
                                        .t = rows.t[0]};
        if (isa >= 0 && loops == NULL) {
            continue; /* not on this processor */
        }
        for (size_t i = 0; i < N; i++) {
            scaled[i] = m.b[i] / rows.root[i];
        }
        const double rz = loops == NULL ? stk_levels_start(&plain, scaled, rows.r_hat[0])
                                        : stk_runs_start(&runs, scaled, rows.r_hat[0]);
        /* r' M^-1 r */
        stk_ldu_dilu_solve(&m.a, m.inverse, m.b, m.want);
        assert_true(fabs(rz - stk_ldu_sum_product(N, m.b, m.want)) <= 1e-12);
        double rr = 0.0;
        if (loops == NULL) {
            rr = stk_levels_backward(&plain, &y);
            stk_levels_forward(&plain, &x, sums);
        } else {
            rr = loops->backward(&runs, &y);
            loops->forward(&runs, &x, sums);
        }
        assert_true(fabs(rr - rz) <= 1e-12);
        for (size_t i = 0; i < N; i++) {
            m.got[i] = rows.t[0][i] / rows.root[i]; /* v was 0: the direction is M^-1 r */
        }
        assert_near(m.got, m.want);
        multiply_full(m.want, scaled); /* A p */
        assert_true(fabs(sums[STK_SUM_TAT] - stk_ldu_sum_product(N, scaled, m.want)) <=
                    1e-12);
        assert_true(fabs(sums[STK_SUM_MAGNITUDE] - stk_ldu_sum_mag(N, m.b)) <= 1e-12);
        /* One step on: the residual b - alpha A p must come out of r_hat, and its product was
         * known before. */
        memcpy(before, rows.t[0], sizeof before);
        y.alpha = alpha;
        rr = loops == NULL ? stk_levels_backward(&plain, &y) : loops->backward(&runs, &y);
        for (size_t i = 0; i < N; i++) {
            m.got[i] = m.b[i] - alpha * scaled[i];
            assert_true(fabs(step_x[i] - alpha * before[i]) <= 1e-15);
        }
        stk_ldu_dilu_solve(&m.a, m.inverse, m.got, m.want);
        assert_true(fabs(rr - stk_ldu_sum_product(N, m.got, m.want)) <= 1e-12);
        assert_true(fabs(rz - 2.0 * alpha * sums[STK_SUM_RW] +
                         alpha * alpha * sums[STK_SUM_WW] - rr) <= 1e-12);
        /* The next direction: M^-1 of it, and beta times the last. */
        for (size_t i = 0; i < N; i++) {
            m.got[i] = rows.t[0][i] / rows.root[i];
            m.want[i] += beta * before[i] / rows.root[i];
        }
        assert_near(m.got, m.want);
    }
}

static void fast_gauss_seidel_is_the_plain_one(void **unused)
{
    (void)unused;
    for (int isa = 0; isa <= STK_ISA_AVX512; isa++) {
        const struct stk_runs_loops *loops = stk_runs_loops_of(isa);
        make(false);
        make_rows(false);
        const struct stk_runs runs = runs_of();
        for (size_t i = 0; i < N; i++) {
            m.inverse[i] = 1.0 / m.diag[i];
        }
        struct stk_gs g = {m.diag, m.inverse, m.b, m.x, rows.v[0], rows.t[0]};
        if (loops == NULL) {
            continue;
        }
        stk_runs_gs_start(&runs, &g);
        for (int sweep = 0; sweep < 2; sweep++) {
            double right[N];
            double residual[N];
            multiply_full(g.x, residual);
            for (size_t i = 0; i < N; i++) {
                residual[i] = m.b[i] - residual[i];
            }
            memcpy(m.want, g.x, sizeof m.want);
            memcpy(right, m.b, sizeof right);
            stk_ldu_gauss_seidel(&m.a, right, m.want);
            const double mag = loops->gs_forward(&runs, &g);
            assert_true(fabs(mag - stk_ldu_sum_mag(N, residual)) <= 1e-12);
            loops->gs_backward(&runs, &g);
            assert_near(g.y, m.want);
            g.x = rows.t[sweep];
            g.y = rows.t[1 - sweep];
        }
    }
}

/* Runs longer than a register, with a tail: rows that do not depend on each other at all. */
static void long_runs_are_single_rows(void **unused)
{
    (void)unused;
    for (int isa = 0; isa <= STK_ISA_AVX512; isa++) {
        const struct stk_runs_loops *loops = stk_runs_loops_of(isa);
        make(true);
        make_rows(true);
        struct stk_runs runs = runs_of();
        /* Line y of the lattice depends on line y - 1 only: drop the entries along x. */
        for (size_t i = 0; i < N; i++) {
            const struct stk_run row = {
                (int32_t)i, 1, {(int32_t)(i >= NX ? i - NX : 0), 0, 0}};
            const struct stk_run up = {
                (int32_t)i, 1, {(int32_t)(i + NX < N ? i + NX : 0), 0, 0}};
            rows.lower_runs[i] = row;
            rows.upper_runs[i] = up;
            rows.lower_slots[0][i] = i >= NX ? -0.3 : 0.0;
            rows.upper_slots[0][i] = i + NX < N ? -0.4 : 0.0;
            rows.lower_slots[1][i] = rows.upper_slots[1][i] = 0.0;
        }
        if (loops == NULL) {
            continue;
        }
        double sums[2][STK_N_SUMS];
        double r_hat[2][N];
        double product[2];
        for (int joined = 0; joined < 2; joined++) {
            const struct stk_levels_forward x = {r_hat[joined], rows.v[joined],
                                                 rows.t[joined], rows.w[joined]};
            if (joined) {
                for (int32_t y = 0; y < NY; y++) {
                    rows.lower_runs[y] = rows.lower_runs[y * NX];
                    rows.upper_runs[y] = rows.upper_runs[y * NX];
                    rows.lower_runs[y].n = rows.upper_runs[y].n = NX;
                }
                runs.n_lower = runs.n_upper = NY;
            }
            double step_x[N] = {0.0};
            const struct stk_levels_backward y = {
                0.25, 0.5, m.x, step_x, r_hat[joined], rows.v[joined], rows.t[joined]};
            memcpy(r_hat[joined], m.b, sizeof r_hat[joined]);
            product[joined] = loops->backward(&runs, &y);
            loops->forward(&runs, &x, sums[joined]);
        }
        assert_near(rows.t[0], rows.t[1]);
        assert_near(rows.w[0], rows.w[1]);
        assert_near(r_hat[0], r_hat[1]);
        assert_true(fabs(product[0] - product[1]) <= 1e-12);
        for (int k = 0; k < STK_N_SUMS; k++) {
            assert_true(fabs(sums[0][k] - sums[1][k]) <= 1e-12);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_and_sums),
        cmocka_unit_test(preconditioner),
        cmocka_unit_test(uneven_meshes_get_the_same_bits),
        cmocka_unit_test(gauss_seidel),
        cmocka_unit_test(one_iteration_is_the_plain_one),
        cmocka_unit_test(fast_gauss_seidel_is_the_plain_one),
        cmocka_unit_test(long_runs_are_single_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
