#ifndef STK_STREAM_H
#define STK_STREAM_H

#include "kernels/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The eleven memory-bandwidth kernels of METHODS 1.1 (McCalpin's STREAM, BabelStream, PRK
 * nstream, TheBandwidthBenchmark), with ordinary stores and, where a kernel writes without
 * reading, with non-temporal ones. Each is compiled for several instruction sets; the caller
 * picks one at run time. OpenMP inside; each thread works on the same slice in every call.
 */

/** Kernels; w is the array each one writes. */
enum stk_stream_kernel {
    STK_COPY,    /**< c = a */
    STK_SCALE,   /**< b = s c */
    STK_ADD,     /**< c = a + b */
    STK_TRIAD,   /**< a = b + s c */
    STK_SUM,     /**< sum of a */
    STK_DOT,     /**< sum of a b */
    STK_INIT,    /**< a = s */
    STK_UPDATE,  /**< a = s a */
    STK_DAXPY,   /**< a = a + s b */
    STK_STRIAD,  /**< a = b + c d (Schoenauer) */
    STK_NSTREAM, /**< a = a + b + s c (PRK) */
    STK_N_KERNELS
};

enum stk_stores {
    STK_ORDINARY,   /**< through the caches, with the write-allocate read */
    STK_NONTEMPORAL /**< past the caches */
};

/** Arrays by index; a kernel uses those of stk_stream_uses(). */
enum stk_array {
    STK_A,
    STK_B,
    STK_C,
    STK_D,
    STK_N_ARRAYS
};

enum {
    STK_N_ISAS = 3,
    STK_SLICE_ELEMENTS =
        512 /**< slices end on multiples of it: one 4 KiB page of doubles */
};

/** One kernel over a slice [first, last) with its arrays already in their roles. */
struct stk_span {
    size_t first, last;
    double *w;               /**< written (NULL for sum and dot) */
    const double *x, *y, *z; /**< read besides w; unused ones NULL */
    double s;
};
/** @return the sum for sum and dot, else 0 */
typedef double (*stk_span_fn)(const struct stk_span *span);

/** The kernels as compiled for one instruction set; constant tables. */
struct stk_stream_isa {
    const char *name;    /**< "sse2", "avx2", "avx512"; "neon"; "plain" elsewhere */
    size_t vector_bytes; /**< of one load or store */
    stk_span_fn ordinary[STK_N_KERNELS];    /**< never NULL */
    stk_span_fn nontemporal[STK_N_KERNELS]; /**< NULL where there is none */
};

/** Name in lower case: "copy" … "nstream". Local. */
const char *stk_stream_name(enum stk_stream_kernel kernel);
/** Work per element (METHODS 1.1). Local. */
const struct stk_work *stk_stream_work(enum stk_stream_kernel kernel);
/** Arrays that @p kernel reads or writes, as bit mask 1 << enum stk_array. Local. */
unsigned stk_stream_uses(enum stk_stream_kernel kernel);
/** Array that @p kernel writes; STK_N_ARRAYS for sum and dot. Local. */
enum stk_array stk_stream_writes(enum stk_stream_kernel kernel);
/** Does @p kernel write without reading the same array (so that past-cache stores help)? Local. */
bool stk_stream_write_only(enum stk_stream_kernel kernel);

/**
 * Variants this processor can run, in order of vector width. Local.
 * @param[out] isas constant tables, up to @p max of them
 * @return how many there are (1 to STK_N_ISAS)
 */
size_t stk_stream_isas(size_t max, const struct stk_stream_isa **isas);
/** The widest variant; for ordinary stores not always the fastest one. Local. */
const struct stk_stream_isa *stk_stream_widest(void);

/** The span of all @p n elements, each array in the role that @p kernel gives it. Local. */
struct stk_span stk_stream_span(enum stk_stream_kernel kernel, size_t n,
                                double *const arrays[STK_N_ARRAYS], double s);

/**
 * Slice of thread @p thread: page-aligned bounds, sizes that differ by one page at most.
 * Equal for equal arguments, so that the thread which touched a page first works on it. Local.
 */
void stk_slice(size_t n, size_t thread, size_t n_threads, size_t *first, size_t *last);

/**
 * One pass of @p kernel over arrays of @p n elements with all threads of the next parallel
 * region. Arrays may not overlap; any alignment, 64 bytes is best. When it returns all
 * stores are visible, non-temporal ones included (each thread fences before it ends).
 *
 * @param stores STK_NONTEMPORAL only if isa->nontemporal[kernel] is not NULL
 * @param arrays [STK_N_ARRAYS] unused ones may be NULL
 * @return the sum for sum and dot (in the order of slices and lanes, then of threads), else 0
 */
double stk_stream(const struct stk_stream_isa *isa, enum stk_stream_kernel kernel,
                  enum stk_stores stores, size_t n, double *const arrays[STK_N_ARRAYS],
                  double s);

/** Slot of a thread that has no part in stk_stream_team(). */
#define STK_IDLE SIZE_MAX

/**
 * One pass by some threads of the next parallel region's team: thread t works on slice
 * slot[t] of @p n_slots (stk_slice), or waits if that is STK_IDLE or if it has no slot. The
 * arguments else as for stk_stream().
 * @param slot [n_team] slices may be given in any order; one that nobody has is not worked on
 */
struct stk_team {
    size_t n_team, n_slots;
    const size_t *slot;
};
double stk_stream_team(const struct stk_stream_isa *isa, enum stk_stream_kernel kernel,
                       const struct stk_team *team, size_t n,
                       double *const arrays[STK_N_ARRAYS], double s);

/** The same, serial and plain, to compare with. */
double stk_stream_ref(enum stk_stream_kernel kernel, size_t n,
                      double *const arrays[STK_N_ARRAYS], double s);

/** Set a[i] = value with the slices of stk_stream(): the first touch of the pages. */
void stk_stream_fill(size_t n, double *a, double value);

/** What stk_stream_compare() found. */
struct stk_deviation {
    size_t n_bad;     /**< elements with not (|a[i] - want| <= limit); NaN counts */
    double worst;     /**< largest |a[i] - want| that is a number */
    size_t first_bad; /**< lowest index of a bad element; n if there is none */
};
/** Compare every element with @p want, with the slices of stk_stream(). */
struct stk_deviation stk_stream_compare(size_t n, const double *a, double want,
                                        double limit);

#endif
