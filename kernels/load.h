#ifndef STK_LOAD_H
#define STK_LOAD_H

#include "kernels/stream.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Streams that load the memory to a chosen degree (METHODS 2.4): after every 64 lines the
 * thread idles for a given number of cycles. Serial; each thread has memory of its own.
 */

enum stk_load_kind {
    STK_LOAD_SUM,         /**< reads */
    STK_LOAD_UPDATE,      /**< reads and writes 1 : 1 */
    STK_LOAD_NONTEMPORAL, /**< writes past the caches */
    STK_LOAD_N_KINDS
};

enum {
    STK_LOAD_BLOCK_LINES = 64, /**< METHODS 2.4 */
    STK_LOAD_BLOCK_BYTES = STK_LOAD_BLOCK_LINES * 64,
    STK_LOAD_BLOCK_ELEMENTS = STK_LOAD_BLOCK_BYTES / 8
};

/** Can this variant make this load? (Only some processors have non-temporal stores.) */
bool stk_load_possible(const struct stk_stream_isa *isa, enum stk_load_kind kind);

/** Bytes that the memory moves for one block. */
double stk_load_block_bytes(enum stk_load_kind kind);

/** A thread's stream. */
struct stk_load {
    const struct stk_stream_isa *isa;
    enum stk_load_kind kind;
    double *data;    /**< 64-byte aligned */
    size_t n_blocks; /**< in data; the stream starts again at its end */
    size_t at;       /**< next block */
    double sum;      /**< of what was read: the result that keeps the reads alive */
};

/**
 * The next @p n blocks, each followed by @p delay empty cycles (one pass of a loop of two
 * instructions; a cycle on the processors in use).
 */
void stk_load_run(struct stk_load *load, size_t n, size_t delay);

/** Can an element hold this, if all were set to 1 at first? Reads leave 1, updates 1 or -1,
 * non-temporal stores 1 or 2. */
bool stk_load_value_good(enum stk_load_kind kind, double value);

/** Idle for about @p n cycles without touching memory. */
void stk_spin(size_t n);

#endif
