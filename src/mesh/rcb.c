/*
 * Bisection of cells where they are: nothing moves, ranks add up counts. All groups of one
 * level are halved together. A cell's place along the axis of its group is rounded to 2^24
 * steps of the group's box, so that cells of one plane of a structured mesh are equal whatever
 * their rounding; the plane that the cut goes through is cut by cell number.
 */
#include "src/mesh/rcb.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

enum {
    STEP_BITS = 24
};

/* Cells for the parts [low, high). */
struct group {
    int low, high;
    int axis;
    double least, most; /* along the axis */
    int64_t target;     /* cells for the lower half */
    int64_t step;       /* cells below it go down, */
    int64_t number;     /* and those at it whose number is at most this */
};

struct rcb {
    const struct stm_comm *comm;
    size_t n;
    const struct st_poly_cell *cells;
    int *group_of; /* [n] */
    struct group *groups, *next;
    int n_groups;
    double *boxes;   /* [n_parts][6] */
    int64_t *counts; /* [n_parts] */
    int64_t most_number;
};

static double place(const struct st_poly_cell *cell, int axis)
{
    return axis == 0 ? cell->centre.x : axis == 1 ? cell->centre.y : cell->centre.z;
}

static int64_t step_of(const struct group *g, const struct st_poly_cell *cell)
{
    const double width = g->most - g->least;
    const double share = width > 0.0 ? (place(cell, g->axis) - g->least) / width : 0.0;

    return (int64_t)floor(ldexp(share, STEP_BITS) + 0.5);
}

static enum st_status sum(const struct rcb *r, struct st_error *err)
{
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, r->counts, r->n_groups, MPI_INT64_T, MPI_SUM,
                               r->comm->handle));
    return ST_OK;
}

/* Axis and extent of each group, and how many of its cells go down. */
static enum st_status look(struct rcb *r, struct st_error *err)
{
    for (int i = 0; i < 6 * r->n_groups; i++) {
        r->boxes[i] = -(double)INFINITY; /* minima are kept with a minus */
    }
    memset(r->counts, 0, (size_t)r->n_groups * sizeof *r->counts);
    for (size_t c = 0; c < r->n; c++) {
        double *box = &r->boxes[6 * r->group_of[c]];
        for (int axis = 0; axis < 3; axis++) {
            const double x = place(&r->cells[c], axis);
            box[axis] = fmax(box[axis], -x);
            box[axis + 3] = fmax(box[axis + 3], x);
        }
        r->counts[r->group_of[c]]++;
    }
    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, r->boxes, 6 * r->n_groups, MPI_DOUBLE,
                               MPI_MAX, r->comm->handle));
    const enum st_status rc = sum(r, err);
    for (int i = 0; i < r->n_groups; i++) {
        struct group *g = &r->groups[i];
        const double *box = &r->boxes[6 * i];
        const int n_low = (g->high - g->low) / 2;
        g->axis = 0;
        for (int axis = 1; axis < 3; axis++) {
            /* By more than rounding: a cube is cut along x everywhere. */
            if (box[axis] + box[axis + 3] >
                (1.0 + 1e-9) * (box[g->axis] + box[g->axis + 3])) {
                g->axis = axis;
            }
        }
        g->least = -box[g->axis];
        g->most = box[g->axis + 3];
        g->target = r->counts[i] / (g->high - g->low) * n_low +
                    r->counts[i] % (g->high - g->low) * n_low / (g->high - g->low);
    }
    return rc;
}

/* The least step such that the cells up to it are enough, bit by bit from the highest. */
static enum st_status find_steps(struct rcb *r, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (int i = 0; i < r->n_groups; i++) {
        r->groups[i].step = 0;
    }
    for (int bit = STEP_BITS; rc == ST_OK && bit >= 0; bit--) {
        /* If too few cells are below step + 2^bit, the answer is not below that either. */
        memset(r->counts, 0, (size_t)r->n_groups * sizeof *r->counts);
        for (size_t c = 0; c < r->n; c++) {
            const struct group *g = &r->groups[r->group_of[c]];
            r->counts[r->group_of[c]] +=
                step_of(g, &r->cells[c]) < g->step + ((int64_t)1 << bit) ? 1 : 0;
        }
        rc = sum(r, err);
        for (int i = 0; i < r->n_groups; i++) {
            struct group *g = &r->groups[i];
            g->step += r->counts[i] < g->target ? (int64_t)1 << bit : 0;
        }
    }
    return rc;
}

/* Among the cells at the step: the least number such that those up to it are enough. */
static enum st_status find_numbers(struct rcb *r, struct st_error *err)
{
    int64_t bit = 1;
    enum st_status rc = ST_OK;

    while (bit <= r->most_number) {
        bit *= 2;
    }
    for (int i = 0; i < r->n_groups; i++) {
        r->groups[i].number = 0;
    }
    for (; rc == ST_OK && bit > 0; bit /= 2) {
        memset(r->counts, 0, (size_t)r->n_groups * sizeof *r->counts);
        for (size_t c = 0; c < r->n; c++) {
            const struct group *g = &r->groups[r->group_of[c]];
            const int64_t step = step_of(g, &r->cells[c]);
            const bool is_down =
                step < g->step || (step == g->step && r->cells[c].id < g->number + bit);
            r->counts[r->group_of[c]] += is_down ? 1 : 0;
        }
        rc = sum(r, err);
        for (int i = 0; i < r->n_groups; i++) {
            struct group *g = &r->groups[i];
            g->number += r->counts[i] < g->target ? bit : 0;
        }
    }
    return rc;
}

/* Halve every group that has more than one part. */
static void halve(struct rcb *r)
{
    int n = 0;

    for (int i = 0; i < r->n_groups; i++) {
        const struct group *g = &r->groups[i];
        const int middle = g->low + (g->high - g->low) / 2;
        r->counts[i] = n; /* the group's first successor */
        if (g->high - g->low == 1) {
            r->next[n++] = *g;
            continue;
        }
        r->next[n++] = (struct group){.low = g->low, .high = middle};
        r->next[n++] = (struct group){.low = middle, .high = g->high};
    }
    for (size_t c = 0; c < r->n; c++) {
        const struct group *g = &r->groups[r->group_of[c]];
        const int64_t step = step_of(g, &r->cells[c]);
        const bool is_down =
            g->target > 0 &&
            (step < g->step || (step == g->step && r->cells[c].id <= g->number));
        const bool is_one = g->high - g->low == 1;
        r->group_of[c] = (int)r->counts[r->group_of[c]] + (is_one || is_down ? 0 : 1);
    }
    struct group *old = r->groups;
    r->groups = r->next;
    r->next = old;
    r->n_groups = n;
}

static enum st_status allocate(struct rcb *r, size_t n_parts, struct st_error *err)
{
    r->groups = st_calloc(err, n_parts, sizeof *r->groups);
    r->next = st_calloc(err, n_parts, sizeof *r->next);
    r->boxes = st_calloc(err, 6 * n_parts, sizeof *r->boxes);
    r->counts = st_calloc(err, n_parts, sizeof *r->counts);
    const bool is_whole =
        r->groups != NULL && r->next != NULL && r->boxes != NULL && r->counts != NULL;
    return stm_agree(r->comm, is_whole ? ST_OK : ST_ERR_MEMORY, err);
}

enum st_status st_rcb(const struct stm_comm *comm, int n_parts, size_t n,
                      const struct st_poly_cell *cells, int32_t *part,
                      struct st_error *err)
{
    struct rcb r = {
        .comm = comm, .n = n, .cells = cells, .group_of = part, .n_groups = 1};
    enum st_status rc = allocate(&r, (size_t)n_parts, err);

    for (size_t c = 0; c < n; c++) {
        part[c] = 0;
        r.most_number = cells[c].id > r.most_number ? cells[c].id : r.most_number;
    }
    if (rc == ST_OK) {
        const int code = MPI_Allreduce(MPI_IN_PLACE, &r.most_number, 1, MPI_INT64_T,
                                       MPI_MAX, comm->handle);
        rc = code == MPI_SUCCESS
                 ? ST_OK
                 : stm_fail(err, code, "MPI_Allreduce", __FILE__, __LINE__);
        r.groups[0] = (struct group){.low = 0, .high = n_parts};
    }
    while (rc == ST_OK && r.n_groups < n_parts) {
        rc = look(&r, err);
        if (rc == ST_OK) {
            rc = find_steps(&r, err);
        }
        if (rc == ST_OK) {
            rc = find_numbers(&r, err);
        }
        if (rc == ST_OK) {
            halve(&r);
        }
    }
    st_free(r.groups);
    st_free(r.next);
    st_free(r.boxes);
    st_free(r.counts);
    return rc;
}
