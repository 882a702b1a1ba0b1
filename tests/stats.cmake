st_add_unit_test(stats SOURCES unit/test_stats.c LINK st_stats m)
