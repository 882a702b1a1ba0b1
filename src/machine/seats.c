#include "src/machine/machine.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/machine/share.h"

/*
 * All seats of a step on rank 0. A seat travels as its struct, whose two texts follow it; the
 * rest of the step is known everywhere, so rank 0 knows how many to expect from whom.
 */

void st_seats_free(size_t n_seats, struct st_seat **seats)
{
    if (seats == NULL || *seats == NULL) {
        return;
    }
    for (size_t i = 0; i < n_seats; i++) {
        st_free((*seats)[i].planned);
        st_free((*seats)[i].verified);
    }
    st_free(*seats);
    *seats = NULL;
}

static void write_seats(const struct st_layout *layout, struct st_text *text)
{
    for (size_t t = 0; t < layout->n_seats; t++) {
        const struct st_seat *seat = &layout->seats[t];
        struct st_seat bare = *seat;
        bare.planned = NULL;
        bare.verified = NULL;
        const char has = seat->verified != NULL ? 1 : 0;
        st_text_add_bytes(text, (const char *)&bare, sizeof bare);
        st_text_add_bytes(text, &has, 1);
        st_write_text(text, seat->planned);
        st_write_text(text, seat->verified != NULL ? seat->verified : "");
    }
}

static enum st_status read_seats(const struct st_layout *layout,
                                 const struct st_share *share, size_t *n_out,
                                 struct st_seat **out, struct st_error *err)
{
    size_t n = 0;
    size_t done = 0;
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < layout->n_active; i++) {
        n += layout->active_threads[i];
    }
    struct st_seat *seats = st_calloc(err, n, sizeof *seats);
    if (seats == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; rc == ST_OK && i < layout->n_active; i++) {
        struct st_reader reader = st_reader_of(share, layout->active_ranks[i]);
        for (size_t t = 0; rc == ST_OK && t < layout->active_threads[i]; t++) {
            struct st_seat *seat = &seats[done++];
            char has = 0;
            st_read_bytes(&reader, seat, sizeof *seat);
            st_read_bytes(&reader, &has, 1);
            const char *planned = st_reader_text(&reader);
            const char *verified = st_reader_text(&reader);
            seat->planned = st_strdup(err, planned);
            seat->verified = has != 0 ? st_strdup(err, verified) : NULL;
            if (reader.failed) {
                rc = st_fail(err, ST_ERR_INTERNAL, "rank %zu sent broken seats",
                             layout->active_ranks[i]);
            } else if (seat->planned == NULL || (has != 0 && seat->verified == NULL)) {
                rc = ST_ERR_MEMORY;
            }
        }
    }
    if (rc != ST_OK) {
        st_seats_free(n, &seats);
        return rc;
    }
    *n_out = n;
    *out = seats;
    return ST_OK;
}

enum st_status st_layout_gather(const struct st_machine *machine,
                                const struct st_layout *layout, size_t *n_seats,
                                struct st_seat **seats, struct st_error *err)
{
    struct st_text mine = {0};
    struct st_share share = {0};
    size_t n = 0;
    struct st_seat *list = NULL;

    write_seats(layout, &mine);
    enum st_status rc = st_share_bytes(&machine->world, &mine, false, &share, err);
    st_text_clear(&mine);
    if (rc == ST_OK) {
        if (machine->world.rank == 0) {
            rc = read_seats(layout, &share, &n, &list, err);
        }
        rc = stm_agree(&machine->world, rc, err);
    }
    st_share_clear(&share);
    if (rc != ST_OK) {
        st_seats_free(n, &list);
        return rc;
    }
    *n_seats = n;
    *seats = list;
    return ST_OK;
}
