/*
 * Box matrices by formula against counting them, partitions, and spmv's plan(): honest sizes
 * without 32-bit overflow (CASES 36, 41), nearest good values, more ranks than rows.
 */
#include "kernels/csr.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_box.h"
#include "src/benchmarks/part_matrix.h"
#include "src/benchmarks/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct st_box boxes[] = {
    {{1, 1, 1}, true},  {{1, 1, 1}, false}, {{5, 1, 1}, true},  {{1, 5, 1}, false},
    {{1, 1, 5}, true},  {{2, 2, 2}, true},  {{3, 1, 4}, true},  {{3, 1, 4}, false},
    {{1, 3, 4}, true},  {{4, 3, 2}, true},  {{4, 3, 2}, false}, {{5, 5, 5}, true},
    {{5, 5, 5}, false}, {{2, 7, 3}, true},
};

/* Entries of a row found by looking at every pair of points: another route. */
static size_t count_neighbours(const struct st_box *box, uint64_t row)
{
    const uint64_t nx = box->n[0];
    const uint64_t ny = box->n[1];
    size_t n = 0;

    for (uint64_t other = 0; other < st_box_rows(box); other++) {
        const int64_t d[3] = {
            (int64_t)(other % nx) - (int64_t)(row % nx),
            (int64_t)(other / nx % ny) - (int64_t)(row / nx % ny),
            (int64_t)(other / nx / ny) - (int64_t)(row / nx / ny),
        };
        const int64_t square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        const bool is_near = d[0] * d[0] <= 1 && d[1] * d[1] <= 1 && d[2] * d[2] <= 1;
        n += is_near && (box->is_full || square <= 1) ? 1 : 0;
    }
    return n;
}

static void box_formulas_count_right(void **unused)
{
    (void)unused;
    for (size_t b = 0; b < ST_COUNT(boxes); b++) {
        const struct st_row_source source = st_box_source(&boxes[b]);
        uint64_t before = 0;
        for (uint64_t row = 0; row < st_box_rows(&boxes[b]); row++) {
            struct st_row entries;
            assert_int_equal(source.before(source.context, row), before);
            source.row(source.context, row, &entries);
            assert_int_equal(entries.n, count_neighbours(&boxes[b], row));
            for (size_t k = 0; k < entries.n; k++) {
                const bool is_diagonal = entries.columns[k] == row;
                assert_true(k == 0 || entries.columns[k] > entries.columns[k - 1]);
                assert_true(entries.columns[k] < st_box_rows(&boxes[b]));
                assert_true(entries.values[k] == (!is_diagonal       ? -1.0
                                                  : boxes[b].is_full ? 26.0
                                                                     : 6.0));
            }
            before += entries.n;
        }
        assert_int_equal(st_box_nonzeros(&boxes[b]), before);
    }
}

/* METHODS 4.1 [V]: 16^3 and 104^3; and beyond 2^32 rows, by (3n-2)^3 and 7n^3 - 6n^2. */
static void known_nonzeros(void **unused)
{
    static const struct {
        struct st_box box;
        uint64_t n_nonzeros;
    } rows[] = {
        {{{16, 16, 16}, true}, 97336},
        {{{104, 104, 104}, true}, 29791000},
        {{{2000, 2000, 2000}, true}, 215784071992},
        {{{2000, 2000, 2000}, false}, 55976000000},
        {{{200000, 200000, 200000}, true}, 215997840007199992},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        assert_int_equal(st_box_nonzeros(&rows[r].box), rows[r].n_nonzeros);
    }
}

static void boxes_beyond_64_bits_are_refused(void **unused)
{
    static const struct {
        struct st_box box;
        enum st_status rc;
    } rows[] = {
        {{{880748, 880748, 880748}, true}, ST_OK},
        {{{880749, 880749, 880749}, true}, ST_ERR_CONFIG},
        {{{1000000000, 1000000000, 1000000000}, false}, ST_ERR_CONFIG},
        {{{1000000000, 1, 1}, false}, ST_OK},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_error err = {0};
        assert_int_equal(st_box_check(&rows[r].box, &err), rows[r].rc);
        assert_true(rows[r].rc == ST_OK || strstr(err.text, "880748") != NULL);
    }
}

static void partitions_cover_and_balance(void **unused)
{
    static const size_t counts[] = {1, 2, 3, 7, 13, 97, 1000};

    (void)unused;
    for (size_t c = 0; c < 2 * ST_COUNT(counts); c++) {
        const struct st_box box = {{7, 8, 9}, true};
        const struct st_row_source source = st_box_source(&box);
        const enum st_partition kind =
            c % 2 == 0 ? ST_PARTITION_NONZEROS : ST_PARTITION_ROWS;
        const size_t n = counts[c / 2];
        const uint64_t end = st_box_rows(&box);
        const double fair = kind == ST_PARTITION_ROWS
                                ? (double)end / (double)n
                                : (double)st_box_nonzeros(&box) / (double)n;
        uint64_t last = 0;
        for (size_t p = 0; p < n; p++) {
            const uint64_t a = st_partition_start(&source, kind, 0, end, n, p);
            const uint64_t b = st_partition_start(&source, kind, 0, end, n, p + 1);
            const uint64_t share =
                kind == ST_PARTITION_ROWS
                    ? b - a
                    : source.before(source.context, b) - source.before(source.context, a);
            assert_int_equal(a, last);
            assert_true(b >= a);
            assert_true(p > 0 || b > 0); /* part 0 has a row */
            assert_true((double)share <= fair + (kind == ST_PARTITION_ROWS ? 1 : 27));
            last = b;
        }
        assert_int_equal(last, end);
    }
}

/* A part of a larger range, and one with nothing in it. */
static void partitions_of_inner_ranges(void **unused)
{
    const struct st_box box = {{10, 10, 10}, false};
    const struct st_row_source source = st_box_source(&box);

    (void)unused;
    assert_int_equal(st_partition_start(&source, ST_PARTITION_NONZEROS, 100, 200, 2, 0),
                     100);
    const uint64_t middle =
        st_partition_start(&source, ST_PARTITION_NONZEROS, 100, 200, 2, 1);
    assert_in_range(middle, 149, 151); /* one plane, symmetric about its middle */
    assert_int_equal(st_partition_start(&source, ST_PARTITION_NONZEROS, 100, 200, 2, 2),
                     200);
    for (size_t p = 0; p <= 3; p++) {
        assert_int_equal(st_partition_start(&source, ST_PARTITION_NONZEROS, 50, 50, 3, p),
                         50);
    }
}

/* What a rank's rows name of other ranks, by looking. */
static void count_crossings(const struct st_box *box, uint64_t a, uint64_t b,
                            uint64_t *n_rest, uint64_t *n_ghosts)
{
    const struct st_row_source source = st_box_source(box);
    bool seen[1500] = {false};

    *n_rest = 0;
    *n_ghosts = 0;
    for (uint64_t row = a; row < b; row++) {
        struct st_row entries;
        source.row(source.context, row, &entries);
        for (size_t k = 0; k < entries.n; k++) {
            const uint64_t column = entries.columns[k];
            if (column < a || column >= b) {
                *n_rest += 1;
                *n_ghosts += seen[column] ? 0 : 1;
                seen[column] = true;
            }
        }
    }
}

/* Every rank's share by formula against counting: never less. */
static void shares_bound_what_ranks_hold(void **unused)
{
    static const size_t counts[] = {1, 2, 3, 7, 50};
    static const struct st_box tried[] = {{{8, 9, 20}, true},
                                          {{8, 9, 20}, false},
                                          {{30, 1, 5}, true},
                                          {{200, 1, 1}, false}};

    (void)unused;
    for (size_t c = 0; c < ST_COUNT(counts) * ST_COUNT(tried); c++) {
        const struct st_box *box = &tried[c % ST_COUNT(tried)];
        const struct st_row_source source = st_box_source(box);
        const size_t n = counts[c / ST_COUNT(tried)];
        for (size_t p = 0; p < n; p++) {
            const enum st_partition kind = ST_PARTITION_NONZEROS;
            const uint64_t end = st_box_rows(box);
            const uint64_t a = st_partition_start(&source, kind, 0, end, n, p);
            const uint64_t b = st_partition_start(&source, kind, 0, end, n, p + 1);
            const struct st_box_share share = st_box_share_of(box, kind, n, p);
            uint64_t n_rest = 0;
            uint64_t n_ghosts = 0;
            count_crossings(box, a, b, &n_rest, &n_ghosts);
            assert_int_equal(share.n_rows, b - a);
            assert_int_equal(share.n_nonzeros, source.before(source.context, b) -
                                                   source.before(source.context, a));
            assert_true(share.n_rest >= n_rest && share.n_ghosts >= n_ghosts);
            assert_true(n > 1 || (share.n_rest == 0 && share.n_ghosts == 0));
        }
    }
}

/* plan() with "name=value" settings; NULL ends the list. */
static enum st_status plan_of(const char *const *settings, const struct st_shape *shape,
                              struct st_need *need, struct st_error *err)
{
    const struct st_bench *bench = st_bench_find(&st_registry, "spmv");
    void *params = st_calloc(err, 1, bench->params_size);

    assert_non_null(params);
    assert_int_equal(st_params_default(bench, params, err), ST_OK);
    for (; *settings != NULL; settings++) {
        char name[32];
        const char *value = strchr(*settings, '=') + 1;
        const size_t length = (size_t)(value - *settings) - 1;
        memcpy(name, *settings, length);
        name[length] = '\0';
        const size_t row = st_bench_param(bench, name);
        assert_true(row < bench->n_params);
        assert_int_equal(st_param_parse(&bench->params[row], value, params, err), ST_OK);
    }
    memset(need, 0, sizeof *need);
    const enum st_status rc = bench->plan(params, shape, need, err);
    st_free(params);
    return rc;
}

static struct st_shape shape_of(size_t n_ranks, size_t per_node, uint64_t memory_bytes)
{
    return (struct st_shape){.n_groups = 1,
                             .n_nodes = (n_ranks + per_node - 1) / per_node,
                             .n_ranks = n_ranks,
                             .max_ranks_per_node = per_node,
                             .min_ranks_per_node = per_node,
                             .max_threads = 1,
                             .n_threads = n_ranks,
                             .memory_bytes = memory_bytes};
}

#define GIB ((uint64_t)1 << 30)

/* 2000^3 points on 10^6 ranks: 8000 rows each. Every term of the need by hand: nonzeros
 * 8000 x 27 at 12 bytes, rows at 20, 2 x 78001 entries that cross (13 steps back: 1, 1999,
 * 2000, 2001 and nine of a whole block) at 32, ghosts at 28, the partition at 12 a rank. */
static void honest_sizes_do_not_overflow(void **unused)
{
    static const char *const box[] = {"nx=2000", "ny=2000", "nz=2000", NULL};
    static const char *const huge[] = {"nx=200000", "ny=200000", "nz=200000", NULL};
    const struct st_shape many = shape_of(1000000, 128, 256 * GIB);
    struct st_error err = {0};
    struct st_need need;

    (void)unused;
    assert_int_equal(plan_of(box, &many, &need, &err), ST_OK);
    const double want = 216000.0 * 12 + 8000.0 * 20 + 2 * 78001.0 * 32 +
                        2 * (8000.0 + 3 * 2000 + 3) * 28 + 12e6;
    assert_true((double)need.bytes_per_rank > 0.97 * want);
    assert_true((double)need.bytes_per_rank < 1.03 * want);
    /* The same box said by rank: nz grows with the ranks. */
    static const char *const grown[] = {"nx=200", "ny=200", "nz=2", "scope=per_rank",
                                        NULL};
    static const char *const whole[] = {"nx=200", "ny=200", "nz=2000", NULL};
    const struct st_shape thousand = shape_of(1000, 128, 256 * GIB);
    struct st_need same;
    assert_int_equal(plan_of(grown, &thousand, &need, &err), ST_OK);
    assert_int_equal(plan_of(whole, &thousand, &same, &err), ST_OK);
    assert_int_equal(need.bytes_per_rank, same.bytes_per_rank);
    /* 2000^3 points a rank are 8 x 10^9 rows: beyond local indices, and said so. */
    assert_int_equal(plan_of(huge, &many, &need, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "at most a cube of "));
    /* One rank and a little over 2^31 rows. */
    static const char *const long_box[] = {"nx=1291", "ny=1291", "nz=1291", "matrix=box7",
                                           NULL};
    const struct st_shape one = shape_of(1, 1, 4096 * GIB);
    assert_int_equal(plan_of(long_box, &one, &need, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "2151685171 rows"));
    /* Its nonzeros pass 2^32 long before. */
    static const char *const many_entries[] = {"nx=600", "ny=600", "nz=600", NULL};
    assert_int_equal(plan_of(many_entries, &one, &need, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "a cube of 542 points"));
    static const char *const fitting[] = {"nx=542", "ny=542", "nz=542", NULL};
    assert_int_equal(plan_of(fitting, &one, &need, &err), ST_OK);
    assert_true(need.bytes_per_rank > (uint64_t)UINT32_MAX * 11);
}

static void the_nearest_good_cube_is_good(void **unused)
{
    static const char *const box[] = {"nx=430", "ny=430", "nz=430", "solver=cg", NULL};
    const struct st_shape shape = shape_of(7, 7, 4 * GIB);
    struct st_error err = {0};
    struct st_need need;
    char edge[3][24];

    (void)unused;
    assert_int_equal(plan_of(box, &shape, &need, &err), ST_ERR_STEP);
    const char *found = strstr(err.text, "a cube of ");
    assert_non_null(found);
    const unsigned long best = strtoul(found + strlen("a cube of "), NULL, 10);
    for (unsigned long more = 0; more < 2; more++) {
        (void)snprintf(edge[0], sizeof edge[0], "nx=%lu", best + more);
        (void)snprintf(edge[1], sizeof edge[1], "ny=%lu", best + more);
        (void)snprintf(edge[2], sizeof edge[2], "nz=%lu", best + more);
        const char *const good[] = {edge[0], edge[1], edge[2], "solver=cg", NULL};
        assert_int_equal(plan_of(good, &shape, &need, &err),
                         more == 0 ? ST_OK : ST_ERR_STEP);
    }
}

static void odd_requests(void **unused)
{
    static const struct {
        const char *settings[5];
        size_t n_ranks;
        enum st_status rc;
        const char *text;
    } rows[] = {
        {{"matrix=file", NULL}, 2, ST_ERR_CONFIG, "needs path"},
        {{"matrix=box7", "path=a.mtx", NULL}, 2, ST_ERR_CONFIG, "matrix: file"},
        {{"matrix=file", "path=a.mtx", NULL}, 2, ST_OK, "size line"},
        {{"nx=1", "ny=1", "nz=3", NULL}, 7, ST_OK, "idle: 4 of 7 ranks"},
        {{"nx=1", "ny=1", "nz=1000000", NULL}, 7, ST_OK, "surface"},
        {{"nx=430", "ny=430", "nz=430", NULL}, 7, ST_OK, "surface"},
        {{"nx=8", "ny=8", "nz=8", NULL}, 1, ST_OK, "cache_affected"},
        {{"nx=1000000000", "ny=1000000000", "nz=1000000000", NULL},
         1,
         ST_ERR_CONFIG,
         "64 bits"},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_shape shape = shape_of(rows[r].n_ranks, rows[r].n_ranks, 256 * GIB);
        struct st_error err = {0};
        struct st_need need;
        shape.llc_bytes = 32U << 20;
        const enum st_status rc = plan_of(rows[r].settings, &shape, &need, &err);
        const char *text = rc == ST_OK ? need.notes : err.text;
        if (rc != rows[r].rc || strstr(text, rows[r].text) == NULL) {
            fail_msg("row %zu: status %d, '%s'", r, (int)rc, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_formulas_count_right),
        cmocka_unit_test(known_nonzeros),
        cmocka_unit_test(boxes_beyond_64_bits_are_refused),
        cmocka_unit_test(partitions_cover_and_balance),
        cmocka_unit_test(partitions_of_inner_ranges),
        cmocka_unit_test(shares_bound_what_ranks_hold),
        cmocka_unit_test(honest_sizes_do_not_overflow),
        cmocka_unit_test(the_nearest_good_cube_is_good),
        cmocka_unit_test(odd_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
