/* The peer of the stream kernels: a STREAM triad as anyone would compile it, with -O3. */
#include "tests/bench_compare/stream_plain.h"

void plain_triad(size_t n, double *restrict a, const double *restrict b,
                 const double *restrict c, double s)
{
#pragma omp parallel for default(none) shared(n, a, b, c, s) schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + s * c[i];
    }
}
