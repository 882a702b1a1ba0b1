/*
 * Choice of the instruction set. __builtin_cpu_supports() asks CPUID once per process and
 * also checks that the operating system saves the wide registers.
 */
#include "kernels/isa.h"

enum stk_isa stk_isa_best(void)
{
#if STK_HAVE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        return STK_ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return STK_ISA_AVX2;
    }
#endif
    return STK_ISA_PLAIN;
}
