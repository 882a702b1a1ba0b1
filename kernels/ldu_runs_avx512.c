/*
 * Loops over runs by AVX-512. Runs are short (some ten rows on small meshes), so the rows that do
 * not fill a register are masked instead of done one by one, which is where a compiler's loops
 * lose half of their time. Backward sweeps go down within runs too, so that the processor's
 * prefetch follows them (three times as fast out of memory); forward sweeps read more streams
 * than it follows, and ask for their rows themselves.
 */
#include "kernels/ldu_runs_isa.h"

#if STK_HAVE_X86
#include <immintrin.h>

#define TARGET STK_TARGET_AVX512
#define STK_RUNS_LOOPS stk_runs_avx512_loops
#define STK_RUNS_OWN_SWEEPS

#define LOAD(mask, from) _mm512_maskz_loadu_pd((mask), (from))

enum {
    LANES = 8,
    AHEAD = 1024 /* rows; far enough for memory, within the level 2 cache */
};

static inline __mmask8 lanes_of(int32_t left)
{
    return (__mmask8)(left >= LANES ? 0xff : (1 << left) - 1);
}

/* First row of the last registerful of a run. */
static inline int32_t last_lanes(const struct stk_run *run)
{
    return (run->n - 1) / LANES * LANES;
}

/* A macro: gcc 12 finds that a function of prefetches has no effect, and drops its calls. */
#define FETCH(array, row)                                                                \
    _mm_prefetch((const char *)((uintptr_t)(array) +                                     \
                                ((uintptr_t)(row) + AHEAD) * sizeof(double)),            \
                 _MM_HINT_T1)
#define FETCH_LOWER(a, row)                                                              \
    do {                                                                                 \
        FETCH((a)->lower[0], row);                                                       \
        FETCH((a)->lower[1], row);                                                       \
        FETCH((a)->lower[2], row);                                                       \
    } while (0)

/* Structs of pointers are copied: after a store through one the compiler would load it again. */
TARGET static double backward(const struct stk_runs *a,
                              const struct stk_levels_backward *vectors)
{
    const struct stk_levels_backward x = *vectors;
    const double *const upper[STK_RUN_WIDTH] = {a->upper[0], a->upper[1], a->upper[2]};
    const __m512d alpha = _mm512_set1_pd(x.alpha);
    const __m512d beta = _mm512_set1_pd(x.beta);
    __m512d product = _mm512_setzero_pd();

    for (size_t k = a->n_upper; k-- > 0;) {
        const struct stk_run run = a->upper_runs[k];
        for (int32_t i = last_lanes(&run); i >= 0; i -= LANES) {
            const __mmask8 m = lanes_of(run.n - i);
            const int32_t row = run.row + i;
            const __m512d r =
                _mm512_fnmadd_pd(alpha, LOAD(m, x.w + row), LOAD(m, x.r_hat + row));
            __m512d sum = _mm512_fmadd_pd(beta, LOAD(m, x.v + row), r);
            _mm512_mask_storeu_pd(
                x.x + row, m,
                _mm512_fmadd_pd(alpha, LOAD(m, x.t + row), LOAD(m, x.x + row)));
            _mm512_mask_storeu_pd(x.r_hat + row, m, r);
            _mm512_mask_storeu_pd(x.v + row, m, sum);
            product = _mm512_fmadd_pd(r, r, product);
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                sum = _mm512_fnmadd_pd(LOAD(m, upper[slot] + row),
                                       LOAD(m, x.t + run.column[slot] + i), sum);
            }
            _mm512_mask_storeu_pd(x.t + row, m, sum);
        }
    }
    return _mm512_reduce_add_pd(product);
}

TARGET static void forward(const struct stk_runs *matrix,
                           const struct stk_levels_forward *vectors,
                           double sums[STK_N_SUMS])
{
    const struct stk_runs a = *matrix;
    const struct stk_levels_forward x = *vectors;
    __m512d tat = _mm512_setzero_pd();
    __m512d magnitude = _mm512_setzero_pd();
    __m512d rw = _mm512_setzero_pd();
    __m512d ww = _mm512_setzero_pd();

    for (size_t k = 0; k < a.n_lower; k++) {
        const struct stk_run run = a.lower_runs[k];
        for (int32_t i = 0; i < run.n; i += LANES) {
            const __mmask8 m = lanes_of(run.n - i);
            const int32_t row = run.row + i;
            FETCH_LOWER(&a, row);
            FETCH(a.rest, row);
            FETCH(a.root, row);
            FETCH(x.r_hat, row);
            FETCH(x.v, row);
            FETCH(x.t, row);
            FETCH(x.w, row);
            const __m512d t = LOAD(m, x.t + row);
            const __m512d r_hat = LOAD(m, x.r_hat + row);
            __m512d product =
                _mm512_fmadd_pd(LOAD(m, a.rest + row), t, LOAD(m, x.v + row));
            __m512d r = r_hat;
            __m512d solved = _mm512_setzero_pd();
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                const int32_t c = run.column[slot] + i;
                const __m512d value = LOAD(m, a.lower[slot] + row);
                product = _mm512_fmadd_pd(value, LOAD(m, x.t + c), product);
                r = _mm512_fmadd_pd(value, LOAD(m, x.r_hat + c), r);
                solved = _mm512_fmadd_pd(value, LOAD(m, x.w + c), solved);
            }
            const __m512d w = _mm512_sub_pd(product, solved);
            _mm512_mask_storeu_pd(x.w + row, m, w);
            tat = _mm512_fmadd_pd(t, product, tat);
            magnitude =
                _mm512_fmadd_pd(_mm512_abs_pd(r), LOAD(m, a.root + row), magnitude);
            rw = _mm512_fmadd_pd(r_hat, w, rw);
            ww = _mm512_fmadd_pd(w, w, ww);
        }
    }
    sums[STK_SUM_TAT] = _mm512_reduce_add_pd(tat);
    sums[STK_SUM_MAGNITUDE] = _mm512_reduce_add_pd(magnitude);
    sums[STK_SUM_RW] = _mm512_reduce_add_pd(rw);
    sums[STK_SUM_WW] = _mm512_reduce_add_pd(ww);
}

TARGET static double gs_forward(const struct stk_runs *a, const struct stk_gs *g)
{
    __m512d magnitude = _mm512_setzero_pd();

    for (size_t k = 0; k < a->n_lower; k++) {
        const struct stk_run run = a->lower_runs[k];
        for (int32_t i = 0; i < run.n; i += LANES) {
            const __mmask8 m = lanes_of(run.n - i);
            const int32_t row = run.row + i;
            const __m512d b = LOAD(m, g->b + row);
            const __m512d part = LOAD(m, g->part + row);
            __m512d residual = _mm512_sub_pd(b, part);
            __m512d next = b;
            FETCH_LOWER(a, row);
            FETCH(g->b, row);
            FETCH(g->part, row);
            FETCH(g->diag, row);
            FETCH(g->inverse, row);
            FETCH(g->x, row);
            FETCH(g->y, row);
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                const int32_t c = run.column[slot] + i;
                const __m512d value = LOAD(m, a->lower[slot] + row);
                residual = _mm512_fnmadd_pd(value, LOAD(m, g->x + c), residual);
                next = _mm512_fnmadd_pd(value, LOAD(m, g->y + c), next);
            }
            const __m512d upper =
                _mm512_fnmadd_pd(LOAD(m, g->diag + row), LOAD(m, g->x + row), part);
            magnitude = _mm512_add_pd(magnitude, _mm512_abs_pd(residual));
            _mm512_mask_storeu_pd(g->part + row, m, next);
            _mm512_mask_storeu_pd(
                g->y + row, m,
                _mm512_mul_pd(_mm512_sub_pd(next, upper), LOAD(m, g->inverse + row)));
        }
    }
    return _mm512_reduce_add_pd(magnitude);
}

TARGET static void gs_backward(const struct stk_runs *a, const struct stk_gs *g)
{
    for (size_t k = a->n_upper; k-- > 0;) {
        const struct stk_run run = a->upper_runs[k];
        for (int32_t i = last_lanes(&run); i >= 0; i -= LANES) {
            const __mmask8 m = lanes_of(run.n - i);
            const int32_t row = run.row + i;
            __m512d sum = LOAD(m, g->part + row);
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                sum = _mm512_fnmadd_pd(LOAD(m, a->upper[slot] + row),
                                       LOAD(m, g->y + run.column[slot] + i), sum);
            }
            _mm512_mask_storeu_pd(g->y + row, m,
                                  _mm512_mul_pd(sum, LOAD(m, g->inverse + row)));
        }
    }
}

#include "kernels/ldu_runs_loops.h"
#else
/* Other processors have ldu_runs_plain.c alone; a C file may not be empty. */
typedef int stk_runs_avx512_unused;
#endif
