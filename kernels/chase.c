/*
 * The pointer chase (METHODS 2.1). A step is one load whose address is the value of the load
 * before; nothing else stands between two loads. The chains' positions are local variables
 * while the loop runs, which the compiler keeps in registers as far as there are some; no
 * volatile in the loop, the positions are handed back at its end.
 */
#include "kernels/chase.h"

#include "kernels/splitmix.h"

void stk_sattolo(size_t n, uint64_t seed, uint32_t *p)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint32_t)i;
    }
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = (size_t)(stk_random_u64(seed, n - 1 - i) % i);
        const uint32_t held = p[i];
        p[i] = p[j];
        p[j] = held;
    }
}

/* Fisher and Yates: all orders of the lines of one page, equally likely. */
static void shuffle(size_t n, uint64_t seed, uint32_t *p)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint32_t)i;
    }
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)(stk_random_u64(seed, n - i) % i);
        const uint32_t held = p[i - 1];
        p[i - 1] = p[j];
        p[j] = held;
    }
}

void stk_chase_inpage(size_t n, size_t lines_per_page, uint64_t seed, uint32_t *next,
                      uint32_t *scratch)
{
    const size_t n_pages = (n + lines_per_page - 1) / lines_per_page;
    uint32_t *page_after = scratch;
    uint32_t *order = scratch + n_pages;
    size_t page = 0;
    uint32_t first = 0;
    uint32_t last = 0;

    stk_sattolo(n_pages, seed, page_after);
    for (size_t k = 0; k < n_pages; k++) {
        const size_t begin = page * lines_per_page;
        const size_t length = n - begin < lines_per_page ? n - begin : lines_per_page;
        shuffle(length, stk_mix64(seed + page), order);
        for (size_t i = 0; i < length; i++) {
            const uint32_t line = (uint32_t)(begin + order[i]);
            if (k == 0 && i == 0) {
                first = line;
            } else {
                next[last] = line;
            }
            last = line;
        }
        page = page_after[page];
    }
    next[last] = first;
}

void *stk_chase_line(const struct stk_lines *lines, size_t i)
{
    return lines->base + i * lines->stride + lines->slot * sizeof(void *);
}

size_t stk_chase_index(const struct stk_lines *lines, const void *at)
{
    const uintptr_t first = (uintptr_t)stk_chase_line(lines, 0);
    const uintptr_t here = (uintptr_t)at;
    const uintptr_t off = here - first;

    if (here < first || off % lines->stride != 0 || off / lines->stride >= lines->n) {
        return SIZE_MAX;
    }
    return off / lines->stride;
}

void stk_chase_link(const struct stk_lines *lines, const uint32_t *next)
{
    for (size_t i = 0; i < lines->n; i++) {
        *(void **)stk_chase_line(lines, i) = stk_chase_line(lines, next[i]);
    }
}

void stk_chase_starts(const struct stk_lines *lines, size_t k,
                      void *starts[STK_CHASE_MAX_CHAINS])
{
    const size_t apart = lines->n / k;
    void *at = stk_chase_line(lines, 0);

    for (size_t c = 0; c < k; c++) {
        starts[c] = at;
        at = c + 1 < k ? stk_chase_ref(apart, at) : at;
    }
}

void *stk_chase_ref(size_t n_steps, void *at)
{
    for (size_t i = 0; i < n_steps; i++) {
        at = *(void **)at;
    }
    return at;
}

/* clang-format off */
#define LOAD(c) (c) = *(void **)(c)
#define STEP_1 LOAD(c0)
#define STEP_2 STEP_1; LOAD(c1)
#define STEP_4 STEP_2; LOAD(c2); LOAD(c3)
#define STEP_8 STEP_4; LOAD(c4); LOAD(c5); LOAD(c6); LOAD(c7)
#define STEP_16 STEP_8; LOAD(c8); LOAD(c9); LOAD(c10); LOAD(c11); \
                LOAD(c12); LOAD(c13); LOAD(c14); LOAD(c15)
#define FOUR(step) step; step; step; step
#define UNROLLED(step) FOUR(step); FOUR(step); FOUR(step); FOUR(step)

/* Chains beyond the k of a variant are only carried over; that costs nothing in the loop. */
#define CHASE(k)                                                                         \
    static void chase_##k(size_t n_steps, void *at[STK_CHASE_MAX_CHAINS])                \
    {                                                                                    \
        void *c0 = at[0], *c1 = at[1], *c2 = at[2], *c3 = at[3];                         \
        void *c4 = at[4], *c5 = at[5], *c6 = at[6], *c7 = at[7];                         \
        void *c8 = at[8], *c9 = at[9], *c10 = at[10], *c11 = at[11];                     \
        void *c12 = at[12], *c13 = at[13], *c14 = at[14], *c15 = at[15];                 \
        for (size_t i = 0; i < n_steps; i += STK_CHASE_UNROLL) {                         \
            UNROLLED(STEP_##k);                                                          \
        }                                                                                \
        at[0] = c0, at[1] = c1, at[2] = c2, at[3] = c3;                                  \
        at[4] = c4, at[5] = c5, at[6] = c6, at[7] = c7;                                  \
        at[8] = c8, at[9] = c9, at[10] = c10, at[11] = c11;                              \
        at[12] = c12, at[13] = c13, at[14] = c14, at[15] = c15;                          \
    }
/* clang-format on */

CHASE(1)
CHASE(2)
CHASE(4)
CHASE(8)
CHASE(16)

void stk_chase(size_t n_steps, size_t k, void *at[STK_CHASE_MAX_CHAINS])
{
    if (k >= 16) {
        chase_16(n_steps, at);
    } else if (k >= 8) {
        chase_8(n_steps, at);
    } else if (k >= 4) {
        chase_4(n_steps, at);
    } else if (k >= 2) {
        chase_2(n_steps, at);
    } else {
        chase_1(n_steps, at);
    }
}

struct stk_chase_defect stk_chase_check(const struct stk_lines *lines)
{
    struct stk_chase_defect found = {0};

    for (size_t i = 0; i < lines->n; i++) {
        const size_t to = stk_chase_index(lines, *(void **)stk_chase_line(lines, i));
        if (to == SIZE_MAX) {
            found.n_outside++;
            continue;
        }
        found.n_self += to == i && lines->n > 1 ? 1 : 0;
        found.sum_off += (uint64_t)to - (uint64_t)i;
        found.xor_off ^= stk_mix64((uint64_t)to + 1) ^ stk_mix64((uint64_t)i + 1);
    }
    return found;
}

double stk_little_bandwidth(double n_lines, double line_bytes, double latency_s)
{
    return n_lines * line_bytes / latency_s;
}

double stk_little_lines(double bytes_per_s, double line_bytes, double latency_s)
{
    return bytes_per_s * latency_s / line_bytes;
}
