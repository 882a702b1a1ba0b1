#ifndef ST_RECORD_STORE_H
#define ST_RECORD_STORE_H

#include "src/base/status.h"
#include "src/record/disk.h"

#include <hdf5.h>
#include <stdbool.h>

/*
 * A results file as a whole. Writing never touches the file itself: a temporary copy beside
 * it, FILE.tmp-PID, is changed, sealed, synced and renamed over it. A kill at any instant
 * leaves the old file or the new one, complete. All functions are local.
 */

struct st_store {
    char *path; /**< the results file */
    char *temp; /**< the copy being written; NULL when reading */
    struct st_disk disk;
    hid_t file;
};

/** Start a new file (nothing is at @p path until the commit). Owned; commit or discard. */
enum st_status st_store_create(const char *path, struct st_store **out,
                               struct st_error *err);
/** Start a changed version of the file at @p path. Owned; commit or discard. */
enum st_status st_store_edit(const char *path, struct st_store **out,
                             struct st_error *err);
/**
 * Close, seal, sync and rename; @p store is gone afterwards, also on failure (the temporary
 * file is then removed and the old file is as it was).
 * @param replace  false: ST_ERR_IO if something is at the path by now
 */
enum st_status st_store_commit(struct st_store **store, bool replace,
                               struct st_error *err);
/** Close and remove the temporary file. Accepts NULL. Also closes a store for reading. */
void st_store_discard(struct st_store **store);
/** Open for reading, the seal checked. ST_ERR_IO: missing, not HDF5, damaged. */
enum st_status st_store_open(const char *path, struct st_store **out,
                             struct st_error *err);

/**
 * If a disk error lies behind the failure in @p err, put it in the text's place: it is the
 * cause, HDF5's complaint only follows. @return ST_ERR_IO, or err->code if there is none
 */
enum st_status st_store_blame(const struct st_store *store, struct st_error *err);
/** True for the errors that mean "full": ENOSPC, EDQUOT, EFBIG. */
bool st_store_is_full(int error);

/** Remove FILE.tmp-PID left behind by killed writers whose process is gone from this host. */
void st_store_sweep(const char *path);

#endif
