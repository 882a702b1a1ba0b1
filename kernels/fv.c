/*
 * Finite-volume loops, one pass each: the face loops of OpenFOAM, indirect and scattering.
 * They stay serial as there: one rank per core is what they stand for. The compiler gets no
 * help to reorder them; a face loop that scatters cannot be vectorised.
 */
#include "kernels/fv.h"

#include <math.h>

/* Face: owner and neighbour 8 B, weight 8, area 24, spread 8, one face array 8. */
const struct stk_fv_work stk_fv_convection_work = {{16.0, 16.0, 16.0, 3.0},
                                                   {0.0, 0.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_diffusion_work = {{8.0, 8.0, 8.0, 1.0},
                                                  {0.0, 0.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_negative_sum_work = {{24.0, 0.0, 0.0, 2.0},
                                                     {8.0, 8.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_interpolate_work = {{16.0, 8.0, 8.0, 3.0},
                                                    {8.0, 0.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_face_flux_work = {{40.0, 8.0, 8.0, 14.0},
                                                  {24.0, 0.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_divergence_work = {{16.0, 0.0, 0.0, 2.0},
                                                   {8.0, 8.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_gradient_work = {{40.0, 0.0, 0.0, 9.0},
                                                 {24.0, 24.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_off_diagonal_work = {{24.0, 0.0, 0.0, 4.0},
                                                     {16.0, 8.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_flux_limit_work = {{16.0, 8.0, 8.0, 6.0},
                                                   {0.0, 0.0, 0.0, 0.0}};

double stk_fv_bytes(const struct stk_fv_work *work, size_t n_faces, size_t n_cells)
{
    return stk_work_bytes(&work->face, n_faces) + stk_work_bytes(&work->cell, n_cells);
}

void stk_fv_convection(const struct stk_fv *fv, const double *phi, double *lower,
                       double *upper)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        lower[f] = -fv->weight[f] * phi[f];
        upper[f] = lower[f] + phi[f];
    }
}

void stk_fv_diffusion(const struct stk_fv *fv, double gamma, double *off)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        off[f] = -gamma * fv->spread[f];
    }
}

void stk_fv_diffusion_by_face(const struct stk_fv *fv, const double *gamma, double *off)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        off[f] = -gamma[f] * fv->spread[f];
    }
}

void stk_fv_negative_sum(const struct stk_fv *fv, const double *lower,
                         const double *upper, double *diag)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        diag[fv->owner[f]] -= lower[f];
        diag[fv->neighbour[f]] -= upper[f];
    }
}

void stk_fv_interpolate(const struct stk_fv *fv, const double *x, double *on_face)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        const double w = fv->weight[f];
        on_face[f] = w * x[fv->owner[f]] + (1.0 - w) * x[fv->neighbour[f]];
    }
}

void stk_fv_face_flux(const struct stk_fv *fv, const double *const u[3], double *phi)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        const int32_t o = fv->owner[f];
        const int32_t n = fv->neighbour[f];
        const double w = fv->weight[f];
        const double *s = fv->area + 3 * f;
        phi[f] = s[0] * (w * u[0][o] + (1.0 - w) * u[0][n]) +
                 s[1] * (w * u[1][o] + (1.0 - w) * u[1][n]) +
                 s[2] * (w * u[2][o] + (1.0 - w) * u[2][n]);
    }
}

void stk_fv_divergence(const struct stk_fv *fv, const double *phi, double *sum)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        sum[fv->owner[f]] += phi[f];
        sum[fv->neighbour[f]] -= phi[f];
    }
}

void stk_fv_gradient(const struct stk_fv *fv, const double *on_face, double *const sum[3])
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        const int32_t o = fv->owner[f];
        const int32_t n = fv->neighbour[f];
        for (int a = 0; a < 3; a++) {
            const double part = fv->area[3 * f + (size_t)a] * on_face[f];
            sum[a][o] += part;
            sum[a][n] -= part;
        }
    }
}

void stk_fv_off_diagonal(const struct stk_fv *fv, const double *lower,
                         const double *upper, const double *x, double *h)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        h[fv->neighbour[f]] -= lower[f] * x[fv->owner[f]];
        h[fv->owner[f]] -= upper[f] * x[fv->neighbour[f]];
    }
}

void stk_fv_flux_limit(size_t n, const double *phi_old, const double *u_flux,
                       double per_dt, double *out)
{
    for (size_t f = 0; f < n; f++) {
        const double c = phi_old[f] - u_flux[f];
        const double share = fabs(c) / (fabs(phi_old[f]) + 1e-15);
        out[f] = (1.0 - (share < 1.0 ? share : 1.0)) * per_dt * c;
    }
}

void stk_fv_momentum_ref(const struct stk_fv *fv, double nu, const double *phi,
                         double *lower, double *upper, double *diag)
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        lower[f] = -fv->weight[f] * phi[f] - nu * fv->spread[f];
        upper[f] = (1.0 - fv->weight[f]) * phi[f] - nu * fv->spread[f];
        diag[fv->owner[f]] -= lower[f];
        diag[fv->neighbour[f]] -= upper[f];
    }
}

void stk_fv_pressure_ref(const struct stk_fv *fv, const struct stk_fv_pressure *p)
{
    stk_fv_face_flux(fv, p->hbya, p->phi);
    for (size_t f = 0; f < fv->n_faces; f++) {
        const int32_t o = fv->owner[f];
        const int32_t n = fv->neighbour[f];
        const double w = fv->weight[f];
        const double rau = w * p->rau[o] + (1.0 - w) * p->rau[n];
        if (p->history != NULL) {
            p->phi[f] += rau * p->history[f];
        }
        p->off[f] = -rau * fv->spread[f];
        p->diag[o] -= p->off[f];
        p->diag[n] -= p->off[f];
        p->source[o] -= p->phi[f];
        p->source[n] += p->phi[f];
    }
}

void stk_fv_correct_ref(const struct stk_fv *fv, const double *off, const double *p,
                        double *phi, double *const sum[3])
{
    for (size_t f = 0; f < fv->n_faces; f++) {
        const int32_t o = fv->owner[f];
        const int32_t n = fv->neighbour[f];
        const double w = fv->weight[f];
        const double on_face = w * p[o] + (1.0 - w) * p[n];
        phi[f] += off[f] * (p[n] - p[o]);
        for (int a = 0; a < 3; a++) {
            const double part = fv->area[3 * f + (size_t)a] * on_face;
            sum[a][o] += part;
            sum[a][n] -= part;
        }
    }
}
