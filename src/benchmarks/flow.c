/*
 * flow: an incompressible finite-volume solver that behaves as icoFoam or simpleFoam
 * (METHODS 4.2).
 *
 * One repetition starts from the same state and does `steps` steps, so that all repetitions
 * are the same work; going back to the start is not in step_time. verify() does the steps once
 * more in the other mode (faithful for fast, fast for faithful): two sets of loops and two
 * solvers must give the same velocities, without which nothing is rated.
 */
#include "mpi/agree.h"
#include "src/base/bench.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_flow_case.h"
#include "src/benchmarks/part_flow_run.h"
#include "src/measure/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const case_names[] = {"cavity",       "channel", "step",
                                         "taylor_green", "mesh",    NULL};
static const char *const partition_names[] = {"blocks", "scotch", "linear", NULL};
static const char *const scope_names[] = {"per_rank", "total", NULL};
static const char *const algorithm_names[] = {"piso", "simple", NULL};
static const char *const mode_names[] = {"faithful", "fast", NULL};
static const char *const p_solver_names[] = {"pcg", "gamg", "pcg_gamg", NULL};
static const char *const u_solver_names[] = {"gauss_seidel", "bicgstab", "jacobi", NULL};
static const char *const reduction_names[] = {"ordered", "unordered", NULL};
static const char *const laplacian_names[] = {"orthogonal", "corrected", NULL};

static const struct st_param params[] = {
    {.name = "case",
     .type = ST_TYPE_CHOICE,
     .offset = offsetof(struct st_flow_params, which),
     .unit = "1",
     .default_text = "cavity",
     .choices = case_names,
     .help = "what flows; one cell along z (nz: 1) makes it 2-D"},
    ST_PARAM_COUNT(st_flow_params, nx, "64", 1, 1e6, "cells along x"),
    ST_PARAM_COUNT(st_flow_params, ny, "64", 1, 1e6, "cells along y"),
    ST_PARAM_COUNT(st_flow_params, nz, "64", 1, 1e6, "cells along z"),
    ST_PARAM_CHOICE(st_flow_params, scope, scope_names, "total",
                    "nx, ny, nz are cells of the whole box, or of each rank"),
    ST_PARAM_COUNT(
        st_flow_params, cells_per_rank, "0", 0, 1e8,
        "cells of each rank in a near-cubic box, instead of nx, ny, nz; 0: off"),
    ST_PARAM_TEXT(
        st_flow_params, mesh, "",
        "with case: mesh, an OpenFOAM case or polyMesh folder (ascii, binary, .gz)"),
    ST_PARAM_CHOICE(st_flow_params, partition, partition_names, "blocks",
                    "with case: mesh, who gets which cell: boxes by recursive bisection, "
                    "PT-SCOTCH, or the order of the files"),
    ST_PARAM_TEXT(
        st_flow_params, boundary, "",
        "conditions by patch, instead of the case's: 'yMax: velocity 1 0 0; x*: "
        "wall; xMax: pressure 0; zMin: symmetry'"),
    ST_PARAM_CHOICE(st_flow_params, algorithm, algorithm_names, "piso",
                    "piso in time as icoFoam, or simple towards the steady state"),
    ST_PARAM_CHOICE(st_flow_params, mode, mode_names, "faithful",
                    "loops over faces one term at a time as OpenFOAM, or fused loops and "
                    "own matrix storage; same answers"),
    ST_PARAM_REAL(st_flow_params, nu, "1", "0.01", 1e-9, 1e3,
                  "kinematic viscosity in the units of length and time of the case"),
    ST_PARAM_REAL(st_flow_params, dt, "1", "0", 0.0, 1e6,
                  "time step; 0: 0.32 of a cell at speed 1"),
    ST_PARAM_COUNT(st_flow_params, steps, "2", 1, 1e6,
                   "time steps (or simple's iterations) of a repetition"),
    ST_PARAM_COUNT(st_flow_params, correctors, "2", 1, 10, "of piso"),
    ST_PARAM_CHOICE(
        st_flow_params, laplacian, laplacian_names, "orthogonal",
        "corrected: with the explicit part for faces that are not orthogonal"),
    ST_PARAM_COUNT(st_flow_params, non_orthogonal, "0", 0, 10,
                   "further pressure solves for the explicit part"),
    ST_PARAM_CHOICE(st_flow_params, p_solver, p_solver_names, "pcg",
                    "pressure: conjugate gradients with DIC, multigrid, or both"),
    ST_PARAM_CHOICE(st_flow_params, u_solver, u_solver_names, "gauss_seidel",
                    "velocity: symmetric Gauss-Seidel, BiCGStab with DILU, or Jacobi"),
    ST_PARAM_REAL(st_flow_params, p_tolerance, "1", "1e-6", 1e-14, 1.0,
                  "normalised residual at which a pressure solve stops"),
    ST_PARAM_REAL(st_flow_params, p_relative, "1", "0.05", 0.0, 1.0,
                  "the same over the initial residual, in all solves but a step's last"),
    ST_PARAM_REAL(st_flow_params, u_tolerance, "1", "1e-5", 1e-14, 1.0,
                  "normalised residual at which a velocity solve stops"),
    ST_PARAM_COUNT(st_flow_params, fixed_iterations, "0", 0, 1e6,
                   "of every pressure solve, and 2 of every velocity solve, whatever the "
                   "residual; compares machines at equal work; 0: to the tolerances"),
    ST_PARAM_CHOICE(st_flow_params, reductions, reduction_names, "ordered",
                    "ordered: every repetition must give the same bits; unordered: for "
                    "networks that add in any order"),
};

enum {
    M_TIME,
    M_STEP,
    M_RATE,
    M_P_ITERATIONS,
    M_U_ITERATIONS,
    M_ASSEMBLY_TIME,
    M_MOMENTUM_TIME,
    M_FLUX_TIME,
    M_PRESSURE_ASSEMBLY_TIME,
    M_PRESSURE_TIME,
    M_CORRECTION_TIME,
    M_ASSEMBLY_BANDWIDTH,
    M_MOMENTUM_BANDWIDTH,
    M_FLUX_BANDWIDTH,
    M_PRESSURE_ASSEMBLY_BANDWIDTH,
    M_PRESSURE_BANDWIDTH,
    M_CORRECTION_BANDWIDTH,
    M_ROOF,
    M_HALO,
    M_REDUCE,
    M_SETUP,
    M_READ,
    M_PARTITION,
    M_RENUMBER,
    M_CUT,
    M_NEIGHBOURS,
    M_IMBALANCE,
    M_MEMORY,
    M_CONTINUITY
};

#define FLOW_TIME(name, text)                                                            \
    {                                                                                    \
        name, "s", ST_LOWER, ST_JOB, ST_GIVEN, 0, text " of a step, rank 0"              \
    }
#define FLOW_BANDWIDTH(name, text)                                                       \
    {                                                                                    \
        name, "byte s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,                                \
            "least traffic of rank 0 in the " text " over its time, times the ranks"     \
    }

static const struct st_metric metrics[] = {
    [M_TIME] = {"time", "s", ST_LOWER, ST_JOB, ST_FROM_TIME, 0,
                "one repetition: back to the start, then all steps"},
    [M_STEP] = {"step_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0, "one step"},
    [M_RATE] = {"rate", "s-1", ST_HIGHER, ST_JOB, ST_GIVEN, 0, "cells times steps"},
    [M_P_ITERATIONS] = {"p_iterations", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                        "of all pressure solves of a step, mean over the steps"},
    [M_U_ITERATIONS] = {"u_iterations", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                        "of all velocity solves of a step, mean over the steps"},
    [M_ASSEMBLY_TIME] = FLOW_TIME("assembly_time", "momentum matrix and gradient"),
    [M_MOMENTUM_TIME] = FLOW_TIME("momentum_time", "velocity solves"),
    [M_FLUX_TIME] = FLOW_TIME("flux_time", "velocity without pressure and its flux"),
    [M_PRESSURE_ASSEMBLY_TIME] =
        FLOW_TIME("pressure_assembly_time", "pressure matrices (fast: and flux)"),
    [M_PRESSURE_TIME] = FLOW_TIME("pressure_time", "pressure solves"),
    [M_CORRECTION_TIME] = FLOW_TIME("correction_time", "flux and velocity corrections"),
    [M_ASSEMBLY_BANDWIDTH] = FLOW_BANDWIDTH("assembly_bandwidth", "momentum assembly"),
    [M_MOMENTUM_BANDWIDTH] = FLOW_BANDWIDTH("momentum_bandwidth", "velocity solves"),
    [M_FLUX_BANDWIDTH] = FLOW_BANDWIDTH("flux_bandwidth", "flux"),
    [M_PRESSURE_ASSEMBLY_BANDWIDTH] =
        FLOW_BANDWIDTH("pressure_assembly_bandwidth", "pressure assembly"),
    [M_PRESSURE_BANDWIDTH] = FLOW_BANDWIDTH("pressure_bandwidth", "pressure solves"),
    [M_CORRECTION_BANDWIDTH] = FLOW_BANDWIDTH("correction_bandwidth", "corrections"),
    [M_ROOF] = {"roofline_share", "1", ST_HIGHER, ST_JOB, ST_GIVEN, 0,
                "bytes per second of a step over those of a triad by all ranks at once "
                "through the solver's own arrays; above 1 where caches hold data longer"},
    [M_HALO] = {"halo_fraction", "1", ST_LOWER, ST_RANK, ST_GIVEN, 0,
                "share of the step's time spent waiting for halo exchanges"},
    [M_REDUCE] =
        {"reduction_fraction", "1", ST_LOWER, ST_RANK, ST_GIVEN, 0,
         "share of the step's time spent in reductions, waiting for slower ranks "
         "included"},
    [M_SETUP] = {"setup_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                 "mesh, addressing, fields and solvers, the slowest rank"},
    [M_READ] = {"read_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                "part of setup_time: files to all ranks, with checks and geometry"},
    [M_PARTITION] = {"partition_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                     "part of setup_time: choosing each cell's rank, and moving there"},
    [M_RENUMBER] = {"renumber_time", "s", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                    "part of setup_time: reverse Cuthill-McKee order on each rank"},
    [M_CUT] = {"cut_faces", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
               "faces between cells of two ranks"},
    [M_NEIGHBOURS] = {"most_neighbours", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                      "ranks that one rank exchanges halos with, at most"},
    [M_IMBALANCE] = {"cells_imbalance", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                     "cells of the fullest rank over the mean"},
    [M_MEMORY] = {"bytes_per_cell", "byte", ST_LOWER, ST_JOB, ST_GIVEN, 0,
                  "memory of mesh, fields and solvers over the cells, all ranks"},
    [M_CONTINUITY] =
        {"continuity", "1", ST_LOWER, ST_JOB, ST_GIVEN, 0,
         "volume that cells gain or lose over what flows through them, at the "
         "end"},
};

static bool flow_applies(const void *params_of_step, size_t row)
{
    const struct st_flow_params *p = params_of_step;

    if (row == M_READ || row == M_PARTITION || row == M_RENUMBER) {
        return p->which == ST_CASE_MESH;
    }
    /* A fixed count leaves what it leaves: nothing to hold against a machine. */
    return row != M_CONTINUITY || p->fixed_iterations == 0;
}

static enum st_status flow_plan(const void *params_of_step, const struct st_shape *shape,
                                struct st_need *need, struct st_error *err)
{
    const struct st_flow_params *p = params_of_step;
    uint64_t n[3];
    enum st_status rc = st_flow_run_check(p, shape->n_ranks, n, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (p->which == ST_CASE_MESH) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "memory is known only when the mesh's files are read");
        return ST_OK;
    }
    const double bytes = st_flow_run_bytes(p, shape->n_ranks);
    if (shape->memory_bytes > 0 &&
        bytes * (double)shape->max_ranks_per_node > (double)shape->memory_bytes) {
        return st_fail(err, ST_ERR_STEP,
                       "flow: %" PRIu64 " x %" PRIu64 " x %" PRIu64
                       " cells need %.4g GB a rank; %zu ranks on a node have %.4g GB: at "
                       "most about %.3g cells a rank",
                       n[0], n[1], n[2], bytes * 1e-9, shape->max_ranks_per_node,
                       1e-9 * (double)shape->memory_bytes,
                       (double)shape->memory_bytes / (double)shape->max_ranks_per_node /
                           st_flow_run_bytes_per_cell(p));
    }
    const double cells = (double)n[0] * (double)n[1] * (double)n[2];
    const double on_node = bytes * (double)shape->max_ranks_per_node;
    const double per_rank = cells / (double)shape->n_ranks;
    need->bytes_per_rank = (uint64_t)bytes;
    need->seconds_per_repetition = st_flow_run_seconds(p, n, per_rank);
    (void)snprintf(need->notes, sizeof need->notes, "%.0f cells, %.4g a rank%s%s%s",
                   cells, per_rank,
                   shape->llc_bytes > 0 && on_node <= (double)shape->llc_bytes
                       ? "; cache_affected: fields and matrices fit in the caches"
                       : "",
                   per_rank < 1.0 ? "; idle: more ranks than cells" : "",
                   shape->max_threads > 1
                       ? "; one thread of each rank computes: start one rank per core"
                       : "");
    return ST_OK;
}

static enum st_status flow_prepare(struct st_run *run, void *state)
{
    return st_flow_run_create(run, state);
}

static void record_phases(struct st_run *run, const struct st_flow_run *s)
{
    const struct st_flow_times *t = &s->flow->times;

    for (size_t i = 0; i < ST_FLOW_N_PHASES; i++) {
        st_record(run->rec, M_ASSEMBLY_TIME + i, 0, t->seconds[i] / t->n_steps);
        st_record(run->rec, M_ASSEMBLY_BANDWIDTH + i, 0,
                  t->bytes[i] * run->comm.n_ranks / t->seconds[i]);
    }
}

static void record_job(struct st_run *run, const struct st_flow_run *s, double elapsed_s)
{
    const struct st_flow_times *t = &s->flow->times;
    const double cells = (double)s->mesh->n_cells_global;
    double bytes = 0.0;

    for (size_t i = 0; i < ST_FLOW_N_PHASES; i++) {
        bytes += t->bytes[i];
    }
    st_record(run->rec, M_STEP, 0, elapsed_s / t->n_steps);
    st_record(run->rec, M_RATE, 0, cells * t->n_steps / elapsed_s);
    st_record(run->rec, M_P_ITERATIONS, 0, t->p_iterations / t->n_steps);
    st_record(run->rec, M_U_ITERATIONS, 0, t->u_iterations / t->n_steps);
    st_record(run->rec, M_ROOF, 0,
              bytes * run->comm.n_ranks / elapsed_s / s->triad_bytes_per_s);
    st_record(run->rec, M_SETUP, 0, s->setup_s);
    if (s->params->which == ST_CASE_MESH) {
        st_record(run->rec, M_READ, 0, s->poly.read_s);
        st_record(run->rec, M_PARTITION, 0, s->poly.partition_s);
        st_record(run->rec, M_RENUMBER, 0, s->poly.renumber_s);
    }
    st_record(run->rec, M_CUT, 0, (double)s->mesh->cut_faces);
    st_record(run->rec, M_NEIGHBOURS, 0, s->most_neighbours);
    st_record(run->rec, M_IMBALANCE, 0, s->imbalance);
    st_record(run->rec, M_MEMORY, 0, s->bytes_per_cell);
}

static enum st_status flow_run(struct st_run *run, void *state)
{
    const struct st_flow_params *p = run->params;
    struct st_flow_run *s = state;
    const size_t rank = (size_t)run->comm.rank;
    double elapsed_s = 0.0;
    enum st_status rc = ST_OK;

    st_flow_clear_times(s->flow);
    for (size_t k = 0; k < run->n_inner && rc == ST_OK; k++) {
        rc = st_flow_run_restart(s, &run->err);
        const double start_s = st_now();
        for (uint64_t i = 0; i < p->steps && rc == ST_OK; i++) {
            rc = st_flow_step(s->flow, &run->err);
            s->all_converged = s->all_converged && s->flow->report.is_converged;
        }
        elapsed_s += st_now() - start_s;
        st_flow_run_compare_bits(s);
    }
    if (rc != ST_OK) {
        return rc;
    }
    st_record(run->rec, M_HALO, rank, s->flow->times.halo_s / elapsed_s);
    st_record(run->rec, M_REDUCE, rank, s->flow->times.reduction_s / elapsed_s);
    if (rank == 0) {
        record_phases(run, s);
        record_job(run, s, elapsed_s);
    }
    if (p->fixed_iterations == 0) {
        rc = st_flow_run_continuity(s, &run->err);
        if (rank == 0) {
            st_record(run->rec, M_CONTINUITY, 0, s->continuity);
        }
    }
    return rc;
}

static enum st_status flow_verify(struct st_run *run, void *state, struct st_check *check)
{
    return st_flow_run_verify(run, state, check);
}

static void flow_release(void *state)
{
    st_flow_run_clear(state);
}

static void flow_spoil(void *state)
{
    struct st_flow_run *s = state;

    if (s->mesh->n_cells > 0) {
        s->flow->u[0][s->mesh->n_cells / 2] += 0.25;
    }
}

const struct st_bench st_bench_flow = {
    .name = "flow",
    .summary = "incompressible finite-volume flow solver that behaves as OpenFOAM's "
               "icoFoam",
    .source =
        "Issa, J. Comput. Phys. 62, 1986 (PISO); Weller et al., Computers in Physics "
        "12, 1998 (OpenFOAM)",
    ST_TABLES(params, metrics),
    .params_size = sizeof(struct st_flow_params),
    .state_size = sizeof(struct st_flow_run),
    .scaling_param = "scope",
    ST_STAGES(flow),
    .applies = flow_applies,
};
