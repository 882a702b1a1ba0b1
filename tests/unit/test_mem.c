#include "src/base/mem.h"

#include "src/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Allocation: alignment, zeroes, overflow, failures on demand; mappings and their pages. */

static void products_and_sums_are_checked(void **unused)
{
    static const struct {
        size_t a, b;
        bool product, sum;
    } rows[] = {
        {0, SIZE_MAX, true, true},          {SIZE_MAX, 0, true, true},
        {1, SIZE_MAX, true, false},         {2, SIZE_MAX / 2, true, true},
        {2, SIZE_MAX / 2 + 1, false, true}, {SIZE_MAX, SIZE_MAX, false, false},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        size_t out = 7;
        assert_int_equal(st_mul_size(rows[i].a, rows[i].b, &out), rows[i].product);
        assert_true(out == (rows[i].product ? rows[i].a * rows[i].b : 7));
        out = 7;
        assert_int_equal(st_add_size(rows[i].a, rows[i].b, &out), rows[i].sum);
        assert_true(out == (rows[i].sum ? rows[i].a + rows[i].b : 7));
    }
}

/* 262144 bytes is where st_calloc() changes its source of memory. */
static void blocks_are_aligned_and_zero(void **unused)
{
    static const size_t sizes[] = {0, 1, 63, 64, 1000, 262143, 262144, 262145, 5000000};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        struct st_error err = {0};
        unsigned char *dirty = st_calloc(&err, sizes[i], 1);
        assert_non_null(dirty);
        memset(dirty, 0xFF, sizes[i]);
        st_free(dirty);
        unsigned char *block = st_calloc(&err, sizes[i], 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % ST_MEM_ALIGNMENT, 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(block[k], 0);
        }
        st_free(block);
        assert_int_equal(err.code, ST_OK);
    }
    st_free(NULL);
}

static void empty_blocks_differ(void **unused)
{
    void *a = st_calloc(NULL, 0, 8);
    void *b = st_calloc(NULL, 8, 0);

    (void)unused;
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    st_free(a);
    st_free(b);
}

static void impossible_sizes_are_refused(void **unused)
{
    static const size_t n[] = {SIZE_MAX, SIZE_MAX / 8 + 2, SIZE_MAX / 8 - 1};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(n); i++) {
        struct st_error err = {0};
        assert_null(st_calloc(&err, n[i], 8));
        assert_int_equal(err.code, ST_ERR_MEMORY);
        assert_non_null(strstr(err.text, "bytes"));
    }
}

static void resize_keeps_content(void **unused)
{
    static const size_t sizes[] = {10, 100, 40000, 70000, 30, 1000000, 5};
    size_t n_kept = 0;
    uint64_t *block = NULL;

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        block = st_resize(NULL, block, sizes[i], sizeof *block);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % ST_MEM_ALIGNMENT, 0);
        for (size_t k = 0; k < n_kept && k < sizes[i]; k++) {
            assert_int_equal(block[k], 3 * k);
        }
        for (size_t k = 0; k < sizes[i]; k++) {
            block[k] = 3 * k;
        }
        n_kept = sizes[i];
    }
    struct st_error err = {0};
    assert_null(st_resize(&err, block, SIZE_MAX / 4, sizeof *block));
    assert_int_equal(err.code, ST_ERR_MEMORY);
    assert_int_equal(block[4], 12); /* still valid */
    st_free(block);
}

static void nth_allocation_fails_once(void **unused)
{
    (void)unused;
    for (uint64_t nth = 1; nth <= 4; nth++) {
        struct st_error err = {0};
        struct st_mapping mapping;
        const uint64_t before = st_mem_count();
        st_mem_fail_at(nth);
        void *a = st_calloc(&err, 1, 8);
        char *b = st_strdup(&err, "text");
        void *c = st_resize(&err, NULL, 2, 8);
        const enum st_status d = st_pages_map(&err, 4096, ST_PAGES_DEFAULT, &mapping);
        void *e = st_calloc(&err, 1, 8);
        st_mem_fail_at(0);
        assert_int_equal(a == NULL, nth == 1);
        assert_int_equal(b == NULL, nth == 2);
        assert_int_equal(c == NULL, nth == 3);
        assert_int_equal(d == ST_ERR_MEMORY, nth == 4);
        assert_int_equal(mapping.base == NULL, nth == 4);
        assert_non_null(e);
        assert_int_equal(err.code, ST_ERR_MEMORY);
        assert_non_null(strstr(err.text, "out of memory"));
        assert_int_equal(st_mem_count() - before, 5);
        st_free(a);
        st_free(b);
        st_free(c);
        st_free(e);
        st_pages_unmap(&mapping);
    }
}

static void strings_are_copied(void **unused)
{
    static const char text[] = "seatrial";
    char *copy = st_strdup(NULL, text);

    (void)unused;
    assert_ptr_not_equal(copy, text);
    assert_string_equal(copy, text);
    st_free(copy);
}

static void mappings_are_aligned_and_writable(void **unused)
{
    static const size_t sizes[] = {1, 4096, 4097, 2097151, 2097152, 2097153, 10000000};
    static const enum st_pages modes[] = {ST_PAGES_DEFAULT, ST_PAGES_SMALL,
                                          ST_PAGES_HUGE};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        for (size_t k = 0; k < ST_COUNT(modes); k++) {
            struct st_error err = {0};
            struct st_mapping m;
            assert_int_equal(st_pages_map(&err, sizes[i], modes[k], &m), ST_OK);
            assert_int_equal((uintptr_t)m.base % 2097152, 0);
            assert_int_equal(m.size_bytes, sizes[i]);
            unsigned char *bytes = m.base;
            assert_int_equal(bytes[0], 0);
            assert_int_equal(bytes[sizes[i] - 1], 0);
            bytes[0] = 1;
            bytes[sizes[i] - 1] = 2;
            st_pages_unmap(&m);
            assert_null(m.base);
            st_pages_unmap(&m);
        }
    }
}

static void impossible_mappings_are_refused(void **unused)
{
    static const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX - 4000000, SIZE_MAX / 2};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        struct st_error err = {0};
        struct st_mapping m = {.base = &err};
        assert_int_equal(st_pages_map(&err, sizes[i], ST_PAGES_HUGE, &m), ST_ERR_MEMORY);
        assert_null(m.base);
        assert_null(m.map);
        assert_non_null(strstr(err.text, "map"));
    }
}

/* Do permissions and VmFlags of the area around an address in /proc/self/smaps read so? An
 * area starts with "7f00-7f10 rw-p …" and ends with "VmFlags: rd wr …" (proc(5)). */
static bool area_is(const void *address, const char *permissions, const char *flag)
{
    char *smaps = st_read_file(NULL, "/proc/self/smaps", (size_t)1 << 26, NULL);
    const unsigned long long wanted = (uintptr_t)address;
    bool inside = false;
    bool found = false;

    assert_non_null(smaps);
    for (const char *line = smaps; line != NULL; line = strchr(line, '\n')) {
        char *end = NULL;
        line += *line == '\n' ? 1 : 0;
        const unsigned long long start = strtoull(line, &end, 16);
        if (end != line && *end == '-') {
            const unsigned long long stop = strtoull(end + 1, &end, 16);
            inside = start <= wanted && wanted < stop &&
                     strncmp(end + 1, permissions, strlen(permissions)) == 0;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            const char *hit = strstr(line, flag);
            found = found || (hit != NULL && hit < line + strcspn(line, "\n"));
        }
    }
    st_free(smaps);
    return found;
}

static void kernel_was_asked_for_the_page_size(void **unused)
{
    struct st_mapping small;
    struct st_mapping huge;

    (void)unused;
    assert_int_equal(st_pages_map(NULL, 100000, ST_PAGES_SMALL, &small), ST_OK);
    assert_int_equal(st_pages_map(NULL, 100000, ST_PAGES_HUGE, &huge), ST_OK);
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0) {
        assert_true(area_is(small.base, "rw-p", " nh"));
        assert_true(area_is(huge.base, "rw-p", " hg"));
    } else {
        print_message("this kernel has no transparent huge pages to ask for\n");
    }
    st_pages_unmap(&small);
    st_pages_unmap(&huge);
}

static void mappings_lie_between_margins(void **unused)
{
    struct st_mapping m;

    (void)unused;
    assert_int_equal(st_pages_map(NULL, (size_t)4 << 20, ST_PAGES_DEFAULT, &m), ST_OK);
    const char *base = m.base;
    assert_true(area_is(base, "rw-p", " "));
    assert_true(area_is(base + m.size_bytes - 1, "rw-p", " "));
    assert_true(area_is(base - 1, "---p", " "));
    assert_true(area_is(base + m.size_bytes, "---p", " "));
    st_pages_unmap(&m);
}

static bool system_gives_huge_pages(void)
{
    char line[128] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");

    if (file == NULL) {
        return false;
    }
    const bool read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    return read && strstr(line, "[never]") == NULL;
}

static double fraction_after_writing(size_t size_bytes, enum st_pages mode)
{
    struct st_mapping m;

    assert_int_equal(st_pages_map(NULL, size_bytes, mode, &m), ST_OK);
    assert_true(st_pages_huge_fraction(&m) == -1.0); /* nothing resident yet */
    memset(m.base, 1, size_bytes);
    const double fraction = st_pages_huge_fraction(&m);
    st_pages_unmap(&m);
    return fraction;
}

static void page_size_is_read_back(void **unused)
{
    const size_t size_bytes = (size_t)16 << 20;
    const struct st_mapping none = {0};

    (void)unused;
    assert_true(st_pages_huge_fraction(&none) == -1.0);
    const double small = fraction_after_writing(size_bytes, ST_PAGES_SMALL);
    const double huge = fraction_after_writing(size_bytes, ST_PAGES_HUGE);
    assert_true(small == 0.0);
    assert_true(huge >= 0.0 && huge <= 1.0);
    if (!system_gives_huge_pages()) {
        print_message("huge pages are switched off here: only the range was checked\n");
    } else if (huge < 0.5) {
        /* A fragmented machine may have none to give: that is what the reading is for. */
        print_message("the system gave huge pages for a share of %g only\n", huge);
    }
}

/* A neighbour with other pages must not count: margins keep the areas apart. */
static void neighbours_do_not_count(void **unused)
{
    const size_t size_bytes = (size_t)4 << 20;
    struct st_mapping small[2];
    struct st_mapping huge;

    (void)unused;
    assert_int_equal(st_pages_map(NULL, size_bytes, ST_PAGES_SMALL, &small[0]), ST_OK);
    assert_int_equal(st_pages_map(NULL, size_bytes, ST_PAGES_HUGE, &huge), ST_OK);
    assert_int_equal(st_pages_map(NULL, size_bytes, ST_PAGES_SMALL, &small[1]), ST_OK);
    memset(small[0].base, 1, size_bytes);
    memset(huge.base, 1, size_bytes);
    assert_true(st_pages_huge_fraction(&small[0]) == 0.0);
    assert_true(st_pages_huge_fraction(&small[1]) == -1.0);
    st_pages_unmap(&small[0]);
    st_pages_unmap(&huge);
    st_pages_unmap(&small[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_sums_are_checked),
        cmocka_unit_test(blocks_are_aligned_and_zero),
        cmocka_unit_test(empty_blocks_differ),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(resize_keeps_content),
        cmocka_unit_test(nth_allocation_fails_once),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(mappings_are_aligned_and_writable),
        cmocka_unit_test(impossible_mappings_are_refused),
        cmocka_unit_test(kernel_was_asked_for_the_page_size),
        cmocka_unit_test(mappings_lie_between_margins),
        cmocka_unit_test(page_size_is_read_back),
        cmocka_unit_test(neighbours_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
