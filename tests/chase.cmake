# Pointer chase, loaded latency and what their curves tell.
st_add_unit_test(kernels_chase SOURCES unit/test_kernels_chase.c LINK st_kernels st_base m)
st_add_unit_test(plateaus SOURCES unit/test_plateaus.c
                 LINK st_benchmarks st_kernels st_base m)
st_add_mpi_test(latency SOURCES mpi/test_latency.c
                LINK st_benchmarks st_measure st_machine st_mpi st_kernels st_base OpenMP::OpenMP_C m RANKS 1 3)
