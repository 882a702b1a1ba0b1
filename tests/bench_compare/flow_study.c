/*
 * The heavier verification of METHODS 4.2, too long for every test run:
 *
 *     flow_study cavity RE N     lid-driven square, N^2 cells, steady, against R / B&P
 *     flow_study cube N          cubic cavity, Re 1000, N^3 cells, steady
 *     flow_study step RE N       backward-facing step, 20 heights long, N cells a height
 *     flow_study cube_time N DT  cubic cavity by PISO to t = 50
 *
 * One line of figures each; to be read beside the tables there. Any number of ranks.
 */
#include "src/base/text.h"
#include "tests/mpi/flow_fixture.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stm_comm world;

static int number(const char *text)
{
    uint64_t n = 0;

    return st_parse_u64(text, &n) && n <= 100000 ? (int)n : 0;
}

static bool run_cavity(int reynolds, int n, bool is_cube, double dt)
{
    const struct st_mesh_box box = {.n = {n, n, is_cube ? n : 1},
                                    .length = {1.0, 1.0, is_cube ? 1.0 : 1.0 / n},
                                    .is_empty = {false, false, !is_cube}};
    struct st_flow_options o = steady_options(1.0 / reynolds);
    struct bed b = {0};

    if (dt > 0.0) {
        o = tight_options(1.0 / reynolds, dt);
        o.p_control.tolerance = o.p_final.tolerance = o.u_control.tolerance = 1e-7;
        o.p_control.relative_tolerance = 0.05;
    }
    o.is_fast = true;
    const bool done =
        bed_open(&b, &world, &box, &o,
                 is_cube ? "yMax: velocity 1 0 0; yMin: wall; x*: wall; z*: wall"
                         : "yMax: velocity 1 0 0; yMin: wall; x*: wall") &&
        (dt > 0.0 ? bed_steps(&b, (int)lround(50.0 / dt)) : bed_settle(&b, 1e-7, 30000));
    double *u = gather(&b, b.flow->u[0]);
    double *v = gather(&b, b.flow->u[1]);
    if (u != NULL && v != NULL && world.rank == 0) {
        const struct cavity_result r = judge_cavity(u, v, n, is_cube ? n : 1, reynolds);
        (void)printf("%s Re %d, %d cells an edge%s: ", is_cube ? "cube" : "cavity",
                     reynolds, n, done ? "" : " (not settled)");
        if (!is_cube) {
            (void)printf("worst u %.4f v %.4f; ", r.worst_u, r.worst_v);
        }
        (void)printf("u_min %.5f v_max %.5f v_min %.5f\n", r.u_min, r.v_max, r.v_min);
    }
    free(u);
    free(v);
    bed_close(&b);
    return done;
}

static bool run_step(int reynolds, int n)
{
    const struct st_mesh_box box = {.n = {20 * n, n, 1},
                                    .length = {20.0, 1.0, 1.0 / n},
                                    .is_empty = {false, false, true}};
    struct st_flow_options o = steady_options(1.0 / reynolds);
    struct bed b = {0};

    o.is_fast = true;
    const bool done = bed_open(&b, &world, &box, &o,
                               "xMin: parabola 0.5 1 1; xMax: pressure 0; y*: wall") &&
                      bed_settle(&b, 1e-6, 30000);
    double *u = gather(&b, b.flow->u[0]);
    if (u != NULL && world.rank == 0) {
        const double *top = u + (long)(n - 1) * 20 * n;
        double *upper = calloc((size_t)(20 * n), sizeof *upper);
        for (int i = 0; upper != NULL && i < 20 * n; i++) {
            upper[i] = -top[i]; /* separation: from + to - */
        }
        (void)printf(
            "step Re %d, %d cells a height%s: bottom reattachment %.3f; upper wall "
            "separation %.3f, reattachment %.3f\n",
            reynolds, n, done ? "" : " (not settled)", reattachment(&b, u, box.n),
            upper != NULL ? reattachment(&b, upper, box.n) : -1.0,
            reattachment(&b, top, box.n));
        free(upper);
    }
    free(u);
    bed_close(&b);
    return done;
}

int main(int argc, char **argv)
{
    struct st_error err = {0};
    bool done = false;

    MPI_Init(&argc, &argv);
    if (stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 1;
    }
    if (argc == 4 && strcmp(argv[1], "cavity") == 0) {
        done = run_cavity(number(argv[2]), number(argv[3]), false, 0.0);
    } else if (argc == 3 && strcmp(argv[1], "cube") == 0) {
        done = run_cavity(1000, number(argv[2]), true, 0.0);
    } else if (argc == 4 && strcmp(argv[1], "cube_time") == 0) {
        double dt = 0.0;
        done =
            st_parse_double(argv[3], &dt) && run_cavity(1000, number(argv[2]), true, dt);
    } else if (argc == 4 && strcmp(argv[1], "step") == 0) {
        done = run_step(number(argv[2]), number(argv[3]));
    } else if (world.rank == 0) {
        (void)fprintf(stderr, "usage: flow_study cavity RE N | cube N | cube_time N DT | "
                              "step RE N\n");
    }
    stm_comm_free(&world);
    MPI_Finalize();
    return done ? 0 : 1;
}
