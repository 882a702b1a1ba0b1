/*
 * Policies are set slice by slice, so that one rank whose threads sit on two sockets can have
 * each thread's memory on the other one. Slices begin and end anywhere within a page (arrays
 * are staggered); policies take effect by whole pages, so the page that two slices share goes
 * with the later one, which the reading back, a sample of whole pages, does not notice.
 */
#include "src/benchmarks/part_memory.h"

#include "kernels/stream.h"
#include "src/base/units.h"
#include "src/machine/numa.h"

#include <omp.h>

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    SAMPLE_PAGES = 1024 /* METHODS 1.3: at least 1000 */
};

const char *const st_memory_choices[] = {"local", "remote", "interleaved", "node", NULL};

enum st_status st_memory_possible(enum st_memory_choice choice, size_t node,
                                  const struct st_shape *shape, struct st_error *err)
{
    if (choice == ST_MEMORY_OF_THREAD) {
        return ST_OK;
    }
    if (shape->n_numa == 0) {
        return st_fail(err, ST_ERR_UNSUPPORTED,
                       "memory: %s: the NUMA nodes of this machine are not known",
                       st_memory_choices[choice]);
    }
    if (choice == ST_MEMORY_ON_NODE) {
        return node < shape->n_numa
                   ? ST_OK
                   : st_fail(err, ST_ERR_UNSUPPORTED,
                             "memory_node: %zu: there are %zu NUMA nodes, counted from 0",
                             node, shape->n_numa);
    }
    return shape->n_numa > 1
               ? ST_OK
               : st_fail(err, ST_ERR_UNSUPPORTED,
                         "memory: %s needs two NUMA nodes; this machine has one, so no "
                         "memory is far",
                         st_memory_choices[choice]);
}

/* A node that ordinary arrays may be put on. */
static bool is_home(const struct st_numa_node *node)
{
    return node->has_cpus && node->memory_bytes > 0 && node->os_index >= 0;
}

/* The homes of a package. */
static size_t homes_of(const struct st_place_info *place, size_t package,
                       long nodes[ST_MAX_NUMA])
{
    size_t n = 0;

    for (size_t i = 0; i < place->n_numa && n < ST_MAX_NUMA; i++) {
        const struct st_numa_node *node = &place->numa_nodes[i];
        if (is_home(node) && (package == SIZE_MAX || node->package == package)) {
            nodes[n++] = node->os_index;
        }
    }
    return n;
}

/* The homes of the next package that has some, in a ring; else the next home. */
static size_t remote_of(const struct st_place_info *place, size_t own,
                        long nodes[ST_MAX_NUMA])
{
    const size_t package = place->numa_nodes[own].package;
    size_t next_package = SIZE_MAX;
    size_t first_package = SIZE_MAX;

    for (size_t i = 0; i < place->n_numa; i++) {
        const struct st_numa_node *node = &place->numa_nodes[i];
        if (!is_home(node) || node->package == package || node->package == SIZE_MAX) {
            continue;
        }
        first_package = node->package < first_package ? node->package : first_package;
        if (node->package > package && node->package < next_package) {
            next_package = node->package;
        }
    }
    if (first_package != SIZE_MAX) {
        return homes_of(place, next_package != SIZE_MAX ? next_package : first_package,
                        nodes);
    }
    for (size_t k = 1; k < place->n_numa; k++) {
        const struct st_numa_node *node = &place->numa_nodes[(own + k) % place->n_numa];
        if (is_home(node)) {
            nodes[0] = node->os_index;
            return 1;
        }
    }
    return 0;
}

size_t st_memory_nodes(const struct st_memory_aim *aim, size_t thread,
                       long nodes[ST_MAX_NUMA])
{
    const struct st_place_info *place = aim->place;
    size_t n = 0;

    if (aim->choice == ST_MEMORY_OF_THREAD) {
        nodes[0] = aim->here != NULL ? aim->here[thread] : -1;
        return nodes[0] >= 0 ? 1 : 0;
    }
    if (aim->choice == ST_MEMORY_ON_NODE) {
        if (aim->node < place->n_numa) {
            nodes[0] = place->numa_nodes[aim->node].os_index;
            n = nodes[0] >= 0 && place->numa_nodes[aim->node].memory_bytes > 0 ? 1 : 0;
        }
    } else if (aim->choice == ST_MEMORY_SPREAD) {
        n = homes_of(place, SIZE_MAX, nodes);
        n = n > 1 ? n : 0;
    } else if (place->threads != NULL && place->threads[thread].numa < place->n_numa) {
        n = remote_of(place, place->threads[thread].numa, nodes);
    }
    return n;
}

enum st_status st_memory_aim_create(struct st_memory_aim *aim,
                                    enum st_memory_choice choice, size_t node,
                                    const struct st_place_info *place,
                                    struct st_error *err)
{
    const size_t n_threads = place->n_threads;
    long *here = st_calloc(err, n_threads, sizeof *here);
    long nodes[ST_MAX_NUMA];

    if (here == NULL) {
        return ST_ERR_MEMORY;
    }
#pragma omp parallel default(none) shared(here, n_threads)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        if (thread < n_threads) {
            here[thread] = st_memory_node_here();
        }
    }
    *aim = (struct st_memory_aim){choice, node, place, here};
    for (size_t t = 0; choice != ST_MEMORY_OF_THREAD && t < n_threads; t++) {
        if (st_memory_nodes(aim, t, nodes) == 0) {
            return st_fail(err, ST_ERR_UNSUPPORTED,
                           "memory: %s: thread %zu has no such NUMA node with memory "
                           "whose number is known (%zu nodes are)",
                           st_memory_choices[choice], t, place->n_numa);
        }
    }
    return ST_OK;
}

void st_memory_aim_clear(struct st_memory_aim *aim)
{
    st_free(aim->here);
    *aim = (struct st_memory_aim){0};
}

/* Row of the node with the system's number; n_numa: none. */
static size_t row_of(const struct st_place_info *place, long os_index)
{
    size_t i = 0;

    while (i < place->n_numa && place->numa_nodes[i].os_index != os_index) {
        i++;
    }
    return i;
}

uint64_t st_memory_capacity(const struct st_memory_aim *aim)
{
    const struct st_place_info *place = aim->place;
    bool wanted[ST_MAX_NUMA] = {false};
    long nodes[ST_MAX_NUMA];
    uint64_t bytes = 0;

    if (aim->choice == ST_MEMORY_OF_THREAD) {
        return UINT64_MAX;
    }
    for (size_t t = 0; t < place->n_threads; t++) {
        const size_t n = st_memory_nodes(aim, t, nodes);
        for (size_t k = 0; k < n; k++) {
            const size_t row = row_of(place, nodes[k]);
            if (row < place->n_numa && row < ST_MAX_NUMA && !wanted[row]) {
                wanted[row] = true;
                bytes += place->numa_nodes[row].memory_bytes;
            }
        }
    }
    return bytes > 0 ? bytes : UINT64_MAX;
}

/* Strict policies end a process that asks for more than there is: look before. */
static enum st_status check_free(const struct st_memory_aim *aim, size_t bytes,
                                 size_t n_nodes, const long *nodes, struct st_error *err)
{
    /* Ranks of the node that aim at one memory all draw on it. */
    const size_t n_ranks =
        aim->choice == ST_MEMORY_ON_NODE ? aim->place->n_local_ranks : 1;
    uint64_t free_bytes = 0;
    char have[48];
    char need[48];

    for (size_t k = 0; k < n_nodes; k++) {
        const uint64_t one = st_memory_free(nodes[k]);
        if (one == 0) {
            return ST_OK; /* not known */
        }
        free_bytes += one;
    }
    if (bytes <= free_bytes / (n_ranks > 0 ? n_ranks : 1)) {
        return ST_OK;
    }
    return st_fail(err, ST_ERR_STEP,
                   "NUMA node %ld%s has %s free, and %zu rank%s on it %s %s each for the "
                   "next array: "
                   "choose a smaller size",
                   nodes[0], n_nodes > 1 ? " with its like" : "",
                   st_format_quantity(have, sizeof have, (double)free_bytes, "byte"),
                   n_ranks, n_ranks == 1 ? "" : "s", n_ranks == 1 ? "needs" : "need",
                   st_format_quantity(need, sizeof need, (double)bytes, "byte"));
}

/* The whole pages that begin in a slice, plus the one that its first element is on. */
static struct st_mapping slice_pages(double *array, size_t first, size_t last)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *begin = (char *)(array + first);
    char *end = (char *)(array + last);

    begin -= (uintptr_t)begin % page;
    return (struct st_mapping){.base = begin, .size_bytes = (size_t)(end - begin)};
}

enum st_status st_memory_aim_put(const struct st_memory_aim *aim, double *array, size_t n,
                                 struct st_error *err)
{
    const size_t n_threads = aim->place->n_threads;
    long nodes[ST_MAX_NUMA];

    for (size_t t = 0; t < n_threads; t++) {
        size_t first = 0;
        size_t last = 0;
        stk_slice(n, t, n_threads, &first, &last);
        if (first == last) {
            continue;
        }
        const struct st_mapping slice = slice_pages(array, first, last);
        if (aim->choice == ST_MEMORY_OF_THREAD) {
            /* Against a policy that the process inherited (numactl); refused: the system's
             * default is the same, and what happened is read back. */
            struct st_error ignored = {0};
            (void)st_memory_place(&slice, ST_MEMORY_LOCAL, 0, NULL, &ignored);
            continue;
        }
        const size_t n_nodes = st_memory_nodes(aim, t, nodes);
        enum st_status rc = check_free(aim, slice.size_bytes, n_nodes, nodes, err);
        if (rc == ST_OK) {
            rc = st_memory_place(&slice,
                                 n_nodes > 1 ? ST_MEMORY_INTERLEAVE : ST_MEMORY_BIND,
                                 n_nodes, nodes, err);
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

/* The whole pages inside a slice, which no other slice has a part of; all if there is none. */
static struct st_mapping inner_pages(double *array, size_t first, size_t last)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct st_mapping slice = slice_pages(array, first, last);
    const size_t skip = (char *)(array + first) > (char *)slice.base ? page : 0;
    const size_t tail = (uintptr_t)(array + last) % page;

    if (slice.size_bytes > skip + tail) {
        slice.base = (char *)slice.base + skip;
        slice.size_bytes -= skip + tail;
    }
    return slice;
}

/* What the slices' samples add up to. */
struct found {
    double sum, n; /* shares of the slices that can be told */
    double share_of[ST_MAX_NUMA];
    size_t n_nodes;
};

static void add_slice(const struct st_memory_aim *aim, size_t thread,
                      const struct st_mapping *slice, size_t n_samples,
                      struct found *found)
{
    long nodes[ST_MAX_NUMA];
    double share_of[ST_MAX_NUMA];
    struct st_error ignored = {0};
    double share = -1.0;
    const size_t n = st_memory_nodes(aim, thread, nodes);

    if (n == 0 || st_memory_where(slice, n_samples, n, nodes, &share, share_of,
                                  &ignored) != ST_OK) {
        return;
    }
    found->sum += share;
    found->n += 1.0;
    found->n_nodes = n;
    for (size_t k = 0; k < n; k++) {
        found->share_of[k] += share_of[k];
    }
}

double st_memory_aim_share(const struct st_memory_aim *aim, size_t n_arrays,
                           double *const *arrays, size_t n)
{
    const size_t n_threads = aim->place->n_threads;
    struct found found = {0};

    for (size_t k = 0; k < n_arrays; k++) {
        for (size_t t = 0; arrays[k] != NULL && t < n_threads; t++) {
            size_t first = 0;
            size_t last = 0;
            stk_slice(n, t, n_threads, &first, &last);
            if (first < last) {
                const struct st_mapping slice = inner_pages(arrays[k], first, last);
                add_slice(aim, t, &slice, SAMPLE_PAGES / (n_arrays * n_threads) + 1,
                          &found);
            }
        }
    }
    if (!(found.n > 0.0)) {
        return -1.0;
    }
    double share = found.sum / found.n;
    for (size_t k = 0; aim->choice == ST_MEMORY_SPREAD && k < found.n_nodes; k++) {
        const double of_even = found.share_of[k] / found.n * (double)found.n_nodes;
        if (of_even < 0.5) { /* a sample of 1000 pages is never so far off by chance */
            share = fmin(share, of_even);
        }
    }
    return share;
}
