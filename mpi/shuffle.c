/*
 * Exchange of records by MPI_Alltoallv. Wanted numbers are sorted by their digits (radix sort,
 * stable), so that each is asked for once and the questions are in the order of the ranks.
 */
#include "mpi/shuffle.h"

#include "mpi/agree.h"
#include "mpi/blocks.h"
#include "src/base/mem.h"

#include <limits.h>
#include <string.h>

enum {
    DIGIT_BITS = 11,
    N_DIGITS = 1 << DIGIT_BITS
};

/* Counts and places of what goes to and comes from each rank. */
struct traffic {
    int *numbers; /* the four below */
    int *send_n, *send_at, *recv_n, *recv_at;
    size_t n_received;
    MPI_Datatype record;
};

static enum st_status open_traffic(const struct stm_comm *comm, size_t size,
                                   struct traffic *t, struct st_error *err)
{
    const size_t n = (size_t)comm->n_ranks;

    *t = (struct traffic){.record = MPI_DATATYPE_NULL};
    t->numbers = st_calloc(err, 4 * n, sizeof *t->numbers);
    if (t->numbers == NULL) {
        return ST_ERR_MEMORY;
    }
    t->send_n = t->numbers;
    t->send_at = t->numbers + n;
    t->recv_n = t->numbers + 2 * n;
    t->recv_at = t->numbers + 3 * n;
    STM_TRY(err, MPI_Type_contiguous((int)size, MPI_BYTE, &t->record));
    STM_TRY(err, MPI_Type_commit(&t->record));
    return ST_OK;
}

static void close_traffic(struct traffic *t)
{
    if (t->record != MPI_DATATYPE_NULL) {
        (void)MPI_Type_free(&t->record);
    }
    st_free(t->numbers);
}

/* Tell all ranks how much comes; the places of everything follow. */
static enum st_status share_counts(const struct stm_comm *comm, size_t n_sent,
                                   struct traffic *t, struct st_error *err)
{
    size_t n_received = 0;
    int at = 0;

    STM_TRY(err,
            MPI_Alltoall(t->send_n, 1, MPI_INT, t->recv_n, 1, MPI_INT, comm->handle));
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        n_received += (size_t)t->recv_n[rank];
    }
    if (n_sent > INT_MAX || n_received > INT_MAX) {
        return st_fail(
            err, ST_ERR_STEP,
            "a rank would send or get %zu parts of the mesh at once, more than "
            "MPI counts: use more ranks",
            n_sent > n_received ? n_sent : n_received);
    }
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        t->send_at[rank] = at;
        at += t->send_n[rank];
    }
    at = 0;
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        t->recv_at[rank] = at;
        at += t->recv_n[rank];
    }
    t->n_received = n_received;
    return ST_OK;
}

/* Records in the order of their ranks. */
static void pack(const struct stm_comm *comm, size_t size, size_t n, const char *records,
                 const int *dest, struct traffic *t, char *packed)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(packed + (size_t)t->send_at[dest[i]]++ * size, records + i * size, size);
    }
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        t->send_at[rank] -= t->send_n[rank];
    }
}

enum st_status stm_shuffle_send(const struct stm_comm *comm, size_t size, size_t n,
                                const void *records, const int *dest, size_t *n_out,
                                void **out, struct st_error *err)
{
    struct traffic t;
    char *packed = st_calloc(err, n, size);
    char *received = NULL;
    enum st_status rc = packed == NULL ? ST_ERR_MEMORY : ST_OK;
    const enum st_status opened = open_traffic(comm, size, &t, err);

    rc = stm_agree(comm, rc == ST_OK ? opened : rc, err);
    if (rc == ST_OK) {
        for (size_t i = 0; i < n && n <= INT_MAX; i++) {
            t.send_n[dest[i]]++;
        }
        rc = share_counts(comm, n, &t, err);
    }
    if (rc == ST_OK) {
        received = st_calloc(err, t.n_received, size);
        rc = received == NULL ? ST_ERR_MEMORY : ST_OK;
    }
    rc = stm_agree(comm, rc, err);
    if (rc == ST_OK) {
        pack(comm, size, n, records, dest, &t, packed);
        const int code = MPI_Alltoallv(packed, t.send_n, t.send_at, t.record, received,
                                       t.recv_n, t.recv_at, t.record, comm->handle);
        rc = code == MPI_SUCCESS
                 ? ST_OK
                 : stm_fail(err, code, "MPI_Alltoallv", __FILE__, __LINE__);
    }
    close_traffic(&t);
    st_free(packed);
    if (rc != ST_OK) {
        st_free(received);
        return rc;
    }
    *n_out = t.n_received;
    *out = received;
    return ST_OK;
}

/* A wanted number and its place in the list. */
struct want {
    int64_t number;
    size_t at;
};

/* Sort by number; @p spare is of the same size. @return the one of the two that is sorted */
static struct want *sort(struct want *wants, struct want *spare, size_t n, int64_t most)
{
    for (int shift = 0; shift < 63 && most >> shift > 0; shift += DIGIT_BITS) {
        size_t at[N_DIGITS + 1] = {0};
        for (size_t i = 0; i < n; i++) {
            at[((wants[i].number >> shift) & (N_DIGITS - 1)) + 1]++;
        }
        for (size_t digit = 0; digit < N_DIGITS; digit++) {
            at[digit + 1] += at[digit];
        }
        for (size_t i = 0; i < n; i++) {
            spare[at[(wants[i].number >> shift) & (N_DIGITS - 1)]++] = wants[i];
        }
        struct want *sorted = spare;
        spare = wants;
        wants = sorted;
    }
    return wants;
}

/* One fetch on its way. */
struct fetch {
    const struct stm_comm *comm;
    const struct stm_spread_array *array;
    struct want *wants, *spare, *sorted;
    int64_t *asked;     /* [n_asked] different numbers, rising */
    int64_t *questions; /* of the others */
    char *answers, *given;
    size_t n, n_asked;
    struct traffic there; /* of the questions */
};

static enum st_status ask(struct fetch *f, const int64_t *wanted, struct st_error *err)
{
    const int64_t n_global = f->array->n_global;
    const int n_ranks = f->comm->n_ranks;

    for (size_t i = 0; i < f->n; i++) {
        f->wants[i] = (struct want){wanted[i], i};
    }
    f->sorted = sort(f->wants, f->spare, f->n, n_global);
    for (size_t i = 0; i < f->n && f->n_asked < INT_MAX; i++) {
        const int64_t number = f->sorted[i].number;
        if (i == 0 || number != f->sorted[i - 1].number) {
            f->asked[f->n_asked++] = number;
            f->there.send_n[stm_block_of(n_global, n_ranks, number)]++;
        }
    }
    return share_counts(f->comm, f->n_asked, &f->there, err);
}

static enum st_status answer(struct fetch *f, struct st_error *err)
{
    const struct traffic *t = &f->there;
    const size_t size = f->array->size;
    const int64_t first =
        stm_block_start(f->array->n_global, f->comm->n_ranks, f->comm->rank);

    STM_TRY(err, MPI_Alltoallv(f->asked, t->send_n, t->send_at, MPI_INT64_T, f->questions,
                               t->recv_n, t->recv_at, MPI_INT64_T, f->comm->handle));
    for (size_t i = 0; i < t->n_received; i++) {
        memcpy(f->given + i * size,
               (const char *)f->array->mine + (size_t)(f->questions[i] - first) * size,
               size);
    }
    STM_TRY(err, MPI_Alltoallv(f->given, t->recv_n, t->recv_at, t->record, f->answers,
                               t->send_n, t->send_at, t->record, f->comm->handle));
    return ST_OK;
}

static void hand_out(const struct fetch *f, char *out)
{
    const size_t size = f->array->size;
    size_t at = 0;

    for (size_t i = 0; i < f->n; i++) {
        at += i > 0 && f->sorted[i].number != f->sorted[i - 1].number ? 1 : 0;
        memcpy(out + f->sorted[i].at * size, f->answers + at * size, size);
    }
}

static enum st_status run_fetch(struct fetch *f, const int64_t *wanted, void *out,
                                struct st_error *err)
{
    const size_t size = f->array->size;

    f->wants = st_calloc(err, f->n, sizeof *f->wants);
    f->spare = st_calloc(err, f->n, sizeof *f->spare);
    f->asked = st_calloc(err, f->n, sizeof *f->asked);
    const bool is_whole = f->wants != NULL && f->spare != NULL && f->asked != NULL;
    const enum st_status opened = open_traffic(f->comm, size, &f->there, err);
    enum st_status rc = stm_agree(f->comm, is_whole ? opened : ST_ERR_MEMORY, err);

    if (rc == ST_OK) {
        rc = ask(f, wanted, err);
    }
    if (rc == ST_OK) {
        f->questions = st_calloc(err, f->there.n_received, sizeof *f->questions);
        f->given = st_calloc(err, f->there.n_received, size);
        f->answers = st_calloc(err, f->n_asked, size);
        rc = f->questions == NULL || f->given == NULL || f->answers == NULL
                 ? ST_ERR_MEMORY
                 : ST_OK;
    }
    rc = stm_agree(f->comm, rc, err);
    if (rc == ST_OK) {
        rc = answer(f, err);
    }
    if (rc == ST_OK) {
        hand_out(f, out);
    }
    return rc;
}

enum st_status stm_shuffle_fetch(const struct stm_comm *comm,
                                 const struct stm_spread_array *array, size_t n,
                                 const int64_t *wanted, void *out, struct st_error *err)
{
    struct fetch f = {.comm = comm, .array = array, .n = n};
    const enum st_status rc = run_fetch(&f, wanted, out, err);

    close_traffic(&f.there);
    st_free(f.wants);
    st_free(f.spare);
    st_free(f.asked);
    st_free(f.questions);
    st_free(f.given);
    st_free(f.answers);
    return rc;
}
