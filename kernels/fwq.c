/*
 * The chain is serial: each step waits for the one before, so its time is that of the core's
 * clock and of nothing else. The result is used by the caller, so no compiler may drop it, and
 * none knows the closed form.
 */
#include "kernels/fwq.h"

static const uint64_t factor = 6364136223846793005U;
static const uint64_t addend = 1442695040888963407U;

uint64_t stk_fwq(uint64_t x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x = factor * x + addend;
    }
    return x;
}

uint64_t stk_fwq_ref(uint64_t x, uint64_t n)
{
    uint64_t a = factor;
    uint64_t c = addend;

    for (; n > 0; n /= 2) {
        if (n % 2 == 1) {
            x = a * x + c;
        }
        c = (a + 1) * c; /* twice the map: a (a x + c) + c */
        a *= a;
    }
    return x;
}
