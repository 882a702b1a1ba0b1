/*
 * CSR product and solver vectors: every loop against its plain reference, over part counts
 * and row lengths, and the known answers of METHODS 4.3.
 */
#include "kernels/csr.h"
#include "kernels/isa.h"
#include "kernels/splitmix.h"
#include "kernels/vector.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    N_ROWS = 203,
    N_COLUMNS = 97,
    MAX_LENGTH = 41,
    MAX_PARTS = 7
};

/* A matrix with rows of 0 to 40 entries at random columns. */
struct fixture {
    uint32_t row_start[N_ROWS + 1];
    int32_t columns[N_ROWS * MAX_LENGTH];
    double values[N_ROWS * MAX_LENGTH];
    double x[N_COLUMNS];
    double scale[N_ROWS]; /* sum of |a| |x| */
    size_t part_start[MAX_PARTS + 1];
    struct stk_csr a;
};

static struct fixture *make_fixture(size_t n_parts)
{
    struct fixture *f = st_calloc(NULL, 1, sizeof *f);
    uint32_t k = 0;

    assert_non_null(f);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        f->x[i] = stk_random_unit(7, i) - 0.5;
    }
    for (size_t i = 0; i < N_ROWS; i++) {
        const size_t length = i % MAX_LENGTH;
        for (size_t j = 0; j < length; j++, k++) {
            f->columns[k] = (int32_t)(stk_random_u64(8, k) % N_COLUMNS);
            f->values[k] = stk_random_unit(9, k) - 0.5;
            f->scale[i] += fabs(f->values[k] * f->x[f->columns[k]]);
        }
        f->row_start[i + 1] = k;
    }
    for (size_t t = 0; t <= n_parts; t++) {
        f->part_start[t] = N_ROWS * t / n_parts;
    }
    f->a =
        (struct stk_csr){{n_parts, f->part_start}, f->row_start, f->columns, f->values};
    return f;
}

/* Two orders of summing z products differ by at most 2 z eps sum |a| |x|. */
static void assert_rows_near(const struct fixture *f, const double *got,
                             const double *want)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const double limit = 2.0 * MAX_LENGTH * DBL_EPSILON * f->scale[i];
        assert_true(fabs(got[i] - want[i]) <= limit);
    }
}

static void product_equals_reference(void **unused)
{
    static const size_t part_counts[] = {1, 2, 3, MAX_PARTS};
    double want[N_ROWS];
    double got[N_ROWS];

    (void)unused;
    for (size_t c = 0; c < ST_COUNT(part_counts); c++) {
        struct fixture *f = make_fixture(part_counts[c]);
        memset(got, 0xff, sizeof got); /* NaN: a row left out shows */
        stk_csr_multiply_ref(&f->a, f->x, want);
        stk_csr_multiply(&f->a, f->x, got);
        assert_rows_near(f, got, want);
        st_free(f);
    }
}

static void every_instruction_set_agrees(void **unused)
{
    static const int sets[] = {STK_ISA_PLAIN, STK_ISA_AVX2, STK_ISA_AVX512};
    struct fixture *f = make_fixture(1);
    double want[N_ROWS];
    double got[N_ROWS];
    size_t n_tried = 0;

    (void)unused;
    stk_csr_multiply_ref(&f->a, f->x, want);
    for (size_t s = 0; s < ST_COUNT(sets); s++) {
        const stk_csr_range_fn range = stk_csr_range(sets[s]);
        if (range == NULL) {
            continue;
        }
        memset(got, 0xff, sizeof got);
        range(&f->a, 0, N_ROWS, f->x, got);
        assert_rows_near(f, got, want);
        n_tried++;
    }
    assert_true(n_tried >= 1);
    assert_non_null(stk_csr_range(STK_ISA_PLAIN));
    st_free(f);
}

static void added_rows_equal_reference(void **unused)
{
    struct fixture *f = make_fixture(3);
    uint32_t rows[N_ROWS];
    double want[2 * N_ROWS];
    double got[2 * N_ROWS];

    (void)unused;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        rows[i] = 2 * i;
    }
    for (size_t i = 0; i < ST_COUNT(want); i++) {
        want[i] = got[i] = 1.0 + (double)i;
    }
    const struct stk_csr_rows a = {f->a, rows};
    stk_csr_add_rows_ref(&a, f->x, want);
    stk_csr_add_rows(&a, f->x, got);
    for (size_t i = 0; i < N_ROWS; i++) {
        assert_true(fabs(got[2 * i] - want[2 * i]) <= 1e-12);
        assert_true(got[2 * i + 1] == 2.0 + 2.0 * (double)i); /* not named: untouched */
    }
    assert_true(want[2] != 3.0); /* row 1 has an entry, so something was added */
    st_free(f);
}

/* METHODS 4.3 [V]: the NIST example. */
static void nist_example(void **unused)
{
    static const uint32_t row_start[] = {0, 2, 3, 4, 7, 8};
    static const int32_t columns[] = {0, 3, 1, 2, 1, 3, 4, 4};
    static const double values[] = {1.0, 6.0, 10.5, .015, 250.5, -280.0, 33.32, 12.0};
    static const double x[2][5] = {{1, 1, 1, 1, 1}, {1, 2, 3, 4, 5}};
    static const double want[2][5] = {{7, 10.5, 0.015, 3.82, 12},
                                      {25, 21, 0.045, -452.4, 60}};
    static const size_t start[] = {0, 5};
    const struct stk_csr a = {{1, start}, row_start, columns, values};
    double y[5];

    (void)unused;
    for (size_t c = 0; c < 2; c++) {
        stk_csr_multiply(&a, x[c], y);
        for (size_t i = 0; i < 5; i++) {
            /* 4 entries at most, products up to 1120 */
            assert_true(fabs(y[i] - want[c][i]) <= 4.0 * DBL_EPSILON * 1120.0);
        }
    }
}

/* METHODS 4.3 [V]: bytes per row without and with write-allocate. */
static void traffic_model(void **unused)
{
    static const struct {
        double z, bytes, moved, tolerance;
    } rows[] = {{7, 104, 112, 1e-9}, {27, 344, 352, 1e-9}, {26.484, 337.8, 345.8, 0.05}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const double bytes = rows[i].z * stk_work_bytes(&stk_csr_work_per_nonzero, 1) +
                             stk_work_bytes(&stk_csr_work_per_row, 1);
        const double moved =
            rows[i].z * stk_work_moved_bytes(&stk_csr_work_per_nonzero, 1) +
            stk_work_moved_bytes(&stk_csr_work_per_row, 1);
        assert_true(fabs(bytes - rows[i].bytes) <= rows[i].tolerance);
        assert_true(fabs(moved - rows[i].moved) <= rows[i].tolerance);
    }
    assert_true(stk_csr_work_per_nonzero.flops == 2.0);
}

enum {
    N = 1003
};

/* Vectors of one solver iteration, alike every time. */
struct vectors {
    double x[N], r[N], p[N], q[N], d[N];
    double partial[MAX_PARTS * STK_PARTIAL];
    size_t start[MAX_PARTS + 1];
};

static struct stk_cg make_vectors(struct vectors *v, size_t n_parts, bool jacobi)
{
    double *const all[] = {v->x, v->r, v->p, v->q, v->d};

    for (size_t a = 0; a < ST_COUNT(all); a++) {
        for (size_t i = 0; i < N; i++) {
            all[a][i] = stk_random_unit(20 + a, i) + 0.5;
        }
    }
    for (size_t t = 0; t <= n_parts; t++) {
        v->start[t] = N * t / n_parts;
    }
    return (struct stk_cg){
        {n_parts, v->start}, jacobi ? v->d : NULL, v->x, v->r, v->p, v->q, v->partial};
}

static void assert_vectors_near(const double *a, const double *b)
{
    for (size_t i = 0; i < N; i++) {
        assert_true(fabs(a[i] - b[i]) <= 4.0 * DBL_EPSILON * (1.0 + fabs(b[i])));
    }
}

static void solver_steps_equal_reference(void **unused)
{
    static const size_t part_counts[] = {1, 2, MAX_PARTS};
    static struct vectors got;
    static struct vectors want;

    (void)unused;
    for (size_t c = 0; c < 2 * ST_COUNT(part_counts); c++) {
        struct stk_cg g = make_vectors(&got, part_counts[c / 2], c % 2 == 1);
        struct stk_cg w = make_vectors(&want, part_counts[c / 2], c % 2 == 1);
        double rr[2];
        double rz[2];
        stk_cg_update(&g, 0.25, &rr[0], &rz[0]);
        stk_cg_update_ref(&w, 0.25, &rr[1], &rz[1]);
        stk_cg_direction(&g, 0.75);
        stk_cg_direction_ref(&w, 0.75);
        assert_vectors_near(got.x, want.x);
        assert_vectors_near(got.r, want.r);
        assert_vectors_near(got.p, want.p);
        /* N positive terms in another order: N eps relative. */
        assert_true(fabs(rr[0] - rr[1]) <= N * DBL_EPSILON * rr[1]);
        assert_true(fabs(rz[0] - rz[1]) <= N * DBL_EPSILON * rz[1]);
        assert_true(c % 2 == 1 || rr[0] == rz[0]);
    }
}

static void vector_operations_equal_reference(void **unused)
{
    static struct vectors got;
    static struct vectors want;

    (void)unused;
    for (size_t n_parts = 1; n_parts <= MAX_PARTS; n_parts++) {
        const struct stk_cg g = make_vectors(&got, n_parts, true);
        (void)make_vectors(&want, n_parts, true);
        const double dot = stk_dot(&g.split, g.x, g.r, g.partial);
        const double dot_ref = stk_dot_ref(N, want.x, want.r);
        assert_true(fabs(dot - dot_ref) <= N * DBL_EPSILON * dot_ref);
        /* The split alone decides the bits. */
        for (int again = 0; again < 20; again++) {
            assert_true(stk_dot(&g.split, g.x, g.r, g.partial) == dot);
        }
        stk_axpy(&g.split, -0.5, g.p, g.q);
        stk_axpy_ref(N, -0.5, want.p, want.q);
        assert_vectors_near(got.q, want.q);
        stk_copy(&g.split, g.p, g.q);
        assert_memory_equal(got.q, want.p, sizeof got.q);
        stk_fill(&g.split, 3.0, g.q);
        assert_true(got.q[0] == 3.0 && got.q[N - 1] == 3.0);
        stk_fill_random(&g.split, 42, 5, g.q);
        for (size_t i = 0; i < N; i++) {
            assert_true(got.q[i] == stk_random_unit(42, 5 + i));
        }
    }
}

static void packing_follows_the_index(void **unused)
{
    enum {
        LONG = 20000
    }; /* beyond the length at which threads take part */
    int32_t *index = st_calloc(NULL, LONG, sizeof *index);
    double *x = st_calloc(NULL, LONG, sizeof *x);
    double *out = st_calloc(NULL, LONG, sizeof *out);

    (void)unused;
    assert_non_null(index);
    assert_non_null(x);
    assert_non_null(out);
    for (int32_t i = 0; i < LONG; i++) {
        index[i] = LONG - 1 - i;
        x[i] = (double)i;
    }
    stk_pack(LONG, index, x, out);
    for (int32_t i = 0; i < LONG; i++) {
        assert_true(out[i] == (double)(LONG - 1 - i));
    }
    stk_pack(0, NULL, x, out);
    st_free(index);
    st_free(x);
    st_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_equals_reference),
        cmocka_unit_test(every_instruction_set_agrees),
        cmocka_unit_test(added_rows_equal_reference),
        cmocka_unit_test(nist_example),
        cmocka_unit_test(traffic_model),
        cmocka_unit_test(solver_steps_equal_reference),
        cmocka_unit_test(vector_operations_equal_reference),
        cmocka_unit_test(packing_follows_the_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
