# The whole program: style of the tree, command line, faults. Python's unittest drives it.
find_program(ST_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(ST_DRIVER_ENV "SEATRIAL=$<TARGET_FILE:seatrial>;ST_SHARED_DIR=${ST_SHARED_DIR}")

function(st_add_driver_test name script label timeout)
  add_test(NAME ${name} COMMAND ${ST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
                       ENVIRONMENT "${ST_DRIVER_ENV}")
endfunction()

st_add_driver_test(style style/check_style.py style 120 ${PROJECT_SOURCE_DIR})
st_add_driver_test(cli cli/test_cli.py cli 300 -v)
st_add_driver_test(cli.merge cli/test_merge.py cli 120 -v)
st_add_driver_test(faults.kill faults/test_kill.py faults 600 -v)
st_add_driver_test(faults.other faults/test_faults.py faults 300 -v)
