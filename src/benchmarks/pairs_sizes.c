/*
 * pairs_sizes: latency and bandwidth of pairs of ranks for every message size, 0 B and 1 B, 2 B, 4 B
 * … up to `largest`, and the two numbers that a model of messages needs, start-up alpha and rate
 * beta, fitted apart for small messages that the library sends at once (eager) and large ones
 * that it first asks for (METHODS 3.1).
 *
 * Pairs take turns: at once they would measure contention. A repetition is one pass over all
 * sizes by the loops of `pairs`, and one sample of every point and fit. Each size is warmed up,
 * so that first use of a path or of a registered buffer is not in it.
 */
#include "mpi/agree.h"
#include "mpi/pingpong.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_pair.h"
#include "src/measure/run.h"
#include "src/stats/hockney.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    S_LATENCY,
    S_BANDWIDTH
};

enum {
    M_LATENCY,
    M_BORDER,
    M_EAGER_ALPHA,
    M_EAGER_BETA,
    M_EAGER_HALF,
    M_RENDEZVOUS_ALPHA,
    M_RENDEZVOUS_BETA,
    M_RENDEZVOUS_HALF,
    M_BANDWIDTH,
    M_BEST
};

enum {
    MOST_SIZES = 32 /* 0 and 2^0 … 2^30 */
};

struct sizes_params {
    uint64_t largest, window;
    uint32_t buffers, pairing;
};

struct sizes_state {
    size_t n_sizes;
    double bytes[MOST_SIZES];
    struct st_pair_list list;
    struct stm_link link;
    size_t place_bytes; /* from one message's place to the next */
    bool quiet;
    bool spoiled;
};

static const char *const buffers_names[] = {"same", "rotate", NULL};

static const struct st_param params[] = {
    ST_PARAM_BYTES(sizes_params, largest, "4MiB", 64, 0x1p30,
                   "the largest message; sizes are 0 B and the powers of 2 up to it"),
    ST_PARAM_COUNT(sizes_params, window, "64", 1, 65536,
                   "messages in flight before a reply, for bandwidth"),
    ST_PARAM_CHOICE(
        sizes_params, buffers, buffers_names, "same",
        "same: one place for all messages, cached; rotate: one for each of a window"),
    ST_PARAM_PAIRING(sizes_params),
};

static const struct st_metric metrics[] = {
    [M_LATENCY] = {"latency", "s", ST_LOWER, ST_POINT, ST_GIVEN, S_LATENCY,
                   "half the mean round trip of a block, by the first rank of a pair"},
    [M_BORDER] = {"eager_limit", "byte", ST_NEITHER, ST_PAIR, ST_GIVEN, S_LATENCY,
                  "largest size of the eager range, by the fits of alpha + size / beta"},
    [M_EAGER_ALPHA] = {"eager_alpha", "s", ST_LOWER, ST_PAIR, ST_GIVEN, S_LATENCY,
                       "start-up time of a small message"},
    [M_EAGER_BETA] = {"eager_beta", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN, S_LATENCY,
                      "rate of growing small messages"},
    [M_EAGER_HALF] = {"eager_n_half", "byte", ST_LOWER, ST_PAIR, ST_GIVEN, S_LATENCY,
                      "size of half that rate: alpha x beta"},
    [M_RENDEZVOUS_ALPHA] = {"rendezvous_alpha", "s", ST_LOWER, ST_PAIR, ST_GIVEN,
                            S_LATENCY, "start-up time of a large message"},
    [M_RENDEZVOUS_BETA] = {"rendezvous_beta", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN,
                           S_LATENCY, "rate of growing large messages, one in flight"},
    [M_RENDEZVOUS_HALF] = {"rendezvous_n_half", "byte", ST_LOWER, ST_PAIR, ST_GIVEN,
                           S_LATENCY, "size of half that rate: alpha x beta"},
    [M_BANDWIDTH] = {"bandwidth", "byte s-1", ST_HIGHER, ST_POINT, ST_GIVEN, S_BANDWIDTH,
                     "from the first rank of a pair to the second, windows of messages"},
    [M_BEST] = {"best_bandwidth", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN, S_BANDWIDTH,
                "the largest of a pass over all sizes"},
};

/* Sizes of a pass. @return how many */
static size_t sizes_list(uint64_t largest, double bytes[MOST_SIZES])
{
    size_t n = 0;

    bytes[n++] = 0.0;
    for (uint64_t size = 1; size <= largest; size *= 2) {
        bytes[n++] = (double)size;
    }
    return n;
}

static size_t sizes_n_places(const struct sizes_params *p)
{
    return p->buffers == 1 ? (size_t)p->window : 1;
}

static enum st_status pairs_sizes_plan(const void *parameters,
                                       const struct st_shape *shape, struct st_need *need,
                                       struct st_error *err)
{
    const struct sizes_params *p = parameters;
    size_t n_pairs = 0;
    double bytes[MOST_SIZES];
    const size_t n_sizes = sizes_list(p->largest, bytes);
    double seconds = 0.0;

    if (st_pair_plan("pairs_sizes", p->pairing, shape, &n_pairs, need, err) != ST_OK) {
        return err->code;
    }
    /* 10 us and 1 GB/s: slower than any network that is accepted; warm-up a tenth. */
    for (size_t i = 0; i < n_sizes; i++) {
        const uint64_t size = (uint64_t)bytes[i];
        const double n =
            2.0 * (double)st_pair_batch(size, 1, ST_PAIR_ROUND_TRIPS) +
            (double)st_pair_batch(size, p->window, ST_PAIR_WINDOWS) * (double)p->window;
        seconds += 1.2 * n * (1e-5 + bytes[i] / 1e9);
    }
    need->bytes_per_rank =
        2 * sizes_n_places(p) * st_pair_place_bytes(p->largest) +
        2 * p->window * sizeof(MPI_Request) +
        n_pairs * (sizeof(struct stm_pair) + (n_sizes + 1) * sizeof(struct st_place));
    need->seconds_per_repetition = seconds * (double)n_pairs;
    return ST_OK;
}

/* For every size a place of each pair's first rank. */
static enum st_status sizes_set_places(struct st_run *run, const struct sizes_state *s)
{
    const size_t n = s->list.n * s->n_sizes;
    struct st_place *places = st_calloc(&run->err, n, sizeof *places);

    if (places == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t k = 0; k < n; k++) {
        places[k] =
            (struct st_place){.owner = (size_t)s->list.pairs[k / s->n_sizes].first,
                              .value = s->bytes[k % s->n_sizes]};
    }
    const enum st_status rc = st_set_places(run, ST_POINT, n, places);
    st_free(places);
    return rc;
}

/* Both ways: either rank sends and receives. */
static enum st_status sizes_link(struct st_run *run, struct sizes_state *s)
{
    const struct sizes_params *p = run->params;
    const size_t bytes = sizes_n_places(p) * s->place_bytes;

    s->link = (struct stm_link){
        .comm = run->comm.handle,
        .peer = s->list.peer,
        .is_first = s->list.is_first,
        .window = (int)p->window,
        .stride_bytes = p->buffers == 1 ? s->place_bytes : 0,
    };
    s->link.requests = st_calloc(&run->err, 2 * (size_t)p->window, sizeof(MPI_Request));
    s->link.send = st_calloc(&run->err, bytes, 1);
    s->link.recv = st_calloc(&run->err, bytes, 1);
    if (s->link.requests == NULL || s->link.send == NULL || s->link.recv == NULL) {
        return ST_ERR_MEMORY;
    }
    (void)memset(s->link.send, 0x5A, bytes); /* touched by the rank that uses them */
    (void)memset(s->link.recv, 0x5A, bytes);
    return ST_OK;
}

static enum st_status pairs_sizes_prepare(struct st_run *run, void *state)
{
    const struct sizes_params *p = run->params;
    struct sizes_state *s = state;

    s->n_sizes = sizes_list(p->largest, s->bytes);
    s->place_bytes = st_pair_place_bytes(p->largest);
    s->quiet = run->place->oversubscribed;
    enum st_status rc = st_pair_arrange(run, p->pairing, &s->list);
    if (rc == ST_OK) {
        rc = sizes_set_places(run, s);
    }
    if (rc == ST_OK && s->list.peer >= 0) {
        rc = sizes_link(run, s);
    }
    rc = stm_agree(&run->comm, rc, &run->err);
    return rc == ST_OK ? st_pair_kinds(run, &s->list, false) : rc;
}

/* One size: warm-up, then @p n_inner blocks. @return seconds of one round trip or window */
static enum st_status sizes_measure(struct st_run *run, const struct sizes_state *s,
                                    size_t i, double *seconds)
{
    const struct sizes_params *p = run->params;
    const uint64_t bytes = (uint64_t)s->bytes[i];
    const bool is_latency = run->section == S_LATENCY;
    const size_t batch = is_latency ? st_pair_batch(bytes, 1, ST_PAIR_ROUND_TRIPS)
                                    : st_pair_batch(bytes, p->window, ST_PAIR_WINDOWS);
    struct stm_link link = s->link;
    enum st_status (*const loop)(const struct stm_link *, size_t, struct st_error *) =
        is_latency ? stm_pingpong : stm_windows;

    link.message_bytes = (int)bytes; /* the parameter ends at 2^30 */
    enum st_status rc = loop(&link, batch / 10 + 1, &run->err);
    const double start = st_now();
    if (rc == ST_OK) {
        rc = loop(&link, run->n_inner * batch, &run->err);
    }
    *seconds = (st_now() - start) / (double)(run->n_inner * batch);
    return rc;
}

/* NaN where a range has no line that rises: no valid sample. */
static void sizes_record_fits(struct st_run *run, const struct sizes_state *s,
                              const double *time_s)
{
    struct st_hockney_split split = {.n_eager = 0};
    const struct st_hockney none = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    const bool is_fitted = st_hockney_fit_split(s->n_sizes, s->bytes, time_s, &split);
    const struct st_hockney eager = is_fitted && split.has_eager ? split.eager : none;
    const struct st_hockney rendezvous =
        is_fitted && split.has_rendezvous ? split.rendezvous : none;

    st_record(run->rec, M_BORDER, s->list.mine,
              is_fitted ? s->bytes[split.n_eager - 1] : (double)NAN);
    st_record(run->rec, M_EAGER_ALPHA, s->list.mine, eager.alpha);
    st_record(run->rec, M_EAGER_BETA, s->list.mine, eager.beta);
    st_record(run->rec, M_EAGER_HALF, s->list.mine, eager.n_half);
    st_record(run->rec, M_RENDEZVOUS_ALPHA, s->list.mine, rendezvous.alpha);
    st_record(run->rec, M_RENDEZVOUS_BETA, s->list.mine, rendezvous.beta);
    st_record(run->rec, M_RENDEZVOUS_HALF, s->list.mine, rendezvous.n_half);
}

/* This rank's turn: a pass over the sizes. */
static enum st_status sizes_pass(struct st_run *run, const struct sizes_state *s)
{
    const struct sizes_params *p = run->params;
    const size_t first = s->list.mine * s->n_sizes;
    double time_s[MOST_SIZES] = {0.0};
    double best = 0.0;

    for (size_t i = 0; i < s->n_sizes; i++) {
        double seconds = 0.0;
        const enum st_status rc = sizes_measure(run, s, i, &seconds);
        if (rc != ST_OK) {
            return rc;
        }
        time_s[i] = seconds / 2.0;
        const double rate = (double)p->window * s->bytes[i] / seconds;
        best = fmax(best, rate);
        if (s->link.is_first && run->section == S_LATENCY) {
            st_record(run->rec, M_LATENCY, first + i, time_s[i]);
        } else if (s->link.is_first) {
            st_record(run->rec, M_BANDWIDTH, first + i, rate);
        }
    }
    if (s->link.is_first && run->section == S_LATENCY) {
        sizes_record_fits(run, s, time_s);
    } else if (s->link.is_first) {
        st_record(run->rec, M_BEST, s->list.mine, best);
    }
    return ST_OK;
}

static enum st_status pairs_sizes_run(struct st_run *run, void *state)
{
    const struct sizes_state *s = state;

    if (s->list.peer < 0) {
        return ST_OK; /* no partner: takes part in nothing */
    }
    enum st_status rc =
        stm_turn_wait(s->link.comm, s->list.turn_from, s->quiet, &run->err);
    if (rc == ST_OK) {
        rc = sizes_pass(run, s);
    }
    return rc == ST_OK && s->link.is_first
               ? stm_turn_pass(s->link.comm, s->list.turn_to, &run->err)
               : rc;
}

/* One round trip of each size by the measured loop itself, with data that prove themselves. */
static enum st_status pairs_sizes_verify(struct st_run *run, void *state,
                                         struct st_check *check)
{
    struct sizes_state *s = state;
    struct stm_link link = s->link;

    if (s->list.peer < 0) {
        return ST_OK;
    }
    link.window = 1;
    for (size_t i = 0; i < s->n_sizes; i++) {
        const size_t bytes = (size_t)s->bytes[i];
        link.message_bytes = (int)bytes;
        st_pair_fill(link.send, bytes, run->comm.rank, i);
        st_pair_guard(link.recv, bytes);
        const enum st_status rc = stm_pingpong(&link, 1, &run->err);
        if (rc != ST_OK) {
            return rc;
        }
        if (s->spoiled && i + 1 == s->n_sizes) {
            link.recv[0] = (char)(link.recv[0] ^ 1);
        }
        st_pair_check(link.recv, bytes, link.peer, i, check);
    }
    return ST_OK;
}

static void pairs_sizes_release(void *state)
{
    struct sizes_state *s = state;

    st_free(s->list.pairs);
    st_free(s->link.send);
    st_free(s->link.recv);
    st_free(s->link.requests);
}

/* verify() receives anew, so the byte is flipped there, after it has arrived. */
static void pairs_sizes_spoil(void *state)
{
    struct sizes_state *s = state;

    s->spoiled = true;
}

const struct st_bench st_bench_pairs_sizes = {
    .name = "pairs_sizes",
    .summary =
        "Latency and bandwidth of pairs against the message size, with alpha and beta.",
    .source = "R. Hockney, Parallel Comput. 20, 1994; OSU Micro-Benchmarks: osu_latency, "
              "osu_bw",
    ST_TABLES(params, metrics),
    .point_name = "message",
    .point_unit = "byte",
    ST_SIZES(struct sizes_params, struct sizes_state),
    .min_ranks = 2,
    ST_STAGES(pairs_sizes),
};
