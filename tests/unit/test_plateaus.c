/*
 * Plateaus of latency curves: synthetic ones with known levels, with ramps, noise and missing
 * levels, and two shapes taken from real machines. Sizes of sweeps and of the memory behind.
 */
#include "src/base/mem.h"
#include "src/benchmarks/part_chase.h"

#include "kernels/splitmix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void sweep_has_powers_and_what_is_between(void **unused)
{
    uint64_t sizes[ST_SWEEP_MAX];

    (void)unused;
    assert_int_equal(st_sweep_sizes(4 * KIB, GIB, sizes), 37);
    assert_int_equal(sizes[0], 4 * KIB);
    assert_int_equal(sizes[1], 6 * KIB);
    assert_int_equal(sizes[2], 8 * KIB);
    assert_int_equal(sizes[35], 768 * MIB);
    assert_int_equal(sizes[36], GIB);
    assert_int_equal(st_sweep_sizes(5 * KIB, 7 * KIB, sizes), 1);
    assert_int_equal(sizes[0], 6 * KIB);
    assert_int_equal(st_sweep_sizes(4 * KIB, 4 * KIB - 1, sizes), 0);
    assert_true(st_sweep_sizes(2, UINT64_MAX, sizes) <= ST_SWEEP_MAX);
}

/* A sweep to 1 GiB fits into little more than 1 GiB: 16 cycles of each line of 128 bytes. */
static void sweep_needs_the_memory_of_its_largest_size(void **unused)
{
    uint64_t sizes[ST_SWEEP_MAX];
    struct st_chase_wish wish = {.n_sizes = st_sweep_sizes(4 * KIB, GIB, sizes),
                                 .sizes = sizes,
                                 .stride = 128,
                                 .pages = ST_PAGES_HUGE,
                                 .os_node = -1};

    (void)unused;
    /* sizes 1 GiB … 6 MiB in the first region, 4 MiB … 24 KiB in the next, then 16 KiB … */
    assert_int_equal(st_chase_bytes(&wish), GIB + 4 * MIB + 2 * MIB);
    wish.pages = ST_PAGES_SMALL;
    assert_int_equal(st_chase_bytes(&wish), GIB + 4 * MIB + 16 * KIB);
    wish.stride = 256;
    assert_int_equal(st_chase_bytes(&wish), GIB + 16 * KIB);
}

/* One curve: latencies of levels with their sizes; between them a ramp by misses. */
struct curve {
    const char *name;
    size_t n_levels;
    double size[3], latency_s[4];
    double sharpness; /* large: all of a size beyond the cache misses (LRU); 1: a cache of
                         random replacement, hits = capacity / size */
    double noise;     /* largest relative error */
    double tlb_s;     /* rise per doubling from 64 MiB on */
};

static double model(const struct curve *c, double size)
{
    double latency_s = c->latency_s[0];

    for (size_t k = 0; k + 1 < c->n_levels; k++) {
        const double hits =
            size <= c->size[k] ? 1.0 : pow(c->size[k] / size, c->sharpness);
        latency_s = size <= c->size[k]
                        ? latency_s
                        : hits * latency_s + (1 - hits) * c->latency_s[k + 1];
    }
    return latency_s + (size > 64.0 * MIB ? c->tlb_s * log2(size / (64.0 * MIB)) : 0.0);
}

static size_t sample(const struct curve *c, uint64_t sizes[ST_SWEEP_MAX],
                     double latency_s[ST_SWEEP_MAX], uint64_t seed)
{
    const size_t n = st_sweep_sizes(4 * KIB, GIB, sizes);

    for (size_t i = 0; i < n; i++) {
        const double error = c->noise * (2.0 * stk_random_unit(seed, i) - 1.0);
        latency_s[i] = model(c, (double)sizes[i]) * (1.0 + error);
    }
    return n;
}

/* Found sizes may be one step of the sweep off: a factor of 1.5 at most. */
static bool near_size(double found, double want)
{
    return found >= want / 1.51 && found <= want * 1.51;
}

static const struct curve curves[] = {
    {"desktop", 4, {32768, 0x1p20, 0x1p25}, {1.1e-9, 3.6e-9, 12e-9, 90e-9}, 9, 0, 0},
    {"48 KiB, LRU", 4, {49152, 0x1p21, 0x1p26}, {1e-9, 4e-9, 25e-9, 110e-9}, 9, 0.05, 0},
    {"share of a VM",
     4,
     {32768, 0x1p20, 6291456},
     {1.1e-9, 3.8e-9, 14e-9, 140e-9},
     4,
     0.1,
     0},
    {"small pages",
     4,
     {32768, 0x1p20, 0x1p25},
     {1.1e-9, 4e-9, 18e-9, 150e-9},
     4,
     0.05,
     30e-9},
    {"random replacement",
     4,
     {32768, 0x1p20, 0x1p24},
     {1e-9, 4e-9, 20e-9, 150e-9},
     2.5,
     0.05,
     0},
    {"no third level", 3, {32768, 0x1p20}, {1.2e-9, 6e-9, 120e-9}, 6, 0.05, 0},
    {"one cache", 2, {65536}, {1.5e-9, 100e-9}, 6, 0.05, 0},
    {"flat", 1, {0}, {5e-9}, 1, 0.1, 0},
};

static void plateaus_are_found(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ST_COUNT(curves); k++) {
        for (uint64_t seed = 0; seed < 50; seed++) {
            const struct curve *c = &curves[k];
            uint64_t sizes[ST_SWEEP_MAX];
            double latency_s[ST_SWEEP_MAX];
            struct st_plateaus found;
            const size_t n = sample(c, sizes, latency_s, seed);
            st_plateaus_find(n, sizes, latency_s, &found);
            bool good = found.n == c->n_levels;
            for (size_t i = 0; good && i + 1 < found.n; i++) {
                good = near_size(found.size_bytes[i], c->size[i]) &&
                       found.latency_s[i] < 1.7 * c->latency_s[i] &&
                       found.latency_s[i] > 0.85 * c->latency_s[i];
            }
            if (!good) {
                for (size_t i = 0; i < found.n; i++) {
                    print_message("  level %zu: %.3g s to %.0f B\n", i,
                                  found.latency_s[i], found.size_bytes[i]);
                }
                fail_msg("%s, seed %d: %zu levels", c->name, (int)seed, found.n);
            }
        }
    }
}

static void few_points_are_few_levels(void **unused)
{
    static const uint64_t sizes[] = {4096, 6144, 8192, 12288};
    static const double latency_s[] = {1e-9, 1e-9, 50e-9, 50e-9};
    struct st_plateaus found;

    (void)unused;
    st_plateaus_find(0, sizes, latency_s, &found);
    assert_int_equal(found.n, 0);
    st_plateaus_find(1, sizes, latency_s, &found);
    assert_int_equal(found.n, 1);
    assert_true(found.latency_s[0] == 1e-9 && found.size_bytes[0] == 4096.0);
    st_plateaus_find(3, sizes, latency_s, &found);
    assert_int_equal(found.n, 1);
    st_plateaus_find(4, sizes, latency_s, &found);
    assert_int_equal(found.n, 2);
    assert_true(found.size_bytes[0] == 6144.0 && found.size_bytes[1] == 12288.0);
}

static void boundaries_are_matched_with_what_is_told(void **unused)
{
    static const struct {
        size_t n; /* levels found */
        double found[3];
        uint64_t told[3];
        int level_of[3]; /* which boundary each level gets; -1: none */
    } rows[] = {
        {4, {32768, 0x1p20, 0x1p23}, {32768, 1 << 20, 1 << 25}, {0, 1, 2}},
        {4, {32768, 0x1p20, 0x1p23}, {0, 0, 0}, {0, 1, 2}},
        /* the third level is not seen, or the second */
        {3, {32768, 0x1p20}, {32768, 1 << 20, 1 << 25}, {0, 1, -1}},
        {3, {32768, 0x1p24}, {32768, 1 << 20, 1 << 25}, {0, -1, 1}},
        {2, {0x1p25}, {32768, 1 << 20, 1 << 25}, {-1, -1, 0}},
        /* a virtual machine that claims a whole socket's 508 MiB, not believed: told as 0 */
        {4, {32768, 0x1p20, 6291456}, {32768, 1 << 20, 0}, {0, 1, 2}},
        {2, {65536}, {0, 0, 0}, {0, -1, -1}},
        {1, {0}, {32768, 1 << 20, 1 << 25}, {-1, -1, -1}},
        {0, {0}, {32768, 1 << 20, 1 << 25}, {-1, -1, -1}},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_plateaus found = {.n = rows[r].n};
        double size[ST_CACHE_LEVELS];
        for (size_t k = 0; k < 3; k++) {
            found.size_bytes[k] = rows[r].found[k];
        }
        st_plateaus_match(&found, rows[r].told, size);
        for (size_t level = 0; level < 3; level++) {
            const int k = rows[r].level_of[level];
            assert_true(k < 0 ? isnan(size[level]) : size[level] == rows[r].found[k]);
        }
    }
}

static void medians_and_crossings_of_a_curve(void **unused)
{
    static const uint64_t sizes[] = {10, 20, 30, 40, 50};
    static const double latency_s[] = {1, 2, 4, 8, 16};
    static const double bandwidth[] = {1, 3, 5, 5, 9};

    (void)unused;
    assert_true(st_curve_median(5, sizes, latency_s, 20, 40) == 4.0);
    assert_true(st_curve_median(5, sizes, latency_s, 40, (double)INFINITY) == 12.0);
    assert_true(isnan(st_curve_median(5, sizes, latency_s, 51, 60)));
    assert_true(isnan(st_curve_median(5, sizes, latency_s, (double)NAN, (double)NAN)));
    assert_true(st_curve_at(5, bandwidth, latency_s, 0.5) == 1.0);
    assert_true(st_curve_at(5, bandwidth, latency_s, 2.0) == 1.5);
    assert_true(st_curve_at(5, bandwidth, latency_s, 5.0) == 4.0);
    assert_true(st_curve_at(5, bandwidth, latency_s, 7.0) == 12.0);
    assert_true(isnan(st_curve_at(5, bandwidth, latency_s, 9.5)));
}

/* A whole set in small memory: links are one cycle, the chase arrives, a bent link shows. */
static void set_is_made_chased_and_verified(void **unused)
{
    static const uint64_t sizes[] = {1024, 4096, 6144, 65536};
    const enum st_chase_order orders[] = {ST_CHASE_RANDOM, ST_CHASE_INPAGE};
    static const size_t chains[] = {1, 2, 4};

    (void)unused;
    for (size_t k = 0; k < ST_COUNT(orders); k++) {
        const struct st_chase_wish wish = {.n_sizes = ST_COUNT(sizes),
                                           .sizes = sizes,
                                           .stride = 128,
                                           .order = orders[k],
                                           .pages = ST_PAGES_SMALL,
                                           .os_node = -1};
        struct st_chase_set set = {0};
        struct st_error err = {0};
        struct st_check check = {0};
        assert_int_equal(st_chase_create(&wish, 4, &set, &err), ST_OK);
        assert_true(set.map.size_bytes >= st_chase_bytes(&wish));
        st_chase_verify(&set, &check);
        assert_true(check.n_checked > 0 && check.n_bad == 0);
        for (size_t i = 0; i < ST_COUNT(sizes) * ST_COUNT(chains); i++) {
            struct st_chase_cycle *cycle = &set.cycles[i / ST_COUNT(chains)];
            const double time_s =
                st_chase_time(cycle, chains[i % ST_COUNT(chains)], 7, 100);
            assert_true(time_s > 0.0 && isfinite(time_s));
            assert_int_equal(cycle->n_steps, 16 + 112);
            st_chase_verify(&set, &check);
            assert_int_equal(check.n_bad, 0);
        }
        set.cycles[1].n_steps++; /* the chase is one line from where it should be */
        st_chase_verify(&set, &check);
        assert_int_equal(check.n_bad, 1);
        set.cycles[1].n_steps--;
        st_chase_spoil(&set);
        st_chase_verify(&set, &check);
        assert_true(check.n_bad > 1);
        st_chase_clear(&set);
        st_chase_clear(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_has_powers_and_what_is_between),
        cmocka_unit_test(sweep_needs_the_memory_of_its_largest_size),
        cmocka_unit_test(plateaus_are_found),
        cmocka_unit_test(few_points_are_few_levels),
        cmocka_unit_test(boundaries_are_matched_with_what_is_told),
        cmocka_unit_test(medians_and_crossings_of_a_curve),
        cmocka_unit_test(set_is_made_chased_and_verified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
