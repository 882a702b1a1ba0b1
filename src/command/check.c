/*
 * `seatrial check`: is this config valid, and what would it need? Expands the plan, asks
 * every benchmark for its prediction on nodes like this machine, refuses what cannot fit.
 * One process, no MPI call.
 */

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/command/commands.h"
#include "src/command/config.h"
#include "src/machine/machine.h"
#include "src/show/show.h"

#include <inttypes.h>

static const struct st_option options[] = {
    ST_OPTION_SET,
    ST_OPTION_ONLY,
    {"nodes", 'N', "COUNT", false,
     "predict for this many nodes like this one (default 1)"},
    {"ranks-per-node", 0, "COUNT", false,
     "ranks started on each node (default: one per core)"},
};

static enum st_status count_option(const struct st_arguments *arguments, const char *name,
                                   uint64_t otherwise, uint64_t *out,
                                   struct st_error *err)
{
    const char *text = st_value(arguments, name, NULL);

    *out = otherwise;
    if (text != NULL && (!st_parse_u64(text, out) || *out == 0 || *out > 100000000)) {
        return st_fail(err, ST_ERR_USAGE, "--%s is a count from 1 to 100000000, not '%s'",
                       name, text);
    }
    return ST_OK;
}

/* Shape and need of one step; a step that cannot run gets the reason as an error. */
static enum st_status predict(const struct st_plan *plan, size_t i, uint64_t n_nodes,
                              uint64_t n_ranks, struct st_shape *shape,
                              struct st_need *need, struct st_error *err)
{
    const struct st_step *step = &plan->steps[i];
    enum st_status rc =
        st_shape_predict(&step->layout, (size_t)n_nodes, (size_t)n_ranks, shape, err);

    if (rc == ST_OK) {
        rc = step->bench->plan(step->params, shape, need, err);
    }
    if (rc == ST_OK && need->bytes_per_rank > 0 &&
        need->bytes_per_rank > shape->memory_bytes / shape->max_ranks_per_node) {
        rc =
            st_fail(err, ST_ERR_STEP,
                    "needs %" PRIu64 " bytes per rank; %zu ranks share %" PRIu64
                    " bytes of a node",
                    need->bytes_per_rank, shape->max_ranks_per_node, shape->memory_bytes);
    }
    if (rc != ST_OK &&
        rc != ST_ERR_UNSUPPORTED) { /* skipped steps stand under their name */
        char text[ST_ERROR_TEXT_SIZE];
        (void)st_copy(text, sizeof text, err->text);
        (void)st_fail(err, rc, "%s:%d:%d: step '%s': %s", plan->file, step->line,
                      step->column, step->name, text);
    }
    return rc;
}

static enum st_status check_plan(const struct st_arguments *arguments,
                                 const struct st_plan *plan, struct st_error *err)
{
    uint64_t n_nodes = 0;
    uint64_t n_ranks = 0;
    enum st_status worst = count_option(arguments, "nodes", 1, &n_nodes, err);
    if (worst == ST_OK) {
        worst = count_option(arguments, "ranks-per-node", 0, &n_ranks, err);
    }
    struct st_shape *shapes = st_calloc(err, plan->n_steps, sizeof *shapes);
    struct st_need *needs = st_calloc(err, plan->n_steps, sizeof *needs);

    if (worst == ST_OK && (shapes == NULL || needs == NULL)) {
        worst = err->code;
    }
    for (size_t i = 0; worst <= ST_ERR_UNSUPPORTED && i < plan->n_steps; i++) {
        struct st_error step_err = {0};
        const enum st_status rc =
            predict(plan, i, n_nodes, n_ranks, &shapes[i], &needs[i], &step_err);
        if (rc == ST_ERR_UNSUPPORTED) {
            (void)snprintf(needs[i].notes, sizeof needs[i].notes,
                           "would be skipped: %.480s", step_err.text);
        } else if (rc != ST_OK) {
            *err = step_err;
            worst = rc;
        }
    }
    if (worst == ST_OK) {
        st_show_plan(stdout, plan, shapes, needs);
    } else if (worst == ST_ERR_STEP) {
        worst = err->code =
            ST_ERR_CONFIG; /* found before anything ran: the config's fault */
    }
    st_free(needs);
    st_free(shapes);
    return worst;
}

static enum st_exit run(const struct st_arguments *arguments)
{
    struct st_plan *plan = NULL;
    struct st_error err = {0};

    enum st_status rc = st_config_load(arguments, &plan, &err);
    if (rc == ST_OK) {
        rc = check_plan(arguments, plan, &err);
    }
    if (rc != ST_OK) {
        st_complain(&err);
    }
    st_plan_destroy(&plan);
    return st_exit_of(rc);
}

const struct st_command st_command_check = {
    .name = "check",
    .operands = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "validate a config and predict its memory and time, without running",
    .details = "Predicts for nodes like this machine, or like the one that HWLOC_XMLFILE "
               "(a file that\n"
               "`lstopo node.xml` writes there) or HWLOC_SYNTHETIC describes. What "
               "cannot fit, and more\n"
               "ranks than a node can bind, is refused with status 3 as `seatrial run` "
               "would; steps that\n"
               "such a machine would skip are marked.",
    .n_options = ST_COUNT(options),
    .options = options,
    .run = run,
};
