/*
 * Samples by metric, owned place and repetition. Only owners store; the full lists of pairs,
 * NUMA places and points live on group rank 0, which tells rank 0 of the world about them.
 *
 * A benchmark's wrong call (row, place, owner) cannot be answered at once, since st_record()
 * runs in timed code: the first one is kept and fails the step at the next agreement.
 */
#include "src/measure/recorder.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/stats/stats.h"

#include <math.h>
#include <string.h>

static bool is_declared_kind(enum st_place_kind kind)
{
    return kind == ST_PAIR || kind == ST_NUMA || kind == ST_POINT;
}

/* JOB, NODE and RANK: this rank owns one place or none. */
static enum st_status own_one(struct st_place_list *list, size_t n, bool owns,
                              size_t place, struct st_error *err)
{
    list->n = n;
    list->n_owned = owns ? 1 : 0;
    list->owned = st_calloc(err, 1, sizeof *list->owned);
    if (list->owned == NULL) {
        return ST_ERR_MEMORY;
    }
    list->owned[0] = place;
    return ST_OK;
}

enum st_status st_recorder_init(struct st_recorder *rec, const struct st_bench *bench,
                                const void *params, const struct stm_comm *group,
                                const struct st_place_info *place, struct st_error *err)
{
    const size_t rank = (size_t)group->rank;

    rec->bench = bench;
    rec->rank = rank;
    rec->n_ranks = (size_t)group->n_ranks;
    rec->series = st_calloc(err, bench->n_metrics, sizeof *rec->series);
    if (rec->series == NULL) {
        return ST_ERR_MEMORY;
    }
    enum st_status rc = own_one(&rec->lists[ST_JOB], 1, rank == 0, 0, err);
    if (rc == ST_OK) {
        rc = own_one(&rec->lists[ST_NODE], place->n_nodes, place->local_rank == 0,
                     place->node, err);
    }
    if (rc == ST_OK) {
        rc = own_one(&rec->lists[ST_RANK], rec->n_ranks, true, rank, err);
    }
    for (size_t row = 0; rc == ST_OK && row < bench->n_metrics; row++) {
        rec->series[row].applies = st_bench_applies(bench, params, row);
    }
    return rc;
}

enum st_status st_recorder_reserve(struct st_recorder *rec, size_t capacity,
                                   struct st_error *err)
{
    rec->capacity = capacity;
    rec->scratch = st_calloc(err, capacity, 2 * sizeof *rec->scratch);
    if (rec->scratch == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t row = 0; row < rec->bench->n_metrics; row++) {
        struct st_series *series = &rec->series[row];
        const size_t n_owned = rec->lists[rec->bench->metrics[row].place].n_owned;
        size_t n = 0;
        if (!series->applies || n_owned == 0) {
            continue;
        }
        if (!st_mul_size(n_owned, capacity, &n)) {
            return st_fail(err, ST_ERR_MEMORY,
                           "%zu places x %zu repetitions do not fit in memory", n_owned,
                           capacity);
        }
        series->values = st_calloc(err, n, sizeof *series->values);
        series->validity = st_calloc(err, n, sizeof *series->validity);
        if (series->values == NULL || series->validity == NULL) {
            return st_note(err, ", for the samples of metric %s",
                           rec->bench->metrics[row].name);
        }
        for (size_t i = 0; i < n; i++) {
            series->values[i] = (double)NAN;
            series->validity[i] = (int8_t)ST_MISSING;
        }
    }
    return ST_OK;
}

void st_recorder_clear(struct st_recorder *rec)
{
    const struct st_recorder empty = {0};

    for (size_t row = 0; rec->series != NULL && row < rec->bench->n_metrics; row++) {
        st_free(rec->series[row].values);
        st_free(rec->series[row].validity);
    }
    st_free(rec->series);
    st_free(rec->scratch);
    for (size_t kind = 0; kind < ST_N_PLACE_KINDS; kind++) {
        st_free(rec->lists[kind].owned);
        st_free(rec->lists[kind].all);
    }
    *rec = empty;
}

/* Keep the first wrong call; the format's arguments are the caller's. */
#define MISUSE(rec, ...)                                                                 \
    do {                                                                                 \
        if ((rec)->misuse.code == ST_OK) {                                               \
            (void)st_fail(&(rec)->misuse, ST_ERR_INTERNAL, __VA_ARGS__);                 \
        }                                                                                \
    } while (0)

void st_set_work(struct st_run *run, size_t row, double amount)
{
    struct st_recorder *rec = run->rec;

    if (row >= rec->bench->n_metrics || rec->bench->metrics[row].origin != ST_FROM_WORK) {
        MISUSE(rec, "benchmark %s states work for row %zu, which has no origin work/time",
               rec->bench->name, row);
        return;
    }
    if (!(amount >= 0.0) || isinf(amount)) {
        MISUSE(rec, "benchmark %s states work of %g for metric %s", rec->bench->name,
               amount, rec->bench->metrics[row].name);
        return;
    }
    rec->series[row].work = amount;
    rec->series[row].work_stated = true;
}

/* FNV-1a (Fowler, Noll, Vo) over the list; it only has to tell unequal lists apart. */
static uint64_t fingerprint(size_t n, const struct st_place *places)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < n; i++) {
        uint64_t value = 0;
        memcpy(&value, &places[i].value, sizeof value);
        const uint64_t parts[4] = {places[i].owner, places[i].a, places[i].b, value};
        for (size_t j = 0; j < ST_COUNT(parts); j++) {
            hash = (hash ^ parts[j]) * 1099511628211u;
        }
    }
    return hash ^ n;
}

static enum st_status check_places(struct st_run *run, enum st_place_kind kind, size_t n,
                                   const struct st_place *places)
{
    const size_t n_ranks = run->rec->n_ranks;

    if (!is_declared_kind(kind) || run->rec->lists[kind].declared) {
        return st_fail(&run->err, ST_ERR_INTERNAL,
                       "benchmark %s declares places of kind %s %s", run->bench->name,
                       st_place_word(kind),
                       is_declared_kind(kind) ? "twice" : "which the harness makes");
    }
    for (size_t i = 0; i < n; i++) {
        const bool is_in_group =
            kind != ST_PAIR || (places[i].a < n_ranks && places[i].b < n_ranks);
        if (kind == ST_POINT && !isfinite(places[i].value)) {
            return st_fail(&run->err, ST_ERR_INTERNAL,
                           "benchmark %s: point %zu of a curve has no value",
                           run->bench->name, i);
        }
        if (places[i].owner >= n_ranks || !is_in_group) {
            return st_fail(&run->err, ST_ERR_INTERNAL,
                           "benchmark %s: place %zu (%zu, %zu; owner %zu) is outside a "
                           "group of %zu ranks",
                           run->bench->name, i, places[i].a, places[i].b, places[i].owner,
                           n_ranks);
        }
    }
    return ST_OK;
}

enum st_status st_set_places(struct st_run *run, enum st_place_kind kind, size_t n,
                             const struct st_place *places)
{
    struct st_recorder *rec = run->rec;
    size_t n_owned = 0;

    const enum st_status rc = check_places(run, kind, n, places);
    if (rc != ST_OK) {
        return rc;
    }
    struct st_place_list *list = &rec->lists[kind];
    for (size_t i = 0; i < n; i++) {
        n_owned += places[i].owner == rec->rank ? 1 : 0;
    }
    list->owned = st_calloc(&run->err, n_owned, sizeof *list->owned);
    if (list->owned == NULL) {
        return ST_ERR_MEMORY;
    }
    if (rec->rank == 0) {
        list->all = st_calloc(&run->err, n, sizeof *list->all);
        if (list->all == NULL) {
            return ST_ERR_MEMORY; /* st_recorder_clear() frees the other */
        }
        if (n > 0) {
            memcpy(list->all, places, n * sizeof *places);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (places[i].owner == rec->rank) {
            list->owned[list->n_owned++] = i;
        }
    }
    list->n = n;
    list->declared = true;
    list->fingerprint = fingerprint(n, places);
    return ST_OK;
}

size_t st_list_slot(const struct st_place_list *list, size_t place)
{
    size_t low = 0;
    size_t high = list->n_owned;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->owned[middle] < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < list->n_owned && list->owned[low] == place ? low : list->n_owned;
}

void st_record(struct st_recorder *rec, size_t row, size_t place, double value)
{
    if (row >= rec->bench->n_metrics || rec->bench->metrics[row].origin != ST_GIVEN ||
        !rec->series[row].applies) {
        MISUSE(rec, "benchmark %s records row %zu, which is no given metric of this step",
               rec->bench->name, row);
        return;
    }
    const struct st_place_list *list = &rec->lists[rec->bench->metrics[row].place];
    const size_t slot = st_list_slot(list, place);
    if (slot == list->n_owned) {
        MISUSE(rec,
               "benchmark %s records metric %s at place %zu of %zu on rank %zu, which "
               "does not own it",
               rec->bench->name, rec->bench->metrics[row].name, place, list->n,
               rec->rank);
        return;
    }
    if (rec->recording && rec->repetition < rec->capacity) {
        const size_t at = slot * rec->capacity + rec->repetition;
        rec->series[row].values[at] = value;
        rec->series[row].validity[at] = (int8_t)ST_VALID;
    }
}

void st_doubt(struct st_run *run, const char *text)
{
    struct st_recorder *rec = run->rec;

    if (rec->doubt[0] == '\0') {
        (void)st_copy(rec->doubt, sizeof rec->doubt, text);
    }
}

void st_remark(struct st_run *run, const char *text)
{
    struct st_recorder *rec = run->rec;

    if (rec->remark[0] == '\0') {
        (void)st_copy(rec->remark, sizeof rec->remark, text);
    }
}

enum st_status st_recorder_check(const struct st_recorder *rec, struct st_error *err)
{
    if (rec->misuse.code != ST_OK) {
        return st_fail(err, ST_ERR_INTERNAL, "%s", rec->misuse.text);
    }
    for (size_t row = 0; row < rec->bench->n_metrics; row++) {
        const struct st_metric *metric = &rec->bench->metrics[row];
        const struct st_series *series = &rec->series[row];
        if (!series->applies) {
            continue;
        }
        if (metric->origin == ST_FROM_WORK && !series->work_stated) {
            return st_fail(err, ST_ERR_INTERNAL,
                           "benchmark %s did not state the work of metric %s in prepare",
                           rec->bench->name, metric->name);
        }
        if (is_declared_kind(metric->place) && metric->origin != ST_GIVEN) {
            return st_fail(err, ST_ERR_INTERNAL,
                           "metric %s of benchmark %s: a %s has no time of its own, its "
                           "values must be given",
                           metric->name, rec->bench->name, st_place_word(metric->place));
        }
    }
    return ST_OK;
}

static int8_t validity_of(size_t repetition, bool is_bad, bool late)
{
    if (repetition == 0) {
        return (int8_t)ST_WARMUP;
    }
    if (is_bad) {
        return (int8_t)ST_BAD_DURATION;
    }
    return late ? (int8_t)ST_LATE_START : (int8_t)ST_VALID;
}

void st_recorder_form(struct st_recorder *rec, size_t row, size_t repetition,
                      const struct st_duration *duration)
{
    struct st_series *series = &rec->series[row];
    const double t = duration->seconds;
    const bool is_good = t > 0.0 && t < duration->wall_s && isfinite(t);

    if (rec->bench->metrics[row].origin == ST_FROM_TIME) {
        series->values[repetition] = isfinite(t) ? t / duration->n_inner : (double)NAN;
    } else {
        series->values[repetition] =
            is_good ? series->place_work * duration->n_inner / t : (double)NAN;
    }
    series->validity[repetition] = validity_of(repetition, !is_good, duration->late);
}

void st_recorder_settle(struct st_recorder *rec, size_t row, size_t repetition, bool late)
{
    struct st_series *series = &rec->series[row];
    const size_t n_owned = rec->lists[rec->bench->metrics[row].place].n_owned;

    for (size_t slot = 0; slot < n_owned; slot++) {
        const size_t at = slot * rec->capacity + repetition;
        if (repetition == 0 || series->validity[at] != (int8_t)ST_MISSING) {
            series->validity[at] =
                validity_of(repetition, !isfinite(series->values[at]), late);
        }
    }
}

/* Values of one series that count, in order of time. */
static size_t collect_valid(const struct st_recorder *rec, const struct st_series *series,
                            size_t slot, size_t n)
{
    size_t n_valid = 0;

    for (size_t k = 1; k < n; k++) {
        const size_t at = slot * rec->capacity + k;
        if (series->validity[at] == (int8_t)ST_VALID) {
            rec->scratch[n_valid++] = series->values[at];
        }
    }
    return n_valid;
}

static bool series_converged(const struct st_recorder *rec, size_t row, size_t slot,
                             size_t n, const struct st_repeat *repeat)
{
    static const int directions[] = {[ST_HIGHER] = 1, [ST_LOWER] = -1, [ST_NEITHER] = 0};
    const struct st_series *series = &rec->series[row];
    struct st_summary summary;
    size_t n_recorded = 0;

    for (size_t k = 1; k < n; k++) {
        n_recorded += series->validity[slot * rec->capacity + k] != (int8_t)ST_MISSING;
    }
    if (n_recorded == 0) {
        return true; /* nothing will come of more repetitions; the step tells of it */
    }
    const size_t n_valid = collect_valid(rec, series, slot, n);
    st_summarise(n_valid, rec->scratch, repeat->confidence, repeat->width,
                 directions[rec->bench->metrics[row].better],
                 rec->scratch + rec->capacity, &summary);
    /* a constant 0 (say, a share) has no relative width, but nothing is left to learn */
    return summary.converged || summary.ci_high - summary.ci_low <= 0.0;
}

bool st_recorder_converged(const struct st_recorder *rec, size_t n,
                           const struct st_repeat *repeat)
{
    for (size_t row = 0; row < rec->bench->n_metrics; row++) {
        const enum st_place_kind kind = rec->bench->metrics[row].place;
        const bool counts = rec->series[row].applies && kind != ST_POINT;
        for (size_t slot = 0; counts && slot < rec->lists[kind].n_owned; slot++) {
            if (!series_converged(rec, row, slot, n, repeat)) {
                return false;
            }
        }
    }
    return true;
}

void st_recorder_void(struct st_recorder *rec, enum st_place_kind kind, size_t n)
{
    for (size_t row = 0; row < rec->bench->n_metrics; row++) {
        struct st_series *series = &rec->series[row];
        if (!series->applies || rec->bench->metrics[row].place != kind) {
            continue;
        }
        for (size_t slot = 0; slot < rec->lists[kind].n_owned; slot++) {
            for (size_t k = 1; k < n; k++) {
                const size_t at = slot * rec->capacity + k;
                if (series->validity[at] != (int8_t)ST_MISSING) {
                    series->validity[at] = (int8_t)ST_CLOCK_BAD;
                }
            }
        }
    }
}

size_t st_recorder_count(const struct st_recorder *rec, size_t row, size_t n)
{
    const struct st_series *series = &rec->series[row];
    const size_t n_owned = rec->lists[rec->bench->metrics[row].place].n_owned;
    size_t count = 0;

    for (size_t slot = 0; slot < n_owned; slot++) {
        for (size_t k = 1; k < n; k++) {
            count += series->validity[slot * rec->capacity + k] != (int8_t)ST_MISSING;
        }
    }
    return count;
}

bool st_recorder_all_dropped(const struct st_recorder *rec, size_t row, size_t n)
{
    const struct st_series *series = &rec->series[row];
    const size_t n_owned = rec->lists[rec->bench->metrics[row].place].n_owned;

    for (size_t slot = 0; series->applies && slot < n_owned; slot++) {
        bool has_any = false;
        bool has_valid = false;
        for (size_t k = 1; k < n; k++) {
            const int8_t validity = series->validity[slot * rec->capacity + k];
            has_any = has_any || validity != (int8_t)ST_MISSING;
            has_valid = has_valid || validity == (int8_t)ST_VALID;
        }
        if (has_any && !has_valid) {
            return true;
        }
    }
    return false;
}

uint64_t st_recorder_dropped(const struct st_recorder *rec, size_t n)
{
    uint64_t dropped = 0;

    for (size_t row = 0; row < rec->bench->n_metrics; row++) {
        const size_t n_owned = rec->lists[rec->bench->metrics[row].place].n_owned;
        for (size_t slot = 0; rec->series[row].applies && slot < n_owned; slot++) {
            for (size_t k = 1; k < n; k++) {
                dropped += rec->series[row].validity[slot * rec->capacity + k] >
                           (int8_t)ST_WARMUP;
            }
        }
    }
    return dropped;
}

void st_recorder_close(struct st_recorder *rec, size_t n)
{
    for (size_t row = 0; row < rec->bench->n_metrics; row++) {
        struct st_series *series = &rec->series[row];
        const size_t n_owned = rec->lists[rec->bench->metrics[row].place].n_owned;
        if (series->values == NULL) {
            continue;
        }
        for (size_t slot = 1; slot < n_owned; slot++) {
            memmove(series->values + slot * n, series->values + slot * rec->capacity,
                    n * sizeof *series->values);
            memmove(series->validity + slot * n, series->validity + slot * rec->capacity,
                    n * sizeof *series->validity);
        }
    }
    rec->capacity = n;
}
