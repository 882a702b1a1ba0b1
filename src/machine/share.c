#include "src/machine/share.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <stdint.h>
#include <string.h>

/*
 * One gather of lengths, one of bytes, and a broadcast where all want them. All ranks run the
 * same binary on the same kind of machine (MPI_BYTE), so structs travel as they are. Before
 * each collective that needs memory the ranks agree that they have it.
 */

struct st_reader st_reader_of(const struct st_share *share, size_t rank)
{
    return (struct st_reader){.at = share->data + share->start[rank],
                              .end = share->data + share->start[rank + 1]};
}

void st_read_bytes(struct st_reader *reader, void *out, size_t n)
{
    if (reader->failed || (size_t)(reader->end - reader->at) < n) {
        reader->failed = true;
        return;
    }
    if (n > 0) {
        memcpy(out, reader->at, n);
        reader->at += n;
    }
}

const char *st_reader_text(struct st_reader *reader)
{
    const size_t left = (size_t)(reader->end - reader->at);
    const char *text = reader->at;
    const char *end = left > 0 ? memchr(text, '\0', left) : NULL;

    if (reader->failed || end == NULL) {
        reader->failed = true;
        return "";
    }
    reader->at = end + 1;
    return text;
}

void st_write_text(struct st_text *out, const char *text)
{
    st_text_add_bytes(out, text, strlen(text) + 1);
}

void st_share_clear(struct st_share *share)
{
    st_free(share->start);
    st_free(share->data);
    *share = (struct st_share){0};
}

/* Rank 0: offsets from the lengths that arrived, and room for all bytes. */
static enum st_status make_room(struct st_share *share, int *counts, int *offsets,
                                struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (size_t r = 0; rc == ST_OK && r < share->n; r++) {
        const size_t n = share->start[r + 1];
        share->start[r + 1] = share->start[r] + n;
        rc = stm_count(n, &counts[r], err);
        if (rc == ST_OK) {
            rc = stm_count(share->start[r], &offsets[r], err);
        }
    }
    if (rc == ST_OK) {
        share->data = st_calloc(err, share->start[share->n] + 1, 1);
        rc = share->data != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    return rc;
}

static enum st_status gather(const struct stm_comm *comm, const struct st_text *mine,
                             struct st_share *share, int *counts, int *offsets,
                             struct st_error *err)
{
    const size_t n_ranks = (size_t)comm->n_ranks;
    const uint64_t length = mine->length;
    uint64_t *lengths = NULL;
    enum st_status rc = ST_OK;

    if (comm->rank == 0) {
        lengths = st_calloc(err, n_ranks, sizeof *lengths);
    }
    rc = stm_agree(comm, comm->rank == 0 && lengths == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc != ST_OK) {
        st_free(lengths);
        return rc;
    }
    const int mpi =
        MPI_Gather(&length, 1, MPI_UINT64_T, lengths, 1, MPI_UINT64_T, 0, comm->handle);
    for (size_t r = 0; mpi == MPI_SUCCESS && lengths != NULL && r < n_ranks; r++) {
        share->start[r + 1] = (size_t)lengths[r];
    }
    st_free(lengths);
    STM_TRY(err, mpi);
    int count = 0;
    rc = stm_count(mine->length, &count, err);
    if (rc == ST_OK && comm->rank == 0) {
        rc = make_room(share, counts, offsets, err);
    }
    rc = stm_agree(comm, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(err, MPI_Gatherv(st_text_get(mine), count, MPI_BYTE, share->data, counts,
                             offsets, MPI_BYTE, 0, comm->handle));
    return ST_OK;
}

static enum st_status spread(const struct stm_comm *comm, struct st_share *share,
                             struct st_error *err)
{
    enum st_status rc =
        stm_bcast_bytes(comm, share->start, (share->n + 1) * sizeof *share->start, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (comm->rank != 0) {
        share->data = st_calloc(err, share->start[share->n] + 1, 1);
        rc = share->data != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    rc = stm_agree(comm, rc, err);
    if (rc == ST_OK) {
        rc = stm_bcast_bytes(comm, share->data, share->start[share->n], err);
    }
    return rc;
}

enum st_status st_share_bytes(const struct stm_comm *comm, const struct st_text *mine,
                              bool to_all, struct st_share *out, struct st_error *err)
{
    struct st_share share = {.n = (size_t)comm->n_ranks};
    int *counts = NULL;
    int *offsets = NULL;
    enum st_status rc =
        mine->failed ? st_fail(err, ST_ERR_MEMORY, "no memory for a table") : ST_OK;

    if (rc == ST_OK && (comm->rank == 0 || to_all)) {
        share.start = st_calloc(err, share.n + 1, sizeof *share.start);
        rc = share.start != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    if (rc == ST_OK && comm->rank == 0) {
        counts = st_calloc(err, share.n, sizeof *counts);
        offsets = st_calloc(err, share.n, sizeof *offsets);
        rc = counts != NULL && offsets != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    rc = stm_agree(comm, rc, err);
    if (rc == ST_OK) {
        rc = gather(comm, mine, &share, counts, offsets, err);
    }
    if (rc == ST_OK && to_all) {
        rc = spread(comm, &share, err);
    }
    st_free(counts);
    st_free(offsets);
    if (rc != ST_OK) {
        st_share_clear(&share);
        return rc;
    }
    *out = share;
    return ST_OK;
}
