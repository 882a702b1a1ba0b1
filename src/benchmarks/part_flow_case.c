/*
 * Cases of METHODS 4.2 on boxes, and what a mesh from files needs instead.
 */
#include "src/benchmarks/part_flow_case.h"

#include <math.h>
#include <string.h>

struct st_mesh_box st_case_box(enum st_flow_case which, const uint64_t n[3])
{
    const bool is_flat = n[2] == 1;
    /* The side of length 1: the height where walls lie above each other, else the width. */
    const uint64_t unit = which == ST_CASE_CHANNEL || which == ST_CASE_STEP ? n[1] : n[0];
    struct st_mesh_box box = {.is_empty = {false, false, is_flat}};

    for (int axis = 0; axis < 3; axis++) {
        box.n[axis] = (int64_t)n[axis];
        box.length[axis] = (double)n[axis] / (double)unit;
    }
    if (which == ST_CASE_TAYLOR_GREEN) {
        box.length[1] = 1.0; /* its period */
    }
    box.is_periodic[0] = which == ST_CASE_CHANNEL || which == ST_CASE_TAYLOR_GREEN;
    box.is_periodic[1] = which == ST_CASE_TAYLOR_GREEN;
    box.is_periodic[2] = !is_flat && which != ST_CASE_CAVITY;
    return box;
}

void st_case_grown(size_t n_ranks, uint64_t n[3])
{
    const bool is_flat = n[2] == 1;
    const int64_t wide = (int64_t)1 << 15; /* far more cells than ranks along an axis */
    const struct st_mesh_box cube = {.n = {wide, wide, is_flat ? 1 : wide}};
    const struct st_mesh_blocks blocks = st_mesh_blocks_of(&cube, (int)n_ranks);

    for (int axis = 0; axis < (is_flat ? 2 : 3); axis++) {
        n[axis] *= (uint64_t)blocks.ranks[axis];
    }
}

void st_case_cells(uint64_t cells_per_rank, bool is_flat, size_t n_ranks, uint64_t n[3])
{
    const double root =
        is_flat ? sqrt((double)cells_per_rank) : cbrt((double)cells_per_rank);
    const uint64_t edge = root < 2.0 ? 2 : (uint64_t)llround(root);

    n[0] = edge;
    n[1] = edge;
    n[2] = is_flat ? 1 : edge;
    st_case_grown(n_ranks, n);
}

const char *st_case_conditions(enum st_flow_case which, bool is_flat)
{
    switch (which) {
    case ST_CASE_CAVITY:
        return is_flat ? "yMax: velocity 1 0 0; yMin: wall; x*: wall; z*: empty"
                       : "yMax: velocity 1 0 0; yMin: wall; x*: wall; z*: wall";
    case ST_CASE_CHANNEL:
        return is_flat ? "y*: wall; z*: empty" : "y*: wall";
    case ST_CASE_STEP:
        return is_flat ? "xMin: parabola 0.5 1 1; xMax: pressure 0; y*: wall; z*: empty"
                       : "xMin: parabola 0.5 1 1; xMax: pressure 0; y*: wall";
    case ST_CASE_TAYLOR_GREEN:
        return is_flat ? "z*: empty" : "";
    case ST_CASE_MESH:
        break; /* the types of the patches, and what the user says */
    }
    return "";
}

double st_case_force(enum st_flow_case which, double nu)
{
    return which == ST_CASE_CHANNEL ? 2.0 * nu : 0.0; /* u'' = -2 */
}

enum st_status st_case_edge(const struct st_mesh *m, double *edge, struct st_error *err)
{
    double least = (double)INFINITY;

    for (size_t i = 0; i <= m->n_patches; i++) { /* internal faces, then halos */
        const bool is_inside = i == m->n_patches;
        const int32_t first = is_inside ? 0 : m->patches[i].start;
        const int32_t n = is_inside ? m->n_internal : m->patches[i].n;
        for (int32_t f = first;
             (is_inside || m->patches[i].kind == ST_PATCH_HALO) && f < first + n; f++) {
            const struct st_vec d = m->d[f];
            least = fmin(least, sqrt(d.x * d.x + d.y * d.y + d.z * d.z));
        }
    }
    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, m->comm.handle));
    *edge = isfinite(least) ? least : 1.0; /* one cell has no next one */
    return ST_OK;
}

void st_case_initial(enum st_flow_case which, struct st_flow *flow)
{
    const struct st_mesh *m = flow->fv->mesh;
    const double k = 2.0 * acos(-1.0);
    const size_t size = (size_t)m->n_cells * sizeof(double);

    memset(flow->p, 0, size);
    for (int axis = 0; axis < 3; axis++) {
        memset(flow->u[axis], 0, size);
    }
    for (int32_t c = 0; which == ST_CASE_TAYLOR_GREEN && c < m->n_cells; c++) {
        const double x = k * m->centre[c].x;
        const double y = k * m->centre[c].y;
        flow->u[0][c] = sin(x) * cos(y);
        flow->u[1][c] = -cos(x) * sin(y);
    }
}
