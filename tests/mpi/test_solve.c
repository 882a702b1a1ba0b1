/*
 * Linear solvers on the matrices of a box: solutions, stopping rules, and what they do when there
 * is nothing to reach: too few iterations, fixed counts, NaN, memory that runs out on one rank.
 */
#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/flow/fv.h"
#include "src/flow/solve.h"
#include "src/mesh/box.h"
#include "tests/mpi/assert_all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct stm_comm world;

/* -lap u + c u on a box with walls; with a flow through it if not symmetric. */
struct problem {
    struct st_mesh *mesh;
    struct st_fv *fv;
    struct st_ldu a;
    double *arrays[7];
    double *x, *b, *want;
};

static void open_problem(struct problem *p, int n, bool is_symmetric)
{
    const struct st_mesh_box box = {.n = {n, n - 1, n}, .length = {1.0, 1.0, 1.0}};
    struct st_error err = {0};

    memset(p, 0, sizeof *p);
    st_assert_all(&world, st_mesh_box_create(&world, &box, &p->mesh, &err) == ST_OK);
    st_assert_all(&world,
                  st_fv_create(p->mesh, ST_LAPLACIAN_ORTHOGONAL, &p->fv, &err) == ST_OK);
    const struct st_fv *fv = p->fv;
    const size_t n_cells = fv->k.n_cells;
    const size_t sizes[7] = {
        n_cells, fv->k.n_faces, fv->k.n_faces, (size_t)fv->addr.n_interface,
        n_cells, n_cells,       n_cells};
    for (int i = 0; i < 7; i++) {
        p->arrays[i] = st_calloc(&err, sizes[i], sizeof(double));
        st_assert_all(&world, p->arrays[i] != NULL);
    }
    p->a = (struct st_ldu){&fv->addr, p->arrays[0], p->arrays[1],
                           is_symmetric ? p->arrays[1] : p->arrays[2], p->arrays[3]};
    p->x = p->arrays[4];
    p->b = p->arrays[5];
    p->want = p->arrays[6];
    const double flow = is_symmetric ? 0.0 : 0.5; /* of a face's diffusion, along x */
    for (int32_t f = 0; f < p->mesh->n_internal; f++) {
        const double phi = flow * fv->spread[f] * (p->mesh->area[f].x > 0.0 ? 1.0 : 0.0);
        p->a.upper[f] = 0.5 * phi - fv->spread[f];
        p->a.lower[f] = -0.5 * phi - fv->spread[f];
        p->a.diag[p->mesh->owner[f]] += fv->spread[f] + 0.5 * phi;
        p->a.diag[p->mesh->neighbour[f]] += fv->spread[f] - 0.5 * phi;
    }
    for (int32_t f = p->mesh->n_internal; f < p->mesh->n_faces; f++) {
        const double sign = p->mesh->area[f].x > 0.0   ? 1.0
                            : p->mesh->area[f].x < 0.0 ? -1.0
                                                       : 0.0;
        p->a.diag[p->mesh->owner[f]] += fv->spread[f];
        if (f >= fv->interface_start) {
            const double phi = sign * flow * fv->spread[f];
            p->a.diag[p->mesh->owner[f]] += 0.5 * phi;
            p->a.coupling[f - fv->interface_start] = 0.5 * phi - fv->spread[f];
        }
    }
    for (int32_t c = 0; c < p->mesh->n_cells; c++) {
        p->a.diag[c] += 0.1 * p->mesh->volume[c];
        p->want[c] = sin(0.7 * (double)p->mesh->cell_global[c]);
    }
    struct st_ldu_exchange exchange;
    st_assert_all(&world, st_ldu_exchange_init(&exchange, &fv->addr, &err) == ST_OK);
    st_assert_all(&world,
                  st_ldu_multiply(&exchange, &p->a, p->want, p->b, &err) == ST_OK);
    st_ldu_exchange_clear(&exchange);
}

static void close_problem(struct problem *p)
{
    for (int i = 0; i < 7; i++) {
        st_free(p->arrays[i]);
    }
    st_fv_destroy(&p->fv);
    st_mesh_destroy(&p->mesh);
}

static struct st_solve_report run(const struct problem *p, enum st_solver_kind kind,
                                  bool is_fast, const struct st_solver_control *control)
{
    const struct st_solver_options options = {.kind = kind, .is_fast = is_fast};
    struct st_solve_report report = {0};
    struct st_solver *solver = NULL;
    struct st_error err = {0};

    st_assert_all(&world,
                  st_solver_create(&p->fv->addr, &options, &solver, &err) == ST_OK);
    memset(p->x, 0, p->fv->k.n_cells * sizeof(double));
    st_assert_all(&world, st_solver_solve(solver, &p->a, p->x, p->b, control, &report,
                                          &err) == ST_OK);
    st_solver_destroy(&solver);
    return report;
}

static const struct {
    enum st_solver_kind kind;
    bool is_symmetric;
    int most; /* iterations to 1e-11 on some 700 cells */
} kinds[] = {{ST_SOLVER_PCG, true, 90},
             {ST_SOLVER_SYM_GAUSS_SEIDEL, true, 900},
             {ST_SOLVER_GAMG, true, 30},
             {ST_SOLVER_PCG_GAMG, true, 20},
             {ST_SOLVER_SYM_GAUSS_SEIDEL, false, 900},
             {ST_SOLVER_BICGSTAB, true, 60},
             {ST_SOLVER_BICGSTAB, false, 60},
             {ST_SOLVER_JACOBI, false, 3000}};

static void all_kinds_solve(void **unused)
{
    const struct st_solver_control control = {.tolerance = 1e-11, .max_iterations = 5000};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(kinds); i++) {
        struct problem p;
        int iterations[2];
        open_problem(&p, world.n_ranks == 1 ? 17 : 9, kinds[i].is_symmetric);
        for (int fast = 0; fast < 2; fast++) {
            const struct st_solve_report r = run(&p, kinds[i].kind, fast, &control);
            double worst = 0.0;
            for (int32_t c = 0; c < p.mesh->n_cells; c++) {
                worst = fmax(worst, fabs(p.x[c] - p.want[c]));
            }
            iterations[fast] = r.iterations;
            st_assert_all(&world, r.converged && r.final_residual < 1e-11);
            st_assert_all(&world, worst <= 1e-8 && p.x[0] == p.x[0]);
            st_assert_all(&world,
                          r.iterations <= kinds[i].most * (world.n_ranks == 1 ? 4 : 1));
            st_assert_all(&world, r.bytes > 0.0);
        }
        /* The same iterates to rounding: a count may differ by one where it is close. */
        const int apart = iterations[1] - iterations[0];
        st_assert_all(&world, apart >= -1 && apart <= 1);
        close_problem(&p);
    }
}

/* Rows long enough for runs on both ranks (kernels/ldu.h), the other rank beside them: the same
 * iterates as the face loops. On more ranks these boxes have no runs. */
static void runs_meet_other_ranks(void **unused)
{
    const struct st_solver_control control = {.fixed_iterations = 5};

    (void)unused;
    if (world.n_ranks > 2) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        struct problem p;
        bool is_same = true;
        open_problem(&p, 20, true);
        (void)run(&p, kinds[i].kind, false, &control);
        memcpy(p.want, p.x, p.fv->k.n_cells * sizeof(double));
        (void)run(&p, kinds[i].kind, true, &control);
        for (int32_t c = 0; c < p.mesh->n_cells; c++) {
            is_same = is_same && fabs(p.x[c] - p.want[c]) <= 1e-12;
        }
        st_assert_all(&world, is_same);
        close_problem(&p);
    }
}

static void rules_of_stopping(void **unused)
{
    struct problem p;

    (void)unused;
    open_problem(&p, 8, true);
    for (int fast = 0; fast < 2; fast++) {
        for (size_t i = 0; i < 2; i++) {
            const enum st_solver_kind kind = kinds[i].kind;
            struct st_solver_control c = {.tolerance = 1e-12, .max_iterations = 3};
            struct st_solve_report r = run(&p, kind, fast, &c);
            st_assert_all(&world, r.iterations == 3 && !r.converged);
            st_assert_all(&world, r.final_residual < r.initial_residual);
            c = (struct st_solver_control){.tolerance = 1.0, .fixed_iterations = 7};
            r = run(&p, kind, fast, &c);
            st_assert_all(&world, r.iterations == 7 && r.converged);
            c = (struct st_solver_control){
                .tolerance = 1e-12, .relative_tolerance = 0.1, .max_iterations = 1000};
            r = run(&p, kind, fast, &c);
            st_assert_all(&world, r.converged && r.iterations > 0 &&
                                      r.final_residual < 0.1 * r.initial_residual &&
                                      r.final_residual > 1e-12);
            c = (struct st_solver_control){.tolerance = 10.0, .max_iterations = 9};
            r = run(&p, kind, fast, &c);
            st_assert_all(&world, r.converged && r.iterations == 0);
        }
    }
    close_problem(&p);
}

/* A value that is not a number ends a solve at once, in all ranks, and is not "converged"; the
 * next solve with the same solver is right again. */
static void nan_ends_a_solve(void **unused)
{
    const struct st_solver_control control = {.tolerance = 1e-10, .max_iterations = 2000};
    struct problem p;

    (void)unused;
    open_problem(&p, 7, true);
    for (size_t i = 0; i < 8; i++) {
        const struct st_solver_options options = {
            .kind = (enum st_solver_kind[]){ST_SOLVER_PCG, ST_SOLVER_SYM_GAUSS_SEIDEL,
                                            ST_SOLVER_BICGSTAB, ST_SOLVER_GAMG}[i / 2],
            .is_fast = i % 2 == 1};
        struct st_solve_report r = {0};
        struct st_solver *solver = NULL;
        struct st_error err = {0};
        st_assert_all(&world,
                      st_solver_create(&p.fv->addr, &options, &solver, &err) == ST_OK);
        for (int is_well = 0; is_well < 2; is_well++) {
            const bool is_last = world.rank == world.n_ranks - 1 && p.mesh->n_cells > 0;
            const double kept = is_last ? p.b[0] : 0.0;
            if (is_last && !is_well) {
                p.b[0] = (double)NAN;
            }
            memset(p.x, 0, p.fv->k.n_cells * sizeof(double));
            st_assert_all(&world, st_solver_solve(solver, &p.a, p.x, p.b, &control, &r,
                                                  &err) == ST_OK);
            st_assert_all(&world, r.converged == is_well);
            st_assert_all(&world, (r.iterations > 0) == is_well);
            if (is_last) {
                p.b[0] = kept;
            }
        }
        st_solver_destroy(&solver);
    }
    close_problem(&p);
}

/* METHODS 4.2: A = [[2,-1],[-1,2]], x = (1,3), b = (1,1): n = 8, residual 0.75. */
static void residual_is_openfoams(void **unused)
{
    const int32_t owner[1] = {0};
    const int32_t neighbour[1] = {1};
    const int32_t start[3] = {0, 1, 1};
    double diag[2] = {2.0, 2.0};
    double off[1] = {-1.0};
    double none[1] = {0.0};
    double x[2] = {1.0, 3.0};
    const double b[2] = {1.0, 1.0};
    struct stm_comm alone = world;
    struct st_error err = {0};
    struct st_solve_report r = {0};

    (void)unused;
    st_assert_all(&world, stm_comm_split(&world, world.rank, 0, &alone, &err) == ST_OK);
    const struct st_ldu_addr addr = {.comm = alone,
                                     .n_cells = 2,
                                     .n_faces = 1,
                                     .owner = owner,
                                     .neighbour = neighbour,
                                     .owner_start = start};
    const struct st_ldu a = {&addr, diag, off, off, none};
    for (int fast = 0; fast < 2; fast++) {
        const struct st_solver_options options = {.kind = ST_SOLVER_PCG, .is_fast = fast};
        const struct st_solver_control control = {.max_iterations = 0};
        struct st_solver *solver = NULL;
        st_assert_all(&world, st_solver_create(&addr, &options, &solver, &err) == ST_OK);
        st_assert_all(&world,
                      st_solver_solve(solver, &a, x, b, &control, &r, &err) == ST_OK);
        st_assert_all(&world, fabs(r.initial_residual - 0.75) <= 1e-15);
        st_solver_destroy(&solver);
    }
    stm_comm_free(&alone);
}

static void failing_allocations_fail_everywhere(void **unused)
{
    struct problem p;

    (void)unused;
    open_problem(&p, 5, true);
    for (size_t i = 0; i < 3; i++) {
        const struct st_solver_options options = {
            .kind = i < 2 ? ST_SOLVER_PCG : ST_SOLVER_PCG_GAMG, .is_fast = i == 1};
        enum st_status rc = ST_ERR_MEMORY;
        for (uint64_t nth = 1; rc == ST_ERR_MEMORY; nth++) {
            struct st_solver *solver = NULL;
            struct st_error err = {0};
            st_mem_fail_at(world.rank == world.n_ranks - 1 ? nth : 0);
            rc = st_solver_create(&p.fv->addr, &options, &solver, &err);
            st_mem_fail_at(0);
            st_assert_all(&world, (rc == ST_OK) == (solver != NULL));
            st_solver_destroy(&solver);
        }
        st_assert_all(&world, rc == ST_OK);
    }
    close_problem(&p);
}

static int set_up(void **state)
{
    struct st_error err = {0};

    (void)state;
    return stm_comm_dup(MPI_COMM_WORLD, &world, &err) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    stm_comm_free(&world);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_solve),
        cmocka_unit_test(runs_meet_other_ranks),
        cmocka_unit_test(rules_of_stopping),
        cmocka_unit_test(nan_ends_a_solve),
        cmocka_unit_test(residual_is_openfoams),
        cmocka_unit_test(failing_allocations_fail_everywhere),
    };

    MPI_Init(&argc, &argv);
    const int n_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    MPI_Finalize();
    return n_failed;
}
