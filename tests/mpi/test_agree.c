/* Agreement of ranks: any rank may fail, all must know; and the plain communicator calls. */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "tests/mpi/assert_all.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

typedef enum st_status (*agree_fn)(const struct stm_comm *, enum st_status,
                                   struct st_error *);
static const agree_fn variants[] = {stm_agree, stm_agree_quiet};

static void all_well_is_ok(void **state)
{
    const struct stm_comm *c = *state;

    for (size_t v = 0; v < ST_COUNT(variants); v++) {
        struct st_error err = {0};
        const enum st_status rc = variants[v](c, ST_OK, &err);
        st_assert_all(c, rc == ST_OK && err.text[0] == '\0');
        st_assert_all(c, variants[v](c, ST_OK, NULL) == ST_OK);
    }
}

static void one_bad_rank_stops_all(void **state)
{
    const struct stm_comm *c = *state;
    char signature[300];

    for (int bad = 0; bad < c->n_ranks; bad++) {
        for (size_t v = 0; v < ST_COUNT(variants); v++) {
            struct st_error err = {0};
            enum st_status rc = ST_OK;
            if (c->rank == bad) {
                rc = st_fail(&err, ST_ERR_IO, "disk full");
            }
            rc = variants[v](c, rc, &err);
            (void)snprintf(signature, sizeof signature, "disk full [rank %d on %s]", bad,
                           stm_host());
            st_assert_all(c, rc == ST_ERR_IO && err.code == ST_ERR_IO);
            st_assert_all(c, strcmp(err.text, signature) == 0);
        }
    }
}

static void the_worst_status_of_the_lowest_rank_wins(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    enum st_status rc;

    /* the last two ranks fail worse than the others; the lower of them must be named */
    const int worst_first = c->n_ranks > 1 ? c->n_ranks - 2 : 0;
    if (c->rank >= worst_first) {
        rc = st_fail(&err, ST_ERR_TOPO, "rank %d: topology", c->rank);
    } else {
        rc = st_fail(&err, ST_ERR_STEP, "rank %d: step", c->rank);
    }
    rc = stm_agree(c, rc, &err);
    char want[64];
    (void)snprintf(want, sizeof want, "rank %d: topology", worst_first);
    st_assert_all(c, rc == ST_ERR_TOPO && strncmp(err.text, want, strlen(want)) == 0);
}

static void a_rank_is_named_once_and_fits(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    char full[ST_ERROR_TEXT_SIZE];

    memset(full, 'x', sizeof full - 1);
    full[sizeof full - 1] = '\0';
    enum st_status rc = stm_agree(c, st_fail(&err, ST_ERR_IO, "%s", full), &err);
    st_assert_all(c, rc == ST_ERR_IO && strstr(err.text, " [rank 0 on ") != NULL);
    st_assert_all(c, err.text[strlen(err.text) - 1] == ']');
    struct st_error brief = {0};
    rc = stm_agree(c, st_fail(&brief, ST_ERR_IO, "disk full"), &brief);
    rc = stm_agree(c, rc, &brief); /* as a group's error is agreed again in the step */
    const char *first = strstr(brief.text, " [rank ");
    st_assert_all(c, rc == ST_ERR_IO && first != NULL &&
                         strstr(first + 1, " [rank ") == NULL);
}

static void an_error_without_text_gets_one(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};

    const enum st_status rc = stm_agree(c, c->rank == 0 ? ST_ERR_MEMORY : ST_OK, &err);
    st_assert_all(c, rc == ST_ERR_MEMORY && strstr(err.text, "memory") != NULL);
    st_assert_all(c, stm_agree(c, c->rank == 0 ? ST_ERR_MEMORY : ST_OK, NULL) ==
                         ST_ERR_MEMORY);
}

static void an_mpi_failure_is_not_communicated(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};

    /* would hang if it communicated: every rank but 0 stays away */
    const enum st_status rc = c->rank == 0 ? stm_agree(c, ST_ERR_MPI, &err) : ST_ERR_MPI;
    st_assert_all(c, rc == ST_ERR_MPI);
}

static void a_failed_call_says_which(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    int word = 0;

    const int call = MPI_Send(&word, 1, MPI_INT, c->n_ranks + 5, 1, c->handle);
    const enum st_status rc =
        call == MPI_SUCCESS ? ST_OK
                            : stm_fail(&err, call, "MPI_Send(…)", "/a/b/mpi/x.c", 7);
    st_assert_all(c, rc == ST_ERR_MPI && strstr(err.text, "MPI_Send(…)") != NULL);
    st_assert_all(c, strstr(err.text, "(mpi/x.c:7)") != NULL);
    st_assert_all(c,
                  strstr(err.text, "rank") != NULL); /* MPI's own words: invalid rank */
}

static void a_quiet_wait_uses_no_cpu(void **state)
{
    const struct stm_comm *c = *state;
    const struct timespec nap = {.tv_nsec = 200000000};
    struct st_error err = {0};

    if (c->rank == 0) {
        (void)nanosleep(&nap, NULL);
    }
    const clock_t before = clock();
    const enum st_status rc = stm_agree_quiet(c, ST_OK, &err);
    const double used = (double)(clock() - before) / CLOCKS_PER_SEC;
    /* the waiting ranks slept: their CPU time is a small part of the 0.2 s they waited */
    st_assert_all(c, rc == ST_OK && used < 0.1);
}

static void count_up(void *context)
{
    size_t *n = context;

    (*n)++;
}

/* A busy rank works while it waits for sleeping ones, and learns of their errors. */
static void a_busy_wait_works(void **state)
{
    const struct stm_comm *c = *state;
    const struct timespec nap = {.tv_nsec = 20000000};

    for (int round = 0; round < 2; round++) {
        const enum st_status bad = round == 0 ? ST_OK : ST_ERR_STEP;
        struct st_error err = {0};
        size_t n = 0;
        enum st_status rc = ST_OK;
        if (c->rank == 0) {
            (void)nanosleep(&nap, NULL);
            rc = bad == ST_OK ? ST_OK : st_fail(&err, bad, "the step's own failure");
            rc = stm_agree_quiet(c, rc, &err);
        } else {
            const struct stm_pastime counting = {count_up, &n};
            rc = stm_agree_busy(c, ST_OK, &counting, &err);
        }
        st_assert_all(c, rc == bad && (c->rank == 0 || n > 0));
        st_assert_all(c, round == 0 || strstr(err.text, "[rank 0 on ") != NULL);
    }
}

static void any_size_is_broadcast(void **state)
{
    const struct stm_comm *c = *state;
    static const size_t sizes[] = {0, 1, 1000, ((size_t)1 << 26) + 3};
    struct st_error err = {0};
    const size_t most = sizes[ST_COUNT(sizes) - 1];
    unsigned char *data = st_calloc(&err, most, 1);

    st_assert_all(c, data != NULL);
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        memset(data, c->rank == 0 ? 7 + (int)i : 0, most);
        const enum st_status rc = stm_bcast_bytes(c, data, sizes[i], &err);
        bool same = rc == ST_OK;
        for (size_t k = 0; k < sizes[i] && same; k += sizes[i] / 5 + 1) {
            same = data[k] == 7 + i;
        }
        same = same && (sizes[i] == 0 || data[sizes[i] - 1] == 7 + i);
        st_assert_all(c, same);
    }
    st_free(data);
}

static void splitting_keeps_the_world_rank(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    struct stm_comm part = {0};

    /* rank 0 stays out; the others in reverse order */
    const int color = c->rank == 0 ? MPI_UNDEFINED : 1;
    const enum st_status rc = stm_comm_split(c, color, -c->rank, &part, &err);
    const bool fine = c->rank == 0 ? part.handle == MPI_COMM_NULL && part.rank == -1
                                   : part.rank == c->n_ranks - 1 - c->rank &&
                                         part.world_rank == c->rank;
    st_assert_all(c, rc == ST_OK && fine);
    bool named = true;
    if (c->rank > 0) { /* a collective of the part alone: rank 0 is not in it */
        struct st_error told = {0};
        enum st_status mine = ST_OK;
        if (part.rank == 0) {
            mine = st_fail(&told, ST_ERR_STEP, "no");
        }
        (void)stm_agree(&part, mine, &told);
        char want[64];
        (void)snprintf(want, sizeof want, "no [rank %d on ", c->n_ranks - 1);
        named = strncmp(told.text, want, strlen(want)) == 0;
    }
    st_assert_all(c, named);
    stm_comm_free(&part);
    stm_comm_free(&part); /* twice is fine */
    struct stm_comm never = {0};
    stm_comm_free(&never);
    stm_comm_free(NULL);
    st_assert_all(c, part.handle == MPI_COMM_NULL);
}

static void counts_end_at_int(void **state)
{
    const struct stm_comm *c = *state;
    struct st_error err = {0};
    int count = -1;

    st_assert_all(c,
                  stm_count((size_t)INT_MAX, &count, &err) == ST_OK && count == INT_MAX);
    st_assert_all(c, stm_count((size_t)INT_MAX + 1, &count, &err) == ST_ERR_STEP);
    st_assert_all(c, count == INT_MAX && strstr(err.text, "2147483648") != NULL);
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
        cmocka_unit_test_prestate(all_well_is_ok, &world),
        cmocka_unit_test_prestate(one_bad_rank_stops_all, &world),
        cmocka_unit_test_prestate(the_worst_status_of_the_lowest_rank_wins, &world),
        cmocka_unit_test_prestate(a_rank_is_named_once_and_fits, &world),
        cmocka_unit_test_prestate(an_error_without_text_gets_one, &world),
        cmocka_unit_test_prestate(an_mpi_failure_is_not_communicated, &world),
        cmocka_unit_test_prestate(a_failed_call_says_which, &world),
        cmocka_unit_test_prestate(a_quiet_wait_uses_no_cpu, &world),
        cmocka_unit_test_prestate(a_busy_wait_works, &world),
        cmocka_unit_test_prestate(any_size_is_broadcast, &world),
        cmocka_unit_test_prestate(splitting_keeps_the_world_rank, &world),
        cmocka_unit_test_prestate(counts_end_at_int, &world),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return failed;
}
