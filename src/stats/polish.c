/*
 * Median polish and attribution (METHODS 8.4, 8.5). Links come as a list, so a full matrix and a
 * few random rounds of a large machine go the same way, in memory that grows with the links.
 *
 * Rows and columns are polished in turn and each is centred on its own median. Fitting one
 * effect per node directly, a node at a time, stalls at a wrong point (METHODS 8.5).
 *
 * Inside st_blame() logarithms are turned so that slow is negative for every metric.
 */
#include "src/stats/polish.h"

#include "src/base/mem.h"
#include "src/stats/stats.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    N_SWEEPS = 10 /* METHODS 8.5 */
};

/* With 4 or 5 nodes: links that are slow by so much need no statistics to be seen. */
static const double coarse_factor = 1.5;

/* ---- median polish ---- */

/* Links ordered by their sender, or by their receiver. */
struct lines {
    size_t *first; /* [n_nodes + 1] into order */
    size_t *order; /* [n_links] */
};

struct polisher {
    const struct st_link_set *set;
    struct lines by_sender, by_receiver;
    double *scratch; /* [max(n_nodes, n_links)] */
    struct st_polish *out;
};

static size_t end_of(const struct st_link *link, bool sender)
{
    return sender ? link->from : link->to;
}

static bool is_measured(const struct st_link *link)
{
    return isfinite(link->value) && link->value > 0.0;
}

/* Counting sort; first[] is used as the next place and put back by the shift at the end. */
static enum st_status sort_links(const struct st_link_set *set, bool sender,
                                 struct lines *out, struct st_error *err)
{
    const size_t n = set->n_nodes;

    out->first = st_calloc(err, n + 2, sizeof *out->first);
    out->order = st_calloc(err, set->n_links, sizeof *out->order);
    if (out->first == NULL || out->order == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t k = 0; k < set->n_links; k++) {
        out->first[end_of(&set->links[k], sender) + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        out->first[i] += out->first[i - 1];
    }
    for (size_t k = 0; k < set->n_links; k++) {
        out->order[out->first[end_of(&set->links[k], sender) + 1]++] = k;
    }
    return ST_OK;
}

/* Take the median of each line out of its residuals and into its effect. */
static void polish_lines(struct polisher *p, const struct lines *lines, double *effect)
{
    double *residual = p->out->residual;
    size_t n_effects = 0;

    for (size_t i = 0; i < p->set->n_nodes; i++) {
        size_t n = 0;
        for (size_t k = lines->first[i]; k < lines->first[i + 1]; k++) {
            if (!isnan(residual[lines->order[k]])) {
                p->scratch[n++] = residual[lines->order[k]];
            }
        }
        if (n == 0) {
            effect[i] = (double)NAN; /* nothing is known of this node */
            continue;
        }
        st_sort(n, p->scratch);
        const double median = st_median_sorted(n, p->scratch);
        for (size_t k = lines->first[i]; k < lines->first[i + 1]; k++) {
            residual[lines->order[k]] -= median;
        }
        effect[i] += median;
    }
    for (size_t i = 0; i < p->set->n_nodes; i++) {
        if (!isnan(effect[i])) {
            p->scratch[n_effects++] = effect[i];
        }
    }
    if (n_effects == 0) {
        return;
    }
    st_sort(n_effects, p->scratch);
    const double centre = st_median_sorted(n_effects, p->scratch);
    for (size_t i = 0; i < p->set->n_nodes; i++) {
        effect[i] -= centre;
    }
    p->out->level += centre;
}

static enum st_status polisher_init(struct polisher *p, struct st_error *err)
{
    const size_t n = p->set->n_nodes;
    const size_t m = p->set->n_links;

    p->out->sender = st_calloc(err, n, sizeof *p->out->sender);
    p->out->receiver = st_calloc(err, n, sizeof *p->out->receiver);
    p->out->residual = st_calloc(err, m, sizeof *p->out->residual);
    p->scratch = st_calloc(err, n > m ? n : m, sizeof *p->scratch);
    if (p->out->sender == NULL || p->out->receiver == NULL || p->out->residual == NULL ||
        p->scratch == NULL) {
        return ST_ERR_MEMORY;
    }
    const enum st_status rc = sort_links(p->set, true, &p->by_sender, err);
    return rc == ST_OK ? sort_links(p->set, false, &p->by_receiver, err) : rc;
}

enum st_status st_polish_fit(const struct st_link_set *set, struct st_polish *out,
                             struct st_error *err)
{
    struct st_polish result = {0};
    struct polisher p = {.set = set, .out = &result};
    const enum st_status rc = polisher_init(&p, err);

    for (size_t k = 0; rc == ST_OK && k < set->n_links; k++) {
        const struct st_link *link = &set->links[k];
        result.residual[k] = is_measured(link) ? log(link->value) : (double)NAN;
    }
    for (unsigned sweep = 0; rc == ST_OK && sweep < N_SWEEPS; sweep++) {
        polish_lines(&p, &p.by_sender, result.sender);
        polish_lines(&p, &p.by_receiver, result.receiver);
    }
    st_free(p.scratch);
    st_free(p.by_sender.first);
    st_free(p.by_sender.order);
    st_free(p.by_receiver.first);
    st_free(p.by_receiver.order);
    if (rc != ST_OK) {
        st_polish_clear(&result);
        return rc;
    }
    *out = result;
    return ST_OK;
}

void st_polish_clear(struct st_polish *polish)
{
    const struct st_polish empty = {0};

    st_free(polish->sender);
    st_free(polish->receiver);
    st_free(polish->residual);
    *polish = empty;
}

/* ---- who is named ---- */

struct judge {
    const struct st_link_set *set;
    struct st_polish fit;
    double *scratch;             /* [max(n_nodes, n_links)] */
    bool *named_from, *named_to; /* [n_nodes] */
    size_t *n_slow, *n_links;    /* [2][n_nodes] as sender, as receiver */
    struct st_blames *out;
    struct st_error *err;
};

/* Is a deviation on the log scale (slow: negative) more than what matters? */
static bool is_much(int better, double g)
{
    const double delta = st_fleet_delta(better < 0);

    return better < 0 ? exp(-g) - 1.0 > delta : 1.0 - exp(g) > delta;
}

static bool matters(const struct judge *j, double g)
{
    return is_much(j->set->better, g);
}

/* Location and scale of those of @p n values that are numbers. */
struct scale {
    size_t n;
    double median, mad;
};

static struct scale scale_of(const struct judge *j, size_t n, const double *values)
{
    struct scale s = {0};

    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            j->scratch[s.n++] = values[i];
        }
    }
    st_sort(s.n, j->scratch);
    s.median = st_median_sorted(s.n, j->scratch);
    for (size_t i = 0; i < s.n; i++) {
        j->scratch[i] = fabs(j->scratch[i] - s.median);
    }
    st_sort(s.n, j->scratch);
    s.mad = st_median_sorted(s.n, j->scratch);
    return s;
}

/* Modified z; if more than half are equal, anything else is infinitely far, and what matters decides. */
static double score_of(const struct scale *s, double x)
{
    if (s->mad > 0.0) {
        return st_modified_z(x, s->median, s->mad, 0.0);
    }
    return x == s->median ? 0.0 : copysign((double)INFINITY, x - s->median);
}

/* The list doubles when its length is a power of two, so that no capacity need be kept. */
static enum st_status add(struct judge *j, const struct st_blame *blame)
{
    struct st_blames *out = j->out;

    if ((out->n & (out->n - 1)) == 0) {
        struct st_blame *grown =
            st_resize(j->err, out->list, out->n == 0 ? 1 : 2 * out->n, sizeof *grown);
        if (grown == NULL) {
            return ST_ERR_MEMORY;
        }
        out->list = grown;
    }
    out->list[out->n++] = *blame;
    return ST_OK;
}

/* Slow links of each node in one direction, the other node's own effect taken out. */
static void count_slow(struct judge *j, bool sender)
{
    const size_t base = sender ? 0 : j->set->n_nodes;
    const double *effect = sender ? j->fit.sender : j->fit.receiver;

    for (size_t k = 0; k < j->set->n_links; k++) {
        const size_t i = end_of(&j->set->links[k], sender);
        const double g = j->set->better * (j->fit.residual[k] + effect[i]);
        if (!isnan(g)) {
            j->n_links[base + i]++;
            j->n_slow[base + i] += matters(j, g) ? 1 : 0;
        }
    }
}

static void name_senders(struct judge *j, bool sender, double *score, bool *named)
{
    const size_t n = j->set->n_nodes;
    const size_t base = sender ? 0 : n;
    const double *effect = sender ? j->fit.sender : j->fit.receiver;
    const struct scale s = scale_of(j, n, effect);
    const double limit = st_fleet_limit(s.n);

    count_slow(j, sender);
    for (size_t i = 0; i < n; i++) {
        const double g = j->set->better * effect[i];
        score[i] = j->set->better * score_of(&s, effect[i]);
        named[i] = -score[i] > limit && matters(j, g) &&
                   j->n_links[base + i] >= ST_BLAME_FEWEST_ROUNDS &&
                   2 * j->n_slow[base + i] > j->n_links[base + i];
    }
}

static enum st_status name_nodes(struct judge *j)
{
    const size_t n = j->set->n_nodes;
    double *score = st_calloc(j->err, 2 * n, sizeof *score);
    enum st_status rc = score == NULL ? ST_ERR_MEMORY : ST_OK;

    if (rc == ST_OK) {
        name_senders(j, true, score, j->named_from);
        name_senders(j, false, score + n, j->named_to);
    }
    for (size_t i = 0; i < n && rc == ST_OK; i++) {
        const bool by[2] = {j->named_from[i], j->named_to[i]};
        const double g[2] = {j->set->better * j->fit.sender[i],
                             j->set->better * j->fit.receiver[i]};
        struct st_blame blame = {
            .is_node = true, .a = i, .b = i, .limit = st_fleet_limit(n)};
        double worst = 0.0;
        for (size_t d = 0; d < 2; d++) {
            if (by[d]) {
                blame.n_slow += j->n_slow[d * n + i];
                blame.n_links += j->n_links[d * n + i];
            }
            if (by[d] && g[d] < worst) {
                worst = g[d];
                blame.score = -score[d * n + i];
            }
        }
        blame.factor = exp(j->set->better * worst);
        rc = by[0] || by[1] ? add(j, &blame) : ST_OK;
    }
    st_free(score);
    return rc;
}

/* Both directions of a link are one accusation. */
static enum st_status add_link(struct judge *j, const struct st_link *link,
                               const struct st_blame *found)
{
    struct st_blame blame = *found;

    blame.a = link->from < link->to ? link->from : link->to;
    blame.b = link->from < link->to ? link->to : link->from;
    for (size_t k = 0; k < j->out->n; k++) {
        struct st_blame *old = &j->out->list[k];
        if (!old->is_node && old->a == blame.a && old->b == blame.b) {
            old->n_slow++;
            if (j->set->better * log(blame.factor / old->factor) < 0.0) {
                old->factor = blame.factor;
                old->by_nodes = blame.by_nodes;
                old->score = blame.score;
            }
            return ST_OK;
        }
    }
    blame.n_slow = 1;
    for (size_t k = 0; k < j->set->n_links; k++) {
        const struct st_link *other = &j->set->links[k];
        const bool same = (other->from == blame.a && other->to == blame.b) ||
                          (other->from == blame.b && other->to == blame.a);
        blame.n_links += same && is_measured(other) ? 1 : 0;
    }
    return add(j, &blame);
}

/*
 * 99 % quantile of the largest |modified z| among the residuals of a polished matrix of normal
 * noise, full but for its diagonal. Far above that of independent values for small matrices,
 * because 2 n - 1 effects were fitted and medians leave many residuals at or near 0. Simulated
 * with 1500 matrices for n <= 8, 1000, 400 and 100 beyond; linear in log n between.
 */
static double link_limit(size_t n_nodes, size_t n_links)
{
    static const double nodes[] = {6, 7, 8, 10, 16, 32};
    static const double limits[] = {13.2, 11.0, 7.5, 6.1, 5.2, 4.6};
    const size_t last = ST_COUNT(nodes) - 1;
    const double n = (double)n_nodes;

    for (size_t i = 0; i < last; i++) {
        if (n <= nodes[i + 1]) {
            const double share = log(n / nodes[i]) / log(nodes[i + 1] / nodes[i]);
            return limits[i] + share * (limits[i + 1] - limits[i]);
        }
    }
    return fmax(limits[last], -st_normal_quantile(0.005 / (double)n_links));
}

static enum st_status name_links(struct judge *j)
{
    const size_t n = j->set->n_nodes;
    const size_t m = j->set->n_links;
    const struct scale s = scale_of(j, m, j->fit.residual);
    const double limit = link_limit(n, s.n);
    enum st_status rc = ST_OK;

    if (2 * s.n <= n * (n - 1)) {
        return ST_OK; /* few random rounds cannot tell a link from its nodes */
    }
    for (size_t k = 0; k < m && rc == ST_OK; k++) {
        const double g = j->set->better * j->fit.residual[k];
        const double score = -j->set->better * score_of(&s, j->fit.residual[k]);
        if (score > limit && matters(j, g)) {
            const struct st_link *l = &j->set->links[k];
            const struct st_blame found = {
                .factor = exp(j->fit.residual[k]),
                .by_nodes = (j->named_from[l->from] ? j->fit.sender[l->from] : 0.0) +
                            (j->named_to[l->to] ? j->fit.receiver[l->to] : 0.0),
                .score = score,
                .limit = limit};
            rc = add_link(j, &j->set->links[k], &found);
        }
    }
    return rc;
}

static enum st_status blame_fine(struct judge *j)
{
    enum st_status rc = st_polish_fit(j->set, &j->fit, j->err);

    if (rc == ST_OK) {
        j->out->level = exp(j->fit.level);
        rc = name_nodes(j);
    }
    return rc == ST_OK ? name_links(j) : rc;
}

/* ---- 4 or 5 nodes ---- */

/* Is link @p k slow, and not explained by a node that is named already? */
static bool coarse_slow(const struct judge *j, size_t k)
{
    const struct st_link *link = &j->set->links[k];
    const double g = j->set->better * log(link->value / j->out->level);

    return is_measured(link) && g < -log(coarse_factor) && !j->named_from[link->from] &&
           !j->named_from[link->to];
}

/* The node with most slow links, if these are more than half of its links; n_nodes: none. */
static size_t coarse_node(struct judge *j)
{
    const size_t n = j->set->n_nodes;
    size_t worst = n;

    (void)memset(j->n_slow, 0, n * sizeof *j->n_slow);
    for (size_t k = 0; k < j->set->n_links; k++) {
        if (coarse_slow(j, k)) {
            j->n_slow[j->set->links[k].from]++;
            j->n_slow[j->set->links[k].to]++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (2 * j->n_slow[i] > j->n_links[i] &&
            (worst == n || j->n_slow[i] > j->n_slow[worst])) {
            worst = i;
        }
    }
    return worst;
}

static double coarse_factor_of(const struct judge *j, size_t node)
{
    size_t n = 0;

    for (size_t k = 0; k < j->set->n_links; k++) {
        const struct st_link *link = &j->set->links[k];
        if ((link->from == node || link->to == node) && is_measured(link)) {
            j->scratch[n++] = link->value / j->out->level;
        }
    }
    st_sort(n, j->scratch);
    return st_median_sorted(n, j->scratch);
}

static enum st_status blame_coarse(struct judge *j)
{
    const size_t n = j->set->n_nodes;
    enum st_status rc = ST_OK;
    size_t m = 0;

    for (size_t k = 0; k < j->set->n_links; k++) {
        const struct st_link *link = &j->set->links[k];
        if (is_measured(link)) {
            j->scratch[m++] = link->value;
            j->n_links[link->from]++;
            j->n_links[link->to]++;
        }
    }
    st_sort(m, j->scratch);
    j->out->level = st_quantile(m, j->scratch, j->set->better < 0 ? 0.25 : 0.75);
    for (size_t i = coarse_node(j); i < n && rc == ST_OK; i = coarse_node(j)) {
        const struct st_blame blame = {.is_node = true,
                                       .a = i,
                                       .b = i,
                                       .factor = coarse_factor_of(j, i),
                                       .score = (double)INFINITY,
                                       .n_slow = j->n_slow[i],
                                       .n_links = j->n_links[i]};
        rc = add(j, &blame);
        j->named_from[i] = true;
    }
    for (size_t k = 0; k < j->set->n_links && rc == ST_OK; k++) {
        const struct st_blame found = {.factor = j->set->links[k].value / j->out->level,
                                       .score = (double)INFINITY};
        rc = coarse_slow(j, k) ? add_link(j, &j->set->links[k], &found) : ST_OK;
    }
    return rc;
}

enum st_status st_blame(const struct st_link_set *set, struct st_blames *out,
                        struct st_error *err)
{
    const size_t n = set->n_nodes;
    struct st_blames found = {.level = (double)NAN};
    struct judge j = {.set = set, .out = &found, .err = err};
    enum st_status rc = ST_OK;

    if (n < ST_BLAME_FEWEST) {
        *out = found;
        return ST_OK;
    }
    j.scratch = st_calloc(err, n > set->n_links ? n : set->n_links, sizeof *j.scratch);
    j.named_from = st_calloc(err, n, sizeof *j.named_from);
    j.named_to = st_calloc(err, n, sizeof *j.named_to);
    j.n_slow = st_calloc(err, n, 2 * sizeof *j.n_slow);
    j.n_links = st_calloc(err, n, 2 * sizeof *j.n_links);
    if (j.scratch == NULL || j.named_from == NULL || j.named_to == NULL ||
        j.n_slow == NULL || j.n_links == NULL) {
        rc = ST_ERR_MEMORY;
    }
    if (rc == ST_OK) {
        rc = n < ST_BLAME_FEWEST_FINE ? blame_coarse(&j) : blame_fine(&j);
    }
    st_polish_clear(&j.fit);
    st_free(j.scratch);
    st_free(j.named_from);
    st_free(j.named_to);
    st_free(j.n_slow);
    st_free(j.n_links);
    if (rc != ST_OK) {
        st_blames_clear(&found);
        return rc;
    }
    *out = found;
    return ST_OK;
}

void st_blames_clear(struct st_blames *blames)
{
    const struct st_blames empty = {0};

    st_free(blames->list);
    *blames = empty;
}

/* ---- retest ---- */

enum {
    MOST_CONTROLS = 64
};
/* Sigmas of a direction measured alone; three times in a row by chance: 1e-3^3. */
static const double retest_limit = 3.0;

/* Median and robust deviation of the controls' logarithms; false if there are too few. */
static bool controls_of(int better, size_t n, const struct st_retest *retests,
                        double *median, double *deviation)
{
    double values[MOST_CONTROLS * ST_RETESTS];
    double scratch[MOST_CONTROLS * ST_RETESTS];
    size_t n_controls = 0;
    size_t m = 0;

    for (size_t k = 0; k < n && n_controls < MOST_CONTROLS; k++) {
        n_controls += retests[k].is_control ? 1 : 0;
        for (size_t i = 0; i < ST_RETESTS && retests[k].is_control; i++) {
            const double x = retests[k].value[i];
            if (isfinite(x) && x > 0.0) {
                values[m++] = better * log(x);
            }
        }
    }
    if (n_controls < ST_FEWEST_CONTROLS || m < (size_t)ST_FEWEST_CONTROLS * ST_RETESTS) {
        return false;
    }
    st_sort(m, values);
    *median = st_median_sorted(m, values);
    *deviation = 1.4826 * st_mad(m, values, *median, scratch);
    return true;
}

static bool is_accused(const struct st_blame *blame, const struct st_retest *r)
{
    if (blame->is_node) {
        return r->from == blame->a || r->to == blame->a;
    }
    return (r->from == blame->a && r->to == blame->b) ||
           (r->from == blame->b && r->to == blame->a);
}

bool st_blame_stands(const struct st_blame *blame, int better, size_t n_retests,
                     const struct st_retest *retests, double *factor)
{
    double median = 0.0;
    double deviation = 0.0;
    double worst = 0.0; /* of the accused directions' best values */
    size_t n_slow = 0;
    size_t n = 0;

    *factor = (double)NAN;
    if (!controls_of(better, n_retests, retests, &median, &deviation)) {
        return false;
    }
    for (size_t k = 0; k < n_retests; k++) {
        const struct st_retest *r = &retests[k];
        double best = -(double)INFINITY;
        bool measured = true;
        if (!is_accused(blame, r) || r->is_control) {
            continue;
        }
        for (size_t i = 0; i < ST_RETESTS; i++) {
            measured = measured && isfinite(r->value[i]) && r->value[i] > 0.0;
            best = fmax(best, better * (log(r->value[i]) - blame->by_nodes) - median);
        }
        n++;
        if (!measured) {
            continue; /* proves nothing against anybody */
        }
        n_slow += is_much(better, best) && best < -retest_limit * deviation ? 1 : 0;
        worst = fmin(worst, best);
    }
    *factor = exp(better * worst);
    return blame->is_node ? 2 * n_slow > n : n_slow > 0;
}

static const struct st_blame *same_object(const struct st_blames *blames,
                                          const struct st_blame *blame)
{
    for (size_t k = 0; k < blames->n; k++) {
        const struct st_blame *b = &blames->list[k];
        if (b->is_node == blame->is_node && b->a == blame->a && b->b == blame->b) {
            return b;
        }
    }
    return NULL;
}

struct st_blame_counts st_blames_count(const struct st_blames *first,
                                       const struct st_blames *second)
{
    struct st_blame_counts counts = {0};

    for (size_t k = 0; k < first->n + second->n; k++) {
        const bool is_first = k < first->n;
        const struct st_blame *b =
            is_first ? &first->list[k] : &second->list[k - first->n];
        const struct st_blame *twin = same_object(is_first ? second : first, b);
        if (!is_first && twin != NULL) {
            continue; /* counted */
        }
        const bool stands = b->stands || (twin != NULL && twin->stands);
        *(!stands      ? &counts.contended
          : b->is_node ? &counts.slow_nodes
                       : &counts.slow_links) += 1;
    }
    return counts;
}
