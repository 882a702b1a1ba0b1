#ifndef ST_TESTS_MESH_POLY_WRITER_H
#define ST_TESTS_MESH_POLY_WRITER_H

#include "src/mesh/box.h"
#include "src/mesh/poly.h"

/* OpenFOAM meshes for tests: boxes as blockMesh writes them, in memory or in a folder. */

/** How the files are written. */
struct poly_form {
    bool is_binary;
    int label_bytes, scalar_bytes; /**< of binary files: 4 or 8 */
    bool is_compact;               /**< faces as faceCompactList; else as faceList */
};

enum {
    POLY_POINTS,
    POLY_FACES,
    POLY_OWNER,
    POLY_NEIGHBOUR,
    POLY_BOUNDARY,
    POLY_N_FILES
};

/** The five files in memory; data from malloc, NULL: there is no such file. */
struct poly_mesh {
    char *data[POLY_N_FILES];
    size_t n[POLY_N_FILES];
};

extern const char *const poly_names[POLY_N_FILES];

/**
 * A box with the patches of box.h; those of periodic directions are cyclic pairs.
 * @param bend moves each point; NULL: none
 */
void poly_write_box(const struct st_mesh_box *box, const struct poly_form *form,
                    void (*bend)(double xyz[3]), struct poly_mesh *out);
void poly_free(struct poly_mesh *mesh);

/** Replace the first @p old of an ascii file. @return false: it is not there */
bool poly_replace(struct poly_mesh *mesh, int file, const char *old, const char *by);
/** Keep the first @p n bytes. */
void poly_cut(struct poly_mesh *mesh, int file, size_t n);

/** A source that reads @p mesh, which must live as long. Files are called by their names. */
struct st_poly_source poly_source(struct poly_mesh *mesh);

/** Write the files into a folder that exists. @return false on failure */
bool poly_save(const struct poly_mesh *mesh, const char *folder, bool compressed);

#endif
