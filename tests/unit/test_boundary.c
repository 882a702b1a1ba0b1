/*
 * Boundary conditions from text: what is understood, and what each mistake is answered with.
 */
#include "src/base/mem.h"
#include "src/flow/boundary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct st_patch patches[] = {
    {.name = "inlet", .type = "patch", .rank = -1},
    {.name = "sideLeft", .type = "patch", .rank = -1},
    {.name = "sideRight", .type = "patch", .rank = -1},
    {.name = "floor", .type = "wall", .rank = -1},
    {.name = "mirror", .type = "symmetryPlane", .rank = -1},
    {.name = "back", .type = "empty", .kind = ST_PATCH_EMPTY, .rank = -1},
    {.name = "", .type = "processor", .kind = ST_PATCH_HALO, .rank = 1},
};
static const struct st_mesh mesh = {.n_patches = ST_COUNT(patches), .patches = patches};

static void names_stars_and_types_decide(void **unused)
{
    struct st_bc got[ST_COUNT(patches)] = {{0}};
    struct st_error err = {0};

    (void)unused;
    assert_int_equal(st_bc_apply(&mesh,
                                 " inlet : parabola 0.5 1 1;\n side*: symmetry ;"
                                 "sideRight: pressure -2.5e-1;",
                                 got, &err),
                     ST_OK);
    assert_int_equal(got[0].kind, ST_BC_PARABOLA);
    assert_int_equal(got[1].kind, ST_BC_SYMMETRY);
    assert_int_equal(got[2].kind, ST_BC_PRESSURE);
    assert_true(got[2].value[0] == -0.25);
    assert_int_equal(got[3].kind, ST_BC_WALL);
    assert_int_equal(got[4].kind, ST_BC_SYMMETRY);
    assert_int_equal(got[5].kind, ST_BC_EMPTY);
    /* 24 (y - 1/2)(1 - y) at y = 3/4 is 3/2; nothing below the step. */
    assert_true(fabs(st_bc_velocity(&got[0], (struct st_vec){0, 0.75, 0}).x - 1.5) <
                1e-15);
    assert_true(st_bc_velocity(&got[0], (struct st_vec){0, 0.25, 0}).x == 0.0);
}

static void mistakes_are_explained(void **unused)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"side*: wall", "patch 'inlet' (patch) has no boundary condition"},
        {"inlet: velocity 1 0; side*: wall", "velocity UX UY UZ"},
        {"inlet: velocity 1 0 zero; side*: wall", "velocity needs 3 number"},
        {"inlet: velocity 1 0 nan; side*: wall", "velocity needs 3 number"},
        {"inlet: pressure 1 2; side*: wall", "'2' is too much after pressure"},
        {"inlet: slip; side*: wall", "no condition is called 'slip'"},
        {"inlet: ; side*: wall", "patch 'inlet' has no condition"},
        {"inlet wall; side*: wall", "'inlet wall' is not one"},
        {"inlet: wall; side*: wall; outlet: pressure 0",
         "no patch 'outlet'; its patches are: inlet (patch), sideLeft (patch)"},
        {"inlet: wall; side*: wall; lid*: wall", "no patch 'lid*'"},
        {"inlet: wall; inlet: wall", "patch 'inlet' has two conditions"},
        {"inlet: empty; side*: wall", "only patches of type empty"},
        {"inlet: wall; side*: wall; back: wall", "only patches of type empty"},
        {"inlet: parabola 1 0.5 1; side*: wall", "the second must be greater"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_bc got[ST_COUNT(patches)];
        struct st_error err = {0};
        const enum st_status rc = st_bc_apply(&mesh, rows[i].text, got, &err);
        if (rc != ST_ERR_CONFIG || strstr(err.text, rows[i].said) == NULL) {
            fail_msg("'%s' gave '%s'", rows[i].text, err.text);
        }
    }
}

/* More entries and longer names than there is room for. */
static void too_much_text_is_refused(void **unused)
{
    char text[4096] = "";
    struct st_error err = {0};

    (void)unused;
    for (size_t i = 0; i < 65; i++) {
        const size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "p%zu: wall;", i);
    }
    assert_int_equal(st_bc_check(text, &err), ST_ERR_CONFIG);
    assert_non_null(strstr(err.text, "more than 64"));
    memset(text, 'a', 300);
    (void)snprintf(text + 300, sizeof text - 300, ": wall");
    assert_int_equal(st_bc_check(text, &err), ST_OK); /* cut; no patch has such a name */
    assert_int_equal(st_bc_check("", &err), ST_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stars_and_types_decide),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(too_much_text_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
