/*
 * Boundary exchange of a box. Without wrap-around two ranks are neighbours in one direction at
 * most, so one tag is enough. Packing and unpacking belong to what a solver pays and are
 * inside the exchange.
 */
#include "mpi/grid_halo.h"

#include "src/base/mem.h"

#include <string.h>

/* First and last coordinate of what goes in a direction along one axis, or comes from it. */
static void layer(size_t n, int direction, bool is_ghost, size_t *from, size_t *to)
{
    *from = direction > 0 ? n : 1;
    *to = direction < 0 ? 1 : n;
    if (is_ghost && direction > 0) {
        *from = *to = n + 1;
    } else if (is_ghost && direction < 0) {
        *from = *to = 0;
    }
}

size_t stm_grid_at(const struct stm_grid_halo *halo, size_t f, const size_t at[3])
{
    const size_t m = halo->n + 2;

    return ((f * m + at[2]) * m + at[1]) * m + at[0];
}

/* Between the field and a link's part of a buffer. */
static void copy_layer(struct stm_grid_halo *halo, const struct stm_grid_link *link,
                       bool unpack)
{
    size_t from[3];
    size_t to[3];
    size_t at[3];
    double *buffer = (unpack ? halo->recv : halo->send) + link->first;

    for (int axis = 0; axis < 3; axis++) {
        layer(halo->n, link->direction[axis], unpack, &from[axis], &to[axis]);
    }
    const size_t row = to[0] - from[0] + 1;
    at[0] = from[0];
    for (size_t f = 0; f < halo->n_fields; f++) {
        for (at[2] = from[2]; at[2] <= to[2]; at[2]++) {
            for (at[1] = from[1]; at[1] <= to[1]; at[1]++) {
                double *const points = halo->field + stm_grid_at(halo, f, at);
                for (size_t i = 0; i < row; i++) {
                    if (unpack) {
                        points[i] = buffer[i];
                    } else {
                        buffer[i] = points[i];
                    }
                }
                buffer += row;
            }
        }
    }
}

/* The neighbour in direction @p d of 27, if there is one. */
static void add_link(struct stm_grid_halo *halo, const struct stm_comm *comm,
                     const uint64_t ranks[3], int d, bool faces_only)
{
    const uint64_t self = (uint64_t)comm->rank;
    const uint64_t at[3] = {self % ranks[0], self / ranks[0] % ranks[1],
                            self / ranks[0] / ranks[1]};
    struct stm_grid_link link = {.direction = {d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1},
                                 .first = halo->n_sent,
                                 .n_elements = halo->n_fields};
    uint64_t to[3];
    int n_moved = 0;

    for (int axis = 0; axis < 3; axis++) {
        const int step = link.direction[axis];
        if ((step < 0 && at[axis] == 0) || (step > 0 && at[axis] + 1 == ranks[axis])) {
            return;
        }
        to[axis] = step < 0 ? at[axis] - 1 : at[axis] + (uint64_t)step;
        n_moved += step != 0;
        link.n_elements *= step == 0 ? halo->n : 1;
    }
    if (n_moved == 0 || (faces_only && n_moved > 1)) {
        return;
    }
    link.rank = (int)(to[0] + ranks[0] * (to[1] + ranks[1] * to[2]));
    halo->links[halo->n_links++] = link;
    halo->n_sent += link.n_elements;
}

enum st_status stm_grid_halo_init(const struct stm_comm *comm, const uint64_t ranks[3],
                                  size_t n, size_t n_fields, bool faces_only,
                                  struct stm_grid_halo *out, struct st_error *err)
{
    const size_t m = n + 2;
    size_t n_values = 0;
    int count = 0;

    (void)memset(out, 0, sizeof *out);
    out->comm = comm->handle;
    out->n = n;
    out->n_fields = n_fields;
    if (!st_mul_size(m, m, &n_values) || !st_mul_size(n_values, m, &n_values) ||
        !st_mul_size(n_values, n_fields, &n_values)) {
        return st_fail(err, ST_ERR_MEMORY, "a box of %zu^3 points does not fit in memory",
                       n);
    }
    const enum st_status rc = stm_count(n * n * n_fields, &count, err);
    if (rc != ST_OK) {
        return rc;
    }
    for (int d = 0; d < 27; d++) {
        add_link(out, comm, ranks, d, faces_only);
    }
    out->field = st_calloc(err, n_values, sizeof *out->field);
    out->send = out->field == NULL ? NULL : st_calloc(err, out->n_sent, sizeof(double));
    out->recv = out->send == NULL ? NULL : st_calloc(err, out->n_sent, sizeof(double));
    if (out->recv == NULL) {
        return err->code;
    }
    (void)memset(out->field, 0, n_values * sizeof *out->field);
    (void)memset(out->send, 0, out->n_sent * sizeof *out->send);
    (void)memset(out->recv, 0, out->n_sent * sizeof *out->recv);
    return ST_OK;
}

void stm_grid_halo_clear(struct stm_grid_halo *halo)
{
    st_free(halo->field);
    st_free(halo->send);
    st_free(halo->recv);
    (void)memset(halo, 0, sizeof *halo);
}

enum st_status stm_grid_halo_start(struct stm_grid_halo *halo, struct st_error *err)
{
    for (size_t k = 0; k < halo->n_links; k++) {
        const struct stm_grid_link *link = &halo->links[k];
        STM_TRY(err,
                MPI_Irecv(halo->recv + link->first, (int)link->n_elements, MPI_DOUBLE,
                          link->rank, STM_TAG_HALO, halo->comm, &halo->requests[k]));
    }
    for (size_t k = 0; k < halo->n_links; k++) {
        const struct stm_grid_link *link = &halo->links[k];
        copy_layer(halo, link, false);
        STM_TRY(err, MPI_Isend(halo->send + link->first, (int)link->n_elements,
                               MPI_DOUBLE, link->rank, STM_TAG_HALO, halo->comm,
                               &halo->requests[halo->n_links + k]));
    }
    return ST_OK;
}

enum st_status stm_grid_halo_finish(struct stm_grid_halo *halo, struct st_error *err)
{
    STM_TRY(err,
            MPI_Waitall((int)(2 * halo->n_links), halo->requests, MPI_STATUSES_IGNORE));
    for (size_t k = 0; k < halo->n_links; k++) {
        copy_layer(halo, &halo->links[k], true);
    }
    return ST_OK;
}
