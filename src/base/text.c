#include "src/base/text.h"

#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Numbers are read and printed in a "C" locale that is put in place for the one call and
 * only for the calling thread: a library that calls setlocale() behind our back cannot turn
 * points into commas (CASES 51). st_text_pin_locale() does the same for everyone else's code.
 */

void st_text_pin_locale(void)
{
    (void)setlocale(LC_ALL, "C"); /* "C" always exists */
}

/* Enter and leave the "C" locale of this thread; for "C" newlocale() costs nothing in glibc. */
struct c_locale {
    locale_t own, before;
};

static struct c_locale enter_c_locale(void)
{
    struct c_locale l = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0)};

    if (l.own != (locale_t)0) {
        l.before = uselocale(l.own);
    }
    return l;
}

static void leave_c_locale(struct c_locale l)
{
    if (l.own != (locale_t)0) {
        uselocale(l.before);
        freelocale(l.own);
    }
}

size_t st_whole_characters(const char *text, size_t n)
{
    /* Bytes 10xxxxxx continue a character: if the first byte that is left out is one, its
     * whole character goes. */
    while (n > 0 && ((unsigned char)text[n] & 0xC0U) == 0x80U) {
        n--;
    }
    return n;
}

bool st_print_list(char *out, size_t size, const char *format, va_list arguments)
{
    if (size == 0) {
        return false;
    }
    const struct c_locale l = enter_c_locale();
    const int length = vsnprintf(out, size, format, arguments);
    leave_c_locale(l);
    if (length < 0) {
        out[0] = '\0';
        return false;
    }
    if ((size_t)length < size) {
        return true;
    }
    /* What followed is not known: drop a character that the cut may have split. */
    size_t end = size - 1;
    while (end > 0 && ((unsigned char)out[end - 1] & 0xC0U) == 0x80U) {
        end--;
    }
    if (end > 0 && ((unsigned char)out[end - 1] & 0xC0U) == 0xC0U) {
        end--;
    } else {
        end = size - 1;
    }
    out[end] = '\0';
    return false;
}

bool st_print(char *out, size_t size, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const bool whole = st_print_list(out, size, format, arguments);
    va_end(arguments);
    return whole;
}

bool st_copy(char *out, size_t size, const char *text)
{
    const size_t length = strlen(text);

    if (length < size) {
        memcpy(out, text, length + 1);
        return true;
    }
    const size_t kept = st_whole_characters(text, size - 1);
    memcpy(out, text, kept);
    out[kept] = '\0';
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text)
{
    size_t n = 0;

    while (is_digit(text[n])) {
        n++;
    }
    return n;
}

bool st_parse_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;

    if (*text == '\0') {
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (!is_digit(*c) || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* Length of sign, digits, point, exponent at the start of the text; 0: no number there. */
static size_t number_length(const char *text)
{
    size_t length = (*text == '+' || *text == '-') ? 1 : 0;
    const size_t n_whole = count_digits(text + length);
    size_t n_fraction = 0;

    length += n_whole;
    if (text[length] == '.') {
        n_fraction = count_digits(text + length + 1);
        length += n_whole + n_fraction > 0 ? 1 + n_fraction : 0;
    }
    if (n_whole + n_fraction == 0) {
        return 0;
    }
    if (text[length] == 'e' || text[length] == 'E') {
        const size_t sign = (text[length + 1] == '+' || text[length + 1] == '-') ? 1 : 0;
        const size_t n_exponent = count_digits(text + length + 1 + sign);
        length += n_exponent > 0 ? 1 + sign + n_exponent : 0;
    }
    return length;
}

size_t st_parse_number_prefix(const char *text, double *out)
{
    const size_t length = number_length(text);
    char *end = NULL;

    if (length == 0) {
        return 0;
    }
    const struct c_locale l = enter_c_locale();
    double value = strtod(text, &end);
    leave_c_locale(l);
    if (end != text + length) {
        value =
            0.0; /* only "0x…": strtod() went on in hexadecimal, our number is the 0 */
    }
    if (!isfinite(value)) {
        return 0;
    }
    *out = value;
    return length;
}

bool st_parse_double(const char *text, double *out)
{
    double value = 0.0;
    const size_t length = st_parse_number_prefix(text, &value);

    if (length == 0 || text[length] != '\0') {
        return false;
    }
    *out = value;
    return true;
}

/* Room for n more bytes and the terminator. */
static bool make_room(struct st_text *text, size_t n)
{
    size_t wanted = 0;

    if (text->failed || !st_add_size(text->length, n, &wanted) ||
        !st_add_size(wanted, 1, &wanted)) {
        text->failed = true;
        return false;
    }
    if (text->data != NULL && wanted <= text->capacity) {
        return true;
    }
    const size_t doubled = text->capacity <= SIZE_MAX / 2 ? 2 * text->capacity : SIZE_MAX;
    const size_t capacity = wanted > doubled ? wanted : doubled;
    char *data = st_resize(NULL, text->data, capacity, 1);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void st_text_add_bytes(struct st_text *text, const char *bytes, size_t n)
{
    if (make_room(text, n)) {
        memcpy(text->data + text->length, bytes, n);
        text->length += n;
        text->data[text->length] = '\0';
    }
}

void st_text_add(struct st_text *text, const char *format, ...)
{
    va_list arguments;
    const struct c_locale l = enter_c_locale();

    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text->failed = true;
    } else if (make_room(text, (size_t)length)) {
        va_start(arguments, format);
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
        va_end(arguments);
        text->length += (size_t)length;
    }
    leave_c_locale(l);
}

const char *st_text_get(const struct st_text *text)
{
    return text->data != NULL ? text->data : "";
}

void st_text_clear(struct st_text *text)
{
    st_free(text->data);
    *text = (struct st_text){0};
}

enum {
    MAX_WORD = 64
}; /* longer words are not compared: no name of ours is that long */

/* Names are ASCII; tolower() would ask the locale. */
static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool same_letter(char a, char b)
{
    return lower(a) == lower(b);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Restricted Damerau-Levenshtein distance ("optimal string alignment"; Damerau, CACM 7(3),
 * 1964): insertion, deletion, substitution, transposition of neighbours, no part edited
 * twice. Three rows of the table are enough. Upper and lower case count as the same.
 */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][MAX_WORD + 1] = {{0}};
    size_t *before = rows[0];
    size_t *above = rows[1];
    size_t *here = rows[2];

    for (size_t j = 0; j <= n_b; j++) {
        above[j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        here[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t change = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
            here[j] = smaller(smaller(above[j], here[j - 1]) + 1, above[j - 1] + change);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                here[j] = smaller(here[j], before[j - 2] + 1);
            }
        }
        size_t *const oldest = before;
        before = above;
        above = here;
        here = oldest;
    }
    return above[n_b];
}

const char *st_nearest(const char *word, size_t n, const char *const *names)
{
    const size_t length = strlen(word);
    const size_t allowed = length / 3 > 1 ? length / 3 : 1;
    const char *best = NULL;
    size_t best_rank = SIZE_MAX;

    if (length == 0 || length > MAX_WORD) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t name_length = strlen(names[i]);
        if (name_length == 0 || name_length > MAX_WORD) {
            continue;
        }
        const size_t distance = edit_distance(word, length, names[i], name_length);
        /* Of equally near names the one with the same first letter: people rarely get the
         * first letter wrong ("G" means "GB", not "B"). */
        const size_t rank = 2 * distance + (same_letter(word[0], names[i][0]) ? 0 : 1);
        if (distance <= allowed && rank < best_rank) {
            best = names[i];
            best_rank = rank;
        }
    }
    return best;
}

/* Bytes read, 0 at the end, -1 with errno; a signal in between is no error. */
static ssize_t read_some(int fd, char *out, size_t n)
{
    ssize_t got = -1;

    do {
        got = read(fd, out, n);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Files of sysfs and proc do not tell their size: read until the end, by pieces. */
static enum st_status read_all(struct st_error *err, int fd, const char *path,
                               size_t max_bytes, struct st_text *content)
{
    char piece[4096];

    for (;;) {
        const ssize_t got = read_some(fd, piece, sizeof piece);
        if (got < 0) {
            return st_fail(err, ST_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
        }
        if (got == 0) {
            return ST_OK;
        }
        if ((size_t)got > max_bytes - content->length) {
            return st_fail(err, ST_ERR_IO, "cannot read '%s': larger than %zu bytes",
                           path, max_bytes);
        }
        st_text_add_bytes(content, piece, (size_t)got);
        if (content->failed) {
            return st_fail(err, ST_ERR_MEMORY, "cannot read '%s': out of memory", path);
        }
    }
}

char *st_read_file(struct st_error *err, const char *path, size_t max_bytes,
                   size_t *n_bytes)
{
    struct st_text content = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        st_fail(err, ST_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    enum st_status rc = read_all(err, fd, path, max_bytes, &content);
    (void)close(fd);                    /* read only: nothing can be lost */
    st_text_add_bytes(&content, "", 0); /* an empty file is an empty text, not NULL */
    if (rc == ST_OK && content.failed) {
        rc = st_fail(err, ST_ERR_MEMORY, "cannot read '%s': out of memory", path);
    }
    if (rc != ST_OK) {
        st_text_clear(&content);
        return NULL;
    }
    if (n_bytes != NULL) {
        *n_bytes = content.length;
    }
    return content.data;
}
