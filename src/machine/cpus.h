#ifndef ST_MACHINE_CPUS_H
#define ST_MACHINE_CPUS_H

#include "src/base/status.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The usable CPUs of one node as a flat table in topology order: what the planner works on
 * and what a node's leader hands to the other ranks, which need no topology then. Private to
 * src/machine; everything local and pure.
 */

/** An index that is not known (no such object, or topology hidden). */
#define ST_CPU_UNKNOWN UINT32_MAX

/** One usable hardware thread. Indices are hwloc's logical ones, machine-wide. */
struct st_cpu {
    uint32_t os;     /**< the system's number of it */
    uint32_t core;   /**< never unknown: a PU without a core counts as one */
    uint32_t l2, l3; /**< the cache instance above it */
    uint32_t numa;   /**< its nearest NUMA node with memory; unknown: it has none */
    uint32_t package;
    uint32_t
        home; /**< dense 0 … n_homes-1: NUMA node, or package where that is unknown */
    uint64_t l2_bytes; /**< one instance, 0: unknown */
    uint64_t l3_bytes; /**< one instance as trusted (st_llc_trust), 0: unknown */
};

struct st_cpus {
    size_t n;           /**< usable hardware threads; those of a core are neighbours */
    struct st_cpu *row; /**< [n], owned */
    size_t n_cores, n_homes;
    size_t n_kinds;   /**< kinds of cores (hybrid machines have more than one) */
    bool known;       /**< false: only the affinity mask is known; indices are guesses */
    bool this_system; /**< false: plan and print, bind nothing */
};

/** One row per CPU of @p mask, each its own core, all else unknown. */
enum st_status st_cpus_from_mask(hwloc_const_bitmap_t mask, struct st_cpus *out,
                                 struct st_error *err);
/** Copy of the rows of cores [first_core, end_core), counted along the table. */
enum st_status st_cpus_slice(const struct st_cpus *all, size_t first_core,
                             size_t end_core, struct st_cpus *out, struct st_error *err);
/** Count cores and number the homes after the rows were filled. */
void st_cpus_index(struct st_cpus *cpus);
void st_cpus_clear(struct st_cpus *cpus);

/** The rows' CPUs as a mask. */
enum st_status st_cpus_mask(const struct st_cpus *cpus, hwloc_bitmap_t out,
                            struct st_error *err);
/** Row of CPU @p os; cpus->n if it is not usable. */
size_t st_cpus_find(const struct st_cpus *cpus, unsigned os);

/**
 * Capacity of the distinct L3s and L2s above @p rows [n] (METHODS 1.2: the last-level caches
 * plus the L2s, assumed not inclusive). 0: unknown.
 */
enum st_status st_cpus_llc(const struct st_cpus *cpus, size_t n, const size_t *rows,
                           uint64_t *bytes, struct st_error *err);

/**
 * What to believe of an L3 instance of @p bytes over @p n_cores physical cores: at most
 * 64 MiB a core (project default: the largest share of a real server is 48 MiB a core, EPYC
 * 7373X and 9184X with 96 MiB over 2; cloud machines claim 508 MiB over one).
 * @param[out] plausible false if it was cut; untouched otherwise
 */
uint64_t st_llc_trust(uint64_t bytes, size_t n_cores, bool *plausible);

#endif
