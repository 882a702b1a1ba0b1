/*
 * SELL-C-sigma: order and fill of METHODS 4.3, and products against the plain CSR loop over
 * chunk heights, windows, part counts and instruction sets.
 */
#include "kernels/isa.h"
#include "kernels/sell.h"
#include "kernels/splitmix.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_sell.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    N_ROWS = 203,
    MOST_ENTRIES = N_ROWS * 12
};

/* Row lengths 1,3,2,4,1,2 (METHODS 4.3). */
static void order_and_fill_as_published(void **unused)
{
    static const uint32_t row_start[] = {0, 1, 4, 6, 10, 11, 13};
    static const struct {
        size_t sigma;
        uint32_t order[6];
        size_t lengths[3];
        double beta;
    } rows[] = {{1, {0, 1, 2, 3, 4, 5}, {3, 4, 2}, 13.0 / 18.0},
                {4, {3, 1, 2, 0, 5, 4}, {4, 2, 2}, 13.0 / 16.0},
                {6, {3, 1, 2, 5, 0, 4}, {4, 2, 1}, 13.0 / 14.0}};

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        uint64_t keys[6];
        uint32_t order[6];
        size_t n_stored = 0;
        stk_sell_order(row_start, 0, 6, rows[r].sigma, keys, order);
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(order[i], rows[r].order[i]);
        }
        for (size_t c = 0; c < 3; c++) {
            const size_t length = stk_sell_chunk_length(row_start, order, 6, 2, c);
            assert_int_equal(length, rows[r].lengths[c]);
            n_stored += 2 * length;
        }
        assert_true(fabs(13.0 / (double)n_stored - rows[r].beta) <= 1e-15);
    }
}

/* A matrix with rows of 0 to 11 entries. */
struct sample {
    uint32_t row_start[N_ROWS + 1];
    int32_t columns[MOST_ENTRIES];
    double values[MOST_ENTRIES];
    double x[N_ROWS];
    size_t parts[8];
    struct stk_csr a;
};

static void make_sample(struct sample *s, size_t n_rows, size_t n_parts)
{
    uint32_t n = 0;

    for (size_t i = 0; i < n_rows; i++) {
        const size_t length = (i * i + 5 * i) % 12;
        s->row_start[i] = n;
        for (size_t k = 0; k < length; k++, n++) {
            s->columns[n] = (int32_t)((i * 7 + k * 13) % n_rows);
            s->values[n] = stk_random_unit(7, n) - 0.5;
        }
        s->x[i] = stk_random_unit(8, i);
    }
    s->row_start[n_rows] = n;
    for (size_t t = 0; t <= n_parts; t++) {
        s->parts[t] = n_rows * t / n_parts;
    }
    s->a = (struct stk_csr){{n_parts, s->parts}, s->row_start, s->columns, s->values};
}

static void compare_with_csr(const struct sample *s, size_t n_rows, size_t chunk,
                             size_t sigma)
{
    struct st_error err = {0};
    struct st_sell *sell = NULL;
    double want[N_ROWS];
    double got[N_ROWS];

    assert_int_equal(st_sell_create(&s->a, chunk, sigma, &sell, &err), ST_OK);
    stk_csr_multiply_ref(&s->a, s->x, want);
    for (int variant = 0; variant < 4; variant++) {
        for (size_t i = 0; i < n_rows; i++) {
            got[i] = (double)NAN;
        }
        const stk_sell_part_fn part = variant < 2 ? stk_sell_part(variant) : NULL;
        if (variant < 2 && part == NULL) {
            continue;
        }
        for (size_t t = 0; part != NULL && t < s->a.rows.n_parts; t++) {
            part(&sell->a, t, s->x, got);
        }
        if (variant == 2) {
            stk_sell_multiply_ref(&sell->a, s->x, got);
        } else if (variant == 3) {
            stk_sell_multiply(&sell->a, s->x, got);
        }
        for (size_t i = 0; i < n_rows; i++) {
            /* 11 products of at most 0.5 x 1, each rounded twice. */
            assert_true(fabs(got[i] - want[i]) <= 4.0 * 11.0 * DBL_EPSILON * 5.5);
        }
    }
    assert_true(sell->fill > 0.0 && sell->fill <= 1.0);
    st_sell_destroy(&sell);
}

static void products_agree_with_csr(void **unused)
{
    static const size_t row_counts[] = {1, 3, 4, 17, N_ROWS};
    static const size_t chunks[] = {4, 8, 16};
    static const size_t sigmas[] = {1, 8, 32, 100000};
    static struct sample s;

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(row_counts); r++) {
        for (size_t n_parts = 1; n_parts <= 7; n_parts += 3) {
            make_sample(&s, row_counts[r], n_parts);
            for (size_t c = 0; c < ST_COUNT(chunks); c++) {
                for (size_t w = 0; w < ST_COUNT(sigmas); w++) {
                    compare_with_csr(&s, row_counts[r], chunks[c], sigmas[w]);
                }
            }
        }
    }
}

static void failing_allocations_are_reported(void **unused)
{
    static struct sample s;
    uint64_t nth = 0;
    enum st_status rc = ST_ERR_MEMORY;

    (void)unused;
    make_sample(&s, N_ROWS, 2);
    while (rc != ST_OK) {
        struct st_error err = {0};
        struct st_sell *sell = NULL;
        st_mem_fail_at(++nth);
        rc = st_sell_create(&s.a, 8, 32, &sell, &err);
        st_mem_fail_at(0);
        assert_true(rc == ST_OK || (rc == ST_ERR_MEMORY && sell == NULL));
        st_sell_destroy(&sell);
    }
    assert_true(nth > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_fill_as_published),
        cmocka_unit_test(products_agree_with_csr),
        cmocka_unit_test(failing_allocations_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
