#include "src/machine/affinity.h"

#include "src/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/*
 * Masks beyond 1024 CPUs (CASES 21), with a shim in place of sched_getaffinity() that
 * refuses masks below 8192 bits and states CPUs 0, 1 and 5000.
 */

int shim_n_calls(void); /* tests/machine_shims/small_masks_refused.c */

static void masks_grow_until_they_fit(void **state)
{
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    struct st_error err = {0};

    (void)state;
    assert_int_equal(st_affinity_get(0, mask, &err), ST_OK);
    assert_int_equal(shim_n_calls(), 4); /* 1024, 2048, 4096, 8192 */
    char *list = st_cpu_list(mask, &err);
    assert_string_equal(list, "0-1,5000");
    st_free(list);
    hwloc_bitmap_free(mask);
}

static void binding_to_no_such_cpu_is_an_error(void **state)
{
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    struct st_error err = {0};

    (void)state;
    assert_int_equal(st_affinity_set(mask, &err), ST_ERR_INTERNAL);
    (void)hwloc_bitmap_set(mask, 60000);
    assert_int_equal(st_affinity_set(mask, &err), ST_ERR_TOPO);
    assert_non_null(strstr(err.text, "CPU 60000"));
    hwloc_bitmap_fill(mask);
    assert_int_equal(st_affinity_set(mask, &err), ST_ERR_INTERNAL);
    hwloc_bitmap_free(mask);
}

static void lists_are_not_truncated(void **state)
{
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    hwloc_bitmap_t back = hwloc_bitmap_alloc();
    struct st_error err = {0};

    (void)state;
    for (unsigned cpu = 0; cpu < 4096; cpu += 2) {
        (void)hwloc_bitmap_set(mask, cpu);
    }
    char *list = st_cpu_list(mask, &err);
    assert_true(strlen(list) > 8000);
    assert_int_equal(st_cpu_list_parse(list, back, &err), ST_OK);
    assert_true(hwloc_bitmap_isequal(mask, back));
    st_free(list);
    hwloc_bitmap_free(mask);
    hwloc_bitmap_free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_grow_until_they_fit),
        cmocka_unit_test(binding_to_no_such_cpu_is_an_error),
        cmocka_unit_test(lists_are_not_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
