#include "mpi/library.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/*
 * Which transport carried the messages decides every interconnect figure, and no MPI call
 * names it portably. The tools interface gives the library's own selection variables; of
 * those, the few that choose a transport in Open MPI and MPICH are stored.
 */

static const char *const variable_names[] = {
    "pml",
    "btl",
    "mtl",
    "osc",
    "btl_vader_single_copy_mechanism",
    "MPIR_CVAR_CH4_NETMOD",
    "MPIR_CVAR_OFI_USE_PROVIDER",
};

const char *stm_library_text(char *out, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    out[0] = '\0';
    if (MPI_Get_library_version(text, &length) == MPI_SUCCESS) {
        (void)snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    }
    return out;
}

static void read_text_variable(int index, const char *name, char *out, size_t size)
{
    MPI_T_cvar_handle handle;
    char value[4096] = "";
    int n = 0;
    const size_t used = strlen(out);

    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &n) != MPI_SUCCESS) {
        return;
    }
    if (n > 0 && (size_t)n < sizeof value &&
        MPI_T_cvar_read(handle, value) == MPI_SUCCESS && value[0] != '\0') {
        value[sizeof value - 1] = '\0';
        (void)snprintf(out + used, size - used, "%s%s=%s", used > 0 ? " " : "", name,
                       value);
    }
    (void)MPI_T_cvar_handle_free(&handle);
}

const char *stm_transport_text(char *out, size_t size)
{
    int level = MPI_THREAD_SINGLE;
    int provided = 0;

    out[0] = '\0';
    /* Open MPI 4.1 takes the level of the last of both initialisations for all of MPI: with less
     * than MPI has, its locks would be switched off under threads that call. */
    if (MPI_Query_thread(&level) != MPI_SUCCESS ||
        MPI_T_init_thread(level, &provided) != MPI_SUCCESS) {
        return out;
    }
    for (size_t i = 0; i < sizeof variable_names / sizeof variable_names[0]; i++) {
        char name[256];
        int name_length = (int)sizeof name;
        int verbosity = 0;
        int bind = 0;
        int scope = 0;
        int index = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum values = MPI_T_ENUM_NULL;

        if (MPI_T_cvar_get_index(variable_names[i], &index) == MPI_SUCCESS &&
            MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values,
                                NULL, NULL, &bind, &scope) == MPI_SUCCESS &&
            type == MPI_CHAR) {
            read_text_variable(index, variable_names[i], out, size);
        }
    }
    (void)MPI_T_finalize();
    return out;
}
