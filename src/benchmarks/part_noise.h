#ifndef ST_BENCHMARKS_PART_NOISE_H
#define ST_BENCHMARKS_PART_NOISE_H

#include <stddef.h>

/* What the times of equal work, or readings of a clock in a tight loop, tell of noise (METHODS 7). Pure. */

struct st_noise {
    double fraction; /**< (mean - min) / min */
    double max_over_min;
    double p999_over_min; /**< 99.9th percentile */
    double kurtosis;      /**< excess, of the population; 0 if all are equal */
};

/** @param times [n] positive, n > 0; sorted afterwards */
struct st_noise st_noise_of(size_t n, double *times);

/** Gaps between readings of a clock, one after another; zero-initialise. */
struct st_gaps {
    double smallest; /**< positive; 0: none yet */
    double lost;     /**< sum of detours: what a gap is longer than the smallest */
    double longest;
    size_t n_detours;
};

/** A gap beyond this many smallest ones is a detour (METHODS 7; Beckman et al., Selfish, 2006). */
#define ST_GAP_FACTOR 9.0

/** Add one gap; gaps of 0 (the clock did not move) are nothing. Inline: part of the loop. */
static inline void st_gaps_add(struct st_gaps *gaps, double gap)
{
    if (gap > 0.0 && (gap < gaps->smallest || gaps->smallest <= 0.0)) {
        gaps->smallest = gap;
    }
    if (gap > ST_GAP_FACTOR * gaps->smallest) {
        const double detour = gap - gaps->smallest;
        gaps->lost += detour;
        gaps->longest = detour > gaps->longest ? detour : gaps->longest;
        gaps->n_detours++;
    }
}

#endif
