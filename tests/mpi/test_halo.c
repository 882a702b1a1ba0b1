/*
 * Halo exchange: every needed element arrives with its owner's current value, whatever the
 * pattern, with ranks that own or need nothing; wrong requests and failing allocations on
 * one rank become one error on all.
 */
#include "kernels/splitmix.h"
#include "mpi/comm.h"
#include "mpi/halo.h"
#include "src/base/mem.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    N_ELEMENTS = 60
};

/* How the vector is cut: alike, all on one rank, or with gaps. */
enum cut {
    CUT_EVEN,
    CUT_LAST_HAS_ALL,
    CUT_EVERY_OTHER,
    N_CUTS
};

static uint64_t *make_cut(const struct stm_comm *c, enum cut cut)
{
    const size_t n = (size_t)c->n_ranks;
    uint64_t *start = st_calloc(NULL, n + 1, sizeof *start);

    for (size_t r = 0; start != NULL && r <= n; r++) {
        const uint64_t even = N_ELEMENTS * r / n;
        /* every other: ranks 1, 3, 5 … own nothing */
        const uint64_t other =
            r == n ? N_ELEMENTS : N_ELEMENTS * ((r + 1) / 2 * 2) / (n + 1);
        start[r] = cut == CUT_EVEN          ? even
                   : cut == CUT_EVERY_OTHER ? other
                   : r == n                 ? N_ELEMENTS
                                            : 0;
    }
    return start;
}

/* Which elements a rank needs: none, all, neighbours of its block, a random set. */
enum need {
    NEED_NONE,
    NEED_ALL,
    NEED_EDGES,
    NEED_RANDOM,
    N_NEEDS
};

static size_t make_needed(const struct stm_comm *c, const uint64_t *start, enum need need,
                          uint64_t *needed)
{
    const uint64_t first = start[c->rank];
    const uint64_t end = start[c->rank + 1];
    size_t n = 0;

    for (uint64_t e = 0; e < N_ELEMENTS; e++) {
        const bool is_edge = e + 2 >= first && e < end + 2;
        const bool is_drawn =
            stk_random_u64((uint64_t)c->rank, e) % 3 == 0 && c->rank % 3 != 2;
        const bool is_wanted = need == NEED_ALL || (need == NEED_EDGES && is_edge) ||
                               (need == NEED_RANDOM && is_drawn);
        if (is_wanted && (e < first || e >= end)) {
            needed[n++] = e;
        }
    }
    return n;
}

/* The value of an element in one round; all different. */
static double value_of(uint64_t element, int round)
{
    return (double)element * 1000.0 + round;
}

/* Exchange thrice over persistent requests, with new values each time. */
static bool exchanges_are_right(struct stm_halo *h, uint64_t first,
                                const uint64_t *needed)
{
    struct st_error err = {0};
    bool good = true;

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < h->n_sent; i++) {
            h->send[i] = value_of(first + (uint64_t)h->sent_index[i], round);
        }
        good = good && stm_halo_start(h, &err) == ST_OK;
        good = good && stm_halo_finish(h, &err) == ST_OK;
        for (size_t i = 0; i < h->n_ghosts; i++) {
            good = good && h->ghosts[i] == value_of(needed[i], round);
        }
    }
    return good;
}

static void every_pattern_arrives(void **state)
{
    const struct stm_comm *c = *state;

    for (int cut = 0; cut < N_CUTS; cut++) {
        uint64_t *start = make_cut(c, (enum cut)cut);
        st_assert_all(c, start != NULL);
        for (int need = 0; need < N_NEEDS; need++) {
            struct st_error err = {0};
            struct stm_halo *h = NULL;
            uint64_t needed[N_ELEMENTS];
            const size_t n = make_needed(c, start, (enum need)need, needed);
            enum st_status rc = stm_halo_create(c, start, n, needed, &h, &err);
            st_assert_all(c, rc == ST_OK && h->n_ghosts == n);
            st_assert_all(c, exchanges_are_right(h, start[c->rank], needed));
            st_assert_all(c,
                          need != NEED_NONE || (h->n_sent == 0 && h->n_send_ranks == 0));
            stm_halo_destroy(&h);
            st_assert_all(c, h == NULL);
        }
        st_free(start);
    }
}

/* What is received somewhere is sent somewhere. */
static void sent_equals_received(void **state)
{
    const struct stm_comm *c = *state;
    uint64_t *start = make_cut(c, CUT_EVEN);
    struct st_error err = {0};
    struct stm_halo *h = NULL;
    uint64_t needed[N_ELEMENTS];
    uint64_t sums[2] = {0};

    st_assert_all(c, start != NULL);
    const size_t n = make_needed(c, start, NEED_ALL, needed);
    st_assert_all(c, stm_halo_create(c, start, n, needed, &h, &err) == ST_OK);
    uint64_t mine[2] = {h->n_sent, h->n_ghosts};
    st_assert_all(c, MPI_Allreduce(mine, sums, 2, MPI_UINT64_T, MPI_SUM, c->handle) ==
                         MPI_SUCCESS);
    st_assert_all(c, sums[0] == sums[1] &&
                         sums[0] == (uint64_t)(c->n_ranks - 1) * N_ELEMENTS);
    stm_halo_destroy(&h);
    st_free(start);
}

static void wrong_requests_fail_everywhere(void **state)
{
    const struct stm_comm *c = *state;
    uint64_t *start = make_cut(c, CUT_EVEN);

    st_assert_all(c, start != NULL);
    for (int kind = 0; kind < 3; kind++) {
        static const char *const why[] = {"outside the vector", "this rank's own",
                                          "do not increase"};
        const int bad = c->n_ranks - 1;
        struct st_error err = {0};
        struct stm_halo *h = NULL;
        uint64_t needed[2] = {N_ELEMENTS + 3, 0};
        size_t n = c->rank == bad ? 1 : 0;
        if (kind == 1) {
            needed[0] = start[c->rank];
        }
        if (kind == 2) {
            if (c->n_ranks == 1) {
                continue; /* nobody else's element to ask for twice */
            }
            needed[0] = 0;
            n *= 2;
        }
        const enum st_status rc = stm_halo_create(c, start, n, needed, &h, &err);
        st_assert_all(c, rc == ST_ERR_INTERNAL && h == NULL);
        st_assert_all(c, strstr(err.text, why[kind]) != NULL);
    }
    st_free(start);
}

/* Whichever allocation fails on whichever rank: one error, nobody hangs, nothing leaks. */
static void failing_allocations_fail_everywhere(void **state)
{
    const struct stm_comm *c = *state;
    uint64_t *start = make_cut(c, CUT_EVEN);
    uint64_t needed[N_ELEMENTS];
    const int bad = c->n_ranks / 2;
    int n_failed = 0;

    st_assert_all(c, start != NULL);
    const size_t n = make_needed(c, start, NEED_EDGES, needed);
    for (uint64_t nth = 1;; nth++) {
        struct st_error err = {0};
        struct stm_halo *h = NULL;
        if (c->rank == bad) {
            st_mem_fail_at(nth);
        }
        const enum st_status rc = stm_halo_create(c, start, n, needed, &h, &err);
        st_mem_fail_at(0);
        st_assert_all(c, rc == ST_OK || (rc == ST_ERR_MEMORY && h == NULL &&
                                         strstr(err.text, "allocate") != NULL));
        stm_halo_destroy(&h);
        if (rc == ST_OK) {
            break; /* all its allocations were tried; rc is agreed upon */
        }
        n_failed++;
    }
    st_assert_all(c, n_failed >= 8);
    st_free(start);
}

static void owners_are_found_past_empty_ranks(void **state)
{
    static const uint64_t start[] = {0, 0, 5, 5, 5, 9};
    static const size_t owner[] = {1, 1, 1, 1, 1, 4, 4, 4, 4};
    const struct stm_comm *c = *state;
    bool good = true;

    for (uint64_t e = 0; e < ST_COUNT(owner); e++) {
        good = good && stm_owner(5, start, e) == owner[e];
    }
    st_assert_all(c, good && stm_owner(5, start, 9) == 5 && stm_owner(0, start, 0) == 0);
}

static int set_up(void **state)
{
    static struct stm_comm comm;
    struct st_error err = {0};

    *state = &comm;
    return stm_comm_dup(MPI_COMM_WORLD, &comm, &err) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    stm_comm_free(*state);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_arrives),
        cmocka_unit_test(sent_equals_received),
        cmocka_unit_test(wrong_requests_fail_everywhere),
        cmocka_unit_test(failing_allocations_fail_everywhere),
        cmocka_unit_test(owners_are_found_past_empty_ranks),
    };

    MPI_Init(&argc, &argv);
    const int n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    MPI_Finalize();
    return n_failed;
}
