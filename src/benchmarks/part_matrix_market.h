#ifndef ST_BENCHMARKS_PART_MATRIX_MARKET_H
#define ST_BENCHMARKS_PART_MATRIX_MARKET_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reader of Matrix Market files (METHODS 4.3; Boisvert, Pozo, Remington, "The Matrix Market
 * exchange formats", NISTIR 5935, 1996): one entry after another, in constant memory, twice
 * over if wanted. Every complaint is ST_ERR_STEP with "FILE:LINE: what is wrong". All
 * functions are local.
 */

enum st_mm_field {
    ST_MM_REAL,
    ST_MM_INTEGER,
    ST_MM_COMPLEX,
    ST_MM_PATTERN
};
enum st_mm_symmetry {
    ST_MM_GENERAL,
    ST_MM_SYMMETRIC,
    ST_MM_SKEW,
    ST_MM_HERMITIAN
};

struct st_mm_header {
    bool is_array; /**< all entries column by column; else coordinates with each entry */
    enum st_mm_field field;
    enum st_mm_symmetry symmetry;
    uint64_t n_rows, n_columns;
    uint64_t n_stored; /**< entries in the file, before mirroring */
};

/** One entry; row and column count from 0; pattern entries have value 1. */
struct st_mm_entry {
    uint64_t row, column;
    double value, imaginary;
};

/** A file being read. */
struct st_mm;

/** Open and read up to the size line. @p out owned by the caller; st_mm_close() */
enum st_status st_mm_open(const char *path, struct st_mm **out, struct st_error *err);
/** The same on an open stream, which must allow rewinding and is closed with the reader,
 *  also when this fails. @param name for messages, copied */
enum st_status st_mm_open_stream(FILE *stream, const char *name, struct st_mm **out,
                                 struct st_error *err);
/** Accepts NULL. */
void st_mm_close(struct st_mm **mm);

/** Borrowed until the reader is closed. */
const struct st_mm_header *st_mm_header(const struct st_mm *mm);
/** File and line read last, for messages: "FILE:LINE". @return @p out */
const char *st_mm_where(const struct st_mm *mm, char *out, size_t size);

/**
 * The next stored entry.
 * @param[out] more false: all promised entries were read, and nothing follows them
 */
enum st_status st_mm_next(struct st_mm *mm, struct st_mm_entry *entry, bool *more,
                          struct st_error *err);
/** Back to the first entry. */
enum st_status st_mm_rewind(struct st_mm *mm, struct st_error *err);

/** The entry that symmetry adds to a stored one. @return false if it adds none */
bool st_mm_mirror(const struct st_mm_header *header, const struct st_mm_entry *entry,
                  struct st_mm_entry *mirror);

/**
 * Refuse what cannot fit before anything is allocated for it.
 * @param reader_bytes what the reading process may use (it counts entries by row)
 * @param all_bytes    what all processes may use for the matrix together
 * @return ST_ERR_STEP with what is needed and what there is
 */
enum st_status st_mm_check_memory(const struct st_mm *mm, uint64_t reader_bytes,
                                  uint64_t all_bytes, struct st_error *err);

#endif
