/*
 * collectives: barrier, bcast, reduce, allreduce, allgather, alltoall, reduce_scatter (METHODS
 * 3.4). The harness starts the ranks together in global time, so `…_time` is max(end) -
 * min(start) over all ranks; `…_local` is each rank's own duration, whose maximum over the ranks
 * is what OSU-like tools print.
 *
 * Inner repetitions follow one another without a barrier. The root of bcast and reduce moves on
 * by one rank each time, so that one root's calls cannot pile up in a pipeline that never waits
 * for the slowest rank (as in IMB). Algorithms are the library's choice.
 *
 * `size` is what a rank gives to each receiver: the vector of bcast, reduce and allreduce, one
 * rank's part in allgather and alltoall, one rank's result in reduce_scatter. Bus bandwidth is by
 * the convention of nccl-tests.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/measure/run.h"

#include <stdio.h>
#include <time.h>

/* The operations; also their sections, and bits of the parameter. */
enum {
    OP_BARRIER,
    OP_BCAST,
    OP_REDUCE,
    OP_ALLREDUCE,
    OP_ALLGATHER,
    OP_ALLTOALL,
    OP_REDUCE_SCATTER,
    N_OPS
};

/* Three rows per operation: time, local duration, bus bandwidth. */
enum {
    ROW_TIME,
    ROW_LOCAL,
    ROW_BUS,
    N_ROWS
};

struct coll_params {
    uint64_t size;
    uint32_t operations;
};

struct coll_state {
    size_t n; /* doubles of one part */
    double *send, *recv;
    double *seen; /* [n_ranks] of the barrier's check */
    bool spoiled;
};

static const char *const op_names[] = {"barrier",        "bcast",     "reduce",
                                       "allreduce",      "allgather", "alltoall",
                                       "reduce_scatter", NULL};

static const struct st_param params[] = {
    ST_PARAM_BYTES(coll_params, size, "8B", 8, 0x1p30,
                   "bytes that a rank gives to each receiver, a multiple of 8"),
    ST_PARAM_SET(coll_params, operations, op_names, "all", "which operations"),
};

#define OP_ROWS(op, name)                                                                \
    [N_ROWS * (op) + ROW_TIME] = {name "_time",                                          \
                                  "s",                                                   \
                                  ST_LOWER,                                              \
                                  ST_JOB,                                                \
                                  ST_FROM_TIME,                                          \
                                  op,                                                    \
                                  "first start to last end over all ranks, one call"},   \
                     [N_ROWS * (op) + ROW_LOCAL] = {                                     \
                         name "_local",                                                  \
                         "s",                                                            \
                         ST_LOWER,                                                       \
                         ST_RANK,                                                        \
                         ST_FROM_TIME,                                                   \
                         op,                                                             \
                         "a rank's own time in one call (OSU: the maximum)"}
#define OP_BUS(op, name)                                                                 \
    [N_ROWS * (op) + ROW_BUS] = {name "_bus",                                            \
                                 "byte s-1",                                             \
                                 ST_HIGHER,                                              \
                                 ST_JOB,                                                 \
                                 ST_FROM_WORK,                                           \
                                 op,                                                     \
                                 "bus bandwidth as nccl-tests count it"}

/* clang-format off */
static const struct st_metric metrics[] = {
    OP_ROWS(OP_BARRIER, "barrier"),
    /* A barrier moves no data; its row counts calls, so that the table has no hole. */
    [N_ROWS * OP_BARRIER + ROW_BUS] = {"barrier_rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK,
                                       OP_BARRIER, "barriers per second"},
    OP_ROWS(OP_BCAST, "bcast"), OP_BUS(OP_BCAST, "bcast"),
    OP_ROWS(OP_REDUCE, "reduce"), OP_BUS(OP_REDUCE, "reduce"),
    OP_ROWS(OP_ALLREDUCE, "allreduce"), OP_BUS(OP_ALLREDUCE, "allreduce"),
    OP_ROWS(OP_ALLGATHER, "allgather"), OP_BUS(OP_ALLGATHER, "allgather"),
    OP_ROWS(OP_ALLTOALL, "alltoall"), OP_BUS(OP_ALLTOALL, "alltoall"),
    OP_ROWS(OP_REDUCE_SCATTER, "reduce_scatter"), OP_BUS(OP_REDUCE_SCATTER, "reduce_scatter"),
};
/* clang-format on */

static bool coll_has(const struct coll_params *p, uint32_t op)
{
    return (p->operations >> op & 1U) != 0;
}

static bool coll_applies(const void *parameters, size_t row)
{
    const struct coll_params *p = parameters;

    return coll_has(p, metrics[row].section);
}

/* Does an operation send, or receive, a part for every rank? */
static bool sends_all(uint32_t op)
{
    return op == OP_ALLTOALL || op == OP_REDUCE_SCATTER;
}

static bool receives_all(uint32_t op)
{
    return op == OP_ALLTOALL || op == OP_ALLGATHER;
}

/* Parts in the send (receive) buffer that the chosen operations need. */
static size_t coll_parts(const struct coll_params *p, size_t n_ranks,
                         bool (*all)(uint32_t op))
{
    for (uint32_t op = 0; op < N_OPS; op++) {
        if (coll_has(p, op) && all(op)) {
            return n_ranks;
        }
    }
    return 1;
}

static enum st_status collectives_plan(const void *parameters,
                                       const struct st_shape *shape, struct st_need *need,
                                       struct st_error *err)
{
    const struct coll_params *p = parameters;
    const size_t n = shape->n_ranks;

    if (p->size % sizeof(double) != 0) {
        return st_fail(err, ST_ERR_CONFIG,
                       "collectives: size %llu B is no multiple of 8; the nearest are "
                       "%llu B and %llu B",
                       (unsigned long long)p->size, (unsigned long long)p->size / 8 * 8,
                       (unsigned long long)p->size / 8 * 8 + 8);
    }
    /* At most 2^30 bytes and fewer ranks than 2^31: no product below overflows 64 bits. The
     * library's own buffers come on top (CASES 39): as much again for a reduction. */
    const uint64_t parts = coll_parts(p, n, sends_all) + coll_parts(p, n, receives_all) +
                           (coll_has(p, OP_REDUCE_SCATTER) ? n : 1);
    need->bytes_per_rank = p->size * parts + n * sizeof(double);
    const double bytes = (double)p->size * (double)n;
    need->seconds_per_repetition = (double)N_OPS * (1e-4 + 2.0 * bytes / 1e9);
    return ST_OK;
}

/* Bytes of bus traffic of one call (METHODS 3.4): S x factor. */
static double coll_bus_bytes(uint32_t op, double size, double n_ranks)
{
    switch (op) {
    case OP_ALLREDUCE:
        return size * 2.0 * (n_ranks - 1.0) / n_ranks;
    case OP_ALLGATHER:
    case OP_ALLTOALL:
    case OP_REDUCE_SCATTER:
        return size * n_ranks * (n_ranks - 1.0) / n_ranks;
    case OP_BARRIER:
        return 1.0; /* calls */
    default:
        return size;
    }
}

static enum st_status collectives_prepare(struct st_run *run, void *state)
{
    const struct coll_params *p = run->params;
    struct coll_state *s = state;
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    const size_t to = coll_parts(p, n_ranks, sends_all);
    const size_t from = coll_parts(p, n_ranks, receives_all);
    size_t n_send = 0;
    size_t n_recv = 0;

    s->n = (size_t)p->size / sizeof(double);
    if (!st_mul_size(s->n, to, &n_send) || !st_mul_size(s->n, from, &n_recv)) {
        return st_fail(&run->err, ST_ERR_MEMORY, "collectives: size x ranks overflows");
    }
    s->send = st_calloc(&run->err, n_send, sizeof *s->send);
    s->recv = st_calloc(&run->err, n_recv, sizeof *s->recv);
    s->seen = st_calloc(&run->err, n_ranks, sizeof *s->seen);
    if (s->send == NULL || s->recv == NULL || s->seen == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_send; i++) {
        s->send[i] = 1.0; /* touched by the rank that uses it */
    }
    for (size_t i = 0; i < n_recv; i++) {
        s->recv[i] = 1.0;
    }
    for (uint32_t op = 0; op < N_OPS; op++) {
        if (coll_has(p, op)) {
            const double bytes = coll_bus_bytes(op, (double)p->size, (double)n_ranks);
            st_set_work(run, N_ROWS * op + ROW_BUS, run->comm.rank == 0 ? bytes : 0.0);
        }
    }
    return ST_OK;
}

/* One call of an operation with this root. */
static int coll_call(const struct stm_comm *comm, const struct coll_state *s, uint32_t op,
                     int root)
{
    const int n = (int)s->n; /* the parameter ends at 2^30 bytes */
    MPI_Comm c = comm->handle;

    switch (op) {
    case OP_BCAST:
        return MPI_Bcast(s->recv, n, MPI_DOUBLE, root, c);
    case OP_REDUCE:
        return MPI_Reduce(s->send, s->recv, n, MPI_DOUBLE, MPI_SUM, root, c);
    case OP_ALLREDUCE:
        return MPI_Allreduce(s->send, s->recv, n, MPI_DOUBLE, MPI_SUM, c);
    case OP_ALLGATHER:
        return MPI_Allgather(s->send, n, MPI_DOUBLE, s->recv, n, MPI_DOUBLE, c);
    case OP_ALLTOALL:
        return MPI_Alltoall(s->send, n, MPI_DOUBLE, s->recv, n, MPI_DOUBLE, c);
    case OP_REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(s->send, s->recv, n, MPI_DOUBLE, MPI_SUM, c);
    default:
        return MPI_Barrier(c);
    }
}

static enum st_status collectives_run(struct st_run *run, void *state)
{
    const struct coll_state *s = state;
    int root = 0;

    for (size_t k = 0; k < run->n_inner; k++) {
        STM_TRY(&run->err, coll_call(&run->comm, s, run->section, root));
        root = root + 1 < run->comm.n_ranks ? root + 1 : 0;
    }
    return ST_OK;
}

/* What rank @p from sends in its part for rank @p to. */
static double coll_sent(uint32_t op, size_t n_ranks, size_t from, size_t to)
{
    return op == OP_ALLTOALL ? (double)(from * n_ranks + to) : (double)from + 1.0;
}

/* What must be there after it, in the part that came from @p from (METHODS 3.4). */
static double coll_wanted(uint32_t op, size_t n_ranks, size_t from, size_t self)
{
    switch (op) {
    case OP_REDUCE:
    case OP_ALLREDUCE:
    case OP_REDUCE_SCATTER:
        return (double)n_ranks * ((double)n_ranks + 1.0) / 2.0; /* exact: whole numbers */
    case OP_BCAST:
        return 1.0; /* what rank 0 sends */
    default:
        return coll_sent(op, n_ranks, from, self);
    }
}

static void coll_fill(const struct coll_state *s, uint32_t op, size_t n_ranks,
                      size_t self)
{
    const size_t to = sends_all(op) ? n_ranks : 1;
    const size_t from = receives_all(op) ? n_ranks : 1;

    for (size_t i = 0; i < s->n * to; i++) {
        s->send[i] = coll_sent(op, n_ranks, self, i / s->n);
    }
    for (size_t i = 0; i < s->n * from; i++) {
        s->recv[i] = op == OP_BCAST && self == 0 ? 1.0 : -1.0;
    }
}

static enum st_status coll_check(struct st_run *run, struct coll_state *s, uint32_t op,
                                 struct st_check *check)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    const size_t self = (size_t)run->comm.rank;
    const size_t n = s->n * (receives_all(op) ? n_ranks : 1);
    size_t n_wrong = 0;
    char what[128];

    coll_fill(s, op, n_ranks, self);
    STM_TRY(&run->err, coll_call(&run->comm, s, op, 0));
    if (s->spoiled) {
        s->recv[n - 1] = -s->recv[n - 1];
        s->spoiled = false; /* one value is enough */
    }
    if (op == OP_REDUCE && self != 0) {
        return ST_OK; /* the result is the root's */
    }
    for (size_t i = 0; i < n; i++) {
        const double want = coll_wanted(op, n_ranks, i / s->n, self);
        n_wrong += s->recv[i] == want ? 0 : 1; /* NaN is wrong */
    }
    (void)snprintf(what, sizeof what, "%s: %zu of %zu elements on rank %zu", op_names[op],
                   n_wrong, n, self);
    st_check_true(check, n_wrong == 0, what);
    return ST_OK;
}

static double monotonic_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nobody may leave before the last of its own node (one clock) has come, who comes late. */
static enum st_status coll_check_barrier(struct st_run *run, struct coll_state *s,
                                         struct st_check *check)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    const size_t *node_of = run->place->node_of;
    const struct timespec nap = {.tv_nsec = 2000000};
    double last = 0.0;

    if (run->comm.rank == run->comm.n_ranks - 1) {
        (void)nanosleep(&nap, NULL);
    }
    const double came = monotonic_s();
    STM_TRY(&run->err, coll_call(&run->comm, s, OP_BARRIER, 0));
    const double left = s->spoiled ? 0.0 : monotonic_s();
    s->spoiled = false; /* one value is enough */
    STM_TRY(&run->err, MPI_Allgather(&came, 1, MPI_DOUBLE, s->seen, 1, MPI_DOUBLE,
                                     run->comm.handle));
    for (size_t r = 0; r < n_ranks; r++) {
        if (node_of[r] == run->place->node && s->seen[r] > last) {
            last = s->seen[r];
        }
    }
    st_check_true(check, left >= last, "barrier: a rank left it before all had come");
    return ST_OK;
}

static enum st_status collectives_verify(struct st_run *run, void *state,
                                         struct st_check *check)
{
    const struct coll_params *p = run->params;
    struct coll_state *s = state;
    enum st_status rc = ST_OK;

    for (uint32_t op = 0; op < N_OPS && rc == ST_OK; op++) {
        if (coll_has(p, op)) {
            rc = op == OP_BARRIER ? coll_check_barrier(run, s, check)
                                  : coll_check(run, s, op, check);
        }
    }
    return rc;
}

static void collectives_release(void *state)
{
    struct coll_state *s = state;

    st_free(s->send);
    st_free(s->recv);
    st_free(s->seen);
}

/* verify() calls anew, so the value is altered there, after it has arrived. */
static void collectives_spoil(void *state)
{
    struct coll_state *s = state;

    s->spoiled = true;
}

const struct st_bench st_bench_collectives = {
    .name = "collectives",
    .summary = "Collective operations, timed from the first start to the last end.",
    .source = "METHODS 3.4; Hunold, Carpen-Amarie, IEEE TPDS 2016 (ReproMPI); nccl-tests",
    ST_TABLES(params, metrics),
    ST_SIZES(struct coll_params, struct coll_state),
    .min_ranks = 2,
    .applies = coll_applies,
    ST_STAGES(collectives),
};
