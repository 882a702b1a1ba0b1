#include "src/base/units.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

/*
 * One table of units serves reading, printing and the lists in messages. Integers are read
 * without a detour over double: 64-bit byte counts must be right to the last byte (CASES 37).
 */

enum unit_use {
    READ,      /* people may write it */
    READ_SHOW, /* and it is used when printing */
    STORED     /* spelling in files: read, but not offered in messages */
};

struct unit {
    const char *base;
    const char *text;
    double factor; /* base units in one; exact in double where it is an integer */
    enum unit_use use;
};

/* Within a base unit the units that are printed stand in ascending order. */
/* clang-format off */
static const struct unit units[] = {
    {"byte", "B", 1.0, READ_SHOW},
    {"byte", "kB", 1e3, READ},
    {"byte", "MB", 1e6, READ},
    {"byte", "GB", 1e9, READ},
    {"byte", "TB", 1e12, READ},
    {"byte", "KiB", 0x1p10, READ_SHOW},
    {"byte", "MiB", 0x1p20, READ_SHOW},
    {"byte", "GiB", 0x1p30, READ_SHOW},
    {"byte", "TiB", 0x1p40, READ_SHOW},
    {"byte", "byte", 1.0, STORED},
    {"s", "ns", 1e-9, READ_SHOW},
    {"s", "us", 1e-6, READ_SHOW},
    {"s", "ms", 1e-3, READ_SHOW},
    {"s", "s", 1.0, READ_SHOW},
    {"s", "min", 60.0, READ},
    {"s", "h", 3600.0, READ},
    {"byte s-1", "B/s", 1.0, READ_SHOW},
    {"byte s-1", "kB/s", 1e3, READ_SHOW},
    {"byte s-1", "MB/s", 1e6, READ_SHOW},
    {"byte s-1", "GB/s", 1e9, READ_SHOW},
    {"byte s-1", "TB/s", 1e12, READ_SHOW},
    {"byte s-1", "KiB/s", 0x1p10, READ},
    {"byte s-1", "MiB/s", 0x1p20, READ},
    {"byte s-1", "GiB/s", 0x1p30, READ},
    {"byte s-1", "TiB/s", 0x1p40, READ},
    {"byte s-1", "byte s-1", 1.0, STORED},
    {"flop s-1", "flop/s", 1.0, READ_SHOW},
    {"flop s-1", "kflop/s", 1e3, READ_SHOW},
    {"flop s-1", "Mflop/s", 1e6, READ_SHOW},
    {"flop s-1", "Gflop/s", 1e9, READ_SHOW},
    {"flop s-1", "Tflop/s", 1e12, READ_SHOW},
    {"flop s-1", "flop s-1", 1.0, STORED},
    {"s-1", "/s", 1.0, READ_SHOW},
    {"s-1", "k/s", 1e3, READ_SHOW},
    {"s-1", "M/s", 1e6, READ_SHOW},
    {"s-1", "G/s", 1e9, READ_SHOW},
    {"s-1", "1/s", 1.0, READ},
    {"s-1", "s-1", 1.0, STORED},
    {"1", "", 1.0, READ_SHOW},
    {"1", "%", 0.01, READ},
};
/* clang-format on */

/* Multiplying by 0.01 would turn 80 % into 0.8000000000000000444: percent is divided. */
static double to_base(double number, const struct unit *unit)
{
    return unit->factor < 1.0 ? number / round(1.0 / unit->factor)
                              : number * unit->factor;
}

static bool is_whole(const struct unit *unit)
{
    return unit->factor >= 1.0;
}

bool st_unit_known(const char *base_unit)
{
    for (size_t i = 0; i < ST_COUNT(units); i++) {
        if (strcmp(units[i].base, base_unit) == 0) {
            return true;
        }
    }
    return false;
}

const char *st_unit_plain(const char *base_unit)
{
    for (size_t i = 0; i < ST_COUNT(units); i++) {
        if (strcmp(units[i].base, base_unit) == 0 && units[i].use == READ_SHOW &&
            units[i].factor == 1.0) {
            return units[i].text;
        }
    }
    return base_unit;
}

static const struct unit *find_unit(const char *base_unit, const char *text)
{
    for (size_t i = 0; i < ST_COUNT(units); i++) {
        if (strcmp(units[i].base, base_unit) == 0 && strcmp(units[i].text, text) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* "B, kB or MB": what may be written for a base unit; with only_whole, for integers. */
struct offer {
    size_t n;
    const char *names[ST_COUNT(units)];
    char list[160];
};

static void make_offer(struct offer *offer, const char *base_unit, bool only_whole)
{
    size_t used = 0;

    *offer = (struct offer){0};
    for (size_t i = 0; i < ST_COUNT(units); i++) {
        if (strcmp(units[i].base, base_unit) == 0 && units[i].use != STORED &&
            units[i].text[0] != '\0' && (!only_whole || is_whole(&units[i]))) {
            offer->names[offer->n++] = units[i].text;
        }
    }
    for (size_t i = 0; i < offer->n; i++) {
        const char *comma = i == 0 ? "" : i + 1 == offer->n ? " or " : ", ";
        st_print(offer->list + used, sizeof offer->list - used, "%s%s", comma,
                 offer->names[i]);
        used = strlen(offer->list);
    }
}

/* "write a number with B, kB, … or TiB" or, for counts, "write a number". */
static enum st_status refuse(struct st_error *err, const char *text,
                             const char *base_unit, bool only_whole, const char *reason)
{
    const bool is_count = strcmp(base_unit, "1") == 0;
    struct offer offer;

    make_offer(&offer, base_unit, only_whole);
    st_fail(err, ST_ERR_CONFIG, "'%s' %s; write a %snumber", text, reason,
            only_whole && is_count ? "whole " : "");
    if (offer.n > 0) {
        st_note(err, "%s with %s", is_count ? ", alone or" : "", offer.list);
    }
    return ST_ERR_CONFIG;
}

/* Number and unit of a text; *n_number is the length of the number. */
static enum st_status split(struct st_error *err, const char *text, const char *base_unit,
                            bool only_whole, size_t *n_number, const struct unit **unit)
{
    double number = 0.0;

    if (!st_unit_known(base_unit)) {
        st_fail(err, ST_ERR_INTERNAL, "'%s' is not a base unit of seatrial", base_unit);
        return ST_ERR_INTERNAL;
    }
    *n_number = st_parse_number_prefix(text, &number);
    if (*n_number == 0) {
        const char first = text[text[0] == '-' || text[0] == '+' ? 1 : 0];
        const char *reason = text[0] == '\0' ? "is empty"
                             : first >= '0' && first <= '9'
                                 ? "is more than a number can hold"
                                 : "does not begin with a number";
        return refuse(err, text, base_unit, only_whole, reason);
    }
    const char *rest = text + *n_number + strspn(text + *n_number, " \t");
    *unit = find_unit(base_unit, rest);
    if (*unit == NULL && *rest == '\0') {
        return refuse(err, text, base_unit, only_whole, "has no unit");
    }
    if (*unit == NULL || (only_whole && !is_whole(*unit))) {
        struct offer offer;
        char reason[96];

        st_print(reason, sizeof reason, "has the unknown unit '%.40s'", rest);
        refuse(err, text, base_unit, only_whole, reason);
        make_offer(&offer, base_unit, only_whole);
        const char *near = st_nearest(rest, offer.n, offer.names);
        if (near != NULL) {
            st_note(err, " (did you mean '%s'?)", near);
        }
        return ST_ERR_CONFIG;
    }
    return ST_OK;
}

enum st_status st_parse_quantity(struct st_error *err, const char *text,
                                 const char *base_unit, double *out)
{
    const struct unit *unit = NULL;
    size_t n_number = 0;
    double number = 0.0;

    const enum st_status rc = split(err, text, base_unit, false, &n_number, &unit);
    if (rc != ST_OK) {
        return rc;
    }
    (void)st_parse_number_prefix(text, &number); /* split() found one */
    const double value = to_base(number, unit);
    if (!isfinite(value)) {
        return refuse(err, text, base_unit, false, "is more than a number can hold");
    }
    *out = value;
    return ST_OK;
}

/* A decimal number as digits * 10^exponent, digits without factor 10 (or 0). */
struct decimal {
    uint64_t digits;
    long exponent;
    bool fits; /* digits did not need more than 64 bit */
};

enum {
    EXPONENT_LIMIT = 100000
}; /* beyond this any number of 64 bit is out of reach */

/* One more digit; zeros wait until another digit follows, so that "1000" is 1 * 10^3. */
static void add_digit(struct decimal *d, long *n_waiting, unsigned digit)
{
    if (digit == 0) {
        *n_waiting += d->digits != 0 ? 1 : 0;
        return;
    }
    for (; *n_waiting > 0 && d->fits; (*n_waiting)--) {
        d->fits = d->digits <= UINT64_MAX / 10;
        d->digits *= d->fits ? 10 : 1;
    }
    d->fits = d->fits && d->digits <= (UINT64_MAX - digit) / 10;
    d->digits = d->fits ? d->digits * 10 + digit : d->digits;
}

/* Read an unsigned number that number_prefix accepted. */
static struct decimal read_decimal(const char *text, size_t length)
{
    struct decimal d = {.fits = true};
    long n_waiting = 0;  /* zeros since the last other digit */
    long n_fraction = 0; /* digits behind the point */
    bool behind_point = false;
    size_t i = text[0] == '+' ? 1 : 0;

    for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            behind_point = true;
            continue;
        }
        n_fraction += behind_point ? 1 : 0;
        add_digit(&d, &n_waiting, (unsigned)(text[i] - '0'));
    }
    if (i < length) { /* at the 'e' */
        const bool negative = text[i + 1] == '-';
        i += text[i + 1] == '-' || text[i + 1] == '+' ? 2 : 1;
        for (; i < length && d.exponent < EXPONENT_LIMIT; i++) {
            d.exponent = d.exponent * 10 + (text[i] - '0');
        }
        d.exponent = negative ? -d.exponent : d.exponent;
    }
    d.exponent += n_waiting - n_fraction;
    return d;
}

/* Divide a * b by a prime, once, without remainder. */
static bool divide_product(uint64_t *a, uint64_t *b, uint64_t prime)
{
    uint64_t *const which = *a % prime == 0 ? a : b;

    if (*which % prime != 0) {
        return false;
    }
    *which /= prime;
    return true;
}

enum exact {
    EXACT,
    TOO_LARGE,
    NOT_WHOLE
};

/* digits * 10^exponent * factor as an integer. */
static enum exact to_integer(struct decimal d, uint64_t factor, uint64_t *out)
{
    if (d.digits == 0) {
        *out = 0;
        return EXACT;
    }
    if (!d.fits) { /* over 19 digits, the last not 0 */
        return d.exponent < 0 ? NOT_WHOLE : TOO_LARGE;
    }
    for (; d.exponent < 0; d.exponent++) {
        if (!divide_product(&d.digits, &factor, 2) ||
            !divide_product(&d.digits, &factor, 5)) {
            return NOT_WHOLE;
        }
    }
    for (; d.exponent > 0; d.exponent--) {
        if (d.digits > UINT64_MAX / 10) {
            return TOO_LARGE;
        }
        d.digits *= 10;
    }
    if (d.digits > UINT64_MAX / factor) {
        return TOO_LARGE;
    }
    *out = d.digits * factor;
    return EXACT;
}

enum st_status st_parse_exact(struct st_error *err, const char *text,
                              const char *base_unit, uint64_t *out)
{
    const struct unit *unit = NULL;
    size_t n_number = 0;

    const enum st_status rc = split(err, text, base_unit, true, &n_number, &unit);
    if (rc != ST_OK) {
        return rc;
    }
    if (text[0] == '-') {
        return refuse(err, text, base_unit, true, "is negative");
    }
    switch (to_integer(read_decimal(text, n_number), (uint64_t)unit->factor, out)) {
    case TOO_LARGE:
        return refuse(err, text, base_unit, true, "is more than 64 bits can hold");
    case NOT_WHOLE:
        return strcmp(base_unit, "1") == 0
                   ? refuse(err, text, base_unit, true, "is not whole")
                   : st_fail(err, ST_ERR_CONFIG, "'%s' is not a whole number of %s", text,
                             strcmp(base_unit, "byte") == 0 ? "bytes" : base_unit);
    case EXACT:
        break;
    }
    return ST_OK;
}

/* Four significant digits need the next prefix when rounding reaches it: 999.96 MB/s is
 * 1.000 GB/s, 1023.6 KiB is 1.000 MiB. */
static const struct unit *unit_to_show(double value, const char *base_unit)
{
    const struct unit *chosen = NULL;

    for (size_t i = 0; i < ST_COUNT(units); i++) {
        const struct unit *unit = &units[i];
        if (strcmp(unit->base, base_unit) != 0 || unit->use != READ_SHOW) {
            continue;
        }
        const bool binary = strcmp(base_unit, "byte") == 0;
        const double full = binary ? 1023.5 / 1024.0 : 0.99995;
        if (chosen == NULL || fabs(value) >= full * unit->factor) {
            chosen = unit;
        }
    }
    return chosen;
}

double st_pick_scale(double value, const char *base_unit, char *unit, size_t size)
{
    const struct unit *shown =
        isfinite(value) && value != 0.0 ? unit_to_show(value, base_unit) : NULL;

    st_copy(unit, size, shown != NULL ? shown->text : st_unit_plain(base_unit));
    return shown != NULL ? shown->factor : 1.0;
}

/* Digits behind the point for four significant ones; -1: leave it to %g. */
static int decimals_of(double scaled)
{
    const double size = fabs(scaled);

    if (size < 0.99995) {
        return size < 0.1 ? -1 : 4;
    }
    if (size < 9.9995) {
        return 3;
    }
    if (size < 99.995) {
        return 2;
    }
    if (size < 999.95) {
        return 1;
    }
    return size < 999999.5 ? 0 : -1;
}

const char *st_format_quantity(char *out, size_t size, double value,
                               const char *base_unit)
{
    char unit[24];

    if (isnan(value)) {
        st_copy(out, size, "-");
        return out;
    }
    const double scaled = value / st_pick_scale(value, base_unit, unit, sizeof unit);
    const char *blank = unit[0] != '\0' ? " " : "";
    const bool counted = strcmp(base_unit, "1") == 0 || strcmp(unit, "B") == 0;
    const int decimals = decimals_of(scaled);

    if (value == 0.0 || (counted && value == rint(value) && fabs(value) < 1e15)) {
        st_print(out, size, "%.0f%s%s", fabs(value) > 0.0 ? value : 0.0, blank, unit);
    } else if (decimals >= 0) {
        st_print(out, size, "%.*f%s%s", decimals, scaled, blank, unit);
    } else {
        st_print(out, size, "%.4g%s%s", scaled, blank, unit);
    }
    return out;
}
