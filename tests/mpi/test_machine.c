#include "src/machine/machine.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The machine and its layouts with ranks, on whatever this is: expectations come from the number
 * of ranks, the spec of the pretended nodes and the usable cores the machine itself states.
 */

static struct st_machine *open_machine(const struct stm_comm *c, const char *fake)
{
    struct st_machine *m = NULL;
    struct st_error err = {0};

    if (fake != NULL) {
        (void)setenv("SEATRIAL_FAKE_NODES", fake, 1);
    }
    const enum st_status rc = st_machine_open(c, &m, &err);
    (void)unsetenv("SEATRIAL_FAKE_NODES");
    if (rc != ST_OK) {
        (void)fprintf(stderr, "rank %d: %s\n", c->rank, err.text);
    }
    st_assert_all(c, rc == ST_OK && m != NULL);
    return m;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Equal on all ranks? Compares with rank 0's bytes. */
static bool same_everywhere(const struct stm_comm *c, const void *data, size_t n)
{
    struct st_error err = {0};
    char *copy = st_calloc(&err, n, 1);
    bool same = copy != NULL;

    if (same) {
        memcpy(copy, data, n);
        same = stm_bcast_bytes(c, copy, n, &err) == ST_OK && memcmp(copy, data, n) == 0;
    }
    st_free(copy);
    return same;
}

static void a_launch_on_one_machine_is_one_node(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, NULL);
    const struct st_node *node = &m->nodes[0];

    st_assert_all(c, m->n_nodes == 1 && m->n_classes == 1 && !m->fake_nodes);
    st_assert_all(c, !m->keys_disagree);
    st_assert_all(c, node->leader == 0 && node->n_ranks == (size_t)c->n_ranks);
    st_assert_all(c, node->topology_known && node->is_this_system);
    st_assert_all(c, node->n_usable_cores > 0 && node->n_usable_cores <= node->n_cores);
    st_assert_all(c, node->memory_bytes > 0 && node->memory_bytes < UINT64_MAX);
    st_assert_all(c, node->clock_step_s > 0.0 && node->clock_cost_s > 0.0);
    st_assert_all(c, node->n_facts >= 8 && strlen(node->boot_id) > 0);
    st_assert_all(c, strlen(m->usable[0]) > 0 && strlen(m->usable_reason[0]) > 0);
    st_assert_all(c, m->ranks[c->rank].local_rank == (size_t)c->rank);
    st_assert_all(c, strlen(m->ranks[c->n_ranks - 1].inherited) > 0);
    /* one load per node: nobody else has a topology */
    st_assert_all(c, (m->topo != NULL) == (c->rank == 0));
    st_assert_all(c, same_everywhere(c, m->nodes, sizeof *m->nodes));
    st_machine_close(&m);
    st_assert_all(c, m == NULL);
}

static void fake_nodes_are_uneven(void **state)
{
    const struct stm_comm *c = *state;
    const size_t n = (size_t)c->n_ranks;
    char spec[32];

    (void)snprintf(spec, sizeof spec, n > 1 ? "block:%zu,1" : "block:%zu",
                   n > 1 ? n - 1 : 1);
    struct st_machine *m = open_machine(c, spec);
    const size_t last = m->n_nodes - 1;
    st_assert_all(c, m->fake_nodes && strcmp(m->fake_spec, spec) == 0);
    st_assert_all(c, m->n_nodes == lesser(n, 2));
    st_assert_all(c, m->nodes[last].n_ranks == 1);
    st_assert_all(c, m->ranks[n - 1].node == last && m->ranks[n - 1].local_rank == 0);
    st_assert_all(c, m->nodes[last].leader == 0); /* the real node's loader */
    st_assert_all(c, m->n_classes == 1);
    st_assert_all(c, (size_t)m->node_comm.n_ranks ==
                         m->nodes[m->ranks[c->rank].node].n_ranks);
    st_machine_close(&m);

    (void)snprintf(spec, sizeof spec, "cyclic:%zu", lesser(n, 3));
    m = open_machine(c, spec);
    st_assert_all(c, m->n_nodes == lesser(n, 3));
    for (size_t r = 0; r < n; r++) {
        st_assert_all(c, m->ranks[r].node == r % lesser(n, 3));
        st_assert_all(c, m->ranks[r].local_rank == r / lesser(n, 3));
    }
    uint64_t memory = 0;
    for (size_t k = 0; k < m->n_nodes; k++) {
        memory += m->nodes[k].memory_bytes;
        st_assert_all(c, m->nodes[k].n_usable_cores > 0);
    }
    st_assert_all(c, memory > 0);
    st_machine_close(&m);
}

static void bad_specs_are_everybodys_error(void **state)
{
    static const char *const specs[] = {"block:9,9", "cyclic:99", "octagon:3"};
    const struct stm_comm *c = *state;

    for (size_t i = 0; i < ST_COUNT(specs); i++) {
        struct st_machine *m = NULL;
        struct st_error err = {0};
        (void)setenv("SEATRIAL_FAKE_NODES", specs[i], 1);
        const enum st_status rc = st_machine_open(c, &m, &err);
        (void)unsetenv("SEATRIAL_FAKE_NODES");
        st_assert_all(c, rc == ST_ERR_USAGE && m == NULL);
        st_assert_all(c, strstr(err.text, "SEATRIAL_FAKE_NODES") != NULL);
    }
}

/* hwloc alone would take this system in silence. */
static void a_topology_that_cannot_be_read_is_an_error(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = NULL;
    struct st_error err = {0};

    (void)setenv("HWLOC_XMLFILE", "/nonexistent.xml", 1);
    const enum st_status rc = st_machine_open(c, &m, &err);
    (void)unsetenv("HWLOC_XMLFILE");
    st_assert_all(c, rc == ST_ERR_USAGE && strstr(err.text, "/nonexistent.xml") != NULL);
}

/* Every active rank's seats are planned, bound, read back, and gathered in order. */
static void check_layout(const struct stm_comm *c, const struct st_machine *m,
                         struct st_layout *l)
{
    struct st_error err = {0};
    struct st_seat *seats = NULL;
    size_t n_seats = 0;
    size_t total = 0;
    bool proved = true;

    st_assert_all(c, st_layout_bind(l, &err) == ST_OK);
    st_assert_all(c, st_layout_prove(l, &err) == ST_OK);
    for (size_t t = 0; t < l->n_seats; t++) {
        proved = proved && l->seats[t].proved && l->seats[t].last_cpu == l->seats[t].pu &&
                 strcmp(l->seats[t].planned, l->seats[t].verified) == 0;
    }
    st_assert_all(c, proved && l->applied);
    st_assert_all(c, l->active == (l->n_seats > 0));
    st_assert_all(c, l->active == (l->step.handle != MPI_COMM_NULL));
    st_assert_all(c, l->active == (l->group.handle != MPI_COMM_NULL));
    st_assert_all(c, same_everywhere(c, &l->shape, sizeof l->shape));
    st_assert_all(c, same_everywhere(c, l->note, sizeof l->note));
    st_assert_all(
        c, same_everywhere(c, l->active_ranks, l->n_active * sizeof *l->active_ranks));
    st_assert_all(c, !l->active || ((size_t)l->step.n_ranks == l->n_active &&
                                    l->active_ranks[l->step.rank] == (size_t)c->rank));
    st_assert_all(c, !l->active || (l->place.n_threads == l->n_seats &&
                                    l->place.node_of[l->group.rank] == l->place.node &&
                                    l->place.memory_bytes > 0));
    st_assert_all(c, st_layout_gather(m, l, &n_seats, &seats, &err) == ST_OK);
    for (size_t i = 0; i < l->n_active; i++) {
        total += l->active_threads[i];
    }
    st_assert_all(c, n_seats == (c->rank == 0 ? total : 0));
    bool ordered = true;
    for (size_t i = 0, k = 0; c->rank == 0 && i < l->n_active; i++) {
        for (size_t t = 0; t < l->active_threads[i]; t++, k++) {
            ordered = ordered && seats[k].rank == l->active_ranks[i] &&
                      seats[k].thread == t && seats[k].proved &&
                      seats[k].node == l->active_node[i];
        }
    }
    st_assert_all(c, ordered);
    st_seats_free(n_seats, &seats);
    st_assert_all(c, seats == NULL);
}

static struct st_layout *make_layout(const struct stm_comm *c, const struct st_machine *m,
                                     const struct st_layout_request *request)
{
    struct st_layout *l = NULL;
    struct st_error err = {0};
    const enum st_status rc = st_layout_create(m, request, &l, &err);

    if (rc != ST_OK) {
        (void)fprintf(stderr, "rank %d: %s\n", c->rank, err.text);
    }
    st_assert_all(c, rc == ST_OK);
    return l;
}

/* On a pretended node; a real one refuses a crowd (below). */
static void all_cores_takes_one_rank_per_core(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, "block:1");
    const size_t n_active = lesser((size_t)c->n_ranks, m->nodes[0].n_usable_cores);
    const struct st_layout_request request = {.ranks = ST_MANY_ALL_CORES, .n_threads = 1};
    struct st_layout *l = make_layout(c, m, &request);

    st_assert_all(c, l->n_active == n_active && l->n_groups == 1);
    st_assert_all(c, l->active == ((size_t)c->rank < n_active));
    st_assert_all(c, l->shape.n_ranks == n_active && l->shape.n_threads == n_active);
    st_assert_all(c, l->shape.n_nodes == 1 && !l->shape.oversubscribed);
    check_layout(c, m, l);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

static void threads_go_over_the_sleepers_cores(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, NULL);
    const size_t n_cores = m->nodes[0].n_usable_cores;
    struct st_layout_request request = {.n_ranks_per_node = 1,
                                        .threads = ST_MANY_ALL_CORES};
    struct st_layout *l = make_layout(c, m, &request);

    st_assert_all(c, l->n_active == 1 && l->active_threads[0] == n_cores);
    st_assert_all(c, l->shape.max_threads == n_cores);
    check_layout(c, m, l);
    st_layout_destroy(&l);
    request.threads = ST_MANY_COUNT; /* and back to one: bound anew */
    request.n_threads = 1;
    l = make_layout(c, m, &request);
    check_layout(c, m, l);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

static void refuse(const struct stm_comm *c, const struct st_machine *m,
                   const struct st_layout_request *request, enum st_status want,
                   const char *say)
{
    struct st_layout *l = NULL;
    struct st_error err = {0};
    const enum st_status rc = st_layout_create(m, request, &l, &err);

    if (rc != want || strstr(err.text, say) == NULL) {
        (void)fprintf(stderr, "rank %d: status %d '%s'\n", c->rank, (int)rc, err.text);
    }
    st_assert_all(c, rc == want && strstr(err.text, say) != NULL && l == NULL);
}

/* `others: busy` needs cores that the step leaves free, and is bound to these alone. */
static void busy_ranks_stay_off_the_measured_cores(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, NULL);
    const size_t n_cores = m->nodes[0].n_usable_cores;
    struct st_layout_request request = {
        .n_ranks_per_node = 1, .n_threads = 1, .others = ST_OTHERS_BUSY};

    if (n_cores > 1) {
        struct st_error err = {0};
        struct st_layout *l = make_layout(c, m, &request);
        st_assert_all(c, l->active == (l->busy == NULL));
        bool apart = st_layout_bind(l, &err) == ST_OK;
        if (l->busy != NULL) {
            cpu_set_t mask;
            CPU_ZERO(&mask);
            apart = apart && sched_getaffinity(0, sizeof mask, &mask) == 0;
            apart = apart && (size_t)CPU_COUNT(&mask) < m->nodes[0].n_usable_pus;
            apart = apart && CPU_COUNT(&mask) > 0;
        }
        st_assert_all(c, apart);
        st_layout_destroy(&l);
    }
    request.threads = ST_MANY_ALL_CORES;
    if (c->n_ranks > 1) {
        refuse(c, m, &request, ST_ERR_STEP, "`others: busy`: the step uses every core");
    }
    st_machine_close(&m);
}

static void each_node_is_a_group(void **state)
{
    const struct stm_comm *c = *state;
    const size_t n = (size_t)c->n_ranks;
    struct st_machine *m = open_machine(c, n > 1 ? "block:2" : "block:1");
    struct st_layout_request request = {
        .nodes = ST_NODES_EACH, .ranks = ST_MANY_ALL_CORES, .n_threads = 1};
    struct st_layout *l = make_layout(c, m, &request);

    st_assert_all(c, l->n_groups == m->n_nodes && l->shape.n_nodes == 1);
    st_assert_all(c, !l->active || l->group_index == m->ranks[c->rank].node);
    st_assert_all(c, !l->active || l->place.n_nodes == 1);
    check_layout(c, m, l);
    st_layout_destroy(&l);

    request.nodes = ST_NODES_ALL;
    l = make_layout(c, m, &request);
    st_assert_all(c, l->n_groups == 1 && l->shape.n_nodes == m->n_nodes);
    st_assert_all(c, !l->active || l->place.node == m->ranks[c->rank].node);
    check_layout(c, m, l);
    st_layout_destroy(&l);

    request.nodes = ST_NODES_COUNT;
    request.n_nodes = 1;
    l = make_layout(c, m, &request);
    st_assert_all(c, !l->active || m->ranks[c->rank].node == 0);
    check_layout(c, m, l);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

static void a_total_fills_node_by_node(void **state)
{
    const struct stm_comm *c = *state;
    const size_t n = (size_t)c->n_ranks;
    struct st_machine *m = open_machine(c, n > 1 ? "block:2" : "block:1");
    const struct st_layout_request request = {
        .ranks = ST_MANY_ALL_CORES, .n_ranks = n, .n_threads = 1, .oversubscribe = true};
    struct st_layout *l = make_layout(c, m, &request);
    size_t n_cores = 0;

    for (size_t k = 0; k < m->n_nodes; k++) {
        n_cores += m->nodes[k].n_usable_cores;
        st_assert_all(c, m->nodes[k].n_ranks >= n / m->n_nodes);
    }
    st_assert_all(c, l->n_active == n && l->active);
    st_assert_all(c, l->shape.max_ranks_per_node == m->nodes[0].n_ranks);
    st_assert_all(c, n > n_cores ? l->shape.oversubscribed && l->place.oversubscribed
                                 : !l->shape.oversubscribed);
    check_layout(c, m, l);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

static void impossible_layouts_are_refused_alike(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, NULL);
    const size_t n_cores = m->nodes[0].n_usable_cores;
    struct st_layout_request request = {.n_ranks_per_node = 1, .n_threads = n_cores + 1};

    (void)setenv("OMP_PROC_BIND", "spread", 1);
    refuse(c, m, &request, ST_ERR_STEP, "`oversubscribe: yes`");
    refuse(c, m, &request, ST_ERR_STEP, "OMP_PROC_BIND=spread"); /* what is in force */
    refuse(c, m, &request, ST_ERR_STEP, m->usable[0]); /* which CPUs there are */
    (void)unsetenv("OMP_PROC_BIND");
    request.oversubscribe = true;
    struct st_layout *l = make_layout(c, m, &request);
    st_assert_all(c, l->shape.oversubscribed);
    check_layout(c, m, l);
    st_layout_destroy(&l);

    request = (struct st_layout_request){.n_ranks_per_node = (size_t)c->n_ranks + 1,
                                         .n_threads = 1};
    refuse(c, m, &request, ST_ERR_UNSUPPORTED, "the step wants");
    request = (struct st_layout_request){
        .nodes = ST_NODES_COUNT, .n_nodes = 9, .n_ranks_per_node = 1, .n_threads = 1};
    refuse(c, m, &request, ST_ERR_UNSUPPORTED, "wants 9 nodes, the launch has 1");
    st_machine_close(&m);
}

static void a_crowd_on_a_real_node_is_refused(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, NULL);
    struct st_layout_request request = {.ranks = ST_MANY_ALL_CORES, .n_threads = 1};
    struct st_layout *l = NULL;

    if ((size_t)c->n_ranks > m->nodes[0].n_usable_pus) {
        refuse(c, m, &request, ST_ERR_LAUNCH, "ranks were started on node 0");
        request.oversubscribe = true;
    }
    l = make_layout(c, m, &request);
    st_assert_all(c,
                  l->n_active == lesser((size_t)c->n_ranks, m->nodes[0].n_usable_cores));
    check_layout(c, m, l);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

/* The tests start unbound (--bind-to none): all ranks have the same mask. */
static void a_stacked_launch_is_refused(void **state)
{
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, NULL);
    struct st_layout_request request = {.policy = ST_POLICY_LAUNCHER,
                                        .n_threads = 1,
                                        .n_ranks_per_node = (size_t)c->n_ranks};
    struct st_error err = {0};
    bool proved = true;

    if (c->n_ranks > 1) {
        refuse(c, m, &request, ST_ERR_LAUNCH, "stacked launch");
        refuse(c, m, &request, ST_ERR_LAUNCH, "ranks 0 (CPUs ");
    }
    request.oversubscribe = true;
    struct st_layout *l = make_layout(c, m, &request);
    st_assert_all(c, !l->applied && l->active && l->seats[0].pu == -1);
    st_assert_all(c, l->shape.oversubscribed == (c->n_ranks > 1));
    st_assert_all(c, st_layout_bind(l, &err) == ST_OK);
    for (size_t t = 0; t < l->n_seats; t++) {
        proved = proved && l->seats[t].proved && l->seats[t].verified != NULL;
    }
    st_assert_all(c, proved);
    st_assert_all(c, strcmp(l->seats[0].verified, m->ranks[c->rank].inherited) == 0);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

static void the_job_is_described(void **state)
{
    const struct stm_comm *c = *state;
    const size_t n = (size_t)c->n_ranks;
    struct st_machine *m = open_machine(c, n > 1 ? "block:2" : NULL);
    const struct st_layout_request request = {.n_ranks_per_node = 1, .n_threads = 1};
    struct st_layout *l = make_layout(c, m, &request);
    struct st_error err = {0};
    char *text = NULL;
    char *xml = NULL;

    st_assert_all(c, st_machine_describe(m, l, &text, &err) == ST_OK);
    st_assert_all(c, (text != NULL) == (c->rank == 0));
    st_assert_all(c, text == NULL || (strstr(text, "planned only") != NULL &&
                                      strstr(text, "usable: CPUs ") != NULL &&
                                      strstr(text, "caches: L1d") != NULL &&
                                      strstr(text, "NUMA 0:") != NULL));
    st_assert_all(c, text == NULL || n == 1 || strstr(text, "FAKE node") != NULL);
    st_free(text);
    text = NULL;
    st_assert_all(c, st_machine_describe(m, NULL, &text, &err) == ST_OK);
    st_assert_all(c, text == NULL || strstr(text, "rank 0 inherited CPUs") != NULL);
    st_free(text);
    st_assert_all(c, st_machine_topology_xml(m, 0, &xml, &err) == ST_OK);
    st_assert_all(c, (xml != NULL) == (c->rank == 0));
    st_assert_all(c, xml == NULL || strstr(xml, "<topology") != NULL);
    st_free(xml);
    st_assert_all(c, st_machine_topology_xml(m, 99, &xml, &err) == ST_ERR_INTERNAL);
    st_layout_destroy(&l);
    st_machine_close(&m);
}

/* The whole life once, with allocation `nth` failing on rank `bad`. */
static enum st_status live(const struct stm_comm *c, int bad, uint64_t nth,
                           struct st_error *err)
{
    const struct st_layout_request request = {.n_ranks_per_node = 1, .n_threads = 1};
    struct st_machine *m = NULL;
    struct st_layout *l = NULL;
    struct st_seat *seats = NULL;
    size_t n_seats = 0;

    if (c->rank == bad) {
        st_mem_fail_at(nth);
    }
    enum st_status rc = st_machine_open(c, &m, err);
    if (rc == ST_OK) {
        rc = st_layout_create(m, &request, &l, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(c, st_layout_bind(l, err), err);
    }
    if (rc == ST_OK) {
        rc = st_layout_gather(m, l, &n_seats, &seats, err);
    }
    st_mem_fail_at(0);
    st_seats_free(n_seats, &seats);
    st_layout_destroy(&l);
    st_machine_close(&m);
    return rc;
}

/*
 * One rank runs out of memory at any point: all get one error, none hangs, nothing leaks. Files
 * that only inform (facts, limits) may go missing instead.
 */
static void any_failing_allocation_is_everybodys_error(void **state)
{
    const struct stm_comm *c = *state;
    const uint64_t before = st_mem_count();
    struct st_error err = {0};

    st_assert_all(c, live(c, -1, 0, &err) == ST_OK);
    uint64_t n_own = st_mem_count() - before;
    st_assert_all(c, n_own > 10);
    for (int k = 0; k < 2; k++) {
        const int bad = k == 0 ? 0 : c->n_ranks - 1;
        uint64_t n = n_own; /* of the bad rank, so that all loop alike */
        size_t n_failed = 0;
        st_assert_all(c, MPI_Bcast(&n, 1, MPI_UINT64_T, bad, c->handle) == MPI_SUCCESS);
        /* one rank: every allocation; more: every third, another third at 2, 3 and 4 ranks */
        const uint64_t step = c->n_ranks == 1 ? 1 : 3;
        for (uint64_t nth = 1 + (uint64_t)c->n_ranks % step; nth <= n; nth += step) {
            struct st_error one = {0};
            const enum st_status rc = live(c, bad, nth, &one);
            int worst = (int)rc;
            int best = (int)rc;
            (void)MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, c->handle);
            (void)MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_INT, MPI_MIN, c->handle);
            st_assert_all(c, worst == best && (rc == ST_OK || rc == ST_ERR_MEMORY));
            n_failed += rc == ST_OK ? 0 : 1;
        }
        st_assert_all(c, n_failed > 10);
        if (c->n_ranks == 1) {
            break;
        }
    }
}

/* Field by field: bytes between the fields are nobody's. */
static bool same_shape(const struct st_shape *a, const struct st_shape *b)
{
    return a->n_groups == b->n_groups && a->n_nodes == b->n_nodes &&
           a->n_ranks == b->n_ranks && a->max_ranks_per_node == b->max_ranks_per_node &&
           a->min_ranks_per_node == b->min_ranks_per_node &&
           a->max_threads == b->max_threads && a->n_threads == b->n_threads &&
           a->llc_bytes == b->llc_bytes && a->oversubscribed == b->oversubscribed &&
           a->n_numa == b->n_numa;
}

static void the_prediction_is_what_comes(void **state)
{
    static const struct st_layout_request requests[] = {
        {.ranks = ST_MANY_ALL_CORES, .n_threads = 1, .oversubscribe = true},
        {.ranks = ST_MANY_ALL_CORES,
         .n_threads = 1,
         .nodes = ST_NODES_EACH,
         .oversubscribe = true},
        {.n_ranks_per_node = 1, .threads = ST_MANY_ALL_CORES},
        {.n_ranks = 1, .n_threads = 1},
    };
    const struct stm_comm *c = *state;
    struct st_machine *m = open_machine(c, "block:1");

    for (size_t i = 0; i < ST_COUNT(requests); i++) {
        struct st_layout *l = make_layout(c, m, &requests[i]);
        struct st_shape shape = {0};
        struct st_error err = {0};
        if (c->rank == 0) {
            st_assert_all(c, st_shape_predict(&requests[i], 1, (size_t)c->n_ranks, &shape,
                                              &err) == ST_OK);
        } else {
            st_assert_all(c, true);
        }
        st_assert_all(c, c->rank != 0 || same_shape(&shape, &l->shape));
        st_layout_destroy(&l);
    }
    struct st_shape shape = {0};
    struct st_error err = {0};
    const struct st_layout_request many = {
        .nodes = ST_NODES_COUNT, .n_nodes = 100, .n_ranks_per_node = 1, .n_threads = 1};
    st_assert_all(c, st_shape_predict(&many, 100, 4, &shape, &err) == ST_OK);
    st_assert_all(c, shape.n_nodes == 100 && shape.n_ranks == 100 && shape.n_groups == 1);
    st_assert_all(c, st_shape_predict(&many, 99, 4, &shape, &err) == ST_ERR_UNSUPPORTED);
    const struct st_layout_request crowd = {.ranks = ST_MANY_ALL_CORES, .n_threads = 1};
    st_assert_all(c, st_shape_predict(&crowd, 1, 100000, &shape, &err) == ST_ERR_LAUNCH);
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
        cmocka_unit_test_prestate(a_stacked_launch_is_refused, &world),
        cmocka_unit_test_prestate(a_launch_on_one_machine_is_one_node, &world),
        cmocka_unit_test_prestate(fake_nodes_are_uneven, &world),
        cmocka_unit_test_prestate(bad_specs_are_everybodys_error, &world),
        cmocka_unit_test_prestate(a_topology_that_cannot_be_read_is_an_error, &world),
        cmocka_unit_test_prestate(all_cores_takes_one_rank_per_core, &world),
        cmocka_unit_test_prestate(threads_go_over_the_sleepers_cores, &world),
        cmocka_unit_test_prestate(busy_ranks_stay_off_the_measured_cores, &world),
        cmocka_unit_test_prestate(each_node_is_a_group, &world),
        cmocka_unit_test_prestate(a_total_fills_node_by_node, &world),
        cmocka_unit_test_prestate(impossible_layouts_are_refused_alike, &world),
        cmocka_unit_test_prestate(a_crowd_on_a_real_node_is_refused, &world),
        cmocka_unit_test_prestate(the_job_is_described, &world),
        cmocka_unit_test_prestate(the_prediction_is_what_comes, &world),
        cmocka_unit_test_prestate(any_failing_allocation_is_everybodys_error, &world),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return failed;
}
