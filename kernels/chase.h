#ifndef STK_CHASE_H
#define STK_CHASE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The pointer chase of METHODS 2.1: n lines, `stride` bytes apart, each holding the address
 * of the next one of a single cycle through all of them. Loads depend on each other, so the
 * time per load is the latency. Everything is serial.
 *
 * Several cycles fit into the same lines, each in a slot of its own (8 bytes of every line):
 * a sweep over sizes then needs the memory of its largest size only.
 */

enum {
    STK_CHASE_MAX_CHAINS = 16,
    STK_CHASE_UNROLL =
        16 /**< steps per pass of the loop: step counts are multiples of it */
};

/** Largest number of lines: links are 32-bit line numbers while they are made. */
#define STK_CHASE_MAX_LINES ((size_t)UINT32_MAX)

/**
 * Sattolo's shuffle (Inf. Proc. Letters 22, 1986): p[0..n-1] becomes one cycle of length n,
 * each of the (n-1)! equally likely but for the bias of the modulo, below n / 2^64.
 * Draws are elements 0, 1, … of SplitMix64 with @p seed; 1 <= n <= STK_CHASE_MAX_LINES.
 */
void stk_sattolo(size_t n, uint64_t seed, uint32_t *p);

/**
 * A single cycle that visits all lines of a page, in a random order of its own for each page,
 * before it goes on to the next page of a random cycle of pages. The last page may be partial.
 *
 * @param lines_per_page >= 1
 * @param[out] next [n] line after each line
 * @param scratch [ceil(n / lines_per_page) + lines_per_page]
 */
void stk_chase_inpage(size_t n, size_t lines_per_page, uint64_t seed, uint32_t *next,
                      uint32_t *scratch);

/** Lines of one cycle in memory. */
struct stk_lines {
    char *base;    /**< aligned for pointers */
    size_t stride; /**< bytes, a multiple of sizeof(void *) */
    size_t slot;   /**< which pointer of each line, < stride / sizeof(void *) */
    size_t n;      /**< lines */
};

/** Write the links: the line i points to the line next[i]. Touches the pages in order. */
void stk_chase_link(const struct stk_lines *lines, const uint32_t *next);

/** Address of line @p i of the cycle. */
void *stk_chase_line(const struct stk_lines *lines, size_t i);

/** Line number of an address of the cycle; SIZE_MAX if it is none. */
size_t stk_chase_index(const struct stk_lines *lines, const void *at);

/**
 * @p k starts, each n / k steps of the cycle behind the one before it, so that k chains that
 * go on at the same pace are as far from each other as can be. Walks the cycle once.
 */
void stk_chase_starts(const struct stk_lines *lines, size_t k,
                      void *starts[STK_CHASE_MAX_CHAINS]);

/**
 * Follow @p k chains (1, 2, 4, 8 or 16; others do as the next smaller of these) at the same
 * time for @p n_steps steps each, a multiple of STK_CHASE_UNROLL. The chains are independent
 * of each other; more than a processor has registers for pay for loads from the stack, which
 * hide behind a miss but not behind a hit.
 *
 * @param[in,out] at [STK_CHASE_MAX_CHAINS] where the first k are; the caller must look at
 *                   the result, or the compiler may leave out the work
 */
void stk_chase(size_t n_steps, size_t k, void *at[STK_CHASE_MAX_CHAINS]);

/** One step after the other, never tuned: to compare with. */
void *stk_chase_ref(size_t n_steps, void *at);

/** What stk_chase_check() found. */
struct stk_chase_defect {
    size_t n_outside; /**< links to something that is no line of this cycle */
    size_t n_self;    /**< links of a line to itself */
    uint64_t sum_off; /**< sum of the targets' numbers minus the sum of all numbers */
    uint64_t xor_off; /**< the same with exclusive or of their mixed numbers */
};
/**
 * Pass over the links in memory's order: all zero if every line is the target of one line, up
 * to a chance of 2^-64. That they form one cycle, not several, follows from how they were made.
 */
struct stk_chase_defect stk_chase_check(const struct stk_lines *lines);

/** Bandwidth that so many lines in flight sustain (Little's law): lines x bytes / latency. */
double stk_little_bandwidth(double n_lines, double line_bytes, double latency_s);
/** Lines in flight that a bandwidth at a latency takes. */
double stk_little_lines(double bytes_per_s, double line_bytes, double latency_s);

#endif
