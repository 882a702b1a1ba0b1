/*
 * Momentum equations: matrix, right side, predictor, and what the corrector takes from them.
 *
 * As OpenFOAM has it, conditions stay apart from the matrix: inner is what a patch adds to the
 * diagonal, one value a component, outer what it adds to the right side. The predictor adds
 * inner of the component it solves; A is the diagonal with the mean of the three, and H takes
 * the difference back.
 */
#include "src/flow/stages.h"

#include "src/base/mem.h"

#include <math.h>
#include <string.h>

static double component(struct st_vec v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static void fixed_velocity(struct st_flow *flow, const struct st_patch *patch)
{
    const struct st_fv *fv = flow->fv;

    for (int32_t f = patch->start; f < patch->start + patch->n; f++) {
        const size_t b = st_flow_rim(flow, f);
        const double spread = flow->o.nu * fv->spread[f];
        for (int a = 0; a < 3; a++) {
            flow->inner[a][b] = spread;
            flow->outer[a][b] = (spread - flow->phi[f]) * flow->u_boundary[a][b];
        }
    }
}

/* The velocity behind the outlet is that before it. */
static void free_velocity(struct st_flow *flow, const struct st_patch *patch)
{
    for (int32_t f = patch->start; f < patch->start + patch->n; f++) {
        for (int a = 0; a < 3; a++) {
            flow->inner[a][st_flow_rim(flow, f)] = flow->phi[f];
            flow->outer[a][st_flow_rim(flow, f)] = 0.0;
        }
    }
}

/* Friction of the normal part only: in the plane's own axes implicit, the rest explicit. */
static void symmetry(struct st_flow *flow, const struct st_patch *patch)
{
    const struct st_fv *fv = flow->fv;

    for (int32_t f = patch->start; f < patch->start + patch->n; f++) {
        const size_t b = st_flow_rim(flow, f);
        const int32_t c = fv->mesh->owner[f];
        const struct st_vec s = fv->mesh->area[f];
        const double area = sqrt(s.x * s.x + s.y * s.y + s.z * s.z);
        const double through =
            (s.x * flow->u[0][c] + s.y * flow->u[1][c] + s.z * flow->u[2][c]) / area;
        for (int a = 0; a < 3; a++) {
            const double n = component(s, a) / area;
            const double spread = flow->o.nu * fv->spread[f];
            flow->inner[a][b] = spread * n * n;
            flow->outer[a][b] = -spread * n * (through - n * flow->u[a][c]);
        }
    }
}

void st_flow_velocity_conditions(struct st_flow *flow)
{
    for (size_t i = 0; i < flow->fv->mesh->n_patches; i++) {
        const struct st_patch *patch = &flow->fv->mesh->patches[i];
        if (patch->kind != ST_PATCH_BOUNDARY) {
            continue;
        }
        if (st_bc_fixes_velocity(&flow->bc[i])) {
            fixed_velocity(flow, patch);
        } else if (flow->bc[i].kind == ST_BC_PRESSURE) {
            free_velocity(flow, patch);
        } else {
            symmetry(flow, patch);
        }
    }
}

/* Add @p values of boundary faces to their cells. */
static void add_rim(const struct st_flow *flow, const double *values, double factor,
                    double *cells)
{
    const struct st_mesh *m = flow->fv->mesh;

    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            cells[m->owner[f]] += factor * values[st_flow_rim(flow, f)];
        }
    }
}

/* Time derivative and force; nothing else of the matrix is there yet. */
static void start_matrix(struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;
    const bool is_transient = flow->o.algorithm == ST_FLOW_PISO;
    const double per_dt = is_transient ? 1.0 / flow->o.dt : 0.0;

    for (int32_t c = 0; c < m->n_cells; c++) {
        const double inertia = per_dt * m->volume[c];
        flow->u_matrix.diag[c] = inertia;
        for (int a = 0; a < 3; a++) {
            flow->source[a][c] =
                inertia * flow->u[a][c] + m->volume[c] * flow->o.force[a];
        }
    }
    st_flow_count(flow, (8.0 + 8.0 + 3 * 8.0 + 3 * 8.0) * m->n_cells);
}

/* One pass a term, as fvm::div, fvm::laplacian and the sum of their matrices are. */
static void matrix_by_terms(struct st_flow *flow)
{
    const struct stk_fv *k = &flow->fv->k;
    struct st_ldu *a = &flow->u_matrix;
    double *off = flow->face;

    stk_fv_convection(k, flow->phi, a->lower, a->upper);
    stk_fv_negative_sum(k, a->lower, a->upper, a->diag);
    stk_fv_diffusion(k, flow->o.nu, off);
    stk_fv_negative_sum(k, off, off, a->diag);
    for (size_t f = 0; f < k->n_faces; f++) {
        a->lower[f] += off[f];
        a->upper[f] += off[f];
    }
    st_flow_count(
        flow, stk_fv_bytes(&stk_fv_convection_work, k->n_faces, k->n_cells) +
                  2 * stk_fv_bytes(&stk_fv_negative_sum_work, k->n_faces, k->n_cells) +
                  stk_fv_bytes(&stk_fv_diffusion_work, k->n_faces, k->n_cells) +
                  40.0 * (double)k->n_faces);
}

static void matrix_at_interface(struct st_flow *flow)
{
    const struct st_fv *fv = flow->fv;

    for (int32_t i = 0; i < fv->addr.n_interface; i++) {
        const int32_t f = fv->interface_start + i;
        const double w = fv->mesh->weight[f];
        const double spread = flow->o.nu * fv->spread[f];
        flow->u_matrix.diag[fv->addr.interface_cell[i]] += w * flow->phi[f] + spread;
        flow->u_matrix.coupling[i] = (1.0 - w) * flow->phi[f] - spread;
    }
}

/* Steady: take div(phi) u out, which is nothing once the flux is conservative, but keeps the
 * matrix dominant until then ("bounded" schemes of OpenFOAM). */
static void bound_convection(struct st_flow *flow)
{
    const struct st_fv *fv = flow->fv;
    double *sum = flow->work;

    memset(sum, 0, fv->k.n_cells * sizeof *sum);
    stk_fv_divergence(&fv->k, flow->phi, sum);
    for (int32_t f = fv->mesh->n_internal; f < fv->mesh->n_faces; f++) {
        sum[fv->mesh->owner[f]] += flow->phi[f]; /* 0 on empty faces */
    }
    for (size_t c = 0; c < fv->k.n_cells; c++) {
        flow->u_matrix.diag[c] -= sum[c];
    }
    st_flow_count(flow,
                  stk_fv_bytes(&stk_fv_divergence_work, fv->k.n_faces, fv->k.n_cells));
}

/* Greatest or least of a boundary face's three inner coefficients, added to its cell. */
static void add_extreme(const struct st_flow *flow, bool greatest, double *cells)
{
    const struct st_mesh *m = flow->fv->mesh;

    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            const size_t b = st_flow_rim(flow, f);
            const double *const *in = (const double *const *)flow->inner;
            if (greatest) {
                cells[m->owner[f]] +=
                    fmax(fabs(in[0][b]), fmax(fabs(in[1][b]), fabs(in[2][b])));
            } else {
                cells[m->owner[f]] -= fmin(in[0][b], fmin(in[1][b], in[2][b]));
            }
        }
    }
}

/* Under-relaxation with a dominant diagonal, as fvMatrix::relax. */
static void relax_matrix(struct st_flow *flow)
{
    struct st_ldu *a = &flow->u_matrix;
    const struct st_ldu_addr *addr = a->addr;
    double *others = flow->work;
    double *now = flow->rau; /* free until HbyA is formed */
    const size_t n = (size_t)addr->n_cells;

    memset(others, 0, n * sizeof *others);
    for (int32_t f = 0; f < addr->n_faces; f++) {
        others[addr->owner[f]] += fabs(a->upper[f]);
        others[addr->neighbour[f]] += fabs(a->lower[f]);
    }
    for (int32_t i = 0; i < addr->n_interface; i++) {
        others[addr->interface_cell[i]] += fabs(a->coupling[i]);
    }
    memcpy(now, a->diag, n * sizeof *now);
    add_extreme(flow, true, now);
    for (size_t c = 0; c < n; c++) {
        now[c] = fmax(fabs(now[c]), others[c]) / flow->o.relax_u;
    }
    add_extreme(flow, false, now);
    for (size_t c = 0; c < n; c++) {
        for (int axis = 0; axis < 3; axis++) {
            flow->source[axis][c] += (now[c] - a->diag[c]) * flow->u[axis][c];
        }
        a->diag[c] = now[c];
    }
}

/* Explicit part of the diffusion on faces that are not orthogonal. */
static enum st_status explicit_diffusion(struct st_flow *flow, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (int axis = 0; rc == ST_OK && axis < 3; axis++) {
        if (flow->fv->is_solved[axis]) {
            rc = st_flow_skew(flow, ST_FLOW_UX + (unsigned)axis, flow->u[axis], err);
            st_flow_add_skew(flow, flow->o.nu, flow->source[axis]);
        }
    }
    return rc;
}

static enum st_status assemble(struct st_flow *flow, struct st_error *err)
{
    const struct stk_fv *k = &flow->fv->k;
    struct st_ldu *a = &flow->u_matrix;

    start_matrix(flow);
    if (flow->o.is_fast) {
        stk_fv_momentum_fused(k, flow->o.nu, flow->phi, a->lower, a->upper, a->diag);
        st_flow_count(flow, stk_fv_bytes(&stk_fv_momentum_work, k->n_faces, k->n_cells));
    } else {
        matrix_by_terms(flow);
    }
    matrix_at_interface(flow);
    st_flow_velocity_conditions(flow);
    if (flow->fv->skew != NULL) {
        const enum st_status rc = explicit_diffusion(flow, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        add_rim(flow, flow->outer[axis], 1.0, flow->source[axis]);
    }
    if (flow->o.algorithm == ST_FLOW_SIMPLE) {
        bound_convection(flow);
        relax_matrix(flow);
    }
    if (flow->o.is_fast && flow->gradient_is_current) {
        return ST_OK;
    }
    flow->gradient_is_current = true;
    return st_flow_gradient(flow, ST_FLOW_P, flow->p, flow->gradient, err);
}

static enum st_status solve_component(struct st_flow *flow, int axis,
                                      struct st_error *err)
{
    const size_t n = flow->fv->k.n_cells;
    struct st_ldu matrix = flow->u_matrix;
    double *right = flow->hbya[axis]; /* free until the corrector */
    struct st_solve_report solve = {0};

    matrix.diag = flow->work;
    memcpy(matrix.diag, flow->u_matrix.diag, n * sizeof *matrix.diag);
    add_rim(flow, flow->inner[axis], 1.0, matrix.diag);
    for (size_t c = 0; c < n; c++) {
        right[c] = flow->source[axis][c] - flow->gradient[axis][c];
    }
    st_flow_count(flow, 40.0 * (double)n);
    const enum st_status rc = st_solver_solve(flow->u_solve, &matrix, flow->u[axis],
                                              right, &flow->o.u_control, &solve, err);
    flow->report.u_iterations[axis] = solve.iterations;
    flow->report.u_initial[axis] = solve.initial_residual;
    flow->report.u_last[axis] = solve.final_residual;
    flow->times.u_iterations += solve.iterations;
    st_flow_add_solve(flow, &solve);
    return rc;
}

enum st_status st_flow_predict(struct st_flow *flow, struct st_error *err)
{
    st_flow_enter(flow, ST_FLOW_ASSEMBLY);
    enum st_status rc = assemble(flow, err);

    st_flow_enter(flow, ST_FLOW_MOMENTUM);
    for (int axis = 0; axis < 3 && rc == ST_OK; axis++) {
        if (flow->fv->is_solved[axis]) {
            rc = solve_component(flow, axis, err);
        }
    }
    return rc == ST_OK ? st_flow_exchange_u(flow, err) : rc;
}

/* h of all components, without division: right sides minus the off-diagonal part. */
static void form_h(struct st_flow *flow)
{
    const struct st_fv *fv = flow->fv;
    const struct stk_fv *k = &fv->k;
    const struct st_ldu *a = &flow->u_matrix;

    for (int axis = 0; axis < 3; axis++) {
        memcpy(flow->hbya[axis], flow->source[axis], k->n_cells * sizeof(double));
    }
    if (flow->o.is_fast) {
        stk_fv_off_diagonal_fused(k, a->lower, a->upper, (const double *const *)flow->u,
                                  flow->hbya);
        st_flow_count(flow, stk_fv_bytes(&stk_fv_h_fused_work, k->n_faces, k->n_cells));
    }
    for (int axis = 0; axis < 3; axis++) {
        if (!flow->o.is_fast) {
            stk_fv_off_diagonal(k, a->lower, a->upper, flow->u[axis], flow->hbya[axis]);
            st_flow_count(
                flow, stk_fv_bytes(&stk_fv_off_diagonal_work, k->n_faces, k->n_cells));
        }
        for (int32_t i = 0; i < fv->addr.n_interface; i++) {
            flow->hbya[axis][fv->addr.interface_cell[i]] -=
                a->coupling[i] * flow->u_ghost[axis][i];
        }
    }
    st_flow_count(flow, 48.0 * (double)k->n_cells);
}

void st_flow_hbya(struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;
    double *diag = flow->work;

    form_h(flow);
    memcpy(diag, flow->u_matrix.diag, (size_t)m->n_cells * sizeof *diag);
    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            const size_t b = st_flow_rim(flow, f);
            const int32_t c = m->owner[f];
            const double mean =
                (flow->inner[0][b] + flow->inner[1][b] + flow->inner[2][b]) / 3.0;
            diag[c] += mean;
            for (int axis = 0; axis < 3; axis++) {
                flow->hbya[axis][c] += (mean - flow->inner[axis][b]) * flow->u[axis][c];
            }
        }
    }
    for (int32_t c = 0; c < m->n_cells; c++) {
        const double inverse = 1.0 / diag[c];
        flow->rau[c] = m->volume[c] * inverse;
        flow->hbya[0][c] *= inverse;
        flow->hbya[1][c] *= inverse;
        flow->hbya[2][c] *= inverse;
    }
    st_flow_count(flow, (16.0 + 8.0 + 8.0 + 8.0 + 48.0) * m->n_cells);
}
