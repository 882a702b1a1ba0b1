#ifndef ST_FLOW_FLOW_H
#define ST_FLOW_FLOW_H

#include "src/flow/boundary.h"
#include "src/flow/fv.h"
#include "src/flow/solve.h"

/*
 * Incompressible flow: div u = 0, du/dt + div(u u) = -grad p + nu lap u + force (p over the
 * density). PISO as in icoFoam, or SIMPLE as in simpleFoam for laminar flow: collocated
 * fields, face flux phi, linear interpolation, Gauss gradients, Euler implicit in time
 * (METHODS 4.2).
 */

enum st_flow_algorithm {
    ST_FLOW_PISO,
    ST_FLOW_SIMPLE
};

/** Parts of a step; time and bytes of each are reported. */
enum st_flow_phase {
    ST_FLOW_ASSEMBLY,          /**< momentum matrix, pressure gradient */
    ST_FLOW_MOMENTUM,          /**< momentum solve */
    ST_FLOW_FLUX,              /**< HbyA and its flux */
    ST_FLOW_PRESSURE_ASSEMBLY, /**< pressure matrix */
    ST_FLOW_PRESSURE,          /**< pressure solve */
    ST_FLOW_CORRECTION,        /**< flux and velocity from the pressure */
    ST_FLOW_N_PHASES
};

struct st_flow_options {
    enum st_flow_algorithm algorithm;
    bool
        is_fast; /**< fused passes, overlapped exchange; else one pass a term, as OpenFOAM */
    enum st_laplacian laplacian;
    double nu;
    double dt;               /**< PISO */
    double force[3];         /**< per mass */
    int n_correctors;        /**< PISO */
    int n_non_orthogonal;    /**< further pressure solves for the explicit part */
    double relax_u, relax_p; /**< SIMPLE */
    enum st_solver_kind p_solver, u_solver;
    struct st_solver_control p_control; /**< of all pressure solves but the last */
    struct st_solver_control p_final;   /**< of the last of a step (SIMPLE: not used) */
    struct st_solver_control u_control;
};

enum {
    ST_FLOW_MOST_SOLVES =
        16 /**< pressure solves of a step that are reported one by one */
};

/** What one step did. */
struct st_flow_report {
    int n_p_solves; /**< of which the first ST_FLOW_MOST_SOLVES are listed */
    int p_iterations[ST_FLOW_MOST_SOLVES];
    double p_initial[ST_FLOW_MOST_SOLVES], p_last[ST_FLOW_MOST_SOLVES];
    int u_iterations[3];
    double u_initial[3], u_last[3];
    bool is_converged; /**< every solve reached its tolerance (or ran its fixed count) */
};

/** Sums over all steps since st_flow_clear_times(), this rank. */
struct st_flow_times {
    double seconds[ST_FLOW_N_PHASES];
    double bytes[ST_FLOW_N_PHASES]; /**< least traffic of the loops */
    double halo_s, reduction_s;     /**< part of the phases' seconds */
    double p_iterations, u_iterations;
    double n_steps;
};

struct st_flow {
    struct st_flow_options o;
    struct st_fv *fv;  /**< borrowed */
    struct st_bc *bc;  /**< [mesh n_patches] */
    bool is_closed;    /**< no patch gives the pressure: p = 0 is held in one cell */
    int32_t reference; /**< that cell, -1: of another rank */

    double *u[3], *p; /**< [n_cells] */
    double *phi;      /**< [mesh n_faces] out of the owner */
    struct st_flow_report report;
    struct st_flow_times times;

    /* The rest belongs to the folder. */
    double *u_old[3], *source[3], *hbya[3], *rau, *p_before, *work, *right;
    double *gradient[3];      /* of p, times the volume */
    bool gradient_is_current; /* it belongs to p as it is */
    double *u_ghost[3], *rau_ghost;
    double *history;    /* [mesh n_faces] correction of phi by its past */
    double *face;       /* [n_internal] scratch */
    double *skew_flux;  /* [mesh n_faces] explicit diffusion, or NULL */
    double *skew_right; /* [n_cells] right side with it, or NULL */
    double *inner[3],
        *outer[3];         /* [boundary faces] coefficient of the cell, right side */
    double *p_inner;       /* [boundary faces] the same for the pressure */
    double *u_boundary[3]; /* [boundary faces] given velocities */
    struct st_ldu u_matrix, p_matrix;
    struct st_solver *u_solve, *p_solve;
    int phase;
    double phase_start_s;
};

/**
 * Make a flow at rest. Collective; ends with an agreement.
 * @param fv borrowed until st_flow_destroy()
 * @param conditions text as in boundary.h
 * @return ST_ERR_CONFIG for conditions that do not fit the mesh, or a closed region whose
 *         given velocities do not balance
 */
enum st_status st_flow_create(struct st_fv *fv, const struct st_flow_options *options,
                              const char *conditions, struct st_flow **out,
                              struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_flow_destroy(struct st_flow **flow);

/** Make phi and the ghosts fit the velocity that was set. Collective. */
enum st_status st_flow_start(struct st_flow *flow, struct st_error *err);
/** One time step or SIMPLE iteration. Collective. */
enum st_status st_flow_step(struct st_flow *flow, struct st_error *err);
/** Change between the faithful and the fast mode; fields stay. Collective. On failure the flow
 * can only be destroyed. */
enum st_status st_flow_set_mode(struct st_flow *flow, bool is_fast, struct st_error *err);
/** Set flow->times to zero. Local. */
void st_flow_clear_times(struct st_flow *flow);

/** Whole-field numbers, over all ranks. */
struct st_flow_check {
    double worst_divergence; /**< greatest |sum of phi over a cell| */
    double sum_divergence;   /**< sum of the same */
    double sum_flux; /**< sum over the cells of sum|phi| / 2: what flows through them */
    double through_flow;  /**< sum |phi| of the patches, half of it */
    double greatest_flux; /**< greatest |phi| of a face */
    double greatest_speed;
    double kinetic_energy; /**< sum of V |u|^2 / 2 over the sum of V */
    double change;         /**< greatest |u - u_old| of the last step */
    double courant;        /**< greatest dt/2 sum|phi| / V */
    bool is_finite;
};
/** Collective; untimed. */
enum st_status st_flow_examine(const struct st_flow *flow, struct st_flow_check *check,
                               struct st_error *err);

/** Bytes of fields and matrices of this rank, without mesh, addressing and solvers. Local. */
double st_flow_heap_bytes(const struct st_flow *flow);

#endif
