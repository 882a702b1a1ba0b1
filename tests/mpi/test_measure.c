/*
 * A whole step with a benchmark made for it: every kind of place, several groups and uneven
 * pretended nodes, and every way to fail on one rank while the others are well. Given values
 * encode metric, group, place and repetition, so that the gathered samples can be checked one
 * by one on rank 0.
 */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/measure/clock.h"
#include "src/measure/step.h"
#include "tests/mpi/assert_all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the benchmark ---- */

enum fault {
    F_NONE,
    F_PLAN_UNSUPPORTED,
    F_PLAN_TOO_BIG,
    F_PREPARE,
    F_PREPARE_UNSUPPORTED,
    F_PLACES_DIFFER,
    F_NO_WORK,
    F_RUN,
    F_WRONG_OWNER,
    F_NO_GIVEN,
    F_NO_GIVEN_IN_ONE_GROUP,
    F_INTERRUPT,
    F_VERIFY_NAN,
    F_VERIFY_STATUS,
    F_VERIFY_NOTHING
};

struct probe_params {
    enum fault fault;
    int culprit; /* world rank */
    double spin_s;
};

struct probe_state {
    double *memory;
    double got; /* must be 1 */
};

enum {
    M_JOB,
    M_NODE,
    M_RANK,
    M_PAIR,
    M_NUMA,
    M_COUNT,
    M_N
};

/* clang-format off */
static const struct st_metric metrics[] = {
    [M_JOB] = {"job", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0, "t"},
    [M_NODE] = {"node", "byte s-1", ST_HIGHER, ST_NODE, ST_FROM_WORK, 0, "r"},
    [M_RANK] = {"rank", "s", ST_LOWER, ST_RANK, ST_FROM_TIME, 3, "t"},
    [M_PAIR] = {"pair", "s", ST_LOWER, ST_PAIR, ST_GIVEN, 3, "p"},
    [M_NUMA] = {"numa", "1", ST_NEITHER, ST_NUMA, ST_GIVEN, 3, "n"},
    [M_COUNT] = {"count", "1", ST_NEITHER, ST_JOB, ST_GIVEN, 3, "c"},
};
/* clang-format on */

static int n_prepared;
static int n_released;
static size_t my_group; /* the sink's key to given values; set when a layout is known */

static double code(size_t row, size_t group, size_t place, size_t repetition)
{
    return 1e9 * (double)row + 1e6 * (double)group + 1e3 * (double)place +
           (double)repetition;
}

static bool is_me(const struct st_run *run, enum fault fault)
{
    const struct probe_params *p = run->params;

    return p->fault == fault && run->comm.world_rank == p->culprit;
}

static enum st_status probe_plan(const void *params, const struct st_shape *shape,
                                 struct st_need *need, struct st_error *err)
{
    const struct probe_params *p = params;

    (void)shape;
    need->bytes_per_rank = p->fault == F_PLAN_TOO_BIG ? UINT64_MAX / 2 : 8;
    (void)snprintf(need->notes, sizeof need->notes, "cache_affected: all of it");
    return p->fault == F_PLAN_UNSUPPORTED
               ? st_fail(err, ST_ERR_UNSUPPORTED, "no quantum network here")
               : ST_OK;
}

static enum st_status set_pairs(struct st_run *run, bool differ)
{
    const size_t n = (size_t)run->comm.n_ranks;
    struct st_place *ring = st_calloc(&run->err, n, sizeof *ring);

    if (ring == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < n;
         i++) { /* two owners take turns in holding two places each */
        ring[i] = (struct st_place){.owner = i / 2 * 2, .a = i, .b = (i + 1) % n};
    }
    if (differ) {
        ring[0].b = 0;
        ring[0].a = n - 1;
    }
    const enum st_status rc = st_set_places(run, ST_PAIR, n, ring);
    st_free(ring);
    return rc;
}

/* Collective over the group, so a rank that fails locally must agree before it leaves. */
static enum st_status probe_prepare(struct st_run *run, void *state)
{
    struct probe_state *s = state;
    const struct st_place numa = {.owner = (size_t)run->comm.n_ranks - 1};
    enum st_status rc = ST_OK;

    n_prepared++;
    s->got = 1.0;
    s->memory = st_calloc(&run->err, 10, sizeof *s->memory);
    if (s->memory == NULL) {
        rc = ST_ERR_MEMORY;
    } else if (is_me(run, F_PREPARE)) {
        rc = st_fail(&run->err, ST_ERR_STEP, "no luck");
    } else if (is_me(run, F_PREPARE_UNSUPPORTED)) {
        rc = st_fail(&run->err, ST_ERR_UNSUPPORTED, "no huge pages");
    }
    rc = stm_agree(&run->comm, rc, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    if (!is_me(run, F_NO_WORK)) {
        st_set_work(run, M_NODE, 1000.0);
    }
    rc = set_pairs(run, is_me(run, F_PLACES_DIFFER));
    return rc == ST_OK ? st_set_places(run, ST_NUMA, 1, &numa) : rc;
}

static void spin(double seconds)
{
    const struct timespec nap = {.tv_nsec = 1000};
    struct timespec begin;
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do { /* sleeps, so that many ranks can do it on few cores */
        (void)nanosleep(&nap, NULL);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) +
                 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
             seconds);
}

static void record_given(struct st_run *run)
{
    const struct probe_params *p = run->params;
    const size_t me = (size_t)run->comm.rank;
    const size_t n = (size_t)run->comm.n_ranks;
    const size_t k = run->repetition;

    for (size_t i = me; me % 2 == 0 && i < n && i < me + 2; i++) {
        st_record(run->rec, M_PAIR, i, code(M_PAIR, my_group, i, k));
    }
    if (me == n - 1) {
        st_record(run->rec, M_NUMA, 0, code(M_NUMA, my_group, 0, k));
    }
    const bool is_silent = p->fault == F_NO_GIVEN || is_me(run, F_NO_GIVEN_IN_ONE_GROUP);
    if (me == 0 && !is_silent) {
        st_record(run->rec, M_COUNT, 0, code(M_COUNT, my_group, 0, k));
    }
    if (is_me(run, F_WRONG_OWNER)) {
        st_record(run->rec, M_PAIR, n, 1.0);
    }
}

static enum st_status probe_run(struct st_run *run, void *state)
{
    const struct probe_params *p = run->params;

    (void)state;
    for (size_t k = 0; k < run->n_inner; k++) {
        spin(p->spin_s);
    }
    if (run->section == 3) {
        record_given(run);
    }
    if (run->repetition == 2 && is_me(run, F_INTERRUPT)) {
        st_interrupt_requested = 1;
    }
    if (run->repetition == 2 && is_me(run, F_RUN)) {
        return st_fail(&run->err, ST_ERR_STEP, "link down");
    }
    return ST_OK;
}

static enum st_status probe_verify(struct st_run *run, void *state,
                                   struct st_check *check)
{
    const struct probe_params *p = run->params;
    struct probe_state *s = state;

    if (p->fault == F_VERIFY_NOTHING) {
        return ST_OK;
    }
    if (is_me(run, F_VERIFY_STATUS)) {
        return st_fail(&run->err, ST_ERR_INTERNAL, "cannot verify");
    }
    check->limit = 1e-12;
    if (is_me(run, F_VERIFY_NAN)) {
        s->got = (double)NAN;
    }
    st_check_near(check, s->got, 1.0, "the one value");
    st_check_near(check, 2.0, 2.0, "a right one");
    return ST_OK;
}

static void probe_release(void *state)
{
    struct probe_state *s = state;

    n_released++;
    st_free(s->memory);
}

static void probe_spoil(void *state)
{
    struct probe_state *s = state;

    s->got += 1.0;
}

static struct st_bench probe = {
    .name = "probe",
    .summary = "a benchmark for tests",
    .source = "none",
    .n_metrics = M_N,
    .metrics = metrics,
    ST_SIZES(struct probe_params, struct probe_state),
    ST_STAGES(probe),
};

/* ---- the sink of rank 0 ---- */

enum {
    MAX_PLACES = 64
};

struct seen {
    int n_begin, n_end, n_blocks;
    int fail_at; /* 1: begin, 2: first block, 3: end */
    size_t n_places[5];
    size_t n_repetitions;
    size_t n_seats;
    struct st_step_place places[5][MAX_PLACES];
    int n_delivered[M_N][MAX_PLACES];
    int8_t validity[M_N][MAX_PLACES]; /* of the last repetition */
    enum st_step_state state;
    char wrong[256]; /* first thing that is not as it must be */
};

#define WRONG(seen, ...)                                                                 \
    do {                                                                                 \
        if ((seen)->wrong[0] == '\0') {                                                  \
            (void)snprintf((seen)->wrong, sizeof(seen)->wrong, __VA_ARGS__);             \
        }                                                                                \
    } while (0)

static enum st_status sink_begin(void *context, const struct st_step_report *report,
                                 struct st_error *err)
{
    struct seen *seen = context;

    seen->n_begin++;
    seen->state = report->outcome->state;
    seen->n_repetitions = report->outcome->n_repetitions;
    seen->n_seats = report->n_seats;
    for (size_t kind = 0; kind < 5; kind++) {
        seen->n_places[kind] = report->n_places[kind];
        if (report->n_places[kind] > MAX_PLACES) {
            return st_fail(err, ST_ERR_INTERNAL, "more places than the test expects");
        }
        for (size_t i = 0; i < report->n_places[kind]; i++) {
            seen->places[kind][i] = report->places[kind][i];
        }
    }
    return seen->fail_at == 1 ? st_fail(err, ST_ERR_IO, "disk full at begin") : ST_OK;
}

/* Number of a place within its group. */
static size_t within_group(const struct seen *seen, enum st_place_kind kind, size_t at)
{
    size_t n = 0;

    while (n < at &&
           seen->places[kind][at - n - 1].group == seen->places[kind][at].group) {
        n++;
    }
    return n;
}

static void check_sample(struct seen *seen, const struct st_block *block, size_t i,
                         size_t k)
{
    const enum st_place_kind kind = metrics[block->row].place;
    const size_t at = block->first_place + i;
    const double value = block->values[i * block->n_repetitions + k];
    const int8_t validity = block->validity[i * block->n_repetitions + k];
    const struct st_step_place *place = &seen->places[kind][at];

    if ((validity == (int8_t)ST_WARMUP) != (k == 0)) {
        WRONG(seen, "row %zu place %zu repetition %zu: validity %d", block->row, at, k,
              validity);
    }
    if (place->group != block->group) {
        WRONG(seen, "place %zu is of group %zu, block of %zu", at, place->group,
              block->group);
    }
    const bool is_missing = validity == (int8_t)ST_MISSING || (k == 0 && isnan(value));
    if (is_missing || metrics[block->row].origin != ST_GIVEN) {
        if (validity == (int8_t)ST_VALID && !(value > 0.0)) {
            WRONG(seen, "row %zu: valid value %g", block->row, value);
        }
        return;
    }
    const double want = code(block->row, place->group, within_group(seen, kind, at), k);
    if (!(fabs(value - want) <= 0.0)) {
        WRONG(seen, "row %zu place %zu repetition %zu: %.0f instead of %.0f", block->row,
              at, k, value, want);
    }
}

static enum st_status sink_block(void *context, const struct st_block *block,
                                 struct st_error *err)
{
    struct seen *seen = context;

    seen->n_blocks++;
    if (seen->fail_at == 2) {
        return st_fail(err, ST_ERR_IO, "disk full at a block");
    }
    if (block->first_place + block->n_places >
            seen->n_places[metrics[block->row].place] ||
        block->n_repetitions != seen->n_repetitions) {
        WRONG(seen, "a block outside its array");
        return ST_OK;
    }
    for (size_t i = 0; i < block->n_places; i++) {
        seen->n_delivered[block->row][block->first_place + i]++;
        for (size_t k = 0; k < block->n_repetitions; k++) {
            check_sample(seen, block, i, k);
        }
        seen->validity[block->row][block->first_place + i] =
            block->validity[(i + 1) * block->n_repetitions - 1];
    }
    return ST_OK;
}

static enum st_status sink_end(void *context, struct st_error *err)
{
    struct seen *seen = context;

    seen->n_end++;
    return seen->fail_at == 3 ? st_fail(err, ST_ERR_IO, "disk full at the end") : ST_OK;
}

/* ---- one step ---- */

struct world {
    struct stm_comm comm;
    struct st_machine *machine;
    char fake[64];
    char late_file[64];
};

struct scene {
    struct probe_params params;
    struct st_layout_request layout;
    struct st_repeat repeat;
    int sink_fails_at;
    bool spoil;
};

struct result {
    enum st_status rc;
    struct st_step_outcome outcome;
    struct seen seen; /* on rank 0 */
    struct st_error err;
    bool same; /* outcome, status and text are those of rank 0 */
};

static struct scene usual(const struct world *w)
{
    struct scene scene = {
        .layout = {.nodes = ST_NODES_ALL,
                   .n_ranks = (size_t)w->comm.n_ranks,
                   .threads = ST_MANY_COUNT,
                   .n_threads = 1,
                   .oversubscribe = true},
        .repeat = {.min = 3,
                   .max = 7,
                   .confidence = 0.95,
                   .width = 1e-9, /* never met by times: all steps make 7 repetitions */
                   .budget_s = 60.0,
                   .time_s = 1e-4,
                   .deadline_s = 120.0},
    };

    scene.params.spin_s = 2e-4;
    return scene;
}

static bool is_same_everywhere(const struct world *w, const struct result *r)
{
    struct result *root = st_calloc(NULL, 1, sizeof *root);
    bool same = false;

    if (root != NULL) {
        *root = *r;
        (void)MPI_Bcast(root, (int)sizeof *root, MPI_BYTE, 0, w->comm.handle);
        const struct st_step_outcome *a = &root->outcome;
        const struct st_step_outcome *b = &r->outcome;
        same = root->rc == r->rc && strcmp(root->err.text, r->err.text) == 0 &&
               a->state == b->state && strcmp(a->reason, b->reason) == 0 &&
               a->n_repetitions == b->n_repetitions && a->n_dropped == b->n_dropped &&
               memcmp(a->n_inner, b->n_inner, sizeof a->n_inner) == 0 &&
               a->check.n_bad == b->check.n_bad && strcmp(a->notes, b->notes) == 0;
        st_free(root);
    }
    return same;
}

/* Groups are nodes with `nodes: each`, and one group otherwise. */
static void find_group(const struct world *w, const struct scene *scene)
{
    my_group =
        scene->layout.nodes == ST_NODES_EACH ? w->machine->ranks[w->comm.rank].node : 0;
}

static void play(const struct world *w, struct scene *scene, struct result *r)
{
    struct st_step step = {.name = "probe",
                           .bench = &probe,
                           .params = &scene->params,
                           .layout = scene->layout,
                           .repeat = scene->repeat};
    struct st_plan plan = {.n_steps = 1, .steps = &step};
    const struct st_sink sink = {
        .context = &r->seen, .begin = sink_begin, .block = sink_block, .end = sink_end};
    const struct st_campaign campaign = {.machine = w->machine,
                                         .plan = &plan,
                                         .sink = w->comm.rank == 0 ? &sink : NULL,
                                         .deadline_file = w->late_file,
                                         .spoil = scene->spoil};

    memset(r, 0, sizeof *r);
    r->seen.fail_at = scene->sink_fails_at;
    n_prepared = 0;
    n_released = 0;
    find_group(w, scene);
    r->rc = st_campaign_step(&campaign, 0, &r->outcome, &r->err);
    st_mem_fail_at(0);
    st_interrupt_requested = 0;
    r->same = is_same_everywhere(w, r);
}

/* On rank 0: every applicable series arrived once, nothing was wrong. */
static bool all_arrived(const struct world *w, const struct result *r)
{
    const struct seen *seen = &r->seen;
    bool once = true;

    if (w->comm.rank != 0) {
        return true;
    }
    for (size_t row = 0; row < M_N; row++) {
        for (size_t i = 0; i < seen->n_places[metrics[row].place]; i++) {
            once = once && seen->n_delivered[row][i] == 1;
        }
    }
    if (seen->wrong[0] != '\0') {
        (void)fprintf(stderr, "sink: %s\n", seen->wrong);
    }
    return once && seen->wrong[0] == '\0' && seen->n_begin == 1 && seen->n_end == 1 &&
           seen->n_blocks > 0;
}

static bool nothing_arrived(const struct world *w, const struct result *r)
{
    return w->comm.rank != 0 ||
           (r->seen.n_begin == 1 && r->seen.n_end == 1 && r->seen.n_blocks == 0);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* The culprits tried: first and last rank; with many ranks a middle one says nothing new. */
static int next_culprit(const struct world *w, int last)
{
    return last < 0 ? 0 : last == 0 && w->comm.n_ranks > 1 ? w->comm.n_ranks - 1 : -1;
}

/* Open the machine with pretended nodes fit for any number of ranks. */
static void open_machine(struct world *w, const char *fake)
{
    struct st_error err = {0};

    if (w->machine != NULL && strcmp(w->fake, fake) == 0) {
        return;
    }
    st_machine_close(&w->machine);
    if (fake[0] == '\0') {
        (void)unsetenv("SEATRIAL_FAKE_NODES");
    } else {
        (void)setenv("SEATRIAL_FAKE_NODES", fake, 1);
    }
    (void)snprintf(w->fake, sizeof w->fake, "%s", fake);
    const enum st_status rc = st_machine_open(&w->comm, &w->machine, &err);
    if (rc != ST_OK && w->comm.rank == 0) {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    st_assert_all(&w->comm, rc == ST_OK);
}

static void uneven_nodes(struct world *w, char out[64])
{
    if (w->comm.n_ranks > 4) {
        (void)snprintf(out, 64, "cyclic:3");
    } else if (w->comm.n_ranks > 1) {
        (void)snprintf(out, 64, "block:%d,1", w->comm.n_ranks - 1);
    } else {
        out[0] = '\0';
    }
}

/* ---- tests ---- */

static void expect_places(const struct world *w, const struct result *r, size_t n_groups)
{
    const size_t n = (size_t)w->comm.n_ranks;
    const size_t want[5] = {[ST_JOB] = n_groups,
                            [ST_NODE] = w->machine->n_nodes,
                            [ST_RANK] = n,
                            [ST_PAIR] = n,
                            [ST_NUMA] = n_groups};
    bool fine = true;

    if (w->comm.rank == 0) {
        const struct seen *seen = &r->seen;
        for (size_t kind = 0; kind < 5; kind++) {
            fine = fine && seen->n_places[kind] == want[kind];
        }
        for (size_t i = 0; i < seen->n_places[ST_RANK]; i++) {
            const struct st_step_place *place = &seen->places[ST_RANK][i];
            fine = fine && place->rank < n &&
                   place->node == w->machine->ranks[place->rank].node;
        }
        for (size_t i = 0; i < seen->n_places[ST_PAIR]; i++) {
            const struct st_step_place *place = &seen->places[ST_PAIR][i];
            fine = fine && place->rank < n && place->rank_b < n &&
                   place->node == w->machine->ranks[place->rank].node &&
                   place->node_b == w->machine->ranks[place->rank_b].node;
        }
        fine = fine && seen->n_seats == n;
    }
    st_assert_all(&w->comm, fine);
}

static void a_step_measures_every_kind_of_place(void **state)
{
    struct world *w = *state;
    char fake[64];

    uneven_nodes(w, fake);
    for (int each = 0; each < 2; each++) {
        struct result r;
        open_machine(w, fake);
        struct scene scene = usual(w);
        scene.layout.nodes = each != 0 ? ST_NODES_EACH : ST_NODES_ALL;
        play(w, &scene, &r);
        if (r.outcome.reason[0] != '\0' && w->comm.rank == 0) {
            (void)fprintf(stderr, "%s\n", r.outcome.reason);
        }
        st_assert_all(&w->comm, r.rc == ST_OK && r.outcome.state == ST_STEP_COMPLETE);
        st_assert_all(&w->comm, r.same && all_arrived(w, &r));
        st_assert_all(&w->comm, r.outcome.n_repetitions == 8 && !r.outcome.converged);
        st_assert_all(&w->comm, n_prepared == 1 && n_released == 1);
        st_assert_all(&w->comm,
                      r.outcome.check.n_checked == 2 && r.outcome.check.n_bad == 0);
        st_assert_all(&w->comm, has(r.outcome.notes, "cache_affected"));
        st_assert_all(&w->comm, r.outcome.n_inner[0] >= 1 && r.outcome.n_inner[1] == 0 &&
                                    r.outcome.n_inner[3] >= 1);
        expect_places(w, &r, each != 0 ? w->machine->n_nodes : 1);
    }
}

/* One rank measures, the others sleep: they use no CPU and get the same outcome. */
static void sleeping_ranks_sleep(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.layout.n_ranks = 1;
    scene.params.spin_s = 20e-3;
    const clock_t before = clock();
    const double begin = MPI_Wtime();
    play(w, &scene, &r);
    const double used = (double)(clock() - before) / CLOCKS_PER_SEC;
    const double lasted = MPI_Wtime() - begin;
    st_assert_all(&w->comm,
                  r.rc == ST_OK && r.outcome.state == ST_STEP_COMPLETE && r.same);
    st_assert_all(&w->comm, all_arrived(w, &r));
    st_assert_all(&w->comm, n_prepared == (w->comm.rank == 0 ? 1 : 0));
    st_assert_all(&w->comm, w->comm.rank == 0 || used < 0.5 * lasted);
}

/* Failures of one rank in any stage: one reason on all ranks, release called, numbers kept. */
static void one_failing_rank_fails_the_step(void **state)
{
    static const struct {
        enum fault fault;
        enum st_step_state state;
        const char *reason;
        bool names_rank;
        size_t n_repetitions; /* 0: before the warm-up */
    } rows[] = {
        {F_PREPARE, ST_STEP_FAILED, "no luck", true, 0},
        {F_PREPARE_UNSUPPORTED, ST_STEP_SKIPPED, "no huge pages", true, 0},
        {F_NO_WORK, ST_STEP_FAILED, "did not state the work of metric node", true, 0},
        {F_RUN, ST_STEP_FAILED, "link down", true, 1},
        {F_WRONG_OWNER, ST_STEP_FAILED, "does not own", true, 0},
        {F_VERIFY_NAN, ST_STEP_FAILED,
         "verification failed: 1 of 2 values are wrong; the first: the one value", false,
         8},
        {F_VERIFY_STATUS, ST_STEP_FAILED, "cannot verify", true, 8},
        {F_VERIFY_NOTHING, ST_STEP_FAILED, "compared no value", false, 8},
        {F_NO_GIVEN, ST_STEP_FAILED, "metric count was declared", false, 8},
    };
    struct world *w = *state;

    open_machine(w, "");
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        for (int bad = next_culprit(w, -1); bad >= 0; bad = next_culprit(w, bad)) {
            struct scene scene = usual(w);
            struct result r;
            char name[32];
            scene.params.fault = rows[i].fault;
            scene.params.culprit = bad;
            (void)snprintf(name, sizeof name, "[rank %d on ", bad);
            play(w, &scene, &r);
            const bool fine = r.rc == ST_OK && r.outcome.state == rows[i].state &&
                              r.same && has(r.outcome.reason, rows[i].reason) &&
                              (!rows[i].names_rank || has(r.outcome.reason, name)) &&
                              r.outcome.n_repetitions == rows[i].n_repetitions &&
                              n_prepared == 1 && n_released == 1;
            if (!fine && w->comm.rank == 0) {
                (void)fprintf(stderr, "fault %d: rc %d, state %d, %zu repetitions, %s\n",
                              (int)rows[i].fault, (int)r.rc, (int)r.outcome.state,
                              r.outcome.n_repetitions, r.outcome.reason);
            }
            st_assert_all(&w->comm, fine);
            st_assert_all(&w->comm, rows[i].n_repetitions == 0 ? nothing_arrived(w, &r)
                                                               : all_arrived(w, &r));
        }
    }
}

static void places_must_be_alike(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.params.fault = F_PLACES_DIFFER;
    scene.params.culprit = w->comm.n_ranks - 1;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.rc == ST_OK && r.same && n_released == 1);
    st_assert_all(&w->comm, w->comm.n_ranks == 1
                                ? r.outcome.state == ST_STEP_COMPLETE
                                : r.outcome.state == ST_STEP_FAILED &&
                                      has(r.outcome.reason, "different places"));
}

/* A value that is missing in one of several groups is missing. */
static void each_group_needs_its_values(void **state)
{
    struct world *w = *state;
    struct result r;
    char fake[64];

    uneven_nodes(w, fake);
    open_machine(w, fake);
    struct scene scene = usual(w);
    scene.layout.nodes = ST_NODES_EACH;
    scene.params.fault = F_NO_GIVEN_IN_ONE_GROUP;
    scene.params.culprit = 0; /* root of the first group */
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.rc == ST_OK && r.outcome.state == ST_STEP_FAILED && r.same);
    st_assert_all(&w->comm, has(r.outcome.reason, "metric count was declared"));
    st_assert_all(&w->comm, all_arrived(w, &r));
}

/* What stops a step before it starts: the same words on all ranks, no rank is blamed. */
static void steps_that_cannot_start(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.params.fault = F_PLAN_UNSUPPORTED;
    play(w, &scene, &r);
    st_assert_all(&w->comm,
                  r.rc == ST_OK && r.outcome.state == ST_STEP_SKIPPED && r.same);
    st_assert_all(&w->comm, strcmp(r.outcome.reason, "no quantum network here") == 0);
    st_assert_all(&w->comm, nothing_arrived(w, &r) && n_prepared == 0 && n_released == 0);

    scene.params.fault = F_PLAN_TOO_BIG;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.outcome.state == ST_STEP_FAILED && r.same);
    st_assert_all(&w->comm, has(r.outcome.reason, "bytes on each of"));
    st_assert_all(&w->comm, nothing_arrived(w, &r) && n_prepared == 0);

    scene.params.fault = F_NONE;
    probe.min_ranks = (size_t)w->comm.n_ranks + 1;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.outcome.state == ST_STEP_SKIPPED && r.same);
    st_assert_all(&w->comm, has(r.outcome.reason, "needs at least"));
    probe.min_ranks = 0;

    probe.rank_divisor = (size_t)w->comm.n_ranks + 1;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.outcome.state == ST_STEP_SKIPPED && r.same);
    st_assert_all(&w->comm, has(r.outcome.reason, "needs a multiple of"));
    probe.rank_divisor = 0;

    probe.needs = (unsigned)ST_NEEDS_TWO_NODES;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.outcome.state == ST_STEP_SKIPPED && r.same);
    st_assert_all(&w->comm, has(r.outcome.reason, "needs two nodes"));
    probe.needs = 0;

    scene.layout.nodes = ST_NODES_COUNT;
    scene.layout.n_nodes = 99;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.outcome.state == ST_STEP_SKIPPED && r.same);
    st_assert_all(&w->comm, nothing_arrived(w, &r));
}

static void a_spoiled_value_is_found(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.spoil = true;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.rc == ST_OK && r.outcome.state == ST_STEP_FAILED && r.same);
    st_assert_all(&w->comm, r.outcome.check.n_bad == 1 && all_arrived(w, &r));
    st_assert_all(&w->comm, r.outcome.check.worst == 1.0);
}

/* The k-th allocation fails on one rank: one common answer, released once, no rank hangs. */
static void every_allocation_may_fail(void **state)
{
    struct world *w = *state;

    open_machine(w, "");
    /* rank 0 allocates most, the last rank speaks for the others; many ranks are slow here */
    const int first = w->comm.n_ranks > 4 ? w->comm.n_ranks - 1 : 0;
    for (int bad = first; bad >= 0; bad = next_culprit(w, bad)) {
        int made_all = 0;
        for (uint64_t k = 1; k < 400 && made_all == 0; k++) {
            struct scene scene = usual(w);
            struct result r;
            scene.params.spin_s = 0.0;
            scene.repeat.max = 1;
            const uint64_t before = st_mem_count();
            if (w->comm.rank == bad) {
                st_mem_fail_at(k);
            }
            play(w, &scene, &r);
            const bool was_hit = w->comm.rank == bad && st_mem_count() - before >= k;
            const int mine = was_hit ? 1 : 0;
            int hit = 0;
            (void)MPI_Allreduce(&mine, &hit, 1, MPI_INT, MPI_MAX, w->comm.handle);
            const bool failed = r.rc != ST_OK || r.outcome.state == ST_STEP_FAILED;
            const bool fine = r.same && n_prepared == n_released &&
                              (r.rc == ST_OK || r.rc == ST_ERR_IO) &&
                              (hit != 0 || (!failed && all_arrived(w, &r)));
            if (!fine && w->comm.rank == bad) {
                (void)fprintf(stderr, "allocation %d: rc %d, state %d: %s %s\n", (int)k,
                              (int)r.rc, (int)r.outcome.state, r.outcome.reason,
                              r.err.text);
            }
            st_assert_all(&w->comm, fine);
            made_all = hit != 0 ? 0 : 1;
        }
        st_assert_all(&w->comm, made_all != 0);
    }
}

static void a_failing_sink_ends_the_campaign(void **state)
{
    static const char *const texts[] = {NULL, "disk full at begin",
                                        "disk full at a block", "disk full at the end"};
    struct world *w = *state;

    open_machine(w, "");
    for (int at = 1; at <= 3; at++) {
        struct scene scene = usual(w);
        struct result r;
        scene.sink_fails_at = at;
        play(w, &scene, &r);
        st_assert_all(&w->comm, r.rc == ST_ERR_IO && r.err.code == ST_ERR_IO && r.same);
        st_assert_all(&w->comm,
                      has(r.err.text, texts[at]) && has(r.err.text, "[rank 0 on "));
    }
}

static void an_interrupt_saves_what_there_is(void **state)
{
    struct world *w = *state;

    open_machine(w, "");
    for (int bad = next_culprit(w, -1); bad >= 0; bad = next_culprit(w, bad)) {
        struct scene scene = usual(w);
        struct result r;
        scene.params.fault = F_INTERRUPT;
        scene.params.culprit = bad;
        scene.repeat.max = 1000;
        play(w, &scene, &r);
        st_assert_all(&w->comm, r.rc == ST_ERR_INTERRUPTED && r.same);
        st_assert_all(&w->comm, r.outcome.state == ST_STEP_INTERRUPTED);
        st_assert_all(&w->comm, r.outcome.n_repetitions == 7 && all_arrived(w, &r));
        st_assert_all(&w->comm, r.outcome.check.n_checked == 0 && n_released == 1);
    }
    struct scene scene = usual(w);
    struct result r;
    st_interrupt_requested = w->comm.rank == w->comm.n_ranks - 1 ? 1 : 0;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.rc == ST_ERR_INTERRUPTED && r.same && n_prepared == 0);
    st_assert_all(&w->comm, nothing_arrived(w, &r));
}

/* A repetition lasts at least 20 ms here: more than 15 of them cannot fit into 0.3 s. */
static void the_budget_is_kept(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.params.spin_s = 10e-3;
    scene.repeat.max = 10000;
    scene.repeat.budget_s = 0.3;
    play(w, &scene, &r);
    st_assert_all(&w->comm,
                  r.rc == ST_OK && r.outcome.state == ST_STEP_COMPLETE && r.same);
    st_assert_all(&w->comm,
                  r.outcome.n_repetitions >= 2 && r.outcome.n_repetitions <= 16);
    st_assert_all(&w->comm, !r.outcome.converged && all_arrived(w, &r));
}

static void a_near_deadline_ends_the_step(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.params.spin_s = 10e-3;
    scene.repeat.max = 10000;
    scene.repeat.deadline_s = 3.0;
    play(w, &scene, &r);
    st_assert_all(&w->comm, r.rc == ST_OK && r.outcome.state == ST_STEP_FAILED && r.same);
    st_assert_all(&w->comm,
                  has(r.outcome.reason, "deadline of 3 s") && all_arrived(w, &r));
}

/* A width that everything meets: the loop ends at the first look that min allows. */
static void convergence_ends_the_step(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;

    open_machine(w, "");
    scene.repeat.width = 1e6;
    scene.repeat.max = 1000;
    play(w, &scene, &r);
    st_assert_all(&w->comm,
                  r.rc == ST_OK && r.outcome.state == ST_STEP_COMPLETE && r.same);
    st_assert_all(&w->comm, all_arrived(w, &r));
    /* late starts leave fewer valid samples than looks need: then a later look ends it */
    st_assert_all(&w->comm, r.outcome.converged && r.outcome.n_repetitions < 1000);
}

/* ---- wrong clocks ---- */

static double clock_rate = 1.0;
static int64_t clock_offset;

static int64_t raw_ns(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t first_ns;

static int64_t wrong_monotonic(void)
{
    return first_ns + clock_offset +
           (int64_t)((double)(raw_ns(CLOCK_MONOTONIC) - first_ns) * clock_rate);
}

static int64_t right_second(void)
{
    return raw_ns(CLOCK_MONOTONIC_RAW);
}

static int64_t right_third(void)
{
    return raw_ns(CLOCK_REALTIME);
}

static const struct st_clock_source wrong_source = {
    .monotonic_ns = wrong_monotonic, .second_ns = right_second, .third_ns = right_third};

/* The rank with the wrong clock is named; its samples, and those of its places, are void. */
static void a_wrong_clock_voids_its_places(void **state)
{
    static const double rates[] = {2.0, 0.0, -1.0};
    struct world *w = *state;
    const int bad = w->comm.n_ranks - 1;

    open_machine(w, "");
    for (size_t i = 0; i < ST_COUNT(rates); i++) {
        struct scene scene = usual(w);
        struct result r;
        char name[32];
        first_ns = raw_ns(CLOCK_MONOTONIC);
        clock_rate = w->comm.rank == bad ? rates[i] : 1.0;
        clock_offset = 0;
        st_clock_inject(&wrong_source);
        (void)snprintf(name, sizeof name, "rank %d on ", bad);
        play(w, &scene, &r);
        st_clock_inject(NULL);
        st_assert_all(&w->comm, r.rc == ST_OK && r.same);
        st_assert_all(&w->comm, r.outcome.clock_disagreement > 0.9);
        st_assert_all(&w->comm,
                      has(r.outcome.notes, "clock: ") && has(r.outcome.notes, name));
        st_assert_all(&w->comm, all_arrived(w, &r) && r.outcome.n_dropped > 0);
        if (w->comm.rank == 0) {
            const struct seen *seen = &r.seen;
            bool fine = seen->validity[M_JOB][0] == (int8_t)ST_CLOCK_BAD &&
                        seen->validity[M_NODE][0] == (int8_t)ST_CLOCK_BAD;
            for (size_t k = 0; k < seen->n_places[ST_RANK]; k++) {
                const bool is_bad = seen->places[ST_RANK][k].rank == (size_t)bad;
                fine =
                    fine && (seen->validity[M_RANK][k] == (int8_t)ST_CLOCK_BAD) == is_bad;
            }
            r.same = r.same && fine;
        }
        st_assert_all(&w->comm, r.same);
    }
}

/* CASES 28: 100 s offset and 50 ppm drift on another node change no result. */
static void an_offset_between_nodes_does_not_matter(void **state)
{
    struct world *w = *state;
    struct scene scene = usual(w);
    struct result r;
    char fake[64];
    const bool is_other = w->comm.rank == w->comm.n_ranks - 1 && w->comm.rank > 0;

    /* the last rank alone is the other node: ranks of one node share their clock */
    (void)snprintf(fake, sizeof fake, "block:%d,1", w->comm.n_ranks - 1);
    open_machine(w, w->comm.n_ranks > 1 ? fake : "");
    first_ns = raw_ns(CLOCK_MONOTONIC);
    clock_rate = is_other ? 1.0 + 50e-6 : 1.0;
    clock_offset = is_other ? INT64_C(100000000000) : 0;
    st_clock_inject(&wrong_source);
    play(w, &scene, &r);
    st_clock_inject(NULL);
    st_assert_all(&w->comm,
                  r.rc == ST_OK && r.outcome.state == ST_STEP_COMPLETE && r.same);
    st_assert_all(&w->comm, all_arrived(w, &r) && r.outcome.clock_error_s < 1.0);
    bool fine = true;
    if (w->comm.rank == 0) {
        const int8_t validity = r.seen.validity[M_JOB][0];
        fine = validity == (int8_t)ST_VALID || validity == (int8_t)ST_LATE_START;
    }
    st_assert_all(&w->comm, fine);
}

int main(int argc, char **argv)
{
    struct world world = {0};
    struct st_error err = {0};

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world.comm, &err) != ST_OK) {
        return 1;
    }
    (void)snprintf(world.late_file, sizeof world.late_file, "test_measure.%d.late",
                   world.comm.n_ranks);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_step_measures_every_kind_of_place, &world),
        cmocka_unit_test_prestate(each_group_needs_its_values, &world),
        cmocka_unit_test_prestate(sleeping_ranks_sleep, &world),
        cmocka_unit_test_prestate(one_failing_rank_fails_the_step, &world),
        cmocka_unit_test_prestate(places_must_be_alike, &world),
        cmocka_unit_test_prestate(steps_that_cannot_start, &world),
        cmocka_unit_test_prestate(a_spoiled_value_is_found, &world),
        cmocka_unit_test_prestate(every_allocation_may_fail, &world),
        cmocka_unit_test_prestate(a_failing_sink_ends_the_campaign, &world),
        cmocka_unit_test_prestate(an_interrupt_saves_what_there_is, &world),
        cmocka_unit_test_prestate(the_budget_is_kept, &world),
        cmocka_unit_test_prestate(a_near_deadline_ends_the_step, &world),
        cmocka_unit_test_prestate(convergence_ends_the_step, &world),
        cmocka_unit_test_prestate(a_wrong_clock_voids_its_places, &world),
        cmocka_unit_test_prestate(an_offset_between_nodes_does_not_matter, &world),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    st_machine_close(&world.machine);
    stm_comm_free(&world.comm);
    (void)MPI_Finalize();
    return failed;
}
