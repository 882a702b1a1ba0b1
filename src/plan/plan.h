#ifndef ST_PLAN_PLAN_H
#define ST_PLAN_PLAN_H

#include "src/base/bench.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From config file to steps. Everything local and without MPI: rank 0 reads the file, the
 * text is broadcast, every rank parses the same text and gets the same plan.
 */

enum {
    ST_NAME_SIZE = 128,
    ST_MAX_CONFIG_BYTES = 1 << 20,
    ST_MAX_STEPS = 10000
};

/** Which nodes take part. */
enum st_nodes {
    ST_NODES_ALL,
    ST_NODES_EACH,
    ST_NODES_COUNT
};
/** How many ranks (per node) or threads (per rank). */
enum st_many {
    ST_MANY_COUNT, /**< the number given */
    ST_MANY_ALL_CORES, /**< ranks: one per usable core; threads: the cores divided among the ranks */
    ST_MANY_PER_NUMA, /**< one per NUMA node with CPUs; threads: n_threads per NUMA node */
    ST_MANY_PER_SOCKET, /**< ranks only */
    ST_MANY_PER_L3,     /**< like per NUMA node */
    ST_MANY_ALL_PUS     /**< like all-cores, counting hardware threads */
};
/** Order in which cores are filled. */
enum st_fill {
    ST_FILL_COMPACT, /**< core after core in topology order */
    ST_FILL_SCATTER  /**< round robin over NUMA nodes, then L3 */
};
/** Part of each node that a step may use (`within: socket 0`). */
enum st_within {
    ST_WITHIN_NODE,
    ST_WITHIN_SOCKET,
    ST_WITHIN_NUMA,
    ST_WITHIN_L3
};
/** What the ranks of the launch that take no part in a step do meanwhile. */
enum st_others {
    ST_OTHERS_IDLE, /**< sleep; use no CPU */
    ST_OTHERS_BUSY  /**< stream through memory on the cores that the step leaves free */
};
enum st_policy {
    ST_POLICY_SEATRIAL,
    ST_POLICY_LAUNCHER
};

/** layout: of a step, as asked for (src/machine turns it into places). */
struct st_layout_request {
    enum st_nodes nodes;
    size_t n_nodes;          /**< with ST_NODES_COUNT */
    enum st_many ranks;      /**< ranks_per_node; default all-cores */
    size_t n_ranks_per_node; /**< with ST_MANY_COUNT */
    size_t n_ranks; /**< `ranks: N`: total over the nodes, compact by node; 0: not given;
                                    never with nodes each; wins over `ranks` */
    enum st_many threads; /**< default COUNT 1 */
    size_t n_threads; /**< with ST_MANY_COUNT; with PER_NUMA and PER_L3 per object, these
                                    need one rank per node, whose threads are spread */
    enum st_fill fill;
    enum st_within within; /**< with the policy seatrial and without `ranks: N` */
    size_t n_within;       /**< hwloc's logical number of that socket, NUMA node or L3 */
    enum st_policy policy;
    enum st_others others;
    bool oversubscribe; /**< `oversubscribe: yes` */
};

/** repeat: of a step (METHODS 8.1). */
struct st_repeat {
    size_t min, max;
    double confidence; /**< 0.95 */
    double width;      /**< half-width / median, 0.02 */
    double budget_s;   /**< measuring time of the step */
    double time_s; /**< a section lasts at least this long, by the inner count; 1 ms */
    double deadline_s; /**< of the whole step; default 60 s + 4 x budget */
};

enum st_criterion_kind {
    ST_AT_LEAST, /**< value >= bound (base unit of the metric) */
    ST_AT_MOST,
    ST_AT_LEAST_OF_PEAK, /**< "80% of peak": fraction in bound, the peak in reference */
    ST_AT_LEAST_OF_REFERENCE, /**< "95% of 400GB/s": fraction in bound, the rest in reference */
    ST_AT_MOST_OF_REFERENCE, /**< likewise; also "110% of peak", with the peak in reference */
    ST_SPREAD /**< (max - min) / median over the places of kind spread_over <= bound */
};
enum st_statistic {
    ST_STAT_MEDIAN,
    ST_STAT_MIN,
    ST_STAT_MAX,
    ST_STAT_P99
};

/** One criterion on one metric of a step. */
struct st_criterion {
    size_t metric_row;
    enum st_criterion_kind kind;
    enum st_statistic statistic; /**< of each place's samples; median by default */
    double bound;      /**< base unit, or a fraction for the OF_ and SPREAD kinds */
    double reference;  /**< base unit: peak or reference; NaN if unused */
    double confidence; /**< 0.95 */
    double floor;      /**< with may_fail: no place is worse than this; NaN if unused */
    size_t may_fail;   /**< k-of-n: this many places may fail */
    bool inconclusive_is_fail;
    char text[160]; /**< as the user wrote it, for the report: "at_least: 80% of
                                      peak, statistic: min" */
    int line, column;
};

/** `scaling:` of a step: what stays the same when its ranks grow. */
enum st_scaling {
    ST_SCALING_NONE,   /**< not given */
    ST_SCALING_STRONG, /**< the problem */
    ST_SCALING_WEAK    /**< the problem of each rank */
};

/** One entry of the config after its sweep is expanded. */
struct st_step {
    char name
        [ST_NAME_SIZE]; /**< unique in the plan: `name:` or the benchmark, and the swept
                                    values: "stream", "stream:stores=nontemporal"; without
                                    blanks */
    char series
        [ST_NAME_SIZE]; /**< `name:` or the benchmark: the same for all steps of a sweep */
    enum st_scaling scaling;
    const struct st_bench *bench;
    void *params; /**< bench->params_size bytes, owned by the plan */
    struct st_layout_request layout;
    struct st_repeat repeat;
    size_t n_criteria;
    struct st_criterion *criteria; /**< owned by the plan */
    bool required;
    int line, column; /**< of the entry, for messages */
};

struct st_plan {
    char campaign
        [ST_NAME_SIZE]; /**< any printable text; default: the file's name without ending */
    char *file;         /**< path as given, for messages */
    char *config_text;  /**< the bytes of the file, after --set stayed as `overrides` */
    char *overrides;    /**< the --set texts, one per line, "" if none */
    bool judge_fake_nodes; /**< `judge_fake_nodes: yes` */
    struct {
        char name[64];
        double value;
        char unit[32];
        char origin[128];
    } peaks[16];
    size_t
        n_peaks; /**< `peaks:` map: metric unit class -> value, e.g. memory: 460.8GB/s */
    size_t n_steps;
    struct st_step *steps;
};

/**
 * Parse and validate a config. Nothing is half-accepted: any error gives ST_ERR_CONFIG with
 * "FILE:LINE:COLUMN: what was found; what is allowed (did you mean …)", or, for a value that an
 * option set, "--set KEY=VALUE: …". ST_ERR_USAGE for an option that is not of the form KEY=VALUE
 * and for an @p only that names no step. Local.
 * @param text       [n_bytes] the file's content, borrowed; need not be terminated
 * @param overrides  [n_overrides] "KEY=VALUE" of --set: dotted path from the root, steps by
 *                   number or name: "defaults.repeat.max=5", "steps.0.parameters.size=1MiB"
 * @param only       [n_only] step or benchmark names to keep (`--only`), n_only = 0: all
 * @param out        owned by the caller on success; st_plan_destroy()
 */
enum st_status st_plan_parse(const char *file, const char *text, size_t n_bytes,
                             size_t n_overrides, const char *const *overrides,
                             size_t n_only, const char *const *only,
                             const struct st_registry *registry, struct st_plan **out,
                             struct st_error *err);
void st_plan_destroy(struct st_plan **plan);

/** "nodes each, 1 rank per node, all-cores threads, compact" for people. @return out */
const char *st_layout_text(const struct st_layout_request *layout, char *out,
                           size_t size);
/* "none" "strong" "weak" */
const char *st_scaling_word(enum st_scaling scaling);
/* "node" "socket" "numa" "l3" */
const char *st_within_word(enum st_within within);
/* "at_least" "at_most" "at_least_of_peak" "at_least_of_reference" "at_most_of_reference" "spread" */
const char *st_criterion_word(enum st_criterion_kind kind);
/* "median" "min" "max" "p99" */
const char *st_statistic_word(enum st_statistic statistic);

/** Version of libyaml at run time, "0.2.5". Static storage. */
const char *st_plan_yaml_version(void);

#endif
