# The interconnect on several hosts; skipped with the reason where they cannot be made.
st_add_driver_test(faults.hosts faults/test_hosts.py faults 300 -v)
set_tests_properties(faults.hosts PROPERTIES RESOURCE_LOCK hosts)

# Detection and false alarms on simulated fleets. By hand, for the table: build/tests/link_rates.
add_executable(link_rates bench_compare/link_rates.c)
st_target_defaults(link_rates)
target_link_libraries(link_rates PRIVATE st_stats st_kernels st_base m)
add_test(NAME unit.link_rates COMMAND link_rates 2)
set_tests_properties(unit.link_rates PROPERTIES LABELS "unit" TIMEOUT 60)
