#ifndef ST_FLOW_FV_H
#define ST_FLOW_FV_H

#include "kernels/fv.h"
#include "src/flow/ldu.h"
#include "src/mesh/mesh.h"

/*
 * A mesh made ready for the loops of kernels/fv.h: addressing of its matrices, diffusion
 * coefficients of its faces, and the exchange of cell fields with neighbour ranks. Faces are
 * those of the mesh: internal ones, then those of patches, then the interface to other ranks
 * without gap, so interface face k is face interface_start + k.
 */

/** Exchange of up to three cell fields at once: one message per neighbour rank. */
struct st_fv_halo {
    double *ghost[3]; /**< [n_interface] the other side's values, after finish */
    double *send, *receive;
    MPI_Request *requests;
    int n_requests;
    int n_fields;
    double wait_s;  /**< summed: time in finish */
    double n_bytes; /**< summed: sent */
};

struct st_fv {
    const struct st_mesh *mesh; /**< borrowed */
    struct stk_fv k;            /**< internal faces, for the kernels */
    struct st_ldu_addr addr;
    int32_t interface_start;
    double *spread; /**< [mesh n_faces] |area| / distance (by rule below) */
    struct st_vec
        *skew; /**< [mesh n_faces] of the corrected rule, or NULL: unit normal minus
                               d times the distance's inverse */
    bool is_solved[3]; /**< false: the direction of empty patches */
    struct st_fv_halo halo;
    int32_t *owner_start;      /**< owned, for addr and k */
    struct st_ldu_side *sides; /**< owned */
};

/** How -div(gamma grad) is formed on faces whose d is not along the area (OpenFOAM's words). */
enum st_laplacian {
    ST_LAPLACIAN_ORTHOGONAL, /**< 1 / |d| and no more */
    ST_LAPLACIAN_CORRECTED   /**< 1 / (n d), and the rest explicitly */
};

/**
 * Collective over the mesh's communicator; ends with an agreement.
 * @param mesh borrowed until st_fv_destroy()
 */
enum st_status st_fv_create(const struct st_mesh *mesh, enum st_laplacian rule,
                            struct st_fv **out, struct st_error *err);
/** Local; accepts NULL and half-built. No exchange may be running. */
void st_fv_destroy(struct st_fv **fv);

/** Post receives and send @p n_fields fields of cells. Local. */
enum st_status st_fv_exchange_start(struct st_fv *fv, int n_fields,
                                    const double *const *fields, struct st_error *err);
/** Wait; halo.ghost is valid until the next start. Local. */
enum st_status st_fv_exchange_finish(struct st_fv *fv, struct st_error *err);

/** Sum, and greatest, of @p n numbers over the ranks, in place. Collective. */
enum st_status st_fv_sum(const struct st_fv *fv, int n, double *values,
                         struct st_error *err);
enum st_status st_fv_max(const struct st_fv *fv, int n, double *values,
                         struct st_error *err);

/** Bytes on the heap. Local. */
double st_fv_heap_bytes(const struct st_fv *fv);

/** Monotonic seconds. */
double st_fv_seconds(void);

#endif
