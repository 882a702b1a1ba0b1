/*
 * The reader of one OpenFOAM file.
 *
 * Bytes come through a buffer of its own, so that place and line of each are known. Text is
 * cut into words; a list of labels or points in a binary file is raw bytes between its
 * parentheses, everything else in such a file is text (OpenFOAM, OSstream::write).
 */
#include "src/mesh/foam.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
    BUFFER_SIZE = 65536,
    NAME_SIZE = 1024
};

struct st_foam {
    FILE *stream;
    char name[NAME_SIZE];
    double most_bytes;
    char class[ST_FOAM_WORD_SIZE];
    bool is_binary;
    bool is_text_only; /* a binary file without raw parts: told by line */
    int label_bytes, scalar_bytes;

    int64_t line;               /* of the next byte */
    int64_t item_line, item_at; /* of what was read last */
    int64_t base;               /* place in the file of the buffer's start */
    size_t at, n;
    bool is_damaged;
    int trouble; /* errno of the failed read */
    unsigned char buffer[BUFFER_SIZE];

    /* The list that has begun. */
    bool is_raw, is_bare, is_uniform, has_value;
    int64_t value;
};

static bool refill(struct st_foam *f)
{
    f->base += (int64_t)f->n;
    f->at = 0;
    f->n = f->is_damaged ? 0 : fread(f->buffer, 1, BUFFER_SIZE, f->stream);
    if (!f->is_damaged && f->n < BUFFER_SIZE && ferror(f->stream) != 0) {
        f->trouble = errno;
        f->is_damaged = true;
    }
    return f->n > 0;
}

static int peek(struct st_foam *f)
{
    return f->at < f->n || refill(f) ? f->buffer[f->at] : EOF;
}

static int take(struct st_foam *f)
{
    const int c = peek(f);

    if (c != EOF) {
        f->at++;
        f->line += c == '\n' ? 1 : 0;
    }
    return c;
}

static void mark(struct st_foam *f)
{
    f->item_line = f->line;
    f->item_at = f->base + (int64_t)f->at;
}

const char *st_foam_where(const struct st_foam *f, char *out, size_t size)
{
    if (f->is_binary && !f->is_text_only) {
        (void)st_print(out, size, "%s: byte %" PRId64, f->name, f->item_at);
    } else {
        (void)st_print(out, size, "%s:%" PRId64, f->name, f->item_line);
    }
    return out;
}

int64_t st_foam_line(const struct st_foam *f)
{
    return f->item_line;
}

void st_foam_go_back(struct st_foam *f, int64_t line)
{
    f->item_line = line;
}

enum st_status st_foam_fail(const struct st_foam *f, struct st_error *err,
                            const char *format, ...)
{
    char where[NAME_SIZE + 32];
    char text[ST_ERROR_TEXT_SIZE / 2];
    va_list arguments;

    va_start(arguments, format);
    (void)st_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    return st_fail(err, ST_ERR_STEP, "%s: %s", st_foam_where(f, where, sizeof where),
                   text);
}

/* What a missing byte means: the file ends, or cannot be read on. */
static enum st_status fail_at_end(struct st_foam *f, struct st_error *err,
                                  const char *wanted)
{
    mark(f);
    if (f->is_damaged) {
        return st_foam_fail(f, err, "%s",
                            f->trouble == EILSEQ
                                ? "the compressed data are damaged or cut off"
                                : strerror(f->trouble));
    }
    return st_foam_fail(f, err, "the file ends where %s should be: it is cut off",
                        wanted);
}

/* Skip a comment whose first '/' is taken. @return false: it is not one, or has no end */
static bool skip_comment(struct st_foam *f)
{
    const int second = take(f);
    int last = 0;

    if (second == '/') {
        while (peek(f) != EOF && peek(f) != '\n') {
            (void)take(f);
        }
        return true;
    }
    if (second != '*') {
        return false;
    }
    for (int c = take(f); c != EOF; c = take(f)) {
        if (last == '*' && c == '/') {
            return true;
        }
        last = c;
    }
    return false;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* To the next byte that is neither blank nor comment; marks it. */
static enum st_status skip_blanks(struct st_foam *f, struct st_error *err)
{
    for (;;) {
        while (is_blank(peek(f))) {
            (void)take(f);
        }
        mark(f);
        if (peek(f) != '/') {
            return ST_OK;
        }
        (void)take(f);
        if (!skip_comment(f)) {
            return st_foam_fail(f, err, "'/' begins no comment, or one without an end");
        }
    }
}

static bool is_sign(int c)
{
    return c == '(' || c == ')' || c == '{' || c == '}' || c == ';';
}

enum st_status st_foam_word(struct st_foam *f, char word[ST_FOAM_WORD_SIZE],
                            struct st_error *err)
{
    const enum st_status rc = skip_blanks(f, err);
    size_t n = 0;

    word[0] = '\0';
    if (rc != ST_OK || peek(f) == EOF) {
        return rc == ST_OK && f->is_damaged ? fail_at_end(f, err, "a word") : rc;
    }
    const bool is_string = peek(f) == '"';
    if (is_string || is_sign(peek(f))) {
        word[n++] = (char)take(f);
    }
    while (is_string || n == 0 || !is_sign(word[0])) {
        const int c = peek(f);
        if (c == EOF ? is_string : c < ' ' && !is_blank(c)) {
            return c == EOF ? fail_at_end(f, err, "the end of a string")
                            : st_foam_fail(f, err, "byte %d in a word: not text", c);
        }
        if (c == EOF || (!is_string && (is_blank(c) || is_sign(c) || c == '"'))) {
            break;
        }
        if (n == ST_FOAM_WORD_SIZE - 1) {
            return st_foam_fail(f, err, "a word of more than %d characters: %.40s…",
                                ST_FOAM_WORD_SIZE - 1, word);
        }
        word[n++] = (char)take(f);
        word[n] = '\0';
        if (is_string && c == '"') {
            break;
        }
    }
    if (is_string) { /* without its quotes */
        n -= 2;
        memmove(word, word + 1, n);
    }
    word[n] = '\0';
    return ST_OK;
}

/* Take all up to the ';' or '}' that ends the entry whose first word was read. */
static enum st_status skip_entry(struct st_foam *f, const char *first,
                                 struct st_error *err)
{
    char word[ST_FOAM_WORD_SIZE];
    const bool is_dictionary = strcmp(first, "{") == 0;
    int64_t depth = is_dictionary ? 1 : 0;
    enum st_status rc = ST_OK;

    while (rc == ST_OK) {
        rc = st_foam_word(f, word, err);
        if (rc == ST_OK && word[0] == '\0' && peek(f) == EOF) {
            return fail_at_end(f, err, is_dictionary ? "'}'" : "';'");
        }
        depth += strcmp(word, "{") == 0 ? 1 : 0;
        depth -= strcmp(word, "}") == 0 ? 1 : 0;
        if (depth < 0) {
            return st_foam_fail(f, err, "'}' where ';' should be");
        }
        if (depth == 0 && strcmp(word, is_dictionary ? "}" : ";") == 0) {
            break;
        }
    }
    return rc;
}

enum st_status st_foam_entry(struct st_foam *f, char key[ST_FOAM_WORD_SIZE],
                             char value[ST_FOAM_WORD_SIZE], struct st_error *err)
{
    value[0] = '\0';
    enum st_status rc = st_foam_word(f, key, err);

    if (rc == ST_OK && key[0] == '\0' && peek(f) == EOF) {
        return fail_at_end(f, err, "'}'");
    }
    if (rc != ST_OK || strcmp(key, "}") == 0) {
        return rc;
    }
    if (is_sign(key[0])) {
        return st_foam_fail(f, err, "'%s' where a keyword should be", key);
    }
    rc = st_foam_word(f, value, err);
    if (rc == ST_OK && value[0] == '\0' && peek(f) == EOF) {
        return fail_at_end(f, err, "a value");
    }
    if (rc == ST_OK && strcmp(value, ";") == 0) {
        value[0] = '\0';
        return ST_OK;
    }
    if (rc == ST_OK) {
        rc = skip_entry(f, value, err);
    }
    if (strcmp(value, "{") == 0) {
        value[0] = '\0';
    }
    return rc;
}

/* The number behind "label=" or "scalar=" of an arch entry: bytes, 0 if it is not there or
 * neither 32 nor 64 bits. */
static int arch_bytes(const char *arch, const char *what)
{
    const char *at = strstr(arch, what);

    if (at == NULL) {
        return 0;
    }
    at += strlen(what);
    return strncmp(at, "32", 2) == 0 ? 4 : strncmp(at, "64", 2) == 0 ? 8 : 0;
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

static enum st_status read_arch(struct st_foam *f, const char *arch, struct st_error *err)
{
    if (arch[0] == '\0') { /* before OpenFOAM 2.2 there was no such entry, nor a choice */
        return ST_OK;
    }
    f->label_bytes = arch_bytes(arch, "label=");
    f->scalar_bytes = arch_bytes(arch, "scalar=");
    if (f->label_bytes == 0 || f->scalar_bytes == 0 ||
        strstr(arch, is_little_endian() ? "LSB" : "MSB") == NULL) {
        return st_foam_fail(
            f, err,
            "arch \"%s\" cannot be read; this machine reads %s with label "
            "and scalar of 32 or 64 bits: write the mesh as ascii "
            "(foamFormatConvert)",
            arch, is_little_endian() ? "LSB" : "MSB");
    }
    return ST_OK;
}

static enum st_status read_header(struct st_foam *f, struct st_error *err)
{
    char key[ST_FOAM_WORD_SIZE];
    char value[ST_FOAM_WORD_SIZE];
    char arch[ST_FOAM_WORD_SIZE] = "";
    bool is_known = true;
    enum st_status rc = st_foam_word(f, key, err);

    if (rc == ST_OK && strcmp(key, "FoamFile") == 0) {
        rc = st_foam_word(f, value, err);
    } else if (rc == ST_OK) {
        return st_foam_fail(f, err, "no FoamFile header, but '%.40s'", key);
    }
    if (rc == ST_OK && strcmp(value, "{") != 0) {
        return st_foam_fail(f, err, "'{' must follow FoamFile, not '%.40s'", value);
    }
    while (rc == ST_OK) {
        rc = st_foam_entry(f, key, value, err);
        if (rc != ST_OK || strcmp(key, "}") == 0) {
            break;
        }
        if (strcmp(key, "class") == 0) {
            (void)st_copy(f->class, sizeof f->class, value);
        } else if (strcmp(key, "format") == 0) {
            f->is_binary = strcmp(value, "binary") == 0;
            is_known = f->is_binary || strcmp(value, "ascii") == 0;
        } else if (strcmp(key, "arch") == 0) {
            (void)st_copy(arch, sizeof arch, value);
        }
    }
    if (rc == ST_OK && !is_known) {
        return st_foam_fail(f, err, "the header's format is neither ascii nor binary");
    }
    return rc == ST_OK && f->is_binary ? read_arch(f, arch, err) : rc;
}

enum st_status st_foam_open(FILE *stream, const char *name, double most_bytes,
                            struct st_foam **out, struct st_error *err)
{
    struct st_foam *f = st_calloc(err, 1, sizeof *f);

    if (f == NULL) {
        (void)fclose(stream);
        return ST_ERR_MEMORY;
    }
    f->stream = stream;
    f->most_bytes = most_bytes;
    f->line = 1;
    f->label_bytes = 4;
    f->scalar_bytes = 8;
    f->is_text_only = true; /* the header is */
    (void)st_copy(f->name, sizeof f->name, name);
    const enum st_status rc = read_header(f, err);
    f->is_text_only = strcmp(f->class, "polyBoundaryMesh") == 0;
    if (rc != ST_OK) {
        st_foam_close(&f);
        return rc;
    }
    *out = f;
    return ST_OK;
}

void st_foam_close(struct st_foam **foam)
{
    if (foam == NULL || *foam == NULL) {
        return;
    }
    (void)fclose((*foam)->stream);
    st_free(*foam);
    *foam = NULL;
}

const char *st_foam_class(const struct st_foam *f)
{
    return f->class;
}

/* An integer of decimal digits, perhaps with a sign. */
static enum st_status read_integer(struct st_foam *f, const char *what, int64_t *value,
                                   struct st_error *err)
{
    const enum st_status rc = skip_blanks(f, err);
    int64_t got = 0;
    int n_digits = 0;

    if (rc != ST_OK) {
        return rc;
    }
    const bool is_negative = peek(f) == '-';
    if (is_negative) {
        (void)take(f);
    }
    for (int c = peek(f); c >= '0' && c <= '9'; c = peek(f), n_digits++) {
        if (n_digits == 18) {
            return st_foam_fail(f, err, "%s of more than 18 digits", what);
        }
        got = 10 * got + (c - '0');
        (void)take(f);
    }
    const int next = peek(f);
    if (n_digits == 0 && next == EOF) {
        return fail_at_end(f, err, what);
    }
    if (n_digits == 0 ||
        !(next == EOF || is_blank(next) || is_sign(next) || next == '/')) {
        return next > ' ' && next < 127
                   ? st_foam_fail(f, err, "'%c' where %s should be", next, what)
                   : st_foam_fail(f, err, "byte %d where %s should be", next, what);
    }
    *value = is_negative ? -got : got;
    return ST_OK;
}

/* Could a list of @p n elements be in what is left of the file? */
static bool fits(const struct st_foam *f, enum st_foam_kind kind, int64_t n)
{
    const int raw = kind == ST_FOAM_LABELS   ? f->label_bytes
                    : kind == ST_FOAM_POINTS ? 3 * f->scalar_bytes
                                             : 1;
    /* As text: "0 ", "(0 0 0)", and "3(0 1 2)" or "a{}". */
    const int text = kind == ST_FOAM_LABELS ? 2 : kind == ST_FOAM_POINTS ? 7 : 3;
    const int least = f->is_binary && kind != ST_FOAM_ENTRIES ? raw : text;
    const double left = f->most_bytes - (double)f->base - (double)f->at;

    return (double)n * least <= left + 1.0; /* the last label needs no blank */
}

enum st_status st_foam_begin(struct st_foam *f, enum st_foam_kind kind, int64_t *n,
                             struct st_error *err)
{
    enum st_status rc = read_integer(f, "the number of a list's elements", n, err);

    f->is_raw = f->is_bare = f->is_uniform = f->has_value = false;
    if (rc == ST_OK && *n < 0) {
        return st_foam_fail(f, err, "a list of %" PRId64 " elements", *n);
    }
    const int64_t count_line = f->item_line;
    const int64_t count_at = f->item_at;
    if (rc == ST_OK) {
        rc = skip_blanks(f, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    const int open = peek(f);
    /* One value for all is written as text only (OpenFOAM, UList::writeList). */
    f->is_uniform = open == '{' && kind == ST_FOAM_LABELS && *n > 0 && !f->is_binary;
    f->is_bare = open != '(' && *n == 0;
    f->is_raw = open == '(' && f->is_binary && kind != ST_FOAM_ENTRIES;
    if (open != '(' && !f->is_uniform && !f->is_bare) {
        return open == EOF ? fail_at_end(f, err, "'('")
                           : st_foam_fail(f, err,
                                          "'(' must follow a list's number of "
                                          "elements, %" PRId64,
                                          *n);
    }
    if (!f->is_bare) {
        (void)take(f);
    }
    f->item_line = count_line; /* complaints about the list are about its number */
    f->item_at = count_at;
    if (!f->is_uniform && !fits(f, kind, *n)) {
        return st_foam_fail(f, err,
                            "a list of %" PRId64 " elements cannot be in the rest of "
                            "this file: the number is wrong or the file is cut off",
                            *n);
    }
    return ST_OK;
}

bool st_foam_is_uniform(const struct st_foam *f)
{
    return f->is_uniform;
}

/* @p n raw bytes. */
static enum st_status take_raw(struct st_foam *f, void *out, size_t n,
                               struct st_error *err)
{
    unsigned char *to = out;

    mark(f);
    while (n > 0) {
        if (f->at == f->n && !refill(f)) {
            return fail_at_end(f, err, "an element of a list");
        }
        const size_t some = f->n - f->at < n ? f->n - f->at : n;
        memcpy(to, f->buffer + f->at, some);
        f->at += some;
        to += some;
        n -= some;
    }
    return ST_OK;
}

static enum st_status take_raw_label(struct st_foam *f, int64_t *value,
                                     struct st_error *err)
{
    int32_t small = 0;

    if (f->label_bytes == 8) {
        return take_raw(f, value, sizeof *value, err);
    }
    const enum st_status rc = take_raw(f, &small, sizeof small, err);
    *value = small;
    return rc;
}

enum st_status st_foam_label(struct st_foam *f, int64_t *value, struct st_error *err)
{
    if (f->is_raw) {
        return take_raw_label(f, value, err);
    }
    if (f->has_value) {
        *value = f->value;
        return ST_OK;
    }
    const enum st_status rc = read_integer(f, "a label", value, err);
    f->has_value = f->is_uniform;
    f->value = *value;
    return rc;
}

static enum st_status expect(struct st_foam *f, int sign, const char *where,
                             struct st_error *err)
{
    const enum st_status rc = skip_blanks(f, err);

    if (rc != ST_OK) {
        return rc;
    }
    const int c = peek(f);
    if (c == EOF) {
        const char name[] = {'\'', (char)sign, '\'', '\0'};
        return fail_at_end(f, err, name);
    }
    if (c != sign) {
        return c > ' ' && c < 127
                   ? st_foam_fail(f, err, "'%c' where '%c' should be, %s", c, sign, where)
                   : st_foam_fail(f, err, "byte %d where '%c' should be, %s", c, sign,
                                  where);
    }
    (void)take(f);
    return ST_OK;
}

enum st_status st_foam_point(struct st_foam *f, double xyz[3], struct st_error *err)
{
    float small[3];
    char word[ST_FOAM_WORD_SIZE];

    if (f->is_raw && f->scalar_bytes == 8) {
        return take_raw(f, xyz, 3 * sizeof *xyz, err);
    }
    if (f->is_raw) {
        const enum st_status rc = take_raw(f, small, sizeof small, err);
        for (int axis = 0; rc == ST_OK && axis < 3; axis++) {
            xyz[axis] = (double)small[axis];
        }
        return rc;
    }
    enum st_status rc = expect(f, '(', "before a point", err);
    for (int axis = 0; rc == ST_OK && axis < 3; axis++) {
        rc = st_foam_word(f, word, err);
        if (rc == ST_OK && word[0] == '\0' && peek(f) == EOF) {
            return fail_at_end(f, err, "a coordinate");
        }
        if (rc == ST_OK && !st_parse_double(word, &xyz[axis])) {
            return st_foam_fail(f, err, "'%.40s' where a coordinate should be", word);
        }
    }
    return rc == ST_OK ? expect(f, ')', "after a point", err) : rc;
}

enum st_status st_foam_end(struct st_foam *f, struct st_error *err)
{
    const bool is_raw = f->is_raw;
    const bool is_bare = f->is_bare;
    const int sign = f->is_uniform ? '}' : ')';

    f->is_raw = f->is_bare = f->is_uniform = f->has_value =
        false; /* back to the list around */
    if (is_bare) {
        return ST_OK;
    }
    if (is_raw) { /* no blank may stand between the bytes and it */
        mark(f);
        if (peek(f) != ')' && peek(f) != EOF) {
            return st_foam_fail(f, err,
                                "the list does not end after its elements: the number of "
                                "elements, or the header's arch, is wrong");
        }
    }
    return expect(f, sign, "at the end of a list", err);
}

enum st_status st_foam_finish(struct st_foam *f, struct st_error *err)
{
    const enum st_status rc = skip_blanks(f, err);

    if (rc == ST_OK && peek(f) != EOF) {
        return st_foam_fail(f, err, "more follows after the end of the list");
    }
    return rc == ST_OK && f->is_damaged ? fail_at_end(f, err, "the end") : rc;
}
