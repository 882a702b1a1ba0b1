#include "src/record/disk.h"

#include "src/base/mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/*
 * The file driver (an HDF5 "virtual file driver" in the sense of the HDF5 reference manual,
 * H5FDregister). One driver for writing and reading:
 * - a failed write is noted and swallowed, see disk.h;
 * - reading past the end gives zeros, as HDF5's own POSIX driver does: HDF5 reads
 *   speculatively, and space that was allocated but not yet written is zero;
 * - no lock callbacks: HDF5 then takes no lock at all.
 */

/* HDF5 hands this around as its H5FD_t; the public part must come first. */
struct st_driver_file {
    H5FD_t public_part;
    struct st_disk *disk;
    haddr_t allocated; /* HDF5's "eoa" */
};

enum {
    ST_DRIVER_VALUE = 567
}; /* a number above those HDF5 >= 1.14 keeps for itself */

void st_disk_note(struct st_disk *disk, int error, const char *call)
{
    if (disk->error == 0) {
        disk->error = error != 0 ? error : EIO;
        disk->call = call;
    }
}

bool st_disk_read(struct st_disk *disk, uint64_t offset, void *data, size_t n)
{
    char *to = data;
    size_t done = 0;

    while (done < n) {
        const ssize_t got = pread(disk->fd, to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            st_disk_note(disk, got < 0 ? errno : EIO, "read");
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

bool st_disk_write(struct st_disk *disk, uint64_t offset, const void *data, size_t n)
{
    const char *from = data;
    size_t done = 0;

    while (done < n && disk->error == 0) {
        const ssize_t put =
            pwrite(disk->fd, from + done, n - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            st_disk_note(disk, put < 0 ? errno : ENOSPC, "write");
            break;
        }
        done += (size_t)put;
    }
    return disk->error == 0;
}

static const struct st_driver_file *const_file(const H5FD_t *file)
{
    return (const struct st_driver_file *)(const void *)file;
}

static struct st_driver_file *own_file(H5FD_t *file)
{
    return (struct st_driver_file *)(void *)file;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
    struct st_disk *const *info = H5Pget_driver_info(fapl);
    struct st_driver_file *f = NULL;

    (void)name;
    (void)maxaddr;
    if (info == NULL || *info == NULL) {
        return NULL;
    }
    f = st_calloc(NULL, 1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->disk = *info;
    if ((flags & H5F_ACC_TRUNC) != 0) {
        if (ftruncate(f->disk->fd, 0) != 0) {
            st_disk_note(f->disk, errno, "truncate");
        }
        f->disk->end = 0;
    }
    return &f->public_part;
}

static herr_t driver_close(H5FD_t *file)
{
    st_free(own_file(file)); /* the descriptor stays the caller's */
    return 0;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
#ifdef H5FD_FEAT_DEFAULT_VFD_COMPATIBLE
    *flags |= H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
#endif
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return const_file(file)->allocated;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    own_file(file)->allocated = address;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return const_file(file)->disk->end;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t address,
                          size_t size, void *buffer)
{
    struct st_disk *disk = own_file(file)->disk;
    size_t inside = 0;

    (void)type;
    (void)dxpl;
    if (address < disk->end) {
        inside = disk->end - address < size ? (size_t)(disk->end - address) : size;
    }
    memset((char *)buffer + inside, 0, size - inside);
    return inside == 0 || st_disk_read(disk, address, buffer, inside) ? 0 : -1;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t address,
                           size_t size, const void *buffer)
{
    struct st_disk *disk = own_file(file)->disk;

    (void)type;
    (void)dxpl;
    if (st_disk_write(disk, address, buffer, size) && address + size > disk->end) {
        disk->end = address + size;
    }
    return 0; /* never an error for HDF5: disk.h says why */
}

static herr_t driver_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
    struct st_driver_file *f = own_file(file);

    (void)dxpl;
    (void)closing;
    if (f->disk->writable && f->disk->error == 0 && f->allocated != f->disk->end) {
        if (ftruncate(f->disk->fd, (off_t)f->allocated) != 0) {
            st_disk_note(f->disk, errno, "truncate");
        } else {
            f->disk->end = f->allocated;
        }
    }
    return 0;
}

static const H5FD_class_t driver_class = {
#ifdef H5FD_CLASS_VERSION /* HDF5 1.14 and later */
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)ST_DRIVER_VALUE,
#endif
    .name = "seatrial",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree =
        H5F_CLOSE_STRONG, /* closing the file closes whatever an error left open */
    .fapl_size = sizeof(struct st_disk *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* 256 KiB of chunk cache per open dataset: four chunks; HDF5's default is 1 MiB, too much
 * with the two datasets per metric that stay open through a step. 521 slots and 0.75 are
 * HDF5's own defaults. */
static bool set_file_access(hid_t fapl, hid_t driver, struct st_disk *disk)
{
    return H5Pset_driver(fapl, driver, &disk) >= 0 &&
           H5Pset_cache(fapl, 0, 521, (size_t)256 << 10, 0.75) >= 0;
}

hid_t st_disk_open_hdf5(struct st_disk *disk, const char *name, bool create)
{
    const hid_t driver = H5FDregister(&driver_class);
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = -1;

    if (driver >= 0 && fapl >= 0 && set_file_access(fapl, driver, disk)) {
        if (create) {
            file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        } else {
            file = H5Fopen(name, disk->writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, fapl);
        }
    }
    if (fapl >= 0) {
        H5Pclose(fapl);
    }
    if (driver >= 0) {
        H5FDunregister(driver); /* an open file holds its own reference */
    }
    return file;
}
