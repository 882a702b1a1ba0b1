/*
 * The only file that sees libyaml. A text goes through it twice: first as a stream of events,
 * which can be stopped at the first sign of trouble (depth, number of values and anchors,
 * tags, a second document), then through the document loader. Without the first pass the
 * loader would build everything before a limit could be checked, and its search through the
 * anchors grows with their square. The loaded document is then copied into a tree without
 * sharing, where each alias counts with all it stands for.
 */
#include "src/plan/document.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/plan/plan.h"

#include <yaml.h>

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* One text on its way into a document. */
struct load {
    struct st_document *document;
    const struct st_source *source;
    const char *text;
    size_t n_bytes;
    yaml_document_t *yaml;
    size_t n_values;        /* seen so far */
    size_t n_open;          /* collections around the current value */
    int open[ST_MAX_DEPTH]; /* their node numbers */
    size_t n_anchors;
    size_t n_documents;
    struct st_error *err;
};

static enum st_status fail_at(struct st_error *err, const struct st_source *source,
                              const int position[2], const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

static enum st_status fail_at(struct st_error *err, const struct st_source *source,
                              const int position[2], const char *format, va_list args)
{
    char text[ST_ERROR_TEXT_SIZE];

    (void)st_print_list(text, sizeof text, format, args);
    if (source->is_option) {
        return st_fail(err, ST_ERR_CONFIG, "%s: %s", source->name, text);
    }
    return st_fail(err, ST_ERR_CONFIG, "%s:%d:%d: %s", source->name, position[0],
                   position[1], text);
}

enum st_status st_value_fail(struct st_error *err, const struct st_value *at,
                             const char *format, ...)
{
    const int position[2] = {at->line, at->column};
    va_list args;

    va_start(args, format);
    const enum st_status rc = fail_at(err, at->source, position, format, args);
    va_end(args);
    return rc;
}

static enum st_status mark_fail(const struct load *load, yaml_mark_t mark,
                                const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum st_status mark_fail(const struct load *load, yaml_mark_t mark,
                                const char *format, ...)
{
    /* Texts are at most 1 MiB long, so that both fit an int. */
    const int position[2] = {(int)mark.line + 1, (int)mark.column + 1};
    va_list args;

    va_start(args, format);
    const enum st_status rc = fail_at(load->err, load->source, position, format, args);
    va_end(args);
    return rc;
}

/* Line and column (in characters, from 0) of a byte. */
static yaml_mark_t mark_of_offset(const struct load *load, size_t offset)
{
    yaml_mark_t mark = {0};

    for (size_t i = 0; i < offset && i < load->n_bytes; i++) {
        const unsigned char c = (unsigned char)load->text[i];
        const bool is_crlf =
            c == '\r' && i + 1 < load->n_bytes && load->text[i + 1] == '\n';

        if ((c == '\n' || c == '\r') && !is_crlf) {
            mark.line++;
            mark.column = 0;
        } else if ((c & 0xC0U) != 0x80U) { /* not a UTF-8 continuation byte */
            mark.column++;
        }
    }
    return mark;
}

/* ---- values ---- */

struct st_value *st_value_create(struct st_document *document,
                                 const struct st_source *source, enum st_value_kind kind,
                                 struct st_error *err)
{
    struct st_value *value = st_calloc(err, 1, sizeof *value);

    if (value == NULL) {
        return NULL;
    }
    value->kind = kind;
    value->source = source;
    value->next = document->values;
    document->values = value;
    return value;
}

struct st_value *st_value_scalar(struct st_document *document,
                                 const struct st_source *source, const char *text,
                                 struct st_error *err)
{
    struct st_value *value = st_value_create(document, source, ST_VALUE_SCALAR, err);

    if (value == NULL) {
        return NULL;
    }
    value->text = st_strdup(err, text);
    return value->text == NULL ? NULL : value;
}

enum st_status st_value_append(struct st_value *parent, struct st_value *key,
                               struct st_value *value, struct st_error *err)
{
    if (parent->n == parent->capacity) {
        const size_t capacity = parent->capacity == 0 ? 4 : 2 * parent->capacity;
        struct st_entry *grown =
            st_resize(err, parent->entries, capacity, sizeof *parent->entries);

        if (grown == NULL) {
            return ST_ERR_MEMORY;
        }
        parent->entries = grown;
        parent->capacity = capacity;
    }
    parent->entries[parent->n++] = (struct st_entry){.key = key, .value = value};
    return ST_OK;
}

size_t st_value_index(const struct st_value *map, const char *key)
{
    size_t i = 0;

    while (i < map->n && strcmp(map->entries[i].key->text, key) != 0) {
        i++;
    }
    return i;
}

void st_document_clear(struct st_document *document)
{
    while (document->values != NULL) {
        struct st_value *value = document->values;

        document->values = value->next;
        st_free(value->text);
        st_free(value->entries);
        st_free(value);
    }
}

/* ---- first pass: events ---- */

/* What libyaml has against the text, at the place it names. */
static enum st_status parser_fail(const struct load *load, const yaml_parser_t *parser)
{
    const char *problem = parser->problem == NULL ? "unknown error" : parser->problem;

    if (parser->error == YAML_MEMORY_ERROR) {
        return st_fail(load->err, ST_ERR_MEMORY, "no memory left to parse %s",
                       load->source->name);
    }
    if (parser->error == YAML_READER_ERROR) {
        const yaml_mark_t mark = mark_of_offset(load, parser->problem_offset);

        if (parser->problem_value < 0) {
            return mark_fail(load, mark, "not a readable text: %s", problem);
        }
        return mark_fail(load, mark, "not a readable text: %s (found 0x%02X)", problem,
                         (unsigned)parser->problem_value);
    }
    if (parser->context != NULL && !load->source->is_option &&
        parser->context_mark.line != parser->problem_mark.line) {
        return mark_fail(load, parser->problem_mark,
                         "not valid YAML: %s %s that began in line %zu", problem,
                         parser->context, parser->context_mark.line + 1);
    }
    return mark_fail(load, parser->problem_mark, "not valid YAML: %s%s%s", problem,
                     parser->context == NULL ? "" : " ",
                     parser->context == NULL ? "" : parser->context);
}

/* A scalar or the start of a collection. */
static enum st_status check_node(struct load *load, const yaml_event_t *event,
                                 const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (tag != NULL) {
        static const char prefix[] = "tag:yaml.org,2002:"; /* what "!!" stands for */
        const char *text = (const char *)tag;
        const bool is_short = strncmp(text, prefix, sizeof prefix - 1) == 0;

        return mark_fail(load, event->start_mark,
                         "tag '%s%s' is not allowed; values are written without tags",
                         is_short ? "!!" : "", text + (is_short ? sizeof prefix - 1 : 0));
    }
    if (anchor != NULL && ++load->n_anchors > ST_MAX_ANCHORS) {
        return mark_fail(load, event->start_mark, "more than %d anchors", ST_MAX_ANCHORS);
    }
    if (++load->n_values > ST_MAX_VALUES) {
        return mark_fail(load, event->start_mark, "more than %d values", ST_MAX_VALUES);
    }
    if (event->type != YAML_SCALAR_EVENT && ++load->n_open > ST_MAX_DEPTH) {
        return mark_fail(load, event->start_mark,
                         "maps and lists are nested more than %d levels deep",
                         ST_MAX_DEPTH);
    }
    return ST_OK;
}

static enum st_status check_event(struct load *load, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++load->n_documents > 1) {
            return mark_fail(load, event->start_mark,
                             "a second YAML document begins here; one is allowed");
        }
        return ST_OK;
    case YAML_ALIAS_EVENT:
        if (++load->n_values > ST_MAX_VALUES) {
            return mark_fail(load, event->start_mark, "more than %d values",
                             ST_MAX_VALUES);
        }
        return ST_OK;
    case YAML_SCALAR_EVENT:
        return check_node(load, event, event->data.scalar.anchor, event->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        return check_node(load, event, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return check_node(load, event, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        load->n_open--;
        return ST_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    default:
        return ST_OK;
    }
}

/* The parser borrows load->text. */
static enum st_status parser_open(const struct load *load, yaml_parser_t *parser)
{
    if (yaml_parser_initialize(parser) == 0) {
        return st_fail(load->err, ST_ERR_MEMORY, "no memory left to parse %s",
                       load->source->name);
    }
    yaml_parser_set_input_string(parser, (const yaml_char_t *)load->text, load->n_bytes);
    /* Else a byte order mark could turn the text into UTF-16 behind the checks' back. */
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    return ST_OK;
}

static enum st_status check_events(struct load *load)
{
    yaml_parser_t parser;
    enum st_status rc = parser_open(load, &parser);
    bool is_end = false;

    if (rc != ST_OK) {
        return rc;
    }
    while (rc == ST_OK && !is_end) {
        yaml_event_t event;

        if (yaml_parser_parse(&parser, &event) == 0) {
            rc = parser_fail(load, &parser);
            break;
        }
        rc = check_event(load, &event);
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

/* ---- second pass: from libyaml's document to values ---- */

static enum st_status copy_node(struct load *load, int number, struct st_value **out);

static enum st_status copy_scalar(struct load *load, const yaml_node_t *node,
                                  struct st_value *value)
{
    const char *text = (const char *)node->data.scalar.value;

    for (size_t i = 0; i < node->data.scalar.length; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c < 0x20U || c == 0x7FU) {
            return mark_fail(
                load, node->start_mark,
                "control character 0x%02X in a value; a value is one line of "
                "printable text",
                (unsigned)c);
        }
    }
    value->text = st_strdup(load->err, text); /* libyaml terminates it */
    return value->text == NULL ? ST_ERR_MEMORY : ST_OK;
}

static enum st_status copy_list(struct load *load, const yaml_node_t *node,
                                struct st_value *value)
{
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        struct st_value *element = NULL;
        enum st_status rc = copy_node(load, *item, &element);

        if (rc == ST_OK && value->n == ST_MAX_LIST_ENTRIES) {
            rc = st_value_fail(load->err, element, "a list of more than %d elements",
                               ST_MAX_LIST_ENTRIES);
        }
        if (rc == ST_OK) {
            rc = st_value_append(value, NULL, element, load->err);
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static enum st_status check_key(const struct load *load, const struct st_value *map,
                                const struct st_value *key)
{
    if (key->kind != ST_VALUE_SCALAR) {
        return st_value_fail(load->err, key,
                             "a key must be one word, not a list or a map");
    }
    if (map->n == ST_MAX_MAP_ENTRIES) {
        return st_value_fail(load->err, key, "a map of more than %d keys",
                             ST_MAX_MAP_ENTRIES);
    }
    const size_t twin = st_value_index(map, key->text);
    if (twin < map->n) {
        return st_value_fail(load->err, key, "key '%s' is given twice; first in line %d",
                             key->text, map->entries[twin].key->line);
    }
    return ST_OK;
}

static enum st_status copy_map(struct load *load, const yaml_node_t *node,
                               struct st_value *value)
{
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        struct st_value *key = NULL;
        struct st_value *content = NULL;
        enum st_status rc = copy_node(load, pair->key, &key);

        if (rc == ST_OK) {
            rc = check_key(load, value, key);
        }
        if (rc == ST_OK) {
            rc = copy_node(load, pair->value, &content);
        }
        if (rc == ST_OK) {
            rc = st_value_append(value, key, content, load->err);
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

/* A list or a map; the numbers of those around it show whether an alias leads back. */
static enum st_status copy_collection(struct load *load, int number,
                                      const yaml_node_t *node, struct st_value *value)
{
    for (size_t i = 0; i < load->n_open; i++) {
        if (load->open[i] == number) {
            return mark_fail(load, node->start_mark,
                             "an alias inside this %s leads back to it",
                             value->kind == ST_VALUE_MAP ? "map" : "list");
        }
    }
    if (load->n_open == ST_MAX_DEPTH) {
        return mark_fail(load, node->start_mark,
                         "maps and lists are nested more than %d levels deep (aliases "
                         "followed)",
                         ST_MAX_DEPTH);
    }
    load->open[load->n_open++] = number;
    const enum st_status rc = value->kind == ST_VALUE_MAP ? copy_map(load, node, value)
                                                          : copy_list(load, node, value);
    load->n_open--;
    return rc;
}

static enum st_status copy_node(struct load *load, int number, struct st_value **out)
{
    const yaml_node_t *node = yaml_document_get_node(load->yaml, number);
    enum st_value_kind kind = ST_VALUE_SCALAR;

    assert(node != NULL);
    if (++load->n_values > ST_MAX_VALUES) {
        return mark_fail(load, node->start_mark,
                         "aliases expand to more than %d values; the last is this one",
                         ST_MAX_VALUES);
    }
    if (node->type == YAML_SEQUENCE_NODE) {
        kind = ST_VALUE_LIST;
    } else if (node->type == YAML_MAPPING_NODE) {
        kind = ST_VALUE_MAP;
    }
    struct st_value *value =
        st_value_create(load->document, load->source, kind, load->err);
    if (value == NULL) {
        return ST_ERR_MEMORY;
    }
    value->line = (int)node->start_mark.line + 1;
    value->column = (int)node->start_mark.column + 1;
    *out = value;
    return kind == ST_VALUE_SCALAR ? copy_scalar(load, node, value)
                                   : copy_collection(load, number, node, value);
}

static enum st_status copy_document(struct load *load, struct st_value **out)
{
    yaml_parser_t parser;
    yaml_document_t yaml;
    enum st_status rc = parser_open(load, &parser);

    if (rc != ST_OK) {
        return rc;
    }
    if (yaml_parser_load(&parser, &yaml) == 0) {
        rc = parser_fail(load, &parser);
    } else {
        load->yaml = &yaml;
        load->n_values = 0;
        if (yaml_document_get_root_node(&yaml) != NULL) {
            rc = copy_node(load, 1, out); /* libyaml numbers the root 1 */
        }
        yaml_document_delete(&yaml);
    }
    yaml_parser_delete(&parser);
    return rc;
}

enum st_status st_document_parse(struct st_document *document,
                                 const struct st_source *source, const char *text,
                                 size_t n_bytes, struct st_value **out,
                                 struct st_error *err)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    struct load load = {.document = document,
                        .source = source,
                        .text = text,
                        .n_bytes = n_bytes,
                        .err = err};
    struct st_value *root = NULL;

    if (n_bytes >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        load.text += 3;
        load.n_bytes -= 3;
    }
    if (load.n_bytes == 0) {
        load.text = ""; /* libyaml does not take NULL */
    }
    const char *tab = memchr(load.text, '\t', load.n_bytes);
    if (tab != NULL) { /* YAML allows tabs in few places, and no eye sees which. */
        return mark_fail(&load, mark_of_offset(&load, (size_t)(tab - load.text)),
                         "tab character; use spaces");
    }
    enum st_status rc = check_events(&load);
    if (rc == ST_OK && load.n_documents > 0) {
        rc = copy_document(&load, &root);
    }
    if (rc == ST_OK) {
        *out = root;
    }
    return rc;
}

const char *st_plan_yaml_version(void)
{
    return yaml_get_version_string();
}
