#ifndef ST_BENCHMARKS_PART_FORMAT_H
#define ST_BENCHMARKS_PART_FORMAT_H

#include "mpi/comm.h"
#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The storage of a matrix's interior: SELL-C-sigma because it is asked for, or because it was
 * measured to be faster than CSR here.
 */
struct st_format_request {
    size_t chunk, sigma;
    bool choose; /**< measure both and keep the faster; false: SELL-C-sigma */
};

/** What came of it, equal on all ranks. */
struct st_format {
    bool is_sell;
    double gain;       /**< if measured: median time of the product in CSR / in SELL */
    double least_fill; /**< beta of the worst rank */
};

/**
 * Build, try and choose. Collective over @p comm. The ranks agree on one storage: that with
 * the smaller median of the slowest rank's times.
 * @param x, y [n_rows] for trying; y is overwritten
 */
enum st_status st_format_apply(const struct stm_comm *comm, struct st_matrix *matrix,
                               const struct st_format_request *request, const double *x,
                               double *y, struct st_format *out, struct st_error *err);

#endif
