/*
 * Products and solves of the shared real matrices, written for compare_scipy.py.
 */
#include "src/base/mem.h"
#include "src/benchmarks/part_cg.h"
#include "tests/mpi/assert_all.h"
#include "tests/mpi/spmv_fixture.h"

#include <inttypes.h>
#include <stdio.h>

/* One vector of all ranks, in order, as text. */
static void write_vector(const char *path, const struct st_matrix *m, const double *y)
{
    for (int turn = 0; turn < world.n_ranks; turn++) {
        bool good = true;
        if (turn == world.rank) {
            FILE *file = fopen(path, turn == 0 ? "w" : "a");
            good = file != NULL;
            for (size_t i = 0; good && i < m->n_rows; i++) {
                good = fprintf(file, "%.17g\n", y[i]) > 0;
            }
            good = file != NULL && fclose(file) == 0 && good;
        }
        st_assert_all(&world, good); /* a barrier too: the next rank appends */
    }
}

const char *write_folder;

void write_real_matrices(void **unused)
{
    static const struct {
        const char *name;
        bool is_definite;
    } files[] = {{"airfoil", true},
                 {"recirc_flow", false},
                 {"unit_cube", true},
                 {"knot", true},
                 {"bar", true}};

    (void)unused;
    for (size_t f = 0; f < ST_COUNT(files); f++) {
        for (int overlap = 0; overlap < 2; overlap++) {
            struct st_error err = {0};
            struct st_matrix *m = NULL;
            struct st_cg *cg = NULL;
            struct st_cg_outcome outcome;
            char path[PATH_SIZE];
            (void)snprintf(path, sizeof path, "%s/matrices/%s.mtx", ST_SHARED_DIR,
                           files[f].name);
            const enum st_status rc = load(path, 2, &m, &err);
            if (rc != ST_OK) {
                (void)fprintf(stderr, "%s\n", err.text);
            }
            st_assert_all(&world, rc == ST_OK);
            double *y = st_calloc(&err, m->n_rows, sizeof *y);
            st_assert_all(&world, y != NULL);
            st_assert_all(&world, multiply(m, overlap == 1, y, &err) == ST_OK);
            (void)snprintf(path, sizeof path, "%s/%s.overlap%d.y", write_folder,
                           files[f].name, overlap);
            write_vector(path, m, y);
            st_assert_all(&world, st_matrix_use_sell(m, 8, 32, &err) == ST_OK);
            st_assert_all(&world, multiply(m, overlap == 1, y, &err) == ST_OK);
            (void)snprintf(path, sizeof path, "%s/%s.sell%d.y", write_folder,
                           files[f].name, overlap);
            write_vector(path, m, y);
            st_matrix_keep(m, ST_STORAGE_CSR);
            for (int jacobi = 0; files[f].is_definite && jacobi < 2; jacobi++) {
                const struct st_cg_options options = {1e-10, 10000, overlap == 1};
                double residual = 0.0;
                st_assert_all(&world,
                              st_cg_create(&world, m, jacobi == 1, &cg, &err) == ST_OK);
                st_assert_all(&world, st_cg_solve(cg, &options, &outcome, &err) == ST_OK);
                st_assert_all(&world, st_cg_true_residual(cg, &residual, &err) == ST_OK);
                if (world.rank == 0) {
                    (void)printf("cg %s jacobi=%d overlap=%d iterations=%" PRIu64
                                 " residual=%.3e true=%.3e\n",
                                 files[f].name, jacobi, overlap, outcome.n_iterations,
                                 outcome.residual, residual);
                }
                st_assert_all(&world, outcome.converged && residual <= 1e-9);
                st_cg_destroy(&cg);
            }
            st_free(y);
            st_matrix_destroy(&m);
        }
    }
}
