/*
 * Communicators and the text of failed MPI calls.
 *
 * A failed MPI call is not agreed upon (the communicator can no longer be trusted): its text
 * is written here and ST_ERR_MPI travels up to the program, which ends the launch.
 */
#include "mpi/comm.h"

#include "mpi/agree.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The last two components of a path: "mpi/comm.c" wherever the program was built. */
static const char *short_path(const char *path)
{
    const char *last = strrchr(path, '/');
    const char *start = last;

    while (start != NULL && start > path && start[-1] != '/') {
        start--;
    }
    return start == NULL ? path : start;
}

enum st_status stm_fail(struct st_error *err, int rc, const char *call, const char *file,
                        int line)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;

    if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS) {
        (void)snprintf(text, sizeof text, "error code %d", rc);
    }
    return st_fail(err, ST_ERR_MPI, "MPI call failed on %s: %s: %s (%s:%d)", stm_host(),
                   call, text, short_path(file), line);
}

/* Fill rank, size and error handler of a new communicator. */
static enum st_status adopt(MPI_Comm handle, struct stm_comm *comm, struct st_error *err)
{
    comm->handle = handle;
    STM_TRY(err, MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN));
    STM_TRY(err, MPI_Comm_rank(handle, &comm->rank));
    STM_TRY(err, MPI_Comm_size(handle, &comm->n_ranks));
    return ST_OK;
}

enum st_status stm_comm_dup(MPI_Comm from, struct stm_comm *out, struct st_error *err)
{
    MPI_Comm handle = MPI_COMM_NULL;
    struct stm_comm comm = {.handle = MPI_COMM_NULL, .rank = -1};

    STM_TRY(err, MPI_Comm_dup(from, &handle));
    const enum st_status rc = adopt(handle, &comm, err);
    if (rc != ST_OK) {
        return rc;
    }
    comm.world_rank = comm.rank;
    *out = comm;
    return ST_OK;
}

enum st_status stm_comm_split(const struct stm_comm *from, int color, int key,
                              struct stm_comm *out, struct st_error *err)
{
    MPI_Comm handle = MPI_COMM_NULL;
    struct stm_comm comm = {
        .handle = MPI_COMM_NULL, .rank = -1, .world_rank = from->world_rank};

    STM_TRY(err, MPI_Comm_split(from->handle, color, key, &handle));
    if (handle != MPI_COMM_NULL) {
        const enum st_status rc = adopt(handle, &comm, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    *out = comm;
    return ST_OK;
}

void stm_comm_free(struct stm_comm *comm)
{
    if (comm == NULL) {
        return;
    }
    /* A zero-initialised struct never held a communicator; MPI_COMM_NULL is not 0 everywhere. */
    if (comm->handle != MPI_COMM_NULL && comm->n_ranks > 0) {
        (void)MPI_Comm_free(&comm->handle);
    }
    comm->handle = MPI_COMM_NULL;
    comm->rank = -1;
    comm->n_ranks = 0;
}

enum st_status stm_count(size_t n, int *out, struct st_error *err)
{
    if (n > (size_t)INT_MAX) {
        return st_fail(
            err, ST_ERR_STEP,
            "%zu elements in one MPI message; MPI counts end at %d: use more ranks "
            "or a smaller size",
            n, INT_MAX);
    }
    *out = (int)n;
    return ST_OK;
}
