# Memory placement on machines that are not here, and the benchmarks that go by NUMA node.
st_add_unit_test(numa SOURCES unit/test_numa.c numa/fake_memory.c placement/placing.c
                 LINK st_benchmarks st_machine PkgConfig::HWLOC LABELS placement)
st_add_unit_test(knee SOURCES unit/test_knee.c LINK st_stats m)
st_add_mpi_test(numa_matrix SOURCES mpi/test_numa_matrix.c numa/fake_memory.c
                LINK st_benchmarks st_measure st_machine st_mpi st_base OpenMP::OpenMP_C m
                RANKS 1 2)
foreach(n 1 2) # more threads than cores: waiting ones must not spin
  set_property(TEST mpi.numa_matrix.${n} APPEND PROPERTY ENVIRONMENT "OMP_WAIT_POLICY=passive")
endforeach()
st_add_unit_test(published SOURCES unit/test_published.c LINK st_show st_record st_base m)
st_add_mpi_test(place_info SOURCES mpi/test_place_info.c LINK st_measure st_machine m RANKS 1 2 3)
