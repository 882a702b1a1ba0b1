st_add_unit_test(measure SOURCES unit/test_measure.c LINK st_measure m)
st_add_unit_test(measure_recorder SOURCES unit/test_measure_recorder.c LINK st_measure m)
st_add_mpi_test(measure SOURCES mpi/test_measure.c LINK st_measure st_machine m RANKS 1 2 3 4 7)
# a step that never ends: the script starts the program itself, three times, on three ranks
st_add_mpi_test(measure_deadline SOURCES mpi/test_measure_deadline.c LINK st_measure st_machine
                RANKS)
add_test(NAME mpi.measure_deadline.3
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi/test_measure_deadline.sh ${MPIEXEC_EXECUTABLE}
                 $<TARGET_FILE:test_mpi_measure_deadline>)
set_tests_properties(mpi.measure_deadline.3 PROPERTIES LABELS "mpi" TIMEOUT 120
                     ENVIRONMENT "${ST_MPI_TEST_ENV}")
