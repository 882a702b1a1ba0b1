st_add_unit_test(show SOURCES unit/test_show.c unit/test_judge_fixture.c LINK st_show)
st_add_unit_test(show_formats SOURCES unit/test_show_formats.c unit/test_judge_fixture.c LINK st_show)
