#ifndef STK_STREAM_ISA_H
#define STK_STREAM_ISA_H

#include "kernels/isa.h"
#include "kernels/stream.h"

/* Private to kernels/stream*.c: the tables that the per-instruction-set files define. */

extern const struct stk_stream_isa stk_stream_plain;
#if STK_HAVE_X86
extern const struct stk_stream_isa stk_stream_avx2;
extern const struct stk_stream_isa stk_stream_avx512;
#endif

#endif
