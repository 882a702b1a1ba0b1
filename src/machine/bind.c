#include "src/machine/machine.h"

#include "src/base/mem.h"
#include "src/machine/affinity.h"

#include <omp.h>
#include <sched.h>

/*
 * Binding and its proof. Each thread binds itself and then asks the kernel what it got: no
 * launcher's report and no return code is believed (open-mpi/ompi#7729, #7806). The last CPU
 * comes from getcpu() in the same thread.
 *
 * Under policy `launcher` nothing is bound, but a thread that an earlier step of this program
 * bound is given back the rank's inherited mask, else "kept" would be untrue.
 */

/* What one thread found, written by that thread alone. */
struct proof {
    enum st_status status;
    struct st_error err;
    char *list;
    long last_cpu;
    bool proved;
};

/* Set when this process first binds a thread; read and written outside parallel regions. */
static bool has_bound;

static enum st_status set_mask(const char *list, struct st_error *err)
{
    hwloc_bitmap_t mask = st_bitmap_new(err);
    enum st_status rc = mask != NULL ? st_cpu_list_parse(list, mask, err) : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        rc = st_affinity_set(mask, err);
    }
    hwloc_bitmap_free(mask);
    return rc;
}

/* A kept mask may hold more CPUs than a thread uses (OMP_PLACES); a bound one is exact. */
static enum st_status read_back(const struct st_seat *seat, struct proof *proof)
{
    hwloc_bitmap_t want = st_bitmap_new(&proof->err);
    hwloc_bitmap_t got = st_bitmap_new(&proof->err);
    enum st_status rc = want != NULL && got != NULL ? ST_OK : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        rc = st_affinity_get(0, got, &proof->err);
    }
    if (rc == ST_OK) {
        rc = st_cpu_list_parse(seat->planned, want, &proof->err);
    }
    if (rc == ST_OK) {
        const int cpu = sched_getcpu();
        const bool fits = seat->pu >= 0 ? hwloc_bitmap_isequal(want, got) != 0
                                        : hwloc_bitmap_isincluded(got, want) != 0;
        proof->last_cpu = cpu;
        proof->proved = fits && cpu >= 0 && hwloc_bitmap_isset(got, (unsigned)cpu) != 0;
        proof->list = st_cpu_list(got, &proof->err);
        rc = proof->list != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    hwloc_bitmap_free(want);
    hwloc_bitmap_free(got);
    return rc;
}

/* Run in each thread of the team. */
static void bind_and_read(const struct st_seat *seat, bool bind, struct proof *proof)
{
    proof->status = bind ? set_mask(seat->planned, &proof->err) : ST_OK;
    if (proof->status == ST_OK) {
        proof->status = read_back(seat, proof);
    }
}

/* Results into the seats; the first thread's error is the rank's. */
static enum st_status keep_proofs(struct st_layout *layout, struct proof *proofs,
                                  struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (size_t t = 0; t < layout->n_seats; t++) {
        struct st_seat *seat = &layout->seats[t];
        if (proofs[t].status != ST_OK && rc == ST_OK) {
            rc = st_fail(err, proofs[t].status, "rank %zu, thread %zu: %s", seat->rank, t,
                         proofs[t].err.text);
        }
        st_free(seat->verified);
        seat->verified = proofs[t].list;
        seat->last_cpu = proofs[t].list != NULL ? proofs[t].last_cpu : -1;
        seat->proved = proofs[t].status == ST_OK && proofs[t].proved && !layout->foreign;
    }
    return rc;
}

static enum st_status run_team(struct st_layout *layout, bool bind, struct st_error *err)
{
    const size_t n = layout->n_seats;
    int team = 0;
    struct proof *proofs = st_calloc(err, n, sizeof *proofs);

    if (proofs == NULL) {
        return ST_ERR_MEMORY;
    }
    omp_set_dynamic(0);
    omp_set_num_threads((int)n);
#pragma omp parallel default(none) shared(layout, proofs, team, bind, n)                 \
    num_threads((int)n)
    {
        const size_t t = (size_t)omp_get_thread_num();
#pragma omp single
        team = omp_get_num_threads();
        if (t < n) {
            bind_and_read(&layout->seats[t], bind, &proofs[t]);
        }
    }
    enum st_status rc = keep_proofs(layout, proofs, err);
    st_free(proofs);
    if (rc == ST_OK && (size_t)team != n) {
        rc =
            st_fail(err, ST_ERR_STEP,
                    "OpenMP gave %d threads instead of %zu (OMP_THREAD_LIMIT?)", team, n);
    }
    return rc;
}

enum st_status st_layout_bind(struct st_layout *layout, struct st_error *err)
{
    if (!layout->active) {
        const bool bind = layout->busy != NULL && layout->applied;
        has_bound = has_bound || bind;
        return bind ? set_mask(layout->busy, err) : ST_OK;
    }
    const bool kept = layout->seats[0].pu < 0;
    if (!layout->applied && !kept) { /* not this system: the thread count only */
        omp_set_dynamic(0);
        omp_set_num_threads((int)layout->n_seats);
        return ST_OK;
    }
    const enum st_status rc = run_team(layout, layout->applied || has_bound, err);
    has_bound = has_bound || layout->applied;
    return rc;
}

enum st_status st_layout_prove(struct st_layout *layout, struct st_error *err)
{
    const bool planned_only =
        !layout->active || (!layout->applied && layout->seats[0].pu >= 0);

    return planned_only ? ST_OK : run_team(layout, false, err);
}
