/*
 * halo: the boundary exchange of a structured solver between neighbours in three dimensions,
 * alone and while the rank computes (METHODS 3.5, progress; the exchange is that of HPCG and
 * of finite-volume codes). Packing and unpacking are part of it, because a solver pays them.
 *
 * Three sections of the same repetition: the exchange, a computation of about the same time
 * that touches no MPI, and both with the computation between start and wait. What overlap
 * saved, as a share of what it could save at most, is (exchange + computation - both) over the
 * smaller of the two: 1 if the messages travel by themselves, 0 if they wait for the wait,
 * below 0 if the two disturb each other. It follows from the medians of the three job times; a
 * rank's own times would count waiting for a slower neighbour as overlap that was lost.
 *
 * Edges of the domain have no neighbour: with few ranks, few of them have all 6 (or 26).
 */
#include "kernels/splitmix.h"
#include "kernels/vector.h"
#include "mpi/agree.h"
#include "mpi/grid_halo.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_hpcg_grid.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"

#include <math.h>
#include <stdio.h>

enum {
    HALO_S_EXCHANGE,
    HALO_S_COMPUTE,
    HALO_S_BOTH,
    HALO_N_SECTIONS
};

enum {
    M_EXCHANGE,
    M_BANDWIDTH,
    M_RANK_EXCHANGE,
    M_COMPUTE,
    M_BOTH
};

enum {
    HALO_CHUNK = 2048, /* elements of the computation: 32 KiB, in the first caches */
    HALO_TRIALS = 15,  /* exchanges and chunks timed to make both alike */
    HALO_CHUNK_ROUNDS = 64
};

struct halo_params {
    uint64_t n, fields;
    uint32_t neighbours;
};

struct halo_state {
    struct stm_grid_halo halo;
    uint64_t ranks[3];
    double *x, *y; /* [HALO_CHUNK] of the computation */
    size_t n_chunks;
    double seconds[HALO_N_SECTIONS]; /* of this repetition, own, one inner repetition */
    bool spoiled;
};

static const char *const halo_neighbours[] = {"faces", "full", NULL};

static const struct st_param params[] = {
    ST_PARAM_COUNT(halo_params, n, "64", 1, 1024,
                   "points of a rank along each axis: n^3 in all, n^2 on each face"),
    ST_PARAM_COUNT(halo_params, fields, "1", 1, 64,
                   "values of each point that go in one message (pressure: 1, flow: 4)"),
    ST_PARAM_CHOICE(halo_params, neighbours, halo_neighbours, "faces",
                    "faces: up to 6 neighbours; full: edges and corners too, up to 26"),
};

static const struct st_metric metrics[] = {
    [M_EXCHANGE] = {"exchange_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, HALO_S_EXCHANGE,
                    "one exchange, from the first start to the last end"},
    [M_BANDWIDTH] = {"bandwidth", "byte s-1", ST_HIGHER, ST_JOB, ST_FROM_WORK,
                     HALO_S_EXCHANGE, "bytes sent by all ranks over that time"},
    [M_RANK_EXCHANGE] = {"rank_exchange_time", "s", ST_LOWER, ST_RANK, ST_GIVEN,
                         HALO_S_EXCHANGE, "one exchange by the rank's own clock"},
    [M_COMPUTE] = {"compute_time", "s", ST_NEITHER, ST_JOB, ST_FROM_TIME, HALO_S_COMPUTE,
                   "the computation alone, made about as long as an exchange"},
    [M_BOTH] = {"overlapped_time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, HALO_S_BOTH,
                "an exchange with the computation between its start and its wait"},
};

static enum st_status halo_plan(const void *parameters, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    const struct halo_params *p = parameters;
    const uint64_t m = p->n + 2;
    const uint64_t n_sent =
        (p->neighbours == 0 ? 6 * p->n * p->n : m * m * m - p->n * p->n * p->n) *
        p->fields;
    uint64_t ranks[3];

    (void)err;
    st_hpcg_rank_grid(shape->n_ranks, ranks);
    /* At most 1026^3 points of 64 values: no product here overflows 64 bits. */
    need->bytes_per_rank =
        (m * m * m * p->fields + 2 * n_sent + 2 * HALO_CHUNK) * sizeof(double);
    /* 26 messages of 10 us and 1 GB/s, and the memory for packing; four of them. */
    need->seconds_per_repetition = 4.0 * (26e-5 + (double)n_sent * sizeof(double) / 5e8);
    if (shape->oversubscribed) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "ranks share cores: overlapped_time tells how they share, not "
                       "how the network overlaps; do not use it");
        return ST_OK;
    }
    if (shape->n_ranks > 3 && (ranks[0] == shape->n_ranks || ranks[1] == shape->n_ranks ||
                               ranks[2] == shape->n_ranks)) {
        (void)snprintf(
            need->notes, sizeof need->notes,
            "%zu ranks form a line, each with 2 neighbours at most; counts with "
            "three factors make a cube",
            shape->n_ranks);
    }
    return ST_OK;
}

/* Where a point of this rank lies in the whole domain, which has a layer of ghosts as well. */
static uint64_t halo_global(const struct halo_state *s, uint64_t rank, size_t f,
                            const size_t at[3])
{
    const uint64_t n = s->halo.n;
    const uint64_t x = rank % s->ranks[0] * n + at[0];
    const uint64_t y = rank / s->ranks[0] % s->ranks[1] * n + at[1];
    const uint64_t z = rank / s->ranks[0] / s->ranks[1] * n + at[2];

    return ((f * (s->ranks[2] * n + 2) + z) * (s->ranks[1] * n + 2) + y) *
               (s->ranks[0] * n + 2) +
           x;
}

/* Is a point own (0), a ghost of a neighbour (1), or a ghost that nobody sends (2)? */
static int halo_kind(const struct stm_grid_halo *halo, const size_t at[3])
{
    int direction[3];
    bool is_own = true;

    for (int axis = 0; axis < 3; axis++) {
        direction[axis] = at[axis] == 0 ? -1 : at[axis] > halo->n ? 1 : 0;
        is_own = is_own && direction[axis] == 0;
    }
    for (size_t k = 0; k < halo->n_links && !is_own; k++) {
        const int *d = halo->links[k].direction;
        if (d[0] == direction[0] && d[1] == direction[1] && d[2] == direction[2]) {
            return 1;
        }
    }
    return is_own ? 0 : 2;
}

/* Own points get their value, ghosts NaN; or (check not NULL) all ghosts are compared. */
static void halo_visit(struct halo_state *s, int rank, struct st_check *check)
{
    struct stm_grid_halo *halo = &s->halo;
    const size_t m = halo->n + 2;
    const size_t n_rows = halo->n_fields * m * m;

    for (size_t row = 0; row < n_rows; row++) {
        size_t at[3] = {0, row % m, row / m % m};
        const size_t f = row / m / m;
        for (at[0] = 0; at[0] < m; at[0]++) {
            const int kind = halo_kind(halo, at);
            const double want =
                kind == 2 ? (double)NAN
                          : stk_random_unit(1, halo_global(s, (uint64_t)rank, f, at));
            double *value = &halo->field[stm_grid_at(halo, f, at)];
            if (check == NULL) {
                *value = kind == 0 ? want : (double)NAN;
            } else if (kind != 0) {
                st_check_true(check, *value == want || (kind == 2 && isnan(*value)),
                              kind == 2 ? "a ghost that no neighbour sends was written"
                                        : "a ghost has not its neighbour's value");
            }
        }
    }
}

static enum st_status halo_exchange(struct st_run *run, struct halo_state *s)
{
    const enum st_status rc = stm_grid_halo_start(&s->halo, &run->err);

    return rc == ST_OK ? stm_grid_halo_finish(&s->halo, &run->err) : rc;
}

/* On one thread, as the exchange; steps so small that the sums stay finite. */
static void halo_compute(struct halo_state *s, size_t n_chunks)
{
    static const size_t start[] = {0, HALO_CHUNK};
    const struct stk_split split = {.n_parts = 1, .start = start};

    for (size_t k = 0; k < n_chunks; k++) {
        stk_axpy(&split, 0x1p-40, s->x, s->y);
    }
}

/* How many chunks take as long as an exchange; the same on all ranks. The least of the trials
 * counts: a trial in which a neighbour was late says nothing about the exchange. */
static enum st_status halo_calibrate(struct st_run *run, struct halo_state *s)
{
    double exchange[HALO_TRIALS];
    double chunk[HALO_TRIALS];
    double mine[2];
    double all[2];

    for (size_t k = 0; k < HALO_TRIALS; k++) {
        const double start = st_now();
        const enum st_status rc = halo_exchange(run, s);
        const double between = st_now();
        if (rc != ST_OK) {
            return rc;
        }
        halo_compute(s, HALO_CHUNK_ROUNDS);
        exchange[k] = between - start;
        chunk[k] = (st_now() - between) / HALO_CHUNK_ROUNDS;
    }
    st_sort(HALO_TRIALS, exchange);
    st_sort(HALO_TRIALS, chunk);
    mine[0] = exchange[0];
    mine[1] = chunk[0];
    STM_TRY(&run->err,
            MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, run->comm.handle));
    s->n_chunks = all[1] > 0.0 && all[0] > all[1] ? (size_t)(all[0] / all[1]) : 1;
    return ST_OK;
}

static enum st_status halo_prepare(struct st_run *run, void *state)
{
    const struct halo_params *p = run->params;
    struct halo_state *s = state;

    st_hpcg_rank_grid((uint64_t)run->comm.n_ranks, s->ranks);
    enum st_status rc =
        stm_grid_halo_init(&run->comm, s->ranks, (size_t)p->n, (size_t)p->fields,
                           p->neighbours == 0, &s->halo, &run->err);
    if (rc == ST_OK) {
        s->x = st_calloc(&run->err, HALO_CHUNK, sizeof(double));
        s->y = s->x == NULL ? NULL : st_calloc(&run->err, HALO_CHUNK, sizeof(double));
        rc = s->y == NULL ? run->err.code : ST_OK;
    }
    rc = stm_agree(&run->comm, rc, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    for (size_t i = 0; i < HALO_CHUNK; i++) {
        s->x[i] = 1.0;
        s->y[i] = 1.0;
    }
    halo_visit(s, run->comm.rank, NULL);
    st_set_work(run, M_BANDWIDTH, (double)s->halo.n_sent * sizeof(double));
    return halo_calibrate(run, s);
}

static void halo_record(struct st_run *run, const struct halo_state *s)
{
    const double exchange = s->seconds[HALO_S_EXCHANGE];
    const size_t self = (size_t)run->comm.rank;

    if (run->section == HALO_S_EXCHANGE) {
        st_record(run->rec, M_RANK_EXCHANGE, self, exchange);
    }
}

static enum st_status halo_run(struct st_run *run, void *state)
{
    struct halo_state *s = state;
    enum st_status rc = ST_OK;
    const double start = st_now();

    for (size_t k = 0; k < run->n_inner && rc == ST_OK; k++) {
        if (run->section == HALO_S_COMPUTE) {
            halo_compute(s, s->n_chunks);
            continue;
        }
        rc = stm_grid_halo_start(&s->halo, &run->err);
        if (rc == ST_OK && run->section == HALO_S_BOTH) {
            halo_compute(s, s->n_chunks);
        }
        rc = rc == ST_OK ? stm_grid_halo_finish(&s->halo, &run->err) : rc;
    }
    s->seconds[run->section] = (st_now() - start) / (double)run->n_inner;
    if (rc == ST_OK) {
        halo_record(run, s);
    }
    return rc;
}

static enum st_status halo_verify(struct st_run *run, void *state, struct st_check *check)
{
    struct halo_state *s = state;

    halo_visit(s, run->comm.rank, NULL);
    const enum st_status rc = halo_exchange(run, s);
    if (rc != ST_OK) {
        return rc;
    }
    if (s->spoiled) {
        s->halo.field[0] = 2.0; /* a corner ghost; own values are below 1 */
    }
    halo_visit(s, run->comm.rank, check);
    return ST_OK;
}

static void halo_release(void *state)
{
    struct halo_state *s = state;

    stm_grid_halo_clear(&s->halo);
    st_free(s->x);
    st_free(s->y);
}

/* verify() exchanges anew, so the ghost is altered there. */
static void halo_spoil(void *state)
{
    ((struct halo_state *)state)->spoiled = true;
}

const struct st_bench st_bench_halo = {
    .name = "halo",
    .summary = "Boundary exchange of a 3-D solver, alone and overlapped with computing.",
    .source = "METHODS 3.5; the exchange of HPCG (Dongarra, Heroux, Luszczek, 2016)",
    ST_TABLES(params, metrics),
    ST_SIZES(struct halo_params, struct halo_state),
    .min_ranks = 2,
    ST_STAGES(halo),
};
