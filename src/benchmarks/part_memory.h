#ifndef ST_BENCHMARKS_PART_MEMORY_H
#define ST_BENCHMARKS_PART_MEMORY_H

#include "src/base/bench.h"
#include "src/base/mem.h"

#include <stddef.h>

/*
 * On which NUMA nodes the arrays of a benchmark are to be, and whether they are (METHODS 1.3,
 * 1.4). Arrays are worked on in the slices of stk_slice(), one for each thread of the rank.
 */

/** Values of a parameter `memory`. */
enum st_memory_choice {
    ST_MEMORY_OF_THREAD, /**< "local": the node of the thread that works on the slice */
    ST_MEMORY_REMOTE, /**< "remote": the next socket's nodes; with one socket, the next node */
    ST_MEMORY_SPREAD, /**< "interleaved": page by page over all nodes with CPUs */
    ST_MEMORY_ON_NODE /**< "node": all of it on one node */
};
/** Their names, NULL-terminated. */
extern const char *const st_memory_choices[];

enum {
    ST_MAX_NUMA = 256 /**< more nodes than this are not told apart */
};

/** Where the slices of this rank's threads are to be. Zero-initialised means empty. */
struct st_memory_aim {
    enum st_memory_choice choice;
    size_t node; /**< logical, with ST_MEMORY_ON_NODE */
    const struct st_place_info *place;
    long
        *here; /**< [place->n_threads] system's node of each thread, -1: unknown; owned */
};

/** Local, pure: does a machine of this shape have what the choice needs? ST_ERR_UNSUPPORTED. */
enum st_status st_memory_possible(enum st_memory_choice choice, size_t node,
                                  const struct st_shape *shape, struct st_error *err);

/**
 * Local, pure: the system's numbers of the nodes that thread @p thread's slice is to be on.
 * @return how many; 0: the choice makes no claim here (unknown nodes, or none to be had)
 */
size_t st_memory_nodes(const struct st_memory_aim *aim, size_t thread,
                       long nodes[ST_MAX_NUMA]);

/**
 * Ask each thread of the next parallel region where it is, and check that every thread has
 * nodes to aim at. Local. @return ST_ERR_UNSUPPORTED if some thread has none
 */
enum st_status st_memory_aim_create(struct st_memory_aim *aim,
                                    enum st_memory_choice choice, size_t node,
                                    const struct st_place_info *place,
                                    struct st_error *err);
void st_memory_aim_clear(struct st_memory_aim *aim);

/** Memory of the nodes aimed at, bytes; UINT64_MAX for "local" or if unknown. */
uint64_t st_memory_capacity(const struct st_memory_aim *aim);

/**
 * Set the policies of an untouched array's slices. Local.
 * @param array [n] doubles in the mapping
 * @return ST_ERR_UNSUPPORTED if the system refuses (never for "local": that is read back),
 *         ST_ERR_STEP if a node has not so much free memory
 */
enum st_status st_memory_aim_put(const struct st_memory_aim *aim, double *array, size_t n,
                                 struct st_error *err);

/**
 * Read back about 1000 pages: the share that is where it should be, -1 if that cannot be told.
 * With "interleaved", if a node has less than half of its even share, that fraction.
 * @param arrays [n_arrays] of @p n doubles, touched; NULL ones are left out
 */
double st_memory_aim_share(const struct st_memory_aim *aim, size_t n_arrays,
                           double *const *arrays, size_t n);

#endif
