#include "src/machine/machine.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/affinity.h"
#include "src/machine/cpus.h"
#include "src/machine/keep.h"
#include "src/machine/place.h"
#include "src/machine/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Layouts: who takes part in a step. Every rank plans its own node from the table of usable
 * CPUs (a pure function, so the ranks of a node agree without a message), says in one
 * allgather how many threads it will have, and from these numbers every rank builds the same
 * tables. The first ranks of a node are the active ones.
 */

/* One rank's word in the allgather. */
struct word {
    uint64_t n_threads; /* 0: sleeps */
    uint64_t llc_bytes; /* of its node */
    uint64_t oversubscribed;
};

/* What only the making needs. */
struct making {
    const struct st_machine *machine;
    const struct st_layout_request *request;
    struct st_layout *layout;
    size_t *n_wanted;              /* [n_nodes] */
    struct st_placement placement; /* of this rank's node; empty if it takes no part */
    struct word *words;            /* [n_ranks] */
    struct st_node_share *shares;  /* [n_nodes] */
};

static void making_clear(struct making *k)
{
    st_free(k->n_wanted);
    st_free(k->words);
    st_free(k->shares);
    st_placement_clear(&k->placement);
}

void st_layout_destroy(struct st_layout **layout)
{
    if (layout == NULL || *layout == NULL) {
        return;
    }
    struct st_layout *l = *layout;
    stm_comm_free(&l->group);
    stm_comm_free(&l->step);
    st_seats_free(l->n_seats, &l->seats);
    st_free(l->node_of_group_rank);
    st_free(l->thread_places);
    st_free(l->busy);
    st_free(l->active_ranks);
    st_free(l->active_group);
    st_free(l->active_node);
    st_free(l->active_threads);
    st_free(l);
    *layout = NULL;
}

/* Variables that decide binding outside this program, for messages. */
static void note_environment(struct st_error *err)
{
    static const char *const names[] = {"OMP_NUM_THREADS",
                                        "OMP_PROC_BIND",
                                        "OMP_PLACES",
                                        "GOMP_CPU_AFFINITY",
                                        "KMP_AFFINITY",
                                        "SLURM_CPU_BIND",
                                        "SLURM_CPUS_PER_TASK",
                                        "SLURM_DISTRIBUTION",
                                        "OMPI_MCA_hwloc_base_binding_policy",
                                        "OMPI_MCA_rmaps_base_mapping_policy",
                                        "PRTE_MCA_prte_bind_policy",
                                        "I_MPI_PIN",
                                        "I_MPI_PIN_DOMAIN",
                                        "MV2_ENABLE_AFFINITY"};
    bool any = false;

    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const char *value = getenv(names[i]); /* NOLINT(concurrency-mt-unsafe) */
        if (value != NULL) {
            (void)st_note(err, "%s%s=%s", any ? " " : ". In force: ", names[i], value);
            any = true;
        }
    }
}

/* Say on which node the plan failed, which CPUs there are, and what bound the ranks. */
static enum st_status plan_failed(const struct making *k, size_t node, enum st_status rc,
                                  struct st_error *err)
{
    if (rc == ST_ERR_STEP || rc == ST_ERR_LAUNCH) {
        (void)st_note(err, ". On node %zu (%s) the usable CPUs are %s: %s", node,
                      k->machine->nodes[node].host, k->machine->usable[node],
                      k->machine->usable_reason[node]);
        note_environment(err);
    }
    return rc;
}

/* ---- planning ---- */

static enum st_status share_nodes(struct making *k, struct st_error *err)
{
    const struct st_machine *m = k->machine;
    size_t *cores = st_calloc(err, m->n_nodes, sizeof *cores);
    size_t *started = st_calloc(err, m->n_nodes, sizeof *started);
    enum st_status rc = cores != NULL && started != NULL ? ST_OK : ST_ERR_MEMORY;

    k->n_wanted = st_calloc(err, m->n_nodes, sizeof *k->n_wanted);
    k->words = st_calloc(err, (size_t)m->world.n_ranks, sizeof *k->words);
    k->shares = st_calloc(err, m->n_nodes, sizeof *k->shares);
    if (k->n_wanted == NULL || k->words == NULL || k->shares == NULL) {
        rc = ST_ERR_MEMORY;
    }
    for (size_t i = 0; rc == ST_OK && i < m->n_nodes; i++) {
        cores[i] = m->nodes[i].n_usable_cores;
        started[i] = m->nodes[i].n_ranks;
    }
    if (rc == ST_OK) {
        rc = st_place_share(k->request, m->n_nodes, cores, started, k->n_wanted, err);
    }
    st_free(cores);
    st_free(started);
    return rc;
}

static enum st_status plan_own_node(struct making *k, struct word *word,
                                    struct st_error *err)
{
    const struct st_machine *m = k->machine;
    const size_t rank = (size_t)m->world.rank;
    const size_t node = m->ranks[rank].node;
    const size_t local = m->ranks[rank].local_rank;
    struct st_node_share share = {0};

    *word = (struct word){0};
    if (k->n_wanted[node] == 0) {
        return ST_OK;
    }
    enum st_status rc = ST_OK;
    if (k->request->policy == ST_POLICY_LAUNCHER) {
        const struct st_keep keep = {m, k->request, node, k->n_wanted[node]};
        rc = st_keep_plan(&keep, &k->placement, &share.llc_bytes, err);
    } else {
        rc = st_place_plan(m->cpus, k->request, m->nodes[node].n_ranks, k->n_wanted[node],
                           &k->placement, err);
        if (rc == ST_OK) {
            rc = st_shape_share(m->cpus, &k->placement, &share, err);
        }
    }
    if (rc != ST_OK) {
        return plan_failed(k, node, rc, err);
    }
    const struct st_placement *p = &k->placement;
    word->n_threads = local < p->n_ranks ? p->first[local + 1] - p->first[local] : 0;
    word->llc_bytes = share.llc_bytes;
    word->oversubscribed = p->oversubscribed ? 1 : 0;
    return ST_OK;
}

/* ---- tables, equal on all ranks ---- */

static void sum_shares(struct making *k)
{
    const struct st_machine *m = k->machine;

    for (size_t r = 0; r < (size_t)m->world.n_ranks; r++) {
        struct st_node_share *s = &k->shares[m->ranks[r].node];
        if (k->words[r].n_threads == 0) {
            continue;
        }
        s->n_ranks++;
        s->n_threads += k->words[r].n_threads;
        if (k->words[r].n_threads > s->max_threads) {
            s->max_threads = k->words[r].n_threads;
        }
        s->llc_bytes = k->words[r].llc_bytes;
        s->oversubscribed = s->oversubscribed || k->words[r].oversubscribed != 0;
    }
    for (size_t i = 0; i < m->n_nodes; i++) {
        k->shares[i].n_numa = m->nodes[i].n_numa;
        k->shares[i].memory_bytes =
            st_shape_memory(m->nodes[i].memory_bytes, m->nodes[i].rank_memory_bytes,
                            (size_t)k->shares[i].n_ranks);
        k->layout->n_active += (size_t)k->shares[i].n_ranks;
    }
}

/* Active ranks ordered by group, node, local rank. */
static enum st_status list_active(struct making *k, struct st_error *err)
{
    struct st_layout *l = k->layout;
    const struct st_machine *m = k->machine;
    const size_t n = l->n_active;
    size_t *next = st_calloc(err, m->n_nodes + 1, sizeof *next);

    l->active_ranks = st_calloc(err, n, sizeof *l->active_ranks);
    l->active_group = st_calloc(err, n, sizeof *l->active_group);
    l->active_node = st_calloc(err, n, sizeof *l->active_node);
    l->active_threads = st_calloc(err, n, sizeof *l->active_threads);
    if (next == NULL || l->active_ranks == NULL || l->active_group == NULL ||
        l->active_node == NULL || l->active_threads == NULL) {
        st_free(next);
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < m->n_nodes; i++) {
        next[i + 1] = next[i] + (size_t)k->shares[i].n_ranks;
    }
    size_t group = 0;
    for (size_t i = 0; i < m->n_nodes; i++) {
        for (size_t at = next[i]; at < next[i + 1]; at++) {
            l->active_node[at] = i;
            l->active_group[at] = k->request->nodes == ST_NODES_EACH ? group : 0;
        }
        group += k->shares[i].n_ranks > 0 ? 1 : 0;
    }
    for (size_t r = 0; r < (size_t)m->world.n_ranks; r++) { /* ascending local ranks */
        if (k->words[r].n_threads > 0) {
            const size_t at = next[m->ranks[r].node]++;
            l->active_ranks[at] = r;
            l->active_threads[at] = (size_t)k->words[r].n_threads;
        }
    }
    st_free(next);
    return ST_OK;
}

/* ---- this rank's part ---- */

static enum st_status make_seats(struct making *k, struct st_error *err)
{
    struct st_layout *l = k->layout;
    const struct st_machine *m = k->machine;
    const struct st_rank *me = &m->ranks[m->world.rank];
    const size_t first = k->placement.first[me->local_rank];
    const bool kept = k->request->policy == ST_POLICY_LAUNCHER;

    l->n_seats = k->placement.first[me->local_rank + 1] - first;
    l->seats = st_calloc(err, l->n_seats, sizeof *l->seats);
    if (l->seats == NULL) {
        l->n_seats = 0;
        return ST_ERR_MEMORY;
    }
    for (size_t t = 0; t < l->n_seats; t++) {
        struct st_seat *seat = &l->seats[t];
        char text[24];
        *seat = (struct st_seat){.rank = (size_t)m->world.rank,
                                 .thread = t,
                                 .node = me->node,
                                 .pu = -1,
                                 .core = SIZE_MAX,
                                 .l3 = SIZE_MAX,
                                 .numa = SIZE_MAX,
                                 .package = SIZE_MAX,
                                 .last_cpu = -1};
        size_t row = m->cpus->n;
        if (!kept) {
            row = k->placement.cpu[first + t];
            seat->pu = (long)m->cpus->row[row].os;
            (void)snprintf(text, sizeof text, "%ld", seat->pu);
        } else { /* a mask of one CPU still tells where the thread sits */
            uint64_t os = 0;
            if (st_parse_u64(me->inherited, &os)) {
                row = st_cpus_find(m->cpus, (unsigned)os);
            }
        }
        seat->planned = st_strdup(err, kept ? me->inherited : text);
        if (seat->planned == NULL) {
            return ST_ERR_MEMORY;
        }
        if (row < m->cpus->n && m->cpus->known) {
            const struct st_cpu *cpu = &m->cpus->row[row];
            seat->core = cpu->core;
            seat->l3 = cpu->l3 == ST_CPU_UNKNOWN ? SIZE_MAX : cpu->l3;
            seat->numa = cpu->numa == ST_CPU_UNKNOWN ? SIZE_MAX : cpu->numa;
            seat->package = cpu->package == ST_CPU_UNKNOWN ? SIZE_MAX : cpu->package;
        }
    }
    return ST_OK;
}

/* What a benchmark may know of the node and of where its threads sit. */
static enum st_status describe_place(struct making *k, struct st_error *err)
{
    struct st_layout *l = k->layout;
    const struct st_machine *m = k->machine;
    const struct st_node *node = &m->nodes[m->ranks[m->world.rank].node];

    l->thread_places = st_calloc(err, l->n_seats, sizeof *l->thread_places);
    if (l->thread_places == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t t = 0; t < l->n_seats; t++) {
        const struct st_seat *seat = &l->seats[t];
        l->thread_places[t] = (struct st_thread_place){.pu = seat->pu,
                                                       .core = seat->core,
                                                       .l3 = seat->l3,
                                                       .numa = seat->numa,
                                                       .package = seat->package};
    }
    l->place.numa = l->seats[0].numa != SIZE_MAX ? l->seats[0].numa : 0;
    l->place.n_numa = m->n_numa;
    l->place.numa_nodes = m->numa;
    l->place.threads = l->thread_places;
    l->place.l1d_bytes = node->l1d_bytes;
    l->place.l2_bytes = node->l2_bytes;
    l->place.l3_bytes = node->l3_bytes;
    l->place.llc_plausible = node->llc_plausible;
    return ST_OK;
}

/* Position of this rank among the active ones, and its place in the group. */
static enum st_status make_place(struct making *k, size_t *position, struct st_error *err)
{
    struct st_layout *l = k->layout;
    const struct st_machine *m = k->machine;
    size_t at = 0;

    while (at < l->n_active && l->active_ranks[at] != (size_t)m->world.rank) {
        at++;
    }
    *position = at;
    if (at == l->n_active) {
        return ST_OK;
    }
    size_t begin = at;
    while (begin > 0 && l->active_group[begin - 1] == l->active_group[at]) {
        begin--;
    }
    size_t n = 0;
    while (begin + n < l->n_active && l->active_group[begin + n] == l->active_group[at]) {
        n++;
    }
    l->node_of_group_rank = st_calloc(err, n, sizeof *l->node_of_group_rank);
    if (l->node_of_group_rank == NULL) {
        return ST_ERR_MEMORY;
    }
    size_t node = 0;
    for (size_t i = 0; i < n; i++) {
        node +=
            i > 0 && l->active_node[begin + i] != l->active_node[begin + i - 1] ? 1 : 0;
        l->node_of_group_rank[i] = node;
    }
    const size_t own = l->active_node[at];
    const struct st_node_share *share = &k->shares[own];
    l->active = true;
    l->group_index = l->active_group[at];
    l->place =
        (struct st_place_info){.node = l->node_of_group_rank[at - begin],
                               .n_nodes = node + 1,
                               .local_rank = m->ranks[m->world.rank].local_rank,
                               .n_local_ranks = (size_t)share->n_ranks,
                               .node_of = l->node_of_group_rank,
                               .n_threads = l->active_threads[at],
                               .llc_bytes = share->llc_bytes,
                               .memory_bytes = share->memory_bytes / share->n_ranks,
                               .oversubscribed = l->shape.oversubscribed};
    const enum st_status rc = make_seats(k, err);
    return rc == ST_OK ? describe_place(k, err) : rc;
}

/* The cores of this rank's node that no thread of the step sits on. */
static enum st_status find_free(const struct making *k, struct st_error *err)
{
    const struct st_machine *m = k->machine;
    const struct st_placement *p = &k->placement;
    const size_t node = m->ranks[m->world.rank].node;
    hwloc_bitmap_t left = st_bitmap_new(err);

    if (left == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t row = 0; row < m->cpus->n; row++) {
        bool used = false;
        for (size_t s = 0; s < p->n_seats; s++) {
            used = used || m->cpus->row[p->cpu[s]].core == m->cpus->row[row].core;
        }
        if (!used) {
            (void)hwloc_bitmap_set(left, m->cpus->row[row].os);
        }
    }
    enum st_status rc = ST_OK;
    if (hwloc_bitmap_iszero(left) != 0) {
        rc = st_fail(err, ST_ERR_STEP,
                     "`others: busy`: the step uses every core of node %zu (%s), so its "
                     "other ranks would sit on cores that are measured; leave some free "
                     "or write `others: idle`",
                     node, m->nodes[node].host);
    } else {
        k->layout->busy = st_cpu_list(left, err);
        rc = k->layout->busy != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    hwloc_bitmap_free(left);
    return rc;
}

static void add_note(struct st_layout *l, const char *text)
{
    const size_t used = strlen(l->note);

    if (text[0] != '\0') {
        (void)snprintf(l->note + used, sizeof l->note - used, "%s%s",
                       used > 0 ? "; " : "", text);
    }
}

static void make_note(struct making *k)
{
    const struct st_machine *m = k->machine;
    struct st_layout *l = k->layout;
    bool foreign = false;
    bool unknown = false;
    bool absurd = false;

    for (size_t i = 0; i < m->n_nodes; i++) {
        const bool part = k->shares[i].n_ranks > 0;
        foreign = foreign || (part && !m->nodes[i].is_this_system);
        unknown = unknown || (part && !m->nodes[i].topology_known);
        absurd = absurd || (part && !m->nodes[i].llc_plausible);
    }
    l->foreign = foreign;
    l->applied = !foreign && k->request->policy == ST_POLICY_SEATRIAL;
    if (foreign) {
        add_note(l, "planned, not applied (topology is not this system)");
    }
    if (unknown) {
        add_note(l, "placement unknown (topology hidden, affinity mask only)");
    }
    if (k->request->policy == ST_POLICY_LAUNCHER) {
        add_note(l, "the launcher's masks are kept");
    }
    add_note(l, k->placement.note);
    if (absurd) {
        add_note(l, "last-level cache hidden or absurd: capped");
    }
}

/* Step and group communicators. Collective over the world. */
static enum st_status make_comms(struct making *k, size_t position, struct st_error *err)
{
    struct st_layout *l = k->layout;
    int key = 0;
    enum st_status rc =
        stm_agree(&k->machine->world, stm_count(position, &key, err), err);

    if (rc == ST_OK) {
        rc = stm_comm_split(&k->machine->world, l->active ? 0 : MPI_UNDEFINED, key,
                            &l->step, err);
    }
    if (rc == ST_OK) {
        rc = stm_comm_split(&k->machine->world,
                            l->active ? (int)l->group_index : MPI_UNDEFINED, key,
                            &l->group, err);
    }
    return rc;
}

static enum st_status make(struct making *k, struct st_error *err)
{
    const struct stm_comm *world = &k->machine->world;
    struct st_layout *l = k->layout;
    struct word word = {0};
    size_t position = 0;
    enum st_status rc = share_nodes(k, err);

    if (rc == ST_OK) {
        rc = plan_own_node(k, &word, err);
    }
    rc = stm_agree(world, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    const int count = (int)(sizeof word / sizeof(uint64_t));
    STM_TRY(err, MPI_Allgather(&word, count, MPI_UINT64_T, k->words, count, MPI_UINT64_T,
                               world->handle));
    sum_shares(k);
    l->shape =
        st_shape_of(k->machine->n_nodes, k->shares, k->request->nodes == ST_NODES_EACH);
    l->n_groups = l->shape.n_groups;
    rc = list_active(k, err);
    if (rc == ST_OK) {
        rc = make_place(k, &position, err);
    }
    if (rc == ST_OK && k->request->others == ST_OTHERS_BUSY && !l->active) {
        rc = find_free(k, err);
    }
    rc = stm_agree(world, rc, err);
    if (rc != ST_OK) {
        return rc;
    }
    make_note(k);
    rc = make_comms(k, position, err);
    return rc == ST_OK ? stm_bcast_bytes(world, l->note, sizeof l->note, err) : rc;
}

/* Local over shared tables: all ranks find the same. */
static enum st_status refuse_crowd(const struct st_machine *m,
                                   const struct st_layout_request *request,
                                   struct st_error *err)
{
    for (size_t i = 0; !m->fake_nodes && i < m->n_nodes; i++) {
        const struct st_node *node = &m->nodes[i];
        if (st_shape_crowded(request, node->n_ranks, node->n_usable_pus)) {
            (void)st_fail(
                err, ST_ERR_LAUNCH,
                "stacked launch: %zu ranks were started on node %zu (%s), which "
                "has %zu usable hardware thread%s (CPUs %s: %s). Start one rank "
                "per core, or say how many take part (`ranks_per_node: N`), or "
                "write `oversubscribe: yes`",
                node->n_ranks, i, node->host, node->n_usable_pus,
                node->n_usable_pus == 1 ? "" : "s", m->usable[i], m->usable_reason[i]);
            note_environment(err);
            return err->code;
        }
    }
    return ST_OK;
}

enum st_status st_layout_create(const struct st_machine *machine,
                                const struct st_layout_request *request,
                                struct st_layout **out, struct st_error *err)
{
    struct making k = {.machine = machine, .request = request};
    enum st_status rc = refuse_crowd(machine, request, err);

    if (rc != ST_OK) {
        return rc;
    }
    k.layout = st_calloc(err, 1, sizeof *k.layout);
    rc = stm_agree(&machine->world, k.layout != NULL ? ST_OK : ST_ERR_MEMORY, err);
    if (rc == ST_OK) {
        k.layout->step.handle = MPI_COMM_NULL;
        k.layout->group.handle = MPI_COMM_NULL;
        k.layout->step.rank = -1;
        k.layout->group.rank = -1;
        rc = make(&k, err);
    }
    making_clear(&k);
    if (rc != ST_OK) {
        st_layout_destroy(&k.layout);
        return rc;
    }
    *out = k.layout;
    return ST_OK;
}
