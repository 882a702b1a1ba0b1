#include "tests/record/page.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/record/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/*
 * The page and the tables say the same. After a change of src/record/format.c the tables of
 * the page are made anew by `record_driver page`.
 */

static void page_matches_the_tables(void **state)
{
    static const char heading[] = "## Tables\n";
    struct st_error err = {0};
    struct st_text want = {0};
    char *page = st_read_file(&err, ST_SOURCE_DIR "/docs/FORMAT.md", 1 << 20, NULL);
    const char *got = page != NULL ? strstr(page, heading) : NULL;

    (void)state;
    assert_non_null(got);
    got += sizeof heading - 1;
    page_tables(&want);
    for (const char *line = st_text_get(&want); *got != '\0' || *line != '\0';) {
        const size_t n_want = strcspn(line, "\n");
        const size_t n_got = strcspn(got, "\n");
        if (n_want != n_got || memcmp(line, got, n_got) != 0) {
            fail_msg("docs/FORMAT.md has\n  %.*s\nthe tables have\n  %.*s", (int)n_got,
                     got, (int)n_want, line);
        }
        line += n_want + (line[n_want] != '\0' ? 1 : 0);
        got += n_got + (got[n_got] != '\0' ? 1 : 0);
    }
    st_text_clear(&want);
    st_free(page);
}

/* What the writer and the reader rely on. */
static void tables_are_sound(void **state)
{
    (void)state;
    for (size_t t = 0; t < st_n_tables; t++) {
        const struct st_table *table = st_tables[t];
        assert_in_range(table->n_columns, 1, ST_MAX_COLUMNS);
        assert_true(table->row_size <= 512);
        assert_int_equal(table->form == ST_FORM_COLUMNS, table->dimension != NULL);
        for (size_t c = 0; c < table->n_columns; c++) {
            const struct st_column *column = &table->columns[c];
            const bool is_text = column->type == ST_COLUMN_TEXT;
            assert_int_equal(is_text, column->unit == NULL);
            assert_true(table->form == ST_FORM_FREE || column->offset < table->row_size);
            for (size_t k = 0; k < c; k++) {
                assert_string_not_equal(column->name, table->columns[k].name);
            }
            assert_true(table->dimension == NULL ||
                        strcmp(column->name, table->dimension) != 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_matches_the_tables),
        cmocka_unit_test(tables_are_sound),
    };

    return cmocka_run_group_tests_name("record_format", tests, NULL, NULL);
}
