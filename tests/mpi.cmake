st_add_mpi_test(agree SOURCES mpi/test_agree.c LINK st_mpi RANKS 1 2 3 4 7)
st_add_mpi_test(clock_sync SOURCES mpi/test_clock_sync.c LINK st_mpi m RANKS 1 2 3 4 7)
