/*
 * The retest of METHODS 3.2: a pair that is slow while all others communicate may suffer from
 * these, so that nobody is accused before it was slow alone too. Beside the suspects run healthy
 * pairs: what "alone" means on this network is measured, not assumed.
 */
#include "src/benchmarks/part_retest.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST_CHOSEN = 8 /* METHODS 3.2; also of one node's pairs */
};

static int by_pair(const void *x, const void *y)
{
    const struct st_retest_pair *p = x;
    const struct st_retest_pair *q = y;

    if (p->a != q->a) {
        return p->a < q->a ? -1 : 1;
    }
    return (p->b > q->b) - (p->b < q->b);
}

static int slowest_first(const void *x, const void *y)
{
    const struct st_retest_pair *p = x;
    const struct st_retest_pair *q = y;
    const int order = (p->deviation > q->deviation) - (p->deviation < q->deviation);

    return order != 0 ? order : by_pair(x, y);
}

static int chosen_first(const void *x, const void *y)
{
    const struct st_retest_pair *p = x;
    const struct st_retest_pair *q = y;

    return p->chosen != q->chosen ? (p->chosen ? -1 : 1) : by_pair(x, y);
}

/* All directions of all metrics, then equal pairs merged. @return number of pairs */
static size_t list_pairs(const struct st_link_set sets[ST_RETEST_METRICS],
                         const struct st_blames blames[ST_RETEST_METRICS],
                         struct st_retest_pair *pairs)
{
    const size_t m = sets[0].n_links;
    size_t n = 0;

    for (size_t k = 0; k < m; k++) {
        const struct st_link *l = &sets[0].links[k];
        double worst = 0.0;
        for (size_t q = 0; q < ST_RETEST_METRICS; q++) {
            const double level = isnan(blames[q].level) ? 1.0 : blames[q].level;
            const double g = sets[q].better * log(sets[q].links[k].value / level);
            worst = q == 0 || g < worst ? g : worst;
        }
        pairs[k] = (struct st_retest_pair){.a = l->from < l->to ? l->from : l->to,
                                           .b = l->from < l->to ? l->to : l->from,
                                           .deviation = worst};
    }
    qsort(pairs, m, sizeof *pairs, by_pair);
    for (size_t k = 0; k < m; k++) {
        if (n > 0 && by_pair(&pairs[n - 1], &pairs[k]) == 0) {
            pairs[n - 1].deviation = fmin(pairs[n - 1].deviation, pairs[k].deviation);
        } else {
            pairs[n++] = pairs[k];
        }
    }
    return n;
}

static bool belongs(const struct st_blame *blame, const struct st_retest_pair *p)
{
    return blame->is_node ? p->a == blame->a || p->b == blame->a
                          : p->a == blame->a && p->b == blame->b;
}

static size_t choose_accused(const struct st_blame *blame, size_t n, size_t n_chosen,
                             struct st_retest_pair *pairs)
{
    size_t of_blame = 0;

    for (size_t k = 0; k < n; k++) {
        if (!belongs(blame, &pairs[k])) {
            continue;
        }
        pairs[k].accused = true;
        if (of_blame < FEWEST_CHOSEN && n_chosen < ST_RETEST_MOST) {
            n_chosen += pairs[k].chosen ? 0 : 1;
            pairs[k].chosen = true;
            of_blame++;
        }
    }
    return n_chosen;
}

/* Not accused and nearest to the level; sorted by deviation, these stand side by side. */
static size_t choose_controls(size_t wanted, size_t n, size_t n_chosen,
                              struct st_retest_pair *pairs)
{
    for (size_t i = 0; i < wanted; i++) {
        size_t best = n;
        for (size_t k = 0; k < n; k++) {
            const struct st_retest_pair *p = &pairs[k];
            const bool fits =
                !p->accused && !p->control && (p->chosen || n_chosen < ST_RETEST_MOST);
            if (fits && (best == n || fabs(p->deviation) < fabs(pairs[best].deviation))) {
                best = k;
            }
        }
        if (best == n) {
            break;
        }
        n_chosen += pairs[best].chosen ? 0 : 1;
        pairs[best].chosen = true;
        pairs[best].control = true;
    }
    return n_chosen;
}

size_t st_retest_choose(const struct st_link_set sets[ST_RETEST_METRICS],
                        const struct st_blames blames[ST_RETEST_METRICS],
                        struct st_retest_pair *pairs)
{
    const size_t n = list_pairs(sets, blames, pairs);
    const size_t share = n / 100;
    size_t wanted = share > FEWEST_CHOSEN ? share : FEWEST_CHOSEN;
    size_t n_chosen = 0;

    wanted = wanted < ST_RETEST_MOST / 4 ? wanted : ST_RETEST_MOST / 4;
    qsort(pairs, n, sizeof *pairs, slowest_first);
    for (size_t q = 0; q < ST_RETEST_METRICS; q++) {
        for (size_t k = 0; k < blames[q].n; k++) {
            n_chosen = choose_accused(&blames[q].list[k], n, n_chosen, pairs);
        }
    }
    n_chosen = choose_controls(wanted, n, n_chosen, pairs);
    for (size_t k = 0; k < n && k < wanted && n_chosen < ST_RETEST_MOST; k++) {
        n_chosen += pairs[k].chosen ? 0 : 1;
        pairs[k].chosen = true;
    }
    qsort(pairs, n, sizeof *pairs, chosen_first);
    return n_chosen;
}

void st_tally_add(struct st_tally *tally, size_t metric, const struct st_blame *blame,
                  bool stands, double alone)
{
    size_t k = 0;

    while (k < tally->n &&
           !(tally->list[k].metric == metric &&
             tally->list[k].blame.is_node == blame->is_node &&
             tally->list[k].blame.a == blame->a && tally->list[k].blame.b == blame->b)) {
        k++;
    }
    if (k == ST_RETEST_LISTED) {
        return; /* so many accusations are one about the whole network */
    }
    if (k == tally->n) {
        tally->n++;
        tally->list[k].metric = metric;
    }
    tally->list[k].blame = *blame;
    tally->list[k].n_accused++;
    if (stands) {
        tally->list[k].n_stands++;
        tally->list[k].alone = alone;
    }
}

bool st_tally_stands(const struct st_tally *tally, const struct st_accusation *accusation)
{
    return 2 * accusation->n_stands > tally->n_repetitions;
}

static void accusation_text(const struct st_tally *tally, const struct st_accusation *c,
                            const char *const *host, struct st_text *text)
{
    static const char *const metrics[ST_RETEST_METRICS] = {"latency", "bandwidth"};
    const struct st_blame *b = &c->blame;

    if (b->is_node) {
        st_text_add(text, "node %zu (%s) slow in %zu of %zu directions", b->a, host[b->a],
                    b->n_slow, b->n_links);
    } else {
        st_text_add(text, "link %zu-%zu (%s - %s) slow", b->a, b->b, host[b->a],
                    host[b->b]);
    }
    st_text_add(text, ": %s x %.3g, alone x %.3g, in %zu of %zu repetitions",
                metrics[c->metric], b->factor, c->alone, c->n_stands,
                tally->n_repetitions);
}

void st_tally_text(const struct st_tally *tally, size_t n_nodes, const char *const *host,
                   char *out, size_t size)
{
    struct st_text text = {0};
    size_t n_named = 0;
    size_t n_contended = 0;

    if (n_nodes < ST_BLAME_FEWEST) {
        st_text_add(&text,
                    "attribution: %zu nodes are too few to tell a node from a link",
                    n_nodes);
    }
    for (size_t k = 0; k < tally->n; k++) {
        const struct st_accusation *c = &tally->list[k];
        if (st_tally_stands(tally, c)) {
            st_text_add(&text, "%s", n_named > 0 ? "; " : "");
            accusation_text(tally, c, host, &text);
            n_named++;
        } else if (2 * c->n_accused > tally->n_repetitions) {
            n_contended++;
        }
    }
    if (n_contended > 0) {
        st_text_add(&text, "%sslow in company but not alone (contention only): %zu",
                    n_named > 0 ? "; " : "", n_contended);
    } else if (n_named == 0 && n_nodes >= ST_BLAME_FEWEST) {
        st_text_add(&text, "attribution: no node and no link stands out");
    }
    (void)st_copy(out, size, st_text_get(&text));
    st_text_clear(&text);
}
