/*
 * Every benchmark of the registry at a tiny size, driven stage by stage without the harness:
 * it runs and verifies, a spoilt value fails its verification, and a failed allocation on one
 * rank becomes one common error. Then what stream and pairs promise in plan() and st_set_work().
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/registry.h"
#include "src/measure/recorder.h"
#include "src/measure/run.h"
#include "tests/mpi/assert_all.h"

#include <omp.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;

enum {
    N_REPETITIONS = 4,
    MOST_RANKS = 64,
    N_THREADS = 2
};

/* Parameters that make a benchmark tiny, one row per way through it. */
struct tiny {
    const char *bench;
    const char *settings; /* "name=value;…" */
};

static const struct tiny tiny[] = {
    {"noop", ""},
    {"stream", "size=64KiB"},
    {"stream", "size=1KiB;kernels=all"},
    {"stream", "size=100008B;kernels=all;stores=nontemporal;pages=small"},
    {"stream", "size=256KiB;kernels=daxpy nstream update striad"},
    {"stream", "size=64KiB;kernels=sum dot"},
    {"stream", "size=64KiB;stores=both;kernels=all"},
    {"stream", "size=64KiB;stores=both;kernels=triad dot"},
    {"stream", "size=64KiB;memory=remote"},
    {"stream_threads", "size=256KiB"},
    {"stream_threads", "size=1KiB;kernels=triad;pages=small"},
    {"cache_bandwidth", "max_size=64KiB"},
    {"cache_bandwidth", "max_size=16KiB;kernels=copy triad;cores=one;stores=nontemporal"},
    {"numa_matrix", "size=64KiB;latency_size=64KiB;allow_one=yes"},
    {"latency", "size=16KiB;accesses=64"},
    {"latency", "size=64KiB;accesses=64;chains=all;order=inpage"},
    {"loaded_latency", "size=64KiB;chase=16KiB;accesses=64;settle=0s;pages=small"},
    {"loaded_latency",
     "kernel=update;size=64KiB;chase=16KiB;accesses=64;settle=0s;pages=small"},
    {"loaded_latency",
     "kernel=nontemporal;size=64KiB;chase=16KiB;accesses=64;settle=0s;pages=small"},
    {"rma", "message=8B;window=4"},
    {"rma", "message=100B;window=3;operations=get;pairing=nodes"},
    {"thread_rate", "window=4"},
    {"pairs_sizes", "largest=4KiB;window=4"},
    {"pairs_sizes", "largest=64B;window=2;buffers=rotate;pairing=adjacent"},
    {"pairs", "pattern=latency"},
    {"pairs", "pattern=latency;message=0B;concurrent=yes;pairing=adjacent"},
    {"pairs", "pattern=latency;message=1000B;buffers=rotate;window=3"},
    {"pairs", "pattern=bandwidth;message=5000B;window=4"},
    {"pairs", "pattern=bandwidth;message=12345B;window=4;buffers=rotate;concurrent=yes"},
    {"pairs", "pattern=bidirectional;message=1KiB;window=4"},
    {"pairs", "pattern=bidirectional;message=70000B;window=3;buffers=rotate"},
    {"pairs", "pattern=message_rate"},
    {"pairs", "pattern=message_rate;message=0B;window=1"},
    {"pairs", "pattern=message_rate;message=8B;buffers=rotate;pairing=nodes"},
    {"halo", "n=4"},
    {"halo", "n=3;fields=2;neighbours=full"},
    {"halo", "n=1;neighbours=full"},
    {"link_map", "message=1000B;window=2;trips=2"},
    {"bisection", "message=1000B;window=2;random_cuts=2"},
    {"congestion", "message=100B;ring_message=1KiB;rings=2;steps=3"},
    {"collectives", "size=4KiB"},
    {"collectives", "operations=barrier"},
    {"noise", "samples=20;quantum=5us;watch=1ms;settle=0s"},
    {"spmv", "nx=8;ny=8;nz=8"},
    {"spmv", "nx=8;ny=6;nz=4;solver=cg;matrix=box7"},
    {"spmv", "nx=8;ny=6;nz=4;solver=cg;format=sell;chunk=4"},
    {"spmv", "nx=8;ny=6;nz=4;format=auto;sigma=1;scope=per_rank"},
    {"spmv", "nx=8;ny=6;nz=5;format=bcsr"},
    {"spmv", "nx=9;ny=6;nz=5;matrix=box7;format=bcsr;block=3x3"},
    {"spmv", "nx=8;ny=6;nz=5;partition=scotch;format=sell"},
    {"cg", "nx=8;ny=6;nz=4;tolerance=1e-10"},
    {"cg", "nx=8;ny=6;nz=4;partition=scotch;preconditioner=multigrid"},
    {"cg", "nx=8;ny=6;nz=4;matrix=box7;preconditioner=none"},
    {"cg", "nx=8;ny=6;nz=4;matrix=box7;preconditioner=sgs"},
    {"cg", "nx=8;ny=6;nz=4;method=bicgstab;overlap=no;partition=rows"},
    {"cg", "nx=8;ny=6;nz=4;variants=pipelined;iterations=5;scope=per_rank"},
    {"hpcg", "nx=16;ny=16;nz=16;iterations=2"},
    {"hpcg", "nx=24;ny=16;nz=16;iterations=2;mode=reference;reductions=unordered"},
    {"hpcg", "nx=16;ny=16;nz=24;iterations=2;mode=structured"},
    {"flow", "nx=6;ny=5;nz=4;steps=1"},
    {"flow", "nx=6;ny=5;nz=4;steps=1;mode=fast;u_solver=bicgstab"},
    {"flow", "case=channel;nx=4;ny=6;nz=1;mode=fast;fixed_iterations=3;steps=1"},
    {"flow", "case=taylor_green;nx=8;ny=8;nz=1"},
    {"flow", "case=step;algorithm=simple;nx=12;ny=6;nz=1;laplacian=corrected"},
    {"flow", "cells_per_rank=27;steps=1;p_solver=gamg"},
    {"flow", "nx=6;ny=6;nz=6;steps=1;p_solver=pcg_gamg;u_solver=jacobi"},
    {"flow", "case=mesh;mesh=" ST_SOURCE_DIR
             "/tests/mesh/cavity;boundary=yMax: velocity 1 0 0;steps=1;dt=0.01"},
};

/* One benchmark with its parameters on all ranks of the world as one group. */
struct bed {
    const struct st_bench *bench;
    void *params;
    void *state;
    struct st_recorder rec;
    struct st_shape shape;
    struct st_place_info place;
    struct st_run run;
    size_t node_of[MOST_RANKS];
    enum st_status planned;
};

/* The ranks as up to three nodes, block by block. */
static void bed_place(struct bed *b)
{
    const size_t n_ranks = (size_t)world.n_ranks;
    const size_t n_nodes = n_ranks < 3 ? n_ranks : 3;
    const size_t rank = (size_t)world.rank;
    size_t n_on[3] = {0, 0, 0};
    size_t local = 0;

    for (size_t r = 0; r < n_ranks; r++) {
        b->node_of[r] = r * n_nodes / n_ranks;
        local = r == rank ? n_on[b->node_of[r]] : local;
        n_on[b->node_of[r]]++;
    }
    const size_t most = (n_ranks + n_nodes - 1) / n_nodes;
    b->place = (struct st_place_info){.node = b->node_of[rank],
                                      .n_nodes = n_nodes,
                                      .local_rank = local,
                                      .n_local_ranks = n_on[b->node_of[rank]],
                                      .node_of = b->node_of,
                                      .n_threads = N_THREADS,
                                      .llc_bytes = 1 << 20,
                                      .memory_bytes = (uint64_t)1 << 30};
    b->shape = (struct st_shape){.n_groups = 1,
                                 .n_nodes = b->place.n_nodes,
                                 .n_ranks = n_ranks,
                                 .max_ranks_per_node = most,
                                 .min_ranks_per_node = n_ranks / n_nodes,
                                 .max_threads = N_THREADS,
                                 .n_threads = n_ranks * N_THREADS,
                                 .llc_bytes = 1 << 20,
                                 .memory_bytes = (uint64_t)1 << 34};
    omp_set_num_threads(N_THREADS);
}

static bool bed_set(struct bed *b, const char *settings, struct st_error *err)
{
    char text[256];

    (void)st_copy(text, sizeof text, settings);
    for (char *name = text; *name != '\0';) {
        char *end = name + strcspn(name, ";");
        char *value = name + strcspn(name, "=");
        char *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        *value++ = '\0';
        const size_t row = st_bench_param(b->bench, name);
        if (row == b->bench->n_params ||
            st_param_parse(&b->bench->params[row], value, b->params, err) != ST_OK) {
            return false;
        }
        name = next;
    }
    return true;
}

/* Up to plan(); the recorder is empty until bed_prepare(). */
static void bed_open(struct bed *b, const struct tiny *row)
{
    struct st_error err = {0};
    struct st_need need = {0};

    (void)memset(b, 0, sizeof *b);
    b->bench = st_bench_find(&st_registry, row->bench);
    st_assert_all(&world, b->bench != NULL);
    b->params = st_calloc(&err, 1, b->bench->params_size);
    b->state = st_calloc(&err, 1, b->bench->state_size);
    st_assert_all(&world, b->params != NULL && b->state != NULL);
    bed_place(b);
    const bool set = st_params_default(b->bench, b->params, &err) == ST_OK &&
                     bed_set(b, row->settings, &err);
    if (!set) {
        (void)fprintf(stderr, "%s %s: %s\n", row->bench, row->settings, err.text);
    }
    st_assert_all(&world, set);
    b->planned = b->bench->plan(b->params, &b->shape, &need, &err);
    if (b->planned == ST_OK && (size_t)world.n_ranks < b->bench->min_ranks) {
        b->planned = ST_ERR_UNSUPPORTED;
    }
    if (b->planned != ST_OK && b->planned != ST_ERR_UNSUPPORTED) {
        (void)fprintf(stderr, "%s %s: %s\n", row->bench, row->settings, err.text);
    }
    b->run = (struct st_run){.bench = b->bench,
                             .params = b->params,
                             .comm = world,
                             .place = &b->place,
                             .n_inner = 1,
                             .rec = &b->rec};
}

static void bed_close(struct bed *b)
{
    b->bench->release(b->state);
    st_recorder_clear(&b->rec);
    st_free(b->state);
    st_free(b->params);
}

/* The k-th allocation of prepare() fails on rank @p bad; 0: none. */
static enum st_status bed_prepare(struct bed *b, uint64_t kth, int bad)
{
    enum st_status rc =
        st_recorder_init(&b->rec, b->bench, b->params, &world, &b->place, &b->run.err);

    rc = stm_agree(&world, rc, &b->run.err);
    if (rc != ST_OK) {
        return rc;
    }
    st_mem_fail_at(world.rank == bad ? kth : 0);
    rc = b->bench->prepare(&b->run, b->state);
    st_mem_fail_at(0);
    return stm_agree(&world, rc, &b->run.err);
}

static bool section_used(const struct bed *b, uint32_t section)
{
    for (size_t row = 0; row < b->bench->n_metrics; row++) {
        if (b->bench->metrics[row].section == section &&
            st_bench_applies(b->bench, b->params, row)) {
            return true;
        }
    }
    return false;
}

static enum st_status bed_run(struct bed *b)
{
    enum st_status rc = st_recorder_reserve(&b->rec, N_REPETITIONS, &b->run.err);

    rc = stm_agree(&world, rc, &b->run.err);
    b->rec.recording = true;
    for (size_t r = 0; rc == ST_OK && r < N_REPETITIONS; r++) {
        b->rec.repetition = r;
        b->run.repetition = r;
        b->run.n_inner = r + 1; /* a state that counts its calls must not mind */
        for (uint32_t section = 0; rc == ST_OK && section < ST_MAX_SECTIONS; section++) {
            if (section_used(b, section)) {
                b->run.section = section;
                rc = b->bench->run(&b->run, b->state);
                rc = stm_agree(&world, rc, &b->run.err);
            }
        }
    }
    if (rc == ST_OK) {
        rc = st_recorder_check(&b->rec, &b->run.err);
    }
    return stm_agree(&world, rc, &b->run.err);
}

/* verify() summed over the ranks. */
static enum st_status bed_verify(struct bed *b, uint64_t *n_checked, uint64_t *n_bad,
                                 char what[256])
{
    struct st_check check = {0};
    uint64_t mine[2];
    uint64_t all[2] = {0, 0};
    enum st_status rc = b->bench->verify(&b->run, b->state, &check);

    rc = stm_agree(&world, rc, &b->run.err);
    mine[0] = check.n_checked;
    mine[1] = check.n_bad;
    if (MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, world.handle) != MPI_SUCCESS) {
        return ST_ERR_MPI;
    }
    *n_checked = all[0];
    *n_bad = all[1];
    (void)st_copy(what, 256, check.what);
    return rc;
}

/* Every given metric that applies has a finite sample in each repetition, on its owner. */
static bool given_metrics_recorded(struct bed *b)
{
    bool good = true;

    for (size_t row = 0; row < b->bench->n_metrics; row++) {
        const struct st_metric *m = &b->bench->metrics[row];
        const size_t n_owned = b->rec.lists[m->place].n_owned;
        /* Times of messages need not rise with their size: then a range has no line. */
        const bool may_miss =
            m->place == ST_PAIR && strcmp(b->bench->name, "pairs_sizes") == 0;
        if (m->origin != ST_GIVEN || !b->rec.series[row].applies || may_miss) {
            continue;
        }
        for (size_t k = 0; k < n_owned * N_REPETITIONS; k++) {
            if (!isfinite(b->rec.series[row].values[k])) {
                (void)fprintf(stderr, "%s %s: sample %zu is missing\n", b->bench->name,
                              m->name, k);
                good = false;
            }
        }
    }
    return good;
}

static void row_runs_and_verifies(const struct tiny *row)
{
    struct bed b;
    uint64_t n_checked = 0;
    uint64_t n_bad = 0;
    char what[256] = "";

    bed_open(&b, row);
    st_assert_all(&world, b.planned == ST_OK || b.planned == ST_ERR_UNSUPPORTED);
    if (b.planned == ST_OK) {
        enum st_status rc = bed_prepare(&b, 0, 0);
        rc = rc == ST_OK ? bed_run(&b) : rc;
        if (rc != ST_OK) {
            (void)fprintf(stderr, "%s %s: %s\n", row->bench, row->settings,
                          b.run.err.text);
        }
        st_assert_all(&world, rc == ST_OK);
        st_assert_all(&world, given_metrics_recorded(&b));
        rc = bed_verify(&b, &n_checked, &n_bad, what);
        if (n_bad != 0) {
            (void)fprintf(stderr, "%s %s: %s\n", row->bench, row->settings, what);
        }
        st_assert_all(&world, rc == ST_OK && n_checked > 0 && n_bad == 0);

        b.bench->spoil(b.state);
        rc = bed_verify(&b, &n_checked, &n_bad, what);
        if (rc != ST_OK || n_bad == 0) {
            (void)fprintf(stderr, "%s %s: spoilt, but not noticed\n", row->bench,
                          row->settings);
        }
        st_assert_all(&world, rc == ST_OK && n_bad > 0);
        st_assert_all(&world, n_bad < n_checked ||
                                  n_checked <= 2U * (unsigned)world.n_ranks ||
                                  strcmp(row->bench, "pairs") == 0);
    }
    bed_close(&b);
}

static void all_run_verify_and_notice_a_spoilt_value(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(tiny); i++) {
        row_runs_and_verifies(&tiny[i]);
    }
}

static void every_benchmark_has_a_tiny_row_and_is_sound(void **unused)
{
    struct st_error err = {0};

    (void)unused;
    for (size_t k = 0; k < st_registry.n; k++) {
        bool has_row = false;
        const enum st_status rc = st_bench_validate(st_registry.benches[k], &err);
        for (size_t i = 0; i < ST_COUNT(tiny); i++) {
            has_row = has_row || strcmp(tiny[i].bench, st_registry.benches[k]->name) == 0;
        }
        if (rc != ST_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
        }
        st_assert_all(&world, has_row && rc == ST_OK);
    }
}

/* Memory runs out at every allocation of prepare() in turn, each time on another rank. */
static void row_survives_failing_allocations(const struct tiny *row)
{
    enum {
        MOST_ALLOCATIONS = 400
    };

    for (uint64_t kth = 1; kth <= MOST_ALLOCATIONS; kth++) {
        struct bed b;
        bed_open(&b, row);
        const bool runs = b.planned == ST_OK;
        enum st_status rc = ST_OK;
        if (runs) {
            rc = bed_prepare(&b, kth, (int)(kth % (uint64_t)world.n_ranks));
            st_assert_all(&world, rc == ST_OK || rc == ST_ERR_MEMORY);
            st_assert_all(&world, rc == ST_OK || strstr(b.run.err.text, "rank") != NULL);
        }
        bed_close(&b);
        /* Ranks allocate different numbers of times: three good ones in a row are the end. */
        static unsigned n_good;
        n_good = rc == ST_OK ? n_good + 1 : 0;
        if (!runs || n_good > 2U * (unsigned)world.n_ranks) {
            n_good = 0;
            return;
        }
    }
    st_assert_all(&world, false);
}

static void failed_allocation_is_one_common_error(void **unused)
{
    static const struct tiny rows[] = {
        {"noop", ""},
        {"stream", "size=64KiB;kernels=all"},
        {"latency", "largest=16KiB"},
        {"loaded_latency", "size=64KiB;chase=16KiB;pages=small"},
        {"pairs", "pattern=latency"},
        {"pairs",
         "pattern=bidirectional;message=1KiB;buffers=rotate;window=4;pairing=nodes"},
        {"pairs_sizes", "largest=1KiB;window=4"},
        {"rma", "message=1KiB;window=4"},
        {"thread_rate", "message=1KiB;window=4"},
        {"halo", "n=3;neighbours=full"},
        {"spmv", "nx=8;ny=8;nz=8;solver=cg"},
        {"spmv", "nx=8;ny=8;nz=8;format=sell"},
        {"spmv", "nx=8;ny=8;nz=8;format=bcsr"},
        {"spmv", "nx=8;ny=8;nz=8;partition=scotch"},
        {"cg", "nx=8;ny=8;nz=8"},
        {"cg", "nx=8;ny=8;nz=8;preconditioner=multigrid;variants=classic"},
        {"hpcg", "nx=16;ny=16;nz=16;iterations=1"},
        {"flow", "nx=4;ny=4;nz=4;steps=1;mode=fast"},
        {"flow", "case=mesh;mesh=" ST_SOURCE_DIR
                 "/tests/mesh/cavity;boundary=yMax: velocity 1 0 0;steps=1"},
    };

    (void)unused;
    if (world.n_ranks > 3) {
        return; /* one that fails among two that do not: more ranks only take longer */
    }
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        row_survives_failing_allocations(&rows[i]);
    }
}

/* However ranks and threads divide a node's array, the node's work is that of the whole. */
static void stream_work_adds_up_to_the_nodes(void **unused)
{
    static const struct {
        const char *settings;
        const char *metric;
        double bytes; /* of one node: elements x bytes per element (METHODS 1.1) */
    } rows[] = {
        {"size=1MiB", "triad", 131072.0 * 24},
        {"size=1MiB", "triad_moved", 131072.0 * 32},
        {"size=1MiB;stores=nontemporal", "triad_moved", 131072.0 * 24},
        {"size=100008B", "copy_moved", 12501.0 * 24},
        {"size=1KiB;kernels=init", "init", 128.0 * 8},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct tiny row = {"stream", rows[i].settings};
        struct bed b;
        double sum = 0.0;
        bed_open(&b, &row);
        st_assert_all(&world, bed_prepare(&b, 0, 0) == ST_OK);
        const size_t metric = st_bench_metric(b.bench, rows[i].metric);
        const double mine = b.rec.series[metric].work;
        const int rc = MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, world.handle);
        const double want = rows[i].bytes * (double)b.place.n_nodes;
        st_assert_all(&world, rc == MPI_SUCCESS && sum == want);
        bed_close(&b);
    }
}

struct plan_row {
    const char *bench, *settings;
    struct st_shape shape;
    enum st_status status;
    uint64_t least_bytes, most_bytes; /* of need.bytes_per_rank */
    const char *text;                 /* in the notes or the error */
};

#define GIB ((uint64_t)1 << 30)
#define SHAPE(nodes, ranks, per_node, threads, llc, memory)                              \
    {                                                                                    \
        .n_groups = 1, .n_nodes = (nodes), .n_ranks = (ranks),                           \
        .max_ranks_per_node = (per_node), .min_ranks_per_node = (per_node),              \
        .max_threads = (threads), .n_threads = (ranks) * (threads), .llc_bytes = (llc),  \
        .memory_bytes = (memory)                                                         \
    }

static const struct plan_row plan_rows[] = {
    /* METHODS 1.2 [V]: 2 x 384 MiB of L3 -> 3 GiB per array, 9 GiB for three. */
    {"stream", "", SHAPE(1, 1, 1, 192, GIB * 3 / 4, GIB * 1024), ST_OK, 9 * GIB,
     9 * GIB + GIB, ""},
    {"stream", "", SHAPE(1, 192, 192, 1, GIB * 3 / 4, GIB * 1024), ST_OK, 9 * GIB / 192,
     9 * GIB / 192 + GIB / 64, ""},
    /* Not below 256 MiB. */
    {"stream", "", SHAPE(1, 1, 1, 2, 34 << 20, GIB * 16), ST_OK, GIB * 3 / 4, GIB, ""},
    /* Four arrays with striad. */
    {"stream", "kernels=striad", SHAPE(1, 1, 1, 2, 34 << 20, GIB * 16), ST_OK, GIB,
     GIB * 5 / 4, ""},
    /* 60 % of the memory. */
    {"stream", "", SHAPE(1, 2, 2, 1, GIB * 3 / 4, GIB * 4), ST_OK, GIB, GIB * 13 / 10,
     "cache_affected"},
    {"stream", "size=64MiB", SHAPE(1, 1, 1, 2, 34 << 20, GIB * 16), ST_OK, GIB * 3 / 16,
     GIB / 4, "cache_affected"},
    {"stream", "size=64MiB", SHAPE(1, 1, 1, 2, 0, GIB * 16), ST_OK, 0, GIB, "unknown"},
    {"stream", "kernels=all;stores=nontemporal", SHAPE(1, 1, 1, 2, 1 << 20, GIB * 16),
     ST_OK, 0, 2 * GIB, "sum, dot, update, daxpy, nstream: no non-temporal form"},
    {"stream", "kernels=sum dot;stores=nontemporal", SHAPE(1, 1, 1, 2, 1 << 20, GIB * 16),
     ST_ERR_CONFIG, 0, 0, "copy scale add triad"},
    /* The largest size asked for does not wrap around. */
    {"stream", "size=1024TiB", SHAPE(1, 1, 1, 1, 1 << 20, GIB), ST_OK,
     3 * GIB * 1024 * 1024, 4 * GIB * 1024 * 1024, ""},
    /* Windows of buffers (CASES 39): 64 x 1 GiB, twice when both directions run. */
    {"pairs", "pattern=bandwidth;message=1GiB;buffers=rotate", SHAPE(2, 2, 1, 1, 0, GIB),
     ST_OK, 64 * GIB, 64 * GIB + GIB / 64, ""},
    {"pairs", "pattern=bidirectional;message=1GiB;buffers=rotate",
     SHAPE(2, 2, 1, 1, 0, GIB), ST_OK, 128 * GIB, 128 * GIB + GIB / 64, ""},
    {"pairs", "pattern=bandwidth;message=1GiB", SHAPE(2, 2, 1, 1, 0, GIB), ST_OK, GIB,
     GIB + GIB / 64, ""},
    /* Odd and prime numbers of ranks (CASES 8). */
    {"pairs", "", SHAPE(1, 7, 7, 1, 0, GIB), ST_OK, 0, GIB, "idle: 1 of 7 ranks"},
    {"pairs", "", SHAPE(1, 13, 13, 1, 0, GIB), ST_OK, 0, GIB, "idle: 1 of 13 ranks"},
    {"pairs", "pairing=nodes", SHAPE(2, 5, 4, 1, 0, GIB), ST_OK, 0, GIB,
     "idle: 3 of 5 ranks"},
    {"pairs", "pairing=nodes", SHAPE(1, 4, 4, 1, 0, GIB), ST_ERR_UNSUPPORTED, 0, 0,
     "two nodes"},
    {"pairs", "pattern=bandwidth;message=0B", SHAPE(1, 2, 2, 1, 0, GIB), ST_ERR_CONFIG, 0,
     0, "1B or more"},
    {"pairs", "pattern=message_rate;concurrent=no", SHAPE(1, 2, 2, 1, 0, GIB),
     ST_ERR_CONFIG, 0, 0, "all pairs at once"},
};

static void plans_predict_memory_and_say_what_is_wrong(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(plan_rows); i++) {
        const struct plan_row *row = &plan_rows[i];
        const struct tiny settings = {row->bench, ""};
        struct st_need need = {0};
        struct st_error err = {0};
        struct bed b;
        bed_open(&b, &settings);
        st_assert_all(&world, bed_set(&b, row->settings, &err));
        const enum st_status rc = b.bench->plan(b.params, &row->shape, &need, &err);
        const char *said = rc == ST_OK ? need.notes : err.text;
        const bool good = rc == row->status && strstr(said, row->text) != NULL &&
                          (row->text[0] != '\0' || said[0] == '\0') &&
                          need.bytes_per_rank >= row->least_bytes &&
                          (rc != ST_OK || need.bytes_per_rank <= row->most_bytes);
        if (!good) {
            (void)fprintf(stderr, "%s %s: status %d, %llu bytes, '%s'\n", row->bench,
                          row->settings, (int)rc, (unsigned long long)need.bytes_per_rank,
                          said);
        }
        st_assert_all(&world, good);
        bed_close(&b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_benchmark_has_a_tiny_row_and_is_sound),
        cmocka_unit_test(all_run_verify_and_notice_a_spoilt_value),
        cmocka_unit_test(failed_allocation_is_one_common_error),
        cmocka_unit_test(stream_work_adds_up_to_the_nodes),
        cmocka_unit_test(plans_predict_memory_and_say_what_is_wrong),
    };
    struct st_error err = {0};
    int provided = 0;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK ||
        world.n_ranks > MOST_RANKS) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
