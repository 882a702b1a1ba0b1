#ifndef ST_BENCHMARKS_PART_FORMAT_H
#define ST_BENCHMARKS_PART_FORMAT_H

#include "mpi/comm.h"
#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The storage of a matrix's interior: the one asked for, or the one measured to be the fastest
 * here.
 */
struct st_format_request {
    enum st_storage storage;
    bool choose;         /**< measure all that may pay instead */
    size_t chunk, sigma; /**< of SELL-C-sigma */
    size_t side;         /**< of the blocks; 0: that with the least traffic */
};

/** What came of it, equal on all ranks. */
struct st_format {
    enum st_storage storage;
    /** Median time of the product in CSR / in each storage; 0: not measured. */
    double gain[ST_STORAGES];
    double sell_fill; /**< beta of the worst rank; 0: not made */
    double
        bcsr_fill; /**< nonzeros / values of all ranks' blocks, of the side with the least
                         traffic even if not made; 0: a rank has too few rows for any */
    size_t side;   /**< of the blocks; 0: not made, since CSR moves fewer bytes */
};

/**
 * Build, try and choose. Collective over @p comm. The ranks agree on one storage: that with
 * the smallest median of the slowest rank's times.
 * @param x, y [n_rows] for trying; y is overwritten
 * @return the same on all ranks; ST_ERR_UNSUPPORTED if blocks are asked for and a rank has too
 *         few rows for one
 */
enum st_status st_format_apply(const struct stm_comm *comm, struct st_matrix *matrix,
                               const struct st_format_request *request, const double *x,
                               double *y, struct st_format *out, struct st_error *err);

#endif
