#include "src/record/results.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/launch.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The parts of a file that are known before the first step: root, /run, /system. */

extern char **environ;

const char *st_time_text(char out[ST_TIME_TEXT])
{
    const time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc) == NULL ||
        strftime(out, ST_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        st_copy(out, ST_TIME_TEXT, "unknown");
    }
    return out;
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static enum st_status write_root(hid_t file, const struct st_run_info *info,
                                 struct st_error *err)
{
    char now[ST_TIME_TEXT];
    const struct st_root_row row = {
        .format = "seatrial",
        .format_version = ST_FORMAT_VERSION,
        .conventions = "UDUNITS units; CF flags, coordinates and _FillValue",
        .status = "running",
        .reason = "",
        .campaign = info->plan->campaign,
        .created = st_time_text(now),
        .updated = now,
        .fake_nodes = info->machine->fake_nodes,
        .judge_fake_nodes = info->plan->judge_fake_nodes,
        .n_steps_planned = info->plan->n_steps,
        .n_ranks = (size_t)info->machine->world.n_ranks,
        .n_nodes = info->machine->n_nodes,
        .n_launches = 1,
        .start_up_s = info->start_up_s,
    };

    return st_record_write(file, &st_table_root, &row, err);
}

/* The command line as a shell would take it: words with blanks or quotes are quoted. */
static void join_arguments(const struct st_run_info *info, struct st_text *out)
{
    for (int i = 0; i < info->argc; i++) {
        const char *word = info->argv[i];
        st_text_add(out, "%s", i == 0 ? "" : " ");
        if (word[0] != '\0' && strpbrk(word, " \t\n'\"\\$&;|<>*?()[]{}`#~") == NULL) {
            st_text_add(out, "%s", word);
            continue;
        }
        st_text_add(out, "'");
        for (const char *c = word; *c != '\0'; c++) {
            if (*c == '\'') {
                st_text_add(out, "'\\''");
            } else {
                st_text_add_bytes(out, c, 1);
            }
        }
        st_text_add(out, "'");
    }
}

static enum st_status write_run_texts(hid_t run, const struct st_run_info *info,
                                      struct st_error *err)
{
    struct st_text command = {0};
    enum st_status rc = ST_OK;

    join_arguments(info, &command);
    const struct st_run_row row = {
        .config_file = or_empty(info->plan->file),
        .config = or_empty(info->plan->config_text),
        .overrides = or_empty(info->plan->overrides),
        .command = st_text_get(&command),
        .launcher = or_empty(info->launcher),
        .mpi_library = or_empty(info->mpi_library),
        .transport = or_empty(info->mpi_transport),
        .binary = or_empty(info->binary),
    };
    rc = command.failed ? st_fail(err, ST_ERR_MEMORY, "no memory for the command line")
                        : st_record_write(run, &st_table_run, &row, err);
    st_text_clear(&command);
    return rc;
}

static void get_argument(const void *source, size_t i, void *row, char *room)
{
    const struct st_run_info *info = source;

    (void)room;
    *(struct st_argument_row *)row = (struct st_argument_row){.value = info->argv[i]};
}

/* Positions in environ of the variables that may be stored. */
struct variables {
    size_t n;
    size_t at[512];
};

static void find_variables(struct variables *found)
{
    char name[256];

    found->n = 0;
    for (size_t i = 0;
         environ[i] != NULL && found->n < sizeof found->at / sizeof *found->at; i++) {
        const char *equals = strchr(environ[i], '=');
        if (equals == NULL || (size_t)(equals - environ[i]) >= sizeof name) {
            continue;
        }
        memcpy(name, environ[i], (size_t)(equals - environ[i]));
        name[equals - environ[i]] = '\0';
        if (st_env_allowed(name)) {
            found->at[found->n++] = i;
        }
    }
}

static void get_variable(const void *source, size_t i, void *row, char *room)
{
    const struct variables *found = source;
    const char *entry = environ[found->at[i]];
    const char *equals = strchr(entry, '=');
    const size_t n = (size_t)(equals - entry);

    memcpy(room, entry, n); /* shorter than 256: find_variables() */
    room[n] = '\0';
    *(struct st_variable_row *)row = (struct st_variable_row){room, equals + 1};
}

static void get_library(const void *source, size_t i, void *row, char *room)
{
    (void)room;
    *(struct st_library_row *)row = ((const struct st_library_row *)source)[i];
}

static enum st_status write_libraries(hid_t run, const struct st_run_info *info,
                                      struct st_error *err)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    char hdf5[48] = "unknown";

    if (H5get_libversion(&major, &minor, &release) >= 0) {
        snprintf(hdf5, sizeof hdf5, "%u.%u.%u", major, minor, release);
    }
    const struct st_library_row rows[] = {
        {"MPI", info->mpi_library != NULL ? info->mpi_library : "unknown"},
        {"HDF5", hdf5},
        {"hwloc", info->hwloc_version != NULL ? info->hwloc_version : "unknown"},
        {"libyaml", info->yaml_version != NULL ? info->yaml_version : "unknown"},
    };
    return st_table_write(run, "libraries", &st_table_libraries, 4, get_library, rows,
                          err);
}

static void get_peak(const void *source, size_t i, void *row, char *room)
{
    const struct st_plan *plan = source;

    (void)room;
    *(struct st_peak_row *)row = (struct st_peak_row){
        .name = plan->peaks[i].name,
        .unit = plan->peaks[i].unit,
        .origin = plan->peaks[i].origin,
        .value = plan->peaks[i].value,
    };
}

static enum st_status write_run(hid_t file, const struct st_run_info *info,
                                struct st_error *err)
{
    struct variables found;
    hid_t run = st_h5_group(file, "run", err);
    enum st_status rc = run >= 0 ? write_run_texts(run, info, err) : err->code;

    if (rc == ST_OK) {
        rc = st_table_write(run, "arguments", &st_table_arguments, (size_t)info->argc,
                            get_argument, info, err);
    }
    if (rc == ST_OK) {
        find_variables(&found);
        rc = st_table_write(run, "environment", &st_table_environment, found.n,
                            get_variable, &found, err);
    }
    if (rc == ST_OK) {
        rc = write_libraries(run, info, err);
    }
    if (rc == ST_OK) {
        rc = st_table_write(run, "peaks", &st_table_peaks, info->plan->n_peaks, get_peak,
                            info->plan, err);
    }
    st_h5_drop(&run);
    return rc;
}

static size_t known(uint64_t bytes)
{
    return bytes == 0 ? SIZE_MAX : (size_t)bytes; /* 0 is "unknown" there, missing here */
}

static void get_node(const void *source, size_t i, void *row, char *room)
{
    const struct st_machine *machine = source;
    const struct st_node *n = &machine->nodes[i];

    (void)room;
    *(struct st_node_row *)row = (struct st_node_row){
        .host = n->host,
        .boot_id = n->boot_id,
        .memory_limit = n->memory_limit,
        .usable = machine->usable != NULL ? machine->usable[i] : "",
        .usable_reason = machine->usable_reason != NULL ? machine->usable_reason[i] : "",
        .leader = n->leader,
        .n_ranks = n->n_ranks,
        .topology_class = n->topology_class,
        .memory = known(n->memory_bytes),
        .n_packages = n->n_packages,
        .n_numa = n->n_numa,
        .n_numa_memory_only = n->n_numa_memory_only,
        .n_l3 = n->n_l3,
        .n_cores = n->n_cores,
        .n_pus = n->n_pus,
        .n_usable_cores = n->n_usable_cores,
        .n_usable_pus = n->n_usable_pus,
        .n_half_cores = n->n_half_cores,
        .l1d_size = known(n->l1d_bytes),
        .l2_size = known(n->l2_bytes),
        .l3_size = known(n->l3_bytes),
        .topology_known = n->topology_known,
        .is_this_system = n->is_this_system,
        .llc_plausible = n->llc_plausible,
        .clock_step = n->clock_step_s,
        .clock_cost = n->clock_cost_s,
    };
}

/* The facts of all nodes as one list: starts[i] facts lie before node i. */
struct facts {
    const struct st_machine *machine;
    size_t *starts; /* [n_nodes + 1] */
};

static void get_fact(const void *source, size_t i, void *row, char *room)
{
    const struct facts *f = source;
    const struct st_fact *fact = NULL;
    size_t low = 0;
    size_t high = f->machine->n_nodes; /* starts[low] <= i < starts[high] */

    (void)room;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (f->starts[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    fact = &f->machine->nodes[low].facts[i - f->starts[low]];
    *(struct st_fact_row *)row =
        (struct st_fact_row){.node = low, .name = fact->name, .value = fact->value};
}

static enum st_status write_facts(hid_t system, const struct st_machine *machine,
                                  struct st_error *err)
{
    struct facts facts = {.machine = machine};
    enum st_status rc = ST_OK;

    facts.starts = st_calloc(err, machine->n_nodes + 1, sizeof *facts.starts);
    if (facts.starts == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < machine->n_nodes; i++) {
        facts.starts[i + 1] = facts.starts[i] + machine->nodes[i].n_facts;
    }
    rc = st_table_write(system, "facts", &st_table_facts, facts.starts[machine->n_nodes],
                        get_fact, &facts, err);
    st_free(facts.starts);
    return rc;
}

static void get_rank(const void *source, size_t i, void *row, char *room)
{
    const struct st_rank *rank = &((const struct st_machine *)source)->ranks[i];

    (void)room;
    *(struct st_rank_row *)row =
        (struct st_rank_row){rank->node, rank->local_rank, or_empty(rank->inherited)};
}

static enum st_status write_topologies(hid_t system, const struct st_run_info *info,
                                       struct st_error *err)
{
    hid_t group = st_h5_group(system, "topology", err);
    enum st_status rc = group >= 0 ? ST_OK : err->code;
    char name[24];

    for (size_t i = 0; rc == ST_OK && i < info->n_topologies; i++) {
        snprintf(name, sizeof name, "%zu", i);
        rc = st_h5_text(group, name, or_empty(info->topology_xml[i]),
                        st_table_topology.columns[0].meaning, err);
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status write_system(hid_t file, const struct st_run_info *info,
                                   struct st_error *err)
{
    const struct st_machine *machine = info->machine;
    const struct st_system_row row = {
        .warnings = machine->warnings,
        .fake_spec = machine->fake_spec,
        .n_classes = machine->n_classes,
        .keys_disagree = machine->keys_disagree,
        .open_s = machine->open_s,
    };
    hid_t system = st_h5_group(file, "system", err);
    enum st_status rc = system >= 0 ? ST_OK : err->code;

    if (rc == ST_OK) {
        rc = st_record_write(system, &st_table_system, &row, err);
    }
    if (rc == ST_OK) {
        rc = st_table_write(system, "nodes", &st_table_nodes, machine->n_nodes, get_node,
                            machine, err);
    }
    if (rc == ST_OK) {
        rc = write_facts(system, machine, err);
    }
    if (rc == ST_OK) {
        rc = st_table_write(system, "ranks", &st_table_ranks,
                            (size_t)machine->world.n_ranks, get_rank, machine, err);
    }
    if (rc == ST_OK) {
        rc = write_topologies(system, info, err);
    }
    st_h5_drop(&system);
    return rc;
}

enum st_status st_write_head(hid_t file, const struct st_run_info *info,
                             struct st_error *err)
{
    enum st_status rc = write_root(file, info, err);
    hid_t steps = -1;

    if (rc == ST_OK) {
        rc = write_run(file, info, err);
    }
    if (rc == ST_OK) {
        rc = write_system(file, info, err);
    }
    if (rc == ST_OK) {
        steps = st_h5_group(file, "steps", err);
        rc = steps >= 0 ? ST_OK : err->code;
    }
    st_h5_drop(&steps);
    return rc;
}
