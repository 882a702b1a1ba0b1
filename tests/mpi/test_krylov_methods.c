/*
 * Krylov methods on a box and on a matrix that is not symmetric: same iterations at any rank
 * count as an independent program needs, and the known solution. Part of test_mpi_spmv.
 */
#include "src/base/mem.h"
#include "src/benchmarks/part_krylov.h"
#include "tests/mpi/assert_all.h"
#include "tests/mpi/spmv_fixture.h"

#include <math.h>

/*
 * Iterations to 1e-9 of plain conjugate gradients on the 27-point box of 9 x 8 x 7, by numpy:
 * A = 27 I - kron(T7, kron(T8, T9)), T = tridiag(1, 1, 1), b = A 1, textbook loop. The diagonal
 * is constant, so Jacobi needs as many. Sums are grouped by rank: one more or less.
 */
enum {
    BOX_ITERATIONS = 18
};

/* The same with block Gauss-Seidel on 2 x ranks equal blocks, M made of dense triangles of each
 * block; the blocks here have equal nonzeros instead, one more or less again. By rank count. */
static const int block_iterations[] = {0, 16, 20, 23, 23, 0, 0, 23};

static const struct st_krylov_options until_small = {1e-9, 200, false, true};

static bool is_solved(struct st_krylov *k, enum st_krylov_method method,
                      struct st_cg_outcome *outcome)
{
    struct st_error err = {0};
    double residual = 1.0;
    bool good = st_krylov_solve(k, method, &until_small, outcome, &err) == ST_OK &&
                st_krylov_true_residual(k, method, &residual, &err) == ST_OK &&
                outcome->converged && residual <= 1e-8;

    for (size_t i = 0; good && i < k->matrix->n_rows; i++) {
        good = fabs(k->solutions[method][i] - 1.0) <= 1e-5;
    }
    return good;
}

void krylov_methods_agree(void **unused)
{
    const struct st_box box = {{9, 8, 7}, true};
    struct st_error err = {0};
    struct st_matrix *m = NULL;

    (void)unused;
    st_assert_all(&world, make_box(&box, ST_PARTITION_NONZEROS, 2, &m, &err) == ST_OK);
    for (int kind = ST_KRYLOV_NONE; kind <= ST_KRYLOV_MULTIGRID; kind++) {
        struct st_krylov *k = NULL;
        struct st_cg_outcome first = {0};
        st_assert_all(&world,
                      st_krylov_create(&world, m, (enum st_krylov_preconditioner)kind, 7,
                                       &k, &err) == ST_OK);
        for (int method = 0; method < ST_KRYLOV_BICGSTAB; method++) {
            struct st_cg_outcome outcome = {0};
            st_assert_all(&world, is_solved(k, (enum st_krylov_method)method, &outcome));
            first = method == 0 ? outcome : first;
            const double n = (double)outcome.n_iterations;
            st_assert_all(&world, fabs(n - (double)first.n_iterations) <= 1.0);
            const int known = kind == ST_KRYLOV_MULTIGRID ? 0
                              : kind != ST_KRYLOV_SGS     ? BOX_ITERATIONS
                              : world.n_ranks < (int)ST_COUNT(block_iterations)
                                  ? block_iterations[world.n_ranks]
                                  : 0;
            st_assert_all(&world, known == 0 || fabs(n - known) <= 1.0);
        }
        st_krylov_destroy(&k);
    }
    st_matrix_destroy(&m);
}

void bicgstab_solves_what_cg_refuses(void **unused)
{
    char path[PATH_SIZE];
    struct st_error err = {0};
    struct st_matrix *m = NULL;
    struct st_krylov *k = NULL;
    struct st_cg_outcome outcome;

    (void)unused;
    make_file(path, REAL_GENERAL "5 5 13\n1 1 4\n2 2 4\n3 3 4\n4 4 4\n5 5 4\n"
                                 "1 2 -2\n2 3 -2\n3 4 -2\n4 5 -2\n"
                                 "2 1 1\n3 2 1\n4 3 1\n5 4 1\n");
    st_assert_all(&world, load(path, 1, &m, &err) == ST_OK);
    st_assert_all(&world, st_krylov_create(&world, m, ST_KRYLOV_JACOBI, 1, &k, &err) ==
                              ST_ERR_STEP);
    for (int kind = ST_KRYLOV_NONE; kind <= ST_KRYLOV_SGS; kind++) {
        err = (struct st_error){0};
        st_assert_all(&world,
                      st_krylov_create(&world, m, (enum st_krylov_preconditioner)kind,
                                       1U << ST_KRYLOV_BICGSTAB, &k, &err) == ST_OK);
        st_assert_all(&world, is_solved(k, ST_KRYLOV_BICGSTAB, &outcome));
        st_krylov_destroy(&k);
    }
    st_matrix_destroy(&m);
    remove_file(path);
}
