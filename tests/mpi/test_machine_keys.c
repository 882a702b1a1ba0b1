#include "src/machine/machine.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/*
 * The two same-node keys disagree (CASES 3): a shim makes every rank alone by MPI's key, boot
 * id and host name say one node. The coarser grouping is used, and people are told.
 */

static void the_coarser_grouping_is_used(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = NULL;
    struct st_error err = {0};

    st_assert_all(c, st_machine_open(c, &m, &err) == ST_OK);
    st_assert_all(c, m->n_nodes == 1);
    st_assert_all(c, m->nodes[0].n_ranks == (size_t)c->n_ranks);
    st_assert_all(c, m->node_comm.n_ranks == c->n_ranks);
    st_assert_all(c, m->keys_disagree == (c->n_ranks > 1));
    st_assert_all(c, (strstr(m->warnings, "disagree") != NULL) == (c->n_ranks > 1));
    st_machine_close(&m);
}

int main(int argc, char **argv)
{
    struct stm_comm world;
    struct st_error err = {0};

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_coarser_grouping_is_used, &world),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return failed;
}
