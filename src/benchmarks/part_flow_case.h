#ifndef ST_BENCHMARKS_PART_FLOW_CASE_H
#define ST_BENCHMARKS_PART_FLOW_CASE_H

#include "src/flow/flow.h"
#include "src/mesh/box.h"

#include <stdint.h>

/*
 * Cases of the benchmark `flow`: geometry, boundary conditions, force and initial velocity.
 * Generated boxes have cubes as cells (squares with one cell along z, which makes a case 2-D);
 * the user's own mesh starts at rest, with the user's conditions.
 */

enum st_flow_case {
    ST_CASE_CAVITY, /**< unit width, lid y = max moving along x */
    ST_CASE_CHANNEL, /**< periodic along x (and z if 3-D), unit height, force 2 nu: mean 1/6 */
    ST_CASE_STEP, /**< unit height, inlet above y = 1/2 at x = 0, mean velocity there 1 */
    ST_CASE_TAYLOR_GREEN, /**< unit square, periodic, vortices that decay */
    ST_CASE_MESH          /**< an OpenFOAM mesh from files */
};

/** The box of a case but ST_CASE_MESH with nx, ny, nz cells. Local. */
struct st_mesh_box st_case_box(enum st_flow_case which, const uint64_t n[3]);
/**
 * The box of @p n cells on each of @p n_ranks: @p n times the process grid of a cube. Local.
 * @param n in: cells of a rank; out: of the whole box
 */
void st_case_grown(size_t n_ranks, uint64_t n[3]);
/** Near-cubic box with @p cells_per_rank on each of @p n_ranks, all shares equal. Local. */
void st_case_cells(uint64_t cells_per_rank, bool is_flat, size_t n_ranks, uint64_t n[3]);
/** Its boundary conditions as text, borrowed. */
const char *st_case_conditions(enum st_flow_case which, bool is_flat);
/** Force per mass along x. */
double st_case_force(enum st_flow_case which, double nu);
/** The least way from a cell to the next, over all ranks. Collective. */
enum st_status st_case_edge(const struct st_mesh *mesh, double *edge,
                            struct st_error *err);
/** Set the initial velocity; st_flow_start() must follow. Local. */
void st_case_initial(enum st_flow_case which, struct st_flow *flow);

#endif
