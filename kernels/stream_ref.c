/* The stream kernels as METHODS 1.1 writes them: serial, never tuned, to compare with. */
#include "kernels/stream.h"

double stk_stream_ref(enum stk_stream_kernel kernel, size_t n,
                      double *const arrays[STK_N_ARRAYS], double s)
{
    double *a = arrays[STK_A];
    double *b = arrays[STK_B];
    double *c = arrays[STK_C];
    const double *d = arrays[STK_D];
    double total = 0.0;

    for (size_t i = 0; i < n; i++) {
        switch (kernel) {
        case STK_COPY:
            c[i] = a[i];
            break;
        case STK_SCALE:
            b[i] = s * c[i];
            break;
        case STK_ADD:
            c[i] = a[i] + b[i];
            break;
        case STK_TRIAD:
            a[i] = b[i] + s * c[i];
            break;
        case STK_SUM:
            total += a[i];
            break;
        case STK_DOT:
            total += a[i] * b[i];
            break;
        case STK_INIT:
            a[i] = s;
            break;
        case STK_UPDATE:
            a[i] = s * a[i];
            break;
        case STK_DAXPY:
            a[i] = a[i] + s * b[i];
            break;
        case STK_STRIAD:
            a[i] = b[i] + c[i] * d[i];
            break;
        case STK_NSTREAM:
            a[i] += b[i] + s * c[i];
            break;
        case STK_N_KERNELS:
        default:
            break;
        }
    }
    return total;
}
