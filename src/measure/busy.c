/*
 * The load of ranks that take no part: one copy after the other between the halves of a
 * buffer that no cache of one core holds, in pieces short enough to see the end of the step
 * within a millisecond.
 */
#include "src/measure/busy.h"

#include "src/base/mem.h"

#include <string.h>

enum {
    HALF_BYTES = 64 << 20, /* beyond a core's share of any last-level cache */
    PIECE_BYTES = 1 << 20
};

struct busy {
    char *buffer; /* [2 HALF_BYTES] */
    size_t at;    /* of the next piece */
};

static void copy_piece(void *context)
{
    struct busy *busy = context;

    memcpy(busy->buffer + HALF_BYTES + busy->at, busy->buffer + busy->at, PIECE_BYTES);
    busy->at = (busy->at + PIECE_BYTES) % HALF_BYTES;
}

enum st_status st_busy_until_agreed(const struct stm_comm *world, struct st_error *err)
{
    struct busy busy = {.buffer = st_calloc(err, 2, HALF_BYTES)};

    if (busy.buffer == NULL) {
        return stm_agree_quiet(world, ST_ERR_MEMORY, err);
    }
    memset(busy.buffer, 1,
           (size_t)2 * HALF_BYTES); /* pages of its own, not the zero page */
    const struct stm_pastime copying = {copy_piece, &busy};
    const enum st_status rc = stm_agree_busy(world, ST_OK, &copying, err);
    st_free(busy.buffer);
    return rc;
}
