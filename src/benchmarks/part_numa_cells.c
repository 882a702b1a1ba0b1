/* Planning of NUMA matrices and thread sweeps: from where threads sit to who works when. */
#include "src/benchmarks/part_numa_cells.h"

#include "kernels/stream.h"

#include <string.h>

void st_numa_cells_plan(const struct st_place_info *place, struct st_numa_cells *out)
{
    (void)memset(out, 0, sizeof *out);
    for (size_t i = 0; i < place->n_numa && i < ST_MAX_NUMA; i++) {
        size_t n = 0;
        for (size_t t = 0; place->threads != NULL && t < place->n_threads; t++) {
            n += place->threads[t].numa == i ? 1 : 0;
        }
        if (n > 0) {
            out->n_threads[out->n_rows] = n;
            out->row[out->n_rows++] = i;
        }
        if (place->numa_nodes[i].memory_bytes > 0) {
            out->column[out->n_columns++] = i;
        }
    }
}

size_t st_numa_cells_home(const struct st_numa_cells *cells, size_t row)
{
    size_t j = 0;

    while (j < cells->n_columns && cells->column[j] != cells->row[row]) {
        j++;
    }
    return j;
}

void st_numa_slots(const struct st_place_info *place, size_t numa, size_t n_active,
                   size_t *slot)
{
    size_t next = 0;

    for (size_t t = 0; t < place->n_threads; t++) {
        const bool works = place->threads[t].numa == numa && next < n_active;
        slot[t] = works ? next++ : STK_IDLE;
    }
}

size_t st_thread_counts(size_t n, size_t counts[ST_MAX_COUNTS])
{
    size_t n_counts = 0;

    for (size_t c = 1; c < n && n_counts + 1 < ST_MAX_COUNTS; c *= 2) {
        counts[n_counts++] = c;
    }
    counts[n_counts++] = n;
    return n_counts;
}
