/*
 * Loops over runs by AVX-512. Runs are short (some ten rows on small meshes), so the rows that do
 * not fill a register are masked instead of done one by one, which is where a compiler's loops
 * lose half of their time.
 */
#include "kernels/ldu_runs_isa.h"

#if STK_HAVE_X86
#include <immintrin.h>

#define TARGET STK_TARGET_AVX512
#define STK_RUNS_LOOPS stk_runs_avx512_loops
#define STK_RUNS_OWN_SWEEPS

#define LOAD(mask, from) _mm512_maskz_loadu_pd((mask), (from))

enum {
    LANES = 8
};

static inline __mmask8 lanes_of(int32_t left)
{
    return (__mmask8)(left >= LANES ? 0xff : (1 << left) - 1);
}

TARGET static void backward(const struct stk_runs *a, double beta, const double *r_hat,
                            double *v, double *t)
{
    const __m512d factor = _mm512_set1_pd(beta);

    for (size_t k = a->n_upper; k-- > 0;) {
        const struct stk_run run = a->upper_runs[k];
        for (int32_t i = 0; i < run.n; i += LANES) {
            const __mmask8 m = lanes_of(run.n - i);
            const int32_t row = run.row + i;
            __m512d sum = _mm512_fmadd_pd(factor, LOAD(m, v + row), LOAD(m, r_hat + row));
            _mm512_mask_storeu_pd(v + row, m, sum);
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                sum = _mm512_fnmadd_pd(LOAD(m, a->upper[slot] + row),
                                       LOAD(m, t + run.column[slot] + i), sum);
            }
            _mm512_mask_storeu_pd(t + row, m, sum);
        }
    }
}

TARGET static void forward(const struct stk_runs *a, const struct stk_levels_forward *x,
                           double sums[2])
{
    __m512d dot = _mm512_setzero_pd();
    __m512d magnitude = _mm512_setzero_pd();

    for (size_t k = 0; k < a->n_lower; k++) {
        const struct stk_run run = a->lower_runs[k];
        for (int32_t i = 0; i < run.n; i += LANES) {
            const __mmask8 m = lanes_of(run.n - i);
            const int32_t row = run.row + i;
            const __m512d t = LOAD(m, x->t + row);
            __m512d product =
                _mm512_fmadd_pd(LOAD(m, a->rest + row), t, LOAD(m, x->v + row));
            __m512d r = LOAD(m, x->r_hat + row);
            __m512d solved = _mm512_setzero_pd();
            for (int slot = 0; slot < STK_RUN_WIDTH; slot++) {
                const int32_t c = run.column[slot] + i;
                const __m512d value = LOAD(m, a->lower[slot] + row);
                product = _mm512_fmadd_pd(value, LOAD(m, x->t + c), product);
                r = _mm512_fmadd_pd(value, LOAD(m, x->r_hat + c), r);
                solved = _mm512_fmadd_pd(value, LOAD(m, x->w + c), solved);
            }
            _mm512_mask_storeu_pd(x->w + row, m, _mm512_sub_pd(product, solved));
            dot = _mm512_fmadd_pd(t, product, dot);
            magnitude =
                _mm512_fmadd_pd(_mm512_abs_pd(r), LOAD(m, a->root + row), magnitude);
        }
    }
    sums[0] = _mm512_reduce_add_pd(dot);
    sums[1] = _mm512_reduce_add_pd(magnitude);
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
        for (int32_t i = 0; i < run.n; i += LANES) {
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
