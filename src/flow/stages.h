#ifndef ST_FLOW_STAGES_H
#define ST_FLOW_STAGES_H

#include "src/flow/flow.h"

/* Stages of a step, and what they share; inside the folder only. */

/** Close the running phase's time and open another; ST_FLOW_N_PHASES: none. */
void st_flow_enter(struct st_flow *flow, int phase);
/** Count bytes for the running phase. */
void st_flow_count(struct st_flow *flow, double bytes);
/** Interior loop and exchange of fields, one under the other if the mode is fast. */
struct st_flow_overlap {
    int n_fields;
    const double *const *fields;
    void (*interior)(struct st_flow *flow);
};
enum st_status st_flow_exchange(struct st_flow *flow, const struct st_flow_overlap *work,
                                struct st_error *err);
/** Exchange u into u_ghost. */
enum st_status st_flow_exchange_u(struct st_flow *flow, struct st_error *err);
/** Sum of a solve's report into the times. */
void st_flow_add_solve(struct st_flow *flow, const struct st_solve_report *solve);

/** Which field: decides its value on boundaries. */
enum st_flow_field {
    ST_FLOW_P,
    ST_FLOW_UX,
    ST_FLOW_UY,
    ST_FLOW_UZ
};
/** out = Gauss gradient times the volume. Exchanges x. Collective. */
enum st_status st_flow_gradient(struct st_flow *flow, enum st_flow_field field,
                                const double *x, double *const out[3],
                                struct st_error *err);
/** What boundaries and the interface add to it; the exchange of x is finished. */
void st_flow_gradient_rim(struct st_flow *flow, enum st_flow_field field, const double *x,
                          double *const out[3]);
/** skew_flux = |area| times the part of the normal gradient that the matrix lacks, on internal
 * and interface faces. Uses gradient. Collective. */
enum st_status st_flow_skew(struct st_flow *flow, enum st_flow_field field,
                            const double *x, struct st_error *err);
/** cells += what skew_flux times factor brings out of the faces. */
void st_flow_add_skew(const struct st_flow *flow, double factor, double *cells);

/** Coefficients of the velocity's conditions: inner, outer. */
void st_flow_velocity_conditions(struct st_flow *flow);
/** Assemble and solve the momentum equations. Collective. */
enum st_status st_flow_predict(struct st_flow *flow, struct st_error *err);
/** HbyA and 1/A from the velocity as it is. Local. */
void st_flow_hbya(struct st_flow *flow);
/** Pressure equation, its solves, flux and velocity. Collective. */
enum st_status st_flow_correct(struct st_flow *flow, bool is_first, bool is_last,
                               struct st_error *err);
/** history of the step, from phi and u at its start. Local. */
void st_flow_history(struct st_flow *flow);

/** Index of a boundary face in inner, outer, u_boundary. */
static inline size_t st_flow_rim(const struct st_flow *flow, int32_t face)
{
    return (size_t)(face - flow->fv->mesh->n_internal);
}

#endif
