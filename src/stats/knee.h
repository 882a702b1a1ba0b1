#ifndef ST_STATS_KNEE_H
#define ST_STATS_KNEE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where a curve of a rate against the number of workers stops rising (METHODS 8.6, "knee of a
 * bandwidth curve"). Pure.
 */

struct st_knee {
    double slope;   /**< b: rate of one worker on the rising part */
    double at;      /**< n_s: workers at which the plateau begins */
    double plateau; /**< b n_s */
    double low,
        high;     /**< the measured counts around n_s: what few points can say of it */
    double at_95; /**< smallest measured count with at least 95 % of the largest rate */
    double error; /**< root of the mean squared relative deviation of the fit */
    bool
        is_saturated; /**< false: still rising at the last point, `at` is a lower bound */
};

/**
 * Least squares, on relative error, of y = b min(x, n_s) over n_s between the first and the
 * last x in steps of 0.01, with b free.
 * @param x [n] ascending, positive
 * @param y [n] positive
 * @return false (out untouched) for n = 0 or values that are not positive and finite
 */
bool st_knee_fit(size_t n, const double *x, const double *y, struct st_knee *out);

#endif
