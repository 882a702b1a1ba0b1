#ifndef ST_COMMAND_CONFIG_H
#define ST_COMMAND_CONFIG_H

#include "mpi/comm.h"
#include "src/command/options.h"
#include "src/plan/plan.h"

/* From the command line's CONFIG, --set and --only to a plan. */

/** The option rows that `run` and `check` share. */
#define ST_OPTION_SET                                                                    \
    {                                                                                    \
        "set", 0, "KEY=VALUE", true,                                                     \
            "change the config: dotted path, e.g. steps.0.parameters.size=1MiB"          \
    }
#define ST_OPTION_ONLY                                                                   \
    {                                                                                    \
        "only", 0, "STEP", true,                                                         \
            "only this step: its name, or a benchmark's; may be repeated"                \
    }

/** Read and parse in this process alone. Local. @p plan owned by the caller. */
enum st_status st_config_load(const struct st_arguments *arguments, struct st_plan **plan,
                              struct st_error *err);

/**
 * Rank 0 reads the file, all ranks parse the same bytes. Collective; all ranks return the
 * same status and text.
 */
enum st_status st_config_share(const struct st_arguments *arguments,
                               const struct stm_comm *world, struct st_plan **plan,
                               struct st_error *err);

#endif
