/*
 * Escapes of XML 1.0 (section 2.2: characters; 2.4: markup; 3.3.3: why line breaks in attributes
 * are written as references).
 */
#include "src/show/xml.h"

#include "src/show/utf8.h"

#include <stdbool.h>

static bool is_xml_char(uint32_t code)
{
    if (code < 0x20) {
        return code == '\t' || code == '\n' || code == '\r';
    }
    /* U+007F to U+009F are allowed but discouraged, and steer terminals */
    return (code < 0x7F || code > 0x9F) && code != 0xFFFE && code != 0xFFFF;
}

static const char *escape_of(uint32_t code)
{
    switch (code) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\t':
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    case ST_REPLACEMENT:
        return "&#65533;";
    default:
        return NULL;
    }
}

void st_xml_put(FILE *out, const char *text)
{
    while (*text != '\0') {
        uint32_t code = 0;
        const size_t n = st_utf8_next(text, &code);
        const char *escape = escape_of(code);
        if (escape != NULL) {
            (void)fputs(escape, out);
        } else if (is_xml_char(code)) {
            (void)fwrite(text, 1, n, out);
        }
        text += n;
    }
}

void st_xml_attribute(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, " %s=\"", name);
    st_xml_put(out, text);
    (void)fputc('"', out);
}
