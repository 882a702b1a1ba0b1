/*
 * Products and sums of LDU matrices over ranks, in OpenFOAM's pattern: one message for each
 * neighbour rank, sent before the interior loop and completed after it.
 */
#include "src/flow/ldu.h"

#include "src/base/mem.h"

#include <time.h>

static double seconds_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum st_status st_ldu_exchange_init(struct st_ldu_exchange *x,
                                    const struct st_ldu_addr *addr, struct st_error *err)
{
    const size_t n = (size_t)addr->n_interface;

    *x = (struct st_ldu_exchange){
        .addr = addr,
        .send = st_calloc(err, n, sizeof *x->send),
        .ghost = st_calloc(err, n, sizeof *x->ghost),
        .requests = st_calloc(err, 2 * addr->n_sides, sizeof *x->requests)};
    return x->send != NULL && x->ghost != NULL && x->requests != NULL ? ST_OK
                                                                      : ST_ERR_MEMORY;
}

void st_ldu_exchange_clear(struct st_ldu_exchange *x)
{
    st_free(x->send);
    st_free(x->ghost);
    st_free(x->requests);
    *x = (struct st_ldu_exchange){0};
}

enum st_status st_ldu_exchange_start(struct st_ldu_exchange *x, const int32_t *index,
                                     const double *values, struct st_error *err)
{
    const struct st_ldu_addr *addr = x->addr;

    for (size_t i = 0; i < addr->n_sides; i++) {
        const struct st_ldu_side *side = &addr->sides[i];
        STM_TRY(err, MPI_Irecv(x->ghost + side->start, side->n, MPI_DOUBLE, side->rank,
                               STM_TAG_HALO, addr->comm.handle, &x->requests[2 * i]));
    }
    for (size_t i = 0; i < addr->n_sides; i++) {
        const struct st_ldu_side *side = &addr->sides[i];
        for (int32_t k = side->start; k < side->start + side->n; k++) {
            x->send[k] = values[index != NULL ? index[k] : k];
        }
        STM_TRY(err, MPI_Isend(x->send + side->start, side->n, MPI_DOUBLE, side->rank,
                               STM_TAG_HALO, addr->comm.handle, &x->requests[2 * i + 1]));
    }
    return ST_OK;
}

enum st_status st_ldu_exchange_finish(struct st_ldu_exchange *x, struct st_error *err)
{
    const double start_s = seconds_now();

    STM_TRY(err,
            MPI_Waitall((int)(2 * x->addr->n_sides), x->requests, MPI_STATUSES_IGNORE));
    x->halo_s += seconds_now() - start_s;
    return ST_OK;
}

enum st_status st_ldu_sum(struct st_ldu_exchange *x, int n, double *values,
                          struct st_error *err)
{
    const double start_s = seconds_now();

    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM,
                               x->addr->comm.handle));
    x->reduction_s += seconds_now() - start_s;
    return ST_OK;
}

struct stk_ldu st_ldu_view(const struct st_ldu *a)
{
    return (struct stk_ldu){.n_cells = (size_t)a->addr->n_cells,
                            .n_faces = (size_t)a->addr->n_faces,
                            .owner = a->addr->owner,
                            .neighbour = a->addr->neighbour,
                            .owner_start = a->addr->owner_start,
                            .is_uneven = a->addr->is_uneven,
                            .diag = a->diag,
                            .lower = a->lower,
                            .upper = a->upper};
}

void st_ldu_add_interface(const struct st_ldu *a, double factor, const double *ghost,
                          double *cells)
{
    for (int32_t k = 0; k < a->addr->n_interface; k++) {
        cells[a->addr->interface_cell[k]] += factor * a->coupling[k] * ghost[k];
    }
}

enum st_status st_ldu_multiply_rest(struct st_ldu_exchange *x, const struct st_ldu *a,
                                    const double *values, double *y, double *product,
                                    struct st_error *err)
{
    const struct stk_ldu view = st_ldu_view(a);
    const int32_t *cell = a->addr->interface_cell;
    enum st_status rc = st_ldu_exchange_start(x, cell, values, err);

    *product = stk_ldu_multiply_rest(&view, values, y);
    if (rc == ST_OK) {
        rc = st_ldu_exchange_finish(x, err);
    }
    for (int32_t k = 0; rc == ST_OK && k < a->addr->n_interface; k++) {
        const double part = a->coupling[k] * x->ghost[k];
        y[cell[k]] += part;
        *product += part * values[cell[k]];
    }
    return rc;
}

enum st_status st_ldu_multiply(struct st_ldu_exchange *x, const struct st_ldu *a,
                               const double *values, double *y, struct st_error *err)
{
    double unused = 0.0;

    for (int32_t c = 0; c < a->addr->n_cells; c++) {
        y[c] = a->diag[c] * values[c];
    }
    return st_ldu_multiply_rest(x, a, values, y, &unused, err);
}
