#ifndef ST_MACHINE_USABLE_H
#define ST_MACHINE_USABLE_H

#include "src/base/status.h"
#include "src/machine/launch.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Which CPUs of a node may be used. Private to src/machine.
 *
 * A = what hwloc allows (cgroup, cpuset), U = union of the masks that the node's ranks
 * inherited, L = mask of the local launcher process (mpirun, orted, prted, …) if that is the
 * ranks' parent. A launcher binds each rank to a part of what it was given itself, so L is the
 * job's share of the node and the ranks' own masks are not:
 *
 *   not this system (XML, synthetic)                        A
 *   parent is a launcher                                    A and L
 *   parent is slurmstepd (runs outside the job's cgroup):
 *     Slurm gave the whole node, or the cgroup confines A   A
 *     else                                                  A and U
 *   no launcher                                             A and U
 *
 * Never wider than A.
 */

enum st_parent {
    ST_PARENT_OTHER,
    ST_PARENT_LAUNCHER,
    ST_PARENT_SLURM
};

struct st_usable_input {
    bool this_system;
    bool topology_known;            /**< false: allowed is U itself */
    hwloc_const_bitmap_t allowed;   /**< A */
    hwloc_const_bitmap_t inherited; /**< U */
    enum st_parent parent;
    const char *parent_name;          /**< for the reason, borrowed */
    hwloc_const_bitmap_t parent_mask; /**< L; NULL: not known */
    size_t slurm_cpus_on_node;        /**< SLURM_CPUS_ON_NODE; 0: not given */
    bool confined;                    /**< the cgroup keeps some online CPU away */
};

/**
 * Pure. @param[out] reason which of allowed, affinity, launcher cut, for people
 * @return ST_ERR_LAUNCH if nothing is left
 */
enum st_status st_usable_rule(const struct st_usable_input *input, hwloc_bitmap_t out,
                              char reason[160], struct st_error *err);

/** What kind of process is called @p comm (the name in /proc/PID/comm). Pure. */
enum st_parent st_parent_kind(const char *comm);

/**
 * Fill parent, parent_name and slurm_cpus_on_node from this process and @p env.
 * @param name backing store of parent_name
 * @param mask owned by the caller, becomes parent_mask if it can be read
 */
void st_usable_look(struct st_usable_input *input, st_getenv_fn env, char name[32],
                    hwloc_bitmap_t mask);

#endif
