#include "src/machine/shape.h"

/*
 * Shapes, and their prediction for `seatrial check`: both go through st_shape_of(), so that
 * what is checked is what will be run.
 */

#include "src/base/mem.h"
#include "src/machine/affinity.h"
#include "src/machine/load.h"
#include "src/machine/machine.h"

#include <string.h>

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t st_shape_memory(uint64_t node_bytes, uint64_t rank_bytes, size_t n_ranks)
{
    if (n_ranks > 0 && rank_bytes < node_bytes / n_ranks) {
        return rank_bytes * n_ranks;
    }
    return node_bytes;
}

bool st_shape_crowded(const struct st_layout_request *request, size_t n_ranks,
                      size_t n_usable_pus)
{
    const bool all = request->n_ranks == 0 && (request->ranks == ST_MANY_ALL_CORES ||
                                               request->ranks == ST_MANY_ALL_PUS);

    return all && !request->oversubscribe && n_ranks > n_usable_pus;
}

struct st_shape st_shape_of(size_t n, const struct st_node_share *shares, bool each)
{
    struct st_shape shape = {.memory_bytes = UINT64_MAX, .min_ranks_per_node = SIZE_MAX};
    size_t n_nodes = 0;
    size_t n_ranks = 0;
    size_t n_threads = 0;

    for (size_t i = 0; i < n; i++) {
        const struct st_node_share *s = &shares[i];
        if (s->n_ranks == 0) {
            continue;
        }
        n_nodes++;
        n_ranks += s->n_ranks;
        n_threads += s->n_threads;
        shape.max_ranks_per_node = most(shape.max_ranks_per_node, s->n_ranks);
        if (s->n_ranks < shape.min_ranks_per_node) {
            shape.min_ranks_per_node = s->n_ranks;
        }
        shape.max_threads = most(shape.max_threads, s->max_threads);
        shape.llc_bytes = most(shape.llc_bytes, s->llc_bytes);
        if (s->memory_bytes < shape.memory_bytes) {
            shape.memory_bytes = s->memory_bytes;
        }
        if (n_nodes == 1 || s->n_numa < shape.n_numa) {
            shape.n_numa = (size_t)s->n_numa;
        }
        shape.oversubscribed = shape.oversubscribed || s->oversubscribed;
        if (each) {
            shape.n_threads = most(shape.n_threads, s->n_threads);
        }
    }
    if (n_nodes == 0) {
        return (struct st_shape){0};
    }
    shape.n_groups = each ? n_nodes : 1;
    shape.n_nodes = each ? 1 : n_nodes;
    shape.n_ranks = each ? shape.max_ranks_per_node : n_ranks;
    shape.n_threads = each ? shape.n_threads : n_threads;
    return shape;
}

enum st_status st_shape_share(const struct st_cpus *cpus,
                              const struct st_placement *placement,
                              struct st_node_share *out, struct st_error *err)
{
    struct st_node_share share = {.n_ranks = placement->n_ranks,
                                  .n_threads = placement->n_seats,
                                  .oversubscribed = placement->oversubscribed};

    for (size_t r = 0; r < placement->n_ranks; r++) {
        share.max_threads =
            most(share.max_threads, placement->first[r + 1] - placement->first[r]);
    }
    const enum st_status rc =
        st_cpus_llc(cpus, placement->n_seats, placement->cpu, &share.llc_bytes, err);
    if (rc == ST_OK) {
        *out = share;
    }
    return rc;
}

/* What is free on this machine now says nothing of the memory of another one's topology. */
static uint64_t memory_of(const struct st_loaded *here, size_t n_ranks)
{
    uint64_t installed = 0;

    for (size_t i = 0; !here->node.is_this_system && i < here->n_numa; i++) {
        installed += here->numa[i].memory_bytes;
    }
    return installed > 0 ? installed
                         : st_shape_memory(here->node.memory_bytes,
                                           here->node.rank_memory_bytes, n_ranks);
}

/* A node like this one. */
static enum st_status predict(const struct st_layout_request *request,
                              const struct st_loaded *here, size_t n_started,
                              size_t n_wanted, struct st_node_share *share,
                              struct st_error *err)
{
    struct st_placement placement = {0};
    enum st_status rc =
        st_place_plan(&here->cpus, request, n_started, n_wanted, &placement, err);

    if (rc == ST_OK) {
        rc = st_shape_share(&here->cpus, &placement, share, err);
    }
    st_placement_clear(&placement);
    if (rc == ST_OK) {
        share->n_numa = here->node.n_numa;
        share->memory_bytes = memory_of(here, (size_t)share->n_ranks);
    }
    return rc;
}

static enum st_status predict_all(const struct st_layout_request *request, size_t n_nodes,
                                  size_t n_started, const struct st_loaded *here,
                                  struct st_shape *out, struct st_error *err)
{
    size_t *cores = st_calloc(err, n_nodes, sizeof *cores);
    size_t *started = st_calloc(err, n_nodes, sizeof *started);
    size_t *wanted = st_calloc(err, n_nodes, sizeof *wanted);
    struct st_node_share *shares = st_calloc(err, n_nodes, sizeof *shares);
    enum st_status rc = ST_OK;

    if (cores == NULL || started == NULL || wanted == NULL || shares == NULL) {
        rc = ST_ERR_MEMORY;
    }
    for (size_t i = 0; rc == ST_OK && i < n_nodes; i++) {
        cores[i] = here->cpus.n_cores;
        started[i] = n_started;
    }
    if (rc == ST_OK) {
        rc = st_place_share(request, n_nodes, cores, started, wanted, err);
    }
    for (size_t i = 0; rc == ST_OK && i < n_nodes; i++) {
        if (i > 0 && wanted[i] == wanted[i - 1]) {
            shares[i] = shares[i - 1]; /* equal counts give equal plans */
        } else if (wanted[i] > 0) {
            rc = predict(request, here, n_started, wanted[i], &shares[i], err);
        }
    }
    if (rc == ST_OK) {
        *out = st_shape_of(n_nodes, shares, request->nodes == ST_NODES_EACH);
    }
    st_free(cores);
    st_free(started);
    st_free(wanted);
    st_free(shares);
    return rc;
}

enum st_status st_shape_predict(const struct st_layout_request *request, size_t n_nodes,
                                size_t n_ranks_per_node, struct st_shape *out,
                                struct st_error *err)
{
    struct st_loaded *here = st_calloc(err, 1, sizeof *here);
    hwloc_bitmap_t mask = st_bitmap_new(err);
    enum st_status rc = here != NULL && mask != NULL ? ST_OK : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        rc = st_affinity_inherited(mask, err);
    }
    if (rc == ST_OK) {
        rc = st_load_node(mask, n_ranks_per_node, here, err);
    }
    if (rc == ST_OK && st_shape_crowded(request, n_ranks_per_node, here->cpus.n)) {
        rc =
            st_fail(err, ST_ERR_LAUNCH,
                    "`seatrial run` refuses %zu ranks on a node with %zu usable hardware "
                    "thread%s. Start one rank per core, or say how many take part "
                    "(`ranks_per_node: N`), or write `oversubscribe: yes`",
                    n_ranks_per_node, here->cpus.n, here->cpus.n == 1 ? "" : "s");
    }
    if (rc == ST_OK) {
        rc = predict_all(request, n_nodes,
                         n_ranks_per_node > 0 ? n_ranks_per_node : here->cpus.n_cores,
                         here, out, err);
    }
    hwloc_bitmap_free(mask);
    if (here != NULL) {
        st_loaded_clear(here);
    }
    st_free(here);
    return rc;
}
