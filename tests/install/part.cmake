# An installation as its users meet it. Instrumented libraries are not for installing.
set(install ${CMAKE_CURRENT_LIST_DIR})
find_program(OCELLI_TEST_CXX NAMES g++ clang++ clang++-14)
if(OCELLI_TEST_CXX AND NOT OCELLI_SANITIZE)
  if(BUILD_SHARED_LIBS)
    set(kind shared)
    add_test(NAME install_static COMMAND ${install}/static.sh ${PROJECT_SOURCE_DIR}
      ${CMAKE_COMMAND} ${CMAKE_C_COMPILER} ${OCELLI_TEST_CXX})
    set_tests_properties(install_static PROPERTIES TIMEOUT 1200)
  else()
    set(kind static)
  endif()
  add_test(NAME install_${kind}_build COMMAND ${install}/install.sh ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR} ${CMAKE_COMMAND} ${CMAKE_C_COMPILER} ${OCELLI_TEST_CXX} ${kind})
  set_tests_properties(install_${kind}_build PROPERTIES TIMEOUT 600)
endif()
