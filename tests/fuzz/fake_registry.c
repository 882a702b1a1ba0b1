/* The declarations of fake_registry.h. A step of "stream" measures a kernel only if its
 * parameter `kernels` names it, so that criteria can be refused for want of a metric. */
#include "tests/fuzz/fake_registry.h"

#include "src/base/mem.h"

static const char *const stores[] = {"ordinary", "nontemporal", NULL};
static const char *const kernels[] = {"copy", "scale", "add", "triad", NULL};
static const char *const patterns[] = {"latency", "bandwidth", "message_rate", NULL};

static const struct st_param stream_params[] = {
    ST_PARAM_BYTES_AUTO(fake_stream, size, "auto", 1024, 1e15, "bytes of one array"),
    ST_PARAM_CHOICE(fake_stream, stores, stores, "ordinary", "kind of store"),
    ST_PARAM_SET(fake_stream, kernels, kernels, "all", "which kernels"),
};
static const struct st_metric stream_metrics[] = {
    {"copy", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 0, "STREAM bytes"},
    {"scale", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 1, "STREAM bytes"},
    {"add", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 2, "STREAM bytes"},
    {"triad", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 3, "STREAM bytes"},
};

static bool stream_applies(const void *params, size_t row)
{
    const struct fake_stream *p = params;

    return (p->kernels >> row & 1U) != 0;
}

static const struct st_param pairs_params[] = {
    ST_PARAM_CHOICE(fake_pairs, pattern, patterns, "latency", "what is sent"),
    ST_PARAM_BYTES(fake_pairs, message, "8B", 0, 1 << 30, "bytes of one message"),
};
static const struct st_metric pairs_metrics[] = {
    {"latency", "s", ST_LOWER, ST_PAIR, ST_GIVEN, 0, "half the round trip"},
    {"bandwidth", "byte s-1", ST_HIGHER, ST_PAIR, ST_GIVEN, 0, "one way"},
    {"rate", "s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, 0, "messages"},
};

static const char *const scopes[] = {"per_rank", "total", NULL};

static const struct st_param solve_params[] = {
    ST_PARAM_CHOICE(fake_solve, scope, scopes, "per_rank", "whose size n is"),
    ST_PARAM_COUNT(fake_solve, n, "32", 1, 1e10, "points per side"),
    ST_PARAM_REAL(fake_solve, tolerance, "1", "1e-10", 0, 1, "relative residual"),
    ST_PARAM_REAL(fake_solve, wait, "s", "0s", 0, 60, "pause"),
    ST_PARAM_BOOL(fake_solve, warm, "no", "start warm"),
    ST_PARAM_TEXT(fake_solve, matrix, "", "file"),
};
static const struct st_metric solve_metrics[] = {
    {"flops", "flop s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK, 0, "of the whole solve"},
    {"efficiency", "1", ST_HIGHER, ST_RANK, ST_GIVEN, 0, "against one rank"},
    {"iterations", "1", ST_NEITHER, ST_JOB, ST_GIVEN, 0, "until converged"},
};

static const struct st_bench fake_bench_stream = {
    .name = "stream",
    ST_TABLES(stream_params, stream_metrics),
    .params_size = sizeof(struct fake_stream),
    .applies = stream_applies,
};
static const struct st_bench fake_bench_pairs = {
    .name = "pairs",
    ST_TABLES(pairs_params, pairs_metrics),
    .params_size = sizeof(struct fake_pairs),
};
static const struct st_bench fake_bench_solve = {
    .name = "solve",
    ST_TABLES(solve_params, solve_metrics),
    .scaling_param = "scope",
    .params_size = sizeof(struct fake_solve),
};

static const struct st_bench *const benches[] = {&fake_bench_stream, &fake_bench_pairs,
                                                 &fake_bench_solve};
const struct st_registry fake_registry = {.n = ST_COUNT(benches), .benches = benches};
