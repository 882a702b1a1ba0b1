/*
 * Clock synchronisation with clocks that the test makes wrong: each rank reads the system's
 * monotonic clock with its own offset and drift, so the right answer is known. What is
 * measured over messages is only compared with the error the code itself states.
 */
#include "mpi/agree.h"
#include "mpi/clock_sync.h"
#include "src/base/mem.h"
#include "tests/mpi/assert_all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static double offset_s;
static double drift;
static double origin_s;

static double true_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec - origin_s;
}

static double skewed_now(void)
{
    return true_now() * (1.0 + drift) + offset_s;
}

/* All ranks share an origin, so that "true" readings are small and comparable. */
static void share_origin(const struct stm_comm *c)
{
    double first = 0.0;

    origin_s = 0.0;
    const double mine = true_now();
    (void)MPI_Allreduce(&mine, &first, 1, MPI_DOUBLE, MPI_MIN, c->handle);
    origin_s = first;
}

/* METHODS 3.6, both vectors. */
static void vectors_of_the_method(void **state)
{
    const struct stm_comm *c = *state;
    double offset = 0.0;
    double error = 0.0;

    stm_ntp_offset(100.0, 250.0, 251.0, 103.0, &offset, &error);
    st_assert_all(c, offset == 149.0 && error == 1.0);

    const struct stm_clock to_root = {.slope = 1e-6, .intercept = 0.5, .error_s = 1.0};
    const struct stm_clock to_parent = {
        .slope = -2e-6, .intercept = -0.25, .error_s = 2.0};
    const struct stm_clock both = stm_clock_compose(to_root, to_parent);
    st_assert_all(c, fabs(both.slope - -9.99998e-7) < 1e-18);
    st_assert_all(c, fabs(both.intercept - 0.25000025) < 1e-15);
    st_assert_all(c, both.error_s == 3.0);
    st_assert_all(c, fabs(stm_clock_global(&both, 1000.0) - 999.750999748) < 1e-9);
    const double in_two =
        stm_clock_global(&to_root, stm_clock_global(&to_parent, 1000.0));
    st_assert_all(c, fabs(in_two - 999.750999748) < 1e-9);
    st_assert_all(c, fabs(stm_clock_local(&both, stm_clock_global(&both, 123.456)) -
                          123.456) < 1e-12);
}

static size_t *nodes(const struct stm_comm *c, int ranks_per_node)
{
    size_t *node_of = st_calloc(NULL, (size_t)c->n_ranks, sizeof *node_of);

    for (int i = 0; node_of != NULL && i < c->n_ranks; i++) {
        node_of[i] = (size_t)(i / ranks_per_node);
    }
    return node_of;
}

/* The largest |global time - rank 0's true time| of all ranks: what the models are off by. */
static double worst_offset(const struct stm_comm *c, const struct stm_clock *clock)
{
    const double t = true_now();
    const double mine = fabs(stm_clock_global(clock, t * (1.0 + drift) + offset_s) - t);
    double worst = 0.0;

    (void)MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, c->handle);
    return worst;
}

static double largest(const struct stm_comm *c, double mine)
{
    double most = 0.0;

    (void)MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, c->handle);
    return most;
}

/* Rank 0 is right; every other rank is a node with an offset and a drift of its own. */
static void offsets_and_drifts_are_found(void **state)
{
    const struct stm_comm *c = *state;
    static const double drifts[] = {0.0, 50e-6, 5e-3};
    size_t *node_of = nodes(c, 1);

    st_assert_all(c, node_of != NULL);
    for (size_t i = 0; i < ST_COUNT(drifts); i++) {
        struct st_error err = {0};
        struct stm_clock clock = {0};
        double residual = -1.0;
        share_origin(c);
        offset_s = (double)c->rank;
        drift = c->rank == 0 ? 0.0 : drifts[i] * (c->rank % 2 == 0 ? -1.0 : 1.0);
        const double before = true_now();
        enum st_status rc = stm_clock_sync(c, node_of, skewed_now, &clock, &err);
        st_assert_all(c, rc == ST_OK);
        const double error = largest(c, clock.error_s);
        /* the smallest round trip bounds the offset at its time; a drift too weak to be seen in
         * the noise goes on from there, at most between two ranks of opposite drift */
        const double lasted = largest(c, true_now() - before);
        const double bound = 2.0 * error + 1e-6 + 2.0 * drifts[i] * lasted;
        const double off = worst_offset(c, &clock);
        st_assert_all(c, off <= bound);
        st_assert_all(c, c->n_ranks == 1 || error > 0.0);
        rc = stm_clock_residual(c, node_of, skewed_now, &clock, &residual, &err);
        st_assert_all(c, rc == ST_OK && residual >= 0.0 &&
                             residual <= 4.0 * bound + 1e-3 * lasted);
    }
    offset_s = 0.0;
    drift = 0.0;
    st_free(node_of);
}

/* A strong drift stands out of the noise: the slope itself is right. */
static void a_strong_drift_gives_its_slope(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    struct stm_clock clock = {0};
    size_t *node_of = nodes(c, 1);

    st_assert_all(c, node_of != NULL);
    share_origin(c);
    drift = c->rank == 0 ? 0.0 : 0.02;
    /* global = local / 1.02, that is slope = 1 - 1 / 1.02 */
    const double want = c->rank == 0 ? 0.0 : 1.0 - 1.0 / 1.02;
    bool found = false;
    /* ranks that lose their cores hide even this drift: a quieter moment must show it */
    for (int i = 0; i < 30 && !found; i++) {
        const enum st_status rc = stm_clock_sync(c, node_of, skewed_now, &clock, &err);
        st_assert_all(c, rc == ST_OK);
        found = largest(c, fabs(clock.slope - want)) <= 0.1 * 0.02;
    }
    st_assert_all(c, found);
    drift = 0.0;
    st_free(node_of);
}

/* One node: nothing is corrected, and no error is claimed. */
static void one_node_is_the_identity(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    struct stm_clock clock = {.slope = 1.0, .intercept = 1.0, .error_s = 1.0};
    double residual = -1.0;
    size_t *node_of = nodes(c, c->n_ranks);

    st_assert_all(c, node_of != NULL);
    enum st_status rc = stm_clock_sync(c, node_of, skewed_now, &clock, &err);
    st_assert_all(c, rc == ST_OK && clock.slope == 0.0 && clock.intercept == 0.0 &&
                         clock.error_s == 0.0);
    rc = stm_clock_residual(c, node_of, skewed_now, &clock, &residual, &err);
    st_assert_all(c, rc == ST_OK && residual == 0.0);
    st_free(node_of);
}

/* Two ranks per node share a clock: they must get the very same model. */
static void a_node_shares_its_model(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    struct stm_clock clock = {0};
    struct stm_comm node = {0};
    size_t *node_of = nodes(c, 2);
    double most[2] = {0};
    double least[2] = {0};

    st_assert_all(c, node_of != NULL);
    share_origin(c);
    offset_s = 10.0 * (double)(c->rank / 2);
    enum st_status rc = stm_clock_sync(c, node_of, skewed_now, &clock, &err);
    if (rc == ST_OK) {
        rc = stm_comm_split(c, c->rank / 2, c->rank, &node, &err);
    }
    st_assert_all(c, rc == ST_OK);
    const double mine[2] = {clock.slope, clock.intercept};
    (void)MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, node.handle);
    (void)MPI_Allreduce(mine, least, 2, MPI_DOUBLE, MPI_MIN, node.handle);
    st_assert_all(c, most[0] == least[0] && most[1] == least[1]);
    st_assert_all(c, worst_offset(c, &clock) <= 2.0 * largest(c, clock.error_s) + 1e-3);
    stm_comm_free(&node);
    offset_s = 0.0;
    st_free(node_of);
}

/* A rank whose clock differs from its own node's leader (time namespace) is corrected too. */
static void a_stranger_on_a_node_is_found(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    struct stm_clock clock = {0};
    size_t *node_of = nodes(c, c->n_ranks);
    const bool is_stranger = c->rank == c->n_ranks - 1 && c->rank > 0;

    st_assert_all(c, node_of != NULL);
    share_origin(c);
    offset_s = is_stranger ? 100.0 : 0.0;
    const enum st_status rc = stm_clock_sync(c, node_of, skewed_now, &clock, &err);
    st_assert_all(c, rc == ST_OK);
    st_assert_all(c, is_stranger ? fabs(clock.intercept - 100.0) < 1.0
                                 : clock.intercept == 0.0 && clock.error_s == 0.0);
    st_assert_all(c, worst_offset(c, &clock) <= 2.0 * largest(c, clock.error_s) + 1e-3);
    offset_s = 0.0;
    st_free(node_of);
}

/* All ranks that were in time leave at the same moment, seen by the true clock. */
static void starts_are_together(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    struct stm_clock clock = {0};
    double lead = 0.0;
    size_t *node_of = nodes(c, 1);
    bool never_early = true;

    st_assert_all(c, node_of != NULL);
    share_origin(c);
    offset_s = (double)c->rank;
    enum st_status rc = stm_clock_sync(c, node_of, skewed_now, &clock, &err);
    const double error = largest(c, clock.error_s);
    for (int i = 0; i < 20 && rc == ST_OK; i++) {
        bool late = true;
        double start = 0.0;
        rc = stm_start_together(c, &clock, skewed_now, true, &lead, &late, &err);
        const double left = true_now();
        /* nobody may leave before the moment by more than the clocks' error: the first that
         * leaves in time and the root, if in time, bound it from both sides */
        const double mine = late ? (double)INFINITY : left;
        (void)MPI_Allreduce(&mine, &start, 1, MPI_DOUBLE, MPI_MIN, c->handle);
        never_early = never_early && (c->rank != 0 || late || left - start < 1.0) &&
                      (late || left >= start);
    }
    st_assert_all(c, rc == ST_OK && never_early && error < 1.0);
    st_assert_all(c, c->n_ranks == 1 || lead > 0.0);
    offset_s = 0.0;
    st_free(node_of);
}

/* A rank that comes too late says so, and the next start leaves it twice the time. */
static void a_late_rank_says_so(void **state)
{
    const struct stm_comm *c = *state;
    const struct stm_clock exact = {0};
    struct st_error err = {0};
    double lead = 50e-6; /* as if measured */
    bool late = false;

    share_origin(c);
    /* rank 0 names a moment by a clock that lags 1 ms behind: for the others it has passed */
    offset_s = c->rank == 0 ? -1e-3 : 0.0;
    enum st_status rc =
        stm_start_together(c, &exact, skewed_now, true, &lead, &late, &err);
    st_assert_all(c, rc == ST_OK && (c->rank == 0 || late));
    st_assert_all(c, c->rank == 0 || fabs(lead - 100e-6) < 1e-9);
    offset_s = 0.0;
    rc = stm_start_together(c, &exact, skewed_now, true, &lead, &late, &err);
    /* rank 0 has heard of it by now; if a rank lost its core meanwhile it doubled again */
    st_assert_all(c, rc == ST_OK && (c->n_ranks == 1 || lead >= 100e-6 - 1e-9));
}

/* Oversubscribed: a barrier, no wait for a moment, nobody is late. */
static void no_spin_is_a_barrier(void **state)
{
    const struct stm_comm *c = *state;
    const struct stm_clock exact = {0};
    struct st_error err = {0};
    double lead = 0.0;
    bool late = true;

    const enum st_status rc =
        stm_start_together(c, &exact, skewed_now, false, &lead, &late, &err);
    st_assert_all(c, rc == ST_OK && !late && lead == 0.0);
}

int main(int argc, char **argv)
{
    struct stm_comm world;
    struct st_error err = {0};

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(vectors_of_the_method, &world),
        cmocka_unit_test_prestate(offsets_and_drifts_are_found, &world),
        cmocka_unit_test_prestate(a_strong_drift_gives_its_slope, &world),
        cmocka_unit_test_prestate(one_node_is_the_identity, &world),
        cmocka_unit_test_prestate(a_node_shares_its_model, &world),
        cmocka_unit_test_prestate(a_stranger_on_a_node_is_found, &world),
        cmocka_unit_test_prestate(starts_are_together, &world),
        cmocka_unit_test_prestate(a_late_rank_says_so, &world),
        cmocka_unit_test_prestate(no_spin_is_a_barrier, &world),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return failed;
}
