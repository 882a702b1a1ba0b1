#ifndef ST_KERNELS_LU_AHEAD_H
#define ST_KERNELS_LU_AHEAD_H

#include "kernels/lu.h"

#include <stddef.h>
#include <stdint.h>

/* Ask for the half row that lies so many entries ahead (behind, if negative) of entry k. */
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

#endif
