/*
 * One statistic of one series of samples, and what may be concluded from it.
 *
 * The median's interval is the one of st_summarise(), so that the verdict and the figures
 * beside it can never disagree about a method. Bounds of a percentile are order statistics
 * too (Le Boudec 2010, section 2.2.2); they are one-sided because METHODS 8.1 counts the
 * samples so (1 - p^n >= confidence), and because a bound on p99 is asked from one side.
 */
#include "src/judge/judging.h"

#include <math.h>

enum {
    LARGEST_SMALLEST_N = 1100
}; /* 2^-1100 underflows: no confidence below 1 needs more */

size_t st_median_smallest_n(double confidence)
{
    size_t lower = 0;
    size_t upper = 0;

    for (size_t n = 2; n < LARGEST_SMALLEST_N; n++) {
        if (st_median_ci_ranks(n, confidence, &lower, &upper)) {
            return n;
        }
    }
    return SIZE_MAX;
}

/* Logarithm of the binomial probability of k of n at rate q: no overflow at any n. */
static double log_binomial(double n, double k, double q)
{
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(q) +
           (n - k) * log1p(-q);
}

/*
 * Let C be the number of samples above the percentile, Bin(n, 1 - p). Rank u is an upper bound
 * if P(C <= n - u) <= 1 - confidence, rank l a lower one if P(C <= n - l) >= confidence; C is
 * small at p = 0.99, so that the sums have few terms.
 */
bool st_percentile_ranks(size_t n, double p, double confidence, size_t *lower,
                         size_t *upper)
{
    double at_most_c = 0.0;
    size_t l = 1;
    size_t u =
        n; /* the largest sample is a bound if there is any (1 - p^n >= confidence) */

    if (n == 0 || n < st_percentile_min_n(p, confidence)) {
        return false;
    }
    for (size_t c = 0; c < n; c++) {
        at_most_c += exp(log_binomial((double)n, (double)c, 1.0 - p));
        if (at_most_c <= 1.0 - confidence) {
            u = n - c;
        }
        if (at_most_c >= confidence) {
            l = n - c;
            break;
        }
    }
    *lower = l;
    *upper = u;
    return true;
}

enum st_outcome st_classify(double low, double high, double bound, bool at_least)
{
    if (!(low <= high)) {
        return ST_INCONCLUSIVE; /* NaN: no interval, no answer */
    }
    if (at_least ? low >= bound : high <= bound) {
        return ST_PASS;
    }
    if (at_least ? high < bound : low > bound) {
        return ST_FAIL;
    }
    return ST_INCONCLUSIVE; /* the bound lies inside, or is NaN */
}

size_t st_repetitions_needed(size_t n, double low, double high, double value,
                             double bound)
{
    const double ratio = 0.5 * (high - low) / fabs(value - bound);
    const double needed = ceil((double)n * ratio * ratio);

    if (!(needed <= 1e9)) {
        return 0;
    }
    return needed > (double)n ? (size_t)needed : n + 1;
}

static bool all_equal(size_t n, const double *values)
{
    for (size_t i = 1; i < n; i++) {
        if (!(values[i] == values[0])) {
            return false;
        }
    }
    return n > 0;
}

static void estimate_p99(const struct st_estimate_rule *rule, size_t n,
                         const double *values, double *sorted, struct st_estimate *out)
{
    size_t lower = 0;
    size_t upper = 0;

    for (size_t i = 0; i < n; i++) {
        sorted[i] = values[i];
    }
    st_sort(n, sorted);
    out->n_smallest = st_percentile_min_n(0.99, rule->confidence);
    if (st_percentile_ranks(n, 0.99, rule->confidence, &lower, &upper)) {
        out->value = st_quantile(n, sorted, 0.99);
        out->low = sorted[lower - 1];
        out->high = sorted[upper - 1];
    }
}

void st_estimate_of(const struct st_estimate_rule *rule, size_t n, const double *values,
                    double *scratch, struct st_estimate *out)
{
    struct st_summary summary;

    *out = (struct st_estimate){.value = (double)NAN,
                                .low = (double)NAN,
                                .high = (double)NAN,
                                .n = n,
                                .n_smallest = st_median_smallest_n(rule->confidence)};
    if (n == 0) {
        return;
    }
    /* The width decides only summary.converged, which the file holds for its own width. */
    st_summarise(n, values, rule->confidence, 1.0, 0, scratch, &summary);
    out->drifting = summary.drifting;
    switch (rule->statistic) {
    case ST_STAT_MEDIAN:
        out->value = summary.median;
        out->low = summary.ci_low;
        out->high = summary.ci_high;
        break;
    case ST_STAT_P99:
        estimate_p99(rule, n, values, scratch, out);
        break;
    case ST_STAT_MIN:
    case ST_STAT_MAX:
        out->value = rule->statistic == ST_STAT_MIN ? summary.min : summary.max;
        out->low = out->value;
        out->high = out->value;
        out->extreme = true;
        break;
    }
    if (rule->is_count && all_equal(n, values)) {
        out->value = values[0];
        out->low = values[0];
        out->high = values[0];
        out->exact = true;
    }
}
