#ifndef ST_RECORD_DISK_H
#define ST_RECORD_DISK_H

#include "src/base/status.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The bytes under HDF5: a file driver of our own. HDF5 is known to crash or to lose the
 * error when a write fails under it and the file is then closed, so it never learns of one:
 * the driver keeps the first error for us, leaves the disk alone from then on, and tells
 * HDF5 that all is well. The caller looks at `error` before it trusts the file.
 */

/** An open file; fd is the caller's, borrowed by HDF5 while its file is open. */
struct st_disk {
    int fd;
    int error;        /**< errno of the first failed call, 0: none */
    const char *call; /**< name of that call */
    uint64_t end;     /**< bytes HDF5 may see: file size without the seal */
    bool writable;
};

/** Remember the first failure only; later ones follow from it. Local. */
void st_disk_note(struct st_disk *disk, int error, const char *call);

/**
 * Open @p disk with HDF5. Local; no file locks are taken (they fail on many parallel file
 * systems, and replacing the whole file makes them needless).
 * @param create  start an empty HDF5 file
 * @return an HDF5 file id, negative on failure (HDF5's error stack tells)
 */
hid_t st_disk_open_hdf5(struct st_disk *disk, const char *name, bool create);

/** Read exactly @p n bytes at @p offset. Local. @return false with disk->error set */
bool st_disk_read(struct st_disk *disk, uint64_t offset, void *data, size_t n);
/** Write all bytes at @p offset unless an error is noted already. Local. @return error == 0 */
bool st_disk_write(struct st_disk *disk, uint64_t offset, const void *data, size_t n);

#endif
