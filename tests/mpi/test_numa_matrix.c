/*
 * numa_matrix on a machine with two CPU nodes and one memory-only node that is not there: each
 * rank is such a machine, alone in its group. What is measured means nothing; which cells there
 * are, what is recorded, and that misplaced or unprovable memory does not pass unnoticed, does.
 */
#include "mpi/comm.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/registry.h"
#include "src/measure/recorder.h"
#include "src/measure/run.h"
#include "tests/mpi/assert_all.h"
#include "tests/numa/fake_memory.h"

#include <omp.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;
static struct stm_comm alone;

enum {
    N_THREADS = 4,
    N_NUMA = 3,
    N_CELLS = 2 * N_NUMA,
    N_REPETITIONS = 2
};

static const struct st_numa_node nodes[N_NUMA] = {
    {0, true, (uint64_t)1 << 30, "DRAM", 0, 0},
    {1, true, (uint64_t)1 << 30, "DRAM", 1, 1},
    {2, false, (uint64_t)1 << 30, "CXL", 1, 1},
};
static const struct st_thread_place threads[N_THREADS] = {
    {0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {2, 2, 1, 1, 1}, {3, 3, 1, 1, 1}};

struct bed {
    const struct st_bench *bench;
    void *params, *state;
    struct st_place_info place;
    struct st_recorder rec;
    struct st_run run;
    size_t node_of;
};

static bool set(struct bed *b, const char *name, const char *value)
{
    struct st_error err = {0};
    const size_t row = st_bench_param(b->bench, name);

    return row < b->bench->n_params &&
           st_param_parse(&b->bench->params[row], value, b->params, &err) == ST_OK;
}

static void open_bed(struct bed *b)
{
    struct st_error err = {0};

    (void)memset(b, 0, sizeof *b);
    fake_memory_start(N_NUMA);
    omp_set_num_threads(N_THREADS);
    b->bench = st_bench_find(&st_registry, "numa_matrix");
    st_assert_all(&world, b->bench != NULL);
    b->params = st_calloc(&err, 1, b->bench->params_size);
    b->state = st_calloc(&err, 1, b->bench->state_size);
    st_assert_all(&world, b->params != NULL && b->state != NULL &&
                              st_params_default(b->bench, b->params, &err) == ST_OK &&
                              set(b, "size", "64KiB") && set(b, "latency_size", "64KiB"));
    b->place = (struct st_place_info){.n_nodes = 1,
                                      .n_local_ranks = 1,
                                      .node_of = &b->node_of,
                                      .n_threads = N_THREADS,
                                      .n_numa = N_NUMA,
                                      .numa_nodes = nodes,
                                      .threads = threads};
    b->run = (struct st_run){.bench = b->bench,
                             .params = b->params,
                             .comm = alone,
                             .place = &b->place,
                             .n_inner = 1,
                             .rec = &b->rec};
}

static void close_bed(struct bed *b)
{
    b->bench->release(b->state);
    st_recorder_clear(&b->rec);
    st_free(b->state);
    st_free(b->params);
    fake_memory_stop();
}

static enum st_status run_bed(struct bed *b)
{
    enum st_status rc =
        st_recorder_init(&b->rec, b->bench, b->params, &alone, &b->place, &b->run.err);

    if (rc == ST_OK) {
        rc = b->bench->prepare(&b->run, b->state);
    }
    if (rc == ST_OK) {
        rc = st_recorder_reserve(&b->rec, N_REPETITIONS, &b->run.err);
    }
    b->rec.recording = true;
    for (size_t r = 0; rc == ST_OK && r < N_REPETITIONS; r++) {
        b->rec.repetition = r;
        for (b->run.section = 0; rc == ST_OK && b->run.section < 4; b->run.section++) {
            rc = b->bench->run(&b->run, b->state);
        }
    }
    return rc == ST_OK ? st_recorder_check(&b->rec, &b->run.err) : rc;
}

static double value_of(const struct bed *b, const char *metric, size_t cell)
{
    const struct st_series *series = &b->rec.series[st_bench_metric(b->bench, metric)];

    return series->values[cell * N_REPETITIONS + 1];
}

static void every_cell_is_measured_and_local_is_one(void **unused)
{
    static const char *const positive[] = {"sum",           "triad",
                                           "latency",       "sum_one_thread",
                                           "sum_ratio",     "saturation_threads",
                                           "latency_ratio", "triad_ratio"};
    struct bed b;
    struct st_check check = {0};
    bool good = true;

    (void)unused;
    open_bed(&b);
    const enum st_status rc = run_bed(&b);
    if (rc != ST_OK) {
        (void)fprintf(stderr, "%s\n", b.run.err.text);
    }
    st_assert_all(&world, rc == ST_OK);
    const struct st_place_list *list = &b.rec.lists[ST_NUMA];
    st_assert_all(&world, list->n == N_CELLS && list->n_owned == N_CELLS);
    for (size_t k = 0; k < N_CELLS; k++) {
        good = good && list->all[k].a == k / N_NUMA && list->all[k].b == k % N_NUMA;
        good = good && value_of(&b, "pages_placed", k) == 1.0;
        for (size_t i = 0; i < ST_COUNT(positive); i++) {
            good = good && value_of(&b, positive[i], k) > 0.0;
        }
        good = good && value_of(&b, "saturation_threads", k) <= 2.0;
        if (k / N_NUMA == k % N_NUMA) {
            good = good && value_of(&b, "sum_ratio", k) == 1.0 &&
                   value_of(&b, "latency_ratio", k) == 1.0;
        }
    }
    st_assert_all(&world, good);
    st_assert_all(&world, b.bench->verify(&b.run, b.state, &check) == ST_OK &&
                              check.n_bad == 0 && check.n_checked > 0 &&
                              b.rec.doubt[0] == '\0');
    b.bench->spoil(b.state);
    st_assert_all(&world,
                  b.bench->verify(&b.run, b.state, &check) == ST_OK && check.n_bad > 0);
    close_bed(&b);
}

/* The system puts everything on node 0, or does not tell. */
static void misplaced_memory_fails_and_unproved_memory_is_doubted(void **unused)
{
    (void)unused;
    for (int silent = 0; silent < 2; silent++) {
        struct bed b;
        struct st_check check = {0};
        open_bed(&b);
        fake_memory.found_on = 0;
        fake_memory.silent = silent != 0;
        st_assert_all(&world, run_bed(&b) == ST_OK);
        st_assert_all(&world, b.bench->verify(&b.run, b.state, &check) == ST_OK);
        if (silent != 0) {
            st_assert_all(&world, check.n_bad == 0 && b.rec.doubt[0] != '\0' &&
                                      value_of(&b, "pages_placed", 1) == -1.0);
        } else {
            st_assert_all(&world, check.n_bad == 2 && b.rec.doubt[0] == '\0' &&
                                      strstr(check.what, "pages") != NULL);
        }
        close_bed(&b);
    }
}

static void refused_policies_and_full_nodes_end_prepare(void **unused)
{
    struct bed b;

    (void)unused;
    open_bed(&b);
    fake_memory.n_nodes = 2; /* this job may not use the third node */
    st_assert_all(&world, run_bed(&b) == ST_ERR_UNSUPPORTED);
    close_bed(&b);
    open_bed(&b);
    fake_memory.free_bytes = 4096;
    st_assert_all(&world, run_bed(&b) == ST_ERR_STEP &&
                              strstr(b.run.err.text, "smaller size") != NULL);
    close_bed(&b);
}

static void the_plan_says_why_not(void **unused)
{
    static const struct {
        size_t n_numa, n_ranks;
        const char *allow_one;
        const char *text; /* NULL: it will run */
    } rows[] = {{1, 1, "no", "no memory is far"},
                {1, 1, "yes", NULL},
                {0, 1, "yes", "not known"},
                {2, 2, "no", "ranks_per_node: 1"},
                {2, 1, "no", NULL}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct bed b;
        struct st_error err = {0};
        struct st_need need = {0};
        const struct st_shape shape = {.n_numa = rows[i].n_numa,
                                       .n_ranks = rows[i].n_ranks,
                                       .n_nodes = 1,
                                       .max_threads = N_THREADS};
        open_bed(&b);
        st_assert_all(&world, set(&b, "allow_one", rows[i].allow_one));
        const enum st_status rc = b.bench->plan(b.params, &shape, &need, &err);
        const bool good =
            rows[i].text == NULL
                ? rc == ST_OK && need.bytes_per_rank > 0
                : rc == ST_ERR_UNSUPPORTED && strstr(err.text, rows[i].text) != NULL;
        st_assert_all(&world, good);
        close_bed(&b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_measured_and_local_is_one),
        cmocka_unit_test(misplaced_memory_fails_and_unproved_memory_is_doubted),
        cmocka_unit_test(refused_policies_and_full_nodes_end_prepare),
        cmocka_unit_test(the_plan_says_why_not),
    };
    struct st_error err = {0};
    int provided = 0;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK ||
        stm_comm_split(&world, world.rank, 0, &alone, &err) != ST_OK) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&alone);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
