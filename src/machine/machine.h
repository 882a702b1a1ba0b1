#ifndef ST_MACHINE_MACHINE_H
#define ST_MACHINE_MACHINE_H

#include "mpi/comm.h"
#include "src/base/bench.h"
#include "src/base/status.h"
#include "src/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Nodes of the launch, their topology (one hwloc load per node) and what may be used on
 * them; then layouts: who takes part in a step and where every thread is bound, planned,
 * applied and read back.
 */

enum {
    ST_HOST_SIZE = 256,
    ST_MAX_FACTS = 24
};

/** One thing known about a node ("thp", "always [madvise] never"); value "unknown" if hidden. */
struct st_fact {
    char name[32];
    char value[512];
};

/** One node; the same table on every rank. */
struct st_node {
    char host[ST_HOST_SIZE];
    char boot_id[40];
    size_t leader;  /**< world rank that loaded the topology */
    size_t n_ranks; /**< world ranks on it */
    size_t
        topology_class; /**< nodes with equal topology signature share it, 0 … n_classes-1 */
    uint64_t
        memory_bytes; /**< allowed to this job on this node: min of host, cgroups, Slurm, rlimit */
    uint64_t rank_memory_bytes; /**< limit of one process (RLIMIT_AS); UINT64_MAX: none */
    char memory_limit
        [64]; /**< which of them cut: "host", "cgroup /…", "SLURM_MEM_PER_NODE", "RLIMIT_AS" */
    bool topology_known; /**< false: hwloc failed, only the affinity mask is known */
    bool is_this_system; /**< false: XML or synthetic: planned, not applied */
    size_t n_packages, n_numa, n_numa_memory_only, n_l3, n_cores,
        n_pus; /**< of the whole machine */
    size_t n_usable_cores, n_usable_pus;
    size_t
        n_half_cores; /**< usable cores of which some hardware threads are not usable */
    uint64_t l1d_bytes, l2_bytes, l3_bytes; /**< one instance each; 0: unknown */
    bool llc_plausible; /**< false: hidden or absurd. llc_bytes of shapes and places then
                                   counts at most 64 MiB of L3 per core under it (cpus.h, st_llc_trust) */
    double clock_step_s,
        clock_cost_s; /**< of the monotonic clock, measured once per node */
    size_t n_facts;
    struct st_fact facts
        [ST_MAX_FACTS]; /**< thp, governor, smt, numa_balancing, cmdline, hugepages, cstates, cpu model, kernel, pml/btl … */
};

/** One world rank. */
struct st_rank {
    size_t node;
    size_t local_rank; /**< among the world ranks of its node, by world rank */
    char *inherited;   /**< CPU list of the mask at start, untruncated ("0-3,8"); owned */
};

struct st_machine {
    struct stm_comm world;
    struct stm_comm node_comm; /**< ranks of this rank's (maybe fake) node */
    size_t n_nodes;
    struct st_node *nodes;
    struct st_rank *ranks; /**< [world.n_ranks] */
    size_t n_classes;
    bool fake_nodes; /**< SEATRIAL_FAKE_NODES in force */
    char fake_spec[64];
    bool keys_disagree;  /**< the two same-node keys differed; coarser taken */
    char warnings[1024]; /**< lines for people, "" if none */
    char **usable;       /**< [n_nodes] CPU list that may be used, untruncated */
    char (*usable_reason)
        [160];            /**< [n_nodes] which of allowed, affinity, launcher cut it */
    double open_s;        /**< time of st_machine_open */
    struct st_topo *topo; /**< private; leaders of real nodes only, else NULL */
    struct st_cpus *cpus; /**< private; usable CPUs of this rank's node, for planning */
    size_t n_numa;        /**< of this rank's (real) node; 0: not known */
    struct st_numa_node *numa; /**< private; [n_numa] */
};

/**
 * Find the nodes, load one topology per node, read masks and limits, share the tables.
 * Collective over @p world (kept as a borrowed copy). @p out owned by the caller.
 */
enum st_status st_machine_open(const struct stm_comm *world, struct st_machine **out,
                               struct st_error *err);
/** Collective over the world. Accepts NULL and half-built. */
void st_machine_close(struct st_machine **machine);

/** XML of the topology of class @p topology_class on rank 0 (owned text, NULL elsewhere). Collective over world. */
enum st_status st_machine_topology_xml(const struct st_machine *machine,
                                       size_t topology_class, char **xml,
                                       struct st_error *err);

/** A thread's seat, planned and proved. SIZE_MAX in a logical index: unknown. */
struct st_seat {
    size_t rank; /**< world rank */
    size_t thread;
    size_t node; /**< machine's node index */
    long pu;     /**< planned OS CPU number; -1: not bound (policy launcher) */
    size_t core, l3, numa, package; /**< logical, machine-wide of the node */
    char *planned;                  /**< CPU list; owned */
    char *verified; /**< CPU list read back from the thread; owned; NULL before */
    long last_cpu;  /**< CPU the thread was seen on; -1 before */
    bool proved;    /**< verified equals planned and last_cpu is in it, on this system */
};

/** Who takes part in one step. */
struct st_layout {
    bool active; /**< this rank takes part */
    struct stm_comm
        step; /**< active ranks (ordered by group, then node, then local); null handle on sleepers */
    struct stm_comm group; /**< ranks of this rank's group; null handle on sleepers */
    size_t group_index, n_groups;
    struct st_shape shape;
    struct st_place_info place;            /**< active ranks only */
    size_t *node_of_group_rank;            /**< backing store of place.node_of */
    struct st_thread_place *thread_places; /**< backing store of place.threads */
    size_t n_active;
    size_t *
        active_ranks; /**< [n_active] world ranks in step-communicator order, on all ranks */
    size_t *active_group;   /**< [n_active] */
    size_t *active_node;    /**< [n_active] machine node index */
    size_t *active_threads; /**< [n_active] */
    size_t n_seats;         /**< this rank's threads; 0 on sleepers */
    struct st_seat *seats;
    char *
        busy; /**< `others: busy`, a rank that takes no part: CPU list that the step leaves
                         free on its node; else NULL */
    bool applied;   /**< bound for real (this system, policy seatrial) */
    bool foreign;   /**< some node of the step has a topology that is not this system */
    char note[256]; /**< "planned, not applied (topology is not this system)" … */
};

/**
 * Plan a layout. Collective over the world; every rank gets the same answer.
 * @return ST_ERR_UNSUPPORTED: too few nodes or ranks were started; ST_ERR_STEP: the layout puts
 *         two threads on one PU or two ranks on one core; ST_ERR_LAUNCH: the launch is stacked (kept
 *         masks have CPUs in common; or all-cores of more ranks than usable hardware threads on
 *         real nodes). The last two not with `oversubscribe: yes`; their text names ranks, CPUs and
 *         the OMP_ and launcher variables in force.
 */
enum st_status st_layout_create(const struct st_machine *machine,
                                const struct st_layout_request *request,
                                struct st_layout **out, struct st_error *err);
/** Set the thread count, bind this rank's OpenMP threads, read back. Local (no MPI); sleepers: no-op. */
enum st_status st_layout_bind(struct st_layout *layout, struct st_error *err);
/** Read back again (after measuring). Local. @return ST_OK also when not proved; see seats[].proved */
enum st_status st_layout_prove(struct st_layout *layout, struct st_error *err);
/** All seats of the step on world rank 0, in step-communicator order (owned; st_seats_free). Collective over the world. */
enum st_status st_layout_gather(const struct st_machine *machine,
                                const struct st_layout *layout, size_t *n_seats,
                                struct st_seat **seats, struct st_error *err);
void st_seats_free(size_t n_seats, struct st_seat **seats);
/** Collective over the world. */
void st_layout_destroy(struct st_layout **layout);

/** The shape that `request` would get on @p n_nodes nodes like this machine with
 *  @p n_ranks_per_node ranks started on each (0: one per usable core), for `seatrial check`. Local, no MPI; loads the
 *  topology of this machine (or HWLOC_XMLFILE). */
enum st_status st_shape_predict(const struct st_layout_request *request, size_t n_nodes,
                                size_t n_ranks_per_node, struct st_shape *out,
                                struct st_error *err);

/** Text of `seatrial topology`: for each node its packages, NUMA nodes, caches, who sits where, NIC distance. Rank 0; collective over world. */
enum st_status st_machine_describe(const struct st_machine *machine,
                                   const struct st_layout *layout, char **text,
                                   struct st_error *err);

/** Version of hwloc at run time, "2.9.0". @return @p out. Local. */
const char *st_machine_hwloc_version(char *out, size_t size);

#endif
