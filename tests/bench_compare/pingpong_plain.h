#ifndef ST_TESTS_BENCH_COMPARE_PINGPONG_PLAIN_H
#define ST_TESTS_BENCH_COMPARE_PINGPONG_PLAIN_H

#include <mpi.h>

/** @p n round trips of @p bytes between ranks 0 and 1 of @p comm. @return half a round trip, s */
double plain_pingpong(MPI_Comm comm, int n, char *buffer, int bytes);

/** @p n windows of @p window messages from rank 0 to 1, each with a reply. @return messages/s */
double plain_windows(MPI_Comm comm, int n, int window, char *buffer, int bytes);

#endif
