#ifndef ST_RECORD_FORMAT_H
#define ST_RECORD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Format 1 as data: every name in a results file, with type, unit and meaning. The writer,
 * the reader and the test of docs/FORMAT.md all go through these tables, so they cannot
 * disagree. A row struct holds one row of a table (or the values of one set of attributes or
 * scalars); the columns say where in it each value sits.
 */

/** What a column is in memory and in the file. */
enum st_column_type {
    ST_COLUMN_SIZE, /**< size_t, SIZE_MAX missing; int64, -1 missing */
    ST_COLUMN_REAL, /**< double; float64, NaN missing */
    ST_COLUMN_BOOL, /**< bool; int8, 0 no, 1 yes */
    ST_COLUMN_CODE, /**< int8_t; int8 with flag_values and flag_meanings */
    ST_COLUMN_TEXT  /**< const char *; fixed-length UTF-8, NUL-terminated */
};

struct st_column {
    const char *name;
    enum st_column_type type;
    size_t offset; /**< in the row struct */
    const char *
        unit; /**< UDUNITS; NULL for text; or the name of a column that holds it row by row */
    const char *meaning; /**< one line, for people */
};

enum st_table_form {
    ST_FORM_COLUMNS,    /**< equally long 1-D datasets over `dimension` */
    ST_FORM_ATTRIBUTES, /**< attributes of the group */
    ST_FORM_SCALARS,    /**< one scalar dataset each */
    ST_FORM_FREE /**< datasets whose names or shapes the campaign decides; page only */
};

struct st_table {
    const char *path; /**< of the group, for people ("/steps/NNNN/layout") */
    enum st_table_form form;
    const char *dimension; /**< name of the dimension scale; COLUMNS only */
    const char *meaning;   /**< of the table, for people */
    size_t row_size;
    size_t n_columns;
    const struct st_column *columns;
};

enum {
    ST_MAX_COLUMNS = 40
};

struct st_root_row {
    const char *format, *conventions, *status, *reason, *campaign, *created, *updated;
    size_t format_version, n_steps_planned, n_ranks, n_nodes, n_launches;
    bool fake_nodes, judge_fake_nodes;
    double wall_s, start_up_s, write_s;
};

struct st_run_row {
    const char *config_file, *config, *overrides, *command, *launcher, *mpi_library,
        *transport, *binary;
};

struct st_argument_row {
    const char *value;
};

struct st_variable_row {
    const char *name, *value;
};

struct st_library_row {
    const char *name, *version;
};

struct st_peak_row {
    const char *name, *unit, *origin;
    double value;
};

struct st_system_row {
    const char *warnings, *fake_spec;
    size_t n_classes;
    bool keys_disagree;
    double open_s;
};

struct st_node_row {
    const char *host, *boot_id, *memory_limit, *usable, *usable_reason;
    size_t leader, n_ranks, topology_class, memory, n_packages, n_numa,
        n_numa_memory_only, n_l3, n_cores, n_pus, n_usable_cores, n_usable_pus,
        n_half_cores, l1d_size, l2_size, l3_size;
    bool topology_known, is_this_system, llc_plausible;
    double clock_step, clock_cost;
};

struct st_fact_row {
    size_t node;
    const char *name, *value;
};

struct st_rank_row {
    size_t node, local_rank;
    const char *inherited;
};

struct st_step_row {
    const char *name, *benchmark, *summary, *source, *status, *reason, *notes, *layout,
        *layout_note, *check_what, *series, *scaling;
    size_t number, n_groups, n_active_nodes, n_active_ranks, n_threads, n_repetitions,
        n_dropped, repeat_min, repeat_max, check_n, check_bad;
    bool required, converged, placement_proved, placement_applied, oversubscribed;
    double confidence, width, budget_s, section_time_s, deadline_s, check_limit,
        check_worst, clock_error_s, clock_disagreement, wall_s;
};

struct st_launch_row {
    const char *file, *created, *campaign, *status;
    size_t n_nodes, n_ranks;
};

struct st_section_row {
    size_t section, n_inner;
};

struct st_phase_row {
    const char *name;
    double duration;
};

struct st_seat_row {
    size_t rank, thread, node, pu, core, l3, numa, package, last_cpu;
    const char *planned, *verified;
    bool proved;
};

struct st_metric_row {
    const char *name, *unit, *better, *place_kind, *origin, *help;
    size_t section, row;
};

struct st_place_row {
    const char *label;
    size_t group, node, node_b, rank, rank_b, numa, numa_b;
    double value;
    const char *value_name, *value_unit;
};

struct st_summary_row {
    size_t index; /**< row of the table; not a column */
    const char *metric, *place_kind, *label, *unit;
    size_t place, n;
    double median, ci_low, ci_high, min, max, q1, q3, mean, stddev, p99, best, drift,
        lag1;
    bool converged, drifting;
};

/** The first columns of the summary name the row; they are known before the samples. */
enum {
    ST_SUMMARY_KEYS = 5
};

struct st_criterion_row {
    size_t metric, may_fail, line, column;
    const char *metric_name, *kind, *statistic, *unit, *text;
    double bound, reference, confidence, floor;
    bool inconclusive_is_fail;
};

struct st_judgement_row {
    const char *outcome;
    size_t exit_status;
};

struct st_verdict_table_row {
    size_t step, n;
    const char *metric, *place, *statistic, *unit, *outcome, *text;
    double value, low, high, bound;
};

extern const struct st_table st_table_root, st_table_run, st_table_arguments,
    st_table_environment, st_table_libraries, st_table_peaks, st_table_system,
    st_table_nodes, st_table_facts, st_table_ranks, st_table_topology, st_table_step,
    st_table_launches, st_table_sections, st_table_phases, st_table_parameters,
    st_table_layout, st_table_metrics, st_table_places, st_table_samples,
    st_table_summary, st_table_criteria, st_table_judgement, st_table_verdicts;

/** All of them, in the order of docs/FORMAT.md. */
extern const struct st_table *const st_tables[];
extern const size_t st_n_tables;

/** Is this "unit" the name of a column of the table, which holds the unit row by row? */
bool st_unit_is_column(const struct st_table *table, const char *unit);
/** "text", "int64", "float64", "int8" as the page says it. */
const char *st_column_type_word(enum st_column_type type);

#endif
