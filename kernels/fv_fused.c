/*
 * Finite-volume loops, fused: one pass forms all that its faces give. Cells are taken in
 * order with the faces they own, so the owner's values and sums stay in registers and only
 * the neighbour's sums are scattered.
 */
#include "kernels/fv.h"

/* Bytes as in fv.c, of fused passes: each face array and each field once. */
const struct stk_fv_work stk_fv_momentum_work = {{28.0, 16.0, 16.0, 6.0},
                                                 {12.0, 8.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_h_fused_work = {{20.0, 0.0, 0.0, 12.0},
                                                {52.0, 24.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_pressure_fused_work = {{52.0, 16.0, 16.0, 24.0},
                                                       {52.0, 16.0, 0.0, 0.0}};
const struct stk_fv_work stk_fv_correct_fused_work = {{52.0, 8.0, 0.0, 15.0},
                                                      {36.0, 24.0, 0.0, 0.0}};

void stk_fv_momentum_fused(const struct stk_fv *fv, double nu, const double *phi,
                           double *lower, double *upper, double *diag)
{
    for (size_t c = 0; c < fv->n_cells; c++) {
        const size_t end = (size_t)fv->owner_start[c + 1];
        double own = diag[c];
        for (size_t f = (size_t)fv->owner_start[c]; f < end; f++) {
            const double spread = nu * fv->spread[f];
            const double low = -fv->weight[f] * phi[f];
            lower[f] = low - spread;
            upper[f] = low + phi[f] - spread;
            own -= lower[f];
            diag[fv->neighbour[f]] -= upper[f];
        }
        diag[c] = own;
    }
}

void stk_fv_off_diagonal_fused(const struct stk_fv *fv, const double *restrict lower,
                               const double *restrict upper, const double *const u[3],
                               double *const h[3])
{
    const double *restrict x = u[0];
    const double *restrict y = u[1];
    const double *restrict z = u[2];
    double *restrict hx = h[0];
    double *restrict hy = h[1];
    double *restrict hz = h[2];

    for (size_t c = 0; c < fv->n_cells; c++) {
        const size_t end = (size_t)fv->owner_start[c + 1];
        double own[3] = {hx[c], hy[c], hz[c]};
        for (size_t f = (size_t)fv->owner_start[c]; f < end; f++) {
            const int32_t n = fv->neighbour[f];
            own[0] -= upper[f] * x[n];
            own[1] -= upper[f] * y[n];
            own[2] -= upper[f] * z[n];
            hx[n] -= lower[f] * x[c];
            hy[n] -= lower[f] * y[c];
            hz[n] -= lower[f] * z[c];
        }
        hx[c] = own[0];
        hy[c] = own[1];
        hz[c] = own[2];
    }
}

void stk_fv_pressure_fused(const struct stk_fv *fv, const struct stk_fv_pressure *p)
{
    const double *restrict x = p->hbya[0];
    const double *restrict y = p->hbya[1];
    const double *restrict z = p->hbya[2];
    double *restrict diag = p->diag;
    double *restrict source = p->source;

    for (size_t c = 0; c < fv->n_cells; c++) {
        const size_t end = (size_t)fv->owner_start[c + 1];
        double own_diag = diag[c];
        double own_source = source[c];
        for (size_t f = (size_t)fv->owner_start[c]; f < end; f++) {
            const int32_t n = fv->neighbour[f];
            const double w = fv->weight[f];
            const double v = 1.0 - w;
            const double *s = fv->area + 3 * f;
            const double rau = w * p->rau[c] + v * p->rau[n];
            const double off = -rau * fv->spread[f];
            double phi = s[0] * (w * x[c] + v * x[n]) + s[1] * (w * y[c] + v * y[n]) +
                         s[2] * (w * z[c] + v * z[n]);
            if (p->history != NULL) {
                phi += rau * p->history[f];
            }
            p->phi[f] = phi;
            p->off[f] = off;
            own_diag -= off;
            diag[n] -= off;
            own_source -= phi;
            source[n] += phi;
        }
        diag[c] = own_diag;
        source[c] = own_source;
    }
}

void stk_fv_correct_fused(const struct stk_fv *fv, const double *restrict off,
                          const double *restrict p, double *restrict phi,
                          double *const sum[3])
{
    double *restrict sx = sum[0];
    double *restrict sy = sum[1];
    double *restrict sz = sum[2];

    for (size_t c = 0; c < fv->n_cells; c++) {
        const size_t end = (size_t)fv->owner_start[c + 1];
        double own[3] = {sx[c], sy[c], sz[c]};
        for (size_t f = (size_t)fv->owner_start[c]; f < end; f++) {
            const int32_t n = fv->neighbour[f];
            const double w = fv->weight[f];
            const double on_face = w * p[c] + (1.0 - w) * p[n];
            const double *s = fv->area + 3 * f;
            phi[f] += off[f] * (p[n] - p[c]);
            own[0] += s[0] * on_face;
            own[1] += s[1] * on_face;
            own[2] += s[2] * on_face;
            sx[n] -= s[0] * on_face;
            sy[n] -= s[1] * on_face;
            sz[n] -= s[2] * on_face;
        }
        sx[c] = own[0];
        sy[c] = own[1];
        sz[c] = own[2];
    }
}
