#ifndef ST_MEASURE_RUN_H
#define ST_MEASURE_RUN_H

#include "mpi/comm.h"
#include "src/base/bench.h"

/*
 * What a benchmark's stages see of the harness. Include this (and src/base, kernels, mpi,
 * src/machine) in src/benchmarks; nothing else.
 */

/** A place of kind ST_PAIR, ST_NUMA or ST_POINT, made in prepare() on every rank of the group
 * alike. */
struct st_place {
    size_t owner; /**< group rank that records it */
    size_t a, b;  /**< pair: group ranks; numa: NUMA nodes */
    double value; /**< point: in st_bench.point_unit, finite */
};

struct st_run {
    const struct st_bench *bench;
    const void *params;
    struct stm_comm comm; /**< the group's communicator */
    const struct st_place_info *place;
    uint32_t section;  /**< which section run() is to do */
    size_t n_inner;    /**< how many times */
    size_t repetition; /**< 0 is the warm-up */
    struct st_recorder *rec;
    struct st_error err; /**< stages write their message here and return its code */
};

/**
 * Work of one inner repetition of this rank for metric @p row (origin work/time), in the
 * metric's unit x seconds (bytes, flops, messages). Local, in prepare(); must be called for
 * each applicable such row on every rank that takes part (0 is a value).
 */
void st_set_work(struct st_run *run, size_t row, double amount);

/**
 * Declare the places of @p kind (ST_PAIR, ST_NUMA or ST_POINT). Collective in the sense that every rank
 * of the group passes the same list. Copied. In prepare().
 */
enum st_status st_set_places(struct st_run *run, enum st_place_kind kind, size_t n,
                             const struct st_place *places);

/**
 * Record one value of a given metric in the current repetition, on the owner of @p place.
 * Local, no allocation. A second call in the same repetition overwrites. Wrong row, place or
 * owner is remembered and fails the step (ST_ERR_INTERNAL).
 */
void st_record(struct st_recorder *rec, size_t row, size_t place, double value);

/**
 * The benchmark cannot prove that its memory is where the step wants it: the step's placement
 * counts as not proved, so that it is not judged, and @p text goes into its notes. Local, in
 * prepare(), run() or verify(); the first text of a rank stays, the lowest rank's is shown.
 */
void st_doubt(struct st_run *run, const char *text);

/**
 * A finding for people that no number holds, such as the name of a slow link: goes into the
 * step's notes and so into the report. Local, in verify(); the first text of a rank stays, the
 * lowest rank's is shown.
 */
void st_remark(struct st_run *run, const char *text);

/** The harness's monotonic clock in seconds since this rank's start-up (small numbers keep digits). */
double st_now(void);

#endif
