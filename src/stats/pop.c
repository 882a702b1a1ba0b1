/*
 * POP efficiencies (METHODS 8.6). They are ratios of times; where a time in the denominator
 * is zero or not a number there is no efficiency, and NaN says so.
 */
#include "src/stats/pop.h"

#include <math.h>

static double ratio(double a, double b)
{
    return b > 0.0 ? a / b : (double)NAN;
}

struct st_pop st_pop_of(const struct st_pop_sums *sums)
{
    struct st_pop pop;

    pop.load_balance =
        ratio(ratio(sums->useful_sum_s, sums->n_ranks), sums->useful_max_s);
    pop.communication_efficiency = ratio(sums->useful_max_s, sums->runtime_s);
    pop.parallel_efficiency = pop.load_balance * pop.communication_efficiency;
    return pop;
}

struct st_pop st_pop_of_ranks(size_t n_ranks, const double *useful_s, double runtime_s)
{
    struct st_pop_sums sums = {.n_ranks = (double)n_ranks, .runtime_s = runtime_s};

    for (size_t i = 0; i < n_ranks; i++) {
        sums.useful_sum_s += useful_s[i];
        /* A NaN reaches the sum, and so the load balance; here it must not get lost. */
        if (!(useful_s[i] <= sums.useful_max_s)) {
            sums.useful_max_s = useful_s[i];
        }
    }
    if (isnan(sums.useful_sum_s)) {
        sums.useful_max_s = (double)NAN;
    }
    return st_pop_of(&sums);
}
