# The flow solver: generated boxes, face loops, boundary conditions.
st_add_unit_test(fv SOURCES unit/test_fv.c LINK st_kernels m)
st_add_unit_test(ldu SOURCES unit/test_ldu.c LINK st_kernels m)
st_add_unit_test(boundary SOURCES unit/test_boundary.c LINK st_flow st_mesh st_base m)
st_add_mpi_test(box SOURCES mpi/test_box.c LINK st_flow st_mesh st_mpi st_base m
                RANKS 1 2 3 4 7)
st_add_mpi_test(solve SOURCES mpi/test_solve.c
                LINK st_flow st_mesh st_mpi st_kernels st_base OpenMP::OpenMP_C m
                RANKS 1 2 3 4 7)
st_add_mpi_test(flow SOURCES mpi/test_flow.c mpi/flow_fixture.c
                LINK st_flow st_mesh st_mpi st_kernels st_base OpenMP::OpenMP_C m
                RANKS 1 2 3 4 7)

# The heavier cases of METHODS 4.2, by hand: build-release/tests/flow_study cavity 1000 128.
add_executable(flow_study bench_compare/flow_study.c mpi/flow_fixture.c)
st_target_defaults(flow_study)
target_compile_definitions(flow_study PRIVATE _GNU_SOURCE)
target_link_libraries(flow_study PRIVATE st_flow st_mesh st_mpi st_kernels st_base
                      OpenMP::OpenMP_C MPI::MPI_C m)
