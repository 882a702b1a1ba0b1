#ifndef STK_STREAM_LOOPS_H
#define STK_STREAM_LOOPS_H

#include "kernels/stream_isa.h"

/*
 * The loops of the stream kernels, written once and included by one file per instruction set
 * (stream_plain.c, stream_avx2.c, stream_avx512.c), which define before:
 *
 *   STK_TARGET       attribute of the functions, e.g. __attribute__((target("avx2")))
 *   STK_LANES        doubles per vector register
 *   STK_TABLE        name of the table to define
 *   STK_TABLE_NAME   its text
 *   STK_STREAM_STORE(address, v), STK_FENCE()   if there are non-temporal stores
 *
 * Decisions:
 * - Vectors are the compilers' vector types, so gcc and clang make the same loads and stores
 *   at any optimisation level worth measuring; nothing rests on the vectoriser or on pragmas.
 * - Where compilers see that two arrays do not overlap, they turn a copy loop into memcpy,
 *   which picks its own stores by size. An empty asm between load and store prevents that
 *   without compiler flags and without instructions; a test looks at the object code.
 * - The block of the writing loops is one cache line of 8 doubles: a non-temporal line is
 *   written whole and in order, as write combining wants it.
 * - The sums keep eight vectors apart, enough to hide the latency of an addition.
 * - Contraction to FMA is off, so every variant rounds alike and like the plain loops.
 */

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum {
    STK_LINE = 8,
    STK_SUM_VECTORS = 8
};

/* Loads and ordinary stores take any alignment: aligned addresses cost nothing extra. */
typedef double stk_vector
    __attribute__((vector_size(STK_LANES * sizeof(double)), aligned(8), may_alias));
/* In registers, as the intrinsics want it. */
typedef double stk_register __attribute__((vector_size(STK_LANES * sizeof(double))));

#define STK_LOAD(p) (*(const stk_vector *)((p) + at))
#define STK_SPREAD(v) ((stk_register){0} + (v))
#define STK_LOAD1(p) ((p)[i])
#define STK_SPREAD1(v) (v)

#define STK_KEEP() __asm__ volatile("" : : : "memory")
/* The value is in a register before anything that is marked likewise and stands below. */
#if defined(__x86_64__)
#define STK_IN_ORDER(v) __asm__ volatile("" : "+x"(v))
#elif defined(__aarch64__)
#define STK_IN_ORDER(v) __asm__ volatile("" : "+w"(v))
#else
#define STK_IN_ORDER(v) (void)(v)
#endif
#define STK_STORE(p, v) (*(stk_vector *)(p) = (v))

/* The right-hand sides; L loads, S spreads a scalar over the lanes. */
#define STK_RHS_COPY(L, S) L(x)
#define STK_RHS_SCALE(L, S) (s * L(x))
#define STK_RHS_ADD(L, S) (L(x) + L(y))
#define STK_RHS_TRIAD(L, S) (L(x) + s * L(y))
#define STK_RHS_INIT(L, S) S(s)
#define STK_RHS_UPDATE(L, S) (s * L(w))
#define STK_RHS_DAXPY(L, S) (L(w) + s * L(x))
#define STK_RHS_STRIAD(L, S) (L(x) + L(y) * L(z))
#define STK_RHS_NSTREAM(L, S) (L(w) + (L(x) + s * L(y)))
#define STK_RHS_SUM(L, S) L(x)
#define STK_RHS_DOT(L, S) (L(x) * L(y))

/* Kernels differ in which of these they use. */
#define STK_ROLES(span)                                                                  \
    const size_t last = (span)->last;                                                    \
    double *restrict w = (span)->w;                                                      \
    const double *restrict x = (span)->x;                                                \
    const double *restrict y = (span)->y;                                                \
    const double *restrict z = (span)->z;                                                \
    const double s = (span)->s;                                                          \
    size_t i = (span)->first;                                                            \
    (void)w, (void)x, (void)y, (void)z, (void)s

/* Head up to a line boundary of w, whole lines, tail. */
#define STK_WRITE_LOOP(name, rhs, store, fence)                                          \
    STK_TARGET static double name(const struct stk_span *span)                           \
    {                                                                                    \
        STK_ROLES(span);                                                                 \
        for (; i < last && ((uintptr_t)(w + i) & 63U) != 0; i++) {                       \
            w[i] = rhs(STK_LOAD1, STK_SPREAD1);                                          \
        }                                                                                \
        for (; i + STK_LINE <= last; i += STK_LINE) {                                    \
            for (size_t at = i; at < i + STK_LINE; at += STK_LANES) {                    \
                stk_register v = rhs(STK_LOAD, STK_SPREAD);                              \
                STK_KEEP();                                                              \
                store(w + at, v);                                                        \
            }                                                                            \
        }                                                                                \
        for (; i < last; i++) {                                                          \
            w[i] = rhs(STK_LOAD1, STK_SPREAD1);                                          \
        }                                                                                \
        fence;                                                                           \
        return 0.0;                                                                      \
    }

/* Loads in order: gcc 12 would load the lines of a block as it likes, which the prefetchers of some
 * processors do not take for a stream (a third less bandwidth on Zen 5). */
#define STK_SUM_LOOP(name, rhs)                                                          \
    STK_TARGET static double name(const struct stk_span *span)                           \
    {                                                                                    \
        STK_ROLES(span);                                                                 \
        const size_t block = STK_SUM_VECTORS * STK_LANES;                                \
        stk_register part[STK_SUM_VECTORS] = {{0}};                                      \
        double total = 0.0;                                                              \
        for (; i + block <= last; i += block) {                                          \
            for (size_t k = 0; k < STK_SUM_VECTORS; k++) {                               \
                const size_t at = i + k * STK_LANES;                                     \
                stk_register v = rhs(STK_LOAD, STK_SPREAD);                              \
                STK_IN_ORDER(v);                                                         \
                part[k] += v;                                                            \
            }                                                                            \
        }                                                                                \
        for (; i < last; i++) {                                                          \
            total += rhs(STK_LOAD1, STK_SPREAD1);                                        \
        }                                                                                \
        for (size_t k = 1; k < STK_SUM_VECTORS; k++) {                                   \
            part[0] += part[k];                                                          \
        }                                                                                \
        for (size_t lane = 0; lane < STK_LANES; lane++) {                                \
            total += part[0][lane];                                                      \
        }                                                                                \
        return total;                                                                    \
    }

STK_WRITE_LOOP(copy_ordinary, STK_RHS_COPY, STK_STORE, (void)0)
STK_WRITE_LOOP(scale_ordinary, STK_RHS_SCALE, STK_STORE, (void)0)
STK_WRITE_LOOP(add_ordinary, STK_RHS_ADD, STK_STORE, (void)0)
STK_WRITE_LOOP(triad_ordinary, STK_RHS_TRIAD, STK_STORE, (void)0)
STK_WRITE_LOOP(init_ordinary, STK_RHS_INIT, STK_STORE, (void)0)
STK_WRITE_LOOP(update_ordinary, STK_RHS_UPDATE, STK_STORE, (void)0)
STK_WRITE_LOOP(daxpy_ordinary, STK_RHS_DAXPY, STK_STORE, (void)0)
STK_WRITE_LOOP(striad_ordinary, STK_RHS_STRIAD, STK_STORE, (void)0)
STK_WRITE_LOOP(nstream_ordinary, STK_RHS_NSTREAM, STK_STORE, (void)0)
STK_SUM_LOOP(sum_ordinary, STK_RHS_SUM)
STK_SUM_LOOP(dot_ordinary, STK_RHS_DOT)

#ifdef STK_STREAM_STORE
STK_WRITE_LOOP(copy_nontemporal, STK_RHS_COPY, STK_STREAM_STORE, STK_FENCE())
STK_WRITE_LOOP(scale_nontemporal, STK_RHS_SCALE, STK_STREAM_STORE, STK_FENCE())
STK_WRITE_LOOP(add_nontemporal, STK_RHS_ADD, STK_STREAM_STORE, STK_FENCE())
STK_WRITE_LOOP(triad_nontemporal, STK_RHS_TRIAD, STK_STREAM_STORE, STK_FENCE())
STK_WRITE_LOOP(init_nontemporal, STK_RHS_INIT, STK_STREAM_STORE, STK_FENCE())
STK_WRITE_LOOP(striad_nontemporal, STK_RHS_STRIAD, STK_STREAM_STORE, STK_FENCE())
#endif

const struct stk_stream_isa STK_TABLE = {
    .name = STK_TABLE_NAME,
    .vector_bytes = STK_LANES * sizeof(double),
    .ordinary = {[STK_COPY] = copy_ordinary,
                 [STK_SCALE] = scale_ordinary,
                 [STK_ADD] = add_ordinary,
                 [STK_TRIAD] = triad_ordinary,
                 [STK_SUM] = sum_ordinary,
                 [STK_DOT] = dot_ordinary,
                 [STK_INIT] = init_ordinary,
                 [STK_UPDATE] = update_ordinary,
                 [STK_DAXPY] = daxpy_ordinary,
                 [STK_STRIAD] = striad_ordinary,
                 [STK_NSTREAM] = nstream_ordinary},
#ifdef STK_STREAM_STORE
    .nontemporal = {[STK_COPY] = copy_nontemporal,
                    [STK_SCALE] = scale_nontemporal,
                    [STK_ADD] = add_nontemporal,
                    [STK_TRIAD] = triad_nontemporal,
                    [STK_INIT] = init_nontemporal,
                    [STK_STRIAD] = striad_nontemporal},
#endif
};

#endif
