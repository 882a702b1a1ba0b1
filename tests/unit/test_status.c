#include "src/base/status.h"

#include "src/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Error texts: set, extended, cut, and the exit status that belongs to each code. */

static void text_is_set_and_extended(void **unused)
{
    struct st_error err = {0};

    (void)unused;
    assert_int_equal(st_fail(&err, ST_ERR_IO, "disk %d full", 3), ST_ERR_IO);
    assert_int_equal(st_note(&err, ", while writing '%s'", "a.h5"), ST_ERR_IO);
    assert_int_equal(st_prefix(&err, "%s:%d: ", "q.yaml", 7), ST_ERR_IO);
    assert_string_equal(err.text, "q.yaml:7: disk 3 full, while writing 'a.h5'");
    assert_int_equal(st_fail(&err, ST_ERR_MPI, "new"), ST_ERR_MPI);
    assert_string_equal(err.text, "new");
    assert_int_equal(err.code, ST_ERR_MPI);
}

static void no_error_struct_keeps_the_failure(void **unused)
{
    (void)unused;
    assert_int_equal(st_fail(NULL, ST_ERR_CONFIG, "x"), ST_ERR_CONFIG);
    assert_int_not_equal(st_note(NULL, "x"), ST_OK);
    assert_int_not_equal(st_prefix(NULL, "x"), ST_OK);
}

static void long_text_is_cut_between_characters(void **unused)
{
    struct st_error err = {0};
    char long_text[2 * ST_ERROR_TEXT_SIZE];

    (void)unused;
    memset(long_text, 'x', sizeof long_text);
    long_text[ST_ERROR_TEXT_SIZE - 2] =
        (char)0xC3; /* U+00E4 over the end of the buffer */
    long_text[ST_ERROR_TEXT_SIZE - 1] = (char)0xA4;
    long_text[sizeof long_text - 1] = '\0';
    st_fail(&err, ST_ERR_IO, "%s", long_text);
    assert_int_equal(strlen(err.text), ST_ERROR_TEXT_SIZE - 2);
    assert_int_equal(err.text[ST_ERROR_TEXT_SIZE - 3], 'x');
    st_note(&err, "more");
    st_note(&err, "more");
    assert_true(strlen(err.text) < ST_ERROR_TEXT_SIZE);
    st_prefix(&err, "context: ");
    assert_int_equal(strncmp(err.text, "context: xxx", 12), 0);
    assert_true(strlen(err.text) < ST_ERROR_TEXT_SIZE);
}

static void codes_have_words_and_exit_status(void **unused)
{
    static const struct {
        enum st_status code;
        enum st_exit exit;
        const char *word;
    } rows[] = {
        {ST_OK, 0, "ok"},
        {ST_ERR_UNSUPPORTED, 2, "unsupported"},
        {ST_ERR_INTERRUPTED, 2, "interrupted"},
        {ST_ERR_DEADLINE, 2, "deadline"},
        {ST_ERR_STEP, 2, "step"},
        {ST_ERR_USAGE, 3, "usage"},
        {ST_ERR_CONFIG, 3, "config"},
        {ST_ERR_LAUNCH, 3, "launch"},
        {ST_ERR_MEMORY, 4, "memory"},
        {ST_ERR_TOPO, 4, "topology"},
        {ST_ERR_IO, 4, "io"},
        {ST_ERR_INTERNAL, 4, "internal"},
        {ST_ERR_MPI, 4, "mpi"},
        {(enum st_status)(ST_ERR_MPI + 1), 4, "unknown"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(st_exit_of(rows[i].code), rows[i].exit);
        assert_string_equal(st_status_word(rows[i].code), rows[i].word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_set_and_extended),
        cmocka_unit_test(no_error_struct_keeps_the_failure),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(codes_have_words_and_exit_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
