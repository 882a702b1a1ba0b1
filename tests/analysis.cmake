# The analysis in Python: known answers, and the program on measured and made files.
foreach(name statistics scaling program)
  st_add_driver_test(analysis.${name} analysis/test_${name}.py analysis 200 -v)
endforeach()
