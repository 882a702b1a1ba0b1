/*
 * Generated boxes: counts of METHODS 4.2, order of faces, closed cells, halos that fit, at any
 * rank count, periodic and 2-D ones too; mistakes and failing allocations.
 */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/flow/fv.h"
#include "src/mesh/box.h"
#include "tests/mpi/assert_all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;

static const struct st_mesh_box boxes[] = {
    {.n = {7, 5, 6}, .length = {1.0, 2.0, 0.5}},
    {.n = {8, 8, 1}, .length = {1.0, 1.0, 0.1}, .is_empty = {false, false, true}},
    {.n = {4, 3, 5}, .length = {1.0, 1.0, 1.0}, .is_periodic = {true, true, true}},
    {.n = {9, 4, 1},
     .length = {2.0, 1.0, 1.0},
     .is_periodic = {true, false, false},
     .is_empty = {false, false, true}},
    {.n = {2, 1, 1}, .length = {1.0, 1.0, 1.0}},
};

static void blocks_cut_few_faces(void **unused)
{
    /* METHODS 4.2: 96^3 on 2 x 2 x 2 has 27648 cut faces; by hand: 2 ranks of a flat box are
     * cut across its long side, 7 ranks are a row; periodic ends add a plane. */
    static const struct {
        struct st_mesh_box box;
        int n_ranks;
        int64_t ranks[3], cuts;
    } rows[] = {
        {{.n = {96, 96, 96}}, 8, {2, 2, 2}, 27648},
        {{.n = {96, 96, 96}}, 1, {1, 1, 1}, 0},
        {{.n = {10, 40, 10}}, 2, {1, 2, 1}, 100},
        {{.n = {20, 20, 20}}, 7, {7, 1, 1}, 6 * 400},
        {{.n = {12, 12, 12}, .is_periodic = {true, true, true}}, 3, {3, 1, 1}, 3 * 144},
        {{.n = {64, 64, 1}}, 4, {2, 2, 1}, 128},
        {{.n = {3, 1, 3}}, 7, {7, 1, 1}, 6}, /* idle ranks cannot be avoided */
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const struct st_mesh_blocks got =
            st_mesh_blocks_of(&rows[i].box, rows[i].n_ranks);
        st_assert_all(&world, memcmp(got.ranks, rows[i].ranks, sizeof got.ranks) == 0);
        st_assert_all(&world, got.cut_faces == rows[i].cuts);
    }
}

/* Internal and boundary faces of the whole mesh: 3 N^2 (N - 1) and 6 N^2. */
static void counts_are_the_formulas(void **unused)
{
    const struct st_mesh_box box = {.n = {10, 10, 10}, .length = {1.0, 1.0, 1.0}};
    struct st_mesh *m = NULL;
    struct st_error err = {0};
    int64_t sums[3] = {0, 0, 0}; /* cells, internal, boundary */

    (void)unused;
    st_assert_all(&world, st_mesh_box_create(&world, &box, &m, &err) == ST_OK);
    sums[0] = m->n_cells;
    sums[1] = m->n_internal;
    for (size_t i = 0; i < m->n_patches; i++) {
        sums[2] += m->patches[i].kind == ST_PATCH_HALO ? 0 : m->patches[i].n;
    }
    const int rc =
        MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INT64_T, MPI_SUM, world.handle);
    st_assert_all(&world, rc == MPI_SUCCESS && sums[0] == 1000 && sums[2] == 600);
    st_assert_all(&world, sums[1] + m->cut_faces == 2700 && m->n_internal_global == 2700);
    const struct st_mesh_counts most = st_mesh_box_counts(&box, world.n_ranks);
    st_assert_all(&world, m->n_cells <= most.n_cells &&
                              m->n_internal <= most.n_internal &&
                              m->n_faces <= most.n_faces);
    st_mesh_destroy(&m);
}

static bool faces_are_in_order(const struct st_mesh *m)
{
    for (int32_t f = 0; f < m->n_internal; f++) {
        if (m->owner[f] >= m->neighbour[f] || m->neighbour[f] >= m->n_cells) {
            return false;
        }
        if (f > 0 &&
            (m->owner[f - 1] > m->owner[f] || (m->owner[f - 1] == m->owner[f] &&
                                               m->neighbour[f - 1] >= m->neighbour[f]))) {
            return false;
        }
    }
    int32_t next = m->n_internal;
    for (size_t i = 0; i < m->n_patches; i++) {
        if (m->patches[i].start != next) {
            return false;
        }
        next += m->patches[i].n;
    }
    return next == m->n_faces;
}

/* The areas of a cell's faces add up to nothing; so many faces as the box has sides. */
static bool cells_are_closed(const struct st_mesh *m)
{
    struct st_error err = {0};
    struct st_vec *sum = st_calloc(&err, (size_t)m->n_cells, sizeof *sum);
    double worst = 0.0;

    for (int32_t f = 0; sum != NULL && f < m->n_faces; f++) {
        const struct st_vec s = m->area[f];
        sum[m->owner[f]].x += s.x;
        sum[m->owner[f]].y += s.y;
        sum[m->owner[f]].z += s.z;
        if (f < m->n_internal) {
            sum[m->neighbour[f]].x -= s.x;
            sum[m->neighbour[f]].y -= s.y;
            sum[m->neighbour[f]].z -= s.z;
        }
    }
    for (int32_t c = 0; sum != NULL && c < m->n_cells; c++) {
        worst = fmax(worst, fabs(sum[c].x) + fabs(sum[c].y) + fabs(sum[c].z));
    }
    const bool closed = sum != NULL && worst <= 1e-15;
    st_free(sum);
    return closed;
}

/* Distance modulo the period. */
static bool same(double a, double b, double period)
{
    const double d = fabs(a - b);

    return d <= 1e-12 || fabs(d - period) <= 1e-12;
}

static void meshes_are_sound(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(boxes); i++) {
        const struct st_mesh_box *box = &boxes[i];
        struct st_mesh *m = NULL;
        struct st_fv *fv = NULL;
        struct st_error err = {0};
        double sums[3] = {0.0, 0.0, 0.0}; /* volume, numbers, their squares */
        st_assert_all(&world, st_mesh_box_create(&world, box, &m, &err) == ST_OK);
        st_assert_all(&world,
                      st_fv_create(m, ST_LAPLACIAN_ORTHOGONAL, &fv, &err) == ST_OK);
        st_assert_all(&world, faces_are_in_order(m));
        st_assert_all(&world, cells_are_closed(m));
        double *centre[3];
        for (int a = 0; a < 3; a++) {
            centre[a] = st_calloc(&err, (size_t)m->n_cells, sizeof(double));
            st_assert_all(&world, centre[a] != NULL);
            st_assert_all(&world, fv->is_solved[a] != box->is_empty[a]);
        }
        for (int32_t c = 0; c < m->n_cells; c++) {
            const double id = (double)m->cell_global[c];
            centre[0][c] = m->centre[c].x;
            centre[1][c] = m->centre[c].y;
            centre[2][c] = m->centre[c].z;
            sums[0] += m->volume[c];
            sums[1] += id;
            sums[2] += id * id;
        }
        /* The other side of each halo face is where d says. */
        st_assert_all(&world, st_fv_exchange_start(fv, 3, (const double *const *)centre,
                                                   &err) == ST_OK);
        st_assert_all(&world, st_fv_exchange_finish(fv, &err) == ST_OK);
        bool fits = true;
        for (int32_t k = 0; k < fv->addr.n_interface; k++) {
            const int32_t f = fv->interface_start + k;
            const int32_t c = m->owner[f];
            fits = fits &&
                   same(centre[0][c] + m->d[f].x, fv->halo.ghost[0][k], box->length[0]) &&
                   same(centre[1][c] + m->d[f].y, fv->halo.ghost[1][k], box->length[1]) &&
                   same(centre[2][c] + m->d[f].z, fv->halo.ghost[2][k], box->length[2]);
        }
        for (int32_t f = 0; f < m->n_internal; f++) {
            const int32_t c = m->owner[f];
            const int32_t n = m->neighbour[f];
            fits = fits && same(centre[0][c] + m->d[f].x, centre[0][n], box->length[0]) &&
                   same(centre[1][c] + m->d[f].y, centre[1][n], box->length[1]) &&
                   same(centre[2][c] + m->d[f].z, centre[2][n], box->length[2]) &&
                   m->d[f].x * m->area[f].x + m->d[f].y * m->area[f].y +
                           m->d[f].z * m->area[f].z >
                       0.0;
        }
        st_assert_all(&world, fits);
        st_assert_all(&world, st_fv_sum(fv, 3, sums, &err) == ST_OK);
        const double n = (double)(box->n[0] * box->n[1] * box->n[2]);
        st_assert_all(&world, fabs(sums[0] - box->length[0] * box->length[1] *
                                                 box->length[2]) <= 1e-13);
        /* Numbers 0 … n-1, each once: sums and squares are right only so. */
        st_assert_all(&world, sums[1] == n * (n - 1.0) / 2.0);
        st_assert_all(&world, sums[2] == (n - 1.0) * n * (2.0 * n - 1.0) / 6.0);
        for (int a = 0; a < 3; a++) {
            st_free(centre[a]);
        }
        st_fv_destroy(&fv);
        st_mesh_destroy(&m);
    }
}

static void mistakes_are_refused(void **unused)
{
    static const struct {
        struct st_mesh_box box;
        enum st_status status;
        const char *said;
    } rows[] = {
        {{.n = {0, 1, 1}, .length = {1, 1, 1}}, ST_ERR_CONFIG, "along x, not 0 cells"},
        {{.n = {1, 2, 1}, .length = {1, 1, 1}, .is_periodic = {false, true, false}},
         ST_ERR_CONFIG,
         "at least 3 cells; y has 2"},
        {{.n = {1, 1, 2}, .length = {1, 1, 1}, .is_empty = {false, false, true}},
         ST_ERR_CONFIG,
         "leaves out has one cell; z has 2"},
        {{.n = {1, 1, 1}, .length = {1, -1, 1}}, ST_ERR_CONFIG, "length above 0 along y"},
        {{.n = {1000000, 1000000, 1000000}, .length = {1, 1, 1}},
         ST_ERR_STEP,
         "at least"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        struct st_mesh *m = NULL;
        st_assert_all(&world, st_mesh_box_create(&world, &rows[i].box, &m, &err) ==
                                  rows[i].status);
        st_assert_all(&world, m == NULL && strstr(err.text, rows[i].said) != NULL);
    }
}

static void failing_allocations_fail_everywhere(void **unused)
{
    (void)unused;
    for (uint64_t nth = 1; nth <= 24; nth++) {
        struct st_error err = {0};
        struct st_mesh *m = NULL;
        struct st_fv *fv = NULL;
        st_mem_fail_at(world.rank == world.n_ranks - 1 ? nth : 0);
        enum st_status rc = st_mesh_box_create(&world, &boxes[0], &m, &err);
        if (rc == ST_OK) {
            rc = st_fv_create(m, ST_LAPLACIAN_CORRECTED, &fv, &err);
        }
        st_mem_fail_at(0);
        /* A mesh takes 11, its addressing 11. */
        st_assert_all(&world, rc == (nth <= 22 ? ST_ERR_MEMORY : ST_OK));
        st_fv_destroy(&fv);
        st_mesh_destroy(&m);
    }
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
        cmocka_unit_test(blocks_cut_few_faces),
        cmocka_unit_test(counts_are_the_formulas),
        cmocka_unit_test(meshes_are_sound),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(failing_allocations_fail_everywhere),
    };

    MPI_Init(&argc, &argv);
    const int n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    MPI_Finalize();
    return n_failed;
}
