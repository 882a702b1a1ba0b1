#ifndef ST_BENCHMARKS_PART_READ_H
#define ST_BENCHMARKS_PART_READ_H

#include "kernels/csr.h"

#include <stddef.h>

/*
 * The ceiling of a solver measured where it stands: its own matrix read once as STREAM's sum
 * reads an array, with the same ranks and threads on the same pages, right after the section whose
 * share of the ceiling is wanted. All functions are local.
 */

/** Read @p n doubles by the calling thread. @return their sum, to be consumed */
double st_read_array(const double *a, size_t n);
/** Read the values of a CSR matrix, each part by its thread. @return their sum */
double st_read_csr(const struct stk_csr *csr);
/** Bytes that st_read_csr() reads. */
double st_read_csr_bytes(const struct stk_csr *csr);

#endif
