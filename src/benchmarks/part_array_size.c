/* The size rule of METHODS 1.2 without its 10 ms: the harness's inner count sees to these. */
#include "src/benchmarks/part_array_size.h"

#define MIB ((uint64_t)1 << 20)

const double st_array_memory_share = 0.6;      /* METHODS 1.2 */
const uint64_t st_array_grain_bytes = 2 * MIB; /* METHODS 1.2 */
static const uint64_t floor_bytes = 256 * MIB; /* METHODS 1.2 */

uint64_t st_array_cache_rule(uint64_t llc_bytes)
{
    return llc_bytes > UINT64_MAX / 4 ? UINT64_MAX : 4 * llc_bytes;
}

uint64_t st_array_auto_bytes(uint64_t llc_bytes, uint64_t memory_bytes, size_t n_threads,
                             size_t n_arrays)
{
    const uint64_t threads = n_threads > 0 ? n_threads : 1;
    const uint64_t grain = st_array_grain_bytes;
    const uint64_t rule = st_array_cache_rule(llc_bytes);
    const uint64_t want = rule > floor_bytes ? rule : floor_bytes;
    const double share = st_array_memory_share * (double)memory_bytes;
    const uint64_t most = memory_bytes == 0 ? UINT64_MAX : (uint64_t)share / n_arrays;

    if (want <= most && most - want >= grain * threads) {
        const uint64_t grains = want / threads / grain + 1;
        /* Exactly at a multiple nothing is rounded up. */
        return want % (threads * grain) == 0 ? want : grains * grain * threads;
    }
    const uint64_t fits = most / threads / grain * grain * threads;
    return fits > 0 ? fits : most / 4096 * 4096;
}

enum st_status st_array_node_sums(struct st_run *run, struct st_array_node *out)
{
    const uint64_t mine[2] = {run->place->n_threads, run->place->memory_bytes};
    uint64_t before[2] = {0, 0};
    uint64_t all[2] = {0, 0};
    struct stm_comm node;

    enum st_status rc = stm_comm_split(&run->comm, (int)run->place->node, run->comm.rank,
                                       &node, &run->err);
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(&run->err, MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, node.handle));
    STM_TRY(&run->err, MPI_Exscan(mine, before, 2, MPI_UINT64_T, MPI_SUM, node.handle));
    out->n_threads = all[0];
    out->memory_bytes = all[1];
    out->first_thread =
        node.rank > 0 ? before[0] : 0; /* Exscan leaves rank 0's undefined */
    stm_comm_free(&node);
    return ST_OK;
}
