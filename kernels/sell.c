/*
 * SELL-C-sigma sparse matrix-vector product.
 *
 * The AVX2 loop keeps one accumulator register per four rows, one to four of them, which is
 * also what hides the latency of the additions. Elements of x are loaded one by one, as in
 * csr.c and for the reason measured there; AVX-512 CPUs run the AVX2 loop too.
 */
#include "kernels/sell.h"

#include "kernels/isa.h"

#include <stdbool.h>
#include <stdlib.h>

#if STK_HAVE_X86
#include <immintrin.h>
#endif

const struct stk_work stk_sell_work_per_entry = {.read_bytes = 12.0, .flops = 2.0};
const struct stk_work stk_sell_work_per_row = {
    .read_bytes = 12.0, .write_bytes = 8.0, .allocate_bytes = 8.0};
const struct stk_work stk_sell_work_per_chunk = {.read_bytes = 8.0};

static int by_key(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return (*left > *right) - (*left < *right);
}

/* The key is the length, complemented so that long rows come first, above the row's number:
 * no two keys are equal, so that any sort is a stable one. */
void stk_sell_order(const uint32_t *row_start, size_t first, size_t end, size_t sigma,
                    uint64_t *keys, uint32_t *order)
{
    for (size_t base = first; base < end; base += sigma) {
        const size_t n = end - base < sigma ? end - base : sigma;
        for (size_t i = 0; i < n; i++) {
            const uint32_t length = row_start[base + i + 1] - row_start[base + i];
            keys[i] = (uint64_t)(UINT32_MAX - length) << 32 | (uint64_t)(base + i);
        }
        qsort(keys, n, sizeof *keys, by_key);
        for (size_t i = 0; i < n; i++) {
            order[base - first + i] = (uint32_t)(keys[i] & UINT32_MAX);
        }
    }
}

size_t stk_sell_chunk_length(const uint32_t *row_start, const uint32_t *order, size_t n,
                             size_t chunk, size_t c)
{
    size_t longest = 0;

    for (size_t i = c * chunk; i < n && i < (c + 1) * chunk; i++) {
        const size_t length = row_start[order[i] + 1] - row_start[order[i]];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Padding repeats the row's last column, so that it loads what is loaded anyway; rows without
 * any entry, and places without a row, load x[0]. */
void stk_sell_fill_chunk(const struct stk_csr *a, const uint32_t *order, size_t n,
                         size_t chunk, size_t length, int32_t *columns, double *values)
{
    for (size_t lane = 0; lane < chunk; lane++) {
        const size_t start = lane < n ? a->row_start[order[lane]] : 0;
        const size_t n_entries = lane < n ? a->row_start[order[lane] + 1] - start : 0;
        int32_t last = 0;
        for (size_t k = 0; k < length; k++) {
            const bool is_entry = k < n_entries;
            last = is_entry ? a->columns[start + k] : last;
            columns[k * chunk + lane] = last;
            values[k * chunk + lane] = is_entry ? a->values[start + k] : 0.0;
        }
    }
}

/* Rows of chunk c that exist: all but in the last chunk of a part. */
static inline size_t rows_of_chunk(const struct stk_sell *a, size_t part, size_t c,
                                   size_t *first)
{
    const size_t from = a->rows.start[part] + (c - a->first_chunk[part]) * a->chunk;
    const size_t left = a->rows.start[part + 1] - from;

    *first = from;
    return left < a->chunk ? left : a->chunk;
}

static void part_plain(const struct stk_sell *a, size_t part, const double *restrict x,
                       double *restrict y)
{
    for (size_t c = a->first_chunk[part]; c < a->first_chunk[part + 1]; c++) {
        double sum[STK_SELL_MAX_CHUNK] = {0.0};
        size_t first = 0;
        const size_t n = rows_of_chunk(a, part, c, &first);
        for (uint64_t k = a->chunk_start[c]; k < a->chunk_start[c + 1]; k += a->chunk) {
            for (size_t lane = 0; lane < a->chunk; lane++) {
                sum[lane] += a->values[k + lane] * x[a->columns[k + lane]];
            }
        }
        for (size_t i = 0; i < n; i++) {
            y[a->order[first + i]] = sum[i];
        }
    }
}

#if STK_HAVE_X86
STK_TARGET_AVX2 static inline __m256d load_four(const double *x, const int32_t *c)
{
    const __m128d low = _mm_loadh_pd(_mm_load_sd(x + c[0]), x + c[1]);
    const __m128d high = _mm_loadh_pd(_mm_load_sd(x + c[2]), x + c[3]);

    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

/* One chunk of n_registers x 4 rows; the count is a constant wherever this is inlined, so that
 * the sums stay in registers. */
STK_TARGET_AVX2 static inline __attribute__((always_inline)) void
chunk_avx2(const struct stk_sell *a, size_t c, size_t n_registers, const double *x,
           double *out)
{
    const size_t height = n_registers * STK_SELL_LANES;
    __m256d sum[STK_SELL_MAX_CHUNK / STK_SELL_LANES];

    for (size_t j = 0; j < n_registers; j++) {
        sum[j] = _mm256_setzero_pd();
    }
    for (uint64_t k = a->chunk_start[c]; k < a->chunk_start[c + 1]; k += height) {
        for (size_t j = 0; j < n_registers; j++) {
            const size_t at = k + j * STK_SELL_LANES;
            sum[j] = _mm256_fmadd_pd(_mm256_loadu_pd(a->values + at),
                                     load_four(x, a->columns + at), sum[j]);
        }
    }
    for (size_t j = 0; j < n_registers; j++) {
        _mm256_storeu_pd(out + j * STK_SELL_LANES, sum[j]);
    }
}

STK_TARGET_AVX2 static void part_avx2(const struct stk_sell *a, size_t part,
                                      const double *restrict x, double *restrict y)
{
    for (size_t c = a->first_chunk[part]; c < a->first_chunk[part + 1]; c++) {
        double sum[STK_SELL_MAX_CHUNK];
        size_t first = 0;
        const size_t n = rows_of_chunk(a, part, c, &first);
        if (a->chunk == 4) {
            chunk_avx2(a, c, 1, x, sum);
        } else if (a->chunk == 8) {
            chunk_avx2(a, c, 2, x, sum);
        } else {
            chunk_avx2(a, c, 4, x, sum);
        }
        for (size_t i = 0; i < n; i++) {
            y[a->order[first + i]] = sum[i];
        }
    }
}
#endif

stk_sell_part_fn stk_sell_part(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return part_plain;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return part_avx2;
    }
#endif
    return NULL;
}

void stk_sell_multiply(const struct stk_sell *a, const double *restrict x,
                       double *restrict y)
{
    const stk_sell_part_fn avx2 = stk_sell_part(STK_ISA_AVX2);
    const stk_sell_part_fn part = avx2 != NULL ? avx2 : part_plain;

#pragma omp parallel for default(none) shared(a, x, y, part) schedule(static)
    for (size_t t = 0; t < a->rows.n_parts; t++) {
        part(a, t, x, y);
    }
}

void stk_sell_multiply_ref(const struct stk_sell *a, const double *restrict x,
                           double *restrict y)
{
    for (size_t t = 0; t < a->rows.n_parts; t++) {
        for (size_t i = a->rows.start[t]; i < a->rows.start[t + 1]; i++) {
            const size_t place = i - a->rows.start[t];
            const size_t c = a->first_chunk[t] + place / a->chunk;
            double sum = 0.0;
            for (uint64_t k = a->chunk_start[c] + place % a->chunk;
                 k < a->chunk_start[c + 1]; k += a->chunk) {
                sum += a->values[k] * x[a->columns[k]];
            }
            y[a->order[i]] = sum;
        }
    }
}
