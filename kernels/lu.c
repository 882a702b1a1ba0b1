/*
 * Choice of the loops over halves of a matrix, their work, and the plain sweeps over CSR.
 */
#include "kernels/lu.h"

#include "kernels/isa.h"
#include "kernels/lu_isa.h"

/* Per row: 13 values, 13 columns and the diagonal; vectors as the loops name them. */
const struct stk_work stk_lu_forward_zero_work = {
    .read_bytes = 172.0, .write_bytes = 8.0, .allocate_bytes = 8.0, .flops = 27.0};
const struct stk_work stk_lu_backward_zero_work = {
    .read_bytes = 172.0, .write_bytes = 8.0, .flops = 28.0};
const struct stk_work stk_lu_forward_work = {
    .read_bytes = 336.0, .write_bytes = 16.0, .allocate_bytes = 8.0, .flops = 54.0};
const struct stk_work stk_lu_backward_work = {
    .read_bytes = 180.0, .write_bytes = 8.0, .flops = 27.0};
const struct stk_work stk_lu_multiply_work = {
    .read_bytes = 328.0, .write_bytes = 8.0, .allocate_bytes = 8.0, .flops = 55.0};

const struct stk_lu_loops *stk_lu_loops_of(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return &stk_lu_plain_loops;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return &stk_lu_avx2_loops;
    }
#endif
    return NULL;
}

const struct stk_lu_loops *stk_lu_loops_best(void)
{
    const struct stk_lu_loops *avx2 = stk_lu_loops_of(STK_ISA_AVX2);

    return avx2 != NULL ? avx2 : &stk_lu_plain_loops;
}

static inline double gs_row(const struct stk_csr *a, double diagonal, size_t i, double r,
                            const double *x)
{
    double sum = r + diagonal * x[i];

    for (size_t k = a->row_start[i]; k < a->row_start[i + 1]; k++) {
        sum -= a->values[k] * x[a->columns[k]];
    }
    return sum / diagonal;
}

void stk_gs_forward_ref(const struct stk_csr *a, const double *diagonal,
                        const double *restrict r, double *restrict x)
{
    for (size_t i = 0; i < a->rows.start[a->rows.n_parts]; i++) {
        x[i] = gs_row(a, diagonal[i], i, r[i], x);
    }
}

void stk_gs_backward_ref(const struct stk_csr *a, const double *diagonal,
                         const double *restrict r, double *restrict x)
{
    for (size_t i = a->rows.start[a->rows.n_parts]; i-- > 0;) {
        x[i] = gs_row(a, diagonal[i], i, r[i], x);
    }
}
