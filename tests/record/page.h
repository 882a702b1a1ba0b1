#ifndef ST_TESTS_RECORD_PAGE_H
#define ST_TESTS_RECORD_PAGE_H

#include "src/base/text.h"

/** The part of docs/FORMAT.md that follows from the tables of src/record/format.c. */
void page_tables(struct st_text *out);

#endif
