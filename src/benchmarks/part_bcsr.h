#ifndef ST_BENCHMARKS_PART_BCSR_H
#define ST_BENCHMARKS_PART_BCSR_H

#include "kernels/bcsr.h"
#include "src/base/mem.h"
#include "src/base/status.h"

#include <stdint.h>

/*
 * A rank's rows in BCSR storage, made from its rows in CSR; parts and their threads are those of
 * the CSR matrix, and each part's pages are touched by its thread.
 */
struct st_bcsr {
    struct stk_bcsr a;
    double fill;                 /**< nonzeros / stored values; 1 if there are none */
    size_t *first_block_row;     /**< backing store; owned */
    struct st_mapping arrays[3]; /**< backing store; owned */
};

/** What a block size would cost, before anything is built. */
struct st_bcsr_size {
    uint64_t n_blocks, n_block_rows;
};

/** Count blocks of side @p side. @p first_row global number of row 0: block rows begin at its
 *  multiples, wherever the ranks' borders are. Local. */
struct st_bcsr_size st_bcsr_count(const struct stk_csr *csr, uint64_t first_row,
                                  size_t side);
/** Minimum traffic of one product of @p n_rows rows, padding included (METHODS 4.3). Local. */
double st_bcsr_work_bytes(const struct st_bcsr_size *size, size_t side, uint64_t n_rows);

/**
 * Local.
 * @param csr  borrowed; square, columns increase within a row; its row split must outlive the
 *             result
 * @param side 2, 3 or 4
 * @param out  owned by the caller on success; st_bcsr_destroy()
 * @return ST_ERR_UNSUPPORTED if there are rows, but fewer than a block has columns
 */
enum st_status st_bcsr_create(const struct stk_csr *csr, uint64_t first_row, size_t side,
                              struct st_bcsr **out, struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_bcsr_destroy(struct st_bcsr **bcsr);

#endif
