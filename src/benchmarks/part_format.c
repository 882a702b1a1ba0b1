/*
 * Choosing the storage of the interior. Both are timed alternately, so that a change of the
 * clock or a neighbour's load meets both, and on the local product alone: the halo is the same.
 * Several products make one sample where a single one is too short for the clock.
 */
#include "src/benchmarks/part_format.h"

#include "mpi/agree.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"

#include <math.h>

enum {
    N_ROUNDS = 7
};

/* A sample lasts at least this long, a thousand times the clock's resolution. */
static const double sample_s = 1e-3;

static double time_products(const struct st_matrix *m, bool in_sell, size_t n,
                            const double *x, double *y)
{
    const double start_s = st_now();

    for (size_t k = 0; k < n; k++) {
        if (in_sell) {
            stk_sell_multiply(&m->sell->a, x, y);
        } else {
            stk_csr_multiply(&m->interior, x, y);
        }
    }
    return (st_now() - start_s) / (double)n;
}

static enum st_status choose(const struct stm_comm *comm, struct st_matrix *m,
                             const double *x, double *y, struct st_format *out,
                             struct st_error *err)
{
    double times_s[2 * N_ROUNDS]; /* CSR, then SELL */

    (void)time_products(m, false, 1, x, y);
    (void)time_products(m, true, 1, x, y);
    const double single_s = time_products(m, false, 1, x, y);
    const size_t n = single_s < sample_s && single_s > 0.0
                         ? (size_t)fmin(ceil(sample_s / single_s), 1e4)
                         : 1;
    for (size_t i = 0; i < N_ROUNDS; i++) {
        times_s[i] = time_products(m, false, n, x, y);
        times_s[N_ROUNDS + i] = time_products(m, true, n, x, y);
    }
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, times_s, 2 * N_ROUNDS, MPI_DOUBLE, MPI_MAX,
                               comm->handle));
    st_sort(N_ROUNDS, times_s);
    st_sort(N_ROUNDS, times_s + N_ROUNDS);
    const double csr_s = st_median_sorted(N_ROUNDS, times_s);
    const double sell_s = st_median_sorted(N_ROUNDS, times_s + N_ROUNDS);
    out->gain = sell_s > 0.0 ? csr_s / sell_s : 1.0;
    out->is_sell = out->gain > 1.0;
    if (!out->is_sell) {
        st_matrix_use_csr(m);
    }
    return ST_OK;
}

enum st_status st_format_apply(const struct stm_comm *comm, struct st_matrix *matrix,
                               const struct st_format_request *request, const double *x,
                               double *y, struct st_format *out, struct st_error *err)
{
    enum st_status rc = stm_agree(
        comm, st_matrix_use_sell(matrix, request->chunk, request->sigma, err), err);

    if (rc != ST_OK) {
        return rc;
    }
    *out = (struct st_format){
        .is_sell = true, .gain = 1.0, .least_fill = matrix->sell->fill};
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, &out->least_fill, 1, MPI_DOUBLE, MPI_MIN,
                               comm->handle));
    return request->choose ? choose(comm, matrix, x, y, out, err) : ST_OK;
}
