# All benchmarks at a tiny size, and what the stream loops reach beside a plain compiled one.
st_add_mpi_test(benchmarks SOURCES mpi/test_benchmarks.c
                LINK st_benchmarks st_measure st_machine st_mpi st_base OpenMP::OpenMP_C m
                RANKS 1 2 3 4 7)
# More threads than cores: threads that spin between two tiny parallel regions would take
# the processor from those that work (7 ranks: 67 s instead of 1 s).
foreach(n 1 2 3 4 7)
  set_property(TEST mpi.benchmarks.${n} APPEND PROPERTY ENVIRONMENT "OMP_WAIT_POLICY=passive")
endforeach()

st_add_unit_test(stream_values SOURCES unit/test_stream_values.c
                 LINK st_benchmarks st_kernels st_base OpenMP::OpenMP_C m)

# Run by hand for figures: build-release/tests/bench_compare_stream [MiB] [repetitions].
add_executable(bench_compare_stream bench_compare/compare_stream.c bench_compare/stream_plain.c)
st_target_defaults(bench_compare_stream)
set_source_files_properties(bench_compare/stream_plain.c PROPERTIES COMPILE_OPTIONS "-O3")
target_link_libraries(bench_compare_stream PRIVATE st_kernels st_stats st_base OpenMP::OpenMP_C m)
add_test(NAME unit.bench_compare_stream COMMAND bench_compare_stream 1 5)
set_tests_properties(unit.bench_compare_stream PROPERTIES LABELS "unit" TIMEOUT 60)
