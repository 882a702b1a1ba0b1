/*
 * Pointer chase and delay-loaded streams: the vectors of METHODS 2.1 and 2.4, properties of
 * cycles of any length, and the unrolled variants against the plain one.
 */
#include "kernels/chase.h"
#include "kernels/load.h"
#include "src/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    MOST_LINES = 700,
    STRIDE = 128
};

static char memory[MOST_LINES * STRIDE] __attribute__((aligned(128)));

/* METHODS 2.1 [V] */
static void sattolo_gives_the_vectors(void **unused)
{
    static const struct {
        size_t n;
        uint64_t seed;
        uint32_t p[16], visits[8];
    } rows[] = {
        {8, 1, {6, 7, 4, 5, 3, 0, 1, 2}, {0, 6, 1, 7, 2, 4, 3, 5}},
        {8, 2, {6, 7, 3, 5, 0, 1, 2, 4}, {0}},
        {16, 1, {12, 3, 9, 6, 10, 2, 4, 13, 15, 0, 8, 14, 11, 1, 7, 5}, {0}},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        uint32_t p[16];
        stk_sattolo(rows[r].n, rows[r].seed, p);
        assert_memory_equal(p, rows[r].p, rows[r].n * sizeof *p);
        uint32_t at = 0;
        for (size_t k = 0; r == 0 && k < 8; k++) {
            assert_int_equal(at, rows[r].visits[k]);
            at = p[at];
        }
    }
}

/* Steps from line 0 back to it; 0 if that takes more than n. */
static size_t cycle_length(size_t n, const uint32_t *p)
{
    size_t length = 1;
    uint32_t at = p[0];

    while (at != 0 && length <= n) {
        at = p[at];
        length++;
    }
    return at == 0 ? length : 0;
}

static void sattolo_makes_one_cycle(void **unused)
{
    uint32_t p[MOST_LINES];

    (void)unused;
    for (size_t n = 1; n <= 300; n++) {
        stk_sattolo(n, n * 7, p);
        assert_int_equal(cycle_length(n, p), n);
        for (size_t i = 0; n > 1 && i < n; i++) {
            assert_int_not_equal(p[i], i);
        }
    }
}

/* N = 4: exactly 3! = 6 permutations, each with probability 1/6 (METHODS 2.1). */
static void sattolo_of_four_is_uniform(void **unused)
{
    enum {
        DRAWS = 6000
    };
    unsigned count[256] = {0};
    unsigned n_kinds = 0;

    (void)unused;
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        uint32_t p[4];
        stk_sattolo(4, seed, p);
        count[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
    }
    for (size_t k = 0; k < ST_COUNT(count); k++) {
        if (count[k] > 0) {
            n_kinds++;
            /* 1000 -+ 6 standard deviations sqrt(6000 x 1/6 x 5/6) = 29 */
            assert_in_range(count[k], 1000 - 6 * 29, 1000 + 6 * 29);
        }
    }
    assert_int_equal(n_kinds, 6);
}

static void inpage_visits_page_after_page(void **unused)
{
    static const size_t per_pages[] = {1, 2, 7, 32, 1000};
    uint32_t next[MOST_LINES];
    uint32_t scratch[2 * MOST_LINES + 1000];

    (void)unused;
    for (size_t n = 1; n <= 300; n += n < 70 ? 1 : 23) {
        for (size_t k = 0; k < ST_COUNT(per_pages); k++) {
            const size_t per_page = per_pages[k];
            const size_t n_pages = (n + per_page - 1) / per_page;
            size_t n_changes = 0;
            stk_chase_inpage(n, per_page, n, next, scratch);
            assert_int_equal(cycle_length(n, next), n);
            for (size_t i = 0; i < n; i++) {
                n_changes += i / per_page != next[i] / per_page ? 1 : 0;
            }
            assert_int_equal(n_changes, n_pages > 1 ? n_pages : 0);
        }
    }
}

static struct stk_lines make_lines(size_t n, size_t slot, uint64_t seed)
{
    static uint32_t next[MOST_LINES];
    const struct stk_lines lines = {
        .base = memory, .stride = STRIDE, .slot = slot, .n = n};

    stk_sattolo(n, seed, next);
    stk_chase_link(&lines, next);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(stk_chase_index(&lines, *(void **)stk_chase_line(&lines, i)),
                         next[i]);
    }
    return lines;
}

/* Every slot of the lines holds a cycle of another length; none disturbs another. */
static void slots_hold_cycles_of_their_own(void **unused)
{
    struct stk_lines lines[STRIDE / sizeof(void *)];

    (void)unused;
    for (size_t s = 0; s < ST_COUNT(lines); s++) {
        lines[s] = make_lines(MOST_LINES - 40 * s, s, s + 1);
    }
    for (size_t s = 0; s < ST_COUNT(lines); s++) {
        void *const start = stk_chase_line(&lines[s], 0);
        const struct stk_chase_defect d = stk_chase_check(&lines[s]);
        assert_true(d.n_outside == 0 && d.n_self == 0 && d.sum_off == 0 &&
                    d.xor_off == 0);
        assert_ptr_equal(stk_chase_ref(lines[s].n, start), start);
        assert_ptr_not_equal(stk_chase_ref(lines[s].n - 1, start), start);
    }
}

static void chains_follow_the_plain_chase(void **unused)
{
    static const size_t counts[] = {1, 2, 4, 8, 16};
    static const size_t steps[] = {0, 16, 32, 160, 16 * 101};

    (void)unused;
    for (size_t c = 0; c < ST_COUNT(counts); c++) {
        for (size_t k = 0; k < ST_COUNT(steps); k++) {
            const struct stk_lines lines = make_lines(257, 3, 5);
            void *at[STK_CHASE_MAX_CHAINS];
            void *from[STK_CHASE_MAX_CHAINS];
            for (size_t j = 0; j < STK_CHASE_MAX_CHAINS; j++) {
                at[j] = stk_chase_line(&lines, 0);
            }
            stk_chase_starts(&lines, counts[c], at);
            memcpy(from, at, sizeof at);
            stk_chase(steps[k], counts[c], at);
            for (size_t j = 0; j < STK_CHASE_MAX_CHAINS; j++) {
                const size_t n = j < counts[c] ? steps[k] : 0;
                assert_ptr_equal(at[j], stk_chase_ref(n, from[j]));
            }
        }
    }
}

static void starts_are_equally_far_apart(void **unused)
{
    const struct stk_lines lines = make_lines(640, 0, 11);
    void *starts[STK_CHASE_MAX_CHAINS];

    (void)unused;
    stk_chase_starts(&lines, 16, starts);
    for (size_t c = 0; c < 16; c++) {
        assert_ptr_equal(stk_chase_ref(40, starts[c]), starts[(c + 1) % 16]);
    }
}

static void check_finds_every_bent_link(void **unused)
{
    (void)unused;
    for (size_t kind = 0; kind < 4; kind++) {
        const struct stk_lines lines = make_lines(100, 1, 3);
        void **link = stk_chase_line(&lines, 50);
        void *targets[] = {link, memory + sizeof memory, memory + 1,
                           *(void **)stk_chase_line(&lines, 51)};
        *link = targets[kind];
        const struct stk_chase_defect d = stk_chase_check(&lines);
        assert_true(d.n_outside > 0 || d.n_self > 0 || d.sum_off != 0 || d.xor_off != 0);
        assert_int_equal(d.n_outside, kind == 1 || kind == 2 ? 1 : 0);
    }
}

static void index_knows_its_lines_only(void **unused)
{
    const struct stk_lines lines = {
        .base = memory + STRIDE, .stride = STRIDE, .slot = 2, .n = 10};
    const char *first = memory + STRIDE + 2 * sizeof(void *);

    (void)unused;
    assert_int_equal(stk_chase_index(&lines, first), 0);
    assert_int_equal(stk_chase_index(&lines, first + (ptrdiff_t)9 * STRIDE), 9);
    assert_int_equal(stk_chase_index(&lines, first + (ptrdiff_t)10 * STRIDE), SIZE_MAX);
    assert_int_equal(stk_chase_index(&lines, first - STRIDE), SIZE_MAX);
    assert_int_equal(stk_chase_index(&lines, first + 8), SIZE_MAX);
    assert_int_equal(stk_chase_index(&lines, NULL), SIZE_MAX);
}

/* METHODS 2.4 [V]: 12 lines, 90 ns -> 8.533 GB/s; 48 lines, 110 ns -> 27.927 GB/s */
static void little_gives_the_vectors(void **unused)
{
    (void)unused;
    assert_true(fabs(stk_little_bandwidth(12, 64, 90e-9) - 8.533e9) < 0.0005e9);
    assert_true(fabs(stk_little_bandwidth(48, 64, 110e-9) - 27.927e9) < 0.0005e9);
    assert_true(fabs(stk_little_lines(8.5333333333e9, 64, 90e-9) - 12.0) < 1e-8);
}

/* All variants, kinds and delays; the stream starts again at its end. */
static void load_does_what_it_counts(void **unused)
{
    enum {
        BLOCKS = 5
    };
    static double data[BLOCKS * STK_LOAD_BLOCK_ELEMENTS] __attribute__((aligned(64)));
    static const size_t delays[] = {0, 3};
    static const size_t pieces[] = {1, 2, 5, 12};
    const struct stk_stream_isa *isas[8];
    const size_t n_isas = stk_stream_isas(ST_COUNT(isas), isas);

    (void)unused;
    for (size_t v = 0; v < n_isas * STK_LOAD_N_KINDS * ST_COUNT(delays); v++) {
        struct stk_load load = {
            .isa = isas[v / (STK_LOAD_N_KINDS * ST_COUNT(delays))],
            .kind = (enum stk_load_kind)(v / ST_COUNT(delays) % STK_LOAD_N_KINDS),
            .data = data,
            .n_blocks = BLOCKS};
        size_t done = 0;
        if (!stk_load_possible(load.isa, load.kind)) {
            continue;
        }
        for (size_t i = 0; i < ST_COUNT(data); i++) {
            data[i] = 1.0;
        }
        for (size_t k = 0; k < ST_COUNT(pieces); k++) {
            stk_load_run(&load, pieces[k], delays[v % ST_COUNT(delays)]);
            done += pieces[k];
            assert_int_equal(load.at, done % BLOCKS);
        }
        for (size_t i = 0; i < ST_COUNT(data); i++) {
            const size_t passes =
                done / BLOCKS + (i / STK_LOAD_BLOCK_ELEMENTS < done % BLOCKS ? 1 : 0);
            const double want = load.kind == STK_LOAD_SUM           ? 1.0
                                : load.kind == STK_LOAD_NONTEMPORAL ? 2.0
                                : passes % 2 == 0                   ? 1.0
                                                                    : -1.0;
            assert_true(data[i] == want && stk_load_value_good(load.kind, data[i]));
        }
        assert_true(
            load.sum ==
            (load.kind == STK_LOAD_SUM ? (double)(done * STK_LOAD_BLOCK_ELEMENTS) : 0.0));
    }
    for (size_t k = 0; k < STK_LOAD_N_KINDS; k++) {
        assert_false(stk_load_value_good((enum stk_load_kind)k, 7.0));
        assert_false(stk_load_value_good((enum stk_load_kind)k, (double)NAN));
    }
}

static void load_bytes_are_those_moved(void **unused)
{
    (void)unused;
    assert_true(stk_load_block_bytes(STK_LOAD_SUM) == 64.0 * 64);
    assert_true(stk_load_block_bytes(STK_LOAD_UPDATE) == 2 * 64.0 * 64);
    assert_true(stk_load_block_bytes(STK_LOAD_NONTEMPORAL) == 64.0 * 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sattolo_gives_the_vectors),
        cmocka_unit_test(sattolo_makes_one_cycle),
        cmocka_unit_test(sattolo_of_four_is_uniform),
        cmocka_unit_test(inpage_visits_page_after_page),
        cmocka_unit_test(slots_hold_cycles_of_their_own),
        cmocka_unit_test(chains_follow_the_plain_chase),
        cmocka_unit_test(starts_are_equally_far_apart),
        cmocka_unit_test(check_finds_every_bent_link),
        cmocka_unit_test(index_knows_its_lines_only),
        cmocka_unit_test(little_gives_the_vectors),
        cmocka_unit_test(load_does_what_it_counts),
        cmocka_unit_test(load_bytes_are_those_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
