/*
 * Making, running and verifying the flow of the benchmark `flow`.
 */
#include "src/benchmarks/part_flow_run.h"

#include "kernels/stream.h"
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FIXED_U_SWEEPS = 2,
    MOST_ITERATIONS = 1000, /* OpenFOAM's maxIter */
    TRIAD_PASSES = 5
};

/* Up to here the explicit part of diffusion may be left out (OpenFOAM's snGradSchemes know
 * `orthogonal` for such meshes); above STEEP_DEGREES it may keep pressure from converging. */
static const double MOST_DEGREES = 5.0;
static const double STEEP_DEGREES = 70.0;

static bool is_flat(const struct st_flow_params *p)
{
    return p->nz == 1;
}

static bool is_from_files(const struct st_flow_params *p)
{
    return p->which == ST_CASE_MESH;
}

static void cells_of(const struct st_flow_params *p, size_t n_ranks, uint64_t n[3])
{
    n[0] = p->nx;
    n[1] = p->ny;
    n[2] = p->nz;
    if (p->cells_per_rank > 0) {
        st_case_cells(p->cells_per_rank, is_flat(p), n_ranks, n);
    } else if (p->scope == 0) {
        st_case_grown(n_ranks, n);
    }
}

/* What belongs to a mesh from files alone, and what does not. */
static enum st_status check_files(const struct st_flow_params *p, struct st_error *err)
{
    if (!is_from_files(p)) {
        return p->mesh[0] == '\0'
                   ? ST_OK
                   : st_fail(err, ST_ERR_CONFIG,
                             "mesh is given, but case is another; write case: mesh to "
                             "read %.200s",
                             p->mesh);
    }
    if (p->mesh[0] == '\0') {
        return st_fail(err, ST_ERR_CONFIG,
                       "case: mesh needs mesh: the name of an OpenFOAM case, or of its "
                       "polyMesh folder");
    }
    if (p->cells_per_rank > 0 || p->scope == 0) {
        return st_fail(err, ST_ERR_CONFIG,
                       "case: mesh has the cells that its files say: cells_per_rank and "
                       "scope: per_rank are of generated boxes");
    }
    return st_poly_find(p->mesh, err);
}

enum st_status st_flow_run_check(const struct st_flow_params *p, size_t n_ranks,
                                 uint64_t n[3], struct st_error *err)
{
    enum st_status rc = check_files(p, err);

    cells_of(p, n_ranks, n);
    if (rc == ST_OK && !is_from_files(p)) {
        const struct st_mesh_box box = st_case_box(p->which, n);
        rc = st_mesh_box_check(&box, (int)n_ranks, err);
    }
    if (rc == ST_OK && p->which == ST_CASE_STEP && n[1] % 2 != 0) {
        rc = st_fail(err, ST_ERR_CONFIG,
                     "the step is half as high as the channel: ny must be even, not "
                     "%" PRIu64,
                     n[1]);
    }
    if (rc == ST_OK && p->boundary[0] != '\0') {
        rc = st_bc_check(p->boundary, err);
    }
    return rc == ST_OK ? ST_OK : st_prefix(err, "flow: ");
}

/* Bytes of the two solvers for @p n_cells: vectors; rows in levels with their vectors, in a
 * mapping of whole huge pages; multigrid's levels, which halve from one to the next. */
static double solver_bytes(const struct st_flow_params *p, double n_cells)
{
    static const double p_bytes[] = {32.0, 184.0, 208.0}; /* pcg, gamg, pcg_gamg */
    static const double u_bytes[] = {24.0, 72.0,
                                     24.0}; /* gauss_seidel, bicgstab, jacobi */
    const double levels = 160.0 * n_cells + 4194304.0;
    const bool is_fast = p->mode == 1;
    const double p_all =
        is_fast && p->p_solver == 0 ? levels : p_bytes[p->p_solver] * n_cells;
    const double u_all =
        is_fast && p->u_solver == 0 ? levels : u_bytes[p->u_solver] * n_cells;

    return p_all + u_all;
}

/* Mesh, addressing, fields, and the velocities to compare with: as bytes_of() counts them. */
static double share_bytes(const struct st_flow_params *p, const struct st_mesh_counts *n)
{
    const bool is_skew = p->laplacian == ST_LAPLACIAN_CORRECTED;
    const double cells = (double)n->n_cells;
    const double faces = (double)n->n_faces;
    const double internal = (double)n->n_internal;

    return (40.0 + 4.0 + 176.0 + 24.0 + (is_skew ? 8.0 : 0.0)) * cells +
           (60.0 + 8.0 + 16.0 + (is_skew ? 32.0 : 0.0)) * faces +
           (4.0 + 32.0) * internal + (88.0 + 120.0) * (faces - internal) +
           solver_bytes(p, cells);
}

double st_flow_run_bytes_per_cell(const struct st_flow_params *p)
{
    const struct st_mesh_counts million = {1000000, 3000000, 3060000};

    return 1e-6 * share_bytes(p, &million);
}

double st_flow_run_bytes(const struct st_flow_params *p, size_t n_ranks)
{
    uint64_t n[3];

    cells_of(p, n_ranks, n);
    const struct st_mesh_box box = st_case_box(p->which, n);
    const struct st_mesh_counts counts = st_mesh_box_counts(&box, (int)n_ranks);
    return share_bytes(p, &counts);
}

double st_flow_run_seconds(const struct st_flow_params *p, const uint64_t n[3],
                           double cells_per_rank)
{
    const uint64_t longest = n[0] > n[1] ? n[0] : n[1];
    const double edge = (double)(n[2] > longest ? n[2] : longest);
    /* PCG with DIC needs some 3.5 iterations an edge cell and step (icoFoam at 64^3: 227). */
    const double iterations = p->fixed_iterations > 0
                                  ? (double)(p->fixed_iterations * p->correctors)
                                  : 3.5 * edge + 20.0;
    /* 264 bytes a cell and iteration, 2000 for the rest of a step, at 2 GB/s a rank. */
    return (double)p->steps * cells_per_rank * (264.0 * iterations + 2000.0) / 2e9;
}

static struct st_solver_control control_of(double tolerance, double relative,
                                           uint64_t fixed)
{
    return (struct st_solver_control){.tolerance = tolerance,
                                      .relative_tolerance = relative,
                                      .max_iterations = MOST_ITERATIONS,
                                      .fixed_iterations = (int)fixed};
}

static struct st_flow_options options_of(const struct st_flow_params *p, double edge)
{
    static const enum st_solver_kind p_kinds[] = {ST_SOLVER_PCG, ST_SOLVER_GAMG,
                                                  ST_SOLVER_PCG_GAMG};
    static const enum st_solver_kind u_kinds[] = {ST_SOLVER_SYM_GAUSS_SEIDEL,
                                                  ST_SOLVER_BICGSTAB, ST_SOLVER_JACOBI};
    const bool is_simple = p->algorithm == ST_FLOW_SIMPLE;

    return (struct st_flow_options){
        .algorithm = p->algorithm,
        .is_fast = p->mode == 1,
        .laplacian = p->laplacian,
        .nu = p->nu,
        .dt = p->dt > 0.0 ? p->dt : 0.32 * edge,
        .force = {st_case_force(p->which, p->nu), 0.0, 0.0},
        .n_correctors = (int)p->correctors,
        .n_non_orthogonal = (int)p->non_orthogonal,
        .relax_u = 0.7,
        .relax_p = 0.3,
        .p_solver = p_kinds[p->p_solver],
        .u_solver = u_kinds[p->u_solver],
        .p_control = control_of(p->p_tolerance, p->p_relative, p->fixed_iterations),
        .p_final = control_of(p->p_tolerance, 0.0, p->fixed_iterations),
        .u_control = control_of(p->u_tolerance, is_simple ? 0.1 : 0.0,
                                p->fixed_iterations > 0 ? FIXED_U_SWEEPS : 0)};
}

/* Bytes that this rank holds for mesh, addressing, fields and the comparison. */
static double bytes_of(const struct st_flow_run *s)
{
    const struct st_mesh *m = s->mesh;
    const double mesh = 40.0 * m->n_cells + 60.0 * m->n_faces + 4.0 * m->n_internal;

    return mesh + st_fv_heap_bytes(s->fv) + st_flow_heap_bytes(s->flow) +
           24.0 * m->n_cells + st_solver_bytes(s->flow->p_solve) +
           st_solver_bytes(s->flow->u_solve);
}

/* Most and sum over ranks of what one rank knows. */
static enum st_status share_numbers(struct st_run *run, struct st_flow_run *s)
{
    const double n_cells = s->mesh->n_cells;
    const double bytes = bytes_of(s);
    double most[3] = {s->setup_s, n_cells, 0.0};
    double sums[2] = {bytes, n_cells};
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < s->mesh->n_patches; i++) {
        most[2] += s->mesh->patches[i].kind == ST_PATCH_HALO ? 1.0 : 0.0;
    }
    rc = st_fv_max(s->fv, 3, most, &run->err);
    if (rc == ST_OK) {
        rc = st_fv_sum(s->fv, 2, sums, &run->err);
    }
    s->setup_s = most[0];
    s->imbalance = most[1] * run->comm.n_ranks / sums[1];
    s->most_neighbours = most[2];
    s->bytes_per_cell = sums[0] / sums[1];
    return rc;
}

/*
 * Triad through nine of the solver's own arrays, all ranks at once: the bandwidth that this
 * footprint can have, cache or memory.
 */
static enum st_status measure_triad(struct st_run *run, struct st_flow_run *s)
{
    const struct st_flow *flow = s->flow;
    const struct stk_stream_isa *isa = stk_stream_widest();
    const size_t n = (size_t)s->mesh->n_cells;
    double best_s = (double)INFINITY;
    double rate = 0.0;

    for (int pass = 0; pass < TRIAD_PASSES; pass++) {
        STM_TRY(&run->err, MPI_Barrier(run->comm.handle));
        const double start_s = st_now();
        for (int axis = 0; axis < 3; axis++) {
            double *const arrays[STK_N_ARRAYS] = {flow->u_old[axis], flow->source[axis],
                                                  flow->hbya[axis], NULL};
            const struct stk_span span = stk_stream_span(STK_TRIAD, n, arrays, 3.0);
            (void)isa->ordinary[STK_TRIAD](&span);
        }
        double seconds = st_now() - start_s;
        STM_TRY(&run->err, MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX,
                                         run->comm.handle));
        best_s = seconds < best_s ? seconds : best_s;
    }
    rate = 3.0 * stk_work_bytes(stk_stream_work(STK_TRIAD), n) / best_s;
    STM_TRY(&run->err, MPI_Allreduce(&rate, &s->triad_bytes_per_s, 1, MPI_DOUBLE, MPI_SUM,
                                     run->comm.handle));
    return ST_OK;
}

/* Do the solver's arrays for this rank's part fit, and can its faces be solved as asked? */
static enum st_status check_mesh(struct st_run *run, const struct st_flow_run *s)
{
    const struct st_flow_params *p = s->params;
    const struct st_mesh_counts counts = {s->mesh->n_cells, s->mesh->n_internal,
                                          s->mesh->n_faces};
    const double bytes = share_bytes(p, &counts);
    const double angle = s->poly.non_orthogonality;

    if (p->laplacian == ST_LAPLACIAN_ORTHOGONAL && !(angle <= MOST_DEGREES)) {
        return st_fail(
            &run->err, ST_ERR_STEP,
            "flow: %.200s: lines between cells stand up to %.1f degrees off "
            "their faces; laplacian: orthogonal is for meshes with at most %g: "
            "write laplacian: corrected",
            p->mesh, angle, MOST_DEGREES);
    }
    if (run->place->memory_bytes > 0 && bytes > (double)run->place->memory_bytes) {
        return st_fail(&run->err, ST_ERR_STEP,
                       "flow: %.200s: %" PRId32
                       " cells of one rank need %.4g GB, a rank has %.4g GB: use more "
                       "nodes",
                       p->mesh, s->mesh->n_cells, 1e-9 * bytes,
                       1e-9 * (double)run->place->memory_bytes);
    }
    return ST_OK;
}

static enum st_status read_mesh(struct st_run *run, struct st_flow_run *s, double *edge)
{
    const struct st_flow_params *p = s->params;
    const struct st_poly_source source = st_poly_folder(p->mesh);
    enum st_status rc =
        st_poly_read(&run->comm, &source, p->partition, &s->mesh, &s->poly, &run->err);

    if (rc == ST_OK) {
        rc = stm_agree(&run->comm, check_mesh(run, s), &run->err);
    }
    return rc == ST_OK ? st_case_edge(s->mesh, edge, &run->err) : rc;
}

static enum st_status make_mesh(struct st_run *run, struct st_flow_run *s, double *edge)
{
    const struct st_flow_params *p = s->params;
    uint64_t n[3];

    if (is_from_files(p)) {
        return read_mesh(run, s, edge);
    }
    cells_of(p, (size_t)run->comm.n_ranks, n);
    const struct st_mesh_box box = st_case_box(p->which, n);
    *edge = box.length[0] / (double)box.n[0];
    return st_mesh_box_create(&run->comm, &box, &s->mesh, &run->err);
}

static enum st_status make_flow(struct st_run *run, struct st_flow_run *s, double edge)
{
    const struct st_flow_params *p = s->params;
    const struct st_flow_options options = options_of(p, edge);
    const char *conditions = p->boundary[0] != '\0' || is_from_files(p)
                                 ? p->boundary
                                 : st_case_conditions(p->which, is_flat(p));
    enum st_status rc = st_fv_create(s->mesh, p->laplacian, &s->fv, &run->err);

    if (rc == ST_OK) {
        rc = st_flow_create(s->fv, &options, conditions, &s->flow, &run->err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    for (int axis = 0; axis < 3; axis++) {
        s->result[axis] = st_calloc(&run->err, (size_t)s->mesh->n_cells, sizeof(double));
        rc = s->result[axis] == NULL ? ST_ERR_MEMORY : rc;
    }
    return stm_agree(&run->comm, rc, &run->err);
}

enum st_status st_flow_run_create(struct st_run *run, struct st_flow_run *s)
{
    const double start_s = st_now();
    double edge = 0.0;

    s->params = run->params;
    s->all_converged = true;
    s->same_bits = true;
    enum st_status rc = make_mesh(run, s, &edge);
    if (rc == ST_OK) {
        rc = make_flow(run, s, edge);
    }
    s->setup_s = st_now() - start_s;
    if (rc == ST_OK) {
        rc = share_numbers(run, s);
    }
    if (rc == ST_OK) {
        rc = measure_triad(run, s);
    }
    return rc == ST_OK ? st_flow_run_restart(s, &run->err) : rc;
}

void st_flow_run_clear(struct st_flow_run *s)
{
    for (int axis = 0; axis < 3; axis++) {
        st_free(s->result[axis]);
        s->result[axis] = NULL;
    }
    st_flow_destroy(&s->flow);
    st_fv_destroy(&s->fv);
    st_mesh_destroy(&s->mesh);
}

enum st_status st_flow_run_restart(struct st_flow_run *s, struct st_error *err)
{
    st_case_initial(s->params->which, s->flow);
    return st_flow_start(s->flow, err);
}

void st_flow_run_compare_bits(struct st_flow_run *s)
{
    uint64_t print = 0;

    for (int axis = 0; axis < 3; axis++) {
        for (int32_t c = 0; c < s->mesh->n_cells; c++) {
            uint64_t bits;
            memcpy(&bits, &s->flow->u[axis][c], sizeof bits);
            /* Times an odd number that differs by place: a swap shows too. */
            print += bits * (2 * (uint64_t)c + 1);
        }
    }
    s->same_bits = s->same_bits && (!s->has_print || print == s->print);
    s->print = s->has_print ? s->print : print;
    s->has_print = true;
}

enum st_status st_flow_run_continuity(struct st_flow_run *s, struct st_error *err)
{
    struct st_flow_check found = {0};
    const enum st_status rc = st_flow_examine(s->flow, &found, err);

    s->continuity = found.sum_flux > 0.0 ? found.sum_divergence / found.sum_flux : 0.0;
    return rc;
}

/* The greatest difference of the velocities from result, over all ranks; NaN stays. */
static enum st_status compare(const struct st_flow_run *s, double *worst,
                              struct st_error *err)
{
    double found[2] = {0.0, 0.0}; /* difference, not finite */

    for (int axis = 0; axis < 3; axis++) {
        for (int32_t c = 0; c < s->mesh->n_cells; c++) {
            const double difference = fabs(s->flow->u[axis][c] - s->result[axis][c]);
            found[1] = isfinite(difference) ? found[1] : 1.0;
            found[0] = difference > found[0] ? difference : found[0];
        }
    }
    const enum st_status rc = st_fv_max(s->fv, 2, found, err);
    *worst = found[1] > 0.0 ? (double)NAN : found[0];
    return rc;
}

static enum st_status run_steps(struct st_flow_run *s, struct st_error *err)
{
    enum st_status rc = st_flow_run_restart(s, err);

    for (uint64_t i = 0; i < s->params->steps && rc == ST_OK; i++) {
        rc = st_flow_step(s->flow, err);
    }
    return rc;
}

/*
 * The same steps with the other loops and the other solver, from the same start. Where solves
 * but the last stop at p_relative, two modes may stop one iteration apart and differ by as
 * much: both then do the steps with tight solves. The repetition's own velocities are not
 * compared; that they are those of all repetitions is known from their bits.
 */
static enum st_status run_other_mode(struct st_flow_run *s, struct st_error *err)
{
    struct st_solver_control *control = &s->flow->o.p_control;
    const double relative = control->relative_tolerance;
    const bool is_tight = s->params->reductions == 0 &&
                          s->params->fixed_iterations == 0 &&
                          s->params->algorithm == ST_FLOW_PISO && relative > 0.0;
    enum st_status rc = ST_OK;

    if (is_tight) {
        control->relative_tolerance = 0.0;
        rc = run_steps(s, err);
    }
    for (int axis = 0; axis < 3; axis++) {
        memcpy(s->result[axis], s->flow->u[axis],
               (size_t)s->mesh->n_cells * sizeof(double));
    }
    if (rc == ST_OK) {
        rc = st_flow_set_mode(s->flow, !s->flow->o.is_fast, err);
    }
    if (rc == ST_OK) {
        rc = run_steps(s, err);
    }
    control->relative_tolerance = relative;
    return rc;
}

static void check_fields(const struct st_flow_run *s, const struct st_flow_check *found,
                         struct st_check *check)
{
    const struct st_flow_params *p = s->params;
    const bool is_exact = p->fixed_iterations == 0 && p->algorithm == ST_FLOW_PISO;

    st_check_true(check, found->is_finite, "velocity, pressure and flux are finite");
    st_check_true(check, p->fixed_iterations > 0 || s->all_converged,
                  "every solve reaches its tolerance within 1000 iterations");
    if (is_exact) {
        /* What the last pressure solve left, scaled by all flux instead of its own norm. */
        check->limit = 1000.0 * p->p_tolerance;
        st_check_near(check,
                      found->sum_flux > 0.0 ? found->sum_divergence / found->sum_flux
                                            : found->sum_divergence,
                      0.0, "mass that cells gain or lose over what flows through them");
    }
    if (p->which == ST_CASE_TAYLOR_GREEN) {
        /* The kinetic energy 1/4 decays, and by no more than 3 times what the theory says. */
        const double t = found->courant >= 0.0 ? s->flow->o.dt * (double)p->steps : 0.0;
        const double pi = acos(-1.0);
        const double rate = 16.0 * pi * pi * p->nu * t;
        st_check_true(check,
                      p->algorithm != ST_FLOW_PISO ||
                          (found->kinetic_energy < 0.25 &&
                           found->kinetic_energy > 0.25 * exp(-3.0 * rate)),
                      "vortices decay as viscosity lets them");
    }
}

/* What no metric says of a mesh from files. */
static void remark(struct st_run *run, const struct st_flow_run *s)
{
    const double angle = s->poly.non_orthogonality;
    char text[400];

    if (!is_from_files(s->params)) {
        return;
    }
    (void)st_print(text, sizeof text,
                   "%" PRId64 " cells, %" PRId64
                   " faces between ranks; lines between cells stand up to "
                   "%.1f degrees off their faces%s",
                   s->mesh->n_cells_global, s->mesh->cut_faces, angle,
                   angle > STEEP_DEGREES
                       ? ": steep; OpenFOAM users limit the correction on such "
                         "meshes (limited 0.5), which is not done here"
                       : "");
    st_remark(run, text);
}

enum st_status st_flow_run_verify(struct st_run *run, struct st_flow_run *s,
                                  struct st_check *check)
{
    const struct st_flow_params *p = s->params;
    struct st_flow_check found = {0};
    double worst = (double)NAN;
    enum st_status rc = st_flow_examine(s->flow, &found, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    check_fields(s, &found, check);
    st_flow_run_compare_bits(s); /* what is verified is what was measured */
    remark(run, s);
    rc = run_other_mode(s, &run->err);
    if (rc == ST_OK) {
        rc = compare(s, &worst, &run->err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    /* Solves that stop at a tolerance may stop apart; equal counts differ by rounding. */
    const double tolerance = p->fixed_iterations > 0 ? 1e-8 : p->p_tolerance;
    st_check_true(check, p->reductions != 0 || s->same_bits,
                  "every repetition gives the same bits (reductions: unordered allows "
                  "others)");
    check->limit = 1000.0 * fmax(tolerance, 1e-12) * fmax(found.greatest_speed, 1e-3);
    st_check_near(check, worst, 0.0,
                  "velocities of the faithful and the fast mode, greatest difference");
    return ST_OK;
}
