/*
 * The loops of lu.h by AVX-512, as lu_avx2.c has them: one register holds the 8 rows of a chunk.
 */
#include "kernels/lu_isa.h"

#if STK_HAVE_X86
#include "kernels/lu_chunk.h"

#include <immintrin.h>

#define TARGET STK_TARGET_AVX512

STK_TARGET_AVX512 static inline __attribute__((always_inline)) void
sums(const struct stk_lu_half *half, size_t c, size_t n_entries, int ahead,
     const double *x, double *sum)
{
    const struct stk_lu_chunk *chunk = &half->chunks[c];
    __m512d two[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};

    ask_for(half, c, ahead);
    if (chunk->block != STK_LU_RUNS) {
        sums_plain(half, c, n_entries, x, sum);
        return;
    }
    for (size_t s = 0; s < n_entries; s++) {
        two[s % 2] = _mm512_fmadd_pd(_mm512_loadu_pd(chunk->values[s]),
                                     _mm512_loadu_pd(x + chunk->bases[s]), two[s % 2]);
    }
    _mm512_storeu_pd(sum, _mm512_add_pd(two[0], two[1]));
}

#include "kernels/lu_loops.h"

const struct stk_lu_loops stk_lu_avx512_loops = STK_LU_LOOPS;
#else
/* Other processors have lu_plain.c alone; a C file may not be empty. */
typedef int stk_lu_avx512_unused;
#endif
