/* Parts of the benchmarks of pairs. */
#include "src/benchmarks/part_pair.h"

#include "kernels/splitmix.h"
#include "mpi/comm.h"
#include "src/benchmarks/part_pair_kind.h"

#include <stdio.h>
#include <string.h>

enum {
    SMALL_BYTES = 8192 /* OSU: up to here 10 times more iterations */
};

size_t st_pair_batch(uint64_t message_bytes, uint64_t in_flight, uint64_t most)
{
    const uint64_t bytes = message_bytes > 0 ? message_bytes * in_flight : 1;
    /* As much data as `most` messages (windows) of the largest small size. */
    const uint64_t n = most * SMALL_BYTES * in_flight / bytes;

    return (size_t)(n < 1 ? 1 : n > most ? most : n);
}

/* Bytes 8 i … 8 i + 7 of message @p m from rank @p rank, the lowest first. */
static uint64_t word(int rank, size_t m, size_t i)
{
    return stk_random_u64(((uint64_t)rank << 32) + m, i);
}

static char byte_of(uint64_t w, size_t i)
{
    return (char)(w >> (8 * (i % 8)) & 0xFFU);
}

void st_pair_fill(char *place, size_t bytes, int rank, size_t m)
{
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t w = word(rank, m, i / 8);
        for (size_t k = i; k < i + 8 && k < bytes; k++) {
            place[k] = byte_of(w, k);
        }
    }
}

void st_pair_guard(char *place, size_t bytes)
{
    (void)memset(place + bytes, 0xA5, ST_PAIR_GUARD_BYTES);
}

/* First byte of the place that is wrong; bytes + guard if none. */
static size_t first_wrong(const char *place, size_t bytes, int rank, size_t m)
{
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t w = word(rank, m, i / 8);
        for (size_t k = i; k < i + 8 && k < bytes; k++) {
            if (place[k] != byte_of(w, k)) {
                return k;
            }
        }
    }
    for (size_t i = bytes; i < bytes + ST_PAIR_GUARD_BYTES; i++) {
        if (place[i] != (char)0xA5) {
            return i;
        }
    }
    return bytes + ST_PAIR_GUARD_BYTES;
}

void st_pair_check(const char *place, size_t bytes, int rank, size_t m,
                   struct st_check *check)
{
    const size_t wrong = first_wrong(place, bytes, rank, m);
    char what[128] = "message";

    if (wrong < bytes + ST_PAIR_GUARD_BYTES) {
        (void)snprintf(what, sizeof what, "message %zu from rank %d: byte %zu of %zu%s",
                       m, rank, wrong, bytes, wrong < bytes ? "" : " (behind its end)");
    }
    st_check_true(check, wrong == bytes + ST_PAIR_GUARD_BYTES, what);
}

enum st_status st_pair_kinds(struct st_run *run, int peer, bool is_first, bool is_total)
{
    const struct st_thread_place *thread = run->place->threads;
    const struct st_pair_seat seat = {.node = run->place->node,
                                      .package =
                                          thread != NULL ? thread->package : SIZE_MAX,
                                      .l3 = thread != NULL ? thread->l3 : SIZE_MAX};
    struct st_pair_seat other = seat;
    int mine[ST_PAIR_N_KINDS] = {0};
    int all[ST_PAIR_N_KINDS] = {0};
    char text[256];

    if (peer >= 0) {
        STM_TRY(&run->err,
                MPI_Sendrecv(&seat, (int)sizeof seat, MPI_BYTE, peer, STM_TAG_SETUP,
                             &other, (int)sizeof other, MPI_BYTE, peer, STM_TAG_SETUP,
                             run->comm.handle, MPI_STATUS_IGNORE));
        mine[st_pair_kind(&seat, &other)] = is_first ? 1 : 0;
    }
    STM_TRY(&run->err, MPI_Allreduce(mine, all, ST_PAIR_N_KINDS, MPI_INT, MPI_SUM,
                                     run->comm.handle));
    st_pair_kinds_text(all, text, sizeof text);
    if (text[0] == '\0') {
        return ST_OK;
    }
    if (is_total) {
        return st_fail(&run->err, ST_ERR_UNSUPPORTED,
                       "%s: their sum would be neither's rate; take pairing: nodes or "
                       "adjacent, or a layout in which all pairs are alike",
                       text);
    }
    st_remark(run, text);
    return ST_OK;
}
