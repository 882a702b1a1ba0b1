/*
 * numa_matrix: bandwidth and latency from the cores of NUMA node i to the memory of node j
 * (METHODS 1.4, 2.2). One rank has all threads of its machine; for each cell only those on
 * node i work. Nodes without CPUs (HBM, CXL, device memory) are columns.
 *
 * One set of arrays per column, bound to it, serves all rows: with the memory fixed, who
 * touches it first does not matter. All cells are measured one after another within each
 * repetition, so that cells are compared under like conditions; so their times are taken here
 * and given to the harness.
 *
 * Arrays hold b and c that no loop writes and a = b + s c, so any order of loops leaves the
 * values as they are; verify() wipes a and lets all threads make it anew.
 */
#include "kernels/chase.h"
#include "kernels/stream.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/benchmarks/part_array_size.h"
#include "src/benchmarks/part_chase.h"
#include "src/benchmarks/part_memory.h"
#include "src/benchmarks/part_numa_cells.h"
#include "src/machine/numa.h"
#include "src/measure/run.h"
#include "src/stats/knee.h"

#include <omp.h>

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    S_SUM,
    S_TRIAD,
    S_LATENCY,
    S_SATURATION,
    M_SUM = 0,
    M_SUM_RATIO,
    M_TRIAD,
    M_TRIAD_RATIO,
    M_LATENCY,
    M_LATENCY_RATIO,
    M_SUM_ONE,
    M_SATURATION,
    M_PLACED,
    N_ARRAYS = 3,          /* a, b, c */
    SAMPLE_PAGES = 1024,   /* METHODS 1.3 */
    CHASE_STEPS = 1 << 15, /* of one call: 3 ms at 100 ns */
    CHASE_STRIDE = 128     /* METHODS 2.1 */
};

static const double numa_matrix_b = 0.2, numa_matrix_c = 0.14; /* as in stream */
static const double numa_matrix_s = 0.4;                       /* BabelStream */
static const double numa_matrix_share = 0.99;                  /* METHODS 1.3 */
static const uint64_t numa_matrix_floor = (uint64_t)64 << 20;

struct numa_matrix_params {
    uint64_t size, latency_size, threads;
    uint32_t pages;
    bool saturation, allow_one;
};

/* Memory of one column. */
struct numa_matrix_column {
    long os_node;
    struct st_mapping map[N_ARRAYS];
    double *array[STK_N_ARRAYS];
    struct st_chase_set chase;
    double placed;
};

struct numa_matrix_state {
    const struct stk_stream_isa *isa;
    struct st_numa_cells cells;
    size_t n;                          /* elements of an array */
    struct numa_matrix_column *column; /* [cells.n_columns] */
    size_t *slot;                      /* [n_threads] */
    double *value;                     /* [n_rows * n_columns] of the section */
    double sum;                        /* keeps the sums alive */
};

static const char *const numa_matrix_pages[] = {"default", "small", "huge", NULL};

static const struct st_param params[] = {
    ST_PARAM_BYTES_AUTO(
        numa_matrix_params, size, "auto", 4096, 0x1p46,
        "one array on each node; auto: 4 x the caches of a node's cores, at "
        "least 64 MiB"),
    ST_PARAM_BYTES(numa_matrix_params, latency_size, "256MiB", 4096, 0x1p40,
                   "memory of the pointer chase on each node"),
    {.name = "threads",
     .type = ST_TYPE_COUNT,
     .offset = offsetof(struct numa_matrix_params, threads),
     .unit = "1",
     .default_text = "auto",
     .min = 1,
     .max = 65536,
     .allow_auto = true,
     .help = "threads of a node that work; auto: all of them"},
    ST_PARAM_CHOICE(numa_matrix_params, pages, numa_matrix_pages, "default",
                    "small: 4 KiB; huge: 2 MiB, where the system gives them"),
    ST_PARAM_BOOL(numa_matrix_params, saturation, "yes",
                  "measure 1, 2, 4, … threads too, and where the sum stops rising"),
    ST_PARAM_BOOL(numa_matrix_params, allow_one, "no",
                  "run also on a machine with one NUMA node"),
};

static const struct st_metric metrics[] = {
    [M_SUM] = {"sum", "byte s-1", ST_HIGHER, ST_NUMA, ST_GIVEN, S_SUM,
               "reading by all threads of the CPU node"},
    [M_SUM_RATIO] = {"sum_ratio", "1", ST_HIGHER, ST_NUMA, ST_GIVEN, S_SUM,
                     "that over the rate from the CPU node's own memory"},
    [M_TRIAD] = {"triad", "byte s-1", ST_HIGHER, ST_NUMA, ST_GIVEN, S_TRIAD,
                 "a = b + s c likewise, bytes as STREAM counts them"},
    [M_TRIAD_RATIO] = {"triad_ratio", "1", ST_HIGHER, ST_NUMA, ST_GIVEN, S_TRIAD,
                       "that over the rate from the CPU node's own memory"},
    [M_LATENCY] = {"latency", "s", ST_LOWER, ST_NUMA, ST_GIVEN, S_LATENCY,
                   "dependent loads by one thread of the CPU node"},
    [M_LATENCY_RATIO] = {"latency_ratio", "1", ST_LOWER, ST_NUMA, ST_GIVEN, S_LATENCY,
                         "that over the latency of the CPU node's own memory"},
    [M_SUM_ONE] = {"sum_one_thread", "byte s-1", ST_HIGHER, ST_NUMA, ST_GIVEN,
                   S_SATURATION, "reading by one thread of the CPU node"},
    [M_SATURATION] = {"saturation_threads", "1", ST_NEITHER, ST_NUMA, ST_GIVEN,
                      S_SATURATION,
                      "threads at which the sum stops rising (hinge fit); all: it rises "
                      "to the end"},
    [M_PLACED] = {"pages_placed", "1", ST_HIGHER, ST_NUMA, ST_GIVEN, S_SUM,
                  "share of sampled pages on the memory node; -1: unknown"},
};

static bool numa_matrix_applies(const void *parameters, size_t row)
{
    const struct numa_matrix_params *p = parameters;

    return p->saturation || metrics[row].section != S_SATURATION;
}

/* Bytes of one array; the caches of a node are its part of the machine's. */
static uint64_t numa_matrix_bytes(const struct numa_matrix_params *p, uint64_t llc_bytes,
                                  size_t n_rows)
{
    const uint64_t rule = st_array_cache_rule(llc_bytes / (n_rows > 0 ? n_rows : 1));
    const uint64_t grain = st_array_grain_bytes;
    const uint64_t want = rule > numa_matrix_floor ? rule : numa_matrix_floor;

    return p->size != ST_AUTO ? p->size : (want + grain - 1) / grain * grain;
}

static struct st_chase_wish numa_matrix_wish(const struct numa_matrix_params *p,
                                             long os_node)
{
    return (struct st_chase_wish){.n_sizes = 1,
                                  .sizes = &p->latency_size,
                                  .stride = CHASE_STRIDE,
                                  .pages = (enum st_pages)p->pages,
                                  .os_node = os_node};
}

static enum st_status numa_matrix_plan(const void *parameters,
                                       const struct st_shape *shape, struct st_need *need,
                                       struct st_error *err)
{
    const struct numa_matrix_params *p = parameters;
    const struct st_chase_wish wish = numa_matrix_wish(p, -1);

    if (shape->n_numa == 0) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "numa_matrix: the NUMA nodes of this machine are not known");
    }
    if (shape->n_numa == 1 && !p->allow_one) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "numa_matrix: this machine has one NUMA node, so no memory is far; "
            "`allow_one: yes` measures that one");
    }
    if (shape->n_ranks > 1) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "numa_matrix needs one rank with all threads of a node, and here "
            "are %zu: write `layout: {nodes: each, ranks_per_node: 1, threads: "
            "all-cores}`",
            shape->n_ranks);
    }
    /* Every node may be a CPU node; then arrays are smallest, and if not, there are fewer. */
    const uint64_t array = numa_matrix_bytes(p, shape->llc_bytes, shape->n_numa);
    const uint64_t per_node = N_ARRAYS * (array + st_array_grain_bytes) +
                              st_chase_bytes(&wish) + st_chase_extra_bytes(&wish);
    const double cells = (double)shape->n_numa * (double)shape->n_numa;
    need->bytes_per_rank = per_node * shape->n_numa;
    /* 2 GB/s and 1 us: no server in use is slower, also with one thread. */
    need->seconds_per_repetition =
        cells * ((p->saturation ? 10.0 : 4.0) * (double)array / 2e9 + CHASE_STEPS * 1e-6);
    return ST_OK;
}

/* ---- memory ---- */

static enum st_status numa_matrix_check_free(const struct numa_matrix_column *column,
                                             uint64_t bytes, struct st_error *err)
{
    const uint64_t have = st_memory_free(column->os_node);
    char text[2][48];

    if (have == 0 || bytes <= have) {
        return ST_OK;
    }
    return st_fail(err, ST_ERR_STEP,
                   "numa_matrix: NUMA node %ld has %s free and the step needs %s there: "
                   "choose a smaller size",
                   column->os_node,
                   st_format_quantity(text[0], sizeof text[0], (double)have, "byte"),
                   st_format_quantity(text[1], sizeof text[1], (double)bytes, "byte"));
}

static enum st_status numa_matrix_open_column(struct st_run *run,
                                              const struct numa_matrix_state *s,
                                              struct numa_matrix_column *column)
{
    const double start[N_ARRAYS] = {numa_matrix_b + numa_matrix_s * numa_matrix_c,
                                    numa_matrix_b, numa_matrix_c};
    const struct numa_matrix_params *p = run->params;
    const struct st_chase_wish wish = numa_matrix_wish(p, column->os_node);
    const size_t bytes = s->n * sizeof(double) + N_ARRAYS * (1024 + 64);
    double share = -1.0;

    enum st_status rc = numa_matrix_check_free(
        column, N_ARRAYS * bytes + st_chase_bytes(&wish), &run->err);
    column->placed = 1.0;
    for (size_t k = 0; rc == ST_OK && k < N_ARRAYS; k++) {
        rc = st_pages_map(&run->err, bytes, (enum st_pages)p->pages, &column->map[k]);
        if (rc == ST_OK) {
            rc = st_memory_place(&column->map[k], ST_MEMORY_BIND, 1, &column->os_node,
                                 &run->err);
        }
        if (rc != ST_OK) {
            return rc;
        }
        /* Staggered against store-to-load aliasing (METHODS 1.1); multiples of 64 bytes. */
        char *base = (char *)column->map[k].base + k * (1024 + 64);
        column->array[k] = (double *)(void *)base;
        stk_stream_fill(s->n, column->array[k], start[k]);
        struct st_error ignored = {0};
        (void)st_memory_where(&column->map[k], SAMPLE_PAGES / N_ARRAYS + 1, 1,
                              &column->os_node, &share, NULL, &ignored);
        column->placed = share < column->placed ? share : column->placed;
    }
    return rc == ST_OK ? st_chase_create(&wish, 1, &column->chase, &run->err) : rc;
}

/* The cells as places; the only rank owns them all. */
static enum st_status numa_matrix_set_places(struct st_run *run,
                                             const struct numa_matrix_state *s)
{
    const struct st_numa_cells *cells = &s->cells;
    const size_t n = cells->n_rows * cells->n_columns;
    struct st_place *places = st_calloc(&run->err, n, sizeof *places);

    if (places == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t k = 0; k < n; k++) {
        places[k] = (struct st_place){.a = cells->row[k / cells->n_columns],
                                      .b = cells->column[k % cells->n_columns]};
    }
    const enum st_status rc = st_set_places(run, ST_NUMA, n, places);
    st_free(places);
    return rc;
}

static enum st_status numa_matrix_prepare(struct st_run *run, void *state)
{
    const struct numa_matrix_params *p = run->params;
    const struct st_place_info *place = run->place;
    struct numa_matrix_state *s = state;
    const struct st_numa_cells *cells = &s->cells;

    st_numa_cells_plan(place, &s->cells);
    if (cells->n_rows == 0 || cells->n_columns == 0) {
        s->cells.n_columns = 0;
        return st_fail(&run->err, ST_ERR_UNSUPPORTED,
                       "numa_matrix: on which NUMA nodes the threads sit is not known");
    }
    s->isa = stk_stream_widest();
    s->n =
        (size_t)(numa_matrix_bytes(p, place->llc_bytes, cells->n_rows) / sizeof(double));
    s->slot = st_calloc(&run->err, place->n_threads, sizeof *s->slot);
    s->column = st_calloc(&run->err, cells->n_columns, sizeof *s->column);
    s->value = st_calloc(&run->err, cells->n_rows * cells->n_columns, sizeof *s->value);
    if (s->slot == NULL || s->column == NULL || s->value == NULL) {
        return ST_ERR_MEMORY;
    }
    enum st_status rc = numa_matrix_set_places(run, s);
    for (size_t j = 0; rc == ST_OK && j < cells->n_columns; j++) {
        s->column[j].os_node = place->numa_nodes[cells->column[j]].os_index;
        rc = numa_matrix_open_column(run, s, &s->column[j]);
    }
    return rc;
}

/* ---- measuring ---- */

/* Seconds of one pass by the first threads of a row. */
static double numa_matrix_pass(struct st_run *run, struct numa_matrix_state *s,
                               size_t cell, enum stk_stream_kernel kernel,
                               size_t n_threads)
{
    const size_t row = cell / s->cells.n_columns;
    const struct numa_matrix_column *column = &s->column[cell % s->cells.n_columns];
    const struct stk_team team = {run->place->n_threads, n_threads, s->slot};

    st_numa_slots(run->place, s->cells.row[row], n_threads, s->slot);
    const double start = st_now();
    for (size_t k = 0; k < run->n_inner; k++) {
        s->sum +=
            stk_stream_team(s->isa, kernel, &team, s->n, column->array, numa_matrix_s);
    }
    return (st_now() - start) / (double)run->n_inner;
}

static size_t numa_matrix_threads(const struct st_run *run,
                                  const struct numa_matrix_state *s, size_t row)
{
    const struct numa_matrix_params *p = run->params;
    const size_t all = s->cells.n_threads[row];

    return p->threads < all ? (size_t)p->threads : all;
}

static double numa_matrix_rate(struct st_run *run, struct numa_matrix_state *s,
                               size_t cell, enum stk_stream_kernel kernel,
                               size_t n_threads)
{
    return stk_work_bytes(stk_stream_work(kernel), s->n) /
           numa_matrix_pass(run, s, cell, kernel, n_threads);
}

/* Seconds per load by the first thread of the row. */
static double numa_matrix_latency(struct st_run *run, struct numa_matrix_state *s,
                                  size_t cell)
{
    struct st_chase_cycle *cycle = &s->column[cell % s->cells.n_columns].chase.cycles[0];
    const size_t n_threads = run->place->n_threads;
    const size_t *slot = s->slot;
    const size_t n_steps = CHASE_STEPS * run->n_inner;
    double latency_s = 0.0;

    st_numa_slots(run->place, s->cells.row[cell / s->cells.n_columns], 1, s->slot);
#pragma omp parallel default(none) shared(cycle, slot, n_threads, n_steps, latency_s)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        if (thread < n_threads && slot[thread] == 0) {
            latency_s = st_chase_time(cycle, 1, CHASE_STEPS / 16, n_steps);
        }
    }
    return latency_s;
}

static void numa_matrix_saturation(struct st_run *run, struct numa_matrix_state *s,
                                   size_t cell)
{
    size_t counts[ST_MAX_COUNTS];
    double x[ST_MAX_COUNTS];
    double y[ST_MAX_COUNTS];
    struct st_knee knee = {0};
    const size_t row = cell / s->cells.n_columns;
    const size_t n = st_thread_counts(s->cells.n_threads[row], counts);

    for (size_t k = 0; k < n; k++) {
        x[k] = (double)counts[k];
        y[k] = numa_matrix_rate(run, s, cell, STK_SUM, counts[k]);
    }
    st_record(run->rec, M_SUM_ONE, cell, y[0]);
    st_record(run->rec, M_SATURATION, cell,
              st_knee_fit(n, x, y, &knee) ? knee.at : (double)NAN);
}

/* Each value, and its ratio to that of the row's own memory where there is some. */
static void numa_matrix_record(struct st_run *run, const struct numa_matrix_state *s,
                               size_t row)
{
    const struct st_numa_cells *cells = &s->cells;

    for (size_t k = 0; k < cells->n_rows * cells->n_columns; k++) {
        const size_t i = k / cells->n_columns;
        const size_t home = st_numa_cells_home(cells, i);
        st_record(run->rec, row, k, s->value[k]);
        if (home < cells->n_columns) {
            st_record(run->rec, row + 1, k,
                      s->value[k] / s->value[i * cells->n_columns + home]);
        }
    }
}

static enum st_status numa_matrix_run(struct st_run *run, void *state)
{
    static const size_t rows[] = {
        [S_SUM] = M_SUM, [S_TRIAD] = M_TRIAD, [S_LATENCY] = M_LATENCY};
    struct numa_matrix_state *s = state;
    const size_t n_cells = s->cells.n_rows * s->cells.n_columns;

    for (size_t k = 0; k < n_cells; k++) {
        const size_t n_threads = numa_matrix_threads(run, s, k / s->cells.n_columns);
        if (run->section == S_SATURATION) {
            numa_matrix_saturation(run, s, k);
        } else if (run->section == S_LATENCY) {
            s->value[k] = numa_matrix_latency(run, s, k);
        } else {
            s->value[k] = numa_matrix_rate(
                run, s, k, run->section == S_SUM ? STK_SUM : STK_TRIAD, n_threads);
        }
        if (run->section == S_SUM) {
            st_record(run->rec, M_PLACED, k, s->column[k % s->cells.n_columns].placed);
        }
    }
    if (run->section != S_SATURATION) {
        numa_matrix_record(run, s, rows[run->section]);
    }
    return ST_OK;
}

/* ---- checking ---- */

static void numa_matrix_verify_column(const struct st_run *run,
                                      struct numa_matrix_state *s,
                                      struct numa_matrix_column *column,
                                      struct st_check *check)
{
    const size_t n_threads = run->place->n_threads;
    const struct stk_team team = {n_threads, n_threads, s->slot};
    const double want = numa_matrix_b + numa_matrix_s * numa_matrix_c;
    const double n = (double)s->n;

    for (size_t t = 0; t < n_threads; t++) {
        s->slot[t] = t;
    }
    stk_stream_fill(s->n, column->array[STK_A], -1.0);
    (void)stk_stream_team(s->isa, STK_TRIAD, &team, s->n, column->array, numa_matrix_s);
    check->limit = 4.0 * DBL_EPSILON; /* two roundings of values below 1 */
    const struct stk_deviation d =
        stk_stream_compare(s->n, column->array[STK_A], want, check->limit);
    st_check_near(check, d.n_bad > 0 ? column->array[STK_A][d.first_bad] : want, want,
                  "element of a after a triad");
    check->n_checked += s->n;
    check->n_bad += d.n_bad;
    /* At least 16 partial sums, each of n / 16 roundings (Higham 4.2), then their sum. */
    check->limit = n * (n / 16 + 1000) * DBL_EPSILON * want;
    st_check_near(check,
                  stk_stream_team(s->isa, STK_SUM, &team, s->n, column->array, 0.0),
                  n * want, "sum of a");
    st_chase_verify(&column->chase, check);
}

static enum st_status numa_matrix_verify(struct st_run *run, void *state,
                                         struct st_check *check)
{
    struct numa_matrix_state *s = state;

    for (size_t j = 0; j < s->cells.n_columns; j++) {
        struct numa_matrix_column *column = &s->column[j];
        const double chase = column->chase.placed;
        const double placed = chase < column->placed ? chase : column->placed;
        numa_matrix_verify_column(run, s, column, check);
        if (placed >= 0.0) {
            st_check_true(check, placed >= numa_matrix_share,
                          "pages on their memory node: fewer than 99 %");
        } else {
            st_doubt(run, "the system does not tell on which NUMA nodes the arrays are");
        }
    }
    return ST_OK;
}

static void numa_matrix_release(void *state)
{
    struct numa_matrix_state *s = state;

    for (size_t j = 0; s->column != NULL && j < s->cells.n_columns; j++) {
        for (size_t k = 0; k < N_ARRAYS; k++) {
            st_pages_unmap(&s->column[j].map[k]);
        }
        st_chase_clear(&s->column[j].chase);
    }
    st_free(s->column);
    st_free(s->slot);
    st_free(s->value);
}

static void numa_matrix_spoil(void *state)
{
    struct numa_matrix_state *s = state;

    s->column[0].array[STK_B][s->n / 2] *= 1.001;
}

const struct st_bench st_bench_numa_matrix = {
    .name = "numa_matrix",
    .summary = "Bandwidth and latency from each NUMA node's cores to each node's memory.",
    .source = "kernels of J. D. McCalpin's STREAM; likwid-bench workgroups",
    ST_TABLES(params, metrics),
    ST_SIZES(struct numa_matrix_params, struct numa_matrix_state),
    .applies = numa_matrix_applies,
    ST_STAGES(numa_matrix),
};
