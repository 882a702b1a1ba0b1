#include "src/machine/topo.h"

#include "src/base/units.h"
#include "src/machine/cpus.h"

/*
 * What a topology says, for people: caches (with a mark on sizes that cannot be), NUMA nodes
 * with the CPUs they are nearest to, and how near the network devices are. A device below
 * the whole machine has no known locality (METHODS 3.5: unknown, no claim).
 */

static const char *size_text(char *out, size_t size, uint64_t bytes)
{
    return bytes > 0 ? st_format_quantity(out, size, (double)bytes, "byte")
                     : "unknown size";
}

static void add_cache(const struct st_topo *topo, hwloc_obj_type_t type, const char *name,
                      struct st_text *text)
{
    char size[48];
    const int n = hwloc_get_nbobjs_by_type(topo->hw, type);

    if (n <= 0) {
        st_text_add(text, " no %s known", name);
        return;
    }
    const hwloc_obj_t first = hwloc_get_obj_by_type(topo->hw, type, 0);
    const hwloc_obj_t last = hwloc_get_obj_by_type(topo->hw, type, (unsigned)n - 1);
    const int n_cores =
        hwloc_get_nbobjs_inside_cpuset_by_type(topo->hw, first->cpuset, HWLOC_OBJ_CORE);
    st_text_add(text, " %s %d x %s", name, n,
                size_text(size, sizeof size, first->attr->cache.size));
    if (last->attr->cache.size != first->attr->cache.size) {
        st_text_add(text, " (last: %s)",
                    size_text(size, sizeof size, last->attr->cache.size));
    }
    if (n_cores > 1) {
        st_text_add(text, " (%d cores each)", n_cores);
    }
    bool plausible = true;
    const uint64_t trusted = st_llc_trust(first->attr->cache.size,
                                          n_cores > 0 ? (size_t)n_cores : 1, &plausible);
    if (type == HWLOC_OBJ_L3CACHE && !plausible) {
        st_text_add(text, " IMPLAUSIBLE, counted as %s",
                    size_text(size, sizeof size, trusted));
    }
}

static void add_numa(hwloc_obj_t node, bool is_home, struct st_text *text)
{
    char size[48];
    char list[256];

    (void)hwloc_bitmap_list_snprintf(list, sizeof list, node->cpuset);
    st_text_add(text, "  NUMA %u:", node->logical_index);
    if (node->attr->numanode.local_memory > 0) {
        st_text_add(text, " %s",
                    size_text(size, sizeof size, node->attr->numanode.local_memory));
    } else {
        st_text_add(text, " memory size unknown");
    }
    if (node->subtype != NULL) {
        st_text_add(text, " of %s", node->subtype);
    }
    if (is_home) {
        st_text_add(text, ", CPUs %s\n", list);
    } else if (list[0] != '\0') {
        st_text_add(text, ", memory only, nearest CPUs %s\n", list);
    } else {
        st_text_add(text, ", memory only, no CPUs of its own\n");
    }
}

/* "NUMA 0", "NUMA 0,1", or unknown. */
static void add_locality(const struct st_topo *topo, hwloc_obj_t device,
                         struct st_text *text)
{
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topo->hw, device);
    const hwloc_obj_t root = hwloc_get_root_obj(topo->hw);
    hwloc_obj_t node = NULL;
    const char *comma = "";

    if (near == NULL || hwloc_bitmap_isequal(near->cpuset, root->cpuset) ||
        near->nodeset == NULL) {
        st_text_add(text, " locality unknown");
        return;
    }
    st_text_add(text, " NUMA ");
    while ((node = hwloc_get_next_obj_by_type(topo->hw, HWLOC_OBJ_NUMANODE, node)) !=
           NULL) {
        if (hwloc_bitmap_isset(near->nodeset, node->os_index)) {
            st_text_add(text, "%s%u", comma, node->logical_index);
            comma = ",";
        }
    }
    if (comma[0] == '\0') {
        st_text_add(text, "unknown");
    }
}

static void add_devices(const struct st_topo *topo, struct st_text *text)
{
    hwloc_obj_t device = NULL;

    while ((device = hwloc_get_next_osdev(topo->hw, device)) != NULL) {
        const hwloc_obj_osdev_type_t type = device->attr->osdev.type;
        if (type != HWLOC_OBJ_OSDEV_NETWORK && type != HWLOC_OBJ_OSDEV_OPENFABRICS) {
            continue;
        }
        st_text_add(text, "  NIC %s:", device->name != NULL ? device->name : "?");
        add_locality(topo, device, text);
        st_text_add(text, "\n");
    }
}

void st_topo_describe(const struct st_topo *topo, struct st_text *text)
{
    hwloc_obj_t node = NULL;

    st_text_add(text, "  caches:");
    add_cache(topo, HWLOC_OBJ_L1CACHE, "L1d", text);
    st_text_add(text, ",");
    add_cache(topo, HWLOC_OBJ_L2CACHE, "L2", text);
    st_text_add(text, ",");
    add_cache(topo, HWLOC_OBJ_L3CACHE, "L3", text);
    st_text_add(text, "\n");
    while ((node = hwloc_get_next_obj_by_type(topo->hw, HWLOC_OBJ_NUMANODE, node)) !=
           NULL) {
        add_numa(node, st_topo_is_home(topo, node), text);
    }
    add_devices(topo, text);
}
