/*
 * A flow: its memory, its conditions, and one step of PISO or SIMPLE.
 *
 * All that a step needs is allocated here, so that steps never fail for memory and are all
 * alike. Ranks without cells take part in every exchange and reduction.
 */
#include "src/flow/flow.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/flow/stages.h"

#include <math.h>
#include <string.h>

void st_flow_enter(struct st_flow *flow, int phase)
{
    const double now_s = st_fv_seconds();

    if (flow->phase < ST_FLOW_N_PHASES) {
        flow->times.seconds[flow->phase] += now_s - flow->phase_start_s;
    }
    flow->phase = phase;
    flow->phase_start_s = now_s;
}

void st_flow_count(struct st_flow *flow, double bytes)
{
    if (flow->phase < ST_FLOW_N_PHASES) {
        flow->times.bytes[flow->phase] += bytes;
    }
}

void st_flow_add_solve(struct st_flow *flow, const struct st_solve_report *solve)
{
    st_flow_count(flow, solve->bytes);
    flow->times.halo_s += solve->halo_s;
    flow->times.reduction_s += solve->reduction_s;
    flow->report.is_converged = flow->report.is_converged && solve->converged;
}

enum st_status st_flow_exchange(struct st_flow *flow, const struct st_flow_overlap *work,
                                struct st_error *err)
{
    struct st_fv *fv = flow->fv;
    enum st_status rc = st_fv_exchange_start(fv, work->n_fields, work->fields, err);

    if (rc == ST_OK && !flow->o.is_fast) {
        rc = st_fv_exchange_finish(fv, err);
    }
    work->interior(flow);
    if (rc == ST_OK && flow->o.is_fast) {
        rc = st_fv_exchange_finish(fv, err);
    }
    return rc;
}

enum st_status st_flow_exchange_u(struct st_flow *flow, struct st_error *err)
{
    struct st_fv *fv = flow->fv;
    enum st_status rc = st_fv_exchange_start(fv, 3, (const double *const *)flow->u, err);

    if (rc == ST_OK) {
        rc = st_fv_exchange_finish(fv, err);
    }
    for (int axis = 0; axis < 3; axis++) {
        memcpy(flow->u_ghost[axis], fv->halo.ghost[axis],
               (size_t)fv->addr.n_interface * sizeof(double));
    }
    return rc;
}

/* Flux of the velocity as it is, on all faces. */
static void flux_of_velocity(struct st_flow *flow, double *phi)
{
    const struct st_fv *fv = flow->fv;
    const struct st_mesh *m = fv->mesh;

    stk_fv_face_flux(&fv->k, (const double *const *)flow->u, phi);
    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            const struct st_vec s = m->area[f];
            const size_t b = st_flow_rim(flow, f);
            const int32_t c = m->owner[f];
            if (st_bc_fixes_velocity(&flow->bc[i])) {
                phi[f] = s.x * flow->u_boundary[0][b] + s.y * flow->u_boundary[1][b] +
                         s.z * flow->u_boundary[2][b];
            } else if (flow->bc[i].kind == ST_BC_PRESSURE) {
                phi[f] = s.x * flow->u[0][c] + s.y * flow->u[1][c] + s.z * flow->u[2][c];
            } else {
                phi[f] = 0.0;
            }
        }
    }
    for (int32_t i = 0; i < fv->addr.n_interface; i++) {
        const int32_t f = fv->interface_start + i;
        const int32_t c = fv->addr.interface_cell[i];
        const double w = m->weight[f];
        const struct st_vec s = m->area[f];
        phi[f] = s.x * (w * flow->u[0][c] + (1.0 - w) * flow->u_ghost[0][i]) +
                 s.y * (w * flow->u[1][c] + (1.0 - w) * flow->u_ghost[1][i]) +
                 s.z * (w * flow->u[2][c] + (1.0 - w) * flow->u_ghost[2][i]);
    }
}

void st_flow_history(struct st_flow *flow)
{
    const size_t n_faces = (size_t)flow->fv->mesh->n_faces;

    flux_of_velocity(flow, flow->history);
    stk_fv_flux_limit(n_faces, flow->phi, flow->history, 1.0 / flow->o.dt, flow->history);
    st_flow_count(flow, stk_fv_bytes(&stk_fv_face_flux_work, flow->fv->k.n_faces,
                                     flow->fv->k.n_cells) +
                            stk_fv_bytes(&stk_fv_flux_limit_work, n_faces, 0));
}

/* Vectors of n doubles; false: memory ran out. */
static bool make(struct st_error *err, double **array, size_t n)
{
    *array = st_calloc(err, n, sizeof(double));
    return *array != NULL;
}

static bool make_three(struct st_error *err, double *arrays[3], size_t n)
{
    return make(err, &arrays[0], n) && make(err, &arrays[1], n) &&
           make(err, &arrays[2], n);
}

static bool make_cells(struct st_flow *flow, size_t n, struct st_error *err)
{
    return make_three(err, flow->u, n) && make(err, &flow->p, n) &&
           make_three(err, flow->u_old, n) && make_three(err, flow->source, n) &&
           make_three(err, flow->hbya, n) && make_three(err, flow->gradient, n) &&
           make(err, &flow->rau, n) && make(err, &flow->p_before, n) &&
           make(err, &flow->work, n) && make(err, &flow->right, n) &&
           make(err, &flow->u_matrix.diag, n) && make(err, &flow->p_matrix.diag, n);
}

static bool make_faces(struct st_flow *flow, struct st_error *err)
{
    const struct st_fv *fv = flow->fv;
    const size_t n_faces = (size_t)fv->mesh->n_faces;
    const size_t n_internal = (size_t)fv->mesh->n_internal;
    const size_t n_rim = (size_t)(fv->interface_start - fv->mesh->n_internal);
    const size_t n_interface = (size_t)fv->addr.n_interface;

    return make(err, &flow->phi, n_faces) && make(err, &flow->history, n_faces) &&
           make(err, &flow->face, n_internal) &&
           make(err, &flow->u_matrix.lower, n_internal) &&
           make(err, &flow->u_matrix.upper, n_internal) &&
           make(err, &flow->p_matrix.upper, n_internal) &&
           make(err, &flow->u_matrix.coupling, n_interface) &&
           make(err, &flow->p_matrix.coupling, n_interface) &&
           make_three(err, flow->u_ghost, n_interface) &&
           make(err, &flow->rau_ghost, n_interface) &&
           make_three(err, flow->inner, n_rim) && make_three(err, flow->outer, n_rim) &&
           make(err, &flow->p_inner, n_rim) && make_three(err, flow->u_boundary, n_rim);
}

static enum st_status allocate(struct st_flow *flow, struct st_error *err)
{
    const size_t n_cells = (size_t)flow->fv->mesh->n_cells;
    const size_t n_faces = (size_t)flow->fv->mesh->n_faces;

    flow->bc = st_calloc(err, flow->fv->mesh->n_patches, sizeof *flow->bc);
    bool is_whole =
        flow->bc != NULL && make_cells(flow, n_cells, err) && make_faces(flow, err);
    if (is_whole && flow->fv->skew != NULL) {
        is_whole =
            make(err, &flow->skew_flux, n_faces) && make(err, &flow->skew_right, n_cells);
    }
    flow->u_matrix.addr = &flow->fv->addr;
    flow->p_matrix.addr = &flow->fv->addr;
    flow->p_matrix.lower = flow->p_matrix.upper;
    return is_whole ? ST_OK : ST_ERR_MEMORY;
}

/* Velocities that conditions give, by face. */
static void set_boundary_velocity(struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;

    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            const struct st_vec c = m->centre[m->owner[f]];
            const struct st_vec d = m->d[f];
            const struct st_vec u = st_bc_velocity(
                &flow->bc[i], (struct st_vec){c.x + d.x, c.y + d.y, c.z + d.z});
            flow->u_boundary[0][st_flow_rim(flow, f)] = u.x;
            flow->u_boundary[1][st_flow_rim(flow, f)] = u.y;
            flow->u_boundary[2][st_flow_rim(flow, f)] = u.z;
        }
    }
}

/* A region without outlet must take in what it gives off. */
static enum st_status check_balance(struct st_flow *flow, struct st_error *err)
{
    const struct st_fv *fv = flow->fv;
    double sums[2] = {0.0, 0.0}; /* net, absolute */

    flow->is_closed = true;
    for (size_t i = 0; i < fv->mesh->n_patches; i++) {
        flow->is_closed = flow->is_closed && flow->bc[i].kind != ST_BC_PRESSURE;
    }
    for (int32_t f = fv->mesh->n_internal; f < fv->interface_start; f++) {
        sums[0] += flow->phi[f];
        sums[1] += fabs(flow->phi[f]);
    }
    const enum st_status rc = st_fv_sum(fv, 2, sums, err);
    if (rc == ST_OK && flow->is_closed && !(fabs(sums[0]) <= 1e-9 * sums[1])) {
        return st_fail(err, ST_ERR_CONFIG,
                       "the given velocities bring %g more volume per second out of the "
                       "region than into it, and no patch gives the pressure: name an "
                       "outlet (pressure 0)",
                       sums[0]);
    }
    return rc;
}

static void find_reference(struct st_flow *flow)
{
    flow->reference = -1;
    for (int32_t c = 0; c < flow->fv->mesh->n_cells; c++) {
        if (flow->fv->mesh->cell_global[c] == 0) {
            flow->reference = c;
        }
    }
}

static enum st_status build(struct st_flow *flow, const char *conditions,
                            struct st_error *err)
{
    enum st_status rc = allocate(flow, err);

    if (rc == ST_OK) {
        rc = st_bc_apply(flow->fv->mesh, conditions, flow->bc, err);
    }
    rc = stm_agree(&flow->fv->addr.comm, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    find_reference(flow);
    set_boundary_velocity(flow);
    rc = st_flow_start(flow, err);
    if (rc == ST_OK) {
        rc = check_balance(flow, err);
    }
    return rc;
}

/*
 * Weights of faces by which multigrid joins cells: OpenFOAM's faceAreaPair, the root of the area
 * with a slight preference of z over y over x that settles ties.
 */
static double *weigh_faces(const struct st_flow *flow, struct st_error *err)
{
    const struct st_mesh *m = flow->fv->mesh;
    double *weights = st_calloc(err, (size_t)m->n_internal, sizeof *weights);

    for (int32_t f = 0; weights != NULL && f < m->n_internal; f++) {
        const double x = m->area[f].x;
        const double y = 1.01 * m->area[f].y;
        const double z = 1.02 * m->area[f].z;
        const double area =
            sqrt(m->area[f].x * m->area[f].x + m->area[f].y * m->area[f].y +
                 m->area[f].z * m->area[f].z);
        weights[f] = sqrt((x * x + y * y + z * z) / area);
    }
    return weights;
}

static enum st_status make_solvers(struct st_flow *flow, struct st_error *err)
{
    double *weights = weigh_faces(flow, err);
    const struct st_solver_options p = {
        .kind = flow->o.p_solver, .is_fast = flow->o.is_fast, .face_weights = weights};
    const struct st_solver_options u = {.kind = flow->o.u_solver,
                                        .is_fast = flow->o.is_fast};
    enum st_status rc =
        stm_agree(&flow->fv->addr.comm, weights == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK) {
        rc = st_solver_create(&flow->fv->addr, &p, &flow->p_solve, err);
    }
    if (rc == ST_OK) {
        rc = st_solver_create(&flow->fv->addr, &u, &flow->u_solve, err);
    }
    st_free(weights);
    return rc;
}

enum st_status st_flow_create(struct st_fv *fv, const struct st_flow_options *options,
                              const char *conditions, struct st_flow **out,
                              struct st_error *err)
{
    struct st_flow *flow = st_calloc(err, 1, sizeof *flow);
    enum st_status rc =
        stm_agree(&fv->addr.comm, flow == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK && flow != NULL) {
        flow->o = *options;
        flow->fv = fv;
        flow->phase = ST_FLOW_N_PHASES;
        rc = build(flow, conditions, err);
    }
    if (rc == ST_OK && flow != NULL) {
        rc = make_solvers(flow, err);
    }
    if (rc != ST_OK) {
        st_flow_destroy(&flow);
        return rc;
    }
    *out = flow;
    return ST_OK;
}

static void drop_three(double *arrays[3])
{
    st_free(arrays[0]);
    st_free(arrays[1]);
    st_free(arrays[2]);
}

void st_flow_destroy(struct st_flow **flow)
{
    if (flow == NULL || *flow == NULL) {
        return;
    }
    struct st_flow *x = *flow;
    double *const single[] = {x->p,
                              x->phi,
                              x->rau,
                              x->p_before,
                              x->work,
                              x->right,
                              x->rau_ghost,
                              x->history,
                              x->face,
                              x->skew_flux,
                              x->skew_right,
                              x->p_inner,
                              x->u_matrix.diag,
                              x->u_matrix.lower,
                              x->u_matrix.upper,
                              x->u_matrix.coupling,
                              x->p_matrix.diag,
                              x->p_matrix.upper,
                              x->p_matrix.coupling};

    st_solver_destroy(&x->p_solve);
    st_solver_destroy(&x->u_solve);
    for (size_t i = 0; i < ST_COUNT(single); i++) {
        st_free(single[i]);
    }
    drop_three(x->u);
    drop_three(x->u_old);
    drop_three(x->source);
    drop_three(x->hbya);
    drop_three(x->gradient);
    drop_three(x->u_ghost);
    drop_three(x->inner);
    drop_three(x->outer);
    drop_three(x->u_boundary);
    st_free(x->bc);
    st_free(x);
    *flow = NULL;
}

enum st_status st_flow_start(struct st_flow *flow, struct st_error *err)
{
    enum st_status rc = st_flow_exchange_u(flow, err);

    if (rc == ST_OK) {
        flux_of_velocity(flow, flow->phi);
        rc = st_flow_gradient(flow, ST_FLOW_P, flow->p, flow->gradient, err);
        flow->gradient_is_current = true;
    }
    return rc;
}

void st_flow_clear_times(struct st_flow *flow)
{
    flow->times = (struct st_flow_times){.n_steps = 0.0};
    flow->fv->halo.wait_s = 0.0;
}

enum st_status st_flow_step(struct st_flow *flow, struct st_error *err)
{
    const bool is_piso = flow->o.algorithm == ST_FLOW_PISO;
    const int n_correctors = is_piso ? flow->o.n_correctors : 1;
    const double waited_s = flow->fv->halo.wait_s;

    flow->report = (struct st_flow_report){.is_converged = true};
    st_flow_enter(flow, ST_FLOW_FLUX);
    for (int axis = 0; axis < 3; axis++) {
        memcpy(flow->u_old[axis], flow->u[axis], flow->fv->k.n_cells * sizeof(double));
    }
    if (is_piso) {
        st_flow_history(flow);
    }
    enum st_status rc = st_flow_predict(flow, err);
    for (int i = 0; i < n_correctors && rc == ST_OK; i++) {
        rc = st_flow_correct(flow, i == 0, i == n_correctors - 1, err);
    }
    st_flow_enter(flow, ST_FLOW_N_PHASES);
    flow->times.halo_s += flow->fv->halo.wait_s - waited_s;
    flow->times.n_steps++;
    return rc;
}

enum st_status st_flow_set_mode(struct st_flow *flow, bool is_fast, struct st_error *err)
{
    st_solver_destroy(&flow->p_solve);
    st_solver_destroy(&flow->u_solve);
    flow->o.is_fast = is_fast;
    return make_solvers(flow, err);
}

double st_flow_heap_bytes(const struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;
    const double cells = flow->skew_right != NULL ? 23.0 : 22.0;
    const double faces = flow->skew_flux != NULL ? 3.0 : 2.0; /* phi, history */
    const double rim = 11.0; /* conditions, ghosts: boundary and interface faces */

    return 8.0 * (cells * m->n_cells + faces * m->n_faces + 4.0 * m->n_internal +
                  rim * (m->n_faces - m->n_internal));
}
