/*
 * The hinge fit of METHODS 8.6. For a given n_s the model is linear in b, so b has a closed
 * form and only n_s is searched. Between two neighbouring x the squared error is smooth in
 * n_s; the grid of 0.01 is far finer than what a number of cores can mean.
 */
#include "src/stats/knee.h"

#include <math.h>

static const double grid = 0.01;   /* METHODS 8.6 */
static const double enough = 0.95; /* METHODS 8.6 */

/* b and the sum of squared relative errors for one n_s. */
static double error_at(size_t n, const double *x, const double *y, double knee,
                       double *slope)
{
    double gy = 0.0;
    double gg = 0.0;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double g = fmin(x[i], knee) / y[i];
        gy += g;
        gg += g * g;
    }
    *slope = gy / gg;
    for (size_t i = 0; i < n; i++) {
        const double off = 1.0 - *slope * fmin(x[i], knee) / y[i];
        sum += off * off;
    }
    return sum;
}

static bool is_curve(size_t n, const double *x, const double *y)
{
    for (size_t i = 0; i < n; i++) {
        const bool good = x[i] > 0.0 && y[i] > 0.0 && isfinite(x[i]) && isfinite(y[i]) &&
                          (i == 0 || x[i] > x[i - 1]);
        if (!good) {
            return false;
        }
    }
    return n > 0;
}

static double first_at_95(size_t n, const double *x, const double *y)
{
    double most = 0.0;
    size_t i = 0;

    for (size_t k = 0; k < n; k++) {
        most = fmax(most, y[k]);
    }
    while (i + 1 < n && !(y[i] >= enough * most)) {
        i++;
    }
    return x[i];
}

bool st_knee_fit(size_t n, const double *x, const double *y, struct st_knee *out)
{
    struct st_knee best = {.error = HUGE_VAL};

    if (!is_curve(n, x, y)) {
        return false;
    }
    const size_t n_steps = (size_t)ceil((x[n - 1] - x[0]) / grid);
    for (size_t k = 0; k <= n_steps; k++) {
        const double knee = k < n_steps ? x[0] + grid * (double)k : x[n - 1];
        double slope = 0.0;
        const double error = error_at(n, x, y, knee, &slope);
        if (error < best.error) {
            best.error = error;
            best.at = knee;
            best.slope = slope;
        }
    }
    best.plateau = best.slope * best.at;
    best.error = sqrt(best.error / (double)n);
    best.is_saturated = best.at < x[n - 1];
    best.low = x[0];
    best.high = x[n - 1];
    for (size_t i = 0; i < n; i++) {
        if (x[i] <= best.at) {
            best.low = x[i];
        }
        if (x[n - 1 - i] >= best.at) {
            best.high = x[n - 1 - i];
        }
    }
    best.at_95 = first_at_95(n, x, y);
    *out = best;
    return true;
}
