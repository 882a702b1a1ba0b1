/*
 * thread_rate: messages per second when all threads of a rank call MPI at once
 * (MPI_THREAD_MULTIPLE, METHODS 3.5), in three sections of the same windows as `pairs`: one
 * thread alone; all threads, each with a communicator of its own; all threads in one communicator
 * with tags of their own. Libraries differ in which of these share a lock.
 *
 * The figure to compare with is the message_rate of `pairs` by as many ranks of one thread.
 * Thread t of a rank talks with thread t of its partner.
 */
#include "mpi/agree.h"
#include "mpi/pingpong.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_pair.h"
#include "src/measure/run.h"

#include <stdio.h>
#include <string.h>

enum {
    S_ONE,
    S_OWN,
    S_SHARED,
    N_SECTIONS
};

enum {
    M_ONE,
    M_OWN,
    M_OWN_GAIN,
    M_SHARED,
    M_SHARED_GAIN
};

struct rate_params {
    uint64_t message, window;
    uint32_t pairing;
};

/* One thread's end of its pair, on cache lines of its own. */
struct rate_thread {
    _Alignas(ST_MEM_ALIGNMENT) struct stm_link link;
    struct stm_comm own;
    bool has_own;
    enum st_status rc;
    struct st_error err;
};

struct rate_state {
    struct st_pair_list list;
    size_t n_threads, batch;
    struct rate_thread *threads; /* [n_threads] */
    struct stm_comm shared;
    bool has_shared;
    double one_rate; /* of this pair in this repetition */
    bool spoiled;
};

static const struct st_param params[] = {
    ST_PARAM_BYTES(rate_params, message, "8B", 0, 0x1p30, "bytes of one message"),
    ST_PARAM_COUNT(rate_params, window, "64", 1, 65536,
                   "messages of each thread in flight before a reply"),
    ST_PARAM_PAIRING(rate_params),
};

static const struct st_metric metrics[] = {
    [M_ONE] = {"one_thread_rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, S_ONE,
               "messages of all pairs, one thread of each rank"},
    [M_OWN] = {"rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, S_OWN,
               "messages of all pairs, all threads, a communicator each"},
    [M_OWN_GAIN] = {"gain", "1", ST_HIGHER, ST_PAIR, ST_GIVEN, S_OWN,
                    "that rate of a pair over its rate with one thread"},
    [M_SHARED] = {"shared_rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, S_SHARED,
                  "messages of all pairs, all threads in one communicator"},
    [M_SHARED_GAIN] = {"shared_gain", "1", ST_HIGHER, ST_PAIR, ST_GIVEN, S_SHARED,
                       "that rate of a pair over its rate with one thread"},
};

static enum st_status thread_rate_plan(const void *parameters,
                                       const struct st_shape *shape, struct st_need *need,
                                       struct st_error *err)
{
    const struct rate_params *p = parameters;
    const double n = (double)st_pair_batch(p->message, p->window, ST_PAIR_WINDOWS) *
                     (double)p->window * (double)shape->max_threads;
    size_t n_pairs = 0;

    if (st_pair_plan("thread_rate", p->pairing, shape, &n_pairs, need, err) != ST_OK) {
        return err->code;
    }
    need->bytes_per_rank = shape->max_threads * (2 * st_pair_place_bytes(p->message) +
                                                 sizeof(struct rate_thread) +
                                                 2 * p->window * sizeof(MPI_Request)) +
                           n_pairs * (sizeof(struct stm_pair) + sizeof(struct st_place));
    need->seconds_per_repetition = N_SECTIONS * n * (1e-5 + (double)p->message / 1e9);
    if (shape->max_threads < 2) {
        (void)snprintf(
            need->notes, sizeof need->notes,
            "one thread a rank has nobody to compete with: layout: {threads: N}");
    }
    return ST_OK;
}

/* Both ends have buffers of their own for each thread, touched here. */
static enum st_status rate_links(struct st_run *run, struct rate_state *s)
{
    const struct rate_params *p = run->params;
    const size_t bytes = st_pair_place_bytes(p->message);

    for (size_t t = 0; s->list.peer >= 0 && t < s->n_threads; t++) {
        struct stm_link *link = &s->threads[t].link;
        link->is_first = s->list.is_first;
        link->peer = s->list.peer;
        link->message_bytes = (int)p->message; /* the parameter ends at 2^30 */
        link->window = (int)p->window;
        link->send = st_calloc(&run->err, bytes, 1);
        link->recv = st_calloc(&run->err, bytes, 1);
        link->requests = st_calloc(&run->err, 2 * (size_t)p->window, sizeof(MPI_Request));
        if (link->send == NULL || link->recv == NULL || link->requests == NULL) {
            return ST_ERR_MEMORY;
        }
        (void)memset(link->send, 0x5A, bytes);
        (void)memset(link->recv, 0x5A, bytes);
    }
    return ST_OK;
}

/* The same number on all ranks, so that every thread has a partner, and their communicators. */
static enum st_status rate_comms(struct st_run *run, struct rate_state *s)
{
    enum st_status rc = stm_comm_dup(run->comm.handle, &s->shared, &run->err);

    s->has_shared = rc == ST_OK;
    for (size_t t = 0; rc == ST_OK && t < s->n_threads; t++) {
        rc = stm_comm_dup(run->comm.handle, &s->threads[t].own, &run->err);
        s->threads[t].has_own = rc == ST_OK;
    }
    return rc;
}

static enum st_status thread_rate_prepare(struct st_run *run, void *state)
{
    const struct rate_params *p = run->params;
    struct rate_state *s = state;
    uint64_t n_threads = run->place->n_threads;

    s->batch = st_pair_batch(p->message, p->window, ST_PAIR_WINDOWS);
    STM_TRY(&run->err, MPI_Allreduce(MPI_IN_PLACE, &n_threads, 1, MPI_UINT64_T, MPI_MIN,
                                     run->comm.handle));
    s->n_threads = (size_t)n_threads;
    s->threads = st_calloc(&run->err, s->n_threads, sizeof *s->threads);
    enum st_status rc = s->threads == NULL ? ST_ERR_MEMORY : ST_OK;
    if (rc == ST_OK) {
        rc = st_pair_arrange(run, p->pairing, &s->list);
    }
    rc = stm_agree(&run->comm, rc == ST_OK ? rate_links(run, s) : rc, &run->err);
    if (rc == ST_OK) {
        rc = st_pair_kinds(run, &s->list, true);
    }
    if (rc == ST_OK) {
        rc = rate_comms(run, s);
    }
    if (rc == ST_OK) {
        const bool sends = s->list.is_first;
        const double n = sends ? (double)s->batch * (double)p->window : 0.0;
        st_set_work(run, M_ONE, n);
        st_set_work(run, M_OWN, n * (double)s->n_threads);
        st_set_work(run, M_SHARED, n * (double)s->n_threads);
    }
    return rc;
}

/* @p n windows by the first @p n_threads threads at once. @return the first error */
static enum st_status rate_windows(struct st_run *run, struct rate_state *s,
                                   size_t n_threads, bool is_shared, size_t n)
{
    struct rate_thread *threads = s->threads;
    const MPI_Comm shared = s->shared.handle;

#pragma omp parallel for default(none) schedule(static)                                  \
    shared(threads, shared, n_threads, is_shared, n) num_threads((int)n_threads)
    for (size_t t = 0; t < n_threads; t++) {
        struct rate_thread *thread = &threads[t];
        thread->link.comm = is_shared ? shared : thread->own.handle;
        thread->link.tag_shift = is_shared ? (int)t * STM_TAG_SPAN : 0;
        thread->rc = stm_windows(&thread->link, n, &thread->err);
    }
    for (size_t t = 0; t < n_threads; t++) {
        if (threads[t].rc != ST_OK) {
            return st_fail(&run->err, threads[t].rc, "thread %zu: %s", t,
                           threads[t].err.text);
        }
    }
    return ST_OK;
}

static enum st_status thread_rate_run(struct st_run *run, void *state)
{
    const struct rate_params *p = run->params;
    struct rate_state *s = state;
    const bool is_one = run->section == S_ONE;
    const size_t n_threads = is_one ? 1 : s->n_threads;
    const size_t n = run->n_inner * s->batch;

    if (s->list.peer < 0) {
        return ST_OK; /* no partner */
    }
    const double start = st_now();
    const enum st_status rc =
        rate_windows(run, s, n_threads, run->section == S_SHARED, n);
    const double rate =
        (double)n * (double)p->window * (double)n_threads / (st_now() - start);
    if (rc == ST_OK && s->list.is_first) {
        if (is_one) {
            s->one_rate = rate;
        } else {
            st_record(run->rec, run->section == S_OWN ? M_OWN_GAIN : M_SHARED_GAIN,
                      s->list.mine, rate / s->one_rate);
        }
    }
    return rc;
}

/* A window of each thread, whose data say whose they are. */
static enum st_status thread_rate_verify(struct st_run *run, void *state,
                                         struct st_check *check)
{
    const struct rate_params *p = run->params;
    struct rate_state *s = state;
    const size_t bytes = (size_t)p->message;

    for (int is_shared = 0; s->list.peer >= 0 && is_shared < 2; is_shared++) {
        for (size_t t = 0; t < s->n_threads; t++) {
            const struct stm_link *link = &s->threads[t].link;
            st_pair_fill(link->send, bytes, run->comm.rank, t);
            st_pair_fill(link->recv, bytes, run->comm.rank, t + s->n_threads);
            st_pair_guard(link->recv, bytes);
        }
        const enum st_status rc = rate_windows(run, s, s->n_threads, is_shared == 1, 1);
        if (rc != ST_OK) {
            return rc;
        }
        for (size_t t = 0; t < s->n_threads; t++) {
            const struct stm_link *link = &s->threads[t].link;
            if (s->spoiled && t == 0) {
                link->recv[0] = (char)(link->recv[0] ^ 1);
            }
            if (!link->is_first) {
                st_pair_check(link->recv, bytes, link->peer, t, check);
            }
        }
    }
    return ST_OK;
}

static void thread_rate_release(void *state)
{
    struct rate_state *s = state;

    for (size_t t = 0; s->threads != NULL && t < s->n_threads; t++) {
        st_free(s->threads[t].link.send);
        st_free(s->threads[t].link.recv);
        st_free(s->threads[t].link.requests);
        if (s->threads[t].has_own) {
            stm_comm_free(&s->threads[t].own);
        }
    }
    if (s->has_shared) {
        stm_comm_free(&s->shared);
    }
    st_free(s->threads);
    st_free(s->list.pairs);
}

/* verify() receives anew, so the byte is flipped there, after it has arrived. */
static void thread_rate_spoil(void *state)
{
    struct rate_state *s = state;

    s->spoiled = true;
}

const struct st_bench st_bench_thread_rate = {
    .name = "thread_rate",
    .summary = "Message rate of pairs of ranks when all their threads call MPI at once.",
    .source = "R. Thakur, W. Gropp, Parallel Comput. 35, 2009; OSU Micro-Benchmarks: "
              "osu_latency_mt",
    ST_TABLES(params, metrics),
    ST_SIZES(struct rate_params, struct rate_state),
    .min_ranks = 2,
    .needs = ST_NEEDS_THREAD_MULTIPLE,
    ST_STAGES(thread_rate),
};
