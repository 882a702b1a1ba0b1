/*
 * Distributed CSR matrix: partition, assembly of this rank's rows, product.
 *
 * Assembly goes over the rows twice, each thread over its own part: once to count, once to
 * fill, so that every array has its final size and its pages belong to the thread that will
 * multiply them. The halo pattern follows from the columns that are not own.
 */
#include "src/benchmarks/part_matrix.h"

#include "kernels/vector.h"
#include "mpi/agree.h"
#include "src/measure/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HUGE_PAGE_BYTES = 2 << 20
};

/* Rows of st_matrix.arrays. */
enum {
    A_INTERIOR_START,
    A_INTERIOR_COLUMNS,
    A_INTERIOR_VALUES,
    A_REST_START,
    A_REST_COLUMNS,
    A_REST_VALUES,
    A_REST_ROWS
};

/* What the first sweep finds out about a part, then where the second one puts it. */
struct part {
    size_t n_interior, n_rest, n_rest_rows;
};

/* State of an assembly. */
struct assembly {
    const struct st_row_source *source;
    struct st_matrix *matrix;
    struct part *parts;     /* [n_parts + 1] */
    uint64_t *rest_columns; /* [n_rest] global */
    size_t n_ghosts;
};

enum st_status st_array_map(struct st_error *err, size_t n, size_t size,
                            struct st_mapping *out)
{
    size_t size_bytes = 0;

    if (!st_mul_size(n, size, &size_bytes)) {
        return st_fail(err, ST_ERR_MEMORY, "an array of %zu x %zu bytes is too long", n,
                       size);
    }
    return st_pages_map(err, size_bytes > 0 ? size_bytes : size,
                        size_bytes >= HUGE_PAGE_BYTES ? ST_PAGES_HUGE : ST_PAGES_DEFAULT,
                        out);
}

double st_array_bytes(uint64_t n, size_t size)
{
    const double bytes = (double)n * (double)size;

    return bytes < HUGE_PAGE_BYTES ? bytes
                                   : ceil(bytes / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
}

uint64_t st_partition_start(const struct st_row_source *source, enum st_partition kind,
                            uint64_t first, uint64_t end, size_t n_parts, size_t part)
{
    const bool by_rows = kind == ST_PARTITION_ROWS;
    const uint64_t base = by_rows ? first : source->before(source->context, first);
    const uint64_t total = (by_rows ? end : source->before(source->context, end)) - base;
    /* total * part / n_parts, rounded up, without the product overflowing. */
    const uint64_t target =
        total / n_parts * part + (total % n_parts * part + n_parts - 1) / n_parts;
    uint64_t low = first;
    uint64_t high = end;

    if (part == 0 || part == n_parts) {
        return part == 0 ? first : end;
    }
    if (by_rows) {
        return first + target;
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (source->before(source->context, middle) - base < target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_own(const struct st_matrix *m, uint64_t column)
{
    return column - m->first_row < m->n_rows; /* wraps to a great number if smaller */
}

static void count_part(const struct assembly *a, size_t t)
{
    const struct st_matrix *m = a->matrix;
    struct part sum = {0};
    struct st_row row;

    for (size_t i = m->interior.rows.start[t]; i < m->interior.rows.start[t + 1]; i++) {
        a->source->row(a->source->context, m->first_row + i, &row);
        size_t n_own = 0;
        for (size_t k = 0; k < row.n; k++) {
            n_own += is_own(m, row.columns[k]) ? 1 : 0;
        }
        sum.n_interior += n_own;
        sum.n_rest += row.n - n_own;
        sum.n_rest_rows += row.n > n_own ? 1 : 0;
    }
    a->parts[t] = sum;
}

/* The arrays are const for all who use the matrix; here, at their first touch, not yet. */
static void fill_part(const struct assembly *a, size_t t)
{
    const struct st_matrix *m = a->matrix;
    uint32_t *interior_start = m->arrays[A_INTERIOR_START].base;
    int32_t *interior_columns = m->arrays[A_INTERIOR_COLUMNS].base;
    double *interior_values = m->arrays[A_INTERIOR_VALUES].base;
    uint32_t *rest_start = m->arrays[A_REST_START].base;
    uint32_t *rest_rows = m->arrays[A_REST_ROWS].base;
    double *rest_values = m->arrays[A_REST_VALUES].base;
    struct part at = a->parts[t];
    struct st_row row;

    for (size_t i = m->interior.rows.start[t]; i < m->interior.rows.start[t + 1]; i++) {
        const size_t n_rest_before = at.n_rest;
        a->source->row(a->source->context, m->first_row + i, &row);
        interior_start[i] = (uint32_t)at.n_interior;
        for (size_t k = 0; k < row.n; k++) {
            if (is_own(m, row.columns[k])) {
                interior_columns[at.n_interior] =
                    (int32_t)(row.columns[k] - m->first_row);
                interior_values[at.n_interior++] = row.values[k];
            } else {
                a->rest_columns[at.n_rest] = row.columns[k];
                rest_values[at.n_rest++] = row.values[k];
            }
        }
        if (at.n_rest > n_rest_before) {
            rest_start[at.n_rest_rows] = (uint32_t)n_rest_before;
            rest_rows[at.n_rest_rows++] = (uint32_t)i;
        }
    }
}

static enum st_status check_share(const struct st_matrix *m, uint64_t n_rows,
                                  struct st_error *err)
{
    if (n_rows > STK_CSR_MAX_COLUMNS || m->n_nonzeros > STK_CSR_MAX_NONZEROS) {
        return st_fail(err, ST_ERR_STEP,
                       "%" PRIu64 " rows with %" PRIu64 " nonzeros on one rank exceed "
                       "local 32-bit indices (%" PRIu64 " rows, %" PRIu64
                       " nonzeros): use more ranks",
                       n_rows, m->n_nonzeros, (uint64_t)STK_CSR_MAX_COLUMNS,
                       (uint64_t)STK_CSR_MAX_NONZEROS);
    }
    return ST_OK;
}

static enum st_status split_rows(struct assembly *a, size_t n_parts, struct st_error *err)
{
    struct st_matrix *m = a->matrix;

    m->part_starts = st_calloc(err, 2 * (n_parts + 1), sizeof *m->part_starts);
    a->parts = st_calloc(err, n_parts + 1, sizeof *a->parts);
    if (m->part_starts == NULL || a->parts == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t t = 0; t <= n_parts; t++) {
        m->part_starts[t] =
            (size_t)(st_partition_start(a->source, ST_PARTITION_NONZEROS, m->first_row,
                                        m->first_row + m->n_rows, n_parts, t) -
                     m->first_row);
    }
    m->interior.rows = (struct stk_split){n_parts, m->part_starts};
    m->rest.entries.rows = (struct stk_split){n_parts, m->part_starts + n_parts + 1};
    return ST_OK;
}

/* Counts of the parts to their starts; the sums end up in parts[n_parts]. */
static void add_up_parts(const struct assembly *a)
{
    const size_t n_parts = a->matrix->interior.rows.n_parts;
    size_t *rest_part_start = a->matrix->part_starts + n_parts + 1;
    struct part sum = {0};

    for (size_t t = 0; t <= n_parts; t++) {
        const struct part part = a->parts[t];
        rest_part_start[t] = sum.n_rest_rows;
        a->parts[t] = sum;
        sum.n_interior += part.n_interior;
        sum.n_rest += part.n_rest;
        sum.n_rest_rows += part.n_rest_rows;
    }
}

static enum st_status map_arrays(struct assembly *a, struct st_error *err)
{
    struct st_matrix *m = a->matrix;
    const struct part *sum = &a->parts[m->interior.rows.n_parts];
    const struct {
        size_t row, n, size;
    } wanted[] = {{A_INTERIOR_START, m->n_rows + 1, sizeof(uint32_t)},
                  {A_INTERIOR_COLUMNS, sum->n_interior, sizeof(int32_t)},
                  {A_INTERIOR_VALUES, sum->n_interior, sizeof(double)},
                  {A_REST_START, sum->n_rest_rows + 1, sizeof(uint32_t)},
                  {A_REST_COLUMNS, sum->n_rest, sizeof(int32_t)},
                  {A_REST_VALUES, sum->n_rest, sizeof(double)},
                  {A_REST_ROWS, sum->n_rest_rows, sizeof(uint32_t)}};

    for (size_t i = 0; i < ST_COUNT(wanted); i++) {
        const enum st_status rc =
            st_array_map(err, wanted[i].n, wanted[i].size, &m->arrays[wanted[i].row]);
        if (rc != ST_OK) {
            return rc;
        }
    }
    a->rest_columns = st_calloc(err, sum->n_rest, sizeof *a->rest_columns);
    return a->rest_columns == NULL ? ST_ERR_MEMORY : ST_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* The distinct columns of other ranks, increasing. */
static enum st_status find_ghosts(struct assembly *a, struct st_error *err)
{
    const size_t n = a->parts[a->matrix->interior.rows.n_parts].n_rest;
    uint64_t *sorted = st_calloc(err, n, sizeof *sorted);
    size_t n_ghosts = 0;

    if (sorted == NULL) {
        return ST_ERR_MEMORY;
    }
    if (n > 0) {
        memcpy(sorted, a->rest_columns, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_number);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            sorted[n_ghosts++] = sorted[i];
        }
    }
    uint64_t *ghosts = st_resize(err, sorted, n_ghosts, sizeof *ghosts);
    if (ghosts == NULL) {
        st_free(sorted);
        return ST_ERR_MEMORY;
    }
    a->matrix->ghost_rows = ghosts;
    a->n_ghosts = n_ghosts;
    if (n_ghosts > STK_CSR_MAX_COLUMNS) {
        return st_fail(
            err, ST_ERR_STEP,
            "%zu elements of other ranks exceed local 32-bit indices: use more "
            "ranks",
            n_ghosts);
    }
    return ST_OK;
}

static void number_ghosts(const struct assembly *a, size_t t)
{
    int32_t *columns = a->matrix->arrays[A_REST_COLUMNS].base;

    for (size_t k = a->parts[t].n_rest; k < a->parts[t + 1].n_rest; k++) {
        const uint64_t *found =
            bsearch(&a->rest_columns[k], a->matrix->ghost_rows, a->n_ghosts,
                    sizeof *a->matrix->ghost_rows, by_number);
        columns[k] = (int32_t)(found - a->matrix->ghost_rows);
    }
}

/* Everything up to the halo. Local. */
static enum st_status assemble(struct assembly *a, size_t n_threads, uint64_t n_rows,
                               struct st_error *err)
{
    struct st_matrix *m = a->matrix;
    enum st_status rc = check_share(m, n_rows, err);

    if (rc == ST_OK) {
        m->n_rows = (size_t)n_rows;
        rc = split_rows(a, n_threads, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
#pragma omp parallel for default(none) shared(a, n_threads) schedule(static)
    for (size_t t = 0; t < n_threads; t++) {
        count_part(a, t);
    }
    add_up_parts(a);
    rc = map_arrays(a, err);
    if (rc != ST_OK) {
        return rc;
    }
#pragma omp parallel for default(none) shared(a, n_threads) schedule(static)
    for (size_t t = 0; t < n_threads; t++) {
        fill_part(a, t);
    }
    uint32_t *interior_start = m->arrays[A_INTERIOR_START].base;
    uint32_t *rest_start = m->arrays[A_REST_START].base;
    interior_start[m->n_rows] = (uint32_t)a->parts[n_threads].n_interior;
    rest_start[a->parts[n_threads].n_rest_rows] = (uint32_t)a->parts[n_threads].n_rest;
    m->interior.row_start = interior_start;
    m->interior.columns = m->arrays[A_INTERIOR_COLUMNS].base;
    m->interior.values = m->arrays[A_INTERIOR_VALUES].base;
    m->rest.entries.row_start = rest_start;
    m->rest.entries.columns = m->arrays[A_REST_COLUMNS].base;
    m->rest.entries.values = m->arrays[A_REST_VALUES].base;
    m->rest.rows = m->arrays[A_REST_ROWS].base;
    rc = find_ghosts(a, err);
    if (rc != ST_OK) {
        return rc;
    }
#pragma omp parallel for default(none) shared(a, n_threads) schedule(static)
    for (size_t t = 0; t < n_threads; t++) {
        number_ghosts(a, t);
    }
    return ST_OK;
}

static enum st_status find_balance(const struct stm_comm *comm, struct st_matrix *m,
                                   struct st_error *err)
{
    uint64_t most = 0;

    STM_TRY(err,
            MPI_Allreduce(&m->n_nonzeros, &most, 1, MPI_UINT64_T, MPI_MAX, comm->handle));
    STM_TRY(err, MPI_Allreduce(&m->n_nonzeros, &m->n_all_nonzeros, 1, MPI_UINT64_T,
                               MPI_SUM, comm->handle));
    m->imbalance = m->n_all_nonzeros == 0
                       ? 1.0
                       : (double)most * comm->n_ranks / (double)m->n_all_nonzeros;
    return ST_OK;
}

enum st_status st_matrix_create(const struct stm_comm *comm, size_t n_threads,
                                uint64_t *row_start, const struct st_row_source *source,
                                struct st_matrix **out, struct st_error *err)
{
    struct st_matrix *m = st_calloc(err, 1, sizeof *m);
    struct assembly a = {.source = source, .matrix = m};
    enum st_status rc = ST_ERR_MEMORY;

    if (m != NULL) {
        const uint64_t end = row_start[comm->rank + 1];
        m->row_start = row_start;
        m->first_row = row_start[comm->rank];
        m->n_nonzeros = source->before(source->context, end) -
                        source->before(source->context, m->first_row);
        rc = assemble(&a, n_threads, end - m->first_row, err);
    } else {
        st_free(row_start);
    }
    rc = stm_agree(comm, rc, err);
    if (rc == ST_OK && m != NULL) {
        rc =
            stm_halo_create(comm, m->row_start, a.n_ghosts, m->ghost_rows, &m->halo, err);
    }
    if (rc == ST_OK && m != NULL) {
        rc = find_balance(comm, m, err);
    }
    st_free(a.parts);
    st_free(a.rest_columns);
    if (rc != ST_OK) {
        st_matrix_destroy(&m);
        return rc;
    }
    *out = m;
    return ST_OK;
}

enum st_status st_matrix_keep_originals(const struct stm_comm *comm,
                                        struct st_matrix *matrix, uint64_t *original,
                                        struct st_error *err)
{
    struct stm_halo *halo = matrix->halo;

    matrix->original = original;
    matrix->ghost_original =
        st_calloc(err, halo->n_ghosts, sizeof *matrix->ghost_original);
    enum st_status rc =
        stm_agree(comm, matrix->ghost_original == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc != ST_OK) {
        return rc;
    }
    for (size_t k = 0; k < halo->n_sent; k++) { /* exact: below 2^53 */
        halo->send[k] = (double)original[halo->sent_index[k]];
    }
    rc = stm_halo_start(halo, err);
    if (rc == ST_OK) {
        rc = stm_halo_finish(halo, err);
    }
    for (size_t k = 0; rc == ST_OK && k < halo->n_ghosts; k++) {
        matrix->ghost_original[k] = (uint64_t)halo->ghosts[k];
    }
    return stm_agree(comm, rc, err);
}

uint64_t st_matrix_original(const struct st_matrix *matrix, uint64_t number)
{
    if (matrix->original == NULL) {
        return number;
    }
    if (is_own(matrix, number)) {
        return matrix->original[number - matrix->first_row];
    }
    const uint64_t *found = bsearch(&number, matrix->ghost_rows, matrix->halo->n_ghosts,
                                    sizeof *matrix->ghost_rows, by_number);
    return matrix->ghost_original[found - matrix->ghost_rows];
}

void st_matrix_destroy(struct st_matrix **matrix)
{
    if (matrix == NULL || *matrix == NULL) {
        return;
    }
    struct st_matrix *m = *matrix;
    *matrix = NULL;
    stm_halo_destroy(&m->halo);
    st_free(m->original);
    st_free(m->ghost_original);
    st_matrix_keep(m, ST_STORAGE_CSR);
    for (size_t i = 0; i < ST_COUNT(m->arrays); i++) {
        st_pages_unmap(&m->arrays[i]);
    }
    st_free(m->part_starts);
    st_free(m->ghost_rows);
    st_free(m->row_start);
    st_free(m);
}

enum st_status st_matrix_use_sell(struct st_matrix *matrix, size_t chunk, size_t sigma,
                                  struct st_error *err)
{
    struct st_sell *sell = NULL;
    const enum st_status rc = st_sell_create(&matrix->interior, chunk, sigma, &sell, err);

    if (rc == ST_OK) {
        st_sell_destroy(&matrix->sell);
        matrix->sell = sell;
        matrix->storage = ST_STORAGE_SELL;
    }
    return rc;
}

enum st_status st_matrix_use_bcsr(struct st_matrix *matrix, size_t side,
                                  struct st_error *err)
{
    struct st_bcsr *bcsr = NULL;
    const enum st_status rc =
        st_bcsr_create(&matrix->interior, matrix->first_row, side, &bcsr, err);

    if (rc == ST_OK) {
        st_bcsr_destroy(&matrix->bcsr);
        matrix->bcsr = bcsr;
        matrix->storage = ST_STORAGE_BCSR;
    }
    return rc;
}

void st_matrix_keep(struct st_matrix *matrix, enum st_storage storage)
{
    if (storage != ST_STORAGE_SELL) {
        st_sell_destroy(&matrix->sell);
    }
    if (storage != ST_STORAGE_BCSR) {
        st_bcsr_destroy(&matrix->bcsr);
    }
    matrix->storage = storage;
}

static enum st_status start_halo(struct st_matrix *m, struct st_error *err)
{
    const double start_s = st_now();
    const enum st_status rc = stm_halo_start(m->halo, err);

    m->wait_s += st_now() - start_s;
    return rc;
}

static enum st_status wait_for_halo(struct st_matrix *m, struct st_error *err)
{
    const double start_s = st_now();
    const enum st_status rc = stm_halo_finish(m->halo, err);

    m->wait_s += st_now() - start_s;
    return rc;
}

void st_matrix_multiply_interior(const struct st_matrix *matrix, enum st_storage storage,
                                 const double *x, double *y)
{
    switch (storage) {
    case ST_STORAGE_SELL:
        stk_sell_multiply(&matrix->sell->a, x, y);
        return;
    case ST_STORAGE_BCSR:
        stk_bcsr_multiply(&matrix->bcsr->a, x, y);
        return;
    case ST_STORAGE_CSR:
        stk_csr_multiply(&matrix->interior, x, y);
        return;
    }
}

enum st_status st_matrix_multiply(struct st_matrix *matrix, bool overlap, const double *x,
                                  double *y, struct st_error *err)
{
    struct stm_halo *halo = matrix->halo;

    stk_pack(halo->n_sent, halo->sent_index, x, halo->send);
    enum st_status rc = start_halo(matrix, err);
    if (rc == ST_OK && !overlap) {
        rc = wait_for_halo(matrix, err);
    }
    st_matrix_multiply_interior(matrix, matrix->storage, x, y);
    if (rc == ST_OK && overlap) {
        rc = wait_for_halo(matrix, err);
    }
    if (rc == ST_OK) {
        stk_csr_add_rows(&matrix->rest, halo->ghosts, y);
    }
    return rc;
}

double st_matrix_work_bytes(const struct st_matrix *matrix)
{
    const uint64_t n_interior = matrix->interior.row_start[matrix->n_rows];
    /* The rest is always in CSR; its rows' y are counted with the interior. */
    const double rest =
        stk_work_bytes(&stk_csr_work_per_nonzero, matrix->n_nonzeros - n_interior);

    if (matrix->storage == ST_STORAGE_SELL) {
        return rest + st_sell_work_bytes(matrix->sell);
    }
    if (matrix->storage == ST_STORAGE_BCSR) {
        const struct stk_bcsr *b = &matrix->bcsr->a;
        const size_t n_block_rows = b->first_block_row[b->rows.n_parts];
        const struct st_bcsr_size size = {b->block_start[n_block_rows], n_block_rows};
        return rest + st_bcsr_work_bytes(&size, b->side, matrix->n_rows);
    }
    return rest + stk_work_bytes(&stk_csr_work_per_nonzero, n_interior) +
           stk_work_bytes(&stk_csr_work_per_row, matrix->n_rows);
}

double st_matrix_work_flops(const struct st_matrix *matrix)
{
    return stk_csr_work_per_nonzero.flops * (double)matrix->n_nonzeros;
}

void st_matrix_visit_row(const struct st_matrix *matrix, size_t i,
                         void (*visit)(void *context, uint64_t column, double value),
                         void *context)
{
    const struct stk_csr *in = &matrix->interior;
    const struct stk_csr *rest = &matrix->rest.entries;

    for (size_t k = in->row_start[i]; k < in->row_start[i + 1]; k++) {
        visit(context, matrix->first_row + (uint64_t)in->columns[k], in->values[k]);
    }
    size_t low = 0;
    size_t high = rest->rows.start[rest->rows.n_parts];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (matrix->rest.rows[middle] < i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == rest->rows.start[rest->rows.n_parts] || matrix->rest.rows[low] != i) {
        return;
    }
    for (size_t k = rest->row_start[low]; k < rest->row_start[low + 1]; k++) {
        visit(context, matrix->ghost_rows[rest->columns[k]], rest->values[k]);
    }
}
