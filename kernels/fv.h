#ifndef ST_KERNELS_FV_H
#define ST_KERNELS_FV_H

#include "kernels/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Loops of a collocated finite-volume method over faces between an owner and a neighbour cell
 * (owner < neighbour, sorted by owner, then neighbour), as OpenFOAM has them: fields on cells
 * are gathered, sums over a cell's faces are scattered (METHODS 4.2). Vectors of cells are
 * three arrays; areas and other vectors of faces are x, y, z in a row. Only faces inside one
 * rank: the caller adds boundaries and faces to other ranks.
 *
 * First the loops one by one, each a pass of its own; then, with the ending _fused, the same
 * sums in few passes. Arrays must not overlap.
 */

struct stk_fv {
    size_t n_cells, n_faces;
    const int32_t *owner, *neighbour; /**< [n_faces] */
    const int32_t *owner_start;       /**< [n_cells + 1] first face each cell owns */
    const double *weight;             /**< [n_faces] of the owner's value on the face */
    const double *area;               /**< [3 n_faces] out of the owner */
    const double
        *spread; /**< [n_faces] |area| times 1/distance: what a difference of cell
                               values is multiplied by for its gradient through the face */
};

/* Least traffic: work per face, and per cell (fields and sums once each). */
struct stk_fv_work {
    struct stk_work face, cell;
};
extern const struct stk_fv_work stk_fv_convection_work, stk_fv_diffusion_work,
    stk_fv_negative_sum_work, stk_fv_interpolate_work, stk_fv_face_flux_work,
    stk_fv_divergence_work, stk_fv_gradient_work, stk_fv_off_diagonal_work,
    stk_fv_flux_limit_work, stk_fv_momentum_work, stk_fv_h_fused_work,
    stk_fv_pressure_fused_work, stk_fv_correct_fused_work;
/** Bytes that a loop must move over a mesh. */
double stk_fv_bytes(const struct stk_fv_work *work, size_t n_faces, size_t n_cells);

/** Matrix of div(phi u), linear interpolation: lower and upper. */
void stk_fv_convection(const struct stk_fv *fv, const double *phi, double *lower,
                       double *upper);
/** Matrix of -div(gamma grad u): off[f] = -gamma spread[f]; one for all faces, or by face. */
void stk_fv_diffusion(const struct stk_fv *fv, double gamma, double *off);
void stk_fv_diffusion_by_face(const struct stk_fv *fv, const double *gamma, double *off);
/** diag -= sum of the lower (owner) and upper (neighbour) coefficients of a cell's faces. */
void stk_fv_negative_sum(const struct stk_fv *fv, const double *lower,
                         const double *upper, double *diag);
/** Values of cells on faces. */
void stk_fv_interpolate(const struct stk_fv *fv, const double *x, double *on_face);
/** phi[f] = u on the face times its area. */
void stk_fv_face_flux(const struct stk_fv *fv, const double *const u[3], double *phi);
/** sum += what flows out of each cell. */
void stk_fv_divergence(const struct stk_fv *fv, const double *phi, double *sum);
/** sum += area times face value, over the faces of each cell (Gauss, without 1/volume). */
void stk_fv_gradient(const struct stk_fv *fv, const double *on_face,
                     double *const sum[3]);
/** h -= off-diagonal part of the matrix times x. */
void stk_fv_off_diagonal(const struct stk_fv *fv, const double *lower,
                         const double *upper, const double *x, double *h);
/**
 * Correction of a flux by its own history: with c = phi_old - flux of u_old,
 * out = (1 - min(|c| / (|phi_old| + 1e-15), 1)) c / dt (OpenFOAM 1912, fvcDdtPhiCoeff).
 */
void stk_fv_flux_limit(size_t n, const double *phi_old, const double *u_flux,
                       double per_dt, double *out);

/** Convection and diffusion matrix with its diagonal; diag is added to. */
void stk_fv_momentum_fused(const struct stk_fv *fv, double nu, const double *phi,
                           double *lower, double *upper, double *diag);
/** h -= off-diagonal part of the matrix times u, three fields at once. */
void stk_fv_off_diagonal_fused(const struct stk_fv *fv, const double *lower,
                               const double *upper, const double *const u[3],
                               double *const h[3]);

/** Arrays of the pressure equation's fused assembly. */
struct stk_fv_pressure {
    const double *hbya[3]; /**< [n_cells] */
    const double *rau;     /**< [n_cells] */
    const double *history; /**< [n_faces] of stk_fv_flux_limit(), NULL: none */
    double *phi;           /**< [n_faces] out: flux before the pressure's part */
    double *off;           /**< [n_faces] out: off-diagonal of -div(rau grad) */
    double *diag;          /**< [n_cells] added to */
    double *source;        /**< [n_cells] minus what flows out is added */
};
void stk_fv_pressure_fused(const struct stk_fv *fv, const struct stk_fv_pressure *p);
/** phi += off (p of neighbour - p of owner); sum += Gauss gradient of p. */
void stk_fv_correct_fused(const struct stk_fv *fv, const double *off, const double *p,
                          double *phi, double *const sum[3]);

/** Serial, plain, face by face: what the fused ones must equal. */
void stk_fv_momentum_ref(const struct stk_fv *fv, double nu, const double *phi,
                         double *lower, double *upper, double *diag);
void stk_fv_pressure_ref(const struct stk_fv *fv, const struct stk_fv_pressure *p);
void stk_fv_correct_ref(const struct stk_fv *fv, const double *off, const double *p,
                        double *phi, double *const sum[3]);

#endif
