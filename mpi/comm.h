#ifndef STM_COMM_H
#define STM_COMM_H

#include "src/base/status.h"

#include <mpi.h>
#include <stddef.h>

/*
 * Communicators and error handling of MPI calls. Every communicator of seatrial has
 * MPI_ERRORS_RETURN; every MPI call goes through STM_TRY.
 */

/** A communicator with its rank and size; borrowed copies are fine. */
struct stm_comm {
    MPI_Comm handle;
    int rank;
    int n_ranks;
    int world_rank; /**< this process in the program's first communicator, for messages */
};

/** Return ST_ERR_MPI from the calling function if an MPI call fails, with file, line, call and MPI's text. */
#define STM_TRY(err, call)                                                               \
    do {                                                                                 \
        const int stm_rc_ = (call);                                                      \
        if (stm_rc_ != MPI_SUCCESS) {                                                    \
            return stm_fail((err), stm_rc_, #call, __FILE__, __LINE__);                  \
        }                                                                                \
    } while (0)

/** Write the message of a failed MPI call. Local. @return ST_ERR_MPI */
enum st_status stm_fail(struct st_error *err, int rc, const char *call, const char *file,
                        int line);

/**
 * Duplicate @p from with MPI_ERRORS_RETURN set; its ranks become the world ranks of all
 * communicators split from it. Collective over @p from. Free with stm_comm_free().
 */
enum st_status stm_comm_dup(MPI_Comm from, struct stm_comm *out, struct st_error *err);

/** MPI_Comm_split; ranks with @p color MPI_UNDEFINED get handle MPI_COMM_NULL, rank -1. Collective. */
enum st_status stm_comm_split(const struct stm_comm *from, int color, int key,
                              struct stm_comm *out, struct st_error *err);

/** Free unless MPI_COMM_NULL; sets it to that. Collective over the communicator. */
void stm_comm_free(struct stm_comm *comm);

/** A size as an MPI count. @return ST_ERR_STEP if it does not fit an int */
enum st_status stm_count(size_t n, int *out, struct st_error *err);

/** Tags of point-to-point messages; one place so that none collide. */
enum stm_tag {
    STM_TAG_GATHER = 1,
    STM_TAG_CLOCK,
    STM_TAG_PING,
    STM_TAG_WINDOW,
    STM_TAG_REPLY,
    STM_TAG_HALO,
    STM_TAG_SETUP,
    STM_TAG_STARTED,
    STM_TAG_STOP,
    STM_TAG_SPAN = 16 /**< more than all above: shifts by it keep them apart */
};

#endif
