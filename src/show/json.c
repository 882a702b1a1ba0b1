/*
 * JSON writer. Every value passes begin_value(), which knows from the stack whether a value may
 * stand here and what must come before it; so commas, colons and nesting are right by
 * construction (CASES 52).
 */
#include "src/show/json.h"

#include "src/base/text.h"
#include "src/show/utf8.h"

#include <inttypes.h>
#include <math.h>

void st_json_init(struct st_json *json, FILE *out)
{
    *json = (struct st_json){.out = out};
}

static void new_line(const struct st_json *json)
{
    (void)fputc('\n', json->out);
    for (size_t i = 0; i < json->depth; i++) {
        (void)fputs("  ", json->out);
    }
}

/* Comma and indentation before an item of the innermost container. */
static void separate(struct st_json *json)
{
    const size_t top = json->depth - 1;

    if (json->has_items[top]) {
        (void)fputc(',', json->out);
    }
    json->has_items[top] = true;
    new_line(json);
}

static bool begin_value(struct st_json *json)
{
    if (json->misused || json->done) {
        json->misused = true;
        return false;
    }
    if (json->depth == 0) {
        json->done = true; /* a container takes it back until it is closed */
        return true;
    }
    if (json->is_object[json->depth - 1] != json->has_key) {
        json->misused = true;
        return false;
    }
    if (!json->has_key) {
        separate(json);
    }
    json->has_key = false;
    return true;
}

static void write_code(FILE *out, uint32_t code, const char *bytes, size_t n)
{
    if (code == '"' || code == '\\') {
        (void)fputc('\\', out);
        (void)fputc((int)code, out);
    } else if (code == '\n') {
        (void)fputs("\\n", out);
    } else if (code < 0x20 || (code >= 0x7F && code < 0xA0) || code == ST_REPLACEMENT) {
        (void)fprintf(out, "\\u%04" PRIx32, code);
    } else {
        (void)fwrite(bytes, 1, n, out);
    }
}

static void write_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    while (*text != '\0') {
        uint32_t code = 0;
        const size_t n = st_utf8_next(text, &code);
        write_code(out, code, text, n);
        text += n;
    }
    (void)fputc('"', out);
}

static void open_container(struct st_json *json, bool is_object)
{
    if (!begin_value(json)) {
        return;
    }
    if (json->depth == ST_JSON_DEPTH) {
        json->misused = true;
        return;
    }
    json->done = false;
    (void)fputc(is_object ? '{' : '[', json->out);
    json->is_object[json->depth] = is_object;
    json->has_items[json->depth] = false;
    json->depth++;
}

void st_json_object(struct st_json *json)
{
    open_container(json, true);
}

void st_json_array(struct st_json *json)
{
    open_container(json, false);
}

void st_json_close(struct st_json *json)
{
    if (json->misused || json->depth == 0 || json->has_key) {
        json->misused = true;
        return;
    }
    json->depth--;
    if (json->has_items[json->depth]) {
        new_line(json);
    }
    (void)fputc(json->is_object[json->depth] ? '}' : ']', json->out);
    json->done = json->depth == 0;
}

bool st_json_end(struct st_json *json)
{
    (void)fputc('\n', json->out);
    return json->done && !json->misused;
}

void st_json_key(struct st_json *json, const char *key)
{
    if (json->misused || json->depth == 0 || !json->is_object[json->depth - 1] ||
        json->has_key) {
        json->misused = true;
        return;
    }
    separate(json);
    write_string(json->out, key);
    (void)fputs(": ", json->out);
    json->has_key = true;
}

void st_json_text(struct st_json *json, const char *text)
{
    if (begin_value(json)) {
        write_string(json->out, text);
    }
}

void st_json_real(struct st_json *json, double value)
{
    char text[40];

    if (!begin_value(json)) {
        return;
    }
    if (!isfinite(value)) {
        (void)fputs("null", json->out);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        double back = 0.0;
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (st_parse_double(text, &back) && back == value) {
            break;
        }
    }
    (void)fputs(text, json->out);
}

void st_json_count(struct st_json *json, uint64_t value)
{
    if (begin_value(json)) {
        (void)fprintf(json->out, "%" PRIu64, value);
    }
}

void st_json_index(struct st_json *json, size_t value)
{
    if (value == SIZE_MAX) {
        st_json_null(json);
    } else {
        st_json_count(json, value);
    }
}

void st_json_bool(struct st_json *json, bool value)
{
    if (begin_value(json)) {
        (void)fputs(value ? "true" : "false", json->out);
    }
}

void st_json_null(struct st_json *json)
{
    if (begin_value(json)) {
        (void)fputs("null", json->out);
    }
}

void st_json_key_text(struct st_json *json, const char *key, const char *text)
{
    st_json_key(json, key);
    st_json_text(json, text);
}

void st_json_key_real(struct st_json *json, const char *key, double value)
{
    st_json_key(json, key);
    st_json_real(json, value);
}

void st_json_key_count(struct st_json *json, const char *key, uint64_t value)
{
    st_json_key(json, key);
    st_json_count(json, value);
}

void st_json_key_index(struct st_json *json, const char *key, size_t value)
{
    st_json_key(json, key);
    st_json_index(json, value);
}

void st_json_key_bool(struct st_json *json, const char *key, bool value)
{
    st_json_key(json, key);
    st_json_bool(json, value);
}
