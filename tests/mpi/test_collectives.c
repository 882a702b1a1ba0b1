/*
 * Each collective operation by itself: its check passes, notices one altered value, and its bus
 * bytes are those of METHODS 3.4, here at the ranks of the test with values worked out by hand.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/registry.h"
#include "src/measure/recorder.h"
#include "src/measure/run.h"
#include "tests/mpi/assert_all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;

enum {
    MOST_RANKS = 16,
    SIZE = 65536
};

/* Bytes over SIZE at 2, 3, 4 and 7 ranks; barrier: calls. */
static const struct {
    const char *name, *row;
    double bytes[4];
} rows[] = {
    {"barrier", "barrier_rate", {1.0 / SIZE, 1.0 / SIZE, 1.0 / SIZE, 1.0 / SIZE}},
    {"bcast", "bcast_bus", {1, 1, 1, 1}},
    {"reduce", "reduce_bus", {1, 1, 1, 1}},
    {"allreduce", "allreduce_bus", {1, 4.0 / 3, 1.5, 12.0 / 7}}, /* 2 (P - 1) / P */
    {"allgather", "allgather_bus", {1, 2, 3, 6}},                /* P (P - 1) / P */
    {"alltoall", "alltoall_bus", {1, 2, 3, 6}},
    {"reduce_scatter", "reduce_scatter_bus", {1, 2, 3, 6}},
};

static bool set_text(const struct st_bench *bench, void *params, const char *name,
                     const char *value)
{
    struct st_error err = {0};

    return st_param_parse(&bench->params[st_bench_param(bench, name)], value, params,
                          &err) == ST_OK;
}

static uint64_t count_bad(struct st_run *run, void *state)
{
    struct st_check check = {0};
    uint64_t bad = 0;

    const enum st_status rc = run->bench->verify(run, state, &check);
    st_assert_all(&world, stm_agree(&world, rc, &run->err) == ST_OK);
    (void)MPI_Allreduce(&check.n_bad, &bad, 1, MPI_UINT64_T, MPI_SUM, world.handle);
    return bad;
}

static void each_operation_checks_and_counts(void **unused)
{
    static const int column_of[] = {-1, -1, 0, 1, 2, -1, -1, 3};
    const struct st_bench *bench = st_bench_find(&st_registry, "collectives");
    const size_t node_of[MOST_RANKS] = {0};
    const struct st_place_info place = {.n_nodes = 1,
                                        .local_rank = (size_t)world.rank,
                                        .n_local_ranks = (size_t)world.n_ranks,
                                        .node_of = node_of,
                                        .n_threads = 1};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows) && world.n_ranks > 1; i++) {
        struct st_recorder rec = {0};
        struct st_error err = {0};
        double work = 0.0;
        void *params = st_calloc(&err, 1, bench->params_size);
        void *state = st_calloc(&err, 1, bench->state_size);
        st_assert_all(&world, params != NULL && state != NULL &&
                                  st_params_default(bench, params, &err) == ST_OK &&
                                  set_text(bench, params, "size", "64KiB") &&
                                  set_text(bench, params, "operations", rows[i].name));
        struct st_run run = {.bench = bench,
                             .params = params,
                             .comm = world,
                             .place = &place,
                             .n_inner = 3,
                             .section = (uint32_t)i,
                             .rec = &rec};
        enum st_status rc =
            st_recorder_init(&rec, bench, params, &world, &place, &run.err);
        rc = rc == ST_OK ? bench->prepare(&run, state) : rc;
        st_assert_all(&world, stm_agree(&world, rc, &run.err) == ST_OK);
        st_assert_all(&world, bench->run(&run, state) == ST_OK);
        st_assert_all(&world, st_recorder_check(&rec, &run.err) == ST_OK);
        const double mine = rec.series[st_bench_metric(bench, rows[i].row)].work;
        (void)MPI_Allreduce(&mine, &work, 1, MPI_DOUBLE, MPI_SUM, world.handle);
        const double want = SIZE * rows[i].bytes[column_of[world.n_ranks]];
        st_assert_all(&world, fabs(work - want) <= 1e-9 * want);

        st_assert_all(&world, count_bad(&run, state) == 0);
        bench->spoil(state);
        st_assert_all(&world, count_bad(&run, state) > 0);
        bench->release(state);
        st_recorder_clear(&rec);
        st_free(state);
        st_free(params);
    }
}

/* Buffers of parts for every rank (CASES 39), and what is refused. */
static void plans_count_the_parts(void **unused)
{
    static const struct {
        const char *size, *operations;
        enum st_status status;
        uint64_t parts; /* of 1 MiB, on each of 64 ranks */
    } plans[] = {
        {"1MiB", "bcast", ST_OK, 3},        {"1MiB", "allgather", ST_OK, 66},
        {"1MiB", "alltoall", ST_OK, 129},   {"1MiB", "reduce_scatter", ST_OK, 129},
        {"12B", "bcast", ST_ERR_CONFIG, 0},
    };
    const struct st_bench *bench = st_bench_find(&st_registry, "collectives");
    const struct st_shape shape = {.n_groups = 1, .n_nodes = 2, .n_ranks = 64};
    bool good = true;

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(plans); i++) {
        struct st_error err = {0};
        struct st_need need = {0};
        void *params = st_calloc(&err, 1, bench->params_size);
        good = good && params != NULL &&
               st_params_default(bench, params, &err) == ST_OK &&
               set_text(bench, params, "size", plans[i].size) &&
               set_text(bench, params, "operations", plans[i].operations) &&
               bench->plan(params, &shape, &need, &err) == plans[i].status &&
               need.bytes_per_rank >= plans[i].parts << 20 &&
               need.bytes_per_rank <= (plans[i].parts << 20) + 4096;
        good = good && (plans[i].status == ST_OK || strstr(err.text, "16 B") != NULL);
        st_free(params);
    }
    st_assert_all(&world, good);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_checks_and_counts),
        cmocka_unit_test(plans_count_the_parts),
    };
    struct st_error err = {0};
    int provided = 0;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK || world.n_ranks > 7) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
