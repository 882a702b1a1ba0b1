#ifndef ST_BASE_UNITS_H
#define ST_BASE_UNITS_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Quantities with units. Base units are those of the results file, in UDUNITS spelling:
 * "byte", "s", "byte s-1", "flop s-1", "s-1" (per second: messages, iterations), "1"
 * (counts, ratios, fractions). Text carries prefixes: kB MB GB TB (1000), KiB MiB GiB TiB
 * (1024), ns us ms s min h, GB/s, GiB/s, Gflop/s, M/s, %; the base units' own spellings are
 * read too, so what is stored can be read back. Upper and lower case differ. All local.
 */

/** Is this one of the base units above? */
bool st_unit_known(const char *base_unit);

/** The unit people would write for a base unit: "B", "s", "B/s", "flop/s", "/s", "" for "1";
 * an unknown unit is returned as it is. */
const char *st_unit_plain(const char *base_unit);

/**
 * Parse "1GiB", "1.5 GB/s", "80%", "60s" into @p base_unit.
 * A bare number is accepted only for base unit "1" (and 0 nowhere else).
 * @param base_unit one of the spellings above
 * @return ST_OK, or ST_ERR_CONFIG with a text that says what was found and which units are
 *         allowed (no file position: the caller adds it with st_prefix()); ST_ERR_INTERNAL
 *         for an unknown base unit. @p out is set only on success
 */
enum st_status st_parse_quantity(struct st_error *err, const char *text,
                                 const char *base_unit, double *out);

/** As above for whole bytes or counts, exact to 64 bit: "1.5KiB" is 1536, "0.3KiB" is
 * refused, and so are negative numbers and what exceeds 64 bit. */
enum st_status st_parse_exact(struct st_error *err, const char *text,
                              const char *base_unit, uint64_t *out);

/**
 * For people: value with a decimal prefix and 4 significant digits, "12.34 GB/s", "1.250
 * us", "64.00 KiB" for unit "byte". NaN gives "-". Whole counts and whole bytes below 1 KiB
 * are printed as such ("1234567", "8 B"). @p size of 48 is always enough.
 * @return @p out
 */
const char *st_format_quantity(char *out, size_t size, double value,
                               const char *base_unit);

/**
 * The plain-language unit after scaling by prefix for a table: e.g. "GB/s" ("" for counts).
 * @return the scale: print value / scale
 */
double st_pick_scale(double value, const char *base_unit, char *unit, size_t size);

#endif
