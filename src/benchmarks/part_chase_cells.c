/*
 * The cells of a group. Every rank tells the others on which NUMA nodes it has threads and
 * which have memory, as bit masks; then each makes the same list, as st_set_places() wants it.
 */
#include "src/benchmarks/part_chase_cells.h"

#include "mpi/comm.h"
#include "src/base/mem.h"

#include <stdint.h>

enum {
    MOST_NUMA = 256,
    NUMA_WORDS = MOST_NUMA / 64
};

/* What each rank tells the others of its NUMA nodes. */
struct numa_masks {
    uint64_t node;             /* of the group */
    uint64_t cpus[NUMA_WORDS]; /* nodes with a thread of this rank */
    uint64_t memory[NUMA_WORDS];
};

static bool bit(const uint64_t *words, size_t i)
{
    return (words[i / 64] >> (i % 64) & 1U) != 0;
}

static void tell(const struct st_place_info *place, struct numa_masks *out)
{
    *out = (struct numa_masks){.node = place->node};
    for (size_t i = 0; i < place->n_numa && i < MOST_NUMA; i++) {
        out->memory[i / 64] |= (uint64_t)(place->numa_nodes[i].memory_bytes > 0)
                               << (i % 64);
    }
    for (size_t t = 0; t < place->n_threads; t++) {
        const size_t i = place->threads[t].numa;
        if (i < MOST_NUMA) {
            out->cpus[i / 64] |= (uint64_t)1 << (i % 64);
        }
    }
}

/* A CPU node that several ranks sit on belongs to the first of them. */
static void divide(size_t n, struct numa_masks *all)
{
    for (size_t r = 1; r < n; r++) {
        for (size_t before = 0; before < r; before++) {
            for (size_t w = 0; all[before].node == all[r].node && w < NUMA_WORDS; w++) {
                all[r].cpus[w] &= ~all[before].cpus[w];
            }
        }
    }
}

/* First thread of this rank on CPU node @p numa. */
static size_t thread_on(const struct st_place_info *place, size_t numa)
{
    size_t t = 0;

    while (t + 1 < place->n_threads && place->threads[t].numa != numa) {
        t++;
    }
    return t;
}

/* The group's cells while they are listed. */
struct cell_list {
    bool with_local;
    size_t n;
    struct st_place *places; /* NULL: only count */
    size_t n_mine;
    struct st_chase_cell *mine; /* NULL likewise */
};

static void add_cell(struct cell_list *list, const struct st_run *run, size_t rank,
                     size_t i, size_t j)
{
    const bool is_mine = rank == (size_t)run->comm.rank;

    if (list->places != NULL) {
        list->places[list->n] = (struct st_place){.owner = rank, .a = i, .b = j};
        if (is_mine) {
            list->mine[list->n_mine] =
                (struct st_chase_cell){list->n, thread_on(run->place, i), j};
        }
    }
    list->n_mine += is_mine ? 1 : 0;
    list->n++;
}

/* In order of ranks, CPU nodes and memory nodes. */
static void list_cells(struct cell_list *list, const struct st_run *run,
                       const struct numa_masks *all)
{
    list->n = 0;
    list->n_mine = 0;
    for (size_t r = 0; r < (size_t)run->comm.n_ranks; r++) {
        for (size_t i = 0; i < MOST_NUMA; i++) {
            for (size_t j = 0; bit(all[r].cpus, i) && j < MOST_NUMA; j++) {
                if (bit(all[r].memory, j) && (list->with_local || i != j)) {
                    add_cell(list, run, r, i, j);
                }
            }
        }
    }
}

static enum st_status declare(struct cell_list *list, struct st_run *run,
                              const struct numa_masks *all)
{
    list_cells(list, run, all);
    if (list->n == 0) { /* equal on all ranks */
        return st_fail(&run->err, ST_ERR_UNSUPPORTED,
                       "%s: no memory node is remote from the CPUs of this step",
                       run->bench->name);
    }
    list->places = st_calloc(&run->err, list->n, sizeof *list->places);
    list->mine = st_calloc(&run->err, list->n_mine, sizeof *list->mine);
    if (list->places == NULL || list->mine == NULL) {
        return run->err.code;
    }
    list_cells(list, run, all);
    return st_set_places(run, ST_NUMA, list->n, list->places);
}

enum st_status st_chase_cells_create(struct st_run *run, bool with_local, size_t *n,
                                     struct st_chase_cell **cells)
{
    const struct st_place_info *place = run->place;
    const size_t n_ranks = (size_t)run->comm.n_ranks;
    struct numa_masks mine = {0};
    const bool known = place->n_numa > 1 && place->n_numa <= MOST_NUMA &&
                       place->numa_nodes != NULL && place->threads != NULL;
    int all_know = 0;

    STM_TRY(&run->err, MPI_Allreduce(&(int){known ? 1 : 0}, &all_know, 1, MPI_INT,
                                     MPI_MIN, run->comm.handle));
    if (all_know == 0) {
        return st_fail(&run->err, ST_ERR_UNSUPPORTED,
                       "%s: cells other than local need two NUMA nodes on each node, "
                       "this one has %zu",
                       run->bench->name, place->n_numa > 0 ? place->n_numa : (size_t)1);
    }
    struct numa_masks *all = st_calloc(&run->err, n_ranks, sizeof *all);
    const enum st_status allocated = all == NULL ? run->err.code : ST_OK;
    int all_fine = 0;
    STM_TRY(&run->err, MPI_Allreduce(&(int){allocated == ST_OK ? 1 : 0}, &all_fine, 1,
                                     MPI_INT, MPI_MIN, run->comm.handle));
    if (all_fine == 0) {
        st_free(all);
        return allocated; /* the failing rank's error becomes everybody's */
    }
    tell(place, &mine);
    STM_TRY(&run->err, MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine,
                                     MPI_BYTE, run->comm.handle));
    divide(n_ranks, all);
    struct cell_list list = {.with_local = with_local};
    const enum st_status rc = declare(&list, run, all);
    st_free(list.places);
    st_free(all);
    *n = list.mine != NULL ? list.n_mine : 0;
    *cells = list.mine;
    return rc;
}
