# Pointer chase, loaded latency and what their curves tell.
st_add_unit_test(kernels_chase SOURCES unit/test_kernels_chase.c LINK st_kernels st_base m)
st_add_unit_test(plateaus SOURCES unit/test_plateaus.c
                 LINK st_benchmarks st_kernels st_base m)
st_add_unit_test(curves SOURCES unit/test_curves.c LINK st_show st_measure st_base m)
st_add_mpi_test(latency SOURCES mpi/test_latency.c
                LINK st_benchmarks st_measure st_machine st_mpi st_kernels st_base OpenMP::OpenMP_C m RANKS 1 3)

# Our chase beside a plain one, in one run; as a test only to see that it works.
# Run by hand for figures: build-release/tests/bench_compare_chase [MiB] [rounds] [thousand loads].
add_executable(bench_compare_chase bench_compare/compare_chase.c bench_compare/chase_plain.c)
st_target_defaults(bench_compare_chase)
set_source_files_properties(bench_compare/chase_plain.c PROPERTIES COMPILE_OPTIONS "-O3")
target_link_libraries(bench_compare_chase PRIVATE st_benchmarks st_measure st_stats st_kernels st_base m)
add_test(NAME unit.bench_compare_chase COMMAND bench_compare_chase 1 3 1)
set_tests_properties(unit.bench_compare_chase PROPERTIES LABELS "unit" TIMEOUT 60)
