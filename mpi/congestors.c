/*
 * The loops of the congestors. Between two looks for the word to stop a group makes some
 * passes, whose number all its ranks know, so that the look costs little beside the load.
 */
#include "mpi/congestors.h"

#include <string.h>

enum {
    PASSES = 8 /* between two looks */
};

enum st_status stm_congestors_open(struct stm_congestors *group, void *memory,
                                   struct st_error *err)
{
    group->window = MPI_WIN_NULL;
    if (group->pattern != STM_PUT_INCAST && group->pattern != STM_GET_BROADCAST) {
        return ST_OK;
    }
    STM_TRY(err,
            MPI_Win_create(memory,
                           (MPI_Aint)((size_t)group->comm.n_ranks * group->message_bytes),
                           1, MPI_INFO_NULL, group->comm.handle, &group->window));
    STM_TRY(err, MPI_Win_set_errhandler(group->window, MPI_ERRORS_RETURN));
    return ST_OK;
}

void stm_congestors_close(struct stm_congestors *group)
{
    if (group->window != MPI_WIN_NULL) {
        (void)MPI_Win_free(&group->window); /* there is nothing to do about a failure */
        group->window = MPI_WIN_NULL;
    }
}

static enum st_status incast(const struct stm_congestors *g, struct st_error *err)
{
    const int n = (int)g->message_bytes;
    const int others = g->comm.n_ranks - 1;

    if (g->comm.rank > 0) {
        STM_TRY(err, MPI_Send(g->send, n, MPI_CHAR, 0, STM_TAG_WINDOW, g->comm.handle));
        return ST_OK;
    }
    for (int k = 0; k < others; k++) {
        STM_TRY(err, MPI_Irecv(g->recv + (size_t)k * g->message_bytes, n, MPI_CHAR, k + 1,
                               STM_TAG_WINDOW, g->comm.handle, &g->requests[k]));
    }
    STM_TRY(err, MPI_Waitall(others, g->requests, MPI_STATUSES_IGNORE));
    return ST_OK;
}

/* One-sided: the target takes no part, so a lock of its own keeps each pass bounded. */
static enum st_status one_sided(const struct stm_congestors *g, struct st_error *err)
{
    const int n = (int)g->message_bytes;
    const MPI_Aint at = (MPI_Aint)((size_t)g->comm.rank * g->message_bytes);

    if (g->comm.rank > 0) {
        STM_TRY(err, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, g->window));
        if (g->pattern == STM_PUT_INCAST) {
            STM_TRY(err, MPI_Put(g->send, n, MPI_CHAR, 0, at, n, MPI_CHAR, g->window));
        } else {
            STM_TRY(err, MPI_Get(g->recv, n, MPI_CHAR, 0, at, n, MPI_CHAR, g->window));
        }
        STM_TRY(err, MPI_Win_unlock(0, g->window));
    }
    return ST_OK;
}

enum st_status stm_congestors_once(const struct stm_congestors *group,
                                   struct st_error *err)
{
    const int n = (int)group->message_bytes;

    if (group->comm.n_ranks < 2) {
        return ST_OK;
    }
    switch (group->pattern) {
    case STM_ALLTOALL:
        STM_TRY(err, MPI_Alltoall(group->send, n, MPI_CHAR, group->recv, n, MPI_CHAR,
                                  group->comm.handle));
        return ST_OK;
    case STM_INCAST:
        return incast(group, err);
    case STM_PUT_INCAST:
    case STM_GET_BROADCAST:
        return one_sided(group, err);
    case STM_N_PATTERNS:
        break;
    }
    return st_fail(err, ST_ERR_INTERNAL, "congestors: no pattern %d",
                   (int)group->pattern);
}

/* Has the boss said stop? Rank 0 looks, all learn. */
static enum st_status look(const struct stm_congestors *g, MPI_Comm parent, int boss,
                           int *stop, struct st_error *err)
{
    if (g->comm.rank == 0) {
        STM_TRY(err, MPI_Iprobe(boss, STM_TAG_STOP, parent, stop, MPI_STATUS_IGNORE));
        if (*stop != 0) {
            STM_TRY(err, MPI_Recv(NULL, 0, MPI_CHAR, boss, STM_TAG_STOP, parent,
                                  MPI_STATUS_IGNORE));
        }
    }
    STM_TRY(err, MPI_Bcast(stop, 1, MPI_INT, 0, g->comm.handle));
    return ST_OK;
}

enum st_status stm_congestors_run(const struct stm_congestors *group, MPI_Comm parent,
                                  int boss, struct st_error *err)
{
    int stop = 0;
    enum st_status rc = stm_congestors_once(group, err);

    if (rc == ST_OK && group->comm.rank == 0) {
        STM_TRY(err, MPI_Send(NULL, 0, MPI_CHAR, boss, STM_TAG_STARTED, parent));
    }
    while (rc == ST_OK && stop == 0) {
        for (int k = 0; k < PASSES && rc == ST_OK; k++) {
            rc = stm_congestors_once(group, err);
        }
        rc = rc == ST_OK ? look(group, parent, boss, &stop, err) : rc;
    }
    return rc;
}
