/*
 * The matrix a benchmark asks for: what it will need, and its making.
 */
#include "src/benchmarks/part_problem.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/benchmarks/part_matrix_file.h"
#include "src/benchmarks/part_move.h"
#include "src/benchmarks/part_multigrid.h"
#include "src/graph/partition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *const st_problem_names[] = {"box7", "box27", "file", NULL};
const char *const st_problem_partitions[] = {"nonzeros", "rows", "scotch", NULL};
const char *const st_problem_scopes[] = {"per_rank", "total", NULL};

struct st_box st_problem_box(const struct st_problem *problem, size_t n_ranks)
{
    const uint64_t factor = problem->scope == ST_SCOPE_PER_RANK ? n_ranks : 1;

    return (struct st_box){{problem->n[0], problem->n[1], problem->n[2] * factor},
                           problem->kind == ST_PROBLEM_BOX27};
}

/*
 * Rows of the box in blocks. A block row reaches side + 2 columns along its own line, which two
 * blocks cover, on 9 lines (27 points); or on one, and side on four (7 points), where one does.
 * Block rows that run over a line's end need as many again. The least traffic: 2 x 2.
 */
static double block_bytes(const struct st_problem *p, const struct st_box_share *share)
{
    const uint64_t side = p->side > 0 ? p->side : STK_BCSR_LEAST_SIDE;
    const uint64_t n_broken = p->n[0] % side > 0 ? share->n_rows / p->n[0] : 0;
    const uint64_t n_block_rows = share->n_rows / side + n_broken;
    const uint64_t n_blocks = n_block_rows * (p->kind == ST_PROBLEM_BOX27 ? 18 : 6);

    return st_array_bytes(n_blocks * side * side, sizeof(double)) +
           st_array_bytes(n_blocks, sizeof(int32_t)) +
           st_array_bytes(n_block_rows, sizeof(uint32_t));
}

/*
 * Peak bytes of a rank: interior and rest in CSR, the vectors; while the
 * pattern is found, three 8-byte copies of the rest's columns (one of them qsort()'s);
 * ghosts with their numbers, and as many elements to send; the partition.
 */
static double share_bytes(const struct st_problem *p, const struct st_box_share *share,
                          uint64_t n_ranks)
{
    const uint64_t n_interior = share->n_nonzeros - share->n_rest;
    double bytes = st_array_bytes(share->n_rows, sizeof(uint32_t)) +
                   (double)p->n_vectors * st_array_bytes(share->n_rows, sizeof(double));

    bytes += st_array_bytes(n_interior, sizeof(int32_t)) +
             st_array_bytes(n_interior, sizeof(double));
    /* Start and number of a row of the rest: at most one row an entry. */
    bytes += 3.0 * st_array_bytes(share->n_rest, sizeof(uint32_t)) +
             st_array_bytes(share->n_rest, sizeof(double)) + 24.0 * (double)share->n_rest;
    if (p->has_sell) { /* the interior once more, with little padding: box rows are alike */
        bytes += st_array_bytes(n_interior, sizeof(int32_t)) +
                 st_array_bytes(n_interior, sizeof(double)) + 6.0 * (double)share->n_rows;
    }
    if (p->has_bcsr) {
        bytes += block_bytes(p, share);
    }
    if (p->has_multigrid) {
        bytes += st_multigrid_bytes((double)share->n_rows, (double)n_interior);
    }
    if (p->partition == ST_PARTITION_SCOTCH) {
        /* More than the matrix needs later: entries leave and come, 28 bytes each, and become
         * rows of 16; before, the graph has 8 bytes for each twice. */
        const double moving = (2.0 * 28.0 + 16.0) * (double)share->n_nonzeros +
                              72.0 * (double)share->n_rows;
        bytes = moving > bytes ? moving : bytes;
    }
    return bytes + (16.0 + 12.0) * (double)share->n_ghosts + 12.0 * (double)n_ranks;
}

/*
 * The share that needs most memory. Rows at the first and last planes have the fewest
 * entries, those in the middle the most, so these three ranks hold the extremes.
 */
static struct st_box_share fullest_share(const struct st_problem *p,
                                         const struct st_box *box, uint64_t n_ranks)
{
    const uint64_t tried[] = {n_ranks / 2, 0, n_ranks - 1};
    struct st_box_share fullest = {0};

    for (size_t i = 0; i < ST_COUNT(tried); i++) {
        const struct st_box_share share =
            st_box_share_of(box, p->partition, n_ranks, tried[i]);
        if (share_bytes(p, &share, n_ranks) > share_bytes(p, &fullest, n_ranks)) {
            fullest = share;
        }
    }
    return fullest;
}

/* Does the box fit the ranks' indices and the nodes' memory? */
static bool box_fits(const struct st_problem *p, const struct st_box *box,
                     const struct st_shape *shape, struct st_box_share *share)
{
    *share = fullest_share(p, box, shape->n_ranks);
    return share->n_rows <= STK_CSR_MAX_COLUMNS &&
           share->n_nonzeros <= STK_CSR_MAX_NONZEROS &&
           (shape->memory_bytes == 0 ||
            share_bytes(p, share, shape->n_ranks) * (double)shape->max_ranks_per_node <=
                (double)shape->memory_bytes);
}

/* The largest cube that fits. */
static uint64_t best_edge(const struct st_problem *p, const struct st_shape *shape)
{
    struct st_box_share share;
    uint64_t low = 1;
    uint64_t high = 880748; /* st_box_check() */

    while (high - low > 1) {
        const uint64_t edge = low + (high - low) / 2;
        const struct st_box cube = {{edge, edge, edge}, p->kind == ST_PROBLEM_BOX27};
        if (box_fits(p, &cube, shape, &share)) {
            low = edge;
        } else {
            high = edge;
        }
    }
    return low;
}

/* Notes for people: fits in cache, thin slabs, more ranks than rows. */
static void note_box(const struct st_problem *p, const struct st_box *box,
                     const struct st_shape *shape, const struct st_box_share *share,
                     struct st_need *need)
{
    const double on_node =
        share_bytes(p, share, shape->n_ranks) * (double)shape->max_ranks_per_node;
    const uint64_t n_rows = st_box_rows(box);
    int n = 0;

    if (shape->llc_bytes > 0 && on_node <= (double)shape->llc_bytes) {
        n = snprintf(
            need->notes, sizeof need->notes,
            "cache_affected: the matrix (%.3g MB a node) fits in the caches, rates "
            "may exceed the memory's; ",
            on_node * 1e-6);
    }
    if (n_rows < shape->n_ranks) {
        (void)snprintf(need->notes + n, sizeof need->notes - (size_t)n,
                       "idle: %zu of %zu ranks get no row of %" PRIu64,
                       shape->n_ranks - (size_t)n_rows, shape->n_ranks, n_rows);
    } else if (shape->n_ranks > 1 && p->partition != ST_PARTITION_SCOTCH) {
        (void)snprintf(need->notes + n, sizeof need->notes - (size_t)n,
                       "surface: slabs of up to %" PRIu64 " rows receive up to %" PRIu64
                       " elements (%.1f %%)",
                       share->n_rows, share->n_ghosts,
                       100.0 * (double)share->n_ghosts / (double)share->n_rows);
    } else if (n > 0) {
        need->notes[n - 2] = '\0'; /* nothing follows: no separator */
    }
}

static enum st_status plan_box(const struct st_problem *p, const struct st_shape *shape,
                               struct st_need *need, struct st_error *err)
{
    const struct st_box box = st_problem_box(p, shape->n_ranks);
    struct st_box_share share;
    const enum st_status rc = st_box_check(&box, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (!box_fits(p, &box, shape, &share)) {
        return st_fail(err, ST_ERR_STEP,
                       "%s: a box of %" PRIu64 " x %" PRIu64 " x %" PRIu64
                       " points gives a rank up to %" PRIu64 " rows, %" PRIu64
                       " nonzeros and %.4g GB; %zu ranks with %zu on a node hold at most "
                       "a cube of %" PRIu64 " points an edge, or use more ranks on more "
                       "nodes",
                       p->who, box.n[0], box.n[1], box.n[2], share.n_rows,
                       share.n_nonzeros, share_bytes(p, &share, shape->n_ranks) * 1e-9,
                       shape->n_ranks, shape->max_ranks_per_node, best_edge(p, shape));
    }
    need->bytes_per_rank = (uint64_t)share_bytes(p, &share, shape->n_ranks);
    /* At 1 GB/s and rank, slower than any machine's. An iteration of the solver moves the
     * matrix once and twelve vectors; the iterations of this operator grow with the longest
     * edge, about three an edge point at 1e-10. */
    const double product_s =
        1e-9 * (12.0 * (double)share.n_nonzeros + 20.0 * (double)share.n_rows);
    const uint64_t edge = box.n[0] > box.n[1] ? box.n[0] : box.n[1];
    const double n_iterations =
        (double)p->n_solves *
        fmin((double)p->max_iterations,
             50.0 + 3.0 * (double)(edge > box.n[2] ? edge : box.n[2]));
    need->seconds_per_repetition =
        product_s + n_iterations * (product_s + 96e-9 * (double)share.n_rows);
    note_box(p, &box, shape, &share, need);
    return ST_OK;
}

enum st_status st_problem_plan(const struct st_problem *p, const struct st_shape *shape,
                               struct st_need *need, struct st_error *err)
{
    if (p->kind == ST_PROBLEM_FILE && p->path[0] == '\0') {
        return st_fail(err, ST_ERR_CONFIG,
                       "%s: matrix: file needs path: the name of a Matrix Market file",
                       p->who);
    }
    if (p->kind != ST_PROBLEM_FILE && p->path[0] != '\0') {
        return st_fail(err, ST_ERR_CONFIG,
                       "%s: path is given, but matrix is %s; write matrix: file to read "
                       "%.200s",
                       p->who, st_problem_names[p->kind], p->path);
    }
    if (p->partition == ST_PARTITION_SCOTCH && !st_graph_can_partition()) {
        return st_fail(
            err, ST_ERR_UNSUPPORTED,
            "%s: partition: scotch needs PT-SCOTCH, without which this seatrial "
            "was built",
            p->who);
    }
    if (p->kind != ST_PROBLEM_FILE) {
        return plan_box(p, shape, need, err);
    }
    /* Only the file knows, and it is read by one rank, in prepare. */
    (void)snprintf(need->notes, sizeof need->notes,
                   "memory is known only when the file's size line is read");
    return ST_OK;
}

/* The matrix of rows that are divided already; @p row_start is used up. */
static enum st_status make_matrix(struct st_run *run, const struct st_problem *p,
                                  const struct st_row_source *source, uint64_t *row_start,
                                  struct st_problem_matrix *s)
{
    const struct stm_comm *comm = &run->comm;
    const size_t n_threads = run->place->n_threads;
    struct st_moved_rows moved = {NULL, NULL};

    if (p->partition != ST_PARTITION_SCOTCH) {
        return st_matrix_create(comm, n_threads, row_start, source, &s->matrix,
                                &run->err);
    }
    enum st_status rc = st_rows_move(comm, source, row_start, &moved, &run->err);
    st_free(row_start);
    if (rc == ST_OK) {
        const struct st_row_source there = st_file_rows_source(moved.rows);
        uint64_t *starts = moved.rows->row_start;
        moved.rows->row_start = NULL;
        rc = st_matrix_create(comm, n_threads, starts, &there, &s->matrix, &run->err);
    }
    if (rc == ST_OK) {
        rc = st_matrix_keep_originals(comm, s->matrix, moved.original, &run->err);
        moved.original = NULL;
    }
    st_moved_rows_clear(&moved);
    return rc;
}

static enum st_status prepare_box(struct st_run *run, const struct st_problem *p,
                                  struct st_problem_matrix *s)
{
    const size_t n_ranks = (size_t)run->comm.n_ranks;

    s->box = st_problem_box(p, n_ranks);
    const struct st_row_source source = st_box_source(&s->box);
    uint64_t *row_start = st_calloc(&run->err, n_ranks + 1, sizeof *row_start);
    const enum st_status rc =
        stm_agree(&run->comm, row_start == NULL ? ST_ERR_MEMORY : ST_OK, &run->err);
    if (rc != ST_OK || row_start == NULL) {
        st_free(row_start);
        return rc;
    }
    for (size_t r = 0; r <= n_ranks; r++) {
        row_start[r] = st_partition_start(&source, p->partition, 0, st_box_rows(&s->box),
                                          n_ranks, r);
    }
    return make_matrix(run, p, &source, row_start, s);
}

static enum st_status prepare_file(struct st_run *run, const struct st_problem *p,
                                   struct st_problem_matrix *s)
{
    const struct st_file_request request = {.path = p->path,
                                            .partition = p->partition,
                                            .memory_bytes = run->place->memory_bytes,
                                            .seed_x = ST_PROBLEM_SEED_X,
                                            .seed_w = ST_PROBLEM_SEED_W};
    struct st_file_rows *rows = NULL;
    enum st_status rc = st_file_rows_read(&run->comm, &request, &rows, &run->err);

    if (rc != ST_OK) {
        return rc;
    }
    const struct st_row_source source = st_file_rows_source(rows);
    uint64_t *row_start = rows->row_start;
    rows->row_start = NULL; /* the matrix's from here on */
    s->from_file = true;
    s->n_duplicates = rows->n_duplicates;
    s->probe = rows->probe;
    s->probe_scale = rows->probe_scale;
    rc = make_matrix(run, p, &source, row_start, s);
    st_file_rows_destroy(&rows);
    return rc;
}

enum st_status st_problem_create(struct st_run *run, const struct st_problem *problem,
                                 struct st_problem_matrix *out)
{
    return problem->kind == ST_PROBLEM_FILE ? prepare_file(run, problem, out)
                                            : prepare_box(run, problem, out);
}
