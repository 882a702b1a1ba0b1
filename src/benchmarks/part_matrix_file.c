/*
 * Distribution of a Matrix Market file.
 *
 * Rank 0 streams through the file twice: first to count the entries of each row, from which
 * the partition follows, then to send the entries. Both go out as broadcasts of blocks of at
 * most 4 MiB, from which every rank picks its own rows. That moves more bytes than sending
 * each rank its part, but parsing text is slower than any broadcast, nothing has to be
 * buffered per receiver, and no rank can be left waiting: a block that says "failed" ends
 * the loop on all.
 */
#include "src/benchmarks/part_matrix_file.h"

#include "kernels/splitmix.h"
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_matrix_market.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    BLOCK_BYTES = 4 << 20
};

/* An entry on its way, with mirrored ones already added. */
struct sent_entry {
    uint64_t row, column;
    double value;
};

enum {
    BLOCK_ENTRIES = BLOCK_BYTES / sizeof(struct sent_entry)
};

/* Announces a block; n = BLOCK_LAST ends the stream, BLOCK_FAILED too. */
enum {
    BLOCK_LAST = 0,
    BLOCK_FAILED = -1
};

struct reading {
    const struct stm_comm *comm;
    const struct st_file_request *request;
    struct st_file_rows *rows;
    struct st_mm *mm; /* rank 0 */
    uint64_t *before; /* rank 0: [n_all_rows + 1] nonzeros before each row */
    struct sent_entry *block;
    uint64_t *cursor; /* [n_rows] where the row's next entry goes */
    long double probe, probe_scale;
};

/* First pass. */
static enum st_status count_rows(struct reading *r, struct st_error *err)
{
    const struct st_mm_header *h = st_mm_header(r->mm);
    struct st_mm_entry entry;
    struct st_mm_entry mirror;
    bool more = true;

    r->before = st_calloc(err, (size_t)h->n_rows + 1, sizeof *r->before);
    if (r->before == NULL) {
        return ST_ERR_MEMORY;
    }
    for (;;) {
        const enum st_status rc = st_mm_next(r->mm, &entry, &more, err);
        if (rc != ST_OK || !more) {
            return rc;
        }
        r->before[entry.row + 1]++;
        if (st_mm_mirror(h, &entry, &mirror)) {
            r->before[mirror.row + 1]++;
        }
    }
}

static enum st_status check_use(const struct reading *r, struct st_error *err)
{
    const struct st_mm_header *h = st_mm_header(r->mm);

    if (h->field == ST_MM_COMPLEX) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "%s: a complex matrix, read without fault; spmv multiplies real ones",
            r->request->path);
    }
    if (h->n_rows != h->n_columns) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "%s: %" PRIu64 " rows and %" PRIu64
                       " columns; spmv multiplies square matrices",
                       r->request->path, h->n_rows, h->n_columns);
    }
    if (r->before[h->n_rows] == 0) {
        return st_fail(err, ST_ERR_UNSUPPORTED, "%s: a matrix without entries",
                       r->request->path);
    }
    return ST_OK;
}

/* Rank 0's first part: everything that can be wrong with the file is found here. */
static enum st_status survey(struct reading *r, struct st_error *err)
{
    const uint64_t mine = r->request->memory_bytes;
    const uint64_t limit = mine == 0 ? UINT64_MAX : mine;
    uint64_t all = UINT64_MAX;
    enum st_status rc = st_mm_open(r->request->path, &r->mm, err);

    if (mine != 0 && !st_mul_size(mine, (size_t)r->comm->n_ranks, &all)) {
        all = UINT64_MAX;
    }
    if (rc == ST_OK) {
        rc = st_mm_check_memory(r->mm, limit, all, err);
    }
    if (rc == ST_OK) {
        rc = count_rows(r, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    r->rows->n_all_rows = st_mm_header(r->mm)->n_rows;
    for (uint64_t i = 0; i < r->rows->n_all_rows; i++) {
        r->before[i + 1] += r->before[i];
    }
    rc = check_use(r, err);
    return rc == ST_OK ? st_mm_rewind(r->mm, err) : rc;
}

static uint64_t counted_before(const void *context, uint64_t row)
{
    const uint64_t *before = context;

    return before[row];
}

static enum st_status share_partition(struct reading *r, struct st_error *err)
{
    const size_t n_ranks = (size_t)r->comm->n_ranks;
    struct st_file_rows *rows = r->rows;

    STM_TRY(err, MPI_Bcast(&rows->n_all_rows, 1, MPI_UINT64_T, 0, r->comm->handle));
    rows->row_start = st_calloc(err, n_ranks + 1, sizeof *rows->row_start);
    const enum st_status rc =
        stm_agree(r->comm, rows->row_start == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc != ST_OK || rows->row_start == NULL) {
        return rc;
    }
    if (r->comm->rank == 0) {
        const struct st_row_source counts = {r->before, counted_before, NULL};
        for (size_t p = 0; p <= n_ranks; p++) {
            rows->row_start[p] = st_partition_start(&counts, r->request->partition, 0,
                                                    rows->n_all_rows, n_ranks, p);
        }
    }
    return stm_bcast_bytes(r->comm, rows->row_start,
                           (n_ranks + 1) * sizeof *rows->row_start, err);
}

static enum st_status allocate_rows(struct reading *r, struct st_error *err)
{
    struct st_file_rows *rows = r->rows;

    rows->first_row = rows->row_start[r->comm->rank];
    rows->n_rows = (size_t)(rows->row_start[r->comm->rank + 1] - rows->first_row);
    rows->start = st_calloc(err, rows->n_rows + 1, sizeof *rows->start);
    r->cursor = st_calloc(err, rows->n_rows, sizeof *r->cursor);
    r->block = st_calloc(err, BLOCK_ENTRIES, sizeof *r->block);
    return rows->start == NULL || r->cursor == NULL || r->block == NULL ? ST_ERR_MEMORY
                                                                        : ST_OK;
}

/* The running count before each row goes round in blocks; each rank keeps its own rows'. */
static enum st_status share_counts(struct reading *r, struct st_error *err)
{
    const uint64_t n_per_block = BLOCK_BYTES / sizeof(uint64_t);
    struct st_file_rows *rows = r->rows;
    uint64_t *block =
        (uint64_t *)(void *)r->block; /* the entries' block, not yet in use */

    for (uint64_t at = 0; at <= rows->n_all_rows; at += n_per_block) {
        const uint64_t left = rows->n_all_rows + 1 - at;
        const uint64_t n = left < n_per_block ? left : n_per_block;
        if (r->before != NULL) { /* rank 0 */
            memcpy(block, r->before + at, (size_t)n * sizeof *block);
        }
        STM_TRY(err, MPI_Bcast(block, (int)n, MPI_UINT64_T, 0, r->comm->handle));
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t row = at + i;
            if (row >= rows->first_row && row <= rows->first_row + rows->n_rows) {
                rows->start[row - rows->first_row] = block[i];
            }
        }
    }
    const uint64_t base = rows->start[0];
    for (size_t i = 0; i <= rows->n_rows; i++) {
        rows->start[i] -= base;
    }
    if (rows->n_rows > 0) {
        memcpy(r->cursor, rows->start, rows->n_rows * sizeof *r->cursor);
    }
    return ST_OK;
}

static enum st_status allocate_entries(struct reading *r, struct st_error *err)
{
    const size_t n = (size_t)r->rows->start[r->rows->n_rows];

    r->rows->columns = st_calloc(err, n, sizeof *r->rows->columns);
    r->rows->values = st_calloc(err, n, sizeof *r->rows->values);
    return r->rows->columns == NULL || r->rows->values == NULL ? ST_ERR_MEMORY : ST_OK;
}

static void put_in_block(struct reading *r, const struct st_mm_entry *entry, int64_t *n)
{
    const struct st_file_request *q = r->request;
    const long double term = (long double)entry->value *
                             (long double)stk_random_unit(q->seed_w, entry->row) *
                             (long double)stk_random_unit(q->seed_x, entry->column);

    r->block[*n] = (struct sent_entry){entry->row, entry->column, entry->value};
    (*n)++;
    r->probe += term;
    r->probe_scale += fabsl(term);
}

/* Second pass, one block. @return its entries, BLOCK_LAST after the last, or BLOCK_FAILED */
static int64_t fill_block(struct reading *r, struct st_error *err)
{
    const struct st_mm_header *h = st_mm_header(r->mm);
    struct st_mm_entry entry;
    struct st_mm_entry mirror;
    bool more = true;
    int64_t n = 0;

    while (n + 2 <= BLOCK_ENTRIES) {
        if (st_mm_next(r->mm, &entry, &more, err) != ST_OK) {
            return BLOCK_FAILED;
        }
        if (!more) {
            break;
        }
        put_in_block(r, &entry, &n);
        if (st_mm_mirror(h, &entry, &mirror)) {
            put_in_block(r, &mirror, &n);
        }
    }
    return n;
}

static enum st_status changed(const struct reading *r, struct st_error *err)
{
    return st_fail(err, ST_ERR_STEP, "%s: changed while it was read", r->request->path);
}

/* Keep what is this rank's. The file may have changed since it was counted: check room. */
static enum st_status take_block(struct reading *r, int64_t n, struct st_error *err)
{
    struct st_file_rows *rows = r->rows;

    for (int64_t i = 0; i < n; i++) {
        const struct sent_entry *entry = &r->block[i];
        const uint64_t row = entry->row - rows->first_row;
        if (row >= rows->n_rows) {
            continue;
        }
        if (r->cursor[row] == rows->start[row + 1]) {
            return changed(r, err);
        }
        rows->columns[r->cursor[row]] = entry->column;
        rows->values[r->cursor[row]++] = entry->value;
    }
    return ST_OK;
}

static enum st_status check_complete(const struct reading *r, struct st_error *err)
{
    for (size_t i = 0; i < r->rows->n_rows; i++) {
        if (r->cursor[i] != r->rows->start[i + 1]) {
            return changed(r, err);
        }
    }
    return ST_OK;
}

static enum st_status share_entries(struct reading *r, struct st_error *err)
{
    enum st_status mine = ST_OK;

    for (;;) {
        int64_t n = r->comm->rank == 0 ? fill_block(r, err) : 0;
        STM_TRY(err, MPI_Bcast(&n, 1, MPI_INT64_T, 0, r->comm->handle));
        if (n == BLOCK_LAST) {
            return mine == ST_OK ? check_complete(r, err) : mine;
        }
        if (n == BLOCK_FAILED) {
            return r->comm->rank == 0 ? err->code : mine;
        }
        STM_TRY(err, MPI_Bcast(r->block, (int)n * (int)sizeof *r->block, MPI_BYTE, 0,
                               r->comm->handle));
        if (mine == ST_OK) {
            mine = take_block(r, n, err);
        }
    }
}

static void swap_entries(uint64_t *columns, double *values, size_t a, size_t b)
{
    const uint64_t column = columns[a];
    const double value = values[a];

    columns[a] = columns[b];
    values[a] = values[b];
    columns[b] = column;
    values[b] = value;
}

/* Heap sort of a row by column: in place, and n log n for dense rows too. */
static void sort_row(size_t n, uint64_t *columns, double *values)
{
    size_t n_sorted = 1;

    while (n_sorted < n && columns[n_sorted - 1] <= columns[n_sorted]) {
        n_sorted++;
    }
    if (n_sorted >= n) {
        return; /* as most files have them */
    }
    for (size_t root = n / 2, end = n; end > 1;) {
        if (root > 0) {
            root--; /* still building the heap */
        } else {
            swap_entries(columns, values, 0, --end);
        }
        for (size_t at = root, child = 2 * at + 1; child < end; child = 2 * at + 1) {
            if (child + 1 < end && columns[child] < columns[child + 1]) {
                child++;
            }
            if (columns[at] >= columns[child]) {
                break;
            }
            swap_entries(columns, values, at, child);
            at = child;
        }
    }
}

/* Sort each row and add up duplicates; the rows move together. @return duplicates */
static uint64_t tidy_rows(struct st_file_rows *rows)
{
    uint64_t n_kept = 0;
    uint64_t begin = 0;
    const uint64_t n_before = rows->start[rows->n_rows];

    for (size_t i = 0; i < rows->n_rows; i++) {
        const uint64_t end = rows->start[i + 1];
        const uint64_t first_kept = n_kept;
        sort_row((size_t)(end - begin), rows->columns + begin, rows->values + begin);
        for (uint64_t k = begin; k < end; k++) {
            if (n_kept > first_kept && rows->columns[n_kept - 1] == rows->columns[k]) {
                rows->values[n_kept - 1] += rows->values[k];
            } else {
                rows->columns[n_kept] = rows->columns[k];
                rows->values[n_kept++] = rows->values[k];
            }
        }
        begin = end;
        rows->start[i + 1] = n_kept;
    }
    return n_before - n_kept;
}

void st_file_rows_sort(struct st_file_rows *rows)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t begin = (size_t)rows->start[i];
        sort_row((size_t)rows->start[i + 1] - begin, rows->columns + begin,
                 rows->values + begin);
    }
}

static enum st_status finish(struct reading *r, struct st_error *err)
{
    double probe[2] = {(double)r->probe, (double)r->probe_scale};
    uint64_t n_duplicates = tidy_rows(r->rows);

    STM_TRY(err, MPI_Bcast(probe, 2, MPI_DOUBLE, 0, r->comm->handle));
    STM_TRY(err, MPI_Allreduce(&n_duplicates, &r->rows->n_duplicates, 1, MPI_UINT64_T,
                               MPI_SUM, r->comm->handle));
    r->rows->probe = probe[0];
    r->rows->probe_scale = probe[1];
    return ST_OK;
}

/* All steps; every rank enters each or none. */
static enum st_status read_all(struct reading *r, struct st_error *err)
{
    const struct stm_comm *comm = r->comm;
    enum st_status rc = stm_agree(comm, comm->rank == 0 ? survey(r, err) : ST_OK, err);

    if (rc == ST_OK) {
        rc = share_partition(r, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(comm, allocate_rows(r, err), err);
    }
    if (rc == ST_OK) {
        rc = share_counts(r, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(comm, allocate_entries(r, err), err);
    }
    if (rc == ST_OK) {
        rc = share_entries(r, err);
        rc = rc == ST_ERR_MPI ? rc : stm_agree(comm, rc, err);
    }
    return rc == ST_OK ? finish(r, err) : rc;
}

enum st_status st_file_rows_read(const struct stm_comm *comm,
                                 const struct st_file_request *request,
                                 struct st_file_rows **out, struct st_error *err)
{
    struct reading r = {.comm = comm, .request = request};

    r.rows = st_calloc(err, 1, sizeof *r.rows);
    enum st_status rc = stm_agree(comm, r.rows == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc == ST_OK && r.rows != NULL) {
        rc = read_all(&r, err);
    }
    st_mm_close(&r.mm);
    st_free(r.before);
    st_free(r.block);
    st_free(r.cursor);
    if (rc != ST_OK) {
        st_file_rows_destroy(&r.rows);
        return rc;
    }
    *out = r.rows;
    return ST_OK;
}

void st_file_rows_destroy(struct st_file_rows **rows)
{
    if (rows == NULL || *rows == NULL) {
        return;
    }
    st_free((*rows)->row_start);
    st_free((*rows)->start);
    st_free((*rows)->columns);
    st_free((*rows)->values);
    st_free(*rows);
    *rows = NULL;
}

static uint64_t own_before(const void *context, uint64_t row)
{
    const struct st_file_rows *rows = context;

    return rows->start[row - rows->first_row];
}

static void own_row(const void *context, uint64_t row, struct st_row *out)
{
    const struct st_file_rows *rows = context;
    const size_t i = (size_t)(row - rows->first_row);

    out->n = (size_t)(rows->start[i + 1] - rows->start[i]);
    out->columns = rows->columns + rows->start[i];
    out->values = rows->values + rows->start[i];
}

struct st_row_source st_file_rows_source(const struct st_file_rows *rows)
{
    return (struct st_row_source){rows, own_before, own_row};
}
