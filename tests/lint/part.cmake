# Lints: the rules of the house as tests. Those that need a program run where there is one.
set(lint ${CMAKE_CURRENT_LIST_DIR})
add_test(NAME lint_selftest COMMAND ${lint}/selftest.sh)
add_test(NAME lint_layers COMMAND ${lint}/layers.sh ${PROJECT_SOURCE_DIR})
foreach(rule length banned guards family unfinished names paths)
  add_test(NAME lint_${rule} COMMAND ${lint}/style.sh ${PROJECT_SOURCE_DIR} ${rule})
endforeach()

# libcjson is included as <cjson/cJSON.h> and as <cJSON.h>.
set(lint_includes -I${OCELLI_STB_DIR} -I${OCELLI_XXHASH_DIR})
foreach(folder IN LISTS CJSON_INCLUDE_DIRS)
  list(APPEND lint_includes -I${folder})
endforeach()
if(UTF8PROC_FOUND)
  list(APPEND lint_includes -DOCELLI_HAVE_UTF8PROC)
endif()
foreach(folder IN LISTS DRAW_INCLUDE_DIRS)
  list(APPEND lint_includes -I${folder})
endforeach()
add_test(NAME lint_headers
  COMMAND ${lint}/headers.sh ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER} ${lint_includes})
if(NOT DRAW_FOUND)
  set_tests_properties(lint_headers PROPERTIES ENVIRONMENT "WITHOUT=tools/draw_canvas.h")
endif()

# Instrumented and coverage builds add variables of their own.
if(NOT OCELLI_SANITIZE)
  add_test(NAME lint_globals COMMAND ${lint}/globals.sh $<TARGET_FILE:ocelli_inside>)
endif()
if(BUILD_SHARED_LIBS AND NOT OCELLI_SANITIZE)
  add_test(NAME lint_exports
    COMMAND ${lint}/exports.sh $<TARGET_FILE:ocelli> ${PROJECT_SOURCE_DIR}/runtime/ocelli.h)
endif()

find_program(OCELLI_CLANG_FORMAT NAMES clang-format-14)
if(OCELLI_CLANG_FORMAT)
  add_test(NAME lint_format
    COMMAND ${lint}/format.sh ${PROJECT_SOURCE_DIR} ${OCELLI_CLANG_FORMAT})
endif()
