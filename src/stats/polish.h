#ifndef ST_STATS_POLISH_H
#define ST_STATS_POLISH_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Is it the node or the link? Two-way median polish of what each node reaches with each other
 * one (METHODS 8.5), and who is named by it, with the limits of a fleet (METHODS 8.4). Pure.
 */

/** One measured direction between two nodes. */
struct st_link {
    size_t from, to; /**< node numbers, < n_nodes and different */
    double value;    /**< positive and finite, else the link counts as not measured */
};

/** Links of one metric; any subset of the ordered pairs, each at most once. */
struct st_link_set {
    size_t n_nodes, n_links;
    const struct st_link *links; /**< [n_links] borrowed */
    int better;                  /**< +1 higher values are better, -1 lower ones */
};

/** log value = level + sender[from] + receiver[to] + residual. Everything natural logarithms. */
struct st_polish {
    double level;
    double *sender, *receiver; /**< [n_nodes] median 0; owned */
    double *residual;          /**< [n_links] NaN if not measured; owned */
};

/** Median polish, 10 sweeps. @p out owned by the caller: st_polish_clear() */
enum st_status st_polish_fit(const struct st_link_set *set, struct st_polish *out,
                             struct st_error *err);
/** Accepts a zeroed struct. */
void st_polish_clear(struct st_polish *polish);

enum {
    ST_BLAME_FEWEST = 4, /**< nodes below which nobody can be named */
    ST_BLAME_FEWEST_FINE =
        6, /**< from here on by median polish, below by a coarse rule */
    ST_BLAME_FEWEST_ROUNDS = 5 /**< partners of a node below which it is not named */
};

/** One accusation. */
struct st_blame {
    bool is_node;
    size_t a, b;     /**< node a; or the link between a and b, a < b */
    double factor;   /**< value over what was expected, of the worse direction */
    double by_nodes; /**< log of what a link's named nodes explain of it; 0: nothing */
    double score; /**< in robust standard deviations; infinite if all others are equal */
    double limit; /**< which it exceeds; 0 with the coarse rule */
    size_t
        n_slow; /**< slow directed links among the node's, or of the link's directions */
    size_t n_links; /**< of so many measured ones */
    bool stands;    /**< after its retest; false until somebody sets it */
};

struct st_blames {
    size_t n;
    struct st_blame *list; /**< [n] nodes first, each sort by number; owned */
    double level;          /**< value of a healthy link, in the metric's unit */
};

/**
 * Name the nodes and links that are slow in @p set. A node is named if its effect as sender or
 * receiver is beyond the limits and more than half of its links in that direction are slow;
 * else the links are. Links need most of the pairs measured (random rounds name nodes only).
 *
 * With 4 or 5 nodes medians of so few links are no scale: there a link counts as slow if it is
 * 1.5 times worse than the upper quartile, which one slow node leaves healthy.
 * @param out owned: st_blames_clear(); empty below ST_BLAME_FEWEST nodes
 */
enum st_status st_blame(const struct st_link_set *set, struct st_blames *out,
                        struct st_error *err);
void st_blames_clear(struct st_blames *blames);

enum {
    ST_RETESTS = 3, /**< METHODS 3.2 */
    ST_FEWEST_CONTROLS = 4
};

/** One direction measured again, alone. */
struct st_retest {
    size_t from, to;
    bool
        is_control; /**< of a pair that nobody suspects: what a healthy one reaches alone */
    double value[ST_RETESTS];
};

/**
 * Does an accusation stand? A direction is slow alone if all its values are worse than the
 * median of the controls, by more than what matters and by three of their robust standard
 * deviations. A link needs one slow direction; a node, more than half of those retested.
 * Otherwise the pair was slow in company only. False with too few controls.
 * @param factor best value of the worst accused direction over the median of the controls;
 *               NaN with too few controls
 */
bool st_blame_stands(const struct st_blame *blame, int better, size_t n_retests,
                     const struct st_retest *retests, double *factor);

/** Accused nodes and links, each counted once: slow if it stands in either metric. */
struct st_blame_counts {
    size_t slow_nodes, slow_links;
    size_t contended; /**< slow in company only */
};

/** @param first, second accusations of the same links by two metrics */
struct st_blame_counts st_blames_count(const struct st_blames *first,
                                       const struct st_blames *second);

#endif
