/*
 * Distributed matrices: products of boxes and files against their entries, distribution of
 * files with everything that can go wrong on one rank, conjugate gradients.
 *
 * With arguments "--write FOLDER" the program multiplies and solves the shared real matrices
 * and writes the results for tests/spmv/compare_scipy.py instead.
 */
#include "kernels/splitmix.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/part_cg.h"
#include "tests/mpi/assert_all.h"
#include "tests/mpi/spmv_fixture.h"

#include <omp.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool box_product_is_right(const struct st_box *box, const struct st_matrix *m,
                                 const double *y)
{
    const struct st_row_source source = st_box_source(box);
    bool good = true;

    for (size_t i = 0; i < m->n_rows; i++) {
        struct st_row row;
        double want = 0.0;
        double scale = 0.0;
        source.row(source.context, m->first_row + i, &row);
        for (size_t k = 0; k < row.n; k++) {
            const double term = row.values[k] * stk_random_unit(SEED_X, row.columns[k]);
            want += term;
            scale += fabs(term);
        }
        good = good && fabs(y[i] - want) <= 4.0 * (double)row.n * DBL_EPSILON * scale;
    }
    return good;
}

static void box_products(void **unused)
{
    static const struct st_box boxes[] = {{{6, 5, 9}, true},  {{6, 5, 9}, false},
                                          {{1, 1, 3}, true},  {{40, 1, 1}, false},
                                          {{3, 20, 1}, true}, {{1, 1, 1}, true}};

    (void)unused;
    for (size_t b = 0; b < 8 * ST_COUNT(boxes); b++) {
        const struct st_box *box = &boxes[b / 8];
        const enum st_partition partition =
            b % 2 == 0 ? ST_PARTITION_NONZEROS : ST_PARTITION_ROWS;
        const bool overlap = b / 2 % 2 == 0;
        const size_t n_threads = b / 4 % 2 == 0 ? 1 : 3;
        struct st_error err = {0};
        struct st_matrix *m = NULL;
        enum st_status rc = make_box(box, partition, n_threads, &m, &err);
        st_assert_all(&world, rc == ST_OK);
        double *y = st_calloc(&err, m->n_rows, sizeof *y);
        st_assert_all(&world, y != NULL);
        st_assert_all(&world, multiply(m, overlap, y, &err) == ST_OK);
        st_assert_all(&world, box_product_is_right(box, m, y));
        st_assert_all(&world, m->n_all_nonzeros == st_box_nonzeros(box));
        st_assert_all(&world, m->imbalance >= 1.0 && m->imbalance <= world.n_ranks);
        st_free(y);
        st_matrix_destroy(&m);
    }
}

/* Unsorted rows, one empty row, a place named three times, a dense row. */
static const char unsorted[] =
    REAL_GENERAL "6 6 14\n"
                 "4 6 1\n4 1 2\n4 3 3\n4 2 4\n4 5 5\n4 4 6\n"
                 "1 6 7\n1 1 8\n6 2 1\n6 2 10\n6 1 5\n6 2 100\n"
                 "2 2 9\n5 1 -1\n";
static const double dense[6][6] = {{8, 0, 0, 0, 0, 7},  {0, 9, 0, 0, 0, 0},
                                   {0, 0, 0, 0, 0, 0},  {2, 4, 3, 6, 5, 1},
                                   {-1, 0, 0, 0, 0, 0}, {5, 111, 0, 0, 0, 0}};

static void unsorted_file_is_tidied(void **unused)
{
    char path[PATH_SIZE];

    (void)unused;
    make_file(path, unsorted);
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        struct st_error err = {0};
        struct st_file_rows *rows = NULL;
        st_assert_all(&world,
                      read_rows(path, by_rows ? ST_PARTITION_ROWS : ST_PARTITION_NONZEROS,
                                &rows, &err) == ST_OK);
        bool good = rows->n_duplicates == 2 && rows->n_all_rows == 6;
        double probe = 0.0;
        for (size_t i = 0; i < 6; i++) {
            for (size_t j = 0; j < 6; j++) {
                probe +=
                    stk_random_unit(SEED_W, i) * dense[i][j] * stk_random_unit(SEED_X, j);
            }
        }
        good = good && fabs(rows->probe - probe) <= 50 * DBL_EPSILON * rows->probe_scale;
        for (size_t i = 0; i < rows->n_rows; i++) {
            size_t k = rows->start[i];
            for (size_t j = 0; j < 6; j++) {
                if (dense[rows->first_row + i][j] != 0.0) {
                    good = good && rows->columns[k] == j &&
                           rows->values[k] == dense[rows->first_row + i][j];
                    k++;
                }
            }
            good = good && k == rows->start[i + 1];
        }
        st_assert_all(&world, good);
        st_file_rows_destroy(&rows);
    }
    remove_file(path);
}

/* More than one block of 4 MiB, mirrored, rows in descending order of their columns. */
static void long_files_travel_in_blocks(void **unused)
{
    enum {
        N = 700,
        BAND = 300
    };
    struct st_text text = {0};
    struct st_error err = {0};
    struct st_matrix *m = NULL;
    char path[PATH_SIZE];
    uint64_t n_entries = 0;

    (void)unused;
    for (uint64_t i = 0; i < N; i++) {
        n_entries += i < BAND ? i + 1 : BAND;
    }
    if (world.rank == 0) {
        st_text_add(&text,
                    "%%%%MatrixMarket matrix coordinate integer symmetric\n%d %d "
                    "%" PRIu64 "\n",
                    N, N, n_entries);
        for (int i = N; i >= 1; i--) {
            for (int j = i; j >= 1 && j > i - BAND; j--) {
                st_text_add(&text, "%d %d %d\n", i, j, i + j);
            }
        }
    }
    make_file(path, st_text_get(&text));
    st_text_clear(&text);
    st_assert_all(&world, load(path, 2, &m, &err) == ST_OK);
    st_assert_all(&world, m->n_all_nonzeros == 2 * n_entries - N);
    double *y = st_calloc(&err, m->n_rows, sizeof *y);
    st_assert_all(&world, y != NULL);
    st_assert_all(&world, multiply(m, true, y, &err) == ST_OK);
    bool good = true;
    for (size_t r = 0; r < m->n_rows; r++) {
        const int64_t i = (int64_t)(m->first_row + r);
        double want = 0.0;
        for (int64_t j = 0; j < N; j++) {
            want += llabs(i - j) < BAND
                        ? (double)(i + j + 2) * stk_random_unit(SEED_X, (uint64_t)j)
                        : 0.0;
        }
        good = good && fabs(y[r] - want) <= 4.0 * N * DBL_EPSILON * want;
    }
    st_assert_all(&world, good);
    st_free(y);
    st_matrix_destroy(&m);
    remove_file(path);
}

/* Only rank 0 sees what is wrong; all must leave with its words. */
static void bad_files_fail_everywhere(void **unused)
{
    static const struct {
        const char *text;
        enum st_status rc;
        const char *why;
    } rows[] = {
        {"", ST_ERR_STEP, ":1: the file is empty"},
        {REAL_GENERAL "3 3 2\n1 1 1\n3 4 1\n", ST_ERR_STEP, ":4: column '4'"},
        {REAL_GENERAL "2 3 1\n1 1 1\n", ST_ERR_UNSUPPORTED, "square"},
        {REAL_GENERAL "2 2 0\n", ST_ERR_UNSUPPORTED, "without entries"},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n",
         ST_ERR_UNSUPPORTED, "complex"},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1\n", ST_ERR_STEP,
         ":3:"},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_error err = {0};
        struct st_file_rows *out = NULL;
        char path[PATH_SIZE];
        make_file(path, rows[r].text);
        const enum st_status rc = read_rows(path, ST_PARTITION_NONZEROS, &out, &err);
        st_assert_all(&world, rc == rows[r].rc && out == NULL);
        st_assert_all(&world, strstr(err.text, rows[r].why) != NULL);
        remove_file(path);
    }
    struct st_error err = {0};
    struct st_file_rows *out = NULL;
    st_assert_all(&world, read_rows("/nonexistent.mtx", ST_PARTITION_ROWS, &out, &err) ==
                              ST_ERR_STEP);
    st_assert_all(&world, strstr(err.text, "No such file") != NULL);
}

/* Memory that the file would need and rank 0 may not use: refused before allocating. */
static void files_beyond_memory_are_refused(void **unused)
{
    char path[PATH_SIZE];
    struct st_error err = {0};
    struct st_file_rows *rows = NULL;

    (void)unused;
    make_file(path, REAL_GENERAL "1099511627776 1099511627776 1\n1 1 1\n");
    const struct st_file_request request = {path, ST_PARTITION_ROWS, 1U << 30, 1, 2};
    const uint64_t n_before = st_mem_count();
    st_assert_all(&world,
                  st_file_rows_read(&world, &request, &rows, &err) == ST_ERR_STEP);
    st_assert_all(&world, strstr(err.text, "rows need") != NULL);
    st_assert_all(&world, st_mem_count() - n_before <= 2);
    remove_file(path);
}

/* Conjugate gradients on boxes: converges, the solution is all ones, and says so truthfully. */
static void solver_finds_the_known_solution(void **unused)
{
    static const struct st_box boxes[] = {
        {{8, 8, 8}, true}, {{8, 8, 8}, false}, {{2, 1, 1}, true}};

    (void)unused;
    for (size_t b = 0; b < 4 * ST_COUNT(boxes); b++) {
        const struct st_cg_options options = {1e-10, 200, b / 2 % 2 == 0};
        struct st_error err = {0};
        struct st_matrix *m = NULL;
        struct st_cg *cg = NULL;
        struct st_cg_outcome outcome;
        double residual = 1.0;
        st_assert_all(
            &world, make_box(&boxes[b / 4], ST_PARTITION_NONZEROS, 2, &m, &err) == ST_OK);
        st_assert_all(&world, st_cg_create(&world, m, b % 2 == 0, &cg, &err) == ST_OK);
        for (int again = 0; again < 2; again++) { /* a solve leaves nothing behind */
            st_assert_all(&world, st_cg_solve(cg, &options, &outcome, &err) == ST_OK);
            st_assert_all(&world, outcome.converged && !outcome.broke_down &&
                                      outcome.n_iterations > 0);
        }
        st_assert_all(&world, st_cg_true_residual(cg, &residual, &err) == ST_OK);
        st_assert_all(&world, residual <= 1e-9);
        bool good = true;
        for (size_t i = 0; i < m->n_rows; i++) {
            good = good && fabs(cg->v.x[i] - 1.0) <= 1e-7;
        }
        st_assert_all(&world, good);
        st_cg_destroy(&cg);
        st_matrix_destroy(&m);
    }
}

static void solver_gives_up_where_told(void **unused)
{
    static const struct st_box box = {{8, 8, 8}, false};
    const struct st_cg_options options = {1e-12, 3, true};
    struct st_error err = {0};
    struct st_matrix *m = NULL;
    struct st_cg *cg = NULL;
    struct st_cg_outcome outcome;

    (void)unused;
    st_assert_all(&world, make_box(&box, ST_PARTITION_ROWS, 1, &m, &err) == ST_OK);
    st_assert_all(&world, st_cg_create(&world, m, true, &cg, &err) == ST_OK);
    st_assert_all(&world, st_cg_solve(cg, &options, &outcome, &err) == ST_OK);
    st_assert_all(&world, !outcome.converged && outcome.n_iterations == 3 &&
                              outcome.residual > 1e-12);
    st_cg_destroy(&cg);
    st_matrix_destroy(&m);
}

/* Matrices that conjugate gradients cannot solve are refused, or break down openly. */
static void solver_refuses_other_matrices(void **unused)
{
    static const struct {
        const char *text;
        const char *why; /* NULL: accepted, and must break down */
    } rows[] = {
        {REAL_GENERAL "3 3 5\n1 1 4\n2 2 4\n3 3 4\n1 3 1\n3 1 -1\n",
         "symmetric matrix; x'Ay"},
        {REAL_GENERAL "3 3 3\n1 1 4\n2 2 -4\n3 3 4\n", "row 2 (from 1) has -4"},
        {REAL_GENERAL "3 3 2\n1 1 4\n3 3 4\n", "row 2 (from 1) has 0"},
        {REAL_GENERAL "2 2 4\n1 1 1\n2 2 1\n1 2 -3\n2 1 -3\n",
         NULL}, /* eigenvalues 4 and -2 */
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        const struct st_cg_options options = {1e-10, 50, true};
        struct st_error err = {0};
        struct st_matrix *m = NULL;
        struct st_cg *cg = NULL;
        struct st_cg_outcome outcome;
        char path[PATH_SIZE];
        make_file(path, rows[r].text);
        st_assert_all(&world, load(path, 1, &m, &err) == ST_OK);
        const enum st_status rc = st_cg_create(&world, m, true, &cg, &err);
        if (rows[r].why != NULL) {
            st_assert_all(&world, rc == ST_ERR_STEP && cg == NULL);
            st_assert_all(&world, strstr(err.text, rows[r].why) != NULL);
        } else {
            st_assert_all(&world, rc == ST_OK);
            st_assert_all(&world, st_cg_solve(cg, &options, &outcome, &err) == ST_OK);
            st_assert_all(&world, outcome.broke_down && !outcome.converged);
        }
        st_cg_destroy(&cg);
        st_matrix_destroy(&m);
        remove_file(path);
    }
}

static int set_up(void **state)
{
    struct st_error err = {0};

    (void)state;
    if (stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return -1;
    }
    /* The parts of a split decide what is computed, the threads only who does it. Several
     * ranks with spinning threads on a few cores would take minutes. */
    omp_set_num_threads(world.n_ranks == 1 ? 2 : 1);
    return 0;
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
        cmocka_unit_test(box_products),
        cmocka_unit_test(unsorted_file_is_tidied),
        cmocka_unit_test(long_files_travel_in_blocks),
        cmocka_unit_test(bad_files_fail_everywhere),
        cmocka_unit_test(files_beyond_memory_are_refused),
        cmocka_unit_test(solver_finds_the_known_solution),
        cmocka_unit_test(solver_gives_up_where_told),
        cmocka_unit_test(solver_refuses_other_matrices),
        cmocka_unit_test(krylov_methods_agree),
        cmocka_unit_test(bicgstab_solves_what_cg_refuses),
        cmocka_unit_test(benchmark_on_a_file),
        cmocka_unit_test(overflow_fails_the_verification),
        cmocka_unit_test(stopped_solves_fail_the_verification),
        cmocka_unit_test(failing_allocations_fail_everywhere),
        cmocka_unit_test(memory_is_as_predicted),
    };
    const struct CMUnitTest writing[] = {cmocka_unit_test(write_real_matrices)};
    int n_failed = 0;

    MPI_Init(&argc, &argv);
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        write_folder = argv[2];
        n_failed = cmocka_run_group_tests(writing, set_up, tear_down);
    } else {
        n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    }
    MPI_Finalize();
    return n_failed;
}
