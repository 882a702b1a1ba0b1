#ifndef ST_MEASURE_STEP_H
#define ST_MEASURE_STEP_H

#include "src/machine/machine.h"
#include "src/measure/run.h"
#include "src/plan/plan.h"

/*
 * One step from prepare to release, and its samples' way to rank 0. Data leave upwards only
 * through function pointers: st_listener (progress) and st_sink (results file).
 */

enum st_step_state {
    ST_STEP_RUNNING,
    ST_STEP_COMPLETE,
    ST_STEP_INTERRUPTED,
    ST_STEP_FAILED,
    ST_STEP_SKIPPED
};
const char *st_step_state_word(enum st_step_state state);

/** Validity code of a sample; stored as int8. */
enum st_validity {
    ST_VALID = 0,
    ST_WARMUP = 1,     /**< the discarded first execution (repetition index 0) */
    ST_LATE_START = 2, /**< a rank missed the synchronised start, or left it so late that
                              the skew is above 10 % of a time over several ranks */
    ST_CLOCK_BAD = 3,  /**< this rank's clocks disagreed by more than 1e-3 */
    ST_BAD_DURATION = 4, /**< not finite, not positive or longer than the step */
    ST_MISSING = 5       /**< nothing was recorded (value NaN) */
};

/** Where a step's wall time went, seconds on step rank 0. */
enum st_phase {
    ST_PHASE_LAYOUT,
    ST_PHASE_PREPARE,
    ST_PHASE_WARMUP,
    ST_PHASE_CALIBRATE,
    ST_PHASE_SYNC,
    ST_PHASE_MEASURED, /**< inside timed sections */
    ST_PHASE_DECIDE,   /**< reductions, statistics, stopping rule */
    ST_PHASE_VERIFY,
    ST_PHASE_GATHER,
    ST_PHASE_WRITE,
    ST_N_PHASES
};
const char *st_phase_word(enum st_phase phase);

/** What became of a step; equal on all active ranks. */
struct st_step_outcome {
    enum st_step_state state;
    char reason[ST_ERROR_TEXT_SIZE]; /**< why not complete, "" if complete */
    bool converged;                  /**< every metric at every place met the width */
    bool placement_proved;           /**< every thread of every rank, and no st_doubt() */
    bool oversubscribed;
    size_t n_repetitions; /**< stored, warm-up included */
    size_t n_inner[ST_MAX_SECTIONS];
    double clock_error_s;      /**< residual of the global time at the end of the step */
    double clock_disagreement; /**< worst |monotonic / second clock - 1| of all ranks */
    uint64_t n_dropped;        /**< samples with a validity above warm-up */
    struct st_check
        check; /**< verification, worst over the groups; n_bad > 0 fails the step */
    double phase_s[ST_N_PHASES];
    double wall_s;
    char notes[512]; /**< from plan(): cache_affected … */
};

/** One series' worth of samples of consecutive places of one metric, as they reach rank 0. */
struct st_block {
    size_t row; /**< metric row */
    size_t group;
    size_t first_place,
        n_places; /**< within the step: places of all groups are numbered one after another */
    size_t n_repetitions;   /**< index 0 is the warm-up */
    const double *values;   /**< [n_places][n_repetitions], borrowed during the call */
    const int8_t *validity; /**< likewise */
};

/** A place of the step as stored: numbered over all groups, per kind. */
struct st_step_place {
    size_t group;
    size_t node,
        node_b; /**< machine node index of owner / of b (pairs); SIZE_MAX: none (job over several nodes) */
    size_t rank, rank_b; /**< world ranks (rank, pair); SIZE_MAX: none */
    size_t numa, numa_b; /**< SIZE_MAX: none */
    double value;        /**< point of a curve: in value_unit */
    const char *value_name,
        *value_unit; /**< st_bench.point_name and its unit; NULL: no point */
};

/** Everything about a step that rank 0 knows before the samples come. */
struct st_step_report {
    size_t number; /**< index in the plan */
    const struct st_step *step;
    const struct st_step_outcome *outcome;
    const struct st_layout *layout; /**< NULL if it could not be planned */
    size_t n_seats;
    const struct st_seat *seats;
    size_t n_places[ST_N_PLACE_KINDS]; /**< by enum st_place_kind */
    const struct st_step_place *places[ST_N_PLACE_KINDS];
};

/** Receiver of a step's results on world rank 0 (src/record). Calls: begin, block…, end. */
struct st_sink {
    void *context;
    enum st_status (*begin)(void *context, const struct st_step_report *report,
                            struct st_error *err);
    enum st_status (*block)(void *context, const struct st_block *block,
                            struct st_error *err);
    enum st_status (*end)(void *context, struct st_error *err);
};

/** Progress for people, on world rank 0; any pointer may be NULL. */
struct st_listener {
    void *context;
    void (*step_begin)(void *context, size_t number, size_t n_steps,
                       const struct st_step *step);
    void (*repetition)(void *context, size_t done, size_t max, double elapsed_s,
                       double budget_s);
    void (*step_end)(void *context, const struct st_step *step,
                     const struct st_step_outcome *outcome);
};

/** Set by the program's signal handlers (SIGTERM, SIGINT, SIGUSR1); read between repetitions. */
extern volatile int st_interrupt_requested; /* sig_atomic_t */

struct st_campaign {
    const struct st_machine *machine;
    const struct st_plan *plan;
    const struct st_listener *listener;
    const struct st_sink *sink; /**< used on world rank 0 only */
    const char *
        deadline_file; /**< where live ranks write their records when a deadline passes: "OUT.late" */
    bool spoil; /**< test hook: spoil every benchmark before verify */
    /**
     * Called once when a deadline passed, before the process ends with status 2: save the
     * file, mark it. Runs in the watchdog thread of world rank 0 (of the lowest rank that
     * answers, if rank 0 does not), while no sink function runs; no MPI calls. May be NULL.
     * @param text the report that went to stderr, borrowed
     */
    void (*on_deadline)(void *context, const char *text);
    void *deadline_context;
};

/**
 * Run step @p number: layout, prepare, repetitions, verify, release, gather to the sink.
 * Collective over the world. Failures of the step itself (placement, memory, verification,
 * unsupported, deadline with all ranks answering) are in the outcome and return ST_OK.
 * @return not ST_OK only when the campaign must end: ST_ERR_MPI, ST_ERR_IO (sink),
 *         ST_ERR_INTERRUPTED, ST_ERR_INTERNAL; equal on all ranks
 */
enum st_status st_campaign_step(const struct st_campaign *campaign, size_t number,
                                struct st_step_outcome *outcome, struct st_error *err);

#endif
