/* Reading single values; see reader.h. What an unknown word might have meant is left to
 * st_nearest(), what a unit may be to st_parse_quantity(). */
#include "src/plan/reader.h"

#include "src/base/text.h"
#include "src/base/units.h"

#include <stdarg.h>
#include <string.h>

enum {
    WORDS_SIZE = 96
};

/* Append to a buffer of fixed size. @return false, and nothing added, if it does not fit */
static bool append(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool append(char *out, size_t size, const char *format, ...)
{
    const size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    const bool fits = st_print_list(out + used, size - used, format, args);
    va_end(args);
    if (!fits) {
        out[used] = '\0';
    }
    return fits;
}

/* The text in quotes, cut between two characters when it is long. */
static void scalar_words(const char *text, char *out, size_t size)
{
    const size_t shown = 60;

    if (text[0] == '\0') {
        (void)st_print(out, size, "nothing");
    } else if (strlen(text) <= shown) {
        (void)st_print(out, size, "'%s'", text);
    } else {
        (void)st_print(out, size, "'%.*s...'", (int)st_whole_characters(text, shown),
                       text);
    }
}

const char *st_value_words(const struct st_value *value, char *out, size_t size)
{
    switch (value->kind) {
    case ST_VALUE_LIST:
        (void)st_print(out, size, "a list");
        break;
    case ST_VALUE_MAP:
        (void)st_print(out, size, "a map");
        break;
    case ST_VALUE_SCALAR:
        scalar_words(value->text, out, size);
        break;
    }
    return out;
}

const char *st_names_hint(char *out, size_t size, const char *word, size_t n,
                          const char *const *names)
{
    const size_t reserve = 200; /* for the count and the nearest name */
    const char *near = st_nearest(word, n, names);
    size_t i = 0;

    out[0] = '\0';
    if (!append(out, size, "; allowed: ")) {
        return out;
    }
    while (i < n && append(out, size - reserve, "%s%s", i == 0 ? "" : ", ", names[i])) {
        i++;
    }
    if (i < n) {
        (void)append(out, size, " and %zu more", n - i);
    }
    if (near != NULL) {
        (void)append(out, size, " (did you mean '%s'?)", near);
    }
    return out;
}

const struct st_value *st_map_get(const struct st_value *map, const char *key)
{
    if (map == NULL) {
        return NULL;
    }
    const size_t i = st_value_index(map, key);
    return i == map->n ? NULL : map->entries[i].value;
}

enum st_status st_read_any_map(const struct st_value *value, const char *what,
                               struct st_error *err)
{
    char words[WORDS_SIZE];

    if (value->kind == ST_VALUE_MAP) {
        return ST_OK;
    }
    return st_value_fail(err, value, "%s: found %s; a map (key: value) is needed", what,
                         st_value_words(value, words, sizeof words));
}

enum st_status st_read_map(const struct st_value *value, const char *what, size_t n,
                           const char *const *keys, struct st_error *err)
{
    char hint[ST_HINT_SIZE];
    char words[WORDS_SIZE];
    const enum st_status rc = st_read_any_map(value, what, err);

    if (rc != ST_OK) {
        return rc;
    }
    for (size_t i = 0; i < value->n; i++) {
        const struct st_value *key = value->entries[i].key;
        size_t row = 0;

        while (row < n && strcmp(keys[row], key->text) != 0) {
            row++;
        }
        if (row == n) {
            return st_value_fail(err, key, "unknown key %s in %s%s",
                                 st_value_words(key, words, sizeof words), what,
                                 st_names_hint(hint, sizeof hint, key->text, n, keys));
        }
    }
    return ST_OK;
}

enum st_status st_read_text(const struct st_value *value, const char *what,
                            const char **out, struct st_error *err)
{
    char words[WORDS_SIZE];

    if (value->kind != ST_VALUE_SCALAR || value->text[0] == '\0') {
        return st_value_fail(err, value, "%s: found %s; a single value is needed", what,
                             st_value_words(value, words, sizeof words));
    }
    *out = value->text;
    return ST_OK;
}

enum st_status st_read_count(const struct st_value *value, const struct st_range *range,
                             size_t *out, struct st_error *err)
{
    char words[WORDS_SIZE];
    const char *text = NULL;
    uint64_t count = 0;
    const enum st_status rc = st_read_text(value, range->what, &text, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (!st_parse_u64(text, &count) || (double)count < range->min ||
        (double)count > range->max) {
        return st_value_fail(err, value, "%s: found %s; allowed: %s", range->what,
                             st_value_words(value, words, sizeof words), range->allowed);
    }
    *out = (size_t)count;
    return ST_OK;
}

enum st_status st_read_real(const struct st_value *value, const struct st_range *range,
                            double *out, struct st_error *err)
{
    char words[WORDS_SIZE];
    const char *text = NULL;
    double number = 0.0;
    struct st_error cause = {0};
    enum st_status rc = st_read_text(value, range->what, &text, err);

    if (rc != ST_OK) {
        return rc;
    }
    rc = st_parse_quantity(&cause, text, range->unit, &number);
    if (rc != ST_OK) {
        return st_value_fail(err, value, "%s: %s", range->what, cause.text);
    }
    if (!(number >= range->min && number <= range->max)) {
        return st_value_fail(err, value, "%s: found %s; allowed: %s", range->what,
                             st_value_words(value, words, sizeof words), range->allowed);
    }
    *out = number;
    return ST_OK;
}

enum st_status st_read_word(const struct st_value *value, const char *what, size_t n,
                            const char *const *words, size_t *out, struct st_error *err)
{
    char found[WORDS_SIZE];
    char hint[ST_HINT_SIZE];
    const char *text = NULL;
    const enum st_status rc = st_read_text(value, what, &text, err);

    if (rc != ST_OK) {
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return ST_OK;
        }
    }
    return st_value_fail(err, value, "%s: found %s%s", what,
                         st_value_words(value, found, sizeof found),
                         st_names_hint(hint, sizeof hint, text, n, words));
}

enum st_status st_read_bool(const struct st_value *value, const char *what, bool *out,
                            struct st_error *err)
{
    static const char *const words[] = {"yes", "no", "true", "false"};
    size_t row = 0;
    const enum st_status rc =
        st_read_word(value, what, sizeof words / sizeof words[0], words, &row, err);

    if (rc == ST_OK) {
        *out = row % 2 == 0;
    }
    return rc;
}

enum st_status st_read_name(const struct st_value *value, const char *what, char *out,
                            size_t size, struct st_error *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char words[WORDS_SIZE];
    const char *text = NULL;
    const enum st_status rc = st_read_text(value, what, &text, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (text[strspn(text, allowed)] != '\0' || strlen(text) >= size) {
        return st_value_fail(
            err, value, "%s: found %s; allowed: at most %zu letters, digits, _ and -",
            what, st_value_words(value, words, sizeof words), size - 1);
    }
    (void)st_copy(out, size, text);
    return ST_OK;
}
