#include <mpi.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * One machine as two hosts, for both same-node keys alike: odd and even ranks have different
 * host names and different shared-memory groups. Linked into a test it stands before the
 * libraries' functions. Until MPI is up the true name is given, so that MPI itself starts as
 * ever.
 */

int gethostname(char *name, size_t size)
{
    int up = 0;
    int down = 0;
    int rank = 0;
    struct utsname system;

    if (MPI_Initialized(&up) != MPI_SUCCESS || MPI_Finalized(&down) != MPI_SUCCESS ||
        up == 0 || down != 0) {
        const int rc = uname(&system);
        (void)snprintf(name, size, "%s", rc == 0 ? system.nodename : "unknown");
        return rc;
    }
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)snprintf(name, size, "host%d", rank % 2);
    return 0;
}

int MPI_Comm_split_type(MPI_Comm from, int type, int key, MPI_Info info, MPI_Comm *out)
{
    int rank = 0;

    (void)type;
    (void)info;
    const int rc = PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rc == MPI_SUCCESS ? PMPI_Comm_split(from, rank % 2, key, out) : rc;
}
