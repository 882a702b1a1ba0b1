#ifndef ST_TESTS_MPI_ASSERT_ALL_H
#define ST_TESTS_MPI_ASSERT_ALL_H

#include "mpi/comm.h"

#include <stdbool.h>

/*
 * cmocka leaves a failing test by longjmp, which would strand the other ranks in their next
 * collective call: MPI tests assert only through this macro, which first reduces the condition.
 * Collective over @p comm.
 */
#define st_assert_all(comm, condition)                                                   \
    st_assert_all_at((comm), (condition), #condition, __FILE__, __LINE__)
void st_assert_all_at(const struct stm_comm *comm, bool condition, const char *text,
                      const char *file, int line);

#endif
