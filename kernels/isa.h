#ifndef ST_KERNELS_ISA_H
#define ST_KERNELS_ISA_H

/*
 * Which instruction set the kernels use. One binary holds every hot loop several times;
 * the best one that this CPU has is chosen once per call, so nothing depends on -march.
 */

enum stk_isa {
    STK_ISA_PLAIN, /**< what the compiler's baseline gives (SSE2, NEON) */
    STK_ISA_AVX2,  /**< AVX2 and FMA */
    STK_ISA_AVX512 /**< AVX-512 F, VL, DQ */
};

/** Target attributes of functions for one instruction set; x86-64 with gcc or clang only. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define STK_HAVE_X86 1
#define STK_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define STK_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma")))
#else
#define STK_HAVE_X86 0
#endif

/** The best instruction set of this CPU. Local, cheap. */
enum stk_isa stk_isa_best(void);

#endif
