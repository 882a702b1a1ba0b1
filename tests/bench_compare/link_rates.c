/*
 * How often does link_map's attribution name a planted fault, and how often somebody else? Fleets
 * are simulated in which every node and every link has a small effect of its own (normal, 1 % and
 * less) and every measurement its noise (1 %; normal, or heavy-tailed: Student's t with 5 degrees
 * of freedom, as other traffic makes it), one node or one link is made slower, and st_blame()
 * judges one matrix, or three with the rule of the program that an accusation must stand in most
 * of them. Beyond 256 nodes the rounds are random ones, as link_map does it: there only nodes
 * can be named.
 *
 *   link_rates [TRIALS of 16 nodes]     others get fewer, by their number of links
 *
 * With TRIALS given as 2 it is a test: it fails if a clean fleet accuses anybody or a node that
 * is 20 % slow is missed.
 */
#include "kernels/splitmix.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/stats/polish.h"
#include "src/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ROUNDS = 16,     /* beyond 256 nodes, as link_map */
    ALL_NODES = 256, /* up to here every pair is measured */
    REPETITIONS = 3,
    MOST_NAMES = 4096
};

static const double noise = 0.01;

enum plant {
    NOBODY,
    ONE_NODE,
    ONE_LINK
};

struct rates {
    size_t trials, found, wrong; /* wrong: trials with an accusation of another */
};

static double normal(uint64_t seed, uint64_t i)
{
    const double u = ((double)(stk_random_u64(seed, i) >> 11) + 0.5) * 0x1p-53;

    return st_normal_quantile(u);
}

/* Standard deviation 1: a normal over the root of a chi square with 5 degrees of freedom. */
static double heavy(uint64_t seed, uint64_t i)
{
    double sum = 0.0;

    for (uint64_t k = 1; k <= 5; k++) {
        const double x = normal(seed + 7919 * k, i);
        sum += x * x;
    }
    return normal(seed, i) / sqrt(sum / 5.0) * sqrt(3.0 / 5.0);
}

static double draw(bool tails, uint64_t seed, uint64_t i)
{
    return tails ? heavy(seed, i) : normal(seed, i);
}

struct fleet {
    size_t n, n_links;
    struct st_link *links;
    size_t a, b; /* planted */
};

/* Which pairs are measured, once for all trials. */
static bool open_fleet(struct fleet *f, size_t n)
{
    const size_t most = n <= ALL_NODES ? n * (n - 1) : n * ROUNDS;

    *f = (struct fleet){.n = n, .links = st_calloc(NULL, most, sizeof *f->links)};
    for (size_t i = 0; f->links != NULL && i < n; i++) {
        if (n <= ALL_NODES) {
            for (size_t j = 0; j < n; j++) {
                if (i != j) {
                    f->links[f->n_links++] = (struct st_link){.from = i, .to = j};
                }
            }
            continue;
        }
        for (size_t r = 0; r < ROUNDS; r++) { /* circle method, even number of nodes */
            const size_t m = n - 1;
            const size_t round = (size_t)(stk_random_u64(5, r) % m);
            size_t j = i == m ? round : (2 * round + m - i) % m;
            j = j == i ? m : j;
            f->links[f->n_links++] = (struct st_link){.from = i, .to = j};
        }
    }
    return f->links != NULL;
}

/* A matrix of this trial: own effects of nodes and links stay, the rest comes with each repetition. */
static void fill(struct fleet *f, enum plant plant, double slow, bool tails,
                 uint64_t seed, uint64_t repetition)
{
    const uint64_t again = seed + 1000003 * (repetition + 1);

    f->a = (size_t)(stk_random_u64(seed, 1) % f->n);
    f->b = (f->a + 1 + (size_t)(stk_random_u64(seed, 2) % (f->n - 1))) % f->n;
    for (size_t k = 0; k < f->n_links; k++) {
        struct st_link *l = &f->links[k];
        const uint64_t at = l->from * f->n + l->to;
        const double g =
            noise * (normal(seed + 3, l->from) / 2 + normal(seed + 4, l->to) / 2 +
                     normal(seed + 5, at) / 4 + draw(tails, again, at) * 3 / 4);
        const bool of_node = plant == ONE_NODE && (l->from == f->a || l->to == f->a);
        const bool of_link = plant == ONE_LINK && ((l->from == f->a && l->to == f->b) ||
                                                   (l->from == f->b && l->to == f->a));
        l->value = 24e9 * exp(g) * (of_node || of_link ? 1.0 - slow : 1.0);
    }
}

static bool is_planted(const struct fleet *f, enum plant plant, const struct st_blame *b)
{
    const size_t low = f->a < f->b ? f->a : f->b;
    const size_t high = f->a < f->b ? f->b : f->a;

    return (plant == ONE_NODE && b->is_node && b->a == f->a) ||
           (plant == ONE_LINK && !b->is_node && b->a == low && b->b == high);
}

/* Names of this trial and how often each was accused. */
struct tally {
    size_t n;
    struct st_blame names[MOST_NAMES];
    size_t times[MOST_NAMES];
};

static void count(struct tally *t, const struct st_blame *b)
{
    size_t k = 0;

    while (k < t->n && !(t->names[k].is_node == b->is_node && t->names[k].a == b->a &&
                         t->names[k].b == b->b)) {
        k++;
    }
    if (k == t->n && t->n < MOST_NAMES) {
        t->names[t->n] = *b;
        t->times[t->n++] = 0;
    }
    if (k < t->n) {
        t->times[k]++;
    }
}

/* Who is accused in most of the repetitions. link_map asks also that the accusation stands alone. */
static bool trial(struct fleet *f, enum plant plant, double slow, bool tails,
                  uint64_t seed, struct rates *rates)
{
    const struct st_link_set set = {
        .n_nodes = f->n, .n_links = f->n_links, .links = f->links, .better = 1};
    static struct tally tally;
    bool found = false;
    bool wrong = false;

    tally.n = 0;
    for (uint64_t k = 0; k < REPETITIONS; k++) {
        struct st_blames blames = {0};
        struct st_error err = {0};
        fill(f, plant, slow, tails, seed, k);
        if (st_blame(&set, &blames, &err) != ST_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            return false;
        }
        for (size_t i = 0; i < blames.n; i++) {
            count(&tally, &blames.list[i]);
        }
        st_blames_clear(&blames);
    }
    for (size_t i = 0; i < tally.n; i++) {
        const bool named = 2 * tally.times[i] > REPETITIONS;
        found = found || (named && is_planted(f, plant, &tally.names[i]));
        wrong = wrong || (named && !is_planted(f, plant, &tally.names[i]));
    }
    rates->trials++;
    rates->found += found ? 1 : 0;
    rates->wrong += wrong ? 1 : 0;
    return true;
}

static bool row(struct fleet *f, enum plant plant, double slow, bool tails,
                size_t n_trials, bool is_test)
{
    static const char *const words[] = {"nothing", "a node", "a link"};
    struct rates rates = {0};

    for (size_t t = 0; t < n_trials; t++) {
        if (!trial(f, plant, slow, tails, 17 + 101 * t + 13 * plant, &rates)) {
            return false;
        }
    }
    (void)printf("%6zu  %-6s  %-8s %3.0f %%  %7zu  %5.1f %%  %5.1f %%\n", f->n,
                 tails ? "t(5)" : "normal", words[plant], 100.0 * slow, rates.trials,
                 100.0 * (double)rates.found / (double)rates.trials,
                 100.0 * (double)rates.wrong / (double)rates.trials);
    (void)fflush(stdout);
    const bool missed = plant == ONE_NODE && slow > 0.15 && rates.found < rates.trials;
    return !is_test || (rates.wrong == 0 && !missed);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {16, 64, 256, 4096};
    static const double slows[] = {0.05, 0.10, 0.20};
    uint64_t most = 200;
    bool good = argc < 2 || st_parse_u64(argv[1], &most);
    const bool is_test = most <= 2;

    (void)printf(" NODES  NOISE   PLANTED   SLOW   TRIALS   FOUND    WRONG NAME\n");
    for (size_t k = 0; k < (is_test ? 2 : ST_COUNT(sizes)); k++) {
        const size_t n_trials = is_test || sizes[k] <= 64
                                    ? (size_t)most
                                    : (size_t)most / (sizes[k] > 256 ? 20 : 10);
        struct fleet f;
        if (!open_fleet(&f, sizes[k])) {
            return 1;
        }
        for (int tails = 0; tails < 2; tails++) {
            good = row(&f, NOBODY, 0.0, tails == 1, n_trials, is_test) && good;
            for (size_t s = 0; s < ST_COUNT(slows); s++) {
                good = row(&f, ONE_NODE, slows[s], tails == 1, n_trials, is_test) && good;
                if (sizes[k] <= ALL_NODES) {
                    good = row(&f, ONE_LINK, slows[s], tails == 1, n_trials, is_test) &&
                           good;
                }
            }
        }
        st_free(f.links);
    }
    return good ? 0 : 1;
}
