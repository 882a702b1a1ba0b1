/*
 * BCSR: bytes of METHODS 4.3, how many blocks cover known patterns, and products against the
 * plain CSR loop over sides, parts, borders and instruction sets.
 */
#include "kernels/bcsr.h"
#include "kernels/isa.h"
#include "kernels/splitmix.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_bcsr.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    N_ROWS = 203,
    MOST_LENGTH = 16,
    MOST_ENTRIES = N_ROWS * MOST_LENGTH
};

/* A matrix, and a band of dense blocks or rows of 0 to 11 entries in it. */
struct sample {
    uint32_t row_start[N_ROWS + 1];
    int32_t columns[MOST_ENTRIES];
    double values[MOST_ENTRIES];
    double x[N_ROWS];
    size_t parts[8];
    struct stk_csr a;
};

static void split(struct sample *s, size_t n_rows, size_t n_parts)
{
    for (size_t t = 0; t <= n_parts; t++) {
        s->parts[t] = n_rows * t / n_parts;
    }
    for (size_t i = 0; i < n_rows; i++) {
        s->x[i] = stk_random_unit(8, i);
    }
    s->a = (struct stk_csr){{n_parts, s->parts}, s->row_start, s->columns, s->values};
}

/* Increasing columns, with gaps that blocks cannot close, up to the last column. */
static void make_scattered(struct sample *s, size_t n_rows, size_t n_parts)
{
    uint32_t n = 0;

    for (size_t i = 0; i < n_rows; i++) {
        const size_t length = (i * i + 5 * i) % 12;
        size_t column = (i * 7) % n_rows;
        s->row_start[i] = n;
        for (size_t k = 0; k < length && column < n_rows; k++, n++) {
            s->columns[n] = (int32_t)column;
            s->values[n] = stk_random_unit(7, n) - 0.5;
            column += 1 + (i + k) % 3;
        }
    }
    s->row_start[n_rows] = n;
    split(s, n_rows, n_parts);
}

/* Row lengths of a chain of nodes with `side` unknowns each, whose neighbours are coupled. */
static void make_chain(struct sample *s, size_t n_nodes, size_t side)
{
    uint32_t n = 0;

    for (size_t i = 0; i < n_nodes * side; i++) {
        const size_t node = i / side;
        const size_t first = node == 0 ? 0 : node - 1;
        const size_t end = node + 1 == n_nodes ? n_nodes : node + 2;
        s->row_start[i] = n;
        for (size_t c = first * side; c < end * side; c++, n++) {
            s->columns[n] = (int32_t)c;
            s->values[n] = stk_random_unit(7, n) - 0.5;
        }
    }
    s->row_start[n_nodes * side] = n;
    split(s, n_nodes * side, 1);
}

/* METHODS 4.3: value and index 9.0, 8.444 and 8.25 bytes per nonzero of full blocks; the rows'
 * own 16 bytes for x and y and 4 a block row come on top. */
static void bytes_as_published(void **unused)
{
    static const struct {
        size_t side;
        double bytes;
    } rows[] = {{2, 9.0}, {3, 76.0 / 9.0}, {4, 8.25}};
    static struct sample s;

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        const size_t side = rows[r].side;
        const size_t n_nodes = 12;
        make_chain(&s, n_nodes, side);
        const size_t n_nonzeros = (3 * n_nodes - 2) * side * side;
        const struct st_bcsr_size size = st_bcsr_count(&s.a, 0, side);
        assert_int_equal(size.n_blocks, 3 * n_nodes - 2);
        assert_int_equal(size.n_block_rows, n_nodes);
        const double bytes = st_bcsr_work_bytes(&size, side, n_nodes * side) -
                             16.0 * (double)(n_nodes * side) - 4.0 * (double)n_nodes;
        assert_true(fabs(bytes / (double)n_nonzeros - rows[r].bytes) <= 1e-12);
    }
}

/* Tridiagonal, 12 rows, by hand: side 2 covers columns i-1 … i+2 by two blocks but for the
 * first block row (0 … 2, also two); 10 + 2 blocks. Side 3: -1 … 3 by two blocks in every of
 * four block rows. Begun one row later, five block rows of side 3: row 0 and rows 1-2 ... */
static void counts_of_known_patterns(void **unused)
{
    static const struct {
        size_t side;
        uint64_t first_row;
        uint64_t n_blocks, n_block_rows;
    } rows[] = {
        {2, 0, 12, 6}, {2, 2, 12, 6}, {2, 1, 12, 7},
        {3, 0, 8, 4},  {3, 2, 8, 5},  {4, 0, 6, 3},
    };
    static struct sample s;

    (void)unused;
    make_chain(&s, 12, 1);
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        const struct st_bcsr_size size =
            st_bcsr_count(&s.a, rows[r].first_row, rows[r].side);
        assert_int_equal(size.n_block_rows, rows[r].n_block_rows);
        assert_int_equal(size.n_blocks, rows[r].n_blocks);
    }
}

static void compare_with_csr(const struct sample *s, size_t n_rows, uint64_t first_row,
                             size_t side)
{
    struct st_error err = {0};
    struct st_bcsr *bcsr = NULL;
    double want[N_ROWS];
    double got[N_ROWS];

    assert_int_equal(st_bcsr_create(&s->a, first_row, side, &bcsr, &err), ST_OK);
    stk_csr_multiply_ref(&s->a, s->x, want);
    for (int variant = 0; variant < 4; variant++) {
        const stk_bcsr_part_fn part = variant < 2 ? stk_bcsr_part(variant) : NULL;
        for (size_t i = 0; i < n_rows; i++) {
            got[i] = (double)NAN;
        }
        if (variant < 2 && part == NULL) {
            continue;
        }
        for (size_t t = 0; part != NULL && t < s->a.rows.n_parts; t++) {
            part(&bcsr->a, t, s->x, got);
        }
        if (variant == 2) {
            stk_bcsr_multiply_ref(&bcsr->a, s->x, got);
        } else if (variant == 3) {
            stk_bcsr_multiply(&bcsr->a, s->x, got);
        }
        for (size_t i = 0; i < n_rows; i++) {
            /* At most 16 products of 0.5 x 1, each rounded twice. */
            assert_true(fabs(got[i] - want[i]) <= 4.0 * 16.0 * DBL_EPSILON * 8.0);
        }
    }
    const struct st_bcsr_size size = st_bcsr_count(&s->a, first_row, side);
    const size_t n_block_rows = bcsr->a.first_block_row[s->a.rows.n_parts];
    assert_int_equal(size.n_block_rows, n_block_rows);
    assert_int_equal(size.n_blocks, bcsr->a.block_start[n_block_rows]);
    assert_true(bcsr->fill > 0.0 && bcsr->fill <= 1.0);
    st_bcsr_destroy(&bcsr);
}

static void products_agree_with_csr(void **unused)
{
    static const size_t row_counts[] = {4, 5, 17, N_ROWS};
    static struct sample s;

    (void)unused;
    for (size_t side = STK_BCSR_LEAST_SIDE; side <= STK_BCSR_MOST_SIDE; side++) {
        for (size_t r = 0; r < ST_COUNT(row_counts); r++) {
            for (size_t n_parts = 1; n_parts <= 7; n_parts += 3) {
                make_scattered(&s, row_counts[r], n_parts);
                for (uint64_t first_row = 0; first_row < 4; first_row++) {
                    compare_with_csr(&s, row_counts[r], first_row, side);
                }
            }
        }
        make_chain(&s, 40, side);
        compare_with_csr(&s, 40 * side, 0, side);
    }
}

static void few_rows_are_refused(void **unused)
{
    static struct sample s;
    struct st_error err = {0};
    struct st_bcsr *bcsr = NULL;

    (void)unused;
    make_chain(&s, 3, 1);
    assert_int_equal(st_bcsr_create(&s.a, 0, 4, &bcsr, &err), ST_ERR_UNSUPPORTED);
    assert_null(bcsr);
}

static void failing_allocations_are_reported(void **unused)
{
    static struct sample s;
    uint64_t nth = 0;
    enum st_status rc = ST_ERR_MEMORY;

    (void)unused;
    make_scattered(&s, N_ROWS, 2);
    while (rc != ST_OK) {
        struct st_error err = {0};
        struct st_bcsr *bcsr = NULL;
        st_mem_fail_at(++nth);
        rc = st_bcsr_create(&s.a, 0, 3, &bcsr, &err);
        st_mem_fail_at(0);
        assert_true(rc == ST_OK || (rc == ST_ERR_MEMORY && bcsr == NULL));
        st_bcsr_destroy(&bcsr);
    }
    assert_true(nth > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_as_published),
        cmocka_unit_test(counts_of_known_patterns),
        cmocka_unit_test(products_agree_with_csr),
        cmocka_unit_test(few_rows_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
