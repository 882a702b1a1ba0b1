#ifndef ST_COMMAND_OPTIONS_H
#define ST_COMMAND_OPTIONS_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The command line: one table per command gives parsing, help and suggestions. Local. */

enum {
    ST_MAX_OPTIONS = 12,
    ST_MAX_VALUES = 64,
    ST_MAX_OPERANDS = 1024 /* of `merge`: launches of one study */
};

struct st_option {
    const char *name;  /**< without dashes */
    char letter;       /**< 0: none */
    const char *value; /**< name of its value in the help; NULL: a flag */
    bool many;         /**< may be given more than once */
    const char *help;
};

struct st_command;

/** What was given; strings are borrowed from argv. */
struct st_arguments {
    const struct st_command *command;
    int argc; /**< the program's own, for the record */
    char **argv;
    bool help;
    size_t n_operands;
    const char *operands[ST_MAX_OPERANDS];
    size_t n_values[ST_MAX_OPTIONS]; /**< by row of the option table; a flag counts 1 */
    const char *values[ST_MAX_OPTIONS][ST_MAX_VALUES];
};

struct st_command {
    const char *name;
    const char *operands; /**< "CONFIG", "[FILE]" … for the usage line, "" if none */
    size_t min_operands, max_operands;
    const char *summary;
    const char *details; /**< paragraphs of the command's help */
    size_t n_options;
    const struct st_option *options;
    /** @return the exit status; messages are already printed */
    enum st_exit (*run)(const struct st_arguments *arguments);
};

/**
 * Parse what follows the command's name.
 * @return ST_ERR_USAGE with the nearest known option for an unknown one
 */
enum st_status st_arguments_parse(const struct st_command *command, int argc, char **argv,
                                  struct st_arguments *out, struct st_error *err);
/** How often option @p name was given. */
size_t st_given(const struct st_arguments *arguments, const char *name);
/** Its last value, or @p otherwise. */
const char *st_value(const struct st_arguments *arguments, const char *name,
                     const char *otherwise);
/** All its values [*n]. */
const char *const *st_values(const struct st_arguments *arguments, const char *name,
                             size_t *n);

void st_command_help(FILE *out, const struct st_command *command);
/** Print "seatrial: TEXT" on stderr. */
void st_complain(const struct st_error *err);

#endif
