# The arithmetic of `ocelli eval --reference`, which is the program's and not the library's.
add_executable(test_divergence ${CMAKE_CURRENT_LIST_DIR}/test_divergence.c
  ${PROJECT_SOURCE_DIR}/tools/divergence.c)
target_include_directories(test_divergence PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(test_divergence PRIVATE ocelli_flags PkgConfig::CRITERION m)
add_test(NAME test_divergence COMMAND test_divergence)
