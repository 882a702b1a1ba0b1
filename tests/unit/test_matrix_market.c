/*
 * Matrix Market reader: every field and symmetry kind, what is tolerated, and every way a
 * file can be wrong, each with the line and the reason it must name (METHODS 4.3).
 */
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/part_matrix_market.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"

/* A temporary file with the text, so that size checks and rewinding are real. */
static enum st_status open_bytes(const char *text, size_t n, struct st_mm **mm,
                                 struct st_error *err)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    rewind(file);
    return st_mm_open_stream(file, "m.mtx", mm, err);
}

/* Read everything; the dense real and imaginary parts are summed up. */
static enum st_status read_dense(const char *text, double dense[8][8],
                                 double imaginary[8][8], struct st_error *err)
{
    struct st_mm *mm = NULL;
    enum st_status rc = open_bytes(text, strlen(text), &mm, err);
    bool more = rc == ST_OK;

    memset(dense, 0, sizeof(double[8][8]));
    memset(imaginary, 0, sizeof(double[8][8]));
    while (more) {
        struct st_mm_entry entry;
        struct st_mm_entry mirror;
        rc = st_mm_next(mm, &entry, &more, err);
        if (rc != ST_OK || !more) {
            break;
        }
        dense[entry.row][entry.column] += entry.value;
        imaginary[entry.row][entry.column] += entry.imaginary;
        if (st_mm_mirror(st_mm_header(mm), &entry, &mirror)) {
            dense[mirror.row][mirror.column] += mirror.value;
            imaginary[mirror.row][mirror.column] += mirror.imaginary;
        }
    }
    st_mm_close(&mm);
    assert_null(mm);
    return rc;
}

/* METHODS 4.3 [V]. */
static void nist_example(void **unused)
{
    static const char text[] = REAL "% a comment\n\n%another\n5 5 8\n"
                                    "1 1 1.0\n2 2 10.5\n3 3 .015\n1 4 6.0\n4 2 250.5\n"
                                    "4 4 -280\n4 5 33.32\n5 5 12\n";
    static const double want[2][5] = {{7, 10.5, 0.015, 3.82, 12},
                                      {25, 21, 0.045, -452.4, 60}};
    struct st_error err = {0};
    double a[8][8];
    double imaginary[8][8];

    (void)unused;
    assert_int_equal(read_dense(text, a, imaginary, &err), ST_OK);
    for (size_t i = 0; i < 5; i++) {
        double y[2] = {0.0, 0.0};
        for (size_t j = 0; j < 5; j++) {
            y[0] += a[i][j];
            y[1] += a[i][j] * (double)(j + 1);
        }
        assert_true(fabs(y[0] - want[0][i]) <= 1e-12);
        assert_true(fabs(y[1] - want[1][i]) <= 1e-12);
    }
}

/* What a reader must accept, with the 2 x 2 or 3 x 3 matrix it means (by hand). */
static void all_kinds_are_read(void **unused)
{
    static const struct {
        const char *text;
        double want[3][3];
        double imaginary[3][3];
    } rows[] = {
        {REAL "2 2 2\n1 1 1\n2 1 -3e-1\n", {{1}, {-0.3}}, {{0}}},
        {"%%matrixmarket MATRIX Coordinate DOUBLE General\n2 2 1\n2 2 1.5D+2\n",
         {{0}, {0, 150}},
         {{0}}},
        {REAL "2 2 1\r\n\r\n1 2 2.5d-1\r\n", {{0, 0.25}}, {{0}}},
        {REAL "2 2 2\n\n 1\t1  4 \n\n  \n2 2 +5\n\n\n", {{4}, {0, 5}}, {{0}}},
        {REAL "2 2 2\n1 1 4\n2 2 5", {{4}, {0, 5}}, {{0}}}, /* no newline at the end */
        {REAL "2 2 3\n1 2 1\n1 2 2\n1 1 0\n", {{0, 3}}, {{0}}}, /* duplicate */
        {REAL "2 2 0\n", {{0}}, {{0}}},
        {SYMMETRIC "3 3 4\n1 1 2\n2 1 -1\n3 2 -4\n3 3 7\n",
         {{2, -1, 0}, {-1, 0, -4}, {0, -4, 7}},
         {{0}}},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 1 -6\n",
         {{0, -5, 6}, {5}, {-6}},
         {{0}}},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 -7\n2 1 +8\n",
         {{-7}, {8}},
         {{0}}},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n",
         {{0, 1}, {1}},
         {{0}}},
        {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
         {{1, 1}, {1}},
         {{0}}},
        {"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 3 -4\n",
         {{0, 3}},
         {{0, -4}}},
        {"%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 3 -4\n",
         {{0, 3}, {3}},
         {{0, -4}, {-4}}},
        {"%%MatrixMarket matrix coordinate complex skew-symmetric\n2 2 1\n2 1 3 -4\n",
         {{0, -3}, {3}},
         {{0, 4}, {-4}}},
        {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 3 -4\n",
         {{2, 3}, {3}},
         {{0, 4}, {-4}}},
        {"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
         {{1, 3, 5}, {2, 4, 6}},
         {{0}}},
        {"%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
         {{1, 2, 3}, {2, 4, 5}, {3, 5, 6}},
         {{0}}},
        {"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
         {{0, -1, -2}, {1, 0, -3}, {2, 3, 0}},
         {{0}}},
        {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n",
         {{1, 2}, {2, 4}},
         {{0, -3}, {3, 0}}},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_error err = {0};
        double a[8][8];
        double imaginary[8][8];
        if (read_dense(rows[r].text, a, imaginary, &err) != ST_OK) {
            fail_msg("row %zu: %s", r, err.text);
        }
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < 3; j++) {
                if (a[i][j] != rows[r].want[i][j] ||
                    imaginary[i][j] != rows[r].imaginary[i][j]) {
                    fail_msg("row %zu, entry %zu %zu: %g + %gi", r, i, j, a[i][j],
                             imaginary[i][j]);
                }
            }
        }
    }
}

/* Each wrong file, the place it must be blamed on, and a word of the reason. */
static void wrong_files_are_explained(void **unused)
{
    static const struct {
        const char *text, *where, *why;
    } rows[] = {
        {"", "m.mtx:1:", "empty"},
        {"\n" REAL, "m.mtx:1:", "%%MatrixMarket"},
        {"%MatrixMarket matrix coordinate real general\n1 1 0\n",
         ":1:", "%%MatrixMarket"},
        {"%%MatrixMarket matrix coordinate real\n1 1 0\n", ":1:", "five words"},
        {"%%MatrixMarket matrix coordinate real general x\n", ":1:", "five words"},
        {"%%MatrixMarket vector coordinate real general\n", ":1:", "object 'vector'"},
        {"%%MatrixMarket matrix sparse real general\n", ":1:", "format 'sparse'"},
        {"%%MatrixMarket matrix coordinate float general\n", ":1:", "field 'float'"},
        {"%%MatrixMarket matrix coordinate real lower\n", ":1:", "symmetry 'lower'"},
        {"%%MatrixMarket matrix array pattern general\n", ":1:", "coordinate"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", ":1:", "negate"},
        {"%%MatrixMarket matrix coordinate pattern hermitian\n", ":1:", "negate"},
        {"%%MatrixMarket matrix coordinate real hermitian\n", ":1:", "complex"},
        {REAL "% only comments\n", ":2:", "before the size line"},
        {REAL "2 2\n", ":2:", "three numbers"},
        {REAL "2 2 1 1\n", ":2:", "three numbers"},
        {REAL "2 2 -1\n", ":2:", "three numbers"},
        {REAL "2 2.0 1\n", ":2:", "three numbers"},
        {REAL "0 2 0\n", ":2:", "at least 1"},
        {REAL "99999999999999999999 2 1\n", ":2:", "three numbers"},
        {"%%MatrixMarket matrix array real general\n2 2 4\n", ":2:", "two numbers"},
        {"%%MatrixMarket matrix array real general\n5000000000 5000000000\n1\n",
         ":2:", "64 bits"},
        {SYMMETRIC "2 3 1\n2 1 1\n", ":2:", "square"},
        {REAL "2 2 1\n% late\n1 1 1\n", ":3:", "comment after the size line"},
        {REAL "2 2 2\n1 1 1\n", ":3:", "ends after 1 of 2"},
        {REAL "2 2 1\n1 1 1\n\n2 2 2\n", ":5:", "more than the 1"},
        {REAL "2 2 1\n1 1 1 1\n", ":3:", "3 words"},
        {REAL "2 2 1\n1 1 1 junk\n", ":3:", "3 words"},
        {REAL "2 2 2\n1 1 1\n1 1\n", ":4:", "3 words"},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n",
         ":3:", "2 words"},
        {"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1   \n",
         ":3:", "4 words"},
        {REAL "2 2 1\n0 1 1\n", ":3:", "row '0' is not in 1 to 2"},
        {REAL "2 2 1\n3 1 1\n", ":3:", "row '3' is not in 1 to 2"},
        {REAL "2 2 1\n1 3 1\n", ":3:", "column '3' is not in 1 to 2"},
        {REAL "2 2 1\n-1 1 1\n", ":3:", "row '-1'"},
        {REAL "2 2 1\n1.0 1 1\n", ":3:", "row '1.0'"},
        {REAL "2 2 1\n18446744073709551617 1 1\n", ":3:", "row '18446744073709551617'"},
        {REAL "2 2 1\n1 1 nan\n", ":3:", "value 'nan'"},
        {REAL "2 2 1\n1 1 Inf\n", ":3:", "value 'Inf'"},
        {REAL "2 2 1\n1 1 1e999\n", ":3:", "value '1e999'"},
        {REAL "2 2 1\n1 1 0x10\n", ":3:", "value '0x10'"},
        {REAL "2 2 1\n1 1 1,5\n", ":3:", "value '1,5'"},
        {REAL "2 2 1\n1 1 1D2D3\n", ":3:", "value '1D2D3'"},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
         ":3:", "value '1.5' is not an integer"},
        {SYMMETRIC "2 2 1\n1 2 1\n", ":3:", "above the diagonal"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
         ":3:", "on the diagonal"},
        {"%%MatrixMarket matrix array real general\n1 2\n1 2\n", ":3:", "1 words"},
        {"%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n", ":5:", "more than"},
    };

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_error err = {0};
        double a[8][8];
        double imaginary[8][8];
        const enum st_status rc = read_dense(rows[r].text, a, imaginary, &err);
        if (rc != ST_ERR_STEP || err.code != rc ||
            strstr(err.text, rows[r].where) == NULL ||
            strstr(err.text, rows[r].why) == NULL) {
            fail_msg("row %zu: status %d, text '%s', wanted '%s' and '%s'", r, (int)rc,
                     err.text, rows[r].where, rows[r].why);
        }
    }
}

static void long_lines(void **unused)
{
    struct st_text text = {0};
    struct st_error err = {0};
    double a[8][8];
    double imaginary[8][8];

    (void)unused;
    st_text_add(&text, "%s%%%5000s\n2 2 1\n1 1 3\n", REAL, "a long comment");
    assert_int_equal(read_dense(st_text_get(&text), a, imaginary, &err), ST_OK);
    assert_true(a[0][0] == 3.0);
    st_text_clear(&text);
    st_text_add(&text, "%s2 2 1\n1 1%5000s3\n", REAL, " ");
    assert_int_equal(read_dense(st_text_get(&text), a, imaginary, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, ":3: line longer than the 1024"));
    st_text_clear(&text);
}

static void zero_bytes_are_no_text(void **unused)
{
    static const char bytes[] = REAL "2 2 1\n1 1\0 3\n";
    struct st_error err = {0};
    struct st_mm_entry entry;
    struct st_mm *mm = NULL;
    bool more = true;

    (void)unused;
    assert_int_equal(open_bytes(bytes, sizeof bytes - 1, &mm, &err), ST_OK);
    assert_int_equal(st_mm_next(mm, &entry, &more, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "m.mtx:3: a zero byte"));
    st_mm_close(&mm);
}

/* A size line is believed only as far as the file's length and the memory reach. */
static void promises_beyond_the_file_or_memory(void **unused)
{
    static const struct {
        const char *text;
        enum st_status rc;
    } rows[] = {
        {REAL "9 9 1000000000000000000\n1 1 1\n", ST_ERR_STEP},
        {REAL "9 9 50\n1 1 1\n", ST_ERR_STEP},
        {"%%MatrixMarket matrix array real general\n3000000 3000000\n1\n", ST_ERR_STEP},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n", ST_OK},
        {"%%MatrixMarket matrix coordinate pattern general\n1 1 0\n", ST_OK},
    };
    struct st_error err = {0};
    struct st_mm *mm = NULL;

    (void)unused;
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        assert_int_equal(open_bytes(rows[r].text, strlen(rows[r].text), &mm, &err),
                         rows[r].rc);
        st_mm_close(&mm);
    }
    /* 2^40 rows and few entries: only the rows' counts do not fit. */
    static const char wide[] = REAL "1099511627776 1099511627776 1\n1099511627776 1 1\n";
    assert_int_equal(open_bytes(wide, strlen(wide), &mm, &err), ST_OK);
    assert_int_equal(st_mm_check_memory(mm, 1U << 30, UINT64_MAX, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "m.mtx:2: 1099511627776 rows need"));
    assert_int_equal(st_mm_check_memory(mm, 1ULL << 44, UINT64_MAX, &err), ST_OK);
    assert_int_equal(st_mm_check_memory(mm, 1ULL << 44, 27, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "entries need at least"));
    st_mm_close(&mm);
}

static void rewinding_reads_the_same(void **unused)
{
    static const char text[] =
        "%%MatrixMarket matrix array real skew-symmetric\n%\n3 3\n1\n\n2\n3\n";
    struct st_error err = {0};
    struct st_mm_entry first[4];
    struct st_mm_entry second[4];
    struct st_mm *mm = NULL;
    bool more = true;

    (void)unused;
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    assert_int_equal(open_bytes(text, strlen(text), &mm, &err), ST_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(st_mm_next(mm, &first[i], &more, &err), ST_OK);
        assert_int_equal(more, i < 3);
    }
    assert_int_equal(st_mm_rewind(mm, &err), ST_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(st_mm_next(mm, &second[i], &more, &err), ST_OK);
    }
    assert_memory_equal(first, second, 3 * sizeof first[0]);
    st_mm_close(&mm);
}

static void files_that_cannot_be_opened(void **unused)
{
    struct st_error err = {0};
    struct st_mm *mm = NULL;

    (void)unused;
    assert_int_equal(st_mm_open("/nonexistent/a.mtx", &mm, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "/nonexistent/a.mtx: No such file"));
    assert_int_equal(st_mm_open("/", &mm, &err), ST_ERR_STEP); /* a folder */
    assert_null(mm);
    st_mem_fail_at(1);
    assert_int_equal(open_bytes(REAL, strlen(REAL), &mm, &err), ST_ERR_MEMORY);
    st_mem_fail_at(0);
    assert_null(mm);
}

/* Counts of the README of the shared matrices: a symmetric file expands to 2L - diagonal. */
static void real_matrices_have_their_counts(void **unused)
{
    static const struct {
        const char *name;
        uint64_t n_rows, n_full;
    } rows[] = {{"airfoil", 260, 1682},
                {"recirc_flow", 225, 1849},
                {"unit_cube", 125, 1473},
                {"knot", 239, 1667},
                {"bar", 600, 23402}};

    (void)unused;
    if (access(ST_SHARED_DIR "/matrices", R_OK) != 0) {
        skip(); /* the folder of shared test data is not here */
    }
    for (size_t r = 0; r < ST_COUNT(rows); r++) {
        struct st_error err = {0};
        struct st_mm *mm = NULL;
        char path[512];
        uint64_t n_full = 0;
        uint64_t n_diagonal = 0;
        bool more = true;
        (void)snprintf(path, sizeof path, "%s/matrices/%s.mtx", ST_SHARED_DIR,
                       rows[r].name);
        assert_int_equal(st_mm_open(path, &mm, &err), ST_OK);
        while (more) {
            struct st_mm_entry entry;
            struct st_mm_entry mirror;
            assert_int_equal(st_mm_next(mm, &entry, &more, &err), ST_OK);
            if (more) {
                n_full += st_mm_mirror(st_mm_header(mm), &entry, &mirror) ? 2 : 1;
                n_diagonal += entry.row == entry.column ? 1 : 0;
            }
        }
        const struct st_mm_header *h = st_mm_header(mm);
        assert_int_equal(h->n_rows, rows[r].n_rows);
        assert_int_equal(n_full, rows[r].n_full);
        if (h->symmetry == ST_MM_SYMMETRIC) {
            assert_int_equal(n_full, 2 * h->n_stored - n_diagonal);
        }
        st_mm_close(&mm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nist_example),
        cmocka_unit_test(all_kinds_are_read),
        cmocka_unit_test(wrong_files_are_explained),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(zero_bytes_are_no_text),
        cmocka_unit_test(promises_beyond_the_file_or_memory),
        cmocka_unit_test(rewinding_reads_the_same),
        cmocka_unit_test(files_that_cannot_be_opened),
        cmocka_unit_test(real_matrices_have_their_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
