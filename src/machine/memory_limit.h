#ifndef ST_MACHINE_MEMORY_LIMIT_H
#define ST_MACHINE_MEMORY_LIMIT_H

#include "src/machine/launch.h"

#include <stdint.h>

/*
 * How much memory this job may use on this node (CASES 40): the least of what the system has
 * available, what every cgroup above this process (v1 and v2) leaves, Slurm's limit, and
 * RLIMIT_AS of each rank. Private to src/machine. Local.
 */

struct st_memory_limit {
    uint64_t bytes; /**< on this node */
    char limit
        [64]; /**< which of them cut: "host", "cgroup /a/b", "SLURM_MEM_PER_NODE" … */
};

/**
 * @param root prefix of /proc and /sys, "" for the system (tests give a folder)
 * @param env  for SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU, SLURM_CPUS_ON_NODE (MiB)
 * @return bytes UINT64_MAX and limit "unknown" if nothing can be read
 */
struct st_memory_limit st_memory_limit_read(const char *root, st_getenv_fn env);

/** Narrow by @p n_ranks processes of at most @p rlimit_bytes each (UINT64_MAX: none). */
void st_memory_limit_rank(struct st_memory_limit *limit, uint64_t rlimit_bytes,
                          uint64_t n_ranks);

/** RLIMIT_AS of this process, UINT64_MAX if unlimited. */
uint64_t st_memory_rlimit(void);

#endif
