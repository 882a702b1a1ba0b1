/*
 * The questions after the last repetition. Their answers go into the outcome, which is equal
 * on all ranks: every figure here is reduced over the step.
 */
#include "src/measure/finish.h"

#include "mpi/agree.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void st_outcome_note(struct st_step_outcome *outcome, const char *format, ...)
{
    const size_t used = strlen(outcome->notes);
    const char *between = used > 0 ? "; " : "";
    va_list arguments;

    if (used + 4 >= sizeof outcome->notes) {
        return;
    }
    memcpy(outcome->notes + used, between, strlen(between) + 1);
    const size_t at = used + strlen(between);
    va_start(arguments, format);
    (void)vsnprintf(outcome->notes + at, sizeof outcome->notes - at, format, arguments);
    va_end(arguments);
}

/*
 * Which rank's check stands for all: most wrong values, then the largest deviation. A
 * benchmark may reduce its check over the group or not; so the checks are not added up.
 */
static enum st_status merge_checks(struct st_active *a, const struct st_check *mine)
{
    const struct stm_comm *step = &a->layout->step;
    struct {
        double value;
        int rank;
    } local, worst;
    struct st_check check = *mine;

    local.value = (double)mine->n_bad;
    local.rank = step->rank;
    STM_TRY(a->err,
            MPI_Allreduce(&local, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, step->handle));
    if (!(worst.value > 0.0)) {
        local.value = mine->n_checked > 0 ? mine->worst : -1.0;
        STM_TRY(a->err, MPI_Allreduce(&local, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                                      step->handle));
    }
    STM_TRY(a->err,
            MPI_Bcast(&check, (int)sizeof check, MPI_BYTE, worst.rank, step->handle));
    a->outcome->check = check;
    return ST_OK;
}

/* A verification that compared nothing in some group proves nothing. */
static enum st_status all_groups_checked(struct st_active *a, const struct st_check *mine)
{
    uint64_t of_group = 0;
    uint64_t least = 0;

    STM_TRY(a->err, MPI_Allreduce(&mine->n_checked, &of_group, 1, MPI_UINT64_T, MPI_MAX,
                                  a->run.comm.handle));
    STM_TRY(a->err, MPI_Allreduce(&of_group, &least, 1, MPI_UINT64_T, MPI_MIN,
                                  a->layout->step.handle));
    return least > 0 ? ST_OK
                     : st_fail(a->err, ST_ERR_STEP,
                               "verification failed: it compared no value at all");
}

enum st_status st_finish_verify(struct st_active *a)
{
    struct st_check mine = {0};

    st_doing(a->where, ST_DOING_VERIFY);
    if (a->campaign->spoil) {
        a->run.bench->spoil(a->state);
    }
    enum st_status rc = a->run.bench->verify(&a->run, a->state, &mine);
    st_doing(a->where, ST_DOING_AGREE);
    if (rc != ST_OK) {
        *a->err = a->run.err;
        (void)st_note(a->err, ", in verify of %s", a->run.bench->name);
    }
    rc = stm_agree(&a->layout->step, rc, a->err);
    if (rc == ST_OK) {
        rc = merge_checks(a, &mine);
    }
    if (rc == ST_OK) {
        rc = all_groups_checked(a, &mine);
    }
    const struct st_check *check = &a->outcome->check;
    if (rc == ST_OK && check->n_bad > 0) {
        rc = st_fail(a->err, ST_ERR_STEP,
                     "verification failed: %" PRIu64 " of %" PRIu64
                     " values are wrong; the first: %s",
                     check->n_bad, check->n_checked, check->what);
    }
    return rc;
}

enum st_status st_finish_missing(struct st_active *a)
{
    const struct st_bench *bench = a->run.bench;
    const int n = (int)bench->n_metrics; /* rows of a declaration */
    double *mine = a->counts;
    double *all = a->counts + bench->n_metrics;

    for (size_t row = 0; row < bench->n_metrics; row++) {
        const bool is_asked =
            a->rec.series[row].applies && bench->metrics[row].origin == ST_GIVEN;
        mine[row] =
            is_asked ? (double)st_recorder_count(&a->rec, row, a->outcome->n_repetitions)
                     : 1.0;
    }
    STM_TRY(a->err, MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_MAX, a->run.comm.handle));
    memcpy(mine, all, bench->n_metrics * sizeof *mine);
    STM_TRY(a->err,
            MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_MIN, a->layout->step.handle));
    for (size_t row = 0; row < bench->n_metrics; row++) {
        if (!(all[row] > 0.0)) {
            return st_fail(
                a->err, ST_ERR_STEP,
                "metric %s was declared for this step but benchmark %s recorded "
                "no value of it",
                bench->metrics[row].name, bench->name);
        }
    }
    return ST_OK;
}

/* A place's sample needs every clock that went into it. */
static enum st_status void_bad_clocks(struct st_active *a)
{
    const size_t n = a->outcome->n_repetitions;
    const int mine = a->watch.bad ? 1 : 0;
    int on_node = 0;
    int in_group = 0;

    STM_TRY(a->err, MPI_Allreduce(&mine, &on_node, 1, MPI_INT, MPI_MAX, a->node.handle));
    STM_TRY(a->err,
            MPI_Allreduce(&mine, &in_group, 1, MPI_INT, MPI_MAX, a->run.comm.handle));
    if (mine != 0) {
        st_recorder_void(&a->rec, ST_RANK, n);
        st_recorder_void(&a->rec, ST_PAIR, n);
        st_recorder_void(&a->rec, ST_NUMA, n);
        st_recorder_void(&a->rec, ST_POINT, n);
    }
    if (on_node != 0) {
        st_recorder_void(&a->rec, ST_NODE, n);
    }
    if (in_group != 0) {
        st_recorder_void(&a->rec, ST_JOB, n);
    }
    return ST_OK;
}

/* Tell of wrong clocks: how many, the first rank, and which of its clocks it may be. */
static enum st_status tell_of_clocks(struct st_active *a)
{
    const struct stm_comm *step = &a->layout->step;
    const int mine = a->watch.bad ? 1 : 0;
    int n_bad = 0;
    int first = a->watch.bad ? step->rank : step->n_ranks;
    int who[2] = {0, a->watch.third_is_with_second ? 1 : 0}; /* world rank, which clock */

    STM_TRY(a->err, MPI_Allreduce(&mine, &n_bad, 1, MPI_INT, MPI_SUM, step->handle));
    if (n_bad == 0) {
        return ST_OK;
    }
    const int my_first = first;
    STM_TRY(a->err, MPI_Allreduce(&my_first, &first, 1, MPI_INT, MPI_MIN, step->handle));
    who[0] = a->campaign->machine->world.rank;
    STM_TRY(a->err, MPI_Bcast(who, 2, MPI_INT, first, step->handle));
    const struct st_machine *machine = a->campaign->machine;
    st_outcome_note(
        a->outcome,
        "clock: CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW of %d rank%s disagree by "
        "up to %.3g, first rank %d on %s (CLOCK_REALTIME agrees with the %s); "
        "samples that used them do not count",
        n_bad, n_bad == 1 ? "" : "s", a->outcome->clock_disagreement, who[0],
        machine->nodes[machine->ranks[who[0]].node].host,
        who[1] != 0 ? "second" : "first");
    return ST_OK;
}

/* METHODS 3.6: a residual above 10 % of the measured time is start skew. */
static void tell_of_skew(struct st_active *a)
{
    const double worst = a->outcome->clock_error_s;

    for (size_t s = 0; s < a->n_sections; s++) {
        const size_t at = s * a->batch.n + a->batch.n - 1;
        if (a->batch.n > 0 && worst > 0.1 * (a->batch.end[at] - a->batch.start[at])) {
            st_outcome_note(
                a->outcome,
                "clock_error: clocks of the nodes differ by %.3g s, more than "
                "10 %% of a timed section: times over several nodes contain "
                "start skew, those of single ranks do not",
                worst);
            return;
        }
    }
}

/* A place all of whose samples were dropped has no figure: say so, and of which metric. */
static enum st_status tell_of_dropped(struct st_active *a)
{
    const struct st_bench *bench = a->run.bench;
    const int n = (int)bench->n_metrics; /* rows of a declaration */
    double *mine = a->counts;
    double *all = a->counts + bench->n_metrics;

    for (size_t row = 0; row < bench->n_metrics; row++) {
        mine[row] =
            st_recorder_all_dropped(&a->rec, row, a->outcome->n_repetitions) ? 1.0 : 0.0;
    }
    STM_TRY(a->err,
            MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, a->layout->step.handle));
    for (size_t row = 0; row < bench->n_metrics; row++) {
        if (all[row] > 0.0) {
            st_outcome_note(
                a->outcome,
                "no valid sample of %s on %.0f rank%s: late starts, bad clocks "
                "or bad durations; are other programs running here?",
                bench->metrics[row].name, all[row], all[row] > 1.0 ? "s" : "");
            return ST_OK;
        }
    }
    return ST_OK;
}

enum st_status st_finish_clocks(struct st_active *a)
{
    const struct stm_comm *step = &a->layout->step;
    struct st_step_outcome *outcome = a->outcome;

    st_doing(a->where, ST_DOING_SYNC);
    enum st_status rc = stm_clock_residual(step, a->layout->active_node, st_now,
                                           &a->clock, &outcome->clock_error_s, a->err);
    if (rc != ST_OK) {
        return rc;
    }
    (void)st_clock_watch_look(&a->watch);
    STM_TRY(a->err, MPI_Allreduce(&a->watch.disagreement, &outcome->clock_disagreement, 1,
                                  MPI_DOUBLE, MPI_MAX, step->handle));
    rc = void_bad_clocks(a);
    if (rc == ST_OK) {
        rc = tell_of_clocks(a);
    }
    if (rc != ST_OK) {
        return rc;
    }
    const uint64_t dropped = st_recorder_dropped(&a->rec, outcome->n_repetitions);
    STM_TRY(a->err, MPI_Allreduce(&dropped, &outcome->n_dropped, 1, MPI_UINT64_T, MPI_SUM,
                                  step->handle));
    tell_of_skew(a);
    return outcome->n_repetitions > 0 ? tell_of_dropped(a) : ST_OK;
}

/* The text of the lowest rank that has one, on all ranks; *from is INT_MAX if none has. */
static enum st_status lowest_text(struct st_active *a, char *text, int size, int *from)
{
    const struct stm_comm *step = &a->layout->step;
    const int mine = text[0] != '\0' ? step->rank : INT_MAX;

    STM_TRY(a->err, MPI_Allreduce(&mine, from, 1, MPI_INT, MPI_MIN, step->handle));
    if (*from != INT_MAX) {
        STM_TRY(a->err, MPI_Bcast(text, size, MPI_CHAR, *from, step->handle));
    }
    return ST_OK;
}

/* A benchmark's own doubt about its memory (st_doubt()) counts like an unproved thread. */
static enum st_status tell_of_doubt(struct st_active *a)
{
    char text[sizeof a->rec.doubt];
    int from = INT_MAX;

    memcpy(text, a->rec.doubt, sizeof text);
    const enum st_status rc = lowest_text(a, text, (int)sizeof text, &from);
    if (rc != ST_OK || from == INT_MAX) {
        return rc;
    }
    a->outcome->placement_proved = false;
    st_outcome_note(a->outcome, "memory placement not proved, not judged: rank %d: %s",
                    from, text);
    return ST_OK;
}

static enum st_status tell_of_remark(struct st_active *a)
{
    char text[sizeof a->rec.remark];
    int from = INT_MAX;

    memcpy(text, a->rec.remark, sizeof text);
    const enum st_status rc = lowest_text(a, text, (int)sizeof text, &from);
    if (rc == ST_OK && from != INT_MAX) {
        st_outcome_note(a->outcome, "%s", text);
    }
    return rc;
}

enum st_status st_finish_placement(struct st_active *a)
{
    const struct stm_comm *step = &a->layout->step;
    int mine = 1;
    int all = 0;

    enum st_status rc = st_layout_prove(a->layout, a->err);
    rc = stm_agree(step, rc, a->err);
    if (rc != ST_OK) {
        return rc;
    }
    for (size_t i = 0; i < a->layout->n_seats; i++) {
        mine = mine && a->layout->seats[i].proved ? 1 : 0;
    }
    STM_TRY(a->err, MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, step->handle));
    a->outcome->placement_proved = all != 0;
    if (all == 0) {
        st_outcome_note(a->outcome, "placement: not proved for every thread%s%s",
                        a->layout->note[0] != '\0' ? ": " : "", a->layout->note);
    }
    rc = tell_of_doubt(a);
    return rc == ST_OK ? tell_of_remark(a) : rc;
}
