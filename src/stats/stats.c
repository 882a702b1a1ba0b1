#include "src/stats/stats.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * One series of samples: order statistics, interval of the median, drift, correlation in
 * time, outlier scores (METHODS 8.1, 8.3). What cannot be known from the samples at hand is
 * NaN, and every comparison is written so that NaN does not pass.
 */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

void st_sort(size_t n, double *values)
{
    if (n > 1) {
        qsort(values, n, sizeof *values, compare);
    }
}

/* Hyndman, Fan, American Statistician 50(4), 1996, definition 7: position (n - 1) p. */
double st_quantile(size_t n, const double *sorted, double p)
{
    if (n == 0 || !(p >= 0.0 && p <= 1.0)) {
        return (double)NAN;
    }
    const double position = (double)(n - 1) * p;
    const size_t below = (size_t)position;
    const double part = position - (double)below;

    if (below + 1 >= n || part == 0.0) {
        return sorted[below];
    }
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double st_median_sorted(size_t n, const double *sorted)
{
    return st_quantile(n, sorted, 0.5);
}

double st_mad(size_t n, const double *values, double centre, double *scratch)
{
    for (size_t i = 0; i < n; i++) {
        scratch[i] = fabs(values[i] - centre);
    }
    st_sort(n, scratch);
    return st_median_sorted(n, scratch);
}

double st_mean_deviation(size_t n, const double *values, double centre)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += fabs(values[i] - centre);
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

double st_mad_factor(size_t n)
{
    /* METHODS 8.3: simulated; near Croux, Rousseeuw, COMPSTAT 1992. */
    static const double small[] = {[3] = 1.49, [4] = 1.36, [5] = 1.21, [6] = 1.20,
                                   [7] = 1.14, [8] = 1.13, [9] = 1.11};

    if (n < 3) {
        return (double)NAN;
    }
    return n < ST_COUNT(small) ? small[n] : (double)n / ((double)n - 0.8);
}

double st_modified_z(double x, double median, double mad, double mean_deviation)
{
    /* Iglewicz, Hoaglin, How to Detect and Handle Outliers, ASQC 1993. */
    if (mad > 0.0) {
        return 0.6745 * (x - median) / mad;
    }
    if (mean_deviation > 0.0) {
        return (x - median) / (1.2533 * mean_deviation);
    }
    return x == median ? 0.0 : (double)NAN;
}

void st_tukey_fences(size_t n, const double *sorted, double factor, double *low,
                     double *high)
{
    const double q1 = st_quantile(n, sorted, 0.25);
    const double q3 = st_quantile(n, sorted, 0.75);

    *low = q1 - factor * (q3 - q1);
    *high = q3 + factor * (q3 - q1);
}

/* Polynomial of degree 7, coefficients in ascending order. */
static double polynomial(const double *c, double x)
{
    double sum = c[7];

    for (size_t i = 7; i-- > 0;) {
        sum = sum * x + c[i];
    }
    return sum;
}

/* Algorithm AS 241, PPND16 (Wichura, Applied Statistics 37(3), 1988): about 1e-16 relative. */
double st_normal_quantile(double p)
{
    static const double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                               1.9715909503065514427e3, 1.3731693765509461125e4,
                               4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[] = {1.0,
                               4.2313330701600911252e1,
                               6.8718700749205790830e2,
                               5.3941960214247511077e3,
                               2.1213794301586595867e4,
                               3.9307895800092710610e4,
                               2.8729085735721942674e4,
                               5.2264952788528545610e3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                               5.76949722146069140550e0,  3.64784832476320460504e0,
                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    const double q = p - 0.5;

    if (!(p > 0.0 && p < 1.0)) {
        return (double)NAN;
    }
    if (fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(a, r) / polynomial(b, r);
    }
    const double r = sqrt(-log(q < 0.0 ? p : 1.0 - p));
    const double x = r <= 5.0 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                              : polynomial(e, r - 5.0) / polynomial(f, r - 5.0);
    return q < 0.0 ? -x : x;
}

enum {
    EXACT_CI_MAX_N = 70
};

/* Largest l with 2 P(Bin(n, 1/2) <= l - 1) <= 1 - confidence; 0 if there is none. Doubles
 * hold the binomials up to n = 70 (1.1e20) with 53 bits, more than the comparison needs. */
static size_t exact_lower_rank(size_t n, double confidence)
{
    double binomial = 1.0; /* C(n, k) */
    double sum = 0.0;
    size_t lower = 0;

    for (size_t k = 0; 2 * k < n; k++) {
        sum += binomial;
        if (!(ldexp(sum, 1 - (int)n) <= 1.0 - confidence)) {
            break;
        }
        lower = k + 1;
        binomial *= (double)(n - k) / (double)(k + 1);
    }
    return lower;
}

/* Order statistics and, beyond n = 70, their normal approximation: Le Boudec, Performance
 * Evaluation of Computer and Communication Systems, 2010; Hoefler, Belli, SC'15. */
bool st_median_ci_ranks(size_t n, double confidence, size_t *lower, size_t *upper)
{
    if (n == 0 || !(confidence > 0.0 && confidence < 1.0)) {
        return false;
    }
    if (n <= EXACT_CI_MAX_N) {
        const size_t l = exact_lower_rank(n, confidence);
        if (l == 0) {
            return false;
        }
        *lower = l;
        *upper = n + 1 - l;
        return true;
    }
    const double z = -st_normal_quantile((1.0 - confidence) / 2.0);
    const double width = z * sqrt((double)n);
    const double l = floor(((double)n - width) / 2.0);
    const double u = ceil(1.0 + ((double)n + width) / 2.0);
    if (!(l >= 1.0 && u <= (double)n)) {
        return false;
    }
    *lower = (size_t)l;
    *upper = (size_t)u;
    return true;
}

size_t st_percentile_min_n(double p, double confidence)
{
    if (!(p > 0.0 && p < 1.0 && confidence > 0.0 && confidence < 1.0)) {
        return SIZE_MAX; /* no number of samples is enough */
    }
    const double n = ceil(log1p(-confidence) / log(p));
    if (!(n < 1e15)) {
        return SIZE_MAX;
    }
    return n > 1.0 ? (size_t)n : 1;
}

/* Number of sorted values below x, or with or_equal not above x. */
static size_t count_below(size_t n, const double *sorted, double x, bool or_equal)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x || (or_equal && sorted[middle] == x)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Spearman's rho is Pearson's coefficient of the ranks; equal values share their mean rank,
 * which the sorted copy gives by two searches. */
static double drift_of(size_t n, const double *values, const double *sorted)
{
    const double middle =
        ((double)n - 1.0) / 2.0; /* mean rank and mean position, from 0 */
    double with_time = 0.0;
    double of_rank = 0.0;
    double of_time = 0.0;

    if (n < 3) {
        return (double)NAN;
    }
    for (size_t i = 0; i < n; i++) {
        const double below = (double)count_below(n, sorted, values[i], false);
        const double up_to = (double)count_below(n, sorted, values[i], true);
        const double rank = (below + up_to - 1.0) / 2.0 - middle;
        const double time = (double)i - middle;
        with_time += rank * time;
        of_rank += rank * rank;
        of_time += time * time;
    }
    return of_rank > 0.0 ? with_time / sqrt(of_rank * of_time) : 0.0;
}

double st_drift(size_t n, const double *values)
{
    double *sorted = st_calloc(NULL, n, sizeof *sorted);

    if (sorted == NULL) {
        return (double)NAN;
    }
    memcpy(sorted, values, n * sizeof *sorted);
    st_sort(n, sorted);
    const double rho = drift_of(n, values, sorted);
    st_free(sorted);
    return rho;
}

static double mean_of(size_t n, const double *values)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

double st_lag1(size_t n, const double *values)
{
    const double mean = mean_of(n, values);
    double square = 0.0;
    double product = 0.0;

    if (n < 3) {
        return 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        square += (values[i] - mean) * (values[i] - mean);
        product += i > 0 ? (values[i - 1] - mean) * (values[i] - mean) : 0.0;
    }
    return square > 0.0 ? product / square : 0.0;
}

double st_effective_n(size_t n, double lag1)
{
    return (double)n * (1.0 - lag1) / (1.0 + lag1);
}

size_t st_next_look(size_t n)
{
    size_t look = 6;

    while (look <= n) {
        if (look > SIZE_MAX / 27 - 10) {
            return SIZE_MAX;
        }
        look = (look * 27 + 10) / 20; /* 1.35 look, rounded */
    }
    return look;
}

/*
 * CI of the median, widened by sqrt(n / n_eff) where neighbouring samples resemble each
 * other. Not for lag1 <= 0: the formula would narrow the interval, and an estimate from few
 * samples is biased downwards (by about -1/n; Kendall, Biometrika 41, 1954), so a negative
 * one is no proof that the samples are better than independent. Not for n < 10: the
 * estimate's own standard error, about 1/sqrt(n), is then larger than what it could show.
 */
static void find_interval(const double *sorted, double confidence, struct st_summary *s)
{
    size_t lower = 0;
    size_t upper = 0;

    s->ci_low = (double)NAN;
    s->ci_high = (double)NAN;
    if (!st_median_ci_ranks(s->n, confidence, &lower, &upper)) {
        return;
    }
    double widening = 1.0;
    if (s->n >= 10 && s->lag1 > 0.0) {
        widening = sqrt((double)s->n / st_effective_n(s->n, s->lag1));
    }
    /* A median lies among the data: widening stops at the extremes (a rate below 0 is none). */
    s->ci_low = fmax(s->min, s->median - widening * (s->median - sorted[lower - 1]));
    s->ci_high = fmin(s->max, s->median + widening * (sorted[upper - 1] - s->median));
}

static double stddev_of(size_t n, const double *values, double mean)
{
    double square = 0.0;

    for (size_t i = 0; i < n; i++) {
        square += (values[i] - mean) * (values[i] - mean);
    }
    return n > 1 ? sqrt(square / (double)(n - 1)) : (double)NAN;
}

void st_summarise(size_t n, const double *values, double confidence, double width,
                  int better, double *scratch, struct st_summary *out)
{
    struct st_summary s = {.n = n};

    if (n > 0) {
        memcpy(scratch, values, n * sizeof *scratch);
        st_sort(n, scratch);
    }
    s.median = st_median_sorted(n, scratch);
    s.min = st_quantile(n, scratch, 0.0);
    s.max = st_quantile(n, scratch, 1.0);
    s.q1 = st_quantile(n, scratch, 0.25);
    s.q3 = st_quantile(n, scratch, 0.75);
    s.mean = mean_of(n, values);
    s.stddev = stddev_of(n, values, s.mean);
    s.p99 = n >= st_percentile_min_n(0.99, confidence) ? st_quantile(n, scratch, 0.99)
                                                       : (double)NAN;
    s.best = better > 0 ? s.max : better < 0 ? s.min : s.median;
    s.drift = drift_of(n, values, scratch);
    s.drifting = n >= 10 && fabs(s.drift) > 0.5;
    s.lag1 = st_lag1(n, values);
    find_interval(scratch, confidence, &s);
    s.converged = (s.ci_high - s.ci_low) / 2.0 <= width * fabs(s.median);
    *out = s;
}

double st_fleet_limit(size_t n)
{
    /* 99 % quantile of max|M|, simulated (METHODS 8.4), linear in log n between. */
    static const struct {
        double n, limit;
    } rows[] = {{5, 19.1}, {8, 8.0},  {10, 6.7},  {16, 5.5},
                {20, 5.2}, {40, 4.5}, {100, 4.3}, {1000, 4.5}};
    const size_t last = ST_COUNT(rows) - 1;
    const double fleet = (double)n;

    if (!(fleet >= rows[0].n)) {
        return (double)NAN;
    }
    for (size_t i = 0; i < last; i++) {
        if (fleet <= rows[i + 1].n) {
            const double share = log(fleet / rows[i].n) / log(rows[i + 1].n / rows[i].n);
            return rows[i].limit + share * (rows[i + 1].limit - rows[i].limit);
        }
    }
    /* Two-sided 1 % over the fleet; 4.42 at 1000, so that the last row holds a little longer. */
    return fmax(rows[last].limit, -st_normal_quantile(0.005 / fleet));
}

double st_fleet_delta(bool is_time)
{
    return is_time ? 0.10 : 0.03;
}
