/*
 * Numbers of the whole field by which a flow is judged. NaN must come out: sums carry it, and
 * greatest values are formed so that it stays.
 */
#include "src/flow/flow.h"

#include <math.h>
#include <string.h>

/* The greater, or NaN if either is. */
static double greater(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static double size_of(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

/* Sum of phi over each cell into work, and of |phi| into right: both free between steps. */
static void sum_fluxes(const struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;

    memset(flow->work, 0, (size_t)m->n_cells * sizeof(double));
    memset(flow->right, 0, (size_t)m->n_cells * sizeof(double));
    for (int32_t f = 0; f < m->n_faces; f++) {
        flow->work[m->owner[f]] += flow->phi[f];
        flow->right[m->owner[f]] += fabs(flow->phi[f]);
        if (f < m->n_internal) {
            flow->work[m->neighbour[f]] -= flow->phi[f];
            flow->right[m->neighbour[f]] += fabs(flow->phi[f]);
        }
    }
}

enum {
    SUM_DIVERGENCE,
    SUM_FLUX,
    SUM_THROUGH,
    SUM_ENERGY,
    SUM_VOLUME,
    N_SUMS
};
enum {
    MAX_DIVERGENCE,
    MAX_FLUX,
    MAX_SPEED,
    MAX_CHANGE,
    MAX_COURANT,
    MAX_BAD, /* 1: a value is not finite; MPI_MAX need not keep a NaN */
    N_MAXIMA
};

static void look_at_cells(const struct st_flow *flow, double *sums, double *maxima)
{
    const struct st_mesh *m = flow->fv->mesh;
    double *const *u = flow->u;
    double *const *old = flow->u_old;

    for (int32_t c = 0; c < m->n_cells; c++) {
        const double speed = size_of(u[0][c], u[1][c], u[2][c]);
        sums[SUM_DIVERGENCE] += fabs(flow->work[c]);
        sums[SUM_FLUX] += 0.5 * flow->right[c];
        sums[SUM_ENERGY] += 0.5 * speed * speed * m->volume[c];
        sums[SUM_VOLUME] += m->volume[c];
        maxima[MAX_DIVERGENCE] = greater(maxima[MAX_DIVERGENCE], fabs(flow->work[c]));
        maxima[MAX_SPEED] = greater(maxima[MAX_SPEED], speed);
        maxima[MAX_CHANGE] =
            greater(maxima[MAX_CHANGE], size_of(u[0][c] - old[0][c], u[1][c] - old[1][c],
                                                u[2][c] - old[2][c]));
        maxima[MAX_COURANT] = greater(maxima[MAX_COURANT],
                                      0.5 * flow->o.dt * flow->right[c] / m->volume[c]);
        if (!isfinite(speed) || !isfinite(flow->p[c]) || !isfinite(flow->work[c])) {
            maxima[MAX_BAD] = 1.0;
        }
    }
}

enum st_status st_flow_examine(const struct st_flow *flow, struct st_flow_check *check,
                               struct st_error *err)
{
    const struct st_fv *fv = flow->fv;
    double sums[N_SUMS] = {0.0};
    double maxima[N_MAXIMA] = {0.0};

    sum_fluxes(flow);
    look_at_cells(flow, sums, maxima);
    for (int32_t f = 0; f < fv->mesh->n_faces; f++) {
        maxima[MAX_FLUX] = greater(maxima[MAX_FLUX], fabs(flow->phi[f]));
        if (f >= fv->mesh->n_internal && f < fv->interface_start) {
            sums[SUM_THROUGH] += 0.5 * fabs(flow->phi[f]);
        }
    }
    enum st_status rc = st_fv_sum(fv, N_SUMS, sums, err);
    if (rc == ST_OK) {
        rc = st_fv_max(fv, N_MAXIMA, maxima, err);
    }
    *check = (struct st_flow_check){.worst_divergence = maxima[MAX_DIVERGENCE],
                                    .sum_divergence = sums[SUM_DIVERGENCE],
                                    .sum_flux = sums[SUM_FLUX],
                                    .through_flow = sums[SUM_THROUGH],
                                    .greatest_flux = maxima[MAX_FLUX],
                                    .greatest_speed = maxima[MAX_SPEED],
                                    .kinetic_energy = sums[SUM_ENERGY] / sums[SUM_VOLUME],
                                    .change = maxima[MAX_CHANGE],
                                    .courant = maxima[MAX_COURANT],
                                    .is_finite = maxima[MAX_BAD] == 0.0 &&
                                                 isfinite(sums[SUM_ENERGY])};
    return rc;
}
