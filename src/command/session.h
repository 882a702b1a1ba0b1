#ifndef ST_COMMAND_SESSION_H
#define ST_COMMAND_SESSION_H

#include "mpi/comm.h"
#include "src/base/status.h"

#include <stdbool.h>

/* Start and end of MPI for the commands that need it. */

struct st_session {
    struct stm_comm world; /**< a duplicate of MPI_COMM_WORLD */
    double start_up_s;     /**< wall time of st_session_open() */
};

/**
 * Start MPI with a bounded wait, check the launch (sizes against the launcher's variables).
 * Collective over all ranks. @param threads_call ask for MPI_THREAD_MULTIPLE; the library may
 * give less. On failure MPI is finalised again and the message printed.
 */
enum st_status st_session_open(struct st_session *session, bool threads_call,
                               struct st_error *err);

/**
 * End MPI; all ranks return the exit status of rank 0. Collective.
 * After an MPI failure (@p rc is ST_ERR_MPI) the job is aborted instead.
 */
enum st_exit st_session_close(struct st_session *session, enum st_status rc,
                              enum st_exit status);

#endif
