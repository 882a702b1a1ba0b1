/*
 * Choice of the loops over lines of a box, and their work.
 */
#include "kernels/box27.h"

#include "kernels/box27_isa.h"

/* Per row: vectors from memory once, since the lines around stay in the caches; the diagonal. */
const struct stk_work stk_box_forward_zero_work = {
    .read_bytes = 16.0, .write_bytes = 8.0, .allocate_bytes = 8.0, .flops = 27.0};
const struct stk_work stk_box_backward_zero_work = {
    .read_bytes = 16.0, .write_bytes = 8.0, .flops = 28.0};
const struct stk_work stk_box_sweep_work = {
    .read_bytes = 24.0, .write_bytes = 8.0, .flops = 54.0};
const struct stk_work stk_box_multiply_work = {
    .read_bytes = 16.0, .write_bytes = 8.0, .allocate_bytes = 8.0, .flops = 55.0};

const struct stk_box_loops *stk_box_loops_of(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return &stk_box_plain_loops;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return &stk_box_avx2_loops;
    }
    if (isa == STK_ISA_AVX512 && stk_isa_best() >= STK_ISA_AVX512) {
        return &stk_box_avx512_loops;
    }
#endif
    return NULL;
}

const struct stk_box_loops *stk_box_loops_best(void)
{
    const struct stk_box_loops *best = stk_box_loops_of((int)stk_isa_best());

    return best != NULL ? best : &stk_box_plain_loops;
}
