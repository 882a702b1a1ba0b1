#include "src/command/options.h"

#include "src/base/text.h"

#include <string.h>

/*
 * GNU-style options: --name VALUE, --name=VALUE, -x VALUE, flags, "--" ends options. Small
 * enough to own: getopt_long cannot suggest a near name nor print the table as help.
 */

static size_t option_row(const struct st_command *command, const char *name)
{
    size_t row = 0;

    while (row < command->n_options && strcmp(command->options[row].name, name) != 0) {
        row++;
    }
    return row;
}

static size_t letter_row(const struct st_command *command, char letter)
{
    size_t row = 0;

    while (row < command->n_options && command->options[row].letter != letter) {
        row++;
    }
    return row;
}

static enum st_status unknown_option(const struct st_command *command, const char *given,
                                     const char *name, struct st_error *err)
{
    const char *names[ST_MAX_OPTIONS + 1];
    size_t n = 0;

    for (size_t i = 0; i < command->n_options; i++) {
        names[n++] = command->options[i].name;
    }
    names[n++] = "help";
    const char *near = st_nearest(name, n, names);
    if (near != NULL) {
        return st_fail(err, ST_ERR_USAGE,
                       "'seatrial %s' has no option '%s'; did you mean '--%s'?",
                       command->name, given, near);
    }
    return st_fail(err, ST_ERR_USAGE,
                   "'seatrial %s' has no option '%s'; 'seatrial %s --help' lists them",
                   command->name, given, command->name);
}

static enum st_status add_value(struct st_arguments *out, size_t row, const char *value,
                                struct st_error *err)
{
    const struct st_option *option = &out->command->options[row];

    if (out->n_values[row] > 0 && !option->many) {
        return st_fail(err, ST_ERR_USAGE, "--%s is given twice", option->name);
    }
    if (out->n_values[row] == ST_MAX_VALUES) {
        return st_fail(err, ST_ERR_USAGE, "--%s is given more than %d times",
                       option->name, ST_MAX_VALUES);
    }
    out->values[row][out->n_values[row]++] = value;
    return ST_OK;
}

/* One option at argv[*at]; moves *at past a separate value. */
static enum st_status parse_option(struct st_arguments *out, int argc, char **argv,
                                   int *at, struct st_error *err)
{
    const char *given = argv[*at];
    const bool is_long = given[1] == '-';
    const char *value = NULL;
    char name[64];
    size_t row = 0;

    if (is_long) {
        const char *equals = strchr(given, '=');
        const size_t length = equals ? (size_t)(equals - given) - 2 : strlen(given) - 2;
        (void)st_copy(name, sizeof name, given + 2);
        if (length < sizeof name) {
            name[length] = '\0';
        }
        value = equals ? equals + 1 : NULL;
        row = option_row(out->command, name);
    } else {
        name[0] = given[1];
        name[1] = '\0';
        value = given[2] != '\0' ? given + 2 : NULL;
        row = letter_row(out->command, given[1]);
    }
    if (strcmp(given, "--help") == 0 || strcmp(given, "-h") == 0) {
        out->help = true;
        return ST_OK;
    }
    if (row == out->command->n_options) {
        return unknown_option(out->command, given, name, err);
    }
    const struct st_option *option = &out->command->options[row];
    if (option->value == NULL) {
        return value == NULL
                   ? add_value(out, row, "", err)
                   : st_fail(err, ST_ERR_USAGE, "--%s takes no value, '%s' has one",
                             option->name, given);
    }
    if (value == NULL) {
        if (*at + 1 >= argc) {
            return st_fail(err, ST_ERR_USAGE, "--%s needs a value: --%s %s", option->name,
                           option->name, option->value);
        }
        value = argv[++*at];
    }
    return add_value(out, row, value, err);
}

static enum st_status check_operands(const struct st_arguments *out, struct st_error *err)
{
    const struct st_command *command = out->command;

    if (out->help) {
        return ST_OK;
    }
    if (out->n_operands < command->min_operands) {
        return st_fail(err, ST_ERR_USAGE, "'seatrial %s' needs %s: seatrial %s %s",
                       command->name, command->operands, command->name,
                       command->operands);
    }
    return ST_OK;
}

enum st_status st_arguments_parse(const struct st_command *command, int argc, char **argv,
                                  struct st_arguments *out, struct st_error *err)
{
    bool only_operands = false;

    memset(out, 0, sizeof *out);
    out->command = command;
    out->argc = argc;
    out->argv = argv;
    for (int i = 2; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            const enum st_status rc = parse_option(out, argc, argv, &i, err);
            if (rc != ST_OK) {
                return rc;
            }
        } else if (out->n_operands == command->max_operands) {
            return st_fail(err, ST_ERR_USAGE,
                           "'%s' is one argument too many: seatrial %s %s", argv[i],
                           command->name, command->operands);
        } else {
            out->operands[out->n_operands++] = argv[i];
        }
    }
    return check_operands(out, err);
}

size_t st_given(const struct st_arguments *arguments, const char *name)
{
    const size_t row = option_row(arguments->command, name);

    return row < arguments->command->n_options ? arguments->n_values[row] : 0;
}

const char *st_value(const struct st_arguments *arguments, const char *name,
                     const char *otherwise)
{
    size_t n = 0;
    const char *const *values = st_values(arguments, name, &n);

    return n > 0 ? values[n - 1] : otherwise;
}

const char *const *st_values(const struct st_arguments *arguments, const char *name,
                             size_t *n)
{
    *n = st_given(arguments, name);
    return *n > 0 ? arguments->values[option_row(arguments->command, name)] : NULL;
}

void st_command_help(FILE *out, const struct st_command *command)
{
    (void)fprintf(out, "usage: seatrial %s%s%s%s\n\n%s\n", command->name,
                  command->operands[0] != '\0' ? " " : "", command->operands,
                  command->n_options > 0 ? " [options]" : "", command->summary);
    if (command->details[0] != '\0') {
        (void)fprintf(out, "\n%s\n", command->details);
    }
    (void)fprintf(out, "\noptions:\n");
    for (size_t i = 0; i < command->n_options; i++) {
        const struct st_option *option = &command->options[i];
        char left[64];
        const char letter[] = {option->letter, '\0'};
        (void)snprintf(left, sizeof left, "%s%s%s--%s%s%s", option->letter ? "-" : "    ",
                       option->letter ? letter : "", option->letter ? ", " : "",
                       option->name, option->value ? " " : "",
                       option->value ? option->value : "");
        (void)fprintf(out, "  %-26s %s\n", left, option->help);
    }
    (void)fprintf(out, "  %-26s %s\n", "-h, --help", "this page");
}

void st_complain(const struct st_error *err)
{
    (void)fprintf(stderr, "seatrial: %s\n", err->text);
    (void)fflush(stderr);
}
