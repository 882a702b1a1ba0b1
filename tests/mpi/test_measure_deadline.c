/*
 * A step that cannot end: one rank stops itself (SIGSTOP) or stays in run() for ever. Started
 * by test_measure_deadline.sh, which looks at the status, the text and the time.
 */
#include "src/measure/step.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stall_params {
    int culprit; /* world rank */
    bool stops;  /* else it works on for ever */
};

static const struct st_metric metrics[] = {
    {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0, "t"}};

static enum st_status stall_plan(const void *params, const struct st_shape *shape,
                                 struct st_need *need, struct st_error *err)
{
    (void)params;
    (void)shape;
    (void)err;
    need->bytes_per_rank = 1;
    return ST_OK;
}

static enum st_status stall_prepare(struct st_run *run, void *state)
{
    (void)run;
    (void)state;
    return ST_OK;
}

static enum st_status stall_run(struct st_run *run, void *state)
{
    const struct stall_params *p = run->params;

    (void)state;
    if (run->repetition == 3 && run->comm.world_rank == p->culprit) {
        if (p->stops) {
            (void)raise(SIGSTOP);
        }
        for (;;) {
            (void)sleep(1);
        }
    }
    return ST_OK;
}

static enum st_status stall_verify(struct st_run *run, void *state,
                                   struct st_check *check)
{
    (void)run;
    (void)state;
    st_check_true(check, true, "nothing");
    return ST_OK;
}

static void stall_release(void *state)
{
    (void)state;
}

static const struct st_bench stall = {
    .name = "stall",
    .summary = "never ends",
    .source = "none",
    .n_metrics = 1,
    .metrics = metrics,
    .params_size = sizeof(struct stall_params),
    .state_size = 1,
    .plan = stall_plan,
    .prepare = stall_prepare,
    .run = stall_run,
    .verify = stall_verify,
    .release = stall_release,
    .spoil = stall_release,
};

static void save(void *context, const char *text)
{
    const int *rank = context;

    (void)fprintf(stderr, "saved by rank %d: %zu bytes of report\n", *rank, strlen(text));
}

static enum st_status run_step(struct stm_comm *world, const struct stall_params *params,
                               const char *late_file, struct st_error *err)
{
    struct st_machine *machine = NULL;
    struct stall_params copy = *params;
    struct st_step step = {.name = "stall",
                           .bench = &stall,
                           .params = &copy,
                           .layout = {.n_ranks = (size_t)world->n_ranks,
                                      .n_threads = 1,
                                      .threads = ST_MANY_COUNT,
                                      .oversubscribe = true},
                           .repeat = {.min = 5,
                                      .max = 100,
                                      .confidence = 0.95,
                                      .width = 1e-9,
                                      .budget_s = 60.0,
                                      .time_s = 0.0,
                                      .deadline_s = 3.0}};
    struct st_plan plan = {.n_steps = 1, .steps = &step};
    struct st_step_outcome outcome;

    enum st_status rc = st_machine_open(world, &machine, err);
    if (rc == ST_OK) {
        const struct st_campaign campaign = {.machine = machine,
                                             .plan = &plan,
                                             .deadline_file = late_file,
                                             .on_deadline = save,
                                             .deadline_context = &world->rank};
        rc = st_campaign_step(&campaign, 0, &outcome, err);
    }
    st_machine_close(&machine);
    return rc;
}

int main(int argc, char **argv)
{
    struct stm_comm world;
    struct st_error err = {0};

    if (argc != 4 || MPI_Init(NULL, NULL) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    const struct stall_params params = {.culprit = argv[2][0] - '0',
                                        .stops = strcmp(argv[1], "stop") == 0};
    if (run_step(&world, &params, argv[3], &err) != ST_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return 0; /* the step ended, which it must not: the script expects 2 */
}
