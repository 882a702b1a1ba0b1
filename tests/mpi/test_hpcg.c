/*
 * HPCG's solver against the residuals of METHODS 4.1 in both storages, its validity tests, each
 * of them made to fail once, failing allocations on one rank, and memory against the prediction.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_hpcg.h"
#include "src/benchmarks/registry.h"
#include "src/measure/recorder.h"
#include "src/measure/run.h"
#include "tests/mpi/assert_all.h"
#include "tests/mpi/peak.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;

enum {
    N_ITERATIONS = 20
};

/* METHODS 4.1: ||r0||, then ||r|| / ||r0|| after 1, 2, 5, 10, 20 iterations. */
struct known {
    int n_ranks;
    uint64_t edge;
    double norm0;
    double after[5];
};
static const struct known known[] = {
    {1,
     16,
     368.7058448139926,
     {1.752884736527e-01, 8.359501836948e-02, 4.173473853974e-04, 1.635311900820e-07,
      2.01e-15}},
    {1,
     32,
     722.0027700777886,
     {1.832734216093e-01, 9.695462122822e-02, 3.345104094652e-02, 9.424441458379e-05,
      1.031e-08}},
    {2,
     16,
     472.1440458165283,
     {1.864566379536e-01, 9.693345097960e-02, 7.547208633780e-03, 3.861718424607e-06,
      3.86e-12}},
    {4,
     16,
     592.7630217886402,
     {1.945970434478e-01, 1.052894097013e-01, 2.050848156690e-02, 4.281252427613e-05,
      6.87e-10}},
    {8,
     16,
     722.0027700777886,
     {1.966713529639e-01, 1.058181113792e-01, 4.180148372059e-02, 4.380505636076e-04,
      7.72e-08}},
};

static struct st_hpcg *make(uint64_t edge, enum st_hpcg_storage storage)
{
    struct st_hpcg_grid grid = {.n = {edge, edge, edge}};
    struct st_hpcg *h = NULL;
    struct st_error err = {0};

    st_hpcg_rank_grid((uint64_t)world.n_ranks, grid.ranks);
    st_assert_all(&world, st_hpcg_create(&world, &grid, storage, &h, &err) == ST_OK);
    return h;
}

static bool near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * want;
}

static void check_history(const struct known *row, enum st_hpcg_storage storage)
{
    static const size_t at[5] = {1, 2, 5, 10, 20};
    double history[N_ITERATIONS + 1];
    struct st_hpcg *h = make(row->edge, storage);
    const struct st_hpcg_options options = {.max_iterations = N_ITERATIONS,
                                            .precondition = true,
                                            .b = h->b,
                                            .x = h->x,
                                            .history = history};
    struct st_hpcg_outcome outcome;
    struct st_error err = {0};

    st_assert_all(&world, st_hpcg_solve(h, &options, &outcome, &err) == ST_OK);
    st_assert_all(&world, near(history[0], row->norm0, 1e-10));
    for (size_t i = 0; i < 3; i++) {
        st_assert_all(&world, near(history[at[i]], row->after[i], 1e-10));
    }
    st_assert_all(&world, near(history[at[3]], row->after[3], 1e-6));
    st_assert_all(&world, history[20] <= 1.5 * row->after[4] &&
                              history[20] >= row->after[4] / 1.5);
    double error = 0.0; /* the exact solution is 1 everywhere */
    for (size_t i = 0; i < h->level[0].n_rows; i++) {
        error = fmax(error, fabs(h->x[i] - 1.0));
    }
    st_assert_all(&world, error <= 1e3 * row->after[4] + 1e-13);
    st_hpcg_destroy(&h);
}

static void residuals_are_the_references(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(known); i++) {
        if (known[i].n_ranks == world.n_ranks) {
            check_history(&known[i], ST_HPCG_CSR);
            check_history(&known[i], ST_HPCG_HALVES);
            check_history(&known[i], ST_HPCG_STENCIL);
        }
    }
}

/* METHODS 4.1: one rank n^3: interior 0, face 9, edge 15, corner 19. */
static void right_side_by_place(void **unused)
{
    (void)unused;
    struct st_hpcg *h = make(16, ST_HPCG_HALVES);
    st_assert_all(&world, world.rank != 0 || h->b[0] == 19.0); /* rank 0's corner */
    st_assert_all(&world, world.rank != 0 || h->b[1] == 15.0);
    st_assert_all(&world, world.rank != 0 || h->b[1 + 16] == 9.0);
    st_assert_all(&world, h->b[1 + 16 + 256] == 0.0 || world.rank != 0);
    st_hpcg_destroy(&h);
}

/* The validity tests pass, and notice a matrix that is not symmetric. */
static void validity_tests_notice(void **unused)
{
    struct st_hpcg_validity found;
    struct st_error err = {0};

    (void)unused;
    for (int storage = ST_HPCG_CSR; storage <= ST_HPCG_STENCIL; storage++) {
        struct st_hpcg *h = make(16, (enum st_hpcg_storage)storage);
        st_assert_all(&world, st_hpcg_validate(h, &found, &err) == ST_OK);
        st_assert_all(&world, found.plain_iterations == 11);
        st_assert_all(&world, found.preconditioned_iterations <= 2);
        st_assert_all(&world,
                      found.spmv_asymmetry <= 100.0 && found.mg_asymmetry <= 100.0);
        if (storage ==
            ST_HPCG_STENCIL) { /* has no entries; the diagonal changes no symmetry */
            st_hpcg_destroy(&h);
            continue;
        }
        /* One entry of one rank; it is part of the product and of the smoother. Near the
         * middle of the block, so that it is no place filled up with zeros. */
        const struct st_hpcg_level *l = &h->level[0];
        const size_t row = l->n_rows / 2 + 136;
        struct stk_lu_chunk *lower = l->arrays[8].base;
        double *csr_values = l->arrays[7].base;
        double *value = storage == ST_HPCG_HALVES
                            ? &lower[row / STK_LU_LANES].values[0][row % STK_LU_LANES]
                            : &csr_values[l->csr.row_start[row]];
        *value += world.rank == 0 ? 1e-3 : 0.0;
        st_assert_all(&world, st_hpcg_validate(h, &found, &err) == ST_OK);
        st_assert_all(&world, found.spmv_asymmetry > 100.0 && found.mg_asymmetry > 100.0);
        st_hpcg_destroy(&h);
    }
}

/* The benchmark itself, all ranks one group on one node. */
struct bed {
    const struct st_bench *bench;
    void *params, *state;
    struct st_place_info place;
    size_t node_of[64];
    struct st_recorder rec;
    struct st_run run;
    struct st_need need;
};

static void open_bed(struct bed *b, const char *edge, const char *mode)
{
    const char *const settings[] = {"nx", edge,   "ny", edge,         "nz",
                                    edge, "mode", mode, "iterations", "5"};
    const size_t n_ranks = (size_t)world.n_ranks;
    const struct st_shape shape = {.n_groups = 1,
                                   .n_nodes = 1,
                                   .n_ranks = n_ranks,
                                   .max_ranks_per_node = n_ranks,
                                   .min_ranks_per_node = n_ranks,
                                   .max_threads = 1,
                                   .n_threads = n_ranks};
    struct st_error err = {0};

    (void)memset(b, 0, sizeof *b);
    b->bench = st_bench_find(&st_registry, "hpcg");
    b->params = st_calloc(&err, 1, b->bench->params_size);
    b->state = st_calloc(&err, 1, b->bench->state_size);
    bool good = b->params != NULL && b->state != NULL &&
                st_params_default(b->bench, b->params, &err) == ST_OK;
    for (size_t i = 0; good && i < ST_COUNT(settings); i += 2) {
        const size_t row = st_bench_param(b->bench, settings[i]);
        good = st_param_parse(&b->bench->params[row], settings[i + 1], b->params, &err) ==
               ST_OK;
    }
    good = good && b->bench->plan(b->params, &shape, &b->need, &err) == ST_OK;
    st_assert_all(&world, good);
    b->place = (struct st_place_info){.n_nodes = 1,
                                      .local_rank = (size_t)world.rank,
                                      .n_local_ranks = n_ranks,
                                      .node_of = b->node_of,
                                      .n_threads = 1};
    b->run = (struct st_run){.bench = b->bench,
                             .params = b->params,
                             .comm = world,
                             .place = &b->place,
                             .n_inner = 2,
                             .rec = &b->rec};
}

static enum st_status prepare_bed(struct bed *b)
{
    enum st_status rc =
        st_recorder_init(&b->rec, b->bench, b->params, &world, &b->place, &b->run.err);
    if (rc == ST_OK) {
        rc = st_recorder_reserve(&b->rec, 2, &b->run.err);
    }
    rc = stm_agree(&world, rc, &b->run.err);
    return rc == ST_OK ? b->bench->prepare(&b->run, b->state) : rc;
}

static void close_bed(struct bed *b)
{
    b->bench->release(b->state);
    st_recorder_clear(&b->rec);
    st_free(b->state);
    st_free(b->params);
}

/* Values found wrong by verify(), over all ranks. */
static uint64_t count_bad(struct bed *b)
{
    struct st_check check = {0};
    uint64_t n_bad = 0;

    st_assert_all(&world, b->bench->verify(&b->run, b->state, &check) == ST_OK);
    st_assert_all(&world, MPI_Allreduce(&check.n_bad, &n_bad, 1, MPI_UINT64_T, MPI_SUM,
                                        world.handle) == MPI_SUCCESS);
    return n_bad;
}

static void verification_may_be_repeated_and_notices(void **unused)
{
    static const char *const modes[] = {"reference", "optimised", "structured"};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(modes); i++) {
        struct bed b;
        open_bed(&b, "16", modes[i]);
        st_assert_all(&world, prepare_bed(&b) == ST_OK);
        b.rec.recording = true;
        st_assert_all(&world, b.bench->run(&b.run, b.state) == ST_OK);
        st_assert_all(&world, st_recorder_check(&b.rec, &b.run.err) == ST_OK);
        st_assert_all(&world, count_bad(&b) == 0);
        st_assert_all(&world, count_bad(&b) == 0);
        if (world.rank == 0) {
            b.bench->spoil(b.state);
        }
        st_assert_all(&world, count_bad(&b) == (uint64_t)world.n_ranks);
        close_bed(&b);
    }
}

/* Every allocation of both problems fails once, on one rank. */
static void failing_allocations_fail_everywhere(void **unused)
{
    int n_failed = 0;

    (void)unused;
    if (world.n_ranks > 2) {
        return; /* test_benchmarks does the same at more ranks */
    }
    for (uint64_t nth = 1;; nth++) {
        struct bed b;
        open_bed(&b, "16", "optimised");
        st_mem_fail_at(world.rank == world.n_ranks - 1 ? nth : 0);
        const enum st_status rc = prepare_bed(&b);
        st_mem_fail_at(0);
        st_assert_all(&world, rc == ST_OK || rc == ST_ERR_MEMORY);
        close_bed(&b);
        if (rc == ST_OK) {
            break; /* agreed upon by all */
        }
        n_failed++;
    }
    st_assert_all(&world, n_failed > 80);
}

/* plan() promises a peak; the resident size must agree within 10 %. */
static void memory_is_as_predicted(void **unused)
{
    static const char *const modes[] = {"reference", "optimised", "structured"};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(modes) && world.n_ranks <= 2; i++) {
        struct bed b;
        open_bed(&b, "48", modes[i]);
        uint64_t before = 0;
        const bool can_reset = peak_reset(&before);
        st_assert_all(&world, prepare_bed(&b) == ST_OK);
        st_assert_all(&world, b.bench->run(&b.run, b.state) == ST_OK);
        double used = peak_since(before);
        const double predicted = (double)b.need.bytes_per_rank;
        print_message("rank %d, %s: predicted %.0f, used %.0f bytes\n", world.rank,
                      modes[i], predicted, used);
        st_assert_all(&world, MPI_Allreduce(MPI_IN_PLACE, &used, 1, MPI_DOUBLE, MPI_MAX,
                                            world.handle) == MPI_SUCCESS);
        st_assert_all(&world, !can_reset || peak_is_as_predicted(used, predicted));
        close_bed(&b);
    }
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
        cmocka_unit_test(residuals_are_the_references),
        cmocka_unit_test(right_side_by_place),
        cmocka_unit_test(validity_tests_notice),
        cmocka_unit_test(verification_may_be_repeated_and_notices),
        cmocka_unit_test(failing_allocations_fail_everywhere),
        cmocka_unit_test(memory_is_as_predicted),
    };

    MPI_Init(&argc, &argv);
    const int n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    MPI_Finalize();
    return n_failed;
}
