#include "src/machine/cpus.h"

#include "src/base/mem.h"

#include <string.h>

/*
 * Flat CPU table. Rows stand in topology order, so a core's hardware threads are neighbours
 * and "the next core" is the next row with another core index: no loop over CPU numbers is
 * needed anywhere, whatever holes the numbering has.
 */

enum {
    TRUSTED_L3_PER_CORE = 64 * 1024 * 1024
};

uint64_t st_llc_trust(uint64_t bytes, size_t n_cores, bool *plausible)
{
    const uint64_t most = (uint64_t)TRUSTED_L3_PER_CORE * (n_cores > 0 ? n_cores : 1);

    if (bytes <= most) {
        return bytes;
    }
    *plausible = false;
    return most;
}

void st_cpus_clear(struct st_cpus *cpus)
{
    st_free(cpus->row);
    *cpus = (struct st_cpus){0};
}

/* Rows of one home need not be neighbours (a NUMA node that spans groups), so look back. */
static uint32_t home_of(const struct st_cpus *cpus, size_t i, uint32_t next)
{
    const struct st_cpu *row = &cpus->row[i];

    for (size_t k = i; k-- > 0;) {
        const struct st_cpu *other = &cpus->row[k];
        if (other->numa == row->numa &&
            (row->numa != ST_CPU_UNKNOWN || other->package == row->package)) {
            return other->home;
        }
    }
    return next;
}

void st_cpus_index(struct st_cpus *cpus)
{
    cpus->n_cores = 0;
    cpus->n_homes = 0;
    for (size_t i = 0; i < cpus->n; i++) {
        if (i == 0 || cpus->row[i].core != cpus->row[i - 1].core) {
            cpus->n_cores++;
        }
        cpus->row[i].home = home_of(cpus, i, (uint32_t)cpus->n_homes);
        if (cpus->row[i].home == cpus->n_homes) {
            cpus->n_homes++;
        }
    }
}

enum st_status st_cpus_from_mask(hwloc_const_bitmap_t mask, struct st_cpus *out,
                                 struct st_error *err)
{
    const int weight = hwloc_bitmap_weight(mask);
    struct st_cpus cpus = {.this_system = true, .n_kinds = 1};

    if (weight <= 0) {
        return st_fail(err, ST_ERR_LAUNCH,
                       "no CPU may be used: the affinity mask is empty");
    }
    cpus.row = st_calloc(err, (size_t)weight, sizeof *cpus.row);
    if (cpus.row == NULL) {
        return ST_ERR_MEMORY;
    }
    for (int os = hwloc_bitmap_first(mask); os >= 0; os = hwloc_bitmap_next(mask, os)) {
        cpus.row[cpus.n] = (struct st_cpu){.os = (uint32_t)os,
                                           .core = (uint32_t)cpus.n,
                                           .l2 = ST_CPU_UNKNOWN,
                                           .l3 = ST_CPU_UNKNOWN,
                                           .numa = ST_CPU_UNKNOWN,
                                           .package = ST_CPU_UNKNOWN};
        cpus.n++;
    }
    st_cpus_index(&cpus);
    *out = cpus;
    return ST_OK;
}

enum st_status st_cpus_slice(const struct st_cpus *all, size_t first_core,
                             size_t end_core, struct st_cpus *out, struct st_error *err)
{
    size_t begin = all->n;
    size_t end = all->n;
    size_t core = 0;

    for (size_t i = 0; i < all->n; i++) {
        if (i > 0 && all->row[i].core != all->row[i - 1].core) {
            core++;
        }
        if (core == first_core && begin == all->n) {
            begin = i;
        }
        if (core == end_core) {
            end = i;
            break;
        }
    }
    struct st_cpus cpus = *all;
    cpus.n = begin < end ? end - begin : 0;
    cpus.row = st_calloc(err, cpus.n, sizeof *cpus.row);
    if (cpus.row == NULL) {
        return ST_ERR_MEMORY;
    }
    if (cpus.n > 0) {
        memcpy(cpus.row, all->row + begin, cpus.n * sizeof *cpus.row);
    }
    st_cpus_index(&cpus);
    *out = cpus;
    return ST_OK;
}

enum st_status st_cpus_mask(const struct st_cpus *cpus, hwloc_bitmap_t out,
                            struct st_error *err)
{
    hwloc_bitmap_zero(out);
    for (size_t i = 0; i < cpus->n; i++) {
        if (hwloc_bitmap_set(out, cpus->row[i].os) != 0) {
            return st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
        }
    }
    return ST_OK;
}

size_t st_cpus_find(const struct st_cpus *cpus, unsigned os)
{
    size_t i = 0;

    while (i < cpus->n && cpus->row[i].os != os) {
        i++;
    }
    return i;
}

/* Add a cache instance once. */
static enum st_status add_cache(hwloc_bitmap_t seen, uint32_t index, uint64_t size,
                                uint64_t *bytes, struct st_error *err)
{
    if (index == ST_CPU_UNKNOWN || hwloc_bitmap_isset(seen, index)) {
        return ST_OK;
    }
    if (hwloc_bitmap_set(seen, index) != 0) {
        return st_fail(err, ST_ERR_MEMORY, "no memory for a set of caches");
    }
    *bytes += size;
    return ST_OK;
}

enum st_status st_cpus_llc(const struct st_cpus *cpus, size_t n, const size_t *rows,
                           uint64_t *bytes, struct st_error *err)
{
    hwloc_bitmap_t l2 = hwloc_bitmap_alloc();
    hwloc_bitmap_t l3 = hwloc_bitmap_alloc();
    enum st_status rc = ST_OK;
    uint64_t sum = 0;

    if (l2 == NULL || l3 == NULL) {
        rc = st_fail(err, ST_ERR_MEMORY, "no memory for a set of caches");
    }
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const struct st_cpu *cpu = &cpus->row[rows[i]];
        rc = add_cache(l2, cpu->l2, cpu->l2_bytes, &sum, err);
        if (rc == ST_OK) {
            rc = add_cache(l3, cpu->l3, cpu->l3_bytes, &sum, err);
        }
    }
    hwloc_bitmap_free(l2);
    hwloc_bitmap_free(l3);
    if (rc == ST_OK) {
        *bytes = sum;
    }
    return rc;
}
