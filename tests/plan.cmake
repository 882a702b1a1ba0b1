# src/plan: unit tests with declared benchmarks that never run, and the fuzzed config reader.
set(plan_registry fuzz/fake_registry.c)
st_add_unit_test(plan SOURCES unit/test_plan.c ${plan_registry} LINK st_plan)
st_add_unit_test(plan_errors SOURCES unit/test_plan_errors.c ${plan_registry} LINK st_plan)
st_add_unit_test(plan_set SOURCES unit/test_plan_set.c ${plan_registry} LINK st_plan)

# The fuzz target needs clang's libFuzzer, whatever compiles the rest: it is built from the
# sources of src/base and src/plan, instrumented, and linked with none of the libraries.
find_program(ST_FUZZ_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19)
set(fuzz_flags -g -O1 -std=c11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=undefined)
if(ST_FUZZ_CLANG AND NOT DEFINED ST_FUZZ_WORKS)
  set(fuzz_probe ${CMAKE_CURRENT_BINARY_DIR}/fuzz_probe)
  file(WRITE ${fuzz_probe}.c
       "int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);\n"
       "int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return (void)d, (void)n, 0; }\n")
  execute_process(COMMAND ${ST_FUZZ_CLANG} ${fuzz_flags} ${fuzz_probe}.c -o ${fuzz_probe}
                  RESULT_VARIABLE fuzz_result OUTPUT_QUIET ERROR_QUIET)
  if(fuzz_result EQUAL 0)
    set(ST_FUZZ_WORKS ON CACHE INTERNAL "clang links libFuzzer targets")
  else()
    set(ST_FUZZ_WORKS OFF CACHE INTERNAL "clang links libFuzzer targets")
  endif()
endif()
if(ST_FUZZ_WORKS)
  set(fuzz_config ${CMAKE_CURRENT_BINARY_DIR}/fuzz_config)
  set(fuzz_sources ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_config.c
      ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fake_registry.c ${base_sources} ${plan_sources})
  file(GLOB fuzz_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.h
       ${PROJECT_SOURCE_DIR}/src/plan/*.h ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*.h)
  list(TRANSFORM YAML_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE fuzz_includes)
  add_custom_command(OUTPUT ${fuzz_config}
    COMMAND ${ST_FUZZ_CLANG} ${fuzz_flags} -I${PROJECT_SOURCE_DIR} ${fuzz_includes}
            ${fuzz_sources} -o ${fuzz_config} ${YAML_LINK_LIBRARIES} -lz -lm
    DEPENDS ${fuzz_sources} ${fuzz_headers}
    COMMENT "Building the fuzz target of the config reader" VERBATIM)
  add_custom_target(fuzz_config_target ALL DEPENDS ${fuzz_config})
  add_test(NAME fuzz.config
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run_fuzz.sh ${fuzz_config}
            ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/config ${CMAKE_CURRENT_BINARY_DIR}/fuzz_work)
else()
  add_test(NAME fuzz.config
    COMMAND sh -c "echo 'skipped: no clang that links -fsanitize=fuzzer'; exit 77")
endif()
set_tests_properties(fuzz.config PROPERTIES LABELS fuzz TIMEOUT 120 SKIP_RETURN_CODE 77)
