#ifndef ST_SHOW_JSON_H
#define ST_SHOW_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Private to src/show: a JSON writer (RFC 8259) with a stack, so that what it writes always
 * parses. Non-finite numbers become null; text that is not UTF-8 gets U+FFFD; a call out of
 * place (a value without its key, a close too many) writes nothing and sets `misused`. Local.
 */

enum {
    ST_JSON_DEPTH = 24
};

struct st_json {
    FILE *out;
    size_t depth;
    bool is_object[ST_JSON_DEPTH]; /**< else array */
    bool has_items[ST_JSON_DEPTH];
    bool has_key; /**< a key waits for its value */
    bool done;    /**< the one value of the document is complete */
    bool misused;
};

/** Start a document on @p out (borrowed). */
void st_json_init(struct st_json *json, FILE *out);
/** End the document with a newline. @return false if misused or not closed */
bool st_json_end(struct st_json *json);

/** In an object: name the next value. */
void st_json_key(struct st_json *json, const char *key);
void st_json_object(struct st_json *json);
void st_json_array(struct st_json *json);
/** Close the innermost object or array. */
void st_json_close(struct st_json *json);
void st_json_text(struct st_json *json, const char *text);
/** Shortest decimal form that reads back to the same double; null if not finite. */
void st_json_real(struct st_json *json, double value);
void st_json_count(struct st_json *json, uint64_t value);
/** As st_json_count(); SIZE_MAX ("none") becomes null. */
void st_json_index(struct st_json *json, size_t value);
void st_json_bool(struct st_json *json, bool value);
void st_json_null(struct st_json *json);

/* Key and value at once. */
void st_json_key_text(struct st_json *json, const char *key, const char *text);
void st_json_key_real(struct st_json *json, const char *key, double value);
void st_json_key_count(struct st_json *json, const char *key, uint64_t value);
void st_json_key_index(struct st_json *json, const char *key, size_t value);
void st_json_key_bool(struct st_json *json, const char *key, bool value);

#endif
