/*
 * HPCG's numbers without its problem: process grids as the reference code chooses them, nonzeros
 * and flops of METHODS 4.1, the rating, and plan(): sizes refused at once with the nearest good
 * ones, nothing overflowing at 512^3 per rank.
 */
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_hpcg_grid.h"
#include "src/benchmarks/registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Printed by ComputeOptimalShapeXYZ() of HPCG 3.1, called for these counts. */
static void rank_grids_are_the_references(void **unused)
{
    static const struct {
        uint64_t n;
        uint64_t ranks[3];
    } rows[] = {
        {1, {1, 1, 1}},       {2, {2, 1, 1}},       {3, {3, 1, 1}},
        {4, {2, 2, 1}},       {5, {5, 1, 1}},       {6, {2, 3, 1}},
        {7, {7, 1, 1}},       {8, {2, 2, 2}},       {12, {2, 3, 2}},
        {16, {4, 2, 2}},      {18, {2, 3, 3}},      {24, {2, 4, 3}},
        {30, {2, 3, 5}},      {36, {4, 3, 3}},      {48, {4, 4, 3}},
        {60, {4, 3, 5}},      {64, {4, 4, 4}},      {72, {4, 3, 6}},
        {96, {4, 4, 6}},      {100, {4, 5, 5}},     {120, {4, 6, 5}},
        {128, {8, 4, 4}},     {210, {6, 5, 7}},     {240, {8, 6, 5}},
        {256, {8, 8, 4}},     {360, {6, 6, 10}},    {512, {8, 8, 8}},
        {1000, {10, 10, 10}}, {1024, {16, 8, 8}},   {1536, {8, 16, 12}},
        {4096, {16, 16, 16}}, {5040, {16, 15, 21}},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        uint64_t ranks[3];
        st_hpcg_rank_grid(rows[i].n, ranks);
        assert_memory_equal(ranks, rows[i].ranks, sizeof ranks);
    }
    for (uint64_t n = 1; n < 3000; n++) {
        uint64_t ranks[3];
        st_hpcg_rank_grid(n, ranks);
        assert_int_equal(ranks[0] * ranks[1] * ranks[2], n);
    }
}

/* METHODS 4.1 [V], equal to the reference code's report. */
static void nonzeros_and_flops(void **unused)
{
    static const struct {
        uint64_t edge;
        double nonzeros[4];
        double total;
    } rows[] = {
        {16, {97336, 10648, 1000, 64}, 66907056},
        {104, {29791000, 3652264, 438976, 50653}, 20669350456},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const uint64_t edge = rows[i].edge;
        const struct st_hpcg_grid grid = {{1, 1, 1}, {edge, edge, edge}};
        for (int level = 0; level < 4; level++) {
            assert_true(st_hpcg_nonzeros(&grid, level) == rows[i].nonzeros[level]);
        }
        assert_true(st_hpcg_flops_of(&grid, 50).total == rows[i].total);
    }
    const struct st_hpcg_grid small = {{1, 1, 1}, {16, 16, 16}};
    const struct st_hpcg_flops flops = st_hpcg_flops_of(&small, 50);
    assert_true(flops.dot == 1236992 && flops.waxpby == 1236992);
    assert_true(flops.spmv == 9928272 && flops.mg == 54504800);
    /* The same global grid by other ranks has the same nonzeros. */
    const struct st_hpcg_grid divided = {{2, 4, 1}, {52, 26, 104}};
    assert_true(st_hpcg_nonzeros(&divided, 0) == 29791000);
}

/* 2 sets of 66907056 flops in 3 s with 5 s of set-up: 133814112 / (3 + 2 * 0.5). */
static void rating_charges_set_up_and_surplus(void **unused)
{
    const struct st_hpcg_grid small = {{1, 1, 1}, {16, 16, 16}};
    const double sixty = st_hpcg_flops_of(&small, 60).total;

    (void)unused;
    assert_true(st_hpcg_rating(&small, 50, 50, 2.0, 3.0, 5.0) == 33453528.0);
    assert_true(
        fabs(st_hpcg_rating(&small, 50, 60, 1.0, 1.0, 0.0) - sixty * 50.0 / 60.0) < 1e-6);
}

struct planned {
    enum st_status rc;
    struct st_need need;
    struct st_error err;
};

static struct planned plan(size_t n_ranks, size_t per_node, uint64_t memory,
                           const char *const *settings)
{
    const struct st_bench *bench = st_bench_find(&st_registry, "hpcg");
    const struct st_shape shape = {.n_groups = 1,
                                   .n_nodes = 1,
                                   .n_ranks = n_ranks,
                                   .max_ranks_per_node = per_node,
                                   .min_ranks_per_node = per_node,
                                   .max_threads = 1,
                                   .n_threads = n_ranks,
                                   .memory_bytes = memory};
    struct planned result = {0};

    assert_non_null(bench);
    void *params = st_calloc(&result.err, 1, bench->params_size);
    assert_non_null(params);
    assert_int_equal(st_params_default(bench, params, &result.err), ST_OK);
    for (size_t i = 0; settings[i] != NULL; i += 2) {
        const size_t row = st_bench_param(bench, settings[i]);
        assert_int_equal(
            st_param_parse(&bench->params[row], settings[i + 1], params, &result.err),
            ST_OK);
    }
    result.rc = bench->plan(params, &shape, &result.need, &result.err);
    st_free(params);
    return result;
}

static void bad_sizes_name_the_nearest_good(void **unused)
{
    static const struct {
        const char *settings[7];
        const char *text;
    } rows[] = {
        {{"nx", "100"}, "nearest good: 104 x 104 x 104"},
        {{"nx", "8"}, "nearest good: 16 x 104 x 104"},
        {{"nz", "107"}, "nearest good: 104 x 104 x 104"},
        {{"nx", "16", "ny", "200", "nz", "200"}, "nearest good: 32 x 200 x 200"},
        {{"nx", "1", "ny", "1", "nz", "1"}, "nearest good: 16 x 16 x 16"},
        /* 4 ranks are 2 x 2 x 1: halves of 100 lie nearest to 48, of 104 to 48 or 56. */
        {{"scope", "total", "nx", "100", "ny", "96"},
         "over 2 x 2 x 1 ranks: those of each rank must be multiples of 8, at least 16, "
         "and the "
         "smallest at least an eighth of the largest (four levels of grids); nearest "
         "good: 96 x "
         "96 x 104"},
        {{"scope", "total", "nx", "97", "ny", "96"}, "nearest good: 96 x 96 x 104"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct planned p = plan(4, 4, 0, rows[i].settings);
        assert_int_equal(p.rc, ST_ERR_CONFIG);
        assert_non_null(strstr(p.err.text, rows[i].text));
    }
    static const char *const good[] = {"nx", "16", "ny", "128", "nz", "64", NULL};
    assert_int_equal(plan(4, 4, 0, good).rc, ST_OK);
    static const char *const whole[] = {"scope", "total", "nx", "32", "ny",
                                        "96",    "nz",    "24", NULL};
    const struct planned p = plan(4, 4, 0, whole);
    assert_int_equal(p.rc, ST_OK); /* 16 x 48 x 24 each */
    assert_non_null(strstr(p.need.notes, "for 18432 rows"));
}

static void great_sizes_do_not_overflow(void **unused)
{
    static const char *const great[] = {"nx", "512", "ny", "512", "nz", "512", NULL};
    static const char *const none[] = {NULL};

    (void)unused;
    /* 512^3 rows with 27 entries of 12 bytes alone: 43.5 GB, more than 32 bits count. */
    struct planned p = plan(1000000, 4, 0, great);
    assert_int_equal(p.rc, ST_OK);
    assert_true((double)p.need.bytes_per_rank >
                512.0 * 512.0 * 512.0 * 27.0 * 12.0 * 1.14);
    assert_true((double)p.need.bytes_per_rank <
                512.0 * 512.0 * 512.0 * 27.0 * 12.0 * 1.5);
    assert_non_null(strstr(p.need.notes, "ranks 100 x 100 x 100"));
    assert_non_null(strstr(p.need.notes, "surface: up to 1579016 elements"));
    static const char *const beyond[] = {"nx", "4096", "ny", "4096", "nz", "4096", NULL};
    p = plan(1, 1, 0, beyond);
    assert_int_equal(p.rc, ST_ERR_STEP);
    assert_non_null(strstr(p.err.text, "cube of 536 points"));
    p = plan(2, 2, 900000000, none); /* 104^3 needs about 0.5 GB a rank */
    assert_int_equal(p.rc, ST_ERR_STEP);
    assert_non_null(strstr(p.err.text, "hold at most a cube of"));
    p = plan(11, 11, 0, none);
    assert_int_equal(p.rc, ST_OK);
    assert_non_null(strstr(p.need.notes, "so long a grid of ranks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_grids_are_the_references),
        cmocka_unit_test(nonzeros_and_flops),
        cmocka_unit_test(rating_charges_set_up_and_surplus),
        cmocka_unit_test(bad_sizes_name_the_nearest_good),
        cmocka_unit_test(great_sizes_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
