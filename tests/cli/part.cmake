# The program as users meet it: every test_*.sh here runs the built program in a folder of its own.
# harness.sh says what a script may use.
file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.sh)
foreach(script IN LISTS cli_tests)
  get_filename_component(name ${script} NAME_WE)
  string(REPLACE "test_" "cli_" name ${name})
  add_test(NAME ${name} COMMAND sh ${script})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "OCELLI=$<TARGET_FILE:ocelli_program>;SAMPLES=${PROJECT_SOURCE_DIR}/samples;DATA=${CMAKE_CURRENT_SOURCE_DIR}"
    SKIP_RETURN_CODE 77
    TIMEOUT 600)
endforeach()

if(NOT OCELLI_SANITIZE)
  add_test(NAME cli_quality COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/quality.sh)
  set_tests_properties(cli_quality PROPERTIES
    ENVIRONMENT "OCELLI=$<TARGET_FILE:ocelli_program>;SAMPLES=${PROJECT_SOURCE_DIR}/samples;DATA=${CMAKE_CURRENT_SOURCE_DIR}"
    TIMEOUT 1800)
endif()
