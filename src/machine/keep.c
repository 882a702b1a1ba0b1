#include "src/machine/keep.h"

#include "src/base/mem.h"
#include "src/machine/affinity.h"
#include "src/machine/cpus.h"

/*
 * What a launcher gave is taken as it is and only judged: ranks whose masks meet would share
 * CPUs in silence (OMP_PROC_BIND, srun on every node's CPU 0), so the message names both.
 */

/* Masks of one pass over a node's ranks. */
struct masks {
    hwloc_bitmap_t seen; /* union of the ranks before */
    hwloc_bitmap_t mine;
    hwloc_bitmap_t other;
};

static size_t cores_of_mask(const struct st_cpus *cpus, hwloc_const_bitmap_t mask)
{
    size_t n = 0;
    size_t last = SIZE_MAX; /* core counted last; its hardware threads are neighbours */

    for (size_t i = 0; i < cpus->n; i++) {
        if (cpus->row[i].core != last && hwloc_bitmap_isset(mask, cpus->row[i].os)) {
            last = cpus->row[i].core;
            n++;
        }
    }
    return n;
}

/* World rank of a local rank of the node. */
static size_t world_rank_of(const struct st_keep *k, size_t local)
{
    const struct st_machine *m = k->machine;
    size_t r = 0;

    while (r + 1 < (size_t)m->world.n_ranks &&
           (m->ranks[r].node != k->node || m->ranks[r].local_rank != local)) {
        r++;
    }
    return r;
}

static enum st_status read_mask(const struct st_keep *k, size_t local, hwloc_bitmap_t out,
                                struct st_error *err)
{
    return st_cpu_list_parse(k->machine->ranks[world_rank_of(k, local)].inherited, out,
                             err);
}

static size_t count_threads(const struct st_keep *k, hwloc_const_bitmap_t mask)
{
    size_t n = 1;

    if (k->request->threads == ST_MANY_COUNT) {
        n = k->request->n_threads;
    } else if (k->request->threads == ST_MANY_ALL_PUS) {
        n = (size_t)hwloc_bitmap_weight(mask);
    } else {
        n = cores_of_mask(k->machine->cpus, mask);
    }
    return n > 0 ? n : 1;
}

static enum st_status too_many_threads(const struct st_keep *k, size_t local,
                                       size_t n_threads, int n_cpus, struct st_error *err)
{
    const size_t r = world_rank_of(k, local);

    return st_fail(
        err, ST_ERR_LAUNCH,
        "rank %zu has %zu threads but its launcher's mask holds %d CPU%s (%s): "
        "give it more, or write `oversubscribe: yes`",
        r, n_threads, n_cpus, n_cpus == 1 ? "" : "s", k->machine->ranks[r].inherited);
}

/* Name the first rank that shares CPUs with this one. */
static enum st_status stacked(const struct st_keep *k, size_t local, struct masks *masks,
                              struct st_error *err)
{
    const struct st_rank *ranks = k->machine->ranks;
    const size_t b = world_rank_of(k, local);
    char list[128];

    for (size_t earlier = 0; earlier < local; earlier++) {
        const size_t a = world_rank_of(k, earlier);
        const enum st_status rc = read_mask(k, earlier, masks->other, err);
        if (rc != ST_OK) {
            return rc;
        }
        if (!hwloc_bitmap_intersects(masks->other, masks->mine)) {
            continue;
        }
        (void)hwloc_bitmap_and(masks->other, masks->other, masks->mine);
        (void)hwloc_bitmap_list_snprintf(list, sizeof list, masks->other);
        return st_fail(
            err, ST_ERR_LAUNCH,
            "stacked launch: the launcher gave ranks %zu (CPUs %s) and %zu (CPUs %s) of "
            "one node CPU %s in common. Bind ranks apart (mpirun --bind-to core, srun "
            "--cpu-bind=cores), or use `policy: seatrial`, or write `oversubscribe: yes`",
            a, ranks[a].inherited, b, ranks[b].inherited, list);
    }
    return st_fail(err, ST_ERR_INTERNAL, "rank %zu shares CPUs with nobody", b);
}

static enum st_status check_rank(const struct st_keep *k, size_t local,
                                 struct masks *masks, struct st_placement *p,
                                 struct st_error *err)
{
    enum st_status rc = read_mask(k, local, masks->mine, err);

    if (rc != ST_OK) {
        return rc;
    }
    const size_t n_threads = count_threads(k, masks->mine);
    const int n_cpus = hwloc_bitmap_weight(masks->mine);
    const bool crowded = n_cpus < 0 || n_threads > (size_t)n_cpus;
    const bool meets = hwloc_bitmap_intersects(masks->seen, masks->mine) != 0;
    if (crowded && !k->request->oversubscribe) {
        return too_many_threads(k, local, n_threads, n_cpus, err);
    }
    if (meets && !k->request->oversubscribe) {
        return stacked(k, local, masks, err);
    }
    if (hwloc_bitmap_or(masks->seen, masks->seen, masks->mine) != 0) {
        return st_fail(err, ST_ERR_MEMORY, "no memory for a CPU mask");
    }
    p->oversubscribed = p->oversubscribed || crowded || meets;
    p->first[local + 1] = p->first[local] + n_threads;
    return ST_OK;
}

/* Caches under the union of the masks. */
static enum st_status sum_caches(const struct st_cpus *cpus, hwloc_const_bitmap_t mask,
                                 uint64_t *llc_bytes, struct st_error *err)
{
    size_t n = 0;
    size_t *rows = st_calloc(err, cpus->n, sizeof *rows);

    if (rows == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < cpus->n; i++) {
        if (hwloc_bitmap_isset(mask, cpus->row[i].os)) {
            rows[n++] = i;
        }
    }
    const enum st_status rc = st_cpus_llc(cpus, n, rows, llc_bytes, err);
    st_free(rows);
    return rc;
}

static enum st_status check_all(const struct st_keep *k, struct masks *masks,
                                struct st_placement *p, uint64_t *llc_bytes,
                                struct st_error *err)
{
    enum st_status rc = ST_OK;

    if (masks->seen == NULL || masks->mine == NULL || masks->other == NULL) {
        return ST_ERR_MEMORY;
    }
    p->oversubscribed = false;
    for (size_t local = 0; rc == ST_OK && local < p->n_ranks; local++) {
        rc = check_rank(k, local, masks, p, err);
    }
    p->n_seats = p->first[p->n_ranks];
    return rc == ST_OK ? sum_caches(k->machine->cpus, masks->seen, llc_bytes, err) : rc;
}

enum st_status st_keep_plan(const struct st_keep *keep, struct st_placement *placement,
                            uint64_t *llc_bytes, struct st_error *err)
{
    const struct st_machine *m = keep->machine;
    struct st_layout_request counts = *keep->request;
    struct st_placement p = {0};

    counts.oversubscribe = true; /* only the number of ranks is wanted of this plan */
    counts.threads = ST_MANY_COUNT;
    counts.n_threads = 1;
    enum st_status rc = st_place_plan(m->cpus, &counts, m->nodes[keep->node].n_ranks,
                                      keep->n_wanted, &p, err);
    if (rc != ST_OK) {
        return rc;
    }
    p.note[0] = '\0';
    struct masks masks = {st_bitmap_new(err), st_bitmap_new(err), st_bitmap_new(err)};
    rc = check_all(keep, &masks, &p, llc_bytes, err);
    hwloc_bitmap_free(masks.seen);
    hwloc_bitmap_free(masks.mine);
    hwloc_bitmap_free(masks.other);
    if (rc != ST_OK) {
        st_placement_clear(&p);
        return rc;
    }
    *placement = p;
    return ST_OK;
}
