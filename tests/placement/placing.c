#include "tests/placement/placing.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/machine/affinity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Helpers of the placement tests; see placing.h. */

void placing_open(struct placing *p, enum st_topo_source source, const char *text,
                  const char *usable)
{
    struct st_error err = {0};
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();

    *p = (struct placing){0};
    if (st_topo_open(source, text, &p->topo, &err) != ST_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    if (usable != NULL) {
        assert_int_equal(st_cpu_list_parse(usable, mask, &err), ST_OK);
    } else {
        assert_int_equal(hwloc_bitmap_copy(mask, st_topo_allowed(p->topo)), 0);
    }
    assert_int_equal(st_topo_cpus(p->topo, mask, &p->cpus, &err), ST_OK);
    hwloc_bitmap_free(mask);
}

void placing_close(struct placing *p)
{
    st_cpus_clear(&p->cpus);
    st_topo_close(&p->topo);
}

static void add_rank(struct st_text *text, const struct st_cpus *cpus,
                     const struct st_placement *plan, size_t rank)
{
    const size_t end = plan->first[rank + 1];

    for (size_t i = plan->first[rank]; i < end;) {
        const uint32_t a = cpus->row[plan->cpu[i]].os;
        size_t n = 1;
        uint32_t step = 0;
        if (i + 1 < end && cpus->row[plan->cpu[i + 1]].os > a) {
            step = cpus->row[plan->cpu[i + 1]].os - a;
            while (i + n < end &&
                   cpus->row[plan->cpu[i + n]].os == a + (uint32_t)n * step) {
                n++;
            }
        }
        const char *comma = i > plan->first[rank] ? "," : "";
        if (n < 3) {
            st_text_add(text, "%s%u", comma, a);
            n = 1;
        } else if (step == 1) {
            st_text_add(text, "%s%u-%u", comma, a, a + (uint32_t)n - 1);
        } else {
            st_text_add(text, "%s%u-%u:%u", comma, a, a + ((uint32_t)n - 1) * step, step);
        }
        i += n;
    }
}

void placing_text(const struct st_cpus *cpus, const struct st_placement *plan, char *out,
                  size_t size)
{
    struct st_text text = {0};

    for (size_t r = 0; r < plan->n_ranks; r++) {
        st_text_add(&text, "%s", r > 0 ? "|" : "");
        add_rank(&text, cpus, plan, r);
    }
    assert_true(st_copy(out, size, st_text_get(&text)));
    st_text_clear(&text);
}

static void check_apart(const struct st_cpus *cpus, const struct st_placement *plan,
                        bool share_cores)
{
    struct st_error err = {0};
    size_t *owner = st_calloc(&err, cpus->n, sizeof *owner); /* rank + 1 by core */
    bool *taken = st_calloc(&err, cpus->n, sizeof *taken);

    assert_non_null(owner);
    assert_non_null(taken);
    for (size_t r = 0; r < plan->n_ranks; r++) {
        for (size_t i = plan->first[r]; i < plan->first[r + 1]; i++) {
            size_t row = plan->cpu[i];
            assert_true(row < cpus->n);
            assert_false(taken[row]);
            taken[row] = true;
            while (row > 0 && cpus->row[row - 1].core == cpus->row[row].core) {
                row--; /* a core's first row stands for the core */
            }
            assert_true(share_cores || owner[row] == 0 || owner[row] == r + 1);
            owner[row] = r + 1;
        }
    }
    st_free(owner);
    st_free(taken);
}

void placing_check(const struct st_cpus *cpus, const struct st_layout_request *request,
                   size_t n_started, const struct st_placement *plan)
{
    struct st_placement again = {0};
    struct st_error err = {0};

    assert_false(plan->oversubscribed);
    assert_int_equal(plan->first[plan->n_ranks], plan->n_seats);
    check_apart(cpus, plan, request->ranks == ST_MANY_ALL_PUS);
    assert_int_equal(
        st_place_plan(cpus, request, n_started, ST_RANKS_AS_ASKED, &again, &err), ST_OK);
    assert_int_equal(again.n_seats, plan->n_seats);
    assert_memory_equal(again.cpu, plan->cpu, plan->n_seats * sizeof *plan->cpu);
    st_placement_clear(&again);
}
