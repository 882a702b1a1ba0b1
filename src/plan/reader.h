#ifndef ST_PLAN_READER_H
#define ST_PLAN_READER_H

#include "src/plan/document.h"

#include <stddef.h>
#include <stdint.h>

/*
 * From values to C types, with one wording for each kind of mistake: what was found, what is
 * allowed, the nearest known name. Private to src/plan. All local; failures are
 * ST_ERR_CONFIG with the value's position, outputs are set only after success.
 */

enum {
    ST_HINT_SIZE = 768
};

/** What a number is called, its base unit and its limits, also in words. */
struct st_range {
    const char *what;
    const char *unit;
    double min, max;     /**< inclusive */
    const char *allowed; /**< "50% to 99.99%" */
};

/** "a list", "a map", "nothing" or "'text'" (cut when long). @return @p out */
const char *st_value_words(const struct st_value *value, char *out, size_t size);

/**
 * "; allowed: a, b, c (did you mean 'b'?)" for a message about an unknown word. Names that
 * do not fit are counted. @return @p out
 */
const char *st_names_hint(char *out, size_t size, const char *word, size_t n,
                          const char *const *names);

/** The value under @p key, NULL if there is none. @param map may be NULL (an absent section) */
const struct st_value *st_map_get(const struct st_value *map, const char *key);

/** Is it a map whose keys are all among @p keys [n]? @param what names the map */
enum st_status st_read_map(const struct st_value *value, const char *what, size_t n,
                           const char *const *keys, struct st_error *err);
/** Is it a map, whatever its keys? */
enum st_status st_read_any_map(const struct st_value *value, const char *what,
                               struct st_error *err);
/** Text of a scalar that is not empty; borrowed from the value. */
enum st_status st_read_text(const struct st_value *value, const char *what,
                            const char **out, struct st_error *err);
/** Whole number within min … max of @p range (unit unused). */
enum st_status st_read_count(const struct st_value *value, const struct st_range *range,
                             size_t *out, struct st_error *err);
/** Quantity in range->unit. */
enum st_status st_read_real(const struct st_value *value, const struct st_range *range,
                            double *out, struct st_error *err);
/** yes, no, true, false. */
enum st_status st_read_bool(const struct st_value *value, const char *what, bool *out,
                            struct st_error *err);
/** Row of a word in @p words [n]. */
enum st_status st_read_word(const struct st_value *value, const char *what, size_t n,
                            const char *const *words, size_t *out, struct st_error *err);
/** A name: letters, digits, _ and -, shorter than @p size. */
enum st_status st_read_name(const struct st_value *value, const char *what, char *out,
                            size_t size, struct st_error *err);

#endif
