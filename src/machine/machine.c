#include "src/machine/machine.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/machine/affinity.h"
#include "src/machine/cpus.h"
#include "src/machine/load.h"
#include "src/machine/nodes.h"
#include "src/machine/share.h"
#include "src/machine/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Opening the machine. Who is on which node is found first; then the lowest rank of each real
 * node loads the topology and hands the table of usable CPUs to the ranks of its node, and a
 * description of each of its nodes to everybody. Pretended nodes (SEATRIAL_FAKE_NODES) share
 * a real node's loader; its cores are dealt out to them in proportion to their ranks if each
 * rank can have one, else they share all of them.
 */

/* What only the opening needs. */
struct opening {
    struct st_machine *machine;
    struct st_node_map map;
    struct stm_comm real;    /* ranks of this rank's real node */
    struct st_loaded loaded; /* on its rank 0 */
    struct st_cpus all;      /* usable CPUs of the real node, on all its ranks */
    char *inherited;
};

static double now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void st_machine_close(struct st_machine **machine)
{
    if (machine == NULL || *machine == NULL) {
        return;
    }
    struct st_machine *m = *machine;
    stm_comm_free(&m->node_comm);
    st_topo_close(&m->topo);
    if (m->cpus != NULL) {
        st_cpus_clear(m->cpus);
    }
    st_free(m->cpus);
    for (size_t r = 0; m->ranks != NULL && r < (size_t)m->world.n_ranks; r++) {
        st_free(m->ranks[r].inherited);
    }
    for (size_t i = 0; m->usable != NULL && i < m->n_nodes; i++) {
        st_free(m->usable[i]);
    }
    st_free(m->ranks);
    st_free(m->nodes);
    st_free(m->numa);
    st_free(m->usable);
    st_free(m->usable_reason);
    st_free(m);
    *machine = NULL;
}

/* Tables of the right length and each rank's node. */
static enum st_status make_tables(struct opening *o, struct st_error *err)
{
    struct st_machine *m = o->machine;
    const size_t n_ranks = o->map.n_ranks;

    m->n_nodes = o->map.n_nodes;
    m->fake_nodes = o->map.fake;
    m->keys_disagree = o->map.keys_disagree;
    m->nodes = st_calloc(err, m->n_nodes, sizeof *m->nodes);
    m->ranks = st_calloc(err, n_ranks, sizeof *m->ranks);
    m->usable = st_calloc(err, m->n_nodes, sizeof *m->usable);
    m->usable_reason = st_calloc(err, m->n_nodes, sizeof *m->usable_reason);
    m->cpus = st_calloc(err, 1, sizeof *m->cpus);
    if (m->nodes == NULL || m->ranks == NULL || m->usable == NULL ||
        m->usable_reason == NULL || m->cpus == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t r = 0; r < n_ranks; r++) {
        m->ranks[r].node = o->map.node[r];
        m->ranks[r].local_rank = m->nodes[o->map.node[r]].n_ranks++;
    }
    return ST_OK;
}

/* Ranks of the same real node that come before node k, and those of it. */
static void ranks_before(const struct st_node_map *map, uint32_t real, uint32_t k,
                         size_t *before, size_t *own, size_t *total)
{
    *before = 0;
    *own = 0;
    *total = 0;
    for (size_t r = 0; r < map->n_ranks; r++) {
        if (map->real[r] != real) {
            continue;
        }
        (*total)++;
        if (map->node[r] < k) {
            (*before)++;
        } else if (map->node[r] == k) {
            (*own)++;
        }
    }
}

/* This pretended node's part of the real node's cores (all of them for a real one). */
static enum st_status deal_cores(const struct opening *o, uint32_t k, struct st_cpus *out,
                                 bool *shared, struct st_error *err)
{
    const uint32_t real = o->map.real[o->machine->world.rank];
    const size_t n_cores = o->all.n_cores;
    size_t before = 0;
    size_t own = 0;
    size_t total = 0;

    ranks_before(&o->map, real, k, &before, &own, &total);
    *shared = own < total && n_cores < total;
    if (*shared || own == total) {
        return st_cpus_slice(&o->all, 0, n_cores, out, err);
    }
    return st_cpus_slice(&o->all, n_cores * before / total,
                         n_cores * (before + own) / total, out, err);
}

/* Leader: union of what the ranks of its node inherited. */
static enum st_status unite(const struct st_share *masks, hwloc_bitmap_t all,
                            struct st_error *err)
{
    hwloc_bitmap_t one = st_bitmap_new(err);
    enum st_status rc = one != NULL ? ST_OK : ST_ERR_MEMORY;

    for (size_t r = 0; rc == ST_OK && r < masks->n; r++) {
        struct st_reader reader = st_reader_of(masks, r);
        rc = st_cpu_list_parse(st_reader_text(&reader), one, err);
        if (rc == ST_OK && hwloc_bitmap_or(all, all, one) != 0) {
            rc = st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
        }
    }
    hwloc_bitmap_free(one);
    return rc;
}

static enum st_status load(struct opening *o, const struct st_share *masks,
                           struct st_error *err)
{
    hwloc_bitmap_t all = st_bitmap_new(err);

    if (all == NULL) {
        return ST_ERR_MEMORY;
    }
    enum st_status rc = unite(masks, all, err);
    if (rc == ST_OK) {
        rc = st_load_node(all, masks->n, &o->loaded, err);
    }
    hwloc_bitmap_free(all);
    return rc;
}

/* Each rank's inherited mask goes to its leader, which loads the node. Collective. */
static enum st_status load_nodes(struct opening *o, struct st_error *err)
{
    const struct stm_comm *world = &o->machine->world;
    struct st_share masks = {0};
    struct st_text mine = {0};
    hwloc_bitmap_t mask = st_bitmap_new(err);
    enum st_status rc = mask != NULL ? st_affinity_inherited(mask, err) : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        o->inherited = st_cpu_list(mask, err);
        rc = o->inherited != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    hwloc_bitmap_free(mask);
    rc = stm_agree(world, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    st_write_text(&mine, o->inherited);
    rc = st_share_bytes(&o->real, &mine, false, &masks, err);
    st_text_clear(&mine);
    if (rc == ST_OK && o->real.rank == 0) {
        rc = load(o, &masks, err);
    }
    st_share_clear(&masks);
    return stm_agree(world, rc, err);
}

/* The table of usable CPUs from the leader to the ranks of its real node. Collective. */
static enum st_status spread_cpus(struct opening *o, struct st_error *err)
{
    if (o->real.rank == 0) {
        o->all = o->loaded.cpus;
        o->loaded.cpus = (struct st_cpus){0};
    }
    struct st_cpu *mine = o->all.row;
    enum st_status rc = stm_bcast_bytes(&o->real, &o->all, sizeof o->all, err);
    o->all.row = mine; /* an address of the leader means nothing here */
    if (rc == ST_OK && o->real.rank != 0) {
        o->all.row = st_calloc(err, o->all.n, sizeof *o->all.row);
        rc = o->all.row != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    rc = stm_agree(&o->machine->world, rc, err);
    if (rc == ST_OK) {
        rc = stm_bcast_bytes(&o->real, o->all.row, o->all.n * sizeof *o->all.row, err);
    }
    if (rc == ST_OK) {
        bool shared = false;
        rc = deal_cores(o, o->map.node[o->machine->world.rank], o->machine->cpus, &shared,
                        err);
    }
    return stm_agree(&o->machine->world, rc, err);
}

/* The table of NUMA nodes likewise; pretended nodes all know the whole real one. Collective. */
static enum st_status spread_numa(struct opening *o, struct st_error *err)
{
    struct st_machine *m = o->machine;

    if (o->real.rank == 0) {
        m->n_numa = o->loaded.n_numa;
        m->numa = o->loaded.numa;
        o->loaded.numa = NULL;
    }
    enum st_status rc = stm_bcast_bytes(&o->real, &m->n_numa, sizeof m->n_numa, err);
    if (rc == ST_OK && o->real.rank != 0) {
        m->numa = st_calloc(err, m->n_numa, sizeof *m->numa);
        rc = m->numa != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    rc = stm_agree(&m->world, rc, err);
    if (rc == ST_OK && m->n_numa > 0) { /* equal on the ranks of the node */
        rc = stm_bcast_bytes(&o->real, m->numa, m->n_numa * sizeof *m->numa, err);
    }
    return stm_agree(&m->world, rc, err);
}

/* Leader: one node's entry for everybody. */
static enum st_status write_node(const struct opening *o, uint32_t k,
                                 struct st_text *text, struct st_error *err)
{
    struct st_cpus part = {0};
    bool shared = false;
    size_t before = 0;
    size_t own = 0;
    size_t total = 0;
    hwloc_bitmap_t mask = st_bitmap_new(err);
    enum st_status rc = mask != NULL ? ST_OK : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        rc = deal_cores(o, k, &part, &shared, err);
    }
    if (rc == ST_OK) {
        rc = st_cpus_mask(&part, mask, err);
    }
    char *usable = rc == ST_OK ? st_cpu_list(mask, err) : NULL;
    struct st_node *node = rc == ST_OK ? st_calloc(err, 1, sizeof *node) : NULL;
    if (rc == ST_OK && (usable == NULL || node == NULL)) {
        rc = ST_ERR_MEMORY;
    }
    if (rc == ST_OK) {
        ranks_before(&o->map, o->map.real[o->machine->world.rank], k, &before, &own,
                     &total);
        memcpy(node, &o->loaded.node, sizeof *node);
        node->n_usable_cores = part.n_cores;
        node->n_usable_pus = part.n;
        if (node->memory_bytes != UINT64_MAX) {
            node->memory_bytes = node->memory_bytes / total * own;
        }
        char reason[160];
        (void)snprintf(reason, sizeof reason, "%.120s%s", o->loaded.reason,
                       shared        ? "; shared by fake nodes"
                       : own < total ? "; a fake node's part"
                                     : "");
        st_text_add_bytes(text, (const char *)&k, sizeof k);
        st_text_add_bytes(text, (const char *)node, sizeof *node);
        st_write_text(text, usable);
        st_write_text(text, reason);
        st_write_text(text, o->loaded.signature);
    }
    st_free(node);
    st_free(usable);
    st_cpus_clear(&part);
    hwloc_bitmap_free(mask);
    return rc;
}

/* This rank's contribution: its mask, and a leader's nodes. */
static enum st_status write_mine(const struct opening *o, struct st_text *text,
                                 struct st_error *err)
{
    const uint32_t real = o->map.real[o->machine->world.rank];
    uint32_t n_mine = 0;
    enum st_status rc = ST_OK;

    st_write_text(text, o->inherited);
    for (uint32_t k = 0; o->real.rank == 0 && k < o->map.n_nodes; k++) {
        size_t r = 0;
        while (o->map.node[r] != k) {
            r++; /* every node has a rank */
        }
        n_mine += o->map.real[r] == real ? 1 : 0;
    }
    st_text_add_bytes(text, (const char *)&n_mine, sizeof n_mine);
    for (uint32_t k = 0; rc == ST_OK && n_mine > 0 && k < o->map.n_nodes; k++) {
        size_t r = 0;
        while (o->map.node[r] != k) {
            r++;
        }
        if (o->map.real[r] == real) {
            rc = write_node(o, k, text, err);
        }
    }
    return rc;
}

/* A node's entry, and its class by the signatures seen so far (borrowed). */
static enum st_status read_node(struct st_machine *m, struct st_reader *reader,
                                size_t leader, const char **signatures,
                                struct st_error *err)
{
    uint32_t k = 0;
    struct st_node *node = NULL;

    st_read_bytes(reader, &k, sizeof k);
    if (reader->failed || k >= m->n_nodes) {
        return st_fail(err, ST_ERR_INTERNAL, "rank %zu sent a broken node table", leader);
    }
    node = &m->nodes[k];
    const size_t n_ranks = node->n_ranks;
    st_read_bytes(reader, node, sizeof *node);
    node->n_ranks = n_ranks;
    node->leader = leader;
    m->usable[k] = st_strdup(err, st_reader_text(reader));
    (void)st_copy(m->usable_reason[k], sizeof m->usable_reason[k],
                  st_reader_text(reader));
    signatures[k] = st_reader_text(reader);
    if (reader->failed) {
        return st_fail(err, ST_ERR_INTERNAL, "rank %zu sent a broken node table", leader);
    }
    return m->usable[k] != NULL ? ST_OK : ST_ERR_MEMORY;
}

static void number_classes(struct st_machine *m, const char *const *signatures)
{
    for (size_t k = 0; k < m->n_nodes; k++) {
        size_t same = 0;
        while (same < k && strcmp(signatures[same], signatures[k]) != 0) {
            same++;
        }
        m->nodes[k].topology_class =
            same < k ? m->nodes[same].topology_class : m->n_classes++;
    }
}

static enum st_status read_all(struct st_machine *m, const struct st_share *share,
                               struct st_error *err)
{
    const char **signatures = st_calloc(err, m->n_nodes, sizeof *signatures);
    enum st_status rc = signatures != NULL ? ST_OK : ST_ERR_MEMORY;

    for (size_t r = 0; rc == ST_OK && r < share->n; r++) {
        struct st_reader reader = st_reader_of(share, r);
        uint32_t n = 0;
        m->ranks[r].inherited = st_strdup(err, st_reader_text(&reader));
        st_read_bytes(&reader, &n, sizeof n);
        rc = m->ranks[r].inherited != NULL ? ST_OK : ST_ERR_MEMORY;
        for (uint32_t i = 0; rc == ST_OK && i < n; i++) {
            rc = read_node(m, &reader, r, signatures, err);
        }
    }
    if (rc == ST_OK) {
        number_classes(m, signatures);
    }
    st_free(signatures);
    return rc;
}

static void warn(struct st_machine *m, const char *text)
{
    const size_t used = strlen(m->warnings);

    (void)snprintf(m->warnings + used, sizeof m->warnings - used, "%s%s",
                   used > 0 ? "\n" : "", text);
}

static void write_warnings(struct st_machine *m)
{
    char line[400];
    size_t n_hidden = 0;
    size_t n_foreign = 0;
    size_t n_llc = 0;

    for (size_t k = 0; k < m->n_nodes; k++) {
        n_hidden += m->nodes[k].topology_known ? 0 : 1;
        n_foreign += m->nodes[k].is_this_system ? 0 : 1;
        n_llc += m->nodes[k].llc_plausible ? 0 : 1;
    }
    if (m->keys_disagree) {
        warn(m, "MPI's shared-memory groups and the machines' boot id + host name "
                "disagree on "
                "who is on one node: the coarser grouping is used");
    }
    if (n_hidden > 0) {
        (void)snprintf(
            line, sizeof line,
            "%zu of %zu nodes hide their topology: placement there is unknown, "
            "only the affinity mask is used",
            n_hidden, m->n_nodes);
        warn(m, line);
    }
    if (n_foreign > 0) {
        warn(m, "the topology is not this system's (HWLOC_XMLFILE, HWLOC_SYNTHETIC): "
                "placement is planned, not applied");
    }
    if (n_llc > 0) {
        (void)snprintf(line, sizeof line,
                       "%zu of %zu nodes hide their last-level cache (counted as "
                       "nothing) or claim an "
                       "absurd one (counted as 64 MiB per core)",
                       n_llc, m->n_nodes);
        warn(m, line);
    }
    if (m->n_classes > 1) {
        (void)snprintf(line, sizeof line,
                       "the nodes are of %zu kinds (topology, CPU model or usable CPUs "
                       "differ): compare nodes of one kind only",
                       m->n_classes);
        warn(m, line);
    }
}

static enum st_status share_tables(struct opening *o, struct st_error *err)
{
    struct st_machine *m = o->machine;
    struct st_text mine = {0};
    struct st_share share = {0};
    enum st_status rc = stm_agree(&m->world, write_mine(o, &mine, err), err);

    if (rc == ST_OK) {
        rc = st_share_bytes(&m->world, &mine, true, &share, err);
    }
    st_text_clear(&mine);
    if (rc == ST_OK) {
        rc = stm_agree(&m->world, read_all(m, &share, err), err);
    }
    st_share_clear(&share);
    if (rc == ST_OK) {
        write_warnings(m);
        m->topo = o->loaded.topo;
        o->loaded.topo = NULL;
    }
    return rc;
}

static enum st_status open_all(struct opening *o, struct st_error *err)
{
    struct st_machine *m = o->machine;
    const struct stm_comm *world = &m->world;
    char identity[sizeof m->nodes->boot_id + 1 + ST_HOST_SIZE];
    char boot_id[sizeof m->nodes->boot_id];
    char host[ST_HOST_SIZE];
    const char *fake = getenv("SEATRIAL_FAKE_NODES"); /* NOLINT(concurrency-mt-unsafe) */

    st_machine_identity(boot_id, sizeof boot_id, host, sizeof host);
    (void)snprintf(identity, sizeof identity, "%s %s", boot_id, host);
    enum st_status rc = st_nodes_find(world, identity, fake, &o->map, err);
    if (rc != ST_OK) {
        return rc;
    }
    rc = stm_agree(world, make_tables(o, err), err);
    if (rc != ST_OK) {
        return rc;
    }
    const uint32_t node = o->map.node[world->rank];
    const uint32_t real = o->map.real[world->rank];
    rc = stm_comm_split(world, (int)node, world->rank, &m->node_comm, err);
    if (rc == ST_OK) {
        rc = stm_comm_split(world, (int)real, world->rank, &o->real, err);
    }
    if (rc == ST_OK) {
        rc = load_nodes(o, err);
    }
    if (rc == ST_OK) {
        rc = spread_cpus(o, err);
    }
    if (rc == ST_OK) {
        rc = spread_numa(o, err);
    }
    if (rc == ST_OK) {
        rc = share_tables(o, err);
    }
    if (rc == ST_OK && m->fake_nodes && world->rank == 0) {
        (void)st_copy(m->fake_spec, sizeof m->fake_spec, fake);
    }
    return rc == ST_OK ? stm_bcast_bytes(world, m->fake_spec, sizeof m->fake_spec, err)
                       : rc;
}

enum st_status st_machine_open(const struct stm_comm *world, struct st_machine **out,
                               struct st_error *err)
{
    const double begin_s = now_s();
    struct opening o = {.machine = st_calloc(err, 1, sizeof *o.machine)};
    enum st_status rc = stm_agree(world, o.machine != NULL ? ST_OK : ST_ERR_MEMORY, err);

    if (rc == ST_OK) {
        o.machine->world = *world;
        o.machine->node_comm.handle = MPI_COMM_NULL;
        o.real.handle = MPI_COMM_NULL;
        rc = open_all(&o, err);
        stm_comm_free(&o.real);
    }
    st_node_map_clear(&o.map);
    st_loaded_clear(&o.loaded);
    st_cpus_clear(&o.all);
    st_free(o.inherited);
    if (rc != ST_OK) {
        st_machine_close(&o.machine);
        return rc;
    }
    o.machine->open_s = now_s() - begin_s;
    *out = o.machine;
    return ST_OK;
}

/* The leader's text to rank 0; both know that it comes. */
static enum st_status pass_text(const struct st_machine *m, size_t leader, char **text,
                                struct st_error *err)
{
    const int tag = STM_TAG_SETUP;
    const int rank = m->world.rank;
    int length = 0;
    enum st_status rc = ST_OK;

    if (leader == 0) {
        return ST_OK;
    }
    if ((size_t)rank == leader) {
        rc = stm_count(strlen(*text), &length, err);
    }
    rc = stm_agree(&m->world, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    if ((size_t)rank == leader) {
        STM_TRY(err, MPI_Send(&length, 1, MPI_INT, 0, tag, m->world.handle));
    } else if (rank == 0) {
        STM_TRY(err, MPI_Recv(&length, 1, MPI_INT, (int)leader, tag, m->world.handle,
                              MPI_STATUS_IGNORE));
        *text = st_calloc(err, (size_t)length + 1, 1);
        rc = *text != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    rc = stm_agree(&m->world, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    if ((size_t)rank == leader) {
        STM_TRY(err, MPI_Send(*text, length, MPI_CHAR, 0, tag, m->world.handle));
        st_free(*text);
        *text = NULL;
    } else if (rank == 0) {
        STM_TRY(err, MPI_Recv(*text, length, MPI_CHAR, (int)leader, tag, m->world.handle,
                              MPI_STATUS_IGNORE));
    }
    return ST_OK;
}

enum st_status st_machine_topology_xml(const struct st_machine *machine,
                                       size_t topology_class, char **xml,
                                       struct st_error *err)
{
    size_t k = 0;
    char *text = NULL;
    enum st_status rc = ST_OK;

    while (k < machine->n_nodes && machine->nodes[k].topology_class != topology_class) {
        k++;
    }
    if (k == machine->n_nodes) {
        return st_fail(err, ST_ERR_INTERNAL, "there is no topology class %zu",
                       topology_class);
    }
    const size_t leader = machine->nodes[k].leader;
    if ((size_t)machine->world.rank == leader) {
        text =
            machine->topo != NULL ? st_topo_xml(machine->topo, err) : st_strdup(err, "");
        rc = text != NULL ? ST_OK : err != NULL ? err->code : ST_ERR_TOPO;
    }
    rc = stm_agree(&machine->world, rc, err);
    if (rc == ST_OK) {
        rc = pass_text(machine, leader, &text, err);
    }
    if (rc != ST_OK) {
        st_free(text);
        return rc;
    }
    *xml = text;
    return ST_OK;
}
