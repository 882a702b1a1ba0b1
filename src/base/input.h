#ifndef ST_BASE_INPUT_H
#define ST_BASE_INPUT_H

#include "src/base/status.h"

#include <stdio.h>

/**
 * Open a file for reading, compressed by gzip or not: what it holds decides, not its name. Local.
 *
 * The stream seeks like any other (backwards in a compressed file means reading from its start).
 * A plain file is an ordinary stream with a descriptor; a compressed one has none. A damaged or
 * truncated one fails in the middle: ferror() is then true and errno EILSEQ.
 * @return NULL on failure, with @p err saying which file and why (ST_ERR_STEP); else owned by
 *         the caller, fclose()
 */
FILE *st_input_open(const char *path, struct st_error *err);

#endif
