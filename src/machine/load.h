#ifndef ST_MACHINE_LOAD_H
#define ST_MACHINE_LOAD_H

#include "src/base/status.h"
#include "src/machine/cpus.h"
#include "src/machine/machine.h"
#include "src/machine/topo.h"

#include <hwloc.h>

/*
 * All that one process learns about its node: topology, usable CPUs, memory, state. Done by
 * the leader of each real node while the machine is opened, and by `seatrial check` alone.
 * Private to src/machine; local.
 */

struct st_loaded {
    struct st_topo *topo;      /**< NULL: hwloc failed, only the affinity mask is known */
    struct st_cpus cpus;       /**< usable CPUs */
    size_t n_numa;             /**< 0: not known */
    struct st_numa_node *numa; /**< [n_numa]; owned */
    struct st_node node;       /**< without leader, n_ranks and class */
    char *usable;              /**< CPU list; owned */
    char reason[160];          /**< which of allowed, affinity, launcher cut it */
    char *signature;           /**< nodes with equal texts may be compared; owned */
};

/**
 * @param inherited union of the masks of the node's ranks
 * @param n_ranks   of the launch on the node
 * @return ST_ERR_LAUNCH: no CPU may be used; ST_ERR_USAGE: HWLOC_XMLFILE or HWLOC_SYNTHETIC
 *         names nothing that hwloc can use; a hidden topology is no error
 */
enum st_status st_load_node(hwloc_const_bitmap_t inherited, size_t n_ranks,
                            struct st_loaded *out, struct st_error *err);
void st_loaded_clear(struct st_loaded *loaded);

/** This machine's boot id, "unknown" if hidden; and host name. */
void st_machine_identity(char *boot_id, size_t boot_size, char *host, size_t host_size);

#endif
