# The network as a whole: who meets whom, who is to blame, collectives, and noise of the cores.
st_add_unit_test(circle SOURCES unit/test_circle.c LINK st_mpi st_base)
st_add_unit_test(polish SOURCES unit/test_polish.c LINK st_stats st_base m)
st_add_unit_test(noise SOURCES unit/test_noise.c LINK st_benchmarks st_stats st_kernels st_base m)
st_add_mpi_test(link_map SOURCES mpi/test_link_map.c
                LINK st_benchmarks st_measure st_machine st_mpi st_stats st_base m
                RANKS 1 2 3 4 7)
st_add_mpi_test(collectives SOURCES mpi/test_collectives.c
                LINK st_benchmarks st_measure st_machine st_mpi st_base m RANKS 1 2 3 4 7)
