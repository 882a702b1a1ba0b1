#include "src/machine/nodes.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/share.h"

#include <stdlib.h>
#include <string.h>

/*
 * Rank 0 gathers both keys, merges them and broadcasts one node number per rank; texts are
 * compared as texts, so that no hash can make two nodes one. The order of nodes follows the
 * lowest rank of each, never rank divided by ranks per node: counts may be uneven.
 */

static const char *const fake_help =
    "write block:K (K nodes), block:N,N,... (ranks of each node) or cyclic:K";

void st_node_map_clear(struct st_node_map *map)
{
    st_free(map->real);
    st_free(map->node);
    *map = (struct st_node_map){0};
}

/* A rank with its two keys; sorted so that equal keys are neighbours, in rank order. */
struct keyed {
    const char *identity;
    uint32_t split;
    uint32_t rank;
};

static int by_identity(const void *a, const void *b)
{
    const struct keyed *x = a;
    const struct keyed *y = b;
    const int order = strcmp(x->identity, y->identity);

    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_split(const void *a, const void *b)
{
    const struct keyed *x = a;
    const struct keyed *y = b;
    const int order = (x->split > y->split) - (x->split < y->split);

    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Union-find with the lowest rank as root (path halving: Tarjan, van Leeuwen 1984). */
static uint32_t root_of(uint32_t *parent, uint32_t r)
{
    while (parent[r] != r) {
        parent[r] = parent[parent[r]];
        r = parent[r];
    }
    return r;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b)
{
    const uint32_t x = root_of(parent, a);
    const uint32_t y = root_of(parent, b);

    if (x < y) {
        parent[y] = x;
    } else {
        parent[x] = y;
    }
}

/* Join neighbours that share the sorted key; true if some of them differ in the other. */
static bool join_sorted(const struct keyed *ranks, size_t n, bool identity,
                        uint32_t *parent)
{
    bool disagree = false;

    for (size_t i = 1; i < n; i++) {
        const bool same_identity = strcmp(ranks[i].identity, ranks[i - 1].identity) == 0;
        const bool same_split = ranks[i].split == ranks[i - 1].split;
        if (identity ? same_identity : same_split) {
            join(parent, ranks[i - 1].rank, ranks[i].rank);
            disagree = disagree || same_identity != same_split;
        }
    }
    return disagree;
}

enum st_status st_nodes_merge(const struct st_node_keys *keys, uint32_t *real,
                              size_t *n_real, bool *keys_disagree, struct st_error *err)
{
    const size_t n = keys->n;
    struct keyed *ranks = st_calloc(err, n, sizeof *ranks);
    uint32_t *parent = st_calloc(err, n, sizeof *parent);

    if (ranks == NULL || parent == NULL) {
        st_free(ranks);
        st_free(parent);
        return ST_ERR_MEMORY;
    }
    for (size_t r = 0; r < n; r++) {
        ranks[r] = (struct keyed){keys->identity[r], keys->split[r], (uint32_t)r};
        parent[r] = (uint32_t)r;
    }
    qsort(ranks, n, sizeof *ranks, by_identity);
    const bool first = join_sorted(ranks, n, true, parent);
    qsort(ranks, n, sizeof *ranks, by_split);
    *keys_disagree = join_sorted(ranks, n, false, parent) || first;
    *n_real = 0;
    for (size_t r = 0; r < n; r++) { /* roots are the lowest ranks, so they come first */
        const uint32_t root = root_of(parent, (uint32_t)r);
        real[r] = root == r ? (uint32_t)(*n_real)++ : real[root];
    }
    st_free(ranks);
    st_free(parent);
    return ST_OK;
}

static enum st_status bad_spec(const char *spec, const char *why, struct st_error *err)
{
    return st_fail(err, ST_ERR_USAGE, "SEATRIAL_FAKE_NODES=%s: %s; %s", spec, why,
                   fake_help);
}

/* Next number of a comma-separated list; false for junk and 0. */
static bool next_number(const char **at, uint64_t *out)
{
    char digits[24];
    const size_t length = strcspn(*at, ",");

    if (length == 0 || length >= sizeof digits) {
        return false;
    }
    memcpy(digits, *at, length);
    digits[length] = '\0';
    *at += length;
    if (**at == ',') {
        (*at)++;
        if (**at == '\0') {
            return false;
        }
    }
    return st_parse_u64(digits, out) && *out > 0;
}

static enum st_status fake_list(const char *spec, const char *list, size_t n,
                                uint32_t *node, size_t *n_nodes, struct st_error *err)
{
    size_t done = 0;
    size_t count = 0;

    while (*list != '\0') {
        uint64_t take = 0;
        if (!next_number(&list, &take)) {
            return bad_spec(spec, "not a list of numbers above 0", err);
        }
        if (take > n - done) {
            return bad_spec(spec, "more ranks than the launch has", err);
        }
        for (uint64_t i = 0; i < take; i++) {
            node[done++] = (uint32_t)count;
        }
        count++;
    }
    if (done != n) {
        return bad_spec(spec, "fewer ranks than the launch has", err);
    }
    *n_nodes = count;
    return ST_OK;
}

/* block:K and cyclic:K */
static enum st_status fake_equal(const char *spec, size_t n, uint32_t *node,
                                 size_t *n_nodes, struct st_error *err)
{
    const bool cyclic = spec[0] == 'c';
    const char *number = strchr(spec, ':') + 1;
    uint64_t k = 0;

    if (!st_parse_u64(number, &k) || k == 0) {
        return bad_spec(spec, "not a number above 0", err);
    }
    if (k > n) {
        return bad_spec(spec, "more nodes than the launch has ranks", err);
    }
    const size_t each = n / (size_t)k;
    const size_t longer = n % (size_t)k; /* the first nodes have one rank more */
    for (size_t r = 0; r < n; r++) {
        size_t block = r / (each + 1);
        if (block >= longer) {
            block = longer + (r - longer * (each + 1)) / each;
        }
        node[r] = (uint32_t)(cyclic ? r % (size_t)k : block);
    }
    *n_nodes = (size_t)k;
    return ST_OK;
}

/* Ranks of a pretended node must share memory: they come from one real node. */
static enum st_status one_real_each(const char *spec, size_t n, const uint32_t *real,
                                    const uint32_t *node, size_t n_nodes,
                                    struct st_error *err)
{
    uint32_t *home = st_calloc(err, n_nodes, sizeof *home);
    enum st_status rc = home != NULL ? ST_OK : ST_ERR_MEMORY;

    for (size_t r = 0; rc == ST_OK && r < n; r++) {
        if (home[node[r]] == 0) {
            home[node[r]] = real[r] + 1;
        } else if (home[node[r]] != real[r] + 1) {
            rc = bad_spec(spec, "ranks of two hosts would be in one node", err);
        }
    }
    st_free(home);
    return rc;
}

enum st_status st_nodes_fake(const char *spec, size_t n, const uint32_t *real,
                             uint32_t *node, size_t *n_nodes, struct st_error *err)
{
    enum st_status rc = ST_OK;
    const bool block = strncmp(spec, "block:", 6) == 0;

    if (block && strchr(spec, ',') != NULL) {
        rc = fake_list(spec, spec + 6, n, node, n_nodes, err);
    } else if (block || strncmp(spec, "cyclic:", 7) == 0) {
        rc = fake_equal(spec, n, node, n_nodes, err);
    } else {
        rc = bad_spec(spec, "neither block: nor cyclic:", err);
    }
    return rc == ST_OK ? one_real_each(spec, n, real, node, *n_nodes, err) : rc;
}

/* On rank 0: both keys of all ranks to node numbers. */
static enum st_status decide(const struct st_share *keys, const char *fake,
                             struct st_node_map *map, struct st_error *err)
{
    const size_t n = map->n_ranks;
    uint32_t *split = st_calloc(err, n, sizeof *split);
    const char **identity = st_calloc(err, n, sizeof *identity);
    enum st_status rc = split != NULL && identity != NULL ? ST_OK : ST_ERR_MEMORY;

    for (size_t r = 0; rc == ST_OK && r < n; r++) {
        struct st_reader reader = st_reader_of(keys, r);
        st_read_bytes(&reader, &split[r], sizeof split[r]);
        identity[r] = st_reader_text(&reader);
        if (reader.failed) {
            rc = st_fail(err, ST_ERR_INTERNAL, "rank %zu sent no node key", r);
        }
    }
    if (rc == ST_OK) {
        const struct st_node_keys both = {n, split, identity};
        rc = st_nodes_merge(&both, map->real, &map->n_real, &map->keys_disagree, err);
    }
    if (rc == ST_OK) {
        memcpy(map->node, map->real, n * sizeof *map->node);
        map->n_nodes = map->n_real;
        map->fake = fake != NULL && fake[0] != '\0';
        if (map->fake) {
            rc = st_nodes_fake(fake, n, map->real, map->node, &map->n_nodes, err);
        }
    }
    st_free(split);
    st_free(identity);
    return rc;
}

/* The first key: the lowest world rank of MPI's shared-memory group. Collective. */
static enum st_status split_key(const struct stm_comm *world, uint32_t *key,
                                struct st_error *err)
{
    MPI_Comm shared = MPI_COMM_NULL;

    *key = (uint32_t)world->rank;
    STM_TRY(err, MPI_Comm_split_type(world->handle, MPI_COMM_TYPE_SHARED, world->rank,
                                     MPI_INFO_NULL, &shared));
    STM_TRY(err, MPI_Comm_set_errhandler(shared, MPI_ERRORS_RETURN));
    STM_TRY(err, MPI_Bcast(key, 1, MPI_UINT32_T, 0, shared));
    STM_TRY(err, MPI_Comm_free(&shared));
    return ST_OK;
}

/* Everybody gets rank 0's decision. Collective. */
static enum st_status spread_map(const struct stm_comm *world, struct st_node_map *map,
                                 struct st_error *err)
{
    uint64_t head[4] = {map->n_real, map->n_nodes, map->fake, map->keys_disagree};
    const size_t bytes = map->n_ranks * sizeof *map->real;
    enum st_status rc = stm_bcast_bytes(world, head, sizeof head, err);

    if (rc == ST_OK) {
        rc = stm_bcast_bytes(world, map->real, bytes, err);
    }
    if (rc == ST_OK) {
        rc = stm_bcast_bytes(world, map->node, bytes, err);
    }
    map->n_real = (size_t)head[0];
    map->n_nodes = (size_t)head[1];
    map->fake = head[2] != 0;
    map->keys_disagree = head[3] != 0;
    return rc;
}

enum st_status st_nodes_find(const struct stm_comm *world, const char *identity,
                             const char *fake, struct st_node_map *out,
                             struct st_error *err)
{
    struct st_node_map map = {.n_ranks = (size_t)world->n_ranks};
    struct st_share keys = {0};
    struct st_text mine = {0};
    uint32_t key = 0;
    enum st_status rc = split_key(world, &key, err);

    if (rc != ST_OK) {
        return rc;
    }
    map.real = st_calloc(err, map.n_ranks, sizeof *map.real);
    map.node = st_calloc(err, map.n_ranks, sizeof *map.node);
    rc = stm_agree(world, map.real != NULL && map.node != NULL ? ST_OK : ST_ERR_MEMORY,
                   err);
    if (rc == ST_OK) {
        st_text_add_bytes(&mine, (const char *)&key, sizeof key);
        st_write_text(&mine, identity);
        rc = st_share_bytes(world, &mine, false, &keys, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(world, world->rank == 0 ? decide(&keys, fake, &map, err) : ST_OK,
                       err);
    }
    if (rc == ST_OK) {
        rc = spread_map(world, &map, err);
    }
    st_share_clear(&keys);
    st_text_clear(&mine);
    if (rc != ST_OK) {
        st_node_map_clear(&map);
        return rc;
    }
    *out = map;
    return ST_OK;
}
