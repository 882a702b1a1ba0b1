/*
 * Geometry of polyhedra (OpenFOAM 1912, primitiveMeshFaceCentresAndAreas.C and
 * primitiveMeshCellCentresAndVols.C: the formulas, in that order of operations, so that
 * volumes and interpolation weights agree to rounding).
 */
#include "src/mesh/poly_shape.h"

#include <float.h>
#include <math.h>

double st_vec_length(struct st_vec a)
{
    return sqrt(st_vec_dot(a, a));
}

static struct st_vec cross(struct st_vec a, struct st_vec b)
{
    return (struct st_vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z,
                           a.x * b.y - a.y * b.x};
}

void st_poly_face_shape(int n, const struct st_vec *p, struct st_vec *area,
                        struct st_vec *centre)
{
    struct st_vec mean = p[0];

    for (int i = 1; i < n; i++) {
        mean = st_vec_plus(mean, p[i]);
    }
    mean = st_vec_times(1.0 / n, mean);
    if (n == 3) {
        *centre = mean;
        *area =
            st_vec_times(0.5, cross(st_vec_minus(p[1], p[0]), st_vec_minus(p[2], p[0])));
        return;
    }
    struct st_vec sum = {0.0, 0.0, 0.0};
    struct st_vec moment = {0.0, 0.0, 0.0};
    double total = 0.0;
    for (int i = 0; i < n; i++) {
        const struct st_vec next = p[(i + 1) % n];
        const struct st_vec corners = st_vec_plus(st_vec_plus(p[i], next), mean);
        const struct st_vec normal =
            cross(st_vec_minus(next, p[i]), st_vec_minus(mean, p[i]));
        const double twice = st_vec_length(normal);
        sum = st_vec_plus(sum, normal);
        total += twice;
        moment = st_vec_plus(moment, st_vec_times(twice, corners));
    }
    *centre = total > 0.0 ? st_vec_times(1.0 / (3.0 * total), moment) : mean;
    *area = st_vec_times(0.5, sum);
}

/* One face of a cell, seen from inside: its first sums. */
static void add_to_mean(struct st_poly_sums *s, int64_t id, struct st_vec area,
                        struct st_vec centre)
{
    s->first_face = s->n_faces == 0 || id < s->first_face ? id : s->first_face;
    s->n_faces++;
    s->mean = st_vec_plus(s->mean, centre);
    s->open = st_vec_plus(s->open, area);
    s->area += st_vec_length(area);
}

/* The pyramid over one face: three times its volume and that times its centre. */
static void add_pyramid(struct st_poly_cell *cell, struct st_vec apex, struct st_vec area,
                        struct st_vec centre)
{
    const double thrice = st_vec_dot(area, st_vec_minus(centre, apex));
    const struct st_vec middle =
        st_vec_plus(st_vec_times(0.75, centre), st_vec_times(0.25, apex));

    cell->volume += thrice;
    cell->centre = st_vec_plus(cell->centre, st_vec_times(thrice, middle));
}

void st_poly_cell_shapes(int64_t first, size_t n_cells, size_t n_faces,
                         const struct st_poly_face *faces, struct st_poly_cell *cells,
                         struct st_poly_sums *sums)
{
    const int64_t end = first + (int64_t)n_cells;

    for (size_t i = 0; i < n_faces; i++) {
        const struct st_poly_face *f = &faces[i];
        if (f->owner >= first && f->owner < end) {
            add_to_mean(&sums[f->owner - first], f->id, f->area, f->centre);
        }
        if (f->neighbour >= first && f->neighbour < end) {
            add_to_mean(&sums[f->neighbour - first], f->id, st_vec_times(-1.0, f->area),
                        f->beyond);
        }
    }
    for (size_t c = 0; c < n_cells; c++) {
        const int64_t n = sums[c].n_faces;
        sums[c].mean = st_vec_times(1.0 / (double)(n > 0 ? n : 1), sums[c].mean);
        cells[c] = (struct st_poly_cell){.id = first + (int64_t)c};
    }
    for (size_t i = 0; i < n_faces; i++) {
        const struct st_poly_face *f = &faces[i];
        if (f->owner >= first && f->owner < end) {
            const int64_t c = f->owner - first;
            add_pyramid(&cells[c], sums[c].mean, f->area, f->centre);
        }
        if (f->neighbour >= first && f->neighbour < end) {
            const int64_t c = f->neighbour - first;
            add_pyramid(&cells[c], sums[c].mean, st_vec_times(-1.0, f->area), f->beyond);
        }
    }
    for (size_t c = 0; c < n_cells; c++) {
        cells[c].centre = fabs(cells[c].volume) > DBL_MIN
                              ? st_vec_times(1.0 / cells[c].volume, cells[c].centre)
                              : sums[c].mean;
        cells[c].volume /= 3.0;
    }
}
