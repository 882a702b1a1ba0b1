/*
 * The loops over lines of a box against plain sums over the 26 neighbours, for every instruction
 * set of this CPU: random vectors, a random diagonal, lines that are not multiples of a register.
 */
#include "kernels/box27.h"
#include "kernels/isa.h"
#include "kernels/splitmix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    LONGEST = 29,
    NY = 4,
    NZ = 3,
    MOST = (LONGEST + 2) * (NY + 2) * (NZ + 2)
};

/* x with a shell of points around the box; everything else without. */
struct box {
    size_t nx;
    double x[MOST], want[MOST];
    double d[MOST], r[MOST], y[MOST], scratch[2 * LONGEST];
};
static struct box m;

static size_t at(size_t i, size_t j, size_t k) /* 1 is the first point of the box */
{
    return i + (m.nx + 2) * (j + (NY + 2) * k);
}

static size_t row_of(size_t i, size_t j, size_t k)
{
    return i - 1 + m.nx * (j - 1 + NY * (k - 1));
}

/* A shell of zeros for sweeps from zero. */
static void fill(size_t nx, int zero_all)
{
    m.nx = nx;
    for (size_t i = 0; i < MOST; i++) {
        m.x[i] = zero_all ? 0.0 : stk_random_unit(5, i) - 0.5;
        m.want[i] = m.x[i];
        m.d[i] = 26.0 + stk_random_unit(6, i);
        m.r[i] = stk_random_unit(7, i) - 0.5;
    }
}

static double neighbours(const double *x, size_t centre)
{
    double sum = 0.0;

    for (int k = -1; k <= 1; k++) {
        for (int j = -1; j <= 1; j++) {
            for (int i = -1; i <= 1; i++) {
                const ptrdiff_t step =
                    i + (ptrdiff_t)(m.nx + 2) * (j + (ptrdiff_t)(NY + 2) * k);
                sum += step == 0 ? 0.0 : x[(ptrdiff_t)centre + step];
            }
        }
    }
    return sum;
}

static void sweep_plainly(int backward)
{
    const size_t n = m.nx * NY * NZ;

    for (size_t step = 0; step < n; step++) {
        const size_t row = backward ? n - 1 - step : step;
        const size_t centre =
            at(row % m.nx + 1, row / m.nx % NY + 1, row / m.nx / NY + 1);
        m.want[centre] = (m.r[row] + neighbours(m.want, centre)) / m.d[row];
    }
}

static struct stk_box_lines lines(size_t j, size_t k)
{
    struct stk_box_lines a = {.n = m.nx};

    for (size_t line = 0; line < STK_BOX_LINES; line++) {
        const double *from = m.x + at(1, j + line % 3 - 1, k + line / 3 - 1);
        a.line[line] = from;
        a.left[line] = from[-1];
        a.right[line] = from[m.nx];
    }
    return a;
}

static void assert_alike(void)
{
    for (size_t i = 0; i < at(0, 0, NZ + 2); i++) {
        assert_true(fabs(m.x[i] - m.want[i]) <= 1e-14);
    }
}

enum sweep {
    FORWARD_ZERO,
    BACKWARD_ZERO,
    FORWARD,
    BACKWARD
};

static void sweep(const struct stk_box_loops *loops, enum sweep which)
{
    for (size_t step = 0; step < (size_t)NY * NZ; step++) {
        const int down = which == BACKWARD_ZERO || which == BACKWARD;
        const size_t line = down ? (size_t)NY * NZ - 1 - step : step;
        const size_t j = line % NY + 1;
        const size_t k = line / NY + 1;
        const struct stk_box_lines a = lines(j, k);
        const double *d = m.d + row_of(1, j, k);
        const double *r = m.r + row_of(1, j, k);
        double *own = m.x + at(1, j, k);
        if (which == FORWARD_ZERO) {
            loops->forward_zero(&a, d, r, own, m.scratch);
        } else if (which == BACKWARD_ZERO) {
            loops->backward_zero(&a, d, own, m.scratch);
        } else {
            (down ? loops->backward : loops->forward)(&a, d, r, own, m.scratch);
        }
    }
}

static void check(const struct stk_box_loops *loops, size_t nx)
{
    double dot = 0.0;
    double sum = 0.0;

    fill(nx, 1);
    sweep(loops, FORWARD_ZERO);
    sweep_plainly(0);
    assert_alike();
    sweep(loops, BACKWARD_ZERO);
    sweep_plainly(1);
    assert_alike();

    fill(nx, 0);
    sweep(loops, FORWARD);
    sweep_plainly(0);
    assert_alike();
    sweep(loops, BACKWARD);
    sweep_plainly(1);
    assert_alike();

    for (size_t k = 1; k <= NZ; k++) {
        for (size_t j = 1; j <= NY; j++) {
            const struct stk_box_lines a = lines(j, k);
            const size_t row = row_of(1, j, k);
            dot += loops->multiply(&a, m.d + row, m.y);
            for (size_t i = 0; i < nx; i++) {
                const size_t centre = at(i + 1, j, k);
                const double want = m.d[row + i] * m.x[centre] - neighbours(m.x, centre);
                assert_true(fabs(m.y[i] - want) <= 1e-13);
                sum += m.x[centre] * want;
            }
        }
    }
    assert_true(fabs(dot - sum) <= 1e-11);
}

static void lines_are_those_of_plain_sums(void **unused)
{
    static const size_t lengths[] = {2, 3, 8, 16, LONGEST};
    int n_sets = 0;

    (void)unused;
    for (int isa = STK_ISA_PLAIN; isa <= STK_ISA_AVX512; isa++) {
        for (size_t i = 0; stk_box_loops_of(isa) != NULL && i < 5; i++) {
            check(stk_box_loops_of(isa), lengths[i]);
            n_sets++;
        }
    }
    assert_true(n_sets >= 5);
    check(stk_box_loops_best(), LONGEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_plain_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
