# The pool's checks as a plain program as well: what ThreadSanitizer and valgrind can look into.
add_executable(pool_tsan ${CMAKE_CURRENT_LIST_DIR}/base/pool_tsan.c)
target_link_libraries(pool_tsan PRIVATE ocelli_inside)
add_test(NAME pool_plain COMMAND pool_tsan)
# Parts of the program that print nothing and know no command line are tested alone, too.
target_sources(test_shard PRIVATE ${PROJECT_SOURCE_DIR}/tools/shard.c)
target_sources(test_grounding PRIVATE ${PROJECT_SOURCE_DIR}/tools/grounding.c
  ${PROJECT_SOURCE_DIR}/tools/text_bytes.c)
