#ifndef ST_BENCHMARKS_PART_STREAM_VALUES_H
#define ST_BENCHMARKS_PART_STREAM_VALUES_H

#include "kernels/stream.h"

/*
 * What the elements of the stream arrays must be. Every kernel changes all elements of an
 * array alike, so one number per array, the mirror, follows them; with it goes a bound of the
 * rounding error (running error analysis: Higham, Accuracy and Stability of Numerical
 * Algorithms, 3.3), from which the tolerance of the verification comes. Local and pure.
 */

/** The value that an element must have, and how far rounding may have taken it. */
struct st_stream_value {
    double value, error;
};

/**
 * BabelStream's start values, except that c starts at 0.14 instead of 0, which is its value
 * after the first round: zeros stored over zeros are not written at all on some processors.
 */
extern const double st_stream_start[STK_N_ARRAYS];

/**
 * The factor s > 0 for the next call of @p kernel: BabelStream's 0.4, or, if that would take
 * the result out of [1e-6, 1e2], the one with which s times its operand is a start value. So
 * the values stay far from overflow and denormals for any sequence of calls, their relative
 * errors only add up, and no call does other work than the rest.
 */
double st_stream_factor(enum stk_stream_kernel kernel,
                        const struct st_stream_value m[STK_N_ARRAYS]);

/** What @p kernel makes of an element; for sum and dot the term that it adds. */
struct st_stream_value st_stream_after(enum stk_stream_kernel kernel,
                                       const struct st_stream_value m[STK_N_ARRAYS],
                                       double factor);

#endif
