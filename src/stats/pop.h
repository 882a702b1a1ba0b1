#ifndef ST_STATS_POP_H
#define ST_STATS_POP_H

#include <stddef.h>

/*
 * Parallel efficiency split into its causes (POP; METHODS 8.6): how evenly the useful work is
 * spread, and how much of the run the busiest rank spends on it. Pure functions.
 */

/** Sums over ranks, as one reduction brings them. */
struct st_pop_sums {
    double n_ranks;
    double useful_sum_s; /**< sum of the times outside MPI */
    double useful_max_s; /**< that of the busiest rank */
    double runtime_s;    /**< of the slowest rank, MPI included */
};

struct st_pop {
    double load_balance;             /**< mean / maximum of the useful times */
    double communication_efficiency; /**< maximum of the useful times / runtime */
    double parallel_efficiency;      /**< product of both */
};

/** Ratios without a denominator (nothing done, no ranks) and of NaN are NaN. Local. */
struct st_pop st_pop_of(const struct st_pop_sums *sums);

/** The same from a list of useful times, seconds, @p n_ranks of them. Local. */
struct st_pop st_pop_of_ranks(size_t n_ranks, const double *useful_s, double runtime_s);

#endif
