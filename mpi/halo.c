/*
 * Sparse halo exchange.
 *
 * A rank knows whom it needs something from (the owners of its needed elements), not who
 * needs something from it. A reduce-scatter of one flag per rank tells everybody how many
 * messages to expect; then counts, then lists travel between partners only. Each of these
 * steps ends with an agreement, because the next one allocates by what the last one brought
 * and no rank may be left waiting for one that gave up. The agreement also parts the
 * wildcard receives of one set-up from those of the next.
 */
#include "mpi/halo.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

/* One partner: its rank, how many elements, and where they start in the joint list. */
struct partner {
    int rank;
    size_t n;
    size_t first;
};

struct halo_own {
    struct stm_halo shown; /* first, so that a halo and its own part are one object */
    struct stm_comm comm;
    double *ghosts;
    int32_t *sent_index;
    struct partner *from; /* [n_receive_ranks] by rank */
    struct partner *to;   /* [n_send_ranks] by rank */
    MPI_Request *requests;
    size_t n_requests;
};

/* What only the set-up needs. */
struct setup {
    const uint64_t *row_start;
    const uint64_t *needed;
    int *flags;         /* [n_ranks] 1: this rank needs something from that one */
    uint64_t *counts;   /* [n_receive_ranks] as they are sent */
    uint64_t *asked;    /* [n_sent] global elements the others asked for */
    MPI_Request *waits; /* [n_receive_ranks + n_send_ranks] */
};

size_t stm_owner(size_t n_ranks, const uint64_t *row_start, uint64_t element)
{
    size_t low = 0;
    size_t high = n_ranks;

    if (n_ranks == 0 || element < row_start[0] || element >= row_start[n_ranks]) {
        return n_ranks;
    }
    /* The last rank whose start is not beyond the element: empty ranks before it have the
     * same start and are passed over. */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (row_start[middle] <= element) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Cut the needed elements into runs of one owner; with out NULL only count them. */
static enum st_status find_owners(const struct halo_own *own, const struct setup *set,
                                  struct partner *out, size_t *n_owners,
                                  struct st_error *err)
{
    const size_t n_ranks = (size_t)own->comm.n_ranks;
    size_t n = 0;

    for (size_t i = 0; i < own->shown.n_ghosts;) {
        const size_t owner = stm_owner(n_ranks, set->row_start, set->needed[i]);
        const size_t first = i;
        if (owner == n_ranks || owner == (size_t)own->comm.rank) {
            return st_fail(err, ST_ERR_INTERNAL,
                           "halo: needed element %zu (number %llu) is %s", i,
                           (unsigned long long)set->needed[i],
                           owner == n_ranks ? "outside the vector" : "this rank's own");
        }
        for (; i < own->shown.n_ghosts && set->needed[i] < set->row_start[owner + 1];
             i++) {
            if (i > 0 && set->needed[i] <= set->needed[i - 1]) {
                return st_fail(err, ST_ERR_INTERNAL,
                               "halo: needed elements do not increase at %zu", i);
            }
        }
        if (out != NULL) {
            out[n] = (struct partner){(int)owner, i - first, first};
        }
        n++;
    }
    *n_owners = n;
    return ST_OK;
}

static enum st_status plan_receives(struct halo_own *own, struct setup *set,
                                    struct st_error *err)
{
    enum st_status rc = find_owners(own, set, NULL, &own->shown.n_receive_ranks, err);
    if (rc != ST_OK) {
        return rc;
    }
    own->ghosts = st_calloc(err, own->shown.n_ghosts, sizeof *own->ghosts);
    own->from = st_calloc(err, own->shown.n_receive_ranks, sizeof *own->from);
    set->counts = st_calloc(err, own->shown.n_receive_ranks, sizeof *set->counts);
    set->flags = st_calloc(err, (size_t)own->comm.n_ranks, sizeof *set->flags);
    if (own->ghosts == NULL || own->from == NULL || set->counts == NULL ||
        set->flags == NULL) {
        return ST_ERR_MEMORY;
    }
    rc = find_owners(own, set, own->from, &own->shown.n_receive_ranks, err);
    for (size_t i = 0; rc == ST_OK && i < own->shown.n_receive_ranks; i++) {
        int n = 0;
        rc = stm_count(own->from[i].n, &n, err);
        set->flags[own->from[i].rank] = 1;
        set->counts[i] = own->from[i].n;
    }
    return rc;
}

/* How many ranks will ask this one for something. Collective. */
static enum st_status count_askers(struct halo_own *own, const struct setup *set,
                                   struct st_error *err)
{
    int n_askers = 0;

    STM_TRY(err, MPI_Reduce_scatter_block(set->flags, &n_askers, 1, MPI_INT, MPI_SUM,
                                          own->comm.handle));
    own->shown.n_send_ranks = (size_t)n_askers;
    return ST_OK;
}

static enum st_status allocate_partners(struct halo_own *own, struct setup *set,
                                        struct st_error *err)
{
    const size_t n = own->shown.n_receive_ranks + own->shown.n_send_ranks;

    own->to = st_calloc(err, own->shown.n_send_ranks, sizeof *own->to);
    set->waits = st_calloc(err, n, sizeof(MPI_Request));
    own->requests = st_calloc(err, n, sizeof(MPI_Request));
    return own->to == NULL || set->waits == NULL || own->requests == NULL ? ST_ERR_MEMORY
                                                                          : ST_OK;
}

static int by_rank(const void *a, const void *b)
{
    const struct partner *left = a;
    const struct partner *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Tell the owners how much is asked of them; hear the same from the others. */
static enum st_status exchange_counts(struct halo_own *own, const struct setup *set,
                                      struct st_error *err)
{
    MPI_Comm comm = own->comm.handle;

    for (size_t i = 0; i < own->shown.n_receive_ranks; i++) {
        STM_TRY(err, MPI_Isend(&set->counts[i], 1, MPI_UINT64_T, own->from[i].rank,
                               STM_TAG_SETUP, comm, &set->waits[i]));
    }
    for (size_t i = 0; i < own->shown.n_send_ranks; i++) {
        uint64_t n = 0;
        MPI_Status status;
        STM_TRY(err, MPI_Recv(&n, 1, MPI_UINT64_T, MPI_ANY_SOURCE, STM_TAG_SETUP, comm,
                              &status));
        own->to[i] = (struct partner){status.MPI_SOURCE, (size_t)n, 0};
    }
    STM_TRY(err, MPI_Waitall((int)own->shown.n_receive_ranks, set->waits,
                             MPI_STATUSES_IGNORE));
    return ST_OK;
}

static enum st_status plan_sends(struct halo_own *own, struct setup *set,
                                 struct st_error *err)
{
    qsort(own->to, own->shown.n_send_ranks, sizeof *own->to, by_rank);
    for (size_t i = 0; i < own->shown.n_send_ranks; i++) {
        own->to[i].first = own->shown.n_sent;
        if (!st_add_size(own->shown.n_sent, own->to[i].n, &own->shown.n_sent)) {
            return st_fail(err, ST_ERR_STEP,
                           "halo: more elements to send than fit a size");
        }
    }
    own->sent_index = st_calloc(err, own->shown.n_sent, sizeof *own->sent_index);
    own->shown.send = st_calloc(err, own->shown.n_sent, sizeof *own->shown.send);
    set->asked = st_calloc(err, own->shown.n_sent, sizeof *set->asked);
    return own->sent_index == NULL || own->shown.send == NULL || set->asked == NULL
               ? ST_ERR_MEMORY
               : ST_OK;
}

/* Counts were checked by stm_count() on the rank that asked. */
static enum st_status exchange_lists(const struct halo_own *own, const struct setup *set,
                                     struct st_error *err)
{
    const size_t n_from = own->shown.n_receive_ranks;
    MPI_Comm comm = own->comm.handle;

    for (size_t i = 0; i < own->shown.n_send_ranks; i++) {
        const struct partner *p = &own->to[i];
        STM_TRY(err, MPI_Irecv(set->asked + p->first, (int)p->n, MPI_UINT64_T, p->rank,
                               STM_TAG_SETUP, comm, &set->waits[n_from + i]));
    }
    for (size_t i = 0; i < n_from; i++) {
        const struct partner *p = &own->from[i];
        STM_TRY(err, MPI_Isend(set->needed + p->first, (int)p->n, MPI_UINT64_T, p->rank,
                               STM_TAG_SETUP, comm, &set->waits[i]));
    }
    STM_TRY(err, MPI_Waitall((int)(n_from + own->shown.n_send_ranks), set->waits,
                             MPI_STATUSES_IGNORE));
    return ST_OK;
}

static enum st_status index_sends(struct halo_own *own, const struct setup *set,
                                  struct st_error *err)
{
    const uint64_t first = set->row_start[own->comm.rank];
    const uint64_t end = set->row_start[own->comm.rank + 1];

    if (end - first > INT32_MAX) {
        return st_fail(err, ST_ERR_STEP,
                       "halo: %llu elements on one rank; at most %d have a local index, "
                       "use more ranks",
                       (unsigned long long)(end - first), INT32_MAX);
    }
    for (size_t i = 0; i < own->shown.n_sent; i++) {
        if (set->asked[i] < first || set->asked[i] >= end) {
            return st_fail(err, ST_ERR_INTERNAL,
                           "halo: asked for element %llu, owning %llu to %llu",
                           (unsigned long long)set->asked[i], (unsigned long long)first,
                           (unsigned long long)end);
        }
        own->sent_index[i] = (int32_t)(set->asked[i] - first);
    }
    return ST_OK;
}

/* Receives first: MPI_Startall() then finds a buffer posted for what arrives early. */
static enum st_status make_requests(struct halo_own *own, struct st_error *err)
{
    MPI_Comm comm = own->comm.handle;

    for (size_t i = 0; i < own->shown.n_receive_ranks; i++) {
        const struct partner *p = &own->from[i];
        STM_TRY(err, MPI_Recv_init(own->ghosts + p->first, (int)p->n, MPI_DOUBLE, p->rank,
                                   STM_TAG_HALO, comm, &own->requests[own->n_requests]));
        own->n_requests++;
    }
    for (size_t i = 0; i < own->shown.n_send_ranks; i++) {
        const struct partner *p = &own->to[i];
        STM_TRY(err,
                MPI_Send_init(own->shown.send + p->first, (int)p->n, MPI_DOUBLE, p->rank,
                              STM_TAG_HALO, comm, &own->requests[own->n_requests]));
        own->n_requests++;
    }
    own->shown.ghosts = own->ghosts;
    own->shown.sent_index = own->sent_index;
    own->shown.bytes = sizeof *own + own->shown.n_ghosts * sizeof(double) +
                       own->shown.n_sent * (sizeof(double) + sizeof(int32_t)) +
                       own->n_requests * (sizeof(MPI_Request) + sizeof(struct partner));
    return ST_OK;
}

/* All steps; each is entered by all ranks or by none. */
static enum st_status set_up(struct halo_own *own, struct setup *set,
                             struct st_error *err)
{
    enum st_status rc = stm_agree(&own->comm, plan_receives(own, set, err), err);
    if (rc == ST_OK) {
        rc = count_askers(own, set, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(&own->comm, allocate_partners(own, set, err), err);
    }
    if (rc == ST_OK) {
        rc = exchange_counts(own, set, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(&own->comm, plan_sends(own, set, err), err);
    }
    if (rc == ST_OK) {
        rc = exchange_lists(own, set, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(&own->comm, index_sends(own, set, err), err);
    }
    return rc == ST_OK ? make_requests(own, err) : rc;
}

enum st_status stm_halo_create(const struct stm_comm *comm, const uint64_t *row_start,
                               size_t n_needed, const uint64_t *needed,
                               struct stm_halo **out, struct st_error *err)
{
    struct setup set = {.row_start = row_start, .needed = needed};
    struct halo_own *own = st_calloc(err, 1, sizeof *own);

    if (own != NULL) {
        own->comm = *comm;
        own->shown.n_ghosts = n_needed;
        own->shown.own = own;
    }
    enum st_status rc = stm_agree(comm, own == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc == ST_OK && own != NULL) {
        rc = set_up(own, &set, err);
    }
    st_free(set.flags);
    st_free(set.counts);
    st_free(set.asked);
    st_free(set.waits);
    struct stm_halo *halo = own == NULL ? NULL : &own->shown;
    if (rc != ST_OK) {
        stm_halo_destroy(&halo);
        return rc;
    }
    *out = halo;
    return ST_OK;
}

void stm_halo_destroy(struct stm_halo **halo)
{
    if (halo == NULL || *halo == NULL) {
        return;
    }
    struct halo_own *own = (*halo)->own;
    *halo = NULL;
    if (own == NULL) {
        return;
    }
    for (size_t i = 0; i < own->n_requests; i++) {
        (void)MPI_Request_free(&own->requests[i]); /* a failed free has no remedy here */
    }
    st_free(own->requests);
    st_free(own->from);
    st_free(own->to);
    st_free(own->ghosts);
    st_free(own->sent_index);
    st_free(own->shown.send);
    st_free(own);
}

enum st_status stm_halo_start(struct stm_halo *halo, struct st_error *err)
{
    const struct halo_own *own = halo->own;

    STM_TRY(err, MPI_Startall((int)own->n_requests, own->requests));
    return ST_OK;
}

enum st_status stm_halo_finish(struct stm_halo *halo, struct st_error *err)
{
    const struct halo_own *own = halo->own;

    STM_TRY(err, MPI_Waitall((int)own->n_requests, own->requests, MPI_STATUSES_IGNORE));
    return ST_OK;
}
