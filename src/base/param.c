#include "src/base/bench.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/base/units.h"

#include <string.h>

/*
 * Parameters of benchmarks as text and back. What st_param_print() writes goes into results
 * files and is compared when a campaign is resumed: it must read back to the same value.
 * Fields are reached by offset and memcpy(), which needs no promise about alignment.
 */

static const void *field_of(const struct st_param *param, const void *params)
{
    return (const char *)params + param->offset;
}

static void set_field(const struct st_param *param, void *params, const void *value,
                      size_t size)
{
    memcpy((char *)params + param->offset, value, size);
}

static enum st_status out_of_range(const struct st_param *param, const char *text,
                                   struct st_error *err)
{
    char low[48];
    char high[48];

    return st_fail(err, ST_ERR_CONFIG, "'%s' is out of range; allowed: %s to %s%s", text,
                   st_format_quantity(low, sizeof low, param->min, param->unit),
                   st_format_quantity(high, sizeof high, param->max, param->unit),
                   param->allow_auto ? ", or auto" : "");
}

static enum st_status parse_whole(const struct st_param *param, const char *text,
                                  void *params, struct st_error *err)
{
    uint64_t value = ST_AUTO;

    if (!param->allow_auto || strcmp(text, "auto") != 0) {
        const enum st_status rc = st_parse_exact(err, text, param->unit, &value);
        if (rc != ST_OK) {
            return param->allow_auto ? st_note(err, ", or auto") : rc;
        }
        const double size = (double)value;
        if (!(size >= param->min && size <= param->max) || value == ST_AUTO) {
            return out_of_range(param, text, err);
        }
    }
    set_field(param, params, &value, sizeof value);
    return ST_OK;
}

static enum st_status parse_real(const struct st_param *param, const char *text,
                                 void *params, struct st_error *err)
{
    double value = 0.0;
    const enum st_status rc = st_parse_quantity(err, text, param->unit, &value);

    if (rc != ST_OK) {
        return rc;
    }
    if (!(value >= param->min && value <= param->max)) {
        return out_of_range(param, text, err);
    }
    set_field(param, params, &value, sizeof value);
    return ST_OK;
}

static enum st_status parse_bool(const struct st_param *param, const char *text,
                                 void *params, struct st_error *err)
{
    const bool yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    const bool no = strcmp(text, "no") == 0 || strcmp(text, "false") == 0;

    if (!yes && !no) {
        return st_fail(err, ST_ERR_CONFIG, "'%s' is neither yes nor no", text);
    }
    set_field(param, params, &yes, sizeof yes);
    return ST_OK;
}

static size_t count_choices(const struct st_param *param)
{
    size_t n = 0;

    while (param->choices[n] != NULL) {
        n++;
    }
    return n;
}

/* Index of a choice; the count and a message if there is none. */
static size_t find_choice(const struct st_param *param, const char *word,
                          struct st_error *err)
{
    const size_t n = count_choices(param);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(param->choices[i], word) == 0) {
            return i;
        }
    }
    st_fail(err, ST_ERR_CONFIG, "'%s' is not one of ", word);
    for (size_t i = 0; i < n; i++) {
        st_note(err, "%s%s", i > 0 ? ", " : "", param->choices[i]);
    }
    if (param->type == ST_TYPE_SET) {
        st_note(err, ", or all");
    }
    const char *near = st_nearest(word, n, param->choices);
    if (near != NULL) {
        st_note(err, " (did you mean '%s'?)", near);
    }
    return n;
}

static enum st_status parse_choice(const struct st_param *param, const char *text,
                                   void *params, struct st_error *err)
{
    const size_t choice = find_choice(param, text, err);

    if (param->choices[choice] == NULL) {
        return ST_ERR_CONFIG;
    }
    const uint32_t value = (uint32_t)choice;
    set_field(param, params, &value, sizeof value);
    return ST_OK;
}

static uint32_t all_choices(const struct st_param *param)
{
    const size_t n = count_choices(param); /* 1 to 32: st_bench_validate() */

    return n == 0 ? 0 : UINT32_MAX >> (ST_MAX_CHOICES - n);
}

/* Next word of a list separated by blanks or commas, copied to @p word; NULL at the end. */
static const char *next_word(const char *text, char *word, size_t size)
{
    const char *start = text + strspn(text, " \t,");
    const size_t length = strcspn(start, " \t,");

    if (length == 0) {
        return NULL;
    }
    st_print(word, size, "%.*s", (int)(length < size ? length : size), start);
    return start + length;
}

static enum st_status parse_set(const struct st_param *param, const char *text,
                                void *params, struct st_error *err)
{
    uint32_t mask = 0;
    char word[64];

    for (const char *rest = next_word(text, word, sizeof word); rest != NULL;
         rest = next_word(rest, word, sizeof word)) {
        if (strcmp(word, "all") == 0) {
            mask |= all_choices(param);
            continue;
        }
        const size_t choice = find_choice(param, word, err);
        if (param->choices[choice] == NULL) {
            return ST_ERR_CONFIG;
        }
        mask |= UINT32_C(1) << choice;
    }
    if (mask == 0) {
        (void)find_choice(param, text, err);
        return ST_ERR_CONFIG;
    }
    set_field(param, params, &mask, sizeof mask);
    return ST_OK;
}

static enum st_status parse_text(const struct st_param *param, const char *text,
                                 void *params, struct st_error *err)
{
    char value[ST_TEXT_PARAM_SIZE] = {0}; /* equal texts give equal bytes */

    if (!st_copy(value, sizeof value, text)) {
        return st_fail(err, ST_ERR_CONFIG,
                       "the text has %zu bytes; at most %d are allowed", strlen(text),
                       ST_TEXT_PARAM_SIZE - 1);
    }
    set_field(param, params, value, sizeof value);
    return ST_OK;
}

static enum st_status parse_value(const struct st_param *param, const char *text,
                                  void *params, struct st_error *err)
{
    switch (param->type) {
    case ST_TYPE_COUNT:
    case ST_TYPE_BYTES:
        return parse_whole(param, text, params, err);
    case ST_TYPE_REAL:
        return parse_real(param, text, params, err);
    case ST_TYPE_BOOL:
        return parse_bool(param, text, params, err);
    case ST_TYPE_CHOICE:
        return parse_choice(param, text, params, err);
    case ST_TYPE_SET:
        return parse_set(param, text, params, err);
    case ST_TYPE_TEXT:
        return parse_text(param, text, params, err);
    }
    return st_fail(err, ST_ERR_INTERNAL, "it has no type");
}

enum st_status st_param_parse(const struct st_param *param, const char *text,
                              void *params, struct st_error *err)
{
    struct st_error local = {0};

    const enum st_status rc = parse_value(param, text, params, &local);
    if (rc != ST_OK) {
        return st_fail(err, rc, "parameter '%s': %s", param->name, local.text);
    }
    return ST_OK;
}

enum st_status st_params_default(const struct st_bench *bench, void *params,
                                 struct st_error *err)
{
    for (size_t i = 0; i < bench->n_params; i++) {
        const struct st_param *param = &bench->params[i];
        struct st_error local = {0};
        if (st_param_parse(param, param->default_text, params, &local) != ST_OK) {
            return st_fail(err, ST_ERR_INTERNAL, "default of benchmark '%s': %s",
                           bench->name, local.text);
        }
    }
    return ST_OK;
}

/* The shortest decimal text that reads back to the same double has 15 to 17 digits. */
static void print_real(const struct st_param *param, double value, char *out, size_t size)
{
    const bool bare = strcmp(param->unit, "1") == 0;
    char number[40];
    double back = 0.0;

    for (int digits = 15; digits <= 17; digits++) {
        st_print(number, sizeof number, "%.*g", digits, value);
        if (st_parse_double(number, &back) && back == value) {
            break;
        }
    }
    st_print(out, size, "%s%s%s", number, bare ? "" : " ", bare ? "" : param->unit);
}

static void print_whole(const struct st_param *param, uint64_t value, char *out,
                        size_t size)
{
    const bool is_bytes = param->type == ST_TYPE_BYTES;

    if (param->allow_auto && value == ST_AUTO) {
        st_copy(out, size, "auto");
    } else {
        st_print(out, size, "%llu%s", (unsigned long long)value, is_bytes ? " byte" : "");
    }
}

static void print_set(const struct st_param *param, uint32_t mask, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; param->choices[i] != NULL; i++) {
        if ((mask >> i & 1U) != 0) {
            st_print(out + used, size - used, "%s%s", used > 0 ? " " : "",
                     param->choices[i]);
            used = strlen(out);
        }
    }
}

void st_param_print(const struct st_param *param, const void *params, char *out,
                    size_t size)
{
    const void *field = field_of(param, params);
    uint64_t whole = 0;
    uint32_t choice = 0;
    double real = 0.0;
    bool yes = false;

    switch (param->type) {
    case ST_TYPE_COUNT:
    case ST_TYPE_BYTES:
        memcpy(&whole, field, sizeof whole);
        print_whole(param, whole, out, size);
        break;
    case ST_TYPE_REAL:
        memcpy(&real, field, sizeof real);
        print_real(param, real, out, size);
        break;
    case ST_TYPE_BOOL:
        memcpy(&yes, field, sizeof yes);
        st_copy(out, size, yes ? "yes" : "no");
        break;
    case ST_TYPE_CHOICE:
        memcpy(&choice, field, sizeof choice);
        st_copy(out, size, param->choices[choice]);
        break;
    case ST_TYPE_SET:
        memcpy(&choice, field, sizeof choice);
        print_set(param, choice, out, size);
        break;
    case ST_TYPE_TEXT:
        st_copy(out, size, field);
        break;
    }
}
