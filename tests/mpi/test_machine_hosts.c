#include "src/base/mem.h"
#include "src/machine/machine.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Two hosts of different kinds (CASES 9): a shim makes even and odd ranks two hosts, whose
 * leaders load different synthetic topologies. So all goes through two leaders, as on a cluster.
 */

static const char *const kinds[] = {"Package:2 Core:4 PU:2", "Package:1 Core:6 PU:1"};

static size_t n_hosts(const struct stm_comm *c)
{
    return c->n_ranks > 1 ? 2 : 1;
}

static struct st_machine *open_kinds(const struct stm_comm *c, bool alike)
{
    struct st_machine *m = NULL;
    struct st_error err = {0};

    (void)setenv("HWLOC_SYNTHETIC", kinds[alike ? 0 : c->rank % 2], 1);
    const enum st_status rc = st_machine_open(c, &m, &err);
    (void)unsetenv("HWLOC_SYNTHETIC");
    st_assert_all(c, rc == ST_OK && m != NULL);
    return m;
}

static void nodes_of_two_kinds_are_told_apart(void **state)
{
    static const size_t n_cores[] = {8, 6};
    const struct stm_comm *c = *state;
    struct st_machine *m = open_kinds(c, false);

    st_assert_all(c, m->n_nodes == n_hosts(c) && m->n_classes == n_hosts(c));
    st_assert_all(c, !m->keys_disagree && !m->fake_nodes);
    for (size_t k = 0; k < m->n_nodes; k++) {
        char host[32];
        (void)snprintf(host, sizeof host, "host%zu", k);
        st_assert_all(c, strcmp(m->nodes[k].host, host) == 0);
        st_assert_all(c, m->nodes[k].leader == k && m->nodes[k].topology_class == k);
        st_assert_all(c, m->nodes[k].n_usable_cores == n_cores[k]);
        st_assert_all(c, !m->nodes[k].is_this_system);
    }
    for (size_t r = 0; r < (size_t)c->n_ranks; r++) {
        st_assert_all(c, m->ranks[r].node == r % 2 && m->ranks[r].local_rank == r / 2);
    }
    st_assert_all(c, (m->topo != NULL) == (c->rank < 2));
    st_assert_all(c, c->n_ranks == 1 || strstr(m->warnings, "2 kinds") != NULL);
    st_machine_close(&m);
    m = open_kinds(c, true);
    st_assert_all(c, m->n_classes == 1);
    st_machine_close(&m);
}

static void a_foreign_topology_is_planned_not_applied(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_kinds(c, false);
    const struct st_layout_request request = {.n_ranks_per_node = 1,
                                              .threads = ST_MANY_ALL_CORES};
    struct st_layout *l = NULL;
    struct st_error err = {0};
    bool claimed = false;

    st_assert_all(c, st_layout_create(m, &request, &l, &err) == ST_OK);
    st_assert_all(c, l->n_active == n_hosts(c) && l->active == (c->rank < 2));
    st_assert_all(c, l->active_threads[0] == 8);
    st_assert_all(c, c->n_ranks == 1 || l->active_threads[1] == 6);
    st_assert_all(c, l->shape.max_threads == 8);
    st_assert_all(c,
                  st_layout_bind(l, &err) == ST_OK && st_layout_prove(l, &err) == ST_OK);
    for (size_t t = 0; t < l->n_seats; t++) {
        claimed = claimed || l->seats[t].proved || l->seats[t].verified != NULL;
    }
    st_assert_all(c, !claimed && !l->applied && l->foreign);
    st_assert_all(c, strstr(l->note, "planned, not applied") != NULL);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

static void each_kind_has_its_xml(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_kinds(c, false);
    struct st_error err = {0};
    char *text = NULL;

    for (size_t k = 0; k < m->n_classes; k++) {
        char *xml = NULL;
        char described[64];
        (void)snprintf(described, sizeof described, "value=\"%s\"", kinds[k]);
        st_assert_all(c, st_machine_topology_xml(m, k, &xml, &err) == ST_OK);
        st_assert_all(c, (xml != NULL) == (c->rank == 0));
        st_assert_all(c, xml == NULL || strstr(xml, described) != NULL);
        st_free(xml);
    }
    st_assert_all(c, st_machine_describe(m, NULL, &text, &err) == ST_OK);
    st_assert_all(c, text == NULL || c->n_ranks == 1 ||
                         (strstr(text, "kind 1: node 1") != NULL &&
                          strstr(text, "node 1: host1") != NULL &&
                          strstr(text, "NOT THIS SYSTEM") != NULL));
    st_free(text);
    st_machine_close(&m);
}

/* One host hides its /sys: its placement is unknown, but it is bound all the same. */
static void a_hidden_topology_is_no_obstacle(void **state)
{
    const struct stm_comm *c = *state;
    const struct st_layout_request request = {.n_ranks_per_node = 1, .n_threads = 1};
    const size_t hidden = n_hosts(c) - 1;
    struct st_machine *m = NULL;
    struct st_layout *l = NULL;
    struct st_error err = {0};

    if ((size_t)c->rank % 2 == hidden) {
        (void)setenv("HWLOC_FSROOT", "/nonexistent", 1);
    }
    const enum st_status rc = st_machine_open(c, &m, &err);
    (void)unsetenv("HWLOC_FSROOT");
    st_assert_all(c, rc == ST_OK);
    st_assert_all(c, !m->nodes[hidden].topology_known && !m->nodes[hidden].llc_plausible);
    st_assert_all(c,
                  m->nodes[hidden].n_usable_cores > 0 && m->nodes[hidden].is_this_system);
    st_assert_all(c, strstr(m->warnings, "hide their topology") != NULL);
    st_assert_all(c, st_layout_create(m, &request, &l, &err) == ST_OK);
    st_assert_all(c, strstr(l->note, "placement unknown") != NULL && l->applied);
    st_assert_all(c, st_layout_bind(l, &err) == ST_OK);
    const bool on_hidden = l->active && m->ranks[c->rank].node == hidden;
    st_assert_all(c, !l->active || (l->seats[0].proved &&
                                    (l->seats[0].core == SIZE_MAX) == on_hidden));
    char *xml = NULL;
    st_assert_all(c, st_machine_topology_xml(m, m->nodes[hidden].topology_class, &xml,
                                             &err) == ST_OK);
    st_assert_all(c, (c->rank == 0) == (xml != NULL) && (xml == NULL || xml[0] == '\0'));
    st_free(xml);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

/* Ranks of two hosts cannot be one pretended node. */
static void fake_nodes_stay_within_hosts(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = NULL;
    struct st_error err = {0};
    char spec[24];

    (void)snprintf(spec, sizeof spec, "block:%d", c->n_ranks > 2 ? 2 : 1);
    (void)setenv("SEATRIAL_FAKE_NODES", spec, 1);
    const enum st_status rc = st_machine_open(c, &m, &err);
    (void)unsetenv("SEATRIAL_FAKE_NODES");
    st_assert_all(c, rc == (c->n_ranks > 1 ? ST_ERR_USAGE : ST_OK));
    st_machine_close(&m);
    if (c->n_ranks >= 2) {
        (void)setenv("SEATRIAL_FAKE_NODES", "cyclic:2", 1);
        st_assert_all(c, st_machine_open(c, &m, &err) == ST_OK);
        (void)unsetenv("SEATRIAL_FAKE_NODES");
        st_assert_all(c, m->n_nodes == 2 && m->nodes[1].leader == 1);
        st_machine_close(&m);
    }
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
        cmocka_unit_test_prestate(nodes_of_two_kinds_are_told_apart, &world),
        cmocka_unit_test_prestate(a_foreign_topology_is_planned_not_applied, &world),
        cmocka_unit_test_prestate(each_kind_has_its_xml, &world),
        cmocka_unit_test_prestate(a_hidden_topology_is_no_obstacle, &world),
        cmocka_unit_test_prestate(fake_nodes_stay_within_hosts, &world),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return failed;
}
