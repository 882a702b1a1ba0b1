/* Statistics of fixed-work quanta (METHODS 7). */
#include "src/benchmarks/part_noise.h"

#include "src/stats/stats.h"

struct st_noise st_noise_of(size_t n, double *times)
{
    struct st_noise noise = {0};
    double sum = 0.0;
    double square = 0.0; /* central moments, two passes: no digits are lost */
    double fourth = 0.0;

    st_sort(n, times);
    for (size_t i = 0; i < n; i++) {
        sum += times[i];
    }
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = times[i] - mean;
        square += d * d;
        fourth += d * d * d * d;
    }
    noise.fraction = (mean - times[0]) / times[0];
    noise.max_over_min = times[n - 1] / times[0];
    noise.p999_over_min = st_quantile(n, times, 0.999) / times[0];
    noise.kurtosis =
        times[n - 1] > times[0] ? (double)n * fourth / (square * square) - 3.0 : 0.0;
    return noise;
}
