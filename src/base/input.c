/*
 * Files that may be compressed, as plain C streams: zlib behind a stream of the C library
 * (fopencookie), so that readers need not know. Memory: zlib's 64 KiB and the stream's buffer.
 */
#include "src/base/input.h"

#include <errno.h>
#include <string.h>

#include <zlib.h>

static ssize_t read_some(void *cookie, char *buffer, size_t size)
{
    const unsigned n = size < 1U << 20 ? (unsigned)size : 1U << 20;
    const int got = gzread((gzFile)cookie, buffer, n);
    int code = Z_OK;

    (void)gzerror((gzFile)cookie, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) { /* Z_BUF_ERROR: cut short */
        errno = code == Z_ERRNO ? errno : EILSEQ;
        return -1;
    }
    return got;
}

static int seek_to(void *cookie, off64_t *offset, int whence)
{
    const z_off_t at = gzseek((gzFile)cookie, (z_off_t)*offset, whence);

    *offset = at;
    return at < 0 ? -1 : 0;
}

static int close_it(void *cookie)
{
    return gzclose_r((gzFile)cookie) == Z_OK ? 0 : EOF;
}

static FILE *failed(const char *path, struct st_error *err)
{
    (void)st_fail(err, ST_ERR_STEP, "cannot open %s: %s", path, strerror(errno));
    return NULL;
}

FILE *st_input_open(const char *path, struct st_error *err)
{
    static const cookie_io_functions_t calls = {
        .read = read_some, .seek = seek_to, .close = close_it};
    FILE *plain = fopen(path, "rb");

    if (plain == NULL) {
        return failed(path, err);
    }
    const int first = getc(plain);
    const int second = getc(plain);
    if (first != 0x1f || second != 0x8b) { /* RFC 1952, 2.3.1 */
        if (fseek(plain, 0, SEEK_SET) == 0) {
            return plain;
        }
        (void)fclose(plain);
        return failed(path, err);
    }
    (void)fclose(plain);
    errno = 0;
    gzFile compressed = gzopen(path, "rb");
    if (compressed == NULL) {
        errno = errno != 0 ? errno : ENOMEM;
        return failed(path, err);
    }
    FILE *stream = fopencookie(compressed, "rb", calls);
    if (stream == NULL) {
        (void)gzclose_r(compressed);
        return failed(path, err);
    }
    return stream;
}
