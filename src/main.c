/*
 * The command line's first word chooses a command; everything else is in src/command. No
 * MPI call is made before a command asks for it, so that `list`, `describe`, `check` and
 * `report` work as plain processes.
 */

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/command/commands.h"

#include <stdio.h>
#include <string.h>

static const struct st_command *const commands[] = {
    &st_command_run,      &st_command_check,  &st_command_list,  &st_command_describe,
    &st_command_topology, &st_command_report, &st_command_merge,
};

static void print_help(FILE *out)
{
    (void)fprintf(out,
                  "seatrial %s: acceptance measurements of an HPC cluster\n\n"
                  "usage: seatrial COMMAND …          (each has --help)\n\n",
                  ST_VERSION);
    for (size_t i = 0; i < ST_COUNT(commands); i++) {
        char left[64];
        (void)snprintf(left, sizeof left, "%s %s", commands[i]->name,
                       commands[i]->operands);
        (void)fprintf(out, "  %-24s %s\n", left, commands[i]->summary);
    }
    (void)fprintf(out,
                  "\nstart a campaign:  mpirun -n 64 seatrial run configs/quick.yaml\n"
                  "                   srun --mpi=pmix seatrial run configs/quick.yaml\n\n"
                  "exit status: 0 all criteria passed (or none asked), 1 a criterion "
                  "failed,\n2 incomplete, 3 bad usage, config or launch, 4 internal or "
                  "I/O error\n");
}

static enum st_exit unknown_command(const char *word)
{
    const char *names[ST_COUNT(commands)];
    struct st_error err = {0};

    for (size_t i = 0; i < ST_COUNT(commands); i++) {
        names[i] = commands[i]->name;
    }
    const char *near = st_nearest(word, ST_COUNT(names), names);
    (void)st_fail(&err, ST_ERR_USAGE,
                  "no command '%s'%s%s%s; 'seatrial --help' lists them", word,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    st_complain(&err);
    return st_exit_of(err.code);
}

static enum st_exit run_command(const struct st_command *command, int argc, char **argv)
{
    struct st_arguments arguments;
    struct st_error err = {0};

    if (st_arguments_parse(command, argc, argv, &arguments, &err) != ST_OK) {
        st_complain(&err);
        return st_exit_of(err.code);
    }
    if (arguments.help) {
        st_command_help(stdout, command);
        return ST_EXIT_PASS;
    }
    return command->run(&arguments);
}

int main(int argc, char **argv)
{
    st_text_pin_locale();
    if (argc < 2) {
        print_help(stderr);
        return ST_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        print_help(stdout);
        return ST_EXIT_PASS;
    }
    if (strcmp(word, "--version") == 0) {
        (void)printf("seatrial %s\n", ST_VERSION);
        return ST_EXIT_PASS;
    }
    for (size_t i = 0; i < ST_COUNT(commands); i++) {
        if (strcmp(word, commands[i]->name) == 0) {
            return (int)run_command(commands[i], argc, argv);
        }
    }
    return (int)unknown_command(word);
}
