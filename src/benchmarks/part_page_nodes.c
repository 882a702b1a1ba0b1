/*
 * NUMA nodes of pages and threads by plain system calls, since libnuma would be one more
 * library for three calls. All of them may be refused (containers, seccomp) or missing (no
 * NUMA in the kernel): then nothing is claimed.
 *
 * A thread on a node without memory of its own cannot have local pages; its pages take part
 * in no claim.
 */
#include "src/benchmarks/part_page_nodes.h"

#include "kernels/stream.h"
#include "src/base/mem.h"

#include <omp.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SAMPLE_PAGES = 1024,        /* METHODS 1.3: at least 1000 */
    MAX_NODES = 1024,           /* largest CONFIG_NODES_SHIFT of Linux is 10 */
    MEMS_ALLOWED_FLAG = 1 << 2, /* MPOL_F_MEMS_ALLOWED of linux/mempolicy.h */
    BITS = 8 * sizeof(unsigned long)
};

/* Node of the calling thread, -1 if unknown or if it has no memory this process may use. */
static int thread_node(const unsigned long *memory_nodes)
{
    unsigned cpu = 0;
    unsigned node = 0;

    if (syscall(SYS_getcpu, &cpu, &node, NULL) != 0 || node >= MAX_NODES ||
        (memory_nodes[node / BITS] >> (node % BITS) & 1UL) == 0) {
        return -1;
    }
    return (int)node;
}

/* Pages in the middles of equal parts of the slice of @p thread. */
static void choose_pages(struct st_page_sample *sample, size_t first_sample,
                         size_t n_samples, double *array, size_t n, size_t thread,
                         size_t n_threads)
{
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t first = 0;
    size_t last = 0;

    stk_slice(n, thread, n_threads, &first, &last);
    for (size_t k = 0; k < n_samples; k++) {
        const double part = ((double)k + 0.5) / (double)n_samples;
        const size_t i = first + (size_t)(part * (double)(last - first));
        char *address = (char *)(array + i);
        /* An empty slice has no page of its own. */
        sample->pages[first_sample + k] =
            first < last ? address - (uintptr_t)address % page_bytes : NULL;
    }
}

enum st_status st_page_sample_create(struct st_page_sample *sample, size_t n_arrays,
                                     double *const *arrays, size_t n, size_t n_threads,
                                     struct st_error *err)
{
    unsigned long memory_nodes[MAX_NODES / BITS] = {0};
    const size_t n_slices = n_arrays * n_threads;
    const size_t each = SAMPLE_PAGES / n_slices + 1;

    sample->pages = st_calloc(err, n_slices * each, sizeof *sample->pages);
    sample->wanted =
        sample->pages == NULL ? NULL : st_calloc(err, n_slices * each, sizeof(int));
    sample->found =
        sample->wanted == NULL ? NULL : st_calloc(err, n_slices * each, sizeof(int));
    if (sample->found == NULL) {
        return err->code;
    }
    sample->n = n_slices * each;
    (void)syscall(SYS_get_mempolicy, NULL, memory_nodes, (unsigned long)MAX_NODES, NULL,
                  (unsigned long)MEMS_ALLOWED_FLAG); /* refused: no node is known */
#pragma omp parallel default(none) shared(sample, arrays, n_arrays, n, memory_nodes, each)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        const size_t n_team = (size_t)omp_get_num_threads();
        const int node = thread_node(memory_nodes);
        for (size_t k = 0; k < n_arrays; k++) {
            const size_t at = (thread * n_arrays + k) * each;
            for (size_t j = at; at + each <= sample->n && j < at + each; j++) {
                sample->wanted[j] = node;
            }
            if (arrays[k] != NULL && at + each <= sample->n) {
                choose_pages(sample, at, each, arrays[k], n, thread, n_team);
            }
        }
    }
    return ST_OK;
}

double st_page_sample_local(const struct st_page_sample *sample)
{
    size_t n_known = 0;
    size_t n_local = 0;

    if (sample->n == 0 || syscall(SYS_move_pages, 0, (unsigned long)sample->n,
                                  sample->pages, NULL, sample->found, 0) != 0) {
        return -1.0;
    }
    for (size_t k = 0; k < sample->n; k++) {
        /* Negative: an error number, for instance of the NULL page of an empty slice. */
        if (sample->found[k] >= 0 && sample->wanted[k] >= 0) {
            n_known++;
            n_local += sample->found[k] == sample->wanted[k] ? 1U : 0U;
        }
    }
    return n_known > 0 ? (double)n_local / (double)n_known : -1.0;
}

void st_page_sample_clear(struct st_page_sample *sample)
{
    st_free(sample->pages);
    st_free(sample->wanted);
    st_free(sample->found);
    *sample = (struct st_page_sample){0};
}
