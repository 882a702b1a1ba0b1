#ifndef ST_COMMAND_COMMANDS_H
#define ST_COMMAND_COMMANDS_H

#include "src/command/options.h"

/* The commands of the program; one file each. */

extern const struct st_command st_command_run;
extern const struct st_command st_command_check;
extern const struct st_command st_command_list;
extern const struct st_command st_command_describe;
extern const struct st_command st_command_topology;
extern const struct st_command st_command_report;
extern const struct st_command st_command_merge;

#endif
