#ifndef ST_FLOW_GAMG_H
#define ST_FLOW_GAMG_H

#include "src/flow/ldu.h"

/*
 * Agglomeration multigrid of symmetric matrices, as OpenFOAM's GAMG with its defaults: cells
 * joined in pairs across the face of greatest weight, coefficients summed, no sweeps on the way
 * down, 2 to 4 Gauss-Seidel sweeps on the way up, corrections scaled, the coarsest level solved
 * by conjugate gradients with DIC.
 */

/** One coarse level, or the given matrix at level 0. */
struct st_gamg_level {
    struct st_ldu_addr addr; /**< level 0: the caller's */
    struct st_ldu a; /**< level 0: the caller's; else summed at each solve, owned */
    struct st_ldu_exchange exchange;
    double *x, *work;            /**< [n_cells] */
    double *b, *inverse, *r, *p; /**< [n_cells] of levels above 0 */
    int32_t *coarse_of;          /**< [n_cells] of the next level, NULL on the coarsest */
    int32_t *face_to; /**< [n_faces] face of the next level; -1 - cell: inside a cell */
    int32_t *interface_to; /**< [n_interface] of the next level */
    /* Owned addressing of levels above 0. */
    int32_t *owner, *neighbour, *owner_start, *interface_cell;
    struct st_ldu_side *sides;
    double *weight; /**< [n_faces] only while the levels are made */
};

enum {
    ST_GAMG_MOST_LEVELS = 50
};

struct st_gamg {
    int n_levels; /**< with level 0 */
    struct st_gamg_level level[ST_GAMG_MOST_LEVELS];
    double bytes; /**< moved since last set to 0 */
};

/**
 * Make the levels. Collective; ends with an agreement.
 * @param weights [n_faces] of faces, borrowed for the call; NULL: all alike
 */
enum st_status st_gamg_create(const struct st_ldu_addr *addr, const double *weights,
                              struct st_gamg **out, struct st_error *err);
void st_gamg_destroy(struct st_gamg **gamg);
/** Coefficients of all coarse levels from the matrix. Local. */
void st_gamg_load(struct st_gamg *g, const struct st_ldu *a);

/** How exactly the coarsest level is solved. */
struct st_gamg_control {
    double tolerance, relative_tolerance;
};
/** One cycle for A x = b with residual @p r: x is improved. Collective. */
enum st_status st_gamg_cycle(struct st_gamg *g, const struct st_gamg_control *control,
                             const double *b, const double *r, double *x,
                             struct st_error *err);
/** Bytes held. */
double st_gamg_bytes(const struct st_gamg *g);

#endif
