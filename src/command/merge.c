/* `seatrial merge`: results files of several launches into one study. */

#include "src/base/mem.h"
#include "src/command/commands.h"
#include "src/record/record.h"

#include <stdio.h>

static enum st_exit run(const struct st_arguments *arguments)
{
    struct st_error err = {0};
    const size_t n = arguments->n_operands - 1;
    const enum st_status rc =
        st_study_merge(arguments->operands[0], n, arguments->operands + 1, &err);

    if (rc != ST_OK) {
        st_complain(&err);
        return st_exit_of(rc);
    }
    (void)printf("%s: a study of %zu launch%s; look at it with\n"
                 "  seatrial report %s\n  seatrial-analysis scaling %s\n",
                 arguments->operands[0], n, n == 1 ? "" : "es", arguments->operands[0],
                 arguments->operands[0]);
    return ST_EXIT_PASS;
}

const struct st_command st_command_merge = {
    .name = "merge",
    .operands = "OUT FILE...",
    .min_operands = 2,
    .max_operands = ST_MAX_OPERANDS,
    .summary = "several launches of one campaign into one study",
    .details = "OUT is a new file that keeps the whole content of every FILE under "
               "/launches/NNNN.\n"
               "Files of another config, other --set changes, another program or MPI "
               "library, or\n"
               "another kind of node or number of ranks per node are refused, and the "
               "difference shown.",
    .run = run,
};
