/*
 * The stream kernels: every instruction set of this processor, every kernel, both kinds of
 * stores, several thread counts, sizes and alignments against the plain serial loops; the
 * closed forms and byte counts of METHODS 1; slices; the final comparison.
 */
#include "kernels/stream.h"
#include "src/base/mem.h"

#include <omp.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    MAX_N = 20000,
    MARGIN = 16,
};

/* Four arrays with margins on both sides that no kernel may touch. */
struct arrays {
    double *memory[STK_N_ARRAYS];
    double *at[STK_N_ARRAYS];
};

static const double margin_value = -77.0;

static void arrays_open(struct arrays *x)
{
    struct st_error err = {0};

    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        x->memory[k] = st_calloc(&err, MAX_N + 2 * MARGIN, sizeof(double));
        assert_non_null(x->memory[k]);
    }
}

static void arrays_close(struct arrays *x)
{
    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        st_free(x->memory[k]);
    }
}

/* Different, non-zero elements; array k begins @p shift + k doubles behind a line. */
static void arrays_set(struct arrays *x, size_t n, size_t shift)
{
    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        x->at[k] = x->memory[k] + 8 + (shift + k * (shift > 0)) % 8;
        for (size_t i = 0; i < MAX_N + 2 * MARGIN; i++) {
            x->memory[k][i] = margin_value;
        }
        for (size_t i = 0; i < n; i++) {
            x->at[k][i] = 0.25 + (double)(k + 1) / (double)(i + 3);
        }
    }
}

static bool margins_kept(const struct arrays *x, size_t n)
{
    bool kept = true;

    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        const size_t first = (size_t)(x->at[k] - x->memory[k]);
        for (size_t i = 0; i < MAX_N + 2 * MARGIN; i++) {
            kept = kept &&
                   ((i >= first && i < first + n) || x->memory[k][i] == margin_value);
        }
    }
    return kept;
}

struct variant {
    const struct stk_stream_isa *isa;
    enum stk_stream_kernel kernel;
    enum stk_stores stores;
};

static void compare_with_reference(struct arrays *got, struct arrays *want,
                                   const struct variant *v, size_t n, size_t shift)
{
    const double s = 0.4;
    char what[128];

    arrays_set(got, n, shift);
    arrays_set(want, n, shift);
    const double sum = stk_stream(v->isa, v->kernel, v->stores, n, got->at, s);
    const double ref = stk_stream_ref(v->kernel, n, want->at, s);
    (void)snprintf(what, sizeof what, "%s %s stores %d n %zu shift %zu", v->isa->name,
                   stk_stream_name(v->kernel), (int)v->stores, n, shift);
    /* Sums in another order: |error| <= n eps sum|x|, Higham 4.2. */
    if (!(fabs(sum - ref) <= (double)n * DBL_EPSILON * fabs(ref))) {
        fail_msg("%s: sum %.17g, wanted %.17g", what, sum, ref);
    }
    for (size_t k = 0; k < STK_N_ARRAYS; k++) {
        for (size_t i = 0; i < n; i++) {
            /* An FMA would save one rounding: 2 eps of values below 4. */
            if (!(fabs(got->at[k][i] - want->at[k][i]) <= 8 * DBL_EPSILON)) {
                fail_msg("%s: array %zu element %zu is %.17g, wanted %.17g", what, k, i,
                         got->at[k][i], want->at[k][i]);
            }
        }
    }
    if (!margins_kept(got, n)) {
        fail_msg("%s: wrote beside its arrays", what);
    }
}

static void every_variant_equals_the_reference(void **unused)
{
    static const size_t sizes[] = {0,   1,   7,    8,    9,     63,   511,
                                   512, 513, 1025, 4099, 16384, 20000};
    const struct stk_stream_isa *isas[STK_N_ISAS];
    const size_t n_isas = stk_stream_isas(STK_N_ISAS, isas);
    struct arrays got;
    struct arrays want;

    (void)unused;
    arrays_open(&got);
    arrays_open(&want);
    assert_in_range(n_isas, 1, STK_N_ISAS);
    for (size_t v = 0; v < n_isas * STK_N_KERNELS * 2; v++) {
        const struct variant variant = {
            .isa = isas[v / (2 * STK_N_KERNELS)],
            .kernel = (enum stk_stream_kernel)(v / 2 % STK_N_KERNELS),
            .stores = (enum stk_stores)(v % 2)};
        if (variant.stores == STK_NONTEMPORAL &&
            variant.isa->nontemporal[variant.kernel] == NULL) {
            continue;
        }
        for (size_t i = 0; i < ST_COUNT(sizes); i++) {
            omp_set_num_threads((int)(i % 3 + 1));
            compare_with_reference(&got, &want, &variant, sizes[i], 0);
            compare_with_reference(&got, &want, &variant, sizes[i], i % 7 + 1);
        }
    }
    arrays_close(&got);
    arrays_close(&want);
}

/* METHODS 1.1, the table: flop, STREAM bytes, moved bytes with ordinary stores. */
static void work_is_that_of_the_table(void **unused)
{
    static const struct {
        const char *name;
        double flops, bytes, moved;
        bool nontemporal;
    } rows[STK_N_KERNELS] = {
        {"copy", 0, 16, 24, true},     {"scale", 1, 16, 24, true},
        {"add", 1, 24, 32, true},      {"triad", 2, 24, 32, true},
        {"sum", 1, 8, 8, false},       {"dot", 2, 16, 16, false},
        {"init", 0, 8, 16, true},      {"update", 1, 16, 16, false},
        {"daxpy", 2, 24, 24, false},   {"striad", 2, 32, 40, true},
        {"nstream", 3, 32, 32, false},
    };

    (void)unused;
    for (size_t k = 0; k < STK_N_KERNELS; k++) {
        const enum stk_stream_kernel kernel = (enum stk_stream_kernel)k;
        const struct stk_work *work = stk_stream_work(kernel);
        assert_string_equal(stk_stream_name(kernel), rows[k].name);
        assert_true(work->flops == rows[k].flops);
        assert_true(stk_work_bytes(work, 10) == 10 * rows[k].bytes);
        assert_true(stk_work_moved_bytes(work, 10) == 10 * rows[k].moved);
        assert_true(stk_stream_write_only(kernel) == rows[k].nontemporal);
        if (!rows[k].nontemporal) {
            assert_null(stk_stream_widest()->nontemporal[k]);
        }
#if defined(__x86_64__) || defined(__aarch64__)
        assert_true((stk_stream_widest()->nontemporal[k] != NULL) == rows[k].nontemporal);
#endif
    }
}

static void rounds(struct arrays *x, size_t n, size_t n_rounds, double s)
{
    const struct stk_stream_isa *isa = stk_stream_widest();
    const enum stk_stores nontemporal =
        isa->nontemporal[STK_COPY] != NULL ? STK_NONTEMPORAL : STK_ORDINARY;

    for (size_t r = 0; r < n_rounds; r++) {
        (void)stk_stream(isa, STK_COPY, nontemporal, n, x->at, s);
        (void)stk_stream(isa, STK_SCALE, STK_ORDINARY, n, x->at, s);
        (void)stk_stream(isa, STK_ADD, nontemporal, n, x->at, s);
        (void)stk_stream(isa, STK_TRIAD, STK_ORDINARY, n, x->at, s);
    }
}

static void expect_all(const struct arrays *x, size_t n, const double want[3])
{
    for (size_t k = 0; k < 3; k++) {
        const struct stk_deviation d =
            stk_stream_compare(n, x->at[k], want[k], 1e-12 * fabs(want[k]));
        if (d.n_bad != 0) {
            fail_msg("array %zu is %.13g, wanted %.13g", k, x->at[k][0], want[k]);
        }
    }
}

/* METHODS 1.3, vectors [V]: BabelStream after 100 rounds, STREAM after 10. */
static void closed_forms_hold(void **unused)
{
    static const double babel[3] = {1.687031935885e-3, 7.029299732854e-4,
                                    2.460254906499e-3};
    static const double stream[3] = {1153300781250, 230660156250, 307546875000};
    const size_t n = 5000;
    struct arrays x;

    (void)unused;
    omp_set_num_threads(2);
    arrays_open(&x);
    arrays_set(&x, n, 0);
    stk_stream_fill(n, x.at[STK_A], 0.1);
    stk_stream_fill(n, x.at[STK_B], 0.2);
    stk_stream_fill(n, x.at[STK_C], 0.0);
    rounds(&x, n, 100, 0.4);
    expect_all(&x, n, babel);

    stk_stream_fill(n, x.at[STK_A], 2.0); /* stream.c doubles a = 1 before it begins */
    stk_stream_fill(n, x.at[STK_B], 2.0);
    stk_stream_fill(n, x.at[STK_C], 0.0);
    rounds(&x, n, 10, 3.0);
    expect_all(&x, n, stream);
    assert_true(margins_kept(&x, n));
    arrays_close(&x);
}

static void slices_cover_once_and_end_on_pages(void **unused)
{
    static const size_t sizes[] = {0, 1, 511, 512, 513, 1024, 5000, 1 << 20, 12345678};
    static const size_t threads[] = {1, 2, 3, 7, 64, 1000};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(sizes) * ST_COUNT(threads); i++) {
        const size_t n = sizes[i / ST_COUNT(threads)];
        const size_t n_threads = threads[i % ST_COUNT(threads)];
        size_t next = 0;
        size_t least = SIZE_MAX;
        size_t most = 0;
        for (size_t t = 0; t < n_threads; t++) {
            size_t first = 0;
            size_t last = 0;
            stk_slice(n, t, n_threads, &first, &last);
            assert_int_equal(first, next);
            assert_true(last >= first);
            assert_true(last == n || last % STK_SLICE_ELEMENTS == 0);
            least = last - first < least ? last - first : least;
            most = last - first > most ? last - first : most;
            next = last;
        }
        assert_int_equal(next, n);
        assert_true(most - least <= 2 * STK_SLICE_ELEMENTS); /* a page, and the odd end */
    }
}

static void comparison_counts_nan_and_wrong_elements(void **unused)
{
    double a[2000];
    struct stk_deviation d;

    (void)unused;
    omp_set_num_threads(2);
    stk_stream_fill(ST_COUNT(a), a, 1.0);
    d = stk_stream_compare(ST_COUNT(a), a, 1.0, 0.0);
    assert_true(d.n_bad == 0 && d.worst == 0.0 && d.first_bad == ST_COUNT(a));
    a[1500] = 1.5;
    a[1999] = (double)NAN;
    d = stk_stream_compare(ST_COUNT(a), a, 1.0, 0.25);
    assert_true(d.n_bad == 2 && d.worst == 0.5 && d.first_bad == 1500);
    d = stk_stream_compare(ST_COUNT(a), a, 1.0, 0.5);
    assert_true(d.n_bad == 1 && d.first_bad == 1999);
    d = stk_stream_compare(ST_COUNT(a), a, 1.0, (double)NAN);
    assert_int_equal(d.n_bad, ST_COUNT(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_equals_the_reference),
        cmocka_unit_test(work_is_that_of_the_table),
        cmocka_unit_test(closed_forms_hold),
        cmocka_unit_test(slices_cover_once_and_end_on_pages),
        cmocka_unit_test(comparison_counts_nan_and_wrong_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
