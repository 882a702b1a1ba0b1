# Tests of the sparse matrix parts: kernels, file reader, halo, distribution, solver.

st_add_unit_test(csr SOURCES unit/test_csr.c LINK st_kernels st_base m)
st_add_unit_test(matrix_market SOURCES unit/test_matrix_market.c LINK st_benchmarks st_base m)
st_add_mpi_test(halo SOURCES mpi/test_halo.c LINK st_mpi st_kernels RANKS 1 2 3 4 7)
st_add_unit_test(spmv_plan SOURCES unit/test_spmv_plan.c
                 LINK st_benchmarks st_measure st_machine st_mpi st_base m)
st_add_mpi_test(spmv SOURCES mpi/test_spmv.c mpi/test_spmv_bench.c mpi/peak.c mpi/test_krylov_methods.c mpi/spmv_fixture.c
                             spmv/write_products.c
                LINK st_benchmarks st_measure st_machine st_mpi st_base OpenMP::OpenMP_C m
                RANKS 1 2 3 4 7)

# Real matrices: products against scipy's, iteration counts over rank counts. Debian's python3-scipy
# belongs to /usr/bin/python3; without it or the matrices the test counts as skipped.
add_test(NAME mpi.spmv.scipy
         COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/spmv/compare_scipy.py
                 $<TARGET_FILE:test_mpi_spmv> ${ST_SHARED_DIR}/matrices ${MPIEXEC_EXECUTABLE} 1 2 3 7)
set_tests_properties(mpi.spmv.scipy PROPERTIES LABELS mpi TIMEOUT 180 SKIP_RETURN_CODE 77
                     ENVIRONMENT "${ST_MPI_TEST_ENV}")
