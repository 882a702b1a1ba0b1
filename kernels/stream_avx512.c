/* The stream kernels for x86-64 with AVX-512: one 512-bit store is one cache line. */
#include "kernels/isa.h"

#if STK_HAVE_X86
#include <immintrin.h>

#define STK_TARGET STK_TARGET_AVX512
#define STK_LANES 8
#define STK_TABLE stk_stream_avx512
#define STK_TABLE_NAME "avx512"
#define STK_STREAM_STORE(p, v) _mm512_stream_pd((p), (v))
#define STK_FENCE() _mm_sfence()

#include "kernels/stream_loops.h"
#else
/* Other processors have stream_plain.c alone; a C file may not be empty. */
typedef int stk_stream_avx512_unused;
#endif
