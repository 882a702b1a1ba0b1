#ifndef ST_FLOW_BOUNDARY_H
#define ST_FLOW_BOUNDARY_H

#include "src/mesh/mesh.h"

#include <stdbool.h>

/*
 * Boundary conditions by patch, from text a person writes:
 *
 *     movingWall: velocity 1 0 0; side*: wall; outlet: pressure 0; top: symmetry; back: empty
 *
 * A name that ends in * stands for all patches that begin so and are not named themselves.
 * Patches that are not named follow their type in the mesh where it says enough: empty,
 * symmetry or symmetryPlane, and wall, which is at rest.
 */

enum st_bc_kind {
    ST_BC_NONE,
    ST_BC_WALL,     /**< at rest */
    ST_BC_VELOCITY, /**< given; p has no gradient. A moving wall or an inlet */
    ST_BC_PARABOLA, /**< given along x: 6 mean (y-a)(b-y)/(b-a)^2 between y = a and b, else 0 */
    ST_BC_PRESSURE, /**< given; the velocity has no gradient. An outlet */
    ST_BC_SYMMETRY, /**< nothing through it, no friction along it */
    ST_BC_EMPTY     /**< of a direction that a 2-D case leaves out */
};

struct st_bc {
    enum st_bc_kind kind;
    double value[3]; /**< velocity; a, b, mean; pressure */
};

/** Is the text well formed? Patches are not looked at. Local. @return ST_ERR_CONFIG */
enum st_status st_bc_check(const char *text, struct st_error *err);

/**
 * One condition for each patch of the mesh but halos. Local; the same on all ranks.
 * @param out [mesh n_patches]
 * @return ST_ERR_CONFIG if a name is not a patch (the patches are listed), a patch has no
 *         condition or two, or a condition does not suit the patch
 */
enum st_status st_bc_apply(const struct st_mesh *mesh, const char *text,
                           struct st_bc *out, struct st_error *err);

/** Does the condition give the velocity? */
bool st_bc_fixes_velocity(const struct st_bc *bc);
/** The velocity it gives at a point. */
struct st_vec st_bc_velocity(const struct st_bc *bc, struct st_vec at);

#endif
