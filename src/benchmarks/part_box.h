#ifndef ST_BENCHMARKS_PART_BOX_H
#define ST_BENCHMARKS_PART_BOX_H

#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Matrices of a box of points, made row by row without communication: 27-point stencil
 * (diagonal 26, every present neighbour -1: METHODS 4.1) and 7-point stencil (diagonal 6),
 * clipped at the boundary. Row number = x + nx (y + ny z). Symmetric, positive definite.
 */
struct st_box {
    uint64_t n[3]; /**< points along x, y, z; at least 1 */
    bool is_full;  /**< 27 points; else 7 */
};

/** @return ST_ERR_CONFIG if rows or nonzeros exceed 64 bits. Local. */
enum st_status st_box_check(const struct st_box *box, struct st_error *err);
/** Rows, and nonzeros: (3nx-2)(3ny-2)(3nz-2) for 27 points. Local; checked boxes only. */
uint64_t st_box_rows(const struct st_box *box);
uint64_t st_box_nonzeros(const struct st_box *box);
/** The box as a source; @p box is borrowed. */
struct st_row_source st_box_source(const struct st_box *box);

/** What one rank of a partition holds, computed without building it. */
struct st_box_share {
    uint64_t n_rows;
    uint64_t n_nonzeros;
    uint64_t
        n_rest; /**< nonzeros that multiply elements of other ranks; an upper figure */
    uint64_t n_ghosts; /**< elements received; an upper figure */
};
/** The share of rank @p rank of @p n_ranks. Local, O(log rows). */
struct st_box_share st_box_share_of(const struct st_box *box, enum st_partition kind,
                                    uint64_t n_ranks, uint64_t rank);

#endif
