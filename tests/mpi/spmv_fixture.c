/*
 * Matrices made for tests: of a box, and of files that rank 0 writes.
 */
#include "tests/mpi/spmv_fixture.h"

#include "kernels/vector.h"
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "tests/mpi/assert_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stm_comm world;

void make_file(char path[PATH_SIZE], const char *text)
{
    bool good = true;

    if (world.rank == 0) {
        const char *folder = getenv("TMPDIR");
        (void)snprintf(path, PATH_SIZE, "%s/seatrial-spmv-XXXXXX",
                       folder == NULL ? "/tmp" : folder);
        const int file = mkstemp(path);
        const size_t n = strlen(text);
        good = file >= 0 && write(file, text, n) == (ssize_t)n && close(file) == 0;
    }
    good = MPI_Bcast(path, PATH_SIZE, MPI_CHAR, 0, world.handle) == MPI_SUCCESS && good;
    st_assert_all(&world, good);
}

void remove_file(const char *path)
{
    st_assert_all(&world, world.rank != 0 || unlink(path) == 0);
}

enum st_status read_rows(const char *path, enum st_partition partition,
                         struct st_file_rows **rows, struct st_error *err)
{
    const struct st_file_request request = {path, partition, 0, SEED_X, SEED_W};

    *rows = NULL;
    return st_file_rows_read(&world, &request, rows, err);
}

enum st_status load(const char *path, size_t n_threads, struct st_matrix **m,
                    struct st_error *err)
{
    struct st_file_rows *rows = NULL;
    enum st_status rc = read_rows(path, ST_PARTITION_NONZEROS, &rows, err);

    if (rc == ST_OK) {
        const struct st_row_source source = st_file_rows_source(rows);
        uint64_t *row_start = rows->row_start;
        rows->row_start = NULL;
        rc = st_matrix_create(&world, n_threads, row_start, &source, m, err);
    }
    st_file_rows_destroy(&rows);
    return rc;
}

enum st_status make_box(const struct st_box *box, enum st_partition partition,
                        size_t n_threads, struct st_matrix **m, struct st_error *err)
{
    const struct st_row_source source = st_box_source(box);
    uint64_t *row_start = st_calloc(err, (size_t)world.n_ranks + 1, sizeof *row_start);
    const enum st_status rc =
        stm_agree(&world, row_start == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc != ST_OK || row_start == NULL) {
        st_free(row_start);
        return rc;
    }
    for (size_t p = 0; p <= (size_t)world.n_ranks; p++) {
        row_start[p] = st_partition_start(&source, partition, 0, st_box_rows(box),
                                          (size_t)world.n_ranks, p);
    }
    return st_matrix_create(&world, n_threads, row_start, &source, m, err);
}

enum st_status multiply(struct st_matrix *m, bool overlap, double *y,
                        struct st_error *err)
{
    double *x = st_calloc(err, m->n_rows, sizeof *x);
    enum st_status rc = stm_agree(&world, x == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK && x != NULL) {
        stk_fill_random(&m->interior.rows, SEED_X, m->first_row, x);
        stk_fill(&m->interior.rows, (double)NAN, y);
        rc = st_matrix_multiply(m, overlap, x, y, err);
    }
    st_free(x);
    return rc;
}
