/* Kinds of pairs by the seats of their ranks, and what is said of a mixture. */
#include "src/base/mem.h"
#include "src/benchmarks/part_pair_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_closest_shared_thing_decides(void **unused)
{
    static const struct {
        struct st_pair_seat a, b;
        enum st_pair_kind kind;
    } rows[] = {
        {{0, 0, 0}, {0, 0, 0}, ST_PAIR_INTRA_L3},
        {{0, 0, 0}, {0, 0, 1}, ST_PAIR_INTRA_SOCKET},
        {{0, 0, 3}, {0, 1, 4}, ST_PAIR_INTRA_NODE},
        /* Equal numbers on another node are another cache. */
        {{0, 0, 0}, {1, 0, 0}, ST_PAIR_INTER_NODE},
        /* What is unknown is not shared. */
        {{2, SIZE_MAX, SIZE_MAX}, {2, SIZE_MAX, SIZE_MAX}, ST_PAIR_INTRA_NODE},
        {{2, 1, SIZE_MAX}, {2, 1, SIZE_MAX}, ST_PAIR_INTRA_SOCKET},
        {{2, SIZE_MAX, SIZE_MAX}, {3, SIZE_MAX, SIZE_MAX}, ST_PAIR_INTER_NODE},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        assert_int_equal(st_pair_kind(&rows[i].a, &rows[i].b), rows[i].kind);
        assert_int_equal(st_pair_kind(&rows[i].b, &rows[i].a), rows[i].kind);
    }
}

static void only_a_mixture_is_told(void **unused)
{
    char text[256] = "old";

    (void)unused;
    st_pair_kinds_text((const int[]){0, 0, 0, 7}, text, sizeof text);
    assert_string_equal(text, "");
    st_pair_kinds_text((const int[]){0, 0, 0, 0}, text, sizeof text);
    assert_string_equal(text, "");
    st_pair_kinds_text((const int[]){2, 0, 1, 12}, text, sizeof text);
    assert_non_null(strstr(text, ": 2 intra-L3, 1 intra-node, 12 inter-node"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closest_shared_thing_decides),
        cmocka_unit_test(only_a_mixture_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
