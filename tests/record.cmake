# Tests of src/record. A driver program writes files; Python readers and shims look at them.

set(record_fixture record/fixture.c)

add_executable(record_driver record/driver.c ${record_fixture})
st_target_defaults(record_driver)
target_compile_definitions(record_driver PRIVATE _GNU_SOURCE)
target_link_libraries(record_driver PRIVATE st_record)

st_add_unit_test(record SOURCES unit/test_record.c ${record_fixture} LINK st_record)
# for private headers that include hdf5.h
target_link_libraries(test_record PRIVATE HDF5::HDF5)

st_add_unit_test(record_faults SOURCES unit/test_record_faults.c ${record_fixture} LINK st_record)
target_link_libraries(test_record_faults PRIVATE HDF5::HDF5)
