/*
 * bisection: what crosses the machine when every node of one half talks to one node of the other
 * half, both directions at once (METHODS 3.3). Cuts: first against second half in the order of
 * the nodes, even against odd nodes, and random halves. The mean over random halves is the
 * effective bisection bandwidth (Hoefler, Schneider, Lumsdaine, Cluster 2008); the smallest cut
 * seen is an upper bound of the true bisection.
 *
 * One rank per node. All pairs of a cut start at a barrier; the cut's time is the longest of the
 * ranks' own times, so that one slow pair counts as it would for an application. With an odd
 * number of nodes one of them has no partner in each cut.
 */
#include "kernels/splitmix.h"
#include "mpi/circle.h"
#include "mpi/pingpong.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_link_check.h"
#include "src/measure/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    M_CUT,
    M_HALVES,
    M_EVEN_ODD,
    M_EFFECTIVE,
    M_SMALLEST,
    M_PER_NODE
};

enum {
    BI_HALVES,   /* number of the cut */
    BI_EVEN_ODD, /* likewise; random cuts follow */
    BI_FIXED_CUTS
};

/* Seed of the random halves: the same at every start. */
static const uint64_t bi_seed = 0xb15ec7;

struct bi_params {
    uint64_t message, window, random_cuts;
};

struct bi_state {
    size_t n_nodes, n_cuts;
    size_t *leader;  /* [n_nodes] group rank */
    size_t *partner; /* [n_cuts] node; SIZE_MAX: idle in this cut */
    bool *is_first;  /* [n_cuts] */
    struct stm_circle circle;
    bool is_leader;
    char *send, *recv;
    MPI_Request *requests;
    double *seconds, *longest; /* [n_cuts] this rank's, all ranks' (rank 0) */
    bool spoiled;
};

static const struct st_param params[] = {
    ST_PARAM_BYTES(bi_params, message, "1MiB", 8, 0x1p30, "bytes of a message"),
    ST_PARAM_COUNT(bi_params, window, "64", 1, 1024, "messages in flight of each node"),
    ST_PARAM_COUNT(bi_params, random_cuts, "10", 1, 1000,
                   "random halves, beside first/second half and even/odd"),
};

static const struct st_metric metrics[] = {
    [M_CUT] = {"cut_bandwidth", "byte s-1", ST_HIGHER, ST_POINT, ST_GIVEN, 0,
               "one direction of each cut (0 halves, 1 even/odd, then random)"},
    [M_HALVES] = {"halves", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                  "one direction, first against second half of the nodes"},
    [M_EVEN_ODD] = {"even_odd", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                    "one direction, even against odd nodes"},
    [M_EFFECTIVE] = {"effective", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                     "effective bisection bandwidth: mean over random halves"},
    [M_SMALLEST] = {"smallest", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                    "smallest of all cuts: the true bisection is no larger"},
    [M_PER_NODE] = {"per_node", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                    "effective bisection bandwidth of one node"},
};

static enum st_status bisection_plan(const void *parameters, const struct st_shape *shape,
                                     struct st_need *need, struct st_error *err)
{
    const struct bi_params *p = parameters;
    const uint64_t n_cuts = p->random_cuts + BI_FIXED_CUTS;

    if (shape->n_nodes < 2) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "bisection needs two nodes, this step has one");
    }
    need->bytes_per_rank = 2 * p->message + 2 * p->window * sizeof(MPI_Request) +
                           n_cuts * 64 + shape->n_nodes * 2 * sizeof(size_t);
    need->seconds_per_repetition =
        (double)n_cuts * 2.0 * (double)p->window * (double)p->message / 1e9;
    if (shape->n_ranks > shape->n_nodes || shape->n_nodes % 2 != 0) {
        (void)snprintf(
            need->notes, sizeof need->notes, "one rank on each node communicates%s",
            shape->n_nodes % 2 != 0 ? "; an odd node is idle in each cut" : "");
    }
    return ST_OK;
}

/* The nodes in the order in which a cut sees them; its halves are the first and second half. */
static void bi_order(size_t n, size_t cut, size_t *order)
{
    stk_random_order(bi_seed + cut, n, cut >= BI_FIXED_CUTS ? n : 0, order);
    for (size_t i = 0; cut == BI_EVEN_ODD && i < n; i++) {
        order[i] = i < (n + 1) / 2 ? 2 * i : 2 * (i - (n + 1) / 2) + 1;
    }
}

/* Node i of one half with node i of the other; an odd node in the middle is left over. */
static void bi_pair_up(struct bi_state *s, size_t self, size_t *order)
{
    const size_t n = s->n_nodes;
    const size_t half = n / 2;

    for (size_t cut = 0; cut < s->n_cuts; cut++) {
        bi_order(n, cut, order);
        s->partner[cut] = SIZE_MAX;
        for (size_t i = 0; i < half; i++) {
            const size_t a = order[i];
            const size_t b = order[n - half + i];
            if (a == self || b == self) {
                s->partner[cut] = a == self ? b : a;
                s->is_first[cut] = a == self;
            }
        }
    }
}

static enum st_status bi_prepare_cuts(struct st_run *run, struct bi_state *s)
{
    const struct bi_params *p = run->params;
    struct st_error *err = &run->err;

    s->n_nodes = run->place->n_nodes;
    s->n_cuts = (size_t)p->random_cuts + BI_FIXED_CUTS;
    s->leader = st_calloc(err, s->n_nodes, sizeof *s->leader);
    s->partner = st_calloc(err, s->n_cuts, sizeof *s->partner);
    s->is_first = st_calloc(err, s->n_cuts, sizeof *s->is_first);
    s->seconds = st_calloc(err, s->n_cuts, sizeof *s->seconds);
    s->longest = st_calloc(err, s->n_cuts, sizeof *s->longest);
    size_t *order = st_calloc(err, s->n_nodes, sizeof *order);
    struct st_place *places = st_calloc(err, s->n_cuts, sizeof *places);
    enum st_status rc = ST_ERR_MEMORY;
    if (s->leader != NULL && s->partner != NULL && s->is_first != NULL &&
        s->seconds != NULL && s->longest != NULL && order != NULL && places != NULL) {
        for (size_t r = (size_t)run->comm.n_ranks; r-- > 0;) {
            s->leader[run->place->node_of[r]] = r; /* the lowest rank comes last */
        }
        bi_pair_up(s, run->place->node, order);
        for (size_t cut = 0; cut < s->n_cuts; cut++) {
            places[cut] = (struct st_place){.owner = 0, .value = (double)cut};
        }
        rc = st_set_places(run, ST_POINT, s->n_cuts, places);
    }
    st_free(order);
    st_free(places);
    return rc;
}

static enum st_status bisection_prepare(struct st_run *run, void *state)
{
    const struct bi_params *p = run->params;
    struct bi_state *s = state;
    const enum st_status rc = bi_prepare_cuts(run, s);

    if (rc != ST_OK) {
        return rc;
    }
    s->is_leader = s->leader[run->place->node] == (size_t)run->comm.rank;
    s->circle = (struct stm_circle){.comm = run->comm.handle,
                                    .n = s->n_nodes,
                                    .rank = s->leader,
                                    .self = run->place->node,
                                    .quiet = run->place->oversubscribed};
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
    return ST_OK;
}

static struct stm_link bi_link(const struct st_run *run, const struct bi_state *s,
                               size_t cut)
{
    const struct bi_params *p = run->params;

    return (struct stm_link){.comm = run->comm.handle,
                             .peer = (int)s->leader[s->partner[cut]],
                             .is_first = s->is_first[cut],
                             .message_bytes = (int)p->message,
                             .window = (int)p->window,
                             .send = s->send,
                             .recv = s->recv,
                             .requests = s->requests};
}

/* Group rank 0: the cuts' rates, one direction. */
static void bi_record(struct st_run *run, const struct bi_state *s)
{
    const struct bi_params *p = run->params;
    const double bytes = (double)(s->n_nodes / 2) * (double)run->n_inner *
                         (double)p->window * (double)p->message;
    double smallest = HUGE_VAL;
    double sum = 0.0;

    for (size_t cut = 0; cut < s->n_cuts; cut++) {
        const double rate = bytes / s->longest[cut];
        st_record(run->rec, M_CUT, cut, rate);
        smallest = fmin(smallest, rate);
        sum += cut >= BI_FIXED_CUTS ? rate : 0.0;
    }
    const double effective = sum / (double)(s->n_cuts - BI_FIXED_CUTS);
    st_record(run->rec, M_HALVES, 0, bytes / s->longest[BI_HALVES]);
    st_record(run->rec, M_EVEN_ODD, 0, bytes / s->longest[BI_EVEN_ODD]);
    st_record(run->rec, M_EFFECTIVE, 0, effective);
    st_record(run->rec, M_SMALLEST, 0, smallest);
    st_record(run->rec, M_PER_NODE, 0, effective / (double)(s->n_nodes / 2));
}

static enum st_status bi_cut(struct st_run *run, struct bi_state *s, size_t cut)
{
    enum st_status rc = stm_circle_barrier(&s->circle, &run->err);

    s->seconds[cut] = 0.0;
    if (rc == ST_OK && s->partner[cut] != SIZE_MAX) {
        const struct stm_link link = bi_link(run, s, cut);
        const double start = st_now();
        rc = stm_windows_both(&link, run->n_inner, &run->err);
        s->seconds[cut] = st_now() - start;
    }
    return rc;
}

static enum st_status bisection_run(struct st_run *run, void *state)
{
    struct bi_state *s = state;

    for (size_t cut = 0; s->is_leader && cut < s->n_cuts; cut++) {
        const enum st_status rc = bi_cut(run, s, cut);
        if (rc != ST_OK) {
            return rc;
        }
    }
    STM_TRY(&run->err, MPI_Reduce(s->seconds, s->longest, (int)s->n_cuts, MPI_DOUBLE,
                                  MPI_MAX, 0, run->comm.handle));
    if (run->comm.rank == 0) {
        bi_record(run, s);
    }
    return ST_OK;
}

/* Every pair of every cut once more with data that are checked. */
static enum st_status bisection_verify(struct st_run *run, void *state,
                                       struct st_check *check)
{
    struct bi_state *s = state;

    for (size_t cut = 0; s->is_leader && cut < s->n_cuts; cut++) {
        if (s->partner[cut] == SIZE_MAX) {
            continue;
        }
        struct stm_link link = bi_link(run, s, cut);
        link.window = 1;
        const enum st_status rc = st_link_check(&link, s->circle.self, s->partner[cut],
                                                s->spoiled, check, &run->err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    for (size_t cut = 0; run->comm.rank == 0 && cut < s->n_cuts; cut++) {
        st_check_true(check, isfinite(s->longest[cut]) && s->longest[cut] > 0.0,
                      "the time of a cut is positive");
    }
    return ST_OK;
}

static void bisection_release(void *state)
{
    struct bi_state *s = state;

    st_free(s->leader);
    st_free(s->partner);
    st_free(s->is_first);
    st_free(s->seconds);
    st_free(s->longest);
    st_free(s->send);
    st_free(s->recv);
    st_free(s->requests);
}

static void bisection_spoil(void *state)
{
    ((struct bi_state *)state)->spoiled = true;
}

const struct st_bench st_bench_bisection = {
    .name = "bisection",
    .summary =
        "Bandwidth across cuts of the machine: halves, even and odd, random halves.",
    .source = "METHODS 3.3; T. Hoefler, T. Schneider, A. Lumsdaine, Cluster 2008",
    ST_TABLES(params, metrics),
    .point_name = "cut",
    .point_unit = "1",
    ST_SIZES(struct bi_params, struct bi_state),
    .min_ranks = 2,
    .needs = ST_NEEDS_TWO_NODES,
    .own_start = true,
    ST_STAGES(bisection),
};
