/*
 * The loops of lu.h by AVX2. Where the columns of an entry are a run, two vector loads bring their
 * elements of x, else single loads do. Nothing but the stored columns says which case it is.
 */
#include "kernels/lu_isa.h"

#if STK_HAVE_X86
#include "kernels/lu_chunk.h"

#include <immintrin.h>

#define TARGET STK_TARGET_AVX2

STK_TARGET_AVX2 static inline __attribute__((always_inline)) void
sums(const struct stk_lu_half *half, size_t c, size_t n_entries, int ahead,
     const double *x, double *sum)
{
    const struct stk_lu_chunk *chunk = &half->chunks[c];
    __m256d low[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    __m256d high[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};

    ask_for(half, c, ahead);
    if (chunk->block != STK_LU_RUNS) {
        sums_plain(half, c, n_entries, x, sum);
        return;
    }
    for (size_t s = 0; s < n_entries; s++) {
        const double *from = x + chunk->bases[s];
        low[s % 2] = _mm256_fmadd_pd(_mm256_loadu_pd(chunk->values[s]),
                                     _mm256_loadu_pd(from), low[s % 2]);
        high[s % 2] = _mm256_fmadd_pd(_mm256_loadu_pd(chunk->values[s] + 4),
                                      _mm256_loadu_pd(from + 4), high[s % 2]);
    }
    _mm256_storeu_pd(sum, _mm256_add_pd(low[0], low[1]));
    _mm256_storeu_pd(sum + 4, _mm256_add_pd(high[0], high[1]));
}

#include "kernels/lu_loops.h"

const struct stk_lu_loops stk_lu_avx2_loops = STK_LU_LOOPS;
#else
/* Other processors have lu_plain.c alone; a C file may not be empty. */
typedef int stk_lu_avx2_unused;
#endif
