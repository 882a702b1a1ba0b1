#ifndef ST_RECORD_SEAL_H
#define ST_RECORD_SEAL_H

#include "src/record/disk.h"

/*
 * The seal: 32 bytes after the end of the HDF5 content, which HDF5 readers do not look at:
 * a name, the length of the content and its checksum. HDF5 1.10 follows damaged metadata
 * into crashes and endless loops, and has no checksum for the numbers themselves; the seal
 * is checked before HDF5 sees a byte. Tools that rewrite a file (h5py, h5repack) drop the
 * seal; such a file is read without the check.
 */

enum {
    ST_SEAL_BYTES = 32
};

enum st_seal_state {
    ST_SEAL_GOOD,
    ST_SEAL_ABSENT,
    ST_SEAL_BROKEN,
    ST_SEAL_UNREADABLE
};

/** Append the seal behind disk->end bytes of content. Local. @return disk->error == 0 */
bool st_seal_write(struct st_disk *disk);
/**
 * Check a file of @p file_bytes and set disk->end to the length of its content. Local.
 * Cost: one read of the whole file.
 * @param check  false: find the end of the content only (for a copy of a checked file)
 */
enum st_seal_state st_seal_check(struct st_disk *disk, uint64_t file_bytes, bool check);

#endif
