#ifndef ST_MEASURE_RECORDER_H
#define ST_MEASURE_RECORDER_H

#include "src/measure/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The samples of one step on the rank that owns their places. Everything is local unless it
 * says otherwise; nothing is allocated after st_recorder_reserve().
 */

/** The places of one kind within the group. */
struct st_place_list {
    bool declared; /**< PAIR, NUMA, POINT: st_set_places() was called */
    size_t n;      /**< in the group */
    size_t n_owned;
    size_t *owned;        /**< [n_owned] ascending place numbers; owned by the recorder */
    struct st_place *all; /**< [n] on group rank 0 for those three, else NULL */
    uint64_t fingerprint; /**< of the declared list, to see that all ranks passed one */
};

/** One metric. */
struct st_series {
    bool applies;
    bool work_stated;
    double work;       /**< this rank's, per inner repetition */
    double place_work; /**< sum over the ranks of the one owned place */
    double *values;    /**< [n_owned][capacity], after st_recorder_close [n_owned][n] */
    int8_t *validity;  /**< likewise */
};

struct st_recorder {
    const struct st_bench *bench;
    size_t rank, n_ranks; /**< of the group */
    struct st_place_list lists[ST_N_PLACE_KINDS];
    struct st_series *series; /**< [bench->n_metrics] */
    size_t capacity;          /**< repetitions that fit, the warm-up included */
    size_t repetition;        /**< where st_record() stores */
    bool recording;  /**< false while calibrating: values are checked and dropped */
    double *scratch; /**< [2][capacity] */
    struct st_error misuse; /**< first wrong call of a benchmark, ST_OK if none */
    char doubt[160];        /**< of st_doubt(), "" if none */
    char remark[400];       /**< of st_remark(), "" if none */
};

/**
 * Build the recorder of a group whose rank sits at @p place; the lists of JOB, NODE and RANK
 * are made here. On failure st_recorder_clear() frees what there is.
 */
enum st_status st_recorder_init(struct st_recorder *rec, const struct st_bench *bench,
                                const void *params, const struct stm_comm *group,
                                const struct st_place_info *place, struct st_error *err);
/** Room for @p capacity repetitions; every value is NaN and missing at first. */
enum st_status st_recorder_reserve(struct st_recorder *rec, size_t capacity,
                                   struct st_error *err);
/** Accepts a zeroed and a half-built recorder. */
void st_recorder_clear(struct st_recorder *rec);

/** Wrong calls of the benchmark so far, work that was not stated. @return ST_ERR_INTERNAL */
enum st_status st_recorder_check(const struct st_recorder *rec, struct st_error *err);

/** Slot of a place among the owned ones; n_owned if another rank owns it. */
size_t st_list_slot(const struct st_place_list *list, size_t place);

/** Duration of one section of one repetition at one owned place. */
struct st_duration {
    double seconds;
    double wall_s; /**< the step has lasted so long: no duration can be longer */
    double n_inner;
    bool late;
};
/** Form the sample of a time or work/time metric at its only owned place. */
void st_recorder_form(struct st_recorder *rec, size_t row, size_t repetition,
                      const struct st_duration *duration);
/** Settle the validity of a given metric's samples in one repetition. */
void st_recorder_settle(struct st_recorder *rec, size_t row, size_t repetition,
                        bool late);

/** Do all owned series with samples meet the width after @p n stored repetitions? Curves (POINT)
 * describe and are not waited for: among their many points one always is unquiet. */
bool st_recorder_converged(const struct st_recorder *rec, size_t n,
                           const struct st_repeat *repeat);

/** Void all samples (not the warm-up) of the owned places of @p kind. */
void st_recorder_void(struct st_recorder *rec, enum st_place_kind kind, size_t n);
/** Number of values of metric @p row that were recorded after the warm-up. */
size_t st_recorder_count(const struct st_recorder *rec, size_t row, size_t n);
/** Has an owned place values of metric @p row after the warm-up, but not one valid? */
bool st_recorder_all_dropped(const struct st_recorder *rec, size_t row, size_t n);
/** Samples with a validity above warm-up. */
uint64_t st_recorder_dropped(const struct st_recorder *rec, size_t n);
/** Pack the series to @p n repetitions per place, so that neighbours can be sent at once. */
void st_recorder_close(struct st_recorder *rec, size_t n);

#endif
