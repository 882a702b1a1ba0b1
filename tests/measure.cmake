st_add_unit_test(measure SOURCES unit/test_measure.c LINK st_measure m)
st_add_unit_test(measure_recorder SOURCES unit/test_measure_recorder.c LINK st_measure m)
st_add_mpi_test(measure SOURCES mpi/test_measure.c LINK st_measure st_machine m RANKS 1 2 3 4 7)
