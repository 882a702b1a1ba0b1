# Meshes from OpenFOAM's files: reading, geometry, partition, renumbering. Boxes are in flow.cmake.
set(mesh_writer mesh/poly_writer.c)
st_add_unit_test(poly_files SOURCES unit/test_poly_files.c ${mesh_writer}
                 LINK st_mesh st_mpi st_base ZLIB::ZLIB MPI::MPI_C m)
st_add_unit_test(poly_shape SOURCES unit/test_poly_shape.c
                 LINK st_mesh st_mpi st_base MPI::MPI_C m)
st_add_unit_test(graph_rcm SOURCES unit/test_rcm.c LINK st_graph st_mpi st_base MPI::MPI_C m)
st_add_mpi_test(poly SOURCES mpi/test_poly.c mpi/flow_fixture.c ${mesh_writer}
                LINK st_flow st_mesh st_graph st_mpi st_kernels st_base ZLIB::ZLIB OpenMP::OpenMP_C m
                RANKS 1 2 3 4 7)

# The fuzzed mesh reader; as the one of the config (plan.cmake, which finds out whether clang can).
if(ST_FUZZ_WORKS)
  set(fuzz_mesh ${CMAKE_CURRENT_BINARY_DIR}/fuzz_mesh)
  set(fuzz_mesh_sources ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_mesh.c ${base_sources}
      ${PROJECT_SOURCE_DIR}/src/mesh/foam.c ${PROJECT_SOURCE_DIR}/src/mesh/poly_files.c
      ${PROJECT_SOURCE_DIR}/src/mesh/poly_patches.c)
  file(GLOB fuzz_mesh_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.h
       ${PROJECT_SOURCE_DIR}/src/mesh/*.h)
  add_custom_command(OUTPUT ${fuzz_mesh}
    COMMAND ${ST_FUZZ_CLANG} ${fuzz_flags} -I${PROJECT_SOURCE_DIR} ${fuzz_mesh_sources}
            -o ${fuzz_mesh} -lz -lm
    DEPENDS ${fuzz_mesh_sources} ${fuzz_mesh_headers}
    COMMENT "Building the fuzz target of the mesh reader" VERBATIM)
  add_custom_target(fuzz_mesh_target ALL DEPENDS ${fuzz_mesh})
  add_test(NAME fuzz.mesh
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run_fuzz.sh ${fuzz_mesh}
            ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/mesh ${CMAKE_CURRENT_BINARY_DIR}/fuzz_mesh_work)
else()
  add_test(NAME fuzz.mesh
    COMMAND sh -c "echo 'skipped: no clang that links -fsanitize=fuzzer'; exit 77")
endif()
set_tests_properties(fuzz.mesh PROPERTIES LABELS fuzz TIMEOUT 120 SKIP_RETURN_CODE 77)

# What users see of it, and meshes made by OpenFOAM where it is installed.
st_add_driver_test(mesh.program mesh/test_mesh.py mesh 180 -v)
