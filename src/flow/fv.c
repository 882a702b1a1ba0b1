/*
 * Mesh to finite-volume addressing, and the exchange of cell fields.
 *
 * Distances follow OpenFOAM: 1/|d| for an orthogonal mesh; else 1/max(n d, 0.05 |d|), whose
 * lower bound keeps bad faces from giving huge coefficients, with the rest of the normal
 * gradient left to an explicit correction.
 */
#include "src/flow/fv.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <time.h>

double st_fv_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum st_status allocate(struct st_fv *fv, enum st_laplacian rule,
                               struct st_error *err)
{
    const struct st_mesh *m = fv->mesh;
    const size_t n_interface = (size_t)fv->addr.n_interface;

    fv->spread = st_calloc(err, (size_t)m->n_faces, sizeof *fv->spread);
    fv->owner_start = st_calloc(err, (size_t)m->n_cells + 1, sizeof *fv->owner_start);
    fv->sides = st_calloc(err, fv->addr.n_sides, sizeof *fv->sides);
    fv->halo.send = st_calloc(err, 3 * n_interface, sizeof(double));
    fv->halo.receive = st_calloc(err, 3 * n_interface, sizeof(double));
    fv->halo.requests = st_calloc(err, 2 * fv->addr.n_sides, sizeof(MPI_Request));
    bool is_whole = fv->spread != NULL && fv->owner_start != NULL && fv->sides != NULL &&
                    fv->halo.send != NULL && fv->halo.receive != NULL &&
                    fv->halo.requests != NULL;
    for (int a = 0; a < 3; a++) {
        fv->halo.ghost[a] = st_calloc(err, n_interface, sizeof(double));
        is_whole = is_whole && fv->halo.ghost[a] != NULL;
    }
    if (rule == ST_LAPLACIAN_CORRECTED) {
        fv->skew = st_calloc(err, (size_t)m->n_faces, sizeof *fv->skew);
        is_whole = is_whole && fv->skew != NULL;
    }
    return is_whole ? ST_OK : ST_ERR_MEMORY;
}

static void set_distances(struct st_fv *fv, enum st_laplacian rule)
{
    for (int32_t f = 0; f < fv->mesh->n_faces; f++) {
        const struct st_vec s = fv->mesh->area[f];
        const struct st_vec d = fv->mesh->d[f];
        const double area = sqrt(s.x * s.x + s.y * s.y + s.z * s.z);
        const double length = sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
        if (rule == ST_LAPLACIAN_ORTHOGONAL) {
            fv->spread[f] = area / length;
            continue;
        }
        const double along = (s.x * d.x + s.y * d.y + s.z * d.z) / area;
        const double inverse = 1.0 / fmax(along, 0.05 * length);
        fv->spread[f] = area * inverse;
        if (f < fv->mesh->n_internal || f >= fv->interface_start) {
            fv->skew[f] =
                (struct st_vec){s.x / area - d.x * inverse, s.y / area - d.y * inverse,
                                s.z / area - d.z * inverse};
        }
    }
}

static void set_addressing(struct st_fv *fv)
{
    const struct st_mesh *m = fv->mesh;
    size_t side = 0;

    for (int32_t f = 0; f < m->n_internal; f++) {
        fv->owner_start[m->owner[f] + 1]++;
    }
    for (int32_t c = 0; c < m->n_cells; c++) {
        fv->owner_start[c + 1] += fv->owner_start[c];
    }
    for (size_t i = 0; i < m->n_patches; i++) {
        const struct st_patch *patch = &m->patches[i];
        if (patch->kind == ST_PATCH_HALO) {
            fv->sides[side++] = (struct st_ldu_side){
                patch->rank, patch->start - fv->interface_start, patch->n};
        }
    }
    fv->addr.owner = m->owner;
    fv->addr.neighbour = m->neighbour;
    fv->addr.owner_start = fv->owner_start;
    fv->addr.is_uneven = stk_ldu_is_uneven((size_t)m->n_cells, fv->owner_start);
    fv->addr.sides = fv->sides;
    fv->addr.interface_cell = m->owner + fv->interface_start;
    fv->k = (struct stk_fv){.n_cells = (size_t)m->n_cells,
                            .n_faces = (size_t)m->n_internal,
                            .owner = m->owner,
                            .neighbour = m->neighbour,
                            .owner_start = fv->owner_start,
                            .weight = m->weight,
                            .area = &m->area[0].x,
                            .spread = fv->spread};
}

/* Directions along which no empty patch of any rank faces. */
static enum st_status find_directions(struct st_fv *fv, struct st_error *err)
{
    double facing[4] = {0.0}; /* by direction, and all */

    for (size_t i = 0; i < fv->mesh->n_patches; i++) {
        const struct st_patch *patch = &fv->mesh->patches[i];
        for (int32_t f = patch->start;
             patch->kind == ST_PATCH_EMPTY && f < patch->start + patch->n; f++) {
            const struct st_vec s = fv->mesh->area[f];
            facing[0] += fabs(s.x);
            facing[1] += fabs(s.y);
            facing[2] += fabs(s.z);
            facing[3] += sqrt(s.x * s.x + s.y * s.y + s.z * s.z);
        }
    }
    const enum st_status rc = st_fv_sum(fv, 4, facing, err);
    for (int a = 0; a < 3; a++) {
        fv->is_solved[a] = !(facing[a] > 1e-3 * facing[3]);
    }
    return rc;
}

enum st_status st_fv_create(const struct st_mesh *mesh, enum st_laplacian rule,
                            struct st_fv **out, struct st_error *err)
{
    struct st_fv *fv = st_calloc(err, 1, sizeof *fv);
    enum st_status rc = ST_ERR_MEMORY;

    if (fv != NULL) {
        fv->mesh = mesh;
        fv->interface_start = mesh->n_faces;
        for (size_t i = mesh->n_patches; i-- > 0;) {
            if (mesh->patches[i].kind == ST_PATCH_HALO) {
                fv->interface_start = mesh->patches[i].start;
                fv->addr.n_sides++;
            }
        }
        fv->addr.comm = mesh->comm;
        fv->addr.n_cells = mesh->n_cells;
        fv->addr.n_faces = mesh->n_internal;
        fv->addr.n_interface = mesh->n_faces - fv->interface_start;
        rc = allocate(fv, rule, err);
    }
    rc = stm_agree(&mesh->comm, rc, err);
    if (rc == ST_OK && fv != NULL) {
        set_addressing(fv);
        set_distances(fv, rule);
        rc = find_directions(fv, err);
    }
    if (rc != ST_OK) {
        st_fv_destroy(&fv);
        return rc;
    }
    *out = fv;
    return ST_OK;
}

void st_fv_destroy(struct st_fv **fv)
{
    if (fv == NULL || *fv == NULL) {
        return;
    }
    struct st_fv *x = *fv;
    st_free(x->spread);
    st_free(x->skew);
    st_free(x->owner_start);
    st_free(x->sides);
    st_free(x->halo.send);
    st_free(x->halo.receive);
    st_free(x->halo.requests);
    for (int a = 0; a < 3; a++) {
        st_free(x->halo.ghost[a]);
    }
    st_free(x);
    *fv = NULL;
}

enum st_status st_fv_exchange_start(struct st_fv *fv, int n_fields,
                                    const double *const *fields, struct st_error *err)
{
    struct st_fv_halo *h = &fv->halo;

    h->n_requests = 0;
    h->n_fields = n_fields;
    for (size_t i = 0; i < fv->addr.n_sides; i++) {
        const struct st_ldu_side *side = &fv->sides[i];
        const size_t at = (size_t)n_fields * (size_t)side->start;
        STM_TRY(err, MPI_Irecv(h->receive + at, n_fields * side->n, MPI_DOUBLE,
                               side->rank, STM_TAG_HALO, fv->addr.comm.handle,
                               &h->requests[h->n_requests++]));
    }
    for (size_t i = 0; i < fv->addr.n_sides; i++) {
        const struct st_ldu_side *side = &fv->sides[i];
        double *to = h->send + (size_t)n_fields * (size_t)side->start;
        for (int k = 0; k < n_fields; k++) {
            const int32_t *cells = fv->addr.interface_cell + side->start;
            for (int32_t j = 0; j < side->n; j++) {
                *to++ = fields[k][cells[j]];
            }
        }
        STM_TRY(err, MPI_Isend(to - n_fields * side->n, n_fields * side->n, MPI_DOUBLE,
                               side->rank, STM_TAG_HALO, fv->addr.comm.handle,
                               &h->requests[h->n_requests++]));
        h->n_bytes += (double)sizeof(double) * n_fields * side->n;
    }
    return ST_OK;
}

enum st_status st_fv_exchange_finish(struct st_fv *fv, struct st_error *err)
{
    struct st_fv_halo *h = &fv->halo;
    const double start_s = st_fv_seconds();

    STM_TRY(err, MPI_Waitall(h->n_requests, h->requests, MPI_STATUSES_IGNORE));
    h->wait_s += st_fv_seconds() - start_s;
    for (size_t i = 0; i < fv->addr.n_sides; i++) {
        const struct st_ldu_side *side = &fv->sides[i];
        const double *from = h->receive + (size_t)h->n_fields * (size_t)side->start;
        for (int k = 0; k < h->n_fields; k++) {
            for (int32_t j = 0; j < side->n; j++) {
                h->ghost[k][side->start + j] = *from++;
            }
        }
    }
    return ST_OK;
}

enum st_status st_fv_sum(const struct st_fv *fv, int n, double *values,
                         struct st_error *err)
{
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM,
                               fv->addr.comm.handle));
    return ST_OK;
}

enum st_status st_fv_max(const struct st_fv *fv, int n, double *values,
                         struct st_error *err)
{
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_MAX,
                               fv->addr.comm.handle));
    return ST_OK;
}

double st_fv_heap_bytes(const struct st_fv *fv)
{
    const double n_faces = fv->mesh->n_faces;

    return n_faces * (fv->skew != NULL ? 32.0 : 8.0) + 4.0 * fv->mesh->n_cells +
           72.0 * fv->addr.n_interface;
}
