#ifndef ST_TESTS_MPI_FLOW_FIXTURE_H
#define ST_TESTS_MPI_FLOW_FIXTURE_H

#include "src/flow/flow.h"
#include "src/mesh/box.h"

/* A flow on a box with all that belongs to it, for tests and the study beside them. */

struct bed {
    struct st_mesh *mesh;
    struct st_fv *fv;
    struct st_flow *flow;
};

/** PISO with tight tolerances; what differs is set by the caller. */
struct st_flow_options tight_options(double nu, double dt);
/** SIMPLE to a steady state. */
struct st_flow_options steady_options(double nu);

/** Collective over @p comm. @return false with the text on stderr */
bool bed_open(struct bed *bed, const struct stm_comm *comm, const struct st_mesh_box *box,
              const struct st_flow_options *options, const char *conditions);
void bed_close(struct bed *bed);
/** Steps until nothing changes more than @p change a step; false: not within @p most steps. */
bool bed_settle(struct bed *bed, double change, int most);
/** Steps. */
bool bed_steps(struct bed *bed, int n);

/** All ranks get the whole field by global cell number; owned by the caller: free(). */
double *gather(const struct bed *bed, const double *field);

/** u(0.5, y) of a 2-D field (or of the middle planes of a 3-D one), cubic through centres and
 * the walls' values @p low and @p high. @param n cells along an edge */
double at_middle(const double *field, int n, int n_z, bool along_y, double where,
                 double low, double high);
/** Lid-driven cavity, METHODS 4.2: worst deviations of u and v from the table's columns. */
struct cavity_result {
    double worst_u, worst_v;
    double u_min, v_max, v_min;
};
struct cavity_result judge_cavity(const double *u, const double *v, int n, int n_z,
                                  int reynolds);

/** Wall position where the first cells' u changes sign from - to +, in heights; -1: nowhere. */
double reattachment(const struct bed *bed, const double *u, const int64_t n[3]);

#endif
