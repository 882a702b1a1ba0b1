/*
 * Reading a solver's own arrays as fast as they can be read.
 */
#include "src/benchmarks/part_read.h"

#include "kernels/stream.h"

double st_read_array(const double *a, size_t n)
{
    const struct stk_span span = {.last = n, .x = a};

    return stk_stream_widest()->ordinary[STK_SUM](&span);
}

double st_read_csr(const struct stk_csr *csr)
{
    const size_t n_parts = csr->rows.n_parts;
    double sum = 0.0;

#pragma omp parallel for default(none) shared(csr, n_parts) schedule(static)             \
    reduction(+ : sum)
    for (size_t t = 0; t < n_parts; t++) {
        const size_t first = csr->row_start[csr->rows.start[t]];
        const size_t end = csr->row_start[csr->rows.start[t + 1]];
        sum += st_read_array(csr->values + first, end - first);
    }
    return sum;
}

double st_read_csr_bytes(const struct stk_csr *csr)
{
    return 8.0 * (double)csr->row_start[csr->rows.start[csr->rows.n_parts]];
}
