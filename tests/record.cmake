# Tests of src/record. A driver program writes files; Python readers and shims look at them.

set(record_fixture record/fixture.c record/page.c)

add_executable(record_driver record/driver.c ${record_fixture})
st_target_defaults(record_driver)
target_compile_definitions(record_driver PRIVATE _GNU_SOURCE)
target_link_libraries(record_driver PRIVATE st_record)

st_add_unit_test(record SOURCES unit/test_record.c ${record_fixture} LINK st_record)
# for private headers that include hdf5.h
target_link_libraries(test_record PRIVATE HDF5::HDF5)

st_add_unit_test(record_faults SOURCES unit/test_record_faults.c ${record_fixture} LINK st_record)
target_link_libraries(test_record_faults PRIVATE HDF5::HDF5)
set_tests_properties(unit.record_faults PROPERTIES TIMEOUT 400)

st_add_unit_test(record_format SOURCES unit/test_record_format.c ${record_fixture} LINK st_record)

# Readers in Python: Debian's interpreter has the h5py that belongs to its HDF5.
find_program(ST_RECORD_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT ST_RECORD_PYTHON)
  find_program(ST_RECORD_PYTHON NAMES python3)
endif()
execute_process(COMMAND ${ST_RECORD_PYTHON} -c "import h5py" RESULT_VARIABLE record_no_h5py
                OUTPUT_QUIET ERROR_QUIET)
if(ST_RECORD_PYTHON AND record_no_h5py EQUAL 0)
  add_test(NAME record.readers COMMAND ${ST_RECORD_PYTHON}
           ${CMAKE_CURRENT_SOURCE_DIR}/record/readers.py $<TARGET_FILE:record_driver>)
  set_tests_properties(record.readers PROPERTIES LABELS "cli" TIMEOUT 120)
else()
  message(STATUS "record.readers left out: python3 has no h5py")
endif()

# A preloaded library cannot come before the sanitizers' own.
if(ST_RECORD_PYTHON AND NOT ST_SANITIZE)
  add_library(record_starve SHARED record_shims/starve.c)
  st_target_defaults(record_starve)
  target_compile_definitions(record_starve PRIVATE _GNU_SOURCE)
  target_link_libraries(record_starve PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME record.starve COMMAND ${ST_RECORD_PYTHON}
           ${CMAKE_CURRENT_SOURCE_DIR}/record/starve.py $<TARGET_FILE:record_driver>
           $<TARGET_FILE:record_starve>)
  set_tests_properties(record.starve PROPERTIES LABELS "faults" TIMEOUT 300)
endif()
