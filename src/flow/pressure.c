/*
 * Pressure equation and correction of flux and velocity.
 *
 * The matrix is that of -div(rAU grad p), positive definite, so that phi = phiHbyA + off
 * (p of the neighbour - p of the owner). OpenFOAM solves the same with the other sign.
 * Between the correctors of a step 1/A does not change; its exchange is done once in the fast
 * mode, each time otherwise.
 */
#include "src/flow/stages.h"

#include <string.h>

/* Flux of HbyA and the matrix, internal faces, one pass a term. */
static void interior_by_terms(struct st_flow *flow)
{
    const struct stk_fv *k = &flow->fv->k;
    double *off = flow->p_matrix.upper;

    stk_fv_face_flux(k, (const double *const *)flow->hbya, flow->phi);
    stk_fv_interpolate(k, flow->rau, flow->face);
    if (flow->o.algorithm == ST_FLOW_PISO) {
        for (size_t f = 0; f < k->n_faces; f++) {
            flow->phi[f] += flow->face[f] * flow->history[f];
        }
    }
    st_flow_count(flow,
                  stk_fv_bytes(&stk_fv_face_flux_work, k->n_faces, k->n_cells) +
                      stk_fv_bytes(&stk_fv_interpolate_work, k->n_faces, k->n_cells) +
                      32.0 * (double)k->n_faces);
    st_flow_enter(flow, ST_FLOW_PRESSURE_ASSEMBLY);
    stk_fv_diffusion_by_face(k, flow->face, off);
    stk_fv_negative_sum(k, off, off, flow->p_matrix.diag);
    stk_fv_divergence(k, flow->phi, flow->right);
    for (size_t c = 0; c < k->n_cells; c++) {
        flow->right[c] = -flow->right[c];
    }
    st_flow_count(flow,
                  stk_fv_bytes(&stk_fv_diffusion_work, k->n_faces, k->n_cells) +
                      stk_fv_bytes(&stk_fv_negative_sum_work, k->n_faces, k->n_cells) +
                      stk_fv_bytes(&stk_fv_divergence_work, k->n_faces, k->n_cells) +
                      16.0 * (double)k->n_cells);
}

static void interior_fused(struct st_flow *flow)
{
    const struct stk_fv *k = &flow->fv->k;
    const struct stk_fv_pressure arrays = {
        .hbya = {flow->hbya[0], flow->hbya[1], flow->hbya[2]},
        .rau = flow->rau,
        .history = flow->o.algorithm == ST_FLOW_PISO ? flow->history : NULL,
        .phi = flow->phi,
        .off = flow->p_matrix.upper,
        .diag = flow->p_matrix.diag,
        .source = flow->right};

    st_flow_enter(flow, ST_FLOW_PRESSURE_ASSEMBLY);
    stk_fv_pressure_fused(k, &arrays);
    st_flow_count(flow,
                  stk_fv_bytes(&stk_fv_pressure_fused_work, k->n_faces, k->n_cells));
}

/* Outlets: the flux is HbyA's own, and the given pressure enters the equation. */
static void rim(struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;

    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            const int32_t c = m->owner[f];
            if (flow->bc[i].kind == ST_BC_PRESSURE) {
                const double inner = flow->rau[c] * flow->fv->spread[f];
                flow->phi[f] =
                    m->area[f].x * flow->hbya[0][c] + m->area[f].y * flow->hbya[1][c] +
                    m->area[f].z * flow->hbya[2][c] + flow->rau[c] * flow->history[f];
                flow->p_inner[st_flow_rim(flow, f)] = inner;
                flow->p_matrix.diag[c] += inner;
                flow->right[c] += inner * flow->bc[i].value[0];
            }
            flow->right[c] -= flow->phi[f];
        }
    }
}

static void interface(struct st_flow *flow, const double *const hbya_ghost[3])
{
    const struct st_fv *fv = flow->fv;

    for (int32_t i = 0; i < fv->addr.n_interface; i++) {
        const int32_t f = fv->interface_start + i;
        const int32_t c = fv->addr.interface_cell[i];
        const double w = fv->mesh->weight[f];
        const double v = 1.0 - w;
        const struct st_vec s = fv->mesh->area[f];
        const double rau = w * flow->rau[c] + v * flow->rau_ghost[i];
        flow->phi[f] = s.x * (w * flow->hbya[0][c] + v * hbya_ghost[0][i]) +
                       s.y * (w * flow->hbya[1][c] + v * hbya_ghost[1][i]) +
                       s.z * (w * flow->hbya[2][c] + v * hbya_ghost[2][i]);
        if (flow->o.algorithm == ST_FLOW_PISO) {
            flow->phi[f] += rau * flow->history[f];
        }
        flow->p_matrix.coupling[i] = -rau * fv->spread[f];
        flow->p_matrix.diag[c] += rau * fv->spread[f];
        flow->right[c] -= flow->phi[f];
    }
}

static void nothing(struct st_flow *flow)
{
    (void)flow;
}

/*
 * p = 0 in one cell of a closed region: its diagonal is doubled, as setReference() does, before
 * faces to other ranks have their part. A cell that has no other faces is doubled after.
 */
static double reference_weight(const struct st_flow *flow)
{
    return flow->is_closed && flow->reference >= 0 ? flow->p_matrix.diag[flow->reference]
                                                   : 0.0;
}

static void hold_reference(struct st_flow *flow, double weight)
{
    if (flow->is_closed && flow->reference >= 0) {
        double *diag = &flow->p_matrix.diag[flow->reference];
        *diag += weight > 0.0 ? weight : *diag;
    }
}

static enum st_status assemble(struct st_flow *flow, bool is_first, struct st_error *err)
{
    struct st_fv *fv = flow->fv;
    const size_t n_cells = fv->k.n_cells;
    const double *const rau[1] = {flow->rau};
    const struct st_flow_overlap rau_work = {1, rau, nothing};
    const struct st_flow_overlap work = {3, (const double *const *)flow->hbya,
                                         flow->o.is_fast ? interior_fused
                                                         : interior_by_terms};
    enum st_status rc = ST_OK;

    if (is_first || !flow->o.is_fast) {
        rc = st_flow_exchange(flow, &rau_work, err);
        memcpy(flow->rau_ghost, fv->halo.ghost[0],
               (size_t)fv->addr.n_interface * sizeof(double));
    }
    memset(flow->p_matrix.diag, 0, n_cells * sizeof(double));
    memset(flow->right, 0, n_cells * sizeof(double));
    if (rc == ST_OK) {
        rc = st_flow_exchange(flow, &work, err);
    }
    const double held = reference_weight(flow);
    rim(flow);
    interface(flow, (const double *const *)fv->halo.ghost);
    hold_reference(flow, held);
    return rc;
}

/* Explicit part of rAU grad p, into skew_flux and the right side that goes to the solver. */
static enum st_status add_explicit(struct st_flow *flow, struct st_error *err)
{
    const struct st_fv *fv = flow->fv;
    const enum st_status rc = st_flow_skew(flow, ST_FLOW_P, flow->p, err);

    for (int32_t f = 0; f < fv->mesh->n_faces; f++) {
        if (f < fv->mesh->n_internal) {
            flow->skew_flux[f] *= -flow->p_matrix.upper[f] / fv->spread[f];
        } else if (f >= fv->interface_start) {
            flow->skew_flux[f] *=
                -flow->p_matrix.coupling[f - fv->interface_start] / fv->spread[f];
        }
    }
    memcpy(flow->skew_right, flow->right, fv->k.n_cells * sizeof(double));
    st_flow_add_skew(flow, 1.0, flow->skew_right);
    return rc;
}

static enum st_status solve(struct st_flow *flow, bool is_last, struct st_error *err)
{
    const bool is_final = is_last && flow->o.algorithm == ST_FLOW_PISO;
    struct st_solve_report done = {0};
    struct st_flow_report *report = &flow->report;
    const enum st_status rc =
        st_solver_solve(flow->p_solve, &flow->p_matrix, flow->p,
                        flow->fv->skew != NULL ? flow->skew_right : flow->right,
                        is_final ? &flow->o.p_final : &flow->o.p_control, &done, err);

    if (report->n_p_solves < ST_FLOW_MOST_SOLVES) {
        report->p_iterations[report->n_p_solves] = done.iterations;
        report->p_initial[report->n_p_solves] = done.initial_residual;
        report->p_last[report->n_p_solves] = done.final_residual;
    }
    report->n_p_solves++;
    flow->times.p_iterations += done.iterations;
    st_flow_add_solve(flow, &done);
    return rc;
}

/* Internal faces of phi and of the gradient. */
static void correct_by_terms(struct st_flow *flow)
{
    const struct stk_fv *k = &flow->fv->k;

    for (size_t f = 0; f < k->n_faces; f++) {
        flow->phi[f] +=
            flow->p_matrix.upper[f] * (flow->p[k->neighbour[f]] - flow->p[k->owner[f]]);
    }
    st_flow_count(flow, 32.0 * (double)k->n_faces + 8.0 * (double)k->n_cells);
}

static void correct_fused(struct st_flow *flow)
{
    const struct stk_fv *k = &flow->fv->k;

    stk_fv_correct_fused(k, flow->p_matrix.upper, flow->p, flow->phi, flow->gradient);
    st_flow_count(flow, stk_fv_bytes(&stk_fv_correct_fused_work, k->n_faces, k->n_cells));
}

/* phi from p on the faces that are not internal; the ghosts of p are there. */
static void correct_rim(struct st_flow *flow)
{
    const struct st_fv *fv = flow->fv;
    const struct st_mesh *m = fv->mesh;

    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             flow->bc[i].kind == ST_BC_PRESSURE && f < patch->start + patch->n; f++) {
            flow->phi[f] -= flow->p_inner[st_flow_rim(flow, f)] *
                            (flow->bc[i].value[0] - flow->p[m->owner[f]]);
        }
    }
    for (int32_t i = 0; i < fv->addr.n_interface; i++) {
        flow->phi[fv->interface_start + i] +=
            flow->p_matrix.coupling[i] *
            (fv->halo.ghost[0][i] - flow->p[fv->addr.interface_cell[i]]);
    }
}

/* phi = phiHbyA - rAU grad p; with skew faces their explicit part as it was solved with. */
static enum st_status correct_flux(struct st_flow *flow, struct st_error *err)
{
    const double *const fields[1] = {flow->p};
    const struct st_flow_overlap work = {
        1, fields, flow->o.is_fast ? correct_fused : correct_by_terms};

    if (flow->fv->skew != NULL) {
        for (int32_t f = 0; f < flow->fv->mesh->n_faces; f++) {
            flow->phi[f] -= flow->skew_flux[f];
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        memset(flow->gradient[axis], 0, flow->fv->k.n_cells * sizeof(double));
    }
    const enum st_status rc = st_flow_exchange(flow, &work, err);
    correct_rim(flow);
    st_flow_gradient_rim(flow, ST_FLOW_P, flow->p, flow->gradient);
    flow->gradient_is_current = true;
    return rc;
}

/* SIMPLE: keep part of the pressure as it was. */
static void relax_pressure(struct st_flow *flow)
{
    for (size_t c = 0; c < flow->fv->k.n_cells; c++) {
        flow->p[c] =
            flow->p_before[c] + flow->o.relax_p * (flow->p[c] - flow->p_before[c]);
    }
    flow->gradient_is_current = false;
}

static void correct_velocity(struct st_flow *flow)
{
    const double *volume = flow->fv->mesh->volume;

    for (int axis = 0; axis < 3; axis++) {
        if (!flow->fv->is_solved[axis]) {
            continue;
        }
        for (size_t c = 0; c < flow->fv->k.n_cells; c++) {
            flow->u[axis][c] =
                flow->hbya[axis][c] - flow->rau[c] / volume[c] * flow->gradient[axis][c];
        }
    }
    st_flow_count(flow, 3 * 40.0 * (double)flow->fv->k.n_cells);
}

static enum st_status solve_all(struct st_flow *flow, bool is_last, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (int i = 0; i <= flow->o.n_non_orthogonal && rc == ST_OK; i++) {
        if (flow->fv->skew != NULL) {
            rc = add_explicit(flow, err);
        }
        if (rc == ST_OK) {
            rc = solve(flow, is_last && i == flow->o.n_non_orthogonal, err);
        }
    }
    return rc;
}

enum st_status st_flow_correct(struct st_flow *flow, bool is_first, bool is_last,
                               struct st_error *err)
{
    st_flow_enter(flow, ST_FLOW_FLUX);
    st_flow_hbya(flow);
    enum st_status rc = assemble(flow, is_first, err);
    if (rc != ST_OK) {
        return rc;
    }
    st_flow_enter(flow, ST_FLOW_PRESSURE);
    if (flow->o.algorithm == ST_FLOW_SIMPLE) {
        memcpy(flow->p_before, flow->p, flow->fv->k.n_cells * sizeof(double));
    }
    rc = solve_all(flow, is_last, err);
    st_flow_enter(flow, ST_FLOW_CORRECTION);
    if (rc == ST_OK) {
        rc = correct_flux(flow, err);
    }
    if (rc == ST_OK && flow->o.algorithm == ST_FLOW_SIMPLE) {
        relax_pressure(flow);
    }
    if (rc == ST_OK && !(flow->o.is_fast && flow->gradient_is_current)) {
        flow->gradient_is_current = true;
        rc = st_flow_gradient(flow, ST_FLOW_P, flow->p, flow->gradient, err);
    }
    if (rc == ST_OK) {
        correct_velocity(flow);
        rc = st_flow_exchange_u(flow, err);
    }
    return rc;
}
