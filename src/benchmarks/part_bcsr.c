/*
 * From CSR to BCSR: blocks are counted part by part first, then filled into arrays of their
 * final size, each part by its thread.
 */
#include "src/benchmarks/part_bcsr.h"

#include "src/benchmarks/part_matrix.h"

/* Rows of st_bcsr.arrays. */
enum {
    A_BLOCK_START,
    A_COLUMNS,
    A_VALUES
};

/* What is done with each block row of a part. */
struct walk {
    const struct stk_csr *csr;
    size_t side, shift;
    uint32_t *
        block_start; /* [n_block_rows + 1] counts are put one place further on; or NULL */
};

static struct st_bcsr_size count_part(const struct walk *w, size_t t, size_t block_row)
{
    const size_t end = w->csr->rows.start[t + 1];
    struct st_bcsr_size size = {0};

    for (size_t row = w->csr->rows.start[t]; row < end;) {
        const size_t n = stk_bcsr_height(w->side, w->shift, row, end);
        const size_t n_blocks = stk_bcsr_count(w->csr, w->side, row, n);
        if (w->block_start != NULL) {
            w->block_start[block_row + size.n_block_rows + 1] = (uint32_t)n_blocks;
        }
        size.n_blocks += n_blocks;
        size.n_block_rows++;
        row += n;
    }
    return size;
}

struct st_bcsr_size st_bcsr_count(const struct stk_csr *csr, uint64_t first_row,
                                  size_t side)
{
    const struct walk walk = {csr, side, (size_t)(first_row % side), NULL};
    const size_t n_parts = csr->rows.n_parts;
    uint64_t n_blocks = 0;
    uint64_t n_block_rows = 0;

#pragma omp parallel for default(none) shared(walk, n_parts) schedule(static)            \
    reduction(+ : n_blocks, n_block_rows)
    for (size_t t = 0; t < n_parts; t++) {
        const struct st_bcsr_size part = count_part(&walk, t, 0);
        n_blocks += part.n_blocks;
        n_block_rows += part.n_block_rows;
    }
    return (struct st_bcsr_size){n_blocks, n_block_rows};
}

double st_bcsr_work_bytes(const struct st_bcsr_size *size, size_t side, uint64_t n_rows)
{
    return stk_work_bytes(&stk_bcsr_work_per_value, size->n_blocks * side * side) +
           stk_work_bytes(&stk_bcsr_work_per_block, size->n_blocks) +
           stk_work_bytes(&stk_bcsr_work_per_block_row, size->n_block_rows) +
           stk_work_bytes(&stk_bcsr_work_per_row, n_rows);
}

/* Block rows of each part. */
static enum st_status split_block_rows(struct st_bcsr *s, struct st_error *err)
{
    const struct stk_split *rows = &s->a.rows;

    s->first_block_row = st_calloc(err, rows->n_parts + 1, sizeof *s->first_block_row);
    if (s->first_block_row == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t t = 0; t < rows->n_parts; t++) {
        const size_t end = rows->start[t + 1];
        size_t n = 0;
        if (rows->start[t] < end) {
            const size_t head =
                stk_bcsr_height(s->a.side, s->a.shift, rows->start[t], end);
            n = 1 + (end - rows->start[t] - head + s->a.side - 1) / s->a.side;
        }
        s->first_block_row[t + 1] = s->first_block_row[t] + n;
    }
    s->a.first_block_row = s->first_block_row;
    return ST_OK;
}

static enum st_status count_blocks(struct st_bcsr *s, const struct stk_csr *csr,
                                   struct st_error *err)
{
    const size_t n_parts = csr->rows.n_parts;
    const size_t n_block_rows = s->first_block_row[n_parts];
    const enum st_status rc =
        st_array_map(err, n_block_rows + 1, sizeof(uint32_t), &s->arrays[A_BLOCK_START]);

    if (rc != ST_OK) {
        return rc;
    }
    uint32_t *block_start = s->arrays[A_BLOCK_START].base;
    const struct walk walk = {csr, s->a.side, s->a.shift, block_start};
#pragma omp parallel for default(none) shared(s, walk, n_parts) schedule(static)
    for (size_t t = 0; t < n_parts; t++) {
        (void)count_part(&walk, t, s->first_block_row[t]);
    }
    block_start[0] = 0;
    for (size_t b = 0; b < n_block_rows; b++) {
        block_start[b + 1] += block_start[b];
    }
    s->a.block_start = block_start;
    return ST_OK;
}

static void fill_part(struct st_bcsr *s, const struct stk_csr *csr, size_t t)
{
    const struct stk_bcsr *a = &s->a;
    const size_t n_columns = csr->rows.start[csr->rows.n_parts];
    const size_t end = csr->rows.start[t + 1];
    int32_t *columns = s->arrays[A_COLUMNS].base;
    double *values = s->arrays[A_VALUES].base;
    size_t b = s->first_block_row[t];

    for (size_t row = csr->rows.start[t]; row < end; b++) {
        const size_t n = stk_bcsr_height(a->side, a->shift, row, end);
        const size_t at = a->block_start[b];
        stk_bcsr_fill(csr, a->side, n_columns, row, n, columns + at,
                      values + at * a->side * a->side);
        row += n;
    }
}

static enum st_status fill(struct st_bcsr *s, const struct stk_csr *csr,
                           struct st_error *err)
{
    const size_t n_parts = csr->rows.n_parts;
    const size_t n_blocks = s->a.block_start[s->first_block_row[n_parts]];
    const size_t n_values = n_blocks * s->a.side * s->a.side;
    const uint64_t n_nonzeros = csr->row_start[csr->rows.start[n_parts]];
    enum st_status rc =
        st_array_map(err, n_blocks, sizeof(int32_t), &s->arrays[A_COLUMNS]);

    if (rc == ST_OK) {
        rc = st_array_map(err, n_values + 1, sizeof(double), &s->arrays[A_VALUES]);
    }
    if (rc != ST_OK) {
        return rc;
    }
#pragma omp parallel for default(none) shared(s, csr, n_parts) schedule(static)
    for (size_t t = 0; t < n_parts; t++) {
        fill_part(s, csr, t);
    }
    s->a.columns = s->arrays[A_COLUMNS].base;
    s->a.values = s->arrays[A_VALUES].base;
    s->fill = n_values == 0 ? 1.0 : (double)n_nonzeros / (double)n_values;
    return ST_OK;
}

enum st_status st_bcsr_create(const struct stk_csr *csr, uint64_t first_row, size_t side,
                              struct st_bcsr **out, struct st_error *err)
{
    const size_t n_rows = csr->rows.start[csr->rows.n_parts];

    if (n_rows > 0 && n_rows < side) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "blocks of %zu x %zu need at least %zu rows on every rank; here "
                       "are %zu: use fewer ranks or another format",
                       side, side, side, n_rows);
    }
    struct st_bcsr *s = st_calloc(err, 1, sizeof *s);
    if (s == NULL) {
        return ST_ERR_MEMORY;
    }
    s->a.rows = csr->rows;
    s->a.side = side;
    s->a.shift = (size_t)(first_row % side);
    enum st_status rc = split_block_rows(s, err);
    if (rc == ST_OK) {
        rc = count_blocks(s, csr, err);
    }
    if (rc == ST_OK) {
        rc = fill(s, csr, err);
    }
    if (rc != ST_OK) {
        st_bcsr_destroy(&s);
        return rc;
    }
    *out = s;
    return ST_OK;
}

void st_bcsr_destroy(struct st_bcsr **bcsr)
{
    if (bcsr == NULL || *bcsr == NULL) {
        return;
    }
    for (size_t i = 0; i < ST_COUNT((*bcsr)->arrays); i++) {
        st_pages_unmap(&(*bcsr)->arrays[i]);
    }
    st_free((*bcsr)->first_block_row);
    st_free(*bcsr);
    *bcsr = NULL;
}
