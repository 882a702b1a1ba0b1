#include "src/machine/load.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/affinity.h"
#include "src/machine/facts.h"
#include "src/machine/memory_limit.h"
#include "src/machine/usable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * One process, one node. A topology that cannot be loaded is a fact to report, not a reason
 * to stop: placement then rests on the affinity masks alone and is called unknown.
 */

static const char *environment(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe): before any thread exists */
}

void st_machine_identity(char *boot_id, size_t boot_size, char *host, size_t host_size)
{
    char *text = st_read_file(NULL, "/proc/sys/kernel/random/boot_id", 64, NULL);

    (void)st_copy(boot_id, boot_size, text != NULL ? text : "unknown");
    st_free(text);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    if (gethostname(host, host_size) != 0 || host[0] == '\0') {
        (void)st_copy(host, host_size, "unknown-host");
    }
    host[host_size - 1] = '\0';
}

void st_loaded_clear(struct st_loaded *loaded)
{
    st_topo_close(&loaded->topo);
    st_cpus_clear(&loaded->cpus);
    st_free(loaded->numa);
    st_free(loaded->usable);
    st_free(loaded->signature);
    *loaded = (struct st_loaded){0};
}

static enum st_status find_usable(struct st_loaded *loaded,
                                  hwloc_const_bitmap_t inherited, hwloc_bitmap_t usable,
                                  struct st_error *err)
{
    char parent[32];
    hwloc_bitmap_t parent_mask = st_bitmap_new(err);

    if (parent_mask == NULL) {
        return ST_ERR_MEMORY;
    }
    struct st_usable_input input = {
        .this_system = loaded->topo == NULL || loaded->topo->this_system,
        .topology_known = loaded->topo != NULL,
        .allowed = loaded->topo != NULL ? st_topo_allowed(loaded->topo) : inherited,
        .inherited = inherited,
        .confined = loaded->topo != NULL && st_topo_confined(loaded->topo)};
    st_usable_look(&input, environment, parent, parent_mask);
    if (loaded->topo == NULL && input.parent_mask != NULL) {
        input.allowed = input.parent_mask; /* nothing else states what the node allows */
    }
    const enum st_status rc = st_usable_rule(&input, usable, loaded->reason, err);
    hwloc_bitmap_free(parent_mask);
    return rc;
}

/* One CPU of each home: where frequency and governor are read. */
static enum st_status sample_cpus(const struct st_cpus *cpus, hwloc_bitmap_t sample,
                                  struct st_error *err)
{
    uint32_t next = 0; /* homes are numbered by first appearance */

    for (size_t i = 0; i < cpus->n; i++) {
        if (cpus->row[i].home != next) {
            continue;
        }
        if (hwloc_bitmap_set(sample, cpus->row[i].os) != 0) {
            return st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
        }
        next++;
    }
    return ST_OK;
}

static void fill_counts(struct st_loaded *loaded, hwloc_const_bitmap_t usable)
{
    struct st_node *node = &loaded->node;
    struct st_topo_counts c = {.n_cores = loaded->cpus.n, .n_pus = loaded->cpus.n};

    if (loaded->topo != NULL) {
        st_topo_counts(loaded->topo, usable, &c);
    }
    node->topology_known = loaded->topo != NULL;
    node->is_this_system = loaded->topo == NULL || loaded->topo->this_system;
    node->n_packages = c.n_packages;
    node->n_numa = c.n_numa;
    node->n_numa_memory_only = c.n_numa_memory_only;
    node->n_l3 = c.n_l3;
    node->n_cores = c.n_cores;
    node->n_pus = c.n_pus;
    node->n_half_cores = c.n_half_cores;
    node->l1d_bytes = c.l1d_bytes;
    node->l2_bytes = c.l2_bytes;
    node->l3_bytes = c.l3_bytes;
    node->llc_plausible = c.llc_plausible;
    node->n_usable_cores = loaded->cpus.n_cores;
    node->n_usable_pus = loaded->cpus.n;
}

static void fill_memory(struct st_node *node, size_t n_ranks)
{
    struct st_memory_limit limit = st_memory_limit_read("", environment);

    node->rank_memory_bytes = st_memory_rlimit();
    st_memory_limit_rank(&limit, node->rank_memory_bytes, n_ranks);
    node->memory_bytes = limit.bytes;
    (void)st_copy(node->memory_limit, sizeof node->memory_limit, limit.limit);
}

static char *signature_of(const struct st_loaded *loaded, struct st_error *err)
{
    char text[64];

    if (loaded->topo != NULL) {
        return st_topo_signature(loaded->topo, &loaded->cpus, err);
    }
    (void)snprintf(text, sizeof text, "unknown topology, %zu CPUs", loaded->cpus.n);
    return st_strdup(err, text);
}

static enum st_status fill(struct st_loaded *loaded, hwloc_const_bitmap_t usable,
                           size_t n_ranks, struct st_error *err)
{
    hwloc_bitmap_t sample = st_bitmap_new(err);
    enum st_status rc = sample != NULL ? ST_OK : ST_ERR_MEMORY;

    if (rc == ST_OK && loaded->topo != NULL) {
        rc = st_topo_cpus(loaded->topo, usable, &loaded->cpus, err);
    } else if (rc == ST_OK) {
        rc = st_cpus_from_mask(usable, &loaded->cpus, err);
    }
    if (rc == ST_OK && loaded->topo != NULL) {
        rc = st_topo_numa(loaded->topo, &loaded->n_numa, &loaded->numa, err);
    }
    if (rc == ST_OK) {
        rc = sample_cpus(&loaded->cpus, sample, err);
    }
    if (rc == ST_OK) {
        fill_counts(loaded, usable);
        fill_memory(&loaded->node, n_ranks);
        st_machine_identity(loaded->node.boot_id, sizeof loaded->node.boot_id,
                            loaded->node.host, sizeof loaded->node.host);
        /* the state of this system, also when the topology is another's: it is what runs */
        const char *model = loaded->topo != NULL ? st_topo_cpu_model(loaded->topo) : NULL;
        if (model == NULL && loaded->topo != NULL && !loaded->topo->this_system) {
            model = "unknown"; /* not the model of the system that happens to run this */
        }
        st_facts_read("", sample, model, &loaded->node);
        st_clock_quality(&loaded->node.clock_step_s, &loaded->node.clock_cost_s);
        loaded->usable = st_cpu_list(usable, err);
        loaded->signature = signature_of(loaded, err);
        rc = loaded->usable != NULL && loaded->signature != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    hwloc_bitmap_free(sample);
    return rc;
}

/* hwloc takes this system in silence if it cannot read what its variables name; people would
 * believe a plan for another machine. */
static enum st_status check_pretended(const struct st_topo *topo, struct st_error *err)
{
    static const char *const names[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC"};

    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const char *value = environment(names[i]);
        if (value != NULL && topo->this_system &&
            environment("HWLOC_THISSYSTEM") == NULL) {
            return st_fail(err, ST_ERR_USAGE, "hwloc cannot use %s=%s", names[i], value);
        }
    }
    return ST_OK;
}

enum st_status st_load_node(hwloc_const_bitmap_t inherited, size_t n_ranks,
                            struct st_loaded *out, struct st_error *err)
{
    struct st_loaded *loaded = st_calloc(err, 1, sizeof *loaded);
    hwloc_bitmap_t usable = st_bitmap_new(err);
    struct st_error why = {0};
    enum st_status rc = loaded != NULL && usable != NULL ? ST_OK : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        rc = st_topo_open(ST_TOPO_SYSTEM, NULL, &loaded->topo, &why);
        if (rc == ST_ERR_TOPO) {
            rc = ST_OK; /* go on with the affinity mask */
        } else if (rc != ST_OK) {
            (void)st_fail(err, rc, "%s", why.text);
        } else {
            rc = check_pretended(loaded->topo, err);
        }
    }
    if (rc == ST_OK) {
        rc = find_usable(loaded, inherited, usable, err);
    }
    if (rc == ST_OK) {
        rc = fill(loaded, usable, n_ranks, err);
    }
    hwloc_bitmap_free(usable);
    if (rc == ST_OK) {
        *out = *loaded;
    } else if (loaded != NULL) {
        st_loaded_clear(loaded);
    }
    st_free(loaded);
    return rc;
}
