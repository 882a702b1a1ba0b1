/*
 * From CSR to SELL-C-sigma: order and chunk lengths first, part by part, then the entries into
 * arrays of their final size, each part by its thread.
 */
#include "src/benchmarks/part_sell.h"

#include "src/benchmarks/part_matrix.h"

/* Rows of st_sell.arrays. */
enum {
    A_CHUNK_START,
    A_ORDER,
    A_COLUMNS,
    A_VALUES
};

static size_t rows_before(const struct stk_csr *csr, size_t part)
{
    return csr->rows.start[part];
}

static enum st_status count_chunks(struct st_sell *s, const struct stk_csr *csr,
                                   struct st_error *err)
{
    const size_t n_parts = csr->rows.n_parts;

    s->first_chunk = st_calloc(err, n_parts + 1, sizeof *s->first_chunk);
    if (s->first_chunk == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t t = 0; t < n_parts; t++) {
        const size_t n_rows = rows_before(csr, t + 1) - rows_before(csr, t);
        s->first_chunk[t + 1] =
            s->first_chunk[t] + (n_rows + s->a.chunk - 1) / s->a.chunk;
    }
    s->a.first_chunk = s->first_chunk;
    return ST_OK;
}

/* Order and, for now, the number of entries of each chunk, one place further on. */
static void order_part(struct st_sell *s, const struct stk_csr *csr, size_t t,
                       size_t sigma, uint64_t *keys)
{
    const size_t first = rows_before(csr, t);
    const size_t end = rows_before(csr, t + 1);
    uint32_t *order = s->arrays[A_ORDER].base;
    uint64_t *chunk_start = s->arrays[A_CHUNK_START].base;

    stk_sell_order(csr->row_start, first, end, sigma, keys, order + first);
    for (size_t c = s->first_chunk[t]; c < s->first_chunk[t + 1]; c++) {
        chunk_start[c + 1] =
            s->a.chunk * stk_sell_chunk_length(csr->row_start, order + first, end - first,
                                               s->a.chunk, c - s->first_chunk[t]);
    }
}

static enum st_status find_order(struct st_sell *s, const struct stk_csr *csr,
                                 size_t sigma, struct st_error *err)
{
    const size_t n_parts = csr->rows.n_parts;
    const size_t n_chunks = s->first_chunk[n_parts];
    size_t longest = 1; /* part */

    for (size_t t = 0; t < n_parts; t++) {
        const size_t n_rows = rows_before(csr, t + 1) - rows_before(csr, t);
        longest = n_rows > longest ? n_rows : longest;
    }
    const size_t window = sigma < longest ? sigma : longest;
    enum st_status rc =
        st_array_map(err, n_chunks + 1, sizeof(uint64_t), &s->arrays[A_CHUNK_START]);
    if (rc == ST_OK) {
        rc = st_array_map(err, rows_before(csr, n_parts), sizeof(uint32_t),
                          &s->arrays[A_ORDER]);
    }
    uint64_t *keys = rc == ST_OK ? st_calloc(err, n_parts * window, sizeof *keys) : NULL;
    if (keys == NULL) {
        return rc == ST_OK ? ST_ERR_MEMORY : rc;
    }
#pragma omp parallel for default(none) shared(s, csr, n_parts, window, keys)             \
    schedule(static)
    for (size_t t = 0; t < n_parts; t++) {
        order_part(s, csr, t, window, keys + t * window);
    }
    st_free(keys);
    uint64_t *chunk_start = s->arrays[A_CHUNK_START].base;
    chunk_start[0] = 0;
    for (size_t c = 0; c < n_chunks; c++) {
        chunk_start[c + 1] += chunk_start[c];
    }
    s->a.chunk_start = chunk_start;
    s->a.order = s->arrays[A_ORDER].base;
    return ST_OK;
}

static void fill_part(struct st_sell *s, const struct stk_csr *csr, size_t t)
{
    const struct stk_sell *a = &s->a;
    int32_t *columns = s->arrays[A_COLUMNS].base;
    double *values = s->arrays[A_VALUES].base;
    const size_t end = rows_before(csr, t + 1);
    size_t first = rows_before(csr, t);

    for (size_t c = s->first_chunk[t]; c < s->first_chunk[t + 1]; c++) {
        const size_t n = end - first < a->chunk ? end - first : a->chunk;
        const uint64_t start = a->chunk_start[c];
        stk_sell_fill_chunk(csr, a->order + first, n, a->chunk,
                            (a->chunk_start[c + 1] - start) / a->chunk, columns + start,
                            values + start);
        first += n;
    }
}

static enum st_status fill(struct st_sell *s, const struct stk_csr *csr,
                           struct st_error *err)
{
    const size_t n_parts = csr->rows.n_parts;
    const uint64_t n_entries = s->a.chunk_start[s->first_chunk[n_parts]];
    const uint64_t n_nonzeros = csr->row_start[rows_before(csr, n_parts)];
    enum st_status rc =
        st_array_map(err, n_entries, sizeof(int32_t), &s->arrays[A_COLUMNS]);

    if (rc == ST_OK) {
        rc = st_array_map(err, n_entries, sizeof(double), &s->arrays[A_VALUES]);
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
    s->fill = n_entries == 0 ? 1.0 : (double)n_nonzeros / (double)n_entries;
    return ST_OK;
}

enum st_status st_sell_create(const struct stk_csr *csr, size_t chunk, size_t sigma,
                              struct st_sell **out, struct st_error *err)
{
    struct st_sell *s = st_calloc(err, 1, sizeof *s);

    if (s == NULL) {
        return ST_ERR_MEMORY;
    }
    s->a.rows = csr->rows;
    s->a.chunk = chunk;
    enum st_status rc = count_chunks(s, csr, err);
    if (rc == ST_OK) {
        rc = find_order(s, csr, sigma, err);
    }
    if (rc == ST_OK) {
        rc = fill(s, csr, err);
    }
    if (rc != ST_OK) {
        st_sell_destroy(&s);
        return rc;
    }
    *out = s;
    return ST_OK;
}

void st_sell_destroy(struct st_sell **sell)
{
    if (sell == NULL || *sell == NULL) {
        return;
    }
    for (size_t i = 0; i < ST_COUNT((*sell)->arrays); i++) {
        st_pages_unmap(&(*sell)->arrays[i]);
    }
    st_free((*sell)->first_chunk);
    st_free(*sell);
    *sell = NULL;
}

double st_sell_work_bytes(const struct st_sell *sell)
{
    const struct stk_sell *a = &sell->a;
    const size_t n_chunks = a->first_chunk[a->rows.n_parts];

    return stk_work_bytes(&stk_sell_work_per_entry, a->chunk_start[n_chunks]) +
           stk_work_bytes(&stk_sell_work_per_row, a->rows.start[a->rows.n_parts]) +
           stk_work_bytes(&stk_sell_work_per_chunk, n_chunks);
}
