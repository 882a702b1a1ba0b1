#include "tests/record/page.h"

#include "src/record/format.h"

/* See the header. */

static const char *unit_of(const struct st_table *table, const struct st_column *column)
{
    if (column->unit == NULL) {
        return "";
    }
    return st_unit_is_column(table, column->unit) ? "by row" : column->unit;
}

void page_tables(struct st_text *out)
{
    static const char *const forms[] = {"columns", "attributes", "scalars", "datasets"};

    for (size_t t = 0; t < st_n_tables; t++) {
        const struct st_table *table = st_tables[t];
        st_text_add(out, "\n### `%s`: %s", table->path, forms[table->form]);
        if (table->dimension != NULL) {
            st_text_add(out, " over `%s`", table->dimension);
        }
        st_text_add(
            out,
            "\n\n%s\n\n| name | type | unit | meaning |\n| --- | --- | --- | --- |\n",
            table->meaning);
        for (size_t c = 0; c < table->n_columns; c++) {
            const struct st_column *column = &table->columns[c];
            st_text_add(out, "| `%s` | %s | %s | %s |\n", column->name,
                        st_column_type_word(column->type), unit_of(table, column),
                        column->meaning);
        }
    }
}
