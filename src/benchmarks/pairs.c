/*
 * pairs: point-to-point latency, bandwidth and message rate between pairs of ranks (METHODS
 * 3.1), by the loops of the OSU benchmarks. The pattern decides which sections run.
 *
 * One inner repetition is a batch: so many round trips or windows that a clock reading does
 * not matter, few enough that a batch of large messages stays short (OSU: 100 : 10 between
 * small and large). Latency is measured twice: as the mean of undisturbed batches, as OSU
 * gives it, and round trip by round trip for median and p99.
 *
 * By default the pairs of latency and bandwidth take turns, because at once they measure
 * contention; all pairs of message_rate communicate at once, because that is the question.
 *
 * Buffers: `same` keeps all messages of a window in one place, for receives too, as OSU does:
 * the data stay in the cache. `rotate` gives each message of a window its own place. Each
 * place ends with a guard that no message may touch.
 */
#include "mpi/agree.h"
#include "mpi/comm.h"
#include "mpi/pingpong.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/benchmarks/part_pair.h"
#include "src/benchmarks/part_pair_kind.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"

#include <stdio.h>
#include <string.h>

enum pairs_pattern {
    PAIRS_LATENCY,
    PAIRS_BANDWIDTH,
    PAIRS_BIDIRECTIONAL,
    PAIRS_RATE
};
enum pairs_buffers {
    PAIRS_SAME,
    PAIRS_ROTATE
};
enum pairs_concurrent {
    PAIRS_AUTO,
    PAIRS_YES,
    PAIRS_NO
};

/* Each metric of a pattern that is timed on its own has its own section. */
enum {
    PAIRS_S_LATENCY,
    PAIRS_S_SINGLE,
    PAIRS_S_BANDWIDTH,
    PAIRS_S_BIDIRECTIONAL,
    PAIRS_S_RATE
};

enum {
    M_LATENCY,
    M_SINGLE_MEDIAN,
    M_SINGLE_P99,
    M_BANDWIDTH,
    M_BIDIRECTIONAL,
    M_RATE,
    M_TOTAL_BANDWIDTH,
    M_PAIR_RATE,
    M_PAIR_BANDWIDTH
};

enum {
    PAIRS_KEEP =
        16384, /* round trips kept per repetition; 299 give a p99 (METHODS 8.1) */
    PAIRS_MAX_WINDOW = 65536
};

static const uint64_t pairs_verify_bytes = (uint64_t)1
                                           << 30; /* most data of a verification */

struct pairs_params {
    uint64_t message, window;
    uint32_t pattern, buffers, pairing, concurrent;
};

struct pairs_state {
    struct st_pair_list list;
    struct stm_link link;
    size_t batch;  /* round trips or windows of an inner repetition */
    size_t n_warm; /* untimed round trips at the start of a turn */
    bool quiet;
    size_t n_keep;
    double *rtt_s; /* [n_keep] on the first rank, latency only */
    bool spoiled;
};

static const char *const pairs_patterns[] = {"latency", "bandwidth", "bidirectional",
                                             "message_rate", NULL};
static const char *const pairs_buffers[] = {"same", "rotate", NULL};
static const char *const pairs_concurrents[] = {"auto", "yes", "no", NULL};

static const struct st_param params[] = {
    ST_PARAM_CHOICE(pairs_params, pattern, pairs_patterns, "latency",
                    "latency: ping-pong; the others send windows of messages"),
    ST_PARAM_BYTES(pairs_params, message, "8B", 0, 0x1p30, "bytes of one message"),
    ST_PARAM_COUNT(pairs_params, window, "64", 1, PAIRS_MAX_WINDOW,
                   "messages in flight before a reply (not for latency with one buffer)"),
    ST_PARAM_CHOICE(
        pairs_params, buffers, pairs_buffers, "same",
        "same: one place for all messages, cached; rotate: one for each of a window"),
    ST_PARAM_PAIRING(pairs_params),
    ST_PARAM_CHOICE(
        pairs_params, concurrent, pairs_concurrents, "auto",
        "all pairs at once; auto: only for message_rate, else one after another"),
};

static const struct st_metric metrics[] = {
    [M_LATENCY] = {"latency", "s", ST_LOWER, ST_PAIR, ST_GIVEN, PAIRS_S_LATENCY,
                   "half the mean round trip of a block, as OSU gives it"},
    [M_SINGLE_MEDIAN] =
        {"latency_single_median", "s", ST_LOWER, ST_PAIR, ST_GIVEN, PAIRS_S_SINGLE,
         "half the median of round trips timed one by one (one clock reading in each)"},
    [M_SINGLE_P99] = {"latency_single_p99", "s", ST_LOWER, ST_PAIR, ST_GIVEN,
                      PAIRS_S_SINGLE,
                      "half the 99th percentile of round trips timed one by one"},
    [M_BANDWIDTH] = {"bandwidth", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN,
                     PAIRS_S_BANDWIDTH, "from the first rank to the second"},
    [M_BIDIRECTIONAL] = {"bidirectional_bandwidth", "byte s-1", ST_HIGHER, ST_PAIR,
                         ST_GIVEN, PAIRS_S_BIDIRECTIONAL,
                         "both directions at once, bytes of both"},
    [M_RATE] =
        {"message_rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, PAIRS_S_RATE,
         "messages of all pairs over the time from the first start to the last end"},
    [M_TOTAL_BANDWIDTH] = {"total_bandwidth", "byte s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK,
                           PAIRS_S_RATE, "bytes of all pairs over the same time"},
    [M_PAIR_RATE] = {"pair_message_rate", "s-1", ST_HIGHER, ST_PAIR, ST_GIVEN,
                     PAIRS_S_RATE, "messages of one pair over its sender's own time"},
    [M_PAIR_BANDWIDTH] = {"pair_bandwidth", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN,
                          PAIRS_S_RATE, "bytes of one pair over its sender's own time"},
};

static bool pairs_applies(const void *parameters, size_t row)
{
    const struct pairs_params *p = parameters;

    switch (metrics[row].section) {
    case PAIRS_S_LATENCY:
    case PAIRS_S_SINGLE:
        return p->pattern == PAIRS_LATENCY;
    case PAIRS_S_BANDWIDTH:
        return p->pattern == PAIRS_BANDWIDTH;
    case PAIRS_S_BIDIRECTIONAL:
        return p->pattern == PAIRS_BIDIRECTIONAL;
    default:
        break;
    }
    const bool counts_bytes = row == M_TOTAL_BANDWIDTH || row == M_PAIR_BANDWIDTH;
    return p->pattern == PAIRS_RATE && (p->message > 0 || !counts_bytes);
}

static bool pairs_take_turns(const struct pairs_params *p)
{
    return p->concurrent == PAIRS_NO ||
           (p->concurrent == PAIRS_AUTO && p->pattern != PAIRS_RATE);
}

static size_t pairs_n_places(const struct pairs_params *p)
{
    return p->buffers == PAIRS_ROTATE ? (size_t)p->window : 1;
}

/* Round trips or windows of one inner repetition. */
static size_t pairs_batch(const struct pairs_params *p)
{
    return p->pattern == PAIRS_LATENCY
               ? st_pair_batch(p->message, 1, ST_PAIR_ROUND_TRIPS)
               : st_pair_batch(p->message, p->window, ST_PAIR_WINDOWS);
}

static enum st_status pairs_check(const struct pairs_params *p, struct st_error *err)
{
    if (p->message == 0 &&
        (p->pattern == PAIRS_BANDWIDTH || p->pattern == PAIRS_BIDIRECTIONAL)) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "pairs: a bandwidth of messages of 0 bytes; take message: 1B or more, or "
            "pattern: message_rate");
    }
    if (p->pattern == PAIRS_RATE && p->concurrent == PAIRS_NO) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "pairs: message_rate is of all pairs at once; leave out concurrent: no, "
            "or take pattern: bandwidth");
    }
    return ST_OK;
}

static enum st_status pairs_plan(const void *parameters, const struct st_shape *shape,
                                 struct st_need *need, struct st_error *err)
{
    const struct pairs_params *p = parameters;
    size_t n_pairs = 0;
    const size_t n_buffers =
        p->pattern == PAIRS_LATENCY || p->pattern == PAIRS_BIDIRECTIONAL ? 2 : 1;

    if (pairs_check(p, err) != ST_OK) {
        return err->code;
    }
    if (st_pair_plan("pairs", p->pairing, shape, &n_pairs, need, err) != ST_OK) {
        return err->code;
    }
    /* At most 2^16 places of 2^30 bytes: no product below overflows 64 bits. */
    need->bytes_per_rank =
        n_buffers * pairs_n_places(p) * st_pair_place_bytes(p->message) +
        2 * p->window * sizeof(MPI_Request) + PAIRS_KEEP * sizeof(double) +
        shape->n_ranks * sizeof(struct stm_pair);
    /* 10 us and 1 GB/s: slower than any network that is accepted; three times a batch. */
    const double n_messages =
        (double)pairs_batch(p) * (p->pattern == PAIRS_LATENCY ? 2.0 : (double)p->window);
    need->seconds_per_repetition = 3.0 * n_messages * (1e-5 + (double)p->message / 1e9) *
                                   (pairs_take_turns(p) ? (double)n_pairs : 1.0);
    return ST_OK;
}

/* Non-zero, the same at each run, and touched by the rank that uses it. */
static char *pairs_buffer(const struct pairs_params *p, struct st_error *err)
{
    size_t bytes = 0;

    if (!st_mul_size(pairs_n_places(p), st_pair_place_bytes(p->message), &bytes)) {
        (void)st_fail(err, ST_ERR_MEMORY,
                      "pairs: window x message does not fit in memory");
        return NULL;
    }
    char *buffer = st_calloc(err, bytes, 1);
    if (buffer != NULL) {
        (void)memset(buffer, 0x5A, bytes);
    }
    return buffer;
}

static enum st_status pairs_link(struct st_run *run, struct pairs_state *s)
{
    const struct pairs_params *p = run->params;
    const bool is_first = s->list.is_first;
    const bool both_ways =
        p->pattern == PAIRS_LATENCY || p->pattern == PAIRS_BIDIRECTIONAL;

    s->link = (struct stm_link){
        .comm = run->comm.handle,
        .peer = s->list.peer,
        .is_first = is_first,
        .message_bytes = (int)p->message, /* the parameter ends at 2^30 */
        .window = (int)p->window,
        .stride_bytes = p->buffers == PAIRS_ROTATE ? st_pair_place_bytes(p->message) : 0,
    };
    s->link.requests = st_calloc(&run->err, 2 * (size_t)p->window, sizeof(MPI_Request));
    if (s->link.requests == NULL) {
        return run->err.code;
    }
    if (is_first || both_ways) {
        s->link.send = pairs_buffer(p, &run->err);
        if (s->link.send == NULL) {
            return run->err.code;
        }
    }
    if (!is_first || both_ways) {
        s->link.recv = pairs_buffer(p, &run->err);
        if (s->link.recv == NULL) {
            return run->err.code;
        }
    }
    if (is_first && p->pattern == PAIRS_LATENCY) {
        s->rtt_s = st_calloc(&run->err, PAIRS_KEEP, sizeof *s->rtt_s);
        if (s->rtt_s == NULL) {
            return run->err.code;
        }
    }
    return ST_OK;
}

static enum st_status pairs_prepare(struct st_run *run, void *state)
{
    const struct pairs_params *p = run->params;
    struct pairs_state *s = state;

    s->quiet = run->place->oversubscribed;
    s->batch = pairs_batch(p);
    /* OSU warms up by a tenth; here it also wakes a peer that waited for its turn. */
    s->n_warm = s->batch / 10 + 1;
    enum st_status rc = st_pair_arrange(run, p->pairing, &s->list);
    if (rc == ST_OK && s->list.peer >= 0) {
        rc = pairs_link(run, s);
    }
    rc = stm_agree(&run->comm, rc, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    rc = st_pair_kinds(run, &s->list, p->pattern == PAIRS_RATE);
    if (rc != ST_OK) {
        return rc;
    }
    if (p->pattern == PAIRS_RATE) {
        const bool sends = s->list.is_first;
        const double n = sends ? (double)s->batch * (double)p->window : 0.0;
        st_set_work(run, M_RATE, n);
        if (p->message > 0) {
            st_set_work(run, M_TOTAL_BANDWIDTH, n * (double)p->message);
        }
    }
    return ST_OK;
}

static void pairs_record_single(struct st_run *run, struct pairs_state *s, size_t n)
{
    const size_t n_kept = n < PAIRS_KEEP ? n : PAIRS_KEEP;

    st_sort(n_kept, s->rtt_s);
    st_record(run->rec, M_SINGLE_MEDIAN, s->list.mine,
              st_median_sorted(n_kept, s->rtt_s) / 2);
    st_record(run->rec, M_SINGLE_P99, s->list.mine,
              st_quantile(n_kept, s->rtt_s, 0.99) / 2);
}

/* The measured part of this rank's turn: @p n round trips or windows, and their record. */
static enum st_status pairs_measure(struct st_run *run, struct pairs_state *s, size_t n)
{
    const struct pairs_params *p = run->params;
    const bool is_first = s->link.is_first;
    const double messages = (double)n * (double)p->window;
    const double bytes = messages * (double)p->message;
    const double start = st_now();
    enum st_status rc = ST_OK;

    switch (run->section) {
    case PAIRS_S_LATENCY:
        rc = stm_pingpong(&s->link, n, &run->err);
        break;
    case PAIRS_S_SINGLE:
        rc = stm_pingpong_timed(&s->link, n, st_now, PAIRS_KEEP, s->rtt_s, &run->err);
        break;
    case PAIRS_S_BIDIRECTIONAL:
        rc = stm_windows_both(&s->link, n, &run->err);
        break;
    default:
        rc = stm_windows(&s->link, n, &run->err);
        break;
    }
    const double seconds = st_now() - start;
    if (rc != ST_OK || !is_first) {
        return rc;
    }
    switch (run->section) {
    case PAIRS_S_LATENCY:
        st_record(run->rec, M_LATENCY, s->list.mine, seconds / (2.0 * (double)n));
        break;
    case PAIRS_S_SINGLE:
        pairs_record_single(run, s, n);
        break;
    case PAIRS_S_BANDWIDTH:
        st_record(run->rec, M_BANDWIDTH, s->list.mine, bytes / seconds);
        break;
    case PAIRS_S_BIDIRECTIONAL:
        st_record(run->rec, M_BIDIRECTIONAL, s->list.mine, 2.0 * bytes / seconds);
        break;
    default:
        st_record(run->rec, M_PAIR_RATE, s->list.mine, messages / seconds);
        if (p->message > 0) {
            st_record(run->rec, M_PAIR_BANDWIDTH, s->list.mine, bytes / seconds);
        }
        break;
    }
    return ST_OK;
}

static enum st_status pairs_run(struct st_run *run, void *state)
{
    const struct pairs_params *p = run->params;
    struct pairs_state *s = state;
    const size_t n = run->n_inner * s->batch;

    if (s->list.peer < 0) {
        return ST_OK; /* no partner: takes part in nothing */
    }
    if (pairs_take_turns(p)) {
        const struct stm_link *link = &s->link;
        enum st_status rc =
            stm_turn_wait(link->comm, s->list.turn_from, s->quiet, &run->err);
        if (rc == ST_OK) {
            rc = run->section == PAIRS_S_LATENCY || run->section == PAIRS_S_SINGLE
                     ? stm_pingpong(link, s->n_warm, &run->err)
                     : stm_windows(link, s->n_warm, &run->err);
        }
        if (rc == ST_OK) {
            rc = pairs_measure(run, s, n);
        }
        return rc == ST_OK && link->is_first
                   ? stm_turn_pass(link->comm, s->list.turn_to, &run->err)
                   : rc;
    }
    return pairs_measure(run, s, n);
}

/* One exchange with the measured loop itself: as many messages as there are places. */
static enum st_status pairs_exchange(struct st_run *run, const struct stm_link *link)
{
    const struct pairs_params *p = run->params;

    switch (p->pattern) {
    case PAIRS_LATENCY:
        return stm_pingpong(link, (size_t)link->window, &run->err);
    case PAIRS_BIDIRECTIONAL:
        return stm_windows_both(link, 1, &run->err);
    default:
        return stm_windows(link, 1, &run->err);
    }
}

/*
 * One window whose data are checked. With one place for all messages they go one by one; of
 * messages above 16 MiB not the whole window, so that checking does not take longer than
 * measuring.
 */
static enum st_status pairs_verify(struct st_run *run, void *state,
                                   struct st_check *check)
{
    const struct pairs_params *p = run->params;
    struct pairs_state *s = state;
    struct stm_link link = s->link;
    const size_t n_places = pairs_n_places(p);
    const size_t bytes = (size_t)p->message;
    const uint64_t affordable = pairs_verify_bytes / (p->message > 0 ? p->message : 1);
    const uint64_t n_messages = p->window < affordable ? p->window : affordable;
    const size_t n_rounds = n_places > 1 || n_messages == 0 ? 1 : (size_t)n_messages;

    if (s->list.peer < 0) {
        return ST_OK;
    }
    link.window = (int)n_places;
    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t k = 0; k < n_places; k++) {
            if (link.send != NULL) {
                st_pair_fill(link.send + k * link.stride_bytes, bytes, run->comm.rank,
                             round + k);
            }
            if (link.recv != NULL) {
                st_pair_guard(link.recv + k * link.stride_bytes, bytes);
            }
        }
        const enum st_status rc = pairs_exchange(run, &link);
        if (rc != ST_OK) {
            return rc;
        }
        if (link.recv != NULL && s->spoiled) {
            link.recv[0] = (char)(link.recv[0] ^ 1);
        }
        for (size_t k = 0; link.recv != NULL && k < n_places; k++) {
            st_pair_check(link.recv + k * link.stride_bytes, bytes, s->link.peer,
                          round + k, check);
        }
    }
    return ST_OK;
}

static void pairs_release(void *state)
{
    struct pairs_state *s = state;

    st_free(s->list.pairs);
    st_free(s->link.send);
    st_free(s->link.recv);
    st_free(s->link.requests);
    st_free(s->rtt_s);
}

/* verify() receives anew, so the byte is flipped there, after it has arrived. */
static void pairs_spoil(void *state)
{
    struct pairs_state *s = state;

    s->spoiled = true;
}

const struct st_bench st_bench_pairs = {
    .name = "pairs",
    .summary = "Latency, bandwidth and message rate between pairs of ranks.",
    .source = "OSU Micro-Benchmarks: osu_latency, osu_bw, osu_bibw, osu_mbw_mr",
    ST_TABLES(params, metrics),
    ST_SIZES(struct pairs_params, struct pairs_state),
    .min_ranks = 2,
    .applies = pairs_applies,
    ST_STAGES(pairs),
};
