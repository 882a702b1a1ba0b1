# Launch, nodes, placement, memory limits: pure parts without MPI partners, then with ranks.
st_add_unit_test(place SOURCES unit/test_place.c placement/placing.c
                 LINK st_machine PkgConfig::HWLOC LABELS placement)
st_add_unit_test(topologies SOURCES placement/test_topologies.c placement/placing.c
                 LINK st_machine PkgConfig::HWLOC LABELS placement)
st_add_unit_test(launch SOURCES unit/test_launch.c LINK st_machine)
st_add_unit_test(usable SOURCES placement/test_usable.c LINK st_machine PkgConfig::HWLOC
                 LABELS placement)
st_add_unit_test(limits SOURCES placement/test_limits.c LINK st_machine PkgConfig::HWLOC
                 LABELS placement)
st_add_unit_test(affinity SOURCES placement/test_affinity.c machine_shims/small_masks_refused.c
                 LINK st_machine PkgConfig::HWLOC LABELS placement)
st_add_mpi_test(machine SOURCES mpi/test_machine.c LINK st_machine RANKS 1 2 3 4 7)
st_add_mpi_test(machine_keys SOURCES mpi/test_machine_keys.c machine_shims/split_alone.c
                LINK st_machine RANKS 1 3)
st_add_mpi_test(machine_hosts SOURCES mpi/test_machine_hosts.c machine_shims/two_hosts.c
                LINK st_machine RANKS 1 2 3 4 7)
