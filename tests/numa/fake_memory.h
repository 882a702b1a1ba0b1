#ifndef ST_TESTS_NUMA_FAKE_MEMORY_H
#define ST_TESTS_NUMA_FAKE_MEMORY_H

#include "src/machine/numa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A machine with NUMA nodes that this one lacks, behind st_memory_use(): it remembers policies
 * and answers where pages are by them. Pages without a policy are where the caller is. */

struct fake_memory {
    long n_nodes;  /* nodes 0 … n_nodes - 1 exist */
    long here;     /* node of every thread */
    int refuse;    /* errno of mbind; 0: works */
    bool silent;   /* move_pages does not tell */
    long found_on; /* all pages are there, whatever was asked; -1: as asked */
    uint64_t free_bytes;
    size_t n_policies; /* set so far */
};
extern struct fake_memory fake_memory;

/** Forget everything and put the fake in the system's place. */
void fake_memory_start(long n_nodes);
void fake_memory_stop(void);

#endif
