# HPCG's problem: its numbers, its kernels, its residuals.
st_add_unit_test(lu SOURCES unit/test_lu.c LINK st_kernels st_base m)
st_add_unit_test(box27 SOURCES unit/test_box27.c LINK st_kernels st_base m)
st_add_unit_test(hpcg_plan SOURCES unit/test_hpcg_plan.c
                 LINK st_benchmarks st_measure st_machine st_mpi st_base m)
st_add_mpi_test(hpcg SOURCES mpi/test_hpcg.c mpi/peak.c
                LINK st_benchmarks st_measure st_machine st_mpi st_base m
                RANKS 1 2 4 8)
