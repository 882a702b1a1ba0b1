#ifndef ST_SHOW_UTF8_H
#define ST_SHOW_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Private to src/show: text that came from a file may hold any bytes. All local. */

/** What stands for bytes that are not UTF-8 (U+FFFD). */
enum {
    ST_REPLACEMENT = 0xFFFD
};

/**
 * The character at @p text, which must not be at its terminating NUL.
 * @param[out] code  its code point; ST_REPLACEMENT for a byte that starts no valid sequence
 * @return bytes it takes, >= 1
 */
size_t st_utf8_next(const char *text, uint32_t *code);

/** Terminal columns of a text, one per character. */
size_t st_utf8_width(const char *text);

/**
 * Copy for people: control characters and invalid bytes become '?', so that no file can steer a
 * terminal. Cut at a character's border. @return @p out
 */
const char *st_utf8_clean(char *out, size_t size, const char *text);

#endif
