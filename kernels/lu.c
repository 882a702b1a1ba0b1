/*
 * Sweeps over the halves of a matrix: the sum of twelve entries for each instruction set, the
 * loops around it (lu_loops.h), and the plain sweeps over CSR.
 *
 * The elements of x are loaded one by one and paired in registers, as in csr.c, which beats the
 * gather instructions; what both halves of a row need is asked for some rows ahead, against the
 * direction of memory in backward sweeps.
 */
#include "kernels/lu.h"

#include "kernels/isa.h"

#if STK_HAVE_X86
#include <immintrin.h>
#endif

/* Per row: 13 values, 13 columns and the diagonal; vectors as the loops name them. */
const struct stk_work stk_lu_forward_zero_work = {
    .read_bytes = 172.0, .write_bytes = 8.0, .allocate_bytes = 8.0, .flops = 27.0};
const struct stk_work stk_lu_backward_zero_work = {
    .read_bytes = 172.0, .write_bytes = 8.0, .flops = 28.0};
const struct stk_work stk_lu_forward_work = {
    .read_bytes = 336.0, .write_bytes = 16.0, .allocate_bytes = 8.0, .flops = 54.0};
const struct stk_work stk_lu_backward_work = {
    .read_bytes = 180.0, .write_bytes = 8.0, .flops = 27.0};
const struct stk_work stk_lu_multiply_work = {
    .read_bytes = 328.0, .write_bytes = 8.0, .allocate_bytes = 8.0, .flops = 55.0};

/* Entries ahead of the current row's to ask for: 20 rows, the best of 10, 20, 40, 80 tried. */
enum {
    AHEAD = 20 * STK_LU_WIDTH
};

#if defined(__GNUC__)
static inline __attribute__((always_inline)) void ask_for(const struct stk_lu_half *half,
                                                          size_t k, int ahead)
{
    /* Through integers: an address outside the array must not be formed as a pointer.
     * NOLINTBEGIN(performance-no-int-to-ptr) nothing is read through it */
    const uintptr_t values = (uintptr_t)half->values + (k + (size_t)ahead) * 8;
    const uintptr_t columns = (uintptr_t)half->columns + (k + (size_t)ahead) * 4;
    __builtin_prefetch((const void *)values);
    __builtin_prefetch((const void *)(values + 64));
    __builtin_prefetch((const void *)columns);
    /* NOLINTEND(performance-no-int-to-ptr) */
}
#else
static inline void ask_for(const struct stk_lu_half *half, size_t k, int ahead)
{
    (void)half;
    (void)k;
    (void)ahead;
}
#endif

static inline double plain_twelve(const struct stk_lu_half *half, size_t k, int ahead,
                                  const double *x)
{
    const double *v = half->values + k;
    const int32_t *c = half->columns + k;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};

    ask_for(half, k, ahead);
    for (size_t i = 0; i < 12; i += 4) {
        for (size_t j = 0; j < 4; j++) {
            sum[j] += v[i + j] * x[c[i + j]];
        }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#define NAME(x) plain_##x
#define TARGET
#include "kernels/lu_loops.h"
#undef NAME
#undef TARGET

#if STK_HAVE_X86
/* x[c[0]] … x[c[3]] in one register, by single loads. */
STK_TARGET_AVX2 static inline __m256d four_of(const double *x, const int32_t *c)
{
    const __m128d low = _mm_loadh_pd(_mm_load_sd(x + c[0]), x + c[1]);
    const __m128d high = _mm_loadh_pd(_mm_load_sd(x + c[2]), x + c[3]);

    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

STK_TARGET_AVX2 static inline double avx2_twelve(const struct stk_lu_half *half, size_t k,
                                                 int ahead, const double *x)
{
    const double *v = half->values + k;
    const int32_t *c = half->columns + k;

    ask_for(half, k, ahead);
    __m256d sum = _mm256_mul_pd(_mm256_loadu_pd(v), four_of(x, c));
    sum = _mm256_fmadd_pd(_mm256_loadu_pd(v + 4), four_of(x, c + 4), sum);
    sum = _mm256_fmadd_pd(_mm256_loadu_pd(v + 8), four_of(x, c + 8), sum);
    const __m128d pair =
        _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

#define NAME(x) avx2_##x
#define TARGET STK_TARGET_AVX2
#include "kernels/lu_loops.h"
#undef NAME
#undef TARGET
#endif

const struct stk_lu_loops *stk_lu_loops_of(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return &plain_loops;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return &avx2_loops;
    }
#endif
    return NULL;
}

const struct stk_lu_loops *stk_lu_loops_best(void)
{
    const struct stk_lu_loops *avx2 = stk_lu_loops_of(STK_ISA_AVX2);

    return avx2 != NULL ? avx2 : &plain_loops;
}

static inline double gs_row(const struct stk_csr *a, double diagonal, size_t i, double r,
                            const double *x)
{
    double sum = r + diagonal * x[i];

    for (size_t k = a->row_start[i]; k < a->row_start[i + 1]; k++) {
        sum -= a->values[k] * x[a->columns[k]];
    }
    return sum / diagonal;
}

void stk_gs_forward_ref(const struct stk_csr *a, const double *diagonal,
                        const double *restrict r, double *restrict x)
{
    for (size_t i = 0; i < a->rows.start[a->rows.n_parts]; i++) {
        x[i] = gs_row(a, diagonal[i], i, r[i], x);
    }
}

void stk_gs_backward_ref(const struct stk_csr *a, const double *diagonal,
                         const double *restrict r, double *restrict x)
{
    for (size_t i = a->rows.start[a->rows.n_parts]; i-- > 0;) {
        x[i] = gs_row(a, diagonal[i], i, r[i], x);
    }
}
