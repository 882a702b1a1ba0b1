/*
 * Message patterns of a pair of ranks. These loops are measured against a bare ping-pong
 * (tests/bench_compare), so everything constant is in locals, an MPI call costs one compare
 * beyond itself, and error texts are made outside of the path that is taken when all is well.
 * Places in the buffers advance by a stride; stride 0 keeps all messages in one place, for
 * receives too, as the OSU benchmarks do.
 */
#include "mpi/pingpong.h"

#include "mpi/agree.h"

/* Place of the next message: round the window. */
static inline size_t next_place(size_t place, size_t stride, size_t end)
{
    place += stride;
    return place >= end ? 0 : place;
}

enum st_status stm_pingpong(const struct stm_link *link, size_t n, struct st_error *err)
{
    MPI_Comm comm = link->comm;
    const int peer = link->peer;
    const int bytes = link->message_bytes;
    const size_t stride = link->stride_bytes;
    const size_t end = stride * (size_t)link->window;
    char *const send = link->send;
    char *const recv = link->recv;
    size_t at = 0;

    if (link->is_first) {
        for (size_t i = 0; i < n; i++) {
            STM_TRY(err, MPI_Send(send + at, bytes, MPI_BYTE, peer, STM_TAG_PING, comm));
            STM_TRY(err, MPI_Recv(recv + at, bytes, MPI_BYTE, peer, STM_TAG_PING, comm,
                                  MPI_STATUS_IGNORE));
            at = next_place(at, stride, end);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            STM_TRY(err, MPI_Recv(recv + at, bytes, MPI_BYTE, peer, STM_TAG_PING, comm,
                                  MPI_STATUS_IGNORE));
            STM_TRY(err, MPI_Send(send + at, bytes, MPI_BYTE, peer, STM_TAG_PING, comm));
            at = next_place(at, stride, end);
        }
    }
    return ST_OK;
}

enum st_status stm_pingpong_timed(const struct stm_link *link, size_t n, stm_now_fn now,
                                  size_t n_keep, double *rtt_s, struct st_error *err)
{
    MPI_Comm comm = link->comm;
    const int peer = link->peer;
    const int bytes = link->message_bytes;
    const size_t stride = link->stride_bytes;
    const size_t end = stride * (size_t)link->window;
    char *const send = link->send;
    char *const recv = link->recv;
    size_t at = 0;
    size_t keep = 0;
    double before = 0.0;

    if (!link->is_first) {
        return stm_pingpong(link, n, err);
    }
    before = now();
    for (size_t i = 0; i < n; i++) {
        STM_TRY(err, MPI_Send(send + at, bytes, MPI_BYTE, peer, STM_TAG_PING, comm));
        STM_TRY(err, MPI_Recv(recv + at, bytes, MPI_BYTE, peer, STM_TAG_PING, comm,
                              MPI_STATUS_IGNORE));
        /* One reading ends a round trip and starts the next: no cost is counted twice. */
        const double after = now();
        rtt_s[keep] = after - before;
        before = after;
        keep = keep + 1 < n_keep ? keep + 1 : 0;
        at = next_place(at, stride, end);
    }
    return ST_OK;
}

/* The first rank's side of a window: send it, wait for the answer. */
static enum st_status windows_out(const struct stm_link *link, size_t n,
                                  struct st_error *err)
{
    MPI_Comm comm = link->comm;
    const int peer = link->peer;
    const int bytes = link->message_bytes;
    const int window = link->window;
    const int window_tag = STM_TAG_WINDOW + link->tag_shift;
    const int reply_tag = STM_TAG_REPLY + link->tag_shift;
    const size_t stride = link->stride_bytes;
    char *const send = link->send;
    MPI_Request *const requests = link->requests;
    int answer = 0;

    for (size_t k = 0; k < n; k++) {
        for (int m = 0; m < window; m++) {
            STM_TRY(err, MPI_Isend(send + (size_t)m * stride, bytes, MPI_BYTE, peer,
                                   window_tag, comm, requests + m));
        }
        STM_TRY(err, MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
        STM_TRY(err, MPI_Recv(&answer, (int)sizeof answer, MPI_BYTE, peer, reply_tag,
                              comm, MPI_STATUS_IGNORE));
    }
    return ST_OK;
}

/* The second rank's side: receive a window, answer. */
static enum st_status windows_in(const struct stm_link *link, size_t n,
                                 struct st_error *err)
{
    MPI_Comm comm = link->comm;
    const int peer = link->peer;
    const int bytes = link->message_bytes;
    const int window = link->window;
    const int window_tag = STM_TAG_WINDOW + link->tag_shift;
    const int reply_tag = STM_TAG_REPLY + link->tag_shift;
    const size_t stride = link->stride_bytes;
    char *const recv = link->recv;
    MPI_Request *const requests = link->requests;
    const int answer = 0;

    for (size_t k = 0; k < n; k++) {
        for (int m = 0; m < window; m++) {
            STM_TRY(err, MPI_Irecv(recv + (size_t)m * stride, bytes, MPI_BYTE, peer,
                                   window_tag, comm, requests + m));
        }
        STM_TRY(err, MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
        STM_TRY(err,
                MPI_Send(&answer, (int)sizeof answer, MPI_BYTE, peer, reply_tag, comm));
    }
    return ST_OK;
}

enum st_status stm_windows(const struct stm_link *link, size_t n, struct st_error *err)
{
    return link->is_first ? windows_out(link, n, err) : windows_in(link, n, err);
}

enum st_status stm_windows_both(const struct stm_link *link, size_t n,
                                struct st_error *err)
{
    MPI_Comm comm = link->comm;
    const int peer = link->peer;
    const int bytes = link->message_bytes;
    const int window = link->window;
    const size_t stride = link->stride_bytes;
    char *const send = link->send;
    char *const recv = link->recv;
    MPI_Request *const receives = link->requests;
    MPI_Request *const sends = link->requests + window;

    for (size_t k = 0; k < n; k++) {
        for (int m = 0; m < window; m++) {
            STM_TRY(err, MPI_Irecv(recv + (size_t)m * stride, bytes, MPI_BYTE, peer,
                                   STM_TAG_WINDOW, comm, receives + m));
        }
        for (int m = 0; m < window; m++) {
            STM_TRY(err, MPI_Isend(send + (size_t)m * stride, bytes, MPI_BYTE, peer,
                                   STM_TAG_WINDOW, comm, sends + m));
        }
        STM_TRY(err, MPI_Waitall(2 * window, receives, MPI_STATUSES_IGNORE));
    }
    return ST_OK;
}

/* The word comes from a rank of another pair, so it cannot be taken for the peer's reply. */
enum st_status stm_turn_wait(MPI_Comm comm, int from, bool quiet, struct st_error *err)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (from < 0) {
        return ST_OK;
    }
    if (!quiet) {
        STM_TRY(err, MPI_Recv(NULL, 0, MPI_BYTE, from, STM_TAG_REPLY, comm,
                              MPI_STATUS_IGNORE));
        return ST_OK;
    }
    STM_TRY(err, MPI_Irecv(NULL, 0, MPI_BYTE, from, STM_TAG_REPLY, comm, &request));
    return stm_wait_quiet(&request, err);
}

enum st_status stm_turn_pass(MPI_Comm comm, const int to[2], struct st_error *err)
{
    for (int i = 0; i < 2; i++) {
        if (to[i] >= 0) {
            STM_TRY(err, MPI_Send(NULL, 0, MPI_BYTE, to[i], STM_TAG_REPLY, comm));
        }
    }
    return ST_OK;
}
