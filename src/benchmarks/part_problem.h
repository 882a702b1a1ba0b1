#ifndef ST_BENCHMARKS_PART_PROBLEM_H
#define ST_BENCHMARKS_PART_PROBLEM_H

#include "src/base/bench.h"
#include "src/benchmarks/part_box.h"
#include "src/benchmarks/part_matrix.h"
#include "src/measure/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The matrix that spmv and cg are run on: a box by formula or a Matrix Market file, its
 * partition, the memory and time it will need, and its making.
 */

/** Kinds, in the order of st_problem_names. */
enum {
    ST_PROBLEM_BOX7,
    ST_PROBLEM_BOX27,
    ST_PROBLEM_FILE
};
/** Choices of the parameters `matrix` and `partition` (enum st_partition). */
extern const char *const st_problem_names[];
extern const char *const st_problem_partitions[];
/** Choices of the parameter `scope`, in the order of enum st_scope. */
extern const char *const st_problem_scopes[];
enum st_scope {
    ST_SCOPE_PER_RANK, /**< nz points of each rank: the box grows along z, slab by slab */
    ST_SCOPE_TOTAL
};

/** Seeds of the vectors x and w of a file's fingerprint (st_file_rows.probe). */
enum {
    ST_PROBLEM_SEED_X = 42,
    ST_PROBLEM_SEED_W = 43
};

struct st_problem {
    const char *who; /**< benchmark, for messages */
    uint32_t kind;
    const char *path; /**< "" for boxes */
    uint64_t n[3];    /**< points of the box by `scope` */
    enum st_scope scope;
    enum st_partition partition;
    bool has_sell;      /**< the interior is stored in SELL-C-sigma too */
    bool has_bcsr;      /**< in blocks too */
    size_t side;        /**< of the blocks; 0: that with the least traffic */
    size_t n_vectors;   /**< of a rank's rows, beside the matrix */
    bool has_multigrid; /**< preconditioner of the solves */
    size_t n_solves; /**< a repetition, of at most max_iterations iterations; 0: none */
    uint64_t max_iterations;
};

/** The made matrix and where it came from. Zero-initialise; the matrix is the caller's. */
struct st_problem_matrix {
    struct st_box box;
    struct st_matrix *matrix; /**< owned; st_matrix_destroy() */
    bool from_file;
    uint64_t n_duplicates;
    double probe, probe_scale; /**< of a file: see struct st_file_rows */
};

/** The whole box of a problem that is one, for so many ranks. Local. */
struct st_box st_problem_box(const struct st_problem *problem, size_t n_ranks);

/** Check and predict, for a benchmark's plan(). Local. */
enum st_status st_problem_plan(const struct st_problem *problem,
                               const struct st_shape *shape, struct st_need *need,
                               struct st_error *err);

/** Make it. Collective over the run's group; the same status on all ranks, the text in run->err. */
enum st_status st_problem_create(struct st_run *run, const struct st_problem *problem,
                                 struct st_problem_matrix *out);

#endif
