#include "tests/record/fixture.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* See the header. */

struct fixture_params {
    uint64_t n, size, automatic;
    double ratio;
    bool flag;
    uint32_t choice, set;
    char name[ST_TEXT_PARAM_SIZE];
};

static const char *const choices[] = {"ordinary", "nontemporal", NULL};

static const struct st_param params[] = {
    {.name = "n",
     .type = ST_TYPE_COUNT,
     .offset = offsetof(struct fixture_params, n),
     .unit = "1",
     .default_text = "20",
     .min = 1,
     .max = 1e12,
     .help = "elements"},
    {.name = "size",
     .type = ST_TYPE_BYTES,
     .offset = offsetof(struct fixture_params, size),
     .unit = "byte",
     .default_text = "64MiB",
     .min = 1,
     .max = 1e15,
     .help = "bytes"},
    {.name = "automatic",
     .type = ST_TYPE_BYTES,
     .unit = "byte",
     .default_text = "auto",
     .offset = offsetof(struct fixture_params, automatic),
     .min = 1,
     .max = 1e15,
     .allow_auto = true,
     .help = "chosen"},
    {.name = "ratio",
     .type = ST_TYPE_REAL,
     .offset = offsetof(struct fixture_params, ratio),
     .unit = "1",
     .default_text = "0.25",
     .min = 0,
     .max = 1,
     .help = "a ratio"},
    {.name = "flag",
     .type = ST_TYPE_BOOL,
     .offset = offsetof(struct fixture_params, flag),
     .unit = "1",
     .default_text = "yes",
     .help = "a flag"},
    {.name = "choice",
     .type = ST_TYPE_CHOICE,
     .offset = offsetof(struct fixture_params, choice),
     .unit = "1",
     .default_text = "nontemporal",
     .choices = choices,
     .help = "a choice"},
    {.name = "set",
     .type = ST_TYPE_SET,
     .offset = offsetof(struct fixture_params, set),
     .unit = "1",
     .default_text = "all",
     .choices = choices,
     .help = "a set"},
    {.name = "name",
     .type = ST_TYPE_TEXT,
     .offset = offsetof(struct fixture_params, name),
     .unit = "1",
     .default_text = "matrix.mtx",
     .help = "a name"},
};

static const struct st_metric metrics[FIXTURE_METRICS] = {
    {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0, "time of one execution"},
    {"rate", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 0,
     "bytes per second of a node"},
    {"rank_time", "s", ST_LOWER, ST_RANK, ST_FROM_TIME, 1, "time of one rank"},
    {"unused", "1", ST_NEITHER, ST_NODE, ST_GIVEN, 0, "does not apply"},
    {"latency", "s", ST_LOWER, ST_PAIR, ST_GIVEN, 1, "latency of a pair"},
    {"numa_rate", "byte s-1", ST_HIGHER, ST_NUMA, ST_GIVEN, 1, "from memory to CPUs"},
    {"curve", "s", ST_LOWER, ST_POINT, ST_GIVEN, 1, "latency by size"},
    {"iterations", "1", ST_NEITHER, ST_JOB, ST_GIVEN, 1, "count, the same each time"},
};

static bool applies(const void *p, size_t row)
{
    (void)p;
    return row != 3;
}

static const struct st_bench bench = {
    .name = "fixture",
    .summary = "numbers made up for tests",
    .source = "tests/record/fixture.c",
    .n_params = ST_COUNT(params),
    .params = params,
    .n_metrics = FIXTURE_METRICS,
    .metrics = metrics,
    .params_size = sizeof(struct fixture_params),
    .point_name = "size",
    .point_unit = "byte",
    .applies = applies,
};

/* The wide fixture: 20 metrics of nodes. */
enum {
    WIDE_METRICS = 20
};
#define WIDE(n)                                                                          \
    {                                                                                    \
        "rate" #n, "byte s-1", ST_HIGHER, ST_NODE, ST_GIVEN, 0, "a figure of a node"     \
    }
static const struct st_metric wide_metrics[WIDE_METRICS] = {
    WIDE(0),  WIDE(1),  WIDE(2),  WIDE(3),  WIDE(4),  WIDE(5),  WIDE(6),
    WIDE(7),  WIDE(8),  WIDE(9),  WIDE(10), WIDE(11), WIDE(12), WIDE(13),
    WIDE(14), WIDE(15), WIDE(16), WIDE(17), WIDE(18), WIDE(19)};

static const struct st_bench wide_bench = {
    .name = "wide",
    .summary = "many places",
    .source = "tests/record/fixture.c",
    .n_params = ST_COUNT(params),
    .params = params,
    .n_metrics = WIDE_METRICS,
    .metrics = wide_metrics,
    .params_size = sizeof(struct fixture_params),
};

#define NONE SIZE_MAX
/* clang-format off */
#define PLACE(n, nb, r, rb, u, ub)                                                       \
    {.group = 0, .node = (n), .node_b = (nb), .rank = (r), .rank_b = (rb), .numa = (u), .numa_b = (ub)}
#define POINT(n, r, v)                                                                   \
    {.group = 0, .node = (n), .node_b = NONE, .rank = (r), .rank_b = NONE, .numa = NONE, \
     .numa_b = NONE, .value = (v), .value_name = "size", .value_unit = "byte"}
/* clang-format on */
static const struct st_step_place job_places[] = {
    PLACE(NONE, NONE, NONE, NONE, NONE, NONE)};
static const struct st_step_place rank_places[] = {
    PLACE(0, NONE, 0, NONE, NONE, NONE), PLACE(0, NONE, 1, NONE, NONE, NONE),
    PLACE(1, NONE, 2, NONE, NONE, NONE), PLACE(1, NONE, 3, NONE, NONE, NONE)};
static const struct st_step_place pair_places[] = {PLACE(0, 0, 0, 1, NONE, NONE),
                                                   PLACE(0, 1, 0, 2, NONE, NONE),
                                                   PLACE(1, 1, 2, 3, NONE, NONE)};
static const struct st_step_place numa_places[] = {PLACE(0, NONE, NONE, NONE, 0, 0),
                                                   PLACE(0, NONE, NONE, NONE, 0, 1)};
static const struct st_step_place point_places[] = {POINT(0, 0, 4096.0),
                                                    POINT(0, 0, 65536.0)};

static struct st_seat seats[FIXTURE_RANKS] = {
    {0, 0, 0, 0, 0, 0, 0, 0, (char *)(uintptr_t) "0", (char *)(uintptr_t) "0", 0, true},
    {1, 0, 0, 1, 1, 0, 0, 0, (char *)(uintptr_t) "1", (char *)(uintptr_t) "1", 1, true},
    {2, 0, 1, 0, 0, 0, 0, 0, (char *)(uintptr_t) "0", (char *)(uintptr_t) "0", 0, true},
    {3, 0, 1, -1, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, NULL, NULL, -1, false}};

static char *const arguments[] = {(char *)(uintptr_t) "seatrial",
                                  (char *)(uintptr_t) "run",
                                  (char *)(uintptr_t) "my config.yaml"};
static char *const topologies[] = {(char *)(uintptr_t) "<topology>0</topology>",
                                   (char *)(uintptr_t) "<topology>1</topology>"};

static void init_nodes(struct fixture *f, size_t n_nodes, size_t ranks_per_node)
{
    f->machine.n_nodes = n_nodes;
    f->machine.n_classes = 2;
    f->node_places = st_calloc(NULL, n_nodes, sizeof *f->node_places);
    f->machine.world.n_ranks = (int)(n_nodes * ranks_per_node);
    f->machine.nodes = st_calloc(NULL, n_nodes, sizeof *f->machine.nodes);
    f->machine.ranks =
        st_calloc(NULL, n_nodes * ranks_per_node, sizeof *f->machine.ranks);
    for (size_t i = 0; i < n_nodes; i++) {
        struct st_node *node = &f->machine.nodes[i];
        snprintf(node->host, sizeof node->host, "node%zu", i + 1);
        node->n_ranks = ranks_per_node;
        node->n_usable_cores = 2;
        node->n_usable_pus = 4;
        node->memory_bytes = (uint64_t)8 << 30;
        node->topology_class = i % 2;
        node->n_facts = i % 3; /* nodes without facts too */
        for (size_t k = 0; k < node->n_facts; k++) {
            snprintf(node->facts[k].name, sizeof node->facts[k].name, "fact%zu", k);
            snprintf(node->facts[k].value, sizeof node->facts[k].value, "of node %zu", i);
        }
        for (size_t k = 0; k < ranks_per_node; k++) {
            f->machine.ranks[i * ranks_per_node + k] =
                (struct st_rank){i, k, (char *)(uintptr_t) "0-3"};
        }
    }
}

static void init_steps(struct fixture *f, size_t n_steps)
{
    struct st_error err = {0};

    f->plan.n_steps = n_steps;
    f->plan.steps = st_calloc(NULL, n_steps, sizeof *f->plan.steps);
    for (size_t i = 0; i < n_steps; i++) {
        struct st_step *step = &f->plan.steps[i];
        snprintf(step->name, sizeof step->name, "fixture:n=%zu", i);
        step->bench = &bench;
        step->params = st_calloc(NULL, 1, sizeof(struct fixture_params));
        (void)st_params_default(&bench, step->params, &err);
        step->repeat = (struct st_repeat){5, 50, 0.95, 0.02, 10.0, 1e-3, 100.0};
        step->n_criteria = 1;
        step->criteria = st_calloc(NULL, 1, sizeof *step->criteria);
        step->criteria[0] = (struct st_criterion){.metric_row = 4,
                                                  .kind = ST_AT_MOST,
                                                  .bound = 2e-6,
                                                  .reference = (double)NAN,
                                                  .confidence = 0.95,
                                                  .floor = (double)NAN,
                                                  .text = "at_most: 2us",
                                                  .line = 12,
                                                  .column = 7};
    }
}

void fixture_init(struct fixture *f, size_t n_steps)
{
    memset(f, 0, sizeof *f);
    snprintf(f->plan.campaign, sizeof f->plan.campaign, "fixture \xc3\xa9t\xc3\xa9");
    f->plan.file = (char *)(uintptr_t) "my config.yaml";
    f->plan.config_text =
        (char *)(uintptr_t) "campaign: fixture\nsteps:\n  - benchmark: fixture\n";
    f->plan.overrides = (char *)(uintptr_t) "defaults.repeat.max=50";
    f->plan.n_peaks = 1;
    snprintf(f->plan.peaks[0].name, sizeof f->plan.peaks[0].name, "memory");
    snprintf(f->plan.peaks[0].unit, sizeof f->plan.peaks[0].unit, "byte s-1");
    f->plan.peaks[0].value = 460.8e9;
    init_steps(f, n_steps);
    init_nodes(f, FIXTURE_NODES, FIXTURE_RANKS / FIXTURE_NODES);
    f->info = (struct st_run_info){.plan = &f->plan,
                                   .machine = &f->machine,
                                   .argc = 3,
                                   .argv = (char **)(uintptr_t)arguments,
                                   .n_topologies = 2,
                                   .topology_xml = topologies,
                                   .mpi_library = "Some MPI 1.0",
                                   .mpi_transport = "ob1/self,vader",
                                   .launcher = "mpirun",
                                   .binary = "seatrial 0.1.0",
                                   .start_up_s = 0.5};
    f->layout = (struct st_layout){
        .active = true,
        .n_groups = 1,
        .n_active = FIXTURE_RANKS,
        .shape = {.n_nodes = FIXTURE_NODES, .n_threads = FIXTURE_RANKS},
        .applied = true};
    f->n_repetitions = FIXTURE_REPETITIONS;
}

void fixture_widen(struct fixture *f, size_t n_nodes)
{
    st_free(f->node_places);
    st_free(f->machine.nodes);
    st_free(f->machine.ranks);
    init_nodes(f, n_nodes, 1);
    for (size_t i = 0; i < f->plan.n_steps; i++) {
        f->plan.steps[i].bench = &wide_bench;
    }
}

void fixture_clear(struct fixture *f)
{
    for (size_t i = 0; i < f->plan.n_steps; i++) {
        st_free(f->plan.steps[i].params);
        st_free(f->plan.steps[i].criteria);
    }
    st_free(f->plan.steps);
    st_free(f->node_places);
    st_free(f->machine.nodes);
    st_free(f->machine.ranks);
}

double fixture_value(size_t step, size_t row, size_t place, size_t repetition)
{
    return 1000.0 * (double)(step + 1) + 100.0 * (double)row + (double)place +
           (double)((repetition * 7) % 5) / 64.0;
}

int8_t fixture_validity(size_t place, size_t repetition)
{
    if (repetition == 0) {
        return ST_WARMUP;
    }
    return place == 1 && repetition == 3 ? ST_LATE_START : ST_VALID;
}

static enum st_status send_block(struct fixture *f, const struct st_sink *sink,
                                 size_t step, struct st_block block, struct st_error *err)
{
    const size_t n = block.n_places * f->n_repetitions;
    double *values = st_calloc(err, n, sizeof *values);
    int8_t *validity = st_calloc(err, n, sizeof *validity);
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < n; i++) {
        const size_t place = block.first_place + i / f->n_repetitions;
        values[i] = fixture_value(step, block.row, place, i % f->n_repetitions);
        validity[i] = fixture_validity(place, i % f->n_repetitions);
    }
    block.n_repetitions = f->n_repetitions;
    block.values = values;
    block.validity = validity;
    rc = sink->block(sink->context, &block, err);
    st_free(values);
    st_free(validity);
    return rc;
}

static void fill_outcome(struct fixture *f, enum st_step_state state)
{
    memset(&f->outcome, 0, sizeof f->outcome);
    f->outcome.state = state;
    if (state != ST_STEP_COMPLETE) {
        snprintf(f->outcome.reason, sizeof f->outcome.reason, "made to be so");
    }
    f->outcome.converged = true;
    f->outcome.placement_proved = true;
    f->outcome.n_repetitions = state == ST_STEP_SKIPPED ? 0 : f->n_repetitions;
    f->outcome.n_inner[0] = 10;
    f->outcome.n_inner[1] = 20;
    f->outcome.clock_error_s = 1e-7;
    f->outcome.check = (struct st_check){.limit = 1e-6, .n_checked = 100};
    f->outcome.phase_s[ST_PHASE_MEASURED] = 1.5;
    f->outcome.wall_s = 2.5;
    snprintf(f->outcome.notes, sizeof f->outcome.notes, "cache_affected: no");
}

static void fill_report(struct fixture *f, size_t number)
{
    const bool narrow = f->machine.n_nodes == FIXTURE_NODES;

    for (size_t i = 0; i < f->machine.n_nodes; i++) {
        f->node_places[i] = (struct st_step_place)PLACE(i, NONE, NONE, NONE, NONE, NONE);
    }
    f->report = (struct st_step_report){.number = number,
                                        .step = &f->plan.steps[number],
                                        .outcome = &f->outcome,
                                        .layout = &f->layout,
                                        .n_seats = FIXTURE_RANKS,
                                        .seats = seats};
    f->report.n_places[ST_JOB] = ST_COUNT(job_places);
    f->report.places[ST_JOB] = job_places;
    f->report.n_places[ST_NODE] = f->machine.n_nodes;
    f->report.places[ST_NODE] = f->node_places;
    f->report.n_places[ST_RANK] = narrow ? ST_COUNT(rank_places) : 0;
    f->report.places[ST_RANK] = rank_places;
    f->report.n_places[ST_PAIR] = narrow ? ST_COUNT(pair_places) : 0;
    f->report.places[ST_PAIR] = pair_places;
    f->report.n_places[ST_NUMA] = narrow ? ST_COUNT(numa_places) : 0;
    f->report.places[ST_NUMA] = numa_places;
    f->report.n_places[ST_POINT] = narrow ? ST_COUNT(point_places) : 0;
    f->report.places[ST_POINT] = point_places;
}

static enum st_status send_blocks(struct fixture *f, const struct st_sink *sink,
                                  size_t number, struct st_error *err)
{
    const struct st_bench *b = f->report.step->bench;
    enum st_status rc = ST_OK;
    size_t most = 0;

    for (size_t row = 0; row < b->n_metrics; row++) {
        const size_t n = f->report.n_places[b->metrics[row].place];
        most = n > most ? n : most;
        if (f->all_at_once && st_bench_applies(b, NULL, row) && n > 0 && rc == ST_OK) {
            rc = send_block(f, sink, number, (struct st_block){.row = row, .n_places = n},
                            err);
        }
    }
    /* one owner after the other, each with all its metrics: rows arrive out of order */
    for (size_t place = 0; !f->all_at_once && place < most; place++) {
        for (size_t row = 0; rc == ST_OK && row < b->n_metrics; row++) {
            if (st_bench_applies(b, NULL, row) &&
                place < f->report.n_places[b->metrics[row].place]) {
                rc = send_block(
                    f, sink, number,
                    (struct st_block){.row = row, .first_place = place, .n_places = 1},
                    err);
            }
        }
    }
    return rc;
}

enum st_status fixture_step(struct fixture *f, const struct st_sink *sink, size_t number,
                            enum st_step_state state, struct st_error *err)
{
    enum st_status rc = ST_OK;

    fill_outcome(f, state);
    fill_report(f, number);
    rc = sink->begin(sink->context, &f->report, err);
    if (rc == ST_OK && state != ST_STEP_SKIPPED) {
        rc = send_blocks(f, sink, number, err);
    }
    if (rc == ST_OK) {
        rc = sink->end(sink->context, err);
    }
    return rc;
}
