#ifndef ST_BENCHMARKS_PART_FLOW_RUN_H
#define ST_BENCHMARKS_PART_FLOW_RUN_H

#include "src/base/bench.h"
#include "src/benchmarks/part_flow_case.h"
#include "src/measure/run.h"
#include "src/mesh/poly.h"

#include <stdbool.h>

/* What the benchmark `flow` runs: parameters, making, going back to the start, verifying. */

struct st_flow_params {
    uint32_t which; /**< enum st_flow_case */
    uint64_t nx, ny, nz, cells_per_rank;
    uint32_t scope; /**< 0: nx ny nz is each rank's share; 1: the whole box */
    char mesh[ST_TEXT_PARAM_SIZE]; /**< folder, of ST_CASE_MESH */
    uint32_t partition;            /**< enum st_poly_partition */
    char boundary[ST_TEXT_PARAM_SIZE];
    uint32_t algorithm; /**< enum st_flow_algorithm */
    uint32_t mode;      /**< 1: fast */
    double nu, dt;
    uint64_t steps, correctors;
    uint32_t laplacian; /**< enum st_laplacian */
    uint64_t non_orthogonal;
    uint32_t p_solver, u_solver;
    double p_tolerance, p_relative, u_tolerance;
    uint64_t fixed_iterations;
    uint32_t reductions; /**< 0: ordered */
};

struct st_flow_run {
    const struct st_flow_params *params; /**< borrowed */
    struct st_mesh *mesh;
    struct st_fv *fv;
    struct st_flow *flow;
    double *result[3]; /**< [n_cells] velocities to compare with */
    bool all_converged;
    bool has_print, same_bits; /**< a repetition was done; all gave the same bits */
    uint64_t print;            /**< of the first repetition's velocities, this rank */
    double continuity;
    double setup_s, imbalance, bytes_per_cell;
    double most_neighbours;     /**< ranks beside one rank */
    struct st_poly_report poly; /**< of ST_CASE_MESH */
    double triad_bytes_per_s;   /**< all ranks together */
};

/** Are the parameters sound? @param[out] n cells of the whole box. Local, pure. */
enum st_status st_flow_run_check(const struct st_flow_params *p, size_t n_ranks,
                                 uint64_t n[3], struct st_error *err);
/** Bytes of the fullest rank; of a cell, about. Local. */
double st_flow_run_bytes(const struct st_flow_params *p, size_t n_ranks);
double st_flow_run_bytes_per_cell(const struct st_flow_params *p);
/** A rough upper figure of a repetition's seconds. */
double st_flow_run_seconds(const struct st_flow_params *p, const uint64_t n[3],
                           double cells_per_rank);

/** Collective. */
enum st_status st_flow_run_create(struct st_run *run, struct st_flow_run *s);
/** Local; accepts half-built. */
void st_flow_run_clear(struct st_flow_run *s);
/** Back to the initial state. Collective. */
enum st_status st_flow_run_restart(struct st_flow_run *s, struct st_error *err);
/** Compare this repetition's velocities with the first's, bit by bit (a fingerprint). Local. */
void st_flow_run_compare_bits(struct st_flow_run *s);
/** continuity from the flow as it is. Collective. */
enum st_status st_flow_run_continuity(struct st_flow_run *s, struct st_error *err);
/** Collective. */
enum st_status st_flow_run_verify(struct st_run *run, struct st_flow_run *s,
                                  struct st_check *check);

#endif
