/*
 * Our triad beside a plain compiled one, in one run: all loops take turns in each
 * repetition, on the same arrays, so that what the machine does meanwhile hits all alike.
 * Prints median and best of each and their ratio to the plain loop; ends with 1 only if a
 * result is wrong, never because of speed.
 *
 * Usage: bench_compare_stream [MiB per array = 256] [repetitions = 20]
 */
#include "kernels/stream.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/stats/stats.h"
#include "tests/bench_compare/stream_plain.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>

enum {
    N_LOOPS =
        1 +
        2 * STK_N_ISAS, /* 0: plain; 2 v + 1, 2 v + 2: ordinary and not, of variant v */
    MOST_REPETITIONS = 1000
};

struct compared {
    size_t n;
    double *array[STK_N_ARRAYS];
    const struct stk_stream_isa *isas[STK_N_ISAS];
    double rate[N_LOOPS][MOST_REPETITIONS]; /* GB/s, STREAM bytes */
    size_t n_wrong;
};

static void run_one(struct compared *c, size_t loop, size_t repetition)
{
    const double s = 0.4 + 0.001 * (double)(repetition % 7); /* a changes each time */
    const double start = omp_get_wtime();

    if (loop == 0) {
        plain_triad(c->n, c->array[STK_A], c->array[STK_B], c->array[STK_C], s);
    } else {
        (void)stk_stream(c->isas[(loop - 1) / 2], STK_TRIAD,
                         loop % 2 == 1 ? STK_ORDINARY : STK_NONTEMPORAL, c->n, c->array,
                         s);
    }
    const double seconds = omp_get_wtime() - start;
    c->rate[loop][repetition] =
        stk_work_bytes(stk_stream_work(STK_TRIAD), c->n) / seconds / 1e9;
    const double want = 0.2 + s * 0.3;
    c->n_wrong += stk_stream_compare(c->n, c->array[STK_A], want, 4 * DBL_EPSILON).n_bad;
}

static void print_loops(struct compared *c, size_t n_loops, size_t n_repetitions)
{
    double plain_median = 0.0;
    double plain_best = 0.0;

    (void)printf("triad, %zu bytes per array, %d threads, %zu repetitions\n",
                 c->n * sizeof(double), omp_get_max_threads(), n_repetitions);
    for (size_t loop = 0; loop < n_loops; loop++) {
        double *rate = c->rate[loop];
        st_sort(n_repetitions, rate);
        const double median = st_median_sorted(n_repetitions, rate);
        const double best = rate[n_repetitions - 1];
        plain_median = loop == 0 ? median : plain_median;
        plain_best = loop == 0 ? best : plain_best;
        (void)printf(
            "%-14s %-12s median %7.2f  best %7.2f GB/s  of plain: %.3f, best %.3f\n",
            loop == 0 ? "plain compiled" : c->isas[(loop - 1) / 2]->name,
            loop == 0       ? ""
            : loop % 2 == 1 ? "ordinary"
                            : "nontemporal",
            median, best, median / plain_median, best / plain_best);
    }
}

static int compare(size_t n, size_t n_repetitions)
{
    static struct compared c;
    static const double start[STK_N_ARRAYS] = {0.1, 0.2, 0.3, 0.0};
    struct st_mapping map[3] = {{0}};
    struct st_error err = {0};
    const size_t n_isas = stk_stream_isas(STK_N_ISAS, c.isas);
    /* Where there are no non-temporal stores, there is one variant with ordinary ones. */
    const size_t n_loops = c.isas[0]->nontemporal[STK_TRIAD] != NULL ? 1 + 2 * n_isas : 2;

    c.n = n;
    for (size_t k = 0; k < 3; k++) {
        const size_t stagger = k * (1024 + 64);
        if (st_pages_map(&err, n * sizeof(double) + stagger, ST_PAGES_DEFAULT, &map[k]) !=
            ST_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        c.array[k] = (double *)(void *)((char *)map[k].base + stagger);
        stk_stream_fill(n, c.array[k], start[k]);
    }
    for (size_t r = 0; r <= n_repetitions;
         r++) { /* the first one is overwritten: warm-up */
        for (size_t loop = 0; loop < n_loops; loop++) {
            run_one(&c, loop, r == 0 ? 0 : r - 1);
        }
    }
    print_loops(&c, n_loops, n_repetitions);
    for (size_t k = 0; k < 3; k++) {
        st_pages_unmap(&map[k]);
    }
    if (c.n_wrong != 0) {
        (void)printf("%zu elements are wrong\n", c.n_wrong);
    }
    return c.n_wrong != 0;
}

int main(int argc, char **argv)
{
    uint64_t mib = 256;
    uint64_t n_repetitions = 20;

    if ((argc > 1 && !st_parse_u64(argv[1], &mib)) ||
        (argc > 2 && !st_parse_u64(argv[2], &n_repetitions)) || mib < 1 ||
        mib > 1 << 20 || n_repetitions < 1 || n_repetitions > MOST_REPETITIONS) {
        (void)fprintf(stderr, "usage: %s [MiB per array] [repetitions, at most %d]\n",
                      argv[0], MOST_REPETITIONS);
        return 3;
    }
    return compare((size_t)(mib << 20) / sizeof(double), (size_t)n_repetitions);
}
