/*
 * Gauss gradients, and the explicit part of diffusion on faces that are not orthogonal
 * (Jasak, thesis, Imperial College 1996, section 3.3.1.3, over-relaxed approach).
 */
#include "src/flow/stages.h"

#include <math.h>
#include <string.h>

/* Value of a field on a boundary face. */
static double value_at(const struct st_flow *flow, const struct st_bc *bc,
                       enum st_flow_field field, const double *x, int32_t f)
{
    const struct st_mesh *m = flow->fv->mesh;
    const int32_t c = m->owner[f];

    if (field == ST_FLOW_P) {
        return bc->kind == ST_BC_PRESSURE ? bc->value[0] : x[c];
    }
    if (st_bc_fixes_velocity(bc)) {
        return flow->u_boundary[field - ST_FLOW_UX][st_flow_rim(flow, f)];
    }
    if (bc->kind == ST_BC_SYMMETRY) {
        const struct st_vec s = m->area[f];
        const double n[3] = {s.x, s.y, s.z};
        const double through =
            s.x * flow->u[0][c] + s.y * flow->u[1][c] + s.z * flow->u[2][c];
        return x[c] -
               through * n[field - ST_FLOW_UX] / (s.x * s.x + s.y * s.y + s.z * s.z);
    }
    return x[c];
}

static void add_face(struct st_vec area, double value, int32_t cell, double *const out[3])
{
    out[0][cell] += area.x * value;
    out[1][cell] += area.y * value;
    out[2][cell] += area.z * value;
}

void st_flow_gradient_rim(struct st_flow *flow, enum st_flow_field field, const double *x,
                          double *const out[3])
{
    const struct st_fv *fv = flow->fv;
    const struct st_mesh *m = fv->mesh;

    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_BOUNDARY && f < patch->start + patch->n; f++) {
            add_face(m->area[f], value_at(flow, &flow->bc[i], field, x, f), m->owner[f],
                     out);
        }
    }
    for (int32_t i = 0; i < fv->addr.n_interface; i++) {
        const int32_t f = fv->interface_start + i;
        const int32_t c = fv->addr.interface_cell[i];
        const double w = m->weight[f];
        add_face(m->area[f], w * x[c] + (1.0 - w) * fv->halo.ghost[0][i], c, out);
    }
}

enum st_status st_flow_gradient(struct st_flow *flow, enum st_flow_field field,
                                const double *x, double *const out[3],
                                struct st_error *err)
{
    const struct stk_fv *k = &flow->fv->k;
    enum st_status rc = st_fv_exchange_start(flow->fv, 1, &x, err);

    if (rc == ST_OK) {
        rc = st_fv_exchange_finish(flow->fv, err);
    }
    for (int axis = 0; axis < 3; axis++) {
        memset(out[axis], 0, k->n_cells * sizeof(double));
    }
    stk_fv_interpolate(k, x, flow->face);
    stk_fv_gradient(k, flow->face, out);
    st_flow_count(flow, stk_fv_bytes(&stk_fv_interpolate_work, k->n_faces, k->n_cells) +
                            stk_fv_bytes(&stk_fv_gradient_work, k->n_faces, k->n_cells));
    st_flow_gradient_rim(flow, field, x, out);
    return rc;
}

enum st_status st_flow_skew(struct st_flow *flow, enum st_flow_field field,
                            const double *x, struct st_error *err)
{
    struct st_fv *fv = flow->fv;
    const struct st_mesh *m = fv->mesh;
    double *const *g = flow->gradient;
    enum st_status rc = st_flow_gradient(flow, field, x, g, err);

    flow->gradient_is_current = false;
    for (int axis = 0; axis < 3; axis++) {
        for (int32_t c = 0; c < m->n_cells; c++) {
            g[axis][c] /= m->volume[c];
        }
    }
    if (rc == ST_OK) {
        rc = st_fv_exchange_start(fv, 3, (const double *const *)g, err);
    }
    if (rc == ST_OK) {
        rc = st_fv_exchange_finish(fv, err);
    }
    for (int32_t f = 0; f < m->n_faces; f++) {
        const bool is_internal = f < m->n_internal;
        if (!is_internal && f < fv->interface_start) {
            continue; /* boundaries take the whole normal gradient from the condition */
        }
        const struct st_vec s = m->area[f];
        const double k[3] = {fv->skew[f].x, fv->skew[f].y, fv->skew[f].z};
        const double w = m->weight[f];
        double part = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            const double other = is_internal
                                     ? g[axis][m->neighbour[f]]
                                     : fv->halo.ghost[axis][f - fv->interface_start];
            part += k[axis] * (w * g[axis][m->owner[f]] + (1.0 - w) * other);
        }
        flow->skew_flux[f] = sqrt(s.x * s.x + s.y * s.y + s.z * s.z) * part;
    }
    return rc;
}

void st_flow_add_skew(const struct st_flow *flow, double factor, double *cells)
{
    const struct st_mesh *m = flow->fv->mesh;

    for (int32_t f = 0; f < m->n_faces; f++) {
        const double part = factor * flow->skew_flux[f];
        cells[m->owner[f]] += part;
        if (f < m->n_internal) {
            cells[m->neighbour[f]] -= part;
        }
    }
}
