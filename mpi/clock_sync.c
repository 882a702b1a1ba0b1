/*
 * Global time (METHODS 3.6): HCA3 between one leader per node, then each leader serves its
 * node. All exchanges are pairs of one client and one server; the client asks, the server
 * answers with its own reading and at the end with its model, and the client composes both.
 *
 * A slope fitted over a short time is mostly noise, and noise times the length of a step is a
 * large offset. So a slope is used only if it is clearly larger than its standard error;
 * else the offset of the quickest exchange alone is the model.
 */
#include "mpi/clock_sync.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum {
    SYNC_EXCHANGES = 20, /* METHODS 3.6: the exchange of smallest delay of >= 20 */
    SYNC_FIT_POINTS = 12,
    SYNC_FIT_EXCHANGES = 8,      /* per point */
    SYNC_FIT_PAUSE_NS = 3000000, /* 12 points span about 40 ms */
    SYNC_SAME_EXCHANGES = 5,
    SYNC_RESIDUAL_NODES = 256 /* METHODS 3.6: a sample of ranks */
};
static const double SAME_CLOCK_S = 200e-9; /* METHODS 3.6 [D] */
static const double SLOPE_SIGMAS = 4.0;    /* a slope below that is taken as noise */
static const double SLOPE_MAX = 0.1; /* above it the clock is broken, not drifting */

/* Requests of a client. */
enum {
    ASK_TIME = 1,
    ASK_MODEL = 2
};

double stm_clock_global(const struct stm_clock *clock, double local_s)
{
    return local_s - (clock->slope * local_s + clock->intercept);
}

double stm_clock_local(const struct stm_clock *clock, double global_s)
{
    return (global_s + clock->intercept) / (1.0 - clock->slope);
}

struct stm_clock stm_clock_compose(struct stm_clock to_root, struct stm_clock to_parent)
{
    /* METHODS 3.6: slope = s1+s2-s1*s2, intercept = i1+i2-i2*s1 */
    const struct stm_clock composed = {
        .slope = to_root.slope + to_parent.slope - to_root.slope * to_parent.slope,
        .intercept =
            to_root.intercept + to_parent.intercept - to_parent.intercept * to_root.slope,
        .error_s = to_root.error_s + to_parent.error_s,
    };
    return composed;
}

void stm_ntp_offset(double t0, double t1, double t2, double t3, double *offset,
                    double *error)
{
    *offset = ((t1 - t0) + (t2 - t3)) / 2.0;
    *error = ((t3 - t0) - (t2 - t1)) / 2.0;
}

/* One participant's view of a synchronisation. */
struct sync {
    const struct stm_comm *comm;
    const size_t *node_of;
    stm_clock_fn now;
    struct stm_clock model; /* to global time, once known */
};

/* One measured offset of the server's clock at a local time. */
struct point {
    double local_s, offset, error;
};

/* The quickest of n exchanges. */
static enum st_status ask_offset(const struct sync *s, int server, int n,
                                 struct point *best, struct st_error *err)
{
    best->error = (double)INFINITY;
    for (int i = 0; i < n; i++) {
        double ask = ASK_TIME;
        double remote = 0.0;
        double offset = 0.0;
        double error = 0.0;
        const double t0 = s->now();
        STM_TRY(err, MPI_Sendrecv(&ask, 1, MPI_DOUBLE, server, STM_TAG_CLOCK, &remote, 1,
                                  MPI_DOUBLE, server, STM_TAG_CLOCK, s->comm->handle,
                                  MPI_STATUS_IGNORE));
        const double t3 = s->now();
        stm_ntp_offset(t0, remote, remote, t3, &offset, &error);
        if (!(error >= best->error)) {
            best->local_s = t0 + (t3 - t0) / 2.0;
            best->offset = offset;
            best->error = error;
        }
    }
    return ST_OK;
}

/* Answer one client until it asks for the model. */
static enum st_status serve(const struct sync *s, int client, struct st_error *err)
{
    for (;;) {
        double ask = 0.0;
        STM_TRY(err, MPI_Recv(&ask, 1, MPI_DOUBLE, client, STM_TAG_CLOCK, s->comm->handle,
                              MPI_STATUS_IGNORE));
        if (ask > 1.5 * ASK_TIME) {
            const double model[3] = {s->model.slope, s->model.intercept,
                                     s->model.error_s};
            STM_TRY(err, MPI_Send(model, 3, MPI_DOUBLE, client, STM_TAG_CLOCK,
                                  s->comm->handle));
            return ST_OK;
        }
        const double reading = s->now();
        STM_TRY(err, MPI_Send(&reading, 1, MPI_DOUBLE, client, STM_TAG_CLOCK,
                              s->comm->handle));
    }
}

static enum st_status ask_model(const struct sync *s, int server, struct stm_clock *model,
                                struct st_error *err)
{
    double ask = ASK_MODEL;
    double got[3] = {0};

    STM_TRY(err,
            MPI_Sendrecv(&ask, 1, MPI_DOUBLE, server, STM_TAG_CLOCK, got, 3, MPI_DOUBLE,
                         server, STM_TAG_CLOCK, s->comm->handle, MPI_STATUS_IGNORE));
    model->slope = got[0];
    model->intercept = got[1];
    model->error_s = got[2];
    return ST_OK;
}

/* Least squares of the offsets of quick exchanges over local time; see the file's head. */
static struct stm_clock fit(size_t n, const struct point *points)
{
    const struct point *best = &points[0];
    double sum_w = 0.0;
    double sum_ww = 0.0;
    double mean_t = 0.0;
    double mean_o = 0.0;
    double tt = 0.0;
    double to = 0.0;
    double residual = 0.0;

    for (size_t i = 1; i < n; i++) {
        best = points[i].error < best->error ? &points[i] : best;
    }
    /* weight (best / error)^2: a slow exchange may be off by all of its delay */
    for (size_t i = 0; i < n; i++) {
        const double r = best->error / points[i].error;
        const double w = r * r;
        sum_w += w;
        sum_ww += w * w;
        mean_t += w * points[i].local_s;
        mean_o += w * points[i].offset;
    }
    mean_t /= sum_w;
    mean_o /= sum_w;
    for (size_t i = 0; i < n; i++) {
        const double r = best->error / points[i].error;
        const double dt = points[i].local_s - mean_t;
        tt += r * r * dt * dt;
        to += r * r * dt * (points[i].offset - mean_o);
    }
    const double slope = to / tt;
    for (size_t i = 0; i < n; i++) {
        const double r = best->error / points[i].error;
        const double d = points[i].offset - mean_o - slope * (points[i].local_s - mean_t);
        residual += r * r * d * d;
    }
    /* freedom by the effective number of points: two quick ones alone prove no line */
    const double freedom = sum_w * sum_w / sum_ww - 2.0;
    const double sigma = sqrt(residual / tt / freedom);
    struct stm_clock model = {.intercept = -best->offset, .error_s = best->error};
    if (freedom > 2.0 && fabs(slope) > SLOPE_SIGMAS * sigma && fabs(slope) < SLOPE_MAX) {
        /* global = t + offset(t), so that slope and intercept change their sign */
        model.slope = -slope;
        model.intercept = -(best->offset - slope * best->local_s);
    }
    return model;
}

/* Learn the server's clock, then its way to the root. */
static enum st_status learn(struct sync *s, int server, struct st_error *err)
{
    const struct timespec pause = {.tv_nsec = SYNC_FIT_PAUSE_NS};
    struct point points[SYNC_FIT_POINTS];
    struct stm_clock to_root = {0};

    for (size_t i = 0; i < SYNC_FIT_POINTS; i++) {
        const enum st_status rc =
            ask_offset(s, server, SYNC_FIT_EXCHANGES, &points[i], err);
        if (rc != ST_OK) {
            return rc;
        }
        if (i + 1 < SYNC_FIT_POINTS) {
            (void)nanosleep(&pause, NULL);
        }
    }
    const enum st_status rc = ask_model(s, server, &to_root, err);
    if (rc == ST_OK) {
        s->model = stm_clock_compose(to_root, fit(SYNC_FIT_POINTS, points));
    }
    return rc;
}

/* HCA3 among the leaders: rank indices below are positions in leaders[n]. */
static enum st_status sync_leaders(struct sync *s, size_t me, size_t n,
                                   const int *leaders, struct st_error *err)
{
    size_t power = 1; /* 2^q, q = floor(log2 n) */
    enum st_status rc = ST_OK;

    while (power <= n / 2) {
        power *= 2;
    }
    for (size_t span = power; span > 1 && rc == ST_OK; span /= 2) {
        if (me >= power) {
            break;
        }
        if (me % span == 0) {
            rc = serve(s, leaders[me + span / 2], err);
        } else if (me % span == span / 2) {
            rc = learn(s, leaders[me - span / 2], err);
        }
    }
    if (rc != ST_OK) {
        return rc;
    }
    if (me >= power) {
        return learn(s, leaders[me - power], err);
    }
    return me + power < n ? serve(s, leaders[me + power], err) : ST_OK;
}

/*
 * A rank beside its leader: the same clock if no exchange shows an offset beyond its own
 * error. Else (containers with their own time namespace) the rank learns the leader's clock.
 */
static enum st_status join_leader(struct sync *s, int leader, struct st_error *err)
{
    struct point point = {0};

    const enum st_status rc = ask_offset(s, leader, SYNC_SAME_EXCHANGES, &point, err);
    if (rc != ST_OK) {
        return rc;
    }
    if (fabs(point.offset) <= SAME_CLOCK_S + point.error) {
        return ask_model(s, leader, &s->model, err);
    }
    return learn(s, leader, err);
}

/* The lowest rank of each node in order of rank. @return their number */
static size_t find_leaders(const struct sync *s, int *leaders)
{
    size_t n = 0;

    for (int rank = 0; rank < s->comm->n_ranks; rank++) {
        bool is_new = true;
        for (size_t i = n; i > 0 && is_new;
             i--) { /* neighbours mostly share the last node */
            is_new = s->node_of[rank] != s->node_of[leaders[i - 1]];
        }
        if (is_new) {
            leaders[n++] = rank;
        }
    }
    return n;
}

static size_t my_leader(const struct sync *s, size_t n, const int *leaders)
{
    size_t i = 0;

    while (i + 1 < n && s->node_of[leaders[i]] != s->node_of[s->comm->rank]) {
        i++;
    }
    return i;
}

static enum st_status sync_node(struct sync *s, int leader, struct st_error *err)
{
    enum st_status rc = ST_OK;

    if (s->comm->rank != leader) {
        return join_leader(s, leader, err);
    }
    for (int rank = leader + 1; rank < s->comm->n_ranks && rc == ST_OK; rank++) {
        if (s->node_of[rank] == s->node_of[leader]) {
            rc = serve(s, rank, err);
        }
    }
    return rc;
}

static enum st_status leaders_create(const struct sync *s, int **leaders, size_t *n,
                                     struct st_error *err)
{
    *leaders = st_calloc(err, (size_t)s->comm->n_ranks, sizeof **leaders);
    const enum st_status rc =
        stm_agree(s->comm, *leaders == NULL ? ST_ERR_MEMORY : ST_OK, err);
    if (rc != ST_OK) {
        st_free(*leaders);
        *leaders = NULL;
        return rc;
    }
    *n = find_leaders(s, *leaders);
    return ST_OK;
}

enum st_status stm_clock_sync(const struct stm_comm *comm, const size_t *node_of,
                              stm_clock_fn now, struct stm_clock *out,
                              struct st_error *err)
{
    struct sync s = {.comm = comm, .node_of = node_of, .now = now};
    int *leaders = NULL;
    size_t n = 0;

    enum st_status rc = leaders_create(&s, &leaders, &n, err);
    if (rc != ST_OK) {
        return rc;
    }
    const size_t mine = my_leader(&s, n, leaders);
    if (comm->rank == leaders[mine]) {
        rc = sync_leaders(&s, mine, n, leaders, err);
    }
    if (rc == ST_OK) {
        rc = sync_node(&s, leaders[mine], err);
    }
    st_free(leaders);
    if (rc == ST_OK) {
        *out = s.model;
    }
    return rc;
}

/* This leader's offset against the root, by the model. */
static enum st_status ask_residual(const struct sync *s, double *residual,
                                   struct st_error *err)
{
    struct point point = {0};
    struct stm_clock root = {0};

    enum st_status rc = ask_offset(s, 0, SYNC_EXCHANGES, &point, err);
    if (rc == ST_OK) {
        rc = ask_model(s, 0, &root, err);
    }
    if (rc == ST_OK) {
        const double root_time = stm_clock_global(&root, point.local_s + point.offset);
        *residual = fabs(stm_clock_global(&s->model, point.local_s) - root_time);
    }
    return rc;
}

enum st_status stm_clock_residual(const struct stm_comm *comm, const size_t *node_of,
                                  stm_clock_fn now, const struct stm_clock *clock,
                                  double *worst_s, struct st_error *err)
{
    struct sync s = {.comm = comm, .node_of = node_of, .now = now, .model = *clock};
    double residual = 0.0;
    int *leaders = NULL;
    size_t n = 0;

    enum st_status rc = leaders_create(&s, &leaders, &n, err);
    if (rc != ST_OK) {
        return rc;
    }
    const size_t stride = (n + SYNC_RESIDUAL_NODES - 1) / SYNC_RESIDUAL_NODES;
    for (size_t i = stride; i < n && rc == ST_OK; i += stride) {
        if (comm->rank == 0) {
            rc = serve(&s, leaders[i], err);
        } else if (comm->rank == leaders[i]) {
            rc = ask_residual(&s, &residual, err);
        }
    }
    st_free(leaders);
    if (rc == ST_OK) {
        STM_TRY(err,
                MPI_Allreduce(&residual, worst_s, 1, MPI_DOUBLE, MPI_MAX, comm->handle));
    }
    return rc;
}
