#ifndef ST_MACHINE_AFFINITY_H
#define ST_MACHINE_AFFINITY_H

#include "src/base/status.h"

#include <hwloc.h>
#include <sys/types.h>

/*
 * CPU masks of the running system. Private to src/machine. Masks are hwloc bitmaps (of any
 * size, and usable without a topology); the kernel is asked through masks that grow until
 * they fit, so that more than 1024 CPUs are ordinary. All functions are local.
 */

/** Mask of thread @p tid (0: the caller). @return ST_ERR_TOPO with errno's text */
enum st_status st_affinity_get(pid_t tid, hwloc_bitmap_t out, struct st_error *err);
/** Bind the calling thread. @return ST_ERR_TOPO with errno's text (EINVAL: no such CPU) */
enum st_status st_affinity_set(hwloc_const_bitmap_t mask, struct st_error *err);

/**
 * The mask this process was given: that of its first thread, united with the places of the
 * OpenMP run time, which narrows the first thread to its place before main() when
 * OMP_PROC_BIND or OMP_PLACES is set.
 */
enum st_status st_affinity_inherited(hwloc_bitmap_t out, struct st_error *err);

/** CPU list ("0-3,8", "" if empty), untruncated; owned (st_free), NULL on failure. */
char *st_cpu_list(hwloc_const_bitmap_t mask, struct st_error *err);
/** The inverse. @return ST_ERR_INTERNAL for a text that is not a CPU list */
enum st_status st_cpu_list_parse(const char *text, hwloc_bitmap_t out,
                                 struct st_error *err);

/** hwloc_bitmap_alloc() with a message. @return NULL on failure (ST_ERR_MEMORY) */
hwloc_bitmap_t st_bitmap_new(struct st_error *err);

#endif
