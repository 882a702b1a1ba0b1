#ifndef ST_BENCHMARKS_PART_MATRIX_FILE_H
#define ST_BENCHMARKS_PART_MATRIX_FILE_H

#include "mpi/comm.h"
#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A Matrix Market file, read by rank 0 alone and distributed in blocks: rank 0 never holds
 * more of it than 8 bytes per row and two blocks of 4 MiB.
 */

/** This rank's rows of a file, mirrored, sorted, duplicates summed. */
struct st_file_rows {
    uint64_t n_all_rows;
    uint64_t *
        row_start; /**< [n_ranks + 1] partition; may be taken (set to NULL) by the caller */
    uint64_t first_row;
    size_t n_rows;
    uint64_t *start;   /**< [n_rows + 1] of each own row in columns and values */
    uint64_t *columns; /**< global */
    double *values;
    uint64_t
        n_duplicates; /**< entries added to an earlier one at the same place, all ranks */
    /**
     * The product's fingerprint, formed by rank 0 straight from the file: sum over all
     * entries of w_i a_ij x_j, and of its absolute values, with x and w of the seeds given.
     * A row or an entry that got lost or went astray on its way changes it. Equal on all ranks.
     */
    double probe, probe_scale;
};

/** What rank 0 must know to read. */
struct st_file_request {
    const char *path;
    enum st_partition partition;
    uint64_t memory_bytes; /**< this rank may use; 0: unknown */
    uint64_t seed_x, seed_w;
};

/**
 * Read and distribute. Collective over @p comm; @p request equal on all ranks but for memory.
 * @param out owned by the caller on success; st_file_rows_destroy()
 * @return equal on all ranks: ST_ERR_STEP "FILE:LINE: …" for what is wrong with the file,
 *         ST_ERR_UNSUPPORTED for valid matrices that spmv has no use for (complex, not square)
 */
enum st_status st_file_rows_read(const struct stm_comm *comm,
                                 const struct st_file_request *request,
                                 struct st_file_rows **out, struct st_error *err);
/** Local; accepts NULL. */
void st_file_rows_destroy(struct st_file_rows **rows);
/** Sort each row by column. Local. */
void st_file_rows_sort(struct st_file_rows *rows);
/** As a source of the own rows; borrowed. */
struct st_row_source st_file_rows_source(const struct st_file_rows *rows);

#endif
