# Functions that make libraries and tests with the project's warnings and include rules.

set(ST_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wfloat-conversion
    -Wdouble-promotion -Wformat=2 -Wundef -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla
    -Wimplicit-fallthrough -Wnull-dereference -Wswitch-enum)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND ST_WARNINGS -Wcast-align=strict -Wduplicated-cond -Wduplicated-branches
       -Wlogical-op -Wjump-misses-init)
endif()

function(st_target_defaults target)
  target_compile_options(${target} PRIVATE ${ST_WARNINGS}
                         $<$<BOOL:${ST_WERROR}>:-Werror>)
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# st_add_library(NAME SOURCES a.c b.c LINK targets [PRIVATE_LINK targets] [GNU])
# GNU: the folder needs Linux calls beyond POSIX (affinity, page queries).
function(st_add_library name)
  cmake_parse_arguments(A "GNU" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  st_target_defaults(${name})
  target_link_libraries(${name} PUBLIC ${A_LINK} PRIVATE ${A_PRIVATE_LINK})
  if(A_GNU)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  endif()
endfunction()

# st_add_unit_test(NAME SOURCES … LINK …): a cmocka program without MPI; label "unit".
function(st_add_unit_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(test_${name} ${A_SOURCES})
  st_target_defaults(test_${name})
  target_compile_definitions(test_${name} PRIVATE _GNU_SOURCE
    ST_SHARED_DIR="${ST_SHARED_DIR}" ST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ${A_LINK} PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS "unit;${A_LABELS}" TIMEOUT 120)
endfunction()

# st_add_mpi_test(NAME SOURCES … LINK … RANKS 1 2 3 4 7): one test per rank count; label "mpi".
function(st_add_mpi_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK;RANKS;LABELS" ${ARGN})
  add_executable(test_mpi_${name} ${A_SOURCES} ${PROJECT_SOURCE_DIR}/tests/mpi/assert_all.c)
  st_target_defaults(test_mpi_${name})
  target_compile_definitions(test_mpi_${name} PRIVATE _GNU_SOURCE
    ST_SHARED_DIR="${ST_SHARED_DIR}" ST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_mpi_${name} PRIVATE ${A_LINK} PkgConfig::CMOCKA MPI::MPI_C)
  foreach(n IN LISTS A_RANKS)
    add_test(NAME mpi.${name}.${n}
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${n} $<TARGET_FILE:test_mpi_${name}>)
    set_tests_properties(mpi.${name}.${n} PROPERTIES LABELS "mpi;${A_LABELS}" TIMEOUT 180
      ENVIRONMENT "${ST_MPI_TEST_ENV}")
  endforeach()
endfunction()

# ST_BENCH(x) lines -> src/benchmarks/x.c
function(st_bench_sources out list)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} rows REGEX "^ST_BENCH\\([a-z0-9_]+\\)")
  list(TRANSFORM rows REPLACE "^ST_BENCH\\(([a-z0-9_]+)\\).*$" "${CMAKE_CURRENT_SOURCE_DIR}/src/benchmarks/\\1.c")
  set(${out} ${rows} PARENT_SCOPE)
endfunction()
