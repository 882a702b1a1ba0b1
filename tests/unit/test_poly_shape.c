/*
 * Geometry of faces and cells against closed forms: polygons, a tetrahedron, a sheared box, a
 * pyramid, a prism on a hexagon.
 */
#include "src/base/mem.h"
#include "src/mesh/poly_shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool near(struct st_vec a, double x, double y, double z)
{
    return fabs(a.x - x) <= 1e-15 && fabs(a.y - y) <= 1e-15 && fabs(a.z - z) <= 1e-15;
}

static void polygons_are_measured(void **unused)
{
    /* A triangle; a rectangle; a trapezoid with sides 2 and 1, height 1: area 3/2, centroid at
     * y = (2 + 2) / (3 (2 + 1)) = 4/9 and x = 7/9; a hexagon 2 wide and 3/2 high:
     * area 9/4. */
    static const struct {
        int n;
        struct st_vec p[8];
        double area, x, y;
    } rows[] = {
        {3, {{0, 0, 1}, {3, 0, 1}, {0, 3, 1}}, 4.5, 1.0, 1.0},
        {4, {{0, 0, 1}, {2, 0, 1}, {2, 1, 1}, {0, 1, 1}}, 2.0, 1.0, 0.5},
        {4, {{0, 0, 1}, {2, 0, 1}, {1, 1, 1}, {0, 1, 1}}, 1.5, 7.0 / 9.0, 4.0 / 9.0},
        {6,
         {{1, 0, 1},
          {0.5, 0.75, 1},
          {-0.5, 0.75, 1},
          {-1, 0, 1},
          {-0.5, -0.75, 1},
          {0.5, -0.75, 1}},
         2.25,
         0.0,
         0.0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_vec area;
        struct st_vec centre;
        st_poly_face_shape(rows[i].n, rows[i].p, &area, &centre);
        assert_true(near(area, 0.0, 0.0, rows[i].area));
        assert_true(near(centre, rows[i].x, rows[i].y, 1.0));
    }
    /* A skew quadrilateral: its area vector is half the cross product of its diagonals,
     * (1, 1, 0) x (-1, 1, 1) / 2 = (1, -1, 2) / 2. */
    static const struct st_vec skew[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 1}};
    struct st_vec area;
    struct st_vec centre;
    st_poly_face_shape(4, skew, &area, &centre);
    assert_true(near(area, 0.5, -0.5, 1.0));
}

enum {
    MOST_POINTS = 12,
    MOST_FACES = 8
};

struct body {
    int n_points, n_faces;
    struct st_vec p[MOST_POINTS];
    int faces[MOST_FACES][8]; /* points outward, after their number */
    double volume;
    struct st_vec centre;
};

static const struct body bodies[] = {
    /* Tetrahedron: 1/6, mean of its corners. */
    {4,
     4,
     {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
     {{3, 0, 2, 1}, {3, 0, 1, 3}, {3, 0, 3, 2}, {3, 1, 2, 3}},
     1.0 / 6.0,
     {0.25, 0.25, 0.25}},
    /* Box 2 x 1 x 3, sheared by x += y / 2: volume 6, centre of its corners. */
    {8,
     6,
     {{0, 0, 0},
      {2, 0, 0},
      {2.5, 1, 0},
      {0.5, 1, 0},
      {0, 0, 3},
      {2, 0, 3},
      {2.5, 1, 3},
      {0.5, 1, 3}},
     {{4, 0, 3, 2, 1},
      {4, 4, 5, 6, 7},
      {4, 0, 1, 5, 4},
      {4, 2, 3, 7, 6},
      {4, 0, 4, 7, 3},
      {4, 1, 2, 6, 5}},
     6.0,
     {1.25, 0.5, 1.5}},
    /* Pyramid on the unit square, height 1: 1/3, a quarter up. */
    {5,
     5,
     {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0.5, 0.5, 1}},
     {{4, 0, 3, 2, 1}, {3, 0, 1, 4}, {3, 1, 2, 4}, {3, 2, 3, 4}, {3, 3, 0, 4}},
     1.0 / 3.0,
     {0.5, 0.5, 0.25}},
    /* Prism of height 2 on the hexagon above: 4.5. */
    {12,
     8,
     {{1, 0, 0},
      {0.5, 0.75, 0},
      {-0.5, 0.75, 0},
      {-1, 0, 0},
      {-0.5, -0.75, 0},
      {0.5, -0.75, 0},
      {1, 0, 2},
      {0.5, 0.75, 2},
      {-0.5, 0.75, 2},
      {-1, 0, 2},
      {-0.5, -0.75, 2},
      {0.5, -0.75, 2}},
     {{6, 5, 4, 3, 2, 1, 0},
      {6, 6, 7, 8, 9, 10, 11},
      {4, 0, 1, 7, 6},
      {4, 1, 2, 8, 7},
      {4, 2, 3, 9, 8},
      {4, 3, 4, 10, 9},
      {4, 4, 5, 11, 10},
      {4, 5, 0, 6, 11}},
     4.5,
     {0.0, 0.0, 1.0}},
};

/* Each body as the owner of its faces, and again as the neighbour of faces that are reversed. */
static void bodies_are_measured(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(bodies); i++) {
        const struct body *b = &bodies[i];
        struct st_poly_face faces[2 * MOST_FACES];
        struct st_poly_cell cells[2];
        struct st_poly_sums sums[2] = {{.n_faces = 0}, {.n_faces = 0}};
        for (int f = 0; f < b->n_faces; f++) {
            struct st_vec corners[8];
            for (int k = 0; k < b->faces[f][0]; k++) {
                corners[k] = b->p[b->faces[f][k + 1]];
            }
            struct st_poly_face *face = &faces[f];
            *face = (struct st_poly_face){.id = f + 5, .owner = 7, .neighbour = -1};
            st_poly_face_shape(b->faces[f][0], corners, &face->area, &face->centre);
            face->beyond = face->centre;
            faces[b->n_faces + f] = *face;
            faces[b->n_faces + f].owner = 3; /* of another block */
            faces[b->n_faces + f].neighbour = 8;
            faces[b->n_faces + f].area = st_vec_times(-1.0, face->area);
        }
        st_poly_cell_shapes(7, 2, 2 * (size_t)b->n_faces, faces, cells, sums);
        for (int c = 0; c < 2; c++) {
            assert_int_equal(cells[c].id, 7 + c);
            assert_true(fabs(cells[c].volume - b->volume) <= 1e-14);
            assert_true(fabs(cells[c].centre.x - b->centre.x) <= 1e-14 &&
                        fabs(cells[c].centre.y - b->centre.y) <= 1e-14 &&
                        fabs(cells[c].centre.z - b->centre.z) <= 1e-14);
            assert_int_equal(sums[c].n_faces, b->n_faces);
            assert_int_equal(sums[c].first_face, 5);
            assert_true(st_vec_length(sums[c].open) <= 1e-15);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polygons_are_measured),
        cmocka_unit_test(bodies_are_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
