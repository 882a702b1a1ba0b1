#ifndef ST_BENCHMARKS_PART_HPCG_BUILD_H
#define ST_BENCHMARKS_PART_HPCG_BUILD_H

#include "src/benchmarks/part_hpcg.h"

/** Allocate and fill one level of h: matrix, vectors, halo. Collective over h->comm. */
enum {
    ST_HPCG_STEPS = 27 /**< to the neighbours of a point, x fastest; 13 to itself */
};

/** Is there a rank one step d away? Local. */
bool st_hpcg_has_rank(const struct st_hpcg *h, int d);

enum st_status st_hpcg_build_level(struct st_hpcg *h, int level, struct st_error *err);
/** Entries in row @p row of the finest level. Local. */
size_t st_hpcg_row_length(const struct st_hpcg *h, size_t row);
/** Make the diagonal of the finest level huge (the CG test's: times 1e6, or (i+2) 1e6 for global
 * row i < 9), or put it back. Local. */
void st_hpcg_exaggerate(struct st_hpcg *h, bool on);
/** The factor of the above for a row; 1e6 or more. Local. */
double st_hpcg_exaggeration(const struct st_hpcg *h, size_t row);

#endif
