# Golden data: what the reference computed, compared with ours stage by stage.
set(golden ${CMAKE_CURRENT_LIST_DIR})
add_executable(golden_runner
  ${golden}/golden_runner.c ${golden}/golden_case.c ${golden}/golden_media.c
  ${golden}/golden_public.c ${golden}/golden_chat.c ${golden}/golden_data.c ${golden}/golden_functions.c
  ${golden}/golden_tokenizer.c ${golden}/report.c ${golden}/npy.c)
target_link_libraries(golden_runner PRIVATE ocelli_inside)
# 16 cases, 9 functions, 2 files of tokenisations, 22 renderings.
add_test(NAME golden_qwen3vl COMMAND golden_runner ${golden}/qwen3vl --least 49)
set_tests_properties(golden_qwen3vl PROPERTIES TIMEOUT 900)
