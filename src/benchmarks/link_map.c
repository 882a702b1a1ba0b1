/*
 * link_map: latency and bandwidth between all nodes, and the name of the slow one (METHODS 3.2,
 * 8.4, 8.5). One rank per node; the pairs of a round of the circle method run at once, in both
 * directions one after the other.
 *
 * A repetition has two sections. The map measures every pair once. Then group rank 0 polishes
 * the matrix, and the slowest, the suspected and some healthy pairs run again alone, three times
 * in turn; an accusation that does not stand alone was contention. A name is given at the end
 * if its accusation stood in more than half of the repetitions.
 *
 * If rank 0 runs out of memory while it chooses, it sends an empty list and fails afterwards.
 */
#include "kernels/splitmix.h"
#include "mpi/agree.h"
#include "mpi/circle.h"
#include "mpi/pingpong.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/part_link_check.h"
#include "src/benchmarks/part_retest.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LM_S_MAP,
    LM_S_ALONE
};

enum {
    M_LATENCY,
    M_BANDWIDTH,
    M_LATENCY_ALONE,
    M_BANDWIDTH_ALONE,
    M_SLOW_NODES,
    M_SLOW_LINKS,
    M_CONTENDED
};

enum {
    LM_SMALL_BYTES = 8,  /* METHODS 3.2 */
    LM_ALL_ROUNDS = 256, /* up to so many nodes every pair is measured */
    LM_SOME_ROUNDS = 16, /* beyond; METHODS 3.2 asks for at least 5 */
    LM_WARM_TRIPS = 2,
    LM_HOST_SIZE = 64,
    LM_DIRECTIONS = 2
};

static const uint64_t lm_seed = 0x11cca9; /* of the choice of rounds: always the same */

struct lm_params {
    uint64_t message, window, trips, rounds;
};

/* What one direction of a pair gave. */
struct lm_pair {
    double value[ST_RETEST_METRICS];
};

struct lm_state {
    size_t n_nodes, n_rounds;
    size_t *leader; /* [n_nodes] group rank */
    size_t *round;  /* [n_rounds] of the circle method */
    struct stm_circle circle;
    bool is_leader;
    size_t n_partners;    /* of this rank */
    size_t *partner;      /* [n_rounds] in order of rounds, n_partners used */
    size_t first_place;   /* this rank's places follow one another, in that order */
    struct lm_pair *mine; /* [n_rounds] */
    char *send, *recv;
    MPI_Request *requests;
    bool spoiled;
    size_t n_listed;
    struct st_retest_pair *list; /* [ST_RETEST_MOST] of this repetition */
    double *alone, *alone_all;   /* [ST_RETEST_MOST][2 directions][2 metrics][3] */
    /* group rank 0 only */
    size_t n_places;
    struct lm_pair *all;                      /* [n_places] */
    int *counts, *displs;                     /* [n_ranks] doubles of each rank in all */
    struct st_link *links[ST_RETEST_METRICS]; /* [n_places] */
    struct st_retest_pair *pairs;             /* [n_places] */
    struct st_retest *retests;                /* [ST_RETEST_MOST x 2] */
    struct st_tally tally;
};

static const struct st_param params[] = {
    ST_PARAM_BYTES(lm_params, message, "1MiB", 8, 0x1p30, "bytes of a bandwidth message"),
    ST_PARAM_COUNT(lm_params, window, "16", 1, 1024,
                   "bandwidth messages in flight before a reply"),
    ST_PARAM_COUNT(lm_params, trips, "100", 1, 1e6, "round trips of 8 bytes per pair"),
    ST_PARAM_COUNT(lm_params, rounds, "0", 0, 1e6,
                   "rounds, each node meets one other in each; 0: all, or 16 random ones "
                   "above 256 nodes"),
};

static const struct st_metric metrics[] = {
    [M_LATENCY] = {"latency", "s", ST_LOWER, ST_PAIR, ST_GIVEN, LM_S_MAP,
                   "half the mean round trip of 8 bytes, all pairs of a round at once"},
    [M_BANDWIDTH] = {"bandwidth", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN, LM_S_MAP,
                     "one direction, all pairs of a round at once"},
    [M_LATENCY_ALONE] = {"latency_alone", "s", ST_LOWER, ST_PAIR, ST_GIVEN, LM_S_ALONE,
                         "of the pairs that were measured again alone, median of 3"},
    [M_BANDWIDTH_ALONE] = {"bandwidth_alone", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN,
                           LM_S_ALONE,
                           "of the pairs that were measured again alone, median of 3"},
    [M_SLOW_NODES] = {"slow_nodes", "1", ST_LOWER, ST_JOB, ST_GIVEN, LM_S_ALONE,
                      "nodes slow with most partners, also alone"},
    [M_SLOW_LINKS] = {"slow_links", "1", ST_LOWER, ST_JOB, ST_GIVEN, LM_S_ALONE,
                      "pairs slow beyond what their nodes explain, also alone"},
    [M_CONTENDED] = {"contended", "1", ST_NEITHER, ST_JOB, ST_GIVEN, LM_S_ALONE,
                     "nodes and pairs slow only while others communicate"},
};

static size_t lm_rounds(const struct lm_params *p, size_t n_nodes)
{
    const size_t all = stm_circle_rounds(n_nodes);

    if (p->rounds == 0) {
        return n_nodes <= LM_ALL_ROUNDS ? all : LM_SOME_ROUNDS;
    }
    return p->rounds < all ? (size_t)p->rounds : all;
}

static enum st_status link_map_plan(const void *parameters, const struct st_shape *shape,
                                    struct st_need *need, struct st_error *err)
{
    const struct lm_params *p = parameters;
    const size_t n = shape->n_nodes;

    if (n < 2) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "link_map needs two nodes, this step has one");
    }
    const size_t n_rounds = lm_rounds(p, n);
    const uint64_t n_places = (uint64_t)n * n_rounds;
    need->bytes_per_rank = 2 * p->message + 2 * p->window * sizeof(MPI_Request) +
                           n_places * (sizeof(struct st_place) + sizeof(struct lm_pair) +
                                       ST_RETEST_METRICS * sizeof(struct st_link) +
                                       sizeof(struct st_retest_pair)) +
                           (size_t)ST_RETEST_MOST * 64 * sizeof(double);
    /* 10 us and 1 GB/s, slower than any network that is accepted. */
    const double of_pair = 4.0 * (double)p->trips * 1e-5 +
                           2.0 * (double)p->window * (double)p->message / 1e9;
    const double n_alone = 3.0 * (24.0 + (double)n_places / 100.0);
    need->seconds_per_repetition = of_pair * ((double)n_rounds + n_alone);
    if (shape->n_ranks > n) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "idle: %zu of %zu ranks, one on each node communicates "
                       "(ranks_per_node: 1 is enough)",
                       shape->n_ranks - n, shape->n_ranks);
    }
    return ST_OK;
}

/* The rounds in use: all, or some in a random order that is the same everywhere. */
static void lm_choose_rounds(struct lm_state *s, size_t all, size_t *order)
{
    stk_random_order(lm_seed, all, s->n_rounds < all ? s->n_rounds : 0, order);
    (void)memcpy(s->round, order, s->n_rounds * sizeof *order);
}

/* Who is whose partner: own ones and the places of all. */
static void lm_arrange(struct lm_state *s, size_t self, struct st_place *places)
{
    size_t k = 0;

    for (size_t i = 0; i < s->n_nodes; i++) {
        s->first_place = i == self ? k : s->first_place;
        for (size_t t = 0; t < s->n_rounds; t++) {
            const size_t j = stm_circle_partner(s->n_nodes, s->round[t], i);
            if (j == SIZE_MAX) {
                continue;
            }
            if (i == self) {
                s->partner[s->n_partners++] = j;
            }
            places[k++] = (struct st_place){
                .owner = s->leader[i], .a = s->leader[i], .b = s->leader[j]};
        }
    }
    s->n_places = k;
}

static enum st_status lm_prepare_places(struct st_run *run, struct lm_state *s)
{
    const struct lm_params *p = run->params;
    const size_t all = stm_circle_rounds(run->place->n_nodes);
    size_t n = 0;

    s->n_nodes = run->place->n_nodes;
    s->n_rounds = lm_rounds(p, s->n_nodes);
    s->leader = st_calloc(&run->err, s->n_nodes, sizeof *s->leader);
    s->round = st_calloc(&run->err, s->n_rounds, sizeof *s->round);
    s->partner = st_calloc(&run->err, s->n_rounds, sizeof *s->partner);
    s->mine = st_calloc(&run->err, s->n_rounds, sizeof *s->mine);
    if (s->leader == NULL || s->round == NULL || s->partner == NULL || s->mine == NULL ||
        !st_mul_size(s->n_nodes, s->n_rounds, &n)) {
        return run->err.code != ST_OK
                   ? run->err.code
                   : st_fail(&run->err, ST_ERR_MEMORY, "link_map: too many pairs");
    }
    for (size_t r = (size_t)run->comm.n_ranks; r-- > 0;) {
        s->leader[run->place->node_of[r]] = r; /* the lowest rank comes last */
    }
    s->is_leader = s->leader[run->place->node] == (size_t)run->comm.rank;
    s->circle = (struct stm_circle){.comm = run->comm.handle,
                                    .n = s->n_nodes,
                                    .rank = s->leader,
                                    .self = run->place->node,
                                    .quiet = run->place->oversubscribed};
    size_t *order = st_calloc(&run->err, all, sizeof *order);
    struct st_place *places = st_calloc(&run->err, n, sizeof *places);
    enum st_status rc = order == NULL || places == NULL ? ST_ERR_MEMORY : ST_OK;
    if (rc == ST_OK) {
        lm_choose_rounds(s, all, order);
        lm_arrange(s, s->is_leader ? run->place->node : SIZE_MAX, places);
        rc = st_set_places(run, ST_PAIR, s->n_places, places);
    }
    st_free(order);
    st_free(places);
    return rc;
}

static enum st_status lm_prepare_root(struct st_run *run, struct lm_state *s)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    const size_t m = s->n_places;
    struct st_error *err = &run->err;

    s->all = st_calloc(err, m, sizeof *s->all);
    s->counts = st_calloc(err, n_ranks, sizeof *s->counts);
    s->displs = st_calloc(err, n_ranks, sizeof *s->displs);
    s->links[0] = st_calloc(err, m, sizeof *s->links[0]);
    s->links[1] = st_calloc(err, m, sizeof *s->links[1]);
    s->pairs = st_calloc(err, m, sizeof *s->pairs);
    s->retests = st_calloc(err, ST_RETEST_MOST, LM_DIRECTIONS * sizeof(struct st_retest));
    if (s->all == NULL || s->counts == NULL || s->displs == NULL || s->links[0] == NULL ||
        s->links[1] == NULL || s->pairs == NULL || s->retests == NULL) {
        return ST_ERR_MEMORY;
    }
    size_t k = 0;
    for (size_t i = 0; i < s->n_nodes; i++) {
        const size_t first = k;
        for (size_t t = 0; t < s->n_rounds; t++) {
            const size_t j = stm_circle_partner(s->n_nodes, s->round[t], i);
            if (j != SIZE_MAX) {
                s->links[0][k] = (struct st_link){.from = i, .to = j};
                s->links[1][k++] = (struct st_link){.from = i, .to = j};
            }
        }
        enum st_status rc =
            stm_count(first * ST_RETEST_METRICS, &s->displs[s->leader[i]], err);
        if (rc == ST_OK) {
            rc =
                stm_count((k - first) * ST_RETEST_METRICS, &s->counts[s->leader[i]], err);
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static enum st_status link_map_prepare(struct st_run *run, void *state)
{
    const struct lm_params *p = run->params;
    struct lm_state *s = state;
    const enum st_status rc = lm_prepare_places(run, s);
    const size_t n_alone =
        (size_t)ST_RETEST_MOST * LM_DIRECTIONS * ST_RETEST_METRICS * ST_RETESTS;

    if (rc != ST_OK) {
        return rc;
    }
    s->list = st_calloc(&run->err, ST_RETEST_MOST, sizeof *s->list);
    s->alone = st_calloc(&run->err, n_alone, sizeof *s->alone);
    s->alone_all = st_calloc(&run->err, n_alone, sizeof *s->alone_all);
    if (s->list == NULL || s->alone == NULL || s->alone_all == NULL) {
        return ST_ERR_MEMORY;
    }
    if (s->is_leader) {
        s->send = st_calloc(&run->err, (size_t)p->message, 1);
        s->recv = st_calloc(&run->err, (size_t)p->message, 1);
        s->requests = st_calloc(&run->err, 2 * (size_t)p->window, sizeof *s->requests);
        if (s->send == NULL || s->recv == NULL || s->requests == NULL) {
            return ST_ERR_MEMORY;
        }
        (void)memset(s->send, 0x5A, (size_t)p->message); /* touched by who uses them */
        (void)memset(s->recv, 0x5A, (size_t)p->message);
    }
    return run->comm.rank == 0 ? lm_prepare_root(run, s) : ST_OK;
}

/* One metric in one direction; the sender keeps the value. */
static enum st_status lm_direction(struct st_run *run, const struct stm_link *link,
                                   size_t metric, double *value)
{
    const struct lm_params *p = run->params;
    const size_t n = run->n_inner * (metric == 0 ? (size_t)p->trips : 1);
    enum st_status rc = ST_OK;

    if (metric == 0) {
        rc = stm_pingpong(link, LM_WARM_TRIPS, &run->err);
    }
    const double start = st_now();
    if (rc == ST_OK) {
        rc = metric == 0 ? stm_pingpong(link, n, &run->err)
                         : stm_windows(link, n, &run->err);
    }
    const double seconds = st_now() - start;
    if (rc == ST_OK && link->is_first) {
        *value = metric == 0
                     ? seconds / (2.0 * (double)n)
                     : (double)n * (double)p->window * (double)p->message / seconds;
    }
    return rc;
}

static enum st_status lm_meet(struct st_run *run, struct lm_state *s, size_t other,
                              struct lm_pair *out)
{
    const struct lm_params *p = run->params;
    struct stm_link link = {.comm = run->comm.handle,
                            .peer = (int)s->leader[other],
                            .window = (int)p->window,
                            .send = s->send,
                            .recv = s->recv,
                            .requests = s->requests};
    enum st_status rc = ST_OK;

    for (size_t metric = 0; metric < ST_RETEST_METRICS; metric++) {
        link.message_bytes = metric == 0 ? LM_SMALL_BYTES : (int)p->message;
        for (int turn = 0; turn < LM_DIRECTIONS && rc == ST_OK; turn++) {
            link.is_first = (s->circle.self < other) == (turn == 0);
            rc = lm_direction(run, &link, metric, &out->value[metric]);
        }
    }
    return rc;
}

static enum st_status lm_map(struct st_run *run, struct lm_state *s)
{
    size_t k = 0;

    for (size_t t = 0; t < s->n_rounds; t++) {
        enum st_status rc = stm_circle_barrier(&s->circle, &run->err);
        const size_t other = stm_circle_partner(s->n_nodes, s->round[t], s->circle.self);
        if (rc == ST_OK && other != SIZE_MAX) {
            rc = lm_meet(run, s, other, &s->mine[k]);
            st_record(run->rec, M_LATENCY, s->first_place + k, s->mine[k].value[0]);
            st_record(run->rec, M_BANDWIDTH, s->first_place + k, s->mine[k].value[1]);
            k++;
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static double *lm_alone(double *table, size_t pair, size_t direction, size_t metric)
{
    return table +
           ((pair * LM_DIRECTIONS + direction) * ST_RETEST_METRICS + metric) * ST_RETESTS;
}

/* The chosen pairs in turn, the whole list three times. */
static enum st_status lm_again(struct st_run *run, struct lm_state *s, size_t n)
{
    const size_t self = s->circle.self;

    for (size_t i = 0; i < n * ST_RETESTS; i++) {
        const struct st_retest_pair *pair = &s->list[i % n];
        struct lm_pair got = {{0.0, 0.0}};
        enum st_status rc = stm_circle_barrier(&s->circle, &run->err);
        if (rc == ST_OK && (pair->a == self || pair->b == self)) {
            rc = lm_meet(run, s, pair->a == self ? pair->b : pair->a, &got);
            for (size_t metric = 0; metric < ST_RETEST_METRICS; metric++) {
                lm_alone(s->alone, i % n, pair->a == self ? 0 : 1, metric)[i / n] =
                    got.value[metric];
            }
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static void lm_record_alone(struct st_run *run, const struct lm_state *s, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct st_retest_pair *pair = &s->list[k];
        const bool is_a = pair->a == s->circle.self;
        if (!is_a && pair->b != s->circle.self) {
            continue;
        }
        const size_t other = is_a ? pair->b : pair->a;
        size_t place = 0;
        while (s->partner[place] != other) {
            place++;
        }
        for (size_t metric = 0; metric < ST_RETEST_METRICS; metric++) {
            double sorted[ST_RETESTS];
            (void)memcpy(sorted, lm_alone(s->alone, k, is_a ? 0 : 1, metric),
                         sizeof sorted);
            st_sort(ST_RETESTS, sorted);
            st_record(run->rec, metric == 0 ? M_LATENCY_ALONE : M_BANDWIDTH_ALONE,
                      s->first_place + place, st_median_sorted(ST_RETESTS, sorted));
        }
    }
}

static struct st_link_set lm_set(const struct lm_state *s, size_t metric)
{
    return (struct st_link_set){.n_nodes = s->n_nodes,
                                .n_links = s->n_places,
                                .links = s->links[metric],
                                .better = metric == 0 ? -1 : 1};
}

/* Group rank 0: whom this repetition suspects, and the list of pairs to measure again. */
static enum st_status lm_suspect(struct st_run *run, struct lm_state *s,
                                 struct st_blames blames[ST_RETEST_METRICS], size_t *n)
{
    const struct st_link_set sets[ST_RETEST_METRICS] = {lm_set(s, 0), lm_set(s, 1)};
    enum st_status rc = ST_OK;

    for (size_t q = 0; q < ST_RETEST_METRICS && rc == ST_OK; q++) {
        for (size_t k = 0; k < s->n_places; k++) {
            s->links[q][k].value = s->all[k].value[q];
        }
        rc = st_blame(&sets[q], &blames[q], &run->err);
    }
    if (rc == ST_OK) {
        *n = st_retest_choose(sets, blames, s->pairs);
        (void)memcpy(s->list, s->pairs, *n * sizeof *s->pairs);
    }
    return rc;
}

/* The values of one metric, a row for each direction of each pair. */
static void lm_list_retests(struct lm_state *s, size_t n, size_t metric)
{
    for (size_t i = 0; i < n * LM_DIRECTIONS; i++) {
        const struct st_retest_pair *p = &s->list[i / LM_DIRECTIONS];
        struct st_retest *r = &s->retests[i];
        const bool from_a = i % LM_DIRECTIONS == 0;

        *r = (struct st_retest){.from = from_a ? p->a : p->b,
                                .to = from_a ? p->b : p->a,
                                .is_control = p->control};
        (void)memcpy(r->value,
                     lm_alone(s->alone_all, i / LM_DIRECTIONS, from_a ? 0 : 1, metric),
                     sizeof r->value);
    }
}

/* Group rank 0: which accusations stand. */
static void lm_conclude(struct st_run *run, struct lm_state *s,
                        const struct st_blames blames[ST_RETEST_METRICS])
{
    const size_t n = s->n_listed * LM_DIRECTIONS;

    s->tally.n_repetitions += run->repetition > 0 ? 1 : 0;
    for (size_t metric = 0; metric < ST_RETEST_METRICS; metric++) {
        lm_list_retests(s, s->n_listed, metric);
        for (size_t k = 0; k < blames[metric].n; k++) {
            struct st_blame *b = &blames[metric].list[k];
            double alone = 0.0;
            b->stands = st_blame_stands(b, metric == 0 ? -1 : 1, n, s->retests, &alone);
            if (run->repetition > 0) {
                st_tally_add(&s->tally, metric, b, b->stands, alone);
            }
        }
    }
    const struct st_blame_counts counts = st_blames_count(&blames[0], &blames[1]);
    st_record(run->rec, M_SLOW_NODES, 0, (double)counts.slow_nodes);
    st_record(run->rec, M_SLOW_LINKS, 0, (double)counts.slow_links);
    st_record(run->rec, M_CONTENDED, 0, (double)counts.contended);
}

/* What a rank did not measure is below all values: the maximum over the ranks is the measured one. */
static enum st_status lm_measure_again(struct st_run *run, struct lm_state *s)
{
    const size_t n = s->n_listed;
    const size_t n_values = n * LM_DIRECTIONS * ST_RETEST_METRICS * ST_RETESTS;

    for (size_t i = 0; i < n_values; i++) {
        s->alone[i] = -1.0;
    }
    if (s->is_leader) {
        const enum st_status rc = lm_again(run, s, n);
        if (rc != ST_OK) {
            return rc;
        }
        lm_record_alone(run, s, n);
    }
    STM_TRY(&run->err, MPI_Reduce(s->alone, s->alone_all, (int)n_values, MPI_DOUBLE,
                                  MPI_MAX, 0, run->comm.handle));
    return ST_OK;
}

/* The list of suspects to all ranks. */
static enum st_status lm_share_list(struct st_run *run, struct lm_state *s)
{
    uint64_t n = s->n_listed;

    STM_TRY(&run->err, MPI_Bcast(&n, 1, MPI_UINT64_T, 0, run->comm.handle));
    s->n_listed = (size_t)n;
    STM_TRY(&run->err, MPI_Bcast(s->list, (int)(n * sizeof *s->list), MPI_BYTE, 0,
                                 run->comm.handle));
    return ST_OK;
}

static enum st_status lm_retest(struct st_run *run, struct lm_state *s)
{
    struct st_blames blames[ST_RETEST_METRICS] = {{0}};
    const bool is_root = run->comm.rank == 0;
    const int n_mine = s->is_leader ? (int)(s->n_partners * ST_RETEST_METRICS) : 0;
    enum st_status failed = ST_OK;

    STM_TRY(&run->err, MPI_Gatherv(s->mine, n_mine, MPI_DOUBLE, s->all, s->counts,
                                   s->displs, MPI_DOUBLE, 0, run->comm.handle));
    s->n_listed = 0;
    if (is_root) {
        failed = lm_suspect(run, s, blames, &s->n_listed);
    }
    enum st_status rc = lm_share_list(run, s);
    if (rc == ST_OK) {
        rc = lm_measure_again(run, s);
    }
    if (rc == ST_OK && is_root && failed == ST_OK) {
        lm_conclude(run, s, blames);
    }
    st_blames_clear(&blames[0]);
    st_blames_clear(&blames[1]);
    return rc == ST_OK ? failed : rc;
}

static enum st_status link_map_run(struct st_run *run, void *state)
{
    struct lm_state *s = state;

    if (run->section == LM_S_ALONE) {
        return lm_retest(run, s);
    }
    return s->is_leader ? lm_map(run, s) : ST_OK;
}

/* Every pair once more with data that are checked. */
static enum st_status lm_check_data(struct st_run *run, struct lm_state *s,
                                    struct st_check *check)
{
    const struct lm_params *p = run->params;

    for (size_t k = 0; k < s->n_partners; k++) {
        const size_t other = s->partner[k];
        const struct stm_link link = {.comm = run->comm.handle,
                                      .peer = (int)s->leader[other],
                                      .is_first = s->circle.self < other,
                                      .message_bytes = (int)p->message,
                                      .window = 1,
                                      .send = s->send,
                                      .recv = s->recv,
                                      .requests = s->requests};
        const enum st_status rc =
            st_link_check(&link, s->circle.self, other, s->spoiled, check, &run->err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

/* The names belong to the text, so they are fetched when it is written. */
static enum st_status lm_tell(struct st_run *run, struct lm_state *s)
{
    const bool is_root = run->comm.rank == 0;
    const size_t n_ranks = is_root ? (size_t)run->comm.n_ranks : 0;
    char mine[LM_HOST_SIZE] = "";
    char text[400];

    char *hosts = st_calloc(&run->err, n_ranks, sizeof mine);
    const char **host = st_calloc(&run->err, s->n_nodes, sizeof(const char *));
    enum st_status rc = hosts == NULL || host == NULL ? ST_ERR_MEMORY : ST_OK;
    rc = stm_agree(&run->comm, rc, &run->err);
    if (rc == ST_OK) {
        (void)st_copy(mine, sizeof mine, stm_host());
        const int failed = MPI_Gather(mine, LM_HOST_SIZE, MPI_CHAR, hosts, LM_HOST_SIZE,
                                      MPI_CHAR, 0, run->comm.handle);
        rc = failed == MPI_SUCCESS
                 ? ST_OK
                 : stm_fail(&run->err, failed, "MPI_Gather", __FILE__, __LINE__);
    }
    if (rc == ST_OK && is_root && host != NULL && s->tally.n_repetitions > 0) {
        for (size_t i = 0; i < s->n_nodes; i++) {
            host[i] = hosts + s->leader[i] * sizeof mine;
        }
        st_tally_text(&s->tally, s->n_nodes, host, text, sizeof text);
        st_remark(run, text);
    }
    st_free(hosts);
    st_free(host);
    return rc;
}

static enum st_status link_map_verify(struct st_run *run, void *state,
                                      struct st_check *check)
{
    struct lm_state *s = state;
    enum st_status rc = s->is_leader ? lm_check_data(run, s, check) : ST_OK;

    if (rc == ST_ERR_MPI) {
        return rc;
    }
    return lm_tell(run, s);
}

static void link_map_release(void *state)
{
    struct lm_state *s = state;

    st_free(s->leader);
    st_free(s->round);
    st_free(s->partner);
    st_free(s->mine);
    st_free(s->send);
    st_free(s->recv);
    st_free(s->requests);
    st_free(s->list);
    st_free(s->alone);
    st_free(s->alone_all);
    st_free(s->all);
    st_free(s->counts);
    st_free(s->displs);
    st_free(s->links[0]);
    st_free(s->links[1]);
    st_free(s->pairs);
    st_free(s->retests);
}

static void link_map_spoil(void *state)
{
    ((struct lm_state *)state)->spoiled = true;
}

const struct st_bench st_bench_link_map = {
    .name = "link_map",
    .summary =
        "Latency and bandwidth between all nodes, and the name of a slow node or link.",
    .source = "METHODS 3.2, 8.5; LinkTest, mpiGraph; J. W. Tukey, EDA, 1977 (polish)",
    ST_TABLES(params, metrics),
    ST_SIZES(struct lm_params, struct lm_state),
    .min_ranks = 2,
    .needs = ST_NEEDS_TWO_NODES,
    .own_start = true,
    ST_STAGES(link_map),
};
