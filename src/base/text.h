#ifndef ST_BASE_TEXT_H
#define ST_BASE_TEXT_H

#include "src/base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text: numbers in and out with a point as decimal mark, growing buffers, near names. */

/** Set LC_NUMERIC (all of LC_ALL) to "C"; called at start and again after MPI_Init. */
void st_text_pin_locale(void);

/** Whole text as decimal unsigned 64-bit integer; false for signs, blanks, junk, overflow. */
bool st_parse_u64(const char *text, uint64_t *out);
/** Whole text as finite decimal double; false for junk, nan, inf, hex, overflow. */
bool st_parse_double(const char *text, double *out);
/**
 * Longest decimal number at the start of @p text (sign, digits, point, exponent).
 * @return its length, 0 if there is none or it is not finite
 */
size_t st_parse_number_prefix(const char *text, double *out);

/** Growing text buffer; zero-initialise. A failed allocation sets @c failed and is kept. */
struct st_text {
    char *data; /**< NUL-terminated once something was added; owned */
    size_t length;
    size_t capacity;
    bool failed;
};
/** Append printf-style text (decimal point in every locale), or bytes. Local. */
void st_text_add(struct st_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void st_text_add_bytes(struct st_text *text, const char *bytes, size_t n);
/** The content, "" if empty; borrowed until the next call on @p text. */
const char *st_text_get(const struct st_text *text);
/** Free the content and start anew, @c failed included. */
void st_text_clear(struct st_text *text);

/**
 * As snprintf(), but with a point as decimal mark in every locale, always terminated, and
 * never cut inside a UTF-8 character. Local. @return false if cut (or @p size is 0)
 */
bool st_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** st_print() with an argument list. */
bool st_print_list(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/** The largest m <= n such that the first m bytes of @p text end with a whole UTF-8
 * character; @p text has more than n bytes (or is terminated there). */
size_t st_whole_characters(const char *text, size_t n);

/** Copy with truncation between characters, always terminated; @p size > 0. @return false if cut */
bool st_copy(char *out, size_t size, const char *text);

/**
 * The name most like @p word by edit distance (transposition counts 1), or NULL if none is
 * near (distance > max(1, length / 3)). Case does not count; of equally near names one with the
 * same first letter is taken, then the first.
 * @param names [n] borrowed
 */
const char *st_nearest(const char *word, size_t n, const char *const *names);

/** Read a whole small file (sysfs, proc, config). @return owned text
 * (st_free(); terminated, @p n_bytes without the terminator, NULL if not wanted), or NULL with
 * ST_ERR_IO or ST_ERR_MEMORY in @p err; a file above @p max_bytes is refused, not cut. */
char *st_read_file(struct st_error *err, const char *path, size_t max_bytes,
                   size_t *n_bytes);

#endif
