#ifndef ST_BENCHMARKS_PART_SPLIT_H
#define ST_BENCHMARKS_PART_SPLIT_H

#include "mpi/comm.h"
#include "src/base/status.h"
#include "src/stats/pop.h"

/*
 * Where the time of a solver goes on each rank: computing, exchanging the halo, reducing. How to
 * use it in any benchmark's run(): zero a split, read st_now() around the section and around
 * each group of MPI calls, add up into halo_s and reduction_s (two clock reads each, some 50 ns),
 * set elapsed_s, record the shares by rank, and call st_split_pop() as the last thing in the
 * section. That is one small allreduce a section, not an iteration.
 */
struct st_split {
    double elapsed_s;   /**< of the section on this rank */
    double halo_s;      /**< in the halo exchange: starting it and waiting */
    double reduction_s; /**< in reductions over the ranks, waiting for others included */
};

/** Time outside MPI: the elapsed time less both. Local. */
double st_split_useful(const struct st_split *split);
/** @p part_s over the elapsed time; 0 for a section that took none. Local. */
double st_split_share(const struct st_split *split, double part_s);

/** Efficiencies over the ranks of @p comm, equal on all. Collective over @p comm. */
enum st_status st_split_pop(const struct stm_comm *comm, const struct st_split *split,
                            struct st_pop *pop, struct st_error *err);

#endif
