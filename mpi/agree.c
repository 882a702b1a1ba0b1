/*
 * How all ranks leave a stage together.
 *
 * Status and rank are reduced in one 8-byte maximum: the greater status wins, among equal
 * ones the lower rank, whose text is then broadcast. The quiet and busy variants poll, so that
 * a sleeping rank leaves its core to the threads that were given it, and a busy one works.
 */
#include "mpi/agree.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    AGREE_NAP_MAX_NS = 1000000, /* DESIGN "The machine": polls bounded at 1 ms */
    AGREE_NAP_MIN_NS = 5000,
    AGREE_BLOCK_BYTES = 1 << 26
};

const char *stm_host(void)
{
    static char name[256];

    if (name[0] == '\0') {
        if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') {
            (void)snprintf(name, sizeof name, "unknown-host");
        }
        char *dot = strchr(name, '.');
        if (dot != NULL && dot != name) {
            *dot = '\0';
        }
    }
    return name;
}

/* Between two looks: work, or a nap that grows. */
static enum st_status wait_with(MPI_Request *request, const struct stm_pastime *pastime,
                                struct st_error *err)
{
    long nap_ns = AGREE_NAP_MIN_NS;
    int done = 0;

    for (;;) {
        STM_TRY(err, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done != 0) {
            return ST_OK;
        }
        if (pastime->work != NULL) {
            pastime->work(pastime->context);
            continue;
        }
        const struct timespec nap = {.tv_nsec = nap_ns};
        (void)nanosleep(&nap, NULL); /* an early end by a signal only polls sooner */
        nap_ns += nap_ns / 2;
        if (nap_ns > AGREE_NAP_MAX_NS) {
            nap_ns = AGREE_NAP_MAX_NS;
        }
    }
}

static const struct stm_pastime sleeping = {.work = NULL};

enum st_status stm_wait_quiet(MPI_Request *request, struct st_error *err)
{
    return wait_with(request, &sleeping, err);
}

static enum st_status reduce_worst(const struct stm_comm *comm, uint64_t mine,
                                   const struct stm_pastime *pastime, uint64_t *worst,
                                   struct st_error *err)
{
    if (pastime == NULL) {
        STM_TRY(err, MPI_Allreduce(&mine, worst, 1, MPI_UINT64_T, MPI_MAX, comm->handle));
        return ST_OK;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    STM_TRY(err, MPI_Iallreduce(&mine, worst, 1, MPI_UINT64_T, MPI_MAX, comm->handle,
                                &request));
    return wait_with(&request, pastime, err);
}

static enum st_status share_text(const struct stm_comm *comm, int root,
                                 const struct stm_pastime *pastime,
                                 char text[ST_ERROR_TEXT_SIZE], struct st_error *err)
{
    if (pastime == NULL) {
        STM_TRY(err, MPI_Bcast(text, ST_ERROR_TEXT_SIZE, MPI_CHAR, root, comm->handle));
        return ST_OK;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    STM_TRY(err,
            MPI_Ibcast(text, ST_ERROR_TEXT_SIZE, MPI_CHAR, root, comm->handle, &request));
    return wait_with(&request, pastime, err);
}

/*
 * Name the failing rank, once: an error agreed in a group is agreed again in the step. The
 * name must survive a text that fills the buffer, so the text gives way.
 */
static void sign_text(const struct stm_comm *comm, enum st_status code,
                      char text[ST_ERROR_TEXT_SIZE])
{
    char signature[320];

    if (strstr(text, " [rank ") != NULL) {
        return;
    }
    if (text[0] == '\0') {
        (void)snprintf(text, ST_ERROR_TEXT_SIZE, "%s", st_status_word(code));
    }
    const int n = snprintf(signature, sizeof signature, " [rank %d on %s]",
                           comm->world_rank, stm_host());
    const size_t room = ST_ERROR_TEXT_SIZE - 1 - (size_t)n;
    const size_t used = strlen(text);
    memcpy(text + (used < room ? used : room), signature, (size_t)n + 1);
}

static enum st_status agree(const struct stm_comm *comm, enum st_status mine,
                            const struct stm_pastime *pastime, struct st_error *err)
{
    char text[ST_ERROR_TEXT_SIZE] = "";
    uint64_t worst = 0;

    if (mine == ST_ERR_MPI) {
        return mine;
    }
    /* status in the upper half; the lower rank is the greater number in the lower half */
    const uint64_t packed = ((uint64_t)mine << 32) | (uint64_t)(INT_MAX - comm->rank);
    enum st_status rc = reduce_worst(comm, packed, pastime, &worst, err);
    if (rc != ST_OK) {
        return rc;
    }
    const enum st_status code = (enum st_status)(worst >> 32);
    if (code == ST_OK) {
        return ST_OK;
    }
    const int root = INT_MAX - (int)(worst & UINT32_MAX);
    if (comm->rank == root) {
        (void)snprintf(text, sizeof text, "%s", err == NULL ? "" : err->text);
        sign_text(comm, code, text);
    }
    rc = share_text(comm, root, pastime, text, err);
    return rc == ST_OK ? st_fail(err, code, "%s", text) : rc;
}

enum st_status stm_agree(const struct stm_comm *comm, enum st_status mine,
                         struct st_error *err)
{
    return agree(comm, mine, NULL, err);
}

enum st_status stm_agree_quiet(const struct stm_comm *comm, enum st_status mine,
                               struct st_error *err)
{
    return agree(comm, mine, &sleeping, err);
}

enum st_status stm_agree_busy(const struct stm_comm *comm, enum st_status mine,
                              const struct stm_pastime *pastime, struct st_error *err)
{
    return agree(comm, mine, pastime, err);
}

enum st_status stm_bcast_bytes(const struct stm_comm *comm, void *data, size_t n,
                               struct st_error *err)
{
    unsigned char *bytes = data;

    for (size_t done = 0; done < n;) {
        const size_t left = n - done;
        const size_t block = left < AGREE_BLOCK_BYTES ? left : AGREE_BLOCK_BYTES;
        int count = 0;
        const enum st_status rc = stm_count(block, &count, err);
        if (rc != ST_OK) {
            return rc;
        }
        STM_TRY(err, MPI_Bcast(bytes + done, count, MPI_BYTE, 0, comm->handle));
        done += block;
    }
    return ST_OK;
}
