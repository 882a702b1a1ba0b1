/*
 * The loops of lu.h by AVX2. The elements of x are loaded one by one and paired in registers, as
 * in csr.c, where that beats the gather instructions.
 */
#include "kernels/lu_isa.h"

#if STK_HAVE_X86
#include "kernels/lu_ahead.h"

#include <immintrin.h>

#define TARGET STK_TARGET_AVX2

/* x[c[0]] … x[c[3]] in one register, by single loads. */
STK_TARGET_AVX2 static inline __m256d four_of(const double *x, const int32_t *c)
{
    const __m128d low = _mm_loadh_pd(_mm_load_sd(x + c[0]), x + c[1]);
    const __m128d high = _mm_loadh_pd(_mm_load_sd(x + c[2]), x + c[3]);

    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

STK_TARGET_AVX2 static inline double twelve(const struct stk_lu_half *half, size_t k,
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

#include "kernels/lu_loops.h"

const struct stk_lu_loops stk_lu_avx2_loops = STK_LU_LOOPS;
#else
/* Other processors have lu_plain.c alone; a C file may not be empty. */
typedef int stk_lu_avx2_unused;
#endif
