/*
 * One step of a campaign on all ranks of the world: plan the layout, let the active ranks
 * measure, bring the samples to rank 0. Ranks that take no part wait without using a core.
 *
 * Every branch here is taken by all ranks alike: it hangs on a status that was agreed upon or
 * on the layout, which all ranks know. Only the call of st_active_run() is for some.
 */
#include "src/measure/step.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/measure/active.h"
#include "src/measure/busy.h"
#include "src/measure/finish.h"
#include "src/measure/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

volatile int st_interrupt_requested;

const char *st_step_state_word(enum st_step_state state)
{
    static const char *const words[] = {[ST_STEP_RUNNING] = "running",
                                        [ST_STEP_COMPLETE] = "complete",
                                        [ST_STEP_INTERRUPTED] = "interrupted",
                                        [ST_STEP_FAILED] = "failed",
                                        [ST_STEP_SKIPPED] = "skipped"};

    return (size_t)state < ST_COUNT(words) ? words[state] : "unknown";
}

const char *st_phase_word(enum st_phase phase)
{
    static const char *const words[] = {
        [ST_PHASE_LAYOUT] = "layout", [ST_PHASE_PREPARE] = "prepare",
        [ST_PHASE_WARMUP] = "warmup", [ST_PHASE_CALIBRATE] = "calibrate",
        [ST_PHASE_SYNC] = "sync",     [ST_PHASE_MEASURED] = "measured",
        [ST_PHASE_DECIDE] = "decide", [ST_PHASE_VERIFY] = "verify",
        [ST_PHASE_GATHER] = "gather", [ST_PHASE_WRITE] = "write"};

    return (size_t)phase < ST_COUNT(words) ? words[phase] : "unknown";
}

/* Smallest and largest group: a layout of uneven nodes may have both. */
static void group_sizes(const struct st_layout *layout, size_t *least, size_t *most)
{
    size_t n = 0;

    *least = SIZE_MAX;
    *most = 0;
    for (size_t i = 0; i < layout->n_active; i++) {
        n++;
        const bool is_last = i + 1 == layout->n_active ||
                             layout->active_group[i + 1] != layout->active_group[i];
        if (is_last) {
            *least = n < *least ? n : *least;
            *most = n > *most ? n : *most;
            n = 0;
        }
    }
}

static enum st_status check_ranks(const struct st_bench *bench,
                                  const struct st_layout *layout, struct st_error *err)
{
    size_t least = 0;
    size_t most = 0;

    group_sizes(layout, &least, &most);
    if (bench->min_ranks > 1 && least < bench->min_ranks) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "benchmark %s needs at least %zu ranks; the layout gives %zu: start "
            "more ranks or change `layout`",
            bench->name, bench->min_ranks, least);
    }
    if (bench->rank_divisor > 1 &&
        (least % bench->rank_divisor != 0 || most % bench->rank_divisor != 0)) {
        const size_t bad = least % bench->rank_divisor != 0 ? least : most;
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "benchmark %s needs a multiple of %zu ranks; the layout gives %zu",
                       bench->name, bench->rank_divisor, bad);
    }
    return ST_OK;
}

static enum st_status check_needs(const struct st_bench *bench,
                                  const struct st_machine *machine,
                                  const struct st_layout *layout, struct st_error *err)
{
    if ((bench->needs & (unsigned)ST_NEEDS_TWO_NODES) != 0 && layout->shape.n_nodes < 2) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "benchmark %s needs two nodes; this step has one", bench->name);
    }
    if ((bench->needs & (unsigned)ST_NEEDS_THREAD_MULTIPLE) != 0) {
        int level = MPI_THREAD_SINGLE;
        STM_TRY(err, MPI_Query_thread(&level));
        if (level < MPI_THREAD_MULTIPLE) {
            return st_fail(
                err, ST_ERR_UNSUPPORTED,
                "benchmark %s needs MPI_THREAD_MULTIPLE: start with `seatrial run "
                "--mpi-threads multiple`; if you did, this MPI library does not give it",
                bench->name);
        }
    }
    for (size_t i = 0; i < layout->n_active; i++) {
        const struct st_node *node = &machine->nodes[layout->active_node[i]];
        if ((bench->needs & (unsigned)ST_NEEDS_TWO_NUMA) != 0 && node->n_numa < 2) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "benchmark %s needs two NUMA nodes; %s has %zu", bench->name,
                           node->host, node->n_numa);
        }
    }
    return ST_OK;
}

/* The benchmark's own prediction against the node's memory. */
static enum st_status check_plan(const struct st_step *step, const struct st_shape *shape,
                                 struct st_step_outcome *outcome, struct st_error *err)
{
    struct st_need need = {0};
    size_t node_bytes = 0;

    const enum st_status rc = step->bench->plan(step->params, shape, &need, err);
    if (rc != ST_OK) {
        return rc;
    }
    if (need.notes[0] != '\0') {
        st_outcome_note(outcome, "%s", need.notes);
    }
    if (!st_mul_size((size_t)need.bytes_per_rank, shape->max_ranks_per_node,
                     &node_bytes) ||
        (shape->memory_bytes > 0 && node_bytes > shape->memory_bytes)) {
        return st_fail(
            err, ST_ERR_STEP,
            "needs %" PRIu64 " bytes on each of %zu ranks of a node, but the "
            "smallest node may use %" PRIu64 " bytes: choose a smaller size or "
            "fewer ranks per node",
            need.bytes_per_rank, shape->max_ranks_per_node, shape->memory_bytes);
    }
    return ST_OK;
}

/* Everything that belongs to one call of st_campaign_step(). */
struct stage {
    const struct st_campaign *campaign;
    const struct st_step *step;
    struct st_deadline *deadline;
    struct st_layout *layout;
    struct st_active active;
    struct st_step_outcome *outcome;
    struct st_error *err;
    double begin_s;
};

/* An interrupt that came between two steps is answered before anything is prepared. */
static enum st_status enter(struct stage *s, enum st_status rc)
{
    if (rc == ST_OK && st_interrupt_requested != 0) {
        rc = st_fail(s->err, ST_ERR_INTERRUPTED,
                     "a signal asked the program to stop before this step");
    }
    return stm_agree_quiet(&s->campaign->machine->world, rc, s->err);
}

/*
 * These checks are pure functions of tables that all ranks share, so that all ranks find the
 * same text; then it needs no rank's name. If they ever differ, the ranks agree as usual.
 */
static enum st_status agree_alike(struct stage *s, enum st_status rc)
{
    const struct stm_comm *world = &s->campaign->machine->world;
    const int mine[2] = {(int)rc, -(int)rc};
    int most[2] = {0};

    STM_TRY(s->err, MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, world->handle));
    return most[0] == -most[1] ? rc : stm_agree(world, rc, s->err);
}

static enum st_status check_step(struct stage *s)
{
    const struct st_bench *bench = s->step->bench;

    enum st_status rc = check_ranks(bench, s->layout, s->err);
    if (rc == ST_OK) {
        rc = check_needs(bench, s->campaign->machine, s->layout, s->err);
    }
    if (rc == ST_OK) {
        rc = check_plan(s->step, &s->layout->shape, s->outcome, s->err);
    }
    return rc == ST_ERR_MPI ? rc : agree_alike(s, rc);
}

static enum st_status plan_step(struct stage *s)
{
    const struct st_machine *machine = s->campaign->machine;

    enum st_status rc = st_layout_create(machine, &s->step->layout, &s->layout, s->err);
    if (rc != ST_OK) {
        return rc;
    }
    s->outcome->oversubscribed = s->layout->shape.oversubscribed;
    rc = check_step(s);
    if (rc != ST_OK) {
        return rc;
    }
    return stm_agree(&machine->world, st_layout_bind(s->layout, s->err), s->err);
}

/* Active ranks measure, the others sleep until these have finished. */
static enum st_status measure_step(struct stage *s)
{
    struct st_active *a = &s->active;
    enum st_status rc = ST_OK;

    if (s->layout->active) {
        a->campaign = s->campaign;
        a->step = s->step;
        a->layout = s->layout;
        a->outcome = s->outcome;
        a->deadline = s->deadline;
        a->where = st_deadline_where(s->deadline);
        a->err = s->err;
        a->begin_s = s->begin_s;
        a->mark_s = st_now();
        rc = st_active_run(a);
        st_doing(a->where, ST_DOING_AGREE);
    } else {
        st_doing(st_deadline_where(s->deadline), ST_DOING_SLEEP);
        if (s->layout->busy != NULL) {
            return st_busy_until_agreed(&s->campaign->machine->world, s->err);
        }
    }
    return stm_agree_quiet(&s->campaign->machine->world, rc, s->err);
}

/* The first active rank's outcome becomes everybody's. */
static enum st_status share_outcome(struct stage *s)
{
    STM_TRY(s->err, MPI_Bcast(s->outcome, (int)sizeof *s->outcome, MPI_BYTE,
                              (int)s->layout->active_ranks[0],
                              s->campaign->machine->world.handle));
    return ST_OK;
}

/* A step that did not get as far as measuring: the same reason on all ranks. */
static void fail_step(struct stage *s, enum st_status rc)
{
    s->active.outcome = s->outcome;
    s->active.err = s->err;
    st_active_fail(&s->active, rc);
}

static enum st_status run_step(struct stage *s)
{
    enum st_status rc = plan_step(s);

    s->outcome->phase_s[ST_PHASE_LAYOUT] = st_now() - s->begin_s;
    if (rc != ST_OK) {
        if (rc != ST_ERR_MPI) {
            fail_step(s, rc);
        }
        return rc == ST_ERR_MPI ? rc : ST_OK;
    }
    rc = measure_step(s);
    return rc == ST_OK ? share_outcome(s) : rc;
}

/* Seats and samples to rank 0. */
static enum st_status hand_over(struct stage *s, size_t number)
{
    const struct st_machine *machine = s->campaign->machine;
    const double begin = st_now();
    size_t n_seats = 0;
    struct st_seat *seats = NULL;
    enum st_status rc = ST_OK;

    if (s->deadline != NULL) {
        st_doing(st_deadline_where(s->deadline), ST_DOING_GATHER);
    }
    s->outcome->wall_s = begin - s->begin_s;
    if (s->layout != NULL) {
        rc = st_layout_gather(machine, s->layout, &n_seats, &seats, s->err);
        rc = stm_agree_quiet(&machine->world, rc, s->err);
    }
    if (rc == ST_OK) {
        const struct st_gather gather = {
            .campaign = s->campaign,
            .step = s->step,
            .layout = s->layout,
            .rec = s->layout != NULL && s->layout->active ? &s->active.rec : NULL,
            .deadline = s->deadline,
            .number = number,
            .outcome = s->outcome,
            .n_seats = n_seats,
            .seats = seats};
        rc = st_gather_step(&gather, s->err);
    }
    st_seats_free(n_seats, &seats);
    s->outcome->phase_s[ST_PHASE_GATHER] =
        st_now() - begin - s->outcome->phase_s[ST_PHASE_WRITE];
    return rc;
}

/* The listener belongs to rank 0. */
static const struct st_listener *listener_of(const struct st_campaign *campaign)
{
    return campaign->machine->world.rank == 0 ? campaign->listener : NULL;
}

static void tell_begin(const struct st_campaign *campaign, size_t number,
                       const struct st_step *step)
{
    const struct st_listener *listener = listener_of(campaign);

    if (listener != NULL && listener->step_begin != NULL) {
        listener->step_begin(listener->context, number, campaign->plan->n_steps, step);
    }
}

static void tell_end(const struct stage *s)
{
    const struct st_listener *listener = listener_of(s->campaign);

    if (listener != NULL && listener->step_end != NULL) {
        listener->step_end(listener->context, s->step, s->outcome);
    }
}

/* Codes that end the campaign; a step's own failure is in its outcome. */
static enum st_status end_of_step(struct stage *s, enum st_status rc)
{
    if (rc == ST_OK && s->outcome->state == ST_STEP_INTERRUPTED) {
        return st_fail(s->err, ST_ERR_INTERRUPTED, "%s", s->outcome->reason);
    }
    if (rc == ST_OK) {
        s->err->code = ST_OK;
        s->err->text[0] = '\0';
        return ST_OK;
    }
    if (rc == ST_ERR_MPI || rc == ST_ERR_INTERNAL) {
        return rc;
    }
    s->err->code = ST_ERR_IO; /* the sink, or rank 0's memory for it */
    return ST_ERR_IO;
}

enum st_status st_campaign_step(const struct st_campaign *campaign, size_t number,
                                struct st_step_outcome *outcome, struct st_error *err)
{
    const struct st_step_outcome empty = {0};
    struct stage s = {.campaign = campaign,
                      .step = &campaign->plan->steps[number],
                      .outcome = outcome,
                      .err = err};

    *outcome = empty;
    tell_begin(campaign, number, s.step);
    enum st_status rc = st_clock_share_origin(&campaign->machine->node_comm, err);
    if (rc != ST_OK) {
        return rc;
    }
    s.begin_s = st_now();
    rc = enter(&s, st_deadline_arm(campaign, s.step, &s.deadline, err));
    if (rc == ST_OK) {
        rc = run_step(&s);
    } else if (rc != ST_ERR_MPI) {
        fail_step(&s, rc);
        rc = ST_OK;
    }
    if (rc == ST_OK) {
        rc = hand_over(&s, number);
    }
    st_recorder_clear(&s.active.rec);
    st_deadline_disarm(&s.deadline);
    if (rc != ST_ERR_MPI) {
        st_layout_destroy(&s.layout); /* collective: not after a failed MPI call */
    }
    tell_end(&s);
    return end_of_step(&s, rc);
}
