/*
 * congestion: what other traffic does to a job (METHODS 3.7; S. Chunduri et al., GPCNeT, SC'19).
 * Some nodes are victims and measure random-ring latency, random-ring bandwidth and a small
 * allreduce, first on the quiet machine, then with the same rings while all other nodes load the
 * network. The impact factor is loaded over quiet for times and quiet over loaded for bandwidth,
 * of the mean and of the slow tail; 1 is no impact.
 *
 * Victims and congestors share no node. Congestors sleep through the quiet part, have all
 * started before the loaded part begins, and run on until the victims' first rank tells them to
 * stop. One repetition is both parts, so the harness's intervals are those of the factors.
 *
 * Communicators and windows are made after an agreement, so all ranks have them or none has.
 */
#include "kernels/splitmix.h"
#include "mpi/agree.h"
#include "mpi/congestors.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    T_LATENCY,
    T_BANDWIDTH,
    T_ALLREDUCE,
    N_TESTS
};

/* Figures of a test, in the order of its metrics. */
enum {
    F_QUIET,
    F_LOADED,
    F_TAIL_QUIET,
    F_TAIL_LOADED,
    F_IMPACT,
    F_TAIL_IMPACT,
    N_FIGURES
};

enum {
    CG_OUTSTANDING = 8, /* METHODS 3.7 */
    CG_WARM_STEPS = 20,
    CG_SMALL_BYTES = 8,
    CG_LEAST_NODES = 3
};

/* Seeds of the choice of victims and of the rings: the same at every start. */
static const uint64_t cg_node_seed = 0xc0a6e5;
static const uint64_t cg_ring_seed = 0x1296;

struct cg_params {
    double victims;
    uint64_t message, ring_message, rings, steps;
    uint32_t patterns;
};

struct cg_state {
    bool is_victim;
    bool is_split;   /* the ranks have their communicators */
    size_t n_groups; /* of congestors */
    int boss;        /* group rank of the victims' first rank */
    struct stm_comm victims;
    struct stm_congestors group;
    char *send, *recv;
    size_t buffer_bytes;
    MPI_Request *requests;
    size_t *ring,
        *place;       /* [n victims] rank at each place of the ring, place of each rank */
    size_t n_samples; /* of one test and phase, this rank's */
    double *samples, *all;
    int *roots; /* [n_groups] boss: who started */
    double figures[N_TESTS * N_FIGURES];
    bool spoiled;
};

static const char *const pattern_words[] = {"alltoall", "incast", "put_incast",
                                            "get_broadcast", NULL};

static const struct st_param params[] = {
    ST_PARAM_REAL(cg_params, victims, "1", "20%", 0.0, 1.0,
                  "share of the nodes that measure, at least 2 nodes"),
    ST_PARAM_SET(cg_params, patterns, pattern_words, "all",
                 "what the other nodes do, dealt among them"),
    ST_PARAM_BYTES(cg_params, message, "4KiB", 1, 1 << 24,
                   "bytes of the load's messages"),
    ST_PARAM_BYTES(cg_params, ring_message, "128KiB", 1, 1 << 24,
                   "bytes of the bandwidth ring's messages"),
    ST_PARAM_COUNT(cg_params, rings, "30", 1, 1000, "random rings"),
    ST_PARAM_COUNT(cg_params, steps, "20", 1, 10000, "timed steps on each ring"),
};

#define TIME_ROWS(name, what)                                                            \
    {name "_quiet", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0, "mean " what ", quiet machine"}, \
        {name "_loaded", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0, "mean " what ", loaded"},   \
        {name "_p99_quiet",                                                              \
         "s",                                                                            \
         ST_LOWER,                                                                       \
         ST_JOB,                                                                         \
         ST_GIVEN,                                                                       \
         0,                                                                              \
         "99th percentile of " what ", quiet machine"},                                  \
        {name "_p99_loaded",                                                             \
         "s",                                                                            \
         ST_LOWER,                                                                       \
         ST_JOB,                                                                         \
         ST_GIVEN,                                                                       \
         0,                                                                              \
         "99th percentile of " what ", loaded"},                                         \
        {name "_impact", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0, "loaded over quiet, mean"}, \
    {                                                                                    \
        name "_p99_impact", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,                          \
            "loaded over quiet, 99th percentile"                                         \
    }

/* Test after test, each with its N_FIGURES rows. */
static const struct st_metric metrics[] = {
    TIME_ROWS("latency", "latency on random rings, 8 bytes both ways"),
    {"bandwidth_quiet", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
     "mean bandwidth of a rank on random rings, quiet machine"},
    {"bandwidth_loaded", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
     "mean bandwidth of a rank on random rings, loaded"},
    {"bandwidth_p1_quiet", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
     "slowest hundredth of the bandwidths, quiet machine"},
    {"bandwidth_p1_loaded", "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
     "slowest hundredth of the bandwidths, loaded"},
    {"bandwidth_impact", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0, "quiet over loaded, mean"},
    {"bandwidth_p1_impact", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
     "quiet over loaded, slowest hundredth"},
    TIME_ROWS("allreduce", "allreduce of 8 bytes"),
};

static size_t cg_victim_nodes(const struct cg_params *p, size_t n_nodes)
{
    const double wanted = floor(p->victims * (double)n_nodes + 0.5);
    const size_t most = n_nodes - 1;
    const size_t n = wanted > 2.0 ? (size_t)wanted : 2;

    return n < most ? n : most;
}

static size_t cg_patterns(uint32_t set)
{
    size_t n = 0;

    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

static enum st_status congestion_plan(const void *parameters,
                                      const struct st_shape *shape, struct st_need *need,
                                      struct st_error *err)
{
    const struct cg_params *p = parameters;
    const size_t n = shape->n_nodes;

    if (n < CG_LEAST_NODES) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "congestion needs three nodes (two victims, one to load the "
                       "network), this step has %zu",
                       n);
    }
    const size_t n_victims = cg_victim_nodes(p, n);
    const uint64_t n_ranks = shape->n_ranks;
    const uint64_t load = n_ranks * p->message;
    const uint64_t ring = (uint64_t)CG_OUTSTANDING * p->ring_message;
    need->bytes_per_rank =
        2 * (load > ring ? load : ring) +
        n_ranks * (2 * sizeof(size_t) + sizeof(int) + sizeof(MPI_Request)) +
        (n_ranks + 1) * p->rings * p->steps * sizeof(double);
    need->seconds_per_repetition =
        2.0 * (double)(p->rings * p->steps) * (1e-4 + (double)ring / 1e9);
    (void)snprintf(need->notes, sizeof need->notes, "%zu of %zu nodes are victims%s",
                   n_victims, n,
                   n - n_victims < 2 ? "; one node alone hardly loads the network: use "
                                       "four or more"
                                     : "");
    return ST_OK;
}

/* The nodes in a random order that is the same everywhere: victims first. */
static enum st_status cg_roles(struct st_run *run, struct cg_state *s, size_t *position)
{
    const size_t n = run->place->n_nodes;
    size_t *order = st_calloc(&run->err, n, sizeof *order);
    size_t *role = st_calloc(&run->err, n, sizeof *role);

    if (order == NULL || role == NULL) {
        st_free(order);
        st_free(role);
        return ST_ERR_MEMORY;
    }
    stk_random_order(cg_node_seed, n, n, order);
    for (size_t i = 0; i < n; i++) {
        role[order[i]] = i;
    }
    *position = role[run->place->node];
    const size_t n_victims = cg_victim_nodes(run->params, n);
    s->is_victim = *position < n_victims;
    for (int r = run->comm.n_ranks - 1; r >= 0; r--) { /* the lowest rank comes last */
        s->boss = role[run->place->node_of[r]] < n_victims ? r : s->boss;
    }
    st_free(order);
    st_free(role);
    return ST_OK;
}

static enum st_status cg_allocate(struct st_run *run, struct cg_state *s)
{
    const struct cg_params *p = run->params;
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    const size_t load = n_ranks * (size_t)p->message;
    const size_t ring = (size_t)CG_OUTSTANDING * (size_t)p->ring_message;
    struct st_error *err = &run->err;

    s->buffer_bytes = s->is_victim ? ring : load;
    s->n_samples = (size_t)(p->rings * p->steps);
    s->send = st_calloc(err, s->buffer_bytes, 1);
    s->recv = st_calloc(err, s->buffer_bytes, 1);
    s->requests =
        st_calloc(err, n_ranks + (size_t)2 * CG_OUTSTANDING, sizeof *s->requests);
    s->ring = st_calloc(err, n_ranks, sizeof *s->ring);
    s->place = st_calloc(err, n_ranks, sizeof *s->place);
    s->roots = st_calloc(err, n_ranks, sizeof *s->roots);
    s->samples = st_calloc(err, s->n_samples, sizeof *s->samples);
    s->all = st_calloc(err, run->comm.rank == s->boss ? s->n_samples * n_ranks : 0,
                       sizeof *s->all);
    if (s->send == NULL || s->recv == NULL || s->requests == NULL || s->ring == NULL ||
        s->place == NULL || s->roots == NULL || s->samples == NULL || s->all == NULL) {
        return ST_ERR_MEMORY;
    }
    (void)memset(s->send, 0x5A, s->buffer_bytes); /* touched by who uses them */
    (void)memset(s->recv, 0x5A, s->buffer_bytes);
    return ST_OK;
}

/* Pattern number k of those chosen. */
static enum stm_pattern cg_pattern(uint32_t set, size_t k)
{
    size_t seen = 0;

    for (size_t bit = 0; bit < STM_N_PATTERNS; bit++) {
        if ((set >> bit & 1U) != 0 && seen++ == k) {
            return (enum stm_pattern)bit;
        }
    }
    return STM_ALLTOALL;
}

/* Congestor nodes in as many groups of two nodes or more as there are patterns. */
static enum st_status cg_split(struct st_run *run, struct cg_state *s, size_t position)
{
    const struct cg_params *p = run->params;
    const size_t n_victims = cg_victim_nodes(p, run->place->n_nodes);
    const size_t n_others = run->place->n_nodes - n_victims;
    const size_t n_patterns = cg_patterns(p->patterns);
    struct stm_comm mine;

    s->n_groups = n_others / 2 > 1 ? n_others / 2 : 1;
    s->n_groups = s->n_groups < n_patterns ? s->n_groups : n_patterns;
    const size_t group =
        s->is_victim ? 0 : (position - n_victims) * s->n_groups / n_others;
    const int color = s->is_victim ? 0 : 1 + (int)group;
    enum st_status rc =
        stm_comm_split(&run->comm, color, run->comm.rank, &mine, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    s->group.window = MPI_WIN_NULL;
    if (s->is_victim) {
        s->victims = mine;
        return ST_OK;
    }
    s->group = (struct stm_congestors){.comm = mine,
                                       .pattern = cg_pattern(p->patterns, group),
                                       .message_bytes = (size_t)p->message,
                                       .send = s->send,
                                       .recv = s->recv,
                                       .requests = s->requests,
                                       .window = MPI_WIN_NULL};
    return stm_congestors_open(&s->group, s->recv, &run->err);
}

static enum st_status congestion_prepare(struct st_run *run, void *state)
{
    struct cg_state *s = state;
    size_t position = 0;

    s->victims.handle = MPI_COMM_NULL;
    s->group.comm.handle = MPI_COMM_NULL;
    s->group.window = MPI_WIN_NULL;
    s->boss = -1;
    enum st_status rc = cg_roles(run, s, &position);
    if (rc == ST_OK) {
        rc = cg_allocate(run, s);
    }
    rc = stm_agree(&run->comm, rc, &run->err); /* communicators are made together */
    s->is_split = rc == ST_OK;
    return rc == ST_OK ? cg_split(run, s, position) : rc;
}

/* ---- victims ---- */

static void cg_make_ring(struct cg_state *s, size_t number)
{
    const size_t n = (size_t)s->victims.n_ranks;

    stk_random_order(cg_ring_seed + number, n, n, s->ring);
    for (size_t i = 0; i < n; i++) {
        s->place[s->ring[i]] = i;
    }
}

static void cg_neighbours(const struct cg_state *s, int *left, int *right)
{
    const size_t n = (size_t)s->victims.n_ranks;
    const size_t at = s->place[s->victims.rank];

    *left = (int)s->ring[(at + n - 1) % n];
    *right = (int)s->ring[(at + 1) % n];
}

/* Four small messages: both ways with both neighbours. */
static enum st_status cg_latency_step(struct st_run *run, struct cg_state *s, int left,
                                      int right)
{
    MPI_Comm comm = s->victims.handle;
    MPI_Request *q = s->requests;
    struct st_error *err = &run->err;
    const int n = CG_SMALL_BYTES;

    STM_TRY(err, MPI_Irecv(s->recv, n, MPI_CHAR, left, STM_TAG_PING, comm, &q[0]));
    STM_TRY(err, MPI_Irecv(s->recv + n, n, MPI_CHAR, right, STM_TAG_REPLY, comm, &q[1]));
    STM_TRY(err, MPI_Isend(s->send, n, MPI_CHAR, right, STM_TAG_PING, comm, &q[2]));
    STM_TRY(err, MPI_Isend(s->send, n, MPI_CHAR, left, STM_TAG_REPLY, comm, &q[3]));
    STM_TRY(err, MPI_Waitall(4, q, MPI_STATUSES_IGNORE));
    return ST_OK;
}

static enum st_status cg_bandwidth_step(struct st_run *run, struct cg_state *s, int left,
                                        int right)
{
    const struct cg_params *p = run->params;
    const int n = (int)p->ring_message;
    struct st_error *err = &run->err;

    for (int k = 0; k < CG_OUTSTANDING; k++) {
        STM_TRY(err, MPI_Irecv(s->recv + (size_t)k * (size_t)n, n, MPI_CHAR, left,
                               STM_TAG_WINDOW, s->victims.handle, &s->requests[2 * k]));
        STM_TRY(err,
                MPI_Isend(s->send + (size_t)k * (size_t)n, n, MPI_CHAR, right,
                          STM_TAG_WINDOW, s->victims.handle, &s->requests[2 * k + 1]));
    }
    STM_TRY(err, MPI_Waitall(2 * CG_OUTSTANDING, s->requests, MPI_STATUSES_IGNORE));
    return ST_OK;
}

static enum st_status cg_step(struct st_run *run, struct cg_state *s, int test, int left,
                              int right)
{
    double value = 1.0;
    double sum = 0.0;

    switch (test) {
    case T_LATENCY:
        return cg_latency_step(run, s, left, right);
    case T_BANDWIDTH:
        return cg_bandwidth_step(run, s, left, right);
    default:
        STM_TRY(&run->err,
                MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, s->victims.handle));
        return ST_OK;
    }
}

/* One sample a step: a time, or a bandwidth. */
static enum st_status cg_test(struct st_run *run, struct cg_state *s, int test)
{
    const struct cg_params *p = run->params;
    const double bytes = (double)CG_OUTSTANDING * (double)p->ring_message;
    size_t k = 0;

    for (size_t ring = 0; ring < p->rings; ring++) {
        int left = 0;
        int right = 0;
        cg_make_ring(s, ring);
        cg_neighbours(s, &left, &right);
        STM_TRY(&run->err, MPI_Barrier(s->victims.handle));
        const size_t n_warm = ring == 0 ? CG_WARM_STEPS : 1;
        for (size_t i = 0; i < n_warm + p->steps; i++) {
            const double start = st_now();
            const enum st_status rc = cg_step(run, s, test, left, right);
            const double seconds = st_now() - start;
            if (rc != ST_OK) {
                return rc;
            }
            if (i >= n_warm) {
                s->samples[k++] = test == T_BANDWIDTH ? bytes / seconds
                                  : test == T_LATENCY ? seconds / 2.0
                                                      : seconds;
            }
        }
    }
    return ST_OK;
}

/* The victims' first rank: mean and slow tail over all samples of all victims. */
static void cg_reduce(struct cg_state *s, int test, bool loaded)
{
    const size_t n = s->n_samples * (size_t)s->victims.n_ranks;
    double *f = s->figures + (size_t)test * N_FIGURES;
    double sum = 0.0;

    st_sort(n, s->all);
    for (size_t i = 0; i < n; i++) {
        sum += s->all[i];
    }
    f[loaded ? F_LOADED : F_QUIET] = sum / (double)n;
    f[loaded ? F_TAIL_LOADED : F_TAIL_QUIET] =
        st_quantile(n, s->all, test == T_BANDWIDTH ? 0.01 : 0.99);
}

static enum st_status cg_tests(struct st_run *run, struct cg_state *s, bool loaded)
{
    int count = 0;
    enum st_status rc = stm_count(s->n_samples, &count, &run->err);

    for (int test = 0; test < N_TESTS && rc == ST_OK; test++) {
        rc = cg_test(run, s, test);
        if (rc == ST_OK) {
            STM_TRY(&run->err, MPI_Gather(s->samples, count, MPI_DOUBLE, s->all, count,
                                          MPI_DOUBLE, 0, s->victims.handle));
            if (s->victims.rank == 0) {
                cg_reduce(s, test, loaded);
            }
        }
    }
    return rc;
}

/* All groups of congestors have begun; or are told to end. */
static enum st_status cg_command(struct st_run *run, struct cg_state *s, bool stop)
{
    for (size_t k = 0; s->victims.rank == 0 && k < s->n_groups; k++) {
        MPI_Status status;
        if (stop) {
            STM_TRY(&run->err, MPI_Send(NULL, 0, MPI_CHAR, s->roots[k], STM_TAG_STOP,
                                        run->comm.handle));
        } else {
            STM_TRY(&run->err, MPI_Recv(NULL, 0, MPI_CHAR, MPI_ANY_SOURCE,
                                        STM_TAG_STARTED, run->comm.handle, &status));
            s->roots[k] = status.MPI_SOURCE;
        }
    }
    STM_TRY(&run->err, MPI_Barrier(s->victims.handle));
    return ST_OK;
}

/* All ranks; those who wait use no CPU, and the congestors sleep here through the quiet part. */
static enum st_status cg_meet(struct st_run *run)
{
    MPI_Request request = MPI_REQUEST_NULL;

    STM_TRY(&run->err, MPI_Ibarrier(run->comm.handle, &request));
    return stm_wait_quiet(&request, &run->err);
}

static enum st_status cg_victim(struct st_run *run, struct cg_state *s)
{
    enum st_status rc = cg_tests(run, s, false);

    if (rc == ST_OK) {
        rc = cg_meet(run);
    }
    if (rc == ST_OK) {
        rc = cg_command(run, s, false);
    }
    if (rc == ST_OK) {
        rc = cg_tests(run, s, true);
    }
    return rc == ST_OK ? cg_command(run, s, true) : rc;
}

static enum st_status cg_congestor(struct st_run *run, struct cg_state *s)
{
    const enum st_status rc = cg_meet(run);

    return rc == ST_OK
               ? stm_congestors_run(&s->group, run->comm.handle, s->boss, &run->err)
               : rc;
}

static void cg_record(struct st_run *run, struct cg_state *s)
{
    for (int test = 0; test < N_TESTS; test++) {
        double *f = s->figures + (size_t)test * N_FIGURES;
        const bool rate = test == T_BANDWIDTH;
        f[F_IMPACT] = rate ? f[F_QUIET] / f[F_LOADED] : f[F_LOADED] / f[F_QUIET];
        f[F_TAIL_IMPACT] = rate ? f[F_TAIL_QUIET] / f[F_TAIL_LOADED]
                                : f[F_TAIL_LOADED] / f[F_TAIL_QUIET];
        for (int k = 0; k < N_FIGURES; k++) {
            st_record(run->rec, (size_t)test * N_FIGURES + (size_t)k, 0, f[k]);
        }
    }
}

static enum st_status congestion_run(struct st_run *run, void *state)
{
    struct cg_state *s = state;
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < run->n_inner && rc == ST_OK; i++) {
        rc = s->is_victim ? cg_victim(run, s) : cg_congestor(run, s);
    }
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(&run->err, MPI_Bcast(s->figures, N_TESTS * N_FIGURES, MPI_DOUBLE, s->boss,
                                 run->comm.handle));
    if (run->comm.rank == 0) {
        cg_record(run, s);
    }
    return ST_OK;
}

/* One ring with numbers that both ends know. */
static enum st_status cg_check_ring(struct st_run *run, struct cg_state *s,
                                    struct st_check *check)
{
    const int n = s->victims.n_ranks;
    double got = 0.0;
    double mine = 1.0 + (double)s->victims.rank;
    double sum = 0.0;
    int left = 0;
    int right = 0;

    cg_make_ring(s, 0);
    cg_neighbours(s, &left, &right);
    STM_TRY(&run->err,
            MPI_Sendrecv(&mine, 1, MPI_DOUBLE, right, STM_TAG_PING, &got, 1, MPI_DOUBLE,
                         left, STM_TAG_PING, s->victims.handle, MPI_STATUS_IGNORE));
    STM_TRY(&run->err,
            MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, s->victims.handle));
    st_check_near(check, got + (s->spoiled ? 1.0 : 0.0), 1.0 + (double)left,
                  "number from the left neighbour of a ring");
    st_check_near(check, sum, (double)n * ((double)n + 1.0) / 2.0, "sum of an allreduce");
    return ST_OK;
}

/* The load's data: what rank r sends is r. */
static enum st_status cg_check_load(struct st_run *run, struct cg_state *s,
                                    struct st_check *check)
{
    const struct stm_congestors *g = &s->group;
    const bool arrives_at_0 = g->pattern == STM_INCAST || g->pattern == STM_PUT_INCAST;
    const size_t n = g->message_bytes;

    (void)memset(s->send, g->comm.rank + 1, s->buffer_bytes);
    (void)memset(s->recv, g->pattern == STM_GET_BROADCAST ? g->comm.rank + 1 : 0,
                 s->buffer_bytes);
    STM_TRY(&run->err, MPI_Barrier(g->comm.handle));
    const enum st_status rc = stm_congestors_once(g, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(&run->err, MPI_Barrier(g->comm.handle));
    for (int r = 1; r < g->comm.n_ranks; r++) {
        char want = (char)(r + 1);
        size_t at = (size_t)r * n;
        if (g->pattern == STM_INCAST) {
            at = (size_t)(r - 1) * n;
        } else if (g->pattern == STM_GET_BROADCAST) {
            want = 1;
            at = 0;
        }
        if (arrives_at_0 ? g->comm.rank == 0
                         : g->pattern == STM_ALLTOALL || r == g->comm.rank) {
            st_check_true(check, s->recv[at] == want && s->recv[at + n - 1] == want,
                          "data of the load arrive");
        }
    }
    return ST_OK;
}

static enum st_status congestion_verify(struct st_run *run, void *state,
                                        struct st_check *check)
{
    struct cg_state *s = state;
    const enum st_status rc =
        s->is_victim ? cg_check_ring(run, s, check) : cg_check_load(run, s, check);

    for (int k = 0; run->comm.rank == 0 && k < N_TESTS * N_FIGURES; k++) {
        st_check_true(check, isfinite(s->figures[k]) && s->figures[k] > 0.0,
                      "every figure is positive");
    }
    return rc;
}

static void congestion_release(void *state)
{
    struct cg_state *s = state;

    if (s->is_split) {
        stm_congestors_close(&s->group);
        stm_comm_free(&s->group.comm);
        stm_comm_free(&s->victims);
    }
    st_free(s->send);
    st_free(s->recv);
    st_free(s->requests);
    st_free(s->ring);
    st_free(s->place);
    st_free(s->roots);
    st_free(s->samples);
    st_free(s->all);
}

static void congestion_spoil(void *state)
{
    ((struct cg_state *)state)->spoiled = true;
}

const struct st_bench st_bench_congestion = {
    .name = "congestion",
    .summary = "What traffic of other nodes does to latency, bandwidth and allreduce.",
    .source = "METHODS 3.7; S. Chunduri et al., GPCNeT, SC'19",
    ST_TABLES(params, metrics),
    ST_SIZES(struct cg_params, struct cg_state),
    .min_ranks = 3,
    .needs = ST_NEEDS_TWO_NODES,
    .own_start = true,
    ST_STAGES(congestion),
};
