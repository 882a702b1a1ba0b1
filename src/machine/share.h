#ifndef ST_MACHINE_SHARE_H
#define ST_MACHINE_SHARE_H

#include "mpi/comm.h"
#include "src/base/text.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Byte strings of unequal length from every rank, in rank order: how tables travel while the
 * machine is opened and when seats are gathered. Private to src/machine.
 */

struct st_share {
    size_t n; /**< ranks of the communicator */
    size_t
        *start; /**< [n + 1] rank r's bytes are data[start[r]] … data[start[r + 1] - 1] */
    char *data; /**< owned */
};

/**
 * Everybody's bytes on rank 0, or on all ranks if @p to_all. Collective over @p comm;
 * @p to_all equal on all. A failed buffer (mine->failed) or allocation on one rank becomes
 * every rank's error.
 * @param out left empty where nothing arrives; st_share_clear()
 */
enum st_status st_share_bytes(const struct stm_comm *comm, const struct st_text *mine,
                              bool to_all, struct st_share *out, struct st_error *err);
void st_share_clear(struct st_share *share);

/** Reading a byte string field by field. */
struct st_reader {
    const char *at, *end;
    bool failed; /**< a field was longer than what is left */
};
struct st_reader st_reader_of(const struct st_share *share, size_t rank);
/** Next @p n bytes into @p out (untouched on failure). */
void st_read_bytes(struct st_reader *reader, void *out, size_t n);
/** Next terminated text, borrowed from the share; "" on failure. */
const char *st_reader_text(struct st_reader *reader);
/** The counterpart: text with its terminator. */
void st_write_text(struct st_text *out, const char *text);

#endif
