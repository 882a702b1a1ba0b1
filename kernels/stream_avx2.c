/* The stream kernels for x86-64 with AVX2. */
#include "kernels/isa.h"

#if STK_HAVE_X86
#include <immintrin.h>

#define STK_TARGET STK_TARGET_AVX2
#define STK_LANES 4
#define STK_TABLE stk_stream_avx2
#define STK_TABLE_NAME "avx2"
#define STK_STREAM_STORE(p, v) _mm256_stream_pd((p), (v))
#define STK_FENCE() _mm_sfence()

#include "kernels/stream_loops.h"
#else
/* Other processors have stream_plain.c alone; a C file may not be empty. */
typedef int stk_stream_avx2_unused;
#endif
