#ifndef STM_BLOCKS_H
#define STM_BLOCKS_H

#include <stdint.h>

/* Things numbered 0 … n-1 cut into blocks of nearly equal size; n times n_blocks must fit. */

/** First thing of block @p i of @p n_blocks over @p n things. */
static inline int64_t stm_block_start(int64_t n, int64_t n_blocks, int64_t i)
{
    return n * i / n_blocks;
}

/** The block that holds thing @p c, 0 <= c < n. */
static inline int64_t stm_block_of(int64_t n, int64_t n_blocks, int64_t c)
{
    int64_t i = c * n_blocks / n;

    while (stm_block_start(n, n_blocks, i + 1) <= c) {
        i++;
    }
    return i;
}

#endif
