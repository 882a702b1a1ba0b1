# Tests of the sparse matrix parts: kernels, file reader, halo, distribution, solver.

st_add_unit_test(csr SOURCES unit/test_csr.c LINK st_kernels st_base m)
st_add_unit_test(matrix_market SOURCES unit/test_matrix_market.c LINK st_benchmarks st_base m)
st_add_mpi_test(halo SOURCES mpi/test_halo.c LINK st_mpi st_kernels RANKS 1 2 3 4 7)
st_add_unit_test(spmv_plan SOURCES unit/test_spmv_plan.c
                 LINK st_benchmarks st_measure st_machine st_mpi st_base m)
