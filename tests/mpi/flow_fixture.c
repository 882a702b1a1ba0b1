/*
 * Flows for tests, and what METHODS 4.2 says of them.
 */
#include "tests/mpi/flow_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct st_flow_options tight_options(double nu, double dt)
{
    return (struct st_flow_options){
        .algorithm = ST_FLOW_PISO,
        .nu = nu,
        .dt = dt,
        .n_correctors = 2,
        .relax_u = 0.7,
        .relax_p = 0.3,
        .p_solver = ST_SOLVER_PCG,
        .u_solver = ST_SOLVER_SYM_GAUSS_SEIDEL,
        .p_control = {.tolerance = 1e-12, .max_iterations = 2000},
        .p_final = {.tolerance = 1e-12, .max_iterations = 2000},
        .u_control = {.tolerance = 1e-12, .max_iterations = 2000}};
}

struct st_flow_options steady_options(double nu)
{
    struct st_flow_options o = tight_options(nu, 1.0);

    o.algorithm = ST_FLOW_SIMPLE;
    o.p_control = (struct st_solver_control){
        .tolerance = 1e-12, .relative_tolerance = 0.02, .max_iterations = 2000};
    o.u_control = (struct st_solver_control){
        .tolerance = 1e-12, .relative_tolerance = 0.01, .max_iterations = 100};
    return o;
}

bool bed_open(struct bed *bed, const struct stm_comm *comm, const struct st_mesh_box *box,
              const struct st_flow_options *options, const char *conditions)
{
    struct st_error err = {0};
    enum st_status rc = st_mesh_box_create(comm, box, &bed->mesh, &err);

    if (rc == ST_OK) {
        rc = st_fv_create(bed->mesh, options->laplacian, &bed->fv, &err);
    }
    if (rc == ST_OK) {
        rc = st_flow_create(bed->fv, options, conditions, &bed->flow, &err);
    }
    if (rc != ST_OK) {
        (void)fprintf(stderr, "flow: %s\n", err.text);
    }
    return rc == ST_OK;
}

void bed_close(struct bed *bed)
{
    st_flow_destroy(&bed->flow);
    st_fv_destroy(&bed->fv);
    st_mesh_destroy(&bed->mesh);
}

bool bed_steps(struct bed *bed, int n)
{
    struct st_error err = {0};
    enum st_status rc = ST_OK;

    for (int i = 0; i < n && rc == ST_OK; i++) {
        rc = st_flow_step(bed->flow, &err);
    }
    if (rc != ST_OK) {
        (void)fprintf(stderr, "flow: %s\n", err.text);
    }
    return rc == ST_OK;
}

bool bed_settle(struct bed *bed, double change, int most)
{
    struct st_flow_check check = {.change = (double)INFINITY};
    struct st_error err = {0};

    for (int i = 0; i < most; i += 10) {
        if (!bed_steps(bed, 10) || st_flow_examine(bed->flow, &check, &err) != ST_OK) {
            return false;
        }
        if (check.change <= change) {
            return true;
        }
    }
    return false;
}

double *gather(const struct bed *bed, const double *field)
{
    const int n = (int)bed->mesh->n_cells_global;
    double *all = calloc((size_t)n, sizeof *all);

    for (int32_t c = 0; all != NULL && c < bed->mesh->n_cells; c++) {
        all[bed->mesh->cell_global[c]] = field[c];
    }
    if (all != NULL && MPI_Allreduce(MPI_IN_PLACE, all, n, MPI_DOUBLE, MPI_SUM,
                                     bed->mesh->comm.handle) != MPI_SUCCESS) {
        free(all);
        all = NULL;
    }
    return all;
}

/* Lagrange through the four points nearest to @p where of a line of n cells with walls. */
static double cubic(const double *line, int n, double where, double low, double high)
{
    const double h = 1.0 / n;
    double sum = 0.0;
    int first = (int)floor(where / h + 0.5) - 1; /* points: wall, centres 1 … n, wall */

    first = first < 0 ? 0 : first > n - 2 ? n - 2 : first;
    for (int i = first; i < first + 4; i++) {
        const double x = i == 0 ? 0.0 : i == n + 1 ? 1.0 : (i - 0.5) * h;
        double part = i == 0 ? low : i == n + 1 ? high : line[i - 1];
        for (int j = first; j < first + 4; j++) {
            const double other = j == 0 ? 0.0 : j == n + 1 ? 1.0 : (j - 0.5) * h;
            part *= j == i ? 1.0 : (where - other) / (x - other);
        }
        sum += part;
    }
    return sum;
}

/* A value halfway between cells n/2 - 1 and n/2 of a line, cubic. */
static double halfway(const double *a, int n, int stride)
{
    const double *at = a + (n / 2 - 2) * stride;

    return (-at[0] + 9.0 * at[stride] + 9.0 * at[2 * stride] - at[3 * stride]) / 16.0;
}

double at_middle(const double *field, int n, int n_z, bool along_y, double where,
                 double low, double high)
{
    double *line = calloc((size_t)n, sizeof *line);
    double value = (double)NAN;

    for (int i = 0; line != NULL && i < n; i++) {
        double planes[4];
        for (int k = 0; k < 4; k++) {
            const int z = n_z == 1 ? 0 : n_z / 2 - 2 + k;
            const double *plane = field + (long)z * n * n;
            planes[k] =
                along_y ? halfway(plane + (long)i * n, n, 1) : halfway(plane + i, n, n);
        }
        line[i] = n_z == 1
                      ? planes[0]
                      : (-planes[0] + 9 * planes[1] + 9 * planes[2] - planes[3]) / 16;
    }
    if (line != NULL) {
        value = cubic(line, n, where, low, high);
    }
    free(line);
    return value;
}

/* METHODS 4.2, item 5: y, u of R at Re 100 and 400 and of Botella & Peyret at 1000. */
static const double table_u[][4] = {
    {0.9766, 0.8438, 0.7608, 0.6644227},    {0.9688, 0.7920, 0.6874, 0.5808359},
    {0.9609, 0.7405, 0.6200, 0.5169277},    {0.9531, 0.6910, 0.5616, 0.4723329},
    {0.8516, 0.2366, 0.2920, 0.3372212},    {0.7344, 0.0042, 0.1625, 0.1886747},
    {0.6172, -0.1388, 0.0210, 0.0570178},   {0.5000, -0.2092, -0.1150, -0.0620561},
    {0.4531, -0.2140, -0.1715, -0.1081999}, {0.2813, -0.1577, -0.3287, -0.2803696},
    {0.1719, -0.1018, -0.2438, -0.3885691}, {0.1016, -0.0644, -0.1463, -0.3004561},
    {0.0703, -0.0466, -0.1033, -0.2228955}, {0.0625, -0.0420, -0.0926, -0.2023300},
    {0.0547, -0.0373, -0.0819, -0.1812881}};
/* The same: x and v. */
static const double table_v[][4] = {
    {0.9688, -0.0622, -0.1252, -0.2279225}, {0.9609, -0.0780, -0.1616, -0.2936869},
    {0.9531, -0.0934, -0.1982, -0.3553213}, {0.9453, -0.1085, -0.2348, -0.4103754},
    {0.9063, -0.1771, -0.3897, -0.5264392}, {0.8594, -0.2337, -0.4538, -0.4264545},
    {0.8047, -0.2536, -0.3856, -0.3202137}, {0.5000, 0.0575, 0.0520, 0.0257995},
    {0.2344, 0.1796, 0.3035, 0.3253592},    {0.2266, 0.1794, 0.3038, 0.3339924},
    {0.1563, 0.1648, 0.2836, 0.3769189},    {0.0938, 0.1264, 0.2317, 0.3330442},
    {0.0781, 0.1118, 0.2110, 0.3099097},    {0.0703, 0.1036, 0.1988, 0.2962703},
    {0.0625, 0.0948, 0.1852, 0.2807056}};

struct cavity_result judge_cavity(const double *u, const double *v, int n, int n_z,
                                  int reynolds)
{
    const int column = reynolds == 100 ? 1 : reynolds == 400 ? 2 : 3;
    struct cavity_result r = {0};

    for (size_t i = 0; i < sizeof table_u / sizeof table_u[0]; i++) {
        const double du =
            at_middle(u, n, n_z, true, table_u[i][0], 0.0, 1.0) - table_u[i][column];
        const double dv =
            at_middle(v, n, n_z, false, table_v[i][0], 0.0, 0.0) - table_v[i][column];
        r.worst_u = fmax(r.worst_u, fabs(du));
        r.worst_v = fmax(r.worst_v, fabs(dv));
    }
    for (int i = 0; i <= 2000; i++) {
        const double at = i / 2000.0;
        r.u_min = fmin(r.u_min, at_middle(u, n, n_z, true, at, 0.0, 1.0));
        r.v_min = fmin(r.v_min, at_middle(v, n, n_z, false, at, 0.0, 0.0));
        r.v_max = fmax(r.v_max, at_middle(v, n, n_z, false, at, 0.0, 0.0));
    }
    return r;
}

double reattachment(const struct bed *bed, const double *u, const int64_t n[3])
{
    const double h = 1.0 / (double)n[1];

    (void)bed;
    for (int64_t i = 1; i < n[0]; i++) {
        if (u[i - 1] < 0.0 && u[i] >= 0.0) {
            return h * ((double)i - 0.5 + u[i - 1] / (u[i - 1] - u[i]));
        }
    }
    return -1.0;
}
