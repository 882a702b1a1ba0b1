/*
 * `seatrial run`: the whole campaign. Wires the folders together: config -> plan -> machine
 * -> steps (measure) -> results file (record) -> verdict (judge) -> report (show). All ranks
 * go through the same calls; rank 0 alone reads the config, writes the file and prints.
 */

#include "build_info.h"
#include "mpi/agree.h"
#include "mpi/library.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/command/commands.h"
#include "src/command/config.h"
#include "src/command/session.h"
#include "src/machine/launch.h"
#include "src/show/show.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct st_option options[] = {
    {"output", 'o', "FILE", false, "results file (default: the config's name with .h5)"},
    ST_OPTION_ONLY,
    ST_OPTION_SET,
    {"resume", 0, "FILE", false, "go on after the last finished step in FILE"},
    {"dry-run", 0, NULL, false,
     "plan on this machine with these ranks, print, measure nothing"},
    {"mpi-threads", 0, "LEVEL", false,
     "what MPI is started with: funneled (the default: no locks), or multiple, which "
     "thread_rate needs"},
};

/** What a campaign holds while it runs. */
struct campaign {
    const struct st_arguments *arguments;
    struct st_session session;
    struct st_plan *plan;
    struct st_machine *machine;
    struct st_results *results;   /**< rank 0 only */
    struct st_progress *progress; /**< rank 0 only */
    bool *finished;               /**< [plan->n_steps] by an earlier run (--resume) */
    char output[4096];
    bool interrupted;
};

static void on_signal(int number)
{
    (void)number;
    st_interrupt_requested = 1;
}

/* SIGXFSZ would kill the writer at a file-size limit: the failing write() tells enough. */
static void catch_signals(void)
{
    struct sigaction action = {0};

    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGXFSZ, &action, NULL);
    (void)sigaction(SIGPIPE, &action, NULL);
}

static enum st_status output_path(struct campaign *c, struct st_error *err)
{
    const char *config = c->arguments->operands[0];
    const char *resume = st_value(c->arguments, "resume", NULL);
    const char *given = st_value(c->arguments, "output", resume);

    if (resume != NULL && strcmp(given, resume) != 0) {
        return st_fail(
            err, ST_ERR_USAGE,
            "--output and --resume name two files ('%s', '%s'): with --resume the "
            "results go on in its file",
            given, resume);
    }
    if (given == NULL) {
        const char *slash = strrchr(config, '/');
        const char *base = slash != NULL ? slash + 1 : config;
        const char *dot = strrchr(base, '.');
        const int n = dot != NULL && dot != base ? (int)(dot - base) : (int)strlen(base);
        (void)snprintf(c->output, sizeof c->output, "%.*s.h5", n, base);
    } else if (!st_copy(c->output, sizeof c->output, given)) {
        return st_fail(err, ST_ERR_USAGE, "the output path is longer than %zu characters",
                       sizeof c->output - 1);
    }
    return ST_OK;
}

static const char *launcher_name(void)
{
    static const struct {
        const char *variable, *name;
    } known[] = {{"OMPI_COMM_WORLD_SIZE", "mpirun (Open MPI)"},
                 {"SLURM_STEP_ID", "srun"},
                 {"PMIX_RANK", "PMIx"},
                 {"PMI_RANK", "PMI"}};

    if (getenv("OMPI_COMM_WORLD_SIZE") != NULL && getenv("SLURM_STEP_ID") != NULL &&
        getenv("PMIX_NAMESPACE") != NULL && getenv("OMPI_MCA_ess_base_jobid") == NULL) {
        return "srun";
    }
    for (size_t i = 0; i < ST_COUNT(known); i++) {
        if (getenv(known[i].variable) != NULL) {
            return known[i].name;
        }
    }
    return "none";
}

/* Topologies travel to rank 0 one class at a time; then rank 0 alone creates the file. */
static enum st_status create_results(struct campaign *c, struct st_error *err)
{
    const struct stm_comm *world = &c->session.world;
    const size_t n = c->machine->n_classes;
    const bool resume = st_value(c->arguments, "resume", NULL) != NULL;
    char library[256];
    char transport[1024];
    char hwloc[32];
    char **xml = st_calloc(err, n, sizeof *xml);

    enum st_status rc = stm_agree(world, xml == NULL ? err->code : ST_OK, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        rc = st_machine_topology_xml(c->machine, i, &xml[i], err);
    }
    if (rc == ST_OK && world->rank == 0) {
        const struct st_run_info info = {
            .plan = c->plan,
            .machine = c->machine,
            .argc = c->arguments->argc,
            .argv = c->arguments->argv,
            .n_topologies = n,
            .topology_xml = xml,
            .mpi_library = stm_library_text(library, sizeof library),
            .mpi_transport = stm_transport_text(transport, sizeof transport),
            .launcher = launcher_name(),
            .hwloc_version = st_machine_hwloc_version(hwloc, sizeof hwloc),
            .yaml_version = st_plan_yaml_version(),
            .binary = ST_BUILD_TEXT,
            .start_up_s = c->session.start_up_s,
        };
        rc = st_results_create(c->output, &info, resume, c->finished, &c->results, err);
    }
    rc = stm_agree(world, rc, err);
    for (size_t i = 0; xml != NULL && i < n; i++) {
        st_free(xml[i]);
    }
    st_free(xml);
    if (rc == ST_OK) {
        rc = stm_bcast_bytes(world, c->finished, c->plan->n_steps * sizeof *c->finished,
                             err);
    }
    return rc;
}

/* Runs in the watchdog's thread of rank 0 when a deadline passed. */
static void save_after_deadline(void *context, const char *text)
{
    struct campaign *c = context;
    struct st_error err = {0};

    if (c->results != NULL &&
        st_results_finish(c->results, "interrupted", text, &err) != ST_OK) {
        st_complain(&err);
    }
}

static enum st_status run_steps(struct campaign *c, struct st_error *err)
{
    const bool is_root = c->session.world.rank == 0;
    char late[4104];
    (void)snprintf(late, sizeof late, "%s.late", c->output);
    const struct st_campaign campaign = {
        .machine = c->machine,
        .plan = c->plan,
        .listener = is_root ? st_progress_listener(c->progress) : NULL,
        .sink = is_root ? st_results_sink(c->results) : NULL,
        .deadline_file = late,
        .on_deadline = save_after_deadline,
        .deadline_context = c,
        .spoil = getenv("SEATRIAL_SPOIL") != NULL,
    };

    for (size_t i = 0; i < c->plan->n_steps; i++) {
        struct st_step_outcome outcome;
        if (c->finished[i]) {
            continue;
        }
        const enum st_status rc = st_campaign_step(&campaign, i, &outcome, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static bool is_spread(const struct st_file_step *step, const struct st_verdict_row *row)
{
    return row->criterion < step->n_criteria &&
           step->criteria[row->criterion].criterion.kind == ST_SPREAD;
}

static enum st_status write_verdicts(struct campaign *c, const struct st_file *file,
                                     const struct st_verdict *verdict,
                                     struct st_error *err)
{
    struct st_verdict_line *lines = st_calloc(err, verdict->n_rows, sizeof *lines);

    if (lines == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < verdict->n_rows; i++) {
        const struct st_verdict_row *row = &verdict->rows[i];
        const struct st_file_step *step = &file->steps[row->step];
        const struct st_file_metric *metric =
            row->metric < step->n_metrics ? &step->metrics[row->metric] : NULL;
        lines[i] = (struct st_verdict_line){
            .step = step->number,
            .metric = metric != NULL ? metric->name : "",
            .unit = metric == NULL         ? ""
                    : is_spread(step, row) ? "1"
                                           : metric->unit,
            .place = metric != NULL && row->place < metric->n_places
                         ? metric->places[row->place].label
                         : "all",
            .statistic = row->criterion < step->n_criteria
                             ? st_statistic_word(
                                   step->criteria[row->criterion].criterion.statistic)
                             : "",
            .outcome = st_outcome_word(row->outcome),
            .text = row->text,
            .value = row->value,
            .low = row->low,
            .high = row->high,
            .bound = row->bound,
            .n = row->n,
        };
    }
    const enum st_status rc =
        st_results_verdicts(c->results, verdict->n_rows, lines,
                            st_outcome_word(verdict->overall), (int)verdict->exit, err);
    st_free(lines);
    return rc;
}

/* Rank 0, after the last step: close the file, judge it as any reader would, print. */
static enum st_status conclude(struct campaign *c, enum st_exit *status,
                               struct st_error *err)
{
    struct st_file *file = NULL;
    struct st_verdict *verdict = NULL;

    enum st_status rc = st_results_finish(
        c->results, c->interrupted ? "interrupted" : "complete",
        c->interrupted ? "a signal asked the campaign to stop" : "", err);
    if (rc == ST_OK) {
        rc = st_file_open(c->output, &file, err);
    }
    if (rc == ST_OK) {
        rc = st_judge_file(file, &verdict, err);
    }
    if (rc == ST_OK) {
        rc = write_verdicts(c, file, verdict, err);
    }
    if (rc == ST_OK) {
        rc = st_show_report(stdout, st_style_of(stdout), ST_REPORT_TEXT, file, verdict,
                            err);
    }
    if (rc == ST_OK) {
        (void)printf("\n");
        st_show_lines(stdout, file, verdict);
        (void)printf("\nresults: %s\n", c->output);
        *status = verdict->exit;
    }
    (void)fflush(stdout);
    st_verdict_destroy(&verdict);
    st_file_close(&file);
    return rc;
}

static enum st_status measure(struct campaign *c, enum st_exit *status,
                              struct st_error *err)
{
    const struct stm_comm *world = &c->session.world;

    c->finished = st_calloc(err, c->plan->n_steps, sizeof *c->finished);
    enum st_status rc = c->finished == NULL ? err->code : ST_OK;
    if (rc == ST_OK && world->rank == 0) {
        rc = st_progress_create(stdout, st_style_of(stdout), &c->progress, err);
    }
    rc = stm_agree(world, rc, err);
    if (rc == ST_OK) {
        rc = create_results(c, err);
    }
    if (rc == ST_OK) {
        rc = run_steps(c, err);
    }
    c->interrupted = rc == ST_ERR_INTERRUPTED;
    if (rc == ST_OK || c->interrupted) {
        rc = world->rank == 0 ? conclude(c, status, err) : ST_OK;
        rc = stm_agree(world, rc, err);
    } else if (rc != ST_ERR_MPI && world->rank == 0 && c->results != NULL) {
        struct st_error ignored = {0}; /* the first error is the one to report */
        (void)st_results_finish(c->results, "failed", err->text, &ignored);
    }
    return rc;
}

/* The layouts these ranks would get, and every benchmark's prediction for them. */
static enum st_status dry_run(struct campaign *c, struct st_error *err)
{
    const struct stm_comm *world = &c->session.world;
    struct st_shape *shapes = st_calloc(err, c->plan->n_steps, sizeof *shapes);
    struct st_need *needs = st_calloc(err, c->plan->n_steps, sizeof *needs);

    enum st_status rc =
        stm_agree(world, shapes == NULL || needs == NULL ? err->code : ST_OK, err);
    for (size_t i = 0; rc == ST_OK && i < c->plan->n_steps; i++) {
        const struct st_step *step = &c->plan->steps[i];
        struct st_layout *layout = NULL;
        struct st_error step_err = {0};

        enum st_status step_rc =
            st_layout_create(c->machine, &step->layout, &layout, &step_err);
        if (step_rc == ST_OK) {
            shapes[i] = layout->shape;
            step_rc = step->bench->plan(step->params, &shapes[i], &needs[i], &step_err);
        }
        st_layout_destroy(&layout);
        if (step_rc == ST_ERR_UNSUPPORTED) {
            (void)snprintf(needs[i].notes, sizeof needs[i].notes,
                           "will be skipped: %.480s", step_err.text);
        } else if (step_rc != ST_OK) {
            *err = step_err;
            rc = st_note(err, " (step '%s')", step->name);
        }
    }
    if (rc == ST_OK && world->rank == 0) {
        st_show_plan(stdout, c->plan, shapes, needs);
    }
    st_free(needs);
    st_free(shapes);
    return rc;
}

static enum st_status threads_level(const struct st_arguments *arguments, bool *multiple,
                                    struct st_error *err)
{
    const char *level = st_value(arguments, "mpi-threads", "funneled");

    *multiple = strcmp(level, "multiple") == 0;
    if (!*multiple && strcmp(level, "funneled") != 0) {
        return st_fail(err, ST_ERR_USAGE,
                       "--mpi-threads %.40s: give funneled or multiple", level);
    }
    return ST_OK;
}

static enum st_exit run(const struct st_arguments *arguments)
{
    struct campaign c = {.arguments = arguments};
    struct st_error err = {0};
    enum st_exit status = ST_EXIT_PASS;
    bool threads_call = false;

    enum st_status rc = output_path(&c, &err);
    if (rc == ST_OK) {
        rc = threads_level(arguments, &threads_call, &err);
    }
    if (rc == ST_OK) {
        rc = st_session_open(&c.session, threads_call, &err);
    }
    if (rc != ST_OK) {
        st_complain(&err);
        return st_exit_of(rc);
    }
    catch_signals();
    rc = st_config_share(arguments, &c.session.world, &c.plan, &err);
    if (rc == ST_OK) {
        rc = st_machine_open(&c.session.world, &c.machine, &err);
    }
    if (rc == ST_OK) {
        rc = st_given(arguments, "dry-run") > 0 ? dry_run(&c, &err)
                                                : measure(&c, &status, &err);
    }
    if (rc != ST_OK) {
        status = st_exit_of(rc);
        if (c.session.world.rank == 0) {
            st_complain(&err);
        }
    }
    st_results_close(&c.results);
    st_progress_destroy(&c.progress);
    st_free(c.finished);
    if (rc != ST_ERR_MPI) {
        st_machine_close(&c.machine);
    }
    st_plan_destroy(&c.plan);
    return st_session_close(&c.session, rc, status);
}

const struct st_command st_command_run = {
    .name = "run",
    .operands = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "run a campaign: measure, write one results file, judge",
    .details = "Start it under the launcher with the most ranks any step wants, normally "
               "one per core:\n"
               "  mpirun -n 64 seatrial run configs/quick.yaml\n"
               "  srun --mpi=pmix seatrial run configs/quick.yaml -o night.h5\n\n"
               "The file on disk always opens and holds every finished step, whatever is "
               "killed.\n"
               "SIGTERM, SIGINT or SIGUSR1 closes the running step as interrupted and "
               "ends with status 2.\n\n"
               "Test hooks: SEATRIAL_FAKE_NODES=block:2,1 | cyclic:3 treats one machine "
               "as several nodes;\n"
               "SEATRIAL_SPOIL=1 falsifies a result of every step, which verification "
               "must find.",
    .n_options = ST_COUNT(options),
    .options = options,
    .run = run,
};
