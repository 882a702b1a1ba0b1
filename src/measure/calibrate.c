/*
 * The inner count: how often run() repeats its work inside one timed section, so that the
 * section outlasts the clock's grain and cost (METHODS 0) and the time asked for. It is
 * doubled until the slowest rank needs that long; all ranks use the same count.
 */
#include "src/measure/active.h"

#include "mpi/agree.h"

enum {
    CLOCK_STEPS_MIN = 1000, /* METHODS 0 */
    CLOCK_COSTS_MIN = 100   /* METHODS 0 */
};
/* 2^40 calls of an empty loop already last minutes: a longer wait would help nobody. */
static const size_t N_INNER_MAX = (size_t)1 << 40;

/* The machine's table is equal on all ranks, so this is too. */
static double target_s(const struct st_active *a)
{
    const struct st_machine *machine = a->campaign->machine;
    double target = a->step->repeat.time_s;

    for (size_t i = 0; i < a->layout->n_active; i++) {
        const struct st_node *node = &machine->nodes[a->layout->active_node[i]];
        const double steps = CLOCK_STEPS_MIN * node->clock_step_s;
        const double costs = CLOCK_COSTS_MIN * node->clock_cost_s;
        target = steps > target ? steps : target;
        target = costs > target ? costs : target;
    }
    return target;
}

/* What one trial tells, as maxima over all ranks of the step. */
enum {
    TRIAL_SECONDS,
    TRIAL_FAILED,
    TRIAL_INTERRUPTED,
    TRIAL_LATE,
    TRIAL_FIELDS
};

static enum st_status trial(struct st_active *a, size_t s, double all[TRIAL_FIELDS])
{
    double mine[TRIAL_FIELDS] = {0};
    double seconds = 0.0;
    bool late = false;

    const struct st_clock_reading before = st_clock_read();
    const enum st_status rc = st_section_time(a, s, &seconds, &late);
    if (rc != ST_OK) {
        *a->err = a->run.err;
        return rc;
    }
    const struct st_clock_reading after = st_clock_read();
    /* if the measuring clock stands still, the second one ends the doubling */
    const struct st_clock_verdict verdict = st_clock_compare(&before, &after);
    const double second_s = (double)(after.second_ns - before.second_ns) * 1e-9;
    if (!verdict.good && !(seconds >= second_s)) {
        seconds = second_s;
    }
    mine[TRIAL_SECONDS] = seconds > 0.0 ? seconds : 0.0;
    mine[TRIAL_FAILED] = a->run_status == ST_OK ? 0.0 : 1.0;
    mine[TRIAL_INTERRUPTED] = st_interrupt_requested != 0 ? 1.0 : 0.0;
    mine[TRIAL_LATE] = st_deadline_left(a->deadline) > 0.0 ? 0.0 : 1.0;
    st_doing(a->where, ST_DOING_DECIDE);
    STM_TRY(a->err, MPI_Allreduce(mine, all, TRIAL_FIELDS, MPI_DOUBLE, MPI_MAX,
                                  a->layout->step.handle));
    return ST_OK;
}

/* @return ST_OK also if the count is as high as it gets */
static enum st_status calibrate_section(struct st_active *a, size_t s, double target)
{
    size_t *n_inner = &a->outcome->n_inner[a->section[s]];
    bool is_confirmed = false;

    for (;;) {
        double all[TRIAL_FIELDS] = {0};
        const enum st_status rc = trial(a, s, all);
        if (rc != ST_OK) {
            return rc;
        }
        if (all[TRIAL_FAILED] > 0.0 || all[TRIAL_INTERRUPTED] > 0.0 ||
            all[TRIAL_LATE] > 0.0) {
            return ST_OK; /* equal on all ranks; the caller agrees on the failure */
        }
        const bool is_long_enough = all[TRIAL_SECONDS] >= target;
        if ((is_long_enough && is_confirmed) || *n_inner >= N_INNER_MAX) {
            return ST_OK;
        }
        if (is_long_enough) {
            is_confirmed = true; /* one long trial may be an accident: once more */
        } else {
            *n_inner *= 2;
        }
    }
}

enum st_status st_calibrate(struct st_active *a)
{
    const double target = target_s(a);

    a->run.repetition = 0;
    for (size_t s = 0; s < a->n_sections; s++) {
        const enum st_status rc = calibrate_section(a, s, target);
        if (rc != ST_OK) {
            return rc;
        }
    }
    a->in_run_s = 0.0;
    if (a->run_status != ST_OK) {
        *a->err = a->run_err;
        (void)st_note(a->err, ", while calibrating");
    }
    return stm_agree(&a->layout->step, a->run_status, a->err);
}
