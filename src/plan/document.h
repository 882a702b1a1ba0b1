#ifndef ST_PLAN_DOCUMENT_H
#define ST_PLAN_DOCUMENT_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A YAML text as a tree of values that know where they were written. Private to src/plan.
 * The tree holds no sharing: aliases are copied, within the limits below, so that --set
 * changes one place only and nothing here can loop. All functions are local.
 */

enum {
    ST_MAX_DEPTH = 32,        /* of nested maps and lists, aliases followed */
    ST_MAX_VALUES = 100000,   /* of one text, aliases followed */
    ST_MAX_ANCHORS = 256,     /* libyaml looks them up one by one */
    ST_MAX_MAP_ENTRIES = 256, /* duplicate keys are searched pair by pair */
    ST_MAX_LIST_ENTRIES = 10000
};

/** Where a text came from: a file, or an option of the command line ("--set a=b"). */
struct st_source {
    const char *name; /**< file, or the whole option; borrowed */
    bool is_option;   /**< messages then carry no line and column */
};

enum st_value_kind {
    ST_VALUE_SCALAR,
    ST_VALUE_LIST,
    ST_VALUE_MAP
};

struct st_value;

/** One element of a list (key NULL) or one entry of a map. */
struct st_entry {
    struct st_value *key;
    struct st_value *value;
};

struct st_value {
    enum st_value_kind kind;
    int line, column;               /**< from 1; 0 if made by an option */
    const struct st_source *source; /**< borrowed */
    char *text;                     /**< scalar; "" if nothing was written; owned */
    size_t n, capacity;
    struct st_entry *entries; /**< [n] of lists and maps; owned */
    struct st_value *next;    /**< in the document's list of all its values */
};

/** Owner of values; zero-initialise. */
struct st_document {
    struct st_value *values;
};

/**
 * Parse @p text [n_bytes] into @p document. ST_ERR_CONFIG with position and cause for what
 * is not YAML, not UTF-8, holds a NUL byte or a tab, has several documents, tags, recursive
 * or exploding aliases, duplicate or non-scalar keys, or passes a limit above.
 * @param out owned by the document; NULL if the text holds nothing but comments
 */
enum st_status st_document_parse(struct st_document *document,
                                 const struct st_source *source, const char *text,
                                 size_t n_bytes, struct st_value **out,
                                 struct st_error *err);
/** Free all values; accepts a zeroed document. */
void st_document_clear(struct st_document *document);

/** A new empty value without position. @return NULL with @p err set if memory is short */
struct st_value *st_value_create(struct st_document *document,
                                 const struct st_source *source, enum st_value_kind kind,
                                 struct st_error *err);
/** A new scalar. @param text copied */
struct st_value *st_value_scalar(struct st_document *document,
                                 const struct st_source *source, const char *text,
                                 struct st_error *err);
/** Append to a list (@p key NULL) or a map. */
enum st_status st_value_append(struct st_value *parent, struct st_value *key,
                               struct st_value *value, struct st_error *err);

/** Index of @p key in a map; @c map->n if it is missing. */
size_t st_value_index(const struct st_value *map, const char *key);

/**
 * ST_ERR_CONFIG with "FILE:LINE:COLUMN: " or "--set KEY=VALUE: " before the printf-style
 * text.
 */
enum st_status st_value_fail(struct st_error *err, const struct st_value *at,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
