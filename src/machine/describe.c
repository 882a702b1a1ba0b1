#include "src/machine/machine.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/machine/share.h"
#include "src/machine/topo.h"

#include <stdio.h>
#include <string.h>

/*
 * The text of `seatrial topology`: lstopo for the job. Each node's leader describes its
 * caches, NUMA nodes and network devices, which only it knows; rank 0 sets that between the
 * node's header and the rows of who sits where.
 */

/* "1 package", "2 packages" */
static void add_count(struct st_text *text, size_t n, const char *word)
{
    st_text_add(text, "%zu %s%s", n, word, n == 1 ? "" : "s");
}

static void add_bytes(struct st_text *text, uint64_t bytes)
{
    char out[48];

    st_text_add(text, "%s", st_format_quantity(out, sizeof out, (double)bytes, "byte"));
}

/* Ranks of a node as ranges: "0-3,8". */
static void add_ranks(struct st_text *text, const struct st_machine *m, size_t node)
{
    size_t last = SIZE_MAX;
    size_t begin = SIZE_MAX;
    const char *comma = "";

    for (size_t r = 0; r <= (size_t)m->world.n_ranks; r++) {
        const bool in = r < (size_t)m->world.n_ranks && m->ranks[r].node == node;
        if (in && begin == SIZE_MAX) {
            begin = r;
        }
        if (!in && begin != SIZE_MAX) {
            st_text_add(text, last > begin ? "%s%zu-%zu" : "%s%zu", comma, begin, last);
            comma = ",";
            begin = SIZE_MAX;
        }
        last = r;
    }
}

static const char *fact(const struct st_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_facts; i++) {
        if (strcmp(node->facts[i].name, name) == 0) {
            return node->facts[i].value;
        }
    }
    return "unknown";
}

static void add_machine_line(struct st_text *text, const struct st_node *node)
{
    st_text_add(text, "  ");
    if (!node->topology_known) {
        st_text_add(text, "topology unknown (hidden): only the affinity mask is known\n");
        return;
    }
    add_count(text, node->n_packages, "package");
    st_text_add(text, ", ");
    add_count(text, node->n_numa, "NUMA node");
    if (node->n_numa_memory_only > 0) {
        st_text_add(text, " (%zu memory-only)", node->n_numa_memory_only);
    }
    st_text_add(text, ", ");
    add_count(text, node->n_cores, "core");
    st_text_add(text, ", ");
    add_count(text, node->n_pus, "hardware thread");
    st_text_add(text, ": %s\n", fact(node, "cpu_model"));
    if (!node->is_this_system) {
        st_text_add(text,
                    "  NOT THIS SYSTEM (HWLOC_XMLFILE or HWLOC_SYNTHETIC): planned, "
                    "not applied\n");
    }
}

static void add_node(struct st_text *text, const struct st_machine *m, size_t k,
                     const char *detail)
{
    const struct st_node *node = &m->nodes[k];

    st_text_add(text, "node %zu: %s, ", k, node->host);
    add_count(text, node->n_ranks, "rank");
    st_text_add(text, " (");
    add_ranks(text, m, k);
    st_text_add(text, ")%s\n", m->fake_nodes ? ", FAKE node" : "");
    add_machine_line(text, node);
    st_text_add(text, "  usable: CPUs %s (", m->usable[k]);
    add_count(text, node->n_usable_cores, "core");
    st_text_add(text, ", ");
    add_count(text, node->n_usable_pus, "hardware thread");
    if (node->n_half_cores > 0) {
        st_text_add(text, "; ");
        add_count(text, node->n_half_cores, "half core");
        st_text_add(text, ", of which some hardware threads are not usable");
    }
    st_text_add(text, "); %s\n  memory: ", m->usable_reason[k]);
    if (node->memory_bytes == UINT64_MAX) {
        st_text_add(text, "unknown");
    } else {
        add_bytes(text, node->memory_bytes);
        st_text_add(text, " may be used (limit: %s)", node->memory_limit);
    }
    st_text_add(text, "\n%s", detail);
}

static void add_index(struct st_text *text, size_t index)
{
    if (index == SIZE_MAX) {
        st_text_add(text, " %7s", "?");
    } else {
        st_text_add(text, " %7zu", index);
    }
}

static void add_rows(struct st_text *text, const struct st_machine *m, size_t node,
                     size_t n_seats, const struct st_seat *seats)
{
    bool any = false;

    for (size_t i = 0; i < n_seats; i++) {
        const struct st_seat *s = &seats[i];
        if (s->node != node) {
            continue;
        }
        if (!any) {
            st_text_add(text, "  %6s %6s %8s %7s %7s %7s %7s  %-14s %s\n", "rank",
                        "thread", "CPU", "core", "L3", "NUMA", "package", "proof",
                        "inherited");
            any = true;
        }
        st_text_add(text, "  %6zu %6zu %8s", s->rank, s->thread, s->planned);
        add_index(text, s->core);
        add_index(text, s->l3);
        add_index(text, s->numa);
        add_index(text, s->package);
        char proof[40];
        if (s->verified == NULL) {
            (void)snprintf(proof, sizeof proof, "planned only");
        } else {
            (void)snprintf(proof, sizeof proof, "%s, on %ld", s->proved ? "yes" : "NO",
                           s->last_cpu);
        }
        st_text_add(text, "  %-14s %s\n", proof, m->ranks[s->rank].inherited);
    }
}

static void add_sleepers(struct st_text *text, const struct st_machine *m, size_t node,
                         const struct st_layout *layout)
{
    size_t n = m->nodes[node].n_ranks;

    for (size_t i = 0; i < layout->n_active; i++) {
        n -= layout->active_node[i] == node ? 1 : 0;
    }
    if (n > 0) {
        st_text_add(text, "  ");
        add_count(text, n, "rank");
        st_text_add(text, " without a seat here\n");
    }
}

static void add_inherited(struct st_text *text, const struct st_machine *m, size_t node)
{
    for (size_t r = 0; r < (size_t)m->world.n_ranks; r++) {
        if (m->ranks[r].node == node) {
            st_text_add(text, "  rank %zu inherited CPUs %s\n", r, m->ranks[r].inherited);
        }
    }
}

static void add_classes(struct st_text *text, const struct st_machine *m)
{
    for (size_t c = 0; m->n_classes > 1 && c < m->n_classes; c++) {
        const char *comma = "";
        st_text_add(text, "kind %zu: node", c);
        for (size_t k = 0; k < m->n_nodes; k++) {
            if (m->nodes[k].topology_class == c) {
                st_text_add(text, "%s %zu", comma, k);
                comma = ",";
            }
        }
        st_text_add(text, "\n");
    }
}

/* What rank 0 has gathered. */
struct gathered {
    size_t n_seats;
    struct st_seat *seats;
    struct st_share details;
};

/* Rank 0: everything it has, into one text. */
static enum st_status compose(const struct st_machine *m, const struct st_layout *layout,
                              const struct gathered *got, char **out,
                              struct st_error *err)
{
    struct st_text text = {0};

    add_count(&text, m->n_nodes, "node");
    st_text_add(&text, ", ");
    add_count(&text, (size_t)m->world.n_ranks, "rank");
    if (m->fake_nodes) {
        st_text_add(&text, ", SEATRIAL_FAKE_NODES=%s", m->fake_spec);
    }
    st_text_add(&text, ", opened in %.3f s\n", m->open_s);
    if (m->warnings[0] != '\0') {
        st_text_add(&text, "warning: ");
        for (const char *at = m->warnings; *at != '\0'; at++) {
            st_text_add(&text, *at == '\n' ? "\nwarning: " : "%c", *at);
        }
        st_text_add(&text, "\n");
    }
    if (layout != NULL && layout->note[0] != '\0') {
        st_text_add(&text, "layout: %s\n", layout->note);
    }
    add_classes(&text, m);
    for (size_t k = 0; k < m->n_nodes; k++) {
        struct st_reader reader = st_reader_of(&got->details, m->nodes[k].leader);
        st_text_add(&text, "\n");
        add_node(&text, m, k, st_reader_text(&reader));
        if (layout != NULL) {
            add_rows(&text, m, k, got->n_seats, got->seats);
            add_sleepers(&text, m, k, layout);
        } else {
            add_inherited(&text, m, k);
        }
    }
    if (text.failed) {
        st_text_clear(&text);
        return st_fail(err, ST_ERR_MEMORY, "no memory for the topology's text");
    }
    *out =
        text.data; /* handed over: st_text grows by st_resize(), so st_free() frees it */
    return ST_OK;
}

/* Leader: what its topology says beyond the table; "" elsewhere. */
static enum st_status write_detail(const struct st_machine *m, struct st_text *out,
                                   struct st_error *err)
{
    struct st_text detail = {0};
    enum st_status rc = ST_OK;

    if (m->topo != NULL) {
        st_topo_describe(m->topo, &detail);
        rc = detail.failed ? st_fail(err, ST_ERR_MEMORY, "no memory for a node's text")
                           : ST_OK;
    }
    st_write_text(out, st_text_get(&detail));
    st_text_clear(&detail);
    return rc;
}

enum st_status st_machine_describe(const struct st_machine *machine,
                                   const struct st_layout *layout, char **text,
                                   struct st_error *err)
{
    struct st_text mine = {0};
    struct gathered got = {0};
    char *out = NULL;
    enum st_status rc =
        stm_agree(&machine->world, write_detail(machine, &mine, err), err);

    if (rc == ST_OK) {
        rc = st_share_bytes(&machine->world, &mine, false, &got.details, err);
    }
    st_text_clear(&mine);
    if (rc == ST_OK && layout != NULL) { /* given on all ranks or on none */
        rc = st_layout_gather(machine, layout, &got.n_seats, &got.seats, err);
    }
    if (rc == ST_OK) {
        if (machine->world.rank == 0) {
            rc = compose(machine, layout, &got, &out, err);
        }
        rc = stm_agree(&machine->world, rc, err);
    }
    st_seats_free(got.n_seats, &got.seats);
    st_share_clear(&got.details);
    if (rc != ST_OK) {
        st_free(out);
        return rc;
    }
    *text = out;
    return ST_OK;
}
