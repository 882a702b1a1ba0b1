#include "src/base/status.h"

#include "src/base/text.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/*
 * Error texts are bounded, so a failure can be reported when memory has run out. Numbers in
 * them are printed through st_print_list(): a message looks the same in every locale.
 */

enum st_status st_fail(struct st_error *err, enum st_status code, const char *format, ...)
{
    if (err != NULL) {
        va_list arguments;

        err->code = code;
        va_start(arguments, format);
        st_print_list(err->text, sizeof err->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

enum st_status st_note(struct st_error *err, const char *format, ...)
{
    if (err == NULL) {
        return ST_ERR_INTERNAL; /* without its code a failure must not turn into success */
    }
    const size_t used = strlen(err->text);
    va_list arguments;

    va_start(arguments, format);
    st_print_list(err->text + used, sizeof err->text - used, format, arguments);
    va_end(arguments);
    return err->code;
}

enum st_status st_prefix(struct st_error *err, const char *format, ...)
{
    char old[ST_ERROR_TEXT_SIZE];
    va_list arguments;

    if (err == NULL) {
        return ST_ERR_INTERNAL;
    }
    st_copy(old, sizeof old, err->text);
    va_start(arguments, format);
    st_print_list(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    return st_note(err, "%s", old);
}

enum st_exit st_exit_of(enum st_status code)
{
    switch (code) {
    case ST_OK:
        return ST_EXIT_PASS;
    case ST_ERR_UNSUPPORTED:
    case ST_ERR_INTERRUPTED:
    case ST_ERR_DEADLINE:
    case ST_ERR_STEP:
        return ST_EXIT_INCOMPLETE;
    case ST_ERR_USAGE:
    case ST_ERR_CONFIG:
    case ST_ERR_LAUNCH:
        return ST_EXIT_USAGE;
    case ST_ERR_MEMORY:
    case ST_ERR_TOPO:
    case ST_ERR_IO:
    case ST_ERR_INTERNAL:
    case ST_ERR_MPI:
        break;
    }
    return ST_EXIT_INTERNAL; /* also what is no code at all */
}

const char *st_status_word(enum st_status code)
{
    static const char *const words[] = {
        [ST_OK] = "ok",
        [ST_ERR_UNSUPPORTED] = "unsupported",
        [ST_ERR_INTERRUPTED] = "interrupted",
        [ST_ERR_DEADLINE] = "deadline",
        [ST_ERR_STEP] = "step",
        [ST_ERR_USAGE] = "usage",
        [ST_ERR_CONFIG] = "config",
        [ST_ERR_LAUNCH] = "launch",
        [ST_ERR_MEMORY] = "memory",
        [ST_ERR_TOPO] = "topology",
        [ST_ERR_IO] = "io",
        [ST_ERR_INTERNAL] = "internal",
        [ST_ERR_MPI] = "mpi",
    };
    const size_t row = (size_t)code;

    return row < sizeof words / sizeof words[0] ? words[row] : "unknown";
}
