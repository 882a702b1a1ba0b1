#ifndef ST_BENCHMARKS_PART_RETEST_H
#define ST_BENCHMARKS_PART_RETEST_H

#include "src/stats/polish.h"

#include <stdbool.h>
#include <stddef.h>

/* Which pairs of nodes to measure again alone, and what became of every accusation. Pure. */

enum {
    ST_RETEST_METRICS = 2, /**< latency, bandwidth */
    ST_RETEST_MOST = 256,  /**< pairs */
    ST_RETEST_LISTED =
        1024 /**< accusations remembered: some 60 a repetition at 256 nodes */
};

/** A pair that may be measured again. */
struct st_retest_pair {
    size_t a, b; /**< a < b */
    double
        deviation; /**< worst of its directions and metrics, log scale, slow is negative */
    bool accused, control, chosen;
};

/** One accusation over the repetitions. */
struct st_accusation {
    struct st_blame blame; /**< of the last time */
    size_t metric;
    double alone;     /**< factor of the last time it stood */
    size_t n_accused; /**< repetitions that suspected it */
    size_t n_stands;  /**< and confirmed it alone */
};

struct st_tally {
    size_t n_repetitions;
    size_t n;
    struct st_accusation list[ST_RETEST_LISTED];
};

/**
 * Choose the slowest max(8, 1 %) pairs, the accused ones (of an accused node at most 8), and as
 * many healthy ones for comparison (METHODS 3.2). Chosen pairs come first in @p pairs.
 * @param links  [n_links] directed links of metric 0, then of metric 1
 * @param pairs  [n_links] scratch and result
 * @return number chosen, at most ST_RETEST_MOST
 */
size_t st_retest_choose(const struct st_link_set sets[ST_RETEST_METRICS],
                        const struct st_blames blames[ST_RETEST_METRICS],
                        struct st_retest_pair *pairs);

/** Note one accusation of a repetition. */
void st_tally_add(struct st_tally *tally, size_t metric, const struct st_blame *blame,
                  bool stands, double alone);

/** Was it confirmed in more than half of the repetitions? */
bool st_tally_stands(const struct st_tally *tally,
                     const struct st_accusation *accusation);

/**
 * What to tell people. @param host [n_nodes] names, borrowed
 */
void st_tally_text(const struct st_tally *tally, size_t n_nodes, const char *const *host,
                   char *out, size_t size);

#endif
