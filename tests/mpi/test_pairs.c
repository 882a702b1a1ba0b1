/*
 * Pairings (who with whom) and the message patterns of a pair: data, order, counts, turns.
 * The pairings are pure, so the same table runs at every number of ranks.
 */
#include "mpi/agree.h"
#include "mpi/pairs.h"
#include "mpi/pingpong.h"
#include "src/base/mem.h"
#include "tests/mpi/assert_all.h"

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
    MOST_RANKS = 16
};

struct pairing_row {
    enum stm_pairing pairing;
    size_t n_ranks;
    size_t node_of[MOST_RANKS];
    const char *want; /* "first-second …", by hand from the definitions in pairs.h */
};

static const struct pairing_row pairing_rows[] = {
    {STM_PAIR_HALVES, 1, {0}, ""},
    {STM_PAIR_HALVES, 2, {0, 0}, "0-1 "},
    {STM_PAIR_HALVES, 5, {0, 0, 0, 0, 0}, "0-2 1-3 "},
    {STM_PAIR_HALVES, 6, {0, 0, 0, 1, 1, 1}, "0-3 1-4 2-5 "},
    {STM_PAIR_ADJACENT, 5, {0, 0, 0, 1, 1}, "0-1 2-3 "},
    {STM_PAIR_ADJACENT, 4, {0, 0, 1, 1}, "0-1 2-3 "},
    {STM_PAIR_NODES, 1, {0}, ""},
    {STM_PAIR_NODES, 4, {0, 0, 0, 0}, ""},
    {STM_PAIR_NODES, 4, {0, 0, 1, 1}, "0-2 1-3 "},
    {STM_PAIR_NODES, 4, {0, 1, 0, 1}, "0-1 2-3 "},    /* cyclic */
    {STM_PAIR_NODES, 4, {0, 0, 0, 1}, "0-3 "},        /* 3 + 1 */
    {STM_PAIR_NODES, 5, {0, 0, 1, 1, 2}, "0-2 1-3 "}, /* 2 + 2 + 1: last one idle */
    {STM_PAIR_NODES, 5, {0, 1, 1, 1, 1}, "1-0 "},     /* 1 + 4 */
    {STM_PAIR_NODES, 5, {0, 0, 1, 1, 1}, "2-0 3-1 "}, /* largest node first */
    {STM_PAIR_NODES, 3, {0, 1, 2}, "0-1 "},           /* odd number of nodes */
    {STM_PAIR_NODES, 6, {0, 0, 1, 1, 2, 2}, "0-3 1-4 2-5 "},
};

static void pairings_are_as_defined(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(pairing_rows); i++) {
        const struct pairing_row *row = &pairing_rows[i];
        struct st_error err = {0};
        struct stm_pair *pairs = NULL;
        size_t n_pairs = 0;
        char got[256] = "";
        size_t length = 0;
        enum st_status rc =
            stm_pair_up(row->pairing, row->n_ranks, row->node_of, &pairs, &n_pairs, &err);
        st_assert_all(&world, rc == ST_OK);
        for (size_t k = 0; k < n_pairs; k++) {
            length += (size_t)snprintf(got + length, sizeof got - length, "%d-%d ",
                                       pairs[k].first, pairs[k].second);
        }
        if (strcmp(got, row->want) != 0) {
            (void)fprintf(stderr, "row %zu: got %s, wanted %s\n", i, got, row->want);
        }
        st_assert_all(&world, strcmp(got, row->want) == 0);
        st_free(pairs);
    }
}

/* Any mixture of nodes: nobody twice, always across nodes, and the promised number. */
static void pairs_across_nodes_for_any_mixture(void **unused)
{
    bool good = true;

    (void)unused;
    for (size_t code = 0; code < 729; code++) { /* 3 nodes, 6 ranks, all distributions */
        size_t node_of[6];
        size_t count[3] = {0};
        bool used[6] = {false};
        struct st_error err = {0};
        struct stm_pair *pairs = NULL;
        size_t n_pairs = 0;
        size_t rest = code;
        for (size_t r = 0; r < 6; r++, rest /= 3) {
            node_of[r] = rest % 3;
            count[rest % 3]++;
        }
        size_t largest = count[0] > count[1] ? count[0] : count[1];
        largest = largest > count[2] ? largest : count[2];
        good = good &&
               stm_pair_up(STM_PAIR_NODES, 6, node_of, &pairs, &n_pairs, &err) == ST_OK;
        good = good && n_pairs == stm_pair_count(STM_PAIR_NODES, 6, largest);
        good = good && n_pairs == (largest > 3 ? 6 - largest : 3);
        for (size_t k = 0; k < n_pairs; k++) {
            const size_t a = (size_t)pairs[k].first;
            const size_t b = (size_t)pairs[k].second;
            good = good && !used[a] && !used[b] && node_of[a] != node_of[b];
            used[a] = true;
            used[b] = true;
        }
        st_free(pairs);
    }
    st_assert_all(&world, good);
}

static void failed_allocation_leaves_nothing(void **unused)
{
    const size_t node_of[4] = {0, 0, 1, 1};
    bool good = true;

    (void)unused;
    for (uint64_t nth = 1; nth <= 3; nth++) {
        struct st_error err = {0};
        struct stm_pair *pairs = NULL;
        size_t n_pairs = 0;
        st_mem_fail_at(nth);
        const enum st_status rc =
            stm_pair_up(STM_PAIR_NODES, 4, node_of, &pairs, &n_pairs, &err);
        st_mem_fail_at(0);
        good = good && rc == ST_ERR_MEMORY && pairs == NULL && err.text[0] != '\0';
    }
    st_assert_all(&world, good);
}

enum {
    PLACES = 5,
    PLACE_BYTES = 64,
    MESSAGE = 24
};

/* Halves of the world; the last rank of an odd world looks on. */
struct end {
    struct stm_link link;
    bool active;
    char send[PLACES * PLACE_BYTES];
    char recv[PLACES * PLACE_BYTES];
    MPI_Request requests[2 * PLACES];
};

static void end_open(struct end *e, size_t stride)
{
    const int half = world.n_ranks / 2;

    (void)memset(e, 0, sizeof *e);
    e->active = world.rank < 2 * half;
    e->link = (struct stm_link){.comm = world.handle,
                                .peer = world.rank < half ? world.rank + half
                                                          : world.rank - half,
                                .is_first = world.rank < half,
                                .message_bytes = MESSAGE,
                                .window = PLACES,
                                .stride_bytes = stride,
                                .send = e->send,
                                .recv = e->recv,
                                .requests = e->requests};
    for (int k = 0; k < PLACES; k++) {
        (void)memset(e->send + k * PLACE_BYTES, 100 + 10 * (world.rank % 8) + k, MESSAGE);
    }
}

/* Place @p k holds message @p m of the peer and nothing behind its end. */
static bool holds(const struct end *e, int k, int m)
{
    bool good = true;

    for (int i = 0; i < PLACE_BYTES; i++) {
        const char want = (char)(i < MESSAGE ? 100 + 10 * (e->link.peer % 8) + m : 0);
        good = good && e->recv[k * PLACE_BYTES + i] == want;
    }
    return good;
}

static bool untouched(const struct end *e)
{
    static const char zero[sizeof e->recv];

    return memcmp(e->recv, zero, sizeof zero) == 0;
}

static void patterns_carry_each_message_to_its_place(void **unused)
{
    struct end e;
    struct st_error err = {0};
    bool good = true;

    (void)unused;
    end_open(&e, PLACE_BYTES);
    good = !e.active || stm_pingpong(&e.link, 2 * PLACES, &err) == ST_OK;
    for (int k = 0; e.active && k < PLACES; k++) {
        good = good && holds(&e, k, k);
    }
    st_assert_all(&world, good);

    end_open(&e, PLACE_BYTES);
    good = !e.active || stm_windows(&e.link, 3, &err) == ST_OK;
    for (int k = 0; e.active && !e.link.is_first && k < PLACES; k++) {
        good = good && holds(&e, k, k);
    }
    good = good && ((e.active && !e.link.is_first) || untouched(&e));
    st_assert_all(&world, good);

    end_open(&e, PLACE_BYTES);
    good = !e.active || stm_windows_both(&e.link, 3, &err) == ST_OK;
    for (int k = 0; e.active && k < PLACES; k++) {
        good = good && holds(&e, k, k);
    }
    st_assert_all(&world, good);

    end_open(&e, 0); /* all in one place: only the first place is used */
    good = !e.active || (stm_pingpong(&e.link, 7, &err) == ST_OK && holds(&e, 0, 0) &&
                         e.recv[PLACE_BYTES] == 0);
    st_assert_all(&world, good);
}

static double ticks;
static double tick_step;

/* Readings 0, 1, 3, 6, …: their differences 1, 2, 3, … number the round trips. */
static double tick(void)
{
    ticks += tick_step;
    tick_step += 1.0;
    return ticks;
}

static void round_trips_are_timed_one_by_one(void **unused)
{
    struct end e;
    struct st_error err = {0};
    double kept[4] = {0};
    bool good = true;

    (void)unused;
    end_open(&e, 0);
    ticks = 0.0;
    tick_step = 0.0;
    good = !e.active || stm_pingpong_timed(&e.link, 10, tick, 4, kept, &err) == ST_OK;
    /* Ten round trips, four kept: the last ones, 7 to 10, each in slot (number - 1) mod 4. */
    good =
        good && (!(e.active && e.link.is_first) ||
                 (kept[0] == 9.0 && kept[1] == 10.0 && kept[2] == 7.0 && kept[3] == 8.0));
    st_assert_all(&world, good);
}

/* One pair after another: each appends to a list that only works if nobody is early. */
static void turns_come_in_order(void **unused)
{
    const int half = world.n_ranks / 2;
    const int pair = world.rank % (half > 0 ? half : 1);
    struct st_error err = {0};
    struct end e;

    (void)unused;
    for (int quiet = 0; quiet < 2; quiet++) {
        int order = -1;
        MPI_Win window = MPI_WIN_NULL;
        int *counter = NULL;
        bool good = true;
        end_open(&e, 0);
        good = MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, world.handle,
                                &counter, &window) == MPI_SUCCESS;
        *counter = 0;
        st_assert_all(&world, good);
        if (e.active) {
            const int to[2] = {pair + 1 < half ? pair + 1 : -1,
                               pair + 1 < half ? pair + 1 + half : -1};
            good = stm_turn_wait(world.handle, pair > 0 ? pair - 1 : -1, quiet != 0,
                                 &err) == ST_OK;
            good = good && stm_pingpong(&e.link, 3, &err) == ST_OK;
            if (e.link.is_first) {
                const int one = 1;
                (void)MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
                (void)MPI_Fetch_and_op(&one, &order, MPI_INT, 0, 0, MPI_SUM, window);
                (void)MPI_Win_unlock(0, window);
                good = stm_turn_pass(world.handle, to, &err) == ST_OK && good &&
                       order == pair;
            }
        }
        (void)MPI_Barrier(world.handle);
        (void)MPI_Win_free(&window);
        st_assert_all(&world, good);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairings_are_as_defined),
        cmocka_unit_test(pairs_across_nodes_for_any_mixture),
        cmocka_unit_test(failed_allocation_leaves_nothing),
        cmocka_unit_test(patterns_carry_each_message_to_its_place),
        cmocka_unit_test(round_trips_are_timed_one_by_one),
        cmocka_unit_test(turns_come_in_order),
    };
    struct st_error err = {0};

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
