/*
 * Meshes from OpenFOAM's files in distributed memory: a box in files is the box made in place
 * (counts, geometry, closed cells, halos that fit, and the same flow), however it is cut; bent
 * boxes against closed forms; breaks that only geometry shows are told alike by all ranks.
 */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/graph/partition.h"
#include "tests/mesh/poly_writer.h"
#include "tests/mpi/assert_all.h"
#include "tests/mpi/flow_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;
static const struct poly_form ascii = {.is_binary = false};

static const struct {
    struct st_mesh_box box;
    const char *conditions;
} cases[] = {
    {{.n = {6, 5, 4}, .length = {1.0, 1.0, 1.0}},
     "yMax: velocity 1 0 0; yMin: wall; x*: wall; z*: wall"},
    {{.n = {9, 7, 1}, .length = {1.0, 1.0, 0.1}, .is_empty = {false, false, true}},
     "xMin: velocity 1 0 0; xMax: pressure 0; y*: wall"},
    {{.n = {4, 6, 3}, .length = {1.0, 1.0, 1.0}, .is_periodic = {true, false, true}},
     "yMax: velocity 1 0 0; yMin: wall"},
};

static bool has_partition(enum st_poly_partition partition)
{
    return partition != ST_POLY_BY_SCOTCH || st_graph_can_partition();
}

static enum st_status read_box(const struct st_mesh_box *box, void (*bend)(double[3]),
                               enum st_poly_partition partition, struct st_mesh **out,
                               struct st_poly_report *report, struct st_error *err)
{
    struct poly_mesh files = {.n = {0}};

    poly_write_box(box, &ascii, bend, &files);
    const struct st_poly_source source = poly_source(&files);
    const enum st_status rc = st_poly_read(&world, &source, partition, out, report, err);
    poly_free(&files);
    return rc;
}

/* Internal faces in upper-triangular order, patches without gap. */
static bool faces_are_in_order(const struct st_mesh *m)
{
    int32_t next = m->n_internal;

    for (int32_t f = 0; f < m->n_internal; f++) {
        if (m->owner[f] >= m->neighbour[f] || m->neighbour[f] >= m->n_cells ||
            (f > 0 && (m->owner[f - 1] > m->owner[f] ||
                       (m->owner[f - 1] == m->owner[f] &&
                        m->neighbour[f - 1] > m->neighbour[f])))) {
            return false;
        }
    }
    for (size_t i = 0; i < m->n_patches; i++) {
        if (m->patches[i].start != next ||
            (i > 0 && m->patches[i].kind == ST_PATCH_HALO &&
             m->patches[i - 1].rank >= m->patches[i].rank)) {
            return false;
        }
        next += m->patches[i].n;
    }
    return next == m->n_faces;
}

/* Greatest sum of a cell's outward areas, over its share of area. */
static double worst_gap(const struct st_mesh *m)
{
    struct st_error err = {0};
    double worst = 0.0;
    struct st_vec *sum = st_calloc(&err, (size_t)m->n_cells, sizeof *sum);

    for (int32_t f = 0; sum != NULL && f < m->n_faces; f++) {
        const struct st_vec s = m->area[f];
        const int32_t cells[2] = {m->owner[f], f < m->n_internal ? m->neighbour[f] : -1};
        for (int side = 0; side < 2 && cells[side] >= 0; side++) {
            const double sign = side == 0 ? 1.0 : -1.0;
            sum[cells[side]].x += sign * s.x;
            sum[cells[side]].y += sign * s.y;
            sum[cells[side]].z += sign * s.z;
        }
    }
    for (int32_t c = 0; sum != NULL && c < m->n_cells; c++) {
        worst = fmax(worst, fabs(sum[c].x) + fabs(sum[c].y) + fabs(sum[c].z));
    }
    worst = sum == NULL ? (double)INFINITY : worst;
    st_free(sum);
    return worst;
}

/* Centres seen through each face's d: the same from both sides, modulo the periods. */
static bool ways_fit(const struct st_mesh *m, const struct st_mesh_box *box)
{
    struct st_error err = {0};
    struct st_fv *fv = NULL;
    double *centre[3];
    bool fits = st_fv_create(m, ST_LAPLACIAN_CORRECTED, &fv, &err) == ST_OK;

    for (int a = 0; a < 3; a++) {
        centre[a] = st_calloc(&err, (size_t)m->n_cells, sizeof(double));
        fits = fits && centre[a] != NULL;
    }
    for (int32_t c = 0; fits && c < m->n_cells; c++) {
        centre[0][c] = m->centre[c].x;
        centre[1][c] = m->centre[c].y;
        centre[2][c] = m->centre[c].z;
    }
    fits = stm_agree(&world, fits ? ST_OK : ST_ERR_STEP, &err) == ST_OK;
    fits = fits &&
           st_fv_exchange_start(fv, 3, (const double *const *)centre, &err) == ST_OK &&
           st_fv_exchange_finish(fv, &err) == ST_OK;
    for (int32_t f = 0; fits && f < m->n_faces; f++) {
        const bool is_inside = f < m->n_internal;
        if (!is_inside && f < fv->interface_start) {
            continue;
        }
        const double d[3] = {m->d[f].x, m->d[f].y, m->d[f].z};
        for (int a = 0; a < 3; a++) {
            const double other = is_inside ? centre[a][m->neighbour[f]]
                                           : fv->halo.ghost[a][f - fv->interface_start];
            const double gap = fabs(centre[a][m->owner[f]] + d[a] - other);
            fits = fits && (gap <= 1e-12 || fabs(gap - box->length[a]) <= 1e-12);
        }
        fits = fits && m->weight[f] > 0.0 && m->weight[f] < 1.0;
    }
    for (int a = 0; a < 3; a++) {
        st_free(centre[a]);
    }
    st_fv_destroy(&fv);
    return fits;
}

/* Sums over all ranks: cells, volume, cell numbers and their squares, boundary faces. */
static void sum_up(const struct st_mesh *m, double sums[5])
{
    memset(sums, 0, 5 * sizeof *sums);
    sums[0] = m->n_cells;
    for (int32_t c = 0; c < m->n_cells; c++) {
        const double number = (double)m->cell_global[c];
        sums[1] += m->volume[c];
        sums[2] += number;
        sums[3] += number * number;
    }
    for (size_t i = 0; i < m->n_patches; i++) {
        sums[4] += m->patches[i].kind == ST_PATCH_HALO ? 0.0 : m->patches[i].n;
    }
    (void)MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_DOUBLE, MPI_SUM, world.handle);
}

static void meshes_are_sound(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        const struct st_mesh_box *box = &cases[i].box;
        const double n = (double)(box->n[0] * box->n[1] * box->n[2]);
        for (int partition = 0; partition < 3; partition++) {
            struct st_mesh *m = NULL;
            struct st_mesh *made = NULL;
            struct st_poly_report report = {.read_s = -1.0};
            struct st_error err = {0};
            double sums[5];
            double want[5];
            if (!has_partition(partition)) {
                st_assert_all(&world, read_box(box, NULL, partition, &m, &report, &err) ==
                                              ST_ERR_STEP &&
                                          m == NULL &&
                                          strstr(err.text, "without SCOTCH") != NULL);
                continue;
            }
            const enum st_status rc = read_box(box, NULL, partition, &m, &report, &err);
            if (rc != ST_OK) {
                (void)fprintf(stderr, "case %zu: %s\n", i, err.text);
            }
            st_assert_all(&world, rc == ST_OK);
            st_assert_all(&world, st_mesh_box_create(&world, box, &made, &err) == ST_OK);
            sum_up(m, sums);
            sum_up(made, want);
            st_assert_all(&world, sums[0] == n && sums[4] == want[4]);
            st_assert_all(&world, fabs(sums[1] - want[1]) <= 1e-14);
            st_assert_all(&world, sums[2] == n * (n - 1.0) / 2.0 &&
                                      sums[3] == (n - 1.0) * n * (2.0 * n - 1.0) / 6.0);
            st_assert_all(&world, m->n_internal_global == made->n_internal_global);
            st_assert_all(&world, faces_are_in_order(m));
            st_assert_all(&world, worst_gap(m) <= 1e-15);
            st_assert_all(&world, ways_fit(m, box));
            st_assert_all(&world, report.read_s > 0.0 && report.partition_s > 0.0 &&
                                      report.renumber_s >= 0.0 &&
                                      report.non_orthogonality <= 1e-5);
            st_mesh_destroy(&m);
            st_mesh_destroy(&made);
        }
    }
}

/* Equal shares, and cuts of recursive bisection of a cube by hand: 12^3 halves into 144 faces;
 * 4 parts cut both halves of 6 x 12 x 12 into 72 more; 3 parts: a third, 144, and 8 x 12 x 12
 * across its longer side, 96. */
static void blocks_are_equal(void **unused)
{
    static const struct {
        int n_ranks;
        int64_t cuts;
    } rows[] = {{1, 0}, {2, 144}, {3, 240}, {4, 288}};
    const struct st_mesh_box cube = {.n = {12, 12, 12}, .length = {1.0, 1.0, 1.0}};

    (void)unused;
    for (int partition = 0; partition < 3; partition++) {
        struct st_mesh *m = NULL;
        struct st_error err = {0};
        if (!has_partition(partition)) {
            continue;
        }
        st_assert_all(&world, read_box(&cube, NULL, partition, &m, NULL, &err) == ST_OK);
        const double mean = 1728.0 / world.n_ranks;
        const double slack = partition == ST_POLY_BY_SCOTCH ? 0.1 * mean : 3.0;
        st_assert_all(&world, fabs(m->n_cells - mean) <= slack);
        for (size_t i = 0; partition == ST_POLY_BY_BLOCKS && i < ST_COUNT(rows); i++) {
            st_assert_all(&world, world.n_ranks != rows[i].n_ranks ||
                                      m->cut_faces == rows[i].cuts);
        }
        /* Renumbered, a block of a x b x c cells is as wide as its smaller sections are large:
         * a slanted cut through it, at most the sum of two. The file's order of a slab has 144. */
        st_assert_all(&world, m->bandwidth <= 160);
        st_mesh_destroy(&m);
    }
}

/* Sheared, tapered, twisted. */
static void shear(double xyz[3])
{
    xyz[0] += 0.3 * xyz[1] + 0.1 * xyz[2];
}

static void taper(double xyz[3])
{
    xyz[1] *= 1.0 + 0.5 * xyz[0];
}

static void flatten(double xyz[3])
{
    xyz[2] = 0.0;
}

static void twist(double xyz[3])
{
    const double angle = 0.5 * xyz[2];
    const double x = xyz[0] - 0.5;
    const double y = xyz[1] - 0.5;

    xyz[0] = 0.5 + x * cos(angle) - y * sin(angle);
    xyz[1] = 0.5 + x * sin(angle) + y * cos(angle);
}

/*
 * Closed forms. Shear keeps volume 1 and leans the ways between cells: the greatest angle is
 * that between (0.1, 0, 1) or (0.3, 1, 0) and the normals. z: ways (0.1 h, 0, h), normal z:
 * atan 0.1. y: ways (0.3, 1, 0), normal y: atan 0.3. x: ways x, normal (1, -0.3, -0.1):
 * atan sqrt(0.1) = 17.548 degrees, the greatest. The taper's volume is the integral of
 * 1 + x/2 over 0 ... 1: 1.25, exactly for trapezoids.
 */
static void bent_boxes_are_measured(void **unused)
{
    static const struct {
        void (*bend)(double[3]);
        double volume, tolerance, angle;
    } rows[] = {
        {NULL, 1.0, 1e-14, 0.0},
        {shear, 1.0, 1e-14, 17.5484},
        {taper, 1.25, 1e-14, -1.0},
        {twist, 1.0, 1e-2, -1.0}, /* warped faces: sides of straight lines */
    };
    const struct st_mesh_box box = {.n = {6, 6, 6}, .length = {1.0, 1.0, 1.0}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_mesh *m = NULL;
        struct st_poly_report report;
        struct st_error err = {0};
        double sums[5];
        st_assert_all(&world, read_box(&box, rows[i].bend, ST_POLY_BY_BLOCKS, &m, &report,
                                       &err) == ST_OK);
        sum_up(m, sums);
        st_assert_all(&world, fabs(sums[1] - rows[i].volume) <= rows[i].tolerance);
        st_assert_all(&world, rows[i].angle < 0.0 ||
                                  fabs(report.non_orthogonality - rows[i].angle) <= 1e-4);
        st_assert_all(&world, worst_gap(m) <= 1e-15);
        st_mesh_destroy(&m);
    }
}

/* The same flow on the box in files and the box made in place, after three steps. */
static void flows_are_equal(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        struct st_flow_options o = tight_options(0.05, 0.05);
        struct bed made = {.mesh = NULL};
        struct bed read = {.mesh = NULL};
        struct st_error err = {0};
        double worst = 0.0;
        o.is_fast = i == 1;
        st_assert_all(&world,
                      bed_open(&made, &world, &cases[i].box, &o, cases[i].conditions));
        st_assert_all(&world, read_box(&cases[i].box, NULL, ST_POLY_BY_BLOCKS, &read.mesh,
                                       NULL, &err) == ST_OK);
        st_assert_all(&world,
                      st_fv_create(read.mesh, o.laplacian, &read.fv, &err) == ST_OK);
        const enum st_status rc =
            st_flow_create(read.fv, &o, cases[i].conditions, &read.flow, &err);
        if (rc != ST_OK) {
            (void)fprintf(stderr, "case %zu: %s\n", i, err.text);
        }
        st_assert_all(&world, rc == ST_OK);
        st_assert_all(&world, bed_steps(&made, 3) && bed_steps(&read, 3));
        for (int field = 0; field < 4; field++) {
            double *a = gather(&made, field < 3 ? made.flow->u[field] : made.flow->p);
            double *b = gather(&read, field < 3 ? read.flow->u[field] : read.flow->p);
            st_assert_all(&world, a != NULL && b != NULL);
            for (int64_t c = 0; c < read.mesh->n_cells_global; c++) {
                worst = fmax(worst, fabs(a[c] - b[c]));
            }
            free(a);
            free(b);
        }
        st_assert_all(&world, worst <= 1e-9);
        bed_close(&made);
        bed_close(&read);
    }
}

/* What only geometry shows. The box: 3 x 2 x 2 cells of ascii files. */
static void breaks_are_told_by_all(void **unused)
{
    static const struct {
        int file;
        const char *old, *by, *said;
    } rows[] = {
        /* The first internal face with another corner, turned round, with one corner less. */
        {POLY_FACES, "4(1 5 17 13)", "4(1 5 17 0)", "is open"},
        {POLY_FACES, "4(1 5 17 13)", "4(13 17 5 1)", "is open"},
        {POLY_FACES, "4(1 5 17 13)", "3(1 5 17)", "is open"},
        {POLY_POINTS, "(0.33333333333333331 0 0)", "(3 0 0)", "volume"},
        {POLY_NEIGHBOUR, "(\n1\n3\n", "(\n3\n1\n", "upper-triangular"},
        {POLY_NEIGHBOUR, "(\n1\n", "(\n2\n", "is open"},
        {POLY_OWNER, "\n6\n9\n2\n", "\n7\n9\n2\n", "is open"},
        {POLY_OWNER, "(\n0\n", "(\n-5\n", "owner:17: face 0 belongs to cell -5"},
        {POLY_BOUNDARY, "patch;", "wedge;", "boundary:"},
        {POLY_POINTS, "(0 0 0)", NULL, "points:"},
        {POLY_FACES, "4(1 5 17 13)", NULL, "faces:"},
    };
    const struct st_mesh_box box = {.n = {3, 2, 2}, .length = {1.0, 1.0, 1.0}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct poly_mesh files = {.n = {0}};
        struct st_error err = {0};
        struct st_mesh *m = NULL;
        poly_write_box(&box, &ascii, NULL, &files);
        if (rows[i].by == NULL) {
            const char *at = strstr(files.data[rows[i].file], rows[i].old);
            st_assert_all(&world, at != NULL);
            poly_cut(&files, rows[i].file, (size_t)(at - files.data[rows[i].file]));
        } else {
            st_assert_all(&world,
                          poly_replace(&files, rows[i].file, rows[i].old, rows[i].by));
        }
        const struct st_poly_source source = poly_source(&files);
        const enum st_status rc =
            st_poly_read(&world, &source, ST_POLY_BY_BLOCKS, &m, NULL, &err);
        const bool is_told =
            strstr(err.text, rows[i].said) != NULL && strchr(err.text, ':') != NULL;
        if (rc != ST_ERR_STEP || !is_told) {
            (void)fprintf(stderr, "row %zu: wanted '%s', got %d '%s'\n", i, rows[i].said,
                          (int)rc, err.text);
        }
        st_assert_all(&world, rc == ST_ERR_STEP && is_told && m == NULL);
        poly_free(&files);
    }
    struct st_error err = {0};
    struct st_mesh *m = NULL;
    st_assert_all(&world, read_box(&box, flatten, ST_POLY_BY_BLOCKS, &m, NULL, &err) ==
                              ST_ERR_STEP);
    st_assert_all(&world, strncmp(err.text, "faces:17: face 0 has no area", 28) == 0);
}

/* Cyclic sides that do not lie opposite each other; one cell joined with itself. */
static void cyclics_must_match(void **unused)
{
    const struct st_mesh_box good = {
        .n = {2, 3, 2}, .length = {1.0, 1.0, 1.0}, .is_periodic = {true, false, false}};
    const struct st_mesh_box thin = {
        .n = {1, 3, 2}, .length = {1.0, 1.0, 1.0}, .is_periodic = {true, false, false}};
    struct st_mesh *m = NULL;
    struct st_error err = {0};

    (void)unused;
    /* Two cells: joined by two faces, which is allowed. */
    st_assert_all(&world,
                  read_box(&good, NULL, ST_POLY_BY_BLOCKS, &m, NULL, &err) == ST_OK);
    st_assert_all(&world, m->n_internal_global == 12 + 8 + 6);
    st_assert_all(&world, faces_are_in_order(m) && ways_fit(m, &good));
    st_mesh_destroy(&m);
    st_assert_all(&world, read_box(&good, taper, ST_POLY_BY_BLOCKS, &m, NULL, &err) ==
                              ST_ERR_STEP);
    st_assert_all(&world, strstr(err.text, "does not lie opposite face") != NULL &&
                              strncmp(err.text, "faces:", 6) == 0);
    st_assert_all(&world, read_box(&thin, NULL, ST_POLY_BY_BLOCKS, &m, NULL, &err) ==
                              ST_ERR_STEP);
    st_assert_all(&world, strstr(err.text, "joins cell 0 with itself") != NULL);
}

/* One rank runs out of memory at any place: all leave, with that word. */
static void failing_allocations_fail_everywhere(void **unused)
{
    struct poly_mesh files = {.n = {0}};
    uint64_t n = 0;

    (void)unused;
    poly_write_box(&cases[2].box, &ascii, NULL, &files);
    const struct st_poly_source source = poly_source(&files);
    for (uint64_t nth = 0; nth <= n; nth++) {
        struct st_error err = {0};
        struct st_mesh *m = NULL;
        const uint64_t before = st_mem_count();
        const bool is_last = world.rank == world.n_ranks - 1;
        st_mem_fail_at(is_last ? nth : 0);
        const enum st_status rc =
            st_poly_read(&world, &source, ST_POLY_BY_BLOCKS, &m, NULL, &err);
        st_mem_fail_at(0);
        if (nth == 0) { /* counts them */
            n = is_last ? st_mem_count() - before : 0;
            (void)MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_UINT64_T, MPI_MAX, world.handle);
            st_assert_all(&world, n > 20);
        }
        st_assert_all(&world, rc == (nth == 0 ? ST_OK : ST_ERR_MEMORY));
        st_mesh_destroy(&m);
    }
    poly_free(&files);
}

static int set_up(void **state)
{
    struct st_error err = {0};

    (void)state;
    return stm_comm_dup(MPI_COMM_WORLD, &world, &err) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    stm_comm_free(&world);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_are_sound),
        cmocka_unit_test(blocks_are_equal),
        cmocka_unit_test(bent_boxes_are_measured),
        cmocka_unit_test(flows_are_equal),
        cmocka_unit_test(breaks_are_told_by_all),
        cmocka_unit_test(cyclics_must_match),
        cmocka_unit_test(failing_allocations_fail_everywhere),
    };

    MPI_Init(&argc, &argv);
    const int n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    MPI_Finalize();
    return n_failed;
}
