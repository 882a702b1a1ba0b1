#include "src/command/session.h"

#include "src/base/text.h"
#include "src/machine/launch.h"

#include <stdlib.h>
#include <time.h>

/*
 * MPI_Init can hang (PMIx mismatch, CASES 2), so a limit is armed around it; and a wrong
 * launch must be told apart before any file is touched (CASES 1).
 */

enum {
    INIT_LIMIT_S = 300
};

static const char *environment(const char *name)
{
    return getenv(name);
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum st_status st_session_open(struct st_session *session, bool threads_call,
                               struct st_error *err)
{
    const double start_s = seconds();
    int provided = 0;

    const enum st_status may = st_launch_precheck(environment, err);
    if (may != ST_OK) {
        return may;
    }
    st_launch_arm(INIT_LIMIT_S);
    const int rc = MPI_Init_thread(
        NULL, NULL, threads_call ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    st_launch_disarm();
    st_text_pin_locale(); /* a library's constructor may have set another one */
    if (rc != MPI_SUCCESS) {
        return st_fail(err, ST_ERR_MPI, "MPI_Init_thread failed with code %d", rc);
    }
    enum st_status status = stm_comm_dup(MPI_COMM_WORLD, &session->world, err);
    if (status == ST_OK) {
        status = st_launch_check(environment, session->world.n_ranks, err);
        if (status != ST_OK) {
            stm_comm_free(&session->world);
        }
    }
    if (status != ST_OK) {
        (void)MPI_Finalize();
    }
    session->start_up_s = seconds() - start_s;
    return status;
}

enum st_exit st_session_close(struct st_session *session, enum st_status rc,
                              enum st_exit status)
{
    int code = (int)status;

    if (rc == ST_ERR_MPI) {
        (void)MPI_Abort(session->world.handle, (int)ST_EXIT_INTERNAL);
        return ST_EXIT_INTERNAL;
    }
    if (MPI_Bcast(&code, 1, MPI_INT, 0, session->world.handle) != MPI_SUCCESS) {
        code = (int)ST_EXIT_INTERNAL;
    }
    stm_comm_free(&session->world);
    (void)MPI_Finalize();
    return (enum st_exit)code;
}
