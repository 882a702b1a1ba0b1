/*
 * BCSR sparse matrix-vector product.
 *
 * A block of four values fills one AVX2 register and two elements of x are loaded once for both
 * rows; larger blocks are multiplied column by column, each column times one element of x. A
 * column of three is loaded with the value behind it, whose lane is never stored. Several sums
 * in turn hide the latency of the additions.
 */
#include "kernels/bcsr.h"

#include "kernels/isa.h"

#include <stdbool.h>

#if STK_HAVE_X86
#include <immintrin.h>
#endif

const struct stk_work stk_bcsr_work_per_value = {.read_bytes = 8.0, .flops = 2.0};
const struct stk_work stk_bcsr_work_per_block = {.read_bytes = 4.0};
const struct stk_work stk_bcsr_work_per_block_row = {.read_bytes = 4.0};
const struct stk_work stk_bcsr_work_per_row = {
    .read_bytes = 8.0, .write_bytes = 8.0, .allocate_bytes = 8.0};

size_t stk_bcsr_height(size_t side, size_t shift, size_t row, size_t end)
{
    const size_t n = side - (row + shift) % side;

    return n < end - row ? n : end - row;
}

/* Where each of a block row's rows has got to, from left to right. */
struct cursor {
    size_t n;
    size_t at[STK_BCSR_MOST_SIDE], end[STK_BCSR_MOST_SIDE];
};

static struct cursor cursor_of(const struct stk_csr *a, size_t first, size_t n)
{
    struct cursor c = {.n = n};

    for (size_t i = 0; i < n; i++) {
        c.at[i] = a->row_start[first + i];
        c.end[i] = a->row_start[first + i + 1];
    }
    return c;
}

/* The leftmost entry not yet in a block begins the next one. @return false: none is left */
static bool next_block(const struct stk_csr *a, const struct cursor *c, int32_t *column)
{
    bool found = false;

    for (size_t i = 0; i < c->n; i++) {
        if (c->at[i] < c->end[i] && (!found || a->columns[c->at[i]] < *column)) {
            *column = a->columns[c->at[i]];
            found = true;
        }
    }
    return found;
}

size_t stk_bcsr_count(const struct stk_csr *a, size_t side, size_t first, size_t n)
{
    struct cursor c = cursor_of(a, first, n);
    size_t n_blocks = 0;
    int32_t column = 0;

    for (; next_block(a, &c, &column); n_blocks++) {
        for (size_t i = 0; i < n; i++) {
            while (c.at[i] < c.end[i] && (size_t)(a->columns[c.at[i]] - column) < side) {
                c.at[i]++;
            }
        }
    }
    return n_blocks;
}

/* Place of an entry within its block. */
static size_t place_of(size_t side, size_t row, size_t column)
{
    return side == 2 ? row * side + column : column * side + row;
}

void stk_bcsr_fill(const struct stk_csr *a, size_t side, size_t n_columns, size_t first,
                   size_t n, int32_t *columns, double *values)
{
    struct cursor c = cursor_of(a, first, n);
    int32_t column = 0;

    for (size_t b = 0; next_block(a, &c, &column); b++) {
        /* A block that would stick out at the right begins further left. */
        const size_t start =
            (size_t)column + side <= n_columns ? (size_t)column : n_columns - side;
        double *block = values + b * side * side;
        columns[b] = (int32_t)start;
        for (size_t k = 0; k < side * side; k++) {
            block[k] = 0.0;
        }
        for (size_t i = 0; i < n; i++) {
            for (; c.at[i] < c.end[i]; c.at[i]++) {
                const size_t j = (size_t)a->columns[c.at[i]] - start;
                if (j >= side) {
                    break;
                }
                block[place_of(side, i, j)] = a->values[c.at[i]];
            }
        }
    }
}

/* One block row; the side is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void row_plain(const struct stk_bcsr *a,
                                                            size_t side, size_t b,
                                                            const double *restrict x,
                                                            double *restrict sum)
{
    for (size_t i = 0; i < side; i++) {
        sum[i] = 0.0;
    }
    for (size_t k = a->block_start[b]; k < a->block_start[b + 1]; k++) {
        const double *block = a->values + k * side * side;
        const double *from = x + a->columns[k];
        for (size_t j = 0; j < side; j++) {
            for (size_t i = 0; i < side; i++) {
                sum[i] += block[side == 2 ? i * side + j : j * side + i] * from[j];
            }
        }
    }
}

/* Every loop over the block rows of a part: the block row's sums, then those that are rows. */
#define PART_LOOP(a, part, y, row_sums)                                                  \
    do {                                                                                 \
        const size_t end_ = (a)->rows.start[(part) + 1];                                 \
        size_t row_ = (a)->rows.start[part];                                             \
        for (size_t b = (a)->first_block_row[part];                                      \
             b < (a)->first_block_row[(part) + 1]; b++) {                                \
            double sum[STK_BCSR_MOST_SIDE];                                              \
            const size_t n_ = stk_bcsr_height((a)->side, (a)->shift, row_, end_);        \
            row_sums;                                                                    \
            for (size_t i_ = 0; i_ < n_; i_++) {                                         \
                (y)[row_ + i_] = sum[i_];                                                \
            }                                                                            \
            row_ += n_;                                                                  \
        }                                                                                \
    } while (0)

static void part_plain(const struct stk_bcsr *a, size_t part, const double *restrict x,
                       double *restrict y)
{
    if (a->side == 2) {
        PART_LOOP(a, part, y, row_plain(a, 2, b, x, sum));
    } else if (a->side == 3) {
        PART_LOOP(a, part, y, row_plain(a, 3, b, x, sum));
    } else {
        PART_LOOP(a, part, y, row_plain(a, 4, b, x, sum));
    }
}

#if STK_HAVE_X86
/* Two elements of x, twice. */
STK_TARGET_AVX2 static inline __m256d load_pair(const double *x)
{
    const __m128d pair = _mm_loadu_pd(x);

    return _mm256_set_m128d(pair, pair);
}

/* Both rows at once: (a00 x0, a01 x1, a10 x0, a11 x1), four blocks in turn. */
STK_TARGET_AVX2 static inline void row2_avx2(const struct stk_bcsr *a, size_t b,
                                             const double *x, double *sum)
{
    const size_t end = a->block_start[b + 1];
    size_t k = a->block_start[b];
    __m256d s[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(),
                    _mm256_setzero_pd()};

    for (; k + 4 <= end; k += 4) {
        for (size_t j = 0; j < 4; j++) {
            s[j] = _mm256_fmadd_pd(_mm256_loadu_pd(a->values + 4 * (k + j)),
                                   load_pair(x + a->columns[k + j]), s[j]);
        }
    }
    for (; k < end; k++) {
        s[0] = _mm256_fmadd_pd(_mm256_loadu_pd(a->values + 4 * k),
                               load_pair(x + a->columns[k]), s[0]);
    }
    const __m256d all =
        _mm256_add_pd(_mm256_add_pd(s[0], s[1]), _mm256_add_pd(s[2], s[3]));
    const __m256d pairs = _mm256_hadd_pd(all, all);
    sum[0] = _mm256_cvtsd_f64(pairs);
    sum[1] = _mm_cvtsd_f64(_mm256_extractf128_pd(pairs, 1));
}

/* Sides 3 and 4: a sum for each column. */
STK_TARGET_AVX2 static inline __attribute__((always_inline)) void
row_avx2(const struct stk_bcsr *a, size_t side, size_t b, const double *x, double *sum)
{
    __m256d s[STK_BCSR_MOST_SIDE];

    for (size_t j = 0; j < STK_BCSR_MOST_SIDE; j++) {
        s[j] = _mm256_setzero_pd();
    }
    for (size_t k = a->block_start[b]; k < a->block_start[b + 1]; k++) {
        const double *block = a->values + k * side * side;
        const double *from = x + a->columns[k];
        for (size_t j = 0; j < side; j++) {
            s[j] = _mm256_fmadd_pd(_mm256_loadu_pd(block + j * side),
                                   _mm256_broadcast_sd(from + j), s[j]);
        }
    }
    _mm256_storeu_pd(sum,
                     _mm256_add_pd(_mm256_add_pd(s[0], s[1]), _mm256_add_pd(s[2], s[3])));
}

STK_TARGET_AVX2 static void part_avx2(const struct stk_bcsr *a, size_t part,
                                      const double *restrict x, double *restrict y)
{
    if (a->side == 2) {
        PART_LOOP(a, part, y, row2_avx2(a, b, x, sum));
    } else if (a->side == 3) {
        PART_LOOP(a, part, y, row_avx2(a, 3, b, x, sum));
    } else {
        PART_LOOP(a, part, y, row_avx2(a, 4, b, x, sum));
    }
}
#endif

stk_bcsr_part_fn stk_bcsr_part(int isa)
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

void stk_bcsr_multiply(const struct stk_bcsr *a, const double *restrict x,
                       double *restrict y)
{
    const stk_bcsr_part_fn avx2 = stk_bcsr_part(STK_ISA_AVX2);
    const stk_bcsr_part_fn part = avx2 != NULL ? avx2 : part_plain;

#pragma omp parallel for default(none) shared(a, x, y, part) schedule(static)
    for (size_t t = 0; t < a->rows.n_parts; t++) {
        part(a, t, x, y);
    }
}

void stk_bcsr_multiply_ref(const struct stk_bcsr *a, const double *restrict x,
                           double *restrict y)
{
    const size_t side = a->side;

    for (size_t t = 0; t < a->rows.n_parts; t++) {
        size_t b = a->first_block_row[t];
        size_t row = a->rows.start[t];
        while (row < a->rows.start[t + 1]) {
            const size_t n = stk_bcsr_height(side, a->shift, row, a->rows.start[t + 1]);
            for (size_t i = 0; i < n; i++) {
                y[row + i] = 0.0;
                for (size_t k = a->block_start[b]; k < a->block_start[b + 1]; k++) {
                    for (size_t j = 0; j < side; j++) {
                        y[row + i] += a->values[k * side * side + place_of(side, i, j)] *
                                      x[(size_t)a->columns[k] + j];
                    }
                }
            }
            row += n;
            b++;
        }
    }
}
