#include "src/machine/place.h"

#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

/*
 * The planner. Units are what is dealt: cores, or hardware threads with ranks `all-pus`. The
 * dealer keeps for each L3, home, package and for the node how many units are free, and
 * serves a span of units from the smallest object that still holds it. It never fails for a
 * request that passed the count check, because the node itself is the last resort; so no
 * unit is given twice and nothing outside the table can be given at all.
 */

/* Objects a span should not cross, from small to large. */
enum level {
    LEVEL_L3,
    LEVEL_HOME,
    LEVEL_PACKAGE,
    LEVEL_NODE,
    N_LEVELS
};

struct unit {
    size_t row, n_rows;   /* hardware threads of it in the table */
    size_t key[N_LEVELS]; /* dense index of the object above it */
    bool used;
};

struct dealer {
    const struct st_cpus *cpus;
    size_t n; /* units */
    struct unit *unit;
    size_t n_keys[N_LEVELS];
    size_t *n_free[N_LEVELS];
    size_t *n_all[N_LEVELS];
    bool l3_known; /* some unit has an L3 */
};

static void dealer_clear(struct dealer *d)
{
    for (size_t level = 0; level < N_LEVELS; level++) {
        st_free(d->n_free[level]);
        st_free(d->n_all[level]);
    }
    st_free(d->unit);
    *d = (struct dealer){0};
}

void st_placement_clear(struct st_placement *placement)
{
    st_free(placement->first);
    st_free(placement->cpu);
    *placement = (struct st_placement){0};
}

static uint32_t object_above(const struct st_cpu *row, size_t level)
{
    uint32_t object = 0;

    if (level == LEVEL_L3) {
        object = row->l3;
    } else if (level == LEVEL_HOME) {
        object = row->home;
    } else if (level == LEVEL_PACKAGE) {
        object = row->package;
    }
    return object;
}

/* Dense keys by first appearance; units of one object are usually neighbours. */
static void number_keys(struct dealer *d, size_t level)
{
    for (size_t i = 0; i < d->n; i++) {
        const uint32_t object = object_above(&d->cpus->row[d->unit[i].row], level);
        size_t k = i;
        while (k > 0 &&
               object_above(&d->cpus->row[d->unit[k - 1].row], level) != object) {
            k--;
        }
        d->unit[i].key[level] = k > 0 ? d->unit[k - 1].key[level] : d->n_keys[level]++;
    }
}

/* Is this CPU in the part of the node that the step may use? */
static bool is_within(const struct st_cpu *row, const struct st_layout_request *request)
{
    const size_t object[] = {[ST_WITHIN_NODE] = request->n_within,
                             [ST_WITHIN_SOCKET] = row->package,
                             [ST_WITHIN_NUMA] = row->numa,
                             [ST_WITHIN_L3] = row->l3};

    return object[request->within] == request->n_within;
}

static enum st_status dealer_init(struct dealer *d, const struct st_cpus *cpus,
                                  const struct st_layout_request *request,
                                  struct st_error *err)
{
    const bool by_pu = request->ranks == ST_MANY_ALL_PUS;

    *d = (struct dealer){.cpus = cpus};
    d->unit = st_calloc(err, cpus->n, sizeof *d->unit);
    if (d->unit == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < cpus->n; i++) {
        if (!is_within(&cpus->row[i], request)) {
            continue;
        }
        if (by_pu || d->n == 0 ||
            cpus->row[i].core != cpus->row[d->unit[d->n - 1].row].core) {
            d->unit[d->n++] = (struct unit){.row = i};
        }
        d->unit[d->n - 1].n_rows++;
        d->l3_known = d->l3_known || cpus->row[i].l3 != ST_CPU_UNKNOWN;
    }
    if (d->n == 0) {
        dealer_clear(d);
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "`within: %s %zu`: this node has no CPU there that may be used; "
                       "`seatrial topology` shows what it has",
                       st_within_word(request->within), request->n_within);
    }
    for (size_t level = 0; level < N_LEVELS; level++) {
        number_keys(d, level);
        d->n_free[level] = st_calloc(err, d->n_keys[level], sizeof *d->n_free[level]);
        d->n_all[level] = st_calloc(err, d->n_keys[level], sizeof *d->n_all[level]);
        if (d->n_free[level] == NULL || d->n_all[level] == NULL) {
            dealer_clear(d);
            return ST_ERR_MEMORY;
        }
        for (size_t i = 0; i < d->n; i++) {
            d->n_free[level][d->unit[i].key[level]]++;
            d->n_all[level][d->unit[i].key[level]]++;
        }
    }
    return ST_OK;
}

/* Any home will do. */
static const size_t any_home = SIZE_MAX;

/* Free, below this object, and in this home: an L3 may span homes (sub-NUMA clusters). */
static bool is_free(const struct unit *u, size_t level, size_t key, size_t home)
{
    return !u->used && u->key[level] == key &&
           (home == any_home || u->key[LEVEL_HOME] == home);
}

/* Take the first n free units of an object that has them. */
static void take(struct dealer *d, size_t level, size_t key, size_t home, size_t n,
                 size_t *units)
{
    for (size_t i = 0; n > 0 && i < d->n; i++) {
        struct unit *u = &d->unit[i];
        if (!is_free(u, level, key, home)) {
            continue;
        }
        u->used = true;
        for (size_t k = 0; k < N_LEVELS; k++) {
            d->n_free[k][u->key[k]]--;
        }
        *units++ = i;
        n--;
    }
}

/* The first object that holds n free units, from NUMA node to package to node. */
static void take_compact(struct dealer *d, size_t n, size_t *units)
{
    for (size_t level = LEVEL_HOME; level < N_LEVELS; level++) {
        for (size_t key = 0; key < d->n_keys[level]; key++) {
            if (d->n_free[level][key] >= n) {
                take(d, level, key, any_home, n, units);
                return;
            }
        }
    }
}

static size_t count_free(const struct dealer *d, size_t l3, size_t home)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++) {
        n += is_free(&d->unit[i], LEVEL_L3, l3, home) ? 1 : 0;
    }
    return n;
}

/* Of the L3s in this home the one with the most free units: round robin over L3s. */
static size_t freest_l3(const struct dealer *d, size_t home, size_t *n_free)
{
    size_t best = SIZE_MAX;
    size_t last = SIZE_MAX;

    *n_free = 0;
    for (size_t i = 0; i < d->n; i++) {
        const size_t l3 = d->unit[i].key[LEVEL_L3];
        if (d->unit[i].key[LEVEL_HOME] != home || l3 == last) {
            continue;
        }
        last = l3;
        const size_t n = count_free(d, l3, home);
        if (n > *n_free) {
            *n_free = n;
            best = l3;
        }
    }
    return best;
}

static void take_scatter(struct dealer *d, size_t turn, size_t n, size_t *units)
{
    const size_t n_homes = d->n_keys[LEVEL_HOME];

    for (size_t k = 0; k < n_homes; k++) {
        const size_t home = (turn + k) % n_homes;
        if (d->n_free[LEVEL_HOME][home] < n) {
            continue;
        }
        size_t n_free = 0;
        const size_t l3 = freest_l3(d, home, &n_free);
        if (n_free >= n) {
            take(d, LEVEL_L3, l3, home, n, units);
        } else {
            take(d, LEVEL_HOME, home, any_home, n, units);
        }
        return;
    }
    take_compact(d, n, units);
}

/* What each rank gets: from which object, how many units, how many threads. */
struct deal {
    bool per_object; /* one rank per object of `level` */
    enum level level;
    size_t n_ranks;
    size_t n_threads; /* of each rank, in units; 0: all units of its object */
    bool all_pus;     /* seats on every hardware thread of a unit */
    enum level
        spread;      /* n_spread threads of the only rank on each object of this level */
    size_t n_spread; /* 0: not so */
};

static const char *level_word(enum level level)
{
    static const char *const words[N_LEVELS] = {"L3 cache", "NUMA node with CPUs",
                                                "socket", "node"};
    return words[level];
}

static bool per_object(enum st_many many, enum level *level)
{
    bool is = true;

    if (many == ST_MANY_PER_NUMA) {
        *level = LEVEL_HOME;
    } else if (many == ST_MANY_PER_SOCKET) {
        *level = LEVEL_PACKAGE;
    } else if (many == ST_MANY_PER_L3) {
        *level = LEVEL_L3;
    } else {
        is = false;
    }
    return is;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum st_status count_ranks(const struct dealer *d,
                                  const struct st_layout_request *request,
                                  size_t n_started, size_t n_wanted, struct deal *deal,
                                  struct st_error *err)
{
    deal->level = LEVEL_NODE;
    deal->per_object =
        n_wanted == ST_RANKS_AS_ASKED && per_object(request->ranks, &deal->level);
    if (n_wanted != ST_RANKS_AS_ASKED) {
        deal->n_ranks = n_wanted;
    } else if (request->ranks == ST_MANY_COUNT) {
        deal->n_ranks = request->n_ranks_per_node;
    } else if (deal->per_object) {
        deal->n_ranks = d->n_keys[deal->level];
        if (deal->level == LEVEL_L3 && !d->l3_known) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "no L3 cache is known here, so `ranks_per_node: per-l3` has "
                           "nothing to count");
        }
    } else {
        deal->n_ranks = least(d->n, n_started);
    }
    if (deal->n_ranks > n_started) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "started with %zu rank%s per node, the step wants %zu%s%s: start "
                       "more, e.g. mpirun -n %zu (or srun --ntasks-per-node=%zu)",
                       n_started, n_started == 1 ? "" : "s", deal->n_ranks,
                       deal->per_object ? ", one per " : "",
                       deal->per_object ? level_word(deal->level) : "", deal->n_ranks,
                       deal->n_ranks);
    }
    return ST_OK;
}

/* Threads per L3 or NUMA node: the only rank of the node has some on each. */
static enum st_status count_spread(const struct dealer *d,
                                   const struct st_layout_request *request,
                                   struct deal *deal, struct st_error *err)
{
    const char *word = request->threads == ST_MANY_PER_L3 ? "per-l3" : "per-numa";

    (void)per_object(request->threads, &deal->spread);
    deal->n_spread = request->n_threads > 0 ? request->n_threads : 1;
    if (deal->n_ranks != 1 || request->ranks == ST_MANY_ALL_PUS) {
        return st_fail(err, ST_ERR_STEP,
                       "`threads: %s` spreads the threads of one rank, and here are %zu: "
                       "write `ranks_per_node: 1`",
                       word, deal->n_ranks);
    }
    if (deal->spread == LEVEL_L3 && !d->l3_known) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "no L3 cache is known here, so `threads: per-l3` has nothing to "
                       "count");
    }
    for (size_t key = 0; key < d->n_keys[deal->spread]; key++) {
        if (d->n_all[deal->spread][key] < deal->n_spread) {
            return st_fail(err, ST_ERR_STEP,
                           "`threads: %zu %s`, but a %s has only %zu usable core%s",
                           deal->n_spread, word, level_word(deal->spread),
                           d->n_all[deal->spread][key],
                           d->n_all[deal->spread][key] == 1 ? "" : "s");
        }
    }
    deal->n_threads = deal->n_spread * d->n_keys[deal->spread];
    return ST_OK;
}

static enum st_status count_threads(const struct dealer *d,
                                    const struct st_layout_request *request,
                                    struct deal *deal, struct st_error *err)
{
    const bool by_pu = request->ranks == ST_MANY_ALL_PUS;

    if (request->threads == ST_MANY_PER_NUMA || request->threads == ST_MANY_PER_L3) {
        return count_spread(d, request, deal, err);
    }
    deal->all_pus = !by_pu && request->threads == ST_MANY_ALL_PUS;
    if (request->threads == ST_MANY_COUNT) {
        deal->n_threads = request->n_threads > 0 ? request->n_threads : 1;
    } else if (deal->per_object) {
        deal->n_threads = 0;
    } else {
        deal->n_threads = d->n / deal->n_ranks > 0 ? d->n / deal->n_ranks : 1;
    }
    size_t fits = d->n; /* units of the object that a rank, or all ranks, must share */
    size_t needs = deal->n_threads;
    if (deal->per_object) {
        for (size_t key = 0; key < d->n_keys[deal->level]; key++) {
            fits = least(fits, d->n_all[deal->level][key]);
        }
    } else if (!st_mul_size(deal->n_ranks, deal->n_threads, &needs)) {
        return st_fail(err, ST_ERR_STEP, "%zu ranks of %zu threads: too many to count",
                       deal->n_ranks, deal->n_threads);
    }
    if (needs <= fits || request->oversubscribe) {
        return ST_OK;
    }
    const char *unit = by_pu ? "hardware thread" : "core";
    if (deal->per_object) {
        return st_fail(err, ST_ERR_STEP,
                       "%zu threads per rank, but a %s has only %zu usable %s%s: write "
                       "`threads: %zu`, or `oversubscribe: yes` to let threads share",
                       needs, level_word(deal->level), fits, unit, fits == 1 ? "" : "s",
                       fits);
    }
    return st_fail(
        err, ST_ERR_STEP,
        "%zu rank%s with %zu thread%s each need%s %zu %ss, but only %zu may be "
        "used: two would share one %s. Write `ranks_per_node: %zu`%s, or "
        "`oversubscribe: yes` to let them share",
        deal->n_ranks, deal->n_ranks == 1 ? "" : "s", deal->n_threads,
        deal->n_threads == 1 ? "" : "s", deal->n_ranks == 1 ? "s" : "", needs, unit, fits,
        unit, deal->n_threads <= fits ? fits / deal->n_threads : 1,
        deal->n_threads <= fits ? "" : " with fewer `threads`");
}

/* Units of all ranks, one after another; first[r] … first[r+1]. */
struct spans {
    size_t *first, *unit,
        *layer; /* layer: how often the unit was given before (wrap around) */
    bool wrapped;
};

static void spans_clear(struct spans *s)
{
    st_free(s->first);
    st_free(s->unit);
    st_free(s->layer);
    *s = (struct spans){0};
}

static enum st_status spans_init(struct spans *s, const struct dealer *d,
                                 const struct deal *deal, struct st_error *err)
{
    size_t total = 0;

    *s = (struct spans){0};
    s->first = st_calloc(err, deal->n_ranks + 1, sizeof *s->first);
    if (s->first == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t r = 0; r < deal->n_ranks; r++) {
        total += deal->n_threads > 0 ? deal->n_threads : d->n_all[deal->level][r];
        s->first[r + 1] = total;
    }
    s->unit = st_calloc(err, total, sizeof *s->unit);
    s->layer = st_calloc(err, total, sizeof *s->layer);
    if (s->unit == NULL || s->layer == NULL) {
        spans_clear(s);
        return ST_ERR_MEMORY;
    }
    return ST_OK;
}

/* A rank and its own object; more threads than units go round again. */
static void deal_object(struct dealer *d, const struct deal *deal, struct spans *s)
{
    for (size_t r = 0; r < deal->n_ranks; r++) {
        size_t *units = s->unit + s->first[r];
        const size_t n = s->first[r + 1] - s->first[r];
        const size_t n_own = least(n, d->n_all[deal->level][r]);

        take(d, deal->level, r, any_home, n_own, units);
        for (size_t k = n_own; k < n; k++) {
            units[k] = units[k % n_own];
            s->layer[s->first[r] + k] = k / n_own;
            s->wrapped = true;
        }
    }
}

static void deal_node(struct dealer *d, const struct st_layout_request *request,
                      const struct deal *deal, struct spans *s)
{
    const size_t total = s->first[deal->n_ranks];
    const bool scatter = request->fill == ST_FILL_SCATTER;

    for (size_t key = 0; deal->n_spread > 0 && key < d->n_keys[deal->spread]; key++) {
        take(d, deal->spread, key, any_home, deal->n_spread,
             s->unit + key * deal->n_spread);
    }
    if (deal->n_spread > 0) {
        return;
    }
    if (total > d->n) { /* oversubscribed: one after another, then round again */
        for (size_t k = 0; k < total; k++) {
            s->unit[k] = k % d->n;
            s->layer[k] = k / d->n;
        }
        s->wrapped = true;
        return;
    }
    if (scatter && deal->n_ranks == 1) {
        for (size_t k = 0; k < total; k++) {
            take_scatter(d, k, 1, s->unit + k);
        }
        return;
    }
    for (size_t r = 0; r < deal->n_ranks; r++) {
        if (scatter) {
            take_scatter(d, r, deal->n_threads, s->unit + s->first[r]);
        } else {
            take_compact(d, deal->n_threads, s->unit + s->first[r]);
        }
    }
}

static enum st_status make_seats(const struct dealer *d, const struct deal *deal,
                                 const struct spans *s, struct st_placement *out,
                                 struct st_error *err)
{
    size_t total = 0;

    for (size_t k = 0; k < s->first[deal->n_ranks]; k++) {
        total += deal->all_pus ? d->unit[s->unit[k]].n_rows : 1;
    }
    out->first = st_calloc(err, deal->n_ranks + 1, sizeof *out->first);
    out->cpu = st_calloc(err, total, sizeof *out->cpu);
    if (out->first == NULL || out->cpu == NULL) {
        return ST_ERR_MEMORY;
    }
    out->n_ranks = deal->n_ranks;
    for (size_t r = 0; r < deal->n_ranks; r++) {
        for (size_t k = s->first[r]; k < s->first[r + 1]; k++) {
            const struct unit *u = &d->unit[s->unit[k]];
            const size_t n = deal->all_pus ? u->n_rows : 1;
            const size_t start = deal->all_pus ? 0 : s->layer[k] % u->n_rows;
            for (size_t i = 0; i < n; i++) {
                out->cpu[out->n_seats++] = u->row + start + i;
            }
        }
        out->first[r + 1] = out->n_seats;
    }
    return ST_OK;
}

static void add_note(struct st_placement *out, const char *text)
{
    const size_t used = strlen(out->note);

    (void)snprintf(out->note + used, sizeof out->note - used, "%s%s",
                   used > 0 ? "; " : "", text);
}

static void make_note(const struct dealer *d, const struct st_layout_request *request,
                      const struct deal *deal, struct st_placement *out)
{
    char text[100];
    const bool all =
        request->ranks == ST_MANY_ALL_CORES || request->ranks == ST_MANY_ALL_PUS;

    if (all && request->n_ranks == 0 && deal->n_ranks < d->n) {
        (void)snprintf(text, sizeof text, "%zu of %zu %s have a rank", deal->n_ranks,
                       d->n,
                       request->ranks == ST_MANY_ALL_PUS ? "hardware threads" : "cores");
        add_note(out, text);
    }
    if (d->cpus->n_kinds > 1) {
        (void)snprintf(text, sizeof text, "hybrid: %zu kinds of cores are used alike",
                       d->cpus->n_kinds);
        add_note(out, text);
    }
    if (out->oversubscribed) {
        add_note(out, "oversubscribed: cores are shared");
    }
}

static enum st_status plan_dealt(struct dealer *d,
                                 const struct st_layout_request *request,
                                 const struct deal *deal, struct st_placement *out,
                                 struct st_error *err)
{
    struct spans spans;
    enum st_status rc = spans_init(&spans, d, deal, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (deal->per_object) {
        deal_object(d, deal, &spans);
    } else {
        deal_node(d, request, deal, &spans);
    }
    struct st_placement placement = {.oversubscribed = spans.wrapped};
    rc = make_seats(d, deal, &spans, &placement, err);
    spans_clear(&spans);
    if (rc != ST_OK) {
        st_placement_clear(&placement);
        return rc;
    }
    make_note(d, request, deal, &placement);
    *out = placement;
    return ST_OK;
}

enum st_status st_place_plan(const struct st_cpus *cpus,
                             const struct st_layout_request *request, size_t n_started,
                             size_t n_wanted, struct st_placement *out,
                             struct st_error *err)
{
    struct dealer d;
    struct deal deal = {0};

    if (cpus->n == 0) {
        return st_fail(err, ST_ERR_STEP, "no CPU may be used");
    }
    enum st_status rc = dealer_init(&d, cpus, request, err);
    if (rc != ST_OK) {
        return rc;
    }
    rc = count_ranks(&d, request, n_started, n_wanted, &deal, err);
    if (rc == ST_OK && deal.n_ranks == 0) {
        rc = st_fail(err, ST_ERR_STEP, "the layout asks for no rank at all");
    }
    if (rc == ST_OK) {
        rc = count_threads(&d, request, &deal, err);
    }
    if (rc == ST_OK) {
        rc = plan_dealt(&d, request, &deal, out, err);
    }
    dealer_clear(&d);
    return rc;
}

size_t st_place_capacity(const struct st_layout_request *request, size_t n_usable_cores,
                         size_t n_started)
{
    size_t n_threads = 1;

    if (request->oversubscribe) {
        return n_started;
    }
    if (request->threads == ST_MANY_COUNT && request->n_threads > 1) {
        n_threads = request->n_threads;
    }
    return least(n_started, n_usable_cores / n_threads);
}

static enum st_status share_total(const struct st_layout_request *request, size_t n_nodes,
                                  const size_t *n_cores, const size_t *n_started,
                                  size_t *n_wanted, struct st_error *err)
{
    size_t left = request->n_ranks;
    size_t started = 0;

    for (size_t i = 0; i < n_nodes; i++) {
        n_wanted[i] = least(left, st_place_capacity(request, n_cores[i], n_started[i]));
        left -= n_wanted[i];
        started += n_started[i];
    }
    if (left == 0) {
        return ST_OK;
    }
    if (started < request->n_ranks) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "started with %zu ranks on the %zu node%s of the step, which wants "
            "%zu: start more, e.g. mpirun -n %zu",
            started, n_nodes, n_nodes == 1 ? "" : "s", request->n_ranks,
            request->n_ranks);
    }
    return st_fail(
        err, ST_ERR_STEP,
        "`ranks: %zu` needs more cores than may be used: write `ranks: %zu`, fewer "
        "`threads`, or `oversubscribe: yes`",
        request->n_ranks, request->n_ranks - left);
}

enum st_status st_place_share(const struct st_layout_request *request, size_t n_nodes,
                              const size_t *n_cores, const size_t *n_started,
                              size_t *n_wanted, struct st_error *err)
{
    size_t n_used = n_nodes;

    if (request->nodes == ST_NODES_COUNT) {
        if (request->n_nodes == 0 || request->n_nodes > n_nodes) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "the step wants %zu nodes, the launch has %zu",
                           request->n_nodes, n_nodes);
        }
        n_used = request->n_nodes;
    }
    for (size_t i = 0; i < n_nodes; i++) {
        n_wanted[i] = i < n_used ? ST_RANKS_AS_ASKED : 0;
    }
    if (request->n_ranks == 0) {
        return ST_OK;
    }
    return share_total(request, n_used, n_cores, n_started, n_wanted, err);
}
