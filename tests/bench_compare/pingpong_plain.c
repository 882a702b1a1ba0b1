/* The peer of mpi/pingpong.c: the bare loops that anyone writes in 30 lines. */
#include "tests/bench_compare/pingpong_plain.h"

double plain_pingpong(MPI_Comm comm, int n, char *buffer, int bytes)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const double start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_CHAR, 1, 1, comm);
            MPI_Recv(buffer, bytes, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, comm);
        }
    }
    return (MPI_Wtime() - start) / (2.0 * n);
}

double plain_windows(MPI_Comm comm, int n, int window, char *buffer, int bytes)
{
    MPI_Request requests[1024];
    int rank = 0;
    int reply = 0;
    MPI_Comm_rank(comm, &rank);
    const double start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        for (int m = 0; m < window; m++) {
            if (rank == 0) {
                MPI_Isend(buffer, bytes, MPI_CHAR, 1, 1, comm, &requests[m]);
            } else {
                MPI_Irecv(buffer, bytes, MPI_CHAR, 0, 1, comm, &requests[m]);
            }
        }
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) {
            MPI_Recv(&reply, 4, MPI_CHAR, 1, 2, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&reply, 4, MPI_CHAR, 0, 2, comm);
        }
    }
    return (double)n * window / (MPI_Wtime() - start);
}
