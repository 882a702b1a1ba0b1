/*
 * The loops of lu.h, included by lu.c once per instruction set (no include guard for that
 * reason) with two macros: NAME(x) names a function, TARGET is its target attribute, and
 * NAME(twelve) exists already: the sum of the first twelve entries of half a row.
 *
 * In a sweep row i waits for row i-1 alone, through the last entry of its half. Everything else
 * of the row, the division included, is formed before that entry is touched, so that the chain
 * from row to row is one load from the store buffer, one fused multiply-add and one product.
 */

TARGET static void NAME(forward_zero)(const struct stk_lu *a, const double *restrict r,
                                      double *restrict x)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double rest = r[i] - NAME(twelve)(&a->lower, k, AHEAD, x);
        x[i] = (rest - a->lower.values[k + 12] * x[a->lower.columns[k + 12]]) * inverse;
    }
}

TARGET static void NAME(backward_zero)(const struct stk_lu *a, double *restrict x)
{
    for (size_t i = a->n_rows; i-- > 0;) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double rest = x[i] - NAME(twelve)(&a->upper, k, -AHEAD, x) * inverse;
        const double factor = a->upper.values[k + 12] * inverse;
        x[i] = rest - factor * x[a->upper.columns[k + 12]];
    }
}

TARGET static void NAME(forward)(const struct stk_lu *a, const double *restrict r,
                                 double *restrict x, double *restrict t)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double above = NAME(twelve)(&a->upper, k, AHEAD, x) +
                             a->upper.values[k + 12] * x[a->upper.columns[k + 12]];
        const double below = r[i] - NAME(twelve)(&a->lower, k, AHEAD, x);
        const double rest = below - above;
        const double value = a->lower.values[k + 12];
        const double before = x[a->lower.columns[k + 12]];
        x[i] = (rest - value * before) * inverse;
        t[i] = below - value * before;
    }
}

TARGET static void NAME(backward)(const struct stk_lu *a, const double *restrict t,
                                  double *restrict x)
{
    for (size_t i = a->n_rows; i-- > 0;) {
        const size_t k = i * STK_LU_WIDTH;
        const double inverse = 1.0 / a->diagonal[i];
        const double rest = t[i] - NAME(twelve)(&a->upper, k, -AHEAD, x);
        x[i] = (rest - a->upper.values[k + 12] * x[a->upper.columns[k + 12]]) * inverse;
    }
}

TARGET static inline double NAME(row_sum)(const struct stk_lu *a, size_t i,
                                          const double *restrict x)
{
    const size_t k = i * STK_LU_WIDTH;

    return (NAME(twelve)(&a->lower, k, AHEAD, x) +
            a->lower.values[k + 12] * x[a->lower.columns[k + 12]]) +
           (NAME(twelve)(&a->upper, k, AHEAD, x) +
            a->upper.values[k + 12] * x[a->upper.columns[k + 12]]) +
           a->diagonal[i] * x[i];
}

TARGET static double NAME(multiply)(const struct stk_lu *a, const double *restrict x,
                                    double *restrict y)
{
    double dot = 0.0;

    for (size_t i = 0; i < a->n_rows; i++) {
        y[i] = NAME(row_sum)(a, i, x);
        dot += x[i] * y[i];
    }
    return dot;
}

TARGET static double NAME(row)(const struct stk_lu *a, size_t i, const double *restrict x)
{
    return NAME(row_sum)(a, i, x);
}

static const struct stk_lu_loops NAME(loops) = {
    NAME(forward_zero), NAME(backward_zero), NAME(forward),
    NAME(backward),     NAME(multiply),      NAME(row),
};
