# Every allocation fails once. The program has a malloc of its own, which sanitizers have as well.
if(NOT OCELLI_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_executable(oom ${CMAKE_CURRENT_LIST_DIR}/oom.c ${CMAKE_CURRENT_LIST_DIR}/failing_malloc.c)
  target_link_libraries(oom PRIVATE ocelli_inside)
  foreach(work IN ITEMS open look answer together pack verify gguf pack_gguf watch cached)
    add_test(NAME oom_${work} COMMAND oom ${work})
    set_tests_properties(oom_${work} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
  endforeach()
endif()
