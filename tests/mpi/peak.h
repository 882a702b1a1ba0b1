#ifndef ST_TESTS_MPI_PEAK_H
#define ST_TESTS_MPI_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/* This process' peak of resident memory, for comparison with what plan() promised. Local. */

/** Forget the peak so far. @param[out] now resident bytes. @return false: it cannot be told here */
bool peak_reset(uint64_t *now);
/** Bytes of the peak above @p before. */
double peak_since(uint64_t before);
/** Within 10 %? The address sanitizer's shadow, a byte for eight, may come on top. */
bool peak_is_as_predicted(double used, double predicted);

#endif
