/*
 * CSR sparse matrix-vector product.
 *
 * The AVX2 loop loads the four elements of x one by one and pairs them in registers: on the
 * cores tried (Zen 4, rows of 7 and 27 entries) this beats the gather instructions by
 * a tenth (AVX2) to a factor of two (AVX-512), so AVX-512 CPUs run the AVX2 loop too. The entries
 * are asked for 2 KiB ahead: at 7 entries per row the branch at each row's end stops the
 * core from running far enough ahead by itself (15 -> 23 GB/s on one core), and at 27 it
 * costs nothing. Asking beyond the arrays' ends is harmless, prefetches never fault.
 */
#include "kernels/csr.h"

#include "kernels/isa.h"

#if STK_HAVE_X86
#include <immintrin.h>
#endif

const struct stk_work stk_csr_work_per_nonzero = {.read_bytes = 12.0, .flops = 2.0};
const struct stk_work stk_csr_work_per_row = {
    .read_bytes = 12.0, .write_bytes = 8.0, .allocate_bytes = 8.0};

/* Entries ahead of the current one to ask for, and entries per 64-byte line of each array. */
enum {
    AHEAD = 256,
    LINE_VALUES = 8,
    LINE_COLUMNS = 16
};

#if defined(__GNUC__)
static inline void ask_for(const struct stk_csr *a, size_t from, size_t to)
{
    /* Through integers: an address past the array's end must not be formed as a pointer.
     * NOLINTBEGIN(performance-no-int-to-ptr) nothing is read through it */
    for (size_t k = from; k < to; k += LINE_VALUES) {
        __builtin_prefetch((const void *)((uintptr_t)a->values + (k + AHEAD) * 8));
    }
    for (size_t k = from; k < to; k += LINE_COLUMNS) {
        __builtin_prefetch((const void *)((uintptr_t)a->columns + (k + AHEAD) * 4));
    }
    /* NOLINTEND(performance-no-int-to-ptr) */
}
#else
static inline void ask_for(const struct stk_csr *a, size_t from, size_t to)
{
    (void)a;
    (void)from;
    (void)to;
}
#endif

/* Four sums, so that the chain of additions does not set the pace. */
static void range_plain(const struct stk_csr *a, size_t first, size_t end,
                        const double *restrict x, double *restrict y)
{
    const int32_t *columns = a->columns;
    const double *values = a->values;

    for (size_t i = first; i < end; i++) {
        size_t k = a->row_start[i];
        const size_t k_end = a->row_start[i + 1];
        double sum[4] = {0.0, 0.0, 0.0, 0.0};

        ask_for(a, k, k_end);
        for (; k + 4 <= k_end; k += 4) {
            for (size_t j = 0; j < 4; j++) {
                sum[j] += values[k + j] * x[columns[k + j]];
            }
        }
        for (; k < k_end; k++) {
            sum[0] += values[k] * x[columns[k]];
        }
        y[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

#if STK_HAVE_X86
/* x[c[0]] … x[c[3]] in one register, by single loads. */
STK_TARGET_AVX2 static inline __m256d load_four(const double *x, const int32_t *c)
{
    const __m128d low = _mm_loadh_pd(_mm_load_sd(x + c[0]), x + c[1]);
    const __m128d high = _mm_loadh_pd(_mm_load_sd(x + c[2]), x + c[3]);

    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

STK_TARGET_AVX2 static inline double sum_of_four(__m256d v)
{
    const __m128d pair =
        _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

STK_TARGET_AVX2 static void range_avx2(const struct stk_csr *a, size_t first, size_t end,
                                       const double *restrict x, double *restrict y)
{
    const int32_t *columns = a->columns;
    const double *values = a->values;

    for (size_t i = first; i < end; i++) {
        size_t k = a->row_start[i];
        const size_t k_end = a->row_start[i + 1];
        __m256d four = _mm256_setzero_pd();
        double rest = 0.0;

        ask_for(a, k, k_end);
        for (; k + 4 <= k_end; k += 4) {
            four = _mm256_fmadd_pd(_mm256_loadu_pd(values + k), load_four(x, columns + k),
                                   four);
        }
        for (; k < k_end; k++) {
            rest += values[k] * x[columns[k]];
        }
        y[i] = sum_of_four(four) + rest;
    }
}
#endif

stk_csr_range_fn stk_csr_range(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return range_plain;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return range_avx2;
    }
#endif
    return NULL;
}

void stk_csr_multiply(const struct stk_csr *a, const double *restrict x,
                      double *restrict y)
{
    const stk_csr_range_fn avx2 = stk_csr_range(STK_ISA_AVX2);
    const stk_csr_range_fn range = avx2 != NULL ? avx2 : range_plain;

#pragma omp parallel for default(none) shared(a, x, y, range) schedule(static)
    for (size_t t = 0; t < a->rows.n_parts; t++) {
        range(a, a->rows.start[t], a->rows.start[t + 1], x, y);
    }
}

static void add_rows_range(const struct stk_csr_rows *a, size_t first, size_t end,
                           const double *restrict x, double *restrict y)
{
    for (size_t i = first; i < end; i++) {
        double sum = 0.0;
        for (size_t k = a->entries.row_start[i]; k < a->entries.row_start[i + 1]; k++) {
            sum += a->entries.values[k] * x[a->entries.columns[k]];
        }
        y[a->rows[i]] += sum;
    }
}

void stk_csr_add_rows(const struct stk_csr_rows *a, const double *restrict x,
                      double *restrict y)
{
    const struct stk_split *rows = &a->entries.rows;

#pragma omp parallel for default(none) shared(a, x, y, rows) schedule(static)
    for (size_t t = 0; t < rows->n_parts; t++) {
        add_rows_range(a, rows->start[t], rows->start[t + 1], x, y);
    }
}

void stk_csr_multiply_ref(const struct stk_csr *a, const double *restrict x,
                          double *restrict y)
{
    for (size_t i = 0; i < a->rows.start[a->rows.n_parts]; i++) {
        y[i] = 0.0;
        for (size_t k = a->row_start[i]; k < a->row_start[i + 1]; k++) {
            y[i] += a->values[k] * x[a->columns[k]];
        }
    }
}

void stk_csr_add_rows_ref(const struct stk_csr_rows *a, const double *restrict x,
                          double *restrict y)
{
    add_rows_range(a, 0, a->entries.rows.start[a->entries.rows.n_parts], x, y);
}
