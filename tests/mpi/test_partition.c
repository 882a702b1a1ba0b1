/*
 * Partitions of a box's graph (6 neighbours a point) at any rank count: every vertex has a part,
 * parts are balanced, the cut is what a count by hand says and not far above that of slabs, and
 * the same graph gives the same parts again.
 */
#include "mpi/comm.h"
#include "src/base/mem.h"
#include "src/graph/partition.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    EDGE = 12, /* points of the box */
    N = EDGE * EDGE * EDGE
};

static struct stm_comm world;

/* Own vertices of the box with their neighbours. */
struct box {
    int64_t vertex_start[64];
    int64_t start[N + 1];
    int64_t adjacent[6 * N];
    int32_t weight[N];
    struct st_graph graph;
};
static struct box b;

static void add(int64_t vertex, int64_t *n)
{
    const int64_t at[3] = {vertex % EDGE, vertex / EDGE % EDGE, vertex / EDGE / EDGE};
    const int64_t step[3] = {1, EDGE, EDGE * EDGE};

    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] > 0) {
            b.adjacent[(*n)++] = vertex - step[axis];
        }
        if (at[axis] + 1 < EDGE) {
            b.adjacent[(*n)++] = vertex + step[axis];
        }
    }
}

/* @param last_empty the last rank of several owns nothing */
static int64_t make_box(bool last_empty)
{
    const int64_t n_owners = world.n_ranks - (last_empty && world.n_ranks > 1 ? 1 : 0);
    int64_t n = 0;
    int64_t n_own = 0;

    for (int r = 0; r <= world.n_ranks; r++) {
        b.vertex_start[r] = r < n_owners ? N * r / n_owners : N;
    }
    for (int64_t v = b.vertex_start[world.rank]; v < b.vertex_start[world.rank + 1];
         v++) {
        b.start[n_own] = n;
        b.weight[n_own++] = v % EDGE < EDGE / 2 ? 3 : 1;
        add(v, &n);
    }
    b.start[n_own] = n;
    b.graph = (struct st_graph){b.vertex_start, b.start, b.adjacent, NULL};
    return n_own;
}

/* Parts of all vertices on every rank. */
static void gather(const int32_t *part, int64_t n_own, int32_t *all)
{
    int counts[64];
    int starts[64];

    for (int r = 0; r < world.n_ranks; r++) {
        starts[r] = (int)b.vertex_start[r];
        counts[r] = (int)(b.vertex_start[r + 1] - b.vertex_start[r]);
    }
    st_assert_all(&world,
                  MPI_Allgatherv(part, (int)n_own, MPI_INT32_T, all, counts, starts,
                                 MPI_INT32_T, world.handle) == MPI_SUCCESS);
}

static int64_t cut_of(const int32_t *all)
{
    int64_t n_cut = 0;

    for (int v = 0; v < N; v++) {
        n_cut += v % EDGE + 1 < EDGE && all[v] != all[v + 1] ? 1 : 0;
        n_cut += v / EDGE % EDGE + 1 < EDGE && all[v] != all[v + EDGE] ? 1 : 0;
        n_cut += v + EDGE * EDGE < N && all[v] != all[v + EDGE * EDGE] ? 1 : 0;
    }
    return n_cut;
}

static void check(int32_t n_parts, bool last_empty, bool is_weighted)
{
    static int32_t part[N], all[N], again[N];
    const int64_t n_own = make_box(last_empty);
    struct st_graph_cut cut;
    struct st_error err = {0};
    double weights[64] = {0.0};
    double sum = 0.0;
    double most = 0.0;

    b.graph.weight = is_weighted ? b.weight : NULL;
    st_assert_all(
        &world, st_graph_partition(&world, &b.graph, n_parts, part, &cut, &err) == ST_OK);
    gather(part, n_own, all);
    for (int v = 0; v < N; v++) {
        st_assert_all(&world, all[v] >= 0 && all[v] < n_parts);
        const double weight = is_weighted && v % EDGE < EDGE / 2 ? 3.0 : 1.0;
        weights[all[v]] += weight;
        sum += weight;
    }
    for (int32_t i = 0; i < n_parts; i++) {
        most = weights[i] > most ? weights[i] : most;
    }
    st_assert_all(&world, cut.imbalance == most * n_parts / sum);
    st_assert_all(&world, cut.imbalance <= 1.1);
    st_assert_all(&world, cut.n_edges == 3 * (EDGE - 1) * EDGE * EDGE);
    st_assert_all(&world, cut.n_cut == cut_of(all));
    st_assert_all(&world,
                  cut.n_cut <= 3 * (n_parts - 1) * EDGE * EDGE / 2); /* of slabs */
    st_assert_all(
        &world, st_graph_partition(&world, &b.graph, n_parts, part, NULL, &err) == ST_OK);
    gather(part, n_own, again);
    st_assert_all(&world, memcmp(all, again, sizeof all) == 0);
}

static void parts_are_balanced_and_compact(void **unused)
{
    (void)unused;
    if (!st_graph_can_partition()) {
        skip(); /* built without PT-SCOTCH: the next test has the rest */
    }
    for (int32_t n_parts = 1; n_parts <= 8; n_parts++) {
        check(n_parts, false, false);
    }
    check(world.n_ranks, true, true);
    check(5, true, false);
}

/* Without PT-SCOTCH a clear refusal; with it, memory that is missing on one rank fails on all. */
static void refusals_are_agreed(void **unused)
{
    static int32_t part[N];
    struct st_error err = {0};

    (void)unused;
    (void)make_box(false);
    if (!st_graph_can_partition()) {
        st_assert_all(&world, st_graph_partition(&world, &b.graph, 2, part, NULL, &err) ==
                                  ST_ERR_STEP);
        st_assert_all(&world, strstr(err.text, "without PT-SCOTCH") != NULL);
        return;
    }
    int n_failed = 0;
    enum st_status rc = ST_ERR_MEMORY;
    for (uint64_t nth = 1; rc != ST_OK; nth++) {
        st_mem_fail_at(world.rank == world.n_ranks - 1 ? nth : 0);
        rc = st_graph_partition(&world, &b.graph, 2, part, NULL, &err);
        st_mem_fail_at(0);
        st_assert_all(&world, rc == ST_OK || rc == ST_ERR_MEMORY);
        n_failed += rc == ST_OK ? 0 : 1;
    }
    st_assert_all(&world, n_failed == 5);
}

static int set_up(void **state)
{
    struct st_error err = {0};

    (void)state;
    return stm_comm_dup(MPI_COMM_WORLD, &world, &err) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    stm_comm_free(&world);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_balanced_and_compact),
        cmocka_unit_test(refusals_are_agreed),
    };

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    (void)MPI_Finalize();
    return n_failed;
}
