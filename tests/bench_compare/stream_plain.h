#ifndef ST_TESTS_BENCH_COMPARE_STREAM_PLAIN_H
#define ST_TESTS_BENCH_COMPARE_STREAM_PLAIN_H

#include <stddef.h>

/** a = b + s c as McCalpin's STREAM writes it, compiled by the compiler as it likes. */
void plain_triad(size_t n, double *restrict a, const double *restrict b,
                 const double *restrict c, double s);

#endif
