#ifndef ST_MACHINE_FACTS_H
#define ST_MACHINE_FACTS_H

#include "src/machine/machine.h"

#include <hwloc.h>

/*
 * State of a node that explains a measurement (METHODS 0): transparent huge pages, governor,
 * frequency, SMT, NUMA balancing, C-states, kernel … Private to src/machine. Local.
 */

/**
 * Read all facts; what is hidden is "unknown", never 0.
 * @param root   prefix of /proc and /sys, "" for the system
 * @param sample CPUs whose frequency and governor are read (one per NUMA node)
 * @param model  CPU model, or NULL to read /proc/cpuinfo
 */
void st_facts_read(const char *root, hwloc_const_bitmap_t sample, const char *model,
                   struct st_node *node);

/** Step (smallest non-zero difference) and cost of CLOCK_MONOTONIC from 10^5 reads (METHODS 0). */
void st_clock_quality(double *step_s, double *cost_s);

#endif
