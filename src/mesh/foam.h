#ifndef ST_MESH_FOAM_H
#define ST_MESH_FOAM_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * One file in OpenFOAM's format, read from its start to its end in constant memory: the
 * FoamFile header, words, and lists of labels or points, as text or binary (labels and
 * scalars of 32 or 64 bits, as the header's arch says). Every complaint is ST_ERR_STEP and
 * begins with "FILE:LINE: ", or "FILE: byte N: " where the content is binary; of a compressed
 * file, line and byte of what it holds. All functions are local.
 */

enum {
    ST_FOAM_WORD_SIZE = 128
};

/** What a list holds. */
enum st_foam_kind {
    ST_FOAM_LABELS,
    ST_FOAM_POINTS,
    ST_FOAM_ENTRIES /**< things with a size of their own, always delimited as text */
};

struct st_foam;

/**
 * Read the header.
 * @param stream     closed with the reader, also when this fails
 * @param name       for messages, copied
 * @param most_bytes that the stream can hold; a list that claims more is refused
 * @param out        owned by the caller: st_foam_close()
 */
enum st_status st_foam_open(FILE *stream, const char *name, double most_bytes,
                            struct st_foam **out, struct st_error *err);
/** Accepts NULL. */
void st_foam_close(struct st_foam **foam);

/** Class of the header, borrowed. */
const char *st_foam_class(const struct st_foam *foam);

/** The beginning of a list "N(" or "N{". @param[out] n number of elements, not negative */
enum st_status st_foam_begin(struct st_foam *foam, enum st_foam_kind kind, int64_t *n,
                             struct st_error *err);
/** Has it one value for all elements? Then its number says nothing about the file's size. */
bool st_foam_is_uniform(const struct st_foam *foam);
/** The next label, or point, of the list that has begun; not more often than it has elements. */
enum st_status st_foam_label(struct st_foam *foam, int64_t *value, struct st_error *err);
enum st_status st_foam_point(struct st_foam *foam, double xyz[3], struct st_error *err);
/** The end of the list, which must come now. */
enum st_status st_foam_end(struct st_foam *foam, struct st_error *err);

/**
 * The next word, string (without its quotes) or one of ( ) { } ;
 * @param word "" at the end of the file; a word that is too long is refused
 */
enum st_status st_foam_word(struct st_foam *foam, char word[ST_FOAM_WORD_SIZE],
                            struct st_error *err);
/**
 * One entry of a dictionary: "KEY value … ;" or "KEY { … }".
 * @param key   "}" if the dictionary ends here
 * @param value its first word, "" for a dictionary within
 */
enum st_status st_foam_entry(struct st_foam *foam, char key[ST_FOAM_WORD_SIZE],
                             char value[ST_FOAM_WORD_SIZE], struct st_error *err);
/** Nothing but comments may follow. */
enum st_status st_foam_finish(struct st_foam *foam, struct st_error *err);

/** Complain about what was read last. @return ST_ERR_STEP */
enum st_status st_foam_fail(const struct st_foam *foam, struct st_error *err,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Line of what was read last; make complaints be about a line that was so before. */
int64_t st_foam_line(const struct st_foam *foam);
void st_foam_go_back(struct st_foam *foam, int64_t line);
/** Where what was read last is: "FILE:LINE" or "FILE: byte N". @return @p out */
const char *st_foam_where(const struct st_foam *foam, char *out, size_t size);

#endif
