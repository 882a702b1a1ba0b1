#ifndef ST_RECORD_RECORD_H
#define ST_RECORD_RECORD_H

#include "src/base/bench.h"
#include "src/machine/machine.h"
#include "src/measure/step.h"
#include "src/plan/plan.h"
#include "src/stats/stats.h"

/*
 * The results file, format 1 (docs/FORMAT.md). Written by world rank 0 alone. After every
 * step a complete new file replaces the old one (copy, append, fsync, rename), so that what
 * is on disk always opens and holds every finished step. Everything here is local to rank 0.
 */

enum {
    ST_FORMAT_VERSION = 1
};

/** What /run and /system store; borrowed during the call. */
struct st_run_info {
    const struct st_plan *plan;
    const struct st_machine *machine;
    int argc;
    char **argv;
    size_t n_topologies;
    char *const *topology_xml; /**< [n_topologies] */
    const char *mpi_library;   /**< MPI_Get_library_version */
    const char *mpi_transport; /**< pml/btl or similar, "" if unknown */
    const char *launcher;      /**< "slurm", "mpirun", "none" … */
    const char *binary;        /**< version, revision, compiler, flags */
    const char *hwloc_version; /**< "2.9.0"; NULL: unknown */
    const char *yaml_version;  /**< "0.2.5"; NULL: unknown */
    double start_up_s;
};

struct st_results; /* a file being written */

/**
 * Begin a results file. An existing file is never truncated: ST_ERR_IO names it, unless
 * @p resume: then it must hold the same config (text and overrides), and its finished steps are kept.
 * @param finished  with resume: [plan->n_steps] set true for steps already complete
 */
enum st_status st_results_create(const char *path, const struct st_run_info *info,
                                 bool resume, bool *finished, struct st_results **out,
                                 struct st_error *err);
/** The sink for src/measure; borrowed until st_results_close(). */
const struct st_sink *st_results_sink(struct st_results *results);
/** One line of /verdicts, for readers that do not judge themselves. Texts borrowed. */
struct st_verdict_line {
    size_t step; /**< number of the step */
    const char *metric, *place, *statistic, *outcome, *text;
    const char
        *unit; /**< of the values: the metric's, "1" for a spread; NULL: not known */
    double value, low, high, bound; /**< NaN: none */
    size_t n;
};
/** Write /verdicts (replacing an older one) and its attributes outcome and exit_status. */
enum st_status st_results_verdicts(struct st_results *results, size_t n,
                                   const struct st_verdict_line *lines,
                                   const char *outcome, int exit_status,
                                   struct st_error *err);
/** Set the root's status ("complete", "interrupted", "failed") and reason, replace the file. */
enum st_status st_results_finish(struct st_results *results, const char *status,
                                 const char *reason, struct st_error *err);
/** Free; leaves the last complete file in place and no temporary one. Accepts NULL. */
void st_results_close(struct st_results **results);
/** Seconds spent in writing so far. */
double st_results_write_s(const struct st_results *results);

/* ---- reading ---- */

struct st_file_place {
    char label
        [320]; /**< "node1", "rank 3 (node1)", "rank 0 -> rank 1 (node1 -> node2)", "job",
                     "size 64 KiB, rank 0 (node1)" */
    size_t node, node_b; /**< SIZE_MAX: none */
    size_t rank;         /**< SIZE_MAX: none */
    double value;        /**< where on its curve a point lies; NaN: no point */
    char value_name[32], value_unit[32];
};

struct st_file_metric {
    char name[64], unit[32], help[160];
    enum st_better better;
    enum st_place_kind kind;
    enum st_origin origin;
    size_t n_places;
    struct st_file_place *places; /**< [n_places]; metrics of one kind share the array */
    struct st_summary *summary;   /**< [n_places] as stored */
    size_t n_repetitions;         /**< stored, warm-up included */
};

struct st_file_criterion {
    size_t metric; /**< index in the step's metrics */
    struct st_criterion criterion;
};

struct st_file_step {
    size_t number;
    char name[ST_NAME_SIZE], benchmark[64];
    enum st_step_state state;
    char reason[ST_ERROR_TEXT_SIZE], notes[512], layout[256];
    bool required, converged, placement_proved, oversubscribed;
    double clock_error_s, wall_s;
    double confidence, width;
    uint64_t check_n, check_bad;
    double phase_s[ST_N_PHASES];
    size_t n_params;
    struct {
        char name[64];
        char value[ST_TEXT_PARAM_SIZE];
    } * params;
    size_t n_metrics;
    struct st_file_metric *metrics;
    size_t n_criteria;
    struct st_file_criterion *criteria;
};

struct st_file_node {
    char host[ST_HOST_SIZE];
    size_t n_ranks, n_usable_cores, n_usable_pus, topology_class;
    uint64_t memory_bytes;
};

/** A results file as judge and show see it; samples stay on disk. */
struct st_file {
    char *path;
    int format;
    char campaign[ST_NAME_SIZE], status[32], reason[ST_ERROR_TEXT_SIZE];
    char created[40], version[256], command[1024], mpi_library[256], warnings[1024];
    bool fake_nodes, judge_fake_nodes;
    size_t n_ranks, n_nodes;
    struct st_file_node *nodes;
    size_t n_steps_planned;
    size_t n_steps;
    struct st_file_step *steps; /**< in order of number */
    double wall_s, start_up_s;
    void *handle; /**< private */
};

/** Open for reading. ST_ERR_IO: missing, not HDF5, not ours, newer format; never a crash. */
enum st_status st_file_open(const char *path, struct st_file **out, struct st_error *err);
/**
 * One launch of a study as a file of its own; SIZE_MAX for a file that is no study.
 * ST_ERR_USAGE: a study and no launch, no study and a launch, or no such launch.
 */
enum st_status st_file_open_launch(const char *path, size_t launch, struct st_file **out,
                                   struct st_error *err);
/** Launches in a study; 0: the file is no study. */
enum st_status st_study_launches(const char *path, size_t *n, struct st_error *err);
/**
 * Gather results files of one config, one binary and one kind of node into the study @p path:
 * /launches/NNNN has each file's whole content, /launches the table of where they came from.
 * Refused with the difference shown (ST_ERR_CONFIG): another config or other --set changes,
 * another binary, other nodes, another number of ranks per node; a file that is a study, or
 * that comes twice. An existing @p path is never overwritten (ST_ERR_IO).
 */
enum st_status st_study_merge(const char *path, size_t n, const char *const *files,
                              struct st_error *err);
void st_file_close(struct st_file **file);
/**
 * Samples of one place of one metric: valid ones only, in order of time.
 * @param values owned by the caller (st_free); NULL if *n = 0
 */
enum st_status st_file_samples(const struct st_file *file, size_t step, size_t metric,
                               size_t place, size_t *n, double **values,
                               struct st_error *err);

#endif
