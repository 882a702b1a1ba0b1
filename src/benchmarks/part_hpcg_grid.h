#ifndef ST_BENCHMARKS_PART_HPCG_GRID_H
#define ST_BENCHMARKS_PART_HPCG_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The numbers of HPCG's problem, without building it: process grid, nonzeros, flops, memory
 * (METHODS 4.1, from the reference code, version 3.1). Everything is local and pure.
 */

enum {
    ST_HPCG_LEVELS = 4
};

/** How a level keeps its matrix. All give the same iterates up to rounding. */
enum st_hpcg_storage {
    ST_HPCG_CSR,    /**< plain CSR, the reference's loops */
    ST_HPCG_HALVES, /**< kernels/lu.h: within HPCG's rules */
    ST_HPCG_STENCIL /**< kernels/box27.h: no matrix, outside the rules */
};

/** Shape of the problem: ranks along each axis times points of each rank. */
struct st_hpcg_grid {
    uint64_t ranks[3];
    uint64_t n[3]; /**< points of one rank on the finest level; multiples of 8 */
};

/**
 * Ranks along x, y, z as the reference code places them: the factors of the smallest surface,
 * the first found of equals. (Its special rules for up to three prime factors included.)
 */
void st_hpcg_rank_grid(uint64_t n_ranks, uint64_t ranks[3]);

/** Rows of one rank on @p level (0 is the finest). */
uint64_t st_hpcg_rows(const struct st_hpcg_grid *grid, int level);
/** Nonzeros of the global matrix of a level, as a double: (3Nx-2)(3Ny-2)(3Nz-2). Exact below 2^53. */
double st_hpcg_nonzeros(const struct st_hpcg_grid *grid, int level);
/** Most elements that one rank receives on a level. */
uint64_t st_hpcg_ghosts(const struct st_hpcg_grid *grid, int level);
/** Smallest over greatest of three counts. */
double st_hpcg_aspect(const uint64_t n[3]);

/** Official flops of one set of so many iterations, all ranks. */
struct st_hpcg_flops {
    double dot, waxpby, spmv, mg, total;
};
struct st_hpcg_flops st_hpcg_flops_of(const struct st_hpcg_grid *grid,
                                      uint64_t n_iterations);

/**
 * Rating in flop/s: flops of @p n_sets sets over their time and a tenth of the set-up for each
 * set; of @p n_iterations a set, those beyond the reference's @p n_reference are not credited.
 */
double st_hpcg_rating(const struct st_hpcg_grid *grid, uint64_t n_reference,
                      uint64_t n_iterations, double n_sets, double time_s,
                      double setup_s);

/** Peak bytes of one rank. */
double st_hpcg_bytes(const struct st_hpcg_grid *grid, enum st_hpcg_storage storage);

#endif
