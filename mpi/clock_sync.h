#ifndef STM_CLOCK_SYNC_H
#define STM_CLOCK_SYNC_H

#include "mpi/comm.h"

#include <stdbool.h>

/*
 * Global time by HCA3 (Hunold, Carpen-Amarie, CLUSTER 2018; METHODS 3.6): linear model of
 * this rank's clock against rank 0's of the communicator. Ranks of one node share the
 * model of their leader (same CLOCK_MONOTONIC) after a check that their offsets agree.
 */

/** A clock of this rank in seconds. */
typedef double (*stm_clock_fn)(void);

struct stm_clock {
    double slope, intercept; /**< global = t - (slope * t + intercept) */
    double error_s; /**< bound of the residual offset, from the smallest round trip */
};

/** Global time of a local reading. Local. */
double stm_clock_global(const struct stm_clock *clock, double local_s);
/** Local reading at which global time is @p global_s. Local. */
double stm_clock_local(const struct stm_clock *clock, double global_s);
/** Compose: first model a (parent to root), then b (child to parent) (METHODS 3.6). Local. */
struct stm_clock stm_clock_compose(struct stm_clock to_root, struct stm_clock to_parent);
/** NTP: offset of the remote clock and half the delay (METHODS 3.6). Local. */
void stm_ntp_offset(double t0, double t1, double t2, double t3, double *offset,
                    double *error);

/**
 * Synchronise. Collective over @p comm.
 * @param node_of [comm->n_ranks] node index of each rank; equal on all ranks
 * @param now     this rank's clock (tests inject offset and drift)
 * @param out     identity with error 0 if all ranks are on one node
 */
enum st_status stm_clock_sync(const struct stm_comm *comm, const size_t *node_of,
                              stm_clock_fn now, struct stm_clock *out,
                              struct st_error *err);

/**
 * Residual offset against rank 0, measured on the node leaders; the largest over the ranks,
 * on all ranks. Collective.
 */
enum st_status stm_clock_residual(const struct stm_comm *comm, const size_t *node_of,
                                  stm_clock_fn now, const struct stm_clock *clock,
                                  double *worst_s, struct st_error *err);

/**
 * Synchronised start: all ranks leave at the same global time (Round-Time scheme). Collective
 * over @p comm. @p spin false (oversubscribed): a barrier only.
 * @param[in,out] lead_s measured broadcast time, grown on failure; start at 0
 * @param[out]    late   this rank passed the start time (the repetition is then invalid)
 */
enum st_status stm_start_together(const struct stm_comm *comm,
                                  const struct stm_clock *clock, stm_clock_fn now,
                                  bool spin, double *lead_s, bool *late,
                                  struct st_error *err);

#endif
