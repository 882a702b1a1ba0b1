#ifndef ST_BASE_BENCH_H
#define ST_BASE_BENCH_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a benchmark is: one constant struct st_bench in src/benchmarks/NAME.c. Config
 * validation, `seatrial list`, the results file, criteria and report follow from it.
 *
 * Groups. A step has one or more groups: independent instances of the benchmark that run at
 * the same time. `nodes: each` makes one group per node, all else makes one. Inside the
 * stages "the job" is the group, and every rank number is a rank of the group's communicator.
 *
 * Sections. One repetition runs the sections of the step in order; for each the harness
 * synchronises the ranks, reads the clock, calls run() with run->section, and reads the
 * clock again. A section takes part if at least one applicable metric names it.
 */

struct st_run;      /* src/measure/run.h */
struct st_recorder; /* src/measure/run.h */

enum {
    ST_TEXT_PARAM_SIZE = 512,
    ST_MAX_SECTIONS = 32,
    ST_MAX_CHOICES = 32
};

/** "auto" of a count or byte parameter that allows it. */
#define ST_AUTO UINT64_MAX

/** Type of a parameter and of its field in the parameter struct. */
enum st_type {
    ST_TYPE_COUNT,  /**< uint64_t, unit "1" */
    ST_TYPE_BYTES,  /**< uint64_t, unit "byte" */
    ST_TYPE_REAL,   /**< double in st_param.unit */
    ST_TYPE_BOOL,   /**< bool; text yes|no (true|false are read too) */
    ST_TYPE_CHOICE, /**< uint32_t index into choices */
    ST_TYPE_SET, /**< uint32_t bit mask over choices; text "a b c", "a,b,c" or "all"; in YAML a
                         plain list is a sweep, so a set is written as one string */
    ST_TYPE_TEXT /**< char[ST_TEXT_PARAM_SIZE], e.g. a file name */
};

struct st_param {
    const char *name;
    enum st_type type;
    size_t offset;              /**< of the field in the parameter struct */
    const char *unit;           /**< UDUNITS; "1" for counts */
    const char *default_text;   /**< parsed exactly like a user's */
    double min, max;            /**< for COUNT, BYTES, REAL; inclusive */
    bool allow_auto;            /**< COUNT and BYTES: "auto" gives ST_AUTO */
    const char *const *choices; /**< NULL-terminated, for CHOICE and SET */
    const char *help;           /**< one line */
};

/* clang-format off */
#define ST_PARAM_COUNT(s, field, def, lo, hi, text)                                      \
    {.name = #field, .type = ST_TYPE_COUNT, .offset = offsetof(struct s, field),         \
     .unit = "1", .default_text = (def), .min = (lo), .max = (hi), .help = (text)}
#define ST_PARAM_BYTES(s, field, def, lo, hi, text)                                      \
    {.name = #field, .type = ST_TYPE_BYTES, .offset = offsetof(struct s, field),         \
     .unit = "byte", .default_text = (def), .min = (lo), .max = (hi), .help = (text)}
#define ST_PARAM_BYTES_AUTO(s, field, def, lo, hi, text)                                 \
    {.name = #field, .type = ST_TYPE_BYTES, .offset = offsetof(struct s, field),         \
     .unit = "byte", .default_text = (def), .min = (lo), .max = (hi), .allow_auto = true, \
     .help = (text)}
#define ST_PARAM_REAL(s, field, u, def, lo, hi, text)                                    \
    {.name = #field, .type = ST_TYPE_REAL, .offset = offsetof(struct s, field),          \
     .unit = (u), .default_text = (def), .min = (lo), .max = (hi), .help = (text)}
#define ST_PARAM_BOOL(s, field, def, text)                                               \
    {.name = #field, .type = ST_TYPE_BOOL, .offset = offsetof(struct s, field),          \
     .unit = "1", .default_text = (def), .help = (text)}
#define ST_PARAM_CHOICE(s, field, list, def, text)                                       \
    {.name = #field, .type = ST_TYPE_CHOICE, .offset = offsetof(struct s, field),        \
     .unit = "1", .default_text = (def), .choices = (list), .help = (text)}
#define ST_PARAM_SET(s, field, list, def, text)                                          \
    {.name = #field, .type = ST_TYPE_SET, .offset = offsetof(struct s, field),           \
     .unit = "1", .default_text = (def), .choices = (list), .help = (text)}
#define ST_PARAM_TEXT(s, field, def, text)                                               \
    {.name = #field, .type = ST_TYPE_TEXT, .offset = offsetof(struct s, field),          \
     .unit = "1", .default_text = (def), .help = (text)}
/* clang-format on */

enum st_better {
    ST_HIGHER,
    ST_LOWER,
    ST_NEITHER
};

/** What a sample belongs to. Times and work/time are for job, node and rank; pairs, NUMA pairs
 * and points are given. */
enum st_place_kind {
    ST_JOB,  /**< the group as a whole; owner: group rank 0 */
    ST_NODE, /**< one node of the group; owner: its lowest group rank */
    ST_RANK, /**< one rank; owner: itself */
    ST_PAIR, /**< ordered pair of ranks (a -> b), listed by st_set_places() */
    ST_NUMA, /**< CPU NUMA node a, memory NUMA node b of one node, listed likewise */
    ST_POINT /**< one point of a rank's curve: a value of st_bench.point_name, listed likewise */
};

enum {
    ST_N_PLACE_KINDS = ST_POINT + 1
};

enum st_origin {
    ST_FROM_TIME, /**< time of the section / inner count, over the place's ranks: max(end) - min(start) */
    ST_FROM_WORK, /**< sum over the place's ranks of st_set_work() / that time */
    ST_GIVEN      /**< st_record() from run() */
};

struct st_metric {
    const char *name;
    const char *unit; /**< UDUNITS base unit */
    enum st_better better;
    enum st_place_kind place;
    enum st_origin origin;
    uint32_t section; /**< < ST_MAX_SECTIONS */
    const char *help;
};

/** The group of a step before anything runs, for plan(): sizes only. */
struct st_shape {
    size_t n_groups;
    size_t n_nodes; /**< of the largest group */
    size_t n_ranks; /**< of the largest group */
    size_t max_ranks_per_node;
    size_t min_ranks_per_node;
    size_t max_threads;    /**< of one rank */
    size_t n_threads;      /**< sum over the largest group */
    uint64_t llc_bytes;    /**< sum of the distinct last-level caches (and L2s) under
                                     the participating PUs of the busiest node; 0: unknown */
    uint64_t memory_bytes; /**< allowed on the smallest node, whole node */
    bool oversubscribed;
    size_t
        n_numa; /**< NUMA nodes of the participating node that has fewest; 0: unknown */
};

/** One NUMA node of this rank's node, CPU-less ones included; numbered as hwloc does (logical). */
struct st_numa_node {
    long os_index;         /**< the system's number, for memory policies; -1: unknown */
    bool has_cpus;         /**< false: memory only (HBM, CXL, GPU memory) */
    uint64_t memory_bytes; /**< 0: CPUs without memory */
    char kind[16];         /**< "DRAM", "HBM", "CXL", "GPU", "unknown" */
    size_t
        nearest; /**< logical number of the nearest node with CPUs (itself if it has) */
    size_t package; /**< of its CPUs, or of those nearest; SIZE_MAX: none or unknown */
};

/** Where one thread of this rank sits; SIZE_MAX / -1: unknown. */
struct st_thread_place {
    long pu;
    size_t core, l3, numa, package;
};

/** Where this rank sits; filled from the layout. */
struct st_place_info {
    size_t node;       /**< index of this rank's node within the group, 0 … n_nodes-1 */
    size_t n_nodes;    /**< of the group */
    size_t local_rank; /**< among the group's ranks on this node */
    size_t n_local_ranks;
    const size_t *node_of; /**< [comm.n_ranks] node index of every group rank, borrowed */
    size_t n_threads; /**< OpenMP threads of this rank (omp_set_num_threads was called) */
    uint64_t llc_bytes;    /**< as in st_shape, for this node */
    uint64_t memory_bytes; /**< this rank's share of what its node may use */
    bool oversubscribed;   /**< more threads than PUs on some node of the step */
    size_t numa;           /**< logical NUMA node of this rank's first PU */
    size_t n_numa;         /**< NUMA nodes of this rank's node; 0: unknown */
    const struct st_numa_node *numa_nodes;  /**< [n_numa] borrowed */
    const struct st_thread_place *threads;  /**< [n_threads] borrowed */
    uint64_t l1d_bytes, l2_bytes, l3_bytes; /**< one instance of each; 0: unknown */
    bool llc_plausible; /**< false: the sizes above are hidden or absurd */
};

/** Prediction of plan(). */
struct st_need {
    uint64_t bytes_per_rank;
    double seconds_per_repetition; /**< a rough upper figure; 0: unknown */
    char notes[512]; /**< warnings for people ("cache_affected: …"), "" if none */
};

/** Outcome of verify(). Zero-initialise, set limit before each comparison series. */
struct st_check {
    double limit; /**< allowed |got - want| */
    uint64_t n_checked;
    uint64_t n_bad;
    double worst;   /**< largest deviation seen (NaN deviations only count as bad) */
    char what[256]; /**< first failure, for people */
};

/** Compare; NaN fails. Local. @param what names the value for the message, borrowed */
void st_check_near(struct st_check *check, double got, double want, const char *what);
/** Count a truth. Local. */
void st_check_true(struct st_check *check, bool holds, const char *what);

/** Features a benchmark needs (bit mask). Not met: the step is skipped with the reason. */
enum st_needs {
    ST_NEEDS_TWO_NODES = 1,
    ST_NEEDS_THREAD_MULTIPLE = 2,
    ST_NEEDS_TWO_NUMA = 4
};

struct st_bench {
    const char *name;    /**< [a-z][a-z0-9_]*, unique */
    const char *summary; /**< one plain sentence */
    const char *source;  /**< paper or specification of the method */

    size_t n_params;
    const struct st_param *params;
    size_t n_metrics;
    const struct st_metric *metrics;
    const char
        *point_name; /**< what curves (ST_POINT) run over, "size"; NULL: no curve */
    const char *point_unit; /**< UDUNITS base unit of their values */
    size_t params_size, state_size;
    /** The CHOICE parameter that says whether the problem's size is meant per rank or for the
     * whole job, with these choices in this order: "per_rank", "total". `scaling: weak` and
     * `scaling: strong` of a step set it. NULL: no size to scale. */
    const char *scaling_param;

    size_t min_ranks;    /**< of a group; 0 and 1: any */
    size_t rank_divisor; /**< 0 and 1: any */
    unsigned needs;      /**< enum st_needs */

    /** Everything that run() records begins with a synchronisation of its own and is timed by
     * the ranks concerned: a late start of the section then voids none of it (METHODS 3.6: the
     * local durations are the headline where starts are late). */
    bool own_start;

    /** Local, pure. Does this step produce metric @p row? NULL: all rows. */
    bool (*applies)(const void *params, size_t row);
    /**
     * Local, pure, no allocation of measured size. Parameters against each other and against
     * the shape; memory and time prediction. ST_ERR_STEP or ST_ERR_CONFIG with a text that
     * names the nearest good values. Never NULL.
     */
    enum st_status (*plan)(const void *params, const struct st_shape *shape,
                           struct st_need *need, struct st_error *err);
    /** Collective over the group. Allocate, touch as the kernel will, st_set_work(). */
    enum st_status (*prepare)(struct st_run *run, void *state);
    /** One section of one repetition, run->n_inner times. Timed. */
    enum st_status (*run)(struct st_run *run, void *state);
    /** Collective over the group, after the last repetition, untimed. */
    enum st_status (*verify)(struct st_run *run, void *state, struct st_check *check);
    /**
     * Free what is not zero; also after a failed prepare. Called on all ranks of the group alike
     * and never after a failed MPI call, so that communicators and windows which prepare() made
     * after an agreement may be freed; else local.
     */
    void (*release)(void *state);
    /** Local, for tests: alter one computed value so that verify() must fail. Never NULL. */
    void (*spoil)(void *state);
};

#define ST_TABLES(p, m)                                                                  \
    .n_params = sizeof(p) / sizeof((p)[0]), .params = (p),                               \
    .n_metrics = sizeof(m) / sizeof((m)[0]), .metrics = (m)
#define ST_SIZES(p, s) .params_size = sizeof(p), .state_size = sizeof(s)
#define ST_STAGES(n)                                                                     \
    .plan = n##_plan, .prepare = n##_prepare, .run = n##_run, .verify = n##_verify,      \
    .release = n##_release, .spoil = n##_spoil

/** The list of all benchmarks (made from src/benchmarks/bench_list.h). */
struct st_registry {
    size_t n;
    const struct st_bench *const *benches; /**< [n] */
};

/** By name, or NULL. Local. */
const struct st_bench *st_bench_find(const struct st_registry *registry,
                                     const char *name);
/** Row of a metric or parameter by name; n if there is none. Local. */
size_t st_bench_metric(const struct st_bench *bench, const char *name);
size_t st_bench_param(const struct st_bench *bench, const char *name);
/** Does metric @p row apply with these parameters? */
bool st_bench_applies(const struct st_bench *bench, const void *params, size_t row);

/**
 * Parse a parameter from text into @p params (a struct of bench->params_size bytes).
 * Checks type, unit, range, choices. @return ST_ERR_CONFIG with what was found and allowed
 */
enum st_status st_param_parse(const struct st_param *param, const char *text,
                              void *params, struct st_error *err);
/** Set every parameter to its default. */
enum st_status st_params_default(const struct st_bench *bench, void *params,
                                 struct st_error *err);
/** Canonical text of a parameter's value ("64MiB" stays exact: "67108864 byte"). */
void st_param_print(const struct st_param *param, const void *params, char *out,
                    size_t size);

/** Check a declaration itself (names, units, defaults in range, stages). @return ST_ERR_INTERNAL */
enum st_status st_bench_validate(const struct st_bench *bench, struct st_error *err);

const char *st_better_word(enum st_better better); /* "higher" "lower" "neither" */
const char *
st_place_word(enum st_place_kind kind); /* "job" "node" "rank" "pair" "numa" "point" */
const char *st_origin_word(enum st_origin origin); /* "time" "work/time" "given" */

#endif
