/*
 * link_map names what is slow. MPI_Send and MPI_Isend of this program stand before MPI's own and
 * hold messages of chosen pairs back by far more than the noise of a busy machine: a node with
 * all its partners, one pair, three pairs "behind one switch", a pair that is slow only in
 * company, nothing. Each rank is a node of its own. Then the circle's barrier.
 */
#include "mpi/agree.h"
#include "mpi/circle.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/registry.h"
#include "src/measure/recorder.h"
#include "src/measure/run.h"
#include "src/stats/polish.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct stm_comm world;

enum {
    MOST_RANKS = 16,
    N_REPETITIONS = 3, /* after the warm-up */
    N_ATTEMPTS = 12,
    /* FACTS 4: make every link slow, then one slower; noise is small beside both. */
    ALL_NS = 100000,
    HELD_BACK_NS = 1500000
};

/* Which pairs are slow: a bit per rank and partner. */
static bool slow[MOST_RANKS][MOST_RANKS];
static bool in_company_only;
static uint32_t section;

static void hold_back(int to)
{
    const bool is_slow = to >= 0 && to < MOST_RANKS && slow[world.rank][to] &&
                         !(in_company_only && section == 1);
    const struct timespec t = {.tv_nsec = is_slow ? HELD_BACK_NS : ALL_NS};

    (void)nanosleep(&t, NULL);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag,
             MPI_Comm comm)
{
    if (tag != STM_TAG_SETUP) { /* not the barrier's own messages */
        hold_back(to);
    }
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    hold_back(to);
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

static void plant(int a, int b)
{
    slow[a][b] = true;
    slow[b][a] = true;
}

static bool set_text(const struct st_bench *bench, void *params, const char *name,
                     const char *value)
{
    struct st_error err = {0};

    return st_param_parse(&bench->params[st_bench_param(bench, name)], value, params,
                          &err) == ST_OK;
}

/* All stages as the harness would call them; the remark of rank 0 on all ranks. */
static enum st_status measure(char remark[400], double *n_named)
{
    const struct st_bench *bench = st_bench_find(&st_registry, "link_map");
    size_t node_of[MOST_RANKS];
    struct st_recorder rec = {0};
    struct st_check check = {0};
    struct st_error err = {0};
    void *params = st_calloc(&err, 1, bench->params_size);
    void *state = st_calloc(&err, 1, bench->state_size);

    for (size_t r = 0; r < MOST_RANKS; r++) {
        node_of[r] = r;
    }
    const struct st_place_info place = {.node = (size_t)world.rank,
                                        .n_nodes = (size_t)world.n_ranks,
                                        .n_local_ranks = 1,
                                        .node_of = node_of,
                                        .n_threads = 1};
    st_assert_all(&world, params != NULL && state != NULL &&
                              st_params_default(bench, params, &err) == ST_OK &&
                              set_text(bench, params, "message", "8KiB") &&
                              set_text(bench, params, "window", "2") &&
                              set_text(bench, params, "trips", "2"));
    struct st_run run = {.bench = bench,
                         .params = params,
                         .comm = world,
                         .place = &place,
                         .n_inner = 1,
                         .rec = &rec};
    enum st_status rc = st_recorder_init(&rec, bench, params, &world, &place, &run.err);
    rc = rc == ST_OK ? bench->prepare(&run, state) : rc;
    rc = rc == ST_OK ? st_recorder_reserve(&rec, N_REPETITIONS + 1, &run.err) : rc;
    rc = stm_agree(&world, rc, &run.err);
    rec.recording = true;
    for (size_t k = 0; rc == ST_OK && k <= N_REPETITIONS; k++) {
        run.repetition = k;
        rec.repetition = k;
        for (section = 0; rc == ST_OK && section < 2; section++) {
            run.section = section;
            rc = stm_agree(&world, bench->run(&run, state), &run.err);
        }
    }
    rc = rc == ST_OK ? bench->verify(&run, state, &check) : rc;
    rc = rc == ST_OK ? st_recorder_check(&rec, &run.err) : rc;
    rc = stm_agree(&world, rc, &run.err);
    if (rc != ST_OK) {
        (void)fprintf(stderr, "%s\n", run.err.text);
    }
    st_assert_all(&world, check.n_bad == 0 && check.n_checked > 0);
    (void)st_copy(remark, 400, rec.remark);
    (void)MPI_Bcast(remark, 400, MPI_CHAR, 0, world.handle);
    *n_named = 0.0;
    for (size_t k = 1; world.rank == 0 && k <= N_REPETITIONS; k++) {
        *n_named += rec.series[st_bench_metric(bench, "slow_nodes")].values[k] +
                    rec.series[st_bench_metric(bench, "slow_links")].values[k];
    }
    bench->release(state);
    st_recorder_clear(&rec);
    st_free(state);
    st_free(params);
    return rc;
}

/* The text has the wanted accusations and no other: one "slow" each. */
static bool names_just(const char *remark, size_t n, const char *const *want)
{
    size_t n_slow = 0;
    bool good = true;

    for (const char *at = remark; (at = strstr(at, "latency x")) != NULL; at++) {
        n_slow++;
    }
    for (size_t i = 0; i < n; i++) {
        good = good && strstr(remark, want[i]) != NULL;
    }
    good = good && n_slow == n;
    if (!good && world.rank == 0) {
        (void)fprintf(stderr, "remark: %s\n", remark);
    }
    return good;
}

/*
 * The ranks share two cores with whatever else runs, and a core that was taken away is slow for
 * real. So a run that comes out otherwise is made again: what is planted must come out alone in
 * one of a few.
 */
static void run_and_expect(size_t n, const char *const *want)
{
    char remark[400];
    double n_named = 0.0;
    enum st_status rc = ST_OK;
    bool good = false;

    for (int attempt = 0; rc == ST_OK && !good && attempt < N_ATTEMPTS; attempt++) {
        rc = measure(remark, &n_named);
        good = names_just(remark, n, want); /* the remark is equal on all ranks */
    }
    (void)memset(slow, 0, sizeof slow); /* before an assertion leaves this function */
    st_assert_all(&world, rc == ST_OK);
    st_assert_all(&world, good);
}

static void nothing_planted_names_nobody(void **unused)
{
    (void)unused;
    if (world.n_ranks >= (int)ST_BLAME_FEWEST) {
        run_and_expect(0, NULL);
    }
}

static void a_node_slow_with_all(void **unused)
{
    static const char *const want[] = {"node 3 ("};

    (void)unused;
    if (world.n_ranks < (int)ST_BLAME_FEWEST) {
        return;
    }
    for (int r = 0; r < world.n_ranks; r++) {
        if (r != 3) {
            plant(r, 3);
        }
    }
    run_and_expect(1, want);
}

static void one_pair_slow_alone(void **unused)
{
    static const char *const want7[] = {"link 1-4 ("};
    static const char *const want4[] = {"link 0-2 ("};
    const bool small = world.n_ranks < 5;

    (void)unused;
    if (world.n_ranks < (int)ST_BLAME_FEWEST) {
        return;
    }
    plant(small ? 0 : 1, small ? 2 : 4);
    run_and_expect(1, small ? want4 : want7);
}

static void three_pairs_on_a_switch(void **unused)
{
    static const char *const want[] = {"link 0-1 (", "link 2-3 (", "link 4-5 ("};

    (void)unused;
    if (world.n_ranks < 7) {
        return;
    }
    plant(0, 1);
    plant(2, 3);
    plant(4, 5);
    run_and_expect(3, want);
}

static void slow_in_company_is_contention(void **unused)
{
    char remark[400];
    double n_named = 0.0;
    enum st_status rc = ST_OK;
    bool good = false;

    (void)unused;
    if (world.n_ranks < (int)ST_BLAME_FEWEST) {
        return;
    }
    plant(0, 2);
    in_company_only = true;
    for (int attempt = 0; rc == ST_OK && !good && attempt < N_ATTEMPTS; attempt++) {
        rc = measure(remark, &n_named);
        good = strstr(remark, "contention only") != NULL &&
               strstr(remark, "link 0-2") == NULL;
    }
    (void)memset(slow, 0, sizeof slow);
    in_company_only = false;
    st_assert_all(&world, rc == ST_OK);
    st_assert_all(&world, good);
}

/* Too few nodes: figures, a word about it, and nobody named. */
static void two_or_three_nodes_name_nobody(void **unused)
{
    char remark[400];
    double n_named = 0.0;

    (void)unused;
    if (world.n_ranks < 2 || world.n_ranks >= (int)ST_BLAME_FEWEST) {
        return;
    }
    plant(0, 1);
    st_assert_all(&world, measure(remark, &n_named) == ST_OK);
    st_assert_all(&world, strstr(remark, "too few") != NULL && n_named == 0.0);
    (void)memset(slow, 0, sizeof slow);
}

/* Every rank in turn comes late: nobody leaves before it has come. */
static void the_barrier_holds(void **unused)
{
    size_t rank[MOST_RANKS];
    struct st_error err = {0};
    bool good = true;

    (void)unused;
    for (size_t r = 0; r < MOST_RANKS; r++) {
        rank[r] = (size_t)(world.n_ranks - 1) - r % (size_t)world.n_ranks;
    }
    for (int late = 0; late < world.n_ranks; late++) {
        struct stm_circle circle = {.comm = world.handle,
                                    .n = (size_t)world.n_ranks,
                                    .rank = rank,
                                    .self = (size_t)(world.n_ranks - 1 - world.rank),
                                    .quiet = late % 2 == 1};
        struct timespec now;
        const struct timespec nap = {.tv_nsec = 5000000};
        double came = 0.0;
        if (world.rank == late) {
            (void)nanosleep(&nap, NULL);
            (void)clock_gettime(CLOCK_MONOTONIC, &now); /* one machine, one clock */
            came = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
        }
        good = good && stm_circle_barrier(&circle, &err) == ST_OK;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        const double left = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
        (void)MPI_Bcast(&came, 1, MPI_DOUBLE, late, world.handle);
        good = good && left >= came;
    }
    st_assert_all(&world, good);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_slow_with_all),
        cmocka_unit_test(nothing_planted_names_nobody),
        cmocka_unit_test(one_pair_slow_alone),
        cmocka_unit_test(three_pairs_on_a_switch),
        cmocka_unit_test(slow_in_company_is_contention),
        cmocka_unit_test(two_or_three_nodes_name_nobody),
        cmocka_unit_test(the_barrier_holds),
    };
    struct st_error err = {0};
    int provided = 0;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK ||
        world.n_ranks > MOST_RANKS) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
