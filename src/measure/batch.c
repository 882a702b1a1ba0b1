/*
 * A batch of repetitions: the only timed code of the harness, and the reductions after it.
 *
 * Timed path: start together, read the clock, run(), read the clock. No allocation, no
 * agreement, no printing. A run() that fails is remembered while the batch goes on, since
 * the other ranks are inside the same collective calls; the ranks agree after the batch.
 *
 * Time of a repetition over several ranks is max(end) - min(start) (METHODS 0). Both come
 * from one MAX reduction by sending -start. Ranks that share a clock compare plain readings;
 * only across nodes does the clock model enter (CASES 28).
 */
#include "src/measure/active.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

enum {
    BATCH_START,
    BATCH_END,
    BATCH_LAST_START,
    BATCH_LATE,
    BATCH_FIELDS
};
/* METHODS 3.6: a skew above 10 % of the measured time spoils it */
static const double SKEW_MAX = 0.1;

enum st_status st_batch_init(struct st_active *a, size_t capacity)
{
    struct st_batch *b = &a->batch;
    double **const single[] = {&b->start, &b->end, &b->late};
    double **const triple[] = {&b->send, &b->node, &b->group};
    size_t n = 0;

    b->capacity = capacity;
    if (!st_mul_size(a->n_sections, capacity, &n)) {
        return st_fail(a->err, ST_ERR_MEMORY, "%zu sections x %zu repetitions overflow",
                       a->n_sections, capacity);
    }
    for (size_t i = 0; i < ST_COUNT(single); i++) {
        *single[i] = st_calloc(a->err, n, sizeof **single[i]);
        *triple[i] = st_calloc(a->err, n, BATCH_FIELDS * sizeof **triple[i]);
        if (*single[i] == NULL || *triple[i] == NULL) {
            return ST_ERR_MEMORY; /* st_batch_clear() frees the rest */
        }
    }
    return ST_OK;
}

void st_batch_clear(struct st_batch *b)
{
    const struct st_batch empty = {0};

    st_free(b->start);
    st_free(b->end);
    st_free(b->late);
    st_free(b->send);
    st_free(b->node);
    st_free(b->group);
    *b = empty;
}

double st_active_time(const struct st_active *a, bool shares, double local_s)
{
    return shares ? local_s : stm_clock_global(&a->clock, local_s);
}

/* One section, from the synchronised start to the second reading. */
static enum st_status timed_section(struct st_active *a, size_t s, double *start,
                                    double *end, bool *late)
{
    struct st_run *run = &a->run;

    run->section = a->section[s];
    run->n_inner = a->outcome->n_inner[a->section[s]];
    atomic_store_explicit(&a->where->section, run->section, memory_order_relaxed);
    st_doing(a->where, ST_DOING_START);
    const enum st_status rc =
        stm_start_together(&run->comm, &a->clock, st_now,
                           !a->layout->shape.oversubscribed, &a->lead_s, late, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    st_doing(a->where, ST_DOING_RUN);
    *start = st_now();
    const enum st_status mine = run->bench->run(run, a->state);
    *end = st_now();
    if (mine != ST_OK && a->run_status == ST_OK) {
        a->run_status = mine;
        a->run_err = run->err;
    }
    a->in_run_s += *end - *start;
    return mine == ST_ERR_MPI ? mine : ST_OK;
}

enum st_status st_section_time(struct st_active *a, size_t s, double *seconds, bool *late)
{
    double start = 0.0;
    double end = 0.0;
    const enum st_status rc = timed_section(a, s, &start, &end, late);

    *seconds = end - start;
    return rc;
}

static enum st_status run_batch(struct st_active *a, size_t first, size_t n)
{
    struct st_batch *b = &a->batch;

    for (size_t k = 0; k < n; k++) {
        a->run.repetition = first + k;
        a->rec.repetition = first + k;
        atomic_store_explicit(&a->where->repetition, first + k, memory_order_relaxed);
        for (size_t s = 0; s < a->n_sections; s++) {
            const size_t at = s * n + k;
            bool late = false;
            const enum st_status rc =
                timed_section(a, s, &b->start[at], &b->end[at], &late);
            b->late[at] = late ? 1.0 : 0.0;
            if (rc != ST_OK) {
                return rc;
            }
        }
    }
    return ST_OK;
}

/* NaN has no place in a MAX reduction; an infinite bound makes the duration bad as well. */
static double reducible(double value)
{
    return isnan(value) ? (double)INFINITY : value;
}

static void fill(struct st_active *a, bool shares)
{
    struct st_batch *b = &a->batch;
    const size_t size = a->n_sections * b->n;

    for (size_t i = 0; i < size; i++) {
        b->send[BATCH_START * size + i] =
            reducible(-st_active_time(a, shares, b->start[i]));
        b->send[BATCH_END * size + i] = reducible(st_active_time(a, shares, b->end[i]));
        b->send[BATCH_LAST_START * size + i] =
            reducible(st_active_time(a, shares, b->start[i]));
        b->send[BATCH_LATE * size + i] = b->late[i];
    }
}

static enum st_status exchange(struct st_active *a)
{
    struct st_batch *b = &a->batch;
    int count = 0;

    const enum st_status rc =
        stm_count(BATCH_FIELDS * a->n_sections * b->n, &count, a->err);
    if (rc != ST_OK) {
        return rc;
    }
    fill(a, a->node_shares_clock);
    STM_TRY(a->err,
            MPI_Reduce(b->send, b->node, count, MPI_DOUBLE, MPI_MAX, 0, a->node.handle));
    fill(a, a->group_shares_clock);
    STM_TRY(a->err, MPI_Allreduce(b->send, b->group, count, MPI_DOUBLE, MPI_MAX,
                                  a->run.comm.handle));
    return ST_OK;
}

struct st_span st_span_form(double first_start, double last_start, double last_end,
                            bool oversubscribed)
{
    const struct st_span span = {
        .seconds = last_end - first_start,
        .skewed = !oversubscribed &&
                  !(last_start - first_start <= SKEW_MAX * (last_end - first_start))};

    return span;
}

/* A rank's own time does not contain the others' starts. */
static struct st_span span_of(const struct st_active *a, enum st_place_kind kind,
                              size_t at)
{
    const struct st_batch *b = &a->batch;
    const size_t size = a->n_sections * b->n;
    const double *reduced = kind == ST_NODE ? b->node : b->group;

    if (kind != ST_NODE && kind != ST_JOB) {
        return st_span_form(b->start[at], b->start[at], b->end[at], true);
    }
    return st_span_form(-reduced[BATCH_START * size + at],
                        reduced[BATCH_LAST_START * size + at],
                        reduced[BATCH_END * size + at], a->layout->shape.oversubscribed);
}

static size_t section_index(const struct st_active *a, uint32_t section)
{
    size_t s = 0;

    while (s + 1 < a->n_sections && a->section[s] != section) {
        s++;
    }
    return s;
}

/* All samples of one metric in this batch. */
static void form_row(struct st_active *a, size_t row, size_t first, double wall_s)
{
    const struct st_metric *metric = &a->run.bench->metrics[row];
    const struct st_batch *b = &a->batch;
    const size_t size = a->n_sections * b->n;
    const size_t s = section_index(a, metric->section);

    if (!a->rec.series[row].applies || a->rec.lists[metric->place].n_owned == 0) {
        return;
    }
    for (size_t k = 0; k < b->n; k++) {
        const size_t at = s * b->n + k;
        const bool late = b->group[BATCH_LATE * size + at] > 0.0;
        if (metric->origin == ST_GIVEN) {
            st_recorder_settle(&a->rec, row, first + k, late && !a->run.bench->own_start);
            continue;
        }
        const struct st_span span = span_of(a, metric->place, at);
        const struct st_duration duration = {
            .seconds = span.seconds,
            .wall_s = wall_s,
            .n_inner = (double)a->outcome->n_inner[metric->section],
            .late = late || span.skewed};
        st_recorder_form(&a->rec, row, first + k, &duration);
    }
}

enum st_status st_batch_measure(struct st_active *a, size_t first, size_t n)
{
    a->batch.n = n;
    a->rec.recording = true;
    enum st_status rc = run_batch(a, first, n);
    a->rec.recording = false;
    if (rc != ST_OK) {
        *a->err = a->run.err;
        return rc; /* ST_ERR_MPI: nothing can be agreed upon */
    }
    a->mark_s += a->in_run_s; /* what is left of the loop's time was synchronisation */
    a->outcome->phase_s[first == 0 ? ST_PHASE_WARMUP : ST_PHASE_MEASURED] += a->in_run_s;
    a->in_run_s = 0.0;
    st_active_account(a, ST_PHASE_SYNC);

    st_doing(a->where, ST_DOING_DECIDE);
    (void)st_clock_watch_look(&a->watch);
    rc = a->run_status;
    if (rc != ST_OK) {
        *a->err = a->run_err;
        (void)st_note(a->err, ", in repetition %zu at the latest", first + n - 1);
    } else {
        rc = st_recorder_check(&a->rec, a->err);
    }
    rc = stm_agree(&a->layout->step, rc, a->err);
    if (rc == ST_OK) {
        rc = exchange(a);
    }
    if (rc == ST_OK) {
        const double wall_s = st_now() - a->begin_s;
        for (size_t row = 0; row < a->run.bench->n_metrics; row++) {
            form_row(a, row, first, wall_s);
        }
    }
    return rc;
}
