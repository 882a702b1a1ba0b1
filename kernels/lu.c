/*
 * Choice of the loops over halves of a matrix, their work, what is outside the halves (ghosts,
 * single columns), and the plain sweeps over CSR.
 */
#include "kernels/lu.h"

#include "kernels/isa.h"
#include "kernels/lu_chunk.h"
#include "kernels/lu_isa.h"

/* Half a row: an eighth of 14 cache lines; the whole row twice that.
 * Besides the diagonal and vectors as the loops name them. */
#define HALF_ROW 112.0

const struct stk_work stk_lu_forward_zero_work = {.read_bytes = HALF_ROW + 16.0,
                                                  .write_bytes = 8.0,
                                                  .allocate_bytes = 8.0,
                                                  .flops = 27.0};
const struct stk_work stk_lu_backward_zero_work = {.read_bytes = HALF_ROW + 16.0,
                                                   .write_bytes = 16.0,
                                                   .allocate_bytes = 8.0,
                                                   .flops = 28.0};
/* Chunks are read whole, and every second row of theirs is a point of the coarse grid: two rows
 * of L, r, U x, x and the diagonal for each, and its number. */
const struct stk_work stk_lu_residual_work = {.read_bytes = 2.0 * (HALF_ROW + 32.0) + 4.0,
                                              .write_bytes = 8.0,
                                              .allocate_bytes = 8.0,
                                              .flops = 30.0};
const struct stk_work stk_lu_forward_work = {.read_bytes = HALF_ROW + 24.0,
                                             .write_bytes = 16.0,
                                             .allocate_bytes = 8.0,
                                             .flops = 28.0};
const struct stk_work stk_lu_backward_work = {.read_bytes = HALF_ROW + 16.0,
                                              .write_bytes = 8.0,
                                              .allocate_bytes = 8.0,
                                              .flops = 27.0};
const struct stk_work stk_lu_multiply_work = {.read_bytes = 2.0 * HALF_ROW + 16.0,
                                              .write_bytes = 8.0,
                                              .allocate_bytes = 8.0,
                                              .flops = 55.0};
/* 13 values and rows, the correction, the column's number. */
const struct stk_work stk_lu_columns_work = {.read_bytes = 168.0, .flops = 26.0};

enum {
    BLOCK = 1024 /* rows swept between two visits to the columns; 8 KiB a vector */
};

const struct stk_lu_loops *stk_lu_loops_of(int isa)
{
    if (isa == STK_ISA_PLAIN) {
        return &stk_lu_plain_loops;
    }
#if STK_HAVE_X86
    if (isa == STK_ISA_AVX2 && stk_isa_best() >= STK_ISA_AVX2) {
        return &stk_lu_avx2_loops;
    }
    if (isa == STK_ISA_AVX512 && stk_isa_best() >= STK_ISA_AVX512) {
        return &stk_lu_avx512_loops;
    }
#endif
    return NULL;
}

const struct stk_lu_loops *stk_lu_loops_best(void)
{
    const struct stk_lu_loops *best = stk_lu_loops_of((int)stk_isa_best());

    return best != NULL ? best : &stk_lu_plain_loops;
}

size_t stk_lu_column(const struct stk_lu_half *half, size_t i, size_t s)
{
    return column_of(half, i / LANES, s, i % LANES);
}

/* Filled-up entries do not count: their zeros meet any finite x. */
static bool is_row_wide(const struct stk_lu_half *half, size_t i)
{
    const size_t c = i / LANES;

    for (size_t s = 0; s < NEAREST; s++) {
        if (half->chunks[c].values[s][i % LANES] != 0.0 &&
            stk_lu_column(half, i, s) / LANES == c) {
            return false;
        }
    }
    return true;
}

bool stk_lu_is_wide(const struct stk_lu *a)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        if (!is_row_wide(&a->lower, i) || !is_row_wide(&a->upper, i)) {
            return false;
        }
    }
    return true;
}

void stk_lu_forward_raised(const struct stk_lu_loops *loops, const struct stk_lu *a,
                           const struct stk_lu_columns *u, const double *restrict d,
                           const double *restrict r, double *restrict ux,
                           double *restrict x)
{
    size_t k = 0;

    for (size_t first = 0; first < a->n_rows; first += BLOCK) {
        const size_t end = a->n_rows - first < BLOCK ? a->n_rows : first + BLOCK;
        for (; k < u->n && u->columns[k] < end + u->reach; k++) {
            const uint32_t *rows = u->rows + k * STK_LU_WIDTH;
            const double *values = u->values + k * STK_LU_WIDTH;
            for (size_t s = 0; s < STK_LU_WIDTH; s++) {
                ux[rows[s]] += values[s] * d[k];
            }
        }
        loops->forward(a, first, end, r, ux, x);
    }
}

static inline double ghost_sum(const struct stk_csr *a, size_t i, const double *x)
{
    double sum = 0.0;

    for (size_t k = a->row_start[i]; k < a->row_start[i + 1]; k++) {
        sum += a->values[k] * x[a->columns[k]];
    }
    return sum;
}

static inline size_t n_rows_of(const struct stk_csr_rows *ghosts)
{
    return ghosts->entries.rows.start[ghosts->entries.rows.n_parts];
}

double stk_lu_add_ghosts(const struct stk_csr_rows *ghosts, const double *restrict x,
                         double *restrict y)
{
    double dot = 0.0;

    for (size_t i = 0; i < n_rows_of(ghosts); i++) {
        const double sum = ghost_sum(&ghosts->entries, i, x);
        y[ghosts->rows[i]] += sum;
        dot += x[ghosts->rows[i]] * sum;
    }
    return dot;
}

void stk_lu_take_ghosts(const struct stk_csr_rows *ghosts, const double *restrict x,
                        double *restrict r, double *restrict kept)
{
    for (size_t i = 0; i < n_rows_of(ghosts); i++) {
        kept[i] = r[ghosts->rows[i]];
        r[ghosts->rows[i]] -= ghost_sum(&ghosts->entries, i, x);
    }
}

void stk_lu_restore(const struct stk_csr_rows *ghosts, const double *restrict kept,
                    double *restrict r)
{
    for (size_t i = 0; i < n_rows_of(ghosts); i++) {
        r[ghosts->rows[i]] = kept[i];
    }
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
