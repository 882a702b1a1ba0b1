#ifndef ST_BENCHMARKS_PART_MOVE_H
#define ST_BENCHMARKS_PART_MOVE_H

#include "mpi/comm.h"
#include "src/base/status.h"
#include "src/benchmarks/part_matrix.h"
#include "src/benchmarks/part_matrix_file.h"

#include <stdint.h>

/*
 * Rows given to the ranks that PT-SCOTCH chooses, so that few entries couple two ranks: the
 * pattern of A + A' is partitioned, each row weighing its nonzeros; rows go to their part and are
 * numbered anew, in their old order within it. The first rank always gets a row.
 */
struct st_moved_rows {
    struct st_file_rows *rows; /**< by new numbers; owned */
    uint64_t *original;        /**< [rows->n_rows] old numbers; owned, may be taken */
};

/**
 * Collective over @p comm. While it runs a rank holds some 72 bytes an entry.
 * @param source    knows at least this rank's rows
 * @param row_start [n_ranks + 1] first row of each rank now; equal on all
 * @param out       zero-initialised; st_moved_rows_clear() also after a failure
 * @return the same on all ranks; that of st_graph_partition() and stm_shuffle_send()
 */
enum st_status st_rows_move(const struct stm_comm *comm,
                            const struct st_row_source *source, const uint64_t *row_start,
                            struct st_moved_rows *out, struct st_error *err);
/** Local; accepts a zeroed struct. */
void st_moved_rows_clear(struct st_moved_rows *moved);

#endif
