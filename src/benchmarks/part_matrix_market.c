/*
 * Reader of Matrix Market files.
 *
 * Lines are read one by one into a buffer of the 1024 characters the format allows, cut into
 * words in place, and checked word by word. Nothing is allocated by what the file says, so a
 * file that promises 10^18 entries costs an error message.
 */
#include "src/benchmarks/part_matrix_market.h"

#include "src/base/input.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    LINE_SIZE = 1024 + 2,
    MAX_WORDS = 6,
    NAME_SIZE = 512
};

struct st_mm {
    FILE *stream;
    char name[NAME_SIZE];
    struct st_mm_header header;
    uint64_t line_number; /* of the line in the buffer, from 1 */
    uint64_t n_read;      /* entries since the size line */
    uint64_t row, column; /* array format: where the next entry belongs */
    long first_entry;     /* stream position after the size line */
    uint64_t first_line;  /* its line number */
    size_t n_words;
    char *words[MAX_WORDS];
    char line[LINE_SIZE];
};

static enum st_status wrong(const struct st_mm *mm, struct st_error *err,
                            const char *reason)
{
    return st_fail(err, ST_ERR_STEP, "%s:%" PRIu64 ": %s", mm->name, mm->line_number,
                   reason);
}

const char *st_mm_where(const struct st_mm *mm, char *out, size_t size)
{
    (void)snprintf(out, size, "%s:%" PRIu64, mm->name, mm->line_number);
    return out;
}

/* One line without its end. Comments may be longer than the buffer and are cut. */
static enum st_status read_line(struct st_mm *mm, bool *at_end, struct st_error *err)
{
    size_t n = 0;
    int c = getc_unlocked(mm->stream);

    *at_end = c == EOF;
    if (!*at_end) {
        mm->line_number++;
    }
    for (; c != EOF && c != '\n'; c = getc_unlocked(mm->stream)) {
        if (c == '\0') {
            return wrong(mm, err, "a zero byte: this is not a text file");
        }
        if (n + 1 < LINE_SIZE) {
            mm->line[n++] = (char)c;
        } else if (mm->line[0] != '%') {
            return wrong(mm, err, "line longer than the 1024 characters of the format");
        }
    }
    if (ferror(mm->stream)) {
        return st_fail(err, ST_ERR_STEP, "%s:%" PRIu64 ": cannot be read on: %s",
                       mm->name, mm->line_number,
                       errno == EILSEQ ? "the compressed file is damaged or cut short"
                                       : strerror(errno));
    }
    if (n > 0 && mm->line[n - 1] == '\r') {
        n--;
    }
    mm->line[n] = '\0';
    return ST_OK;
}

/* Cut the line into words; of more than MAX_WORDS the rest stays in the last one. */
static void split_line(struct st_mm *mm)
{
    static const char blanks[] = " \t";
    char *c = mm->line;

    mm->n_words = 0;
    for (c += strspn(c, blanks); *c != '\0' && mm->n_words < MAX_WORDS;) {
        mm->words[mm->n_words++] = c;
        c += strcspn(c, blanks);
        if (*c != '\0') {
            *c++ = '\0';
        }
        c += strspn(c, blanks);
    }
}

/* The next line that is not blank, cut into words. */
static enum st_status next_words(struct st_mm *mm, bool comments, bool *at_end,
                                 struct st_error *err)
{
    for (;;) {
        const enum st_status rc = read_line(mm, at_end, err);
        if (rc != ST_OK || *at_end) {
            mm->n_words = 0;
            return rc;
        }
        if (mm->line[0] == '%') {
            if (!comments) {
                return wrong(mm, err, "a comment after the size line");
            }
            continue;
        }
        split_line(mm);
        if (mm->n_words > 0) {
            return ST_OK;
        }
    }
}

struct word {
    const char *text;
    int value;
};

/* What may stand at one position of the first line. */
struct vocabulary {
    const char *what;
    size_t n;
    const struct word *words;
};

/* Value of a word of the first line, or a complaint that lists what is allowed. */
static enum st_status look_up(const struct st_mm *mm, const struct vocabulary *allowed,
                              const char *text, int *value, struct st_error *err)
{
    for (size_t i = 0; i < allowed->n; i++) {
        if (strcasecmp(text, allowed->words[i].text) == 0) {
            *value = allowed->words[i].value;
            return ST_OK;
        }
    }
    (void)st_fail(err, ST_ERR_STEP, "%s:%" PRIu64 ": %s '%.40s' is not one of", mm->name,
                  mm->line_number, allowed->what, text);
    for (size_t i = 0; i < allowed->n; i++) {
        (void)st_note(err, "%s %s", i == 0 ? "" : ",", allowed->words[i].text);
    }
    return ST_ERR_STEP;
}

/* Words of an entry's line: its place, unless that follows from the order, and its values. */
static size_t indices_of(const struct st_mm_header *h)
{
    return h->is_array ? 0 : 2;
}

static size_t values_of(const struct st_mm_header *h)
{
    return h->field == ST_MM_PATTERN ? 0 : h->field == ST_MM_COMPLEX ? 2 : 1;
}

static enum st_status check_kinds(const struct st_mm *mm, struct st_error *err)
{
    const struct st_mm_header *h = &mm->header;

    if (h->field == ST_MM_PATTERN && h->is_array) {
        return wrong(mm, err,
                     "pattern needs coordinate format: an array has values only");
    }
    if (h->field == ST_MM_PATTERN &&
        (h->symmetry == ST_MM_SKEW || h->symmetry == ST_MM_HERMITIAN)) {
        return wrong(mm, err,
                     "a pattern is general or symmetric: it has no values to negate");
    }
    if (h->symmetry == ST_MM_HERMITIAN && h->field != ST_MM_COMPLEX) {
        return wrong(mm, err, "hermitian needs complex values");
    }
    return ST_OK;
}

static enum st_status read_banner(struct st_mm *mm, struct st_error *err)
{
    static const struct word formats[] = {{"coordinate", 0}, {"array", 1}};
    static const struct word fields[] = {{"real", ST_MM_REAL},
                                         {"double", ST_MM_REAL},
                                         {"integer", ST_MM_INTEGER},
                                         {"complex", ST_MM_COMPLEX},
                                         {"pattern", ST_MM_PATTERN}};
    static const struct word symmetries[] = {{"general", ST_MM_GENERAL},
                                             {"symmetric", ST_MM_SYMMETRIC},
                                             {"skew-symmetric", ST_MM_SKEW},
                                             {"hermitian", ST_MM_HERMITIAN}};
    static const struct word objects[] = {{"matrix", 0}};
    static const struct vocabulary allowed[] = {
        {"object", ST_COUNT(objects), objects},
        {"format", ST_COUNT(formats), formats},
        {"field", ST_COUNT(fields), fields},
        {"symmetry", ST_COUNT(symmetries), symmetries}};
    bool at_end = false;
    int value[ST_COUNT(allowed)] = {0};
    enum st_status rc = read_line(mm, &at_end, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (at_end) {
        return st_fail(err, ST_ERR_STEP, "%s:1: the file is empty", mm->name);
    }
    split_line(mm);
    if (mm->n_words == 0 || strcasecmp(mm->words[0], "%%MatrixMarket") != 0) {
        return wrong(mm, err,
                     "does not begin with %%MatrixMarket: not a Matrix Market file");
    }
    if (mm->n_words != 1 + ST_COUNT(allowed)) {
        return wrong(mm, err,
                     "the first line must read %%MatrixMarket matrix FORMAT FIELD "
                     "SYMMETRY, five words");
    }
    for (size_t i = 0; i < ST_COUNT(allowed); i++) {
        rc = look_up(mm, &allowed[i], mm->words[1 + i], &value[i], err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    mm->header.is_array = value[1] != 0;
    mm->header.field = (enum st_mm_field)value[2];
    mm->header.symmetry = (enum st_mm_symmetry)value[3];
    return check_kinds(mm, err);
}

/* Stored entries of an array; the lower triangle if it is symmetric in some way. */
static bool array_entries(const struct st_mm_header *h, uint64_t *n)
{
    const uint64_t with_diagonal = h->symmetry == ST_MM_SKEW ? 0 : 1;

    if (h->symmetry == ST_MM_GENERAL) {
        return st_mul_size(h->n_rows, h->n_columns, n);
    }
    /* One of the two factors is even: halving it first keeps the product exact. */
    const uint64_t a = h->n_rows;
    const uint64_t b = h->n_rows - 1 + 2 * with_diagonal;
    return h->n_rows < UINT64_MAX - 2 &&
           (a % 2 == 0 ? st_mul_size(a / 2, b, n) : st_mul_size(a, b / 2, n));
}

/* A file cannot hold more entries than it has bytes for: "1 1\n" is the shortest one. */
static enum st_status check_file_size(const struct st_mm *mm, struct st_error *err)
{
    const struct st_mm_header *h = &mm->header;
    const double n_numbers = (double)(indices_of(h) + values_of(h));
    struct stat info;

    if (fileno(mm->stream) < 0 || fstat(fileno(mm->stream), &info) != 0 ||
        !S_ISREG(info.st_mode)) {
        return ST_OK;
    }
    /* Each number is a digit and a separator; the last line may lack its end. */
    if (2.0 * n_numbers * (double)h->n_stored > (double)info.st_size + 1.0) {
        return st_fail(err, ST_ERR_STEP,
                       "%s:%" PRIu64 ": the size line promises %" PRIu64
                       " entries, more than fit into the file's %" PRIu64 " bytes",
                       mm->name, mm->line_number, h->n_stored, (uint64_t)info.st_size);
    }
    return ST_OK;
}

static enum st_status read_size(struct st_mm *mm, struct st_error *err)
{
    struct st_mm_header *h = &mm->header;
    const size_t n_wanted = h->is_array ? 2 : 3;
    uint64_t size[3] = {0};
    bool at_end = false;
    const enum st_status rc = next_words(mm, true, &at_end, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (at_end) {
        return wrong(mm, err, "the file ends before the size line");
    }
    bool is_good = mm->n_words == n_wanted;
    for (size_t i = 0; is_good && i < n_wanted; i++) {
        is_good = st_parse_u64(mm->words[i], &size[i]);
    }
    if (!is_good || size[0] == 0 || size[1] == 0) {
        return wrong(mm, err,
                     h->is_array ? "the size line must be two numbers: rows columns"
                                 : "the size line must be three numbers: rows columns "
                                   "entries (rows and columns at least 1)");
    }
    h->n_rows = size[0];
    h->n_columns = size[1];
    h->n_stored = size[2];
    if (h->symmetry != ST_MM_GENERAL && h->n_rows != h->n_columns) {
        return wrong(mm, err,
                     "a symmetric, skew-symmetric or hermitian matrix is square");
    }
    if (h->is_array && !array_entries(h, &h->n_stored)) {
        return wrong(mm, err, "rows x columns exceeds 64 bits");
    }
    return check_file_size(mm, err);
}

static void start_entries(struct st_mm *mm)
{
    mm->n_read = 0;
    mm->column = 0;
    mm->row = mm->header.symmetry == ST_MM_SKEW ? 1 : 0;
}

enum st_status st_mm_open_stream(FILE *stream, const char *name, struct st_mm **out,
                                 struct st_error *err)
{
    struct st_mm *mm = st_calloc(err, 1, sizeof *mm);
    if (mm == NULL) {
        (void)fclose(stream);
        return ST_ERR_MEMORY;
    }
    mm->stream = stream;
    (void)st_copy(mm->name, sizeof mm->name, name);
    enum st_status rc = read_banner(mm, err);
    if (rc == ST_OK) {
        rc = read_size(mm, err);
    }
    if (rc == ST_OK) {
        mm->first_entry = ftell(stream);
        mm->first_line = mm->line_number;
        start_entries(mm);
        if (mm->first_entry < 0) {
            rc = st_fail(err, ST_ERR_STEP,
                         "%s: is read twice and cannot be rewound (a pipe?): %s", name,
                         strerror(errno));
        }
    }
    if (rc != ST_OK) {
        st_mm_close(&mm);
        return rc;
    }
    *out = mm;
    return ST_OK;
}

enum st_status st_mm_open(const char *path, struct st_mm **out, struct st_error *err)
{
    FILE *stream = st_input_open(path, err);

    if (stream == NULL) {
        return st_prefix(err, "matrix file: ");
    }
    return st_mm_open_stream(stream, path, out, err);
}

void st_mm_close(struct st_mm **mm)
{
    if (mm == NULL || *mm == NULL) {
        return;
    }
    (void)fclose((*mm)->stream); /* only read: nothing can be lost */
    st_free(*mm);
    *mm = NULL;
}

const struct st_mm_header *st_mm_header(const struct st_mm *mm)
{
    return &mm->header;
}

enum st_status st_mm_rewind(struct st_mm *mm, struct st_error *err)
{
    if (fseek(mm->stream, mm->first_entry, SEEK_SET) != 0) {
        return st_fail(err, ST_ERR_STEP, "%s: cannot be rewound: %s", mm->name,
                       strerror(errno));
    }
    mm->line_number = mm->first_line;
    start_entries(mm);
    return ST_OK;
}

/* [sign] digits, as a double (exact up to 2^53, rounded beyond). */
static bool parse_integer(const char *text, double *out)
{
    const bool is_negative = text[0] == '-';
    uint64_t size = 0;

    if (!st_parse_u64(text + (is_negative || text[0] == '+' ? 1 : 0), &size)) {
        return false;
    }
    *out = is_negative ? -(double)size : (double)size;
    return true;
}

/* A number whose exponent may have Fortran's D. */
static bool parse_real(char *text, double *out)
{
    char *d = strpbrk(text, "dD");

    if (d != NULL) {
        *d = 'e';
    }
    return st_parse_double(text, out);
}

/* One of the entry's values; the word is quoted as it stands in the file. */
static enum st_status parse_value(const struct st_mm *mm, char *text, double *out,
                                  struct st_error *err)
{
    const bool is_integer = mm->header.field == ST_MM_INTEGER;
    char found[48];

    (void)st_copy(found, sizeof found, text);
    if (is_integer ? parse_integer(text, out) : parse_real(text, out)) {
        return ST_OK;
    }
    return st_fail(err, ST_ERR_STEP, "%s:%" PRIu64 ": value '%s' is not %s", mm->name,
                   mm->line_number, found,
                   is_integer ? "an integer of 64 bits" : "a finite number");
}

static enum st_status parse_index(const struct st_mm *mm, const char *what,
                                  const char *text, uint64_t limit, uint64_t *out,
                                  struct st_error *err)
{
    uint64_t index = 0;

    if (!st_parse_u64(text, &index) || index < 1 || index > limit) {
        return st_fail(err, ST_ERR_STEP,
                       "%s:%" PRIu64 ": %s '%.24s' is not in 1 to %" PRIu64, mm->name,
                       mm->line_number, what, text, limit);
    }
    *out = index - 1;
    return ST_OK;
}

/* Where the entry belongs: read it, or count along the columns of an array. */
static enum st_status parse_place(struct st_mm *mm, struct st_mm_entry *entry,
                                  struct st_error *err)
{
    const struct st_mm_header *h = &mm->header;

    if (h->is_array) {
        entry->row = mm->row;
        entry->column = mm->column;
        if (++mm->row == h->n_rows) {
            mm->column++;
            mm->row = h->symmetry == ST_MM_GENERAL ? 0
                      : h->symmetry == ST_MM_SKEW  ? mm->column + 1
                                                   : mm->column;
        }
        return ST_OK;
    }
    enum st_status rc = parse_index(mm, "row", mm->words[0], h->n_rows, &entry->row, err);
    if (rc == ST_OK) {
        rc = parse_index(mm, "column", mm->words[1], h->n_columns, &entry->column, err);
    }
    if (rc != ST_OK || h->symmetry == ST_MM_GENERAL) {
        return rc;
    }
    if (entry->column > entry->row) {
        return wrong(mm, err,
                     "an entry above the diagonal of a symmetric, skew-symmetric "
                     "or hermitian matrix, of which only the lower triangle is "
                     "stored");
    }
    if (h->symmetry == ST_MM_SKEW && entry->column == entry->row) {
        return wrong(mm, err, "an entry on the diagonal of a skew-symmetric matrix");
    }
    return ST_OK;
}

static enum st_status parse_entry(struct st_mm *mm, struct st_mm_entry *entry,
                                  struct st_error *err)
{
    const struct st_mm_header *h = &mm->header;
    const size_t n_indices = indices_of(h);
    const size_t n_values = values_of(h);
    double values[2] = {1.0, 0.0};

    if (mm->n_words != n_indices + n_values) {
        return st_fail(err, ST_ERR_STEP,
                       "%s:%" PRIu64 ": an entry has %zu words here, this line has %s%zu",
                       mm->name, mm->line_number, n_indices + n_values,
                       mm->n_words == MAX_WORDS ? "at least " : "", mm->n_words);
    }
    enum st_status rc = parse_place(mm, entry, err);
    for (size_t i = 0; rc == ST_OK && i < n_values; i++) {
        rc = parse_value(mm, mm->words[n_indices + i], &values[i], err);
    }
    entry->value = values[0];
    entry->imaginary = values[1];
    return rc;
}

enum st_status st_mm_next(struct st_mm *mm, struct st_mm_entry *entry, bool *more,
                          struct st_error *err)
{
    bool at_end = false;
    enum st_status rc = next_words(mm, false, &at_end, err);

    if (rc != ST_OK) {
        return rc;
    }
    *more = mm->n_read < mm->header.n_stored;
    if (at_end && *more) {
        return st_fail(err, ST_ERR_STEP,
                       "%s:%" PRIu64 ": the file ends after %" PRIu64 " of %" PRIu64
                       " entries",
                       mm->name, mm->line_number, mm->n_read, mm->header.n_stored);
    }
    if (!at_end && !*more) {
        return st_fail(err, ST_ERR_STEP,
                       "%s:%" PRIu64 ": more than the %" PRIu64
                       " entries that the size line promises",
                       mm->name, mm->line_number, mm->header.n_stored);
    }
    if (*more) {
        rc = parse_entry(mm, entry, err);
        mm->n_read++;
    }
    return rc;
}

bool st_mm_mirror(const struct st_mm_header *header, const struct st_mm_entry *entry,
                  struct st_mm_entry *mirror)
{
    const double sign = header->symmetry == ST_MM_SKEW ? -1.0 : 1.0;
    const double imaginary_sign = header->symmetry == ST_MM_HERMITIAN ? -1.0 : sign;

    if (header->symmetry == ST_MM_GENERAL || entry->row == entry->column) {
        return false;
    }
    *mirror = (struct st_mm_entry){entry->column, entry->row, sign * entry->value,
                                   imaginary_sign * entry->imaginary};
    return true;
}

enum st_status st_mm_check_memory(const struct st_mm *mm, uint64_t reader_bytes,
                                  uint64_t all_bytes, struct st_error *err)
{
    const struct st_mm_header *h = &mm->header;
    /* In doubles: estimates for a refusal, and no product can wrap. 8 bytes count the
     * entries of a row; an entry takes 12 in the product's storage and 16 before that. */
    const double for_rows = 8.0 * (double)h->n_rows;
    const double for_entries = 28.0 * (double)h->n_stored;
    char where[NAME_SIZE + 24];

    if (for_rows > (double)reader_bytes) {
        return st_fail(err, ST_ERR_STEP,
                       "%s: %" PRIu64 " rows need %.3g bytes in the process that reads, "
                       "which may use %.3g",
                       st_mm_where(mm, where, sizeof where), h->n_rows, for_rows,
                       (double)reader_bytes);
    }
    if (for_entries > (double)all_bytes) {
        return st_fail(err, ST_ERR_STEP,
                       "%s: %" PRIu64 " entries need at least %.3g bytes, all processes "
                       "together may use %.3g",
                       st_mm_where(mm, where, sizeof where), h->n_stored, for_entries,
                       (double)all_bytes);
    }
    return ST_OK;
}
