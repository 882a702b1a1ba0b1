#ifndef ST_KERNELS_SPLITMIX_H
#define ST_KERNELS_SPLITMIX_H

#include <stddef.h>
#include <stdint.h>

/*
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014; METHODS 0), the one source of test data.
 * Indexed: element i of a seed is the same on any rank and with any number of threads.
 */

/** Output of the generator for state @p s (the state after its increment). */
static inline uint64_t stk_mix64(uint64_t s)
{
    s = (s ^ (s >> 30)) * 0xBF58476D1CE4E5B9U;
    s = (s ^ (s >> 27)) * 0x94D049BB133111EBU;
    return s ^ (s >> 31);
}

/** Element @p i (from 0) of the sequence with @p seed. */
static inline uint64_t stk_random_u64(uint64_t seed, uint64_t i)
{
    return stk_mix64(seed + (i + 1) * 0x9E3779B97F4A7C15U);
}

/** Element @p i as a double in [0, 1), 53 random bits. */
static inline double stk_random_unit(uint64_t seed, uint64_t i)
{
    return (double)(stk_random_u64(seed, i) >> 11) * 0x1.0p-53;
}

/**
 * 0 … n-1 with the first @p k in random order, equal for equal seeds (Fisher and Yates, from
 * the front): all choices of k of n in all orders are equally likely.
 * @param order [n] out
 */
static inline void stk_random_order(uint64_t seed, size_t n, size_t k, size_t *order)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (size_t i = 0; i < k && i < n; i++) {
        const size_t other = i + (size_t)(stk_random_u64(seed, i) % (n - i));
        const size_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

#endif
