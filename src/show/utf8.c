/*
 * UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include "src/show/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t st_utf8_next(const char *text, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)text[0];
    size_t n = 1;
    uint32_t c = first;

    *code = ST_REPLACEMENT;
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    if (first >= 0xC0 && first < 0xE0) {
        n = 2;
        c = first & 0x1FU;
    } else if (first >= 0xE0 && first < 0xF0) {
        n = 3;
        c = first & 0x0FU;
    } else if (first >= 0xF0 && first < 0xF8) {
        n = 4;
        c = first & 0x07U;
    } else {
        return 1;
    }
    for (size_t i = 1; i < n; i++) {
        const unsigned char next =
            (unsigned char)text[i]; /* NUL is no continuation: ends here */
        if ((next & 0xC0U) != 0x80U) {
            return 1;
        }
        c = (c << 6) | (next & 0x3FU);
    }
    if (c < smallest[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        return 1;
    }
    *code = c;
    return n;
}

size_t st_utf8_width(const char *text)
{
    size_t width = 0;
    uint32_t code = 0;

    while (*text != '\0') {
        text += st_utf8_next(text, &code);
        width++;
    }
    return width;
}

const char *st_utf8_clean(char *out, size_t size, const char *text)
{
    size_t used = 0;

    while (*text != '\0') {
        uint32_t code = 0;
        const size_t n = st_utf8_next(text, &code);
        const bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
        const bool is_bad = is_control || (code == ST_REPLACEMENT && n == 1);
        if (used + (is_bad ? 1 : n) >= size) {
            break;
        }
        if (is_bad) {
            out[used++] = '?';
        } else {
            memcpy(out + used, text, n);
            used += n;
        }
        text += n;
    }
    out[used] = '\0';
    return out;
}
