/*
 * What a curve of latency over size says about the caches; pure functions. Declared in
 * part_chase.h.
 */
#include "src/benchmarks/part_chase.h"
#include "src/stats/stats.h"

#include <math.h>
#include <string.h>

enum {
    MOST_LEVELS = ST_CACHE_LEVELS + 1,
    FEWEST_SIZES =
        2 /* of a level: caches of neighbouring levels differ by a factor of 4 at least */
};
/* Neighbouring levels of real machines differ by a factor of 2 at least; noise and the slow
 * rise by missing translations (TLB) by less than 1.4 between pieces. */
static const double fewest_ratio = 1.4;

/* Prefix sums of the logarithms and their squares. */
struct sums {
    double first[ST_SWEEP_MAX + 1];
    double second[ST_SWEEP_MAX + 1];
};

/* Sum of squares around the mean of [begin, end). */
static double scatter(const struct sums *s, size_t begin, size_t end)
{
    const double n = (double)(end - begin);
    const double sum = s->first[end] - s->first[begin];
    const double squares = s->second[end] - s->second[begin] - sum * sum / n;

    return squares > 0.0 ? squares : 0.0;
}

/* Ends of the best cut into 1 … MOST_LEVELS pieces of the first i values. */
struct cuts {
    double cost[MOST_LEVELS + 1][ST_SWEEP_MAX + 1];
    size_t begin[MOST_LEVELS + 1][ST_SWEEP_MAX + 1]; /* of the last piece */
};

/* Where the last of @p m pieces of the first @p i values begins. */
static void cut_last(const struct sums *s, size_t m, size_t i, struct cuts *c)
{
    for (size_t b = (m - 1) * FEWEST_SIZES; b + FEWEST_SIZES <= i; b++) {
        const double cost = c->cost[m - 1][b] + scatter(s, b, i);
        if (cost < c->cost[m][i]) {
            c->cost[m][i] = cost;
            c->begin[m][i] = b;
        }
    }
}

static void cut(const struct sums *s, size_t n, struct cuts *c)
{
    for (size_t m = 0; m <= MOST_LEVELS; m++) {
        for (size_t i = 0; i <= n; i++) {
            c->cost[m][i] = m == 0 && i == 0 ? 0.0 : (double)INFINITY;
            c->begin[m][i] = 0;
        }
    }
    for (size_t m = 1; m <= MOST_LEVELS; m++) {
        for (size_t i = m * FEWEST_SIZES; i <= n; i++) {
            cut_last(s, m, i, c);
        }
    }
}

static double median_of(size_t n, const double *values)
{
    double sorted[ST_SWEEP_MAX];

    memcpy(sorted, values, n * sizeof *values);
    st_sort(n, sorted);
    return st_median_sorted(n, sorted);
}

/* Pieces of the best cut into @p m; false if two neighbours are one level. */
static bool pieces(const struct cuts *c, size_t n, size_t m, const double *latency_s,
                   size_t begin[MOST_LEVELS + 1], double level[MOST_LEVELS])
{
    begin[m] = n;
    for (size_t k = m; k > 0; k--) {
        begin[k - 1] = c->begin[k][begin[k]];
        level[k - 1] = median_of(begin[k] - begin[k - 1], latency_s + begin[k - 1]);
    }
    for (size_t k = 1; k < m; k++) {
        if (!(level[k] >= fewest_ratio * level[k - 1])) {
            return false;
        }
    }
    return true;
}

void st_plateaus_find(size_t n, const uint64_t *sizes, const double *latency_s,
                      struct st_plateaus *out)
{
    size_t begin[MOST_LEVELS + 1] = {0};
    size_t m = MOST_LEVELS;
    struct sums s = {{0.0}, {0.0}};
    struct cuts c;

    *out = (struct st_plateaus){0};
    if (n == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const double y = log(latency_s[i]);
        s.first[i + 1] = s.first[i] + y;
        s.second[i + 1] = s.second[i] + y * y;
    }
    cut(&s, n, &c);
    while (m > 1 && (n < m * FEWEST_SIZES ||
                     !pieces(&c, n, m, latency_s, begin, out->latency_s))) {
        m--;
    }
    if (m == 1) {
        begin[0] = 0;
        begin[1] = n;
        out->latency_s[0] = median_of(n, latency_s);
    }
    out->n = m;
    for (size_t k = 0; k < m; k++) {
        const double limit =
            k + 1 < m
                ? out->latency_s[k] * pow(out->latency_s[k + 1] / out->latency_s[k], 0.25)
                : (double)INFINITY;
        const size_t end = k + 1 < m ? begin[k + 2] : n;
        for (size_t i = begin[k]; i < end; i++) {
            out->size_bytes[k] =
                latency_s[i] <= limit ? (double)sizes[i] : out->size_bytes[k];
        }
    }
}

/* Sum of |log(found / told)| of one assignment; caches that were not told cost nothing. */
static double mismatch(const struct st_plateaus *found, const uint64_t *told,
                       unsigned chosen)
{
    double sum = 0.0;
    size_t k = 0;

    for (size_t level = 0; level < ST_CACHE_LEVELS; level++) {
        if ((chosen & (1U << level)) != 0) {
            sum += told[level] > 0 ? fabs(log(found->size_bytes[k] / (double)told[level]))
                                   : 0.0;
            k++;
        }
    }
    return sum;
}

static size_t n_chosen(unsigned chosen)
{
    size_t n = 0;

    for (; chosen != 0; chosen >>= 1) {
        n += chosen & 1U;
    }
    return n;
}

void st_plateaus_match(const struct st_plateaus *found,
                       const uint64_t told[ST_CACHE_LEVELS], double size[ST_CACHE_LEVELS])
{
    const size_t n_caches = found->n > 0 ? found->n - 1 : 0;
    unsigned best = 0;
    double least = (double)INFINITY;
    size_t k = 0;

    /* ascending masks: if nothing is told, the first caches are taken */
    for (unsigned chosen = 0; chosen < 1U << ST_CACHE_LEVELS; chosen++) {
        if (n_chosen(chosen) == n_caches) {
            const double cost = mismatch(found, told, chosen);
            if (cost < least) {
                least = cost;
                best = chosen;
            }
        }
    }
    for (size_t level = 0; level < ST_CACHE_LEVELS; level++) {
        const bool has = (best & (1U << level)) != 0;
        size[level] = has ? found->size_bytes[k] : (double)NAN;
        k += has ? 1 : 0;
    }
}

double st_curve_median(size_t n, const uint64_t *sizes, const double *latency_s,
                       double low, double high)
{
    double within[ST_SWEEP_MAX];
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        if ((double)sizes[i] >= low && (double)sizes[i] <= high) {
            within[m++] = latency_s[i];
        }
    }
    if (m == 0) {
        return (double)NAN;
    }
    st_sort(m, within);
    return st_median_sorted(m, within);
}

double st_curve_at(size_t n, const double *bandwidth, const double *latency_s,
                   double wanted)
{
    for (size_t i = 0; i < n; i++) {
        if (bandwidth[i] >= wanted) {
            const double width = i > 0 ? bandwidth[i] - bandwidth[i - 1] : 0.0;
            const double part = width > 0.0 ? (bandwidth[i] - wanted) / width : 0.0;
            return i > 0 ? latency_s[i] - part * (latency_s[i] - latency_s[i - 1])
                         : latency_s[0];
        }
    }
    return (double)NAN;
}
