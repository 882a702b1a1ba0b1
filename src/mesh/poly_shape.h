#ifndef ST_MESH_POLY_SHAPE_H
#define ST_MESH_POLY_SHAPE_H

#include "src/mesh/mesh.h"

/*
 * Faces and cells of a mesh on their way from files to ranks, and their geometry as OpenFOAM
 * computes it (primitiveMesh): faces from triangles around the mean of their points, cells
 * from pyramids above their faces. All functions are local.
 */

/** A face with what is known of it before its cells are. */
struct st_poly_face {
    int64_t id;               /**< in the file; of a cyclic pair, on the first side */
    int64_t owner, neighbour; /**< cells of the whole mesh; neighbour -1: a boundary */
    int32_t patch;            /**< -1: internal */
    struct st_vec area, centre;
    struct st_vec
        beyond; /**< the centre beside the neighbour: elsewhere for a cyclic pair */
};

struct st_poly_cell {
    int64_t id; /**< in the file */
    struct st_vec centre;
    double volume;
};

/** Sums over the faces of a cell. */
struct st_poly_sums {
    struct st_vec mean; /**< of the face centres */
    struct st_vec open; /**< of the outward areas: nothing for a closed cell */
    double area;        /**< of their magnitudes */
    int64_t n_faces;
    int64_t first_face; /**< the least id of its faces */
};

/** Area vector and centre of a polygon. @param p [n] its points in order, n >= 3 */
void st_poly_face_shape(int n, const struct st_vec *p, struct st_vec *area,
                        struct st_vec *centre);

/**
 * Centres and volumes of the cells first, first + 1 …
 * @param faces [n_faces] all faces of these cells, by rising id; others' cells are left alone
 * @param cells [n_cells] out
 * @param sums  [n_cells] zeroed; out
 */
void st_poly_cell_shapes(int64_t first, size_t n_cells, size_t n_faces,
                         const struct st_poly_face *faces, struct st_poly_cell *cells,
                         struct st_poly_sums *sums);

static inline struct st_vec st_vec_minus(struct st_vec a, struct st_vec b)
{
    return (struct st_vec){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline struct st_vec st_vec_plus(struct st_vec a, struct st_vec b)
{
    return (struct st_vec){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline struct st_vec st_vec_times(double s, struct st_vec a)
{
    return (struct st_vec){s * a.x, s * a.y, s * a.z};
}
static inline double st_vec_dot(struct st_vec a, struct st_vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
double st_vec_length(struct st_vec a);

#endif
