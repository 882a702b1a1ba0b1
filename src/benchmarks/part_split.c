/*
 * The split of a solver's time, and POP efficiencies of it. Sum and maxima travel in one
 * allreduce each; the runtime is that of the slowest rank, before these reductions.
 */
#include "src/benchmarks/part_split.h"

#include "mpi/agree.h"

double st_split_useful(const struct st_split *split)
{
    return split->elapsed_s - split->halo_s - split->reduction_s;
}

double st_split_share(const struct st_split *split, double part_s)
{
    return split->elapsed_s > 0.0 ? part_s / split->elapsed_s : 0.0;
}

enum st_status st_split_pop(const struct stm_comm *comm, const struct st_split *split,
                            struct st_pop *pop, struct st_error *err)
{
    double sum_s = st_split_useful(split);
    double most_s[2] = {sum_s, split->elapsed_s};

    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, &sum_s, 1, MPI_DOUBLE, MPI_SUM, comm->handle));
    STM_TRY(err,
            MPI_Allreduce(MPI_IN_PLACE, most_s, 2, MPI_DOUBLE, MPI_MAX, comm->handle));
    const struct st_pop_sums sums = {.n_ranks = (double)comm->n_ranks,
                                     .useful_sum_s = sum_s,
                                     .useful_max_s = most_s[0],
                                     .runtime_s = most_s[1]};
    *pop = st_pop_of(&sums);
    return ST_OK;
}
