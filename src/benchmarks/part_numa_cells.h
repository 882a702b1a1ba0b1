#ifndef ST_BENCHMARKS_PART_NUMA_CELLS_H
#define ST_BENCHMARKS_PART_NUMA_CELLS_H

#include "src/base/bench.h"
#include "src/benchmarks/part_memory.h"

#include <stddef.h>

/*
 * Which threads work on which memory, for benchmarks that go through the NUMA nodes of a
 * machine or through numbers of threads (METHODS 1.4). Local and pure.
 */

/** The matrix c{i}m{j} of one rank: rows are nodes with threads of it, columns have memory. */
struct st_numa_cells {
    size_t n_rows, n_columns;
    size_t row[ST_MAX_NUMA];       /**< logical NUMA node, ascending */
    size_t n_threads[ST_MAX_NUMA]; /**< of the row */
    size_t column[ST_MAX_NUMA]; /**< logical NUMA node, ascending; memory-only ones too */
};

/** Nodes beyond ST_MAX_NUMA and threads whose node is unknown are left out. */
void st_numa_cells_plan(const struct st_place_info *place, struct st_numa_cells *out);

/** Column of the memory that is local to a row; n_columns if its node has none. */
size_t st_numa_cells_home(const struct st_numa_cells *cells, size_t row);

/**
 * Slots for stk_stream_team(): the first @p n_active threads of the rank that sit on logical
 * node @p numa get 0, 1, …, all others STK_IDLE. @param slot [place->n_threads]
 */
void st_numa_slots(const struct st_place_info *place, size_t numa, size_t n_active,
                   size_t *slot);

enum {
    ST_MAX_COUNTS = 24
};
/** Numbers of threads 1, 2, 4, … and @p n itself. @return how many */
size_t st_thread_counts(size_t n, size_t counts[ST_MAX_COUNTS]);

#endif
