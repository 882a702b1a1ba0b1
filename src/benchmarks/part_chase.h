#ifndef ST_BENCHMARKS_PART_CHASE_H
#define ST_BENCHMARKS_PART_CHASE_H

#include "kernels/chase.h"
#include "src/base/bench.h"
#include "src/base/mem.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What the latency benchmarks share: memory with pointer cycles of several sizes in it, the
 * timed chase, and what a curve of latency over size says about the caches (METHODS 2.1, 2.2).
 */

enum {
    ST_SWEEP_MAX = 128,
    ST_CACHE_LEVELS = 3
};

/** The sizes 2^k and 1.5 x 2^k from @p first to @p last, ascending. @return how many */
size_t st_sweep_sizes(uint64_t first, uint64_t last, uint64_t sizes[ST_SWEEP_MAX]);

enum st_chase_order {
    ST_CHASE_RANDOM, /**< one random cycle over all lines */
    ST_CHASE_INPAGE  /**< all lines of a page, then the next page */
};

/** What a set of cycles is to be. */
struct st_chase_wish {
    size_t n_sizes;
    const uint64_t *sizes; /**< [n_sizes] bytes, ascending */
    uint64_t stride;       /**< bytes, a multiple of 64 */
    enum st_chase_order order;
    enum st_pages pages;
    long os_node; /**< system's number of the memory's NUMA node; -1: the caller's own */
};

/** One cycle and where its chains are; each call of st_chase_time() goes on from there. */
struct st_chase_cycle {
    struct stk_lines lines;
    void *starts[STK_CHASE_MAX_CHAINS]; /**< of up to 16 chains; starts[0] is line 0 */
    void *at[STK_CHASE_MAX_CHAINS];
    size_t n_chains;  /**< of the last call */
    uint64_t n_steps; /**< of chain 0 since it was at starts[0] */
};

/** Cycles of all sizes in one mapping; zero-initialised means empty. */
struct st_chase_set {
    size_t n;
    struct st_chase_cycle *cycles; /**< [n] in the order of the sizes */
    struct st_mapping map;
    double huge;   /**< share of the mapping in huge pages; -1: unknown */
    double placed; /**< share of sampled pages on the wanted node; -1: unknown */
};

/** Bytes of the mapping for such a wish; UINT64_MAX if it cannot be expressed. */
uint64_t st_chase_bytes(const struct st_chase_wish *wish);
/** Bytes beside the mapping while st_chase_create() runs. */
uint64_t st_chase_extra_bytes(const struct st_chase_wish *wish);

/**
 * Map, place, link (the calling thread touches all pages first) and read back placement and
 * page size. Local. On failure st_chase_clear() frees what there is.
 * @param n_chains starts are found for so many chains (1: no search)
 * @return ST_ERR_UNSUPPORTED if memory cannot be placed on the node
 */
enum st_status st_chase_create(const struct st_chase_wish *wish, size_t n_chains,
                               struct st_chase_set *set, struct st_error *err);
void st_chase_clear(struct st_chase_set *set);

/**
 * Seconds per step of @p k chains over @p n_steps steps each (rounded up to the unrolling),
 * after @p n_warm untimed steps. By the calling thread.
 */
double st_chase_time(struct st_chase_cycle *cycle, size_t k, uint64_t n_warm,
                     uint64_t n_steps);

/**
 * Every line is the target of one line; the chains are on lines of their cycle, chain 0 of
 * short cycles on the very one that its number of steps leads to.
 */
void st_chase_verify(const struct st_chase_set *set, struct st_check *check);
/** Test hook: bend one link. */
void st_chase_spoil(struct st_chase_set *set);

/** Levels of a curve, fastest first. */
struct st_plateaus {
    size_t n; /**< 1 … ST_CACHE_LEVELS + 1 */
    double latency_s[ST_CACHE_LEVELS + 1];
    double size_bytes[ST_CACHE_LEVELS + 1]; /**< largest size still on the level */
};

/**
 * Find the levels from the data alone. Logarithms of the latencies are cut into at most four
 * pieces of at least two sizes so that the sum of squares around the pieces' means is least
 * (dynamic programming; R. Bellman, Comm. ACM 4, 1961); the most pieces are taken whose
 * neighbours all differ by 40 %. A level's latency is the median of its piece; its size the
 * largest one within a quarter of the way (of logarithms) to the next level, so that sizes
 * which fit only partly do not count.
 * @param n <= ST_SWEEP_MAX; 0 gives no level
 * @param latency_s [n] positive
 */
void st_plateaus_find(size_t n, const uint64_t *sizes, const double *latency_s,
                      struct st_plateaus *out);

/**
 * Which cache is which: the found boundaries in order, as close to the sizes told (in
 * logarithms) as the order allows; if fewer are found than caches are told, some stay NaN.
 * @param told [ST_CACHE_LEVELS] bytes as the system says, 0: unknown or not to be believed
 * @param[out] size [ST_CACHE_LEVELS] bytes found, NaN: none
 */
void st_plateaus_match(const struct st_plateaus *found,
                       const uint64_t told[ST_CACHE_LEVELS],
                       double size[ST_CACHE_LEVELS]);

/**
 * Latency at a bandwidth, linearly between the points on its two sides; the first one's below
 * all points, NaN above.
 * @param bandwidth [n] ascending
 */
double st_curve_at(size_t n, const double *bandwidth, const double *latency_s,
                   double wanted);

/** Median of the latencies of the sizes in [low, high]; NaN if there is none. */
double st_curve_median(size_t n, const uint64_t *sizes, const double *latency_s,
                       double low, double high);

#endif
