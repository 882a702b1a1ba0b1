/*
 * Choosing the storage of the interior. All are timed in turn, so that a change of the clock or
 * a neighbour's load meets all, and on the local product alone: the halo is the same. Several
 * products make one sample where a single one is too short for the clock. Blocks are made only
 * where they move no more bytes than CSR, which counting tells without building any.
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

static double time_products(const struct st_matrix *m, enum st_storage storage, size_t n,
                            const double *x, double *y)
{
    const double start_s = st_now();

    for (size_t k = 0; k < n; k++) {
        st_matrix_multiply_interior(m, storage, x, y);
    }
    return (st_now() - start_s) / (double)n;
}

static bool is_made(const struct st_matrix *m, size_t storage)
{
    return storage == ST_STORAGE_CSR || (storage == ST_STORAGE_SELL && m->sell != NULL) ||
           (storage == ST_STORAGE_BCSR && m->bcsr != NULL);
}

static enum st_status choose(const struct stm_comm *comm, struct st_matrix *m,
                             const double *x, double *y, struct st_format *out,
                             struct st_error *err)
{
    double times_s[ST_STORAGES][N_ROUNDS] = {{0.0}};

    for (size_t s = ST_STORAGES; s-- > 0;) { /* CSR last: its warm time is used below */
        if (is_made(m, s)) {
            (void)time_products(m, (enum st_storage)s, 1, x, y);
        }
    }
    const double single_s = time_products(m, ST_STORAGE_CSR, 1, x, y);
    const size_t n = single_s < sample_s && single_s > 0.0
                         ? (size_t)fmin(ceil(sample_s / single_s), 1e4)
                         : 1;
    for (size_t i = 0; i < N_ROUNDS; i++) {
        for (size_t s = 0; s < ST_STORAGES; s++) {
            if (is_made(m, s)) {
                times_s[s][i] = time_products(m, (enum st_storage)s, n, x, y);
            }
        }
    }
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, times_s, ST_STORAGES * N_ROUNDS, MPI_DOUBLE,
                               MPI_MAX, comm->handle));
    double csr_s = 0.0;
    out->storage = ST_STORAGE_CSR;
    for (size_t s = 0; s < ST_STORAGES; s++) {
        if (!is_made(m, s)) {
            continue;
        }
        st_sort(N_ROUNDS, times_s[s]);
        const double median_s = st_median_sorted(N_ROUNDS, times_s[s]);
        csr_s = s == ST_STORAGE_CSR ? median_s : csr_s;
        out->gain[s] = median_s > 0.0 ? csr_s / median_s : 1.0;
        if (out->gain[s] > out->gain[out->storage]) {
            out->storage = (enum st_storage)s;
        }
    }
    return ST_OK;
}

static enum st_status make_sell(const struct stm_comm *comm, struct st_matrix *m,
                                const struct st_format_request *request,
                                struct st_format *out, struct st_error *err)
{
    const enum st_status rc =
        stm_agree(comm, st_matrix_use_sell(m, request->chunk, request->sigma, err), err);

    if (rc != ST_OK) {
        return rc;
    }
    out->sell_fill = m->sell->fill;
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, &out->sell_fill, 1, MPI_DOUBLE, MPI_MIN,
                               comm->handle));
    return ST_OK;
}

/*
 * The side with the least traffic over all ranks, 0 if CSR's is less. Sums of a rank: bytes in
 * CSR, bytes and stored values for each side, nonzeros, and whether it has too few rows.
 */
static enum st_status find_side(const struct stm_comm *comm, const struct st_matrix *m,
                                const struct st_format_request *request,
                                struct st_format *out, struct st_error *err)
{
    enum {
        CSR_BYTES,
        NONZEROS,
        BYTES,
        VALUES = BYTES + STK_BCSR_MOST_SIDE + 1,
        TOO_FEW = VALUES + STK_BCSR_MOST_SIDE + 1,
        N_SUMS = TOO_FEW + STK_BCSR_MOST_SIDE + 1
    };
    double sums[N_SUMS] = {0.0};
    const uint64_t n_nonzeros = m->interior.row_start[m->n_rows];

    sums[CSR_BYTES] = stk_work_bytes(&stk_csr_work_per_nonzero, n_nonzeros) +
                      stk_work_bytes(&stk_csr_work_per_row, m->n_rows);
    sums[NONZEROS] = (double)n_nonzeros;
    for (size_t side = STK_BCSR_LEAST_SIDE; side <= STK_BCSR_MOST_SIDE; side++) {
        const struct st_bcsr_size size = st_bcsr_count(&m->interior, m->first_row, side);
        sums[BYTES + side] = st_bcsr_work_bytes(&size, side, m->n_rows);
        sums[VALUES + side] = (double)(size.n_blocks * side * side);
        sums[TOO_FEW + side] = m->n_rows > 0 && m->n_rows < side ? 1.0 : 0.0;
    }
    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, sums, N_SUMS, MPI_DOUBLE, MPI_SUM, comm->handle));
    double least = (double)INFINITY;
    for (size_t side = STK_BCSR_LEAST_SIDE; side <= STK_BCSR_MOST_SIDE; side++) {
        const bool may_be = request->choose ? !(sums[TOO_FEW + side] > 0.0)
                                            : request->side == 0 || request->side == side;
        if (may_be && sums[BYTES + side] < least) {
            least = sums[BYTES + side];
            out->side = !request->choose || least < sums[CSR_BYTES] ? side : 0;
            out->bcsr_fill =
                sums[VALUES + side] > 0.0 ? sums[NONZEROS] / sums[VALUES + side] : 1.0;
        }
    }
    return ST_OK;
}

enum st_status st_format_apply(const struct stm_comm *comm, struct st_matrix *matrix,
                               const struct st_format_request *request, const double *x,
                               double *y, struct st_format *out, struct st_error *err)
{
    enum st_status rc = ST_OK;

    *out = (struct st_format){.storage = request->storage};
    if (request->choose || request->storage == ST_STORAGE_SELL) {
        rc = make_sell(comm, matrix, request, out, err);
    }
    if (rc == ST_OK && (request->choose || request->storage == ST_STORAGE_BCSR)) {
        rc = find_side(comm, matrix, request, out, err);
        if (rc == ST_OK && out->side > 0) {
            rc = stm_agree(comm, st_matrix_use_bcsr(matrix, out->side, err), err);
        }
    }
    if (rc == ST_OK && request->choose) {
        rc = choose(comm, matrix, x, y, out, err);
    }
    if (rc == ST_OK) {
        st_matrix_keep(matrix, out->storage);
    }
    return rc;
}
