#include "src/record/format.h"

#include "src/base/mem.h"

#include <string.h>

/*
 * The tables of format 1. Adding a name is one line here and one in docs/FORMAT.md; giving a
 * name another meaning, type or unit needs a new ST_FORMAT_VERSION.
 */

#define TEXT(s, member, what)                                                            \
    {                                                                                    \
#member, ST_COLUMN_TEXT, offsetof(struct s, member), NULL, what                  \
    }
#define COUNT(s, member, what)                                                           \
    {                                                                                    \
#member, ST_COLUMN_SIZE, offsetof(struct s, member), "1", what                   \
    }
#define BYTES(s, member, what)                                                           \
    {                                                                                    \
#member, ST_COLUMN_SIZE, offsetof(struct s, member), "byte", what                \
    }
#define TRUTH(s, member, what)                                                           \
    {                                                                                    \
#member, ST_COLUMN_BOOL, offsetof(struct s, member), "1", what                   \
    }
#define REAL(s, member, unit, what)                                                      \
    {                                                                                    \
#member, ST_COLUMN_REAL, offsetof(struct s, member), unit, what                  \
    }

#define TABLE(var, group, table_form, scale, s, what)                                    \
    const struct st_table st_table_##var = {.path = group,                               \
                                            .form = table_form,                          \
                                            .dimension = scale,                          \
                                            .meaning = what,                             \
                                            .row_size = sizeof(struct s),                \
                                            .n_columns = ST_COUNT(var##_columns),        \
                                            .columns = var##_columns}

/* clang-format off */
static const struct st_column root_columns[] = {
    TEXT(st_root_row, format, "always `seatrial`"),
    COUNT(st_root_row, format_version, "version of this format"),
    TEXT(st_root_row, conventions, "conventions followed for units, flags and coordinates"),
    TEXT(st_root_row, status, "running, complete, interrupted or failed; running: the writer works still or was killed"),
    TEXT(st_root_row, reason, "why the status is not complete"),
    TEXT(st_root_row, campaign, "name of the campaign"),
    TEXT(st_root_row, created, "start of the first launch, ISO 8601, UTC"),
    TEXT(st_root_row, updated, "time of this version of the file, ISO 8601, UTC"),
    TRUTH(st_root_row, fake_nodes, "one machine was treated as several nodes"),
    TRUTH(st_root_row, judge_fake_nodes, "the config asks for a verdict on fake nodes"),
    COUNT(st_root_row, n_steps_planned, "steps of the campaign"),
    COUNT(st_root_row, n_ranks, "MPI processes of the launch"),
    COUNT(st_root_row, n_nodes, "nodes of the launch"),
    COUNT(st_root_row, n_launches, "1, and 1 more for each time the campaign was resumed"),
    REAL(st_root_row, wall_s, "s", "wall time since the file was begun, all launches added up"),
    REAL(st_root_row, write_s, "s", "of it, time spent in writing this file by the last launch"),
    REAL(st_root_row, start_up_s, "s", "time of MPI's start-up and the launch check"),
};
TABLE(root, "/", ST_FORM_ATTRIBUTES, NULL, st_root_row, "The campaign and its state.");

static const struct st_column run_columns[] = {
    TEXT(st_run_row, config_file, "path of the config file as given"),
    TEXT(st_run_row, config, "content of the config file"),
    TEXT(st_run_row, overrides, "what --set changed, one per line"),
    TEXT(st_run_row, command, "the command line"),
    TEXT(st_run_row, launcher, "what started the processes"),
    TEXT(st_run_row, mpi_library, "MPI's own description of itself"),
    TEXT(st_run_row, transport, "MPI's transport layers"),
    TEXT(st_run_row, binary, "version, revision, compiler and flags of the program"),
};
TABLE(run, "/run", ST_FORM_SCALARS, NULL, st_run_row, "How the program was run.");

static const struct st_column arguments_columns[] = {
    TEXT(st_argument_row, value, "argument of the command line, the program's name first"),
};
TABLE(arguments, "/run/arguments", ST_FORM_COLUMNS, "argument", st_argument_row, "Command line.");

static const struct st_column environment_columns[] = {
    TEXT(st_variable_row, name, "name of an environment variable on the allow-list"),
    TEXT(st_variable_row, value, "its value on rank 0"),
};
TABLE(environment, "/run/environment", ST_FORM_COLUMNS, "variable", st_variable_row,
      "Environment of rank 0; only names on an allow-list, never names that look like secrets.");

static const struct st_column libraries_columns[] = {
    TEXT(st_library_row, name, "library"),
    TEXT(st_library_row, version, "its version at run time, or unknown"),
};
TABLE(libraries, "/run/libraries", ST_FORM_COLUMNS, "library", st_library_row, "Libraries in use.");

static const struct st_column peaks_columns[] = {
    TEXT(st_peak_row, name, "name of the peak in the config"),
    REAL(st_peak_row, value, "unit", "the figure"),
    TEXT(st_peak_row, unit, "unit of the figure"),
    TEXT(st_peak_row, origin, "where the figure comes from"),
};
TABLE(peaks, "/run/peaks", ST_FORM_COLUMNS, "peak", st_peak_row, "Peak figures that criteria refer to.");

static const struct st_column system_columns[] = {
    TEXT(st_system_row, warnings, "what was odd about the nodes, one per line"),
    TEXT(st_system_row, fake_spec, "value of SEATRIAL_FAKE_NODES"),
    COUNT(st_system_row, n_classes, "distinct topologies"),
    TRUTH(st_system_row, keys_disagree, "the two ways to tell which ranks share a node disagreed"),
    REAL(st_system_row, open_s, "s", "time to find nodes and topologies"),
};
TABLE(system, "/system", ST_FORM_ATTRIBUTES, NULL, st_system_row, "The machine as found.");

static const struct st_column nodes_columns[] = {
    TEXT(st_node_row, host, "host name"),
    TEXT(st_node_row, boot_id, "boot id of the kernel"),
    COUNT(st_node_row, leader, "rank that loaded the topology"),
    COUNT(st_node_row, n_ranks, "ranks on the node"),
    COUNT(st_node_row, topology_class, "nodes with equal topology share it; number in /system/topology"),
    BYTES(st_node_row, memory, "memory this job may use"),
    TEXT(st_node_row, memory_limit, "what sets that limit"),
    TRUTH(st_node_row, topology_known, "the topology could be loaded"),
    TRUTH(st_node_row, is_this_system, "the topology is the machine's own, not a file's"),
    COUNT(st_node_row, n_packages, "CPU packages (sockets)"),
    COUNT(st_node_row, n_numa, "NUMA nodes"),
    COUNT(st_node_row, n_numa_memory_only, "NUMA nodes without CPUs"),
    COUNT(st_node_row, n_l3, "level 3 caches"),
    COUNT(st_node_row, n_cores, "cores"),
    COUNT(st_node_row, n_pus, "hardware threads"),
    COUNT(st_node_row, n_usable_cores, "cores this job may use"),
    COUNT(st_node_row, n_usable_pus, "hardware threads this job may use"),
    COUNT(st_node_row, n_half_cores, "usable cores with some hardware threads not usable"),
    BYTES(st_node_row, l1d_size, "one level 1 data cache"),
    BYTES(st_node_row, l2_size, "one level 2 cache"),
    BYTES(st_node_row, l3_size, "one level 3 cache"),
    TRUTH(st_node_row, llc_plausible, "the size of the last-level cache can be believed"),
    REAL(st_node_row, clock_step, "s", "smallest step of the monotonic clock"),
    REAL(st_node_row, clock_cost, "s", "time of one reading of it"),
    TEXT(st_node_row, usable, "CPUs this job may use, as a list"),
    TEXT(st_node_row, usable_reason, "what restricts them"),
};
TABLE(nodes, "/system/nodes", ST_FORM_COLUMNS, "node", st_node_row, "One row per node.");

static const struct st_column facts_columns[] = {
    COUNT(st_fact_row, node, "node"),
    TEXT(st_fact_row, name, "what is known (thp, governor, kernel …)"),
    TEXT(st_fact_row, value, "the value, or unknown"),
};
TABLE(facts, "/system/facts", ST_FORM_COLUMNS, "fact", st_fact_row, "Settings of each node that change results.");

static const struct st_column ranks_columns[] = {
    COUNT(st_rank_row, node, "node of the rank"),
    COUNT(st_rank_row, local_rank, "number among the ranks of its node"),
    TEXT(st_rank_row, inherited, "CPU list the launcher had bound it to"),
};
TABLE(ranks, "/system/ranks", ST_FORM_COLUMNS, "rank", st_rank_row, "One row per rank of the launch.");

static const struct st_column topology_columns[] = {
    {"K", ST_COLUMN_TEXT, 0, NULL, "hwloc XML of topology class K (0, 1 …); scalar"},
};
TABLE(topology, "/system/topology", ST_FORM_FREE, NULL, st_argument_row, "Each distinct topology once.");

static const struct st_column step_columns[] = {
    COUNT(st_step_row, number, "position in the plan, from 0; NNNN in the group's name"),
    TEXT(st_step_row, name, "name of the step, swept values included"),
    TEXT(st_step_row, series, "name of the config's entry, the same for all steps of its sweep"),
    TEXT(st_step_row, scaling, "what stays the same when the ranks grow: strong (the problem), weak (each rank's part) or none"),
    TEXT(st_step_row, benchmark, "name of the benchmark"),
    TEXT(st_step_row, summary, "what the benchmark measures"),
    TEXT(st_step_row, source, "paper or specification of the method"),
    TEXT(st_step_row, status, "complete, interrupted, failed or skipped"),
    TEXT(st_step_row, reason, "why the status is not complete"),
    TEXT(st_step_row, notes, "warnings of the benchmark's planning"),
    TEXT(st_step_row, layout, "layout as asked for"),
    TEXT(st_step_row, layout_note, "what kept the layout from being applied"),
    TRUTH(st_step_row, required, "the config demands that the step is done"),
    TRUTH(st_step_row, converged, "every metric at every place met the width"),
    TRUTH(st_step_row, placement_applied, "threads were bound by the program"),
    TRUTH(st_step_row, placement_proved, "every thread was read back where it was planned"),
    TRUTH(st_step_row, oversubscribed, "more threads than hardware threads on some node"),
    COUNT(st_step_row, n_groups, "independent instances that ran at the same time"),
    COUNT(st_step_row, n_active_nodes, "nodes of the largest group"),
    COUNT(st_step_row, n_active_ranks, "ranks that took part, all groups"),
    COUNT(st_step_row, n_threads, "threads of the largest group"),
    COUNT(st_step_row, n_repetitions, "repetitions stored, the warm-up included"),
    COUNT(st_step_row, n_dropped, "samples not valid, the warm-up not counted"),
    COUNT(st_step_row, repeat_min, "smallest number of repetitions asked for"),
    COUNT(st_step_row, repeat_max, "largest number of repetitions allowed"),
    REAL(st_step_row, confidence, "1", "confidence of the intervals"),
    REAL(st_step_row, width, "1", "half-width over median at which repeating stops"),
    REAL(st_step_row, budget_s, "s", "measuring time allowed"),
    REAL(st_step_row, section_time_s, "s", "time one timed section lasts at least"),
    REAL(st_step_row, deadline_s, "s", "time allowed for the whole step"),
    COUNT(st_step_row, check_n, "values compared by the verification"),
    COUNT(st_step_row, check_bad, "of them wrong"),
    REAL(st_step_row, check_limit, "1", "deviation allowed, in the unit of the compared values"),
    REAL(st_step_row, check_worst, "1", "largest deviation seen, in the same unit"),
    TEXT(st_step_row, check_what, "first wrong value"),
    REAL(st_step_row, clock_error_s, "s", "residual error of the global time at the end of the step"),
    REAL(st_step_row, clock_disagreement, "1", "largest relative disagreement of the monotonic and a second clock, all ranks"),
    REAL(st_step_row, wall_s, "s", "wall time of the step"),
};
TABLE(step, "/steps/NNNN", ST_FORM_ATTRIBUTES, NULL, st_step_row,
      "One group per step that was done, tried or skipped.");

static const struct st_column launches_columns[] = {
    TEXT(st_launch_row, file, "results file the launch came from, as named at the merge"),
    TEXT(st_launch_row, created, "when that file was begun"),
    TEXT(st_launch_row, campaign, "its campaign"),
    TEXT(st_launch_row, status, "complete, interrupted, failed or running"),
    COUNT(st_launch_row, n_nodes, "nodes of the launch"),
    COUNT(st_launch_row, n_ranks, "ranks of the launch"),
};
TABLE(launches, "/launches", ST_FORM_COLUMNS, "launch", st_launch_row,
      "Only in studies made by `seatrial merge`: one row per launch. The group NNNN beside these columns has everything that the root of that launch's file had.");

static const struct st_column sections_columns[] = {
    COUNT(st_section_row, section, "number of a timed section of the benchmark"),
    COUNT(st_section_row, n_inner, "executions per repetition; times are per execution"),
};
TABLE(sections, "/steps/NNNN/sections", ST_FORM_COLUMNS, "row", st_section_row, "Timed sections in use.");

static const struct st_column phases_columns[] = {
    TEXT(st_phase_row, name, "part of the step"),
    REAL(st_phase_row, duration, "s", "wall time spent in it on the step's first rank"),
};
TABLE(phases, "/steps/NNNN/phases", ST_FORM_COLUMNS, "phase", st_phase_row, "Where the step's time went.");

static const struct st_column parameters_columns[] = {
    {"NAME", ST_COLUMN_REAL, 0, "unit", "value of parameter NAME: int64, float64, int8 (no, yes) or text by its type, -1 for auto; scalar; the attribute `text` holds it as a person writes it"},
};
TABLE(parameters, "/steps/NNNN/parameters", ST_FORM_FREE, NULL, st_argument_row, "Parameters as run.");

static const struct st_column layout_columns[] = {
    COUNT(st_seat_row, rank, "rank of the launch"),
    COUNT(st_seat_row, thread, "OpenMP thread of the rank"),
    COUNT(st_seat_row, node, "node"),
    COUNT(st_seat_row, pu, "planned hardware thread (number of the operating system)"),
    COUNT(st_seat_row, core, "core, numbered by hwloc within the node"),
    COUNT(st_seat_row, l3, "level 3 cache, likewise"),
    COUNT(st_seat_row, numa, "NUMA node, likewise"),
    COUNT(st_seat_row, package, "package, likewise"),
    TEXT(st_seat_row, planned, "CPU list planned for the thread"),
    TEXT(st_seat_row, verified, "CPU list read back from the thread"),
    COUNT(st_seat_row, last_cpu, "CPU the thread was seen on"),
    TRUTH(st_seat_row, proved, "read back as planned and seen there"),
};
TABLE(layout, "/steps/NNNN/layout", ST_FORM_COLUMNS, "seat", st_seat_row, "Where every thread was meant to be and was found.");

static const struct st_column metrics_columns[] = {
    TEXT(st_metric_row, name, "metric; its samples have this name"),
    TEXT(st_metric_row, unit, "unit of its values"),
    TEXT(st_metric_row, better, "higher, lower or neither"),
    TEXT(st_metric_row, place_kind, "job, node, rank, pair, numa or point"),
    TEXT(st_metric_row, origin, "time (measured), work/time (formed) or given (by the benchmark)"),
    COUNT(st_metric_row, section, "timed section it belongs to"),
    COUNT(st_metric_row, row, "row in the benchmark's declaration"),
    TEXT(st_metric_row, help, "what it is"),
};
TABLE(metrics, "/steps/NNNN/metrics", ST_FORM_COLUMNS, "metric", st_metric_row, "Metrics of the step.");

static const struct st_column places_columns[] = {
    TEXT(st_place_row, label, "the place for people"),
    COUNT(st_place_row, group, "group of the step"),
    COUNT(st_place_row, node, "node (of the first rank of a pair)"),
    COUNT(st_place_row, node_b, "node of the second rank of a pair"),
    COUNT(st_place_row, rank, "rank, or first rank of a pair"),
    COUNT(st_place_row, rank_b, "second rank of a pair"),
    COUNT(st_place_row, numa, "NUMA node of the CPUs"),
    COUNT(st_place_row, numa_b, "NUMA node of the memory"),
    REAL(st_place_row, value, "value_unit", "where on its curve a point lies"),
    TEXT(st_place_row, value_name, "what the curve runs over"),
    TEXT(st_place_row, value_unit, "unit of value"),
};
TABLE(places, "/steps/NNNN/samples", ST_FORM_COLUMNS, "place_KIND", st_place_row,
      "Places of each kind in use, KIND being job, node, rank, pair, numa or point; every name gets the prefix `place_KIND_`.");

static const struct st_column samples_columns[] = {
    {"METRIC", ST_COLUMN_REAL, 0, "unit", "samples [place_KIND, repetition] of metric METRIC in order of time; repetition 0 is the warm-up; attributes `units`, `long_name`, `better`, `place_kind`, `origin`, `section`, `coordinates`"},
    {"METRIC_validity", ST_COLUMN_CODE, 0, "1", "0 valid, 1 warm-up, 2 late start, 3 clocks disagreed, 4 bad duration, 5 missing"},
};
TABLE(samples, "/steps/NNNN/samples", ST_FORM_FREE, NULL, st_argument_row,
      "All samples, over the dimension scales place_KIND and repetition.");

static const struct st_column summary_columns[] = {
    TEXT(st_summary_row, metric, "metric"),
    TEXT(st_summary_row, place_kind, "kind of place"),
    COUNT(st_summary_row, place, "index along place_KIND"),
    TEXT(st_summary_row, label, "the place for people"),
    TEXT(st_summary_row, unit, "unit of the statistics"),
    COUNT(st_summary_row, n, "valid samples"),
    REAL(st_summary_row, median, "unit", "median"),
    REAL(st_summary_row, ci_low, "unit", "lower end of the median's confidence interval"),
    REAL(st_summary_row, ci_high, "unit", "upper end"),
    REAL(st_summary_row, min, "unit", "smallest"),
    REAL(st_summary_row, max, "unit", "largest"),
    REAL(st_summary_row, q1, "unit", "first quartile"),
    REAL(st_summary_row, q3, "unit", "third quartile"),
    REAL(st_summary_row, mean, "unit", "arithmetic mean"),
    REAL(st_summary_row, stddev, "unit", "standard deviation"),
    REAL(st_summary_row, p99, "unit", "99th percentile, from 299 samples on"),
    REAL(st_summary_row, best, "unit", "best sample by the metric's direction"),
    REAL(st_summary_row, drift, "1", "rank correlation of value and order"),
    REAL(st_summary_row, lag1, "1", "autocorrelation of neighbours"),
    TRUTH(st_summary_row, converged, "the interval met the width"),
    TRUTH(st_summary_row, drifting, "the values drift"),
};
TABLE(summary, "/steps/NNNN/summary", ST_FORM_COLUMNS, "row", st_summary_row, "Statistics of the valid samples of each metric at each place.");

static const struct st_column criteria_columns[] = {
    COUNT(st_criterion_row, metric, "row in /steps/NNNN/metrics"),
    TEXT(st_criterion_row, metric_name, "metric"),
    TEXT(st_criterion_row, kind, "at_least, at_most, at_least_of_peak … spread"),
    TEXT(st_criterion_row, statistic, "statistic of each place's samples"),
    REAL(st_criterion_row, bound, "unit", "what is asked for; a fraction for the kinds of_peak, of_reference and spread"),
    REAL(st_criterion_row, reference, "unit", "peak or reference the fraction refers to"),
    TEXT(st_criterion_row, unit, "unit of the metric"),
    REAL(st_criterion_row, confidence, "1", "confidence of the verdict"),
    REAL(st_criterion_row, floor, "unit", "no place may be below"),
    COUNT(st_criterion_row, may_fail, "places that may fail"),
    TRUTH(st_criterion_row, inconclusive_is_fail, "what cannot be decided counts as failed"),
    TEXT(st_criterion_row, text, "as written in the config"),
    COUNT(st_criterion_row, line, "line in the config"),
    COUNT(st_criterion_row, column, "column in the config"),
};
TABLE(criteria, "/steps/NNNN/criteria", ST_FORM_COLUMNS, "criterion", st_criterion_row, "What the config asks of the step.");

static const struct st_column judgement_columns[] = {
    TEXT(st_judgement_row, outcome, "pass, fail, inconclusive or not judged, over all criteria"),
    COUNT(st_judgement_row, exit_status, "exit status of the program"),
};
TABLE(judgement, "/verdicts", ST_FORM_ATTRIBUTES, NULL, st_judgement_row, "The verdict; only in files of campaigns that came to their end.");

static const struct st_column verdicts_columns[] = {
    COUNT(st_verdict_table_row, step, "number of the step"),
    TEXT(st_verdict_table_row, metric, "metric"),
    TEXT(st_verdict_table_row, place, "the place for people, or all"),
    TEXT(st_verdict_table_row, statistic, "statistic that was judged"),
    TEXT(st_verdict_table_row, outcome, "pass, fail, inconclusive or not judged"),
    REAL(st_verdict_table_row, value, "unit", "the statistic"),
    REAL(st_verdict_table_row, low, "unit", "lower end of its interval"),
    REAL(st_verdict_table_row, high, "unit", "upper end"),
    REAL(st_verdict_table_row, bound, "unit", "what was asked for"),
    TEXT(st_verdict_table_row, unit, "unit of these; 1 where a spread is judged; empty if not known"),
    COUNT(st_verdict_table_row, n, "samples"),
    TEXT(st_verdict_table_row, text, "the outcome in one sentence"),
};
TABLE(verdicts, "/verdicts", ST_FORM_COLUMNS, "verdict", st_verdict_table_row, "One row per criterion and place.");
/* clang-format on */

const struct st_table *const st_tables[] = {
    &st_table_root,      &st_table_run,       &st_table_arguments,  &st_table_environment,
    &st_table_libraries, &st_table_peaks,     &st_table_system,     &st_table_nodes,
    &st_table_facts,     &st_table_ranks,     &st_table_topology,   &st_table_step,
    &st_table_sections,  &st_table_phases,    &st_table_parameters, &st_table_layout,
    &st_table_metrics,   &st_table_places,    &st_table_samples,    &st_table_summary,
    &st_table_criteria,  &st_table_judgement, &st_table_verdicts,   &st_table_launches,
};
const size_t st_n_tables = ST_COUNT(st_tables);

bool st_unit_is_column(const struct st_table *table, const char *unit)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        if (strcmp(table->columns[c].name, unit) == 0) {
            return true;
        }
    }
    return table->form == ST_FORM_FREE && strcmp(unit, "unit") == 0; /* by declaration */
}

const char *st_column_type_word(enum st_column_type type)
{
    switch (type) {
    case ST_COLUMN_SIZE:
        return "int64";
    case ST_COLUMN_REAL:
        return "float64";
    case ST_COLUMN_BOOL:
    case ST_COLUMN_CODE:
        return "int8";
    case ST_COLUMN_TEXT:
        return "text";
    }
    return "?";
}
