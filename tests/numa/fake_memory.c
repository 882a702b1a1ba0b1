#include "tests/numa/fake_memory.h"

#include <errno.h>

/* The fake behind st_memory_use(); see fake_memory.h. Modes are those of mbind(2). */

enum {
    MOST = 4096,
    PAGE = 4096,
    BITS = 64
};

static struct {
    uintptr_t start, end;
    int mode;
    size_t n;
    long nodes[BITS];
} policies[MOST];

struct fake_memory fake_memory;

static long fake_mbind(void *start, unsigned long size, int mode,
                       const unsigned long *mask, unsigned long n_bits, unsigned flags)
{
    const uintptr_t at = (uintptr_t)start;

    if (fake_memory.refuse != 0 || at % PAGE != 0 || fake_memory.n_policies == MOST) {
        errno = fake_memory.refuse != 0 ? fake_memory.refuse : EINVAL;
        return -1;
    }
    size_t n = 0;
    for (long node = 0; mask != NULL && (unsigned long)node < n_bits - 1; node++) {
        if ((mask[node / BITS] >> (node % BITS) & 1UL) == 0) {
            continue;
        }
        if (node >= fake_memory.n_nodes || n == BITS) {
            errno = EINVAL;
            return -1;
        }
        policies[fake_memory.n_policies].nodes[n++] = node;
    }
    (void)flags;
    policies[fake_memory.n_policies].start = at;
    policies[fake_memory.n_policies].end = at + size;
    policies[fake_memory.n_policies].mode = mode;
    policies[fake_memory.n_policies].n = n;
    fake_memory.n_policies++;
    return 0;
}

static int node_of(uintptr_t page)
{
    for (size_t k = fake_memory.n_policies; k > 0; k--) {
        if (page >= policies[k - 1].start && page < policies[k - 1].end &&
            policies[k - 1].n > 0) {
            const size_t turn = page / PAGE % policies[k - 1].n;
            return (int)policies[k - 1].nodes[policies[k - 1].mode == 3 ? turn : 0];
        }
    }
    return (int)fake_memory.here;
}

static long fake_move_pages(int pid, unsigned long n, void **pages, const int *nodes,
                            int *status, int flags)
{
    (void)flags;
    if (fake_memory.silent || pid != 0 || nodes != NULL) {
        errno = ENOSYS;
        return -1;
    }
    for (unsigned long i = 0; i < n; i++) {
        status[i] = fake_memory.found_on >= 0 ? (int)fake_memory.found_on
                                              : node_of((uintptr_t)pages[i]);
    }
    return 0;
}

static long fake_node_here(void)
{
    return fake_memory.here;
}

static uint64_t fake_free_bytes(long os_node)
{
    return os_node < fake_memory.n_nodes ? fake_memory.free_bytes : 0;
}

void fake_memory_start(long n_nodes)
{
    static const struct st_memory_calls calls = {fake_mbind, fake_move_pages,
                                                 fake_node_here, fake_free_bytes};

    fake_memory = (struct fake_memory){
        .n_nodes = n_nodes, .found_on = -1, .free_bytes = UINT64_MAX / 2};
    st_memory_use(&calls);
}

void fake_memory_stop(void)
{
    st_memory_use(NULL);
}
