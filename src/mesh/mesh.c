/* The end of a mesh, however it was made. */
#include "src/mesh/mesh.h"

#include "src/base/mem.h"

void st_mesh_destroy(struct st_mesh **mesh)
{
    if (mesh == NULL || *mesh == NULL) {
        return;
    }
    struct st_mesh *m = *mesh;
    st_free(m->owner);
    st_free(m->neighbour);
    st_free(m->patches);
    st_free(m->centre);
    st_free(m->volume);
    st_free(m->area);
    st_free(m->d);
    st_free(m->weight);
    st_free(m->cell_global);
    st_free(m);
    *mesh = NULL;
}
