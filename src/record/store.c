#include "src/record/store.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/record/h5.h"
#include "src/record/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Copy, change, seal, sync, rename (header). The copy is a reflink where the file system has
 * them (XFS, Btrfs), else made inside the kernel, else read and written, so that rank 0
 * needs no memory for it.
 */

enum {
    COPY_PIECE = 1 << 20
};

bool st_store_is_full(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

enum st_status st_store_blame(const struct st_store *store, struct st_error *err)
{
    if (store->disk.error == 0) {
        return err != NULL ? err->code : ST_ERR_IO;
    }
    return st_fail(err, ST_ERR_IO, "%s of '%s' failed: %s", store->disk.call,
                   store->temp != NULL ? store->temp : store->path,
                   st_store_is_full(store->disk.error)
                       ? "no space left there (disk, quota or file size limit)"
                       : strerror(store->disk.error));
}

void st_store_discard(struct st_store **store)
{
    struct st_store *s = *store;

    if (s == NULL) {
        return;
    }
    if (s->file >= 0) {
        H5Fclose(s->file); /* what it could not write does not matter any more */
    }
    if (s->disk.fd >= 0) {
        close(s->disk.fd);
    }
    if (s->temp != NULL) {
        unlink(s->temp);
    }
    st_free(s->temp);
    st_free(s->path);
    st_free(s);
    *store = NULL;
}

static enum st_status store_alloc(const char *path, struct st_store **out,
                                  struct st_error *err)
{
    struct st_store *s = st_calloc(err, 1, sizeof *s);

    if (s == NULL) {
        return ST_ERR_MEMORY;
    }
    st_h5_quiet();
    s->file = -1;
    s->disk.fd = -1;
    s->path = st_strdup(err, path);
    if (s->path == NULL) {
        st_free(s);
        return ST_ERR_MEMORY;
    }
    *out = s;
    return ST_OK;
}

/* The temporary file, in the same folder so that rename() can work. Mode follows umask. */
static enum st_status open_temp(struct st_store *s, struct st_error *err)
{
    struct st_text name = {0};
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = -1;

    st_text_add(&name, "%s.tmp-%ld", s->path, (long)getpid());
    if (name.failed) {
        st_text_clear(&name);
        return st_fail(err, ST_ERR_MEMORY, "no memory for the name of '%s'", s->path);
    }
    fd = open(name.data, flags, 0666);
    if (fd < 0 && errno == EEXIST) { /* left by an earlier process with our number */
        unlink(name.data);
        fd = open(name.data, flags, 0666);
    }
    if (fd < 0) {
        st_fail(err, ST_ERR_IO,
                "cannot write beside '%s': %s; name a file in a folder that exists and "
                "can be "
                "written to",
                s->path, strerror(errno));
        st_text_clear(&name);
        return ST_ERR_IO;
    }
    s->temp = name.data; /* the text's memory is from st_resize(), freed by discard */
    s->disk.fd = fd;
    s->disk.writable = true;
    return ST_OK;
}

static enum st_status open_hdf5(struct st_store *s, bool create, struct st_error *err)
{
    s->file = st_disk_open_hdf5(&s->disk, s->temp != NULL ? s->temp : s->path, create);
    if (s->file >= 0) {
        return ST_OK;
    }
    st_h5_fail(err, -1, s->path, create ? "create" : "open");
    return st_store_blame(s, err);
}

enum st_status st_store_create(const char *path, struct st_store **out,
                               struct st_error *err)
{
    struct st_store *s = NULL;
    enum st_status rc = store_alloc(path, &s, err);

    if (rc == ST_OK) {
        rc = open_temp(s, err);
    }
    if (rc == ST_OK) {
        rc = open_hdf5(s, true, err);
    }
    if (rc != ST_OK) {
        st_store_discard(&s);
        return rc;
    }
    *out = s;
    return ST_OK;
}

/* The slow way: any file system. Stops at the first error noted. */
static void copy_by_hand(struct st_disk *from, struct st_disk *to, uint64_t at)
{
    char *piece = st_calloc(NULL, 1, COPY_PIECE);

    if (piece == NULL) {
        st_disk_note(to, ENOMEM, "copy");
        return;
    }
    while (at < from->end && to->error == 0) {
        const uint64_t left = from->end - at;
        const size_t n = left < COPY_PIECE ? (size_t)left : COPY_PIECE;
        if (!st_disk_read(from, at, piece, n)) {
            st_disk_note(to, from->error, "read for the copy");
        }
        st_disk_write(to, at, piece, n);
        at += n;
    }
    st_free(piece);
}

/* The content without its seal: the new version gets its own. */
static void copy_content(struct st_disk *from, struct st_disk *to)
{
    uint64_t at = 0;

    to->end = from->end;
    if (ioctl(to->fd, FICLONE, from->fd) == 0) {
        if (ftruncate(to->fd, (off_t)from->end) != 0) {
            st_disk_note(to, errno, "truncate");
        }
        return;
    }
    while (at < from->end) {
        off_t in = (off_t)at;
        off_t out = (off_t)at;
        const ssize_t n =
            copy_file_range(from->fd, &in, to->fd, &out, (size_t)(from->end - at), 0);
        if (n > 0) {
            at += (uint64_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && st_store_is_full(errno)) {
            st_disk_note(to, errno, "copy");
            return;
        } else {
            break; /* not across these file systems or kernels: the slow way decides */
        }
    }
    copy_by_hand(from, to, at);
}

static enum st_status open_old(struct st_store *s, struct st_disk *old, struct stat *info,
                               struct st_error *err)
{
    old->fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (old->fd < 0 || fstat(old->fd, info) != 0) {
        return st_fail(err, ST_ERR_IO, "cannot open '%s' to add to it: %s", s->path,
                       strerror(errno));
    }
    if (st_seal_check(old, (uint64_t)info->st_size, false) != ST_SEAL_GOOD) {
        return st_fail(
            err, ST_ERR_IO,
            "'%s' was changed by another program since it was written; it is left "
            "as it is",
            s->path);
    }
    return ST_OK;
}

static enum st_status copy_old(struct st_store *s, struct st_error *err)
{
    struct st_disk old = {.fd = -1};
    struct stat info;
    enum st_status rc = open_old(s, &old, &info, err);

    if (rc == ST_OK) {
        copy_content(&old, &s->disk);
        if (fchmod(s->disk.fd, info.st_mode & 07777) != 0) {
            st_disk_note(&s->disk, errno, "change of the mode");
        }
        if (s->disk.error != 0) {
            rc = st_store_blame(s, err);
        }
    }
    if (old.fd >= 0) {
        close(old.fd);
    }
    return rc;
}

enum st_status st_store_edit(const char *path, struct st_store **out,
                             struct st_error *err)
{
    struct st_store *s = NULL;
    enum st_status rc = store_alloc(path, &s, err);

    if (rc == ST_OK) {
        rc = open_temp(s, err);
    }
    if (rc == ST_OK) {
        rc = copy_old(s, err);
    }
    if (rc == ST_OK) {
        rc = open_hdf5(s, false, err);
    }
    if (rc != ST_OK) {
        st_store_discard(&s);
        return rc;
    }
    *out = s;
    return ST_OK;
}

/* Makes the new name durable. Some file systems cannot sync a folder (EINVAL): theirs to
 * decide; the rename itself is atomic all the same. */
static enum st_status sync_folder(const char *path, struct st_error *err)
{
    const char *slash = strrchr(path, '/');
    struct st_text folder = {0};
    int fd = -1;
    int error = 0;

    if (slash == NULL) {
        st_text_add(&folder, ".");
    } else {
        st_text_add_bytes(&folder, path, (size_t)(slash - path) + 1);
    }
    fd = folder.failed ? -1 : open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        error = fsync(fd) != 0 ? errno : 0;
        close(fd);
    }
    st_text_clear(&folder);
    if (error != 0 && error != EINVAL && error != ENOTSUP && error != EROFS) {
        return st_fail(err, ST_ERR_IO,
                       "'%s' was written, but its folder cannot be synced: %s", path,
                       strerror(error));
    }
    return ST_OK;
}

/* Flush and close of HDF5, then seal, fsync and close, each checked. */
static enum st_status finish_temp(struct st_store *s, struct st_error *err)
{
    bool good = H5Fflush(s->file, H5F_SCOPE_LOCAL) >= 0;

    if (!good) {
        st_h5_fail(err, -1, s->path, "flush");
    }
    if (H5Fclose(s->file) < 0 && good) {
        good = false;
        st_h5_fail(err, -1, s->path, "close");
    }
    s->file = -1;
    if (good) {
        st_seal_write(&s->disk);
    }
    if (s->disk.error == 0 && fsync(s->disk.fd) != 0) {
        st_disk_note(&s->disk, errno, "fsync");
    }
    if (close(s->disk.fd) != 0) {
        st_disk_note(&s->disk, errno, "close");
    }
    s->disk.fd = -1;
    return good && s->disk.error == 0 ? ST_OK : st_store_blame(s, err);
}

/* First version: link() refuses an existing name, unlike rename(). Where there are no hard
 * links the name was looked up before; the moment between is the best that is left. */
static enum st_status put_new(struct st_store *s, struct st_error *err)
{
    if (link(s->temp, s->path) == 0) {
        return ST_OK; /* discard removes the other name */
    }
    if (errno == EEXIST || access(s->path, F_OK) == 0) {
        return st_fail(err, ST_ERR_IO, "'%s' appeared while this run started; it is kept",
                       s->path);
    }
    if (rename(s->temp, s->path) != 0) {
        return st_fail(err, ST_ERR_IO, "cannot name the results file '%s': %s", s->path,
                       strerror(errno));
    }
    return ST_OK;
}

enum st_status st_store_commit(struct st_store **store, bool replace,
                               struct st_error *err)
{
    struct st_store *s = *store;
    enum st_status rc = finish_temp(s, err);

    if (rc == ST_OK && !replace) {
        rc = put_new(s, err);
    } else if (rc == ST_OK && rename(s->temp, s->path) != 0) {
        rc = st_fail(err, ST_ERR_IO, "cannot replace '%s': %s", s->path, strerror(errno));
    }
    if (rc == ST_OK) {
        rc = sync_folder(s->path, err);
    }
    st_store_discard(
        store); /* its unlink() of the temporary name finds nothing after rename */
    return rc;
}

static enum st_status check_signature(struct st_store *s, struct st_error *err)
{
    static const unsigned char signature[8] = {0x89, 'H',  'D',  'F',
                                               '\r', '\n', 0x1a, '\n'};
    unsigned char start[8];

    if (s->disk.end < sizeof start) {
        return st_fail(err, ST_ERR_IO, "'%s' is not a results file: it has %llu bytes",
                       s->path, (unsigned long long)s->disk.end);
    }
    if (!st_disk_read(&s->disk, 0, start, sizeof start)) {
        return st_store_blame(s, err);
    }
    if (memcmp(start, signature, sizeof start) != 0) {
        return st_fail(err, ST_ERR_IO, "'%s' is not a results file: not HDF5", s->path);
    }
    return ST_OK;
}

static enum st_status check_file(struct st_store *s, struct st_error *err)
{
    struct stat info;

    s->disk.fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->disk.fd < 0 || fstat(s->disk.fd, &info) != 0) {
        return st_fail(err, ST_ERR_IO, "cannot open '%s': %s", s->path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return st_fail(err, ST_ERR_IO, "'%s' is not a results file: not a regular file",
                       s->path);
    }
    switch (st_seal_check(&s->disk, (uint64_t)info.st_size, true)) {
    case ST_SEAL_BROKEN:
        return st_fail(
            err, ST_ERR_IO,
            "'%s' is damaged: its content does not match its checksum; take a copy "
            "from a backup",
            s->path);
    case ST_SEAL_UNREADABLE:
        return st_store_blame(s, err);
    case ST_SEAL_ABSENT:
    case ST_SEAL_GOOD:
        break;
    }
    return check_signature(s, err);
}

enum st_status st_store_open(const char *path, struct st_store **out,
                             struct st_error *err)
{
    struct st_store *s = NULL;
    enum st_status rc = store_alloc(path, &s, err);

    if (rc == ST_OK) {
        rc = check_file(s, err);
    }
    if (rc == ST_OK) {
        rc = open_hdf5(s, false, err);
    }
    if (rc != ST_OK) {
        st_store_discard(&s);
        return rc;
    }
    *out = s;
    return ST_OK;
}
