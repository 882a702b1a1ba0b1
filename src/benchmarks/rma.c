/*
 * rma: one-sided put and get between pairs of ranks (METHODS 3.5; osu_put_bw, osu_get_bw,
 * osu_put_mr). The first rank of a pair works on the second one's memory, which takes no part
 * but to be there: windows of operations to distinct places, each ended by MPI_Win_flush, after
 * which the data are at the target (put) or here (get). Epochs are passive (lock_all) and open
 * while measured.
 *
 * All pairs work at once: the question is what the nodes deliver. A pair's own rate is over its
 * own time; the total over the time from the first start to the last end.
 */
#include "mpi/agree.h"
#include "mpi/comm.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_pair.h"
#include "src/measure/run.h"

#include <stdio.h>
#include <string.h>

enum {
    S_PUT,
    S_GET,
    N_SECTIONS
};

/* Rows of one operation. */
enum {
    ROW_RATE,
    ROW_BANDWIDTH,
    ROW_PAIR_RATE,
    ROW_PAIR_BANDWIDTH,
    N_ROWS
};

struct rma_params {
    uint64_t message, window;
    uint32_t operations, pairing;
};

struct rma_state {
    struct st_pair_list list;
    size_t place_bytes, batch;
    MPI_Win win;
    bool is_made, is_locked; /* alike on all ranks */
    char *target; /* [window places] this rank's part of the window, freed with it */
    char *local;  /* [window places] of the origin */
    bool spoiled;
};

static const char *const operation_names[] = {"put", "get", NULL};

static const struct st_param params[] = {
    ST_PARAM_BYTES(rma_params, message, "8B", 1, 0x1p30, "bytes of one operation"),
    ST_PARAM_COUNT(rma_params, window, "64", 1, 65536,
                   "operations to distinct places before a flush"),
    ST_PARAM_SET(rma_params, operations, operation_names, "all", "which operations"),
    ST_PARAM_PAIRING(rma_params),
};

/* clang-format off */
#define OP_ROWS(op, name)                                                                \
    [N_ROWS * (op) + ROW_RATE] = {name "_rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, op, \
                                  "operations of all pairs over first start to last end"}, \
    [N_ROWS * (op) + ROW_BANDWIDTH] = {name "_bandwidth", "byte s-1", ST_HIGHER, ST_JOB, \
                                       ST_FROM_WORK, op, "bytes of all pairs likewise"}, \
    [N_ROWS * (op) + ROW_PAIR_RATE] = {name "_pair_rate", "s-1", ST_HIGHER, ST_PAIR, ST_GIVEN, \
                                       op, "operations of one pair over its own time"},  \
    [N_ROWS * (op) + ROW_PAIR_BANDWIDTH] = {name "_pair_bandwidth", "byte s-1", ST_HIGHER, \
                                            ST_PAIR, ST_GIVEN, op, "bytes of one pair likewise"}
/* clang-format on */

static const struct st_metric metrics[] = {OP_ROWS(S_PUT, "put"), OP_ROWS(S_GET, "get")};

static bool rma_applies(const void *parameters, size_t row)
{
    const struct rma_params *p = parameters;

    return (p->operations >> metrics[row].section & 1U) != 0;
}

static enum st_status rma_plan(const void *parameters, const struct st_shape *shape,
                               struct st_need *need, struct st_error *err)
{
    const struct rma_params *p = parameters;
    size_t n_pairs = 0;
    const double n =
        (double)st_pair_batch(p->message, p->window, ST_PAIR_WINDOWS) * (double)p->window;

    if (p->operations == 0) {
        return st_fail(err, ST_ERR_CONFIG, "rma: name put, get or both in 'operations'");
    }
    if (st_pair_plan("rma", p->pairing, shape, &n_pairs, need, err) != ST_OK) {
        return err->code;
    }
    /* At most 2^16 places of 2^30 bytes: no product overflows 64 bits. */
    need->bytes_per_rank = 2 * p->window * st_pair_place_bytes(p->message) +
                           n_pairs * (sizeof(struct stm_pair) + sizeof(struct st_place));
    /* 10 us and 1 GB/s: slower than any network that is accepted. */
    need->seconds_per_repetition = N_SECTIONS * n * (1e-5 + (double)p->message / 1e9);
    return ST_OK;
}

static enum st_status rma_arrange(struct st_run *run, struct rma_state *s)
{
    const struct rma_params *p = run->params;
    const enum st_status rc = st_pair_arrange(run, p->pairing, &s->list);

    if (rc == ST_OK && s->list.is_first) {
        const size_t bytes = (size_t)p->window * s->place_bytes;
        s->local = st_calloc(&run->err, bytes, 1);
        if (s->local == NULL) {
            return ST_ERR_MEMORY;
        }
        (void)memset(s->local, 0x5A, bytes);
    }
    return rc;
}

/* Collective over the group: ranks that are no target have an empty part. */
static enum st_status rma_open(struct st_run *run, struct rma_state *s)
{
    const struct rma_params *p = run->params;
    const bool is_target = s->list.peer >= 0 && !s->list.is_first;
    const size_t bytes = is_target ? (size_t)p->window * s->place_bytes : 0;

    STM_TRY(&run->err, MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL,
                                        run->comm.handle, (void *)&s->target, &s->win));
    s->is_made = true;
    if (is_target) {
        (void)memset(s->target, 0x5A, bytes); /* touched by the rank that has them */
    }
    STM_TRY(&run->err, MPI_Barrier(run->comm.handle));
    STM_TRY(&run->err, MPI_Win_lock_all(MPI_MODE_NOCHECK, s->win));
    s->is_locked = true;
    return ST_OK;
}

static enum st_status rma_prepare(struct st_run *run, void *state)
{
    const struct rma_params *p = run->params;
    struct rma_state *s = state;

    s->place_bytes = st_pair_place_bytes(p->message);
    s->batch = st_pair_batch(p->message, p->window, ST_PAIR_WINDOWS);
    enum st_status rc = stm_agree(&run->comm, rma_arrange(run, s), &run->err);
    if (rc == ST_OK) {
        rc = st_pair_kinds(run, &s->list, true);
    }
    if (rc == ST_OK) {
        rc = rma_open(run, s);
    }
    if (rc != ST_OK) {
        return rc;
    }
    for (size_t op = 0; op < N_SECTIONS; op++) {
        if ((p->operations >> op & 1U) != 0) {
            const double n =
                s->list.is_first ? (double)s->batch * (double)p->window : 0.0;
            st_set_work(run, N_ROWS * op + ROW_RATE, n);
            st_set_work(run, N_ROWS * op + ROW_BANDWIDTH, n * (double)p->message);
        }
    }
    return ST_OK;
}

/* @p n windows, each complete at its target. */
static enum st_status rma_windows(struct st_run *run, const struct rma_state *s,
                                  uint32_t op, size_t n)
{
    const struct rma_params *p = run->params;
    const int bytes = (int)p->message; /* the parameter ends at 2^30 */

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->window; k++) {
            char *here = s->local + k * s->place_bytes;
            const MPI_Aint there = (MPI_Aint)(k * s->place_bytes);
            if (op == S_PUT) {
                STM_TRY(&run->err, MPI_Put(here, bytes, MPI_BYTE, s->list.peer, there,
                                           bytes, MPI_BYTE, s->win));
            } else {
                STM_TRY(&run->err, MPI_Get(here, bytes, MPI_BYTE, s->list.peer, there,
                                           bytes, MPI_BYTE, s->win));
            }
        }
        STM_TRY(&run->err, MPI_Win_flush(s->list.peer, s->win));
    }
    return ST_OK;
}

static enum st_status rma_run(struct st_run *run, void *state)
{
    const struct rma_params *p = run->params;
    struct rma_state *s = state;
    const size_t n = run->n_inner * s->batch;
    const size_t row = (size_t)N_ROWS * run->section;

    if (!s->list.is_first) {
        return ST_OK; /* a target, or without partner */
    }
    const double start = st_now();
    const enum st_status rc = rma_windows(run, s, run->section, n);
    const double rate = (double)n * (double)p->window / (st_now() - start);
    if (rc == ST_OK) {
        st_record(run->rec, row + ROW_PAIR_RATE, s->list.mine, rate);
        st_record(run->rec, row + ROW_PAIR_BANDWIDTH, s->list.mine,
                  rate * (double)p->message);
    }
    return rc;
}

static void fill_places(const struct rma_params *p, const struct rma_state *s,
                        char *places, int rank)
{
    for (size_t k = 0; k < p->window; k++) {
        st_pair_fill(places + k * s->place_bytes, (size_t)p->message, rank, k);
        st_pair_guard(places + k * s->place_bytes, (size_t)p->message);
    }
}

static void check_places(const struct rma_params *p, const struct rma_state *s,
                         const char *places, int rank, struct st_check *check)
{
    for (size_t k = 0; k < p->window; k++) {
        st_pair_check(places + k * s->place_bytes, (size_t)p->message, rank, k, check);
    }
}

/* One window by the measured loop. Who has data to give writes them, who is to get them holds
 * other bytes; the epoch is closed on both sides before anybody looks. */
static enum st_status verify_operation(struct st_run *run, struct rma_state *s,
                                       uint32_t op, struct st_check *check)
{
    const struct rma_params *p = run->params;
    const bool has_partner = s->list.peer >= 0;
    char *const places = s->list.is_first ? s->local : s->target;
    const bool gives = s->list.is_first == (op == S_PUT);
    enum st_status rc = ST_OK;

    if (has_partner) {
        fill_places(p, s, places, gives ? run->comm.rank : -1);
    }
    STM_TRY(&run->err, MPI_Win_sync(s->win));
    STM_TRY(&run->err, MPI_Barrier(run->comm.handle));
    if (s->list.is_first) {
        rc = rma_windows(run, s, op, 1);
    }
    STM_TRY(&run->err, MPI_Win_unlock_all(s->win));
    s->is_locked = false;
    STM_TRY(&run->err, MPI_Barrier(run->comm.handle));
    if (rc == ST_OK && has_partner && !gives) {
        if (s->spoiled) {
            places[0] = (char)(places[0] ^ 1);
        }
        check_places(p, s, places, s->list.peer, check);
    }
    STM_TRY(&run->err, MPI_Barrier(run->comm.handle));
    STM_TRY(&run->err, MPI_Win_lock_all(MPI_MODE_NOCHECK, s->win));
    s->is_locked = true;
    return rc;
}

static enum st_status rma_verify(struct st_run *run, void *state, struct st_check *check)
{
    const struct rma_params *p = run->params;
    struct rma_state *s = state;
    enum st_status rc = ST_OK;

    for (uint32_t op = 0; op < N_SECTIONS && rc == ST_OK; op++) {
        if ((p->operations >> op & 1U) != 0) {
            rc = verify_operation(run, s, op, check);
        }
    }
    return rc;
}

static void rma_release(void *state)
{
    struct rma_state *s = state;

    if (s->is_locked) {
        (void)MPI_Win_unlock_all(s->win);
    }
    if (s->is_made) {
        (void)MPI_Win_free(&s->win); /* collective, as release() after a step is */
    }
    st_free(s->list.pairs);
    st_free(s->local);
}

static void rma_spoil(void *state)
{
    struct rma_state *s = state;

    s->spoiled = true;
}

const struct st_bench st_bench_rma = {
    .name = "rma",
    .summary = "One-sided put and get between pairs of ranks: rate and bandwidth.",
    .source = "OSU Micro-Benchmarks: osu_put_mr, osu_put_bw, osu_get_bw",
    ST_TABLES(params, metrics),
    ST_SIZES(struct rma_params, struct rma_state),
    .min_ranks = 2,
    .applies = rma_applies,
    ST_STAGES(rma),
};
