/* The plain chase; compiled with -O3 and without unrolling by hand. */
#include "tests/bench_compare/chase_plain.h"

/* Marsaglia's xorshift64 (J. Stat. Software 8, 2003) */
static uint64_t xorshift(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void plain_chase_link(char *base, size_t n, size_t stride, uint32_t *order)
{
    uint64_t state = 88172645463325252U;

    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)(xorshift(&state) % i);
        const uint32_t held = order[i - 1];
        order[i - 1] = order[j];
        order[j] = held;
    }
    for (size_t i = 0; i < n; i++) {
        void *next = base + (size_t)order[i + 1 < n ? i + 1 : 0] * stride;
        *(void **)(void *)(base + (size_t)order[i] * stride) = next;
    }
}

void *plain_chase(void *at, size_t n_steps)
{
    while (n_steps-- > 0) {
        at = *(void **)at;
    }
    return at;
}
