/*
 * A distributed graph into PT-SCOTCH and its parts out of it. PT-SCOTCH's integers may be narrower
 * than ours, so the arrays are copied with a check.
 */
#include "src/graph/partition.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#ifdef ST_HAVE_SCOTCH

#include <stdio.h> /* ptscotch.h names FILE */

#include <ptscotch.h>

enum {
    SEED = 1 /* of SCOTCH's random numbers */
};

/* The graph in SCOTCH's integers; arrays own. */
struct converted {
    SCOTCH_Num n_own;
    SCOTCH_Num *start, *adjacent, *weight;
    SCOTCH_Num *part; /* [own + ghosts] */
};

static void release(struct converted *c)
{
    st_free(c->start);
    st_free(c->adjacent);
    st_free(c->weight);
    st_free(c->part);
}

static bool fits(int64_t value)
{
    return (int64_t)(SCOTCH_Num)value == value;
}

static enum st_status convert(const struct stm_comm *comm, const struct st_graph *g,
                              struct converted *c, struct st_error *err)
{
    const int64_t first = g->vertex_start[comm->rank];
    const size_t n = (size_t)(g->vertex_start[comm->rank + 1] - first);
    const size_t n_edges = (size_t)g->start[n];

    if (!fits(g->vertex_start[comm->n_ranks]) || !fits(g->start[n])) {
        return st_fail(
            err, ST_ERR_STEP,
            "partition: this PT-SCOTCH counts with %zu-bit integers, too few for "
            "%lld vertices and %lld edges on a rank; partition without scotch",
            8 * sizeof(SCOTCH_Num), (long long)g->vertex_start[comm->n_ranks],
            (long long)g->start[n]);
    }
    c->n_own = (SCOTCH_Num)n;
    c->start = st_calloc(err, n + 1, sizeof *c->start);
    c->adjacent = st_calloc(err, n_edges, sizeof *c->adjacent);
    c->weight = st_calloc(err, n, sizeof *c->weight);
    c->part =
        st_calloc(err, n + n_edges, sizeof *c->part); /* no more ghosts than edges */
    if (c->start == NULL || c->adjacent == NULL || c->weight == NULL || c->part == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i <= n; i++) {
        c->start[i] = (SCOTCH_Num)g->start[i];
    }
    for (size_t i = 0; i < n_edges; i++) {
        c->adjacent[i] = (SCOTCH_Num)g->adjacent[i];
    }
    for (size_t i = 0; i < n; i++) {
        c->weight[i] = g->weight == NULL ? 1 : g->weight[i];
    }
    return ST_OK;
}

/*
 * One thread, its own random numbers from a fixed seed, and nothing that depends on the order of
 * messages: so that MPI_THREAD_FUNNELED is enough (threads of PT-SCOTCH call MPI at once, and hang
 * with less than MPI_THREAD_MULTIPLE) and the parts are the same every time.
 */
static int open_context(SCOTCH_Context *context)
{
    if (SCOTCH_contextInit(context) != 0) {
        return 1;
    }
    if (SCOTCH_contextThreadSpawn(context, 1, NULL) != 0 ||
        SCOTCH_contextOptionSetNum(context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
        SCOTCH_contextRandomClone(context) != 0) {
        SCOTCH_contextExit(context);
        return 1;
    }
    SCOTCH_contextRandomSeed(context, SEED);
    SCOTCH_contextRandomReset(context);
    return 0;
}

static int map(SCOTCH_Context *context, const SCOTCH_Dgraph *graph,
               const struct converted *c, int32_t n_parts)
{
    SCOTCH_Dgraph bound;
    SCOTCH_Strat strategy;

    if (SCOTCH_stratInit(&strategy) != 0) {
        return 1;
    }
    int failed =
        SCOTCH_dgraphInit(&bound, MPI_COMM_SELF); /* only to be filled by the next */
    if (failed == 0) {
        failed = SCOTCH_contextBindDgraph(context, graph, &bound);
    }
    if (failed == 0) {
        failed = SCOTCH_dgraphPart(&bound, (SCOTCH_Num)n_parts, &strategy, c->part);
        SCOTCH_dgraphExit(&bound);
    }
    SCOTCH_stratExit(&strategy);
    return failed;
}

/* 0 or what SCOTCH returned; its own text goes to stderr. */
static int partition(SCOTCH_Dgraph *graph, const struct converted *c, int32_t n_parts)
{
    SCOTCH_Context context;
    int failed = SCOTCH_dgraphBuild(graph, 0, c->n_own, c->n_own, c->start, NULL,
                                    c->weight, NULL, c->start[c->n_own],
                                    c->start[c->n_own], c->adjacent, NULL, NULL);

    if (failed != 0 || open_context(&context) != 0) {
        return 1;
    }
    failed = map(&context, graph, c, n_parts);
    SCOTCH_contextExit(&context);
    return failed;
}

/* Edges between parts: SCOTCH numbers the ghosts and fetches their parts. */
static int count_cut(SCOTCH_Dgraph *graph, const struct converted *c, int64_t edges[2])
{
    const MPI_Datatype number = sizeof(SCOTCH_Num) == 8 ? MPI_INT64_T : MPI_INT32_T;
    SCOTCH_Num *ghost_adjacent = NULL;

    if (SCOTCH_dgraphGhst(graph) != 0 || SCOTCH_dgraphHalo(graph, c->part, number) != 0) {
        return 1;
    }
    SCOTCH_dgraphData(graph, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                      NULL, NULL, NULL, &ghost_adjacent, NULL, NULL);
    edges[0] = c->start[c->n_own];
    edges[1] = 0;
    for (SCOTCH_Num i = 0; i < c->n_own; i++) {
        for (SCOTCH_Num k = c->start[i]; k < c->start[i + 1]; k++) {
            edges[1] += c->part[i] != c->part[ghost_adjacent[k]] ? 1 : 0;
        }
    }
    return 0;
}

static enum st_status describe(const struct stm_comm *comm, const struct converted *c,
                               int32_t n_parts, int64_t edges[2],
                               struct st_graph_cut *cut, struct st_error *err)
{
    int64_t *weights = st_calloc(err, (size_t)n_parts, sizeof *weights);
    enum st_status rc = stm_agree(comm, weights == NULL ? ST_ERR_MEMORY : ST_OK, err);
    int64_t sum = 0;
    int64_t most = 0;

    if (rc != ST_OK || weights == NULL) {
        st_free(weights);
        return rc;
    }
    for (SCOTCH_Num i = 0; i < c->n_own; i++) {
        weights[c->part[i]] += c->weight[i];
    }
    if (MPI_Allreduce(MPI_IN_PLACE, weights, n_parts, MPI_INT64_T, MPI_SUM,
                      comm->handle) != MPI_SUCCESS ||
        MPI_Allreduce(MPI_IN_PLACE, edges, 2, MPI_INT64_T, MPI_SUM, comm->handle) !=
            MPI_SUCCESS) {
        rc = st_fail(err, ST_ERR_MPI, "partition: the sums over the ranks failed");
    }
    for (int32_t i = 0; i < n_parts; i++) {
        sum += weights[i];
        most = weights[i] > most ? weights[i] : most;
    }
    cut->n_edges = edges[0] / 2;
    cut->n_cut = edges[1] / 2;
    cut->imbalance = sum > 0 ? (double)most * n_parts / (double)sum : 1.0;
    st_free(weights);
    return rc;
}

static enum st_status divide(const struct stm_comm *comm, const struct converted *c,
                             int32_t n_parts, struct st_graph_cut *cut,
                             struct st_error *err)
{
    SCOTCH_Dgraph graph;
    int64_t edges[2] = {0, 0};

    if (SCOTCH_dgraphInit(&graph, comm->handle) != 0) {
        return st_fail(err, ST_ERR_STEP, "partition: PT-SCOTCH could not begin");
    }
    int failed = partition(&graph, c, n_parts);
    if (failed == 0) {
        failed = count_cut(&graph, c, edges);
    }
    SCOTCH_dgraphExit(&graph);
    const enum st_status rc = stm_agree(
        comm,
        failed == 0 ? ST_OK
                    : st_fail(err, ST_ERR_STEP,
                              "partition: PT-SCOTCH failed (its own message is above)"),
        err);
    return rc == ST_OK ? describe(comm, c, n_parts, edges, cut, err) : rc;
}

bool st_graph_can_partition(void)
{
    return true;
}

enum st_status st_graph_partition(const struct stm_comm *comm,
                                  const struct st_graph *graph, int32_t n_parts,
                                  int32_t *part, struct st_graph_cut *cut,
                                  struct st_error *err)
{
    struct converted c = {0};
    struct st_graph_cut found = {0};
    enum st_status rc = stm_agree(comm, convert(comm, graph, &c, err), err);

    if (rc == ST_OK) {
        rc = divide(comm, &c, n_parts, &found, err);
    }
    for (SCOTCH_Num i = 0; rc == ST_OK && i < c.n_own; i++) {
        part[i] = (int32_t)c.part[i];
    }
    if (cut != NULL) {
        *cut = found;
    }
    release(&c);
    return rc;
}

#else

bool st_graph_can_partition(void)
{
    return false;
}

enum st_status st_graph_partition(const struct stm_comm *comm,
                                  const struct st_graph *graph, int32_t n_parts,
                                  int32_t *part, struct st_graph_cut *cut,
                                  struct st_error *err)
{
    (void)comm;
    (void)graph;
    (void)n_parts;
    (void)part;
    (void)cut;
    return st_fail(err, ST_ERR_STEP,
                   "partition: this seatrial was built without PT-SCOTCH (Debian: "
                   "libptscotch-dev); use another partition");
}

#endif
