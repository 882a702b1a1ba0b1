# Tests of what the solvers share: SELL-C-sigma storage, split of their time.

st_add_unit_test(sell SOURCES unit/test_sell.c LINK st_benchmarks st_kernels st_base OpenMP::OpenMP_C m)
st_add_unit_test(bcsr SOURCES unit/test_bcsr.c LINK st_benchmarks st_kernels st_base OpenMP::OpenMP_C m)
st_add_unit_test(pop SOURCES unit/test_pop.c LINK st_stats m)
st_add_unit_test(krylov SOURCES unit/test_krylov.c LINK st_kernels OpenMP::OpenMP_C m)
