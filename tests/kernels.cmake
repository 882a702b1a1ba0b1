# Kernels without MPI. The object code that is looked at is compiled with -O3 whatever the
# build type is, since that is what gets measured; sanitizers would add calls of their own.
st_add_unit_test(kernels_stream SOURCES unit/test_kernels_stream.c
                 LINK st_kernels st_base OpenMP::OpenMP_C m)

find_program(ST_OBJDUMP objdump)
find_program(ST_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(ST_OBJDUMP AND ST_PYTHON AND NOT ST_SANITIZE)
  add_library(stream_object_code OBJECT
    ${PROJECT_SOURCE_DIR}/kernels/stream_plain.c ${PROJECT_SOURCE_DIR}/kernels/stream_avx2.c
    ${PROJECT_SOURCE_DIR}/kernels/stream_avx512.c)
  st_target_defaults(stream_object_code)
  target_compile_options(stream_object_code PRIVATE -O3)
  add_test(NAME unit.kernels_object_code
           COMMAND ${ST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/kernels/check_object_code.py
                   ${ST_OBJDUMP} $<TARGET_OBJECTS:stream_object_code>
           COMMAND_EXPAND_LISTS)
  set_tests_properties(unit.kernels_object_code PROPERTIES LABELS "unit" TIMEOUT 60)
endif()
