#ifndef ST_STATS_HOCKNEY_H
#define ST_STATS_HOCKNEY_H

#include <stdbool.h>
#include <stddef.h>

/* The time of a message by its size: T(s) = alpha + s / beta (Hockney, Parallel Comput. 20,
 * 1994; METHODS 3.1). Pure. */

struct st_hockney {
    double alpha;  /**< seconds */
    double beta;   /**< bytes per second */
    double n_half; /**< bytes at which half of beta is reached: alpha beta */
    double error;  /**< root of the mean squared relative deviation */
};

/**
 * Least squares on relative error.
 * @param bytes  [n] ascending, not negative
 * @param time_s [n] positive
 * @return false (out untouched) for fewer than 2 sizes, values that are not finite, or times
 *         that do not rise with the size: then there is no beta
 */
bool st_hockney_fit(size_t n, const double *bytes, const double *time_s,
                    struct st_hockney *out);

enum {
    ST_HOCKNEY_LEAST = 4 /**< sizes of a range */
};

/** Two ranges: the library sends small messages at once (eager), large ones after asking. */
struct st_hockney_split {
    size_t n_eager; /**< sizes of the first range; the rest is the second */
    struct st_hockney eager, rendezvous;
    bool has_eager, has_rendezvous; /**< false: times do not rise in it */
};

/**
 * Fit both ranges apart, divided where the squared relative errors of both add up to least; each
 * has ST_HOCKNEY_LEAST sizes or more. One straight line divides anywhere: both fits are it then.
 * @return false (out untouched) for fewer than 2 ST_HOCKNEY_LEAST sizes
 */
bool st_hockney_fit_split(size_t n, const double *bytes, const double *time_s,
                          struct st_hockney_split *out);

#endif
