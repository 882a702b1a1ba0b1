/*
 * Our pointer chase beside a plain one that shares no code with it, with 4 KiB and with 2 MiB
 * pages, in one run: both take turns, so that what the machine does meanwhile hits both alike.
 * Prints the medians and their ratio; ends with 1 only if a chase goes astray or memory is
 * missing, never because of speed.
 *
 * Usage: bench_compare_chase [MiB = 1024] [rounds = 10] [thousand loads per round = 1000]
 */
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/part_chase.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"
#include "tests/bench_compare/chase_plain.h"

#include <stdio.h>

enum {
    STRIDE = 128, /* METHODS 2.1 */
    MOST_ROUNDS = 1000
};

struct compared {
    uint64_t bytes;
    size_t n_rounds, n_loads;
    struct st_chase_set ours;
    struct st_mapping plain;
    double ours_s[MOST_ROUNDS], plain_s[MOST_ROUNDS];
};

static enum st_status make(struct compared *c, enum st_pages pages, struct st_error *err)
{
    const struct st_chase_wish wish = {.n_sizes = 1,
                                       .sizes = &c->bytes,
                                       .stride = STRIDE,
                                       .order = ST_CHASE_RANDOM,
                                       .pages = pages,
                                       .os_node = -1};
    const size_t n = (size_t)(c->bytes / STRIDE);

    enum st_status rc = st_chase_create(&wish, 1, &c->ours, err);
    if (rc == ST_OK) {
        rc = st_pages_map(err, (size_t)c->bytes, pages, &c->plain);
    }
    uint32_t *order = rc == ST_OK ? st_calloc(err, n, sizeof *order) : NULL;
    if (rc == ST_OK && order == NULL) {
        rc = err->code;
    }
    if (rc == ST_OK) {
        plain_chase_link(c->plain.base, n, STRIDE, order);
    }
    st_free(order);
    return rc;
}

static void *chase_in_turn(struct compared *c)
{
    void *at = c->plain.base;

    for (size_t r = 0; r < c->n_rounds; r++) {
        c->ours_s[r] = st_chase_time(&c->ours.cycles[0], 1, 0, c->n_loads);
        const double begin = st_now();
        at = plain_chase(at, c->n_loads);
        c->plain_s[r] = (st_now() - begin) / (double)c->n_loads;
    }
    return at;
}

static bool compare(struct compared *c, enum st_pages pages)
{
    struct st_error err = {0};
    struct st_check check = {0};
    bool good = make(c, pages, &err) == ST_OK;

    if (!good) {
        (void)fprintf(stderr, "%s\n", err.text);
    } else {
        const char *base = c->plain.base;
        const char *at = chase_in_turn(c);
        st_chase_verify(&c->ours, &check);
        good = check.n_bad == 0 && at >= base && at < base + c->bytes;
        st_sort(c->n_rounds, c->ours_s);
        st_sort(c->n_rounds, c->plain_s);
        const double ours = 1e9 * st_median_sorted(c->n_rounds, c->ours_s);
        const double plain = 1e9 * st_median_sorted(c->n_rounds, c->plain_s);
        (void)printf("%-12s ours %7.2f ns (best %7.2f)  plain %7.2f ns (best %7.2f)  "
                     "ratio %.3f  huge pages %.0f %% and %.0f %%\n",
                     pages == ST_PAGES_HUGE ? "2 MiB pages" : "4 KiB pages", ours,
                     1e9 * c->ours_s[0], plain, 1e9 * c->plain_s[0], ours / plain,
                     100.0 * c->ours.huge, 100.0 * st_pages_huge_fraction(&c->plain));
    }
    st_chase_clear(&c->ours);
    st_pages_unmap(&c->plain);
    return good;
}

int main(int argc, char **argv)
{
    static struct compared c;
    uint64_t mib = 1024;
    uint64_t rounds = 10;
    uint64_t thousands = 1000;

    if ((argc > 1 && !st_parse_u64(argv[1], &mib)) ||
        (argc > 2 && !st_parse_u64(argv[2], &rounds)) ||
        (argc > 3 && !st_parse_u64(argv[3], &thousands)) || mib == 0 || mib > 1 << 18 ||
        rounds == 0 || rounds > MOST_ROUNDS || thousands == 0 || thousands > 1000000) {
        (void)fprintf(stderr,
                      "usage: bench_compare_chase [MiB] [rounds] [thousand loads]\n");
        return 1;
    }
    c.bytes = mib << 20;
    c.n_rounds = (size_t)rounds;
    c.n_loads = (size_t)thousands * 1000;
    (void)printf("pointer chase over %llu MiB, stride %d B, %zu rounds of %zu loads\n",
                 (unsigned long long)mib, STRIDE, c.n_rounds, c.n_loads);
    const bool small = compare(&c, ST_PAGES_SMALL);
    const bool huge = compare(&c, ST_PAGES_HUGE);
    return small && huge ? 0 : 1;
}
