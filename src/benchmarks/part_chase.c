/*
 * Memory of a chase. All cycles of a sweep share few regions: a region of the largest size
 * holds as many cycles as a line has pointers, the next smaller sizes in the other slots of
 * the lines at its beginning. A sweep to 1 GiB so takes little more than 1 GiB, and smaller
 * cycles lie in memory that was touched and placed with the larger ones.
 */
#include "src/benchmarks/part_chase.h"

#include "src/machine/numa.h"
#include "src/measure/run.h"

#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum {
    PLACED_SAMPLES = 1024 /* METHODS 1.3: at least 1000 pages */
};
/* Longest cycle that verification walks through: 2^16 misses last some 20 ms. */
static const size_t walk_lines = 65536;
static const uint64_t seed_of_cycles = 0x73656174; /* any; the same cycles in every run */

size_t st_sweep_sizes(uint64_t first, uint64_t last, uint64_t sizes[ST_SWEEP_MAX])
{
    size_t n = 0;

    for (uint64_t power = 2; power <= last && n + 2 <= ST_SWEEP_MAX; power *= 2) {
        const uint64_t between = power + power / 2;
        if (power >= first) {
            sizes[n++] = power;
        }
        if (between >= first && between <= last) {
            sizes[n++] = between;
        }
        if (power > UINT64_MAX / 2) {
            break;
        }
    }
    return n;
}

static uint64_t page_bytes(enum st_pages pages)
{
    return pages == ST_PAGES_HUGE ? 2 * MIB : 4 * KIB;
}

static size_t lines_of(const struct st_chase_wish *wish, size_t i)
{
    return (size_t)(wish->sizes[i] / wish->stride);
}

/* Cycles per region: as many as a line has pointers. */
static size_t slots_of(const struct st_chase_wish *wish)
{
    return (size_t)(wish->stride / sizeof(void *));
}

static uint64_t region_bytes(const struct st_chase_wish *wish, size_t largest)
{
    const uint64_t page = page_bytes(wish->pages);
    const uint64_t bytes = (uint64_t)lines_of(wish, largest) * wish->stride;

    return (bytes + page - 1) / page * page;
}

uint64_t st_chase_bytes(const struct st_chase_wish *wish)
{
    uint64_t sum = 0;

    for (size_t end = wish->n_sizes; end > 0;) {
        if (wish->sizes[end - 1] > UINT64_MAX / 4) {
            return UINT64_MAX;
        }
        sum += region_bytes(wish, end - 1);
        end -= slots_of(wish) < end ? slots_of(wish) : end;
    }
    return sum;
}

/* Links as line numbers, and for the order within pages the pages' own. */
static size_t n_numbers(const struct st_chase_wish *wish)
{
    const size_t n = lines_of(wish, wish->n_sizes - 1);

    if (wish->order == ST_CHASE_RANDOM) {
        return n;
    }
    return 2 * n + (size_t)(page_bytes(wish->pages) / wish->stride) + 1;
}

uint64_t st_chase_extra_bytes(const struct st_chase_wish *wish)
{
    return (uint64_t)n_numbers(wish) * sizeof(uint32_t) +
           wish->n_sizes * sizeof(struct st_chase_cycle);
}

static void link_cycle(const struct st_chase_wish *wish, struct st_chase_cycle *cycle,
                       size_t n_chains, uint32_t *numbers)
{
    const size_t n = cycle->lines.n;
    const size_t per_page = (size_t)(page_bytes(wish->pages) / wish->stride);

    if (wish->order == ST_CHASE_INPAGE) {
        stk_chase_inpage(n, per_page > 0 ? per_page : 1, seed_of_cycles + n, numbers,
                         numbers + n);
    } else {
        stk_sattolo(n, seed_of_cycles + n, numbers);
    }
    stk_chase_link(&cycle->lines, numbers);
    stk_chase_starts(&cycle->lines, n_chains < n ? n_chains : 1, cycle->starts);
    for (size_t c = n_chains < n ? n_chains : 1; c < STK_CHASE_MAX_CHAINS; c++) {
        cycle->starts[c] = cycle->starts[0];
    }
}

/* From the largest size down, so that the first region is touched as a whole. */
static void link_all(const struct st_chase_wish *wish, struct st_chase_set *set,
                     size_t n_chains, uint32_t *numbers)
{
    char *base = set->map.base;

    for (size_t end = wish->n_sizes; end > 0;) {
        const size_t n = slots_of(wish) < end ? slots_of(wish) : end;
        for (size_t slot = 0; slot < n; slot++) {
            struct st_chase_cycle *cycle = &set->cycles[end - 1 - slot];
            cycle->lines = (struct stk_lines){.base = base,
                                              .stride = (size_t)wish->stride,
                                              .slot = slot,
                                              .n = lines_of(wish, end - 1 - slot)};
            link_cycle(wish, cycle, n_chains, numbers);
        }
        base += region_bytes(wish, end - 1);
        end -= n;
    }
}

/* Unknown is no failure: whoever judges sees -1. */
static void read_back(const struct st_chase_wish *wish, struct st_chase_set *set)
{
    struct st_error unknown = {0};

    set->huge = st_pages_huge_fraction(&set->map);
    set->placed = -1.0;
    if (wish->os_node >= 0) {
        (void)st_memory_where(&set->map, PLACED_SAMPLES, 1, &wish->os_node, &set->placed,
                              NULL, &unknown);
    }
}

enum st_status st_chase_create(const struct st_chase_wish *wish, size_t n_chains,
                               struct st_chase_set *set, struct st_error *err)
{
    const uint64_t bytes = st_chase_bytes(wish);

    if (bytes > SIZE_MAX || lines_of(wish, wish->n_sizes - 1) > STK_CHASE_MAX_LINES) {
        return st_fail(err, ST_ERR_STEP,
                       "a pointer chase over more than %zu lines; take a larger stride",
                       STK_CHASE_MAX_LINES);
    }
    set->cycles = st_calloc(err, wish->n_sizes, sizeof *set->cycles);
    if (set->cycles == NULL) {
        return err->code;
    }
    set->n = wish->n_sizes;
    enum st_status rc = st_pages_map(err, (size_t)bytes, wish->pages, &set->map);
    if (rc == ST_OK && wish->os_node >= 0) {
        rc = st_memory_place(&set->map, ST_MEMORY_BIND, 1, &wish->os_node, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    uint32_t *numbers = st_calloc(err, n_numbers(wish), sizeof *numbers);
    if (numbers == NULL) {
        return err->code;
    }
    link_all(wish, set, n_chains, numbers);
    st_free(numbers);
    read_back(wish, set);
    return ST_OK;
}

void st_chase_clear(struct st_chase_set *set)
{
    st_pages_unmap(&set->map);
    st_free(set->cycles);
    set->cycles = NULL;
    set->n = 0;
}

static uint64_t whole_passes(uint64_t n)
{
    return (n + STK_CHASE_UNROLL - 1) / STK_CHASE_UNROLL * STK_CHASE_UNROLL;
}

double st_chase_time(struct st_chase_cycle *cycle, size_t k, uint64_t n_warm,
                     uint64_t n_steps)
{
    const size_t warm = (size_t)whole_passes(n_warm);
    const size_t timed = (size_t)whole_passes(n_steps);

    if (k != cycle->n_chains) { /* chains that go on at different paces would meet */
        memcpy(cycle->at, cycle->starts, sizeof cycle->at);
        cycle->n_chains = k;
        cycle->n_steps = 0;
    }
    stk_chase(warm, k, cycle->at);
    const double begin = st_now();
    stk_chase(timed, k, cycle->at);
    const double end = st_now();
    cycle->n_steps += warm + timed;
    return (end - begin) / (double)timed;
}

/* Is chain 0 where its steps lead, and is the cycle closed after n steps and not before? */
static void verify_walk(const struct st_chase_cycle *cycle, struct st_check *check)
{
    const size_t n = cycle->lines.n;
    const void *start = cycle->starts[0];
    const size_t steps = (size_t)(cycle->n_steps % n);
    void *at = cycle->starts[0];
    size_t length = 0;

    do {
        if (length == steps && cycle->n_chains > 0) {
            st_check_true(check, at == cycle->at[0],
                          "the chase did not arrive where its steps lead");
        }
        at = *(void **)at;
        length++;
    } while (at != start && length <= n &&
             stk_chase_index(&cycle->lines, at) != SIZE_MAX);
    st_check_true(check, length == n && at == start,
                  "the lines of the chase are not one cycle");
}

void st_chase_verify(const struct st_chase_set *set, struct st_check *check)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct st_chase_cycle *cycle = &set->cycles[i];
        const struct stk_chase_defect d = stk_chase_check(&cycle->lines);
        st_check_true(
            check, d.n_outside == 0 && d.n_self == 0 && d.sum_off == 0 && d.xor_off == 0,
            "a link of the chase points astray");
        for (size_t c = 0; c < cycle->n_chains; c++) {
            st_check_true(check, stk_chase_index(&cycle->lines, cycle->at[c]) != SIZE_MAX,
                          "a chain ended outside of its memory");
        }
        if (cycle->lines.n <= walk_lines) {
            verify_walk(cycle, check);
        }
    }
}

void st_chase_spoil(struct st_chase_set *set)
{
    if (set->n > 0) {
        const struct stk_lines *lines = &set->cycles[set->n - 1].lines;
        void **link = stk_chase_line(lines, lines->n / 2);
        *link = link;
    }
}
