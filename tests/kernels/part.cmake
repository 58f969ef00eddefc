# The kernel checker; `kernel_check --bench` measures.
add_executable(kernel_check kernels/check.c kernels/check_float.c kernels/check_bf16.c kernels/check_cached.c
  kernels/check_quant.c kernels/bench.c)
target_link_libraries(kernel_check PRIVATE ocelli_inside)
add_test(NAME kernel_check COMMAND kernel_check)
set_tests_properties(kernel_check PROPERTIES TIMEOUT 600)
