#ifndef ST_SHOW_XML_H
#define ST_SHOW_XML_H

#include <stdio.h>

/* Private to src/show: text inside XML 1.0. Local. */

/**
 * Write @p text so that it may stand in an attribute or between tags: markup escaped, control
 * characters that XML 1.0 has no way to write left out, invalid bytes as U+FFFD.
 */
void st_xml_put(FILE *out, const char *text);
/** ` NAME="TEXT"`, escaped. */
void st_xml_attribute(FILE *out, const char *name, const char *text);

#endif
