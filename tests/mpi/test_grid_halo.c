/*
 * Boundary exchange of a box: at every rank count, along every axis, each ghost holds the value
 * of the point it stands for in the whole domain, and ghosts outside of it stay as they were.
 */
#include "mpi/agree.h"
#include "mpi/grid_halo.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct stm_comm world;

/* A value that names the field and the place in the domain: 1000 is beyond all coordinates. */
static double value_of(size_t f, const long at[3])
{
    return (double)f * 1e9 + (double)at[2] * 1e6 + (double)at[1] * 1e3 + (double)at[0];
}

/* Fills (first pass) or counts the ghosts that are wrong (second pass). */
static size_t pass(struct stm_grid_halo *h, const uint64_t ranks[3], bool faces,
                   bool fill)
{
    const size_t m = h->n + 2;
    const uint64_t self = (uint64_t)world.rank;
    const long corner[3] = {(long)(self % ranks[0] * h->n),
                            (long)(self / ranks[0] % ranks[1] * h->n),
                            (long)(self / (ranks[0] * ranks[1]) * h->n)};
    size_t n_wrong = 0;

    for (size_t i = 0; i < h->n_fields * m * m * m; i++) {
        const size_t at[3] = {i % m, i / m % m, i / m / m % m};
        long global[3];
        bool inside = true;
        int n_out = 0;
        for (int axis = 0; axis < 3; axis++) {
            global[axis] = corner[axis] + (long)at[axis] - 1;
            inside =
                inside && global[axis] >= 0 && global[axis] < (long)(ranks[axis] * h->n);
            n_out += at[axis] == 0 || at[axis] == h->n + 1;
        }
        const size_t f = i / m / m / m;
        const bool is_own = n_out == 0;
        const bool is_sent = inside && (is_own || n_out == 1 || !faces);
        const double want = is_sent ? value_of(f, global) : -1.0;
        double *const value = &h->field[stm_grid_at(h, f, at)];
        if (fill) {
            *value = is_own ? want : -1.0;
        } else {
            n_wrong += *value != want;
        }
    }
    return n_wrong;
}

static void every_ghost_has_its_value(void **unused)
{
    const uint64_t n = (uint64_t)world.n_ranks;
    const uint64_t grids[][3] = {
        {n, 1, 1}, {1, n, 1}, {1, 1, n}, {n % 2 == 0 ? 2 : 1, 1, n % 2 == 0 ? n / 2 : n}};

    (void)unused;
    for (size_t k = 0; k < 16; k++) {
        const bool faces = k % 2 == 0;
        const size_t points = k % 4 < 2 ? 1 : 5;
        struct stm_grid_halo halo;
        struct st_error err = {0};
        st_assert_all(&world, stm_grid_halo_init(&world, grids[k / 4], points, 1 + k % 3,
                                                 faces, &halo, &err) == ST_OK);
        (void)pass(&halo, grids[k / 4], faces, true);
        st_assert_all(&world, stm_grid_halo_start(&halo, &err) == ST_OK &&
                                  stm_grid_halo_finish(&halo, &err) == ST_OK);
        st_assert_all(&world, pass(&halo, grids[k / 4], faces, false) == 0);
        stm_grid_halo_clear(&halo);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_ghost_has_its_value)};
    struct st_error err = {0};

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return n_failed;
}
