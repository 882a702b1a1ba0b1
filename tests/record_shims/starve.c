#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * LD_PRELOAD library for tests of the record folder.
 * SHIM_BYTES=N   after N bytes, writing to files whose name has ".tmp-" fails with ENOSPC
 * SHIM_CLOSE=1   close() of such a file fails with EIO (as NFS does for late errors)
 * SHIM_FSYNC=1   fsync() of such a file fails with EIO
 * SHIM_LOCK=N    every lock fails with errno N (37 ENOLCK, 524 ENOTSUPP of Lustre and DVS)
 */

static atomic_llong written;

static long long setting(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoll(text, NULL, 10) : -1;
}

static int is_temporary(int fd)
{
    char link[64];
    char name[4096];
    ssize_t n = 0;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    return strstr(name, ".tmp-") != NULL;
}

/* Bytes of @p n that may still be written; a partial write first, as a real disk does. */
static size_t allowance(int fd, size_t n)
{
    const long long limit = setting("SHIM_BYTES");
    long long left = 0;

    if (limit < 0 || !is_temporary(fd)) {
        return n;
    }
    left = limit - atomic_load(&written);
    if (left <= 0 && n > 0) {
        return 0;
    }
    n = (long long)n < left ? n : (size_t)left;
    atomic_fetch_add(&written, (long long)n);
    return n;
}

#define REAL(type, name) ((type)(intptr_t)dlsym(RTLD_NEXT, name))

ssize_t write(int fd, const void *data, size_t n)
{
    const size_t allowed = allowance(fd, n);

    if (allowed == 0 && n > 0) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(ssize_t(*)(int, const void *, size_t), "write")(fd, data, allowed);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    const size_t allowed = allowance(fd, n);

    if (allowed == 0 && n > 0) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(ssize_t(*)(int, const void *, size_t, off_t), "pwrite")(fd, data, allowed,
                                                                        at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    return pwrite(fd, data, n, (off_t)at);
}

ssize_t copy_file_range(int from, off64_t *at_from, int to, off64_t *at_to, size_t n,
                        unsigned flags)
{
    const size_t allowed = allowance(to, n);

    if (allowed == 0 && n > 0) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned),
                "copy_file_range")(from, at_from, to, at_to, allowed, flags);
}

int fsync(int fd)
{
    if (setting("SHIM_FSYNC") == 1 && is_temporary(fd)) {
        errno = EIO;
        return -1;
    }
    return REAL(int (*)(int), "fsync")(fd);
}

int close(int fd)
{
    if (setting("SHIM_CLOSE") == 1 && is_temporary(fd)) {
        (void)REAL(int (*)(int), "close")(fd);
        errno = EIO;
        return -1;
    }
    return REAL(int (*)(int), "close")(fd);
}

int flock(int fd, int operation)
{
    if (setting("SHIM_LOCK") >= 0) {
        errno = (int)setting("SHIM_LOCK");
        return -1;
    }
    return REAL(int (*)(int, int), "flock")(fd, operation);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    void *argument = NULL;

    va_start(arguments, command);
    argument = va_arg(arguments, void *); /* ints pass through unharmed on our systems */
    va_end(arguments);
    if (setting("SHIM_LOCK") >= 0 && (command == F_SETLK || command == F_SETLKW)) {
        errno = (int)setting("SHIM_LOCK");
        return -1;
    }
    return REAL(int (*)(int, int, ...), "fcntl")(fd, command, argument);
}
