/*
 * What a benchmark learns of its place from a real layout, and what becomes of a benchmark's
 * doubt about its memory: the step's placement then counts as not proved, with the reason.
 */
#include "src/machine/machine.h"
#include "src/measure/run.h"
#include "src/measure/step.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;

struct doubt_params {
    bool doubts;
};

static const struct st_metric metrics[] = {
    {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0, "t"}};

static enum st_status doubt_plan(const void *params, const struct st_shape *shape,
                                 struct st_need *need, struct st_error *err)
{
    (void)params;
    (void)err;
    need->bytes_per_rank = shape->n_numa > 0 ? 1 : 2;
    return ST_OK;
}

static enum st_status doubt_prepare(struct st_run *run, void *state)
{
    (void)run;
    (void)state;
    return ST_OK;
}

/* The last rank doubts twice; its first text counts. */
static enum st_status doubt_verify(struct st_run *run, void *state,
                                   struct st_check *check)
{
    const struct doubt_params *p = run->params;

    (void)state;
    st_check_true(check, true, "nothing");
    if (p->doubts && run->comm.rank == run->comm.n_ranks - 1) {
        st_doubt(run, "nobody knows where");
        st_doubt(run, "a later thought");
    }
    return ST_OK;
}

static void doubt_release(void *state)
{
    (void)state;
}

static const struct st_bench doubt = {
    .name = "doubt",
    .summary = "does not know where its memory is",
    .source = "none",
    .n_metrics = 1,
    .metrics = metrics,
    .params_size = sizeof(struct doubt_params),
    .state_size = 1,
    .plan = doubt_plan,
    .prepare = doubt_prepare,
    .run = doubt_prepare,
    .verify = doubt_verify,
    .release = doubt_release,
    .spoil = doubt_release,
};

static enum st_status begin(void *context, const struct st_step_report *report,
                            struct st_error *err)
{
    (void)context;
    (void)report;
    (void)err;
    return ST_OK;
}

static enum st_status block(void *context, const struct st_block *samples,
                            struct st_error *err)
{
    (void)context;
    (void)samples;
    (void)err;
    return ST_OK;
}

static enum st_status end(void *context, struct st_error *err)
{
    (void)context;
    (void)err;
    return ST_OK;
}

/* All ranks, on however few cores. */
static struct st_layout_request all_ranks(void)
{
    return (struct st_layout_request){.n_ranks = (size_t)world.n_ranks,
                                      .threads = ST_MANY_COUNT,
                                      .n_threads = 1,
                                      .oversubscribe = true};
}

static void doubted_memory_is_placement_not_proved(void **unused)
{
    static const struct st_sink sink = {NULL, begin, block, end};
    struct st_machine *machine = NULL;
    struct st_error err = {0};

    (void)unused;
    st_assert_all(&world, st_machine_open(&world, &machine, &err) == ST_OK);
    for (int doubts = 0; doubts < 2; doubts++) {
        struct doubt_params params = {doubts != 0};
        struct st_step step = {.name = "doubt",
                               .bench = &doubt,
                               .params = &params,
                               .layout = all_ranks(),
                               .repeat = {.min = 2,
                                          .max = 2,
                                          .confidence = 0.95,
                                          .width = 1.0,
                                          .budget_s = 1.0,
                                          .deadline_s = 30.0}};
        struct st_plan plan = {.n_steps = 1, .steps = &step};
        const struct st_campaign campaign = {.machine = machine,
                                             .plan = &plan,
                                             .sink = &sink,
                                             .deadline_file = "never.late"};
        struct st_step_outcome outcome;
        char want[64];
        const enum st_status rc = st_campaign_step(&campaign, 0, &outcome, &err);
        (void)snprintf(want, sizeof want, "rank %d: nobody knows where",
                       world.n_ranks - 1);
        st_assert_all(&world, rc == ST_OK && outcome.state == ST_STEP_COMPLETE);
        st_assert_all(&world, (strstr(outcome.notes, want) != NULL) == params.doubts);
        st_assert_all(&world, strstr(outcome.notes, "later thought") == NULL);
        st_assert_all(&world, !params.doubts || !outcome.placement_proved);
    }
    st_machine_close(&machine);
}

static void the_place_says_what_the_layout_planned(void **unused)
{
    struct st_machine *machine = NULL;
    struct st_layout *layout = NULL;
    const struct st_layout_request request = all_ranks();
    struct st_error err = {0};
    bool good = true;

    (void)unused;
    st_assert_all(&world, st_machine_open(&world, &machine, &err) == ST_OK);
    st_assert_all(&world, st_layout_create(machine, &request, &layout, &err) == ST_OK);
    const struct st_place_info *place = &layout->place;
    const struct st_node *node = &machine->nodes[machine->ranks[world.rank].node];
    st_assert_all(&world, layout->shape.n_numa == node->n_numa);
    if (layout->active) {
        good = place->n_numa == node->n_numa && place->l2_bytes == node->l2_bytes &&
               place->llc_plausible == node->llc_plausible;
        for (size_t t = 0; t < place->n_threads; t++) {
            good = good && place->threads[t].pu == layout->seats[t].pu &&
                   place->threads[t].numa == layout->seats[t].numa;
        }
        for (size_t i = 0; i < place->n_numa; i++) {
            const struct st_numa_node *numa = &place->numa_nodes[i];
            good = good && numa->nearest < place->n_numa &&
                   (numa->os_index >= 0) == node->is_this_system;
        }
    }
    st_assert_all(&world, good);
    st_layout_destroy(&layout);
    st_machine_close(&machine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubted_memory_is_placement_not_proved),
        cmocka_unit_test(the_place_says_what_the_layout_planned),
    };
    struct st_error err = {0};
    int provided = 0;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
