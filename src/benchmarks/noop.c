/*
 * A benchmark without work: its time is what the harness itself costs per inner repetition
 * (one clock reading, or the spin asked for), its spread what starts and clocks add.
 */
#include "src/base/bench.h"
#include "src/measure/run.h"

#include <stdint.h>
#include <stdio.h>

struct noop_params {
    double spin;
};

struct noop_state {
    uint64_t n_wanted;      /* inner repetitions asked for */
    uint64_t n_done;        /* and made */
    uint64_t n_repetitions; /* after the warm-up */
};

enum {
    M_TIME,
    M_RANK_TIME,
    M_RATE
};

/* clang-format off */
static const struct st_param params[] = {
    ST_PARAM_REAL(noop_params, spin, "s", "0s", 0.0, 60.0,
                  "time that one inner repetition spins; 0: one clock reading"),
};
static const struct st_metric metrics[] = {
    [M_TIME] = {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0,
                "first start to last end over all ranks, per inner repetition"},
    [M_RANK_TIME] = {"rank_time", "s", ST_LOWER, ST_RANK, ST_FROM_TIME, 0,
                     "one rank's own time per inner repetition"},
    [M_RATE] = {"rate", "s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 0,
                "inner repetitions of a node's ranks per second"},
};
/* clang-format on */

static enum st_status noop_plan(const void *parameters, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    const struct noop_params *p = parameters;

    (void)shape;
    (void)err;
    need->bytes_per_rank = sizeof(struct noop_state);
    need->seconds_per_repetition = p->spin;
    return ST_OK;
}

static enum st_status noop_prepare(struct st_run *run, void *state)
{
    (void)state;
    st_set_work(run, M_RATE, 1.0);
    return ST_OK;
}

static enum st_status noop_run(struct st_run *run, void *state)
{
    const struct noop_params *p = run->params;
    struct noop_state *s = state;

    for (size_t k = 0; k < run->n_inner; k++) {
        const double begin = st_now();
        while (p->spin > 0.0 && st_now() - begin < p->spin) {
        }
        s->n_done++;
    }
    s->n_wanted += run->n_inner;
    s->n_repetitions += run->repetition > 0 ? 1 : 0;
    return ST_OK;
}

static enum st_status noop_verify(struct st_run *run, void *state, struct st_check *check)
{
    const struct noop_state *s = state;
    char what[128];

    (void)snprintf(what, sizeof what, "%llu inner repetitions made, %llu asked for",
                   (unsigned long long)s->n_done, (unsigned long long)s->n_wanted);
    st_check_true(check, s->n_done == s->n_wanted, what);
    (void)snprintf(what, sizeof what, "%llu repetitions seen, the last was number %zu",
                   (unsigned long long)s->n_repetitions, run->repetition);
    st_check_true(check, s->n_repetitions == run->repetition, what);
    return ST_OK;
}

static void noop_release(void *state)
{
    (void)state; /* nothing was allocated */
}

static void noop_spoil(void *state)
{
    struct noop_state *s = state;

    s->n_done++;
}

const struct st_bench st_bench_noop = {
    .name = "noop",
    .summary = "nothing: what the harness itself costs",
    .source = "METHODS 0 (timer step and cost)",
    ST_TABLES(params, metrics),
    ST_SIZES(struct noop_params, struct noop_state),
    ST_STAGES(noop),
};
