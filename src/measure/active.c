/*
 * The stages of a step on the ranks that take part. Each stage ends with an agreement, so
 * that all ranks enter the next one or none does; what a stage leaves behind is freed in one
 * place, whichever stage failed.
 *
 * A benchmark's prepare() and verify() may call collectives of their group: the harness agrees
 * before each of them, so no rank can be missing there.
 */
#include "src/measure/active.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/measure/finish.h"

#include <inttypes.h>
#include <string.h>

void st_active_account(struct st_active *a, enum st_phase phase)
{
    const double now = st_now();

    a->outcome->phase_s[phase] += now - a->mark_s;
    a->mark_s = now;
}

void st_active_fail(struct st_active *a, enum st_status rc)
{
    struct st_step_outcome *outcome = a->outcome;

    if (outcome->reason[0] != '\0') {
        return;
    }
    outcome->state = rc == ST_ERR_UNSUPPORTED   ? ST_STEP_SKIPPED
                     : rc == ST_ERR_INTERRUPTED ? ST_STEP_INTERRUPTED
                                                : ST_STEP_FAILED;
    memcpy(outcome->reason, a->err->text, sizeof outcome->reason);
    a->err->code = ST_OK;
}

/* A section takes part if an applicable metric names it; in ascending order. */
static void find_sections(struct st_active *a)
{
    const struct st_bench *bench = a->run.bench;

    for (uint32_t section = 0; section < ST_MAX_SECTIONS; section++) {
        bool takes_part = false;
        for (size_t row = 0; row < bench->n_metrics; row++) {
            takes_part = takes_part || (a->rec.series[row].applies &&
                                        bench->metrics[row].section == section);
        }
        if (takes_part) {
            a->outcome->n_inner[section] = 1;
            a->section[a->n_sections++] = section;
        }
    }
}

/* What needs memory before the benchmark is called. Local. */
static enum st_status allocate(struct st_active *a)
{
    const struct st_bench *bench = a->step->bench;
    const size_t most = a->step->repeat.max;

    const enum st_status rc = st_recorder_init(&a->rec, bench, a->step->params,
                                               &a->run.comm, &a->layout->place, a->err);
    if (rc != ST_OK) {
        return rc;
    }
    find_sections(a);
    if (a->n_sections == 0) {
        return st_fail(a->err, ST_ERR_STEP,
                       "no metric of benchmark %s applies with these parameters",
                       bench->name);
    }
    a->state = st_calloc(a->err, 1, bench->state_size);
    a->counts = st_calloc(a->err, bench->n_metrics, 2 * sizeof *a->counts);
    if (a->state == NULL || a->counts == NULL) {
        return ST_ERR_MEMORY;
    }
    return st_batch_init(a, most < ST_MAX_BATCH ? most + 1 : ST_MAX_BATCH);
}

static enum st_status set_up(struct st_active *a)
{
    const struct st_layout *layout = a->layout;

    a->run.bench = a->step->bench;
    a->run.params = a->step->params;
    a->run.comm = layout->group;
    a->run.place = &layout->place;
    a->run.n_inner = 1;
    a->run.rec = &a->rec;
    st_doing(a->where, ST_DOING_PREPARE);
    const enum st_status rc = stm_agree(&layout->step, allocate(a), a->err);
    if (rc != ST_OK) {
        return rc;
    }
    return stm_comm_split(&a->run.comm, (int)layout->place.node, a->run.comm.rank,
                          &a->node, a->err);
}

/* The sum of the work over a place's ranks, on its owner. */
static enum st_status sum_work(struct st_active *a)
{
    for (size_t row = 0; row < a->run.bench->n_metrics; row++) {
        const struct st_metric *metric = &a->run.bench->metrics[row];
        struct st_series *series = &a->rec.series[row];
        if (!series->applies || metric->origin != ST_FROM_WORK) {
            continue; /* alike on all ranks of the group */
        }
        series->place_work = series->work;
        if (metric->place != ST_RANK) {
            const struct stm_comm *over =
                metric->place == ST_NODE ? &a->node : &a->run.comm;
            STM_TRY(a->err, MPI_Reduce(&series->work, &series->place_work, 1, MPI_DOUBLE,
                                       MPI_SUM, 0, over->handle));
        }
    }
    return ST_OK;
}

/* All ranks of the group must have declared the same places. */
static enum st_status compare_places(struct st_active *a)
{
    uint64_t mine[2 * ST_N_PLACE_KINDS];
    uint64_t most[2 * ST_N_PLACE_KINDS];
    bool equal = true;

    /* those that the harness makes have the fingerprint 0 everywhere */
    for (size_t i = 0; i < ST_N_PLACE_KINDS; i++) {
        const uint64_t print = a->rec.lists[i].fingerprint;
        mine[2 * i] = print;
        mine[2 * i + 1] =
            ~print; /* the maximum of the complement is that of the minimum */
    }
    STM_TRY(a->err, MPI_Allreduce(mine, most, 2 * ST_N_PLACE_KINDS, MPI_UINT64_T, MPI_MAX,
                                  a->run.comm.handle));
    for (size_t i = 0; i < ST_N_PLACE_KINDS; i++) {
        equal = equal && most[2 * i] == ~most[2 * i + 1];
    }
    if (!equal) {
        return st_fail(a->err, ST_ERR_INTERNAL,
                       "benchmark %s declared different places on different ranks",
                       a->run.bench->name);
    }
    return ST_OK;
}

static enum st_status prepare(struct st_active *a)
{
    a->is_prepared = true;
    enum st_status rc = a->run.bench->prepare(&a->run, a->state);
    st_doing(a->where, ST_DOING_AGREE);
    if (rc != ST_OK) {
        *a->err = a->run.err;
        (void)st_note(a->err, ", in prepare of %s", a->run.bench->name);
    } else {
        rc = st_recorder_check(&a->rec, a->err);
    }
    rc = stm_agree(&a->layout->step, rc, a->err);
    if (rc == ST_OK) {
        rc = compare_places(a);
        rc = stm_agree(&a->layout->step, rc, a->err);
    }
    if (rc == ST_OK) {
        rc = st_recorder_reserve(&a->rec, a->step->repeat.max + 1, a->err);
        rc = stm_agree(&a->layout->step, rc, a->err);
    }
    if (rc == ST_OK) {
        rc = sum_work(a);
    }
    st_active_account(a, ST_PHASE_PREPARE);
    return rc;
}

/* Do all ranks of a communicator use one clock model? Then plain readings compare. */
static enum st_status find_sharing(struct st_active *a, const struct stm_comm *comm,
                                   bool *shares)
{
    const double mine[4] = {a->clock.slope, -a->clock.slope, a->clock.intercept,
                            -a->clock.intercept};
    double most[4];

    STM_TRY(a->err, MPI_Allreduce(mine, most, 4, MPI_DOUBLE, MPI_MAX, comm->handle));
    *shares = most[0] + most[1] <= 0.0 && most[2] + most[3] <= 0.0;
    return ST_OK;
}

static enum st_status synchronise(struct st_active *a)
{
    st_doing(a->where, ST_DOING_SYNC);
    enum st_status rc = stm_clock_sync(&a->layout->step, a->layout->active_node, st_now,
                                       &a->clock, a->err);
    if (rc == ST_OK) {
        rc = find_sharing(a, &a->node, &a->node_shares_clock);
    }
    if (rc == ST_OK) {
        rc = find_sharing(a, &a->run.comm, &a->group_shares_clock);
    }
    st_active_account(a, ST_PHASE_SYNC);
    st_clock_watch_begin(&a->watch);
    return rc;
}

static enum st_status warm_up(struct st_active *a)
{
    const enum st_status rc = st_batch_measure(a, 0, 1);

    if (rc == ST_OK) {
        a->outcome->n_repetitions = 1;
    }
    st_active_account(a, ST_PHASE_WARMUP);
    return rc;
}

/* Flags of all ranks of the step, then rank 0's decision for all. */
static enum st_status decide(struct st_active *a, struct st_progress *now,
                             struct st_decision *decision)
{
    const struct stm_comm *step = &a->layout->step;
    const bool look = st_is_look(&a->step->repeat, now->n_done);
    const bool converged =
        look && st_recorder_converged(&a->rec, now->n_done + 1, &a->step->repeat);
    const int mine[2] = {converged ? 0 : 1, st_interrupt_requested != 0 ? 1 : 0};
    int all[2] = {0};
    uint64_t words[2] = {0};

    STM_TRY(a->err, MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, step->handle));
    now->converged = all[0] == 0;
    now->interrupted = all[1] != 0;
    if (step->rank == 0) {
        *decision = st_decide(&a->step->repeat, now);
        words[0] = (uint64_t)decision->stop;
        words[1] = decision->n_batch;
    }
    STM_TRY(a->err, MPI_Bcast(words, 2, MPI_UINT64_T, 0, step->handle));
    decision->stop = (enum st_stop)words[0];
    decision->n_batch = (size_t)words[1];
    return ST_OK;
}

static void tell_listener(const struct st_active *a, const struct st_progress *now)
{
    const struct st_listener *listener = a->campaign->listener;

    if (a->campaign->machine->world.rank == 0 && listener != NULL &&
        listener->repetition != NULL) {
        listener->repetition(listener->context, now->n_done, a->step->repeat.max,
                             now->elapsed_s, a->step->repeat.budget_s);
    }
}

/* What the end of the repetitions means for the step. */
static enum st_status conclude(struct st_active *a, const struct st_progress *now,
                               enum st_stop stop)
{
    a->outcome->converged = stop == ST_STOP_CONVERGED || now->converged;
    if (stop == ST_STOP_INTERRUPT) {
        return st_fail(a->err, ST_ERR_INTERRUPTED,
                       "a signal asked the program to stop; %zu repetitions were made",
                       now->n_done);
    }
    if (stop == ST_STOP_DEADLINE) {
        return st_fail(a->err, ST_ERR_DEADLINE,
                       "the deadline of %g s was near after %zu repetitions; all ranks "
                       "answered",
                       a->step->repeat.deadline_s, now->n_done);
    }
    return ST_OK;
}

static enum st_status repeat(struct st_active *a, double warm_up_s)
{
    struct st_progress now = {.last_s = warm_up_s};
    struct st_decision decision = {0};
    const double begin = st_now();

    for (;;) {
        now.deadline_left_s = st_deadline_left(a->deadline);
        enum st_status rc = decide(a, &now, &decision);
        st_active_account(a, ST_PHASE_DECIDE);
        if (rc != ST_OK) {
            return rc;
        }
        if (decision.stop != ST_GO_ON) {
            return conclude(a, &now, decision.stop);
        }
        const double before = st_now();
        rc = st_batch_measure(a, now.n_done + 1, decision.n_batch);
        if (rc != ST_OK) {
            return rc; /* agreed; the unfinished batch does not count */
        }
        now.n_done += decision.n_batch;
        now.elapsed_s = st_now() - begin;
        now.last_s = (st_now() - before) / (double)decision.n_batch;
        now.mean_s = now.elapsed_s / (double)now.n_done;
        a->outcome->n_repetitions = now.n_done + 1;
        tell_listener(a, &now);
        st_active_account(a, ST_PHASE_DECIDE);
    }
}

/* From the clocks to the last repetition. */
static enum st_status measure(struct st_active *a)
{
    enum st_status rc = synchronise(a);

    const double before = st_now();
    if (rc == ST_OK) {
        rc = warm_up(a);
    }
    if (rc != ST_OK) {
        return rc;
    }
    const double warm_up_s = st_now() - before;
    rc = st_calibrate(a);
    st_active_account(a, ST_PHASE_CALIBRATE);
    if (rc != ST_OK) {
        return rc;
    }
    return repeat(a, warm_up_s);
}

/* After the repetitions, failed or not; the samples that exist are closed for the gathering. */
static enum st_status finish(struct st_active *a, enum st_status measured)
{
    enum st_status rc = measured;

    if (rc == ST_OK) {
        rc = st_finish_missing(a);
    }
    if (rc == ST_OK) {
        rc = st_finish_verify(a);
    }
    if (rc == ST_ERR_MPI) {
        return rc;
    }
    if (rc != ST_OK) {
        st_active_fail(a, rc); /* and go on: the numbers are kept */
    }
    rc = st_finish_placement(a);
    if (rc == ST_OK) {
        st_active_account(a, ST_PHASE_VERIFY);
        rc = st_finish_clocks(a);
    }
    st_active_account(a, ST_PHASE_SYNC);
    return rc;
}

/* Release exactly once; then what belongs to the harness. Local, but for the communicator. */
static void tear_down(struct st_active *a, bool mpi_works)
{
    st_doing(a->where, ST_DOING_RELEASE);
    if (a->is_prepared && mpi_works) { /* it may free what the ranks share */
        a->run.bench->release(a->state);
    }
    st_free(a->state);
    st_free(a->counts);
    a->state = NULL;
    a->counts = NULL;
    st_batch_clear(&a->batch);
}

enum st_status st_active_run(struct st_active *a)
{
    enum st_status rc = set_up(a);

    if (rc == ST_OK) {
        rc = prepare(a);
    }
    if (rc == ST_OK) {
        rc = measure(a);
        if (rc != ST_ERR_MPI) {
            rc = finish(a, rc);
        }
    }
    tear_down(a, rc != ST_ERR_MPI);
    if (rc == ST_ERR_MPI) {
        return rc;
    }
    stm_comm_free(&a->node);
    if (rc != ST_OK) {
        st_active_fail(a, rc);
    }
    if (a->outcome->reason[0] == '\0') {
        a->outcome->state = ST_STEP_COMPLETE;
    }
    if (a->outcome->n_repetitions > 0) {
        st_recorder_close(&a->rec, a->outcome->n_repetitions);
    }
    st_active_account(a, ST_PHASE_VERIFY);
    return ST_OK;
}
