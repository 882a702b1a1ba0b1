/*
 * --set PATH=VALUE: one change of the tree before anything is checked, so that a changed
 * value passes the same checks as a written one. A path may lead to keys that the file does
 * not have; whether they mean anything is then for the checks to say.
 */
#include "src/plan/parts.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

enum {
    ELEMENT_SIZE = ST_NAME_SIZE
};

/* A path on its way through the tree. */
struct walk {
    struct st_document *document;
    const struct st_source *source;
    struct st_value *root;
    const char *rest; /* of the path, borrowed */
    size_t n_steps;   /* elements passed */
    struct st_error *err;
};

static enum st_status usage(const struct walk *walk, const char *why)
{
    return st_fail(walk->err, ST_ERR_USAGE, "%s: %s", walk->source->name, why);
}

/* The message of a value that an option made has no position. */
static enum st_status path_fail(const struct walk *walk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum st_status path_fail(const struct walk *walk, const char *format, ...)
{
    char text[ST_ERROR_TEXT_SIZE];
    const struct st_value at = {.source = walk->source};
    va_list args;

    va_start(args, format);
    (void)st_print_list(text, sizeof text, format, args);
    va_end(args);
    return st_value_fail(walk->err, &at, "%s", text);
}

/* Cut the next element off the path. */
static enum st_status next_element(struct walk *walk, char *out)
{
    const size_t length = strcspn(walk->rest, ".=");

    if (length == 0) {
        return usage(walk,
                     "a name is missing in the path; PATH=VALUE is needed, with names "
                     "and points between them");
    }
    if (length >= ELEMENT_SIZE) {
        return usage(walk, "a name in the path is too long");
    }
    if (walk->n_steps++ == ST_MAX_DEPTH) {
        return usage(walk, "the path has too many names");
    }
    memcpy(out, walk->rest, length);
    out[length] = '\0';
    walk->rest += length;
    if (*walk->rest == '.') {
        walk->rest++;
        if (*walk->rest == '=') {
            return usage(walk, "the path ends in a point");
        }
    }
    return ST_OK;
}

/* What an entry of `steps:` goes by; "" if that is not to be seen. */
static const char *entry_text(const struct st_value *entry, const char *key)
{
    const struct st_value *value =
        entry->kind == ST_VALUE_MAP ? st_map_get(entry, key) : NULL;

    return value == NULL || value->kind != ST_VALUE_SCALAR ? "" : value->text;
}

/* Entries of `steps:` by name or, if that names none, by benchmark. @return how many */
static size_t find_entries(const struct st_value *list, const char *name, size_t *first)
{
    static const char *const keys[] = {"name", "benchmark"};
    size_t n = 0;

    for (size_t k = 0; n == 0 && k < ST_COUNT(keys); k++) {
        for (size_t i = 0; i < list->n; i++) {
            if (strcmp(entry_text(list->entries[i].value, keys[k]), name) == 0) {
                *first = n == 0 ? i : *first;
                n++;
            }
        }
    }
    return n;
}

/* Index of an element of a list: a number, or for `steps` a name. */
static enum st_status list_index(const struct walk *walk, const struct st_value *list,
                                 const char *element, size_t *out)
{
    const bool is_steps = list == st_map_get(walk->root, "steps");
    uint64_t number = 0;

    if (st_parse_u64(element, &number) && number < list->n) {
        *out = (size_t)number;
        return ST_OK;
    }
    if (!is_steps) {
        return path_fail(walk, "'%s' is no element of this list; allowed: 0 to %zu",
                         element, list->n == 0 ? 0 : list->n - 1);
    }
    const size_t n = find_entries(list, element, out);
    if (n == 1) {
        return ST_OK;
    }
    if (n > 1) {
        return path_fail(
            walk, "%zu steps are called '%s', the first is number %zu; give the number",
            n, element, *out);
    }
    const char **names = st_calloc(walk->err, list->n, sizeof *names);
    if (names == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < list->n; i++) {
        const char *name = entry_text(list->entries[i].value, "name");

        names[i] =
            name[0] != '\0' ? name : entry_text(list->entries[i].value, "benchmark");
    }
    char hint[ST_HINT_SIZE];
    st_names_hint(hint, sizeof hint, element, list->n, names);
    st_free(names);
    return path_fail(walk, "no step '%s', counted from 0 or by name%s", element, hint);
}

/* Where the value under `element` stands; an absent one is made, empty. */
static enum st_status find_place(const struct walk *walk, struct st_value *parent,
                                 const char *element, struct st_value ***out)
{
    size_t i = 0;

    if (parent->kind == ST_VALUE_LIST) {
        const enum st_status rc = list_index(walk, parent, element, &i);

        if (rc == ST_OK) {
            *out = &parent->entries[i].value;
        }
        return rc;
    }
    i = st_value_index(parent, element);
    if (i == parent->n) {
        struct st_value *key =
            st_value_scalar(walk->document, walk->source, element, walk->err);
        struct st_value *empty =
            st_value_scalar(walk->document, walk->source, "", walk->err);

        if (key == NULL || empty == NULL ||
            st_value_append(parent, key, empty, walk->err) != ST_OK) {
            return ST_ERR_MEMORY;
        }
    }
    *out = &parent->entries[i].value;
    return ST_OK;
}

/* A value through which the path goes on: an empty one becomes a map. */
static enum st_status enter(const struct walk *walk, const char *element,
                            struct st_value **value)
{
    char words[96];

    if ((*value)->kind != ST_VALUE_SCALAR) {
        return ST_OK;
    }
    if ((*value)->text[0] != '\0') {
        return path_fail(walk, "'%s' is the value %s and has nothing below it", element,
                         st_value_words(*value, words, sizeof words));
    }
    struct st_value *map =
        st_value_create(walk->document, walk->source, ST_VALUE_MAP, walk->err);
    if (map == NULL) {
        return ST_ERR_MEMORY;
    }
    map->line = (*value)->line;
    map->column = (*value)->column;
    *value = map;
    return ST_OK;
}

/* A path that begins with no key of the root: perhaps with that of a step. */
static enum st_status wrong_start(const struct walk *walk, const char *element)
{
    char hint[ST_HINT_SIZE];
    const struct st_value *steps = st_map_get(walk->root, "steps");
    size_t first = 0;

    if (steps != NULL && steps->kind == ST_VALUE_LIST &&
        find_entries(steps, element, &first) > 0) {
        const size_t length = strcspn(walk->rest, ".=");
        bool is_key = false;

        for (size_t i = 0; i < st_n_entry_keys; i++) {
            is_key = is_key || (strlen(st_entry_keys[i]) == length &&
                                strncmp(st_entry_keys[i], walk->rest, length) == 0);
        }
        return path_fail(walk,
                         "a path begins at the root of the config (did you mean "
                         "'steps.%s.%s%s'?)",
                         element, is_key ? "" : "parameters.", walk->rest);
    }
    return path_fail(
        walk, "unknown key '%s'%s", element,
        st_names_hint(hint, sizeof hint, element, st_n_root_keys, st_root_keys));
}

static bool is_root_key(const char *element)
{
    for (size_t i = 0; i < st_n_root_keys; i++) {
        if (strcmp(st_root_keys[i], element) == 0) {
            return true;
        }
    }
    return false;
}

/* Walk to the end of the path. @param out where the new value goes */
static enum st_status find_target(struct walk *walk, struct st_value ***out)
{
    struct st_value **place = &walk->root;
    char element[ELEMENT_SIZE] = "the root";

    do {
        enum st_status rc = enter(walk, element, place);
        if (rc == ST_OK) {
            rc = next_element(walk, element);
        }
        if (rc == ST_OK && walk->n_steps == 1 && !is_root_key(element)) {
            rc = wrong_start(walk, element);
        }
        if (rc == ST_OK) {
            rc = find_place(walk, *place, element, &place);
        }
        if (rc != ST_OK) {
            return rc;
        }
    } while (*walk->rest != '=');
    *out = place;
    return ST_OK;
}

enum st_status st_override_apply(struct st_document *document, struct st_value *root,
                                 const struct st_source *source, const char *option,
                                 struct st_error *err)
{
    struct walk walk = {
        .document = document, .source = source, .root = root, .rest = option, .err = err};
    const char *equals = strchr(option, '=');
    struct st_value *value = NULL;
    struct st_value **target = NULL;

    if (equals == NULL) {
        return usage(&walk, "no '='; PATH=VALUE is needed, as in defaults.repeat.max=10");
    }
    enum st_status rc =
        st_document_parse(document, source, equals + 1, strlen(equals + 1), &value, err);
    if (rc == ST_OK && value == NULL) {
        value = st_value_scalar(document, source, "", err);
        rc = value == NULL ? ST_ERR_MEMORY : ST_OK;
    }
    if (rc == ST_OK) {
        rc = find_target(&walk, &target);
    }
    if (rc == ST_OK) {
        *target = value;
    }
    return rc;
}
