/*
 * The stream kernels for every processor of the architecture: SSE2 on x86-64, NEON on
 * aarch64, the compiler's own choice elsewhere (there without non-temporal stores).
 *
 * aarch64 has a non-temporal store of register pairs only (stnp), so its vectors are two
 * registers wide. dmb ishst orders those stores before the end of the thread's part.
 */
#define STK_TARGET
#define STK_TABLE stk_stream_plain

#if defined(__x86_64__)
#include <emmintrin.h>

#define STK_LANES 2
#define STK_TABLE_NAME "sse2"
#define STK_STREAM_STORE(p, v) _mm_stream_pd((p), (v))
#define STK_FENCE() _mm_sfence()

#elif defined(__aarch64__)
#include <arm_neon.h>

#define STK_LANES 4
#define STK_TABLE_NAME "neon"
#define STK_STREAM_STORE(p, v)                                                           \
    do {                                                                                 \
        const float64x2_t low_ = {(v)[0], (v)[1]};                                       \
        const float64x2_t high_ = {(v)[2], (v)[3]};                                      \
        __asm__ volatile("stnp %q0, %q1, [%2]"                                           \
                         :                                                               \
                         : "w"(low_), "w"(high_), "r"(p)                                 \
                         : "memory");                                                    \
    } while (0)
#define STK_FENCE() __asm__ volatile("dmb ishst" : : : "memory")

#else

#define STK_LANES 2
#define STK_TABLE_NAME "plain"

#endif

#include "kernels/stream_loops.h"
