# The interconnect on several hosts; skipped with the reason where they cannot be made.
st_add_driver_test(faults.hosts faults/test_hosts.py faults 300 -v)
set_tests_properties(faults.hosts PROPERTIES RESOURCE_LOCK hosts)
