/* `seatrial topology`: who sits where, for the ranks of this launch. */

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/command/commands.h"
#include "src/command/session.h"
#include "src/machine/machine.h"

#include <string.h>

static const struct st_option options[] = {
    {"policy", 0, "seatrial|launcher", false,
     "who places threads: seatrial (default) or the mask inherited from the launcher"},
    {"threads", 0, "COUNT|all-cores", false, "threads per rank (default 1)"},
    {"oversubscribe", 0, NULL, false, "allow more threads than hardware threads"},
};

static enum st_status request_of(const struct st_arguments *arguments,
                                 struct st_layout_request *request, struct st_error *err)
{
    const char *policy = st_value(arguments, "policy", "seatrial");
    const char *threads = st_value(arguments, "threads", "1");
    uint64_t n_threads = 1;

    *request = (struct st_layout_request){.nodes = ST_NODES_ALL,
                                          .ranks = ST_MANY_ALL_CORES,
                                          .threads = ST_MANY_COUNT,
                                          .oversubscribe =
                                              st_given(arguments, "oversubscribe") > 0};
    if (strcmp(policy, "launcher") == 0) {
        request->policy = ST_POLICY_LAUNCHER;
    } else if (strcmp(policy, "seatrial") != 0) {
        return st_fail(err, ST_ERR_USAGE, "--policy is seatrial or launcher, not '%s'",
                       policy);
    }
    if (strcmp(threads, "all-cores") == 0) {
        request->threads = ST_MANY_ALL_CORES;
    } else if (!st_parse_u64(threads, &n_threads) || n_threads == 0 ||
               n_threads > 65536) {
        return st_fail(err, ST_ERR_USAGE, "--threads is a count or all-cores, not '%s'",
                       threads);
    }
    request->n_threads = (size_t)n_threads;
    return ST_OK;
}

static enum st_status describe(const struct st_machine *machine,
                               const struct st_layout_request *request,
                               struct st_error *err)
{
    struct st_layout *layout = NULL;
    char *text = NULL;

    enum st_status rc = st_layout_create(machine, request, &layout, err);
    if (rc == ST_OK) {
        rc = stm_agree(&machine->world, st_layout_bind(layout, err), err);
    }
    if (rc == ST_OK) {
        rc = st_machine_describe(machine, layout, &text, err);
    }
    if (rc == ST_OK && machine->world.rank == 0) {
        (void)fputs(text, stdout);
    }
    st_free(text);
    st_layout_destroy(&layout);
    return rc;
}

static enum st_exit run(const struct st_arguments *arguments)
{
    struct st_session session;
    struct st_machine *machine = NULL;
    struct st_layout_request request;
    struct st_error err = {0};

    enum st_status rc = request_of(arguments, &request, &err);
    if (rc == ST_OK) {
        rc = st_session_open(&session, false, &err);
    }
    if (rc != ST_OK) {
        st_complain(&err);
        return st_exit_of(rc);
    }
    rc = st_machine_open(&session.world, &machine, &err);
    if (rc == ST_OK) {
        rc = describe(machine, &request, &err);
    }
    if (rc != ST_OK && session.world.rank == 0) {
        st_complain(&err);
    }
    st_machine_close(&machine);
    return st_session_close(&session, rc, st_exit_of(rc));
}

const struct st_command st_command_topology = {
    .name = "topology",
    .operands = "",
    .summary = "nodes, CPUs, caches, memory, and where every rank and thread would sit",
    .details = "Start it as the campaign will be started: mpirun -n 64 seatrial topology",
    .n_options = ST_COUNT(options),
    .options = options,
    .run = run,
};
