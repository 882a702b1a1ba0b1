st_add_unit_test(judge SOURCES unit/test_judge.c unit/test_judge_fixture.c LINK st_judge)
st_add_unit_test(judge_sets SOURCES unit/test_judge_sets.c unit/test_judge_fixture.c LINK st_judge)
st_add_unit_test(judge_outliers SOURCES unit/test_judge_outliers.c unit/test_judge_fixture.c LINK st_judge)
st_add_unit_test(judge_estimate SOURCES unit/test_judge_estimate.c LINK st_judge)
