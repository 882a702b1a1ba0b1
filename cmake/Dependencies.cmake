# What seatrial needs, with a message that says what to install or load for each miss.

find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is missing: install pkg-config (Debian: apt install pkg-config)")
endif()

macro(st_need found what debian module)
  if(NOT ${found})
    message(FATAL_ERROR "${what} not found.\n"
            "  Debian/Ubuntu: apt install ${debian}\n"
            "  on a cluster:  load a module such as '${module}', then configure again in an empty folder")
  endif()
endmacro()

find_package(MPI QUIET COMPONENTS C)
st_need(MPI_C_FOUND "An MPI library with a C compiler wrapper (mpicc)" "openmpi-bin libopenmpi-dev" "openmpi")
find_package(OpenMP QUIET COMPONENTS C)
st_need(OpenMP_C_FOUND "OpenMP for this C compiler" "gcc, or libomp-dev for clang" "gcc")
find_package(Threads REQUIRED)
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 QUIET COMPONENTS C)
st_need(HDF5_FOUND "HDF5 (C library, serial or parallel)" "libhdf5-openmpi-dev" "hdf5")
pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc>=2.4)
st_need(HWLOC_FOUND "hwloc 2.4 or newer" "libhwloc-dev" "hwloc")
pkg_check_modules(YAML QUIET IMPORTED_TARGET yaml-0.1)
st_need(YAML_FOUND "libyaml" "libyaml-dev" "libyaml")
find_package(ZLIB QUIET)
st_need(ZLIB_FOUND "zlib" "zlib1g-dev" "zlib")

# Optional: graph partitioning. Without it `partition: scotch` is refused with the reason.
find_path(SCOTCH_INCLUDE ptscotch.h PATH_SUFFIXES scotch)
find_library(SCOTCH_LIBRARY scotch)
find_library(PTSCOTCH_LIBRARY ptscotch)
find_library(PTSCOTCH_ERR_LIBRARY ptscotcherr)
set(ST_SCOTCH)
if(SCOTCH_INCLUDE) # version 7 or newer: contexts keep its threads away from MPI
  file(STRINGS ${SCOTCH_INCLUDE}/ptscotch.h st_scotch_contexts REGEX SCOTCH_contextBindDgraph)
endif()
if(st_scotch_contexts AND SCOTCH_LIBRARY AND PTSCOTCH_LIBRARY AND PTSCOTCH_ERR_LIBRARY)
  add_library(st_scotch INTERFACE)
  target_include_directories(st_scotch SYSTEM INTERFACE ${SCOTCH_INCLUDE})
  target_compile_definitions(st_scotch INTERFACE ST_HAVE_SCOTCH=1)
  target_link_libraries(st_scotch INTERFACE ${PTSCOTCH_LIBRARY} ${SCOTCH_LIBRARY} ${PTSCOTCH_ERR_LIBRARY}
                        MPI::MPI_C)
  set(ST_SCOTCH st_scotch)
else()
  message(STATUS "PT-SCOTCH 7 not found (Debian: libptscotch-dev): `partition: scotch` will be refused")
endif()

if(NOT DEFINED BUILD_TESTING OR BUILD_TESTING)
  pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
  st_need(CMOCKA_FOUND "cmocka (for the tests; -DBUILD_TESTING=OFF does without)" "libcmocka-dev" "cmocka")
endif()
