/*
 * Median polish (the vector of METHODS 8.5) and attribution on simulated machines: clean ones,
 * a slow node, a slow link, three pairs behind one switch. Noise is lognormal from SplitMix64
 * (the project's generator), seeded, so a failure repeats.
 */
#include "kernels/splitmix.h"
#include "src/base/mem.h"
#include "src/stats/polish.h"
#include "src/stats/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    MOST_NODES = 64,
    MOST_LINKS = MOST_NODES * (MOST_NODES - 1)
};

/* All ordered pairs of a machine. */
struct machine {
    struct st_link_set set;
    struct st_link links[MOST_LINKS];
};

static double normal(uint64_t seed, uint64_t i)
{
    const double u = ((double)(stk_random_u64(seed, i) >> 11) + 0.5) * 0x1p-53;

    return st_normal_quantile(u);
}

/* Level 24 with lognormal noise of this width; each node and each link has its own. */
static struct machine *machine_make(size_t n, int better, double noise, uint64_t seed)
{
    struct machine *m = st_calloc(NULL, 1, sizeof *m);
    size_t k = 0;

    assert_non_null(m);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            if (i != j) {
                const double g = noise * (normal(seed, i) / 2 + normal(seed + 1, j) / 2 +
                                          normal(seed + 2, i * n + j));
                m->links[k++] =
                    (struct st_link){.from = i, .to = j, .value = 24.0 * exp(g)};
            }
        }
    }
    m->set = (struct st_link_set){
        .n_nodes = n, .n_links = k, .links = m->links, .better = better};
    return m;
}

/* Make the links of a node, or with b < n one link, slower: values times @p factor. */
static void plant(struct machine *m, size_t a, size_t b, double factor)
{
    for (size_t k = 0; k < m->set.n_links; k++) {
        struct st_link *l = &m->links[k];
        const bool of_node = b == SIZE_MAX && (l->from == a || l->to == a);
        const bool of_link = (l->from == a && l->to == b) || (l->from == b && l->to == a);
        l->value *= of_node || of_link ? factor : 1.0;
    }
}

/* "node 3, link 1-6", in the order of the list. */
static const char *names(const struct machine *m, char *out, size_t size)
{
    struct st_blames blames;
    struct st_error err = {0};
    size_t used = 0;

    out[0] = '\0';
    assert_int_equal(st_blame(&m->set, &blames, &err), ST_OK);
    for (size_t k = 0; k < blames.n && used < size; k++) {
        const struct st_blame *b = &blames.list[k];
        const char *comma = k > 0 ? ", " : "";
        used += (size_t)(b->is_node ? snprintf(out + used, size - used, "%snode %zu",
                                               comma, b->a)
                                    : snprintf(out + used, size - used, "%slink %zu-%zu",
                                               comma, b->a, b->b));
        assert_true(b->n_slow > 0 && b->n_slow <= b->n_links);
        assert_true(m->set.better > 0 ? b->factor < 1.0 : b->factor > 1.0);
        assert_true(b->score > b->limit);
    }
    st_blames_clear(&blames);
    return out;
}

static void the_vector_of_methods_8_5(void **unused)
{
    struct machine *m = machine_make(8, 1, 0.0, 1);
    struct st_polish fit;
    struct st_error err = {0};
    char text[128];

    (void)unused;
    for (size_t k = 0; k < m->set.n_links; k++) { /* row and column of node 3 */
        m->links[k].value *= m->links[k].from == 3 || m->links[k].to == 3 ? 0.8 : 1.0;
    }
    plant(m, 1, 6, 0.5);
    assert_int_equal(st_polish_fit(&m->set, &fit, &err), ST_OK);
    assert_true(fabs(exp(fit.level) - 24.0) < 1e-12 * 24.0);
    for (size_t i = 0; i < 8; i++) {
        const double want = i == 3 ? 0.8 : 1.0;
        assert_true(fabs(exp(fit.sender[i]) - want) < 1e-12);
        assert_true(fabs(exp(fit.receiver[i]) - want) < 1e-12);
    }
    for (size_t k = 0; k < m->set.n_links; k++) {
        const size_t sum = m->links[k].from + m->links[k].to;
        const bool planted = sum == 7 && (m->links[k].from == 1 || m->links[k].from == 6);
        assert_true(fabs(exp(fit.residual[k]) - (planted ? 0.5 : 1.0)) < 1e-12);
    }
    st_polish_clear(&fit);
    assert_string_equal(names(m, text, sizeof text), "node 3, link 1-6");
    st_free(m);
}

/* Retest of whatever is suspected, with fresh noise and 8 controls, all healthy. */
static bool stands_after_retest(const struct machine *m, uint64_t seed)
{
    struct st_retest list[10];
    struct st_blames blames;
    struct st_error err = {0};
    bool stands = false;

    assert_int_equal(st_blame(&m->set, &blames, &err), ST_OK);
    for (size_t k = 0; k < blames.n; k++) {
        const struct st_blame *b = &blames.list[k];
        double factor = 0.0;
        for (size_t i = 0; i < ST_COUNT(list); i++) {
            list[i] = (struct st_retest){.from = i == 0   ? b->a
                                                 : i == 1 ? b->b
                                                          : 1000,
                                         .to = i == 0   ? b->b
                                               : i == 1 ? b->a
                                                        : 1001,
                                         .is_control = i >= 2};
            for (size_t r = 0; r < ST_RETESTS; r++) {
                list[i].value[r] = 24.0 * exp(0.02 * normal(seed + k, 10 * i + r));
            }
        }
        stands =
            stands || st_blame_stands(b, m->set.better, ST_COUNT(list), list, &factor);
    }
    st_blames_clear(&blames);
    return stands;
}

static void clean_machines_accuse_nobody(void **unused)
{
    static const size_t sizes[] = {3, 4, 5, 6, 7, 8, 16, 64};
    char text[256];

    size_t n_suspected = 0;
    size_t n_accused = 0;

    (void)unused;
    for (size_t s = 0; s < ST_COUNT(sizes); s++) {
        for (uint64_t run = 0; run < (sizes[s] > 16 ? 10U : 100U); run++) {
            /* 1 % noise of bandwidths, 2 % of latencies: a quiet network */
            struct machine *m =
                machine_make(sizes[s], run % 2 == 0 ? 1 : -1, run % 2 == 0 ? 0.01 : 0.02,
                             1000 * sizes[s] + 10 * run);
            n_suspected += names(m, text, sizeof text)[0] != '\0' ? 1 : 0;
            n_accused += stands_after_retest(m, 31 * run) ? 1 : 0;
            st_free(m);
        }
    }
    /* Limits are 99 % quantiles: of 710 machines 7 may be suspected, two or three times that by
     * bad luck; but then a retest decides, and it accuses nobody. */
    assert_true(n_suspected <= 20);
    assert_int_equal(n_accused, 0);
}

/* The rule itself, on values that need no luck. */
static void a_retest_decides(void **unused)
{
    static const struct {
        int better;
        bool is_node;
        double accused[2]; /* all three values of two directions */
        size_t n_controls;
        bool stands;
        double factor;
    } rows[] = {
        {1, false, {0.5, 1.0}, 8, true, 0.5},
        {1, false, {1.0, 1.0}, 8, false, 1.0},
        {1, false, {0.98, 1.0}, 8, false, 0.98},
        {-1, false, {1.5, 1.0}, 8, true, 1.5},
        {-1, false, {0.5, 1.0}, 8, false, 1.0},
        {1, true, {0.5, 1.0}, 8, false, 0.5},
        {1, true, {0.5, 0.6}, 8, true, 0.5},
        {1, false, {0.5, 0.5}, 3, false, (double)NAN},
        {1, false, {(double)NAN, 1.0}, 8, false, 1.0},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_retest list[10];
        const struct st_blame blame = {.is_node = rows[i].is_node, .a = 1, .b = 2};
        const size_t n = 2 + rows[i].n_controls;
        double factor = 0.0;
        for (size_t k = 0; k < n; k++) {
            const double v = k < 2 ? rows[i].accused[k] : 1.0;
            list[k] = (struct st_retest){.from = k == 0   ? 1
                                                 : k == 1 ? 2
                                                          : k + 3,
                                         .to = k == 0   ? 2
                                               : k == 1 ? 1
                                                        : k + 4,
                                         .is_control = k >= 2,
                                         .value = {v, v, v}};
        }
        assert_true(st_blame_stands(&blame, rows[i].better, n, list, &factor) ==
                    rows[i].stands);
        assert_true(isnan(rows[i].factor) ? isnan(factor)
                                          : fabs(factor - rows[i].factor) < 1e-12);
        /* What its node explains is not held against the link. */
        struct st_blame of_node = blame;
        of_node.by_nodes = log(0.5);
        if (!rows[i].is_node && rows[i].factor == 0.5) {
            assert_false(st_blame_stands(&of_node, rows[i].better, n, list, &factor));
        }
        /* One good value is enough for a link in this direction. */
        list[0].value[1] = 1.0;
        if (!rows[i].is_node && rows[i].accused[1] == 1.0) {
            assert_false(st_blame_stands(&blame, rows[i].better, n, list, &factor));
        }
    }
}

struct planted {
    size_t n;
    int better;
    double factor;
    size_t fault[3][2]; /* {a, b}; b = SIZE_MAX: a node; {0, 0}: none */
    const char *want;
};

static void planted_faults_are_named(void **unused)
{
    static const struct planted rows[] = {
        {8, 1, 0.8, {{3, SIZE_MAX}}, "node 3"},
        {8, -1, 1.5, {{3, SIZE_MAX}}, "node 3"},
        {16, 1, 0.9, {{0, SIZE_MAX}}, "node 0"},
        {64, 1, 0.9, {{63, SIZE_MAX}, {5, SIZE_MAX}}, "node 5, node 63"},
        {8, 1, 0.5, {{1, 4}}, "link 1-4"},
        {16, 1, 0.85, {{1, 4}}, "link 1-4"},
        {16, -1, 1.5, {{1, 4}}, "link 1-4"},
        {8, 1, 0.5, {{0, 1}, {2, 3}, {4, 5}}, "link 0-1, link 2-3, link 4-5"},
        {16, -1, 2.0, {{0, 1}, {2, 3}, {4, 5}}, "link 0-1, link 2-3, link 4-5"},
        {16, 1, 0.7, {{3, SIZE_MAX}, {7, 9}}, "node 3, link 7-9"},
        /* Four or five nodes: coarse, and only what is plain. */
        {4, 1, 0.5, {{2, SIZE_MAX}}, "node 2"},
        {4, -1, 3.0, {{0, SIZE_MAX}}, "node 0"},
        {5, 1, 0.5, {{1, 3}}, "link 1-3"},
        {4, 1, 0.5, {{0, 3}}, "link 0-3"},
        {4, 1, 0.9, {{0, 3}}, ""},
        /* Three: nobody can say which of two it is. */
        {3, 1, 0.1, {{1, SIZE_MAX}}, ""},
        /* Too little to matter: below 3 % (10 %) nobody is named, however quiet the rest. */
        {64, 1, 0.98, {{5, SIZE_MAX}}, ""},
        {64, -1, 1.08, {{5, SIZE_MAX}}, ""},
    };
    char text[256];

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        const struct planted *row = &rows[r];
        for (uint64_t run = 0; run < 20; run++) {
            const double noise = row->factor > 0.95 && row->factor < 1.1 ? 0.001 : 0.01;
            struct machine *m =
                machine_make(row->n, row->better, noise, 77777 + 100 * r + 3 * run);
            for (size_t f = 0; f < 3; f++) {
                if (row->fault[f][0] != row->fault[f][1]) {
                    plant(m, row->fault[f][0], row->fault[f][1], row->factor);
                }
            }
            if (strcmp(names(m, text, sizeof text), row->want) != 0) {
                fail_msg("row %zu run %u: '%s', not '%s'", r, (unsigned)run, text,
                         row->want);
            }
            st_free(m);
        }
    }
}

/* A node that is slow only when it receives, and one link in one direction. */
static void one_direction_is_enough(void **unused)
{
    struct machine *m = machine_make(16, 1, 0.01, 4242);
    struct st_blames blames;
    struct st_error err = {0};

    (void)unused;
    for (size_t k = 0; k < m->set.n_links; k++) {
        struct st_link *l = &m->links[k];
        l->value *= l->to == 9 ? 0.7 : 1.0;
        l->value *= l->from == 2 && l->to == 4 ? 0.5 : 1.0;
    }
    assert_int_equal(st_blame(&m->set, &blames, &err), ST_OK);
    assert_int_equal(blames.n, 2);
    assert_true(blames.list[0].is_node && blames.list[0].a == 9);
    assert_int_equal(blames.list[0].n_links, 15);
    assert_true(!blames.list[1].is_node && blames.list[1].a == 2 &&
                blames.list[1].b == 4);
    assert_true(blames.list[1].n_slow == 1 && blames.list[1].n_links == 2);
    assert_true(fabs(blames.list[1].factor - 0.5) < 0.05);
    st_blames_clear(&blames);
    st_free(m);
}

/* Random rounds of a larger machine: nodes can be named, links cannot (METHODS 3.2). */
static void few_rounds_name_nodes_only(void **unused)
{
    struct machine *m = machine_make(64, 1, 0.01, 99);
    char text[128];
    size_t n_kept = 0;

    (void)unused;
    plant(m, 11, SIZE_MAX, 0.7);
    plant(m, 20, 21, 0.3);
    for (size_t k = 0; k < m->set.n_links; k++) { /* 6 partners each */
        const size_t apart = (m->links[k].to + 64 - m->links[k].from) % 64;
        if (apart <= 3 || apart >= 61) {
            m->links[n_kept++] = m->links[k];
        }
    }
    m->set.n_links = n_kept;
    assert_string_equal(names(m, text, sizeof text), "node 11");
    st_free(m);
}

/* A value that is no number is a link that was not measured; nothing is named by it. */
static void missing_values_do_no_harm(void **unused)
{
    static const double bad[] = {(double)NAN, 0.0, -1.0, (double)INFINITY};
    char text[128];

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(bad); i++) {
        struct machine *m = machine_make(8, 1, 0.01, 5);
        plant(m, 3, SIZE_MAX, 0.5);
        for (size_t k = 0; k < m->set.n_links; k++) {
            if (m->links[k].from == 6 || (m->links[k].from == 1 && m->links[k].to == 2)) {
                m->links[k].value = bad[i];
            }
        }
        assert_string_equal(names(m, text, sizeof text), "node 3");
        st_free(m);
    }
}

static void failing_allocations_leak_nothing(void **unused)
{
    struct machine *m = machine_make(8, 1, 0.01, 5);
    struct machine *small = machine_make(4, 1, 0.01, 5);
    const struct machine *machines[] = {m, small};
    struct st_error err = {0};

    (void)unused;
    plant(m, 1, 2, 0.3);
    plant(small, 1, 2, 0.3);
    for (size_t i = 0; i < ST_COUNT(machines); i++) {
        enum st_status rc = ST_ERR_MEMORY;
        for (uint64_t nth = 1; rc != ST_OK; nth++) {
            struct st_blames blames = {0};
            st_mem_fail_at(nth);
            rc = st_blame(&machines[i]->set, &blames, &err);
            st_mem_fail_at(0);
            assert_true(rc == ST_OK || rc == ST_ERR_MEMORY);
            st_blames_clear(&blames);
            assert_true(nth < 100);
        }
    }
    st_free(m);
    st_free(small);
}

/* One object is one count, whichever metric accuses it and in whichever it stands. */
static void two_metrics_count_an_object_once(void **unused)
{
    struct st_blame latency[] = {{.is_node = true, .a = 3, .stands = true},
                                 {.a = 1, .b = 4}, /* contention by latency … */
                                 {.a = 0, .b = 2}};
    struct st_blame bandwidth[] = {{.is_node = true, .a = 3},
                                   {.a = 1, .b = 4, .stands = true}, /* … not by this */
                                   {.a = 5, .b = 6, .stands = true}};
    const struct st_blames first = {.n = 3, .list = latency};
    const struct st_blames second = {.n = 3, .list = bandwidth};
    const struct st_blames none = {0};

    (void)unused;
    for (int swapped = 0; swapped < 2; swapped++) {
        const struct st_blame_counts counts =
            st_blames_count(swapped ? &second : &first, swapped ? &first : &second);
        assert_int_equal(counts.slow_nodes, 1);
        assert_int_equal(counts.slow_links, 2);
        assert_int_equal(counts.contended, 1);
    }
    assert_int_equal(st_blames_count(&first, &none).contended, 2);
    assert_int_equal(st_blames_count(&none, &none).contended, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_metrics_count_an_object_once),
        cmocka_unit_test(the_vector_of_methods_8_5),
        cmocka_unit_test(clean_machines_accuse_nobody),
        cmocka_unit_test(a_retest_decides),
        cmocka_unit_test(planted_faults_are_named),
        cmocka_unit_test(one_direction_is_enough),
        cmocka_unit_test(few_rounds_name_nodes_only),
        cmocka_unit_test(missing_values_do_no_harm),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
