# Real jobs under a real Slurm; skipped with the reason where that cannot be.
st_add_driver_test(slurm slurm/test_slurm.py slurm 400 -v)
set_tests_properties(slurm PROPERTIES RESOURCE_LOCK hosts)
