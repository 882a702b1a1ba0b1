/*
 * Moving rows to the parts of a partition. Every step ends with an agreement, or is collective
 * and ends alike on all ranks.
 */
#include "src/benchmarks/part_move.h"

#include "mpi/agree.h"
#include "mpi/halo.h"
#include "mpi/shuffle.h"
#include "src/base/mem.h"
#include "src/graph/partition.h"

#include <stdlib.h>
#include <string.h>

/* A place of the pattern that is known to one rank and wanted by the row's. */
struct place {
    uint64_t row, column;
};

/* On its way to its new rank, by new numbers. */
struct moving_entry {
    uint64_t row, column;
    double value;
};
struct moving_row {
    uint64_t row, original, n_entries;
};

struct moving {
    const struct stm_comm *comm;
    const struct st_row_source *source;
    const uint64_t *row_start;
    uint64_t first;
    size_t n_rows;
    size_t n_entries, n_outside; /* of own rows; in columns of other ranks */
    struct place *received;      /* couplings that other ranks found */
    size_t n_received;
    int64_t *vertex_start, *start, *adjacent; /* the graph */
    int32_t *weight, *part;
    uint64_t *new_start; /* [n_ranks + 1] */
    uint64_t *number;    /* [n_rows] new numbers */
    uint64_t *ghosts;    /* [n_ghosts] columns of other ranks, increasing */
    size_t n_ghosts;
    double *ghost_numbers; /* [n_ghosts] exact: matrices have fewer than 2^53 rows */
};

static bool is_own(const struct moving *m, uint64_t row)
{
    return row - m->first < m->n_rows; /* wraps to a great number if smaller */
}

static int by_number(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static size_t make_unique(size_t n, uint64_t *numbers)
{
    size_t n_kept = 0;

    if (n > 1) {
        qsort(numbers, n, sizeof *numbers, by_number);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || numbers[i] != numbers[n_kept - 1]) {
            numbers[n_kept++] = numbers[i];
        }
    }
    return n_kept;
}

/* Entries in columns of other ranks, which their ranks must know of: the graph is of A + A'. */
static enum st_status list_outside(struct moving *m, struct place **places, int **dest,
                                   struct st_error *err)
{
    const size_t n_ranks = (size_t)m->comm->n_ranks;
    struct st_row row;
    size_t n = 0;

    for (size_t i = 0; i < m->n_rows; i++) {
        m->source->row(m->source->context, m->first + i, &row);
        m->n_entries += row.n;
        for (size_t k = 0; k < row.n; k++) {
            m->n_outside += is_own(m, row.columns[k]) ? 0 : 1;
        }
    }
    *places = st_calloc(err, m->n_outside, sizeof **places);
    *dest = st_calloc(err, m->n_outside, sizeof **dest);
    m->ghosts = st_calloc(err, m->n_outside, sizeof *m->ghosts);
    if (*places == NULL || *dest == NULL || m->ghosts == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < m->n_rows; i++) {
        m->source->row(m->source->context, m->first + i, &row);
        for (size_t k = 0; k < row.n; k++) {
            if (!is_own(m, row.columns[k])) {
                (*places)[n] = (struct place){row.columns[k], m->first + i};
                (*dest)[n] = (int)stm_owner(n_ranks, m->row_start, row.columns[k]);
                m->ghosts[n++] = row.columns[k];
            }
        }
    }
    m->n_ghosts = make_unique(n, m->ghosts);
    return ST_OK;
}

static enum st_status exchange_outside(struct moving *m, struct st_error *err)
{
    struct place *places = NULL;
    int *dest = NULL;
    void *received = NULL;
    enum st_status rc = stm_agree(m->comm, list_outside(m, &places, &dest, err), err);

    if (rc == ST_OK) {
        rc = stm_shuffle_send(m->comm, sizeof *places, m->n_outside, places, dest,
                              &m->n_received, &received, err);
        m->received = received;
    }
    st_free(places);
    st_free(dest);
    return rc;
}

/* One neighbour more: counted at first, stored when there is room. */
static void add_neighbour(struct moving *m, size_t i, uint64_t column)
{
    if (m->adjacent != NULL) {
        m->adjacent[m->start[i]] = (int64_t)column;
    }
    m->start[i]++;
}

static void visit_pattern(struct moving *m)
{
    struct st_row row;

    for (size_t i = 0; i < m->n_rows; i++) {
        m->source->row(m->source->context, m->first + i, &row);
        for (size_t k = 0; k < row.n; k++) {
            if (row.columns[k] == m->first + i) {
                continue;
            }
            add_neighbour(m, i, row.columns[k]);
            if (is_own(m, row.columns[k])) {
                add_neighbour(m, (size_t)(row.columns[k] - m->first), m->first + i);
            }
        }
    }
    for (size_t k = 0; k < m->n_received; k++) {
        add_neighbour(m, (size_t)(m->received[k].row - m->first), m->received[k].column);
    }
}

/* start[i] is the end of row i's list: sort each, drop what is there twice, shift together. */
static void squeeze(struct moving *m)
{
    int64_t begin = 0;
    int64_t n_kept = 0;

    for (size_t i = 0; i < m->n_rows; i++) {
        uint64_t *list = (uint64_t *)(void *)(m->adjacent + begin);
        const int64_t end = m->start[i];
        const size_t n = make_unique((size_t)(end - begin), list);
        memmove(m->adjacent + n_kept, list, n * sizeof *list);
        m->start[i] = n_kept;
        n_kept += (int64_t)n;
        begin = end;
    }
    m->start[m->n_rows] = n_kept;
}

static enum st_status make_graph(struct moving *m, struct st_error *err)
{
    const size_t n_ranks = (size_t)m->comm->n_ranks;
    struct st_row row;
    int64_t n = 0;

    m->start = st_calloc(err, m->n_rows + 1, sizeof *m->start);
    m->vertex_start = st_calloc(err, n_ranks + 1, sizeof *m->vertex_start);
    m->weight = st_calloc(err, m->n_rows, sizeof *m->weight);
    m->part = st_calloc(err, m->n_rows, sizeof *m->part);
    if (m->start == NULL || m->vertex_start == NULL || m->weight == NULL ||
        m->part == NULL) {
        return ST_ERR_MEMORY;
    }
    visit_pattern(m);
    for (size_t i = 0; i < m->n_rows; i++) {
        const int64_t count = m->start[i];
        m->start[i] = n;
        n += count;
        m->source->row(m->source->context, m->first + i, &row);
        m->weight[i] = row.n < 1 ? 1 : row.n < INT32_MAX ? (int32_t)row.n : INT32_MAX;
    }
    m->adjacent = st_calloc(err, (size_t)n, sizeof *m->adjacent);
    if (m->adjacent == NULL) {
        return ST_ERR_MEMORY;
    }
    visit_pattern(m);
    squeeze(m);
    for (size_t r = 0; r <= n_ranks; r++) {
        m->vertex_start[r] = (int64_t)m->row_start[r];
    }
    return ST_OK;
}

static enum st_status choose_parts(struct moving *m, struct st_error *err)
{
    enum st_status rc = stm_agree(m->comm, make_graph(m, err), err);

    if (rc == ST_OK) {
        const struct st_graph graph = {.vertex_start = m->vertex_start,
                                       .start = m->start,
                                       .adjacent = m->adjacent,
                                       .weight = m->weight};
        rc = st_graph_partition(m->comm, &graph, m->comm->n_ranks, m->part, NULL, err);
    }
    return rc;
}

/* Rows of each part: those of ranks before this one, and of all. An empty first part changes
 * places with the first that is not. */
static enum st_status count_parts(struct moving *m, int64_t *before, int64_t *all,
                                  struct st_error *err)
{
    const int n_ranks = m->comm->n_ranks;
    int full = 0;

    for (size_t i = 0; i < m->n_rows; i++) {
        before[m->part[i]]++;
    }
    STM_TRY(err,
            MPI_Allreduce(before, all, n_ranks, MPI_INT64_T, MPI_SUM, m->comm->handle));
    while (full < n_ranks - 1 && all[full] == 0) {
        full++;
    }
    const int64_t counts[2] = {before[0], all[0]};
    before[0] = before[full];
    before[full] = counts[0];
    all[0] = all[full];
    all[full] = counts[1];
    for (size_t i = 0; i < m->n_rows; i++) {
        m->part[i] = m->part[i] == full ? 0 : m->part[i] == 0 ? full : m->part[i];
    }
    STM_TRY(err, MPI_Exscan(MPI_IN_PLACE, before, n_ranks, MPI_INT64_T, MPI_SUM,
                            m->comm->handle));
    if (m->comm->rank == 0) { /* undefined there by the standard */
        memset(before, 0, (size_t)n_ranks * sizeof *before);
    }
    return ST_OK;
}

static enum st_status allocate_numbers(struct moving *m, int64_t **counts,
                                       struct st_error *err)
{
    const size_t n_ranks = (size_t)m->comm->n_ranks;

    *counts = st_calloc(err, 2 * n_ranks, sizeof **counts);
    m->new_start = st_calloc(err, n_ranks + 1, sizeof *m->new_start);
    m->number = st_calloc(err, m->n_rows, sizeof *m->number);
    m->ghost_numbers = st_calloc(err, m->n_ghosts, sizeof *m->ghost_numbers);
    return *counts == NULL || m->new_start == NULL || m->number == NULL ||
                   m->ghost_numbers == NULL
               ? ST_ERR_MEMORY
               : ST_OK;
}

/* New numbers of own rows. */
static enum st_status number_rows(struct moving *m, struct st_error *err)
{
    const size_t n_ranks = (size_t)m->comm->n_ranks;
    int64_t *counts = NULL; /* before and all of count_parts() */
    enum st_status rc = stm_agree(m->comm, allocate_numbers(m, &counts, err), err);

    if (rc == ST_OK) {
        rc = count_parts(m, counts, counts + n_ranks, err);
    }
    for (size_t r = 0; rc == ST_OK && r < n_ranks; r++) {
        m->new_start[r + 1] = m->new_start[r] + (uint64_t)counts[n_ranks + r];
    }
    for (size_t i = 0; rc == ST_OK && i < m->n_rows; i++) {
        m->number[i] = m->new_start[m->part[i]] + (uint64_t)counts[m->part[i]]++;
    }
    st_free(counts);
    return rc;
}

/* And of the columns of other ranks. */
static enum st_status number_ghosts(struct moving *m, struct st_error *err)
{
    struct stm_halo *halo = NULL;
    enum st_status rc =
        stm_halo_create(m->comm, m->row_start, m->n_ghosts, m->ghosts, &halo, err);

    if (rc != ST_OK) {
        return rc;
    }
    for (size_t k = 0; k < halo->n_sent; k++) {
        halo->send[k] = (double)m->number[halo->sent_index[k]];
    }
    rc = stm_halo_start(halo, err);
    if (rc == ST_OK) {
        rc = stm_halo_finish(halo, err);
    }
    if (rc == ST_OK && m->n_ghosts > 0) {
        memcpy(m->ghost_numbers, halo->ghosts, m->n_ghosts * sizeof *m->ghost_numbers);
    }
    stm_halo_destroy(&halo);
    return stm_agree(m->comm, rc, err);
}

static uint64_t new_number(const struct moving *m, uint64_t column)
{
    if (is_own(m, column)) {
        return m->number[column - m->first];
    }
    const uint64_t *found =
        bsearch(&column, m->ghosts, m->n_ghosts, sizeof *m->ghosts, by_number);
    return (uint64_t)m->ghost_numbers[found - m->ghosts];
}

/* What leaves this rank, and for where. */
struct parcels {
    struct moving_row *rows;
    struct moving_entry *entries;
    int *row_dest, *entry_dest;
};

static enum st_status pack(const struct moving *m, struct parcels *p,
                           struct st_error *err)
{
    struct st_row row;
    size_t n = 0;

    p->rows = st_calloc(err, m->n_rows, sizeof *p->rows);
    p->row_dest = st_calloc(err, m->n_rows, sizeof *p->row_dest);
    p->entries = st_calloc(err, m->n_entries, sizeof *p->entries);
    p->entry_dest = st_calloc(err, m->n_entries, sizeof *p->entry_dest);
    if (p->rows == NULL || p->row_dest == NULL || p->entries == NULL ||
        p->entry_dest == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < m->n_rows; i++) {
        m->source->row(m->source->context, m->first + i, &row);
        p->rows[i] = (struct moving_row){m->number[i], m->first + i, row.n};
        p->row_dest[i] = m->part[i];
        for (size_t k = 0; k < row.n; k++) {
            p->entries[n] = (struct moving_entry){
                m->number[i], new_number(m, row.columns[k]), row.values[k]};
            p->entry_dest[n++] = m->part[i];
        }
    }
    return ST_OK;
}

/* Rows and entries came in the same order: by rank of the sender, then row by row. */
static enum st_status unpack(struct moving *m, size_t n_rows,
                             const struct moving_row *rows, size_t n_entries,
                             const struct moving_entry *entries,
                             struct st_moved_rows *out, struct st_error *err)
{
    struct st_file_rows *to = st_calloc(err, 1, sizeof *to);

    out->rows = to;
    out->original = st_calloc(err, n_rows, sizeof *out->original);
    if (to == NULL || out->original == NULL) {
        return ST_ERR_MEMORY;
    }
    to->start = st_calloc(err, n_rows + 1, sizeof *to->start);
    to->columns = st_calloc(err, n_entries, sizeof *to->columns);
    to->values = st_calloc(err, n_entries, sizeof *to->values);
    if (to->start == NULL || to->columns == NULL || to->values == NULL) {
        return ST_ERR_MEMORY;
    }
    to->row_start = m->new_start;
    m->new_start = NULL;
    to->n_all_rows = to->row_start[m->comm->n_ranks];
    to->first_row = to->row_start[m->comm->rank];
    to->n_rows = n_rows;
    for (size_t i = 0; i < n_rows; i++) {
        const size_t at = (size_t)(rows[i].row - to->first_row);
        out->original[at] = rows[i].original;
        to->start[at + 1] = rows[i].n_entries;
    }
    for (size_t i = 0; i < n_rows; i++) {
        to->start[i + 1] += to->start[i];
    }
    for (size_t i = 0, k = 0; i < n_rows; i++) {
        const size_t first = (size_t)to->start[rows[i].row - to->first_row];
        for (size_t j = 0; j < rows[i].n_entries; j++, k++) {
            to->columns[first + j] = entries[k].column;
            to->values[first + j] = entries[k].value;
        }
    }
    st_file_rows_sort(to);
    return ST_OK;
}

static enum st_status send_rows(struct moving *m, struct st_moved_rows *out,
                                struct st_error *err)
{
    struct parcels p = {.rows = NULL};
    void *rows = NULL;
    void *entries = NULL;
    size_t n_rows = 0;
    size_t n_entries = 0;
    enum st_status rc = stm_agree(m->comm, pack(m, &p, err), err);

    if (rc == ST_OK) {
        rc = stm_shuffle_send(m->comm, sizeof *p.rows, m->n_rows, p.rows, p.row_dest,
                              &n_rows, &rows, err);
    }
    if (rc == ST_OK) {
        rc = stm_shuffle_send(m->comm, sizeof *p.entries, m->n_entries, p.entries,
                              p.entry_dest, &n_entries, &entries, err);
    }
    st_free(p.rows);
    st_free(p.row_dest);
    st_free(p.entries);
    st_free(p.entry_dest);
    if (rc == ST_OK) {
        rc = stm_agree(m->comm, unpack(m, n_rows, rows, n_entries, entries, out, err),
                       err);
    }
    st_free(rows);
    st_free(entries);
    return rc;
}

enum st_status st_rows_move(const struct stm_comm *comm,
                            const struct st_row_source *source, const uint64_t *row_start,
                            struct st_moved_rows *out, struct st_error *err)
{
    const uint64_t first = row_start[comm->rank];
    struct moving m = {.comm = comm,
                       .source = source,
                       .row_start = row_start,
                       .first = first,
                       .n_rows = (size_t)(row_start[comm->rank + 1] - first)};
    enum st_status (*const steps[])(struct moving *, struct st_error *) = {
        exchange_outside, choose_parts, number_rows, number_ghosts};
    enum st_status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < ST_COUNT(steps); i++) {
        rc = steps[i](&m, err);
    }
    st_free(m.received);
    st_free(m.vertex_start);
    st_free(m.start);
    st_free(m.adjacent);
    st_free(m.weight);
    if (rc == ST_OK) {
        rc = send_rows(&m, out, err);
    }
    st_free(m.part);
    st_free(m.new_start);
    st_free(m.number);
    st_free(m.ghosts);
    st_free(m.ghost_numbers);
    return rc;
}

void st_moved_rows_clear(struct st_moved_rows *moved)
{
    st_file_rows_destroy(&moved->rows);
    st_free(moved->original);
    moved->original = NULL;
}
