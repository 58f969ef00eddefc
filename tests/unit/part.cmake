# The pool's checks as a plain program as well: what ThreadSanitizer and valgrind can look into.
add_executable(pool_tsan ${CMAKE_CURRENT_LIST_DIR}/base/pool_tsan.c)
target_link_libraries(pool_tsan PRIVATE ocelli_inside)
add_test(NAME pool_plain COMMAND pool_tsan)
