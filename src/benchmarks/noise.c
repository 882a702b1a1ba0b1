/*
 * noise: what the system takes from every core (METHODS 7), because a noisy core looks like a
 * slow network. Two ways at once on all threads of a rank: the same work again and again (fixed
 * work quantum), and a clock read in a tight loop whose gaps are counted (Selfish).
 *
 * Rank metrics are those of the rank's noisiest core; the curves have every core.
 *
 * All ranks do the work that rank 0 found to last a quantum, so that cores can be compared.
 * Before that the core runs for a while: the shortest time would else be one of a higher clock
 * frequency than the rest.
 */
#include "kernels/fwq.h"
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_noise.h"
#include "src/measure/run.h"

#include <omp.h>

#include <stdio.h>

enum {
    NOISE_S_FWQ,
    NOISE_S_GAPS
};

enum {
    M_NOISE,
    M_SLOWEST,
    M_P999,
    M_KURTOSIS,
    M_CORE_NOISE,
    M_LOST,
    M_DETOURS,
    M_LONGEST,
    M_CORE_LOST
};

enum {
    NOISE_TRIALS = 5,
    NOISE_FIRST_STEPS = 256,
    NOISE_SEED = 1
};

struct noise_params {
    uint64_t samples;
    double quantum, watch, settle;
};

/* One thread's results, on a cache line of its own. */
struct noise_thread {
    _Alignas(ST_MEM_ALIGNMENT) double *times; /* [samples] */
    uint64_t x;                               /* end of the chain */
    struct st_gaps gaps;
    double watched_s;
};

struct noise_state {
    size_t n_threads;
    size_t first_place;
    uint64_t sink; /* end of the work before the first section: used, so not left out */
    uint64_t n_steps; /* of a quantum */
    uint64_t n_done;  /* steps of each thread in the last section */
    struct noise_thread *threads;
    double *times; /* [n_threads][samples] */
};

static const struct st_param params[] = {
    ST_PARAM_COUNT(noise_params, samples, "2000", 10, 1e7, "quanta of a repetition"),
    ST_PARAM_REAL(noise_params, quantum, "s", "100us", 1e-6, 1.0,
                  "time of the fixed work on rank 0"),
    ST_PARAM_REAL(noise_params, watch, "s", "200ms", 1e-4, 3600.0,
                  "time that gaps are looked for"),
    ST_PARAM_REAL(noise_params, settle, "s", "1s", 0.0, 60.0,
                  "time to run before, until the clock frequency is steady"),
};

static const struct st_metric metrics[] = {
    [M_NOISE] = {"noise", "1", ST_LOWER, ST_RANK, ST_GIVEN, NOISE_S_FWQ,
                 "(mean - min) / min of the quanta, noisiest core"},
    [M_SLOWEST] = {"slowest", "1", ST_LOWER, ST_RANK, ST_GIVEN, NOISE_S_FWQ,
                   "longest quantum over the shortest, worst core"},
    [M_P999] = {"p999", "1", ST_LOWER, ST_RANK, ST_GIVEN, NOISE_S_FWQ,
                "99.9th percentile of the quanta over the shortest, worst core"},
    [M_KURTOSIS] = {"kurtosis", "1", ST_NEITHER, ST_RANK, ST_GIVEN, NOISE_S_FWQ,
                    "excess kurtosis of the quanta of the noisiest core"},
    [M_CORE_NOISE] = {"core_noise", "1", ST_LOWER, ST_POINT, ST_GIVEN, NOISE_S_FWQ,
                      "(mean - min) / min of the quanta of each core"},
    [M_LOST] = {"lost_time", "1", ST_LOWER, ST_RANK, ST_GIVEN, NOISE_S_GAPS,
                "time in gaps of the clock over time watched, worst core"},
    [M_DETOURS] = {"detours", "s-1", ST_LOWER, ST_RANK, ST_GIVEN, NOISE_S_GAPS,
                   "gaps above 9 times the smallest, worst core"},
    [M_LONGEST] = {"longest_detour", "s", ST_LOWER, ST_RANK, ST_GIVEN, NOISE_S_GAPS,
                   "longest gap, worst core"},
    [M_CORE_LOST] = {"core_lost_time", "1", ST_LOWER, ST_POINT, ST_GIVEN, NOISE_S_GAPS,
                     "time in gaps of the clock over time watched, each core"},
};

static enum st_status noise_plan(const void *parameters, const struct st_shape *shape,
                                 struct st_need *need, struct st_error *err)
{
    const struct noise_params *p = parameters;

    (void)err;
    need->bytes_per_rank =
        shape->max_threads * (p->samples * sizeof(double) + sizeof(struct noise_thread)) +
        shape->n_threads * sizeof(struct st_place) + shape->n_ranks * sizeof(int);
    need->seconds_per_repetition = 2.0 * (double)p->samples * p->quantum + p->watch;
    if (shape->oversubscribed) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "noise: threads share cores, so each is the other's noise");
    }
    return ST_OK;
}

/* Steps that last a quantum: the shortest of a few trials, scaled up. */
static uint64_t noise_calibrate(double quantum, uint64_t *x)
{
    double shortest = 0.0;
    size_t n = NOISE_FIRST_STEPS;

    do {
        n *= 2;
        for (int k = 0; k < NOISE_TRIALS; k++) {
            const double begin = st_now();
            *x = stk_fwq(*x, n);
            const double time = st_now() - begin;
            shortest = k == 0 || time < shortest ? time : shortest;
        }
    } while (shortest < 0.5 * quantum && n < (size_t)1 << 40);
    const double steps = (double)n * quantum / (shortest > 0.0 ? shortest : quantum);
    return steps >= 1.0 ? (uint64_t)steps : 1;
}

/* Counts of threads and, after them, the first place of each rank. @return places of the group */
static size_t noise_number(struct noise_state *s, const struct stm_comm *comm,
                           int *counts)
{
    size_t n = 0;

    for (int r = 0; r < comm->n_ranks; r++) {
        s->first_place = r == comm->rank ? n : s->first_place;
        counts[comm->n_ranks + r] = (int)n; /* as many as threads of a group */
        n += (size_t)counts[r];
    }
    return n;
}

/* With the places' values: the system's CPU number, or the thread's if that is not known. */
static enum st_status noise_declare(struct st_run *run, const int *counts,
                                    struct st_place *places, double *all)
{
    const int n_ranks = run->comm.n_ranks;
    const int first = counts[n_ranks + run->comm.rank];
    const int mine = counts[run->comm.rank];
    const struct st_thread_place *seat = run->place->threads;
    size_t n = 0;

    for (int t = 0; t < mine; t++) {
        all[first + t] = seat != NULL && seat[t].pu >= 0 ? (double)seat[t].pu : (double)t;
    }
    STM_TRY(&run->err, MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts,
                                      counts + n_ranks, MPI_DOUBLE, run->comm.handle));
    for (int r = 0; r < n_ranks; r++) {
        for (int t = 0; t < counts[r]; t++, n++) {
            places[n] = (struct st_place){.owner = (size_t)r, .value = all[n]};
        }
    }
    return st_set_places(run, ST_POINT, n, places);
}

/* Every core of the group is a place. Agreed before each message: all ranks meet or none. */
static enum st_status noise_places(struct st_run *run, struct noise_state *s, int *counts)
{
    const int mine = (int)s->n_threads;

    STM_TRY(&run->err,
            MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, run->comm.handle));
    const size_t n = noise_number(s, &run->comm, counts);
    double *all = st_calloc(&run->err, n, sizeof *all);
    struct st_place *places = st_calloc(&run->err, n, sizeof *places);
    enum st_status rc = all == NULL || places == NULL ? ST_ERR_MEMORY : ST_OK;
    rc = stm_agree(&run->comm, rc, &run->err);
    if (rc == ST_OK && all != NULL && places != NULL) {
        rc = noise_declare(run, counts, places, all);
    }
    st_free(all);
    st_free(places);
    return rc;
}

static enum st_status noise_prepare(struct st_run *run, void *state)
{
    const struct noise_params *p = run->params;
    struct noise_state *s = state;
    const double begin = st_now();
    size_t n = 0;

    s->n_threads = run->place->n_threads;
    while (st_now() - begin < p->settle) {
        s->sink = stk_fwq(s->sink, NOISE_FIRST_STEPS);
    }
    s->n_steps = noise_calibrate(p->quantum, &s->sink);
    STM_TRY(&run->err, MPI_Bcast(&s->n_steps, 1, MPI_UINT64_T, 0, run->comm.handle));
    int *counts = st_calloc(&run->err, (size_t)run->comm.n_ranks, 2 * sizeof *counts);
    enum st_status rc =
        stm_agree(&run->comm, counts == NULL ? ST_ERR_MEMORY : ST_OK, &run->err);
    if (rc == ST_OK && counts != NULL) {
        rc = noise_places(run, s, counts);
    }
    st_free(counts);
    if (rc != ST_OK) {
        return rc;
    }
    if (!st_mul_size(s->n_threads, (size_t)p->samples, &n)) {
        return st_fail(&run->err, ST_ERR_MEMORY, "noise: threads x samples overflows");
    }
    s->threads = st_calloc(&run->err, s->n_threads, sizeof *s->threads);
    s->times = st_calloc(&run->err, n, sizeof *s->times);
    if (s->threads == NULL || s->times == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t t = 0; t < s->n_threads; t++) {
        s->threads[t].times = s->times + t * p->samples;
    }
    return ST_OK;
}

/* One thread's quanta. One reading ends a quantum and starts the next. */
static void noise_quanta(struct noise_thread *thread, size_t n, size_t n_steps)
{
    double before = st_now();

    for (size_t k = 0; k < n; k++) {
        thread->x = stk_fwq(thread->x, n_steps);
        const double after = st_now();
        thread->times[k] = after - before;
        before = after;
    }
}

static void noise_watch(struct noise_thread *thread, double watch)
{
    struct st_gaps gaps = {0};
    const double begin = st_now();
    double before = begin;

    while (before - begin < watch) {
        const double after = st_now();
        st_gaps_add(&gaps, after - before);
        before = after;
    }
    thread->gaps = gaps;
    thread->watched_s = before - begin;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void noise_record_quanta(struct st_run *run, const struct noise_state *s)
{
    const struct noise_params *p = run->params;
    struct st_noise worst = {.fraction = -1.0};

    for (size_t t = 0; t < s->n_threads; t++) {
        const struct st_noise own = st_noise_of((size_t)p->samples, s->threads[t].times);
        st_record(run->rec, M_CORE_NOISE, s->first_place + t, own.fraction);
        worst.kurtosis = own.fraction > worst.fraction ? own.kurtosis : worst.kurtosis;
        worst.fraction = larger(worst.fraction, own.fraction);
        worst.max_over_min = larger(worst.max_over_min, own.max_over_min);
        worst.p999_over_min = larger(worst.p999_over_min, own.p999_over_min);
    }
    const size_t place = (size_t)run->comm.rank;
    st_record(run->rec, M_NOISE, place, worst.fraction);
    st_record(run->rec, M_SLOWEST, place, worst.max_over_min);
    st_record(run->rec, M_P999, place, worst.p999_over_min);
    st_record(run->rec, M_KURTOSIS, place, worst.kurtosis);
}

static void noise_record_gaps(struct st_run *run, const struct noise_state *s)
{
    double lost = 0.0;
    double detours = 0.0;
    double longest = 0.0;

    for (size_t t = 0; t < s->n_threads; t++) {
        const struct noise_thread *thread = &s->threads[t];
        const double share = thread->gaps.lost / thread->watched_s;
        st_record(run->rec, M_CORE_LOST, s->first_place + t, share);
        lost = larger(lost, share);
        detours = larger(detours, (double)thread->gaps.n_detours / thread->watched_s);
        longest = larger(longest, thread->gaps.longest);
    }
    const size_t place = (size_t)run->comm.rank;
    st_record(run->rec, M_LOST, place, lost);
    st_record(run->rec, M_DETOURS, place, detours);
    st_record(run->rec, M_LONGEST, place, longest);
}

/* Both loops last long enough for any clock: repeated for the harness, the last one counts. */
static enum st_status noise_run(struct st_run *run, void *state)
{
    const struct noise_params *p = run->params;
    struct noise_state *s = state;
    const size_t n_inner = run->n_inner;
    const bool quanta = run->section == NOISE_S_FWQ;
    struct noise_thread *const threads = s->threads;
    const size_t n_threads = s->n_threads;
    const size_t n_steps = (size_t)s->n_steps;
    const size_t samples = (size_t)p->samples;
    const double watch = p->watch;

#pragma omp parallel for default(none) schedule(static)                                  \
    shared(threads, n_threads, n_steps, samples, watch, n_inner, quanta)                 \
        num_threads((int)n_threads)
    for (size_t t = 0; t < n_threads; t++) {
        threads[t].x = quanta ? NOISE_SEED : threads[t].x;
        for (size_t k = 0; k < n_inner; k++) {
            if (quanta) {
                noise_quanta(&threads[t], samples, n_steps);
            } else {
                noise_watch(&threads[t], watch);
            }
        }
    }
    if (quanta) {
        s->n_done = s->n_steps * p->samples * n_inner;
        noise_record_quanta(run, s);
    } else {
        noise_record_gaps(run, s);
    }
    return ST_OK;
}

/* The work was done, all of it, on every core. */
static enum st_status noise_verify(struct st_run *run, void *state,
                                   struct st_check *check)
{
    const struct noise_state *s = state;
    const uint64_t want = stk_fwq_ref(NOISE_SEED, s->n_done);

    (void)run;
    for (size_t t = 0; t < s->n_threads; t++) {
        st_check_true(check, s->threads[t].x == want, "result of the fixed work");
    }
    return ST_OK;
}

static void noise_release(void *state)
{
    struct noise_state *s = state;

    st_free(s->threads);
    st_free(s->times);
}

static void noise_spoil(void *state)
{
    struct noise_state *s = state;

    s->threads[0].x ^= 1;
}

const struct st_bench st_bench_noise = {
    .name = "noise",
    .summary = "What the operating system takes from every core.",
    .source = "METHODS 7; FWQ (LLNL); Beckman et al., Cluster 2006 (Selfish)",
    ST_TABLES(params, metrics),
    .point_name = "cpu",
    .point_unit = "1",
    ST_SIZES(struct noise_params, struct noise_state),
    ST_STAGES(noise),
};
