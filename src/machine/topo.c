#include "src/machine/topo.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/affinity.h"
#include "src/machine/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * The topology, through hwloc and nothing else. Disallowed CPUs are kept in the topology, so
 * that "of the whole machine" and "half cores" can be told; what may be used is always the
 * intersection with the allowed set. NUMA nodes are memory objects in hwloc 2 and no
 * partition of the cores: on flat-mode HBM machines two nodes share the same cores, so each
 * CPU gets one home, its nearest ordinary memory.
 */

/* hwloc loads without its Linux part when /sys is out of reach; what it then makes of CPUID
 * knows neither cgroups nor NUMA nodes. */
static bool sys_is_hidden(hwloc_topology_t hw)
{
    const hwloc_obj_t root = hwloc_get_root_obj(hw);

    for (unsigned i = 0; i < root->infos_count; i++) {
        if (strcmp(root->infos[i].name, "Backend") == 0 &&
            (strcmp(root->infos[i].value, "Linux") == 0 ||
             strcmp(root->infos[i].value, "Synthetic") == 0)) {
            return false;
        }
    }
    return true;
}

static int set_source(hwloc_topology_t hw, enum st_topo_source source, const char *text)
{
    int rc = 0;

    switch (source) {
    case ST_TOPO_SYSTEM:
        break;
    case ST_TOPO_XML_FILE:
        rc = hwloc_topology_set_xml(hw, text);
        break;
    case ST_TOPO_XML_TEXT:
        rc = hwloc_topology_set_xmlbuffer(hw, text, (int)strlen(text) + 1);
        break;
    case ST_TOPO_SYNTHETIC:
        rc = hwloc_topology_set_synthetic(hw, text);
        break;
    }
    return rc;
}

enum st_status st_topo_open(enum st_topo_source source, const char *text,
                            struct st_topo **out, struct st_error *err)
{
    struct st_topo *t = st_calloc(err, 1, sizeof *t);

    if (t == NULL) {
        return ST_ERR_MEMORY;
    }
    if (hwloc_topology_init(&t->hw) != 0) {
        t->hw = NULL;
        st_topo_close(&t);
        return st_fail(err, ST_ERR_TOPO, "hwloc cannot start");
    }
    if (set_source(t->hw, source, text) != 0 ||
        hwloc_topology_set_flags(t->hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_set_io_types_filter(t->hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) !=
            0 ||
        hwloc_topology_load(t->hw) != 0) {
        const int why = errno;
        st_topo_close(&t);
        return st_fail(err, ST_ERR_TOPO, "hwloc cannot load %s: %s",
                       text != NULL ? text : "the topology of this system",
                       strerror(why));
    }
    t->this_system = hwloc_topology_is_thissystem(t->hw) != 0;
    if (source == ST_TOPO_SYSTEM && t->this_system && sys_is_hidden(t->hw)) {
        st_topo_close(&t);
        return st_fail(err, ST_ERR_TOPO, "/sys is hidden from hwloc");
    }
    *out = t;
    return ST_OK;
}

void st_topo_close(struct st_topo **topo)
{
    if (topo == NULL || *topo == NULL) {
        return;
    }
    if ((*topo)->hw != NULL) {
        hwloc_topology_destroy((*topo)->hw);
    }
    st_free(*topo);
    *topo = NULL;
}

hwloc_const_bitmap_t st_topo_allowed(const struct st_topo *topo)
{
    return hwloc_topology_get_allowed_cpuset(topo->hw);
}

bool st_topo_confined(const struct st_topo *topo)
{
    return !hwloc_bitmap_isincluded(hwloc_get_root_obj(topo->hw)->cpuset,
                                    st_topo_allowed(topo));
}

/* A is the nearer home: fewer CPUs share it, ordinary memory before HBM, device or CXL memory
 * (those carry a subtype), then the lower number. */
static bool nearer(const struct hwloc_obj *a, const struct hwloc_obj *b)
{
    const int weight_a = hwloc_bitmap_weight(a->cpuset);
    const int weight_b = hwloc_bitmap_weight(b->cpuset);

    if (weight_a != weight_b) {
        return weight_a < weight_b;
    }
    if ((a->subtype == NULL) != (b->subtype == NULL)) {
        return a->subtype == NULL;
    }
    return a->os_index < b->os_index;
}

static hwloc_obj_t home_numa(hwloc_topology_t hw, unsigned os)
{
    hwloc_obj_t best = NULL;
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        if (hwloc_bitmap_isset(node->cpuset, os) &&
            (best == NULL || nearer(node, best))) {
            best = node;
        }
    }
    return best;
}

static size_t cores_inside(hwloc_topology_t hw, hwloc_const_bitmap_t set)
{
    int n = hwloc_get_nbobjs_inside_cpuset_by_type(hw, set, HWLOC_OBJ_CORE);

    if (n <= 0) { /* no cores in this topology: each PU counts as one */
        n = hwloc_bitmap_weight(set);
    }
    return n > 0 ? (size_t)n : 0;
}

static uint32_t index_of(const struct hwloc_obj *object)
{
    return object != NULL ? object->logical_index : ST_CPU_UNKNOWN;
}

static void fill_row(const struct st_topo *topo, hwloc_obj_t pu, struct st_cpu *row)
{
    const hwloc_topology_t hw = topo->hw;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_CORE, pu);
    const hwloc_obj_t l2 = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_L2CACHE, pu);
    const hwloc_obj_t l3 = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_L3CACHE, pu);
    bool plausible = true;

    *row = (struct st_cpu){
        .os = pu->os_index,
        .core = core != NULL ? core->logical_index : pu->logical_index,
        .l2 = index_of(l2),
        .l3 = index_of(l3),
        .numa = index_of(home_numa(hw, pu->os_index)),
        .package = index_of(hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_PACKAGE, pu)),
        .l2_bytes = l2 != NULL ? l2->attr->cache.size : 0,
        .l3_bytes = l3 != NULL ? st_llc_trust(l3->attr->cache.size,
                                              cores_inside(hw, l3->cpuset), &plausible)
                               : 0};
}

enum st_status st_topo_cpus(const struct st_topo *topo, hwloc_const_bitmap_t usable,
                            struct st_cpus *out, struct st_error *err)
{
    const int n_all = hwloc_get_nbobjs_by_type(topo->hw, HWLOC_OBJ_PU);
    const int n_kinds = hwloc_cpukinds_get_nr(topo->hw, 0);
    struct st_cpus cpus = {.known = true,
                           .this_system = topo->this_system,
                           .n_kinds = n_kinds > 1 ? (size_t)n_kinds : 1};

    cpus.row = st_calloc(err, n_all > 0 ? (size_t)n_all : 0, sizeof *cpus.row);
    if (cpus.row == NULL) {
        return ST_ERR_MEMORY;
    }
    hwloc_obj_t pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(topo->hw, HWLOC_OBJ_PU, pu)) != NULL) {
        if (hwloc_bitmap_isset(usable, pu->os_index)) {
            fill_row(topo, pu, &cpus.row[cpus.n++]);
        }
    }
    st_cpus_index(&cpus);
    *out = cpus;
    return ST_OK;
}

static size_t count_of(hwloc_topology_t hw, hwloc_obj_type_t type)
{
    const int n = hwloc_get_nbobjs_by_type(hw, type);
    return n > 0 ? (size_t)n : 0;
}

static uint64_t first_cache_bytes(hwloc_topology_t hw, hwloc_obj_type_t type)
{
    const hwloc_obj_t cache = hwloc_get_obj_by_type(hw, type, 0);
    return cache != NULL ? cache->attr->cache.size : 0;
}

bool st_topo_is_home(const struct st_topo *topo, hwloc_obj_t numa)
{
    for (int os = hwloc_bitmap_first(numa->cpuset); os >= 0;
         os = hwloc_bitmap_next(numa->cpuset, os)) {
        if (home_numa(topo->hw, (unsigned)os) == numa) {
            return true;
        }
    }
    return false;
}

/* NUMA nodes that are no CPU's home: HBM, CXL, device memory, or CPUs not allowed here. */
static size_t count_memory_only(const struct st_topo *topo)
{
    size_t n = 0;
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(topo->hw, HWLOC_OBJ_NUMANODE, node)) !=
           NULL) {
        n += st_topo_is_home(topo, node) ? 0 : 1;
    }
    return n;
}

/* Kind of memory by the subtype that hwloc 2.4 and newer give; ordinary memory has none. */
static const char *kind_of(const struct hwloc_obj *numa)
{
    static const struct {
        const char *part, *kind;
    } rows[] = {{"DRAM", "DRAM"}, {"MCDRAM", "HBM"}, {"HBM", "HBM"},
                {"CXL", "CXL"},   {"GPU", "GPU"},    {"NVM", "NVM"}};
    const char *kind = numa->subtype == NULL ? "DRAM" : "unknown";

    for (size_t i = 0; numa->subtype != NULL && i < ST_COUNT(rows); i++) {
        if (strstr(numa->subtype, rows[i].part) != NULL) { /* the last match wins */
            kind = rows[i].kind;
        }
    }
    return kind;
}

enum st_status st_topo_numa(const struct st_topo *topo, size_t *n,
                            struct st_numa_node **out, struct st_error *err)
{
    const size_t n_all = count_of(topo->hw, HWLOC_OBJ_NUMANODE);
    struct st_numa_node *table = NULL;

    if (n_all > 0) {
        table = st_calloc(err, n_all, sizeof *table);
        if (table == NULL) {
            return ST_ERR_MEMORY;
        }
    }
    for (size_t i = 0; i < n_all; i++) {
        const hwloc_obj_t numa =
            hwloc_get_obj_by_type(topo->hw, HWLOC_OBJ_NUMANODE, (unsigned)i);
        if (numa == NULL) {
            st_free(table);
            return st_fail(err, ST_ERR_TOPO, "NUMA node %zu of %zu is not there", i,
                           n_all);
        }
        const int first_cpu = hwloc_bitmap_first(numa->cpuset);
        const hwloc_obj_t home =
            first_cpu >= 0 ? home_numa(topo->hw, (unsigned)first_cpu) : NULL;
        table[i] = (struct st_numa_node){
            .os_index = topo->this_system ? (long)numa->os_index : -1,
            .has_cpus = st_topo_is_home(topo, numa),
            .memory_bytes = numa->attr->numanode.local_memory};
        const hwloc_obj_t pu =
            first_cpu >= 0 ? hwloc_get_pu_obj_by_os_index(topo->hw, (unsigned)first_cpu)
                           : NULL;
        const hwloc_obj_t package =
            pu != NULL ? hwloc_get_ancestor_obj_by_type(topo->hw, HWLOC_OBJ_PACKAGE, pu)
                       : NULL;
        table[i].package = package != NULL ? package->logical_index : SIZE_MAX;
        table[i].nearest = table[i].has_cpus || home == NULL ? i : home->logical_index;
        (void)st_copy(table[i].kind, sizeof table[i].kind, kind_of(numa));
    }
    *n = n_all;
    *out = table;
    return ST_OK;
}

static size_t count_half_cores(hwloc_topology_t hw, hwloc_const_bitmap_t usable)
{
    size_t n = 0;
    hwloc_obj_t core = NULL;

    while ((core = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_CORE, core)) != NULL) {
        if (hwloc_bitmap_intersects(core->cpuset, usable) &&
            !hwloc_bitmap_isincluded(core->complete_cpuset, usable)) {
            n++;
        }
    }
    return n;
}

static bool caches_plausible(hwloc_topology_t hw)
{
    bool plausible =
        count_of(hw, HWLOC_OBJ_L3CACHE) + count_of(hw, HWLOC_OBJ_L2CACHE) > 0;
    hwloc_obj_t l3 = NULL;

    while ((l3 = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_L3CACHE, l3)) != NULL) {
        if (l3->attr->cache.size == 0) {
            plausible = false;
        }
        (void)st_llc_trust(l3->attr->cache.size, cores_inside(hw, l3->cpuset),
                           &plausible);
    }
    return plausible;
}

void st_topo_counts(const struct st_topo *topo, hwloc_const_bitmap_t usable,
                    struct st_topo_counts *out)
{
    const hwloc_topology_t hw = topo->hw;

    *out = (struct st_topo_counts){.n_packages = count_of(hw, HWLOC_OBJ_PACKAGE),
                                   .n_numa = count_of(hw, HWLOC_OBJ_NUMANODE),
                                   .n_numa_memory_only = count_memory_only(topo),
                                   .n_l3 = count_of(hw, HWLOC_OBJ_L3CACHE),
                                   .n_cores =
                                       cores_inside(hw, hwloc_get_root_obj(hw)->cpuset),
                                   .n_pus = count_of(hw, HWLOC_OBJ_PU),
                                   .n_half_cores = count_half_cores(hw, usable),
                                   .l1d_bytes = first_cache_bytes(hw, HWLOC_OBJ_L1CACHE),
                                   .l2_bytes = first_cache_bytes(hw, HWLOC_OBJ_L2CACHE),
                                   .l3_bytes = first_cache_bytes(hw, HWLOC_OBJ_L3CACHE),
                                   .llc_plausible = caches_plausible(hw)};
}

const char *st_topo_cpu_model(const struct st_topo *topo)
{
    const hwloc_obj_t package = hwloc_get_obj_by_type(topo->hw, HWLOC_OBJ_PACKAGE, 0);
    return package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
}

/* FNV-1a, 64 bit (Fowler, Noll, Vo; RFC draft-eastlake-fnv, section 3). */
static uint64_t fnv(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ ((value >> (8 * i)) & 0xff)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

char *st_topo_signature(const struct st_topo *topo, const struct st_cpus *cpus,
                        struct st_error *err)
{
    struct st_topo_counts c;
    struct st_cpus all = {0};
    const hwloc_const_bitmap_t root = hwloc_get_root_obj(topo->hw)->cpuset;

    if (st_topo_cpus(topo, root, &all, err) != ST_OK) {
        return NULL;
    }
    st_topo_counts(topo, root, &c);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < all.n; i++) {
        const struct st_cpu *row = &all.row[i];
        hash = fnv(fnv(hash, row->os), row->core);
        hash = fnv(fnv(hash, row->l2), row->l3);
        hash = fnv(fnv(hash, row->numa), row->package);
        hash = fnv(fnv(hash, row->l2_bytes), row->l3_bytes);
    }
    st_cpus_clear(&all);
    const char *model = st_topo_cpu_model(topo);
    struct st_text text = {0};
    st_text_add(&text,
                "%s: %zu packages, %zu NUMA, %zu L3, %zu cores, %zu PUs, usable %zu/%zu, "
                "%016" PRIx64,
                model != NULL ? model : "unknown CPU", c.n_packages, c.n_numa, c.n_l3,
                c.n_cores, c.n_pus, cpus->n_cores, cpus->n, hash);
    char *out = text.failed ? NULL : st_strdup(err, st_text_get(&text));
    if (text.failed) {
        (void)st_fail(err, ST_ERR_MEMORY, "no memory for a topology's signature");
    }
    st_text_clear(&text);
    return out;
}

char *st_topo_xml(const struct st_topo *topo, struct st_error *err)
{
    char *buffer = NULL;
    int length = 0;

    if (hwloc_topology_export_xmlbuffer(topo->hw, &buffer, &length, 0) != 0) {
        (void)st_fail(err, ST_ERR_TOPO, "hwloc cannot export the topology as XML: %s",
                      strerror(errno));
        return NULL;
    }
    char *copy = st_strdup(err, buffer);
    hwloc_free_xmlbuffer(topo->hw, buffer);
    return copy;
}

const char *st_machine_hwloc_version(char *out, size_t size)
{
    const unsigned v = hwloc_get_api_version(); /* 0xMMmmpp */

    (void)st_print(out, size, "%u.%u.%u", v >> 16, (v >> 8) & 0xffU, v & 0xffU);
    return out;
}
