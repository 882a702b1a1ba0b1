/*
 * The stages of reading a mesh: files to blocks, blocks to parts, parts to meshes.
 */
#include "src/mesh/poly.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/mesh/poly_parts.h"
#include "src/mesh/poly_share.h"

#include <math.h>

/* Greatest of what the ranks know. */
static enum st_status report_all(const struct stm_comm *comm, double least_cosine,
                                 struct st_poly_report *report, struct st_error *err)
{
    double most[4] = {report->read_s, report->partition_s, report->renumber_s,
                      -least_cosine};

    STM_TRY(err, MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_DOUBLE, MPI_MAX, comm->handle));
    report->read_s = most[0];
    report->partition_s = most[1];
    report->renumber_s = most[2];
    report->non_orthogonality = acos(fmin(-most[3], 1.0)) * 180.0 / acos(-1.0);
    return ST_OK;
}

/* A reading on its way. */
struct reading {
    struct st_poly_blocks blocks;
    struct st_poly_share share;
    int32_t *part; /* [blocks n_mine] */
    double least_cosine;
};

static enum st_status partition_all(const struct stm_comm *comm,
                                    const struct st_poly_source *source,
                                    enum st_poly_partition partition, struct reading *r,
                                    struct st_error *err)
{
    r->part = st_calloc(err, r->blocks.n_mine, sizeof *r->part);
    enum st_status rc = stm_agree(comm, r->part == NULL ? ST_ERR_MEMORY : ST_OK, err);

    if (rc == ST_OK) {
        rc = st_poly_choose_parts(comm, partition, &r->blocks, r->part, err);
    }
    return rc == ST_OK ? st_poly_move(comm, source, &r->blocks, r->part, &r->share,
                                      &r->least_cosine, err)
                       : rc;
}

enum st_status st_poly_read(const struct stm_comm *comm,
                            const struct st_poly_source *source,
                            enum st_poly_partition partition, struct st_mesh **out,
                            struct st_poly_report *report, struct st_error *err)
{
    struct reading r = {.part = NULL};
    struct st_poly_report found = {.read_s = 0.0};
    struct st_mesh *mesh = NULL;
    const double start_s = MPI_Wtime();
    enum st_status rc = st_poly_load(comm, source, &r.blocks, err);

    const double loaded_s = MPI_Wtime();
    if (rc == ST_OK) {
        rc = partition_all(comm, source, partition, &r, err);
    }
    const double moved_s = MPI_Wtime();
    if (rc == ST_OK) {
        rc = st_poly_build(comm, &r.blocks, &r.share, &mesh, err);
    }
    found.read_s = loaded_s - start_s;
    found.partition_s = moved_s - loaded_s;
    found.renumber_s = MPI_Wtime() - moved_s;
    if (rc == ST_OK) {
        rc = report_all(comm, r.least_cosine, &found, err);
    }
    st_free(r.part);
    st_poly_share_clear(&r.share);
    st_poly_blocks_clear(&r.blocks);
    if (rc != ST_OK) {
        st_mesh_destroy(&mesh);
        return rc;
    }
    if (report != NULL) {
        *report = found;
    }
    *out = mesh;
    return ST_OK;
}
