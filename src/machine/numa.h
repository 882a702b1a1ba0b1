#ifndef ST_MACHINE_NUMA_H
#define ST_MACHINE_NUMA_H

#include "src/base/mem.h"
#include "src/base/status.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Where memory is put and where it is found, by Linux memory policies. NUMA nodes are named
 * by the system's numbers (st_numa_node.os_index). All functions are local.
 */

enum st_memory_policy {
    ST_MEMORY_LOCAL, /**< the node of the first toucher: the system's default, set explicitly */
    ST_MEMORY_BIND,      /**< strictly on the given nodes */
    ST_MEMORY_INTERLEAVE /**< page by page over the given nodes */
};

/**
 * Set the policy of a mapping that no page of was touched yet. Strict: pages that cannot be
 * put there fail later, not silently elsewhere.
 * @param os_nodes [n_nodes] ignored for ST_MEMORY_LOCAL
 * @return ST_ERR_UNSUPPORTED if the system has no memory policies or the node does not exist
 */
enum st_status st_memory_place(const struct st_mapping *mapping,
                               enum st_memory_policy policy, size_t n_nodes,
                               const long *os_nodes, struct st_error *err);

/**
 * Read back: the share of at least @p n_samples evenly spread pages (all pages, if there are
 * fewer) that are on one of the given nodes; untouched pages count as elsewhere. Moves nothing.
 * @param share_of [n_nodes] share on each node, may be NULL
 * @return ST_ERR_UNSUPPORTED with *share = -1 if the system does not tell
 */
enum st_status st_memory_where(const struct st_mapping *mapping, size_t n_samples,
                               size_t n_nodes, const long *os_nodes, double *share,
                               double *share_of, struct st_error *err);

/** Free bytes of a NUMA node; 0 if unknown. */
uint64_t st_memory_free(long os_node);

/** NUMA node of the CPU that the calling thread is on; -1 if the system does not tell, or if
 * this process may have no memory of that node (no page can be local there). */
long st_memory_node_here(void);

/** The system calls behind this, replaceable by tests (a machine with nodes that this one lacks). */
struct st_memory_calls {
    long (*mbind)(void *start, unsigned long size, int mode, const unsigned long *mask,
                  unsigned long n_bits, unsigned flags);
    long (*move_pages)(int pid, unsigned long n, void **pages, const int *nodes,
                       int *status, int flags);
    long (*node_here)(void);              /**< as st_memory_node_here() */
    uint64_t (*free_bytes)(long os_node); /**< as st_memory_free() */
};
/** Use @p calls from now on; NULL: the system's. */
void st_memory_use(const struct st_memory_calls *calls);

#endif
