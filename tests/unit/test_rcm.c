/*
 * Reverse Cuthill-McKee: orders by hand, bandwidth of grids against their shorter side, every
 * vertex once, graphs in pieces.
 */
#include "src/base/mem.h"
#include "src/graph/rcm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    MOST = 400
};

struct graph {
    int32_t n;
    int32_t start[MOST + 1];
    int32_t adjacent[8 * MOST];
};

/* From pairs of vertices. */
static void make(struct graph *g, int32_t n, size_t n_edges, const int32_t (*edges)[2])
{
    int32_t ends[MOST] = {0};

    memset(g, 0, sizeof *g);
    g->n = n;
    for (size_t i = 0; i < n_edges; i++) {
        g->start[edges[i][0] + 1]++;
        g->start[edges[i][1] + 1]++;
    }
    for (int32_t v = 0; v < n; v++) {
        g->start[v + 1] += g->start[v];
    }
    for (size_t i = 0; i < n_edges; i++) {
        for (int side = 0; side < 2; side++) {
            const int32_t v = edges[i][side];
            g->adjacent[g->start[v] + ends[v]++] = edges[i][1 - side];
        }
    }
}

/* A grid whose vertices are numbered at random (a fixed permutation: v -> 7 v + 3 mod n, with
 * n no multiple of 7). */
static void make_grid(struct graph *g, int32_t nx, int32_t ny)
{
    static int32_t edges[2 * MOST][2];
    const int32_t n = nx * ny;
    size_t n_edges = 0;

    for (int32_t v = 0; v < n; v++) {
        const int32_t ups[2] = {v % nx + 1 < nx ? v + 1 : -1, v + nx < n ? v + nx : -1};
        for (int side = 0; side < 2; side++) {
            if (ups[side] >= 0) {
                edges[n_edges][0] = (7 * v + 3) % n;
                edges[n_edges++][1] = (7 * ups[side] + 3) % n;
            }
        }
    }
    make(g, n, n_edges, (const int32_t(*)[2])edges);
}

static int32_t bandwidth(const struct graph *g, const int32_t *order)
{
    int32_t place[MOST];
    int32_t most = 0;

    for (int32_t i = 0; i < g->n; i++) {
        place[i] = -1;
    }
    for (int32_t i = 0; i < g->n; i++) {
        assert_true(order[i] >= 0 && order[i] < g->n && place[order[i]] == -1);
        place[order[i]] = i;
    }
    for (int32_t v = 0; v < g->n; v++) {
        for (int32_t k = g->start[v]; k < g->start[v + 1]; k++) {
            const int32_t width = abs(place[v] - place[g->adjacent[k]]);
            most = width > most ? width : most;
        }
    }
    return most;
}

static void orders_by_hand(void **unused)
{
    /* A path 3-0-4-1-2 from either end. A star: from its centre 0 to leaf 1, from there to leaf 2;
     * the walk is 2, 0, 1, 3. Two pieces and a vertex alone. */
    static const int32_t path[][2] = {{3, 0}, {0, 4}, {4, 1}, {1, 2}};
    static const int32_t star[][2] = {{0, 1}, {0, 2}, {0, 3}};
    static const int32_t pieces[][2] = {{0, 4}, {1, 3}};
    struct graph g;
    struct st_error err = {0};
    int32_t order[MOST];

    (void)unused;
    make(&g, 5, 4, path);
    assert_int_equal(st_rcm(g.n, g.start, g.adjacent, order, &err), ST_OK);
    assert_int_equal(bandwidth(&g, order), 1);
    make(&g, 4, 3, star);
    assert_int_equal(st_rcm(g.n, g.start, g.adjacent, order, &err), ST_OK);
    static const int32_t want[] = {3, 1, 0, 2};
    assert_memory_equal(order, want, sizeof want);
    make(&g, 5, 2, pieces);
    assert_int_equal(st_rcm(g.n, g.start, g.adjacent, order, &err), ST_OK);
    assert_int_equal(bandwidth(&g, order), 1);
    make(&g, 0, 0, NULL);
    assert_int_equal(st_rcm(g.n, g.start, g.adjacent, order, &err), ST_OK);
}

static void grids_are_as_wide_as_their_shorter_side(void **unused)
{
    static const int32_t sizes[][2] = {{5, 4}, {3, 40}, {40, 3}, {16, 16}, {20, 11}};
    struct graph g;
    struct st_error err = {0};
    int32_t order[MOST];

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        const int32_t shorter = sizes[i][0] < sizes[i][1] ? sizes[i][0] : sizes[i][1];
        make_grid(&g, sizes[i][0], sizes[i][1]);
        assert_int_equal(st_rcm(g.n, g.start, g.adjacent, order, &err), ST_OK);
        /* Levels from a corner are diagonals, of shorter side's length. */
        const int32_t width = bandwidth(&g, order);
        assert_true(width >= shorter - 1 && width <= shorter + 1);
    }
}

static void failing_allocations_are_told(void **unused)
{
    struct graph g;
    int32_t order[MOST];

    (void)unused;
    make_grid(&g, 5, 4);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        struct st_error err = {0};
        st_mem_fail_at(nth);
        const enum st_status rc = st_rcm(g.n, g.start, g.adjacent, order, &err);
        st_mem_fail_at(0);
        assert_int_equal(rc, nth <= 2 ? ST_ERR_MEMORY : ST_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_by_hand),
        cmocka_unit_test(grids_are_as_wide_as_their_shorter_side),
        cmocka_unit_test(failing_allocations_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
