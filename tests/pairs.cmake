# Message patterns between pairs of ranks, and what one pair costs beside a bare ping-pong.
st_add_mpi_test(pairs SOURCES mpi/test_pairs.c LINK st_mpi st_base RANKS 1 2 3 4 7)
st_add_unit_test(hockney SOURCES unit/test_hockney.c LINK st_stats m)
st_add_unit_test(pair_kind SOURCES unit/test_pair_kind.c LINK st_benchmarks st_base)
st_add_mpi_test(grid_halo SOURCES mpi/test_grid_halo.c LINK st_mpi st_base RANKS 1 2 4 7)

# Run by hand for figures: mpirun -n 2 build-release/tests/bench_compare_pairs [rounds] [trips].
add_executable(bench_compare_pairs bench_compare/compare_pairs.c bench_compare/pingpong_plain.c)
st_target_defaults(bench_compare_pairs)
set_source_files_properties(bench_compare/pingpong_plain.c PROPERTIES COMPILE_OPTIONS "-O3")
target_link_libraries(bench_compare_pairs PRIVATE st_measure st_mpi st_stats st_base MPI::MPI_C m)
add_test(NAME mpi.bench_compare_pairs
         COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n 2
                 $<TARGET_FILE:bench_compare_pairs> 10 20)
set_tests_properties(mpi.bench_compare_pairs PROPERTIES LABELS "mpi" TIMEOUT 60
                     ENVIRONMENT "${ST_MPI_TEST_ENV}")
