#ifndef ST_BENCHMARKS_PART_PAGE_NODES_H
#define ST_BENCHMARKS_PART_PAGE_NODES_H

#include "src/base/status.h"

#include <stddef.h>

/*
 * On which NUMA node are the pages that the threads of this rank work on (METHODS 1.3)?
 * Asked of Linux for a sample of pages (move_pages with no target), without moving any.
 */

/** A sample of pages; zero-initialised means empty. */
struct st_page_sample {
    size_t n;
    void **pages; /**< [n] addresses */
    int *
        wanted; /**< [n] operating system's NUMA node of the thread; -1: has no memory, no claim */
    int *found; /**< [n] written by each query */
};

/**
 * Choose about 1000 pages, as many of each thread's slices (stk_slice) of each array, and ask
 * each thread of the next parallel region for its NUMA node. Local.
 * @param arrays [n_arrays] of @p n doubles each, touched before; NULL ones are left out
 */
enum st_status st_page_sample_create(struct st_page_sample *sample, size_t n_arrays,
                                     double *const *arrays, size_t n, size_t n_threads,
                                     struct st_error *err);

/** Share of the sample that is where its thread is, 0..1; -1 if that cannot be told. Local. */
double st_page_sample_local(const struct st_page_sample *sample);

/** Free; accepts an empty and a half-built one. */
void st_page_sample_clear(struct st_page_sample *sample);

#endif
