#ifndef ST_KERNELS_FWQ_H
#define ST_KERNELS_FWQ_H

#include <stddef.h>
#include <stdint.h>

/*
 * Fixed work that touches no memory (fixed-work quantum, METHODS 7): a chain of dependent
 * multiply-adds, x <- a x + c modulo 2^64 with Knuth's constants (MMIX), in one register.
 */

/** @p n steps from @p x. */
uint64_t stk_fwq(uint64_t x, size_t n);
/** The same value in O(log n) steps, by squaring the map (F. Brown, Trans. Am. Nucl. Soc. 71, 1994). */
uint64_t stk_fwq_ref(uint64_t x, uint64_t n);

#endif
