/*
 * Fits of T(s) = alpha + s / beta. Relative errors, because sizes span seven decades: the fit of
 * absolute ones would be that of the largest messages alone.
 */
#include "src/stats/hockney.h"

#include <math.h>

/* Weights 1/T^2: normal equations of two unknowns. @return sum of squared relative errors;
 * infinite if the line does not rise */
static double line(size_t n, const double *bytes, const double *time_s, double *alpha,
                   double *slope)
{
    double w = 0.0;
    double ws = 0.0;
    double wss = 0.0;
    double wt = 0.0;
    double wst = 0.0;
    double error = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double weight = 1.0 / (time_s[i] * time_s[i]);
        w += weight;
        ws += weight * bytes[i];
        wss += weight * bytes[i] * bytes[i];
        wt += weight * time_s[i];
        wst += weight * bytes[i] * time_s[i];
    }
    const double determinant = w * wss - ws * ws;
    *slope = (w * wst - ws * wt) / determinant;
    *alpha = (wss * wt - ws * wst) / determinant;
    for (size_t i = 0; i < n; i++) {
        const double off = (*alpha + *slope * bytes[i] - time_s[i]) / time_s[i];
        error += off * off;
    }
    return isfinite(error) ? error : (double)INFINITY;
}

static bool is_curve(size_t n, const double *bytes, const double *time_s)
{
    for (size_t i = 0; i < n; i++) {
        if (!(bytes[i] >= 0.0) || !isfinite(bytes[i]) || !(time_s[i] > 0.0) ||
            !isfinite(time_s[i]) || (i > 0 && !(bytes[i] > bytes[i - 1]))) {
            return false;
        }
    }
    return true;
}

bool st_hockney_fit(size_t n, const double *bytes, const double *time_s,
                    struct st_hockney *out)
{
    double alpha = 0.0;
    double slope = 0.0;

    if (n < 2 || !is_curve(n, bytes, time_s)) {
        return false;
    }
    const double error = line(n, bytes, time_s, &alpha, &slope);
    if (!(slope > 0.0) || !isfinite(error)) {
        return false;
    }
    *out = (struct st_hockney){.alpha = alpha,
                               .beta = 1.0 / slope,
                               .n_half = alpha / slope,
                               .error = sqrt(error / (double)n)};
    return true;
}

bool st_hockney_fit_split(size_t n, const double *bytes, const double *time_s,
                          struct st_hockney_split *out)
{
    double least = (double)INFINITY;
    size_t best = 0;

    if (n < 2 * ST_HOCKNEY_LEAST || !is_curve(n, bytes, time_s)) {
        return false;
    }
    for (size_t k = ST_HOCKNEY_LEAST; k + ST_HOCKNEY_LEAST <= n; k++) {
        double unused[2];
        const double error = line(k, bytes, time_s, &unused[0], &unused[1]) +
                             line(n - k, bytes + k, time_s + k, &unused[0], &unused[1]);
        if (error < least) {
            least = error;
            best = k;
        }
    }
    if (best == 0) {
        return false;
    }
    *out = (struct st_hockney_split){.n_eager = best};
    out->has_eager = st_hockney_fit(best, bytes, time_s, &out->eager);
    out->has_rendezvous =
        st_hockney_fit(n - best, bytes + best, time_s + best, &out->rendezvous);
    return true;
}
