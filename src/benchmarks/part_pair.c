/* Parts of the benchmarks of pairs. */
#include "src/benchmarks/part_pair.h"

#include "kernels/splitmix.h"
#include "mpi/comm.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_pair_kind.h"

#include <stdio.h>
#include <string.h>

enum {
    SMALL_BYTES = 8192, /* OSU: up to here 10 times more iterations */
    LINE_BYTES = 64
};

const char *const st_pair_pairings[] = {"halves", "nodes", "adjacent", NULL};

enum st_status st_pair_plan(const char *who, uint32_t pairing,
                            const struct st_shape *shape, size_t *n_pairs,
                            struct st_need *need, struct st_error *err)
{
    *n_pairs = stm_pair_count((enum stm_pairing)pairing, shape->n_ranks,
                              shape->max_ranks_per_node);
    const size_t n_idle = shape->n_ranks - 2 * *n_pairs;

    if (pairing == STM_PAIR_NODES && shape->n_nodes < 2) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "%s: pairing: nodes needs two nodes, this step has one; on one node "
            "take pairing: halves",
            who);
    }
    if (n_idle == 1) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "idle: 1 of %zu ranks has no partner%s", shape->n_ranks,
                       pairing == STM_PAIR_NODES ? "" : " (the last one)");
    } else if (n_idle > 1) {
        (void)snprintf(need->notes, sizeof need->notes,
                       "idle: %zu of %zu ranks have no partner on another node", n_idle,
                       shape->n_ranks);
    }
    return ST_OK;
}

static void find_own(int rank, struct st_pair_list *l)
{
    for (size_t k = 0; k < l->n; k++) {
        const struct stm_pair *pair = &l->pairs[k];
        if (pair->first == rank || pair->second == rank) {
            l->mine = k;
            l->is_first = pair->first == rank;
            l->peer = l->is_first ? pair->second : pair->first;
        }
    }
    if (l->mine == SIZE_MAX) {
        return;
    }
    if (l->mine > 0) {
        l->turn_from = l->pairs[l->mine - 1].first;
    }
    if (l->mine + 1 < l->n) {
        l->turn_to[0] = l->pairs[l->mine + 1].first;
        l->turn_to[1] = l->pairs[l->mine + 1].second;
    }
}

enum st_status st_pair_arrange(struct st_run *run, uint32_t pairing,
                               struct st_pair_list *out)
{
    *out = (struct st_pair_list){
        .mine = SIZE_MAX, .peer = -1, .turn_from = -1, .turn_to = {-1, -1}};
    enum st_status rc = stm_pair_up((enum stm_pairing)pairing, (size_t)run->comm.n_ranks,
                                    run->place->node_of, &out->pairs, &out->n, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    find_own(run->comm.rank, out);
    struct st_place *places = st_calloc(&run->err, out->n, sizeof *places);
    if (places == NULL) {
        return run->err.code;
    }
    for (size_t k = 0; k < out->n; k++) {
        const struct stm_pair *pair = &out->pairs[k];
        places[k] = (struct st_place){.owner = (size_t)pair->first,
                                      .a = (size_t)pair->first,
                                      .b = (size_t)pair->second};
    }
    rc = st_set_places(run, ST_PAIR, out->n, places);
    st_free(places);
    return rc;
}

size_t st_pair_batch(uint64_t message_bytes, uint64_t in_flight, uint64_t most)
{
    const uint64_t bytes = message_bytes > 0 ? message_bytes * in_flight : 1;
    /* As much data as `most` messages (windows) of the largest small size. */
    const uint64_t n = most * SMALL_BYTES * in_flight / bytes;

    return (size_t)(n < 1 ? 1 : n > most ? most : n);
}

size_t st_pair_place_bytes(uint64_t message_bytes)
{
    const size_t bytes = (size_t)message_bytes + ST_PAIR_GUARD_BYTES;

    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
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

enum st_status st_pair_kinds(struct st_run *run, const struct st_pair_list *list,
                             bool is_total)
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

    if (list->peer >= 0) {
        STM_TRY(&run->err,
                MPI_Sendrecv(&seat, (int)sizeof seat, MPI_BYTE, list->peer, STM_TAG_SETUP,
                             &other, (int)sizeof other, MPI_BYTE, list->peer,
                             STM_TAG_SETUP, run->comm.handle, MPI_STATUS_IGNORE));
        mine[st_pair_kind(&seat, &other)] = list->is_first ? 1 : 0;
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
