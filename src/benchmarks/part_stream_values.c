/*
 * Values of the stream arrays. Sections repeat their kernel a varying number of times, and
 * with a constant factor update, daxpy and nstream would then leave any range. The factor of
 * a call is free and costs nothing, so it is what keeps the values in range: a call that would
 * leave it gets the factor with which its product is a start value.
 *
 * All values and factors are positive. Bringing a value back by subtraction would be exact in
 * the mirror but would amplify rounding errors each time, until no tolerance means anything;
 * without any subtraction relative errors only add up, about one unit of rounding per call.
 * The price is that daxpy and nstream, called alone, let a grow, by b + 0.1 per call at most:
 * linearly, to 1e11 in a milliard of calls.
 *
 * The lower limit is far from denormals, and so low that copy, scale, add, triad reach it only
 * after 280 rounds of 0.96: up to there the closed forms of METHODS 1.3 hold.
 */
#include "src/benchmarks/part_stream_values.h"

#include <float.h>
#include <math.h>

static const double babel_factor = 0.4;
static const double lowest = 1e-6;
static const double highest = 1e2;

const double st_stream_start[STK_N_ARRAYS] = {0.1, 0.2, 0.14, 0.5};

/* u of the rounding model fl(x) = x (1 + d), |d| <= u */
static const double unit_roundoff = DBL_EPSILON / 2;

/* p + q */
static struct st_stream_value plus(struct st_stream_value p, struct st_stream_value q)
{
    const double value = p.value + q.value;

    return (struct st_stream_value){value,
                                    p.error + q.error + unit_roundoff * fabs(value)};
}

/* p q */
static struct st_stream_value times(struct st_stream_value p, struct st_stream_value q)
{
    const double value = p.value * q.value;

    return (struct st_stream_value){value,
                                    fabs(p.value) * q.error + fabs(q.value) * p.error +
                                        p.error * q.error + unit_roundoff * fabs(value)};
}

/* What @p kernel makes of an element (METHODS 1.1); for sum and dot the term it adds. */
struct st_stream_value st_stream_after(enum stk_stream_kernel kernel,
                                       const struct st_stream_value m[STK_N_ARRAYS],
                                       double factor)
{
    const struct st_stream_value a = m[STK_A];
    const struct st_stream_value b = m[STK_B];
    const struct st_stream_value c = m[STK_C];
    const struct st_stream_value s = {factor, 0.0};

    switch (kernel) {
    case STK_SCALE:
        return times(s, c);
    case STK_ADD:
        return plus(a, b);
    case STK_TRIAD:
        return plus(b, times(s, c));
    case STK_DOT:
        return times(a, b);
    case STK_INIT:
        return s;
    case STK_UPDATE:
        return times(s, a);
    case STK_DAXPY:
        return plus(a, times(s, b));
    case STK_STRIAD:
        return plus(b, times(c, m[STK_D]));
    case STK_NSTREAM:
        return plus(a, plus(b, times(s, c)));
    case STK_COPY:
    case STK_SUM:
    case STK_N_KERNELS:
    default:
        return a;
    }
}

double st_stream_factor(enum stk_stream_kernel kernel,
                        const struct st_stream_value m[STK_N_ARRAYS])
{
    const double result = st_stream_after(kernel, m, babel_factor).value;

    if (result >= lowest && result <= highest) {
        return babel_factor;
    }
    switch (kernel) {
    case STK_SCALE:
        return st_stream_start[STK_B] / m[STK_C].value;
    case STK_TRIAD:
    case STK_NSTREAM:
        return st_stream_start[STK_A] / m[STK_C].value;
    case STK_UPDATE:
        return st_stream_start[STK_A] / m[STK_A].value;
    case STK_DAXPY:
        return st_stream_start[STK_A] / m[STK_B].value;
    case STK_COPY: /* these have no factor, and stay in range because the others do */
    case STK_ADD:
    case STK_SUM:
    case STK_DOT:
    case STK_INIT:
    case STK_STRIAD:
    case STK_N_KERNELS:
    default:
        return babel_factor;
    }
}
