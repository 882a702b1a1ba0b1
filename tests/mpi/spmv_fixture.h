#ifndef ST_TESTS_MPI_SPMV_FIXTURE_H
#define ST_TESTS_MPI_SPMV_FIXTURE_H

#include "mpi/comm.h"
#include "src/base/status.h"
#include "src/benchmarks/part_box.h"
#include "src/benchmarks/part_matrix.h"
#include "src/benchmarks/part_matrix_file.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What the parts of test_mpi_spmv share: one program, because each start of MPI costs a
 * second. All functions are collective over the world.
 */

enum {
    SEED_X = 42,
    SEED_W = 43,
    PATH_SIZE = 512
};

#define REAL_GENERAL "%%MatrixMarket matrix coordinate real general\n"

extern struct stm_comm world;

/** A file with the text, made by rank 0; its path on all ranks. */
void make_file(char path[PATH_SIZE], const char *text);
void remove_file(const char *path);

/** Read and distribute a file. */
enum st_status read_rows(const char *path, enum st_partition partition,
                         struct st_file_rows **rows, struct st_error *err);
/** Read a file and make its matrix, partitioned by nonzeros. */
enum st_status load(const char *path, size_t n_threads, struct st_matrix **m,
                    struct st_error *err);
/** Make the matrix of a box. */
enum st_status make_box(const struct st_box *box, enum st_partition partition,
                        size_t n_threads, struct st_matrix **m, struct st_error *err);
/** y = A x with x of SEED_X; NaN wherever the product leaves a row out. */
enum st_status multiply(struct st_matrix *m, bool overlap, double *y,
                        struct st_error *err);

/* test_spmv_bench.c */
void benchmark_on_a_file(void **unused);
void overflow_fails_the_verification(void **unused);
void stopped_solves_fail_the_verification(void **unused);
void failing_allocations_fail_everywhere(void **unused);
void memory_is_as_predicted(void **unused);

/* test_krylov_methods.c */
void krylov_methods_agree(void **unused);
void bicgstab_solves_what_cg_refuses(void **unused);

/* tests/spmv/write_products.c */
extern const char *write_folder;
void write_real_matrices(void **unused);

#endif
