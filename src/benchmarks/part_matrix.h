#ifndef ST_BENCHMARKS_PART_MATRIX_H
#define ST_BENCHMARKS_PART_MATRIX_H

#include "kernels/csr.h"
#include "mpi/comm.h"
#include "mpi/halo.h"
#include "src/base/mem.h"
#include "src/base/status.h"
#include "src/benchmarks/part_bcsr.h"
#include "src/benchmarks/part_sell.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A square sparse matrix distributed by contiguous blocks of rows, and its product with a
 * vector distributed likewise. Numbers of rows and columns are global and 64 bits wide
 * outside; each rank stores 32-bit local ones. What multiplies own elements (interior) and
 * what multiplies elements of other ranks (rest) are stored apart, so that the halo exchange
 * overlaps the interior.
 */

/** Where rows come from: a generator, or entries read from a file. */
struct st_row {
    size_t n;
    const uint64_t *columns;   /**< [n] global, strictly increasing */
    const double *values;      /**< [n] */
    uint64_t column_space[27]; /**< for sources that make rows when asked */
    double value_space[27];
};
struct st_row_source {
    const void *context;
    /** Nonzeros in the rows before @p row (of those the source knows). */
    uint64_t (*before)(const void *context, uint64_t row);
    /** Entries of global row @p row. */
    void (*row)(const void *context, uint64_t row, struct st_row *out);
};

/** How rows are divided: contiguous rows with equal nonzeros, or as many of them, or by
 *  PT-SCOTCH (part_move.h), which begins with equal nonzeros. */
enum st_partition {
    ST_PARTITION_NONZEROS,
    ST_PARTITION_ROWS,
    ST_PARTITION_SCOTCH
};

/**
 * First row of part @p part when rows first … end-1 are cut into @p n_parts contiguous
 * parts; part 0 begins at first, part n_parts is end, and part 0 has a row if there is any.
 * Local. O(log rows).
 */
uint64_t st_partition_start(const struct st_row_source *source, enum st_partition kind,
                            uint64_t first, uint64_t end, size_t n_parts, size_t part);

/** How the interior is stored for products. */
enum st_storage {
    ST_STORAGE_CSR,
    ST_STORAGE_SELL,
    ST_STORAGE_BCSR
};
enum {
    ST_STORAGES = ST_STORAGE_BCSR + 1
};

/** A distributed matrix on this rank. */
struct st_matrix {
    uint64_t *row_start; /**< [n_ranks + 1] first row of each rank; owned */
    uint64_t first_row;  /**< = row_start[rank] */
    size_t n_rows;       /**< own rows = own elements of every vector */
    uint64_t n_nonzeros; /**< own */
    uint64_t n_all_nonzeros;
    double imbalance; /**< nonzeros of the fullest rank / mean over the ranks */
    struct stk_csr interior;
    struct stk_csr_rows rest;
    struct stm_halo *halo;
    uint64_t *ghost_rows; /**< [halo->n_ghosts] global numbers of the ghosts; owned */
    uint64_t *original;   /**< [n_rows] numbers before rows were moved; NULL: the same */
    uint64_t *ghost_original; /**< [halo->n_ghosts] the same of ghosts; both owned */
    enum st_storage storage;  /**< of the interior, used in products */
    struct st_sell *sell;     /**< the interior once more; NULL: not made; owned */
    struct st_bcsr *bcsr;     /**< the same */
    double
        wait_s; /**< sum of the times st_matrix_multiply() spent in the halo exchange */
    size_t *part_starts;         /**< backing store of the two splits; owned */
    struct st_mapping arrays[7]; /**< backing store of the entries; owned */
};

/**
 * Build this rank's rows, each part touched by its thread, and the halo.
 * Collective over @p comm.
 * @param n_threads parts of the row split
 * @param row_start [n_ranks + 1], equal on all ranks; owned by the matrix from now on, also on failure
 * @param source    knows at least this rank's rows; borrowed during the call
 * @param out       owned by the caller on success; st_matrix_destroy()
 * @return the same on all ranks; ST_ERR_STEP if a rank's share exceeds 32-bit local indices
 */
enum st_status st_matrix_create(const struct stm_comm *comm, size_t n_threads,
                                uint64_t *row_start, const struct st_row_source *source,
                                struct st_matrix **out, struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_matrix_destroy(struct st_matrix **matrix);

/**
 * Remember the numbers that rows had before they were moved. Collective.
 * @param original [n_rows] owned by the matrix from now on, also on failure
 * @return the same on all ranks
 */
enum st_status st_matrix_keep_originals(const struct stm_comm *comm,
                                        struct st_matrix *matrix, uint64_t *original,
                                        struct st_error *err);
/** The number that an own row, or a column of own rows, had before. Local. */
uint64_t st_matrix_original(const struct st_matrix *matrix, uint64_t number);

/**
 * Store the interior in SELL-C-sigma as well, and multiply by it from now on; the CSR rows stay
 * for those who look entries up. Local. @param chunk, sigma as for st_sell_create()
 */
enum st_status st_matrix_use_sell(struct st_matrix *matrix, size_t chunk, size_t sigma,
                                  struct st_error *err);
/** The same in blocks. Local. @param side as for st_bcsr_create() */
enum st_status st_matrix_use_bcsr(struct st_matrix *matrix, size_t side,
                                  struct st_error *err);
/** Multiply by a storage that was made (CSR always is), and free the others. Local. */
void st_matrix_keep(struct st_matrix *matrix, enum st_storage storage);

/**
 * y = A x on this rank's rows. Every rank of the matrix's communicator must call it.
 * @param overlap multiply the interior while the halo travels
 * @param x, y    [n_rows], not overlapping
 */
enum st_status st_matrix_multiply(struct st_matrix *matrix, bool overlap, const double *x,
                                  double *y, struct st_error *err);

/** y = A x of the interior alone, in a storage that was made. Local. */
void st_matrix_multiply_interior(const struct st_matrix *matrix, enum st_storage storage,
                                 const double *x, double *y);

/** Minimum traffic and flops of one product on this rank in the storage it uses (METHODS 4.3).
 *  Local. */
double st_matrix_work_bytes(const struct st_matrix *matrix);
double st_matrix_work_flops(const struct st_matrix *matrix);

/** Global entry list of own row @p i, for checks: columns in no particular order. Local.
 *  @param visit called once per entry */
void st_matrix_visit_row(const struct st_matrix *matrix, size_t i,
                         void (*visit)(void *context, uint64_t column, double value),
                         void *context);

/** An untouched array of @p n elements on huge pages where it is long enough for some. Local. */
enum st_status st_array_map(struct st_error *err, size_t n, size_t size,
                            struct st_mapping *out);
/** What such an array occupies once it is touched, whole huge pages included. Local. */
double st_array_bytes(uint64_t n, size_t size);

#endif
