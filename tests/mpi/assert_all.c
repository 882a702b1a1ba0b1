#include "tests/mpi/assert_all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

void st_assert_all_at(const struct stm_comm *comm, bool condition, const char *text,
                      const char *file, int line)
{
    int mine = condition ? 1 : 0;
    int all = 0;

    if (!condition) {
        (void)fprintf(stderr, "rank %d: %s:%d: %s is false\n", comm->rank, file, line,
                      text);
    }
    if (MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, comm->handle) != MPI_SUCCESS) {
        all = 0;
    }
    _assert_true((uintmax_t)all, text, file, line);
}
