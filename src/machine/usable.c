#include "src/machine/usable.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/affinity.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * The rule of usable.h and its inputs. hwloc's allowed set and the affinity mask disagree in
 * the field in both directions (open-mpi/hwloc#511, open-mpi/ompi#7160): an intersection
 * never claims a CPU that one of them denies.
 */

enum st_parent st_parent_kind(const char *comm)
{
    static const char *const launchers[] = {
        "mpirun",          "mpiexec",       "orterun",  "orted",
        "prterun",         "prted",         "prte",     "hydra_pmi_proxy",
        "hydra_bstrap_pr", "mpiexec.hydra", "pmi_proxy"};

    if (strcmp(comm, "slurmstepd") == 0) {
        return ST_PARENT_SLURM;
    }
    for (size_t i = 0; i < ST_COUNT(launchers); i++) {
        if (strncmp(comm, launchers[i], 15) == 0) { /* the kernel keeps 15 characters */
            return ST_PARENT_LAUNCHER;
        }
    }
    return ST_PARENT_OTHER;
}

void st_usable_look(struct st_usable_input *input, st_getenv_fn env, char name[32],
                    hwloc_bitmap_t mask)
{
    char path[64];
    uint64_t n = 0;
    const char *slurm = env("SLURM_CPUS_ON_NODE");

    (void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
    char *comm = st_read_file(NULL, path, 64, NULL);
    (void)st_copy(name, 32, comm != NULL ? comm : "");
    st_free(comm);
    name[strcspn(name, "\n")] = '\0';
    input->parent = st_parent_kind(name);
    input->parent_name = name;
    input->parent_mask = NULL;
    if (input->parent == ST_PARENT_LAUNCHER &&
        st_affinity_get(getppid(), mask, NULL) == ST_OK) {
        input->parent_mask = mask;
    }
    input->slurm_cpus_on_node = slurm != NULL && st_parse_u64(slurm, &n) ? (size_t)n : 0;
}

/* Which mask cuts A, NULL for none, and its name. */
static hwloc_const_bitmap_t cutter(const struct st_usable_input *in, const char **who)
{
    const int n_allowed = hwloc_bitmap_weight(in->allowed);

    *who = "the ranks' affinity masks";
    if (!in->this_system) {
        return NULL;
    }
    if (in->parent == ST_PARENT_LAUNCHER && in->parent_mask != NULL) {
        *who = in->parent_name;
        return in->parent_mask;
    }
    if (in->parent == ST_PARENT_SLURM &&
        (in->confined ||
         (n_allowed > 0 && in->slurm_cpus_on_node >= (size_t)n_allowed))) {
        return NULL;
    }
    return in->inherited;
}

static void give_reason(const struct st_usable_input *in, const char *cut_by,
                        char reason[160])
{
    const char *allowed = in->confined ? "the cgroup's cpuset" : "all CPUs of the node";

    if (!in->this_system) {
        (void)snprintf(reason, 160, "all that the topology allows (not this system)");
    } else if (!in->topology_known) {
        (void)snprintf(reason, 160, "affinity masks only: the topology is hidden");
    } else if (cut_by != NULL) {
        (void)snprintf(reason, 160, "%s, cut by %s%s", allowed, cut_by,
                       in->parent == ST_PARENT_LAUNCHER && in->parent_mask != NULL
                           ? "'s own affinity mask"
                           : "");
    } else if (in->parent == ST_PARENT_SLURM) {
        (void)snprintf(reason, 160, "%s, given whole by Slurm", allowed);
    } else {
        (void)snprintf(reason, 160, "%s", allowed);
    }
}

enum st_status st_usable_rule(const struct st_usable_input *input, hwloc_bitmap_t out,
                              char reason[160], struct st_error *err)
{
    const char *who = NULL;
    const hwloc_const_bitmap_t cut = cutter(input, &who);
    const int copied = cut == NULL ? hwloc_bitmap_copy(out, input->allowed)
                                   : hwloc_bitmap_and(out, input->allowed, cut);

    if (copied != 0) {
        return st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
    }
    if (hwloc_bitmap_iszero(out)) {
        char allowed[128];
        (void)hwloc_bitmap_list_snprintf(allowed, sizeof allowed, input->allowed);
        return st_fail(err, ST_ERR_LAUNCH,
                       "no CPU may be used: the node allows CPUs %s, and %s none of them",
                       allowed, who);
    }
    give_reason(input, hwloc_bitmap_isequal(out, input->allowed) ? NULL : who, reason);
    return ST_OK;
}
