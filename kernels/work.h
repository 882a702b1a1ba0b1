#ifndef ST_KERNELS_WORK_H
#define ST_KERNELS_WORK_H

#include <stddef.h>

/*
 * Work of a kernel per element: the one place from which all its rates come. Bytes are those
 * the loop names (STREAM's count); what the memory moves beyond them is stated apart.
 */
struct stk_work {
    double read_bytes;  /**< read by the loop */
    double write_bytes; /**< written by the loop */
    double
        allocate_bytes; /**< read only because an ordinary store misses (write-allocate) */
    double flops;       /**< an FMA counts 2 */
};

/** Bytes that the loop names over @p n elements: read + written. */
static inline double stk_work_bytes(const struct stk_work *work, size_t n)
{
    return (work->read_bytes + work->write_bytes) * (double)n;
}

/**
 * Bytes that the memory moves over @p n elements with ordinary stores; an upper bound where
 * a core evades the write-allocate read (METHODS 1.1).
 */
static inline double stk_work_moved_bytes(const struct stk_work *work, size_t n)
{
    return stk_work_bytes(work, n) + work->allocate_bytes * (double)n;
}

#endif
