#ifndef ST_MACHINE_TOPO_H
#define ST_MACHINE_TOPO_H

#include "src/base/bench.h"
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/machine/cpus.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One loaded hwloc topology. Private to src/machine; local. Only a node's leader opens one.
 */

struct st_topo {
    hwloc_topology_t hw;
    bool this_system; /**< false: XML or synthetic; hwloc then binds nothing */
};

enum st_topo_source {
    ST_TOPO_SYSTEM,   /**< this system, or what HWLOC_XMLFILE / HWLOC_SYNTHETIC say */
    ST_TOPO_XML_FILE, /**< text: file name */
    ST_TOPO_XML_TEXT, /**< text: the XML itself */
    ST_TOPO_SYNTHETIC /**< text: "Package:2 Core:4 PU:2" */
};

/**
 * Load. @p text is NULL for ST_TOPO_SYSTEM. Owned by the caller.
 * @return ST_ERR_TOPO if hwloc cannot load it, or if this is the real system but /sys is hidden
 *         (hwloc then guesses from CPUID alone, without cgroups and NUMA nodes)
 */
enum st_status st_topo_open(enum st_topo_source source, const char *text,
                            struct st_topo **out, struct st_error *err);
/** Accepts NULL and half-built. */
void st_topo_close(struct st_topo **topo);

/** CPUs that the cgroup (cpuset) and the system allow; borrowed. */
hwloc_const_bitmap_t st_topo_allowed(const struct st_topo *topo);
/** True if some online CPU of the machine is not allowed. */
bool st_topo_confined(const struct st_topo *topo);

/** Sizes of the whole machine and of what is usable. */
struct st_topo_counts {
    size_t n_packages, n_numa, n_numa_memory_only, n_l3, n_cores, n_pus;
    size_t n_half_cores; /**< usable cores of which some hardware threads are not */
    uint64_t l1d_bytes, l2_bytes, l3_bytes; /**< of the first instance; 0: unknown */
    bool llc_plausible;
};
/** @param usable CPUs that may be used */
void st_topo_counts(const struct st_topo *topo, hwloc_const_bitmap_t usable,
                    struct st_topo_counts *out);

/** The table of usable CPUs, in topology order. */
enum st_status st_topo_cpus(const struct st_topo *topo, hwloc_const_bitmap_t usable,
                            struct st_cpus *out, struct st_error *err);

/** Equal for nodes that may be compared: shape, caches, numbering, CPU model. Owned text. */
char *st_topo_signature(const struct st_topo *topo, const struct st_cpus *cpus,
                        struct st_error *err);
/** CPU model as the first package states it, or NULL. Borrowed. */
const char *st_topo_cpu_model(const struct st_topo *topo);
/** The topology as XML (hwloc 2 format); owned text. */
char *st_topo_xml(const struct st_topo *topo, struct st_error *err);

/**
 * Table of the NUMA nodes, logical order; owned by the caller (NULL if there are none). The
 * system's numbers are left unknown if this is not this system, so that nobody binds by them.
 */
enum st_status st_topo_numa(const struct st_topo *topo, size_t *n,
                            struct st_numa_node **out, struct st_error *err);

/** True if some CPU's nearest ordinary memory is this NUMA node. */
bool st_topo_is_home(const struct st_topo *topo, hwloc_obj_t numa);

/** Lines for people on caches, NUMA nodes and network devices, two blanks deep. */
void st_topo_describe(const struct st_topo *topo, struct st_text *text);

#endif
